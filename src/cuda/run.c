/* run.c - issues a prepared plan's ops, or captures and launches them as one graph, and waits.
 *
 * The capture begins in the first stream, forks to the others that have ops, and joins them
 * again. Streams' orders and events become edges, and the calls that would issue ops make
 * nodes: so the same function captures a plan and issues it. */
#include "cuda/run.h"

#include "core/items.h"
#include "cuda/slots.h"
#include "plan/validate.h"

#include <cuda_profiler_api.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- one op --- */

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

/* Returns the name of the CUDA function that issues an op, for errors. */
static const char *call_name(const struct cuda_issued *op)
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

/* --- the plan as a graph --- */

/* CUDA 13 gives edges data, which is not needed here: hence the NULLs. */
static cudaError_t capture_info(cudaStream_t stream, cudaGraph_t *graph,
                                const cudaGraphNode_t **latest, size_t *count)
{
    enum cudaStreamCaptureStatus status;
#if CUDART_VERSION >= 13000
    return cudaStreamGetCaptureInfo(stream, &status, NULL, graph, latest, NULL, count);
#else
    return cudaStreamGetCaptureInfo_v2(stream, &status, NULL, graph, latest, count);
#endif
}

static cudaError_t node_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                     size_t *count)
{
#if CUDART_VERSION >= 13000
    return cudaGraphNodeGetDependencies(node, nodes, NULL, count);
#else
    return cudaGraphNodeGetDependencies(node, nodes, count);
#endif
}

static enum status fail_capture(const struct cuda_run *run, uint32_t at, const char *call,
                                cudaError_t result, struct error *error)
{
    char label[OP_LABEL];
    const struct plan *plan = run->workload.plan;
    enum status status = result == cudaErrorMemoryAllocation ? STATUS_NO_MEMORY : STATUS_FAILED;
    cudaGetLastError();
    return error_set(error, status, "%s failed to capture op %" PRIu32 " (%s): %s: %s", call,
                     at, plan_op_label(plan, &plan->ops[at], label), cudaGetErrorName(result),
                     cudaGetErrorString(result));
}

/* --- the nodes of each op --- */

static bool keep_node(struct cuda_graph *graph, cudaGraphNode_t node, uint32_t op)
{
    struct cuda_node *nodes =
        items_grow(graph->nodes, graph->node_count, &graph->node_capacity, sizeof *nodes);
    if (nodes == NULL)
        return false;
    graph->nodes = nodes;
    graph->nodes[graph->node_count++] = (struct cuda_node){node, op};
    return true;
}

/* Keeps the nodes that the latest call added. The last of them is the one that the stream's
 * next node would depend on; if a library added several, each depends on the one before. */
static cudaError_t keep_nodes(const struct cuda_run *run, uint32_t op, size_t *so_far,
                              struct cuda_graph *graph)
{
    cudaGraph_t captured;
    const cudaGraphNode_t *latest;
    size_t count, all = *so_far;
    cudaError_t result = capture_info(run->issued[op].stream, &captured, &latest, &count);
    if (result != cudaSuccess || count != 1)
        return result != cudaSuccess ? result : cudaErrorUnknown;
    cudaGraphNode_t node = latest[0];
    result = cudaGraphGetNodes(captured, NULL, &all);
    for (size_t added = all - *so_far; result == cudaSuccess && added > 0; added--) {
        size_t one = 1;
        if (!keep_node(graph, node, op))
            return cudaErrorMemoryAllocation;
        if (added > 1)
            result = node_dependencies(node, &node, &one);
    }
    *so_far = all;
    return result;
}

/* --- the capture --- */

static bool stream_is_used(const struct plan *plan, uint32_t stream)
{
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (op_in_stream(plan->ops[i].kind) && plan->ops[i].stream == stream)
            return true;
    }
    return false;
}

