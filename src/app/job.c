/* job.c - the stages of one run, in their order. */
#include "app/job.h"

#include "analysis/analysis.h"
#include "analysis/limit.h"
#include "app/backends.h"
#include "mpi/ranks.h"
#include "plan/build.h"
#include "plan/device.h"
#include "plan/mistake.h"
#include "report/compare.h"
#include "report/reference.h"
#include "report/report.h"
#include "run/arrays.h"
#include "sim/simulator.h"
#include "term/marks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Called by a callback op: folds the result of its tile and moves the progress bar. */
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

/* --- the device --- */

/* From here on the settings say which devices the run has. How many "cuda:all" means is known
 * only now, and so is whether the other settings go with them. */
static enum status name_devices(struct job *job, const char *argument, struct error *error)
{
    const bool all = device_is_all(job->settings.device);
    backend_name_devices(job->ops, argument, job->device, sizeof job->device);
    job->settings.device = job->device;
    job->settings.devices = device_count(job->device);
    return all ? settings_check(&job->settings, error) : STATUS_OK;
}

static enum status open_device(struct job *job, struct error *error)
{
    const char *argument;
    enum status status =
        backend_select(backends, job->settings.device, &job->ops, &argument, error);
    if (status != STATUS_OK)
        return status;
    bool real = job->ops->measures;
    if (real && job->settings.no_data)
        return error_set(error, STATUS_USAGE,
                         "--no-data: times without the bytes are for simulated machines only "
                         "(--device=sim:h200)");
    job->ops = ranks_backend(job->ops);
    status = name_devices(job, argument, error);
    if (status == STATUS_OK)
        status =
            job->ops->open(device_argument(job->device), &job->settings, &job->backend, error);
    if (status != STATUS_OK)
        return status;
    return job->ops->describe(job->backend, &job->settings, &job->machine, error);
}

/* Finds the machine that stands for the device, where anything is simulated beside it. That
 * there is none is found out before anything runs. */
static enum status find_reference(struct job *job, struct error *error)
{
    bool needed = job->options->command == COMMAND_COMPARE ||
                  job->options->model != MODEL_NONE || settings_are_open(&job->settings);
    struct error why = {0};
    bool real = job->ops->measures, opened_with = real || job->settings.connections > 0;
    enum status status =
        reference_machine(job->options->machine, &job->machine, !real,
                          opened_with ? job->machine.queues : 0, &job->reference, &why);
    if (status != STATUS_OK) /* without one, runs are judged and no fix is tried */
        return needed || status == STATUS_NO_MEMORY ? error_pass(error, &why) : STATUS_OK;
    job_set_model(job);
    return STATUS_OK;
}

void job_set_model(struct job *job)
{
    job->model = job->reference;
    if (job->ops->measures)
        reference_adapt(&job->model, &job->machine);
    job->model_known = true;
}

enum status job_open(struct job *job, struct error *error)
{
    marks_begin("open and describe the device");
    enum status status = open_device(job, error);
    marks_end();
    return status == STATUS_OK ? find_reference(job, error) : status;
}

/* --- the plan --- */

static void note_clamped_priorities(const struct job *job)
{
    for (int i = 0; i < job->settings.priority_count; i++) {
        int priority = job->settings.priorities[i];
        if (priority <= job->machine.priority_least &&
            priority >= job->machine.priority_greatest)
            continue;
        note_print(job->options->quiet,
                   "--priorities: this device has %d (most urgent) to %d: clamped",
                   job->machine.priority_greatest, job->machine.priority_least);
        return;
    }
}

/* Refuses a plan in which ops race, which is a bug in plan_build(), unless the user asked for
 * that mistake by name. A dry run as text has no place for the hazards, so they are noted. */
