/* build.c - makes timelines of a trace's rows: the part that both readers stand on. */
#include "trace/build.h"

#include "core/items.h"
#include "trace/recording.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stream or a name that was seen before. */
struct seen_stream {
    uint32_t context, stream, number;
};
struct seen_name {
    uint16_t link;
    char text[];
};

/* Everything that one device did. */
struct trace_part {
    char *device;
    struct span *spans;
    size_t count, capacity;
    void *name_tree, *stream_tree; /* roots of trees of tsearch() */
    const struct seen_name **names;
    size_t name_capacity;
    uint32_t name_count;
    const struct seen_name *last_name;
    struct trace_stream *streams;
    size_t stream_capacity;
    uint32_t stream_count;
    const struct seen_stream *last_stream;
    bool issue_unknown;
    uint32_t early; /* rows that start before their call */
    struct trace_copies in, out;
};

enum { EARLY_NS = 1000 }; /* a call may lie that much behind its op by the clocks' noise */

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
    int i = 0;
    while (i < builder->count && strcmp(builder->parts[i].device, device) != 0)
        i++;
    if (i == TRACE_DEVICES_MAX)
        return error_set(error, STATUS_USAGE, "more than %d devices", TRACE_DEVICES_MAX);
    if (i == builder->count) {
        struct trace_part *parts =
            reallocarray(builder->parts, (size_t)i + 1, sizeof *builder->parts);
        if (parts == NULL)
            return no_memory(error);
        builder->parts = parts;
        parts[i] = (struct trace_part){.device = strdup(device)};
        if (parts[i].device == NULL)
            return no_memory(error);
        builder->count++;
    }
    builder->last = i;
    *part = &builder->parts[i];
    return STATUS_OK;
}

