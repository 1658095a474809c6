/* report.c - a run's rate and its verdicts, and freeing what the runs of a report own. */
#include "report/report.h"

#include "analysis/timeline_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

enum status report_judge(struct run_report *run, const struct plan *plan,
                         const struct machine *machine, const struct settings *settings,
                         const struct machine *model, struct error *error)
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
    const bool races = run->foreign && run->hazard_count > 0;
    const struct verdict_case facts = {
        .timeline = &run->timeline,
        .critical = &run->critical,
        .plan = plan,
        .machine = machine,
        .limit = &run->limit,
        .settings = settings,
        .model = model,
        .races = run->hazard_count > 0,
        .race = races ? run->hazard_texts[0] : NULL,
        .untraced_ns =
            run->timeline.timing == TIMING_VIRTUAL || plan == NULL ? 0 : run->median_ns,
    };
    return verdicts_find(&facts, &run->verdicts, error);
}

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
