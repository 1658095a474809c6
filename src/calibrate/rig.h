/* rig.h - times rows of ops on the device that is calibrated, and sets the figures found.
 *
 * All parts of a calibration are measured several times over, pass by pass, so that the times
 * of one row are taken far apart. Each pass adds a sample to those that the rig keeps of a row,
 * and figures are made of the medians so far: a disturbance, a slow start or a drift that
 * spoils one pass moves none of them. The figures of the last pass are those that count. There
 * are as many passes as there is time for.
 *
 * A figure begins as what stands for one that is not measured. It keeps that where its times
 * make it one that no device has, and the file says so.
 *
 * A sample is known by its number in its part. So every pass takes the same samples in the same
 * order: which rows are timed may depend on the device, but never on what was measured.
 *
 * The first failure is kept in rig->error and ends the calibration: nothing runs behind it, and
 * whatever is asked for is made of zeros, so that only who loops or looks at the device's
 * kernels has to ask rig_failed(). */
#ifndef PIPELINE_CALIBRATE_RIG_H
#define PIPELINE_CALIBRATE_RIG_H

#include "calibrate/calibrate.h"
#include "plan/plan.h"
#include "run/backend.h"

/* --- row.c: a row of alike ops, and the small plan that it makes --- */

/* In a row: launches of one small block. */
#define SMALL_KERNEL .elements = 1024, .blocks = 1

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

/* Rows that pack work on so many bytes, since no last cache of a host is to hold them. [Packs
 * of 256 MiB in all, which a last cache of 300 MiB can hold, were up to 2.6 times as fast as in
 * runs: bench/results/h200-2026-12-01-rules.txt] */
enum { ROW_PACK_BYTES = 384 << 20 };

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

enum { RIG_PASSES = 3 };

/* A measured time, in ns. */
struct measured {
    double ns;         /* the median of the passes */
    double spread_ns;  /* half their range */
    int passes;        /* how many there were */
    uint64_t elements; /* that were timed, where it matters */
};

/* Makes one of `count` values, which are left sorted; zeros where there are none. */
struct measured measured_median(int64_t *values, int count);

/* The time that loading a kernel's code takes. A process does that once, so it is timed once,
 * too. */
struct loads {
    struct measured time;
    int kernels; /* that were loaded; 0: not timed yet */
};

/* The values of one sample, one of each of the latest passes. */
struct samples {
    int64_t values[RIG_PASSES];
};

struct rig {
    const struct backend_ops *ops;
    struct backend *backend;
    struct settings settings;
    struct calibration *calibration;
    const struct machine *device; /* as the backend describes it: its SMs and blocks */
    const struct kernel *own;     /* of the user's, measured with those of the table; NULL */
    struct arrays arrays;         /* large host arrays, for rows that copy or use the CPU */
    struct arrays small;          /* small ones, for rows that use none but must have some */
    const struct kernel *arrays_for, *small_for; /* the kernels whose inputs they hold */
    uint64_t arrays_bytes;                       /* of each of the large ones */
    struct arrays shared; /* for rows on several devices at once: so many as ... */
    uint32_t shared_for;  /* ... this; 0: not made yet */
    double launch_ns;     /* of `scale` on one block, set by calibrate_kernels() */
    struct loads loads;
    unsigned scope;          /* of enum calibration_scope */
    struct machine usual;    /* what stands for the figures that are not measured, and ... */
    const char *usual_how;   /* ... what that is */
    bool without;            /* there is no machine file for such a device */
    int pass;                /* of the part that is measured, from 0 */
    struct samples *samples; /* by number; owned */
    size_t sample, sample_count,
        sample_capacity; /* the next one's number; how many there are */
    struct error *error; /* ends the calibration */
};

static inline bool rig_failed(const struct rig *rig)
{
    return rig->error->status != STATUS_OK;
}

/* Returns true where only what the host decides is measured, into a machine that has all. */
static inline bool rig_of_host(const struct rig *rig)
{
    return (rig->scope & CALIBRATE_HOST) != 0;
}

/* Adds this pass's value of the next sample and returns what its values say, each divided by
 * `share`. */
struct measured rig_sample(struct rig *rig, int64_t value, uint32_t share);

/* Returns the time that one step more takes, of the whole run, and sets *issue, unless it is
 * NULL, to the host's time to issue it: rows of count and of count / 4 steps are timed, one
 * behind the other, and the difference is shared out. */
struct measured rig_step(struct rig *rig, const struct row *row, struct measured *issue);

