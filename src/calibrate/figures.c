/* figures.c - sets the figures that were found, and by how much they may be off. */
#include "calibrate/rig.h"
#include "machine/fields.h"
#include "machine/spread.h"
#include "report/reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns the figure of the kernel's section, or with NULL of the machine's own; a new one,
 * where there is none. */
static struct figure *find_or_add(struct calibration *calibration, const char *kernel,
                                  const char *key)
{
    struct figure *figure = (struct figure *)calibration_figure(calibration, kernel, key);
    if (figure != NULL)
        return figure;
    figure = &calibration->figures[calibration->figure_count++];
    figure->key = key;
    figure->kernel = kernel;
    return figure;
}

/* These may be nothing on a real device, too; any other time that was found to be nothing, or
 * less, was disturbed. */
static const char *const may_be_nothing[] = {"h2d_dependency_ns", "kernel_dependency_ns",
                                             "d2h_dependency_ns", "kernel_latency_ns",
                                             "poll_ns",           "graph_node_ns",
                                             "graph_gap_ns",      "lazy_load_ns",
                                             "alloc_mib_ns",      "pinned_ns",
                                             "pack_ns",           "callback_latency_ns",
                                             "callback_wake_ns",  "mapped_latency_ns",
                                             "cpu_team_ns",       "sync_latency_ns",
                                             "copy_start_ns",     "take_first_ns"};

static double least_of(const struct machine_field *field, bool timed)
{
    bool nothing = !timed || field->type != FIELD_NS;
    for (size_t i = 0; i < sizeof may_be_nothing / sizeof may_be_nothing[0]; i++)
        nothing = nothing || strcmp(may_be_nothing[i], field->key) == 0;
    return nothing ? field->least : fmax(1, field->least);
}

/* These words mark a figure whose times no device has; require() looks for them. */
#define CANT_BE "which can't be"

/* Returns true if a machine file can hold the value, and a device can have it. Else something
 * disturbed the measurements. */
static bool is_possible(const struct machine_field *field, double value, bool timed)
{
    return (value == 0 && field->zero_unknown) ||
           (value >= least_of(field, timed) && value <= field->most);
}

/* Returns what stands for a kernel's figure that is not measured, or with NULL for the
 * machine's own. */
static double usual_value(const struct rig *rig, const struct machine_field *field,
                          const char *kernel)
{
    const struct machine_kernel *row =
        kernel != NULL ? machine_kernel_find(&rig->usual, kernel) : NULL;
    if (kernel != NULL && row == NULL)
        return 0; /* unknown: the machine's own figures hold */
    return machine_field_get(field, row != NULL ? (const void *)row : &rig->usual);
}

/* Returns the spread of a figure made of `timing`; below 0: it was not timed. */
static double spread_of(const struct machine_field *field, double value,
                        const struct measured *timing)
{
    if (timing == NULL)
        return -1;
    /* A rate or a share is off by as large a part as the times that it was made of. */
    return field->type == FIELD_NS || timing->ns <= 0 ? timing->spread_ns
                                                      : value * timing->spread_ns / timing->ns;
}

void rig_set(struct rig *rig, const struct kernel *kernel, const char *key, double value,
             const struct measured *timing, const char *how)
{
    struct machine *machine = &rig->calibration->machine;
    const char *name = kernel != NULL ? kernel->name : NULL;
    void *record = kernel != NULL ? (void *)reference_kernel(machine, name) : machine;
    const struct machine_field *field =
        machine_field_find(kernel != NULL ? machine_kernel_fields : machine_fields, key);
    struct figure *figure = find_or_add(rig->calibration, name, field->key);
    if (field->type == FIELD_NS && isfinite(value))
        value = round(value);
    snprintf(figure->how, sizeof figure->how, "%s", how);
    if (!is_possible(field, value, rig->ops->measures && timing != NULL)) {
        snprintf(figure->how, sizeof figure->how, "%s; by its times %.4g, " CANT_BE,
                 rig->usual_how, value);
        value = usual_value(rig, field, name);
        timing = NULL;
    }
    figure->value = value;
    figure->spread = spread_of(field, value, timing);
    figure->passes = timing != NULL ? timing->passes : 0;
    machine_field_put(field, record, value);
}

void rig_found(struct rig *rig, const char *key, double value, struct measured timing,
               const char *how)
{
    rig_set(rig, NULL, key, value, &timing, how);
}

void rig_known(struct rig *rig, const char *key, double value, const char *how)
{
    rig_set(rig, NULL, key, value, NULL, how);
}

/* --- spreads --- */

/* The standard deviation in half the range of so many samples, in the mean [Shewhart's d2: the
 * range of two and of three is 1.128 and 1.693 deviations]. */
static const double deviations[RIG_PASSES + 1] = {[2] = 2 / 1.128, [3] = 2 / 1.693};

