/* issue.h - issues one op of a prepared plan, in the call that was looked up for it. */
#ifndef PIPELINE_CUDA_ISSUE_H
#define PIPELINE_CUDA_ISSUE_H

#include "cuda/prepare.h"

/* --- flags in host memory that streams set and wait for, in stream order: this is how they
 * tell other processes how far they are, and wait for them (run/backend.h) --- */

/* Page-locks the workload's flags, if it has any, and finds the driver's calls. STATUS_FAILED
 * if the driver has none. */
enum status cuda_flags_take(struct cuda_run *run, struct error *error);

/* Undoes that, or does nothing. No stream may be working. */
void cuda_flags_free(struct cuda_run *run);

/* Returns the device's address of a flag; 0 for flag 0. */
uint64_t cuda_flag_at(const struct cuda_run *run, uint32_t flag);

/* Issue a record whose flag others wait for, and a wait for a flag. */
cudaError_t cuda_flag_raise(const struct cuda_issued *op);
cudaError_t cuda_flag_await(const struct cuda_issued *op);

/* --- ops --- */

/* Runs a callback's op; the driver calls it, on a thread of its own. */
void CUDART_CB cuda_callback_main(void *callback);

/* Allocates a tile's memory, frees it, or allocates and frees some that nothing uses. */
cudaError_t cuda_issue_alloc(const struct cuda_issued *op);

/* Waits for all streams of all devices. */
cudaError_t cuda_issue_sync(const struct cuda_issued *op);

/* STATUS_USAGE if a plan has batches and the driver, or the CUDA Toolkit that this program was
 * built with, is older than 12.8. */
enum status cuda_issue_check(const struct plan *plan, struct error *error);

/* Issues a batch of copies in `stream`, which must not be the legacy default stream. */
cudaError_t cuda_issue_batch(const struct pieces *pieces, cudaStream_t stream);

/* Issues a copy to or from the host, of one piece or of separate rows. */
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

/* Issues one op, in one call (an allocation that is freed, in two). The worker runs CPU ops.
 * The op's device is the current one. */
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

/* Makes the op's device current, and keeps an error of that in run->entering. */
cudaError_t cuda_issue_enter(struct cuda_run *run, const struct cuda_issued *op);

/* Issues op `i` of the plan, whose turn it is, inside its own NVTX range if `marked`. If
 * `marked` is a constant false and the device stays, this is cuda_issue(). */
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

/* Returns the name of the CUDA function that issues an op, for errors. */
const char *cuda_issue_name(const struct cuda_issued *op);

#endif
