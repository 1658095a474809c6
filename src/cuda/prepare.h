/* prepare.h - a plan made ready to run on its devices: memory, streams, events, loaded kernels,
 * and every op's call looked up. All that should not be in the timed run is done here. An op's
 * device is that of its stream.
 *
 * Environment:
 *   PIPELINE_NO_POISON=1  device buffers are left as allocated, so that a checker of
 *                         uninitialised memory sees what was never copied in */
#ifndef PIPELINE_CUDA_PREPARE_H
#define PIPELINE_CUDA_PREPARE_H

#include "core/arena.h"
#include "cuda/device.h"
#include "kernels/kernel_code.h"
#include "plan/timeline.h"
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
    struct cuda_slot *slots;            /* one per op that takes a tile's memory */
    uint32_t slot_count;
    cudaMemPool_t pool; /* with ALLOC_POOL */
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
    struct arena arena;    /* has all arrays but the callbacks, and what the ops refer to */
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

/* --- memory.c: each device's part of each buffer, and page-locked host arrays --- */

/* Takes each device's memory, and clears what kernels expect to be zero. STATUS_FAILED with the
 * bytes, and the device where there are several, if one has too little. */
enum status cuda_memory_take(struct cuda_run *run, struct error *error);

/* Returns the host's or a device's own address of a range that lies in one piece; NULL for
 * none. A plan counts a buffer's bytes through all devices, each of which has its own part. */
void *cuda_memory_at(const struct cuda_run *run, const struct range *range);

/* Gives back a device's memory; it is the current one. */
void cuda_memory_free(struct cuda_run *run, uint32_t device);

/* Page-locks the host's arrays, for all devices, or takes managed memory in their place. */
enum status cuda_memory_register(struct cuda_run *run, struct error *error);

/* Undoes that. */
void cuda_memory_unregister(struct cuda_run *run);

/* Fills device memory, but for scratch, with the poison of the present run: what an earlier run
 * left could look right. Does nothing under PIPELINE_NO_POISON. */
enum status cuda_memory_poison(const struct cuda_run *run, struct error *error);

/* --- devices of one host that copy to each other --- */

/* Sets *can to whether two of the devices can reach each other's memory. */
enum status cuda_peers_can(const struct cuda_devices *devices, uint32_t from, uint32_t to,
                           bool *can, struct error *error);

/* Lets two devices that can reach each other's memory do so, both ways: without it copies from
 * one to the other would go by the host, and nobody would be told. Access that is on already is
 * no error, and stays on for the process. The first device is then current. */
enum status cuda_peers_join(const struct cuda_devices *devices, uint32_t from, uint32_t to,
                            struct error *error);

/* Joins all devices that a plan copies between in that way. STATUS_USAGE where two of them
 * can't be peers. */
enum status cuda_peers_enable(const struct plan *plan, const struct cuda_devices *devices,
                              struct error *error);

/* --- managed.c: managed memory, and its pages' moves --- */

/* Takes managed memory for the host's arrays of a plan that is to have it, with the inputs;
 * run->host and run->mapped are there from then on. STATUS_FAILED where the device can't work
 * on it beside the host, or has less than four times as much free. */
enum status cuda_managed_take(struct cuda_run *run, struct error *error);

/* Gives it back. Does nothing where there is none. */
void cuda_managed_free(struct cuda_run *run);

/* Brings all pages home before a run, and the output with its poison into them; and after it,
 * with the results, which the arrays then have. Both wait, and do nothing where plans have
 * other memory. */
enum status cuda_managed_begin(const struct cuda_run *run, struct error *error);
enum status cuda_managed_end(const struct cuda_run *run, struct error *error);

/* Issues a prefetch: of an op that copies in to its device, else to the host. */
cudaError_t cuda_managed_prefetch(const struct cuda_issued *op);

/* --- slots.c: memory of the device that is taken for each tile and given back (--alloc) --- */

/* STATUS_USAGE where memory is to be taken in stream order and a device has no memory pools. */
enum status cuda_slots_check(const struct plan *plan, const struct cuda_devices *devices,
                             struct error *error);

/* Makes the run's pool, if its memory comes from one of its own, and finds the places of all
 * addresses. The run's calls are looked up, with addresses as if the memory began at NULL.
 * cuda_slots_free() in any case, before the run's arrays are. */
enum status cuda_slots_look_up(struct cuda_run *run, struct error *error);

/* Gives back what is still taken; the device has done all its work. */
void cuda_slots_give_all(struct cuda_run *run);

/* Frees that memory, and the pool. */
void cuda_slots_free(struct cuda_run *run);

/* Take a slot's memory and give it back, in the order of the op's stream or at once. */
cudaError_t cuda_slot_take(const struct cuda_issued *op);
cudaError_t cuda_slot_give(const struct cuda_issued *op);

/* --- calls.c: which CUDA call each op is, with all its arguments --- */

/* Turns the plan's ops into run->issued and what that refers to. The run has its memory,
 * streams, events and contexts. Callbacks are freed by whoever knows that the device is idle.
 */
enum status cuda_calls_look_up(struct cuda_run *run, struct error *error);

/* --- graph.c: a prepared plan as one CUDA graph --- */

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

#endif