static int compare_streams(const void *a, const void *b)
{
    const struct seen_stream *x = a, *y = b;
    if (x->context != y->context)
        return x->context < y->context ? -1 : 1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

/* Streams are numbered as they are met; two contexts may each have a stream 7. */
static const struct seen_stream *stream_of(struct trace_part *part, const struct trace_row *row)
{
    struct seen_stream key = {row->context, row->stream, part->stream_count};
    if (part->last_stream != NULL && compare_streams(&key, part->last_stream) == 0)
        return part->last_stream;
    struct seen_stream **found = tfind(&key, &part->stream_tree, compare_streams);
    if (found != NULL)
        return part->last_stream = *found;
    if (!ITEMS_ROOM(part->streams, part->stream_count, part->stream_capacity))
        return NULL;
    struct seen_stream *seen = malloc(sizeof *seen);
    if (seen == NULL)
        return NULL;
    *seen = key;
    if (tsearch(seen, &part->stream_tree, compare_streams) == NULL) {
        free(seen);
        return NULL;
    }
    part->streams[part->stream_count++] =
        (struct trace_stream){.context = row->context, .stream = row->stream};
    return part->last_stream = seen;
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

static int compare_names(const void *a, const void *b)
{
    const struct seen_name *x = a, *y = b;
    return strcmp(x->text, y->text);
}

static const struct seen_name *name_add(struct trace_part *part, struct seen_name *seen)
{
    if (!ITEMS_ROOM(part->names, part->name_count, part->name_capacity) ||
        tsearch(seen, &part->name_tree, compare_names) == NULL) {
        free(seen);
        return NULL;
    }
    seen->link = (uint16_t)part->name_count;
    part->names[part->name_count++] = seen;
    return seen;
}

static const struct seen_name *name_of(struct trace_part *part, const char *name)
{
    size_t length;
    name = trace_short_name(part->name_count < UINT16_MAX ? name : other_names, &length);
    const struct seen_name *last = part->last_name;
    if (last != NULL && strncmp(last->text, name, length) == 0 && last->text[length] == '\0')
        return last;
    struct seen_name *key = malloc(sizeof *key + length + 1);
    if (key == NULL)
        return NULL;
    memcpy(key->text, name, length);
    key->text[length] = '\0';
    struct seen_name **found = tfind(key, &part->name_tree, compare_names);
    if (found != NULL) {
        free(key);
        part->last_name = *found;
    } else {
        part->last_name = name_add(part, key);
    }
    return part->last_name;
}

/* --- rows --- */

static void count_copy(struct trace_copies *copies, const struct trace_row *row)
{
    copies->count++;
    if (row->memory != HOST_MEMORY_PAGEABLE)
        return;
    copies->pageable++;
    copies->pageable_bytes += row->bytes;
}

enum status trace_build_add(struct trace_builder *builder, const struct trace_row *row,
                            struct error *error)
{
    struct trace_part *part = NULL;
    enum status status = part_of(builder, row->device, &part, error);
    if (status != STATUS_OK)
        return status;
    enum op_kind kind = row->kind;
    const struct seen_stream *stream = stream_of(part, row);
    const struct seen_name *name = kind == OP_KERNEL ? name_of(part, row->name) : NULL;
    if (part->count >= TRACE_SPANS_MAX)
        return error_set(error, STATUS_USAGE, "more than %d rows", TRACE_SPANS_MAX);
    if (stream == NULL || (kind == OP_KERNEL && name == NULL) ||
        !ITEMS_ROOM(part->spans, part->count, part->capacity))
        return no_memory(error);
    part->spans[part->count] = (struct span){
        .op = (uint32_t)part->count,
        .kind = (uint8_t)kind,
        .engine = op_rows[kind].engine & SPAN_BITS,
        .link = kind == OP_KERNEL ? name->link : 0,
        .stream = stream->number,
        .tile = -1,
        .bytes = op_is_copy(kind) ? row->bytes : 0,
        .issue_ns = row->issue_ns < row->start_ns ? row->issue_ns : row->start_ns,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
    };
    if (op_is_copy(kind)) {
        part->spans[part->count].host_memory = (uint16_t)row->memory;
        count_copy(kind == OP_H2D ? &part->in : &part->out, row);
    }
    part->count++;
    part->issue_unknown |= row->issue_ns < 0;
    part->early += row->issue_ns > row->start_ns && row->issue_ns - row->start_ns > EARLY_NS;
    return STATUS_OK;
}

/* --- timelines --- */

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Sorts the spans by their starts; times count from the first that is known, which it returns.
 */
static int64_t set_order(struct trace_part *part)
{
    int64_t first = INT64_MAX;
    qsort(part->spans, part->count, sizeof *part->spans, compare_spans);
    for (size_t i = 0; i < part->count; i++) {
        struct span *span = &part->spans[i];
        span->op = (uint32_t)i;
        if (part->issue_unknown)
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

/* Copies all names into one piece of memory, which the timeline owns. */
static enum status set_names(const struct trace_part *part, struct timeline *timeline,
                             struct error *error)
{
    size_t bytes = 1;
    for (uint32_t i = 0; i < part->name_count; i++)
        bytes += strlen(part->names[i]->text) + 1;
    char *text = malloc(bytes);
    timeline->texts = text;
    timeline->names = calloc(part->name_count + (size_t)1, sizeof *timeline->names);
    if (text == NULL || timeline->names == NULL)
        return no_memory(error);
    for (uint32_t i = 0; i < part->name_count; i++) {
        timeline->names[i] = text;
        text = stpcpy(text, part->names[i]->text) + 1;
    }
    timeline->name_count = part->name_count;
    return STATUS_OK;
}

/* Gives the timeline what the trace says of its streams and of the host. */
static enum status set_evidence(const struct trace_part *part, const struct trace_facts *facts,
                                int64_t first_ns, struct timeline *timeline,
                                struct error *error)
{
    timeline->stream_ids =
        malloc((part->stream_count + (size_t)1) * sizeof *timeline->stream_ids);
    if (timeline->stream_ids == NULL)
        return no_memory(error);
    for (uint32_t i = 0; i < part->stream_count; i++)
        timeline->stream_ids[i] = part->streams[i].stream;
    enum status status =
        trace_kinds_take(timeline, part->streams, facts->streams, facts->stream_count, error);
    if (status != STATUS_OK || timeline->issue_unknown)
        return status;
    status = trace_waits_take(timeline, part->streams, facts->events, facts->event_count,
                              first_ns, error);
    if (status != STATUS_OK)
        return status;
    if (facts->line_count > 0) {
        timeline->lines = malloc(facts->line_count * sizeof *timeline->lines);
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

static enum status finish_part(struct trace_part *part, const struct trace_facts *facts,
                               struct trace *trace, struct error *error)
{
    const struct plan no_plan = {0};
    struct timeline *timeline = &trace->timeline;
    timeline_init(timeline);
    /* A call behind its op: the host's clock and the device's do not agree. */
    part->issue_unknown |= part->early > 0;
    int64_t first_ns = set_order(part);
    timeline->timing = facts->timing;
    snprintf(timeline->device, sizeof timeline->device, "%s", device_name(part));
    snprintf(timeline->driver, sizeof timeline->driver, "%s", facts->driver);
    timeline->resolution_ns = facts->resolution_ns;
    timeline->issue_unknown = part->issue_unknown;
    timeline->streams = part->stream_count;
    timeline->spans = part->spans;
    timeline->span_count = (uint32_t)part->count;
    part->spans = NULL;
    trace->early = part->early;
    trace->origin_ns = first_ns;
    trace->issue_known = !part->issue_unknown;
    trace->memory_known = facts->memory_known;
    trace->bytes_unit = facts->bytes_unit;
    trace->in = part->in;
    trace->out = part->out;
    enum status status = set_names(part, timeline, error);
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

enum status trace_build_finish(struct trace_builder *builder, const struct trace_facts *facts,
                               struct traces *traces, struct error *error)
{
    size_t count = (size_t)builder->count;
    struct traces result;
    enum status status = traces_create(&result, count, error);
    if (status == STATUS_OK && count > 1)
        qsort(builder->parts, count, sizeof *builder->parts, compare_parts);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct trace *trace = &result.items[i];
        snprintf(trace->name, sizeof trace->name, "%s",
                 count > 1 ? device_name(&builder->parts[i]) : "trace");
        status = finish_part(&builder->parts[i], facts, trace, error);
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
    for (int i = 0; i < builder->count; i++) {
        struct trace_part *part = &builder->parts[i];
        tdestroy(part->name_tree, free);
        tdestroy(part->stream_tree, free);
        free(part->device);
        free(part->spans);
        free(part->names);
        free(part->streams);
    }
    free(builder->parts);
    *builder = (struct trace_builder){0};
}
