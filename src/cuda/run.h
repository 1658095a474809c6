/* run.h - runs a prepared plan, op by op or as one graph, with nothing between the CUDA calls.
 */
#ifndef PIPELINE_CUDA_RUN_H
#define PIPELINE_CUDA_RUN_H

#include "cuda/calls.h"
#include "cuda/flags.h"
#include "cuda/managed.h"
#include "cuda/prepare.h"

/* --- one op --- */

/* Runs a callback's op; the driver calls it, on a thread of its own. */
void CUDART_CB cuda_callback_main(void *callback);

/* Takes a tile's memory, gives it back, or takes some that nothing uses and gives that back. */
cudaError_t cuda_issue_alloc(const struct cuda_issued *op);

/* Waits for all streams of all devices. */
cudaError_t cuda_issue_sync(const struct cuda_issued *op);

/* Issues a copy to or from the host, of one piece or of rows that lie apart. */
static inline cudaError_t cuda_issue_copy(const struct cuda_issued *op,
                                          enum cudaMemcpyKind kind)
{
    if (op->batched)
        return cuda_issue_batch(op->pieces, op->stream);
    if (op->prefetched)
        return cuda_managed_prefetch(op);
    if (op->copy.rows > 1)
        return cudaMemcpy2DAsync(op->copy.to, op->copy.to_pitch, op->copy.from,
                                 op->copy.from_pitch, op->copy.bytes, op->copy.rows, kind,
                                 op->stream);
    return cudaMemcpyAsync(op->copy.to, op->copy.from, op->copy.bytes, kind, op->stream);
}

/* Issues one op, in one call (an allocation that gives back in two). CPU ops are the worker's.
 * Its device is the current one. */
static inline cudaError_t cuda_issue(const struct cuda_issued *op)
{
    switch (op->kind) {
    case OP_H2D:
        return cuda_issue_copy(op, cudaMemcpyHostToDevice);
    case OP_D2H:
        return cuda_issue_copy(op, cudaMemcpyDeviceToHost);
    case OP_KERNEL:
        if (op->kernel.tiles != NULL)
            return (cudaError_t)op->kernel.launch_tiles(op->kernel.args, op->kernel.tiles,
                                                        op->kernel.tile_count, op->stream);
        return (cudaError_t)op->kernel.launch(op->kernel.args, op->stream);
    case OP_RECORD:
        return op->flag > 0 ? cuda_flag_raise(op) : cudaEventRecord(op->event, op->stream);
    case OP_WAIT:
        return op->flag > 0 ? cuda_flag_await(op)
                            : cudaStreamWaitEvent(op->stream, op->event, 0);
    case OP_CALLBACK:
        return cudaLaunchHostFunc(op->stream, cuda_callback_main, op->callback);
    case OP_D2D:
        return cudaMemcpyAsync(op->copy.to, op->copy.from, op->copy.bytes,
                               cudaMemcpyDeviceToDevice, op->stream);
    case OP_MEMSET:
        return cudaMemsetAsync(op->set.at, op->set.value, op->set.bytes, op->stream);
    case OP_SYNC:
        return op->devices != NULL ? cuda_issue_sync(op) : cudaStreamSynchronize(op->stream);
    case OP_SYNC_EVENT:
        return cudaEventSynchronize(op->event);
    case OP_ALLOC:
        return cuda_issue_alloc(op);
    case OP_PACK:
        pieces_copy(op->pieces);
        return cudaSuccess;
    case OP_PEER:
        return cudaMemcpyPeerAsync(op->peer.to, op->peer.to_device, op->peer.from,
                                   op->peer.from_device, op->peer.bytes, op->stream);
    case OP_CPU:
    case OP_KIND_COUNT:
        break;
    }
    return cudaSuccess;
}

/* Makes the op's device current, and keeps a failure of that in run->entering. */
cudaError_t cuda_issue_enter(struct cuda_run *run, const struct cuda_issued *op);

