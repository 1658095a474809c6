/* recording_trace.c - a recording as timelines, one for each device. */

#include "core/compare.h"
#include "core/items.h"
#include "trace/build.h"
#include "trace/input.h"
#include "trace/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EARLY_NS = 1000,   /* a call may lie that much behind its op by the clocks' noise */
    CALLED_LEAST = 10, /* where one op in as many has no call, the calls tell nothing */
};

/* Names beyond those that a span's link can tell apart share the last one. */
static const char other_names[] = "(other kernels)";

/* Timelines while they are made. */
struct maker {
    struct recording *recording;
    struct trace_part *parts; /* by device */
    uint32_t *numbers;        /* of streams; RECORDING_NONE: nothing ran in it */
    struct host_call *calls;
    struct names lines;                  /* that calls refer to */
    const struct recorded_call **events; /* calls that record or wait */
    size_t event_count;
    struct arena arena;  /* has these */
    struct error *error; /* of what goes wrong first, which ends all */
};

static bool failed(const struct maker *maker)
{
    return maker->error->status != STATUS_OK;
}

static void no_memory(const struct maker *maker)
{
    error_no_memory(maker->error, "for the trace");
}

/* Copies and memsets of no bytes never run. */
static bool issues_op(const struct recorded_call *call)
{
    switch ((enum recorded_effect)call->effect) {
    case EFFECT_COPY:
    case EFFECT_SET:
        return call->copy->width > 0 && call->copy->height > 0;
    default:
        return call->effect == EFFECT_LAUNCH;
    }
}

void recording_count_odd(const struct recording *recording, uint64_t *unseen, uint64_t *refused)
{
    *unseen = *refused = 0;
    EACH (const struct recorded_call, call, recording->calls, recording->call_count) {
        *unseen += call->result == 0 && call->op_count == 0 && issues_op(call);
        *refused += call->result != 0 && call->op_count > 0;
    }
}

/* --- spans --- */

static const char *op_name(const struct recording *recording, const struct recorded_op *op)
{
    if (op->h2h)
        return "[CUDA memcpy Host-to-Host]";
    return op->name != RECORDING_NONE && recording->names[op->name][0] != '\0'
               ? recording->names[op->name]
               : "[kernel]";
}

static bool name_of(struct trace_part *part, const char *name, uint32_t *number)
{
    size_t length;
    name = trace_short_name(name, &length);
    if (part->names.count >= UINT16_MAX && names_find(&part->names, name, length) == NULL) {
        name = other_names;
        length = strlen(other_names);
    }
    return names_number(&part->names, name, length, number);
}

/* Adds a span to the timeline of a stream's device, where streams are numbered as they are met;
 * its issue is negative where that is not known, and its op is its origin. */
static void add_span(struct maker *maker, uint32_t stream, const char *name, struct span span)
{
    struct trace_part *part = &maker->parts[maker->recording->streams[stream].device];
    uint32_t *number = &maker->numbers[stream], link = 0;
    if (*number == RECORDING_NONE) {
        uint32_t *met = ITEMS_ADD(part->streams, part->stream_count, part->stream_capacity);
        if (met != NULL)
            *met = stream;
        else
            no_memory(maker);
        *number = (uint32_t)part->stream_count - 1;
    }
    if (part->count >= TRACE_SPANS_MAX)
        error_set(maker->error, STATUS_USAGE, "more than %d rows", TRACE_SPANS_MAX);
    if ((span.kind == OP_KERNEL && !name_of(part, name, &link)) ||
        !ITEMS_ROOM(part->spans, part->count, part->capacity))
        no_memory(maker);
    if (failed(maker))
        return;
    part->uncalled += span.issue_ns < 0;
    part->early += span.issue_ns > span.start_ns && span.issue_ns - span.start_ns > EARLY_NS;
    if (span.issue_ns < 0 || span.issue_ns > span.start_ns)
        span.issue_ns = span.start_ns;
    span.engine = op_rows[span.kind].engine & SPAN_BITS;
    if (span.kind == OP_KERNEL) /* of copies it is the host's memory */
        span.link = (uint16_t)link;
    span.stream = *number;
    span.tile = -1;
    part->spans[part->count++] = span;
}

static void add_op(struct maker *maker, const struct recorded_op *op)
{
    const struct recording *recording = maker->recording;
    const bool copy = op_is_copy((enum op_kind)op->kind);
    const struct span span = {
        .op = (uint32_t)(op - recording->ops),
        .kind = op->kind,
        .bytes = copy || op->kind == OP_PEER ? op->bytes : 0,
        .host_memory = copy ? (op->kind == OP_D2H ? op->to : op->from) : 0,
        .issue_ns = op->call != RECORDING_NONE ? recording->calls[op->call].start_ns
                    : op->moves                ? op->start_ns
                                               : -1,
        .start_ns = op->start_ns,
        .end_ns = op->end_ns,
    };
    add_span(maker, op->stream, op_name(recording, op), span);
}

