/* issue.c - what issues one op, where that is more than one call. */
#include "cuda/issue.h"

#include "cuda/slots.h"

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
