/* cuda_run.c - runs a prepared plan, with nothing between the CUDA calls. */
#include "backend_cuda.h"

#include <inttypes.h>

void CUDART_CB cuda_callback_main(void *argument)
{
    struct cuda_callback *callback = argument;
    struct cuda_run *run = callback->run;
    callback->time.start_ns = clock_now_ns();
    if (run->workload.on_tile != NULL && !run->muted) {
        pthread_mutex_lock(&run->callback_lock);
        run->workload.on_tile(run->workload.context, callback->tile);
        pthread_mutex_unlock(&run->callback_lock);
    }
    callback->time.end_ns = clock_now_ns();
}

/* The CUDA function that issues an op of this kind, as errors name it. */
static const char *call_name(enum op_kind kind)
{
    static const char *const names[OP_KIND_COUNT] = {
        [OP_H2D] = "cudaMemcpyAsync",        [OP_D2H] = "cudaMemcpyAsync",
        [OP_KERNEL] = "the kernel's launch", [OP_RECORD] = "cudaEventRecord",
        [OP_WAIT] = "cudaStreamWaitEvent",   [OP_CALLBACK] = "cudaLaunchHostFunc",
        [OP_CPU] = "the CPU's work",
    };
    return names[kind];
}

/* An error of work that was issued earlier may surface at any later call. */
static enum status report(const struct cuda_run *run, const char *call, cudaError_t result,
                          uint32_t at, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    char label[OP_LABEL];
    return error_set(error, STATUS_FAILED, "%s failed on op %" PRIu32 " (%s)%s: %s: %s", call,
                     at, plan_op_label(plan, &plan->ops[at], label),
                     run->lost ? " or one before it" : "", cudaGetErrorName(result),
                     cudaGetErrorString(result));
}

enum status cuda_run_settle(struct cuda_run *run, cudaError_t result, uint32_t at,
                            struct error *error)
{
    if (result != cudaSuccess)
        cpu_worker_cancel(run->worker);
    cudaError_t end = cudaDeviceSynchronize();
    cpu_worker_wait(run->worker);
    if (result == cudaSuccess && end == cudaSuccess)
        return STATUS_OK;
    run->lost = end != cudaSuccess;
    cudaGetLastError();
    if (result != cudaSuccess)
        return report(run, call_name(run->issued[at].kind), result, at, error);
    return report(run, "cudaDeviceSynchronize", end, at, error);
}

enum status cuda_run_plain(struct backend *backend, struct run_times *times,
                           struct error *error)
{
    struct cuda_run *run = &backend->run;
    uint32_t count = run->workload.plan->op_count, at = 0;
    cudaError_t result = cudaSuccess;
    int64_t begin = clock_now_ns();
    cpu_worker_start(run->worker, NULL);
    for (uint32_t i = 0; i < count; i++) {
        result = cuda_issue(&run->issued[i]);
        at = i;
        if (result != cudaSuccess)
            break;
    }
    int64_t issued = clock_now_ns();
    enum status status = cuda_run_settle(run, result, at, error);
    if (status == STATUS_OK)
        *times =
            (struct run_times){.span_ns = clock_now_ns() - begin, .issue_ns = issued - begin};
    return status;
}