/* Adds all ops, and functions of the host, which run in a stream, too. */
static void add_spans(struct maker *maker)
{
    const struct recording *recording = maker->recording;
    for (size_t i = 0; i < recording->op_count && !failed(maker); i++)
        add_op(maker, &recording->ops[i]);
    for (size_t i = 0; i < recording->call_count && !failed(maker); i++) {
        const struct recorded_call *call = &recording->calls[i];
        if (call->effect == EFFECT_FUNCTION && call->known && call->stream != RECORDING_NONE)
            add_span(maker, call->stream, "",
                     (struct span){.op = (uint32_t)(recording->op_count + i),
                                   .kind = OP_CALLBACK,
                                   .issue_ns = call->start_ns,
                                   .start_ns = call->function->start_ns,
                                   .end_ns = call->function->end_ns});
    }
}

/* --- calls --- */

/* Many calls are made from one line. */
static void add_lines(struct maker *maker)
{
    const struct recording *recording = maker->recording;
    EACH (const struct recorded_line, line, recording->lines, recording->line_count) {
        uint32_t number = 0;
        if (!names_number(&maker->lines, line->text, strlen(line->text), &number))
            no_memory(maker);
        maker->calls[line->call].line = number + 1;
    }
}

COMPARE_POINTERS_BY(compare_events, struct recorded_call, event, start_ns);

enum { NOT_READY = 600 }; /* cudaErrorNotReady */

static void add_calls(struct maker *maker)
{
    for (size_t i = 0; i < maker->recording->call_count; i++) {
        const struct recorded_call *call = &maker->recording->calls[i];
        maker->calls[i] = (struct host_call){.start_ns = call->start_ns,
                                             .end_ns = call->end_ns,
                                             .thread = call->thread,
                                             .row = call->row,
                                             .added_ns = call->added_ns,
                                             .not_ready = call->result == NOT_READY};
        if ((call->effect == EFFECT_WAIT || call->effect == EFFECT_RECORD) &&
            call->stream != RECORDING_NONE)
            maker->events[maker->event_count++] = call;
    }
    qsort(maker->events, maker->event_count, sizeof *maker->events, compare_events);
}

/* --- all of it --- */

COMPARE_BY(compare_spans, struct span, start_ns, op);

/* Sorts the spans by their starts, and keeps their origins; times count from the first that is
 * known, which it returns. */
static int64_t set_order(struct trace_part *part, bool issue_unknown, uint32_t *origins)
{
    int64_t first = INT64_MAX;
    qsort(part->spans, part->count, sizeof *part->spans, compare_spans);
    for (size_t i = 0; i < part->count; i++) {
        struct span *span = &part->spans[i];
        origins[i] = span->op;
        span->op = (uint32_t)i;
        if (issue_unknown)
            span->issue_ns = span->start_ns;
        first = earlier(first, span->issue_ns);
    }
    EACH (struct span, span, part->spans, part->count) {
        span->issue_ns -= first;
        span->start_ns -= first;
        span->end_ns -= first;
    }
    return first;
}

/* Gives the timeline what the recording says of its streams and of the host. */
static void set_evidence(const struct maker *maker, const struct trace_part *part,
                         int64_t first_ns, struct timeline *timeline)
{
    struct arena *arena = &timeline->arena;
    timeline->stream_ids = arena_zeros(arena, part->stream_count, sizeof(uint32_t));
    timeline->lines = arena_zeros(arena, maker->lines.count, sizeof *timeline->lines);
    for (size_t i = 0; i < part->stream_count && !arena->full; i++)
        timeline->stream_ids[i] = maker->recording->streams[part->streams[i]].number;
    if (!arena->full)
        trace_kinds_take(timeline, part);
    if (arena->full || timeline->issue_unknown)
        return;
    for (size_t i = 0; i < maker->lines.count; i++)
        timeline->lines[i] = arena_text(arena, maker->lines.items[i]->text);
    timeline->line_count = (uint32_t)maker->lines.count;
    trace_waits_take(timeline, part, maker->events, maker->event_count, first_ns);
    trace_calls_take(timeline, maker->calls, maker->recording->call_count, first_ns);
}

/* An op whose call is not known, or behind its start, counts as issued when it began; where
 * that is one in CALLED_LEAST or more, none of the issue times counts: the host's clock and the
 * device's disagree. */
