/* job.c - the straight line for one run: plan -> backend -> timeline -> analysis. */
#include "app/job.h"

#include "analysis/analysis.h"
#include "analysis/limit.h"
#include "core/units.h"
#include "plan/build.h"
#include "report/compare_run.h"
#include "report/hazard_report.h"
#include "report/model.h"
#include "report/reference.h"
#include "report/tune.h"
#include "run/npy.h"
#include "run/verify.h"
#include "term/marks.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A callback op: folds its tile's result and moves the progress bar. */
static void on_tile(void *context, int32_t tile)
{
    struct job *job = context;
    tile_fold_add(&job->fold, tile);
    progress_tile(job->fold.tiles, job->plan.tiles);
}

enum status job_count_elements(struct job *job, struct error *error)
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

/* Whether anything is simulated beside the device. */
static bool needs_reference(const struct job *job)
{
    return job->options->command == COMMAND_COMPARE || job->options->model != MODEL_NONE ||
           job->settings.tiles == 0 || job->settings.streams == 0;
}

/* The machine that stands for the device. Not to be found, nothing has run. */
static enum status find_reference(struct job *job, struct error *error)
{
    if (!needs_reference(job))
        return STATUS_OK;
    bool real = job->ops->measures, opened_with = real || job->settings.connections > 0;
    return reference_machine(job->options->machine, &job->machine, !real,
                             opened_with ? job->machine.queues : 0, &job->reference, error);
}

/* "tiles=24 streams=3, chosen of 32 in 5.1 ms by simulating h200" */
static void note_tuned(const struct job *job, const struct settings *asked,
                       const struct tuned *tuned)
{
    char tiles[32] = "", streams[32] = "", took[UNITS_TEXT], text[256];
    if (asked->tiles == 0)
        snprintf(tiles, sizeof tiles, "tiles=%" PRIu32, tuned->tiles);
    if (asked->streams == 0)
        snprintf(streams, sizeof streams, "%sstreams=%" PRIu32, asked->tiles == 0 ? " " : "",
                 tuned->streams);
    snprintf(text, sizeof text, "%s%s, chosen of %" PRIu32 " in %s by simulating %s", tiles,
             streams, tuned->candidates, units_time(tuned->took_ns, took), job->reference.name);
    note_print(job->options->quiet, text);
}

/* From here on tiles and streams are numbers. */
static enum status resolve_auto(struct job *job, struct error *error)
{
    if (job->settings.tiles > 0 && job->settings.streams > 0)
        return STATUS_OK;
    struct settings asked = job->settings;
    struct machine machine = job->reference;
    struct tuned tuned;
    if (job->machine.memory_bytes < machine.memory_bytes) /* what is there has to do */
        machine.memory_bytes = job->machine.memory_bytes;
    enum status status = tune_settings(&job->settings, &machine, &tuned, error);
    if (status == STATUS_OK)
        note_tuned(job, &asked, &tuned);
    return status;
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
        note_print(job->options->quiet, text);
        return;
    }
}

/* A dry run has no report to show them in. */
static void note_hazards(const struct job *job, const struct run_report *report)
{
    char text[HAZARD_TEXT], note[HAZARD_TEXT + 64];
    if (!job->options->dry_run || report->hazard_count == 0)
        return;
    snprintf(note, sizeof note, "the plan has %zu hazard%s: %s%s", report->hazard_count,
             report->hazard_count > 1 ? "s" : "",
             hazard_text(&job->plan, &report->hazards[0], text),
             report->hazard_count > 1 ? ", and so on" : "");
    note_print(job->options->quiet, note);
}

/* A plan in which ops race is a defect of ours, or a mistake the user has to ask for by name.
 */
static enum status judge_hazards(const struct job *job, struct run_report *report,
                                 struct error *error)
{
    if (!mistake_rows[job->settings.mistake].races)
        return hazards_refuse(&job->plan, error);
    enum status status =
        hazards_find(&job->plan, &report->hazards, &report->hazard_count, error);
    if (status == STATUS_OK)
        note_hazards(job, report);
    return status;
}

/* From here on the share is what the plan made of it. */
static void resolve_cpu_share(struct job *job)
{
    if (job->settings.ways != 4)
        return;
    if (job->settings.cpu_share < 0 && job->plan.cpu_tiles == 0)
        note_print(job->options->quiet,
                   "4-way: one tile would take the CPU longer than all take the GPU, so it "
                   "gets none: more --tiles make smaller ones");
    job->settings.cpu_share = (double)job->plan.cpu_tiles / job->plan.tiles;
}

