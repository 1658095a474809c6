/* chrome.c - reads the Chrome traces that PyTorch's profiler and other users of Kineto write.
 *
 * "Trace Event Format" (Google) is the frame. Events come in any order, and what they refer to
 * may stand behind them: ops are kept until the end. Times are microseconds with decimals,
 * since 2024 counted from `baseTimeNanoseconds`. A call and what it started share a
 * correlation; all ops of a graph's launch have the one of its call. A comma may stand before
 * what ends a list, as that format allows. */
#include "trace/chrome_parts.h"

#include "core/items.h"
#include "trace/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the frame --- */

/* Keeps the devices, of which all that the process saw are listed. */
static void add_devices(struct chrome_reader *reader, struct walk_value list)
{
    enum { ID, NAME, MAJOR, MINOR, SMS, THREADS, REGISTERS, SHARED, MEMBERS };
    static const char *const names[MEMBERS] = {"id",
                                               "name",
                                               "computeMajor",
                                               "computeMinor",
                                               "numSms",
                                               "maxThreadsPerMultiprocessor",
                                               "regsPerMultiprocessor",
                                               "sharedMemPerMultiprocessor"};
    struct walk_value item, values[MEMBERS];
    bool damaged = false;
    while (walk_item(&list, &item, &damaged)) {
        if (*item.at != '{' || !walk_find(item, names, MEMBERS, values))
            continue;
        const uint64_t id = walk_whole_or(&values[ID], CHROME_NONE - 1, CHROME_NONE);
        if (id == CHROME_NONE)
            continue;
        struct recorded_device *device =
            profiled_device(&reader->profiled, (uint32_t)id,
                            walk_string(&values[NAME], reader->name, sizeof reader->name));
        device->sm.major = (uint32_t)walk_whole_or(&values[MAJOR], UINT16_MAX, 0);
        device->minor = (uint32_t)walk_whole_or(&values[MINOR], UINT16_MAX, 0);
        device->sms = (uint32_t)walk_whole_or(&values[SMS], UINT16_MAX, 0);
        device->sm.threads = (uint32_t)walk_whole_or(&values[THREADS], UINT16_MAX, 0);
        device->sm.registers = (uint32_t)walk_whole_or(&values[REGISTERS], INT32_MAX, 0);
        device->sm.shared = (uint32_t)walk_whole_or(&values[SHARED], INT32_MAX, 0);
    }
}

/* Keeps the devices of this program's runs, each of which is a process. */
static void add_runs(struct chrome_reader *reader, struct walk_value list)
{
    enum { PID, DEVICE, SOURCE, MEMBERS };
    static const char *const names[MEMBERS] = {"pid", "device", "source"};
    struct walk_value run, values[MEMBERS];
    bool damaged = false;
    reader->own = true;
    reader->traced_by = "drawn by pipeline";
    while (list.length > 0 && walk_item(&list, &run, &damaged)) {
        walk_find(run, names, MEMBERS, values);
        if (walk_is(&values[SOURCE], "simulated"))
            reader->timing = TIMING_VIRTUAL;
        profiled_device(&reader->profiled, (uint32_t)walk_whole_or(&values[PID], UINT16_MAX, 0),
                        walk_string(&values[DEVICE], reader->name, sizeof reader->name));
    }
}

/* Says what is wrong where a value could not be taken, unless the text ends there. */
static void refuse_value(struct chrome_reader *reader)
{
    const struct trace_input *input = reader->text.input;
    if (reader->text.no_memory)
        error_no_memory(reader->error, "for the trace");
    else if (reader->text.too_large)
        chrome_refuse(reader, "a value of more than 64 MiB");
    else if (reader->text.ended ||
             (walk_peek(&reader->text) == '\0' && input->at == input->end))
        reader->cut = true;
    else
        chrome_refuse(reader, "damaged JSON");
}

/* Goes on to what comes next in a list or an object that ends in `end`. Returns false behind
 * the last one, and where the text ends or is refused. */
static bool goes_on(struct chrome_reader *reader, bool first, char end)
{
    if (!first && !reader->cut && !chrome_failed(reader) && !walk_take(&reader->text, ',') &&
        walk_peek(&reader->text) != end)
        refuse_value(reader);
    return !reader->cut && !chrome_failed(reader) && !walk_take(&reader->text, end);
}

static void read_events(struct chrome_reader *reader)
{
    struct walk_value value;
    if (!walk_take(&reader->text, '['))
        chrome_refuse(reader, "\"traceEvents\" is no list");
    for (bool first = true; goes_on(reader, first, ']'); first = false) {
        if (!walk_take_value(&reader->text, &value))
            refuse_value(reader);
        else if (*value.at == '{')
            chrome_add_event(reader, value);
    }
}

