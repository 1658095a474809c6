/* rig.h - times rows of ops on the device that is calibrated, and sets the figures found.
 *
 * All parts of a calibration are measured several times over, pass by pass, so that the times
 * of one row are taken far apart. Each pass adds a sample to those that the rig keeps of a row,
 * and figures are made of the medians so far: a disturbance, a slow start or a drift that
 * spoils one pass moves none of them. The figures of the last pass are those that count. */
#ifndef PIPELINE_CALIBRATE_RIG_H
#define PIPELINE_CALIBRATE_RIG_H

#include "calibrate/calibration.h"
#include "calibrate/row.h"
#include "run/backend.h"

enum { RIG_PASSES = 3 };

/* A measured time, in ns. */
struct measured {
    double ns;         /* the median of the passes */
    double spread_ns;  /* half the distance between their quartiles */
    double least_ns;   /* the least of them */
    uint64_t elements; /* that were timed, where it matters */
};

/* Makes one of `count` values, which are left sorted; zeros where there are none. */
struct measured measured_median(int64_t *values, int count);

/* The times that are kept of a row. */
enum sample_kind {
    SAMPLE_STEPS, /* what the steps take by which it is longer than a shorter row */
    SAMPLE_ISSUE, /* what the host takes to issue those */
    SAMPLE_CALLS, /* what it takes to issue the whole row */
    SAMPLE_GAP,   /* between an op and the next */
    SAMPLE_SPAN,  /* an op's own */
    SAMPLE_PITCH, /* from an op's start to the next one's */
    SAMPLE_DELAY, /* from a call's end to its op's start */
    SAMPLE_DEPTH, /* not a time: the ops before the first call that waits */
};
struct samples {
    struct row row;
    enum sample_kind kind;
    int count;
    int64_t values[RIG_PASSES]; /* one of each pass */
};

struct rig {
    const struct backend_ops *ops;
    struct backend *backend;
    struct settings settings;
    struct calibration *calibration;
    const struct machine *device; /* as the backend describes it: its SMs and blocks */
    struct arrays arrays;         /* large host arrays, for rows that copy or use the CPU */
    struct arrays small;          /* small ones, for rows that use none but must have some */
    const struct kernel *arrays_for, *small_for; /* the kernels whose inputs they hold */
    double between_ns;       /* a launch alone takes that much longer than one behind another */
    double launch_ns;        /* of `scale` on one block, set by calibrate_kernels() */
    bool loaded;             /* kernels' loading was timed: a process does that only once */
    bool last;               /* this pass is: figures that take many simulations wait for it */
    struct samples *samples; /* of all rows; owned */
    size_t sample_count, sample_capacity;
    struct error *error;  /* ends the calibration */
    struct error refusal; /* the first figure of this pass that can't be as it was found */
};

/* Adds this pass's sample of the row and sets what its samples say, each divided by `share`. */
enum status rig_sample(struct rig *rig, const struct row *row, enum sample_kind kind,
                       int64_t value, uint32_t share, struct measured *measured);

/* Sets the time that one step more takes, of the whole run and (*issue) of the host's time to
 * issue it: rows of count and of count / 4 steps are timed, one behind the other, and the
 * difference is shared out. Either may be NULL. */
enum status rig_step(struct rig *rig, const struct row *row, struct measured *step,
                     struct measured *issue);

/* Sets the time that the host takes to issue the whole row. */
enum status rig_issue(struct rig *rig, const struct row *row, struct measured *issue);

/* Sets the time of a step, and of its issue, as the simulator predicts them by the figures
 * found so far; those not found yet cost nothing. `issue_ns` may be NULL. */
enum status rig_simulated_step(struct rig *rig, const struct row *row, double *step_ns,
                               double *issue_ns);

/* Runs the row once with a timeline, which is the caller's to free. */
enum status rig_trace(struct rig *rig, const struct row *row, struct timeline *timeline);

/* Measures the gaps in a row of one op a step: from an op's end to the next one's start. */
enum status rig_gap(struct rig *rig, const struct row *row, struct measured *gap);

/* Sets a figure that was measured; its spread is that of `timing`, of which `value` was made.
 * One that no machine file may hold, or no real device can have, is reported in rig->refusal.
 */
void rig_found(struct rig *rig, const char *key, double value, struct measured timing,
               const char *how);
void rig_found_kernel(struct rig *rig, const struct kernel *kernel, const char *key,
                      double value, struct measured timing, const char *how);

/* Sets a figure that was not timed. */
void rig_known(struct rig *rig, const char *key, double value, const char *how);

/* The parts of a calibration, in the order in which they have to be done: each takes the
 * figures of those before it as given, and sets its own. */
enum status calibrate_host(struct rig *rig);
enum status calibrate_copies(struct rig *rig);
enum status calibrate_kernels(struct rig *rig);
enum status calibrate_signals(struct rig *rig);
enum status calibrate_graphs(struct rig *rig);

/* The last part: holds the figures against plain runs, measured in the same passes. The first
 * that fails is reported in rig->refusal. */
enum status calibrate_checks(struct rig *rig);

#endif
