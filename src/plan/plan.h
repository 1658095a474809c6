/* plan.h - all ops of a run in host issue order, and the facts that they refer to.
 *
 * A plan is built by plan_build() (or by hand, in tests), checked by plan_validate() and
 * plan_hazards(), and then never changed. */
#ifndef PIPELINE_PLAN_H
#define PIPELINE_PLAN_H

#include "core/items.h"
#include "core/status.h"
#include "plan/op.h"
#include "plan/recorded.h"

/* A stream's part in what the legacy default stream orders: that one waits for all that was
 * issued to blocking streams before, and they wait for it with all that comes to them later. */
enum stream_kind {
    STREAM_NONBLOCKING, /* made with cudaStreamNonBlocking: neither waits for the other */
    STREAM_BLOCKING,    /* made by cudaStreamCreate() */
    STREAM_LEGACY,      /* the legacy default stream itself */
    STREAM_KIND_COUNT
};

struct plan {
    struct op *ops;
    struct plan_ranges *ranges; /* what ops' `ranges` point to; NULL: nothing yet */
    uint32_t op_count;
    size_t op_capacity;   /* ops that there is room for */
    uint32_t devices;     /* that batches or links are dealt over; 0 stands for 1 */
    enum sharing sharing; /* these are processes that share one device */
    uint32_t streams;     /* CUDA streams; the CPU's lane is number `streams` */
    uint32_t events;
    uint32_t tiles;     /* all tiles, the CPU's too */
    uint32_t cpu_tiles; /* tiles, the last ones, that the CPU works on */
    bool cpu_helps;     /* the CPU may work on tiles, even where it got none: 4-way */
    uint32_t batch;  /* tiles that go as one; the last batch may be smaller; 0 stands for 1 */
    uint32_t slots;  /* device buffer sets, of all devices; each for as many tiles */
    int *priorities; /* one per stream: 0 default, negative is more urgent; NULL: all default */
    uint8_t *stream_kinds; /* enum stream_kind, one per stream; NULL: all non-blocking */
    enum memory memory;    /* where the host arrays live */
    bool prefetches;       /* copies are prefetches of managed memory's pages */
    bool launches_block;   /* the call that launches a kernel returns when that has ended */
    bool loads_lazily;     /* the first launch of each kernel loads its code */
    enum issue issue;      /* the host's way to issue the ops */
    enum alloc alloc;      /* where a tile's memory on the device comes from */
    bool by_link;          /* the devices have parts of the chain, not batches */
    bool has_halo;         /* the devices have rows that follow one another, and halos */
    bool by_host;          /* by links or with a halo: what a device hands another goes through
                              the host's memory */
    bool has_peers;        /* plan_append() was given a copy to another device */
    bool packs; /* the host packs and unpacks tiles: copies know only its page-locked slots */
    uint64_t elements;
    uint64_t buffer_bytes[BUFFER_COUNT]; /* of host arrays those that ranges count */
    enum copy copy;      /* the tiles are pieces of the host's arrays, or columns of them */
    uint32_t tile_width; /* then: elements of a tile's row */
    uint32_t *places; /* per tile, its place in host memory, where tiles lie apart and shuffled
                         (plan/host_layout.h); NULL: they don't */
    const struct kernel *chain[CHAIN_MAX];
    int chain_length;
    struct kernel_params params;
    struct plan_loops *loops;       /* that it was unrolled from (plan/steps.h); NULL: none */
    struct plan_recorded *recorded; /* of another program's plan; NULL: this one was built. It
                                       then has no chain, tiles, elements or buffer_bytes */
};

/* Returns true if kernels work on the host's arrays themselves, in no buffers of the device. */
static inline bool plan_kernels_reach_host(const struct plan *plan)
{
    return memory_is_reached(plan->memory);
}

/* Returns true if it is the kernels that move the arrays' bytes over the link: those that reach
 * the host's arrays do, unless pages are prefetched for them. */
static inline bool plan_kernels_move_bytes(const struct plan *plan)
{
    return plan_kernels_reach_host(plan) && !plan->prefetches;
}

/* Frees what `plan` owns. */
void plan_free(struct plan *plan);

/* Appends a copy of `op`, giving it its id. STATUS_FAILED when ids run out;
 * STATUS_NO_MEMORY. */
enum status plan_append(struct plan *plan, const struct op *op, struct error *error);

/* Returns ranges without a byte, for an op to point to; they are the plan's. NULL where there
 * is no memory, which `error` then says. */
