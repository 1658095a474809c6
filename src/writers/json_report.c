/* json_report.c - the report as JSON, schema 2.
 *
 * Schema 2 differs from schema 1 in names alone: a run's total is "time_ms", "time_min_ms" and
 * "time_max_ms", which were "span_ms", "span_min_ms" and "span_max_ms". */
#include "report/compare.h"
#include "trace/trace.h"
#include "writers/cause.h"
#include "writers/json.h"
#include "writers/writer.h"

#include <math.h>
#include <stdio.h>

enum { SCHEMA = 2, INDENT = 2 };

/* Writes null for a value that is not known; returns whether it is, and the value comes next.
 */
static bool is_known(struct json *json, bool known)
{
    if (!known)
        json_put_null(json);
    return known;
}

/* Puts where nine of ten measured times lie, if that is known: PREFIXlow_ms, PREFIXhigh_ms. */
static void put_interval(struct json *json, const char *prefix,
                         const struct time_range *interval)
{
    char key[32];
    if (interval->high_ns == 0)
        return;
    snprintf(key, sizeof key, "%slow_ms", prefix);
    json_put_ms(json_key(json, key), interval->low_ns);
    snprintf(key, sizeof key, "%shigh_ms", prefix);
    json_put_ms(json_key(json, key), interval->high_ns);
}

/* Puts how busy the first `count` kinds of engines were. */
static void put_engines(struct json *json, const struct run_report *run,
                        const struct engine_use *engines, int count)
{
    json_open(json, '{');
    for (int i = 0; i < count; i++) {
        const struct engine_use *use = &engines[i];
        if (!analysis_shows(&run->analysis, (enum engine)i))
            continue;
        json_open(json_key(json, engine_name((enum engine)i)), '{');
        json_put_ms(json_key(json, "busy_ms"), use->busy_ns);
        json_put_real(json_key(json, "utilisation"), use->utilisation);
        json_put_count(json_key(json, "bytes"), use->bytes);
        json_close(json, '}');
    }
    json_close(json, '}');
}

