/* html_threads.c - what a page has of a recorded program beside its ops: the calls and the NVTX
 * ranges of its threads, the lines of its source, and what issued each op; and how the page has
 * numbers, and what is too much to be drawn one by one. */
#include "core/compare.h"
#include "trace/recording.h"
#include "trace/trace.h"
#include "writers/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers, and how busy something was by columns of the time axis --- */

void html_put_exact(struct json *json, int64_t value)
{
    static const int64_t exact = INT64_C(1) << 53;
    char text[WRITE_NUMBER_ROOM];
    if (value >= -exact && value <= exact) {
        json_put_integer(json, value);
        return;
    }
    *write_integer(text, value) = '\0';
    json_put_text(json, text);
}

void html_put_bytes(struct json *json, uint64_t bytes)
{
    char text[WRITE_NUMBER_ROOM];
    if (bytes <= INT64_MAX) {
        html_put_exact(json, (int64_t)bytes);
        return;
    }
    *write_count(text, bytes) = '\0';
    json_put_text(json, text);
}

static double column_of(int64_t ns, double columns_per_ns)
{
    return fmin(fmax((double)ns * columns_per_ns, 0), HTML_COLUMNS);
}

void html_use_add(struct html_use *use, int64_t start_ns, int64_t end_ns, double columns_per_ns)
{
    const double start = column_of(start_ns, columns_per_ns),
                 end = column_of(end_ns, columns_per_ns);
    int first = (int)start, last = (int)end;
    if (first >= last) {
        use->part[first] += fmax(end - start, 0);
        return;
    }
    use->part[first] += first + 1 - start;
    use->whole[first + 1]++;
    use->whole[last]--;
    use->part[last] += end - last;
}

void html_put_use(struct json *json, const struct html_use *use)
{
    int whole = 0;
    json_line(json);
    json_open(json, '[');
    for (int i = 0; i < HTML_COLUMNS; i++) {
        whole += use->whole[i];
        json_put_integer(json, (int64_t)fmin(ceil(100 * (use->part[i] + whole)), 100));
    }
    json_close(json, ']');
}

/* --- threads --- */

enum { THREADS = 64 }; /* with columns of their own; those beyond share the last one's */

struct threads {
    struct json *json;
    const struct run_report *run;
    const struct recording *recording;
    uint32_t count;   /* of them; ranges of others are that one's */
    int64_t first_ns; /* that the run's times count from */
    double columns_per_ns;
};

bool html_has_threads(const struct run_report *run)
{
    return run->trace != NULL && run->trace->recording != NULL && run->timeline.call_count > 0;
}

void html_put_calls(struct json *json)
{
    json_open(json_key(json, "calls"), '[');
    for (uint16_t row = 0; row < host_call_rows(); row++) {
        json_open(json, '[');
        json_put_text(json, host_call_name(row));
        json_put_integer(json, host_call_holds(host_call_kind(row)));
        json_close(json, ']');
    }
    json_close(json, ']');
}

/* --- calls, ranges --- */

static void put_call(const struct threads *threads, const struct host_call *call)
{
    struct json *json = threads->json;
    json_line(json);
    json_open(json, '[');
    json_put_integer(json, call->row);
    html_put_bytes(json, call->thread);
    html_put_exact(json, call->start_ns);
    html_put_exact(json, call->end_ns);
    json_put_integer(json, call->line);
    json_close(json, ']');
}

/* Moves the times of a range to where the run's are. Returns false where it has no part of it.
 */
static bool range_times(const struct threads *threads, const struct host_range *range,
                        int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = range->start_ns - threads->first_ns;
    *end_ns = range->end_ns - threads->first_ns;
    return *end_ns > 0 && *start_ns < timeline_time_ns(&threads->run->timeline);
}

static uint32_t thread_of(const struct threads *threads, const struct host_range *range)
{
    return range->thread < threads->count ? range->thread : threads->count;
}

static void put_ranges(const struct threads *threads)
{
    struct json *json = threads->json;
    int64_t start_ns, end_ns;
    EACH (const struct host_range, range, threads->recording->ranges,
          threads->recording->range_count) {
        if (!range_times(threads, range, &start_ns, &end_ns))
            continue;
        json_line(json);
        json_open(json, '[');
        json_put_text(json, range->name);
        json_put_count(json, thread_of(threads, range));
        html_put_exact(json, start_ns);
        html_put_exact(json, end_ns);
        json_close(json, ']');
    }
}

/* Each thread has three kinds of columns: calls that keep the host, other calls, ranges. */
enum { USE_HOLDING, USE_OTHER, USE_RANGES, USES };

static struct html_use *use_of(struct html_use *uses, uint64_t thread, int which)
{
    uint64_t row = thread < THREADS ? thread : THREADS - 1;
    return &uses[row * USES + (uint64_t)which];
}

