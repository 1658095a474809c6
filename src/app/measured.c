/* measured.c - what is calibrated on the device that is here before anything else is done. */
#include "app/job.h"

#include "app/backends.h"
#include "mpi/ranks.h"
#include "plan/mistake.h"
#include "report/reference.h"
#include "term/marks.h"

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

/* --- what the host of a run's device decides --- */

/* A host is measured once for each device that is opened: these were. */
static struct known_host {
    char device[TIMELINE_TEXT];
    uint32_t connections;
    unsigned parts;               /* that were measured */
    struct machine file, machine; /* without them, and with them */
} known[MACHINE_DEVICES_MAX];
static int known_count;

/* Returns what is known of the host of a job's device, which begins as the machine file. */
static struct known_host *know_host(const struct job *job)
{
    const uint32_t connections = job->settings.connections;
    for (int i = 0; i < known_count; i++) {
        if (strcmp(known[i].device, job->device) == 0 && known[i].connections == connections)
            return &known[i];
    }
    if (known_count == MACHINE_DEVICES_MAX)
        known_count = 0; /* a long sweep of devices: forget and measure again */
    struct known_host *host = &known[known_count++];
    *host = (struct known_host){
        .connections = connections, .file = job->reference, .machine = job->reference};
    snprintf(host->device, sizeof host->device, "%s", job->device);
    return host;
}

static bool loads_lazily(const struct options *options)
{
    bool lazily = false;
    for (int i = 0; i < options->run_count; i++)
        lazily |= mistake_rows[options->runs[i].mistake].loads_lazily;
    return lazily;
}

/* Returns true if the job's predictions are for a real device, and measuring disturbs nothing:
 * a profiler sees a run alone, a mistake is about code that nothing has loaded yet, and ranks
 * have to choose alike. A machine that was named may be of another device. */
static bool is_wanted(const struct job *job)
{
    const struct options *options = job->options;
    return job->model_known && job->ops->measures && !options->dry_run &&
           options->emit == NULL && !job->settings.profile && !loads_lazily(options) &&
           ranks_count() == 1 && !marks_on() &&
           reference_is_model(job->reference.summary, job->machine.name);
}

/* Refuses --calibrate where nothing is measured, or what is measured is the machine file's. */
static enum status check_asked(const struct job *job, struct error *error)
{
    const struct options *options = job->options;
    if (options->no_calibrate)
        return error_set(error, STATUS_USAGE,
                         "--calibrate and --no-calibrate were given: give one of them");
    if (options->dry_run || options->emit != NULL)
        return error_set(error, STATUS_USAGE,
                         "--calibrate measures the host's calls, and --dry-run runs nothing: "
                         "give one of them");
    if (!job->ops->measures && options->machine == NULL)
        return error_set(error, STATUS_USAGE,
                         "--calibrate: %s is its own machine file, so that its host's calls "
                         "cost what that says: name another file by --machine, or a CUDA "
                         "device",
                         job->device);
    return STATUS_OK;
}

/* Measures what is not known yet of what the job rests on. Unless it was asked for, a device
 * that can't tell leaves the machine file's figures. */
static enum status measure_host(const struct job *job, struct known_host *host,
                                struct error *error)
{
    struct error why = {0};
    const unsigned parts = calibrate_needs(&job->settings) & ~host->parts;
    host->parts |= parts;
    if (parts == 0)
        return STATUS_OK;
    marks_begin("measure the host");
    const enum status status =
        calibrate_host_of(job->ops, job->backend, &job->settings, parts, &host->machine, &why);
    marks_end();
    if (status == STATUS_OK || job->options->calibrate || status == STATUS_NO_MEMORY)
        return status == STATUS_OK ? STATUS_OK : error_pass(error, &why);
    note_print(job->options->quiet,
               "what calls cost this host can't be measured, so that predictions go by the "
               "machine file alone: %s",
               why.text);
    return STATUS_OK;
}

enum status measured_host(struct job *job, struct error *error)
{
    const bool asked = job->options->calibrate;
    enum status status = asked ? check_asked(job, error) : STATUS_OK;
    if (status != STATUS_OK || job->options->no_calibrate || (!asked && !is_wanted(job)))
        return status;
    struct known_host *host = know_host(job);
    status = measure_host(job, host, error);
    if (status != STATUS_OK)
        return status;
    job->file = &host->file;
    job->reference = host->machine;
    if (job->ops->measures)
        reference_adapt_host(&job->reference, &job->machine);
    job_set_model(job);
    return STATUS_OK;
}
