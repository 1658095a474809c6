/* measured.c - what is calibrated on the device that is here before anything else is done. */
#include "app/job.h"

#include "app/backends.h"

#include <stdlib.h>
#include <string.h>

enum status measured_device(const struct options *options, struct calibration **found,
                            struct error *error)
{
    struct settings settings;
    if (options->machine != NULL)
        return error_set(error, STATUS_USAGE,
                         "--machine and --calibrate both say which machine fixes are tried on: "
                         "give one of them");
    struct calibration *calibration = calloc(1, sizeof *calibration);
    if (calibration == NULL || settings_set_defaults(&settings, NULL) != STATUS_OK) {
        free(calibration);
        return error_no_memory(error, "to calibrate");
    }
    settings.device = "cuda";
    enum status status = calibrate_device(&settings, CALIBRATE_ALL, options->quiet, backends,
                                          calibration, error);
    if (status == STATUS_OK)
        *found = calibration;
    else
        free(calibration);
    return status;
}

/* Opens the device of a job and measures its host's calls. Those of a simulated device that
 * stands for itself are the very figures that they would replace. */
static enum status measure_calls_of(const struct options *options, const struct job *job,
                                    struct calls_measured *measured, struct error *error)
{
    struct job *probe = malloc(sizeof *probe);
    if (probe == NULL)
        return error_no_memory(error, "to calibrate");
    *probe = *job;
    enum status status = job_open(probe, error);
    if (status == STATUS_OK && !probe->ops->measures && options->machine == NULL)
        status = error_set(error, STATUS_USAGE,
                           "--calibrate: %s is its own machine file, so that its host's calls "
                           "cost what that says: name another file by --machine, or a CUDA "
                           "device",
                           probe->device);
    if (status == STATUS_OK) {
        measured->file = measured->machine = probe->reference;
        status = calibrate_calls_of(probe->ops, probe->backend, &probe->settings,
                                    &measured->machine, options->quiet, error);
    }
    job_end(probe);
    free(probe);
    return status;
}

/* Returns true if the runs have one device, opened in the same way. */
static bool same_device(const struct settings *one, const struct settings *other)
{
    return strcmp(one->device, other->device) == 0 && one->connections == other->connections;
}

enum status measured_calls(const struct options *options, struct job *jobs,
                           struct calls_measured **measured, struct error *error)
{
    int count = options->run_count;
    enum status status = STATUS_OK;
    if (!options->calibrate || options->command != COMMAND_COMPARE)
        return STATUS_OK;
    if (options->dry_run || options->emit != NULL)
        return error_set(error, STATUS_USAGE,
                         "--calibrate measures the host's calls, and --dry-run runs nothing: "
                         "give one of them");
    *measured = calloc((size_t)count, sizeof **measured);
    if (*measured == NULL)
        return error_no_memory(error, "to calibrate");
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        int first = 0;
        while (!same_device(&options->runs[first], &options->runs[i]))
            first++;
        if (first == i)
            status = measure_calls_of(options, &jobs[i], &(*measured)[i], error);
        jobs[i].file = &(*measured)[first].file;
        jobs[i].calibrated = &(*measured)[first].machine;
    }
    return status;
}
