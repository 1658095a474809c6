/* main.c - the stages in order, and the only owner of exit codes.
 *
 *     options -> plan -> backend -> timeline -> analysis -> writers
 */
#include "analysis.h"
#include "arrays.h"
#include "backend.h"
#include "limit.h"
#include "list.h"
#include "npy.h"
#include "options.h"
#include "output_file.h"
#include "plan_build.h"
#include "progress.h"
#include "report.h"
#include "terminal.h"
#include "tile_fold.h"
#include "verify.h"
#include "version.h"
#include "writer.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- one run --- */

/* What a run holds while it lasts. */
struct job {
    const struct options *options;
    struct settings settings; /* as used */
    const struct backend_ops *ops;
    struct backend *backend;
    struct machine machine;
    struct plan plan;
    struct arrays arrays;
    struct workload workload;
    struct tile_fold fold;
    struct progress progress;
    char device[TIMELINE_TEXT];
};

static void note(const struct options *options, const char *text)
{
    if (!options->quiet)
        fprintf(stderr, "pipeline: note: %s\n", text);
}

/* A callback op: folds its tile's result and moves the progress bar. */
static void on_tile(void *context, int32_t tile)
{
    struct job *job = context;
    tile_fold_add(&job->fold, tile);
    progress_tile(&job->progress, job->fold.tiles, job->plan.tiles);
}

/* An input file says how many elements there are. */
static enum status count_elements(struct job *job, struct error *error)
{
    struct settings *settings = &job->settings;
    if (settings->input == NULL)
        return STATUS_OK;
    struct array_file file;
    enum status status =
        array_file_probe(settings->input, settings->chain[0]->in, &file, error);
    if (status != STATUS_OK)
        return status;
    if (settings->elements_given && settings->elements != file.count)
        return error_set(error, STATUS_USAGE,
                         "--elements=%" PRIu64 ": %s holds %" PRIu64
                         " elements (leave --elements out)",
                         settings->elements, settings->input, file.count);
    settings->elements = file.count;
    return settings_check(settings, error);
}

static enum status open_device(struct job *job, struct error *error)
{
    const char *argument;
    enum status status = backend_select(job->settings.device, &job->ops, &argument, error);
    if (status != STATUS_OK)
        return status;
    bool real = job->ops->measures;
    if (real && job->settings.no_data)
        return error_set(error, STATUS_USAGE,
                         "--no-data: times without the bytes are for simulated machines only "
                         "(--device=sim:h200)");
    snprintf(job->device, sizeof job->device, "%s:%s", job->ops->name,
             argument[0] != '\0' ? argument
             : real              ? "0"
                                 : "h200");
    job->settings.device = job->device;
    status = job->ops->open(argument, &job->settings, &job->backend, error);
    if (status != STATUS_OK)
        return status;
    return job->ops->describe(job->backend, &job->settings, &job->machine, error);
}

static void note_clamped_priorities(const struct job *job)
{
    for (int i = 0; i < job->settings.priority_count; i++) {
        int priority = job->settings.priorities[i];
        if (priority <= job->machine.priority_least &&
            priority >= job->machine.priority_greatest)
            continue;
        char text[160];
        snprintf(text, sizeof text,
                 "--priorities: this device has %d (most urgent) to %d: clamped",
                 job->machine.priority_greatest, job->machine.priority_least);
        note(job->options, text);
        return;
    }
}

/* A plan in which ops race is a defect of ours, or a mistake the user has to ask for by name.
 */
static enum status refuse_hazards(const struct plan *plan, struct error *error)
{
    struct hazard hazard;
    size_t count;
    enum status status = plan_hazards(plan, &hazard, 1, &count, error);
    if (status != STATUS_OK || count == 0)
        return status;
    char first[OP_LABEL], second[OP_LABEL];
    return error_set(error, STATUS_FAILED,
                     "the plan has a hazard: op %" PRIu32 " (%s) and op %" PRIu32
                     " (%s) both touch %s and nothing orders them",
                     hazard.first, plan_op_label(plan, &plan->ops[hazard.first], first),
                     hazard.second, plan_op_label(plan, &plan->ops[hazard.second], second),
                     buffer_name(hazard.where.buffer));
}

