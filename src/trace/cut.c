/* cut.c - a part of a trace: some of its time, some of its streams. */
#include "trace/trace.h"

#include "core/units.h"
#include "trace/build.h"
#include "trace/input.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* --- which devices and streams --- */

/* Returns true if `part` leaves a device in: it is the trace's number in its file, or behind
 * its name as in "NVIDIA H200 (1)", or a part of the name whatever its case. */
static bool is_device(const struct trace *trace, int number, const struct view_part *part)
{
    const char *wanted = part->device, *name = trace->timeline.device;
    char behind[TIMELINE_TEXT];
    uint64_t value;
    if (wanted == NULL)
        return true;
    if (wanted[strspn(wanted, "0123456789")] != '\0')
        return strcasestr(name, wanted) != NULL;
    size_t length = strlen(name);
    bool numbered = length > 0 && name[length - 1] == ')';
    snprintf(behind, sizeof behind, "(%s)", wanted);
    if (numbered)
        return length >= strlen(behind) && strcmp(name + length - strlen(behind), behind) == 0;
    return trace_read_whole(wanted, INT_MAX, &value) && (int)value == number;
}

static bool is_wanted(const struct view_part *part, uint32_t id)
{
    for (int i = 0; i < part->stream_count; i++) {
        if (part->streams[i] == id)
            return true;
    }
    return part->stream_count == 0;
}

/* Returns true if the trace has one of the streams, or all are wanted. */
static bool has_streams(const struct trace *trace, const struct view_part *part)
{
    const struct timeline *timeline = &trace->timeline;
    for (uint32_t i = 0; i < timeline->streams; i++) {
        if (is_wanted(part, timeline_stream_id(timeline, i)))
            return true;
    }
    return part->stream_count == 0;
}

/* An op in no stream, such as a wait of the host for the whole device, is about all streams.
 */
static bool has_stream(const struct timeline *timeline, const struct span *span,
                       const struct view_part *part)
{
    if (span->stream < timeline->streams)
        return is_wanted(part, timeline_stream_id(timeline, span->stream));
    return part->stream_count == 0 || op_is_call(span->kind);
}

/* --- spans --- */

/* Shortens a span to the window from `from` to `to`. Returns false where nothing is left. */
static bool clip(struct span *span, int64_t from, int64_t to)
{
    int64_t start_ns = later(span->start_ns, from), end_ns = earlier(span->end_ns, to);
    int64_t length_ns = span->end_ns - span->start_ns;
    bool point = length_ns == 0 && span->start_ns >= from && span->start_ns < to;
    if (start_ns >= end_ns && !point)
        return false;
    if (length_ns > 0 && end_ns - start_ns < length_ns)
        span->bytes =
            (uint64_t)((double)span->bytes * (double)(end_ns - start_ns) / (double)length_ns +
                       0.5);
    span->start_ns = start_ns - from;
    span->end_ns = end_ns - from;
    span->issue_ns = later(span->issue_ns, from) - from;
    return true;
}

/* Keeps the spans of the part, in their order. A wait for what is gone waits for nothing that
 * is known. */
static void keep_spans(struct timeline *timeline, const struct view_part *part, int64_t from,
                       int64_t to)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        struct span span = timeline->spans[i];
        if (has_stream(timeline, &span, part) && clip(&span, from, to))
            timeline->spans[kept++] = span;
    }
    timeline->span_count = kept;
    EACH (struct span, span, timeline->spans, kept) {
        if (op_rows[span->kind].waits && timeline_span(timeline, span->target) == NULL)
            span->target = UINT32_MAX;
    }
}

/* Lets the host's calls and the streams' waits count from the window's beginning. Calls outside
 * of it are left out, and waits of or for what is gone. */
static void keep_calls(struct timeline *timeline, int64_t from, int64_t to)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        struct host_call call = timeline->calls[i];
        if (call.end_ns <= from || call.start_ns >= to)
            continue;
        call.start_ns -= from;
        call.end_ns -= from;
        timeline->calls[kept++] = call;
    }
    timeline->call_count = kept;
    timeline->ranges_from_ns += from;
    kept = 0;
    for (uint32_t i = 0; i < timeline->wait_count; i++) {
        struct stream_wait wait = timeline->waits[i];
        if (timeline_span(timeline, wait.op) == NULL ||
            (wait.target != UINT32_MAX && timeline_span(timeline, wait.target) == NULL))
            continue;
        wait.elsewhere_ns -= wait.target == UINT32_MAX ? from : 0;
        timeline->waits[kept++] = wait;
    }
    timeline->wait_count = kept;
}

/* Returns the number of a span's stream; `count`, the first that is none, where it is in none.
 */
static uint32_t stream_of(const struct span *span, uint32_t count)
{
    return span->stream < count ? span->stream : count;
}

/* Numbers the streams that are left anew; each keeps its id. Those of several devices stay:
 * each has as many. */
static enum status keep_streams(struct timeline *timeline, struct error *error)
{
    uint32_t count = timeline->streams, kept = 0;
    if (timeline->devices > 1)
        return STATUS_OK;
    uint32_t *ids = arena_zeros(&timeline->arena, count, sizeof *ids);
    uint32_t *places = arena_zeros(&timeline->arena, count + (size_t)1, sizeof *places);
    if (timeline->arena.full)
        return error_no_memory(error, "to cut a trace");
    for (uint32_t i = 0; i < timeline->span_count; i++)
        places[stream_of(&timeline->spans[i], count)] = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (places[i] == 0)
            continue;
        ids[kept] = timeline_stream_id(timeline, i);
        if (timeline->stream_kinds != NULL)
            timeline->stream_kinds[kept] = timeline->stream_kinds[i];
        places[i] = kept++;
    }
    places[count] = kept;
    for (uint32_t i = 0; i < timeline->span_count; i++)
        timeline->spans[i].stream = places[stream_of(&timeline->spans[i], count)];
    timeline->stream_ids = ids;
    timeline->streams = kept;
    return STATUS_OK;
}