struct op_ranges *plan_take_ranges(struct plan *plan, struct error *error);

/* Returns ranges that equal `wanted`, or NULL likewise. Kernels that work on the same slot
 * mostly work on the same bytes: such ops share them, so that nobody may change them. */
struct op_ranges *plan_keep_ranges(struct plan *plan, const struct op_ranges *wanted,
                                   struct error *error);

/* Sets which elements, [*first, *first + *count), are tile `tile`: the sizes of tiles differ by
 * one at most. */
void plan_tile(const struct plan *plan, uint32_t tile, uint64_t *first, uint64_t *count);

/* Returns floor(a * b / c) without overflow, for b <= c. */
uint64_t plan_part_of(uint64_t a, uint64_t b, uint64_t c);

/* Returns the tile that element `element` of the array is in. */
uint32_t plan_tile_of(const struct plan *plan, uint64_t element);

/* Tiles that follow one another. */
struct tiles {
    uint32_t first, count;
};

/* Sets which elements several tiles are. */
void plan_tiles(const struct plan *plan, struct tiles tiles, uint64_t *first, uint64_t *count);

/* The GPU's tiles go in batches, numbered from 0; each is one tile unless plan.batch says
 * otherwise. Return how many there are, the tiles of batch `number`, and the batch of a tile.
 */
uint32_t plan_batches(const struct plan *plan);
struct tiles plan_batch(const struct plan *plan, uint32_t number);
uint32_t plan_batch_of(const struct plan *plan, uint32_t tile);

/* --- devices --- */

static inline uint32_t plan_devices(const struct plan *plan)
{
    return plan->devices > 1 ? plan->devices : 1;
}

/* Returns how many GPUs these are. */
static inline uint32_t plan_gpus(const struct plan *plan)
{
    return plan->sharing == SHARING_NONE ? plan_devices(plan) : 1;
}

/* Batches are dealt over the devices in turn, but where there is a halo; by links, every batch
 * comes to every device. Return the device of a batch, by links the first, and its number among
 * that one's batches. Mostly there is one device, which costs no division. */
static inline uint32_t plan_batch_device(const struct plan *plan, uint32_t batch)
{
    return plan->devices > 1 && !plan->by_link ? batch % plan->devices : 0;
}
static inline uint32_t plan_batch_number(const struct plan *plan, uint32_t batch)
{
    return plan->devices > 1 && !plan->by_link ? batch / plan->devices : batch;
}

/* By links. Return the device of a link, and true for its device's first one. */
static inline uint32_t plan_link_device(const struct plan *plan, uint32_t link)
{
    return plan->by_link ? link_device(link, (uint32_t)plan->chain_length, plan->devices) : 0;
}
static inline bool plan_link_is_first(const struct plan *plan, uint32_t link)
{
    return link == 0 || plan_link_device(plan, link) != plan_link_device(plan, link - 1);
}

/* Returns the device that a link works on a batch on. */
static inline uint32_t plan_work_device(const struct plan *plan, uint32_t batch, uint32_t link)
{
    return plan->by_link ? plan_link_device(plan, link) : plan_batch_device(plan, batch);
}

/* With a halo. Returns the tiles of a device, which follow one another: as many as others have,
 * or one more. */
static inline struct tiles plan_device_tiles(const struct plan *plan, uint32_t device)
{
    const uint64_t tiles = plan->tiles, devices = plan_devices(plan);
    const uint64_t first = (device * tiles + devices - 1) / devices;
    const uint64_t end = ((device + UINT64_C(1)) * tiles + devices - 1) / devices;
    return (struct tiles){(uint32_t)first, (uint32_t)(end - first)};
}

/* Returns the device that the result of a tile comes from. */
uint32_t plan_result_device(const struct plan *plan, uint32_t tile);

/* The place of a stream: its device, and its number among that one's streams. Devices have as
 * many streams each, one device's behind another's; what is in none of them is the host's. So
 * an op's device is that of its stream. */
struct stream_home {
    uint32_t device, number;
};
static inline struct stream_home stream_home(uint32_t stream, uint32_t streams,
                                             uint32_t devices)
{
    if (devices <= 1 || stream >= streams || streams % devices != 0)
        return (struct stream_home){0, stream};
    const uint32_t each = streams / devices;
    return (struct stream_home){stream / each, stream % each};
}
static inline struct stream_home plan_stream_home(const struct plan *plan, uint32_t stream)
{
    return stream_home(stream, plan->streams, plan->devices);
}

