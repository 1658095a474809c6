/* job_run.c - the runs of one job: warm-up, repeats, and the one that is traced. */
#include "app/job.h"

#include "analysis/analysis.h"
#include "mpi/ranks.h"
#include "plan/mistake.h"
#include "report/compare.h"
#include "run/cpu_worker.h"
#include "run/verify.h"
#include "term/marks.h"

#include <inttypes.h>
#include <stdlib.h>

/* One run of the job, and where its times go. */
struct attempt {
    struct job *job;
    struct timeline *timeline;
    struct run_times *times;
};

static enum status attempt_run(void *context, struct error *error)
{
    struct attempt *attempt = context;
    struct job *job = attempt->job;
    job->fold = tile_fold_begin(&job->plan, job->arrays.host[BUFFER_HOST_OUT]);
    progress_timed(job->ops->measures);
    enum status status = job->ops->run(job->backend, attempt->timeline, attempt->times, error);
    progress_timed(false);
    return status;
}

/* Runs once, on a poisoned output, and checks every element of what came out. */
static enum status run_once(struct job *job, struct timeline *timeline, struct run_times *times,
                            struct error *error)
{
    struct attempt attempt = {job, timeline, times};
    struct judgement judgement;
    if (job->settings.no_data)
        return attempt_run(&attempt, error);
    enum status status = verify_run(&job->plan, &job->arrays, attempt_run, &attempt,
                                    ranks_judges(), &judgement, error);
    if (status != STATUS_OK || judgement.wrong.status == STATUS_OK)
        return status;
    if (!mistake_rows[job->settings.mistake].races)
        return error_pass(error, &judgement.wrong);
    if (job->wrong.status == STATUS_OK)
        job->wrong = judgement.wrong;
    return STATUS_OK;
}

/* Warms up, makes the repeats that nothing traces, and keeps how long those took. */
static enum status run_repeats(struct job *job, uint32_t warmup, uint32_t repeats,
                               int64_t *times_ns, int64_t *issues_ns, struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < warmup + repeats && status == STATUS_OK; i++) {
        struct run_times times = {0};
        bool warm = i < warmup;
        progress_repeat(i, warmup + repeats + 1);
        marks_begin_counted(warm ? "warm-up" : "repeat", warm ? i + 1 : i - warmup + 1,
                            warm ? warmup : repeats);
        status = run_once(job, NULL, &times, error);
        marks_end();
        if (warm)
            continue;
        times_ns[i - warmup] = times.time_ns;
        issues_ns[i - warmup] = times.issue_ns;
    }
    return status;
}

/* Makes the last run: the one that is traced, or left to a profiler, or simulated. */
static enum status run_last(struct job *job, struct timeline *timeline, struct run_times *times,
                            struct error *error)
{
    marks_begin(!job->ops->measures     ? "simulated run"
                : job->settings.profile ? "repeat 1 of 1"
                                        : "traced run");
    const int64_t begin_ns = clock_now_ns(), long_ns = 2000000000;
    enum status status = run_once(job, timeline, times, error);
    marks_end();
    if (status == STATUS_OK && !job->ops->measures && !job->settings.no_data &&
        clock_now_ns() - begin_ns >= long_ns)
        note_print(job->options->quiet,
                   "this run took over 2 s of real time, in which the CPU also computed and "
                   "checked its results: --no-data leaves that out; the reported times stay "
                   "the same");
    return status;
}

/* Sets what the repeats gave: `repeats` times in ns, of the runs and of their issue. */
static void report_times(const struct job *job, int64_t *times_ns, int64_t *issues_ns,
                         uint32_t repeats, struct run_report *report)
{
    report->repeats = repeats;
    report->median_ns = median_ns(times_ns, repeats);
    report->min_ns = times_ns[0];
    report->max_ns = times_ns[repeats - 1];
    report->noise = compare_noise(times_ns, repeats);
    report->issue_ns = median_ns(issues_ns, repeats);
    report->verified = job->settings.no_data            ? VERIFIED_NOT_ASKED
                       : job->wrong.status != STATUS_OK ? VERIFIED_NO
                       : report->hazard_count > 0       ? VERIFIED_RACED
                                                        : VERIFIED_YES;
    report->profiled = job->ops->measures && job->settings.profile;
}

/* A simulated machine's times do not vary, a profiler wants one run, and code is loaded only
 * once: in these cases the one run that is made is both measured and traced. */
enum status job_run(struct job *job, struct run_report *report, struct error *error)
{
    const struct settings *settings = &job->settings;
    bool real = job->ops->measures;
    bool apart = real && !settings->profile && !job->plan.loads_lazily;
    uint32_t repeats = apart ? settings->runs : 1, warmup = real ? settings->warmup : 0;
    int64_t *times_ns = calloc(2 * (size_t)repeats, sizeof *times_ns);
    if (times_ns == NULL)
        return error_no_memory(error, "for %" PRIu32 " repeats", repeats);
    int64_t *issues_ns = times_ns + repeats;
    struct run_times times = {0};
    uint32_t bare = apart ? repeats : 0;
    enum status status = run_repeats(job, warmup, bare, times_ns, issues_ns, error);
    progress_repeat(warmup + bare, warmup + bare + 1);
    if (status == STATUS_OK)
        status = run_last(job, &report->timeline, &times, error);
    if (status == STATUS_OK) {
        if (!apart) {
            times_ns[0] = times.time_ns;
            issues_ns[0] = times.issue_ns;
        }
        report_times(job, times_ns, issues_ns, repeats, report);
    }
    free(times_ns);
    return status;
}