static void read_member(struct chrome_reader *reader)
{
    struct walk_value key, value;
    char name[64];
    if (walk_peek(&reader->text) != '"' || !walk_take_value(&reader->text, &key)) {
        refuse_value(reader);
        return;
    }
    walk_string(&key, name, sizeof name);
    const bool events = strcmp(name, "traceEvents") == 0;
    if (!walk_take(&reader->text, ':') ||
        (!events && !walk_take_value(&reader->text, &value))) {
        refuse_value(reader);
        return;
    }
    reader->events |= events;
    static const char *const own[] = {"producer", "runs"}, *const job[] = {"rank",
                                                                           "world_size"};
    struct recording *recording = reader->profiled.draft.recording;
    struct walk_value ranks[2];
    uint64_t base;
    if (events)
        read_events(reader);
    else if (strcmp(name, "deviceProperties") == 0)
        add_devices(reader, value);
    else if (strcmp(name, "baseTimeNanoseconds") == 0 && walk_whole(&value, &base) &&
             base <= INT64_MAX / 2)
        reader->base_ns = (int64_t)base;
    else if (strcmp(name, "CudaEvent") == 0)
        chrome_refuse(
            reader, "JSON of Nsight Systems: export with nsys export -t sqlite, and view that");
    else if (strcmp(name, "distributedInfo") == 0 && walk_find(value, job, 2, ranks) &&
             ranks[0].length > 0) {
        recording->rank = (uint32_t)walk_whole_or(&ranks[0], INT32_MAX, 0);
        recording->ranks = (uint32_t)walk_whole_or(&ranks[1], INT32_MAX, 0);
    } else if (strcmp(name, "schemaVersion") == 0)
        reader->traced_by = "traced by PyTorch's profiler";
    else if (strcmp(name, "metadata") == 0 && walk_find(value, own, 2, ranks) &&
             walk_is(&ranks[0], "pipeline"))
        add_runs(reader, ranks[1]);
}

/* Reads an object with the events, or a list of events alone. */
static void read_text(struct chrome_reader *reader)
{
    if (walk_peek(&reader->text) == '[') {
        read_events(reader);
        return;
    }
    walk_take(&reader->text, '{');
    for (bool first = true; goes_on(reader, first, '}'); first = false)
        read_member(reader);
}

/* --- the timelines --- */

/* Counts all times from where the file's own begin. */
static void move_times(struct chrome_reader *reader)
{
    const struct draft *draft = &reader->profiled.draft;
    EACH (struct recorded_call, call, (struct recorded_call *)draft->calls.items,
          draft->calls.count) {
        call->start_ns += reader->base_ns;
        call->end_ns += reader->base_ns;
    }
    EACH (struct draft_op, item, (struct draft_op *)draft->ops.items, draft->ops.count) {
        item->op.start_ns += reader->base_ns;
        item->op.end_ns += reader->base_ns;
    }
    EACH (struct host_range, range, (struct host_range *)draft->ranges.items,
          draft->ranges.count) {
        range->start_ns += reader->base_ns;
        range->end_ns += reader->base_ns;
    }
}

/* Says what the file lacks. Ops from before the profiler began have a call that was made up. */
static void put_unread(const struct chrome_reader *reader, struct traces *traces)
{
    const struct recording *recording = traces->recording;
    size_t uncalled = 0;
    EACH (const struct recorded_op, op, recording->ops, recording->op_count)
        uncalled +=
            op->call == RECORDING_NONE || recording->calls[op->call].id == DRAFT_NO_CALL;
    traces_add_unread(traces, reader->path, reader->left > 0,
                      "%zu events without a usable time or device are left out", reader->left);
    traces_add_unread(
        traces, reader->path, recording->call_count > 0 && uncalled > 0,
        "it has no call for %zu operations, as for those issued before the profiler "
        "began",
        uncalled);
    traces_add_unread(traces, reader->path, reader->more && !reader->cut,
                      "what stands behind its end is left out");
    traces_add_unread(
        traces, reader->path, reader->own,
        "its operations alone are read: the timeline that --timeline=FILE.csv writes of "
        "the same run has the host's calls and the streams' waits, too");
    traces_add_unread(traces, reader->path, reader->cut,
                      "it has no end, and this is what there is");
}

/* Says what is missing in a text that can't be viewed. */
static void refuse_whole(struct chrome_reader *reader)
{
    reader->text.lines *= reader->cut;
    chrome_refuse(
        reader,
        reader->cut ? "damaged JSON: cut short?"
        : reader->left > 0
            ? "a Chrome trace of which no copy and no kernel has a usable time and device"
        : reader->events
            ? "a Chrome trace without a copy or a kernel of a GPU; PyTorch's profiler records "
              "them with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
            : "JSON, but not a recording, and not a Chrome trace, which has \"traceEvents\"");
}

enum status trace_chrome_read(struct trace_input *input, const char *path,
                              struct traces *traces, struct error *error)
{
    struct chrome_reader *reader = calloc(1, sizeof *reader);
    struct error why = {0};
    if (reader == NULL)
        return error_no_memory(error, "for the trace");
    reader->path = path;
    reader->text.input = input;
    reader->error = &why;
    reader->traced_by = "traced by a profiler";
    reader->timing = TIMING_CHROME;
    profiled_begin(&reader->profiled, &why);
    if (trace_input_fill(input, 3) && input->end - input->at >= 3 &&
        memcmp(input->text + input->at, "\xef\xbb\xbf", 3) == 0)
        input->at += 3;
    if (!chrome_failed(reader))
        read_text(reader);
    /* A packed file ends with its length and checksum, which looking behind the text checks. */
    reader->more = walk_peek(&reader->text) != '\0';
    if (reader->profiled.draft.ops.count == 0)
        refuse_whole(reader);
    move_times(reader);
    const enum status status =
        profiled_finish(&reader->profiled, reader->timing, reader->traced_by, traces);
    if (status == STATUS_OK)
        put_unread(reader, traces);
    else
        error_pass(error, &why);
    names_free(&reader->rows);
    free(reader);
    return status;
}
