/* chrome.c - reads the Chrome traces that PyTorch's profiler and other users of Kineto write.
 *
 * "Trace Event Format" (Google) is the frame. Events come in any order, and what they refer to
 * may stand behind them: ops are kept until the end. Times are microseconds with decimals,
 * since 2024 counted from `baseTimeNanoseconds`. A call and what it started share a
 * correlation; all ops of a graph's launch have the one of its call. A comma may stand before
 * what ends a list, as that format allows. */
#include "trace/chrome_parts.h"

#include "core/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the frame --- */

/* Keeps the names of the devices. */
static void add_devices(struct chrome_reader *reader, struct walk_value list)
{
    static const char *const names[] = {"id", "name"};
    struct walk_value device, values[2];
    bool damaged = false;
    while (walk_item(&list, &device, &damaged)) {
        if (*device.at != '{' || !chrome_find(device, names, 2, values))
            continue;
        const uint64_t id = chrome_whole_or(&values[0], UINT32_MAX, CHROME_NONE);
        if (id < CHROME_DEVICES)
            walk_string(&values[1], reader->devices[id], sizeof reader->devices[id]);
    }
}

/* Says what is wrong where a value could not be taken; *cut: the text ends there. */
static enum status refuse_value(struct chrome_reader *reader, bool *cut)
{
    const struct trace_input *input = reader->text.input;
    if (reader->text.no_memory)
        return chrome_no_memory(reader);
    if (reader->text.too_large)
        return chrome_refuse(reader, "a value of more than 64 MiB");
    *cut = reader->text.ended || (walk_peek(&reader->text) == '\0' && input->at == input->end);
    return *cut ? STATUS_OK : chrome_refuse(reader, "damaged JSON");
}

static enum status read_events(struct chrome_reader *reader, bool *cut)
{
    struct walk_value value;
    enum status status = STATUS_OK;
    if (!walk_take(&reader->text, '['))
        return chrome_refuse(reader, "\"traceEvents\" is no list");
    while (status == STATUS_OK && !*cut && !walk_take(&reader->text, ']')) {
        if (!walk_take_value(&reader->text, &value))
            return refuse_value(reader, cut);
        if (*value.at == '{')
            status = chrome_add_event(reader, value);
        if (status == STATUS_OK && !walk_take(&reader->text, ',') &&
            walk_peek(&reader->text) != ']')
            status = refuse_value(reader, cut);
    }
    return status;
}

static enum status read_member(struct chrome_reader *reader, bool *cut)
{
    struct walk_value key, value;
    char name[64];
    if (walk_peek(&reader->text) != '"' || !walk_take_value(&reader->text, &key))
        return refuse_value(reader, cut);
    walk_string(&key, name, sizeof name);
    if (!walk_take(&reader->text, ':'))
        return refuse_value(reader, cut);
    if (strcmp(name, "traceEvents") == 0) {
        reader->events = true;
        return read_events(reader, cut);
    }
    if (!walk_take_value(&reader->text, &value))
        return refuse_value(reader, cut);
    static const char *const producers[] = {"producer"};
    uint64_t base;
    if (strcmp(name, "deviceProperties") == 0)
        add_devices(reader, value);
    else if (strcmp(name, "baseTimeNanoseconds") == 0 && walk_whole(&value, &base) &&
             base <= INT64_MAX / 2)
        reader->base_ns = (int64_t)base;
    else if (strcmp(name, "CudaEvent") == 0)
        return chrome_refuse(
            reader, "JSON of Nsight Systems: export with nsys export -t sqlite, and view that");
    else if (strcmp(name, "schemaVersion") == 0)
        strcpy(reader->builder.facts.driver, "traced by PyTorch's profiler");
    else if (strcmp(name, "metadata") == 0 && *value.at == '{')
        reader->own = chrome_find(value, producers, 1, &key) && walk_is(&key, "pipeline");
    return STATUS_OK;
}

/* Reads an object with the events, or a list of events alone; *cut: the file ends within it. */
static enum status read_text(struct chrome_reader *reader, bool *cut)
{
    enum status status = STATUS_OK;
    if (walk_peek(&reader->text) == '[')
        return read_events(reader, cut);
    walk_take(&reader->text, '{');
    while (status == STATUS_OK && !*cut && !walk_take(&reader->text, '}')) {
        status = read_member(reader, cut);
        if (status == STATUS_OK && !*cut && !walk_take(&reader->text, ',') &&
            walk_peek(&reader->text) != '}')
            status = refuse_value(reader, cut);
    }
    return status;
}

/* --- the timelines --- */

COMPARE_BY(compare_calls, struct chrome_call, correlation, start_ns);

/* Returns the call of a correlation; NULL: the trace has none. */
static const struct chrome_call *call_of(const struct chrome_reader *reader,
                                         uint64_t correlation)
{
    BISECT(at, i, 0, reader->id_count, reader->calls[i].correlation < correlation);
    return at < reader->id_count && reader->calls[at].correlation == correlation
               ? &reader->calls[at]
               : NULL;
}

/* Adds the ops. One without a call was issued before the profiler began, or its call is left
 * out: it counts as issued at the beginning, since nothing says that it was late. */
