/* row.h - a row of alike ops, and the small plan that it makes. */
#ifndef PIPELINE_CALIBRATE_ROW_H
#define PIPELINE_CALIBRATE_ROW_H

#include "plan/plan.h"

/* A row of alike ops. `steps` is one step of it, a letter for each op; the row is that step
 * `count` times, dealt over the streams in turn. "hkd" with a count of 64 and 2 streams is thus
 * a pipeline of 64 tiles in two streams: copy in, kernel, copy out of a tile, then the next
 * tile. */
enum row_op {
    ROW_COPY_IN = 'h',
    ROW_KERNEL = 'k',
    ROW_COPY_OUT = 'd',
    ROW_RECORD = 'r',   /* records an event of this step */
    ROW_WAIT = 'w',     /* waits for that event */
    ROW_CALLBACK = 'c', /* a host callback, which does nothing */
    ROW_CPU = 'u',      /* work for the CPU */
    ROW_SYNC = 's',     /* the host waits for the device */
    ROW_ALLOC = 'a',    /* device memory taken and given back */
    ROW_PINNED = 'p',   /* page-locked host memory taken and given back */
    ROW_PACK = 'x',     /* host memory copied by the host's cores */
    ROW_PEER = 'e',     /* a copy from the sender to the device that follows, or back as well */
};
struct row {
    const char *steps;           /* letters of enum row_op */
    uint32_t count, streams;     /* streams 0: one */
    uint64_t bytes;              /* copied, or taken */
    const struct kernel *kernel; /* NULL: scale */
    uint64_t elements;           /* of a launch, or of a tile of the CPU's */
    uint32_t blocks, intensity;  /* intensity 0: 1 */
    bool gate;  /* all streams are held until every op is issued: the times are the device's */
    bool apart; /* copies out have streams of their own, as many again */
    bool pageable;    /* host memory is not page-locked */
    bool lazy;        /* the kernel's code is loaded by its first launch */
    bool graph;       /* issued as one graph */
    bool mapped;      /* launches work on the small host arrays themselves */
    uint32_t devices; /* each step is done on so many at once, in streams and parts of the large
                         arrays of their own: steps of copies alone; 0: one; ROW_PEER is
                         done by its sender alone */
    uint32_t sender;  /* of ROW_PEER */
    bool both_ways;   /* ROW_PEER: the other device sends as much at once */
    uint32_t batch;   /* each copy is a batch of so many, of `bytes` each; 0: none is */
};

/* Each host array where no op of the row copies or uses the CPU. */
enum { ROW_SMALL_BYTES = 4 << 20 };

/* The large host arrays, for each device: beyond the GPU's caches. Ops take its parts in turn.
 */
enum { ROW_ARRAY_BYTES = 128 << 20 };

/* The ops that a gate puts before the row: a long kernel and an event record. */
enum { ROW_GATE_OPS = 2 };

/* Returns the kernel that the row launches. */
const struct kernel *row_kernel(const struct row *row);

/* Returns how many devices the row is on. */
uint32_t row_devices(const struct row *row);

/* Returns true if the row's ops work on the large host arrays. */
bool row_needs_arrays(const struct row *row);

/* Builds the row's plan, which is the caller's to free also after a failure. */
enum status row_plan(const struct row *row, struct plan *plan, struct error *error);

#endif