/* From here on the share is what the plan made of it. */
static void resolve_cpu_share(struct job *job)
{
    if (job->settings.ways != 4)
        return;
    if (job->settings.cpu_share < 0 && job->plan.cpu_tiles == 0)
        note(job->options,
             "4-way: one tile would take the CPU longer than all take the GPU, so it "
             "gets none: more --tiles make smaller ones");
    job->settings.cpu_share = (double)job->plan.cpu_tiles / job->plan.tiles;
}

static enum status make_plan(struct job *job, struct error *error)
{
    enum status status = plan_build(&job->settings, &job->machine, &job->plan, error);
    if (status != STATUS_OK)
        return status;
    resolve_cpu_share(job);
    note_clamped_priorities(job);
    return refuse_hazards(&job->plan, error);
}

static enum status take_memory(struct job *job, struct error *error)
{
    job->workload = (struct workload){
        .plan = &job->plan,
        .settings = &job->settings,
        .on_tile = on_tile,
        .context = job,
    };
    enum status status = STATUS_OK;
    if (!job->settings.no_data) {
        status = arrays_create(&job->arrays, &job->plan, &job->settings, error);
        job->workload.arrays = &job->arrays;
    }
    if (status == STATUS_OK)
        status = job->ops->prepare(job->backend, &job->workload, error);
    return status;
}

/* Runs once, on a poisoned output, and checks every element of what came out. */
static enum status run_once(struct job *job, struct timeline *timeline, struct run_times *times,
                            struct error *error)
{
    bool data = !job->settings.no_data;
    if (data)
        arrays_poison(&job->arrays, plan_last_kernel(&job->plan)->out);
    job->fold = tile_fold_begin(&job->plan, job->arrays.host[BUFFER_HOST_OUT]);
    enum status status = job->ops->run(job->backend, timeline, times, error);
    if (status == STATUS_OK && data)
        status = verify_output(&job->plan, job->arrays.host, error);
    return status;
}

/* The measured repeats, bare, and then one run more that is traced. A simulated machine's times
 * do not vary: its one run is both. */
static enum status run_all(struct job *job, struct run_report *report, struct error *error)
{
    uint32_t repeats = job->ops->measures ? job->settings.runs : 1;
    uint32_t warmup = job->ops->measures ? job->settings.warmup : 0;
    int64_t *spans = calloc(2 * (size_t)repeats, sizeof *spans);
    if (spans == NULL)
        return error_set(error, STATUS_FAILED, "no memory for %" PRIu32 " repeats", repeats);
    int64_t *issues = spans + repeats;
    struct run_times times = {0};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < warmup + repeats && status == STATUS_OK; i++) {
        progress_run(&job->progress, i, warmup + repeats + job->ops->measures);
        bool traced = !job->ops->measures;
        status = run_once(job, traced ? &report->timeline : NULL, &times, error);
        spans[i < warmup ? 0 : i - warmup] = times.span_ns;
        issues[i < warmup ? 0 : i - warmup] = times.issue_ns;
    }
    if (status == STATUS_OK && job->ops->measures)
        status = run_once(job, &report->timeline, &times, error);
    progress_end(&job->progress);
    if (status == STATUS_OK) {
        report->repeats = repeats;
        report->median_ns = median_ns(spans, repeats);
        report->min_ns = spans[0];
        report->max_ns = spans[repeats - 1];
        report->issue_ns = median_ns(issues, repeats);
        report->verified = job->settings.no_data ? VERIFIED_NOT_ASKED : VERIFIED_YES;
    }
    free(spans);
    return status;
}

static void fold_result(struct job *job, struct run_report *report)
{
    report->has_result =
        !job->settings.no_data && plan_last_kernel(&job->plan)->shape == KERNEL_REDUCE;
    /* Callbacks have folded the GPU's tiles already; what is left is folded here. */
    uint32_t folded = job->settings.callbacks ? job->plan.tiles - job->plan.cpu_tiles : 0;
    for (uint32_t tile = folded; report->has_result && tile < job->plan.tiles; tile++)
        tile_fold_add(&job->fold, (int32_t)tile);
    report->result = report->has_result ? tile_fold_value(&job->fold) : 0;
}

