/* compare.c - simulates the plan that a device ran, compares the two span by span, and sums up
 * many comparisons. */
#include "report/compare.h"

#include "analysis/analysis.h"
#include "core/arena.h"
#include "core/compare.h"
#include "report/report.h"
#include "sim/simulator.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Depth and breadth count as apart where the slower one takes this much longer, as measured. */
static const double APART = 0.03;

double compare_error(int64_t predicted_ns, int64_t measured_ns)
{
    if (predicted_ns == measured_ns)
        return 0;
    return (double)predicted_ns / (double)measured_ns - 1;
}

double compare_noise(const int64_t *sorted_ns, size_t count)
{
    int64_t median = sorted_ns[rank_of(50, count)];
    int64_t between = sorted_ns[rank_of(75, count)] - sorted_ns[rank_of(25, count)];
    return median > 0 ? (double)between / 2 / (double)median : 0;
}

/* --- two timelines --- */

/* Sorts the `count` distances. */
static struct deviation deviation_of(int64_t *distances, size_t count)
{
    if (count == 0)
        return (struct deviation){0};
    qsort(distances, count, sizeof *distances, compare_i64);
    return (struct deviation){
        .median_ns = distances[rank_of(50, count)],
        .p95_ns = distances[rank_of(95, count)],
        .largest_ns = distances[count - 1],
    };
}

static bool is_same_op(const struct span *a, const struct span *b)
{
    return a->op == b->op && a->kind == b->kind && a->engine == b->engine &&
           a->stream == b->stream && a->tile == b->tile && a->link == b->link &&
           a->bytes == b->bytes;
}

static enum status check_same_plan(const struct timeline *measured,
                                   const struct timeline *simulated, struct error *error)
{
    if (measured->span_count != simulated->span_count)
        return error_set(error, STATUS_FAILED,
                         "timelines of different plans: %" PRIu32 " and %" PRIu32 " spans",
                         measured->span_count, simulated->span_count);
    for (uint32_t i = 0; i < measured->span_count; i++) {
        if (!is_same_op(&measured->spans[i], &simulated->spans[i]))
            return error_set(error, STATUS_FAILED,
                             "timelines of different plans: op %" PRIu32 " is another",
                             measured->spans[i].op);
    }
    return STATUS_OK;
}

static void compare_times(const struct timeline *measured, const struct timeline *simulated,
                          int64_t *starts, int64_t *ends, struct comparison *comparison)
{
    size_t count = 0;
    for (uint32_t i = 0; i < measured->span_count; i++) {
        const struct span *real = &measured->spans[i], *virtual = &simulated->spans[i];
        if (real->engine == ENGINE_NONE) /* a wait, whose times follow from other spans */
            continue;
        starts[count] = llabs(virtual->start_ns - real->start_ns);
        ends[count] = llabs(virtual->end_ns - real->end_ns);
        count++;
    }
    comparison->spans = (uint32_t)count;
    comparison->start = deviation_of(starts, count);
    comparison->end = deviation_of(ends, count);
}

static double share_in_order(const struct timeline *measured, const struct timeline *simulated,
                             struct span **order)
{
    uint32_t neighbours = 0, kept = 0;
    const uint32_t devices = timeline_devices(measured);
    for (uint32_t k = 0; k < resource_count(devices); k++) {
        const struct resource engine = resource_at(k, devices);
        if (engine.kind == ENGINE_NONE)
            continue;
        size_t count = timeline_engine_spans(measured, engine, order);
        for (size_t i = 1; i < count; i++) {
            const struct span *one = &simulated->spans[order[i - 1] - measured->spans];
            const struct span *two = &simulated->spans[order[i] - measured->spans];
            neighbours++;
            kept +=
                one->start_ns <= two->start_ns || order[i - 1]->start_ns == order[i]->start_ns;
        }
    }
    return neighbours > 0 ? (double)kept / neighbours : 1;
}

enum status compare_timelines(const struct timeline *measured, const struct timeline *simulated,
                              struct comparison *comparison, struct error *error)
{
    enum status status = check_same_plan(measured, simulated, error);
    if (status != STATUS_OK)
        return status;
    size_t room = measured->span_count + (size_t)1;
    struct arena arena = {0};
    int64_t *starts = arena_zeros(&arena, room, sizeof *starts);
    int64_t *ends = arena_zeros(&arena, room, sizeof *ends);
    struct span **order = arena_zeros(&arena, room, sizeof *order);
    if (arena.full) {
        status = error_no_memory(error, "to compare");
    } else {
        compare_times(measured, simulated, starts, ends, comparison);
        comparison->same_order = share_in_order(measured, simulated, order);
        comparison->traced_error =
            compare_error(timeline_time_ns(simulated), timeline_time_ns(measured));
    }
    arena_free(&arena);
    return status;
}

