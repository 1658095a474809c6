/* html.c - the timelines as one page: plots/page.html with its style, its script and the data
 * in it, so that it needs nothing else and asks no network.
 *
 * Spans are arrays, one a line, in the order of put_span(). A browser holds a bar per span:
 * runs that go beyond SPANS_DRAWN are written as how busy each engine was, by columns of the
 * time axis. Nothing here grows with the number of spans, but for a list of those of a
 * recording that are drawn. */
#include "writers/html.h"
#include "core/embedded.h"
#include "core/units.h"
#include "writers/cause.h"
#include "writers/json.h"
#include "writers/put.h"
#include "writers/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPANS_DRAWN = 100000 }; /* on a page, all runs together, with calls and ranges */

static void put_time(struct json *json, const char *key, int64_t ns)
{
    char text[UNITS_TEXT];
    json_put_text(json_key(json, key), units_time(ns, text));
}

/* Writes the time with a fix. */
static void put_predicted(struct json *json, int64_t ns, const struct prospect *prospect)
{
    char text[WRITER_ABOUT];
    json_put_text(json_key(json, "predicted"), writer_about(ns, prospect, text));
    html_put_exact(json_key(json, "predicted_ns"), ns);
}

/* Writes "99.1%", or no member where there is no such share. */
static void put_share(struct json *json, const char *key, double share)
{
    char text[32];
    if (!isfinite(share))
        return;
    snprintf(text, sizeof text, "%.1f%%", fmin(100 * share, 1e9));
    json_put_text(json_key(json, key), text);
}

static void put_setting(void *context, const char *name, const char *value,
                        enum value_kind kind)
{
    struct json *json = context;
    json_open(json, '[');
    json_put_text(json, name);
    json_put_text(json, kind == VALUE_NULL ? "-" : value);
    json_close(json, ']');
}

/* Writes what only a run of our own has: settings, results, limit; and its speed-up, where it
 * is one of several runs. */
static void put_results(struct json *json, const struct run_report *run, bool alone)
{
    json_open(json_key(json, "settings"), '[');
    settings_each(run->settings, put_setting, json);
    json_close(json, ']');
    static const char *const verified[] = {
        [VERIFIED_NO] = "no",
        [VERIFIED_YES] = "yes",
        [VERIFIED_NOT_ASKED] = "not asked for",
        [VERIFIED_RACED] = "raced",
    };
    json_put_text(json_key(json, "verified"), verified[run->verified]);
    json_put_count(json_key(json, "repeats"), run->repeats);
    if (run->sure.high_ns > 0) {
        char range[UNITS_ABOUT];
        json_put_text(json_key(json, "range"),
                      units_range(run->sure.low_ns, run->sure.high_ns, range));
    }
    put_time(json, "min", run->min_ns);
    put_time(json, "max", run->max_ns);
    if (run->limit.ns > 0)
        json_put_text(json_key(json, "bound"), limit_cause_name(run->limit.cause));
    if (isfinite(run->speedup) && !alone) {
        char text[32];
        snprintf(text, sizeof text, "%.2fx", fmin(run->speedup, 1e9));
        json_put_text(json_key(json, "speedup"), text);
    }
}

/* Writes the limit, where it is known: of a file that is read, what the file says. */
static void put_limit(struct json *json, const struct run_report *run)
{
    if (run->limit.ns <= 0 || run->median_ns <= 0 || !writer_limit_known(run))
        return;
    put_time(json, "limit", run->limit.ns);
    html_put_exact(json_key(json, "limit_ns"), run->limit.ns);
    put_share(json, "ratio", (double)run->limit.ns / (double)run->median_ns);
    if (run->foreign)
        json_put_text(json_key(json, "limit_from"),
                      run->verdicts.limit_known ? "machine file" : "file");
}