static enum status write_output(struct job *job, struct output_file *file, struct error *error)
{
    if (file->stream == NULL)
        return STATUS_OK;
    const struct kernel *last = plan_last_kernel(&job->plan);
    uint64_t count = last->shape == KERNEL_REDUCE ? job->plan.tiles : job->plan.elements;
    enum status status =
        array_file_write(file->stream, file->path, array_path_is_npy(file->path), last->out,
                         count, job->arrays.host[BUFFER_HOST_OUT], error);
    return status == STATUS_OK ? output_file_commit(file, error) : status;
}

static void describe_plan(const struct job *job, struct run_report *report)
{
    report->streams = job->plan.streams;
    report->slots = job->plan.slots;
    report->cpu_tiles = job->plan.cpu_tiles;
    report->host_bytes = plan_host_bytes(&job->plan);
    report->device_bytes = plan_device_bytes(&job->plan);
    report->elements = job->plan.elements;
    report->limit = limit_of(&job->machine, &job->plan);
}

static void job_end(struct job *job)
{
    if (job->backend != NULL) {
        job->ops->release(job->backend);
        job->ops->close(job->backend);
    }
    arrays_free(&job->arrays);
    plan_free(&job->plan);
}

/* The straight line, for one run. */
static enum status run_job(struct job *job, struct output_file *output,
                           struct run_report *report, struct error *error)
{
    enum status status = count_elements(job, error);
    if (status == STATUS_OK)
        status = open_device(job, error);
    if (status == STATUS_OK)
        status = make_plan(job, error);
    if (status == STATUS_OK && job->options->dry_run) {
        write_plan(stdout, &job->plan, &job->settings);
        return STATUS_OK;
    }
    if (status == STATUS_OK)
        status = take_memory(job, error);
    if (status == STATUS_OK)
        status = run_all(job, report, error);
    if (status == STATUS_OK)
        status = analyse(&report->timeline, &report->analysis, error);
    if (status != STATUS_OK)
        return status;
    fold_result(job, report);
    describe_plan(job, report);
    return write_output(job, output, error);
}

/* --- a comparison of runs
 * ---------------------------------------------------------------------- */

/* Every file that will be written; opened before anything runs. */
struct outputs {
    struct output_file *arrays; /* one per run; not opened where a run keeps no output */
    struct output_file timelines[TIMELINE_FILES_MAX];
    const struct timeline_writer *writers[TIMELINE_FILES_MAX];
};

static enum status open_outputs(const struct options *options, struct outputs *outputs,
                                struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < options->timeline_count && status == STATUS_OK; i++)
        status = timeline_writer_find(options->timelines[i], &outputs->writers[i], error);
    if (options->dry_run)
        return status;
    for (int i = 0; i < options->timeline_count && status == STATUS_OK; i++)
        status = output_file_open(&outputs->timelines[i], options->timelines[i], error);
    for (int i = 0; i < options->run_count && status == STATUS_OK; i++) {
        if (options->runs[i].output != NULL)
            status = output_file_open(&outputs->arrays[i], options->runs[i].output, error);
    }
    return status;
}

static void discard_outputs(const struct options *options, struct outputs *outputs)
{
    for (int i = 0; i < TIMELINE_FILES_MAX; i++)
        output_file_discard(&outputs->timelines[i]);
    for (int i = 0; i < options->run_count; i++)
        output_file_discard(&outputs->arrays[i]);
}

static void write_report(const struct options *options, const struct report *report)
{
    struct writer_style style = terminal_style(options);
    if (options->format == FORMAT_JSON) {
        write_json(stdout, report);
    } else if (options->format == FORMAT_CSV) {
        write_csv_report(stdout, report);
    } else {
        write_text(stdout, report, &style);
        if (options->gantt != GANTT_NONE)
            write_gantt(stdout, report, &style);
    }
}

static enum status write_timelines(const struct options *options, struct outputs *outputs,
                                   const struct report *report, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < options->timeline_count && status == STATUS_OK; i++) {
        outputs->writers[i]->write(outputs->timelines[i].stream, report);
        status = output_file_commit(&outputs->timelines[i], error);
    }
    return status;
}