/* --- many settings: how large errors are --- */

COMPARE_NUMBERS(compare_double, double);

/* Sorts the `count` values. */
static struct compare_quantiles quantiles_of(double *values, size_t count)
{
    if (count == 0)
        return (struct compare_quantiles){0};
    qsort(values, count, sizeof *values, compare_double);
    return (struct compare_quantiles){
        .median = values[rank_of(50, count)],
        .p95 = values[rank_of(95, count)],
        .largest = values[count - 1],
    };
}

static const struct comparison *comparison_of(const struct report *report, uint32_t run)
{
    return &report->runs[run].compared->comparison;
}

static void summarise_errors(const struct report *report, double *values,
                             struct compare_summary *summary)
{
    const uint32_t count = summary->settings;
    for (uint32_t i = 0; i < count; i++)
        values[i] = fabs(comparison_of(report, i)->error);
    summary->simulator = quantiles_of(values, count);
    for (uint32_t i = 0; i < count; i++)
        values[i] = comparison_of(report, i)->noise;
    summary->noise = quantiles_of(values, count);
    for (uint32_t i = 0; i < count; i++) {
        summary->calibrated |= comparison_of(report, i)->calibrated;
        values[i] = fabs(comparison_of(report, i)->file_error);
    }
    summary->file = quantiles_of(values, count);
}

/* --- many settings: depth or breadth --- */

/* The values of a run's settings as one text, without those in which a pair differs. */
struct key {
    char *text; /* to be freed */
    size_t length;
    enum order order;
    uint32_t index;
};

static void key_add(void *out, const char *name, const char *value, enum value_kind kind)
{
    const char *shown = kind == VALUE_NULL ? "" : value;
    if (strcmp(name, "order") != 0 && strcmp(name, "output") != 0)
        fwrite(shown, strlen(shown) + 1, 1, out); /* the NUL keeps values apart */
}

static int compare_texts(const struct key *a, const struct key *b)
{
    size_t shorter = a->length < b->length ? a->length : b->length;
    const int first = memcmp(a->text, b->text, shorter);
    return COMPARE_ELSE(first, COMPARE(a->length, b->length));
}

static int compare_keys(const void *one, const void *other)
{
    const struct key *x = one, *y = other;
    const int texts = compare_texts(x, y);
    return COMPARE_ELSE(texts, COMPARE_MEMBERS(order, index));
}

static void judge_pair(const struct comparison *depth, const struct comparison *breadth,
                       struct compare_summary *summary)
{
    int64_t measured = breadth->measured_ns - depth->measured_ns;
    int64_t simulated = breadth->simulated_ns - depth->simulated_ns;
    int64_t faster = measured > 0 ? depth->measured_ns : breadth->measured_ns;
    summary->pairs++;
    if ((double)llabs(measured) <= APART * (double)faster)
        return;
    summary->apart++;
    summary->right += measured > 0 ? simulated > 0 : simulated < 0;
}

/* Pairs the first depth-first run of like settings with the first breadth-first one, and so on.
 */
static void judge_pairs(const struct report *report, const struct key *keys,
                        struct compare_summary *summary)
{
    const uint32_t count = summary->settings;
    for (uint32_t first = 0, end; first < count; first = end) {
        uint32_t depths = 0;
        for (end = first; end < count && compare_texts(&keys[first], &keys[end]) == 0; end++)
            depths += keys[end].order == ORDER_DEPTH;
        uint32_t middle = first + depths;
        for (uint32_t i = 0; first + i < middle && middle + i < end; i++)
            judge_pair(comparison_of(report, keys[first + i].index),
                       comparison_of(report, keys[middle + i].index), summary);
    }
}

static enum status summarise_orders(const struct report *report,
                                    const struct settings *settings,
                                    struct compare_summary *summary, struct error *error)
{
    const uint32_t count = summary->settings;
    struct key *keys = calloc(count + (size_t)1, sizeof *keys);
    if (keys == NULL)
        return error_no_memory(error, "to compare");
    bool failed = false;
    for (uint32_t i = 0; i < count; i++) {
        keys[i].index = i;
        keys[i].order = settings[i].order;
        FILE *out = open_memstream(&keys[i].text, &keys[i].length);
        if (out != NULL)
            settings_each(&settings[i], key_add, out);
        failed |= out == NULL || fclose(out) != 0;
    }
    if (!failed) {
        qsort(keys, count, sizeof *keys, compare_keys);
        judge_pairs(report, keys, summary);
    }
    for (uint32_t i = 0; i < count; i++)
        free(keys[i].text);
    free(keys);
    return failed ? error_no_memory(error, "to compare") : STATUS_OK;
}