static void put_provenance(struct json *json, const struct run_report *run)
{
    const struct timeline *timeline = &run->timeline;
    char devices[DEVICES_TEXT], loop[WRITER_LOOP];
    json_put_text(json_key(json, "source"), timeline_source(timeline));
    json_put_text(json_key(json, "timing"), timeline_timing(timeline));
    writer_devices(run, devices);
    json_put_text(json_key(json, "device"),
                  timeline->devices > 1 ? devices : report_device(run));
    if (timeline->driver[0] != '\0')
        json_put_text(json_key(json, "driver"), timeline->driver);
    if (writer_loop(run, loop))
        json_put_text(json_key(json, "loop"), loop);
    html_put_exact(json_key(json, "resolution_ns"), timeline->resolution_ns);
    json_put_bool(json_key(json, "foreign"), run->foreign);
    json_put_bool(json_key(json, "profiled"), run->profiled);
    put_time(json, "time", run->median_ns);
    html_put_exact(json_key(json, "time_ns"), run->median_ns);
    put_time(json, "drawn", timeline_time_ns(timeline));
    if (!run->profiled) {
        char text[32];
        snprintf(text, sizeof text, "%.2f", run->analysis.concurrency);
        json_put_text(json_key(json, "concurrency"), text);
    }
}

/* Writes what each cause cost, in the words of the terminal's report. */
static void put_verdicts(struct json *json, const struct run_report *run)
{
    const struct verdicts *verdicts = &run->verdicts;
    json_open(json_key(json, "verdicts"), '[');
    for (int i = 0; i < verdicts->count; i++) {
        const struct verdict *verdict = &verdicts->items[i];
        const struct verdict_row *row = &verdict_rows[verdict->code];
        if ((verdict->code == VERDICT_REST && verdict->cost_ns == 0) ||
            (row->marks[MARKED_LIMIT] != 0 && !verdicts->limit_known))
            continue; /* nothing is left, or nobody knows the limit */
        json_open(json, '{');
        json_put_text(json_key(json, "code"), row->name);
        put_time(json, "cost", verdict->cost_ns);
        html_put_exact(json_key(json, "ns"), verdict->cost_ns);
        if (verdicts->time_ns > 0)
            put_share(json, "share", (double)verdict->cost_ns / (double)verdicts->time_ns);
        json_put_bool(json_key(json, "named"), i < verdicts->named);
        json_put_text(json_key(json, "text"), writer_cause_text(verdicts, verdict->code));
        json_put_text(json_key(json, "seen"), verdict->seen);
        json_put_bool(json_key(json, "likely"), verdict->evidence == EVIDENCE_LIKELY);
        json_put_text(json_key(json, "fix"), row->fix);
        json_put_text(json_key(json, "command"), verdict->command);
        const char *calls, *how = writer_how(run, verdict->code, &calls);
        if (run->foreign) {
            json_put_text(json_key(json, "calls"), calls);
            json_put_text(json_key(json, "how"), how);
        }
        if (verdict->predicted_ns > 0)
            put_predicted(json, verdict->predicted_ns, &verdict->prospect);
        else if (verdict->no_time != NULL)
            json_put_text(json_key(json, "no_time"), verdict->no_time);
        json_close(json, '}');
    }
    json_close(json, ']');
    if (verdicts->best_ns > 0 && !run->foreign) {
        json_open(json_key(json, "best"), '{');
        json_put_text(json_key(json, "command"), verdicts->best);
        put_predicted(json, verdicts->best_ns, &verdicts->best_prospect);
        json_close(json, '}');
    }
    if (run->no_verdict[0] != '\0')
        json_put_text(json_key(json, "no_verdict"), run->no_verdict);
}

/* Returns the number by which the page knows the engine of a span. */
static uint32_t span_engine(const struct run_report *run, const struct span *span)
{
    return resource_number(span_resource(span), timeline_devices(&run->timeline));
}

/* Writes what is marked: gaps with their causes, ops that raced, urgent streams. */
static void put_marks(struct json *json, const struct run_report *run,
                      const struct marks *marks)
{
    json_open(json_key(json, "gaps"), '[');
    for (uint32_t i = 0; i < marks->gap_count; i++) {
        const struct loss *lost = &marks->gaps[i]->at;
        json_open(json, '{');
        json_put_text(json_key(json, "code"), verdict_rows[marks->gaps[i]->code].name);
        html_put_exact(json_key(json, "from"), lost->start_ns);
        html_put_exact(json_key(json, "to"), lost->end_ns);
        html_put_exact(json_key(json, "lost"), marks->gaps[i]->cost_ns);
        json_put_count(json_key(json, "span"), lost->span);
        json_put_count(json_key(json, "engine"),
                       span_engine(run, &run->timeline.spans[lost->span]));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json_key(json, "raced"), '[');
    for (uint32_t i = 0; i < run->timeline.span_count; i++) {
        uint32_t op = run->timeline.spans[i].op;
        if (op < marks->ops && marks->races[op])
            json_put_count(json, i);
    }
    json_close(json, ']');
    json_open(json_key(json, "one_row"), '[');
    for (uint32_t i = 0; i < resource_count(timeline_devices(&run->timeline)); i++) {
        if (marks->one_row[i])
            json_put_count(json, i);
    }
    json_close(json, ']');
    json_open(json_key(json, "urgent"), '[');
    for (uint32_t stream = 0; stream < run->streams; stream++) {
        if (writer_is_urgent(run, stream))
            json_put_count(json, stream);
    }
    json_close(json, ']');
}

