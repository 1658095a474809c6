/* runs.c - all runs of a command, each through the stages in order:
 *
 *     options -> plan -> backend -> timeline -> analysis -> writers */
#include "app/commands.h"

#include "app/backends.h"
#include "app/job.h"
#include "app/outputs.h"
#include "core/anonymous.h"
#include "core/version.h"
#include "kernels/kernel_code.h"
#include "kernels/own.h"
#include "mpi/ranks.h"
#include "plan/mistake.h"
#include "report/compare.h"
#include "run/backend.h"
#include "term/marks.h"
#include "term/progress.h"
#include "writers/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names that reports leave out: --anonymous --- */

static void cut_files(struct settings *settings)
{
    if (settings->input != NULL)
        settings->input = anonymous_file(settings->input);
    if (settings->output != NULL)
        settings->output = anonymous_file(settings->output);
}

/* Returns where the path begins in a device that is a machine file, "sim:./mine.ini*2"; NULL:
 * it is none. */
static const char *path_of(const char *device)
{
    static const char simulated[] = "sim:";
    const bool is_one = device != NULL && strncmp(device, simulated, strlen(simulated)) == 0;
    return is_one ? device + strlen(simulated) : NULL;
}

/* A device's text is the options' own where it has a path, for no default has one. */
static void cut_settings(struct settings *settings)
{
    cut_files(settings);
    if (path_of(settings->device) != NULL)
        anonymous_cut_file((char *)path_of(settings->device));
}

/* Leaves them out of a copy of a run's settings, which is shown before the run's files are
 * opened: `device` gets what is left of its device, if that is a file. */
static void anonymous_settings(struct settings *settings, char device[TIMELINE_TEXT])
{
    const char *path = path_of(settings->device);
    cut_files(settings);
    kernel_own_forget_folders();
    if (path == NULL)
        return;
    snprintf(device, TIMELINE_TEXT, "sim:%s", anonymous_file(path));
    settings->device = device;
}

static void cut_hosts(struct ranks_seen *ranks)
{
    struct ranks_seen seen = *ranks;
    int hosts = 0;
    for (uint32_t i = 0; i < ranks->count; i++) {
        uint32_t first = 0;
        while (strcmp(seen.places[first].host, seen.places[i].host) != 0)
            first++;
        if (first == i)
            snprintf(ranks->places[i].host, RANK_HOST, "host %d", ++hosts);
        else
            memcpy(ranks->places[i].host, ranks->places[first].host, RANK_HOST);
    }
}

/* Leaves folders of files and names of hosts out of runs that are about to be reported, and of
 * their settings, by which nothing is opened any more. Hosts are numbered, in each run from 1.
 */
static void anonymous_runs(struct job *jobs, struct report *report)
{
    for (int i = 0; i < report->run_count; i++) {
        struct run_report *run = &report->runs[i];
        cut_settings(&jobs[i].settings);
        cut_settings(&jobs[i].usual);
        cut_hosts(&run->timeline.ranks);
        if (run->compared != NULL)
            cut_settings(&run->compared->settings);
    }
    kernel_own_forget_folders();
}

/* --- runs --- */

/* Returns true if plans are shown, and nothing runs. */
static bool plans_only(const struct options *options)
{
    return options->dry_run || options->emit != NULL;
}

/* Copies the error `why`, and says in which of several runs it was. */
static enum status fail_run(const struct options *options, int run, const struct error *why,
                            struct error *error)
{
    if (options->run_count == 1)
        return error_set(error, why->status, "%s", why->text);
    return error_set(error, why->status, "run %s: %s", options->runs[run].name, why->text);
}

/* Refuses kernels that need a library which this machine lacks. */
static enum status check_kernels(const struct settings *settings, struct error *error)
{
    for (int i = 0; i < settings->chain_length; i++) {
        const struct kernel *kernel = settings->chain[i];
        if (kernel_missing(kernel) != NULL)
            return error_set(error, STATUS_USAGE, "%s is not available: %s", kernel->name,
                             kernel_missing(kernel));
    }
    return STATUS_OK;
}

/* Finds out, before anything runs, what a real device can't do and what input files say. */
static enum status prepare_each(const struct options *options, struct job *jobs,
                                struct error *error)
{
    for (int i = 0; i < options->run_count; i++) {
        const struct settings *settings = &options->runs[i];
        struct error why = {0};
        jobs[i].options = options;
        jobs[i].settings = *settings;
        enum status status = check_kernels(settings, &why);
        if (status == STATUS_OK)
            status = job_count_elements(&jobs[i], &why);
        bool real = backends_measure(settings->device);
        if (status == STATUS_OK)
            status = untiled_check(settings, real, &why);
        if (status == STATUS_OK && real)
            status = settings_check_profile(settings, options, &why);
        if (status == STATUS_OK && real)
            status = process_check(options, i, &why);
        if (status != STATUS_OK)
            return fail_run(options, i, &why, error);
    }
    return STATUS_OK;
}

