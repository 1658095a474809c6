/* rig.h - what the measurements of a calibration are made with: private to them. */
#ifndef PIPELINE_CALIBRATE_RIG_H
#define PIPELINE_CALIBRATE_RIG_H

#include "calibrate/calibrate.h"

/* A row of alike ops: `steps` is done `count` times, dealt over the streams in turn.
 *
 *   h copy in   d copy out   k kernel   r event record   w wait for the event recorded last
 *   c callback  u the CPU's work   s the host waits for the device   a device memory taken and
 *   given back  p page-locked memory likewise */
struct row {
    const char *steps;
    uint32_t count, streams;     /* streams 0: one */
    uint64_t bytes;              /* of a copy, or of memory taken */
    const struct kernel *kernel; /* NULL: scale */
    uint64_t elements;           /* of a kernel's launch, or of the CPU's work */
    uint32_t blocks, intensity;  /* intensity 0: 1 */
    bool gate; /* the first stream is held until all is issued: what is seen is the device alone
                */
    bool apart; /* copies out have streams of their own, as many again */
    bool pageable;
    bool lazy;  /* the kernel's code is loaded by its first launch */
    bool graph; /* issued as one */
};

/* A measured time, in ns: the median of its repeats, and half the distance of their quartiles.
 */
struct measured {
    double ns, spread_ns;
    uint64_t elements; /* of what was timed, where that matters */
};

/* Of `count` values, which are left sorted; none: zeros. */
struct measured measured_median(int64_t *values, int count);

struct rig {
    const struct backend_ops *ops;
    struct backend *backend;
    struct settings settings;
    struct calibration *calibration;
    const struct machine *device; /* as described: sms, blocks */
    struct arrays arrays;         /* large ones, for copies and the CPU */
    struct arrays small; /* of the kernels' measurements, for which they don't matter */
    const struct kernel *arrays_for, *small_for; /* whose inputs they hold */
    double between_ns; /* by which launches apart take longer than behind one another */
    double launch_ns;  /* of `scale` on one block, by calibrate_kernels() */
    struct error *error;
};

void rig_open(struct rig *rig);
void rig_close(struct rig *rig);

/* What one step more takes, of the whole run or, for *issue, of the host's time to issue it:
 * rows of count and of count / 4 steps, and the difference shared out. Either may be NULL. */
enum status rig_step(struct rig *rig, const struct row *row, struct measured *step,
                     struct measured *issue);

/* What the host takes to issue the whole row. */
enum status rig_issue(struct rig *rig, const struct row *row, struct measured *issue);

/* The step that the simulator predicts by the figures found so far; those not found yet cost
 * nothing. */
enum status rig_simulated_step(struct rig *rig, const struct row *row, double *step_ns);

/* Runs the row once with a timeline, which is the caller's to free. */
enum status rig_trace(struct rig *rig, const struct row *row, struct timeline *timeline);

/* Sets a figure that was measured; its spread is that of `timing`, of which `value` was made.
 * One that no machine file may hold is not set, but reported in rig->error. */
void rig_found(struct rig *rig, const char *key, double value, struct measured timing,
               const char *how);
void rig_found_kernel(struct rig *rig, const struct kernel *kernel, const char *key,
                      double value, struct measured timing, const char *how);

/* Sets a figure that was not timed. */
void rig_known(struct rig *rig, const char *key, double value, const char *how);

/* The measurements, in this order; each sets its figures. */
enum status calibrate_copies(struct rig *rig);
enum status calibrate_kernels(struct rig *rig);
enum status calibrate_host(struct rig *rig);
enum status calibrate_signals(struct rig *rig);
enum status calibrate_graphs(struct rig *rig);

/* What one copy of `bytes` takes behind another in one stream, by the figures found so far. */
double rig_copy_ns(const struct rig *rig, enum op_kind kind, uint64_t bytes);

#endif