/* Returns the time that the host takes to issue the whole row. */
struct measured rig_issue(struct rig *rig, const struct row *row);

/* Returns the time of a step, and sets that of its issue, as the simulator predicts them by the
 * figures found so far, and those that stand for what is not. `issue_ns` may be NULL. */
double rig_simulated_step(struct rig *rig, const struct row *row, double *issue_ns);

/* Returns the time of the host's calls for the whole row, predicted likewise. */
double rig_simulated_issue(struct rig *rig, const struct row *row);

/* Runs the row once with a timeline, which is the caller's to free. */
enum status rig_trace(struct rig *rig, const struct row *row, struct timeline *timeline);

/* Takes times from a row's timeline, no more than it has spans, and returns how many. */
typedef int rig_draw(const struct row *row, const struct timeline *timeline, int64_t *times);

/* Returns the median of the times that `draw` takes from the row's timeline, of the repeats
 * that nothing disturbed. */
struct measured rig_traced(struct rig *rig, const struct row *row, rig_draw *draw);

/* For rows of one op a step: takes the gaps from an op's end to the next one's start. */
rig_draw rig_draw_gaps;

/* Sets a figure of the machine or, unless `kernel` is NULL, of that kernel's row, which is
 * added where there is none; its spread is that of `timing`, of which `value` was made. NULL:
 * it was not timed. One that no machine file may hold, or no real device can have, such as NAN,
 * is not taken: what stands for a figure that is not measured does, and the file says so. */
void rig_set(struct rig *rig, const struct kernel *kernel, const char *key, double value,
             const struct measured *timing, const char *how);

/* Set a figure of the machine that was measured, or one that was not timed. */
void rig_found(struct rig *rig, const char *key, double value, struct measured timing,
               const char *how);
void rig_known(struct rig *rig, const char *key, double value, const char *how);

/* A rate that has only a part in a row's time, beside a copy's latency, gap and call. It is
 * changed until the simulator takes as long for a step as the device. */
struct fitted_rate {
    const char *key, *how;
    double least, most;
};
void rig_fit_rate(struct rig *rig, const struct fitted_rate *fitted, const struct row *row,
                  struct measured step);

/* Takes the own times of a row's kernels, or tiles of the CPU's, from its timeline. */
rig_draw rig_draw_work;

/* Returns the time of one of the row's launches, which is all that its steps are; of a kernel
 * of the user's own without a trace, and with the gap between two of them known. */
struct measured rig_launch(struct rig *rig, const struct row *row);

/* Returns true if a kernel of the table gets a section. */
bool rig_measures(const struct kernel *kernel);

/* Walks over all kernels that get one, in a quick calibration `scale` alone: returns the first
 * of the table with NULL and then the next, at last the user's own; NULL behind that. */
const struct kernel *rig_next_kernel(const struct rig *rig, const struct kernel *kernel);

/* Returns the elements of which an array of the kernel's has `bytes`, but fewer where so many
 * elements of a kernel of the user's own would take long. */
uint64_t rig_elements(const struct kernel *kernel, uint64_t bytes);

/* The parts of a calibration, in the order in which they have to be done: each takes the
 * figures of those before it as given, and sets its own. */
void calibrate_calls(struct rig *rig);
void calibrate_packing(struct rig *rig);
void calibrate_host(struct rig *rig); /* before a row of the CPU's loads a kernel */
void calibrate_cpu(struct rig *rig);
void calibrate_copies(struct rig *rig);
void calibrate_pageable(struct rig *rig);
void calibrate_shared(struct rig *rig); /* nothing, where there is one device */
void calibrate_peers(struct rig *rig);  /* likewise */
void calibrate_kernels(struct rig *rig);
void calibrate_mapped(struct rig *rig);
void calibrate_signals(struct rig *rig);
void calibrate_callbacks(struct rig *rig);
void calibrate_graphs(struct rig *rig);

/* Returns true if graphs are measured: a simulated machine says if it knows them, and a machine
 * file whose calls alone are measured; every real device of today's CUDA does. */
bool rig_knows_graphs(const struct rig *rig);

/* The last part: holds the figures against plain runs, measured in the same passes, and keeps
 * how far both are apart in the calibration's outcomes. */
void calibrate_checks(struct rig *rig);

/* Sets what stands for the figures that are not measured. */
void rig_begin(struct rig *rig);

/* Sets the spreads at the end, by what the passes differ and by how far the figures hold for
 * plain runs; and without a machine file for such a device what follows from other figures. */
void rig_end(struct rig *rig);

#endif
