/* untiled.c - see untiled.h. */
#include "app/untiled.h"

#include "kernels/kernel_code.h"
#include "mpi/ranks.h"
#include "plan/build.h"

#include <inttypes.h>

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

/* Runs the plan of one tile, whose output must have been written. */
static enum status run_whole(struct job *job, const struct workload *workload,
                             struct error *error)
{
    struct run_times times;
    enum status status = job->ops->prepare(job->backend, workload, error);
    arrays_poison(workload->arrays);
    if (status == STATUS_OK)
        status = job->ops->run(job->backend, NULL, &times, error);
    job->ops->release(job->backend);
    return status;
}

enum status untiled_run(struct job *job, struct error *error)
{
    struct settings whole;
    struct plan plan = {0};
    struct error why = {0};
    const struct kernel *blind = blind_kernel(&job->settings);
    if (blind == NULL || job->settings.no_data)
        return STATUS_OK;
    enum status status = whole_settings(job, &whole, &why);
    if (status == STATUS_OK)
        status = plan_build(&whole, &job->machine, &plan, &why);
    if (status == STATUS_OK)
        status = arrays_create(&job->untiled, &plan, &whole, &why);
    const struct workload workload = {
        .plan = &plan, .settings = &whole, .arrays = &job->untiled};
    if (status == STATUS_OK)
        status = run_whole(job, &workload, &why);
    plan_free(&plan);
    for (int i = 0; i < BUFFER_FIRST_DEVICE; i++) {
        if (i == BUFFER_HOST_OUT)
            continue;
        host_unmap(job->untiled.host[i], job->untiled.mapped[i]);
        job->untiled.host[i] = NULL;
        job->untiled.mapped[i] = 0;
    }
    return status == STATUS_OK
               ? status
               : error_set(error, status,
                           "%s has no CPU twin, and one launch on the whole array, which tiles "
                           "are compared with, failed: %.400s",
                           blind->name, why.text);
}
