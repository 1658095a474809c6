/* rig.c - times the small plans of a calibration, and sets the figures found. */
#include "calibrate/rig.h"

#include "analysis/analysis.h"
#include "machine/fields.h"
#include "sim/simulator.h"
#include "term/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 5 };

/* Finds the host arrays for the row; they are taken once and kept. */
static enum status take_arrays(struct rig *rig, const struct row *row, const struct plan *plan,
                               struct arrays **arrays)
{
    *arrays = NULL;
    if (rig->settings.no_data)
        return STATUS_OK;
    bool large = row_needs_arrays(row);
    const struct kernel **made_for = large ? &rig->arrays_for : &rig->small_for;
    *arrays = large ? &rig->arrays : &rig->small;
    if (*made_for == row_kernel(row))
        return STATUS_OK;
    arrays_free(*arrays);
    *made_for = row_kernel(row);
    return arrays_create(*arrays, plan, &rig->settings, rig->error);
}

struct measured measured_median(int64_t *values, int count)
{
    if (count == 0)
        return (struct measured){0};
    struct measured timing = {.ns = (double)median_ns(values, (size_t)count)}; /* sorts them */
    int64_t first = values[(count - 1) / 4], third = values[(count - 1) * 3 / 4];
    timing.spread_ns = ((double)third - (double)first) / 2;
    return timing;
}

static enum status run_once(struct rig *rig, struct timeline *timeline, struct run_times *times)
{
    progress_timed(rig->ops->measures);
    enum status status = rig->ops->run(rig->backend, timeline, times, rig->error);
    progress_timed(false);
    return status;
}

/* Times a prepared plan. Before each run the CPU writes the memory that is copied back to, as
 * it does before the runs that the calibration is for. */
static enum status run_repeats(struct rig *rig, const struct workload *workload,
                               struct measured *time, struct measured *issue)
{
    int64_t totals[REPEATS], issues[REPEATS];
    int repeats = rig->ops->measures ? REPEATS : 1, warmup = rig->ops->measures ? 1 : 0;
    for (int i = -warmup; i < repeats; i++) {
        struct run_times times;
        if (workload->arrays == &rig->arrays)
            arrays_poison(workload->arrays);
        enum status status = run_once(rig, NULL, &times);
        if (status != STATUS_OK)
            return status;
        if (i < 0)
            continue;
        totals[i] = times.time_ns;
        issues[i] = times.issue_ns;
    }
    *time = measured_median(totals, repeats);
    *issue = measured_median(issues, repeats);
    return STATUS_OK;
}

/* Builds the row's plan and prepares it. Both are the caller's to give back in any case. */
static enum status make_ready(struct rig *rig, const struct row *row, struct plan *plan,
                              struct settings *settings, struct workload *workload)
{
    struct arrays *arrays;
    enum status status = row_plan(row, plan, rig->error);
    if (status == STATUS_OK)
        status = take_arrays(rig, row, plan, &arrays);
    if (status != STATUS_OK)
        return status;
    *settings = rig->settings;
    settings->issue = plan->issue;
    *workload = (struct workload){.plan = plan, .settings = settings, .arrays = arrays};
    return rig->ops->prepare(rig->backend, workload, rig->error);
}

static enum status time_row(struct rig *rig, const struct row *row, struct measured *time,
                            struct measured *issue)
{
    struct plan plan;
    struct settings settings;
    struct workload workload;
    enum status status = make_ready(rig, row, &plan, &settings, &workload);
    if (status == STATUS_OK)
        status = run_repeats(rig, &workload, time, issue);
    rig->ops->release(rig->backend);
    plan_free(&plan);
    return status;
}

static struct measured shared(struct measured many, struct measured few, uint32_t more)
{
    return (struct measured){.ns = (many.ns - few.ns) / more,
                             .spread_ns = (many.spread_ns + few.spread_ns) / more};
}

/* Returns the row that the time of a step is the difference to. */
static struct row fewer_steps(struct row row)
{
    row.count = row.count / 4 > 0 ? row.count / 4 : 1;
    return row;
}

enum status rig_step(struct rig *rig, const struct row *row, struct measured *step,
                     struct measured *issue)
{
    const struct row fewer = fewer_steps(*row);
    struct measured many, few, many_issue, few_issue;
    if (time_row(rig, row, &many, &many_issue) != STATUS_OK ||
        time_row(rig, &fewer, &few, &few_issue) != STATUS_OK)
        return rig->error->status;
    if (step != NULL)
        *step = shared(many, few, row->count - fewer.count);
    if (issue != NULL)
        *issue = shared(many_issue, few_issue, row->count - fewer.count);
    return STATUS_OK;
}

enum status rig_issue(struct rig *rig, const struct row *row, struct measured *issue)
{
    struct measured time;
    return time_row(rig, row, &time, issue);
}

static enum status simulate_row(struct rig *rig, const struct row *row, double *time_ns)
{
    struct plan plan;
    struct timeline timeline;
    int64_t issued_ns;
    struct machine machine = rig->calibration->machine;
    if (machine.queue_depth == 0) /* the depth is not found yet */
        machine.queue_depth = UINT32_MAX;
    timeline_init(&timeline);
    enum status status = row_plan(row, &plan, rig->error);
    if (status == STATUS_OK)
        status = simulator_run(&machine, rig->device->queues, &plan, NULL, &timeline,
                               &issued_ns, rig->error);
    if (status == STATUS_OK)
        *time_ns = (double)timeline_time_ns(&timeline);
    timeline_free(&timeline);
    plan_free(&plan);
    return status;
}

