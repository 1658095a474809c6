/* graph.c - captures a prepared plan as one graph, and launches it.
 *
 * The capture begins in the first stream, forks to the others that have ops, and joins them
 * again. Streams' orders and events become edges, and the calls that would issue ops make
 * nodes: so the same function captures a plan and issues it. */
#include "cuda/prepare.h"

#include "core/items.h"
#include "cuda/issue.h"

#include <inttypes.h>
#include <stdlib.h>

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
    struct cuda_node *kept = ITEMS_ADD(graph->nodes, graph->node_count, graph->node_capacity);
    if (kept == NULL)
        return false;
    *kept = (struct cuda_node){node, op};
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
        const char *call = cuda_issue_name(&run->issued[i]);
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

/* Uploads the graph and waits, so that the first launch has nothing to prepare, on the host or
 * on the device. */
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
        cuda_devices_warn(run->devices, 0, cudaGraphExecDestroy(graph->exec),
                          "cudaGraphExecDestroy");
    if (graph->graph != NULL)
        cuda_devices_warn(run->devices, 0, cudaGraphDestroy(graph->graph), "cudaGraphDestroy");
    free(graph->nodes);
    *graph = (struct cuda_graph){0};
}