/* Estimates how long a run takes against another: by its bytes or, without them, by its ops,
 * whose number is not known yet where tiles are left to the simulator. */
static double work_of(const struct settings *settings)
{
    uint32_t tiles = settings->tiles > 0 ? settings->tiles : 1;
    return settings->no_data ? (double)tiles : (double)settings->elements;
}

/* Returns true if reports keep every span. A sweep or a comparison, whose runs may be
 * thousands, keeps its figures alone, unless a file has to show every span. */
static bool keeps_spans(const struct options *options, const struct outputs *outputs)
{
    bool swept = options->sweep.axis_count > 0;
    bool keeps = !swept && (options->command != COMMAND_COMPARE || options->timeline_count > 0);
    for (int i = 0; i < options->timeline_count; i++)
        keeps |= outputs->writers[i]->write != NULL;
    return keeps;
}

static void drop_spans(struct run_report *run)
{
    struct timeline *timeline = &run->timeline;
    free(timeline->spans);
    free(timeline->issue_ns);
    timeline->spans = NULL;
    timeline->issue_ns = NULL;
    timeline->span_count = timeline->issue_count = 0;
    critical_free(&run->critical);
    run->critical = (struct critical){0};
    latency_free_tiles(&run->latency);
}

/* Begins a run's range for profilers: "run NAME", or "run" where it is the only one. */
static void begin_range(const struct job *job)
{
    char name[RUN_NAME_MAX + 8];
    bool named = strcmp(job->settings.name, "run") != 0;
    snprintf(name, sizeof name, named ? "run %s" : "%s", job->settings.name);
    marks_name_thread("pipeline");
    marks_begin(name);
}

/* Prints the plan of a run that is not made. */
static enum status show_plan(const struct job *job, struct run_report *run,
                             struct plan_list *plans, struct error *error)
{
    struct settings shown = job->settings;
    char device[TIMELINE_TEXT];
    if (job->options->anonymous)
        anonymous_settings(&shown, device);
    if (job->options->format == FORMAT_JSON)
        plan_list_add(plans, &job->plan, &shown, run);
    else if (write_plan(stdout, &job->plan, &shown) != STATUS_OK)
        return error_no_memory(error, "to write the plan");
    return STATUS_OK;
}

/* One run, from its settings to what is known of it. */
static enum status run_one(struct job *job, struct outputs *outputs, struct output_file *output,
                           struct run_report *run, struct plan_list *plans, struct error *error)
{
    enum status status = ranks_agree(job_open(job, error), error);
    if (status == STATUS_OK)
        status = ranks_agree(measured_host(job, error), error);
    if (status == STATUS_OK)
        status = ranks_agree(job_plan(job, run, error), error);
    if (status == STATUS_OK)
        status = ranks_compare_plans(&job->plan, error);
    if (status == STATUS_OK && !ranks_speak() && job->options->dry_run)
        return STATUS_OK;
    if (status == STATUS_OK && job->options->emit != NULL)
        return outputs_write_program(job->options, outputs, &job->plan, &job->settings, error);
    if (status == STATUS_OK && job->options->dry_run)
        return show_plan(job, run, plans, error);
    if (status == STATUS_OK)
        status = ranks_agree(job_prepare(job, run, error), error);
    if (status == STATUS_OK)
        status = job_run(job, run, error);
    if (!ranks_speak())
        return status;
    if (status == STATUS_OK)
        status = job_analyse(job, run, error);
    if (status == STATUS_OK)
        status = job_compare(job, run, error);
    if (status == STATUS_OK)
        status = job_write_output(job, run, output, error);
    return status;
}

static enum status run_each(const struct options *options, struct outputs *outputs,
                            struct job *jobs, struct report *report, struct plan_list *plans,
                            struct error *error)
{
    bool keep = ranks_speak() && keeps_spans(options, outputs);
    for (int i = 0; i < options->run_count; i++) {
        struct run_report *run = &report->runs[i];
        struct error why = {0};
        /* "run streams=4", a point of a sweep without config files, is shown as "streams=4". */
        const char *name = options->runs[i].name;
        progress_next(name + (strncmp(name, "run ", 4) == 0 ? 4 : 0),
                      work_of(&jobs[i].settings));
        run->settings = &jobs[i].settings;
        run->timeline = (struct timeline){0};
        begin_range(&jobs[i]);
        enum status status = run_one(&jobs[i], outputs, &outputs->arrays[i], run, plans, &why);
        marks_end();
        job_end(&jobs[i]);
        if (status != STATUS_OK)
            return fail_run(options, i, &why, error);
        if (!keep)
            drop_spans(run);
        if (!keep && run->compared != NULL)
            drop_spans(&run->compared->run);
    }
    if (!plans_only(options))
        report_find_speedups(report);
    return STATUS_OK;
}