/* Issues op `i` of the plan, whose turn it is, inside an NVTX range of its own if `marked`.
 * Where `marked` is a constant false and the device stays, this is cuda_issue(). */
static inline cudaError_t cuda_issue_op(struct cuda_run *run, uint32_t i, bool marked)
{
    const struct plan *plan = run->workload.plan;
    const struct op *op = &plan->ops[i];
    const struct cuda_issued *issued = &run->issued[i];
    if (issued->enters && cuda_issue_enter(run, issued) != cudaSuccess)
        return run->entering;
    /* The CPU's ops are issued all at once; its worker marks the work itself. */
    if (!marked || op->kind == OP_CPU)
        return cuda_issue(issued);
    marks_issue_begin(op, op->kind == OP_KERNEL ? plan->chain[op->kernel.link] : NULL);
    cudaError_t result = cuda_issue(issued);
    marks_end();
    return result;
}

/* --- the plan as a graph --- */

/* A node of a captured graph, and the op that made it. */
struct cuda_node {
    cudaGraphNode_t node;
    uint32_t op;
};

/* A captured graph. Zeroed where there is none. */
struct cuda_graph {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    struct cuda_node *nodes; /* every op's nodes, if they were to be kept */
    size_t node_count, node_capacity;
};

/* Captures the plan, instantiates the graph and uploads it to the device, all that a launch
 * needs; the caller frees it. `ends` gives, by op id, an event to be recorded behind the op;
 * it, or an entry of it, may be NULL. `keep` says to keep each op's nodes. */
enum status cuda_graph_create(const struct cuda_run *run, cudaEvent_t *ends, bool keep,
                              struct cuda_graph *graph, struct error *error);

/* Launches the graph of the run's plan, in one call. Sets *last to the plan's last op. */
cudaError_t cuda_graph_launch(const struct cuda_run *run, const struct cuda_graph *graph,
                              uint32_t *last);

/* Frees a graph, or nothing if it is zeroed. */
void cuda_graph_free(const struct cuda_run *run, struct cuda_graph *graph);

/* --- a run --- */

/* Runs the plan, as `graph` if that has been captured (it may be zeroed), else op by op. While
 * a tool listens there are NVTX ranges around the calls. */
enum status cuda_run_plain(struct cuda_run *run, const struct cuda_graph *graph,
                           struct run_times *times, struct error *error);

/* Runs the plan once for an outside profiler, which is told where the run begins and ends. */
enum status cuda_run_profiled(struct cuda_run *run, const struct cuda_graph *graph,
                              struct run_times *times, struct error *error);

/* Waits for everything that was issued and for the CPU. `result` is what the issue of op `at`,
 * the last that was issued, returned; the first failure is reported with that op. `call` names
 * the function if it is another than the one that issues the op; else it is NULL. */
enum status cuda_run_settle(struct cuda_run *run, cudaError_t result, uint32_t at,
                            const char *call, struct error *error);

/* The ops that warm a run up: the plan's first kernel on each device, if it has one, and the
 * copies of its tile before it. Without a kernel, or where the run itself has to load kernels,
 * they are the first copies. Memory that is taken
 * for the tile is taken before them, and given back after. They only touch memory that the run
 * writes before it reads. Fills `ops` with their ids and returns how many they are. */
enum {
    CUDA_FIRST_ON_ONE = 2 * (KERNEL_INPUTS_MAX + 1),
    CUDA_FIRST_OPS = MACHINE_DEVICES_MAX * CUDA_FIRST_ON_ONE
};
int cuda_first_ops(const struct cuda_run *run, uint32_t ops[CUDA_FIRST_OPS]);

/* Runs those ops, one after another, and spoils what they leave on the host. Sets *count to how
 * many of them the device ran; an error names the one that failed. It comes right before a
 * timed run: after the pause that arrays_settle() makes, the host's first calls would take some
 * 90 us more than later ones. */
enum status cuda_run_first_ops(struct cuda_run *run, int *count, struct error *error);

#endif
