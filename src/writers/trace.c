/* trace.c - the timelines as a Chrome trace (Trace Event Format, JSON object form).
 *
 * A process per run, so that a comparison opens as one file in ui.perfetto.dev or
 * chrome://tracing. One event a line. Provenance stands in `metadata`, before the events, where
 * a look at the file's beginning shows it; viewers keep or pass over what they do not know. */
#include "writers/trace.h"
#include "core/units.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- provenance --- */

static void put_key(struct put *put, const char *key)
{
    PUT_LITERAL(put, ",\"");
    put_string(put, key);
    PUT_LITERAL(put, "\":");
}

static void put_quoted(struct put *put, const char *text)
{
    PUT_LITERAL(put, "\"");
    put_json_text(put, text);
    PUT_LITERAL(put, "\"");
}

static void put_text_member(struct put *put, const char *key, const char *text)
{
    put_key(put, key);
    put_quoted(put, text);
}

static void put_ms_member(struct put *put, const char *key, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    char text[48];
    snprintf(text, sizeof text, "%s%" PRIu64 ".%06" PRIu64, ns < 0 ? "-" : "", size / 1000000,
             size % 1000000);
    put_key(put, key);
    put_string(put, text);
}

/* As in the JSON report: a number is one that JSON and 64 bits hold, else it stays a string. */
static bool is_number(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    bool number = json_is_number(value);
    json_decref(value);
    return number;
}

struct settings_context {
    struct put *put;
    bool any;
};

static void put_setting(void *context, const char *name, const char *value,
                        enum value_kind kind)
{
    struct settings_context *settings = context;
    struct put *put = settings->put;
    if (settings->any)
        PUT_LITERAL(put, ",");
    settings->any = true;
    put_quoted(put, name);
    PUT_LITERAL(put, ":");
    if (kind == VALUE_NULL)
        PUT_LITERAL(put, "null");
    else if (kind == VALUE_BOOL || (kind != VALUE_TEXT && is_number(value)))
        put_string(put, value);
    else
        put_quoted(put, value);
}

static void put_verified(struct put *put, enum verified verified)
{
    put_key(put, "verified");
    if (verified == VERIFIED_NOT_ASKED)
        PUT_LITERAL(put, "null");
    else
        put_string(put, verified == VERIFIED_YES ? "true" : "false");
}

/* What is known of a run of our own only. */
static void put_own_provenance(struct put *put, const struct run_report *run)
{
    struct settings_context settings = {put, false};
    char speedup[32];
    put_ms_member(put, "limit_ms", run->limit.ns);
    put_key(put, "speedup");
    snprintf(speedup, sizeof speedup, "%.9g", run->speedup);
    put_string(put, is_number(speedup) ? speedup : "null");
    put_verified(put, run->verified);
    PUT_LITERAL(put, ",\"settings\":{");
    settings_each(run->settings, put_setting, &settings);
    PUT_LITERAL(put, "}");
}

static void put_provenance(struct put *put, const struct run_report *run, uint32_t pid)
{
    const struct timeline *timeline = &run->timeline;
    PUT_LITERAL(put, "\n{\"pid\":");
    put_integer(put, pid);
    put_text_member(put, "name", run->settings->name);
    put_text_member(put, "source", timeline_source(timeline));
    put_text_member(put, "timing", timeline_timing(timeline));
    put_text_member(put, "device", writer_device(run));
    if (timeline->driver[0] != '\0')
        put_text_member(put, "driver", timeline->driver);
    put_key(put, "resolution_ns");
    put_integer(put, timeline->resolution_ns);
    put_ms_member(put, "span_ms", run->median_ns);
    if (!run->profiled)
        put_ms_member(put, "timeline_ms", timeline_time_ns(timeline));
    if (!run->foreign)
        put_own_provenance(put, run);
    PUT_LITERAL(put, "}");
}

static void put_metadata(struct put *put, const struct report *report)
{
    PUT_LITERAL(put, "\"metadata\":{\"producer\":\"pipeline\"");
    put_text_member(put, "version", report->version);
    PUT_LITERAL(put, ",\"runs\":[");
    for (int i = 0; i < report->run_count; i++) {
        if (i > 0)
            PUT_LITERAL(put, ",");
        put_provenance(put, &report->runs[i], (uint32_t)i + 1);
    }
    PUT_LITERAL(put, "]}");
}

/* --- processes --- */

/* "3-way: 5.67 ms, 1.84x, limit 5.62 ms, simulated". The median's span; the drawn run's own
 * too, where they differ to the eye. */
static void put_process_name(struct put *put, const struct run_report *run)
{
    char span[UNITS_TEXT], drawn[UNITS_TEXT], limit[UNITS_TEXT], figures[160];
    int used = snprintf(figures, sizeof figures, ": %s", units_time(run->median_ns, span));
    if (!run->foreign && isfinite(run->speedup))
        used += snprintf(figures + used, sizeof figures - (size_t)used, ", %.2fx",
                         fmin(run->speedup, 1e9));
    if (!run->foreign)
        used += snprintf(figures + used, sizeof figures - (size_t)used, ", limit %s",
                         units_time(run->limit.ns, limit));
    units_time(timeline_time_ns(&run->timeline), drawn);
    if (!run->profiled && strcmp(span, drawn) != 0)
        used += snprintf(figures + used, sizeof figures - (size_t)used, ", drawn %s", drawn);
    snprintf(figures + used, sizeof figures - (size_t)used, ", %s",
             timeline_source(&run->timeline));
    put_json_text(put, run->settings->name);
    put_json_text(put, figures);
}

static void put_process_event(struct put *put, const struct tracks *tracks, const char *name)
{
    PUT_LITERAL(put, "\n{\"ph\":\"M\",\"pid\":");
    put_integer(put, tracks->pid);
    PUT_LITERAL(put, ",\"tid\":");
    put_integer(put, tracks->first_tid);
    put_text_member(put, "name", name);
    PUT_LITERAL(put, ",\"args\":{");
}

static void put_process(struct put *put, const struct tracks *tracks)
{
    if (tracks->pid > 1)
        PUT_LITERAL(put, ",");
    put_process_event(put, tracks, "process_name");
    PUT_LITERAL(put, "\"name\":\"");
    put_process_name(put, tracks->run);
    PUT_LITERAL(put, "\"}},");
    put_process_event(put, tracks, "process_labels");
    PUT_LITERAL(put, "\"labels\":");
    put_quoted(put, writer_device(tracks->run));
    PUT_LITERAL(put, "}},");
    put_process_event(put, tracks, "process_sort_index");
    PUT_LITERAL(put, "\"sort_index\":");
    put_integer(put, tracks->pid);
    PUT_LITERAL(put, "}}");
    tracks_put_names(put, tracks);
    tracks_put_spans(put, tracks);
    tracks_put_calls(put, tracks);
    tracks_put_busy(put, tracks);
}

void write_trace(FILE *out, const struct report *report)
{
    struct put put;
    flockfile(out);
    put_begin(&put, out);
    PUT_LITERAL(&put, "{\"displayTimeUnit\":\"ms\",\n");
    put_metadata(&put, report);
    PUT_LITERAL(&put, ",\n\"traceEvents\":[");
    uint32_t tid = (uint32_t)report->run_count + 1;
    for (int i = 0; i < report->run_count; i++) {
        struct tracks tracks = tracks_of(&report->runs[i], (uint32_t)i + 1, tid);
        put_process(&put, &tracks);
        tid = tracks.end_tid;
    }
    PUT_LITERAL(&put, "\n]}\n");
    put_end(&put);
    funlockfile(out);
}