static enum status judge_hazards(const struct job *job, struct run_report *report,
                                 struct error *error)
{
    const struct options *options = job->options;
    char text[HAZARD_TEXT];
    if (!mistake_rows[job->settings.mistake].races)
        return hazards_refuse(&job->plan, error);
    enum status status =
        hazards_find(&job->plan, &report->hazards, &report->hazard_count, error);
    const size_t count = report->hazard_count;
    if (status == STATUS_OK && count > 0 && options->dry_run && options->format == FORMAT_TEXT)
        note_print(options->quiet, "the plan has %zu hazard%s: %s, and nothing orders them%s",
                   count, count > 1 ? "s" : "", hazard_text(&job->plan, report->hazards, text),
                   count > 1 ? " (--format=json lists all)" : "");
    return status;
}

/* Sets the CPU's share to the one that the plan could give it, in whole tiles. */
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

static enum status build_plan(struct job *job, struct run_report *report, struct error *error)
{
    enum status status = plan_build(&job->settings, &job->machine, &job->plan, error);
    if (status != STATUS_OK)
        return status;
    job->asked = job->settings;
    resolve_cpu_share(job);
    job->settings.memory = job->plan.memory;
    if (job->plan.by_link)
        job->settings.exchange = job->plan.by_host ? EXCHANGE_HOST : EXCHANGE_PEER;
    if (job->plan.has_halo && job->plan.has_peers)
        job->settings.exchange = EXCHANGE_PEER;
    if (job->plan.issue == ISSUE_BATCH || job->plan.packs)
        job->settings.batch = job->plan.batch;
    if (job->ops->measures) /* the model's auto could be another than the device's */
        job->asked.cpu_share = job->settings.cpu_share;
    note_clamped_priorities(job);
    status = job->ops->check(job->backend, &job->plan, error);
    return status == STATUS_OK ? judge_hazards(job, report, error) : status;
}

enum status job_plan(struct job *job, struct run_report *report, struct error *error)
{
    marks_begin("plan");
    job->typed = job->settings;
    enum status status = choice_make(job, error);
    if (status == STATUS_OK)
        status = build_plan(job, report, error);
    marks_end();
    return status;
}

/* --- the backend runs it --- */

/* Tries what may be the fastest on the device, and what would be usual. */
static enum status weigh_choice(struct job *job, struct run_report *report, struct error *error)
{
    bool changed;
    enum status status = choice_try(job, &changed, error);
    if (status == STATUS_OK && changed) {
        plan_free(&job->plan);
        status = build_plan(job, report, error);
    }
    return status == STATUS_OK ? choice_weigh(job, report, error) : status;
}

enum status job_prepare(struct job *job, struct run_report *report, struct error *error)
{
    job->workload = (struct workload){
        .plan = &job->plan,
        .settings = &job->settings,
        .races = report->hazard_count > 0,
        .on_tile = on_tile,
        .context = job,
    };
    enum status status = STATUS_OK;
    marks_begin("prepare");
    status = untiled_run(job, error);
    if (status == STATUS_OK)
        status = weigh_choice(job, report, error);
    if (status == STATUS_OK && !job->settings.no_data) {
        status =
            ranks_agree(arrays_create(&job->arrays, &job->plan, &job->settings, error), error);
        job->arrays.untiled = job->untiled.host[BUFFER_HOST_OUT];
        job->workload.arrays = &job->arrays;
    }
    if (status == STATUS_OK)
        status = job->ops->prepare(job->backend, &job->workload, error);
    marks_end();
    return status;
}

/* --- analysis --- */

static void fold_result(struct job *job, struct run_report *report)
{
    report->has_result =
        !job->settings.no_data && plan_last_kernel(&job->plan)->shape == KERNEL_REDUCE;
    /* The callbacks have folded the first tiles, or none. */
    for (uint32_t tile = job->fold.tiles; report->has_result && tile < job->plan.tiles; tile++)
        tile_fold_add(&job->fold, (int32_t)tile);
    report->result = report->has_result ? tile_fold_value(&job->fold) : 0;
    if (isnan(report->result)) /* a NaN's sign says nothing */
        report->result = (double)NAN;
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
    if (job->ops->measures)
        limit_correct(&report->limit, report->min_ns);
}

