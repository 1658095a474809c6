/* trace_rules.c - reads a Chrome trace event by event, and holds it against the spans. */
#include "trace_rules.h"

#include "writer_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As ck_assert(), which writes to a file each time: here it may be millions. */
#define MUST(condition)          ((condition) ? (void)0 : ck_abort_msg("%s", #condition))
#define MUST_SAY(condition, ...) ((condition) ? (void)0 : ck_abort_msg(__VA_ARGS__))

json_t *trace_member(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    MUST_SAY(value != NULL, "no %s in %s", key, json_dumps(object, 0));
    return value;
}

int64_t trace_integer(json_t *object, const char *key)
{
    MUST(json_is_integer(trace_member(object, key)));
    return json_integer_value(trace_member(object, key));
}

const char *trace_text(json_t *object, const char *key)
{
    MUST(json_is_string(trace_member(object, key)));
    return json_string_value(trace_member(object, key));
}

/* us with three decimals, as ns. No text within quotes looks like a key: its quotes are
 * escaped.
 */
static int64_t ns_of(const char *line, const char *key)
{
    char quoted[16], *end;
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *number = strstr(line, quoted);
    MUST_SAY(number != NULL, "no %s in %s", key, line);
    number += strlen(quoted);
    bool negative = *number == '-';
    uint64_t us = strtoull(number + negative, &end, 10);
    MUST(*end == '.');
    MUST(strspn(end + 1, "0123456789") == 3);
    uint64_t ns = 1000 * us + strtoul(end + 1, NULL, 10);
    return (int64_t)(negative ? -ns : ns);
}

static void read_names(struct trace_file *file, const struct report *report)
{
    json_t *event;
    size_t i;
    json_array_foreach(file->events, i, event)
    {
        int64_t pid = trace_integer(event, "pid"), tid = trace_integer(event, "tid");
        MUST(pid >= 1 && pid <= report->run_count);
        MUST(tid > report->run_count); /* hence neither 0 nor a pid */
        file->tid_count = tid >= (int64_t)file->tid_count ? (size_t)tid + 1 : file->tid_count;
    }
    file->tracks = calloc(file->tid_count + 1, sizeof *file->tracks);
    json_array_foreach(file->events, i, event)
    {
        if (strcmp(trace_text(event, "name"), "thread_name") != 0)
            continue;
        const char **track = &file->tracks[trace_integer(event, "tid")];
        MUST_SAY(*track == NULL, "two tracks have the tid of %s", *track);
        *track = trace_text(trace_member(event, "args"), "name");
    }
}

static void read_slice(struct trace_file *file, json_t *event, const char *line, size_t place)
{
    struct trace_slice *slice = &file->slices[file->slice_count++];
    *slice = (struct trace_slice){.json = event,
                                  .pid = (uint32_t)trace_integer(event, "pid"),
                                  .tid = (uint32_t)trace_integer(event, "tid"),
                                  .place = (uint32_t)place,
                                  .start_ns = ns_of(line, "ts")};
    bool instant = strcmp(trace_text(event, "ph"), "i") == 0;
    int64_t length_ns = instant ? 0 : ns_of(line, "dur");
    slice->end_ns = (int64_t)((uint64_t)slice->start_ns + (uint64_t)length_ns);
    slice->track = file->tracks[slice->tid];
    MUST(slice->track != NULL);
    MUST(strcmp(trace_text(event, "cat"), "") != 0);
}

/* Reads the whole file; every event is also a line that parses alone. */
struct trace_file trace_file_read(const struct report *report)
{
    struct trace_file file = {.text = test_written(report, write_trace)};
    json_error_t error;
    file.root = json_loads(file.text, JSON_REJECT_DUPLICATES, &error);
    MUST_SAY(file.root != NULL, "%s at %d", error.text, error.line);
    file.events = trace_member(file.root, "traceEvents");
    size_t count = json_array_size(file.events), place = 0;
    file.slices = calloc(count + 1, sizeof *file.slices);
    file.lines = calloc(count + 1, sizeof *file.lines);
    read_names(&file, report);
    char *line = strstr(file.text, "\"traceEvents\":[\n") + strlen("\"traceEvents\":[\n");
    for (; place < count; place++) {
        size_t length = strcspn(line, "\n");
        line[length] = '\0';
        file.lines[place] = line;
        json_t *event = json_array_get(file.events, place);
        const char *phase = trace_text(event, "ph");
        MUST_SAY(strlen(phase) == 1 && strchr("MXiC", phase[0]) != NULL, "%s", line);
        if (phase[0] == 'X' || phase[0] == 'i')
            read_slice(&file, event, line, place);
        line += length + 1;
    }
    MUST(strcmp(line, "]}\n") == 0);
    return file;
}

