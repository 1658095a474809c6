/* trace.c - the timelines as a Chrome trace (Trace Event Format, JSON object form).
 *
 * A process per run, so that a comparison opens as one file in ui.perfetto.dev or
 * chrome://tracing. One event a line. Provenance stands in `metadata`, before the events, where
 * a look at the file's beginning shows it; viewers keep or pass over what they do not know. */
#include "writers/json.h"
#include "writers/trace_tracks.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* --- provenance --- */

/* Writes what is known of a run of our own only. */
static void put_own_provenance(struct json *json, const struct run_report *run)
{
    char speedup[32];
    json_put_exact_ms(json_key(json, "limit_ms"), run->limit.ns);
    snprintf(speedup, sizeof speedup, "%.9g", run->speedup);
    json_put_raw(json_key(json, "speedup"), isfinite(run->speedup) ? speedup : "null");
    const bool judged = run->verified == VERIFIED_NO || run->verified == VERIFIED_YES;
    json_put_bool(json_key_of(json, "verified", judged), run->verified == VERIFIED_YES);
    json_put_settings(json_key(json, "settings"), run->settings);
}

/* Writes what a reader of the events would not know: `pipeline view` reads it back. */
static void put_order(struct json *json, const struct timeline *timeline)
{
    if (timeline->issue_unknown)
        json_put_bool(json_key(json, "issue_known"), false);
    if (timeline->launched_ns > 0)
        json_put_integer(json_key(json, "launched_ns"), timeline->launched_ns);
    if (timeline->stream_kinds == NULL)
        return;
    json_open(json_key(json, "stream_kinds"), '{');
    for (uint32_t i = 0; i < timeline->streams; i++) {
        char id[16];
        enum stream_kind kind = timeline_stream_kind(timeline, i);
        snprintf(id, sizeof id, "%" PRIu32, timeline_stream_id(timeline, i));
        if (kind != STREAM_NONBLOCKING)
            json_put_text(json_key(json, id), stream_kind_name(kind));
    }
    json_close(json, '}');
}

static void put_provenance(struct json *json, const struct run_report *run, uint32_t pid)
{
    const struct timeline *timeline = &run->timeline;
    json_line(json);
    json_open(json, '{');
    json_put_count(json_key(json, "pid"), pid);
    json_put_text(json_key(json, "name"), run->settings->name);
    json_put_text(json_key(json, "source"), timeline_source(timeline));
    json_put_text(json_key(json, "timing"), timeline_timing(timeline));
    json_put_text(json_key(json, "device"), report_device(run));
    if (timeline->driver[0] != '\0')
        json_put_text(json_key(json, "driver"), timeline->driver);
    if (timeline->devices > 1)
        json_put_count(json_key(json, "devices"), timeline->devices);
    json_put_integer(json_key(json, "resolution_ns"), timeline->resolution_ns);
    json_put_exact_ms(json_key(json, "time_ms"), run->median_ns);
    if (!run->profiled)
        json_put_exact_ms(json_key(json, "timeline_ms"), timeline_time_ns(timeline));
    put_order(json, timeline);
    if (!run->foreign)
        put_own_provenance(json, run);
    else if (writer_limit_known(run))
        json_put_exact_ms(json_key(json, "limit_ms"), run->limit.ns);
    json_close(json, '}');
}

static void put_metadata(struct put *put, const struct report *report)
{
    struct json json = {.put = put};
    PUT_LITERAL(put, "\"metadata\":");
    json_open(&json, '{');
    json_put_text(json_key(&json, "producer"), "pipeline");
    json_put_text(json_key(&json, "version"), report->version);
    json_open(json_key(&json, "runs"), '[');
    uint32_t pid = 1;
    for (int i = 0; i < report->run_count; i++) {
        put_provenance(&json, &report->runs[i], pid);
        pid += tracks_processes(&report->runs[i].timeline);
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

/* --- processes --- */

static void put_process_event(struct put *put, const struct tracks *tracks, uint32_t pid,
                              const char *name)
{
    PUT_LITERAL(put, "\n{\"ph\":\"M\",\"pid\":");
    put_integer(put, pid);
    PUT_LITERAL(put, ",\"tid\":");
    put_integer(put, tracks->first_tid);
    PUT_LITERAL(put, ",\"name\":\"");
    put_string(put, name);
    PUT_LITERAL(put, "\",\"args\":{");
}

static void put_sort_index(struct put *put, const struct tracks *tracks, uint32_t pid)
{
    put_process_event(put, tracks, pid, "process_sort_index");
    PUT_LITERAL(put, "\"sort_index\":");
    put_integer(put, pid);
    PUT_LITERAL(put, "}}");
}

/* Puts the process of one of several devices of a run, called "3-way: device 1". */
static void put_device(struct put *put, const struct tracks *tracks, uint32_t device)
{
    const uint32_t pid = tracks_device_pid(tracks, device);
    PUT_LITERAL(put, ",");
    put_process_event(put, tracks, pid, "process_name");
    PUT_LITERAL(put, "\"name\":\"");
    put_json_text(put, tracks->run->settings->name, false);
    PUT_LITERAL(put, ": device ");
    put_integer(put, device);
    PUT_LITERAL(put, "\"}},");
    put_sort_index(put, tracks, pid);
}

/* Puts the process of a run, called "3-way: 5.67 ms, 1.84x, limit 5.62 ms, simulated", and its
 * tracks. */
static void put_process(struct put *put, const struct tracks *tracks, bool alone)
{
    char figures[FIGURES_TEXT];
    writer_figures(tracks->run, alone, figures);
    if (tracks->pid > 1)
        PUT_LITERAL(put, ",");
    put_process_event(put, tracks, tracks->pid, "process_name");
    PUT_LITERAL(put, "\"name\":\"");
    put_json_text(put, tracks->run->settings->name, false);
    put_json_text(put, figures, false);
    PUT_LITERAL(put, ", ");
    put_string(put, timeline_source(&tracks->run->timeline));
    PUT_LITERAL(put, "\"}},");
    put_process_event(put, tracks, tracks->pid, "process_labels");
    PUT_LITERAL(put, "\"labels\":\"");
    put_json_text(put, report_device(tracks->run), false);
    PUT_LITERAL(put, "\"}},");
    put_sort_index(put, tracks, tracks->pid);
    for (uint32_t i = 0; i < tracks->devices && tracks->devices > 1; i++)
        put_device(put, tracks, i);
    tracks_put_names(put, tracks);
    threads_put_names(put, tracks);
    tracks_put_spans(put, tracks);
    tracks_put_calls(put, tracks);
    threads_put(put, tracks);
    tracks_put_busy(put, tracks);
}

enum status write_trace(FILE *out, const struct report *report)
{
    struct put put;
    flockfile(out);
    put_begin_large(&put, out);
    PUT_LITERAL(&put, "{\"displayTimeUnit\":\"ms\",\n");
    put_metadata(&put, report);
    PUT_LITERAL(&put, ",\n\"traceEvents\":[");
    uint32_t tid = 1, pid = 1;
    for (int i = 0; i < report->run_count; i++) /* tids are behind all pids */
        tid += tracks_processes(&report->runs[i].timeline);
    for (int i = 0; i < report->run_count; i++) {
        struct tracks tracks = tracks_of(&report->runs[i], pid, tid);
        pid += tracks_processes(&report->runs[i].timeline);
        threads_lay_out(&tracks);
        put_process(&put, &tracks, report->run_count == 1);
        tid = tracks.end_tid;
    }
    PUT_LITERAL(&put, "\n]}\n");
    enum status status = put_end(&put);
    funlockfile(out);
    return status;
}
