/* pipeline.c - the library's straight line: settings, plan, simulator, analysis, verdicts. */
#include "lib/pipeline.h"

#include "analysis/analysis.h"
#include "analysis/critical.h"
#include "analysis/limit.h"
#include "causes/verdict.h"
#include "core/c_locale.h"
#include "core/version.h"
#include "machine/machine.h"
#include "options/table.h"
#include "plan/build.h"
#include "plan/hazard.h"
#include "plan/mistake.h"
#include "plan/together.h"
#include "sim/simulator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char default_machine[] = "h200";

struct pipeline {
    struct settings settings; /* as given */
    struct settings settled;  /* with what follows from them, as the command has it */
    struct arena texts;       /* that the settings point to */
    struct machine machine;   /* as given */
    struct machine used;      /* with the hardware queues that the settings ask for */
    struct plan plan;
    struct timeline timeline;
    struct analysis analysis;
    struct critical critical;
    struct limit limit;
    struct verdicts verdicts;
};

/* Ends a call that began with c_locale_enter(). Returns true if `status` says that all went
 * well; else hands the reason on. */
static bool tell(locale_t theirs, enum status status, const struct error *why,
                 struct pipeline_error *error)
{
    uselocale(theirs);
    if (status != STATUS_OK && error != NULL)
        snprintf(error->text, sizeof error->text, "%s", why->text);
    return status == STATUS_OK;
}

static void drop_results(struct pipeline *pipeline)
{
    plan_free(&pipeline->plan);
    timeline_free(&pipeline->timeline);
    critical_free(&pipeline->critical);
    pipeline->critical = (struct critical){0};
    pipeline->analysis = (struct analysis){0};
    pipeline->limit = (struct limit){0};
    pipeline->verdicts = (struct verdicts){0};
}

struct pipeline *pipeline_new(void)
{
    const locale_t theirs = c_locale_enter();
    struct pipeline *pipeline = calloc(1, sizeof *pipeline);
    enum status status = STATUS_NO_MEMORY;
    if (pipeline != NULL) {
        status = options_set_defaults(SCOPE_RUN, &pipeline->settings, NULL);
        strcpy(pipeline->settings.name, "run");
        drop_results(pipeline);
    }
    if (status == STATUS_OK)
        status = machine_built_in(&pipeline->machine, default_machine, NULL);
    if (tell(theirs, status, NULL, NULL))
        return pipeline;
    pipeline_free(pipeline);
    return NULL;
}

void pipeline_free(struct pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    drop_results(pipeline);
    arena_free(&pipeline->texts);
    free(pipeline);
}

static enum status refuse_null(struct error *error)
{
    return error_set(error, STATUS_USAGE, "the run, or a text, is NULL");
}

static enum status set(struct pipeline *pipeline, const char *option, const char *value,
                       struct error *error)
{
    if (pipeline == NULL || option == NULL || value == NULL)
        return refuse_null(error);
    const struct option_row *row = option_find(option);
    if (row == NULL || row->scope != SCOPE_RUN || row->type == TYPE_FILE ||
        row->type == TYPE_DEVICE)
        return error_set(error, STATUS_USAGE, "\"%s\" is no option of a simulated run", option);
    const struct assignment given = {.row = row,
                                     .text = arena_text(&pipeline->texts, value),
                                     .origin = {.source = SOURCE_COMMAND_LINE}};
    if (given.text == NULL)
        return error_no_memory(error, "for an option");
    drop_results(pipeline);
    return options_set(&given, &pipeline->settings, error);
}

bool pipeline_set(struct pipeline *pipeline, const char *option, const char *value,
                  struct pipeline_error *error)
{
    const locale_t theirs = c_locale_enter();
    struct error why = {0};
    return tell(theirs, set(pipeline, option, value, &why), &why, error);
}

/* Takes the machine of that name, or the one that `*text` is where that is no NULL. */
static enum status set_machine(struct pipeline *pipeline, const char *name,
                               const char *const *text, struct error *error)
{
    struct machine machine;
    if (pipeline == NULL || name == NULL || (text != NULL && *text == NULL))
        return refuse_null(error);
    const enum status status = text != NULL ? machine_parse(&machine, *text, name, error)
                                            : machine_built_in(&machine, name, error);
    if (status != STATUS_OK)
        return status;
    drop_results(pipeline);
    pipeline->machine = machine;
    return STATUS_OK;
}

bool pipeline_set_machine(struct pipeline *pipeline, const char *name,
                          struct pipeline_error *error)
{
    const locale_t theirs = c_locale_enter();
    struct error why = {0};
    return tell(theirs, set_machine(pipeline, name, NULL, &why), &why, error);
}

bool pipeline_set_machine_text(struct pipeline *pipeline, const char *text, const char *name,
                               struct pipeline_error *error)
{
    const locale_t theirs = c_locale_enter();
    struct error why = {0};
    return tell(theirs, set_machine(pipeline, name, &text, &why), &why, error);
}

/* A plan whose ops race is a defect, or a mistake that was asked for by name. */
static enum status judge_hazards(const struct pipeline *pipeline, bool *races,
                                 struct error *error)
{
    struct hazard hazard;
    size_t count;
    enum status status = plan_hazards(&pipeline->plan, &hazard, 1, &count, error);
    *races = status == STATUS_OK && count > 0;
    if (!*races || mistake_rows[pipeline->settled.mistake].races)
        return status;
    return error_set(error, STATUS_FAILED,
                     "ops %" PRIu32 " and %" PRIu32 " race: nothing orders them", hazard.first,
                     hazard.second);
}