static enum status add_rows(struct chrome_reader *reader, size_t *uncalled)
{
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < reader->op_count; i++) {
        if (reader->ops[i].start_ns < first_ns)
            first_ns = reader->ops[i].start_ns;
    }
    *uncalled = 0;
    enum status status = STATUS_OK;
    struct error why = {0};
    for (size_t i = 0; i < reader->op_count && status == STATUS_OK; i++) {
        const struct chrome_op *op = &reader->ops[i];
        const struct chrome_call *call = call_of(reader, op->correlation);
        char device[TRACE_SHOWN + 32] = "";
        *uncalled += call == NULL;
        if (op->device != CHROME_NONE)
            snprintf(device, sizeof device, "%.*s (%" PRIu32 ")", TRACE_SHOWN,
                     op->device < CHROME_DEVICES && reader->devices[op->device][0] != '\0'
                         ? reader->devices[op->device]
                         : "GPU",
                     op->device);
        struct trace_row row = {
            .device = device,
            .kind = (enum op_kind)op->kind,
            .name = reader->names.items[op->name]->text,
            .context = op->context,
            .stream = op->stream,
            .bytes = op->bytes > 0 || call == NULL ? op->bytes : call->bytes,
            .memory = (enum host_memory)op->memory,
            .issue_ns = reader->id_count == 0
                            ? -1
                            : reader->base_ns + (call != NULL ? call->start_ns : first_ns),
            .start_ns = reader->base_ns + op->start_ns,
            .end_ns = reader->base_ns + op->end_ns,
        };
        status = trace_build_add(&reader->builder, &row, &why);
    }
    if (status != STATUS_OK)
        error_pass(reader->error, &why);
    return status;
}

/* Each wait is an event that is recorded once, at its record's call. */
static bool add_events(struct chrome_reader *reader)
{
    struct trace_facts *facts = &reader->builder.facts;
    facts->events = malloc((2 * reader->wait_count + 1) * sizeof *facts->events);
    if (facts->events == NULL)
        return false;
    for (size_t i = 0; i < reader->wait_count; i++) {
        const struct chrome_wait *wait = &reader->waits[i];
        const struct chrome_call *record = call_of(reader, wait->record);
        const struct chrome_call *call = call_of(reader, wait->call);
        if (record == NULL || call == NULL || wait->on == CHROME_NONE ||
            wait->stream == CHROME_NONE)
            continue;
        struct trace_event event = {.event = (int64_t)i,
                                    .issue_ns = reader->base_ns + record->start_ns,
                                    .context = wait->context,
                                    .stream = wait->on};
        facts->events[facts->event_count++] = event;
        event.issue_ns = reader->base_ns + call->start_ns;
        event.stream = wait->stream;
        event.waits = true;
        facts->events[facts->event_count++] = event;
    }
    return true;
}

static enum status finish(struct chrome_reader *reader, bool cut, struct traces *traces)
{
    struct trace_facts *facts = &reader->builder.facts;
    char shown[TRACE_SHOWN], early[128] = "", ends[64] = "";
    size_t uncalled = 0;
    if (reader->id_count > 1)
        qsort(reader->calls, reader->id_count, sizeof *reader->calls, compare_calls);
    facts->range_names = &reader->names;
    for (size_t i = 0; i < facts->range_count; i++) {
        facts->ranges[i].start_ns += reader->base_ns;
        facts->ranges[i].end_ns += reader->base_ns;
    }
    for (size_t i = 0; i < facts->call_count; i++) {
        facts->calls[i].start_ns += reader->base_ns;
        facts->calls[i].end_ns += reader->base_ns;
    }
    enum status status =
        add_events(reader) ? add_rows(reader, &uncalled) : chrome_no_memory(reader);
    if (status == STATUS_OK)
        status = trace_build_finish(&reader->builder, traces, reader->error);
    if (status != STATUS_OK)
        return status;
    if (uncalled > 0 && reader->id_count > 0)
        snprintf(early, sizeof early,
                 ": it has no call for %zu operations, as for those issued before the profiler "
                 "began",
                 uncalled);
    if (cut)
        snprintf(ends, sizeof ends, ": it has no end, and this is what there is");
    if (*early != '\0' || cut)
        snprintf(traces->unread, sizeof traces->unread, "%s%s%s",
                 trace_shown(reader->path, shown), early, ends);
    return STATUS_OK;
}

/* Says what is missing in a text that can't be viewed. */
static enum status refuse_whole(struct chrome_reader *reader, bool cut)
{
    reader->text.lines *= cut;
    return chrome_refuse(
        reader,
        reader->own
            ? "JSON of pipeline's own, a Chrome trace for other viewers: view the timeline "
              "that --timeline=FILE.csv writes of the same run"
        : cut ? "damaged JSON: cut short?"
        : reader->events
            ? "a Chrome trace without a copy or a kernel of a GPU; PyTorch's profiler records "
              "them with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
            : "JSON, but not a recording, and not a Chrome trace, which has \"traceEvents\"");
}

enum status trace_chrome_read(struct trace_input *input, const char *path,
                              struct traces *traces, struct error *error)
{
    struct chrome_reader *reader = calloc(1, sizeof *reader);
    bool cut = false;
    if (reader == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for the trace");
    reader->path = path;
    reader->text.input = input;
    reader->error = error;
    reader->builder.facts = (struct trace_facts){.timing = TIMING_CHROME,
                                                 .driver = "traced by a profiler",
                                                 .resolution_ns = 1,
                                                 .bytes_unit = 1};
    if (trace_input_fill(input, 3) && input->end - input->at >= 3 &&
        memcmp(input->text + input->at, "\xef\xbb\xbf", 3) == 0)
        input->at += 3;
    enum status status = read_text(reader, &cut);
    walk_peek(&reader->text); /* whether what was packed is whole stands behind it */
    if (status == STATUS_OK && (reader->op_count == 0 || reader->own))
        status = refuse_whole(reader, cut);
    if (status == STATUS_OK)
        status = finish(reader, cut, traces);
    trace_build_free(&reader->builder);
    names_free(&reader->names);
    names_free(&reader->threads);
    free(reader->ops);
    free(reader->calls);
    free(reader->waits);
    free(reader);
    return status;
}
