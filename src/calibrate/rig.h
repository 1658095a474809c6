/* rig.h - times rows of ops on the device that is calibrated, and sets the figures found.
 *
 * All parts of a calibration are measured several times over, pass by pass, so that the times
 * of one row are taken far apart. Each pass adds a sample to those that the rig keeps of a row,
 * and figures are made of the medians so far: a disturbance, a slow start or a drift that
 * spoils one pass moves none of them. The figures of the last pass are those that count. Where
 * they do not hold, more passes take the places of the oldest.
 *
 * A sample is known by its number in its pass. So every pass takes the same samples in the same
 * order: which rows are timed may depend on the device, but never on what was measured.
 *
 * The first failure is kept in rig->error and ends the calibration: nothing runs behind it, and
 * whatever is asked for is made of zeros, so that only who loops or looks at the device's
 * kernels has to ask rig_failed(). */
#ifndef PIPELINE_CALIBRATE_RIG_H
#define PIPELINE_CALIBRATE_RIG_H

#include "calibrate/calibration.h"
#include "calibrate/row.h"
#include "run/backend.h"

enum { RIG_PASSES = 3 };

/* A measured time, in ns. */
struct measured {
    double ns;         /* the median of the passes */
    double spread_ns;  /* half their range */
    double least_ns;   /* the least of them */
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

/* The reasons why figures can't be as they were found, each with its name, as many as fit. */
enum { REFUSAL_TEXT = 800 }; /* with what stands around it, it fits a struct error */
struct refusal {
    char text[REFUSAL_TEXT];
    int more;   /* that did not fit */
    bool final; /* another pass would not change one of them */
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
    struct arrays shared; /* for rows on several devices at once: so many as ... */
    uint32_t shared_for;  /* ... this; 0: not made yet */
    double launch_ns;     /* of `scale` on one block, set by calibrate_kernels() */
    struct loads loads;
    bool calls_only; /* only what the host decides is measured */
    int pass;        /* from 0 */
    bool last;       /* this pass may be: figures that take many simulations wait for it */
    struct samples *samples; /* by number; owned */
    size_t sample, sample_count,
        sample_capacity;    /* the next one's number; how many there are */
    struct error *error;    /* ends the calibration */
    struct refusal refusal; /* of this pass's figures */
};

static inline bool rig_failed(const struct rig *rig)
{
    return rig->error->status != STATUS_OK;
}

/* Adds this pass's value of the next sample and returns what its values say, each divided by
 * `share`. */
struct measured rig_sample(struct rig *rig, int64_t value, uint32_t share);

/* Says in rig->refusal why the figure of that name (figure_name()) can't be as it was found,
 * unless that says so of it already: "NAME is 0 by its times, ...". */
__attribute__((format(printf, 3, 4))) void rig_refuse(struct rig *rig, const char *figure,
                                                      const char *format, ...);

/* Returns the time that one step more takes, of the whole run, and sets *issue, unless it is
 * NULL, to the host's time to issue it: rows of count and of count / 4 steps are timed, one
 * behind the other, and the difference is shared out. */
struct measured rig_step(struct rig *rig, const struct row *row, struct measured *issue);

/* Returns the time that the host takes to issue the whole row. */
struct measured rig_issue(struct rig *rig, const struct row *row);

/* Returns the time of a step, and sets that of its issue, as the simulator predicts them by the
 * figures found so far; those not found yet cost nothing. `issue_ns` may be NULL. */
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
 * it was not timed. One that no machine file may hold, or no real device can have, is reported
 * in rig->refusal. */
void rig_set(struct rig *rig, const struct kernel *kernel, const char *key, double value,
             const struct measured *timing, const char *how);

/* Set a figure of the machine that was measured, or one that was not timed. */
void rig_found(struct rig *rig, const char *key, double value, struct measured timing,
               const char *how);
void rig_known(struct rig *rig, const char *key, double value, const char *how);

/* Takes the own times of a row's kernels, or tiles of the CPU's, from its timeline. */
rig_draw rig_draw_work;

/* Returns the time of one of the row's launches, which is all that its steps are; of a kernel
 * of the user's own without a trace, and with the gap between two of them known. */
struct measured rig_launch(struct rig *rig, const struct row *row);

/* Returns true if a kernel of the table gets a section. */
bool rig_measures(const struct kernel *kernel);

/* Walks over all kernels that get one: returns the first of the table with NULL and then the
 * next, at last the user's own; NULL behind that. */
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

/* The last part: holds the figures against plain runs, measured in the same passes. Those that
 * fail are reported in rig->refusal, and how all came out in the calibration's outcomes. */
void calibrate_checks(struct rig *rig);

#endif