static enum status run_each(const struct options *options, struct outputs *outputs,
                            struct job *jobs, struct report *report, struct error *error)
{
    for (int i = 0; i < options->run_count; i++) {
        struct run_report *run = &report->runs[i];
        struct error why = {0};
        jobs[i].options = options;
        jobs[i].settings = options->runs[i];
        progress_begin(&jobs[i].progress, options->runs[i].name, options->quiet);
        run->settings = &jobs[i].settings;
        timeline_init(&run->timeline);
        enum status status = run_job(&jobs[i], &outputs->arrays[i], run, &why);
        job_end(&jobs[i]);
        if (status != STATUS_OK && options->run_count > 1)
            return error_set(error, status, "run %s: %s", options->runs[i].name, why.text);
        if (status != STATUS_OK)
            return error_set(error, status, "%s", why.text);
        if (!options->dry_run)
            run->speedup = (double)report->runs[0].median_ns / (double)run->median_ns;
    }
    return STATUS_OK;
}

/* Nothing may be lost on the way to standard output either. */
static enum status check_stdout(struct error *error)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return STATUS_OK;
    return error_set(error, STATUS_FAILED, "standard output can't be written: %s",
                     strerror(errno));
}

/* Says once, not per run, that `auto` found no CUDA device. */
static void note_simulated(const struct options *options)
{
    for (int i = 0; i < options->run_count; i++) {
        const struct backend_ops *ops;
        const char *argument;
        if (strcmp(options->runs[i].device, "auto") != 0)
            continue;
        if (backend_select("auto", &ops, &argument, NULL) == STATUS_OK && !ops->measures)
            note(options, "no CUDA device: simulating an NVIDIA H200 (--device=sim:h200)");
        return;
    }
}

static enum status run_comparison(const struct options *options, struct error *error)
{
    size_t count = (size_t)options->run_count;
    struct outputs outputs = {.arrays = calloc(count, sizeof *outputs.arrays)};
    struct job *jobs = calloc(count, sizeof *jobs);
    struct report report = {PIPELINE_VERSION, calloc(count, sizeof *report.runs), (int)count};
    enum status status = STATUS_OK;
    if (outputs.arrays == NULL || jobs == NULL || report.runs == NULL) {
        status = error_set(error, STATUS_FAILED, "no memory for %zu runs", count);
        goto free_all;
    }
    backends_configure(&options->runs[0]);
    status = open_outputs(options, &outputs, error);
    if (status == STATUS_OK)
        note_simulated(options);
    if (status == STATUS_OK)
        status = run_each(options, &outputs, jobs, &report, error);
    if (status == STATUS_OK && !options->dry_run) {
        status = write_timelines(options, &outputs, &report, error);
        if (status == STATUS_OK)
            write_report(options, &report);
    }
    discard_outputs(options, &outputs);
    for (size_t i = 0; i < count; i++)
        timeline_free(&report.runs[i].timeline);
free_all:
    free(report.runs);
    free(jobs);
    free(outputs.arrays);
    return status;
}

/* --- the program
 * ------------------------------------------------------------------------------- */

/* Ctrl-C: no half-written file stays behind, and the shell sees what ended us. */
static void on_signal(int number)
{
    output_files_unlink();
    signal(number, SIG_DFL);
    raise(number);
}

static void handle_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static enum status execute(const struct options *options, struct error *error)
{
    switch (options->command) {
    case COMMAND_HELP:
        options_print_help(stdout);
        break;
    case COMMAND_VERSION:
        printf("pipeline %s\n", PIPELINE_VERSION);
        break;
    case COMMAND_LIST:
        return list_print(stdout, options->list_what, error);
    case COMMAND_RUN:
        return run_comparison(options, error);
    case COMMAND_CALIBRATE:
    case COMMAND_BENCH:
    case COMMAND_COMPARE:
    case COMMAND_VIEW:
        return error_set(error, STATUS_USAGE, "this command is not yet in this version");
    }
    return STATUS_OK;
}

int main(int argc, char *argv[])
{
    struct error error = {0};
    struct options options;
    handle_signals();
    enum status status = options_parse(argc, argv, &options, &error);
    if (status == STATUS_OK) {
        status = execute(&options, &error);
        if (status == STATUS_OK)
            status = check_stdout(&error);
        options_free(&options);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "pipeline: %s\n", error.text);
    return status_exit_code(status);
}