static void put_columns(const struct threads *threads)
{
    struct json *json = threads->json;
    const struct timeline *timeline = &threads->run->timeline;
    const uint32_t rows = threads->count < THREADS ? threads->count + 1 : THREADS;
    const int64_t clock_ns = threads->run->clock_ns;
    int64_t start_ns, end_ns;
    struct html_use *uses = calloc((size_t)rows * USES, sizeof *uses);
    if (uses == NULL) {
        json->put->status = STATUS_NO_MEMORY;
        return;
    }
    EACH (const struct host_call, call, timeline->calls, timeline->call_count) {
        bool holds = host_call_holds(host_call_kind(call->row));
        html_use_add(use_of(uses, call->thread, holds ? USE_HOLDING : USE_OTHER),
                     clock_ns + call->start_ns, clock_ns + call->end_ns,
                     threads->columns_per_ns);
    }
    EACH (const struct host_range, range, threads->recording->ranges,
          threads->recording->range_count) {
        if (range_times(threads, range, &start_ns, &end_ns))
            html_use_add(use_of(uses, thread_of(threads, range), USE_RANGES),
                         clock_ns + start_ns, clock_ns + end_ns, threads->columns_per_ns);
    }
    for (uint32_t i = 0; i < rows; i++) {
        json_open(json, '[');
        for (int which = 0; which < USES; which++)
            html_put_use(json, use_of(uses, i, which));
        json_close(json, ']');
    }
    free(uses);
}

/* --- what issued each op --- */

/* Returns the line of a call, one more than an index of the timeline's; 0: not known. */
static uint32_t line_of(const struct threads *threads, const struct recorded_call *call)
{
    const struct span issued = {.issue_ns = call->start_ns - threads->first_ns};
    const struct host_call *found = timeline_call_of(&threads->run->timeline, &issued);
    return found != NULL ? found->line : 0;
}

/* Writes the call, and of kernels and nodes of graphs what else is known of them. */
static void put_issue(const struct threads *threads, uint32_t number)
{
    const struct recording *recording = threads->recording;
    const bool is_op = number < recording->op_count;
    const struct recorded_op *op = is_op ? &recording->ops[number] : NULL;
    const uint32_t index = is_op ? op->call : number - (uint32_t)recording->op_count;
    struct json *json = threads->json;
    json_line(json);
    json_open(json, '[');
    if (index < recording->call_count) {
        const struct recorded_call *call = &recording->calls[index];
        put_call(threads, &(struct host_call){.row = call->row,
                                              .thread = call->thread,
                                              .start_ns = call->start_ns - threads->first_ns,
                                              .end_ns = call->end_ns - threads->first_ns,
                                              .line = line_of(threads, call)});
    } else {
        json_put_null(json);
    }
    html_put_bytes(json, is_op ? op->node : 0);
    if (is_op && op->blocks > 0) {
        json_put_count(json, op->blocks);
        json_put_count(json, op->need.threads);
        json_put_count(json, op->need.registers);
        json_put_count(json, op->need.shared);
    }
    json_close(json, ']');
}

static void put_issues(const struct threads *threads)
{
    const struct timeline *timeline = &threads->run->timeline;
    const struct trace *trace = threads->run->trace;
    json_open(json_key(threads->json, "issues"), '[');
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (timeline->spans[i].op < trace->origin_count)
            put_issue(threads, trace->origins[timeline->spans[i].op]);
        else
            json_put_null(threads->json);
    }
    json_close(threads->json, ']');
}

/* --- all of it --- */

static void put_lines(const struct threads *threads)
{
    const struct timeline *timeline = &threads->run->timeline;
    json_open(json_key(threads->json, "lines"), '[');
    for (uint32_t i = 0; i < timeline->line_count; i++)
        json_put_text(threads->json, timeline->lines[i]);
    json_close(threads->json, ']');
}

void html_put_threads(struct json *json, const struct run_report *run, bool spans,
                      double columns_per_ns, uint32_t *room)
{
    if (!html_has_threads(run))
        return;
    const struct timeline *timeline = &run->timeline;
    const struct threads threads = {.json = json,
                                    .run = run,
                                    .recording = run->trace->recording,
                                    .count = run->trace->recording->threads,
                                    .first_ns = run->trace->origin_ns + run->trace->from_ns,
                                    .columns_per_ns = columns_per_ns};
    const size_t count = timeline->call_count + threads.recording->range_count;
    const bool drawn = count <= *room;
    json_put_count(json_key(json, "threads"), threads.count);
    json_put_count(json_key(json, "call_count"), timeline->call_count);
    put_lines(&threads);
    if (spans)
        put_issues(&threads);
    json_open(json_key(json, drawn ? "calls" : "thread_columns"), '[');
    for (uint32_t i = 0; drawn && i < timeline->call_count; i++)
        put_call(&threads, &timeline->calls[i]);
    if (!drawn)
        put_columns(&threads);
    json_close(json, ']');
    if (!drawn)
        return;
    *room -= (uint32_t)count;
    json_open(json_key(json, "ranges"), '[');
    put_ranges(&threads);
    json_close(json, ']');
}
