/* op.h - what one issued operation is. */
#ifndef PIPELINE_OP_H
#define PIPELINE_OP_H

#include "kernels.h"

#include <stdint.h>

/* The buffers a plan works on. Host arrays are whole; device buffers hold one part per slot. */
enum buffer {
    BUFFER_HOST_IN0,
    BUFFER_HOST_IN1,
    BUFFER_HOST_OUT,
    BUFFER_DEVICE_IN0,
    BUFFER_DEVICE_IN1,
    BUFFER_DEVICE_OUT,
    BUFFER_DEVICE_SCRATCH,
    BUFFER_COUNT,
    BUFFER_FIRST_DEVICE = BUFFER_DEVICE_IN0, /* host buffers come before it */
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
    OP_KIND_COUNT
};

/* One operation. Plain data: a plan is an array of these in host issue order. */
struct op {
    uint32_t id; /* its index in the plan */
    enum op_kind kind;
    uint32_t stream; /* below plan.streams; the CPU's own lane, plan.streams, for OP_CPU */
    int32_t tile;    /* -1 where an op belongs to no tile */
    union {
        struct {
            struct range host, device;
        } copy;
        struct {
            uint32_t link; /* which kernel of the chain */
            uint32_t blocks;
            uint64_t count; /* elements */
            struct range in[KERNEL_INPUTS_MAX], out, scratch;
        } kernel;
        struct {
            uint32_t event; /* below plan.events */
        } event;
        struct {
            struct range result; /* the host bytes it reads */
        } callback;
        struct {
            uint64_t count;
            struct range in[KERNEL_INPUTS_MAX], out;
        } cpu;
    };
};

/* What an op touches: at most OP_ACCESS_MAX ranges. */
enum { OP_ACCESS_MAX = 4 };
struct access {
    struct range range;
    int writes; /* 1: writes it; 0: only reads it */
};

/* Fills `access` with what `op` reads and writes and returns how many ranges that is. Events
 * and waits touch nothing. */
int op_accesses(const struct op *op, struct access access[OP_ACCESS_MAX]);

/* "h2d", "kernel", "d2h", "record", "wait", "callback", "cpu". */
const char *op_kind_name(enum op_kind kind);

/* "host.in0", "device.out", ... */
const char *buffer_name(enum buffer buffer);

#endif
