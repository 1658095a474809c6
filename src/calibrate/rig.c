/* rig.c - times the small plans of a calibration, and sets the figures found. */
#include "calibrate/rig.h"

#include "analysis/analysis.h"
#include "core/items.h"
#include "run/cpu_worker.h"
#include "sim/simulator.h"
#include "term/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A device is busy with a row for WARM_NS before that is timed, so that its clocks are those of
 * work. Then the row is repeated: disturbances make repeats longer, and never shorter. Fewer
 * repeats do for long work of the device's, which is disturbed less than the host, and for
 * traces, each of which has many times. */
enum {
    REPEATS = 4,
    LONG_REPEATS = 3,
    TRACED_REPEATS = 3,
    FEW_STEPS = 8,
    LONG_NS = 2000000,
    WARM_NS = 3000000,
    WARM_RUNS = 128,
};

/* Repeats that are longer than the least of them by no more than this part were not disturbed.
 */
static const double NEAR = 0.02;

/* Returns true if arrays that were made for one kernel will do for the other. */
static bool alike(const struct kernel *one, const struct kernel *other)
{
    return one != NULL && one->inputs == other->inputs && one->in == other->in;
}

/* Takes host arrays for so many devices, unless they are there. */
static enum status take_shared(struct rig *rig, const struct row *row, const struct plan *plan)
{
    if (rig->shared_for == row->devices)
        return STATUS_OK;
    arrays_free(&rig->shared);
    rig->shared_for = row->devices;
    return arrays_create(&rig->shared, plan, &rig->settings, rig->error);
}

/* Finds the host arrays for the row; they are taken once and kept. */
static enum status take_arrays(struct rig *rig, const struct row *row, const struct plan *plan,
                               struct arrays **arrays)
{
    *arrays = NULL;
    if (rig->settings.no_data)
        return STATUS_OK;
    if (row_devices(row) > 1) {
        *arrays = &rig->shared;
        return take_shared(rig, row, plan);
    }
    bool large = row_needs_arrays(row);
    const struct kernel **made_for = large ? &rig->arrays_for : &rig->small_for;
    *arrays = large ? &rig->arrays : &rig->small;
    const uint64_t bytes = plan->buffer_bytes[BUFFER_HOST_OUT];
    if (alike(*made_for, row_kernel(row)) && (!large || rig->arrays_bytes >= bytes))
        return STATUS_OK;
    arrays_free(*arrays);
    *made_for = row_kernel(row);
    rig->arrays_bytes = large ? bytes : rig->arrays_bytes;
    return arrays_create(*arrays, plan, &rig->settings, rig->error);
}

struct measured measured_median(int64_t *values, int count)
{
    if (count == 0)
        return (struct measured){0};
    struct measured timing = {.ns = (double)median_ns(values, (size_t)count)}; /* sorts them */
    timing.spread_ns = (double)(values[count - 1] - values[0]) / 2;
    timing.passes = count;
    return timing;
}

static enum status run_once(struct rig *rig, struct timeline *timeline, struct run_times *times)
{
    progress_timed(rig->ops->measures);
    enum status status = rig->ops->run(rig->backend, timeline, times, rig->error);
    progress_timed(false);
    return status;
}

/* Runs a prepared plan untimed, at least once, until the device is warm. Sets the last run's
 * times. */
static enum status warm_up(struct rig *rig, struct run_times *times)
{
    int64_t busy_ns = 0;
    enum status status = STATUS_OK;
    for (int i = 0; i < WARM_RUNS && busy_ns < WARM_NS && status == STATUS_OK; i++) {
        status = run_once(rig, NULL, times);
        /* Where the device has nothing to do, it is the host that is busy. */
        if (status == STATUS_OK)
            busy_ns += times->time_ns > times->issue_ns ? times->time_ns : times->issue_ns;
    }
    return status;
}

/* Returns how often a row is repeated whose times are about these. */
static int count_repeats(const struct row *row, const struct run_times *times)
{
    bool device = times->issue_ns < times->time_ns / 2 && !row->gate;
    return device && times->time_ns > LONG_NS ? LONG_REPEATS : REPEATS;
}

/* Returns the mean of those repeats that were not disturbed. */
static int64_t undisturbed_ns(const int64_t values[], int count)
{
    int64_t least = values[0];
    double sum = 0;
    int near = 0;
    for (int i = 1; i < count; i++)
        least = values[i] < least ? values[i] : least;
    for (int i = 0; i < count; i++) {
        bool taken = (double)values[i] <= (1 + NEAR) * (double)least;
        sum += taken ? (double)values[i] : 0;
        near += taken;
    }
    return near > 0 ? llround(sum / near) : least;
}

/* Writes the memory that is copied back to, as the CPU does before the runs that the
 * calibration is for. One core alone does: after work of all cores the host would need 20 ms to
 * settle. */
