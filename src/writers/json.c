/* json.c - the JSON report, schema 1.
 *
 * A function that makes a value gives NULL when memory runs out, and takes every value that it
 * is given, so that a failure anywhere ends in no document, never in a part of one. */
#include "report/compare_run.h"
#include "writers/writer.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 15 digits give back every time below 11 days to the nanosecond, and 22.4 as 22.4. */
enum { REAL_DIGITS = 15, INDENT = 2 };

struct member {
    const char *key;
    json_t *value;
};

static json_t *json_members(struct member *members, size_t count)
{
    json_t *object = json_object();
    bool whole = object != NULL;
    for (size_t i = 0; i < count; i++)
        whole &= json_object_set_new(object, members[i].key, members[i].value) == 0;
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

/* Appends `value`; on failure gives up the whole array. */
static json_t *json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

static json_t *json_text(const char *text)
{
    size_t room = 3 * strlen(text) + 1;
    char *clean = malloc(room);
    if (clean == NULL)
        return NULL;
    json_t *json = json_string(writer_clean(clean, room, text, false));
    free(clean);
    return json;
}

/* JSON has no infinity and no NaN. */
static json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_ms(int64_t ns)
{
    return json_real((double)ns / 1e6);
}

static json_t *json_ratio(int64_t part, int64_t whole)
{
    return json_number((double)part / (double)whole);
}

static json_t *json_count(uint64_t count)
{
    return json_integer((json_int_t)count);
}

static json_t *json_verified(enum verified verified)
{
    return verified == VERIFIED_NOT_ASKED ? json_null()
                                          : json_boolean(verified == VERIFIED_YES);
}

/* A number is taken as JSON spells it, whatever the locale. One that JSON or 64 bits do not
 * hold (a seed of 2^63) stays a string. */
static json_t *json_value(const char *value, enum value_kind kind)
{
    if (kind == VALUE_NULL)
        return json_null();
    if (kind == VALUE_BOOL)
        return json_boolean(strcmp(value, "true") == 0);
    json_t *json = NULL;
    if (kind != VALUE_TEXT)
        json = json_loads(value, JSON_DECODE_ANY, NULL);
    return json != NULL ? json : json_text(value);
}

static void add_setting(void *context, const char *name, const char *value,
                        enum value_kind kind)
{
    json_t **object = context;
    if (json_object_set_new(*object, name, json_value(value, kind)) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

static json_t *json_settings(const struct settings *settings)
{
    json_t *object = json_object();
    settings_each(settings, add_setting, &object);
    return object;
}

static json_t *json_engine(const struct engine_use *use)
{
    struct member members[] = {
        {"busy_ms", json_ms(use->busy_ns)},
        {"utilisation", json_number(use->utilisation)},
        {"bytes", json_count(use->bytes)},
    };
    return json_members(members, sizeof members / sizeof members[0]);
}

static json_t *json_engines(const struct analysis *analysis)
{
    struct member members[ENGINE_WORKING];
    for (int i = 0; i < ENGINE_WORKING; i++) {
        members[i].key = engine_name((enum engine)i);
        members[i].value = json_engine(&analysis->engines[i]);
    }
    return json_members(members, ENGINE_WORKING);
}

static json_t *json_hazards(const struct run_report *run)
{
    json_t *hazards = json_array();
    for (size_t i = 0; i < run->hazard_count; i++)
        hazards = json_append(hazards, json_text(run->hazard_texts[i]));
    return hazards;
}

static json_t *json_latency_group(const struct latency_group *group)
{
    struct member members[] = {
        {"priority", json_integer(group->priority)},
        {"tiles", json_count(group->tiles)},
        {"min_ms", json_ms(group->min_ns)},
        {"median_ms", json_ms(group->median_ns)},
        {"p95_ms", json_ms(group->p95_ns)},
        {"max_ms", json_ms(group->max_ns)},
        {"mean_ms", json_number(group->mean_ns / 1e6)},
    };
    return json_members(members, sizeof members / sizeof members[0]);
}

static json_t *json_latency(const struct latency *latency)
{
    json_t *groups = json_array();
    for (uint32_t i = 0; i < latency->group_count; i++)
        groups = json_append(groups, json_latency_group(&latency->groups[i]));
    return groups;
}

static json_t *json_plan(const struct run_report *run)
{
    struct member members[] = {
        {"streams", json_count(run->streams)},
        {"slots", json_count(run->slots)},
        {"cpu_tiles", json_count(run->cpu_tiles)},
        {"host_bytes", json_count(run->host_bytes)},
        {"device_bytes", json_count(run->device_bytes)},
    };
    return json_members(members, sizeof members / sizeof members[0]);
}

/* What only a timeline tells: null where --profile left that to a profiler. */
static json_t *json_traced(const struct run_report *run, json_t *value)
{
    if (!run->profiled)
        return value;
    json_decref(value);
    return json_null();
}

/* What a trace of another program doesn't tell: null there. */
static json_t *json_own(const struct run_report *run, json_t *value)
{
    if (!run->foreign)
        return value;
    json_decref(value);
    return json_null();
}

/* --- a comparison --- */

static json_t *json_deviation(const struct deviation *deviation)
{
    struct member members[] = {
        {"median_ms", json_ms(deviation->median_ns)},
        {"p95_ms", json_ms(deviation->p95_ns)},
        {"largest_ms", json_ms(deviation->largest_ns)},
    };
    return json_members(members, sizeof members / sizeof members[0]);
}

static json_t *json_compared(const struct compared *compared)
{
    const struct comparison *comparison = &compared->comparison;
    struct member members[] = {
        {"machine", json_text(compared->device)},
        {"simulated_ms", json_ms(comparison->simulated_ns)},
        {"error", json_number(comparison->error)},
        {"noise", json_number(comparison->noise)},
        {"traced_error", json_number(comparison->traced_error)},
        {"spans", json_count(comparison->spans)},
        {"start", json_deviation(&comparison->start)},
        {"end", json_deviation(&comparison->end)},
        {"same_order", json_number(comparison->same_order)},
    };
    return json_members(members, sizeof members / sizeof members[0]);
}

static json_t *json_quantiles(const struct compare_quantiles *quantiles)
{
    struct member members[] = {
        {"median", json_number(quantiles->median)},
        {"p95", json_number(quantiles->p95)},
        {"largest", json_number(quantiles->largest)},
    };
    return json_members(members, sizeof members / sizeof members[0]);
}

static json_t *json_summary(const struct compare_summary *summary)
{
    struct member members[] = {
        {"settings", json_count(summary->settings)},
        {"error", json_quantiles(&summary->simulator)},
        {"noise", json_quantiles(&summary->noise)},
        {"order_pairs", json_count(summary->pairs)},
        {"order_apart", json_count(summary->apart)},
        {"order_right", json_count(summary->right)},
    };
    return json_members(members, sizeof members / sizeof members[0]);
}

/* Adds a member to `object`; gives up the whole object where that fails. */
static json_t *json_with(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* --- the report --- */

/* The prediction that --model asked for, and how far it is off; an empty array without it. */
static json_t *json_predictions(const struct run_report *run)
{
    json_t *predictions = json_array();
    if (run->predicted_ns == 0)
        return predictions;
    struct member members[] = {
        {"model", json_text("sim")},
        {"ms", json_ms(run->predicted_ns)},
        {"error", json_number(compare_error(run->predicted_ns, run->median_ns))},
    };
    return json_append(predictions, json_members(members, sizeof members / sizeof members[0]));
}

static json_t *json_verdict(const struct run_report *run, const struct verdict *verdict)
{
    const struct verdict_row *row = &verdict_rows[verdict->code];
    int64_t time_ns = run->verdicts.time_ns;
    struct member members[] = {
        {"code", json_text(row->name)},
        {"ms", json_ms(verdict->cost_ns)},
        {"ns", json_integer(verdict->cost_ns)},
        {"share", json_number(time_ns > 0 ? (double)verdict->cost_ns / (double)time_ns : 0)},
        {"named", json_boolean(verdict - run->verdicts.items < run->verdicts.named)},
        {"text", json_text(row->text)},
        {"fix", json_text(row->fix)},
    };
    return json_members(members, sizeof members / sizeof members[0]);
}

static json_t *json_verdicts(const struct run_report *run)
{
    json_t *verdicts = json_array();
    for (int i = 0; i < run->verdicts.count; i++)
        verdicts = json_append(verdicts, json_verdict(run, &run->verdicts.items[i]));
    return verdicts;
}

static json_t *json_run(const struct run_report *run)
{
    struct member members[] = {
        {"name", json_text(run->settings->name)},
        {"source", json_text(timeline_source(&run->timeline))},
        {"timing", json_traced(run, json_text(timeline_timing(&run->timeline)))},
        {"device", json_text(writer_device(run))},
        {"driver", run->timeline.driver[0] ? json_text(run->timeline.driver) : json_null()},
        {"settings", json_own(run, json_settings(run->settings))},
        {"plan", json_own(run, json_plan(run))},
        {"verified", json_verified(run->verified)},
        {"result", json_number(run->has_result ? run->result : NAN)},
        {"repeats", json_own(run, json_count(run->repeats))},
        {"span_ms", json_ms(run->median_ns)},
        {"span_min_ms", json_ms(run->min_ns)},
        {"span_max_ms", json_ms(run->max_ns)},
        {"timeline_ms", json_traced(run, json_ms(run->analysis.time_ns))},
        {"issue_ms", json_own(run, json_ms(run->issue_ns))},
        {"limit_ms", json_own(run, json_ms(run->limit.ns))},
        {"limit_ratio", json_own(run, json_ratio(run->limit.ns, run->median_ns))},
        {"limit_cause", json_own(run, json_text(limit_cause_name(run->limit.cause)))},
        {"speedup", json_number(run->speedup)},
        {"engines", json_traced(run, json_engines(&run->analysis))},
        {"concurrency", json_traced(run, json_number(run->analysis.concurrency))},
        {"latency", json_own(run, json_traced(run, json_latency(&run->latency)))},
        {"resolution_ns", json_traced(run, json_count((uint64_t)run->timeline.resolution_ns))},
        {"hazards", json_hazards(run)},
        {"verdicts", json_verdicts(run)},
        {"predictions", json_predictions(run)},
    };
    json_t *object = json_members(members, sizeof members / sizeof members[0]);
    if (run->no_verdict[0] != '\0')
        object = json_with(object, "no_verdict", json_text(run->no_verdict));
    if (!isnan(report_gflops(run)))
        object = json_with(object, "gflops", json_number(report_gflops(run)));
    if (run->compared != NULL)
        object = json_with(object, "compare", json_compared(run->compared));
    return object;
}

void write_json(FILE *out, const struct report *report)
{
    json_t *runs = json_array();
    for (int i = 0; i < report->run_count; i++)
        runs = json_append(runs, json_run(&report->runs[i]));
    struct member members[] = {
        {"schema", json_integer(1)},
        {"version", json_text(report->version)},
        {"runs", runs},
    };
    json_t *root = json_members(members, sizeof members / sizeof members[0]);
    if (report->comparison != NULL)
        root = json_with(root, "summary", json_summary(report->comparison));
    if (root == NULL)
        return;
    json_dumpf(root, out, JSON_INDENT(INDENT) | JSON_REAL_PRECISION(REAL_DIGITS));
    putc('\n', out);
    json_decref(root);
}