static enum status use_machine(struct pipeline *pipeline, struct error *error)
{
    const uint32_t queues = pipeline->settings.connections;
    pipeline->used = pipeline->machine;
    if (queues > pipeline->used.queues_max)
        return error_set(error, STATUS_USAGE,
                         "connections=%" PRIu32 ": the machine %s has %" PRIu32
                         " hardware queue(s) at most",
                         queues, pipeline->used.name, pipeline->used.queues_max);
    if (queues > 0)
        pipeline->used.queues = queues;
    return STATUS_OK;
}

static enum status simulate(struct pipeline *pipeline, struct error *error)
{
    int64_t issued_ns;
    enum status status = simulator_run(&pipeline->used, pipeline->used.queues, &pipeline->plan,
                                       NULL, &pipeline->timeline, &issued_ns, error);
    pipeline->timeline.timing = TIMING_VIRTUAL;
    pipeline->timeline.resolution_ns = 1;
    return status;
}

static enum status explain(struct pipeline *pipeline, bool races, struct error *error)
{
    pipeline->limit = limit_of(&pipeline->used, &pipeline->plan);
    enum status status = analyse(&pipeline->timeline, &pipeline->analysis, error);
    if (status == STATUS_OK)
        status =
            critical_find(&pipeline->timeline, &pipeline->used, &pipeline->critical, error);
    const struct verdict_case facts = {.timeline = &pipeline->timeline,
                                       .critical = &pipeline->critical,
                                       .plan = &pipeline->plan,
                                       .machine = &pipeline->used,
                                       .limit = &pipeline->limit,
                                       .settings = &pipeline->settled,
                                       .model = &pipeline->used,
                                       .races = races};
    return status == STATUS_OK ? verdicts_find(&facts, &pipeline->verdicts, error) : status;
}

/* All of a run that has no results yet. */
static enum status run(struct pipeline *pipeline, struct error *error)
{
    bool races = false;
    pipeline->settled = pipeline->settings;
    settings_settle(&pipeline->settled);
    enum status status = settings_check(&pipeline->settled, error);
    if (status == STATUS_OK && settings_are_open(&pipeline->settled))
        status = error_set(error, STATUS_USAGE,
                           "tiles and streams must be numbers here, and issue chosen: auto is "
                           "the command's");
    if (status == STATUS_OK)
        status = use_machine(pipeline, error);
    if (status == STATUS_OK)
        status = plan_build(&pipeline->settled, &pipeline->used, &pipeline->plan, error);
    if (status == STATUS_OK)
        status = judge_hazards(pipeline, &races, error);
    if (status == STATUS_OK)
        status = simulate(pipeline, error);
    return status == STATUS_OK ? explain(pipeline, races, error) : status;
}

bool pipeline_simulate(struct pipeline *pipeline, struct pipeline_error *error)
{
    const locale_t theirs = c_locale_enter();
    struct error why = {0};
    if (pipeline == NULL)
        return tell(theirs, refuse_null(&why), &why, error);
    drop_results(pipeline);
    const enum status status = run(pipeline, &why);
    if (status != STATUS_OK)
        drop_results(pipeline);
    return tell(theirs, status, &why, error);
}

int64_t pipeline_time_ns(const struct pipeline *pipeline)
{
    return pipeline != NULL ? pipeline->analysis.time_ns : 0;
}

int64_t pipeline_limit_ns(const struct pipeline *pipeline)
{
    return pipeline != NULL ? pipeline->limit.ns : 0;
}

double pipeline_concurrency(const struct pipeline *pipeline)
{
    return pipeline != NULL ? pipeline->analysis.concurrency : 0;
}

size_t pipeline_span_count(const struct pipeline *pipeline)
{
    return pipeline != NULL ? pipeline->timeline.span_count : 0;
}

bool pipeline_span(const struct pipeline *pipeline, size_t index, struct pipeline_span *span)
{
    if (span == NULL || index >= pipeline_span_count(pipeline))
        return false;
    const struct span *found = &pipeline->timeline.spans[index];
    *span = (struct pipeline_span){
        .kind = op_kind_name((enum op_kind)found->kind),
        .engine = engine_name((enum engine)found->engine),
        .op = found->op,
        .lane = found->lane,
        .stream = found->stream,
        .tile = found->tile,
        .bytes = found->bytes,
        .issue_ns = found->issue_ns,
        .start_ns = found->start_ns,
        .end_ns = found->end_ns,
    };
    return true;
}

size_t pipeline_verdict_count(const struct pipeline *pipeline)
{
    return pipeline != NULL ? (size_t)pipeline->verdicts.count : 0;
}

bool pipeline_verdict(const struct pipeline *pipeline, size_t index,
                      struct pipeline_verdict *verdict)
{
    if (verdict == NULL || index >= pipeline_verdict_count(pipeline))
        return false;
    const struct verdict *found = &pipeline->verdicts.items[index];
    const struct verdict_row *row = &verdict_rows[found->code];
    const int64_t time_ns = pipeline_time_ns(pipeline);
    *verdict = (struct pipeline_verdict){
        .code = row->name,
        .ns = found->cost_ns,
        .share = time_ns > 0 ? (double)found->cost_ns / (double)time_ns : 0,
        .named = (int)index < pipeline->verdicts.named,
        .text = row->text,
        .fix = row->fix,
    };
    return true;
}

const char *pipeline_version(void)
{
    return PIPELINE_VERSION;
}

const char *pipeline_machine_name(size_t index)
{
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        if (index-- == 0)
            return text->name;
    }
    return NULL;
}

const char *pipeline_kernel_name(size_t index)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        if (index-- == 0)
            return kernel->name;
    }
    return NULL;
}

const char *pipeline_mistake_name(size_t index)
{
    for (const struct mistake_row *row = mistake_rows; row->name != NULL; row++) {
        if (index-- == 0)
            return row->name;
    }
    return NULL;
}
