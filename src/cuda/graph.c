/* graph.c - captures a prepared plan as one graph, and launches it.
 *
 * The capture begins in the first stream, forks to the others that have ops, and joins them
 * again. Streams' orders and events become edges, and the calls that would issue ops make
 * nodes: so what is captured is what would be issued, by the same function. */
#include "cuda/backend.h"

#include <inttypes.h>
#include <stdlib.h>

/* Since CUDA 13 edges have data, which has no part here. */
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

static enum status fail_capture(const struct cuda_run *run, uint32_t at, cudaError_t result,
                                struct error *error)
{
    char label[OP_LABEL];
    const struct plan *plan = run->workload.plan;
    cudaGetLastError();
    return error_set(error, STATUS_FAILED, "capturing op %" PRIu32 " (%s) failed: %s: %s", at,
                     plan_op_label(plan, &plan->ops[at], label), cudaGetErrorName(result),
                     cudaGetErrorString(result));
}

/* --- which nodes are an op's --- */

static bool keep_node(struct cuda_graph *graph, cudaGraphNode_t node, uint32_t op)
{
    if (graph->node_count == graph->node_capacity) {
        size_t capacity = graph->node_capacity > 0 ? 2 * graph->node_capacity : 1024;
        struct cuda_node *nodes = realloc(graph->nodes, capacity * sizeof *nodes);
        if (nodes == NULL)
            return false;
        graph->nodes = nodes;
        graph->node_capacity = capacity;
    }
    graph->nodes[graph->node_count++] = (struct cuda_node){node, op};
    return true;
}

/* The nodes that the latest call added: the last is what the stream's next one would depend on.
 * A library may add several; they are one behind the other. */
static cudaError_t keep_nodes(const struct cuda_run *run, uint32_t op, size_t *so_far,
                              struct cuda_graph *graph)
{
    cudaGraph_t captured;
    const cudaGraphNode_t *latest;
    size_t count, all;
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
static cudaError_t meet(const struct cuda_run *run, cudaEvent_t event, bool fork)
{
    cudaError_t result = fork ? cudaEventRecord(event, run->streams[0]) : cudaSuccess;
    for (uint32_t i = 1; i < run->stream_count && result == cudaSuccess; i++) {
        if (!stream_is_used(run->workload.plan, i))
            continue;
        if (!fork)
            result = cudaEventRecord(event, run->streams[i]);
        if (result == cudaSuccess)
            result = cudaStreamWaitEvent(run->streams[fork ? i : 0], event, 0);
    }
    return result;
}

/* With `ends`, an event is recorded behind each op that has one there; it can be timed. */
static enum status capture_ops(const struct cuda_run *run, cudaEvent_t *ends, bool keep,
                               struct cuda_graph *graph, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    size_t so_far = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        enum op_kind kind = plan->ops[i].kind;
        if (kind == OP_CPU)
            continue;
        cudaError_t result = cuda_issue(&run->issued[i]);
        if (result == cudaSuccess && keep && op_is_node(kind))
            result = keep_nodes(run, i, &so_far, graph);
        if (result == cudaSuccess && ends != NULL && ends[i] != NULL)
            result = cudaEventRecordWithFlags(ends[i], run->issued[i].stream,
                                              cudaEventRecordExternal);
        if (result != cudaSuccess)
            return fail_capture(run, i, result, error);
    }
    return STATUS_OK;
}

static enum status capture(const struct cuda_run *run, cudaEvent_t *ends, bool keep,
                           cudaEvent_t event, struct cuda_graph *graph, struct error *error)
{
    /* Relaxed: a library may load a kernel at its first launch. */
    if (CUDA_CHECK(cudaStreamBeginCapture(run->streams[0], cudaStreamCaptureModeRelaxed),
                   error) != STATUS_OK)
        return STATUS_FAILED;
    enum status status =
        cuda_check(meet(run, event, true), "forking the capture to all streams", error);
    if (status == STATUS_OK)
        status = capture_ops(run, ends, keep, graph, error);
    if (status == STATUS_OK)
        status = cuda_check(meet(run, event, false), "joining the captured streams", error);
    cudaError_t result = cudaStreamEndCapture(run->streams[0], &graph->graph);
    if (status == STATUS_OK)
        return cuda_check(result, "cudaStreamEndCapture", error);
    cudaGetLastError(); /* the first failure is reported */
    return status;
}

/* What a launch would do the first time is done here: on the device, too. */
static enum status instantiate(const struct cuda_run *run, struct cuda_graph *graph,
                               struct error *error)
{
    enum status status = CUDA_CHECK(cudaGraphInstantiate(&graph->exec, graph->graph, 0), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaGraphUpload(graph->exec, run->streams[0]), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaStreamSynchronize(run->streams[0]), error);
    return status;
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
        cuda_graph_free(graph, false);
    return status;
}

void cuda_graph_free(struct cuda_graph *graph, bool silent)
{
    cudaError_t result = cudaSuccess;
    if (graph->exec != NULL)
        result = cudaGraphExecDestroy(graph->exec);
    if (!silent)
        cuda_warn(result, "cudaGraphExecDestroy");
    result = graph->graph != NULL ? cudaGraphDestroy(graph->graph) : cudaSuccess;
    if (!silent)
        cuda_warn(result, "cudaGraphDestroy");
    free(graph->nodes);
    *graph = (struct cuda_graph){0};
}
