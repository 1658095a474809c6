/* op.h - what one issued operation is. */
#ifndef PIPELINE_PLAN_OP_H
#define PIPELINE_PLAN_OP_H

#include "kernels/kernels.h"

#include <stdbool.h>
#include <stdint.h>

/* The buffers a plan works on. Host arrays are whole; device buffers hold one part per slot,
 * unless it says otherwise. */
enum buffer {
    BUFFER_HOST_IN0,
    BUFFER_HOST_IN1,
    BUFFER_HOST_RESIDENT, /* an input that every tile needs whole */
    BUFFER_HOST_OUT,
    BUFFER_HOST_CARRY, /* what scans carry from tile to tile, where that goes by the host */
    BUFFER_DEVICE_IN0,
    BUFFER_DEVICE_IN1,
    BUFFER_DEVICE_RESIDENT, /* whole: it has no slots */
    BUFFER_DEVICE_OUT,
    BUFFER_DEVICE_SCRATCH,
    BUFFER_DEVICE_CARRY, /* what scans carry from tile to tile: a place each, not slots */
    BUFFER_DEVICE_OTHER, /* what is no part of the pipeline works on: it has no slots */
    BUFFER_COUNT,
    BUFFER_FIRST_DEVICE = BUFFER_DEVICE_IN0, /* host buffers come before it */
};

/* Where the host arrays live. */
enum memory {
    MEMORY_PINNED,     /* page-locked as it was taken */
    MEMORY_PAGEABLE,   /* not: the host stages copies through a page-locked buffer */
    MEMORY_REGISTERED, /* page-locked afterwards */
    MEMORY_MAPPED,     /* page-locked, and kernels work on it where it is */
};

/* How the host issues a plan. */
enum issue {
    ISSUE_STREAMS, /* op by op, a call for each */
    ISSUE_GRAPH,   /* captured once; a run is one launch of it */
};

/* Bytes [offset, offset + bytes) of a buffer; no bytes means no range. */
struct range {
    enum buffer buffer;
    uint64_t offset, bytes;
};

enum op_kind {
    OP_H2D,      /* copy to the device */
    OP_KERNEL,   /* one kernel of the chain on one tile */
    OP_D2H,      /* copy back */
    OP_RECORD,   /* record an event in a stream */
    OP_WAIT,     /* a stream waits for an event, which an earlier op recorded */
    OP_CALLBACK, /* a host function, in stream order */
    OP_CPU,      /* the CPU runs the whole chain on a tile, on the host arrays */
    OP_D2D,      /* copy within the device */
    OP_MEMSET,   /* sets bytes of the device */
    OP_SYNC,     /* the host waits until a stream, or the device, has done what was issued */
    OP_ALLOC,    /* the host takes memory and gives it back */
    OP_KIND_COUNT
};

/* One operation. Plain data: a plan is an array of these in host issue order. */
struct op {
    uint32_t id; /* its index in the plan */
    enum op_kind kind;
    /* Below plan.streams. plan.streams stands for none of them: the CPU's own lane for OP_CPU,
     * the whole device for OP_SYNC, and always that for OP_ALLOC. */
    uint32_t stream;
    int32_t tile; /* -1 where an op belongs to no tile */
    union {
        struct {
            struct range host, device;
        } copy;
        struct {
            uint32_t link;   /* which kernel of the chain */
            uint32_t repeat; /* and which of its kernel_launches(), from 0 */
            uint32_t blocks;
            uint64_t count; /* elements */
            struct range in[KERNEL_INPUTS_MAX], resident, out, scratch;
            struct range carry_in, carry_out; /* scans; the first tile's has no carry_in */
            bool carry_own; /* carry_out is the tile's own total, without carry_in */
        } kernel;
        struct {
            uint32_t event; /* below plan.events */
        } event;
        struct {
            struct range result; /* the host bytes it reads */
            int64_t sleep_ns;    /* and how long it sleeps then */
            /* Of one that feeds the next tile of a scan, which has no result: it sets `next` to
             * `before` (none for the first tile) and `total` together. */
            struct range before, total, next;
        } callback;
        struct {
            uint64_t count;
            struct range in[KERNEL_INPUTS_MAX], resident, out;
        } cpu;
        struct {
            struct range from, to; /* of one size; they don't overlap */
        } d2d;
        struct {
            struct range range;
            uint8_t value; /* of every byte */
        } set;
        struct {
            uint64_t bytes;
            bool pinned; /* page-locked memory of the host; else the device's */
        } alloc;
    };
};

/* Whether an op runs as blocks of threads, as kernels do. NVIDIA's programming guide, "Overlap
 * of Data Transfer and Kernel Execution": copies within the device run beside kernels where
 * kernels run side by side, not where there is a copy engine for it. That of a memset is
 * assumed to be alike. */
static inline bool op_is_launch(enum op_kind kind)
{
    return kind == OP_KERNEL || kind == OP_D2D || kind == OP_MEMSET;
}

/* Whether an op is a call that the host alone makes: nothing of it is issued to the device. */
static inline bool op_is_call(enum op_kind kind)
{
    return kind == OP_SYNC || kind == OP_ALLOC;
}

/* Whether an op takes its turn in a stream. */
static inline bool op_in_stream(enum op_kind kind)
{
    return kind != OP_CPU && !op_is_call(kind);
}

/* Whether an op is work for one of the device's engines. */
static inline bool op_on_device(enum op_kind kind)
{
    return kind == OP_H2D || kind == OP_D2H || op_is_launch(kind);
}

/* Whether a callback feeds the next tile; else it is told of its own tile's end. */
static inline bool op_feeds(const struct op *op)
{
    return op->kind == OP_CALLBACK && op->callback.next.bytes > 0;
}

/* Bytes of host arrays that a launch reads and writes itself: they cross the link, into the
 * device and out of it, as a copy's do. 0 where the arrays are not mapped, and for other kinds.
 */
void op_link_bytes(const struct op *op, uint64_t *in, uint64_t *out);

/* Bytes that a copy moves, a memset sets or a kernel moves over the link by itself; 0 for other
 * kinds. */
static inline uint64_t op_bytes(const struct op *op)
{
    if (op->kind == OP_KERNEL) {
        uint64_t in, out;
        op_link_bytes(op, &in, &out);
        return in + out;
    }
    if (op->kind == OP_H2D || op->kind == OP_D2H)
        return op->copy.host.bytes;
    if (op->kind == OP_D2D)
        return op->d2d.to.bytes;
    return op->kind == OP_MEMSET ? op->set.range.bytes : 0;
}

/* What an op touches: at most OP_ACCESS_MAX ranges. */
enum { OP_ACCESS_MAX = KERNEL_INPUTS_MAX + 5 };
struct access {
    struct range range;
    int writes; /* 1: writes it; 0: only reads it */
};

/* Fills `access` with what `op` reads and writes and returns how many ranges that is. Events,
 * waits and the host's calls touch nothing. */
int op_accesses(const struct op *op, struct access access[OP_ACCESS_MAX]);

/* "h2d", "kernel", "d2h", "record", "wait", "callback", "cpu", "d2d", "memset", "sync",
 * "alloc". */
const char *op_kind_name(enum op_kind kind);

/* "host.in0", "device.out", ... */
const char *buffer_name(enum buffer buffer);

#endif
