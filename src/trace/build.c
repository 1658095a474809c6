/* build.c - makes timelines of a trace's rows: the part that both readers stand on. */
#include "trace/build.h"

#include "core/compare.h"
#include "core/items.h"
#include "trace/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything that one device did. */
struct trace_part {
    const char *device;
    struct span *spans;
    size_t count, capacity;
    struct names names, stream_numbers;
    struct trace_stream *streams; /* by number */
    size_t stream_capacity;
    uint32_t stream_count;
    uint32_t
        uncalled;   /* rows of which no call is known: they count as issued when they began */
    uint32_t early; /* rows that start before their call */
};

enum {
    EARLY_NS = 1000,   /* a call may lie that much behind its op by the clocks' noise */
    CALLED_LEAST = 10, /* where one op in as many has no call, the calls tell nothing */
};

/* Names beyond those that a span's link can tell apart share the last one. */
static const char other_names[] = "(other kernels)";

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "no memory for the trace");
}

enum op_kind trace_kind(const char *name)
{
    static const struct {
        const char *word;
        enum op_kind kind;
    } words[] = {
        {"Host-to-Device", OP_H2D}, {"HtoD", OP_H2D},          {"Host-to-Array", OP_H2D},
        {"HtoA", OP_H2D},           {"DtoH", OP_D2H},          {"Device-to-Host", OP_D2H},
        {"AtoH", OP_D2H},           {"Array-to-Host", OP_D2H}, {"Device-to-Device", OP_D2D},
        {"DtoD", OP_D2D},
    };
    if (strncmp(name, "[CUDA memset", 12) == 0)
        return OP_MEMSET;
    if (strncmp(name, "[CUDA ", 6) != 0 || strstr(name, "memcpy ") == NULL)
        return OP_KERNEL;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(name, words[i].word) != NULL)
            return words[i].kind;
    }
    return OP_KERNEL;
}

/* --- devices, streams, names --- */

static enum status part_of(struct trace_builder *builder, const char *device,
                           struct trace_part **part, struct error *error)
{
    if (builder->count > 0 && strcmp(builder->parts[builder->last].device, device) == 0) {
        *part = &builder->parts[builder->last];
        return STATUS_OK;
    }
    size_t i = 0;
    while (i < builder->count && strcmp(builder->parts[i].device, device) != 0)
        i++;
    if (i == TRACE_DEVICES_MAX)
        return error_set(error, STATUS_USAGE, "more than %d devices", TRACE_DEVICES_MAX);
    if (i == builder->count) {
        const char *name = arena_text(&builder->arena, device);
        struct trace_part *added =
            name != NULL ? ITEMS_ADD(builder->parts, builder->count, builder->capacity) : NULL;
        if (added == NULL)
            return no_memory(error);
        *added = (struct trace_part){.device = name};
    }
    builder->last = i;
    *part = &builder->parts[i];
    return STATUS_OK;
}

/* Streams are numbered as they are met; two contexts may each have a stream 7. */
static bool stream_of(struct trace_part *part, const struct trace_row *row, uint32_t *number)
{
    const uint32_t key[] = {row->context, row->stream};
    if (!names_number(&part->stream_numbers, key, sizeof key, number))
        return false;
    if (*number < part->stream_count)
        return true;
    struct trace_stream *stream =
        ITEMS_ADD(part->streams, part->stream_count, part->stream_capacity);
    if (stream != NULL)
        *stream = (struct trace_stream){.context = row->context, .stream = row->stream};
    return stream != NULL;
}

