/* compare_run.c - simulates the plan that a device ran, and compares. */
#include "report/compare_run.h"

#include "sim/simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    timeline_init(&run->timeline);
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
                        struct run_report *measured, struct error *error)
{
    struct compared *compared = calloc(1, sizeof *compared);
    if (compared == NULL)
        return error_set(error, STATUS_FAILED, "no memory to compare");
    struct comparison *comparison = &compared->comparison;
    snprintf(compared->device, sizeof compared->device, "sim:%s", machine->name);
    name_simulated(measured->settings, compared);
    describe_simulated(plan, machine, measured, compared);
    enum status status = simulate(plan, machine, &compared->run, error);
    if (status == STATUS_OK)
        status =
            compare_timelines(&measured->timeline, &compared->run.timeline, comparison, error);
    if (status != STATUS_OK) {
        compared_free(compared);
        return status;
    }
    comparison->measured_ns = measured->median_ns;
    comparison->simulated_ns = compared->run.median_ns;
    comparison->error = compare_error(comparison->simulated_ns, comparison->measured_ns);
    comparison->noise = measured->noise;
    measured->compared = compared;
    return STATUS_OK;
}

enum status compare_report(const struct report *report, const struct settings *settings,
                           struct compare_summary *summary, struct error *error)
{
    size_t count = (size_t)report->run_count;
    struct comparison *comparisons = calloc(count, sizeof *comparisons);
    if (comparisons == NULL)
        return error_set(error, STATUS_FAILED, "no memory to compare %zu runs", count);
    for (size_t i = 0; i < count; i++)
        comparisons[i] = report->runs[i].compared->comparison;
    enum status status =
        compare_summarise(comparisons, settings, (uint32_t)count, summary, error);
    free(comparisons);
    return status;
}

enum status compare_pairs(const struct report *report, struct report *pairs,
                          struct error *error)
{
    int count = 2 * report->run_count;
    struct run_report *runs = calloc((size_t)count, sizeof *runs);
    if (runs == NULL)
        return error_set(error, STATUS_FAILED, "no memory for %d runs", count);
    for (int i = 0; i < report->run_count; i++) {
        runs[2 * i] = report->runs[i];
        runs[2 * i + 1] = report->runs[i].compared->run;
        runs[2 * i + 1].speedup =
            (double)report->runs[0].median_ns / (double)runs[2 * i + 1].median_ns;
    }
    *pairs = (struct report){.version = report->version, .runs = runs, .run_count = count};
    return STATUS_OK;
}