static enum status make_plan(struct job *job, struct run_report *report, struct error *error)
{
    enum status status = plan_build(&job->settings, &job->machine, &job->plan, error);
    if (status != STATUS_OK)
        return status;
    resolve_cpu_share(job);
    job->settings.memory = job->plan.memory;
    note_clamped_priorities(job);
    return judge_hazards(job, report, error);
}

static enum status take_memory(struct job *job, bool races, struct error *error)
{
    job->workload = (struct workload){
        .plan = &job->plan,
        .settings = &job->settings,
        .races = races,
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

static enum status verify(struct job *job, struct error *error)
{
    marks_begin("verify");
    bool on_purpose = mistake_rows[job->settings.mistake].races;
    enum status status = on_purpose
                             ? verify_compare(&job->plan, job->arrays.host, &job->wrong, error)
                             : verify_output(&job->plan, job->arrays.host, error);
    marks_end();
    return status;
}

/* Runs once, on a poisoned output, and checks every element of what came out. */
static enum status run_once(struct job *job, struct timeline *timeline, struct run_times *times,
                            struct error *error)
{
    bool data = !job->settings.no_data;
    if (data)
        arrays_poison(&job->arrays);
    job->fold = tile_fold_begin(&job->plan, job->arrays.host[BUFFER_HOST_OUT]);
    progress_timed(job->ops->measures);
    enum status status = job->ops->run(job->backend, timeline, times, error);
    progress_timed(false);
    if (status == STATUS_OK && data)
        status = verify(job, error);
    return status;
}

/* Warms up and makes the bare repeats, and keeps how long those took. */
static enum status run_repeats(struct job *job, uint32_t warmup, uint32_t repeats,
                               int64_t *spans, int64_t *issues, struct error *error)
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
        spans[i - warmup] = times.time_ns;
        issues[i - warmup] = times.issue_ns;
    }
    return status;
}

/* The last run: the one that is traced, or left to a profiler, or simulated. */
static enum status run_last(struct job *job, struct timeline *timeline, struct run_times *times,
                            struct error *error)
{
    bool real = job->ops->measures;
    marks_begin(!real                   ? "simulated run"
                : job->settings.profile ? "repeat 1 of 1"
                                        : "traced run");
    enum status status = run_once(job, timeline, times, error);
    marks_end();
    return status;
}

/* The measured repeats, bare, and then one run more that is traced. A simulated machine's times
 * do not vary, a profiler wants one run, and code is loaded only once: that one run is both
 * then. */
static enum status run_all(struct job *job, struct run_report *report, struct error *error)
{
    const struct settings *settings = &job->settings;
    bool real = job->ops->measures;
    bool apart = real && !settings->profile && !job->plan.loads_lazily;
    uint32_t repeats = apart ? settings->runs : 1, warmup = real ? settings->warmup : 0;
    int64_t *spans = calloc(2 * (size_t)repeats, sizeof *spans);
    if (spans == NULL)
        return error_set(error, STATUS_FAILED, "no memory for %" PRIu32 " repeats", repeats);
    int64_t *issues = spans + repeats;
    struct run_times times = {0};
    uint32_t bare = apart ? repeats : 0;
    enum status status = run_repeats(job, warmup, bare, spans, issues, error);
    progress_repeat(warmup + bare, warmup + bare + 1);
    if (status == STATUS_OK)
        status = run_last(job, &report->timeline, &times, error);
    if (status == STATUS_OK) {
        if (!apart) {
            spans[0] = times.time_ns;
            issues[0] = times.issue_ns;
        }
        report->repeats = repeats;
        report->median_ns = median_ns(spans, repeats);
        report->min_ns = spans[0];
        report->max_ns = spans[repeats - 1];
        report->noise = compare_noise(spans, repeats);
        report->issue_ns = median_ns(issues, repeats);
        report->verified = settings->no_data                ? VERIFIED_NOT_ASKED
                           : job->wrong.status != STATUS_OK ? VERIFIED_NO
                                                            : VERIFIED_YES;
        report->profiled = real && settings->profile;
    }
    free(spans);
    return status;
}

static void fold_result(struct job *job, struct run_report *report)
{
    report->has_result =
        !job->settings.no_data && plan_last_kernel(&job->plan)->shape == KERNEL_REDUCE;
    uint32_t folded = 0; /* by callbacks, which have the first tiles; the rest is left */
    for (uint32_t i = 0; report->has_result && i < job->plan.op_count; i++)
        folded += job->plan.ops[i].kind == OP_CALLBACK;
    for (uint32_t tile = folded; report->has_result && tile < job->plan.tiles; tile++)
        tile_fold_add(&job->fold, (int32_t)tile);
    report->result = report->has_result ? tile_fold_value(&job->fold) : 0;
    if (isnan(report->result)) /* a NaN's sign says nothing */
        report->result = (double)NAN;
}

