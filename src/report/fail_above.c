/* fail_above.c - --fail-above: a cause that costs too much of a run's time makes the command
 * fail.
 */
#include "report/fail_above.h"

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
    for (int i = 0; i < verdicts->named; i++) {
        const struct verdict *verdict = &verdicts->items[i];
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
