/* beside.c - other settings on a job's device, before the job's own plan is prepared. */
#include "app/job.h"

#include "plan/build.h"
#include "run/verify.h"

#include <stdlib.h>

/* A run, for verify_run(). */
struct attempt {
    struct job *job;
    struct run_times times;
};

static enum status attempt_run(void *context, struct error *error)
{
    struct attempt *attempt = context;
    return attempt->job->ops->run(attempt->job->backend, NULL, &attempt->times, error);
}

static enum status run_once(struct job *job, struct beside *beside, const struct plan *plan,
                            int64_t *time_ns, struct error *error)
{
    struct attempt attempt = {.job = job};
    struct judgement judgement = {0};
    const bool judged = !beside->untold && !beside->settings.no_data;
    if (!judged && !beside->settings.no_data)
        arrays_poison(&beside->arrays);
    enum status status = judged ? verify_run(plan, &beside->arrays, attempt_run, &attempt, NULL,
                                             &judgement, error)
                                : attempt_run(&attempt, error);
    *time_ns = attempt.times.time_ns;
    if (status == STATUS_OK && judgement.wrong.status != STATUS_OK)
        status = error_pass(error, &judgement.wrong);
    return status;
}

static enum status run_repeats(struct job *job, struct beside *beside, const struct plan *plan,
                               struct error *error)
{
    const bool real = job->ops->measures;
    const uint32_t warmup = real && !beside->untold ? job->settings.warmup : 0;
    const uint32_t runs = real ? beside->runs : 1;
    int64_t *times_ns = calloc(runs, sizeof *times_ns), unheard;
    enum status status = times_ns != NULL
                             ? STATUS_OK
                             : error_set(error, STATUS_NO_MEMORY, "no memory for repeats");
    for (uint32_t i = 0; i < warmup + runs && status == STATUS_OK; i++)
        status =
            run_once(job, beside, plan, i < warmup ? &unheard : &times_ns[i - warmup], error);
    if (status == STATUS_OK)
        beside->median_ns = median_ns(times_ns, runs);
    free(times_ns);
    return status;
}

enum status beside_run(struct job *job, struct beside *beside, struct error *error)
{
    struct plan plan = {0};
    const bool data = !beside->settings.no_data;
    struct workload workload = {.plan = &plan, .settings = &beside->settings};
    enum status status = plan_build(&beside->settings, &job->machine, &plan, error);
    if (status == STATUS_OK)
        status = job->ops->check(job->backend, &plan, error);
    if (status == STATUS_OK && data) {
        status = arrays_create(&beside->arrays, &plan, &beside->settings, error);
        beside->arrays.untiled = job->untiled.host[BUFFER_HOST_OUT];
        workload.arrays = &beside->arrays;
    }
    if (status == STATUS_OK) {
        status = job->ops->prepare(job->backend, &workload, error);
        beside->ran = status == STATUS_OK;
        if (beside->ran)
            status = run_repeats(job, beside, &plan, error);
        job->ops->release(job->backend);
    }
    beside->arrays.apart = NULL; /* the plan, which says where tiles lie, is gone */
    plan_free(&plan);
    return status;
}