/* Writes the files and the report of all runs. */
static enum status write_results(const struct options *options, struct outputs *outputs,
                                 struct job *jobs, struct report *report, struct error *error)
{
    struct compare_summary summary;
    enum status status = STATUS_OK;
    if (options->command == COMMAND_COMPARE) {
        status = compare_report(report, options->runs, &summary, error);
        report->comparison = &summary;
    }
    if (options->anonymous)
        anonymous_runs(jobs, report);
    if (status == STATUS_OK)
        status = outputs_write(options, outputs, report, error);
    report->comparison = NULL;
    return status;
}

/* Fails where a result is wrong or can't be relied on, also where a mistake was asked for that
 * made it so. */
static enum status check_results(const struct options *options, const struct job *jobs,
                                 const struct report *report, struct error *error)
{
    for (int i = 0; i < options->run_count; i++) {
        const struct settings *settings = &jobs[i].settings;
        const enum verified verified = report->runs[i].verified;
        struct error why = {0};
        if (verified != VERIFIED_NO && verified != VERIFIED_RACED)
            continue;
        error_set(&why, STATUS_FAILED, "%s: --mistake=%s did that%s%s%s",
                  verified == VERIFIED_NO
                      ? jobs[i].wrong.text
                      : "every element is right this time, but ops raced, so the next run may "
                        "give another result",
                  mistake_name(settings->mistake), settings->output != NULL ? "; " : "",
                  settings->output != NULL ? settings->output : "",
                  settings->output != NULL ? " is not written" : "");
        return fail_run(options, i, &why, error);
    }
    return STATUS_OK;
}

/* Says that a config file was not found, but one of its name that is part of the program; that
 * there is nothing for a profiler; and, once for all runs, that `auto` found no CUDA device. */
static void note_findings(const struct options *options)
{
    if (options->embedded != NULL)
        note_print(options->quiet,
                   "there is no file %.200s here: taking the one that is part of this program",
                   options->embedded);
    if (options->lesson != NULL && options->message == NULL)
        note_print(
            options->quiet,
            "your options replace the lesson's own: its answers and message may not hold");
    bool profiles = false, measures = false;
    for (int i = 0; i < options->run_count; i++) {
        profiles |= options->runs[i].profile;
        measures |= backends_measure(options->runs[i].device);
    }
    if (profiles && !measures)
        note_print(options->quiet,
                   "--profile does nothing here: the device is simulated, and a "
                   "profiler sees real ones only");
    for (int i = 0; i < options->run_count; i++) {
        if (strcmp(options->runs[i].device, "auto") != 0)
            continue;
        if (!backends_measure("auto"))
            note_print(options->quiet,
                       "no CUDA device: simulating an NVIDIA H200 (--device=sim:h200)");
        return;
    }
}

enum status runs_all(const struct options *options, struct error *error)
{
    size_t count = (size_t)options->run_count;
    double work = 0;
    struct outputs outputs = {.arrays = calloc(count, sizeof *outputs.arrays)};
    struct job *jobs = calloc(count, sizeof *jobs);
    struct lesson lesson;
    bool leaves = false;
    const bool teaches = options->command == COMMAND_LESSON && options->format == FORMAT_TEXT &&
                         !plans_only(options);
    struct report report = {.version = PIPELINE_VERSION,
                            .message = options->message,
                            .runs = calloc(count, sizeof *report.runs),
                            .run_count = (int)count,
                            .sweep = options->sweep.axis_count > 0 ? &options->sweep : NULL};
    enum status status = STATUS_OK;
    if (outputs.arrays == NULL || jobs == NULL || report.runs == NULL) {
        status = error_no_memory(error, "for %zu runs", count);
        goto free_all;
    }
    backends_configure(backends, &options->runs[0]);
    if (ranks_speak())
        status = outputs_open(options, &outputs, error);
    if (status == STATUS_OK)
        status = prepare_each(options, jobs, error);
    status = ranks_agree(status, error);
    if (status == STATUS_OK && teaches)
        status = lesson_begin(options, &lesson, &leaves, error);
    if (leaves)
        goto discard;
    if (status == STATUS_OK) {
        note_findings(options);
        for (size_t i = 0; i < count; i++)
            work += work_of(&jobs[i].settings);
        progress_begin((int)count, work,
                       options->quiet || plans_only(options) || !ranks_speak());
        struct plan_list plans = {.out = stdout};
        status = run_each(options, &outputs, jobs, &report, &plans, error);
        plan_list_end(&plans);
        if (status == STATUS_OK)
            status = outputs_print_programs(&outputs, error);
        progress_end();
    }
    const bool reports = ranks_speak() && !plans_only(options);
    if (status == STATUS_OK && reports)
        status = write_results(options, &outputs, jobs, &report, error);
    if (status == STATUS_OK && reports && teaches)
        lesson_end(options, &lesson, &report);
    if (status == STATUS_OK && reports)
        status = check_results(options, jobs, &report, error);
    if (status == STATUS_OK && reports)
        status = report_fail_above(&report, options, error);
discard:
    outputs_discard(options, &outputs);
    report_free(&report);
free_all:
    free(report.runs);
    free(jobs);
    free(outputs.arrays);
    return status;
}