enum status compare_report(const struct report *report, const struct settings *settings,
                           struct compare_summary *summary, struct error *error)
{
    struct compare_summary result = {.settings = (uint32_t)report->run_count};
    double *values = malloc((result.settings + (size_t)1) * sizeof *values);
    if (values == NULL)
        return error_no_memory(error, "to compare");
    summarise_errors(report, values, &result);
    free(values);
    enum status status = summarise_orders(report, settings, &result, error);
    if (status == STATUS_OK)
        *summary = result;
    return status;
}

/* --- a run, and its plan on a machine --- */

static const char SUFFIX[] = " simulated";

/* Names the simulated run "NAME simulated". A name that is too long is cut, not the suffix. */
static void name_simulated(const struct settings *measured, struct compared *compared)
{
    enum { KEPT = RUN_NAME_MAX - sizeof SUFFIX };
    compared->settings = *measured;
    compared->settings.device = compared->device;
    snprintf(compared->settings.name, RUN_NAME_MAX, "%.*s%s", (int)KEPT, measured->name,
             SUFFIX);
}

/* Fills what follows from the plan and from the machine, before anything is simulated. */
static void describe_simulated(const struct plan *plan, const struct machine *machine,
                               const struct run_report *measured, struct compared *compared)
{
    struct run_report *run = &compared->run;
    *run = (struct run_report){
        .settings = &compared->settings,
        .streams = measured->streams,
        .slots = measured->slots,
        .cpu_tiles = measured->cpu_tiles,
        .elements = measured->elements,
        .host_bytes = measured->host_bytes,
        .device_bytes = measured->device_bytes,
        .verified = VERIFIED_NOT_ASKED,
        .repeats = 1,
        .limit = limit_of(machine, plan),
    };
    run->timeline = (struct timeline){0};
}

static enum status simulate(const struct plan *plan, const struct machine *machine,
                            struct run_report *run, struct error *error)
{
    struct timeline *timeline = &run->timeline;
    enum status status =
        simulator_run(machine, machine->queues, plan, NULL, timeline, &run->issue_ns, error);
    if (status != STATUS_OK)
        return status;
    timeline->timing = TIMING_VIRTUAL;
    timeline->resolution_ns = 1;
    snprintf(timeline->device, sizeof timeline->device, "%s", machine->summary);
    run->median_ns = run->min_ns = run->max_ns = timeline_time_ns(timeline);
    status = analyse(timeline, &run->analysis, error);
    return status == STATUS_OK ? critical_find(timeline, machine, &run->critical, error)
                               : status;
}

enum status compare_run(const struct plan *plan, const struct machine *machine,
                        const struct machine *file, struct run_report *measured,
                        struct error *error)
{
    struct compared *compared = calloc(1, sizeof *compared);
    if (compared == NULL)
        return error_no_memory(error, "to compare");
    struct comparison *comparison = &compared->comparison;
    snprintf(compared->device, sizeof compared->device, "sim:%s", machine->name);
    name_simulated(measured->settings, compared);
    describe_simulated(plan, machine, measured, compared);
    enum status status = simulate(plan, machine, &compared->run, error);
    if (status == STATUS_OK)
        status =
            compare_timelines(&measured->timeline, &compared->run.timeline, comparison, error);
    struct outlook outlook;
    struct error why = {0};
    if (status == STATUS_OK && interval_look_plan(machine, 0, plan, compared->run.median_ns,
                                                  &outlook, &why) == STATUS_OK)
        compared->run.sure = interval_of(&outlook);
    if (why.status == STATUS_NO_MEMORY)
        status = error_pass(error, &why);
    if (status == STATUS_OK && file != NULL)
        status = simulator_time(file, 0, plan, &comparison->file_ns, error);
    if (status != STATUS_OK) {
        compared_free(compared);
        return status;
    }
    comparison->measured_ns = measured->median_ns;
    comparison->simulated_ns = compared->run.median_ns;
    comparison->error = compare_error(comparison->simulated_ns, comparison->measured_ns);
    comparison->noise = measured->noise;
    comparison->calibrated = file != NULL;
    if (file == NULL)
        comparison->file_ns = comparison->simulated_ns;
    comparison->file_error = compare_error(comparison->file_ns, comparison->measured_ns);
    measured->compared = compared;
    return STATUS_OK;
}

enum status compare_pairs(const struct report *report, struct report *pairs,
                          struct error *error)
{
    int count = 2 * report->run_count;
    struct run_report *runs = calloc((size_t)count, sizeof *runs);
    if (runs == NULL)
        return error_no_memory(error, "for %d runs", count);
    for (int i = 0; i < report->run_count; i++) {
        runs[2 * i] = report->runs[i];
        runs[2 * i + 1] = report->runs[i].compared->run;
    }
    *pairs = (struct report){.version = report->version, .runs = runs, .run_count = count};
    report_find_speedups(pairs);
    return STATUS_OK;
}