/* Sets how sure a simulated time of the job's plan is; where that can't be told, it stays 0. */
static enum status find_interval(const struct job *job, const struct machine *machine,
                                 uint32_t queues, int64_t time_ns, struct time_range *range,
                                 struct error *error)
{
    struct outlook outlook;
    struct error why = {0};
    const enum status status =
        interval_look_plan(machine, queues, &job->plan, time_ns, &outlook, &why);
    if (status == STATUS_OK)
        *range = interval_of(&outlook);
    return status == STATUS_NO_MEMORY ? error_pass(error, &why) : STATUS_OK;
}

enum status job_analyse(struct job *job, struct run_report *report, struct error *error)
{
    fold_result(job, report);
    describe_plan(job, report);
    enum status status = hazards_tell(&job->plan, report, error);
    /* A sweep's tables have no room for intervals. */
    const bool shown =
        job->options->sweep.axis_count == 0 || job->options->format != FORMAT_TEXT;
    if (status == STATUS_OK && shown && !job->ops->measures)
        status = find_interval(job, &job->machine, job->machine.queues, report->median_ns,
                               &report->sure, error);
    if (status != STATUS_OK || report->profiled)
        return status;
    marks_begin("analyse");
    status = analyse(&report->timeline, &report->analysis, error);
    if (status == STATUS_OK)
        status = critical_find(&report->timeline, &job->machine, &report->critical, error);
    if (status == STATUS_OK && ranks_count() > 1 && job->ops->measures)
        snprintf(
            report->no_verdict, sizeof report->no_verdict,
            "each rank issued ops by itself, and causes are found where one process issues "
            "all: the same settings on --device=sim:NAME have them");
    else if (status == STATUS_OK)
        status = report_judge(report, &job->plan, &job->machine, &job->asked, &job->typed,
                              job->model_known ? &job->model : NULL, error);
    if (status == STATUS_OK && job->model_known && job->options->sweep.axis_count == 0)
        status = order_weigh(report, &job->plan, &job->asked, &job->model, error);
    if (status == STATUS_OK)
        status = latency_find(&report->timeline, job->plan.priorities,
                              settings_batch(&job->settings), &report->latency, error);
    marks_end();
    return status;
}

enum status job_compare(struct job *job, struct run_report *report, struct error *error)
{
    enum status status = STATUS_OK;
    if (job->options->model != MODEL_NONE) {
        marks_begin("predict");
        status = simulator_time(&job->reference, 0, &job->plan, &report->predicted_ns, error);
        if (status == STATUS_OK)
            status = find_interval(job, &job->reference, 0, report->predicted_ns,
                                   &report->predicted, error);
        marks_end();
    }
    if (status != STATUS_OK || job->options->command != COMMAND_COMPARE)
        return status;
    marks_begin("compare");
    status = compare_run(&job->plan, &job->reference, job->file, report, error);
    marks_end();
    return status;
}

/* --- the end --- */

enum status job_write_output(struct job *job, const struct run_report *report,
                             struct output_file *file, struct error *error)
{
    if (file->stream == NULL || report->verified != VERIFIED_YES)
        return STATUS_OK;
    marks_begin("write");
    enum status status = arrays_write_output(&job->arrays, &job->plan, file->stream, file->path,
                                             array_path_is_npy(job->settings.output), error);
    if (status == STATUS_OK)
        status = output_file_commit(file, error);
    marks_end();
    return status;
}

void job_end(struct job *job)
{
    if (job->backend != NULL) {
        job->ops->release(job->backend);
        job->ops->close(job->backend);
    }
    arrays_free(&job->arrays);
    arrays_free(&job->untiled);
    plan_free(&job->plan);
    free(job->tuned);
}
