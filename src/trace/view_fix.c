/* view_fix.c - a recorded program, mended. */
#include "trace/view_fix.h"

#include "analysis/rework.h"
#include "report/reference.h"
#include "sim/simulator.h"
#include "term/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Refuses a machine that is not of the device that was recorded. */
static enum status check_calibrated(const struct machine *calibrated, const char *recorded,
                                    struct error *error)
{
    if (strcmp(calibrated->summary, recorded) == 0)
        return STATUS_OK;
    return error_set(
        error, STATUS_USAGE,
        "--calibrate: the device that is here is an %s, and the recording is of an "
        "%s: calibrate where that is, and name the file by --machine",
        calibrated->summary, recorded);
}

enum status view_find_machine(const struct machine *calibrated, const char *asked,
                              const struct recording *recording, uint32_t device,
                              struct machine *machine, bool *found, struct error *error)
{
    struct machine named = {0};
    struct error why = {0};
    if (calibrated != NULL &&
        check_calibrated(calibrated, recording->devices[device].name, error) != STATUS_OK)
        return error->status;
    if (calibrated != NULL)
        named = *calibrated;
    else
        snprintf(named.name, sizeof named.name, "%s", recording->devices[device].name);
    enum status status =
        reference_machine(calibrated != NULL ? NULL : asked, &named, calibrated != NULL,
                          recording->connections, machine, &why);
    *found = status == STATUS_OK;
    if (status == STATUS_NO_MEMORY || (status != STATUS_OK && asked != NULL))
        return error_pass(error, &why);
    return STATUS_OK;
}

enum status view_judge_run(struct run_report *run, const struct machine *machine,
                           struct error *error)
{
    if (run->plan == NULL || machine == NULL)
        return report_judge(run, NULL, NULL, NULL, NULL, error);
    run->limit =
        limit_of_recorded(machine, run->plan, run->analysis.engines[ENGINE_COMPUTE].busy_ns);
    limit_correct(&run->limit, run->median_ns);
    return report_judge(run, run->plan, NULL, NULL, machine, error);
}

static enum status simulate(const struct plan *plan, const struct machine *machine,
                            uint32_t queues, struct run_report *run, struct error *error)
{
    struct timeline *timeline = &run->timeline;
    enum status status =
        simulator_run(machine, queues, plan, NULL, timeline, &run->issue_ns, error);
    if (status != STATUS_OK)
        return status;
    timeline->timing = TIMING_VIRTUAL;
    timeline->resolution_ns = 1;
    snprintf(timeline->device, sizeof timeline->device, "%s", machine->summary);
    memcpy(run->device, timeline->device, sizeof timeline->device);
    run->streams = timeline->streams;
    run->median_ns = run->min_ns = run->max_ns = timeline_time_ns(timeline);
    status = analyse(timeline, &run->analysis, error);
    if (status == STATUS_OK)
        status = critical_find(timeline, machine, &run->critical, error);
    return status == STATUS_OK ? report_judge(run, NULL, NULL, NULL, NULL, error) : status;
}

enum status view_fix_run(const struct run_report *run, const struct machine *machine,
                         struct run_report *fixed, struct plan *plan, bool *found,
                         struct error *error)
{
    const struct rework *mended = &run->verdicts.mended;
    struct rework_base base;
    *found = false;
    if (!run->verdicts.mends)
        return STATUS_OK;
    enum status status = rework_begin(&base, run->plan, machine, error);
    if (status == STATUS_OK) {
        status = rework_apply(&base, mended, plan, error);
        rework_end(&base);
    }
    if (status != STATUS_OK)
        return status;
    *fixed = (struct run_report){
        .verified = VERIFIED_NOT_ASKED, .speedup = (double)NAN, .foreign = true};
    timeline_init(&fixed->timeline);
    status = simulate(plan, machine, mended->queues, fixed, error);
    if (status == STATUS_OK && fixed->median_ns > 0)
        fixed->speedup = (double)run->median_ns / (double)fixed->median_ns;
    *found = status == STATUS_OK;
    if (status == STATUS_OK)
        return STATUS_OK;
    struct report one = {.runs = fixed, .run_count = 1};
    report_free(&one);
    plan_free(plan);
    return status;
}

void view_note_no_fix(const struct run_report *run, const char *name, bool machine_known,
                      bool quiet)
{
    if (!machine_known)
        note_print(quiet,
                   "--fix: no machine file stands for the device of %s: name one by --machine",
                   name);
    else if (run->verdicts.modelled_ns == 0 || run->verdicts.too_far)
        note_print(quiet, "--fix: no fix can be predicted for %s", name);
    else
        note_print(quiet, "--fix: no fix that gains was found for %s", name);
}