void trace_file_free(struct trace_file *file)
{
    json_decref(file->root);
    free(file->text);
    free(file->slices);
    free(file->lines);
    free(file->tracks);
}

/* --- what holds for every trace --- */

static int compare_slices(const void *a, const void *b)
{
    const struct trace_slice *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

/* Slices of a track lie within one another, or apart. */
static void check_nesting(const struct trace_file *file)
{
    size_t count = file->slice_count, depth = 0;
    struct trace_slice *sorted = malloc((count + 1) * sizeof *sorted);
    const struct trace_slice **open = malloc((count + 1) * sizeof *open);
    memcpy(sorted, file->slices, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_slices);
    for (size_t i = 0; i < count; i++) {
        const struct trace_slice *slice = &sorted[i];
        while (depth > 0 && (open[depth - 1]->tid != slice->tid ||
                             open[depth - 1]->end_ns <= slice->start_ns))
            depth--;
        MUST_SAY(depth == 0 || open[depth - 1]->end_ns >= slice->end_ns, "%s overlaps on %s",
                 trace_text(slice->json, "name"), slice->track);
        open[depth++] = slice;
    }
    free(sorted);
    free(open);
}

static bool is_stream(const struct trace_slice *slice)
{
    return strncmp(slice->track, "stream ", 7) == 0;
}

static bool is_call(const struct trace_slice *slice)
{
    return strcmp(slice->track, "host calls") == 0;
}

/* A call or a range of a recorded program's thread, which is no op. */
static bool is_thread(const struct trace_slice *slice)
{
    return strstr(slice->track, " thread") != NULL;
}

static void check_args(const struct run_report *run, const struct span *span, json_t *slice)
{
    json_t *args = trace_member(slice, "args");
    MUST(strcmp(trace_text(slice, "cat"), op_kind_name(span->kind)) == 0);
    MUST(trace_integer(args, "start_ns") == span->start_ns);
    MUST(trace_integer(args, "end_ns") == span->end_ns);
    MUST((uint64_t)trace_integer(args, "bytes") == span->bytes);
    if (span->tile >= 0)
        MUST(trace_integer(args, "tile") == span->tile);
    else
        MUST(json_object_get(args, "tile") == NULL);
    if (run->timeline.issue_unknown)
        MUST(json_object_get(args, "issue_ns") == NULL);
    else
        MUST(trace_integer(args, "issue_ns") == span->issue_ns);
    if (span->engine != ENGINE_CPU)
        MUST(trace_integer(args, "stream") == timeline_stream_id(&run->timeline, span->stream));
    double rate = (double)span->bytes / ((double)span->end_ns - (double)span->start_ns);
    if (span->bytes > 0 && rate < 1e9)
        MUST(fabs(json_real_value(trace_member(args, "GB_per_s")) - rate) <= 0.00051);
}

/* One slice of a span: at its very times on its engine's track, in them on its stream's. */
static void check_slice(const struct run_report *run, const struct trace_slice *slice,
                        uint32_t *engines, uint32_t *streams)
{
    int64_t op = trace_integer(trace_member(slice->json, "args"), "op");
    const struct timeline *timeline = &run->timeline;
    const struct span *span = timeline_span((struct timeline *)timeline, (uint32_t)op);
    MUST(span != NULL);
    check_args(run, span, slice->json);
    MUST(slice->start_ns >= span->start_ns);
    if (is_stream(slice)) {
        streams[span - timeline->spans]++;
        return;
    }
    MUST(slice->start_ns == span->start_ns && slice->end_ns == span->end_ns);
    engines[span - timeline->spans]++;
}

/* Every span once on its engine's track, and once on its stream's; waits on the latter alone,
 * the CPU's work on the former. */
static void check_spans(const struct trace_file *file, const struct run_report *run, int pid)
{
    uint32_t count = run->timeline.span_count, calls = 0;
    uint32_t *engines = calloc(count + (size_t)1, sizeof *engines);
    uint32_t *streams = calloc(count + (size_t)1, sizeof *streams);
    for (size_t i = 0; i < file->slice_count; i++) {
        const struct trace_slice *slice = &file->slices[i];
        if (slice->pid != (uint32_t)pid || is_thread(slice))
            continue;
        MUST(is_call(slice) == (strcmp(trace_text(slice->json, "cat"), "call") == 0));
        calls += is_call(slice);
        if (!is_call(slice))
            check_slice(run, slice, engines, streams);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct span *span = &run->timeline.spans[i];
        MUST(engines[i] == (span->engine != ENGINE_NONE));
        MUST(streams[i] == (span->engine != ENGINE_CPU));
    }
    bool threads = run->timeline.timing == TIMING_RECORDED && run->timeline.calls != NULL;
    bool known = !run->timeline.issue_unknown && count > 0 && !threads;
    MUST(calls == (!known ? 0 : run->timeline.issue_ns ? run->timeline.issue_count : count));
    free(engines);
    free(streams);
}

/* --- the counter, counted again --- */

struct change {
    int64_t time_ns;
    int engine, by;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* The starts and ends of what takes time on the engines, in order; how many they are. */
static size_t changes_of(const struct timeline *timeline, struct change *changes)
{
    size_t count = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->engine >= ENGINE_WORKING || span->start_ns >= span->end_ns)
            continue;
        changes[count++] = (struct change){span->start_ns, span->engine, 1};
        changes[count++] = (struct change){span->end_ns, span->engine, -1};
    }
    qsort(changes, count, sizeof *changes, compare_changes);
    return count;
}