enum status rig_simulated_step(struct rig *rig, const struct row *row, double *step_ns)
{
    const struct row fewer = fewer_steps(*row);
    double many, few;
    if (simulate_row(rig, row, &many) != STATUS_OK ||
        simulate_row(rig, &fewer, &few) != STATUS_OK)
        return rig->error->status;
    *step_ns = (many - few) / (row->count - fewer.count);
    return STATUS_OK;
}

enum status rig_trace(struct rig *rig, const struct row *row, struct timeline *timeline)
{
    struct plan plan;
    struct settings settings;
    struct workload workload;
    struct run_times times;
    enum status status = make_ready(rig, row, &plan, &settings, &workload);
    if (status == STATUS_OK)
        status = run_once(rig, timeline, &times);
    if (status == STATUS_OK && timeline->timing == TIMING_EVENTS)
        status = error_set(rig->error, STATUS_FAILED,
                           "this device can't be calibrated: CUPTI is needed to see when ops "
                           "start (%s)",
                           timeline->driver);
    if (status == STATUS_OK)
        snprintf(rig->calibration->driver, sizeof rig->calibration->driver, "%s",
                 timeline->driver);
    rig->ops->release(rig->backend);
    plan_free(&plan);
    return status;
}

enum status rig_gap(struct rig *rig, const struct row *row, struct measured *gap)
{
    int64_t *gaps = calloc(row->count, sizeof *gaps);
    struct timeline timeline;
    timeline_init(&timeline);
    enum status status =
        gaps != NULL ? rig_trace(rig, row, &timeline)
                     : error_set(rig->error, STATUS_NO_MEMORY, "no memory to calibrate");
    for (uint32_t i = 0; status == STATUS_OK && i + 1 < row->count; i++) {
        const struct span *span = &timeline.spans[timeline.span_count - row->count + i];
        gaps[i] = span[1].start_ns - span[0].end_ns;
    }
    if (status == STATUS_OK)
        *gap = measured_median(gaps, (int)row->count - 1);
    timeline_free(&timeline);
    free(gaps);
    return status;
}

static struct figure *add_figure(struct rig *rig, const char *kernel, const char *key)
{
    struct calibration *calibration = rig->calibration;
    for (int i = 0; i < calibration->figure_count; i++) {
        struct figure *figure = &calibration->figures[i];
        if (strcmp(figure->key, key) == 0 && figure->kernel == kernel)
            return figure;
    }
    struct figure *figure = &calibration->figures[calibration->figure_count++];
    figure->key = key;
    figure->kernel = kernel;
    return figure;
}

/* Returns true if a machine file can hold the value. If not, something disturbed the
 * measurements, which is reported. */
static bool is_figure(struct rig *rig, const struct machine_field *field, double value)
{
    bool unknown = value == 0 && field->zero_unknown;
    if ((value >= field->least && value <= field->most) || unknown)
        return true;
    error_set(rig->error, STATUS_FAILED,
              "this device can't be calibrated: its times make %s %.4g, and %.4g to %.4g are "
              "possible (is something else running on it?)",
              field->key, value, field->least, field->most);
    return false;
}

/* Sets a figure of the machine, or with `kernel` of that kernel's row. */
static void set_figure(struct rig *rig, const struct machine_field *field, const char *kernel,
                       void *record, double value, struct measured timing, const char *how)
{
    if (!is_figure(rig, field, value))
        return;
    struct figure *figure = add_figure(rig, kernel, field->key);
    /* A rate or a share is off by as large a part as the times that it was made of. */
    figure->spread = field->type == FIELD_NS || timing.ns <= 0
                         ? timing.spread_ns
                         : value * timing.spread_ns / timing.ns;
    snprintf(figure->how, sizeof figure->how, "%s", how);
    machine_field_put(field, record, value);
}

void rig_found(struct rig *rig, const char *key, double value, struct measured timing,
               const char *how)
{
    set_figure(rig, machine_field_find(machine_fields, key), NULL, &rig->calibration->machine,
               value, timing, how);
}

void rig_found_kernel(struct rig *rig, const struct kernel *kernel, const char *key,
                      double value, struct measured timing, const char *how)
{
    struct machine *machine = &rig->calibration->machine;
    struct machine_kernel *row =
        (struct machine_kernel *)machine_kernel_find(machine, kernel->name);
    if (row == NULL) {
        row = &machine->kernels[machine->kernel_count++];
        *row = (struct machine_kernel){0};
        snprintf(row->name, sizeof row->name, "%s", kernel->name);
    }
    set_figure(rig, machine_field_find(machine_kernel_fields, key), kernel->name, row, value,
               timing, how);
}

void rig_known(struct rig *rig, const char *key, double value, const char *how)
{
    rig_found(rig, key, value, (struct measured){0}, how);
    add_figure(rig, NULL, key)->spread = -1;
}