/* This sums up the figures of a group, from which its spread is made. */
struct group {
    double times_ns, deviations_ns; /* the sums of the times and of their deviations, */
    double rates;                   /* the sum of the rates' deviations as parts, */
    int rate_count;
    double apart; /* the sum of the squares of what plain runs were off beyond what is usual */
    int held;
};

static const struct machine_field *field_of(const char *kernel, const char *key)
{
    return machine_field_find(kernel != NULL ? machine_kernel_fields : machine_fields, key);
}

enum { MOST_APART = 3 }; /* what is off by more is wrong by any measure */

static struct group look_at_group(const struct calibration *calibration,
                                  enum machine_spread which)
{
    struct group group = {0};
    EACH (const struct figure, figure, calibration->figures, calibration->figure_count) {
        const struct machine_field *field = field_of(figure->kernel, figure->key);
        if (figure->passes < 2 || !(figure->value > 0) || machine_spread_of(field) != which)
            continue;
        const bool time = field->type == FIELD_NS;
        const double deviation = deviations[figure->passes] * figure->spread;
        group.times_ns += time ? figure->value : 0;
        group.deviations_ns += time ? deviation : 0;
        group.rates += time ? 0 : deviation / figure->value;
        group.rate_count += !time;
    }
    EACH (const struct outcome, outcome, calibration->outcomes, calibration->outcome_count) {
        if (machine_spread_of(field_of(outcome->kernel, outcome->key)) != which)
            continue;
        const double more = fmin(MOST_APART, fmax(0, outcome->apart - outcome->usual));
        group.apart += more * more;
        group.held++;
    }
    return group;
}

/* By how much calibrations of one start differ, in a standard deviation: seven of two starts of
 * an H200's host, bench/results/h200-2026-11-30-again.txt. Of the other groups that is assumed
 * to be half of what hosts differ by. */
static const double within_start[SPREAD_COUNT] = {
    [SPREAD_COPIES] = 0.007, [SPREAD_PAGEABLE] = 0.1, [SPREAD_KERNELS] = 0.02,
    [SPREAD_CALLS] = 0.2,    [SPREAD_CPU] = 0.1,
};

/* Returns the spread of a group of which one pass alone was made, and sets *how. */
static double spread_of_one(const struct rig *rig, enum machine_spread which, const char **how)
{
    const double usual = rig->usual.spread[which], start = within_start[which];
    *how = rig->usual_how;
    if (rig->without || (rig->scope & CALIBRATE_HOST) != 0) /* then the file has its own */
        return usual;
    *how = start > 0 ? "one pass: as calibrations of one start of an H200 differ"
                     : "one pass: half of what the machine file for this device has";
    return start > 0 ? fmin(usual, start) : usual / 2;
}

/* Sets a group's spread: the standard deviation in the mean of its figures, or more where plain
 * runs are further off, in the root mean square. One pass alone tells none. */
static void set_spread(struct rig *rig, const struct machine_field *field,
                       enum machine_spread which)
{
    const struct group group = look_at_group(rig->calibration, which);
    const char *how;
    const double one = spread_of_one(rig, which, &how);
    const double times = group.times_ns > 0 ? group.deviations_ns / group.times_ns : 0;
    const double rates = group.rate_count > 0 ? group.rates / group.rate_count : 0;
    const bool told = group.times_ns > 0 || group.rate_count > 0;
    const double passes = told ? fmax(times, rates) : one;
    const double off = group.held > 0 ? sqrt(group.apart / group.held) : 0;
    const bool apart = off > passes;
    rig_known(rig, field->key, fmin(field->most, apart ? off : passes),
              apart  ? "by so much more than usual plain runs are off"
              : told ? "what passes differ by"
                     : how);
}

/* Refuses figures without which there is no machine, for which nothing stands: their times are
 * none, and no machine file is of such a device. */
static void require(struct rig *rig, const struct machine_field *field)
{
    const struct figure *figure = calibration_figure(rig->calibration, NULL, field->key);
    if (field->required && figure != NULL && strstr(figure->how, CANT_BE) != NULL &&
        (rig->without || !rig->ops->measures))
        error_set(rig->error, STATUS_FAILED,
                  "this device, %s, can't be calibrated (is something else running on it?): "
                  "%s is %s",
                  machine_title(rig->device), field->key, figure->how);
}

void rig_end(struct rig *rig)
{
    int which = 0;
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++)
        require(rig, field);
    for (const struct machine_field *field = machine_fields;
         rig->ops->measures && field->key != NULL; field++) {
        struct machine *machine = &rig->calibration->machine;
        const struct figure *figure = calibration_figure(rig->calibration, NULL, field->key);
        if (strcmp(field->section, "spread") == 0)
            set_spread(rig, field, (enum machine_spread)which++);
        else if (field->like != NULL && rig->without &&
                 strcmp(figure->how, rig->usual_how) == 0) {
            machine_field_default(field, machine);
            rig_known(rig, field->key, machine_field_get(field, machine), rig->usual_how);
        }
    }
}
