/* rig.h - times rows of ops on the device that is calibrated, and sets the figures found. */
#ifndef PIPELINE_CALIBRATE_RIG_H
#define PIPELINE_CALIBRATE_RIG_H

#include "calibrate/calibration.h"
#include "calibrate/row.h"
#include "run/backend.h"

/* A measured time, in ns. */
struct measured {
    double ns;         /* the median of the repeats */
    double spread_ns;  /* half the distance between their quartiles */
    uint64_t elements; /* that were timed, where it matters */
};

/* Makes one of `count` values, which are left sorted; zeros where there are none. */
struct measured measured_median(int64_t *values, int count);

struct rig {
    const struct backend_ops *ops;
    struct backend *backend;
    struct settings settings;
    struct calibration *calibration;
    const struct machine *device; /* as the backend describes it: its SMs and blocks */
    struct arrays arrays;         /* large host arrays, for rows that copy or use the CPU */
    struct arrays small;          /* small ones, for rows that use none but must have some */
    const struct kernel *arrays_for, *small_for; /* the kernels whose inputs they hold */
    double between_ns; /* a launch alone takes that much longer than one behind another */
    double launch_ns;  /* of `scale` on one block, set by calibrate_kernels() */
    struct error *error;
};

/* Sets the time that one step more takes, of the whole run and (*issue) of the host's time to
 * issue it: rows of count and of count / 4 steps are timed, and the difference is shared out.
 * Either may be NULL. */
enum status rig_step(struct rig *rig, const struct row *row, struct measured *step,
                     struct measured *issue);

/* Sets the time that the host takes to issue the whole row. */
enum status rig_issue(struct rig *rig, const struct row *row, struct measured *issue);

/* Sets the time of a step as the simulator predicts it by the figures found so far; those not
 * found yet cost nothing. */
enum status rig_simulated_step(struct rig *rig, const struct row *row, double *step_ns);

/* Runs the row once with a timeline, which is the caller's to free. */
enum status rig_trace(struct rig *rig, const struct row *row, struct timeline *timeline);

/* Measures the gaps in a row of one op a step: from an op's end to the next one's start. */
enum status rig_gap(struct rig *rig, const struct row *row, struct measured *gap);

/* Sets a figure that was measured; its spread is that of `timing`, of which `value` was made.
 * One that no machine file may hold is not set, but reported in rig->error. */
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

#endif
