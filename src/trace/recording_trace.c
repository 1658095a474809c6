/* recording_trace.c - a recording as timelines, one for each device. */

#include "core/compare.h"
#include "trace/build.h"
#include "trace/input.h"
#include "trace/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Facts and rows while they are made. */
struct maker {
    const struct recording *recording;
    struct trace_builder builder;
};

uint32_t recording_device_of(const struct recording *recording, const char *name)
{
    for (size_t i = 0; i < recording->device_count; i++) {
        if (strcmp(recording->devices[i].shown, name) == 0)
            return (uint32_t)i;
    }
    return RECORDING_NONE;
}

/* Copies and memsets of no bytes never run. */
static bool issues_op(const struct recorded_call *call)
{
    switch ((enum recorded_effect)call->effect) {
    case EFFECT_COPY:
        return call->copy.width > 0 && call->copy.height > 0;
    case EFFECT_SET:
        return call->set.bytes > 0;
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

/* --- rows --- */

static const char *op_name(const struct recording *recording, const struct recorded_op *op)
{
    if (op->peer)
        return "[CUDA memcpy Peer-to-Peer]";
    if (op->h2h)
        return "[CUDA memcpy Host-to-Host]";
    return op->name != RECORDING_NONE && recording->names[op->name][0] != '\0'
               ? recording->names[op->name]
               : "[kernel]";
}

static enum status add_row(struct maker *maker, uint32_t stream, struct trace_row *row,
                           struct error *error)
{
    const struct recorded_stream *recorded = &maker->recording->streams[stream];
    row->device = maker->recording->devices[recorded->device].shown;
    row->context = recorded->context;
    row->stream = recorded->number;
    return trace_build_add(&maker->builder, row, error);
}

static enum status add_op(struct maker *maker, const struct recorded_op *op,
                          struct error *error)
{
    const struct recording *recording = maker->recording;
    struct trace_row row = {
        .kind = (enum op_kind)op->kind,
        .name = op_name(recording, op),
        .bytes = op->bytes,
        .memory = (enum host_memory)(op->kind == OP_D2H ? op->to : op->from),
        .issue_ns = op->call != RECORDING_NONE ? recording->calls[op->call].start_ns
                    : op->moves                ? op->start_ns
                                               : -1,
        .start_ns = op->start_ns,
        .end_ns = op->end_ns,
    };
    return add_row(maker, op->stream, &row, error);
}

/* A function of the host's runs in a stream, too. */
static enum status add_function(struct maker *maker, const struct recorded_call *call,
                                struct error *error)
{
    struct trace_row row = {
        .kind = OP_CALLBACK,
        .name = "",
        .issue_ns = call->start_ns,
        .start_ns = call->function.start_ns,
        .end_ns = call->function.end_ns,
    };
    return add_row(maker, call->stream, &row, error);
}

static enum status add_rows(struct maker *maker, struct error *error)
{
    const struct recording *recording = maker->recording;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < recording->op_count && status == STATUS_OK; i++)
        status = add_op(maker, &recording->ops[i], error);
    for (size_t i = 0; i < recording->call_count && status == STATUS_OK; i++) {
        const struct recorded_call *call = &recording->calls[i];
        if (call->effect == EFFECT_FUNCTION && call->known && call->stream != RECORDING_NONE)
            status = add_function(maker, call, error);
    }
    return status;
}

/* --- facts --- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Many calls are made from one line. */
static void list_lines(const struct recording *recording, struct trace_facts *facts)
{
    const char **lines = facts->lines;
    for (size_t i = 0; i < recording->line_count; i++)
        lines[i] = recording->lines[i].text;
    qsort(lines, recording->line_count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < recording->line_count; i++) {
        if (i == 0 || strcmp(lines[facts->line_count - 1], lines[i]) != 0)
            lines[facts->line_count++] = lines[i];
    }
}

static void add_lines(const struct recording *recording, struct trace_facts *facts)
{
    EACH (const struct recorded_line, line, recording->lines, recording->line_count) {
        const char **found = bsearch(&line->text, facts->lines, facts->line_count,
                                     sizeof *facts->lines, compare_lines);
        facts->calls[line->call].line = (uint32_t)(found - facts->lines) + 1;
    }
}

enum { NOT_READY = 600 }; /* cudaErrorNotReady */

static void add_calls(const struct recording *recording, struct trace_facts *facts)
{
    for (size_t i = 0; i < recording->call_count; i++) {
        const struct recorded_call *call = &recording->calls[i];
        facts->calls[facts->call_count++] =
            (struct host_call){.start_ns = call->start_ns,
                               .end_ns = call->end_ns,
                               .thread = call->thread,
                               .row = call->row,
                               .not_ready = call->result == NOT_READY};
        bool waits = call->effect == EFFECT_WAIT;
        if ((!waits && call->effect != EFFECT_RECORD) || call->stream == RECORDING_NONE)
            continue;
        const struct recorded_stream *stream = &recording->streams[call->stream];
        facts->events[facts->event_count++] =
            (struct trace_event){.process = 0,
                                 .event = (int64_t)call->event,
                                 .issue_ns = call->start_ns,
                                 .context = stream->context,
                                 .stream = stream->number,
                                 .waits = waits};
    }
}

static void add_streams(const struct recording *recording, struct trace_facts *facts)
{
    for (size_t i = 0; i < recording->stream_count; i++) {
        const struct recorded_stream *stream = &recording->streams[i];
        if (stream->kind != STREAM_KIND_COUNT)
            facts->streams[facts->stream_count++] = (struct trace_stream){
                .context = stream->context, .stream = stream->number, .kind = stream->kind};
    }
}

/* --- the origins of spans --- */

/* The origin of a span: an op, or, numbered behind all of them, a call that ran a function. */
struct origin {
    int64_t start_ns;
    uint32_t number;
};

COMPARE_BY(compare_origins, struct origin, start_ns, number);

static bool is_of(const struct recording *recording, uint32_t stream, uint32_t device)
{
    return stream < recording->stream_count && recording->streams[stream].device == device;
}

uint32_t *recording_list_spans(const struct recording *recording, uint32_t device,
                               size_t *count, struct arena *arena)
{
    const size_t all = recording->op_count + recording->call_count;
    struct origin *origins = arena_zeros(arena, all, sizeof *origins);
    uint32_t *numbers = arena_zeros(arena, all, sizeof *numbers);
    *count = 0;
    if (origins == NULL || numbers == NULL)
        return NULL;
    for (size_t i = 0; i < recording->op_count; i++) {
        if (is_of(recording, recording->ops[i].stream, device))
            origins[(*count)++] = (struct origin){recording->ops[i].start_ns, (uint32_t)i};
    }
    for (size_t i = 0; i < recording->call_count; i++) {
        const struct recorded_call *call = &recording->calls[i];
        if (call->effect == EFFECT_FUNCTION && call->known &&
            is_of(recording, call->stream, device))
            origins[(*count)++] =
                (struct origin){call->function.start_ns, (uint32_t)(recording->op_count + i)};
    }
    qsort(origins, *count, sizeof *origins, compare_origins);
    for (size_t i = 0; i < *count; i++)
        numbers[i] = origins[i].number;
    return numbers;
}

/* --- all of it --- */

/* Fills the builder's facts, but for what all recordings have in common. */
static enum status add_facts(const struct recording *recording, struct trace_facts *facts,
                             struct error *error)
{
    facts->calls = malloc((recording->call_count + 1) * sizeof *facts->calls);
    facts->events = malloc((recording->call_count + 1) * sizeof *facts->events);
    facts->streams = malloc((recording->stream_count + 1) * sizeof *facts->streams);
    facts->lines = malloc((recording->line_count + 1) * sizeof *facts->lines);
    if (!facts->lines || !facts->calls || !facts->events || !facts->streams)
        return error_set(error, STATUS_NO_MEMORY, "no memory for the trace");
    add_calls(recording, facts);
    list_lines(recording, facts);
    add_lines(recording, facts);
    add_streams(recording, facts);
    if (recording->traced_by != NULL)
        snprintf(facts->driver, sizeof facts->driver, "%s", recording->traced_by);
    else if (recording->driver > 0)
        snprintf(facts->driver, sizeof facts->driver, "driver %" PRIu32 ".%" PRIu32,
                 recording->driver / 1000, recording->driver % 1000 / 10);
    return STATUS_OK;
}

static enum status make(struct maker *maker, struct traces *traces, struct error *error)
{
    const struct recording *recording = maker->recording;
    struct trace_builder *builder = &maker->builder;
    builder->facts = (struct trace_facts){
        .timing = recording->timing,
        .resolution_ns = later(recording->resolution_ns, 1),
        .bytes_unit = recording->bytes_unit > 0 ? recording->bytes_unit : 1};
    enum status status = add_rows(maker, error);
    if (status == STATUS_OK)
        status = add_facts(recording, &builder->facts, error);
    return status == STATUS_OK ? trace_build_finish(builder, traces, error) : status;
}

enum status recording_traces(struct recording *recording, struct traces *traces,
                             struct error *error)
{
    struct maker maker = {.recording = recording};
    enum status status = make(&maker, traces, error);
    trace_build_free(&maker.builder);
    if (status != STATUS_OK) {
        recording_free(recording);
        free(recording);
        return status;
    }
    traces->recording = recording;
    EACH (struct trace, trace, traces->items, traces->count) {
        trace->recording = recording;
        trace->timeline.ranges = recording->ranges;
        trace->timeline.range_count = recording->range_count;
        trace->timeline.ranges_from_ns = trace->origin_ns;
        recording_count_odd(recording, &trace->unseen, &trace->refused);
        trace->timeline.more_ran =
            trace->unseen > 0 || recording->lost > 0 || traces->count > 1;
    }
    return STATUS_OK;
}

enum status trace_recording_read(struct trace_input *input, const char *path,
                                 struct traces *traces, struct error *error)
{
    char shown[TRACE_SHOWN];
    struct error why = {0};
    struct recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for the recording");
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
