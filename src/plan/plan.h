/* plan.h - all ops of a run in host issue order, what they touch, and whether they may race.
 *
 * No I/O, no global state. A plan is built by plan_build() (or by hand, in tests), checked by
 * plan_validate() and plan_hazards(), and then never changed. */
#ifndef PIPELINE_PLAN_H
#define PIPELINE_PLAN_H

#include "core/status.h"
#include "plan/op.h"

/* How a stream goes together with the legacy default stream, which waits for all that was
 * issued to blocking streams before, and is waited for by all that comes to them later. */
enum stream_kind {
    STREAM_NONBLOCKING, /* by cudaStreamNonBlocking: it never waits for that one */
    STREAM_BLOCKING,    /* by cudaStreamCreate() */
    STREAM_LEGACY,      /* the legacy default stream itself */
    STREAM_KIND_COUNT
};

struct plan {
    struct op *ops;
    uint32_t op_count, op_capacity;
    uint32_t streams; /* CUDA streams; the CPU's lane is number `streams` */
    uint32_t events;
    uint32_t tiles;     /* all tiles, the CPU's too */
    uint32_t cpu_tiles; /* how many of them (the last ones) the CPU works on */
    uint32_t slots;     /* device buffer sets */
    int *priorities; /* one per stream: 0 default, negative is more urgent; NULL: all default */
    uint8_t *stream_kinds; /* enum stream_kind, one per stream; NULL: all non-blocking */
    enum memory memory;    /* where the host arrays live */
    bool launches_block;   /* the call that launches a kernel returns when that has ended */
    bool loads_lazily;     /* the first launch of each kernel loads its code */
    enum issue issue;      /* how the host issues it */
    uint64_t elements;
    uint64_t buffer_bytes[BUFFER_COUNT];
    const struct kernel *chain[CHAIN_MAX];
    int chain_length;
    struct kernel_params params;
};

/* Two ops that touch the same bytes, one of them writing, with no path between them. */
struct hazard {
    uint32_t first, second; /* op ids, first issued first */
    struct range where;     /* bytes that both touch */
};

/* Makes `plan` empty. */
void plan_init(struct plan *plan);

/* Frees what `plan` owns. */
void plan_free(struct plan *plan);

/* Appends a copy of `op`, giving it its id. STATUS_FAILED when memory or ids run out. */
enum status plan_append(struct plan *plan, const struct op *op, struct error *error);

/* Elements [*first, *first + *count) of tile `tile`: sizes differ by one at most. */
void plan_tile(const struct plan *plan, uint32_t tile, uint64_t *first, uint64_t *count);

/* Bytes the host arrays and the device buffers take. */
uint64_t plan_host_bytes(const struct plan *plan);
uint64_t plan_device_bytes(const struct plan *plan);

/* The last kernel of the chain: it says what a tile leaves. */
const struct kernel *plan_last_kernel(const struct plan *plan);

/* Checks that every op refers to streams, events, kernels and bytes that are there, and that
 * each event is recorded before it is waited for. STATUS_FAILED names the op, or, where the
 * plan could never end, the ops that wait for each other. */
enum status plan_validate(const struct plan *plan, struct error *error);

/* The part of plan_validate() that is about waits; the ops must refer to streams and events
 * that are there. STATUS_FAILED says, of what is wrong, the worst: an event is waited for that
 * no op records, and the wait is named; ops wait for each other, and those are named, in the
 * order in which one waits for the next; a wait comes before any record of its event, so that
 * it orders nothing. Time and memory linear in ops. */
enum status plan_check_waits(const struct plan *plan, struct error *error);

/* The kind of a stream; plan.streams, which stands for none, is non-blocking. */
static inline enum stream_kind plan_stream_kind(const struct plan *plan, uint32_t stream)
{
    if (plan->stream_kinds == NULL || stream >= plan->streams)
        return STREAM_NONBLOCKING;
    return (enum stream_kind)plan->stream_kinds[stream];
}

/* "non-blocking", "blocking", "legacy". */
const char *stream_kind_name(enum stream_kind kind);

/* Finds hazards in issue order, at most `max` of them, into `hazards`; *count is how many were
 * found (counting stops at `max`). Paths lead along streams, events, the legacy default stream
 * and the host's syncs, which come before all that it issues later, but not before the CPU's
 * ops; not along what calls synchronise implicitly: that differs from machine to machine. O(n
 * log n) for n ops on few streams. Vector clocks per stream and epochs per piece of memory,
 * after FastTrack (Flanagan & Freund, PLDI 2009). */
enum status plan_hazards(const struct plan *plan, struct hazard *hazards, size_t max,
                         size_t *count, struct error *error);

/* Writes "h2d 3", "scale 3", "wait", "cpu 30" and the like into `text` and returns it. */
enum { OP_LABEL = 64 };
const char *plan_op_label(const struct plan *plan, const struct op *op, char text[OP_LABEL]);

#endif