static void write_output(const struct workload *workload)
{
    const struct plan *plan = workload->plan;
    uint64_t end = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct range *host = &plan->ops[i].copy.host;
        if (plan->ops[i].kind == OP_D2H && host->offset + host->bytes > end)
            end = host->offset + host->bytes;
    }
    if (end > 0 && workload->arrays != NULL)
        memset(workload->arrays->host[BUFFER_HOST_OUT], 0, end);
}

/* Times a prepared plan. */
static enum status run_repeats(struct rig *rig, const struct row *row,
                               const struct workload *workload, struct run_times *found)
{
    int64_t time_ns[REPEATS] = {0}, issue_ns[REPEATS] = {0};
    struct run_times times = {0};
    enum status status = rig->ops->measures ? warm_up(rig, &times) : STATUS_OK;
    int repeats = rig->ops->measures ? count_repeats(row, &times) : 1;
    for (int i = 0; i < repeats && status == STATUS_OK; i++) {
        write_output(workload);
        status = run_once(rig, NULL, &times);
        time_ns[i] = times.time_ns;
        issue_ns[i] = times.issue_ns;
    }
    found->time_ns = undisturbed_ns(time_ns, repeats);
    found->issue_ns = undisturbed_ns(issue_ns, repeats);
    return status;
}

/* Builds the row's plan and prepares it. Both are the caller's to give back in any case. */
static enum status make_ready(struct rig *rig, const struct row *row, struct plan *plan,
                              struct settings *settings, struct workload *workload, bool traced)
{
    struct arrays *arrays;
    enum status status = row_plan(row, plan, rig->error);
    if (status == STATUS_OK)
        status = take_arrays(rig, row, plan, &arrays);
    if (status != STATUS_OK)
        return status;
    *settings = rig->settings;
    settings->issue = plan->issue;
    *workload = (struct workload){
        .plan = plan, .settings = settings, .arrays = arrays, .traced = traced};
    return rig->ops->prepare(rig->backend, workload, rig->error);
}

static struct run_times time_row(struct rig *rig, const struct row *row)
{
    struct plan plan;
    struct settings settings;
    struct workload workload;
    struct run_times found = {0};
    if (rig_failed(rig))
        return found;
    if (make_ready(rig, row, &plan, &settings, &workload, false) == STATUS_OK)
        run_repeats(rig, row, &workload, &found);
    rig->ops->release(rig->backend);
    plan_free(&plan);
    return found;
}

struct measured rig_sample(struct rig *rig, int64_t value, uint32_t share)
{
    if (!rig_failed(rig) && rig->sample == rig->sample_count &&
        ITEMS_ADD(rig->samples, rig->sample_count, rig->sample_capacity) == NULL)
        error_no_memory(rig->error, "to calibrate");
    if (rig_failed(rig))
        return (struct measured){0};
    struct samples *samples = &rig->samples[rig->sample++], sorted;
    samples->values[rig->pass % RIG_PASSES] = value;
    sorted = *samples;
    struct measured measured =
        measured_median(sorted.values, rig->pass < RIG_PASSES ? rig->pass + 1 : RIG_PASSES);
    if (measured.passes == 2) /* of two the one that was disturbed less */
        measured.ns = (double)sorted.values[0];
    measured.ns /= share;
    measured.spread_ns /= share;
    return measured;
}

/* Returns the row that the time of a step is the difference to. */
static struct row fewer_steps(struct row row)
{
    row.count = row.count / 4 > 0 ? row.count / 4 : 1;
    return row;
}

struct measured rig_step(struct rig *rig, const struct row *row, struct measured *issue)
{
    const struct row fewer = fewer_steps(*row);
    const uint32_t more = row->count - fewer.count;
    const struct run_times many = time_row(rig, row), few = time_row(rig, &fewer);
    if (issue != NULL)
        *issue = rig_sample(rig, many.issue_ns - few.issue_ns, more);
    return rig_sample(rig, many.time_ns - few.time_ns, more);
}

struct measured rig_issue(struct rig *rig, const struct row *row)
{
    return rig_sample(rig, time_row(rig, row).issue_ns, 1);
}

static struct run_times simulate_row(struct rig *rig, const struct row *row)
{
    struct plan plan;
    struct timeline timeline = {0};
    struct run_times times = {0};
    if (rig_failed(rig))
        return times;
    enum status status = row_plan(row, &plan, rig->error);
    if (status == STATUS_OK)
        status = simulator_run(&rig->calibration->machine, rig->device->queues, &plan, NULL,
                               &timeline, &times.issue_ns, rig->error);
    if (status == STATUS_OK)
        times.time_ns = timeline_time_ns(&timeline);
    timeline_free(&timeline);
    plan_free(&plan);
    return times;
}