/* Writes the names that spans refer to by number, and how busy each engine was. */
static void put_names(struct json *json, const struct run_report *run)
{
    const struct timeline *timeline = &run->timeline;
    char text[32];
    json_open(json_key(json, "kernels"), '[');
    for (uint32_t i = 0; i < timeline->name_count; i++)
        json_put_text(json, timeline->names[i]);
    json_close(json, ']');
    if (timeline->stream_ids != NULL) {
        json_open(json_key(json, "stream_ids"), '[');
        for (uint32_t i = 0; i < timeline->streams; i++)
            json_put_count(json, timeline->stream_ids[i]);
        json_close(json, ']');
    }
    if (timeline->devices > 1) {
        json_put_count(json_key(json, "devices"), timeline->devices);
        json_put_count(json_key(json, "device_streams"), timeline->streams / timeline->devices);
    }
    json_open(json_key(json, "use"), '[');
    const uint32_t devices = run->analysis.devices;
    for (uint32_t i = 0; i < resource_count(devices); i++) {
        const struct resource engine = resource_at(i, devices);
        if (engine.kind >= ENGINE_WORKING)
            continue; /* these come last */
        double share = run->analysis.on[engine.device][engine.kind].utilisation;
        snprintf(text, sizeof text, "%.0f%%", isfinite(share) ? fmin(100 * share, 1e9) : 0);
        json_put_text(json, text);
    }
    json_close(json, ']');
}

/* Returns the reason why a span started when it did; for a wait, the name of the op that it
 * waited for. */
static const char *span_text(const struct run_report *run, uint32_t index,
                             char text[CRITICAL_TEXT])
{
    const struct span *span = &run->timeline.spans[index];
    if (span->kind == OP_WAIT) {
        char name[SPAN_NAME];
        snprintf(text, CRITICAL_TEXT, "%s", timeline_span_name(&run->timeline, span, name));
        return text;
    }
    if (run->critical.holds == NULL)
        return "";
    return critical_explain(&run->timeline, &run->critical, index, text);
}

static void put_span(struct json *json, const struct run_report *run, uint32_t index)
{
    const struct span *span = &run->timeline.spans[index];
    const struct critical *critical = &run->critical;
    uint32_t holder = critical->holds != NULL ? critical->holds[index].span : SPAN_NONE;
    bool on_path = critical->on_path != NULL && critical->on_path[index];
    const int64_t place[] = {span->op,   span->kind,   span->link, span_engine(run, span),
                             span->lane, span->stream, span->tile};
    const int64_t times[] = {span->issue_ns, span->start_ns, span->end_ns};
    char text[CRITICAL_TEXT];
    json_line(json);
    json_open(json, '[');
    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++)
        json_put_integer(json, place[i]);
    html_put_bytes(json, span->bytes);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        html_put_exact(json, times[i]);
    json_put_integer(json, holder == SPAN_NONE ? -1 : (int64_t)holder);
    json_put_integer(json, on_path);
    json_put_text(json, span_text(run, index, text));
    json_close(json, ']');
}

/* Writes how busy `engine` was in each column. */
static void put_columns(struct json *json, const struct timeline *timeline, uint32_t engine,
                        int64_t clock_ns, double columns_per_ns)
{
    const uint32_t devices = timeline_devices(timeline);
    struct html_use use = {0};
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (resource_number(span_resource(span), devices) == engine)
            html_use_add(&use, clock_ns + span->start_ns, clock_ns + span->end_ns,
                         columns_per_ns);
    }
    html_put_use(json, &use);
}

