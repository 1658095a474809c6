/* fix.c - finds a better run for each, before any is made. */
#include "app/fix.h"

#include "app/backends.h"
#include "app/job.h"
#include "causes/knobs.h"
#include "term/progress.h"

#include <stdio.h>
#include <stdlib.h>

/* Sets `better` to the run's settings with the best knobs turned. Returns false where none
 * gains. */
static bool turn_best(const struct settings *settings, const struct found *gains,
                      struct settings *better)
{
    const struct knob_gain *knobs[KNOB_COUNT];
    int count = whatif_best(gains, knobs);
    *better = *settings;
    better->output = NULL;
    for (int i = 0; i < count; i++)
        whatif_turn((enum knob)knobs[i]->knob, &gains->better.settings, better);
    snprintf(better->name, sizeof better->name, "%.*s fixed", RUN_NAME_MAX - 8, settings->name);
    return count > 0;
}

/* A run that is planned, and never run: too large for a stack that a user has made small. */
struct draft {
    struct job job;
    struct run_report report;
};

/* Plans the run as it would be made, and looks for better settings. */
static enum status find_better(struct draft *draft, struct settings *better, bool *found,
                               struct error *error)
{
    struct job *job = &draft->job;
    const struct options *options = job->options;
    const struct settings asked = job->settings;
    struct found gains;
    *found = false;
    enum status status = job_count_elements(job, error);
    if (status == STATUS_OK)
        status = job_open(job, error);
    if (status == STATUS_OK)
        status = job_plan(job, &draft->report, error);
    if (status == STATUS_OK && !job->model_known)
        note_print(options->quiet,
                   "--fix: no machine file stands for this device, so nothing can be tried: "
                   "name one by --machine, or make one by pipeline calibrate");
    else if (status == STATUS_OK)
        status = whatif_find(&job->asked, &job->model, &gains, error);
    if (status == STATUS_OK && job->model_known) {
        *found = turn_best(&asked, &gains, better);
        if (!*found)
            note_print(options->quiet, "--fix: no better settings were found for %s",
                       asked.name);
    }
    free(draft->report.hazards);
    job_end(job);
    return status;
}

static enum status find_better_run(const struct options *options, int run,
                                   struct settings *better, bool *found, struct error *error)
{
    struct draft *draft = calloc(1, sizeof *draft);
    if (draft == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to look for better settings");
    draft->job.options = options;
    draft->job.settings = options->runs[run];
    const enum status status = find_better(draft, better, found, error);
    free(draft);
    return status;
}

enum status fix_add_runs(struct options *options, struct error *error)
{
    int count = options->run_count;
    if (options->sweep.axis_count > 0)
        return error_set(
            error, STATUS_USAGE,
            "--fix: a sweep shows many settings already: leave out --fix or --sweep");
    struct settings *runs = calloc(2 * (size_t)count, sizeof *runs);
    enum status status = STATUS_OK;
    if (runs == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for %d runs", 2 * count);
    struct options grown = *options;
    grown.runs = runs;
    grown.run_count = 0;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        struct settings *better = &runs[grown.run_count + 1];
        bool found = false;
        runs[grown.run_count++] = options->runs[i];
        status = find_better_run(options, i, better, &found, error);
        bool real = status == STATUS_OK && backends_measure(better->device);
        grown.run_count += found;
        if (found && real && process_check(&grown, grown.run_count - 1, NULL) != STATUS_OK) {
            grown.run_count--;
            note_print(options->quiet,
                       "--fix: CUDA takes what would have to change for %s once in a process: "
                       "run the fix by itself",
                       options->runs[i].name);
        }
    }
    if (status != STATUS_OK) {
        free(runs);
        return status;
    }
    free(options->runs);
    options->runs = runs;
    options->run_count = grown.run_count;
    return STATUS_OK;
}
