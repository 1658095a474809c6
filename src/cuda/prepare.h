/* prepare.h - a plan made ready to run on the current device: memory, streams, events, loaded
 * kernels, and every op's call looked up. All that should not be in the timed run is done here.
 *
 * Environment:
 *   PIPELINE_NO_POISON=1  device buffers are left as allocated, so that a checker of
 *                         uninitialised memory sees what was never copied in */
#ifndef PIPELINE_CUDA_PREPARE_H
#define PIPELINE_CUDA_PREPARE_H

#include "cuda/check.h"
#include "kernels/kernel_code.h"
#include "plan/host_layout.h"
#include "run/backend.h"
#include "run/cpu_worker.h"
#include "run/pieces.h"
#include "term/marks.h"

#include <pthread.h>

/* Who is told when a tile is done: all callbacks of a prepared plan share it. A device that
 * can't be waited for may call back after the run is released, so it is closed then, and stays.
 */
struct cuda_listener {
    void (*on_tile)(void *context, int32_t tile); /* NULL: nobody */
    void *context;
    pthread_mutex_t lock; /* callbacks' work is done one at a time */
    bool muted;           /* nobody is told: the run repeats one that told already */
    bool closed;          /* callbacks do nothing: the run's memory may be gone */
};

/* A host callback's op: the argument that CUDA hands to cuda_callback_main(). */
struct cuda_callback {
    struct cuda_listener *listener;
    int32_t tile;
    uint32_t tiles; /* of a batch, or 1 */
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
        struct pieces *pieces; /* of a batch of copies, or of what the host packs */
        struct {
            int (*launch)(const struct kernel_args *args, void *stream);
            const struct kernel_args *args;
            const char *call; /* the function that launches, for errors */
            /* A launch over tiles that lie apart; `tiles` is the device's. NULL: `launch` does.
             */
            int (*launch_tiles)(const struct kernel_args *args, const struct kernel_tile *tiles,
                                uint32_t tile_count, void *stream);
            const struct kernel_tile *tiles;
            uint32_t tile_count;
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
    bool batched; /* a copy that is a batch of them */
};

/* A prepared plan. Zeroed where nothing is prepared; what is NULL was not taken. */
struct cuda_run {
    struct workload workload;
    void *memory[BUFFER_COUNT];        /* host buffers: borrowed; device buffers: owned */
    void *mapped[BUFFER_FIRST_DEVICE]; /* mapped memory: the host buffers as kernels see them */
    bool registered[BUFFER_FIRST_DEVICE];
    cudaStream_t *streams;
    cudaEvent_t *events;
    uint32_t stream_count, event_count; /* created so far */
    struct cuda_issued *issued;         /* one per op of the plan */
    struct kernel_args *args;           /* one per kernel op */
    struct pieces *pieces;              /* one per op that is several copies */
    struct pieces all_pieces;           /* of all of them */
    struct kernel_tile *tiles; /* on the device: of all launches over tiles that lie apart */
    void **contexts;           /* one per stream, from the kernel's context_create(); or NULL */
    struct cuda_callback *callbacks; /* one per callback op */
    struct cuda_listener *listener;
    struct cpu_worker *worker;
    bool lost; /* the context is unusable: clean-up frees what it can and is silent */
};

/* Refuses a plan that can't be issued as it says: a graph that can't be, or batches that CUDA,
 * or its driver, is too old for. STATUS_USAGE. */
enum status cuda_run_check(const struct plan *plan, struct error *error);

/* Prepares `workload`, which must outlive the run. On failure nothing stays taken. */
enum status cuda_run_prepare(struct cuda_run *run, const struct workload *workload,
                             struct error *error);

/* Returns the host's or the device's own address of a range that lies in one piece; NULL for
 * none. */
static inline void *cuda_run_at(const struct cuda_run *run, const struct range *range)
{
    if (range->bytes == 0)
        return NULL;
    return (char *)run->memory[range->buffer] + host_layout_offset(run->workload.plan, range);
}

/* Fills device memory, but for scratch, with the poison of the present run: what an earlier run
 * left could look right. Does nothing under PIPELINE_NO_POISON. */
enum status cuda_run_poison(const struct cuda_run *run, struct error *error);

/* Gives everything back; does nothing to a zeroed run. */
void cuda_run_release(struct cuda_run *run);

/* Names the streams for a tool that listens: "pipeline stream 3", or, with one stream per
 * stage, "pipeline h2d". */
void cuda_run_name_streams(const struct cuda_run *run);

/* Warns of a failed call of clean-up, unless the context is lost: then every call fails with
 * the error already reported. They are made all the same, since they still free host memory. */
static inline void cuda_run_warn(const struct cuda_run *run, cudaError_t result,
                                 const char *call)
{
    if (!run->lost)
        cuda_warn(result, call);
}

#endif
