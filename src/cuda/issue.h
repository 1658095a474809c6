/* issue.h - one op of a plan, with everything looked up that its CUDA call needs, and the call.
 *
 * cuda_issue() is inline, so that the loop that issues a plan has nothing in it but the calls.
 */
#ifndef PIPELINE_CUDA_ISSUE_H
#define PIPELINE_CUDA_ISSUE_H

#include "cuda/check.h"
#include "kernels/kernel_code.h"
#include "plan/plan.h"
#include "run/cpu_worker.h"
#include "term/marks.h"

#include <pthread.h>

/* Who is told when a tile is done: all callbacks of a prepared plan share it. */
struct cuda_listener {
    void (*on_tile)(void *context, int32_t tile); /* NULL: nobody */
    void *context;
    pthread_mutex_t lock; /* on_tile runs one at a time */
    bool muted;           /* nobody is told: the run repeats one that told already */
};

/* A host callback's op: the argument that CUDA hands to cuda_callback_main(). */
struct cuda_callback {
    struct cuda_listener *listener;
    int32_t tile;
    int64_t sleep_ns;
    const void *before, *total; /* arguments of carry_feed(), with `next` */
    void *next;           /* what feeds the next tile; NULL: the listener is told instead */
    struct interval time; /* when the latest run's callback ran */
};

/* The arguments of the CUDA call that issues an op. */
struct cuda_issued {
    enum op_kind kind;
    cudaStream_t stream;
    union {
        struct {
            void *to;
            const void *from;
            size_t bytes;
        } copy;
        struct {
            int (*launch)(const struct kernel_args *args, void *stream);
            const struct kernel_args *args;
        } kernel;
        cudaEvent_t event;
        struct cuda_callback *callback;
        struct {
            void *at;
            int value;
            size_t bytes;
        } set;
        struct {
            size_t bytes;
            bool pinned;
        } alloc;
        bool device; /* a sync: true if it waits for all streams */
    };
};

/* Runs a callback's op; the driver calls it, on a thread of its own. */
void CUDART_CB cuda_callback_main(void *callback);

/* Takes memory, which nothing uses, and gives it back. */
cudaError_t cuda_issue_alloc(const struct cuda_issued *op);

/* The name of the CUDA function that issues an op, for errors. */
const char *cuda_call_name(const struct cuda_issued *op);

/* Issues one op, in one call (an allocation's in two). CPU ops are the worker's. */
static inline cudaError_t cuda_issue(const struct cuda_issued *op)
{
    switch (op->kind) {
    case OP_H2D:
        return cudaMemcpyAsync(op->copy.to, op->copy.from, op->copy.bytes,
                               cudaMemcpyHostToDevice, op->stream);
    case OP_D2H:
        return cudaMemcpyAsync(op->copy.to, op->copy.from, op->copy.bytes,
                               cudaMemcpyDeviceToHost, op->stream);
    case OP_KERNEL:
        return (cudaError_t)op->kernel.launch(op->kernel.args, op->stream);
    case OP_RECORD:
        return cudaEventRecord(op->event, op->stream);
    case OP_WAIT:
        return cudaStreamWaitEvent(op->stream, op->event, 0);
    case OP_CALLBACK:
        return cudaLaunchHostFunc(op->stream, cuda_callback_main, op->callback);
    case OP_D2D:
        return cudaMemcpyAsync(op->copy.to, op->copy.from, op->copy.bytes,
                               cudaMemcpyDeviceToDevice, op->stream);
    case OP_MEMSET:
        return cudaMemsetAsync(op->set.at, op->set.value, op->set.bytes, op->stream);
    case OP_SYNC:
        return op->device ? cudaDeviceSynchronize() : cudaStreamSynchronize(op->stream);
    case OP_ALLOC:
        return cuda_issue_alloc(op);
    case OP_CPU:
    case OP_KIND_COUNT:
        break;
    }
    return cudaSuccess;
}

/* Issues op `i` of the plan, inside an NVTX range of its own if `marked`. Where `marked` is a
 * constant false this is cuda_issue(). */
static inline cudaError_t cuda_issue_op(const struct plan *plan,
                                        const struct cuda_issued *issued, uint32_t i,
                                        bool marked)
{
    const struct op *op = &plan->ops[i];
    /* The CPU's ops are issued all at once; its worker marks the work itself. */
    if (!marked || op->kind == OP_CPU)
        return cuda_issue(&issued[i]);
    marks_issue_begin(op, op->kind == OP_KERNEL ? plan->chain[op->kernel.link] : NULL);
    cudaError_t result = cuda_issue(&issued[i]);
    marks_end();
    return result;
}

#endif