/* Returns the device that a stream is on, by its place among the plan's. */
static inline uint32_t plan_stream_device(const struct plan *plan, uint32_t stream)
{
    return plan_stream_home(plan, stream).device;
}

/* Return all of a buffer, and the part of a device buffer that is a device's. */
static inline struct range plan_whole(const struct plan *plan, enum buffer buffer)
{
    return (struct range){buffer, 0, plan->buffer_bytes[buffer]};
}
static inline struct range plan_device_part(const struct plan *plan, enum buffer buffer,
                                            uint32_t device)
{
    if (plan->devices <= 1)
        return plan_whole(plan, buffer);
    const uint64_t bytes = plan->buffer_bytes[buffer] / plan->devices;
    return (struct range){buffer, device * bytes, bytes};
}

/* Returns true if a device buffer's slots are taken while the plan runs. */
static inline bool plan_takes_buffer(const struct plan *plan, enum buffer buffer)
{
    return plan->alloc != ALLOC_ONCE &&
           (buffer == BUFFER_DEVICE_IN0 || buffer == BUFFER_DEVICE_IN1 ||
            buffer == BUFFER_DEVICE_OUT);
}

/* Returns the device whose part of a device buffer a range lies in. */
static inline uint32_t plan_range_device(const struct plan *plan, const struct range *range)
{
    return plan->devices <= 1
               ? 0
               : (uint32_t)(range->offset / plan_device_part(plan, range->buffer, 0).bytes);
}

/* Returns the part of `range` that is tile `tile`'s: the range is what a copy, or a mapped
 * kernel, moves of `tiles`, one behind the other. */
struct range plan_tile_part(const struct plan *plan, const struct range *range,
                            struct tiles tiles, uint32_t tile);

/* Returns how many buffers ops may touch: BUFFER_COUNT, or those of a recorded plan. */
static inline uint32_t plan_buffer_count(const struct plan *plan)
{
    return plan->recorded != NULL ? plan->recorded->buffer_count : BUFFER_COUNT;
}

/* Returns what was seen of `op`; NULL in a built plan. */
static inline const struct op_recorded *plan_seen(const struct plan *plan, const struct op *op)
{
    return plan->recorded != NULL ? &plan->recorded->ops[op->id] : NULL;
}

/* Fetches an op ahead of op `i` from memory, for passes that look at records and waits alone:
 * these lie too far apart for the processor to foresee. */
static inline void plan_fetch_ahead(const struct plan *plan, uint32_t i)
{
    enum { AHEAD = 16 };
    if (plan->events > 0 && plan->op_count - i > AHEAD)
        __builtin_prefetch(&plan->ops[i + AHEAD]);
}

/* Returns what `op` reads and writes, *count ranges of at least a byte: in `room`, or in the
 * plan. A range's buffer is below plan_buffer_count(). */
static inline const struct access *plan_accesses(const struct plan *plan, const struct op *op,
                                                 struct access room[OP_ACCESS_MAX],
                                                 uint32_t *count)
{
    const struct op_recorded *seen = plan_seen(plan, op);
    if (seen == NULL) {
        *count = (uint32_t)op_accesses(op, room);
        return room;
    }
    *count = seen->access_count;
    return seen->access_count > 0 ? &plan->recorded->accesses[seen->first_access] : room;
}

/* Return the bytes of memory that the host arrays (in plan/host_layout.c: with the gaps between
 * tiles that lie apart) and the buffers of all devices take. */
uint64_t plan_host_bytes(const struct plan *plan);
uint64_t plan_device_bytes(const struct plan *plan);

/* Returns the last kernel of the chain, which says what a tile leaves. The chain must not be
 * empty; plan_build() and plan_validate() refuse one that is. */
const struct kernel *plan_last_kernel(const struct plan *plan);

/* Returns the kind of a stream; plan.streams, which stands for none, is non-blocking. */
static inline enum stream_kind plan_stream_kind(const struct plan *plan, uint32_t stream)
{
    if (plan->stream_kinds == NULL || stream >= plan->streams)
        return STREAM_NONBLOCKING;
    return (enum stream_kind)plan->stream_kinds[stream];
}

/* Returns "non-blocking", "blocking" or "legacy". */
const char *stream_kind_name(enum stream_kind kind);

/* Writes "h2d 3", "scale 3", "wait", "cpu 30" and the like into `text` and returns it. */
enum { OP_LABEL = 64 };
const char *plan_op_label(const struct plan *plan, const struct op *op, char text[OP_LABEL]);

#endif
