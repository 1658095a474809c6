/* speedup.c - which runs may be compared, and how much faster each is than the first such. */
#include "report/report.h"

#include <math.h>
#include <string.h>

static const char *device_of(const struct run_report *run)
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
           strcmp(device_of(a), device_of(b)) == 0 &&
           has_same_chain(a->settings, b->settings) && x.intensity == y.intensity &&
           x.columns == y.columns && x.stride == y.stride && x.rows == y.rows &&
           x.inner == y.inner &&
           (!settings_has_halo(a->settings) || (x.halo == y.halo && x.steps == y.steps));
}

static bool has_same_work(const struct run_report *a, const struct run_report *b)
{
    return a->elements == b->elements && report_is_comparable(a, b);
}

void report_find_speedups(struct report *report)
{
    for (int i = 0; i < report->run_count; i++) {
        struct run_report *run = &report->runs[i];
        run->speedup = report->run_count == 1 && run->verified != VERIFIED_NO ? 1 : (double)NAN;
        for (int k = 0; k < i; k++) {
            struct run_report *first = &report->runs[k];
            if (first->verified == VERIFIED_NO || !has_same_work(first, run))
                continue;
            first->speedup = 1;
            if (run->verified != VERIFIED_NO && run->median_ns > 0)
                run->speedup = (double)first->median_ns / (double)run->median_ns;
            break;
        }
    }
}
