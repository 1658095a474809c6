/* untiled.c - what is right of a kernel that has no CPU twin: what one launch on the whole
 * array gives, on the same device. */
#include "app/job.h"

#include "kernels/kernel_code.h"
#include "mpi/ranks.h"
#include "plan/build.h"
#include "plan/mistake.h"
#include "run/verify.h"

#include <stdlib.h>
#include <string.h>

/* --- other settings on a job's device --- */

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
    enum status status = times_ns != NULL ? STATUS_OK : error_no_memory(error, "for repeats");
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

/* Returns the first kernel of the chain that has no twin, or NULL. */
static const struct kernel *blind_kernel(const struct settings *settings)
{
    for (int i = 0; i < settings->chain_length; i++) {
        if (kernel_lacks_twin(settings->chain[i]))
            return settings->chain[i];
    }
    return NULL;
}

enum status untiled_check(const struct settings *settings, bool real, struct error *error)
{
    const struct kernel *blind = blind_kernel(settings);
    if (blind == NULL || (!real && settings->no_data && settings->ways != 4))
        return STATUS_OK;
    if (!real && !settings->no_data)
        return error_set(error, STATUS_USAGE,
                         "%s has no CPU twin, and simulated machines run that: with --no-data "
                         "they have times alone",
                         blind->name);
    if (settings->ways == 4)
        return error_set(error, STATUS_USAGE,
                         "--ways=4: %s has no CPU twin, so that no CPU can do its share",
                         blind->name);
    if (ranks_count() > 1)
        return error_set(error, STATUS_USAGE,
                         "%s has no CPU twin, and is compared with a launch of one process on "
                         "the whole array: run it without ranks",
                         blind->name);
    if (mistake_rows[settings->mistake].loads_lazily)
        return error_set(
            error, STATUS_USAGE,
            "--mistake=%s: %s has no CPU twin, and the launch that it is compared with "
            "loads it before the run",
            mistake_name(settings->mistake), blind->name);
    for (int i = 0; i < settings->chain_length; i++) {
        const struct kernel *kernel = settings->chain[i];
        if (kernel->gathers || kernel->place_period > 0)
            return error_set(error, STATUS_USAGE,
                             "%s has no CPU twin, and is compared with one launch on the whole "
                             "array, but what %s does depends on the tiles",
                             blind->name, kernel->name);
        if (kernel->shape == KERNEL_REDUCE && settings->chain_length > 1)
            return error_set(error, STATUS_USAGE,
                             "%s has no CPU twin: what rounding makes of sums in such a chain "
                             "can't be said, so give it one, or run it without %s",
                             blind->name, blind == kernel ? "the others" : kernel->name);
    }
    return STATUS_OK;
}

/* Makes the settings of the one launch: what is worked on, and nothing of how. */
static enum status whole_settings(const struct job *job, struct settings *whole,
                                  struct error *error)
{
    const struct settings *settings = &job->settings;
    const enum status status = settings_set_defaults(whole, error);
    if (status != STATUS_OK)
        return status;
    whole->elements = settings->elements;
    whole->input = settings->input;
    whole->seed = settings->seed;
    memcpy(whole->chain, settings->chain, sizeof whole->chain);
    whole->chain_length = settings->chain_length;
    whole->intensity = settings->intensity;
    whole->columns = settings->columns;
    whole->stride = settings->stride;
    whole->blocks = settings->blocks;
    whole->device = settings->device;
    whole->tiles = whole->streams = 1;
    whole->ways = 1;
    return STATUS_OK;
}

enum status untiled_run(struct job *job, struct error *error)
{
    struct beside beside = {.runs = 1, .untold = true};
    struct error why = {0};
    const struct kernel *blind = blind_kernel(&job->settings);
    if (blind == NULL || job->settings.no_data)
        return STATUS_OK;
    enum status status = whole_settings(job, &beside.settings, &why);
    if (status == STATUS_OK)
        status = beside_run(job, &beside, &why);
    job->untiled.host[BUFFER_HOST_OUT] = beside.arrays.host[BUFFER_HOST_OUT];
    job->untiled.mapped[BUFFER_HOST_OUT] = beside.arrays.mapped[BUFFER_HOST_OUT];
    beside.arrays.host[BUFFER_HOST_OUT] = NULL;
    beside.arrays.mapped[BUFFER_HOST_OUT] = 0;
    arrays_free(&beside.arrays);
    return status == STATUS_OK
               ? status
               : error_set(error, status,
                           "%s has no CPU twin, and one launch on the whole array, which tiles "
                           "are compared with, failed: %.400s",
                           blind->name, why.text);
}
