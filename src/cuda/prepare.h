/* prepare.h - a plan made ready to run on its devices: memory, streams, events, loaded kernels,
 * and every op's call looked up. All that should not be in the timed run is done here. An op's
 * device is that of its stream.
 *
 * Environment:
 *   PIPELINE_NO_POISON=1  device buffers are left as allocated, so that a checker of
 *                         uninitialised memory sees what was never copied in */
#ifndef PIPELINE_CUDA_PREPARE_H
#define PIPELINE_CUDA_PREPARE_H

#include "cuda/device.h"
#include "kernels/kernel_code.h"
#include "plan/numa.h"
#include "run/backend.h"
#include "run/cpu_worker.h"
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
    void *next; /* what feeds the next tile; NULL: the listener is told instead */
    /* Reductions on managed memory: the value that the listener reads, and its place in the
     * arrays. */
    const void *result;
    void *result_to;
    size_t result_bytes;  /* 0: the result is in the arrays */
    struct interval time; /* when the latest run's callback ran */
};

/* An argument that is the address of memory which is taken while the plan runs. */
struct cuda_place {
    const void **at;
    size_t offset; /* of the address in that memory */
    struct cuda_place *next;
};

/* Memory that is taken for a tile and given back. Taking it fills in the arguments of that
 * tile's calls, so that these cost no more than where the memory was there before. */
struct cuda_slot {
    void *memory; /* NULL: not taken */
    size_t bytes;
    cudaMemPool_t pool; /* NULL: the device's own */
    struct cuda_place *places;
};

/* The arguments of the CUDA call that issues an op. */
struct cuda_issued {
    enum op_kind kind;
    cudaStream_t stream;
    union {
        struct {
            void *to;
            const void *from;
            size_t bytes;                      /* of a row, or of all */
            size_t rows, to_pitch, from_pitch; /* as of struct host_copy; unused in a D2D */
        } copy;
        struct {
            void *to;
            const void *from;
            size_t bytes;
            int to_device, from_device; /* CUDA's numbers */
        } peer;
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
        struct {
            cudaEvent_t event;
            uint64_t flag; /* the device's address of what a record raises, too, or a wait
                              awaits instead; 0: there is none */
        };
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
        struct cuda_slot *slot;             /* of memory that is taken or given back */
        const struct cuda_devices *devices; /* a sync of all streams: theirs; else NULL */
    };
    uint8_t action;  /* enum alloc_action */
    bool ordered;    /* it is done in the order of `stream` */
    bool batched;    /* a copy that is a batch of them */
    bool prefetched; /* a copy that is a prefetch of managed memory, and has one side */
    bool enters;     /* another device is current when its turn comes */
    int16_t device;  /* CUDA's number of its own, of prefetches and where there are several */
};

enum { DEVICE_BUFFERS = BUFFER_COUNT - BUFFER_FIRST_DEVICE };

/* A prepared plan. Zeroed where nothing is prepared; what is NULL was not taken. */
struct cuda_run {
    struct workload workload;
    struct cuda_devices used;                          /* the first of those that are open */
    const struct cuda_devices *devices;                /* these */
    void *host[BUFFER_FIRST_DEVICE];                   /* borrowed; or managed memory */
    void *memory[MACHINE_DEVICES_MAX][DEVICE_BUFFERS]; /* each device's part of each buffer */
    void *mapped[BUFFER_FIRST_DEVICE]; /* the host buffers as kernels see them, if they do:
                                          mapped memory, or managed, which is owned */
    bool registered[BUFFER_FIRST_DEVICE];
    cudaStream_t *streams;
    cudaEvent_t *events;
    uint32_t stream_count, event_count; /* created so far */
    struct cuda_issued *issued;         /* one per op of the plan */
    struct kernel_args *args;           /* one per kernel op */
    struct cuda_slot *slots;            /* one per op that takes a tile's memory */
    struct cuda_place *places;          /* of all of them */
    uint32_t slot_count;
    cudaMemPool_t pool;       /* with ALLOC_POOL */
    struct pieces *pieces;    /* one per op that is several copies */
    struct pieces all_pieces; /* of all of them */
    /* On each device: those of all launches over tiles that lie apart. */
    struct kernel_tile *tiles[MACHINE_DEVICES_MAX];
    void **contexts; /* one per stream, from the kernel's context_create(); or NULL */
    struct cuda_callback *callbacks; /* one per callback op */
    struct cuda_listener *listener;
    void *flags; /* the workload's, as the device sees them; NULL: there are none */
    bool flags_registered;
    struct cpu_worker *worker;
    struct numa_seen seen; /* where the devices and the host's buffers are */
    cudaError_t entering;  /* the failure of a cudaSetDevice() between two ops; else 0 */
};

/* Refuses a plan that can't be issued as it says: a graph that can't be, or batches that CUDA,
 * or its driver, is too old for. STATUS_USAGE. */
enum status cuda_run_check(const struct plan *plan, struct error *error);

/* Prepares `workload` on as many devices as its plan has, the first of `devices`, which are
 * copied; the workload must outlive the run, and the run may not be moved. On failure nothing
 * stays taken. */
enum status cuda_run_prepare(struct cuda_run *run, const struct cuda_devices *devices,
                             const struct workload *workload, struct error *error);

/* Gives everything back; does nothing to a zeroed run. */
void cuda_run_release(struct cuda_run *run);

/* Names the streams for a tool that listens: "pipeline stream 3", or, with one stream per
 * stage, "pipeline h2d". */
void cuda_run_name_streams(const struct cuda_run *run);

#endif
