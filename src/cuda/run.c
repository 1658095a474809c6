/* run.c - issues a prepared plan's ops, or launches their graph, and waits. */
#include "cuda/run.h"

#include "cuda/issue.h"
#include "cuda/prepare.h"

#include <cuda_profiler_api.h>
#include <inttypes.h>

/* Reports a failed call of a device. An error of earlier work may surface at any later call,
 * which the text says once the context is lost. */
static enum status report(const struct cuda_run *run, const char *call, cudaError_t result,
                          uint32_t at, uint32_t device, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    char label[OP_LABEL], name[CUDA_DEVICE_NAME];
    return error_set(error, STATUS_FAILED, "%s failed on op %" PRIu32 " (%s)%s%s: %s: %s", call,
                     at, plan_op_label(plan, &plan->ops[at], label),
                     run->devices->lost[device] ? " or one before it" : "",
                     cuda_devices_name(run->devices, device, name), cudaGetErrorName(result),
                     cudaGetErrorString(result));
}

enum status cuda_run_settle(struct cuda_run *run, cudaError_t result, uint32_t at,
                            const char *call, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    uint32_t failed;
    if (result != cudaSuccess)
        cpu_worker_cancel(run->worker);
    marks_begin("wait");
    cudaError_t end = cuda_devices_wait(run->devices, &failed);
    cpu_worker_wait(run->worker);
    marks_end();
    if (result == cudaSuccess && end == cudaSuccess)
        return STATUS_OK;
    run->used.lost[failed] = end != cudaSuccess;
    cudaGetLastError();
    if (result != cudaSuccess && plan->issue == ISSUE_GRAPH)
        return cuda_check(result, "cudaGraphLaunch", error);
    if (result == cudaSuccess)
        return report(run, "cudaDeviceSynchronize", end, at, failed, error);
    if (run->entering != cudaSuccess)
        call = "cudaSetDevice";
    run->entering = cudaSuccess;
    return report(run, call != NULL ? call : cuda_issue_name(&run->issued[at]), result, at,
                  plan_stream_device(plan, plan->ops[at].stream), error);
}

/* Issues every op. `marked` is a constant wherever this is called, so that one loop in the
 * source becomes two in the program, and the one for when no tool listens has nothing in it but
 * the calls. */
static inline __attribute__((always_inline)) cudaError_t issue_all(struct cuda_run *run,
                                                                   uint32_t *last, bool marked)
{
    cudaError_t result = cudaSuccess;
    uint32_t count = run->workload.plan->op_count, at = 0;
    for (uint32_t i = 0; i < count && result == cudaSuccess; i++) {
        result = cuda_issue_op(run, i, marked);
        at = i;
    }
    *last = at;
    return result;
}

static cudaError_t issue_plan(struct cuda_run *run, const struct cuda_graph *graph,
                              uint32_t *last)
{
    if (graph->exec == NULL && !marks_on())
        return issue_all(run, last, false);
    marks_begin("issue");
    cudaError_t result =
        graph->exec != NULL ? cuda_graph_launch(run, graph, last) : issue_all(run, last, true);
    marks_end();
    return result;
}

/* Adds one device's first ops, of which there are *count so far. */
static void add_first_ops(const struct cuda_run *run, uint32_t device,
                          uint32_t ops[CUDA_FIRST_OPS], int *count)
{
    const struct plan *plan = run->workload.plan;
    const int most = *count + CUDA_FIRST_ON_ONE - 1;
    uint32_t kernel = 0;
    while (kernel < plan->op_count &&
           (plan->ops[kernel].kind != OP_KERNEL ||
            plan_stream_device(plan, plan->ops[kernel].stream) != device))
        kernel++;
    bool launches = kernel < plan->op_count && !plan->loads_lazily;
    for (uint32_t i = 0; i < kernel && *count < most; i++) {
        const struct op *op = &plan->ops[i];
        const bool takes = op->kind == OP_ALLOC && op->alloc.action == ALLOC_TAKE;
        if ((op->kind == OP_H2D || takes) && plan_stream_device(plan, op->stream) == device &&
            (!launches || op->tile == plan->ops[kernel].tile))
            ops[(*count)++] = i;
    }
    if (launches)
        ops[(*count)++] = kernel;
}

int cuda_first_ops(const struct cuda_run *run, uint32_t ops[CUDA_FIRST_OPS])
{
    int count = 0;
    for (uint32_t i = 0; i < run->devices->count; i++)
        add_first_ops(run, i, ops, &count);
    return count;
}

/* Overwrites what a kernel wrote to mapped memory with the run's poison: it must not look like
 * the run's result. This thread does so alone: a team would spin for some 6 ms, and on the
 * cores of an H200's host the driver's thread was not called back until then. [Measured: the
 * first callback of runs on mapped memory came 5.7 to 7.1 ms after its kernel, all others
 * within 0.5] */
static void spoil_output(const struct cuda_run *run, const struct op *op)
{
    if (op->kind != OP_KERNEL)
        return;
    struct range out = op->kernel.ranges->out, piece;
    if (out.buffer >= BUFFER_FIRST_DEVICE)
        return;
    while (host_layout_next(run->workload.plan, &out, &piece))
        arrays_fill_poison(run->workload.arrays, cuda_memory_at(run, &piece), piece.bytes,
                           false);
}

/* Runs one of the first ops to completion. */
static enum status run_first_op(struct cuda_run *run, uint32_t op, struct error *error)
{
    const uint32_t device =
        plan_stream_device(run->workload.plan, run->workload.plan->ops[op].stream);
    const char *call = "cudaSetDevice";
    cudaError_t result = cuda_devices_enter(run->devices, device);
    if (result == cudaSuccess) {
        call = cuda_issue_name(&run->issued[op]);
        result = cuda_issue(&run->issued[op]);
    }
    if (result == cudaSuccess) {
        call = "cudaDeviceSynchronize";
        result = cudaDeviceSynchronize();
    }
    if (result == cudaSuccess)
        return STATUS_OK;
    cudaGetLastError();
    return report(run, call, result, op, device, error);
}

enum status cuda_run_first_ops(struct cuda_run *run, int *count, struct error *error)
{
    uint32_t ops[CUDA_FIRST_OPS];
    const int all = cuda_first_ops(run, ops);
    *count = 0;
    for (int i = 0; i < all; i++) { /* they may be in several streams: one after another */
        const struct op *op = &run->workload.plan->ops[ops[i]];
        if (run_first_op(run, ops[i], error) != STATUS_OK)
            return error->status;
        *count += op_on_device(op->kind);
        spoil_output(run, op);
    }
    cuda_slots_give_all(run);
    return cuda_devices_select(run->devices, 0, error);
}

enum status cuda_run_plain(struct cuda_run *run, const struct cuda_graph *graph,
                           struct run_times *times, struct error *error)
{
    uint32_t at;
    workload_begin(&run->workload);
    int64_t begin = clock_now_ns();
    cpu_worker_start(run->worker, NULL);
    cudaError_t result = issue_plan(run, graph, &at);
    int64_t issued = clock_now_ns();
    enum status status = cuda_run_settle(run, result, at, NULL, error);
    if (status == STATUS_OK)
        *times = (struct run_times){
            .time_ns = clock_now_ns() - begin, .issue_ns = issued - begin, .begin_ns = begin};
    return status;
}

/* Between cudaProfilerStart() and cudaProfilerStop() there is only the plain run. A tool that
 * begins to listen there may not know earlier names and ranges, so they are repeated. */
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
    cuda_devices_warn(run->devices, 0, cudaProfilerStop(), "cudaProfilerStop");
    return status;
}