/* Puts the devices of a run that has several, each with its own engines. */
static void put_devices(struct json *json, const struct run_report *run)
{
    const struct analysis *analysis = &run->analysis;
    if (analysis->devices <= 1)
        return;
    json_open(json_key(json, "devices"), '[');
    for (uint32_t i = 0; i < analysis->devices; i++) {
        json_open(json, '{');
        json_put_text(json_key(json, "name"), report_device(run));
        put_engines(json_key(json, "engines"), run, analysis->on[i], DEVICE_ENGINES);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_latency(struct json *json, const struct run_report *run)
{
    const struct latency *latency = &run->latency;
    const char *counted = settings_batch(run->settings) > 1 ? "batches" : "tiles";
    json_open(json, '[');
    EACH (const struct latency_group, group, latency->groups, latency->group_count) {
        json_open(json, '{');
        json_put_integer(json_key(json, "priority"), group->priority);
        json_put_count(json_key(json, counted), group->count);
        json_put_ms(json_key(json, "min_ms"), group->min_ns);
        json_put_ms(json_key(json, "median_ms"), group->median_ns);
        json_put_ms(json_key(json, "p95_ms"), group->p95_ns);
        json_put_ms(json_key(json, "max_ms"), group->max_ns);
        json_put_real(json_key(json, "mean_ms"), group->mean_ns / 1e6);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_plan(struct json *json, const struct run_report *run)
{
    json_open(json, '{');
    json_put_count(json_key(json, "streams"), run->streams);
    json_put_count(json_key(json, "slots"), run->slots);
    json_put_count(json_key(json, "cpu_tiles"), run->cpu_tiles);
    json_put_count(json_key(json, "host_bytes"), run->host_bytes);
    json_put_count(json_key(json, "device_bytes"), run->device_bytes);
    json_close(json, '}');
}

/* A fix of our own run has a command and was tried; that of another program has its calls. */
static void put_fix(struct json *json, const struct run_report *run,
                    const struct verdict *verdict)
{
    const struct verdict_row *row = &verdict_rows[verdict->code];
    bool offered = row->fix[0] != '\0' && verdict->code < VERDICT_COPY_BOUND;
    if (!is_known(json, offered))
        return;
    json_open(json, '{');
    json_put_text(json_key(json, "text"), row->fix);
    json_put_text(json_key_of(json, "command", verdict->command[0] != '\0'), verdict->command);
    json_put_text(json_key_of(json, "cuda", row->cuda[0] != '\0'), row->cuda);
    const char *calls, *how = writer_how(run, verdict->code, &calls);
    if (how == row->torch)
        json_put_text(json_key(json, "torch"), how);
    json_put_ms(json_key_of(json, "predicted_ms", verdict->predicted_ns > 0),
                verdict->predicted_ns);
    if (verdict->predicted_ns > 0)
        put_interval(json, "predicted_", &verdict->prospect.range);
    if (verdict->predicted_ns == 0 && verdict->no_time != NULL)
        json_put_text(json_key(json, "no_time"), verdict->no_time);
    json_close(json, '}');
}

static void put_verdicts(struct json *json, const struct run_report *run)
{
    const struct verdicts *verdicts = &run->verdicts;
    json_open(json_key(json, "verdicts"), '[');
    for (int i = 0; i < verdicts->count; i++) {
        const struct verdict *verdict = &verdicts->items[i];
        const struct verdict_row *row = &verdict_rows[verdict->code];
        double share = (double)verdict->cost_ns / (double)verdicts->time_ns;
        json_open(json, '{');
        json_put_text(json_key(json, "code"), row->name);
        json_put_ms(json_key(json, "ms"), verdict->cost_ns);
        json_put_integer(json_key(json, "ns"), verdict->cost_ns);
        json_put_real(json_key(json, "share"), verdicts->time_ns > 0 ? share : 0);
        json_put_bool(json_key(json, "named"), i < verdicts->named);
        json_put_text(json_key(json, "evidence"), evidence_name(verdict->evidence));
        json_put_text(json_key(json, "seen"), verdict->seen);
        json_put_text(json_key(json, "text"), writer_cause_text(verdicts, verdict->code));
        put_fix(json_key(json, "fix"), run, verdict);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Writes the simulator's time of the run itself, by which fixes are predicted, and the best
 * settings that were found. */
static void put_best(struct json *json, const struct run_report *run)
{
    const struct verdicts *verdicts = &run->verdicts;
    const struct verdict *only = verdicts->items; /* a race stands first, and has no time */
    while (only + 1 < verdicts->items + verdicts->named && only->predicted_ns == 0)
        only++;
    bool single = verdicts->best[0] == '\0' && verdicts->named > 0;
    json_put_ms(json_key_of(json, "modelled_ms", verdicts->modelled_ns > 0),
                verdicts->modelled_ns);
    if (verdicts->recording_ns > 0)
        json_put_ms(json_key(json, "recording_ms"), verdicts->recording_ns);
    if (!is_known(json_key(json, "best"), verdicts->best_ns > 0))
        return;
    json_open(json, '{');
    json_put_text(json_key_of(json, "command", !run->foreign), verdicts->best);
    if (run->foreign)
        json_put_text(json_key(json, "fixes"),
                      single ? verdict_rows[only->code].name : verdicts->best);
    json_put_ms(json_key(json, "predicted_ms"), verdicts->best_ns);
    put_interval(json, "predicted_", &verdicts->best_prospect.range);
    json_close(json, '}');
}

/* Writes the prediction that --model asked for, and how far it is off; none without it. */
static void put_predictions(struct json *json, const struct run_report *run)
{
    json_open(json_key(json, "predictions"), '[');
    if (run->predicted_ns > 0) {
        json_open(json, '{');
        json_put_text(json_key(json, "model"), "sim");
        json_put_ms(json_key(json, "ms"), run->predicted_ns);
        json_put_real(json_key(json, "error"),
                      compare_error(run->predicted_ns, run->median_ns));
        put_interval(json, "", &run->predicted);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* --- a comparison --- */

static void put_deviation(struct json *json, const char *key, const struct deviation *deviation)
{
    json_open(json_key(json, key), '{');
    json_put_ms(json_key(json, "median_ms"), deviation->median_ns);
    json_put_ms(json_key(json, "p95_ms"), deviation->p95_ns);
    json_put_ms(json_key(json, "largest_ms"), deviation->largest_ns);
    json_close(json, '}');
}

static void put_compared(struct json *json, const struct compared *compared)
{
    const struct comparison *comparison = &compared->comparison;
    json_open(json_key(json, "compare"), '{');
    json_put_text(json_key(json, "machine"), compared->device);
    json_put_ms(json_key(json, "simulated_ms"), comparison->simulated_ns);
    put_interval(json, "simulated_", &compared->run.sure);
    json_put_real(json_key(json, "error"), comparison->error);
    if (comparison->calibrated) {
        json_put_ms(json_key(json, "file_simulated_ms"), comparison->file_ns);
        json_put_real(json_key(json, "file_error"), comparison->file_error);
    }
    json_put_real(json_key(json, "noise"), comparison->noise);
    json_put_real(json_key(json, "traced_error"), comparison->traced_error);
    json_put_count(json_key(json, "spans"), comparison->spans);
    put_deviation(json, "start", &comparison->start);
    put_deviation(json, "end", &comparison->end);
    json_put_real(json_key(json, "same_order"), comparison->same_order);
    json_close(json, '}');
}

static void put_quantiles(struct json *json, const char *key,
                          const struct compare_quantiles *quantiles)
{
    json_open(json_key(json, key), '{');
    json_put_real(json_key(json, "median"), quantiles->median);
    json_put_real(json_key(json, "p95"), quantiles->p95);
    json_put_real(json_key(json, "largest"), quantiles->largest);
    json_close(json, '}');
}

static void put_summary(struct json *json, const struct compare_summary *summary)
{
    json_open(json_key(json, "summary"), '{');
    json_put_count(json_key(json, "settings"), summary->settings);
    put_quantiles(json, "error", &summary->simulator);
    if (summary->calibrated)
        put_quantiles(json, "file_error", &summary->file);
    put_quantiles(json, "noise", &summary->noise);
    json_put_count(json_key(json, "order_pairs"), summary->pairs);
    json_put_count(json_key(json, "order_apart"), summary->apart);
    json_put_count(json_key(json, "order_right"), summary->right);
    json_close(json, '}');
}

/* --- the report --- */

static void put_node(struct json *json, const struct numa_place *place)
{
    if (is_known(json, place->known))
        json_put_integer(json, place->node);
}

/* Writes the nodes of the host's memory, where anything is known of them. */
static void put_numa(struct json *json, const struct timeline *timeline)
{
    const struct numa_seen *numa = &timeline->numa;
    uint32_t devices = timeline_devices(timeline);
    devices = devices < MACHINE_DEVICES_MAX ? devices : MACHINE_DEVICES_MAX;
    bool known = numa->buffers.known;
    for (uint32_t i = 0; i < devices; i++)
        known |= numa->devices[i].known;
    if (!known)
        return;
    json_open(json_key(json, "numa"), '{');
    put_node(json_key(json, "buffers"), &numa->buffers);
    json_open_flat(json_key(json, "devices"), '[');
    for (uint32_t i = 0; i < devices; i++)
        put_node(json, &numa->devices[i]);
    json_close(json, ']');
    json_close(json, '}');
}

/* Writes where the processes were that shared the run, and how well their clocks agree. */
static void put_ranks(struct json *json, const struct ranks_seen *ranks)
{
    if (ranks->count == 0)
        return;
    json_open(json_key(json, "ranks"), '[');
    EACH (const struct rank_place, place, ranks->places, ranks->count) {
        json_open_flat(json, '{');
        json_put_text(json_key(json, "host"), place->host);
        json_put_integer(json_key_of(json, "clock_ns", ranks->clocks), place->offset_ns);
        json_put_integer(json_key_of(json, "clock_error_ns", ranks->clocks), place->error_ns);
        json_put_bool(json_key(json, "common_memory"), place->common);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Writes what ran, and where. A trace of another program tells nothing of settings and plan. */
static void put_provenance(struct json *json, const struct run_report *run)
{
    const struct timeline *timeline = &run->timeline;
    json_put_text(json_key(json, "name"), run->settings->name);
    json_put_text(json_key(json, "source"), timeline_source(timeline));
    json_put_text(json_key_of(json, "timing", !run->profiled), timeline_timing(timeline));
    json_put_text(json_key(json, "device"), report_device(run));
    json_put_text(json_key_of(json, "driver", timeline->driver[0] != '\0'), timeline->driver);
    if (is_known(json_key(json, "settings"), !run->foreign))
        json_put_settings(json, run->settings);
    if (is_known(json_key(json, "plan"), !run->foreign))
        put_plan(json, run);
    put_numa(json, timeline);
    put_ranks(json, &timeline->ranks);
}

static void put_times(struct json *json, const struct run_report *run)
{
    bool own = !run->foreign;
    const bool judged = run->verified == VERIFIED_NO || run->verified == VERIFIED_YES;
    json_put_bool(json_key_of(json, "verified", judged), run->verified == VERIFIED_YES);
    json_put_real(json_key(json, "result"), run->has_result ? run->result : NAN);
    json_put_count(json_key_of(json, "repeats", own), run->repeats);
    json_put_ms(json_key(json, "time_ms"), run->median_ns);
    json_put_ms(json_key(json, "time_min_ms"), run->min_ns);
    json_put_ms(json_key(json, "time_max_ms"), run->max_ns);
    put_interval(json, "time_", &run->sure);
    json_put_ms(json_key_of(json, "timeline_ms", !run->profiled), run->analysis.time_ns);
    json_put_ms(json_key_of(json, "issue_ms", own), run->issue_ns);
    if (run->usual != NULL)
        json_put_ms(json_key(json, "usual_ms"), run->usual_ns);
    if (run->other_order_ns > 0)
        json_put_ms(json_key(json, "other_order_ms"), run->other_order_ns);
    bool limited = own || run->verdicts.limit_known;
    json_put_ms(json_key_of(json, "limit_ms", limited), run->limit.ns);
    json_put_real(json_key_of(json, "limit_ratio", limited),
                  (double)run->limit.ns / (double)run->median_ns);
    json_put_text(json_key_of(json, "limit_cause", limited),
                  limit_cause_name(run->limit.cause));
    json_put_real(json_key(json, "speedup"), run->speedup);
}

/* Puts how much of a stencil's copies between devices was hidden; nothing of other runs. */
static void put_exchange(struct json *json, const struct run_report *run)
{
    const struct engine_use *peers = &run->analysis.engines[ENGINE_PEER];
    if (!report_exchanges(run))
        return;
    json_open(json_key(json, "exchange"), '{');
    json_put_count(json_key(json, "copies"), peers->spans);
    json_put_count(json_key(json, "bytes"), peers->bytes);
    json_put_ms(json_key(json, "ms"), peers->busy_ns);
    json_put_real(json_key(json, "hidden"), run->analysis.peers_hidden);
    json_close(json, '}');
}

/* Writes what the timeline tells, which --profile leaves to a profiler. */
static void put_analysis(struct json *json, const struct run_report *run)
{
    bool traced = !run->profiled;
    if (is_known(json_key(json, "engines"), traced))
        put_engines(json, run, run->analysis.engines, ENGINE_WORKING);
    if (traced)
        put_devices(json, run);
    put_exchange(json, run);
    json_put_real(json_key_of(json, "concurrency", traced), run->analysis.concurrency);
    if (is_known(json_key(json, "latency"), traced && !run->foreign))
        put_latency(json, run);
    json_put_integer(json_key_of(json, "resolution_ns", traced), run->timeline.resolution_ns);
}

/* Writes the loop of another program's run, in which the times of the report are; null where
 * all is judged. */
static void put_loop(struct json *json, const struct run_report *run)
{
    const struct trace *trace = run->trace;
    const struct loop *loop = &trace->loop;
    const bool found = loop->passes > 0;
    json_put_count(json_key_of(json, "passes", found), loop->passes);
    json_put_ms(json_key_of(json, "pass_ms", found), loop->pass_ns);
    json_put_ms(json_key_of(json, "startup_ms", found), trace->startup_ns);
    if (is_known(json_key(json, "startup"), found && run->timeline.calls != NULL)) {
        json_open(json, '{');
        json_put_ms(json_key(json, "outside_ms"), trace_outside_ns(trace));
        json_put_ms(json_key(json, "loads_ms"), loop->startup.loads_ns);
        json_put_ms(json_key(json, "allocations_ms"), loop->startup.allocs_ns);
        json_put_ms(json_key(json, "waits_ms"), loop->startup.waits_ns);
        json_put_ms(json_key(json, "calls_ms"), loop->startup.calls_ns);
        json_close(json, '}');
    }
    json_put_ms(json_key_of(json, "end_ms", found), trace->end_ns);
    if (!is_known(json_key(json, "loop"), found))
        return;
    json_open_flat(json, '{');
    json_put_count(json_key(json, "first"), loop->first);
    json_put_count(json_key(json, "ops"), loop->ops);
    json_put_count(json_key(json, "iterations"), loop->passes);
    json_put_count(json_key(json, "unlike"), loop->unlike);
    json_put_ms(json_key(json, "from_ms"), loop->from_ns);
    json_put_ms(json_key(json, "to_ms"), loop->to_ns);
    json_close(json, '}');
}

static void put_hazards(struct json *json, const char *key, char (*texts)[HAZARD_TEXT],
                        size_t count)
{
    json_open(json_key(json, key), '[');
    for (size_t i = 0; i < count; i++)
        json_put_text(json, texts[i]);
    json_close(json, ']');
}

static void put_run(struct json *json, const struct run_report *run)
{
    json_open(json, '{');
    put_provenance(json, run);
    put_times(json, run);
    put_analysis(json, run);
    put_hazards(json, "hazards", run->hazard_texts, run->hazard_count);
    if (run->trace != NULL)
        put_loop(json, run);
    if (run->plan != NULL) /* a recording's: races that it may have */
        put_hazards(json, "possible_hazards", run->possible_texts, run->possible_count);
    put_verdicts(json, run);
    put_best(json, run);
    put_predictions(json, run);
    if (run->no_verdict[0] != '\0')
        json_put_text(json_key(json, "no_verdict"), run->no_verdict);
    if (!isnan(report_gflops(run)))
        json_put_real(json_key(json, "gflops"), report_gflops(run));
    if (run->compared != NULL)
        put_compared(json, run->compared);
    json_close(json, '}');
}

enum status write_json(FILE *out, const struct report *report)
{
    struct put put;
    struct json json = {.put = &put, .indent = INDENT};
    put_begin(&put, out);
    json_open(&json, '{');
    json_put_integer(json_key(&json, "schema"), SCHEMA);
    json_put_text(json_key(&json, "version"), report->version);
    json_open(json_key(&json, "runs"), '[');
    for (int i = 0; i < report->run_count; i++)
        put_run(&json, &report->runs[i]);
    json_close(&json, ']');
    if (report->comparison != NULL)
        put_summary(&json, report->comparison);
    json_close(&json, '}');
    PUT_LITERAL(&put, "\n");
    return put_end(&put);
}
