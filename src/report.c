/* report.c - a run's rate, and giving back what the runs of a report own. */
#include "report.h"

#include "compare_run.h"

#include <math.h>
#include <stdlib.h>

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

void report_free(struct report *report)
{
    for (int i = 0; i < report->run_count; i++) {
        timeline_free(&report->runs[i].timeline);
        critical_free(&report->runs[i].critical);
        latency_free(&report->runs[i].latency);
        compared_free(report->runs[i].compared);
        free(report->runs[i].hazards);
        free(report->runs[i].hazard_texts);
    }
}
