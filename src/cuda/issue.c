/* issue.c - what issues one op, where that is more than one call, or a call of the driver's. */
#include "cuda/issue.h"

#include "cuda/prepare.h"

#include <cuda.h>
#include <errno.h>
#include <string.h>
#include <time.h>

/* Returns `ns` from now, and no later. A sleeper is woken late, by 65 us beside an H200, so the
 * last part is spent awake. */
static void sleep_for(int64_t ns)
{
    enum { SECOND_NS = 1000000000, AWAKE_NS = 150000 };
    const int64_t end_ns = clock_now_ns() + ns, asleep_ns = ns - AWAKE_NS;
    struct timespec left = {.tv_sec = asleep_ns / SECOND_NS, .tv_nsec = asleep_ns % SECOND_NS};
    while (asleep_ns > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
    while (clock_now_ns() < end_ns)
        continue;
}

static void tell_tiles(const struct cuda_callback *callback)
{
    const struct cuda_listener *listener = callback->listener;
    if (callback->result_bytes > 0)
        memcpy(callback->result_to, callback->result, callback->result_bytes);
    for (uint32_t i = 0; i < callback->tiles; i++)
        listener->on_tile(listener->context, callback->tile + (int32_t)i);
}

void CUDART_CB cuda_callback_main(void *argument)
{
    struct cuda_callback *callback = argument;
    struct cuda_listener *listener = callback->listener;
    const struct op op = {.kind = OP_CALLBACK, .tile = callback->tile};
    static _Thread_local bool
        named; /* only code that runs on the driver's thread can name it */
    if (!named)
        marks_name_thread("pipeline callbacks");
    named = true;
    marks_issue_begin(&op, NULL);
    callback->time.start_ns = clock_now_ns();
    pthread_mutex_lock(&listener->lock);
    if (callback->next != NULL && !listener->closed)
        carry_feed(callback->before, callback->total, callback->next);
    else if (listener->on_tile != NULL && !listener->muted && !listener->closed)
        tell_tiles(callback);
    pthread_mutex_unlock(&listener->lock);
    sleep_for(callback->sleep_ns);
    callback->time.end_ns = clock_now_ns();
    marks_end();
}

cudaError_t cuda_issue_alloc(const struct cuda_issued *op)
{
    void *memory = NULL;
    if (op->action != ALLOC_PAIR)
        return op->action == ALLOC_TAKE ? cuda_slot_take(op) : cuda_slot_give(op);
    cudaError_t result = op->alloc.pinned ? cudaMallocHost(&memory, op->alloc.bytes)
                                          : cudaMalloc(&memory, op->alloc.bytes);
    if (result != cudaSuccess)
        return result;
    return op->alloc.pinned ? cudaFreeHost(memory) : cudaFree(memory);
}

cudaError_t cuda_issue_sync(const struct cuda_issued *op)
{
    uint32_t failed;
    return cuda_devices_wait(op->devices, &failed);
}

cudaError_t cuda_issue_enter(struct cuda_run *run, const struct cuda_issued *op)
{
    run->entering = cudaSetDevice(op->device);
    return run->entering;
}

const char *cuda_issue_name(const struct cuda_issued *op)
{
    if (op->kind == OP_SYNC && op->devices != NULL)
        return "cudaDeviceSynchronize";
    if (op->kind == OP_ALLOC && op->action == ALLOC_TAKE)
        return op->ordered ? "cudaMallocAsync" : "cudaMalloc";
    if (op->kind == OP_ALLOC && op->action == ALLOC_GIVE)
        return op->ordered ? "cudaFreeAsync" : "cudaFree";
    if (op->kind == OP_ALLOC && op->alloc.pinned)
        return "cudaMallocHost or cudaFreeHost";
    if ((op->kind == OP_RECORD || op->kind == OP_WAIT) && op->flag > 0)
        return op->kind == OP_WAIT ? "cuStreamWaitValue32"
                                   : "cudaEventRecord or cuStreamWriteValue32";
    if (op->kind == OP_KERNEL)
        return op->kernel.call;
    if (op->batched)
        return "cudaMemcpyBatchAsync";
    if (op_is_copy(op->kind) && op->copy.rows > 1)
        return "cudaMemcpy2DAsync";
    if (op->prefetched)
        return "cudaMemPrefetchAsync";
    return op_rows[op->kind].call;
}

/* --- batches --- */

/* cudaMemcpyBatchAsync() came with this version. */
#define BATCH_VERSION 12080

enum status cuda_issue_check(const struct plan *plan, struct error *error)
{
    int driver;
    if (plan->issue != ISSUE_BATCH)
        return STATUS_OK;
    if (CUDART_VERSION < BATCH_VERSION)
        return error_set(error, STATUS_USAGE,
                         "--issue=batch needs CUDA 12.8, and this program was built with %d.%d",
                         CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (CUDA_CHECK(cudaDriverGetVersion(&driver), error) != STATUS_OK)
        return STATUS_FAILED;
    if (driver < BATCH_VERSION)
        return error_set(
            error, STATUS_USAGE,
            "--issue=batch needs a driver for CUDA 12.8, and this one is for %d.%d",
            driver / 1000, driver % 1000 / 10);
    return STATUS_OK;
}

cudaError_t cuda_issue_batch(const struct pieces *pieces, cudaStream_t stream)
{
#if CUDART_VERSION >= BATCH_VERSION
    /* One attribute is for all copies, from the first on. */
    struct cudaMemcpyAttributes alike = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    size_t first = 0;
#if CUDART_VERSION >= 13000
    return cudaMemcpyBatchAsync(pieces->to, pieces->from, pieces->bytes, pieces->count, &alike,
                                &first, 1, stream);
#else
    size_t failed;
    return cudaMemcpyBatchAsync(pieces->to, (void **)pieces->from, pieces->bytes, pieces->count,
                                &alike, &first, 1, &failed, stream);
#endif
#else
    (void)pieces, (void)stream;
    return cudaErrorNotSupported;
#endif
}

/* --- flags ---
 *
 * The runtime has no calls for this: they are the driver's, from CUDA 11.7 on (cuda.h, "Stream
 * Memory Operations"). A write is seen after all that its stream wrote before. */

static struct {
    CUresult(CUDAAPI *write)(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags);
    CUresult(CUDAAPI *wait)(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags);
} driver;

static cudaError_t find(const char *name, void **function)
{
    enum { SINCE = 11070 };
    enum cudaDriverEntryPointQueryResult found;
    cudaError_t result;
    *function = NULL;
#if CUDART_VERSION >= 12050
    result = cudaGetDriverEntryPointByVersion(name, function, SINCE, cudaEnableDefault, &found);
#else
    result = cudaGetDriverEntryPoint(name, function, cudaEnableDefault, &found);
#endif
    if (result != cudaSuccess)
        return result;
    return found == cudaDriverEntryPointSuccess ? cudaSuccess : cudaErrorNotSupported;
}

enum status cuda_flags_take(struct cuda_run *run, struct error *error)
{
    struct flags *flags = run->workload.flags;
    if (flags == NULL)
        return STATUS_OK;
    cudaError_t result = find("cuStreamWriteValue32", (void **)&driver.write);
    if (result == cudaSuccess)
        result = find("cuStreamWaitValue32", (void **)&driver.wait);
    if (result != cudaSuccess) {
        cudaGetLastError();
        return error_set(error, STATUS_FAILED,
                         "streams of several processes wait for one another by "
                         "cuStreamWaitValue32(), which this driver has not: %s",
                         cudaGetErrorName(result));
    }
    if (CUDA_CHECK(cudaHostRegister(flags->words, flags->bytes, cudaHostRegisterMapped),
                   error) != STATUS_OK)
        return STATUS_FAILED;
    run->flags_registered = true;
    return CUDA_CHECK(cudaHostGetDevicePointer(&run->flags, flags->words, 0), error);
}

void cuda_flags_free(struct cuda_run *run)
{
    if (run->flags_registered)
        cuda_devices_warn(run->devices, 0, cudaHostUnregister(run->workload.flags->words),
                          "cudaHostUnregister");
}

uint64_t cuda_flag_at(const struct cuda_run *run, uint32_t flag)
{
    return flag > 0 && run->flags != NULL
               ? (uint64_t)(uintptr_t)run->flags + (flag - 1) * sizeof(uint32_t)
               : 0;
}

/* The driver's errors have the runtime's numbers. */
cudaError_t cuda_flag_raise(const struct cuda_issued *op)
{
    const cudaError_t result = cudaEventRecord(op->event, op->stream);
    return result != cudaSuccess ? result
                                 : (cudaError_t)driver.write(op->stream, op->flag, 1,
                                                             CU_STREAM_WRITE_VALUE_DEFAULT);
}

cudaError_t cuda_flag_await(const struct cuda_issued *op)
{
    return (cudaError_t)driver.wait(op->stream, op->flag, 1, CU_STREAM_WAIT_VALUE_GEQ);
}