static enum status write_output(struct job *job, struct output_file *file, struct error *error)
{
    if (file->stream == NULL || job->wrong.status != STATUS_OK)
        return STATUS_OK;
    const struct kernel *last = plan_last_kernel(&job->plan);
    uint64_t count = last->shape == KERNEL_REDUCE ? job->plan.tiles : job->plan.elements;
    marks_begin("write");
    enum status status =
        array_file_write(file->stream, file->path, array_path_is_npy(file->path), last->out,
                         count, job->arrays.host[BUFFER_HOST_OUT], error);
    if (status == STATUS_OK)
        status = output_file_commit(file, error);
    marks_end();
    return status;
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

void job_end(struct job *job)
{
    if (job->backend != NULL) {
        job->ops->release(job->backend);
        job->ops->close(job->backend);
    }
    arrays_free(&job->arrays);
    plan_free(&job->plan);
}

/* The stages before the run, each a range of its own. */
static enum status make_ready(struct job *job, struct run_report *report, struct error *error)
{
    marks_begin("open and describe the device");
    enum status status = open_device(job, error);
    marks_end();
    if (status == STATUS_OK)
        status = find_reference(job, error);
    if (status != STATUS_OK)
        return status;
    marks_begin("plan");
    status = resolve_auto(job, error);
    if (status == STATUS_OK)
        status = make_plan(job, report, error);
    marks_end();
    if (status != STATUS_OK || job->options->dry_run)
        return status;
    marks_begin("prepare");
    status = take_memory(job, report->hazard_count > 0, error);
    marks_end();
    return status;
}

/* What is to be said of the timeline, where there is one. */
static enum status explain(struct job *job, struct run_report *report, struct error *error)
{
    fold_result(job, report);
    describe_plan(job, report);
    if (hazards_tell(&job->plan, report, error) != STATUS_OK)
        return STATUS_FAILED;
    if (report->profiled)
        return STATUS_OK;
    marks_begin("analyse");
    enum status status = analyse(&report->timeline, &report->analysis, error);
    if (status == STATUS_OK)
        status = critical_find(&report->timeline, &job->machine, &report->critical, error);
    if (status == STATUS_OK)
        status = report_judge(report, &job->plan, &job->machine, error);
    if (status == STATUS_OK)
        status = latency_find(&report->timeline, job->plan.priorities, &report->latency, error);
    marks_end();
    return status;
}

/* The simulator's prediction, and the formula's that was asked for beside it. */
static enum status predict(const struct job *job, struct run_report *report,
                           struct error *error)
{
    const enum model models[] = {MODEL_SIM, job->options->model};
    const int count = job->options->model == MODEL_SIM ? 1 : 2;
    enum status status = STATUS_OK;
    if (job->options->model == MODEL_NONE)
        return status;
    marks_begin("predict");
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = model_span_ns(models[i], &job->reference, &job->plan, &job->settings,
                               &report->predicted_ns[models[i]], error);
    marks_end();
    return status;
}

static enum status compare(const struct job *job, struct run_report *report,
                           struct error *error)
{
    if (job->options->command != COMMAND_COMPARE)
        return STATUS_OK;
    marks_begin("compare");
    enum status status = compare_run(&job->plan, &job->reference, report, error);
    marks_end();
    return status;
}

static enum status run_stages(struct job *job, struct output_file *output,
                              struct run_report *report, struct error *error)
{
    enum status status = make_ready(job, report, error);
    if (status == STATUS_OK && job->options->dry_run) {
        write_plan(stdout, &job->plan, &job->settings);
        return STATUS_OK;
    }
    if (status == STATUS_OK)
        status = run_all(job, report, error);
    if (status == STATUS_OK)
        status = explain(job, report, error);
    if (status == STATUS_OK)
        status = predict(job, report, error);
    if (status == STATUS_OK)
        status = compare(job, report, error);
    if (status != STATUS_OK)
        return status;
    return write_output(job, output, error);
}

enum status job_run(struct job *job, struct output_file *output, struct run_report *report,
                    struct error *error)
{
    char name[RUN_NAME_MAX + 8];
    bool named = strcmp(job->settings.name, "run") != 0; /* what a run without a section has */
    snprintf(name, sizeof name, named ? "run %s" : "%s", job->settings.name);
    marks_name_thread("pipeline");
    marks_begin(name);
    enum status status = run_stages(job, output, report, error);
    marks_end();
    return status;
}