static void put_run(struct json *json, const struct run_report *run, bool alone,
                    int64_t axis_ns, uint32_t *room)
{
    const struct timeline *timeline = &run->timeline;
    struct marks marks;
    if (writer_find_marks(run, &marks) != STATUS_OK) {
        json->put->status = STATUS_NO_MEMORY;
        return;
    }
    json_line(json);
    json_open(json, '{');
    json_put_text(json_key(json, "name"), run->settings->name);
    html_put_exact(json_key(json, "clock_ns"), run->clock_ns);
    put_provenance(json, run);
    put_limit(json, run);
    if (!run->foreign)
        put_results(json, run, alone);
    put_verdicts(json, run);
    put_marks(json, run, &marks);
    json_put_bool(json_key(json, "issue"), marks.issue);
    put_names(json, run);
    json_put_count(json_key(json, "span_count"), timeline->span_count);
    const double columns_per_ns = (double)HTML_COLUMNS / (double)axis_ns;
    bool drawn = timeline->span_count <= *room;
    json_open(json_key(json, drawn ? "spans" : "columns"), '[');
    for (uint32_t i = 0; drawn && i < timeline->span_count; i++)
        put_span(json, run, i);
    const uint32_t engines = resource_count(timeline_devices(timeline)) - 1; /* without waits */
    for (uint32_t engine = 0; !drawn && engine < engines; engine++)
        put_columns(json, timeline, engine, run->clock_ns, columns_per_ns);
    json_close(json, ']');
    *room -= drawn ? timeline->span_count : 0;
    html_put_threads(json, run, drawn, columns_per_ns, room);
    json_close(json, '}');
    free(marks.races);
}

/* Writes what the page knows of kinds of ops and of engines, which spans name by number. */
static void put_rows(struct json *json)
{
    json_open(json_key(json, "kinds"), '[');
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        json_open(json, '{');
        json_put_text(json_key(json, "name"), op_rows[kind].name);
        json_put_text(json_key(json, "title"), op_rows[kind].title);
        json_put_bool(json_key(json, "in_stream"), op_rows[kind].in_stream);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json_key(json, "engines"), '[');
    for (int engine = 0; engine < ENGINE_COUNT; engine++) {
        json_open(json, '{');
        json_put_text(json_key(json, "name"), engine_rows[engine].name);
        json_put_text(json_key(json, "label"), engine_rows[engine].label);
        json_put_bool(json_key(json, "of_device"), engine_of_device((enum engine)engine));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_data(struct put *put, const void *context)
{
    const struct report *report = context;
    struct json json = {.put = put, .in_html = true};
    int64_t axis_ns = 1; /* all runs are drawn on one */
    uint32_t room = SPANS_DRAWN;
    bool recorded = false;
    char message[MESSAGE_TEXT];
    for (int i = 0; i < report->run_count; i++) {
        int64_t time_ns =
            report->runs[i].clock_ns + timeline_time_ns(&report->runs[i].timeline);
        axis_ns = time_ns > axis_ns ? time_ns : axis_ns;
        recorded |= html_has_threads(&report->runs[i]);
    }
    json_open(&json, '{');
    json_put_text(json_key(&json, "version"), report->version);
    writer_message(report, message);
    json_put_text(json_key(&json, "message"), message);
    put_rows(&json);
    if (recorded)
        html_put_calls(&json);
    json_put_count(json_key(&json, "spans_drawn"), SPANS_DRAWN);
    html_put_exact(json_key(&json, "axis_ns"), axis_ns);
    json_open(json_key(&json, "runs"), '[');
    for (int i = 0; i < report->run_count; i++)
        put_run(&json, &report->runs[i], report->run_count == 1, axis_ns, &room);
    json_close(&json, ']');
    json_close(&json, '}');
    put_string(put, "\n");
}

enum status write_page_data(FILE *out, const struct report *report)
{
    struct put put;
    put_begin_large(&put, out);
    put_data(&put, report);
    return put_end(&put);
}

enum status write_html(FILE *out, const struct report *report)
{
    struct put put;
    const struct template_part parts[] = {
        {.name = "data", .write = put_data, .context = report},
        {.name = NULL},
    };
    put_begin_large(&put, out);
    template_put(&put, embedded_find(plot_texts, "page.html"), parts);
    return put_end(&put);
}
