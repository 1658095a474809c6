/* report.c - what a report says of its runs: their rates and verdicts, which of them may be
 * compared, what --fail-above refuses; and freeing what they own. */
#include "report/report.h"

#include "report/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int report_batched(const struct report *report)
{
    int batched = 0;
    for (int i = 0; i < report->run_count; i++)
        batched += settings_batch(report->runs[i].settings) > 1;
    return batched;
}

double report_gflops(const struct run_report *run)
{
    const struct settings *settings = run->settings;
    const struct kernel_params params = settings_params(settings);
    double all = 0;
    bool rated = false;
    for (int i = 0; i < settings->chain_length; i++) {
        double bytes, flops;
        kernel_work(settings->chain[i], &params, run->elements, &bytes, &flops);
        all += kernel_launches(settings->chain[i], &params) * flops;
        rated |= settings->chain[i]->rated;
    }
    return rated && run->median_ns > 0 ? all / (double)run->median_ns : (double)NAN;
}

bool report_exchanges(const struct run_report *run)
{
    return !run->profiled && !run->foreign && settings_has_halo(run->settings) &&
           run->analysis.engines[ENGINE_PEER].spans > 0;
}

/* Finds the machine file of another program's device. */
static bool find_device(const struct timeline *timeline, struct machine *machine)
{
    struct machine device = {0};
    struct error why = {0};
    snprintf(device.name, sizeof device.name, "%.*s", MACHINE_TEXT - 1, timeline->device);
    return reference_machine(NULL, &device, false, 0, machine, &why) == STATUS_OK;
}

enum status report_judge(struct run_report *run, const struct plan *plan,
                         const struct machine *machine, const struct settings *settings,
                         const struct settings *typed, const struct machine *model,
                         struct error *error)
{
    struct error why = {0};
    bool own = plan != NULL && plan->recorded == NULL;
    enum status status = timeline_check(&run->timeline, own ? plan : NULL, &why);
    if (status == STATUS_NO_MEMORY)
        return error_pass(error, &why);
    if (status != STATUS_OK) {
        snprintf(run->no_verdict, sizeof run->no_verdict, "%.255s", why.text);
        return STATUS_OK;
    }
    struct machine rates;
    const bool likely = run->hazard_count == 0 && run->likely > 0;
    const char *race = run->foreign && run->hazard_count > 0 ? run->hazard_texts[0] : NULL;
    const struct verdict_case facts = {
        .timeline = &run->timeline,
        .critical = &run->critical,
        .plan = plan,
        .machine = machine,
        .limit = &run->limit,
        .settings = settings,
        .typed = typed,
        .model = model,
        .rates = !own && find_device(&run->timeline, &rates) ? &rates : NULL,
        .races = run->hazard_count > 0 || likely,
        .likely = likely,
        .race = likely ? run->possible_texts[run->likely - 1] : race,
        .untraced_ns =
            run->timeline.timing == TIMING_VIRTUAL || plan == NULL ? 0 : run->median_ns,
    };
    return verdicts_find(&facts, &run->verdicts, error);
}

/* --- speed-ups --- */

const char *report_device(const struct run_report *run)
{
    return run->device[0] != '\0' ? run->device : run->timeline.device;
}

static bool has_same_chain(const struct settings *a, const struct settings *b)
{
    for (int i = 0; i < a->chain_length; i++) {
        if (i >= b->chain_length || a->chain[i] != b->chain[i])
            return false;
    }
    return a->chain_length == b->chain_length;
}

bool report_is_comparable(const struct run_report *a, const struct run_report *b)
{
    const struct kernel_params x = settings_params(a->settings);
    const struct kernel_params y = settings_params(b->settings);
    return a->foreign == b->foreign &&
           timeline_source(&a->timeline) == timeline_source(&b->timeline) &&
           strcmp(report_device(a), report_device(b)) == 0 &&
           has_same_chain(a->settings, b->settings) && x.intensity == y.intensity &&
           x.columns == y.columns && x.stride == y.stride && x.rows == y.rows &&
           x.inner == y.inner &&
           (!settings_has_halo(a->settings) || (x.halo == y.halo && x.steps == y.steps));
}

void report_find_speedups(struct report *report)
{
    for (int i = 0; i < report->run_count; i++) {
        struct run_report *run = &report->runs[i];
        run->speedup = report->run_count == 1 && run->verified != VERIFIED_NO ? 1 : (double)NAN;
        for (int k = 0; k < i; k++) {
            struct run_report *first = &report->runs[k];
            if (first->verified == VERIFIED_NO || first->elements != run->elements ||
                !report_is_comparable(first, run))
                continue;
            first->speedup = 1;
            if (run->verified != VERIFIED_NO && run->median_ns > 0)
                run->speedup = (double)first->median_ns / (double)run->median_ns;
            break;
        }
    }
}

/* --- --fail-above --- */

/* Returns true for a cause that is above the limit. A race is, whatever it cost. */
static bool is_above(const struct fail_above *limit, const struct verdicts *verdicts,
                     const struct verdict *verdict, double *share)
{
    *share = verdicts->time_ns > 0 ? (double)verdict->cost_ns / (double)verdicts->time_ns : 0;
    if (limit->code != FAIL_ABOVE_ANY && limit->code != (int)verdict->code)
        return false;
    return verdict->code == VERDICT_MISSING_WAIT || *share > limit->share;
}

static enum status check_run(const struct run_report *run, const struct fail_above *limit,
                             struct error *error)
{
    const struct verdicts *verdicts = &run->verdicts;
    const char *name = run->settings->name;
    double share;
    if (run->no_verdict[0] != '\0' || verdicts->count == 0)
        return error_set(
            error, STATUS_FAILED, "%s: no cause is known to hold against --fail-above: %s",
            name, run->no_verdict[0] != '\0' ? run->no_verdict : "nothing of it was seen");
    EACH (const struct verdict, verdict, verdicts->items, verdicts->named) {
        const char *cause = verdict_rows[verdict->code].name;
        if (!is_above(limit, verdicts, verdict, &share))
            continue;
        if (verdict->code == VERDICT_MISSING_WAIT)
            return error_set(error, STATUS_FAILED, "%s: %s: %s", name, cause,
                             verdict_rows[verdict->code].text);
        return error_set(error, STATUS_FAILED,
                         "%s: %s costs %.1f%% of the time, above the %.4g%% of --fail-above",
                         name, cause, 100 * share, 100 * limit->share);
    }
    return STATUS_OK;
}

enum status report_fail_above(const struct report *report, const struct options *options,
                              struct error *error)
{
    for (int i = 0; i < report->run_count; i++) {
        if (report->paired && i % 2 == 0) /* what was before is not what is checked */
            continue;
        for (int k = 0; k < options->fail_above_count; k++) {
            enum status status = check_run(&report->runs[i], &options->fail_above[k], error);
            if (status != STATUS_OK)
                return status;
        }
    }
    return STATUS_OK;
}

/* --- the end --- */

void compared_free(struct compared *compared)
{
    if (compared == NULL)
        return;
    timeline_free(&compared->run.timeline);
    critical_free(&compared->run.critical);
    free(compared);
}

void report_free(struct report *report)
{
    for (int i = 0; i < report->run_count; i++) {
        timeline_free(&report->runs[i].timeline);
        critical_free(&report->runs[i].critical);
        latency_free(&report->runs[i].latency);
        compared_free(report->runs[i].compared);
        free(report->runs[i].hazards);
        free(report->runs[i].hazard_texts);
        free(report->runs[i].possible_texts);
    }
}