/* --- the window --- */

static int64_t edge_ns(const struct view_edge *edge, int64_t time_ns, int64_t otherwise)
{
    if (!edge->given)
        return otherwise;
    return edge->share ? (int64_t)(edge->part * (double)time_ns + 0.5) : edge->ns;
}

/* Writes "2 ms to 5 ms of 12.1 ms, streams 13 and 14". */
static void tell_part(struct trace *trace, const struct view_part *part, int64_t from,
                      int64_t to, int64_t time_ns)
{
    char first[UNITS_TEXT], last[UNITS_TEXT], whole[UNITS_TEXT];
    const char *word = part->stream_count == 1 ? "stream " : "streams ";
    if (part->from.given || part->to.given)
        snprintf(trace->part, sizeof trace->part, "%s to %s of %s", units_time(from, first),
                 units_time(earlier(to, time_ns), last), units_time(time_ns, whole));
    for (int i = 0; i < part->stream_count; i++)
        text_add(trace->part, sizeof trace->part, ", ", "%s%" PRIu32, i == 0 ? word : "",
                 part->streams[i]);
}

/* Keeps what ran of a part from `from` to `to`. After STATUS_NO_MEMORY the trace can only be
 * freed. */
static enum status keep_part(struct trace *trace, const struct view_part *part, int64_t from,
                             int64_t to, struct error *error)
{
    const struct plan no_plan = {0};
    struct timeline *timeline = &trace->timeline;
    keep_spans(timeline, part, from, to);
    keep_calls(timeline, from, to);
    timeline->partial = true;
    timeline->more_ran |= part->stream_count > 0;
    timeline->begun = from > 0;
    timeline->launched_ns = later(timeline->launched_ns - from, 0);
    enum status status = keep_streams(timeline, error);
    if (status != STATUS_OK)
        return status;
    trace_count_copies(trace);
    trace->limit_ns = 0;
    trace->speedup = 0;
    trace->from_ns = from;
    return timeline_finish(timeline, &no_plan, error);
}

enum status trace_keep_loop(struct trace *trace, struct error *error)
{
    const struct view_part all = {0};
    const struct loop *loop = &trace->loop;
    trace->end_ns = timeline_time_ns(&trace->timeline) - loop->to_ns;
    return keep_part(trace, &all, loop->from_ns, loop->to_ns, error);
}

/* Cuts one trace: see traces_cut(). After STATUS_NO_MEMORY it can only be freed. */
static enum status cut_trace(struct trace *trace, const struct view_part *part,
                             struct error *error)
{
    const int64_t time_ns = timeline_time_ns(&trace->timeline);
    int64_t from = edge_ns(&part->from, time_ns, 0),
            to = edge_ns(&part->to, time_ns, INT64_MAX);
    char begin[UNITS_TEXT], end[UNITS_TEXT];
    if (!part->from.given && !part->to.given && part->stream_count == 0)
        return STATUS_OK;
    if (from >= to)
        return error_set(error, STATUS_USAGE, "--window ends before it begins, at %s of %s",
                         units_time(from, begin), units_time(time_ns, end));
    if (from >= time_ns && from > 0)
        return error_set(error, STATUS_USAGE, "--window begins at %s, and all has ended at %s",
                         units_time(from, begin), units_time(time_ns, end));
    tell_part(trace, part, from, to, time_ns);
    return keep_part(trace, part, from, to, error);
}

/* --- all traces of a file --- */

/* Lists what the file has, for somebody who asked for something else. */
static enum status refuse_part(const char *path, const struct traces *traces,
                               const struct view_part *part, bool device, struct error *error)
{
    char list[512] = "";
    for (int i = 0; i < traces->count; i++) {
        const struct timeline *timeline = &traces->items[i].timeline;
        if (device)
            text_add(list, sizeof list, ", ", "%s", timeline->device);
        for (uint32_t k = 0; !device && k < timeline->streams; k++)
            text_add(list, sizeof list, ", ", "%u", timeline_stream_id(timeline, k));
    }
    if (device)
        return error_set(error, STATUS_USAGE, "--device=%.64s: %.96s has %.400s", part->device,
                         path, list);
    return error_set(error, STATUS_USAGE,
                     "--stream: %.96s has none of these: its streams are %.400s", path, list);
}

/* Returns true if `part` leaves a trace in: by its device, or else by its streams. */
static bool leaves_in(const struct trace *trace, int number, const struct view_part *part,
                      bool device)
{
    return device ? is_device(trace, number, part) : has_streams(trace, part);
}

enum status traces_cut(struct traces *traces, const struct view_part *part, const char *path,
                       struct error *error)
{
    enum status status = STATUS_OK;
    for (int pass = 0; pass < 2 && traces->count > 0; pass++) {
        const bool device = pass == 0;
        int kept = 0, to = 0;
        for (int i = 0; i < traces->count; i++)
            kept += leaves_in(&traces->items[i], i, part, device);
        if (kept == 0)
            return refuse_part(path, traces, part, device, error);
        for (int i = 0; i < traces->count; i++) {
            struct trace trace = traces->items[i];
            if (leaves_in(&trace, i, part, device))
                traces->items[to++] = trace;
            else
                timeline_free(&trace.timeline);
        }
        traces->count = kept;
    }
    for (int i = 0; i < traces->count && status == STATUS_OK; i++)
        status = cut_trace(&traces->items[i], part, error);
    return status;
}