/* The place of the next counter event of process `pid` from `place` on, or the events' count.
 */
static size_t next_counter(const struct trace_file *file, int pid, size_t place)
{
    size_t count = json_array_size(file->events);
    for (; place < count; place++) {
        json_t *event = json_array_get(file->events, place);
        if (trace_text(event, "ph")[0] == 'C' && trace_integer(event, "pid") == pid)
            break;
    }
    return place;
}

static void check_counter(const struct trace_file *file, const struct timeline *timeline,
                          int pid)
{
    struct change *changes = calloc(2 * (timeline->span_count + (size_t)1), sizeof *changes);
    size_t count = changes_of(timeline, changes), place = 0;
    int running[ENGINE_WORKING] = {0}, shown = 0;
    for (size_t at = 0; at < count;) {
        int64_t now_ns = changes[at].time_ns;
        int busy = 0;
        for (; at < count && changes[at].time_ns == now_ns; at++)
            running[changes[at].engine] += changes[at].by;
        for (int engine = 0; engine < ENGINE_WORKING; engine++)
            busy += running[engine] > 0;
        if (busy == shown)
            continue;
        shown = busy;
        place = next_counter(file, pid, place);
        json_t *event = json_array_get(file->events, place);
        MUST(event != NULL);
        MUST(trace_integer(trace_member(event, "args"), "engines") == busy);
        MUST(ns_of(file->lines[place++], "ts") == now_ns);
    }
    MUST(next_counter(file, pid, place) == json_array_size(file->events));
    free(changes);
}

/* --- flows --- */

/* The slices of a tile on the engines, in order of time: only the first begins, only the last
 * ends. Whatever is in no flow has no id. */
void trace_file_check_flows(const struct trace_file *file)
{
    for (size_t i = 0; i < file->slice_count; i++) {
        const struct trace_slice *slice = &file->slices[i];
        json_t *json = slice->json, *bind = json_object_get(json, "bind_id");
        json_t *tile = json_object_get(trace_member(json, "args"), "tile");
        const char *kind = trace_text(json, "cat");
        bool flows = !is_stream(slice) && !is_call(slice) && tile != NULL &&
                     (strcmp(kind, "h2d") == 0 || strcmp(kind, "kernel") == 0 ||
                      strcmp(kind, "d2h") == 0);
        MUST((bind != NULL) == flows);
        if (!flows)
            continue;
        uint64_t id = (uint64_t)slice->pid << 32 | (uint64_t)json_integer_value(tile);
        MUST(strtoull(json_string_value(bind), NULL, 16) == id);
        bool before = false, after = false;
        for (size_t k = 0; k < file->slice_count; k++) {
            const struct trace_slice *other = &file->slices[k];
            if (k == i || other->pid != slice->pid ||
                !json_equal(bind, json_object_get(other->json, "bind_id")))
                continue;
            before |= other->start_ns < slice->start_ns ||
                      (other->start_ns == slice->start_ns && k < i);
            after |= other->start_ns > slice->start_ns ||
                     (other->start_ns == slice->start_ns && k > i);
        }
        MUST(json_is_true(json_object_get(json, "flow_in")) == before);
        MUST(json_is_true(json_object_get(json, "flow_out")) == after);
    }
}

void trace_file_check(const struct trace_file *file, const struct report *report)
{
    check_nesting(file);
    for (int r = 0; r < report->run_count; r++) {
        check_spans(file, &report->runs[r], r + 1);
        check_counter(file, &report->runs[r].timeline, r + 1);
    }
}
