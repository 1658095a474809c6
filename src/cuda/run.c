/* run.c - runs a prepared plan, with nothing between the CUDA calls. */
#include "cuda/run.h"

#include <cuda_profiler_api.h>
#include <inttypes.h>
#include <string.h>

/* Reports a failed call. An error of work that was issued earlier may surface at any later
 * call, which the text says once the context is lost. */
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
    marks_begin("wait");
    cudaError_t end = cudaDeviceSynchronize();
    cpu_worker_wait(run->worker);
    marks_end();
    if (result == cudaSuccess && end == cudaSuccess)
        return STATUS_OK;
    run->lost = end != cudaSuccess;
    cudaGetLastError();
    if (result != cudaSuccess && run->workload.plan->issue == ISSUE_GRAPH)
        return cuda_check(result, "cudaGraphLaunch", error);
    if (result != cudaSuccess)
        return report(run, cuda_call_name(&run->issued[at]), result, at, error);
    return report(run, "cudaDeviceSynchronize", end, at, error);
}

/* Issues every op. `marked` is a constant wherever this is called, so that one loop in the
 * source becomes two in the program, and the one for when no tool listens has nothing in it but
 * the calls. */
static inline __attribute__((always_inline)) cudaError_t issue_all(const struct cuda_run *run,
                                                                   uint32_t *last, bool marked)
{
    cudaError_t result = cudaSuccess;
    uint32_t count = run->workload.plan->op_count, at = 0;
    for (uint32_t i = 0; i < count; i++) {
        result = cuda_issue_op(run->workload.plan, run->issued, i, marked);
        at = i;
        if (result != cudaSuccess)
            break;
    }
    *last = at;
    return result;
}

static cudaError_t issue_marked(const struct cuda_run *run, uint32_t *last)
{
    marks_begin("issue");
    cudaError_t result = issue_all(run, last, true);
    marks_end();
    return result;
}

static cudaError_t issue_plan(const struct cuda_run *run, const struct cuda_graph *graph,
                              uint32_t *last)
{
    if (graph->exec == NULL)
        return marks_on() ? issue_marked(run, last) : issue_all(run, last, false);
    marks_begin("issue");
    cudaError_t result = cuda_graph_launch(run, graph, last);
    marks_end();
    return result;
}

int cuda_first_ops(const struct cuda_run *run, uint32_t ops[CUDA_FIRST_OPS])
{
    const struct plan *plan = run->workload.plan;
    uint32_t kernel = 0;
    int count = 0;
    while (kernel < plan->op_count && plan->ops[kernel].kind != OP_KERNEL)
        kernel++;
    bool launches = kernel < plan->op_count && !plan->loads_lazily;
    for (uint32_t i = 0; i < kernel && count + 1 < CUDA_FIRST_OPS; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind == OP_H2D && (!launches || op->tile == plan->ops[kernel].tile))
            ops[count++] = i;
    }
    if (launches)
        ops[count++] = kernel;
    return count;
}

/* Overwrites what a kernel wrote to mapped memory: it must not look like the run's result. */
static void spoil_output(const struct cuda_run *run, const struct op *op)
{
    enum { SPOILED = 0xFF }; /* a NaN in floats, -1 in ints */
    const struct range *out = &op->kernel.out;
    if (op->kind == OP_KERNEL && out->buffer < BUFFER_FIRST_DEVICE)
        memset((char *)run->memory[out->buffer] + out->offset, SPOILED, out->bytes);
}

int cuda_run_first_ops(const struct cuda_run *run)
{
    uint32_t ops[CUDA_FIRST_OPS];
    int count = cuda_first_ops(run, ops);
    for (int i = 0; i < count; i++) { /* they may be of several streams: one after another */
        if (cuda_issue(&run->issued[ops[i]]) != cudaSuccess ||
            cudaDeviceSynchronize() != cudaSuccess)
            return -1;
        spoil_output(run, &run->workload.plan->ops[ops[i]]);
    }
    return count;
}

enum status cuda_run_plain(struct cuda_run *run, const struct cuda_graph *graph,
                           struct run_times *times, struct error *error)
{
    uint32_t at;
    int64_t begin = clock_now_ns();
    cpu_worker_start(run->worker, NULL);
    cudaError_t result = issue_plan(run, graph, &at);
    int64_t issued = clock_now_ns();
    enum status status = cuda_run_settle(run, result, at, error);
    if (status == STATUS_OK)
        *times =
            (struct run_times){.time_ns = clock_now_ns() - begin, .issue_ns = issued - begin};
    return status;
}

/* Between cudaProfilerStart() and cudaProfilerStop() there is the plain run and nothing else. A
 * tool that begins to listen there may not know the names and ranges of before, so those are
 * said again. */
enum status cuda_run_profiled(struct cuda_run *run, const struct cuda_graph *graph,
                              struct run_times *times, struct error *error)
{
    char name[RUN_NAME_MAX + 16];
    snprintf(name, sizeof name, "profiled %s", run->workload.settings->name);
    if (CUDA_CHECK(cudaProfilerStart(), error) != STATUS_OK)
        return STATUS_FAILED;
    marks_name_thread("pipeline");
    cuda_run_name_streams(run);
    marks_begin(name);
    enum status status = cuda_run_plain(run, graph, times, error);
    marks_end();
    cudaError_t result = cudaProfilerStop();
    if (!run->lost)
        cuda_warn(result, "cudaProfilerStop");
    return status;
}