static void make_trace(const struct maker *maker, struct trace_part *part, struct trace *trace)
{
    const struct plan no_plan = {0};
    const struct recording *recording = maker->recording;
    struct timeline *timeline = &trace->timeline;
    const size_t unknown = (size_t)part->uncalled + part->early;
    *timeline = (struct timeline){0};
    timeline->issue_unknown = unknown > 0 && unknown * CALLED_LEAST >= part->count;
    trace->origins = arena_zeros(&timeline->arena, part->count, sizeof *trace->origins);
    if (trace->origins == NULL) {
        no_memory(maker);
        return;
    }
    trace->origin_count = (uint32_t)part->count;
    trace->origin_ns = set_order(part, timeline->issue_unknown, trace->origins);
    timeline->timing = recording->timing;
    snprintf(timeline->device, sizeof timeline->device, "%s",
             recording->devices[part->device].shown);
    timeline->tried = recording->simulated;
    if (recording->simulated)
        snprintf(timeline->driver, sizeof timeline->driver, "simulated, run on the CPU");
    else if (recording->traced_by != NULL)
        snprintf(timeline->driver, sizeof timeline->driver, "%s", recording->traced_by);
    else if (recording->driver > 0)
        snprintf(timeline->driver, sizeof timeline->driver, "driver %" PRIu32 ".%" PRIu32,
                 recording->driver / 1000, recording->driver % 1000 / 10);
    timeline->resolution_ns = later(recording->resolution_ns, 1);
    timeline->streams = (uint32_t)part->stream_count;
    timeline->spans = part->spans;
    timeline->span_count = (uint32_t)part->count;
    part->spans = NULL;
    timeline->ranges = recording->ranges;
    timeline->range_count = recording->range_count;
    timeline->ranges_from_ns = trace->origin_ns;
    trace->recording = recording;
    trace->device = part->device;
    trace->early = part->early;
    trace->uncalled = part->uncalled;
    trace->bytes_unit = recording->bytes_unit > 0 ? recording->bytes_unit : 1;
    trace_count_copies(trace);
    recording_count_odd(recording, &trace->unseen, &trace->refused);
    trace_names_take(&part->names, timeline);
    set_evidence(maker, part, trace->origin_ns, timeline);
    if (timeline->arena.full)
        no_memory(maker);
    else
        timeline_finish(timeline, &no_plan, maker->error);
}

static int compare_parts(const void *a, const void *b)
{
    const struct trace_part *x = a, *y = b;
    return strcmp(x->recording->devices[x->device].shown,
                  y->recording->devices[y->device].shown);
}

/* Makes timelines of the devices on which something ran, by what they are called. */
static void make_traces(struct maker *maker, struct traces *traces)
{
    const size_t devices = maker->recording->device_count;
    size_t count = 0;
    for (size_t i = 0; i < devices; i++)
        count += maker->parts[i].count > 0;
    if (count > TRACE_DEVICES_MAX)
        error_set(maker->error, STATUS_USAGE, "more than %d devices", TRACE_DEVICES_MAX);
    if (failed(maker) || traces_create(traces, count, maker->error) != STATUS_OK)
        return;
    struct trace *trace = traces->items;
    qsort(maker->parts, devices, sizeof *maker->parts, compare_parts);
    for (size_t i = 0; i < devices && !failed(maker); i++) {
        if (maker->parts[i].count == 0)
            continue;
        make_trace(maker, &maker->parts[i], trace);
        snprintf(trace->name, sizeof trace->name, "%s",
                 count > 1 ? maker->recording->devices[trace->device].shown : "trace");
        trace->timeline.more_ran = trace->unseen > 0 || maker->recording->lost > 0 || count > 1;
        trace++;
    }
}

static void make_all(struct maker *maker, struct traces *traces)
{
    struct recording *recording = maker->recording;
    struct arena *arena = &maker->arena;
    const size_t calls = recording->call_count;
    maker->parts = arena_zeros(arena, recording->device_count, sizeof *maker->parts);
    maker->numbers = arena_ones(arena, recording->stream_count, sizeof *maker->numbers);
    maker->calls = arena_zeros(arena, calls, sizeof *maker->calls);
    maker->events = arena_zeros(arena, calls, sizeof(struct recorded_call *));
    if (arena->full) {
        no_memory(maker);
        return;
    }
    for (size_t i = 0; i < recording->device_count; i++)
        maker->parts[i] = (struct trace_part){
            .recording = recording, .device = (uint32_t)i, .numbers = maker->numbers};
    add_calls(maker);
    add_lines(maker);
    add_spans(maker);
    make_traces(maker, traces);
    EACH (struct trace_part, part, maker->parts, recording->device_count) {
        names_free(&part->names);
        free(part->spans);
        free(part->streams);
    }
}

enum status recording_traces(struct recording *recording, struct traces *traces,
                             struct error *error)
{
    struct maker maker = {.recording = recording, .error = error};
    struct traces result = {0};
    make_all(&maker, &result);
    names_free(&maker.lines);
    arena_free(&maker.arena);
    result.recording = recording;
    if (failed(&maker))
        traces_free(&result);
    else
        *traces = result;
    return error->status;
}

enum status trace_recording_read(struct trace_input *input, const char *path,
                                 struct traces *traces, struct error *error)
{
    char shown[TRACE_SHOWN];
    struct error why = {0};
    struct recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL)
        return error_no_memory(error, "for the recording");
    enum status status = recording_read(input, path, recording, error);
    if (status != STATUS_OK) {
        free(recording);
        return status;
    }
    status = recording_traces(recording, traces, &why);
    return status == STATUS_OK
               ? status
               : error_set(error, status, "%s:1: %s", trace_shown(path, shown), why.text);
}