const char *trace_short_name(const char *name, size_t *length)
{
    static const char returns[] = "void ";
    if (strncmp(name, returns, sizeof returns - 1) == 0 && name[sizeof returns - 1] != '\0')
        name += sizeof returns - 1;
    size_t end = strlen(name), depth = 0;
    *length = end;
    if (end == 0 || name[end - 1] != ')')
        return name;
    while (end > 0) {
        char at = name[--end];
        depth += at == ')';
        depth -= at == '(';
        if (depth == 0)
            break;
    }
    if (end > 0 && depth == 0)
        *length = end;
    return name;
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

/* --- rows --- */

enum status trace_build_add(struct trace_builder *builder, const struct trace_row *row,
                            struct error *error)
{
    struct trace_part *part = NULL;
    enum status status = part_of(builder, row->device, &part, error);
    if (status != STATUS_OK)
        return status;
    enum op_kind kind = row->kind;
    uint32_t stream, link = 0;
    const bool numbered =
        stream_of(part, row, &stream) && (kind != OP_KERNEL || name_of(part, row->name, &link));
    if (part->count >= TRACE_SPANS_MAX)
        return error_set(error, STATUS_USAGE, "more than %d rows", TRACE_SPANS_MAX);
    if (!numbered || !ITEMS_ROOM(part->spans, part->count, part->capacity))
        return no_memory(error);
    part->spans[part->count] = (struct span){
        .op = (uint32_t)part->count,
        .kind = (uint8_t)kind,
        .engine = op_rows[kind].engine & SPAN_BITS,
        .link = (uint16_t)link,
        .stream = stream,
        .tile = -1,
        .bytes = op_is_copy(kind) ? row->bytes : 0,
        .issue_ns =
            row->issue_ns >= 0 && row->issue_ns < row->start_ns ? row->issue_ns : row->start_ns,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
    };
    if (op_is_copy(kind))
        part->spans[part->count].host_memory = (uint16_t)row->memory;
    part->count++;
    part->uncalled += row->issue_ns < 0;
    part->early += row->issue_ns > row->start_ns && row->issue_ns - row->start_ns > EARLY_NS;
    return STATUS_OK;
}

/* --- timelines --- */

COMPARE_BY(compare_spans, struct span, start_ns, op);

/* Sorts the spans by their starts; times count from the first that is known, which it returns.
 */
static int64_t set_order(struct trace_part *part, bool issue_unknown)
{
    int64_t first = INT64_MAX;
    qsort(part->spans, part->count, sizeof *part->spans, compare_spans);
    for (size_t i = 0; i < part->count; i++) {
        struct span *span = &part->spans[i];
        span->op = (uint32_t)i;
        if (issue_unknown)
            span->issue_ns = span->start_ns;
        first = span->issue_ns < first ? span->issue_ns : first;
    }
    for (size_t i = 0; i < part->count; i++) {
        part->spans[i].issue_ns -= first;
        part->spans[i].start_ns -= first;
        part->spans[i].end_ns -= first;
    }
    return first;
}

enum status trace_names_take(const struct names *names, struct timeline *timeline,
                             struct error *error)
{
    size_t bytes = 1;
    for (size_t i = 0; i < names->count; i++)
        bytes += names->items[i]->length + 1;
    char *text = arena_zeros(&timeline->arena, bytes, 1);
    timeline->names = arena_zeros(&timeline->arena, names->count, sizeof *timeline->names);
    if (timeline->arena.full)
        return no_memory(error);
    for (size_t i = 0; i < names->count; i++) {
        timeline->names[i] = text;
        text = stpcpy(text, names->items[i]->text) + 1;
    }
    timeline->name_count = (uint32_t)names->count;
    return STATUS_OK;
}

void trace_count_copies(struct trace *trace)
{
    trace->in = trace->out = (struct trace_copies){0};
    EACH (const struct span, span, trace->timeline.spans, trace->timeline.span_count) {
        struct trace_copies *copies = span->kind == OP_H2D ? &trace->in : &trace->out;
        const bool pageable = span->host_memory == HOST_MEMORY_PAGEABLE;
        if (!op_is_copy(span->kind))
            continue;
        copies->count++;
        copies->pageable += pageable;
        copies->pageable_bytes += pageable ? span->bytes : 0;
    }
}

/* Gives the timeline what the trace says of its streams and of the host. */
static enum status set_evidence(const struct trace_part *part, struct trace_facts *facts,
                                int64_t first_ns, struct timeline *timeline,
                                struct error *error)
{
    timeline->stream_ids =
        arena_zeros(&timeline->arena, part->stream_count, sizeof *timeline->stream_ids);
    if (timeline->stream_ids == NULL)
        return no_memory(error);
    for (uint32_t i = 0; i < part->stream_count; i++)
        timeline->stream_ids[i] = part->streams[i].stream;
    enum status status = trace_kinds_take(timeline, &part->stream_numbers, part->streams,
                                          facts->streams, facts->stream_count, error);
    if (status != STATUS_OK || timeline->issue_unknown)
        return status;
    status = trace_waits_take(timeline, &part->stream_numbers, facts->events,
                              facts->event_count, first_ns, error);
    if (status != STATUS_OK)
        return status;
    if (facts->line_count > 0) {
        timeline->lines =
            arena_zeros(&timeline->arena, facts->line_count, sizeof *timeline->lines);
        if (timeline->lines == NULL)
            return no_memory(error);
        memcpy(timeline->lines, facts->lines, facts->line_count * sizeof *timeline->lines);
        timeline->line_count = (uint32_t)facts->line_count;
    }
    return trace_calls_take(timeline, facts->calls, facts->call_count, first_ns, error);
}

/* Returns a name for the device: some rows of a file that names devices may lack it. */
static const char *device_name(const struct trace_part *part)
{
    return part->device[0] != '\0' ? part->device : "a GPU";
}

static enum status finish_part(struct trace_part *part, struct trace_facts *facts,
                               struct trace *trace, struct error *error)
{
    const struct plan no_plan = {0};
    struct timeline *timeline = &trace->timeline;
    timeline_init(timeline);
    /* A call behind its op is not known either: the host's clock and the device's disagree. */
    const size_t unknown = (size_t)part->uncalled + part->early;
    timeline->issue_unknown = unknown > 0 && unknown * CALLED_LEAST >= part->count;
    int64_t first_ns = set_order(part, timeline->issue_unknown);
    timeline->timing = facts->timing;
    snprintf(timeline->device, sizeof timeline->device, "%s", device_name(part));
    snprintf(timeline->driver, sizeof timeline->driver, "%s", facts->driver);
    timeline->resolution_ns = facts->resolution_ns;
    timeline->streams = part->stream_count;
    timeline->spans = part->spans;
    timeline->span_count = (uint32_t)part->count;
    part->spans = NULL;
    trace->early = part->early;
    trace->uncalled = part->uncalled;
    trace->origin_ns = first_ns;
    trace->bytes_unit = facts->bytes_unit;
    trace_count_copies(trace);
    enum status status = trace_names_take(&part->names, timeline, error);
    if (status == STATUS_OK)
        status = set_evidence(part, facts, first_ns, timeline, error);
    return status == STATUS_OK ? timeline_finish(timeline, &no_plan, error) : status;
}

enum status traces_create(struct traces *traces, size_t count, struct error *error)
{
    *traces = (struct traces){.items = calloc(count + 1, sizeof *traces->items)};
    if (traces->items == NULL)
        return no_memory(error);
    traces->count = (int)count;
    return STATUS_OK;
}

void traces_free(struct traces *traces)
{
    for (int i = 0; i < traces->count; i++)
        timeline_free(&traces->items[i].timeline);
    free(traces->items);
    if (traces->recording != NULL) {
        recording_free(traces->recording);
        free(traces->recording);
    }
    *traces = (struct traces){0};
}

static int compare_parts(const void *a, const void *b)
{
    const struct trace_part *x = a, *y = b;
    return strcmp(x->device, y->device);
}

enum status trace_build_finish(struct trace_builder *builder, struct traces *traces,
                               struct error *error)
{
    const size_t count = builder->count;
    struct traces result;
    enum status status = traces_create(&result, count, error);
    if (status == STATUS_OK && count > 1)
        qsort(builder->parts, count, sizeof *builder->parts, compare_parts);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct trace *trace = &result.items[i];
        snprintf(trace->name, sizeof trace->name, "%s",
                 count > 1 ? device_name(&builder->parts[i]) : "trace");
        status = finish_part(&builder->parts[i], &builder->facts, trace, error);
    }
    trace_build_free(builder);
    if (status == STATUS_OK)
        *traces = result;
    else
        traces_free(&result);
    return status;
}

void trace_build_free(struct trace_builder *builder)
{
    EACH (struct trace_part, part, builder->parts, builder->count) {
        names_free(&part->names);
        names_free(&part->stream_numbers);
        free(part->spans);
        free(part->streams);
    }
    free(builder->parts);
    arena_free(&builder->arena);
    free(builder->facts.calls);
    free(builder->facts.lines);
    free(builder->facts.events);
    free(builder->facts.streams);
    *builder = (struct trace_builder){0};
}