/* Takes every used stream but the first into the capture, or back to the first. */
static enum status meet(const struct cuda_run *run, cudaEvent_t event, bool fork,
                        struct error *error)
{
    if (fork && CUDA_CHECK(cudaEventRecord(event, run->streams[0]), error) != STATUS_OK)
        return error->status;
    for (uint32_t i = 1; i < run->stream_count; i++) {
        if (!stream_is_used(run->workload.plan, i))
            continue;
        if (!fork && CUDA_CHECK(cudaEventRecord(event, run->streams[i]), error) != STATUS_OK)
            return error->status;
        if (CUDA_CHECK(cudaStreamWaitEvent(run->streams[fork ? i : 0], event, 0), error) !=
            STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

/* Captures every op, and behind each op that has an event in `ends` a record of it; such an
 * event can be timed. */
static enum status capture_ops(const struct cuda_run *run, cudaEvent_t *ends, bool keep,
                               struct cuda_graph *graph, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    size_t so_far = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        enum op_kind kind = plan->ops[i].kind;
        if (kind == OP_CPU)
            continue;
        const char *call = call_name(&run->issued[i]);
        cudaError_t result = cuda_issue(&run->issued[i]);
        if (result == cudaSuccess && keep && op_is_node(kind)) {
            call = "cudaStreamGetCaptureInfo or cudaGraphGetNodes";
            result = keep_nodes(run, i, &so_far, graph);
        }
        if (result == cudaSuccess && ends != NULL && ends[i] != NULL) {
            call = "cudaEventRecordWithFlags";
            result = cudaEventRecordWithFlags(ends[i], run->issued[i].stream,
                                              cudaEventRecordExternal);
        }
        if (result != cudaSuccess)
            return fail_capture(run, i, call, result, error);
    }
    return STATUS_OK;
}

static enum status capture(const struct cuda_run *run, cudaEvent_t *ends, bool keep,
                           cudaEvent_t event, struct cuda_graph *graph, struct error *error)
{
    /* The mode is relaxed because a library may load a kernel at its first launch. */
    if (CUDA_CHECK(cudaStreamBeginCapture(run->streams[0], cudaStreamCaptureModeRelaxed),
                   error) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = meet(run, event, true, error);
    if (status == STATUS_OK)
        status = capture_ops(run, ends, keep, graph, error);
    if (status == STATUS_OK)
        status = meet(run, event, false, error);
    cudaError_t result = cudaStreamEndCapture(run->streams[0], &graph->graph);
    if (status == STATUS_OK)
        return cuda_check(result, "cudaStreamEndCapture", error);
    cudaGetLastError(); /* the first failure is the one to report */
    return status;
}

/* Does ahead of time what the first launch would otherwise do, on the host and the device. */
static enum status instantiate(const struct cuda_run *run, struct cuda_graph *graph,
                               struct error *error)
{
    if (CUDA_CHECK(cudaGraphInstantiate(&graph->exec, graph->graph, 0), error) != STATUS_OK ||
        CUDA_CHECK(cudaGraphUpload(graph->exec, run->streams[0]), error) != STATUS_OK)
        return error->status;
    return CUDA_CHECK(cudaStreamSynchronize(run->streams[0]), error);
}

enum status cuda_graph_create(const struct cuda_run *run, cudaEvent_t *ends, bool keep,
                              struct cuda_graph *graph, struct error *error)
{
    cudaEvent_t event;
    *graph = (struct cuda_graph){0};
    if (CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), error) !=
        STATUS_OK)
        return STATUS_FAILED;
    enum status status = capture(run, ends, keep, event, graph, error);
    if (status == STATUS_OK)
        status = instantiate(run, graph, error);
    CUDA_WARN(cudaEventDestroy(event));
    if (status != STATUS_OK)
        cuda_graph_free(run, graph);
    return status;
}

cudaError_t cuda_graph_launch(const struct cuda_run *run, const struct cuda_graph *graph,
                              uint32_t *last)
{
    uint32_t count = run->workload.plan->op_count;
    *last = count > 0 ? count - 1 : 0;
    return cudaGraphLaunch(graph->exec, run->streams[0]);
}

void cuda_graph_free(const struct cuda_run *run, struct cuda_graph *graph)
{
    if (graph->exec != NULL)
        cuda_run_warn(run, 0, cudaGraphExecDestroy(graph->exec), "cudaGraphExecDestroy");
    if (graph->graph != NULL)
        cuda_run_warn(run, 0, cudaGraphDestroy(graph->graph), "cudaGraphDestroy");
    free(graph->nodes);
    *graph = (struct cuda_graph){0};
}

/* --- a run --- */

/* Reports a failed call of a device. An error of work that was issued earlier may surface at
 * any later call, which the text says once the context is lost. */
static enum status report(const struct cuda_run *run, const char *call, cudaError_t result,
                          uint32_t at, uint32_t device, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    char label[OP_LABEL], name[CUDA_DEVICE_NAME];
    return error_set(error, STATUS_FAILED, "%s failed on op %" PRIu32 " (%s)%s%s: %s: %s", call,
                     at, plan_op_label(plan, &plan->ops[at], label),
                     run->lost[device] ? " or one before it" : "",
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
    run->lost[failed] = end != cudaSuccess;
    cudaGetLastError();
    if (result != cudaSuccess && plan->issue == ISSUE_GRAPH)
        return cuda_check(result, "cudaGraphLaunch", error);
    if (result == cudaSuccess)
        return report(run, "cudaDeviceSynchronize", end, at, failed, error);
    if (run->entering != cudaSuccess)
        call = "cudaSetDevice";
    run->entering = cudaSuccess;
    return report(run, call != NULL ? call : call_name(&run->issued[at]), result, at,
                  cuda_run_device(run, plan->ops[at].stream), error);
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
            cuda_run_device(run, plan->ops[kernel].stream) != device))
        kernel++;
    bool launches = kernel < plan->op_count && !plan->loads_lazily;
    for (uint32_t i = 0; i < kernel && *count < most; i++) {
        const struct op *op = &plan->ops[i];
        const bool takes = op->kind == OP_ALLOC && op->alloc.action == ALLOC_TAKE;
        if ((op->kind == OP_H2D || takes) && cuda_run_device(run, op->stream) == device &&
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
 * the run's result. */
static void spoil_output(const struct cuda_run *run, const struct op *op)
{
    if (op->kind != OP_KERNEL)
        return;
    struct range out = op->kernel.ranges->out, piece;
    if (out.buffer >= BUFFER_FIRST_DEVICE)
        return;
    while (host_layout_next(run->workload.plan, &out, &piece))
        arrays_fill_poison(run->workload.arrays, cuda_run_at(run, &piece), piece.bytes);
}

/* Runs one of the first ops to its end. */
static enum status run_first_op(struct cuda_run *run, uint32_t op, struct error *error)
{
    const uint32_t device = cuda_run_device(run, run->workload.plan->ops[op].stream);
    const char *call = "cudaSetDevice";
    cudaError_t result = cuda_devices_enter(run->devices, device);
    if (result == cudaSuccess) {
        call = call_name(&run->issued[op]);
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
    for (int i = 0; i < all; i++) { /* they may be of several streams: one after another */
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
    cuda_run_warn(run, 0, cudaProfilerStop(), "cudaProfilerStop");
    return status;
}