double rig_simulated_step(struct rig *rig, const struct row *row, double *issue_ns)
{
    const struct row fewer = fewer_steps(*row);
    const uint32_t more = row->count - fewer.count;
    const struct run_times many = simulate_row(rig, row), few = simulate_row(rig, &fewer);
    if (issue_ns != NULL)
        *issue_ns = (double)(many.issue_ns - few.issue_ns) / more;
    return (double)(many.time_ns - few.time_ns) / more;
}

double rig_simulated_issue(struct rig *rig, const struct row *row)
{
    return (double)simulate_row(rig, row).issue_ns;
}

void rig_fit_rate(struct rig *rig, const struct fitted_rate *fitted, const struct row *row,
                  struct measured step)
{
    enum { ROUNDS = 16 };
    double rate = fitted->most;
    if (step.ns <= 0) { /* more copies took no longer than fewer */
        rig_found(rig, fitted->key, NAN, step, fitted->how);
        return;
    }
    for (int round = 0; round < ROUNDS; round++) {
        rig_found(rig, fitted->key, rate, step, fitted->how);
        rate = fmin(fmax(rate * rig_simulated_step(rig, row, NULL) / step.ns, fitted->least),
                    fitted->most);
    }
}

static enum status trace_once(struct rig *rig, struct timeline *timeline)
{
    struct run_times times;
    enum status status = run_once(rig, timeline, &times);
    if (status == STATUS_OK && timeline->timing == TIMING_EVENTS)
        status = error_set(rig->error, STATUS_FAILED,
                           "this device can't be calibrated: CUPTI is needed to see when ops "
                           "start (%s)",
                           timeline->driver);
    if (status == STATUS_OK)
        snprintf(rig->calibration->driver, sizeof rig->calibration->driver, "%s",
                 timeline->driver);
    return status;
}

enum status rig_trace(struct rig *rig, const struct row *row, struct timeline *timeline)
{
    struct plan plan;
    struct settings settings;
    struct workload workload;
    if (rig_failed(rig))
        return rig->error->status;
    enum status status = make_ready(rig, row, &plan, &settings, &workload, true);
    if (status == STATUS_OK && rig->ops->measures && !row->lazy)
        status = warm_up(rig, &(struct run_times){0});
    if (status == STATUS_OK)
        status = trace_once(rig, timeline);
    rig->ops->release(rig->backend);
    plan_free(&plan);
    return status;
}

static enum status trace_and_draw(struct rig *rig, const struct row *row, rig_draw *draw,
                                  int64_t *median)
{
    struct timeline timeline = {0};
    enum status status = trace_once(rig, &timeline);
    int64_t *times = calloc(timeline.span_count + (size_t)1, sizeof *times);
    if (times == NULL)
        status = error_no_memory(rig->error, "to calibrate");
    if (status == STATUS_OK)
        *median = (int64_t)measured_median(times, draw(row, &timeline, times)).ns;
    free(times);
    timeline_free(&timeline);
    return status;
}

struct measured rig_traced(struct rig *rig, const struct row *row, rig_draw *draw)
{
    struct plan plan;
    struct settings settings;
    struct workload workload;
    int64_t medians[REPEATS] = {0};
    int repeats = rig->ops->measures ? TRACED_REPEATS : 1;
    if (rig_failed(rig))
        return (struct measured){0};
    enum status status = make_ready(rig, row, &plan, &settings, &workload, true);
    bool long_enough = plan.cpu_tiles > 0; /* a tile of the CPU's is */
    /* A trace with few times, or times of the host's cores, is repeated as other rows are. */
    if ((row->count < FEW_STEPS || strpbrk(row->steps, "ux") != NULL) && rig->ops->measures)
        repeats = REPEATS;
    if (status == STATUS_OK && rig->ops->measures && !long_enough)
        status = warm_up(rig, &(struct run_times){0});
    for (int i = 0; i < repeats && status == STATUS_OK; i++)
        status = trace_and_draw(rig, row, draw, &medians[i]);
    rig->ops->release(rig->backend);
    plan_free(&plan);
    return rig_sample(rig, undisturbed_ns(medians, repeats), 1);
}

int rig_draw_gaps(const struct row *row, const struct timeline *timeline, int64_t *times)
{
    for (uint32_t i = 0; i + 1 < row->count; i++) {
        const struct span *span = &timeline->spans[timeline->span_count - row->count + i];
        times[i] = span[1].start_ns - span[0].end_ns;
    }
    return (int)row->count - 1;
}

bool rig_knows_graphs(const struct rig *rig)
{
    bool device = rig->ops->measures || rig->device->graph_launch_ns > 0;
    return device && (!rig_of_host(rig) || rig->calibration->machine.graph_launch_ns > 0);
}
