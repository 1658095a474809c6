/* fix.c - finds a better run for each, before any is made. */
#include "app/commands.h"

#include "app/backends.h"
#include "app/job.h"
#include "causes/knobs.h"
#include "term/progress.h"

#include <stdio.h>
#include <stdlib.h>

/* Looks for better settings of a run that is planned: those that its report would call the
 * best, as they are typed. */
static enum status find_best(const struct job *job, const struct run_report *report,
                             struct fix *best, struct error *error)
{
    const struct verdict_case facts = {.plan = &job->plan,
                                       .settings = &job->asked,
                                       .typed = &job->typed,
                                       .model = &job->model,
                                       .races = report->hazard_count > 0};
    struct found found;
    enum status status = whatif_find(&facts, &found, error);
    return status == STATUS_OK ? whatif_best(&facts, &found, best, error) : status;
}

/* Sets `better` to the best settings of a run that is planned, and returns whether there are
 * any: what can't be tried has none. */
static enum status try_better(const struct job *job, const struct run_report *report,
                              const struct settings *given, struct settings *better,
                              bool *found, struct error *error)
{
    const bool quiet = job->options->quiet;
    struct error why = {0};
    struct fix best = {.time_ns = SEARCH_NO_TIME};
    if (!job->model_known)
        error_set(
            &why, STATUS_FAILED,
            "no machine file stands for this device, so nothing can be tried: name one by "
            "--machine, or make one by pipeline calibrate");
    else if (find_best(job, report, &best, &why) == STATUS_NO_MEMORY)
        return error_pass(error, &why);
    *found = best.time_ns != SEARCH_NO_TIME;
    if (why.status != STATUS_OK)
        note_print(quiet, "--fix: %s: %s", given->name, why.text);
    else if (!*found)
        note_print(quiet, "--fix: no better settings were found for %s", given->name);
    if (!*found)
        return STATUS_OK;
    *better = *given;
    better->output = NULL;
    snprintf(better->name, sizeof better->name, "%.*s fixed", RUN_NAME_MAX - 8, given->name);
    return settings_type(better, best.command, error);
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
    const struct settings given = job->settings;
    enum status status = job_count_elements(job, error);
    if (status == STATUS_OK)
        status = job_open(job, error);
    if (status == STATUS_OK)
        status = measured_host(job, error);
    if (status == STATUS_OK)
        status = job_plan(job, &draft->report, error);
    if (status == STATUS_OK)
        status = try_better(job, &draft->report, &given, better, found, error);
    free(draft->report.hazards);
    job_end(job);
    return status;
}

static enum status find_better_run(const struct options *options, int run,
                                   struct settings *better, bool *found, struct error *error)
{
    struct draft *draft = calloc(1, sizeof *draft);
    if (draft == NULL)
        return error_no_memory(error, "to look for better settings");
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
    struct settings *runs = arena_zeros(&options->storage, 2 * (size_t)count, sizeof *runs);
    enum status status = STATUS_OK;
    if (runs == NULL)
        return error_no_memory(error, "for %d runs", 2 * count);
    struct options grown = *options;
    grown.runs = runs;
    grown.run_count = 0;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        struct settings *better = &runs[grown.run_count + 1];
        bool found = false;
        runs[grown.run_count++] = options->runs[i];
        status = find_better_run(options, i, better, &found, error);
        grown.run_count += found;
        if (found && backends_measure(better->device) &&
            process_check(&grown, grown.run_count - 1, NULL) != STATUS_OK) {
            grown.run_count--;
            note_print(options->quiet,
                       "--fix: CUDA takes what would have to change for %s once in a process: "
                       "run the fix by itself",
                       options->runs[i].name);
        }
    }
    if (status == STATUS_OK) {
        options->runs = runs;
        options->run_count = grown.run_count;
    }
    return status;
}
