/* trace_calls.c - the host's calls and, of a recorded program, those of each thread, with its
 * NVTX ranges.
 *
 * Slices of one track may lie within one another but not overlap in part (trace_tracks.c).
 * Calls of a thread follow one another; its ranges lie within one another, but for those that
 * the program begins and ends by hand: these end with the one around them. */
#include "core/arena.h"
#include "trace/recording.h"
#include "trace/trace.h"
#include "writers/trace_tracks.h"

/* --- the host's calls --- */

/* Puts the rest of a call's event, behind its times. `span` is the op's, NULL where it has
 * none. */
static void put_call(struct put *put, const struct tracks *tracks, uint32_t op,
                     const struct span *span, int64_t issue_ns)
{
    PUT_LITERAL(put, ",\"name\":\"issue ");
    if (span != NULL)
        track_put_span_name(put, &tracks->run->timeline, span);
    else
        PUT_LITERAL(put, "record"); /* the only ops without a span */
    char *at = put_reserve(put, HEAD_ROOM);
    at = WRITE_LITERAL(at, "\",\"cat\":\"call\",\"args\":{\"op\":");
    at = write_count(at, op);
    at = write_integer(WRITE_LITERAL(at, ",\"issue_ns\":"), issue_ns);
    put->at = WRITE_LITERAL(at, "}}");
}

/* The host issues op after op, and its clock is read between the calls: so a call lasts from
 * its own issue to the next one's, also where a full queue blocks it. When the last returned is
 * not in the timeline: it is drawn without length. */
static void put_calls_of_plan(struct put *put, const struct tracks *tracks)
{
    const struct timeline *timeline = &tracks->run->timeline;
    const struct span *span = timeline->spans, *end = span + timeline->span_count;
    int64_t reached_ns = INT64_MIN;
    for (uint32_t op = 0; op < timeline->issue_count; op++) {
        int64_t issue_ns = timeline->issue_ns[op], next_ns = issue_ns;
        if (op + 1 < timeline->issue_count)
            next_ns = timeline->issue_ns[op + 1];
        int64_t start_ns = issue_ns > reached_ns ? issue_ns : reached_ns;
        reached_ns = next_ns > start_ns ? next_ns : start_ns;
        while (span < end && span->op < op)
            span++;
        char *at = put_reserve(put, 2 * HEAD_ROOM);
        at = write_head(at, tracks, 'X', tracks->calls_tid);
        put->at = write_times(at, start_ns, reached_ns);
        put_call(put, tracks, op, span < end && span->op == op ? span : NULL, issue_ns);
    }
}

/* Puts the one call that launched a graph. */
static void put_launch(struct put *put, const struct tracks *tracks)
{
    char *at = write_head(put_reserve(put, 2 * HEAD_ROOM), tracks, 'X', tracks->calls_tid);
    put->at = write_times(at, 0, tracks->run->timeline.launched_ns);
    PUT_LITERAL(put, ",\"name\":\"issue graph\",\"cat\":\"call\"}");
}

/* Another program's trace only tells when its calls began, and the program does other things
 * between them: so they are drawn as instants. */
static void put_calls_of_trace(struct put *put, const struct tracks *tracks)
{
    const struct timeline *timeline = &tracks->run->timeline;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        char *at = write_head(put_reserve(put, 2 * HEAD_ROOM), tracks, 'i', tracks->calls_tid);
        at = WRITE_LITERAL(at, ",\"s\":\"t\",\"ts\":");
        put->at = write_us(at, span->issue_ns);
        put_call(put, tracks, span->op, span, span->issue_ns);
    }
}

void tracks_put_calls(struct put *put, const struct tracks *tracks)
{
    if (tracks->calls_tid == 0)
        return;
    if (tracks->run->timeline.launched_ns > 0)
        put_launch(put, tracks);
    else if (tracks->run->timeline.issue_ns != NULL)
        put_calls_of_plan(put, tracks);
    else
        put_calls_of_trace(put, tracks);
}

/* --- the threads of a recorded program --- */

/* Where a recording's times are in the timeline of a run. */
struct window {
    int64_t from_ns, time_ns;
};

/* Moves times into the window. Returns false where nothing of them is in it. */
static bool clip(const struct window *window, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = later(*start_ns - window->from_ns, 0);
    *end_ns = earlier(*end_ns - window->from_ns, window->time_ns);
    return *start_ns <= *end_ns;
}

void threads_lay_out(struct tracks *tracks)
{
    const struct run_report *run = tracks->run;
    const struct recording *recording = run->trace != NULL ? run->trace->recording : NULL;
    if (recording == NULL || run->timeline.call_count == 0)
        return;
    tracks->calls_tid = 0;
    tracks->threads = recording->threads;
    tracks->threads_tid = tracks->end_tid;
    tracks->end_tid += tracks->threads;
    if (recording->range_count > 0) { /* of threads that never call: on one more */
        tracks->ranges_tid = tracks->end_tid;
        tracks->end_tid += tracks->threads + 1;
    }
}

void threads_put_names(struct put *put, const struct tracks *tracks)
{
    for (uint32_t thread = 0; thread < tracks->threads; thread++)
        track_put_name(put, tracks, tracks->pid, tracks->threads_tid + thread,
                       "calls of thread", &thread);
    for (uint32_t thread = 0; tracks->ranges_tid != 0 && thread < tracks->threads; thread++)
        track_put_name(put, tracks, tracks->pid, tracks->ranges_tid + thread,
                       "ranges of thread", &thread);
    if (tracks->ranges_tid != 0)
        track_put_name(put, tracks, tracks->pid, tracks->ranges_tid + tracks->threads,
                       "ranges of other threads", NULL);
}

static void put_slice(struct put *put, const struct tracks *tracks, uint32_t tid,
                      int64_t start_ns, int64_t end_ns, const char *name)
{
    char *at = write_head(put_reserve(put, 2 * HEAD_ROOM), tracks, 'X', tid);
    at = write_times(at, start_ns, end_ns);
    put->at = WRITE_LITERAL(at, ",\"name\":\"");
    put_json_text(put, name, false);
}

/* The timeline has the calls that lie within it, and none within another. */
static void put_calls(struct put *put, const struct tracks *tracks, int64_t *reached)
{
    const struct timeline *timeline = &tracks->run->timeline;
    const struct window window = {0, timeline_time_ns(timeline)};
    EACH (const struct host_call, call, timeline->calls, timeline->call_count) {
        int64_t start_ns = call->start_ns, end_ns = call->end_ns;
        if (!clip(&window, &start_ns, &end_ns) || call->thread >= tracks->threads)
            continue;
        start_ns = later(start_ns, reached[call->thread]);
        end_ns = later(end_ns, start_ns);
        reached[call->thread] = end_ns;
        put_slice(put, tracks, tracks->threads_tid + (uint32_t)call->thread, start_ns, end_ns,
                  host_call_name(call->row));
        PUT_LITERAL(put, "\",\"cat\":\"host\"}");
    }
}

/* A range that is drawn, and the one around it. */
struct drawn {
    int64_t end_ns;
    size_t around; /* SIZE_MAX: none */
};

/* Ranges come in order of their starts, outer ones first. `innermost` is by thread. */
static void put_ranges(struct put *put, const struct tracks *tracks, struct drawn *drawn,
                       size_t *innermost)
{
    const struct trace *trace = tracks->run->trace;
    const struct recording *recording = trace->recording;
    const struct window window = {trace->origin_ns + trace->from_ns,
                                  timeline_time_ns(&tracks->run->timeline)};
    for (size_t i = 0; i < recording->range_count; i++) {
        const struct host_range *range = &recording->ranges[i];
        uint32_t thread = range->thread < tracks->threads ? range->thread : tracks->threads;
        int64_t start_ns = range->start_ns, end_ns = range->end_ns;
        if (!clip(&window, &start_ns, &end_ns))
            continue;
        size_t around = innermost[thread];
        while (around != SIZE_MAX && drawn[around].end_ns <= start_ns)
            around = drawn[around].around;
        if (around != SIZE_MAX)
            end_ns = earlier(end_ns, drawn[around].end_ns);
        drawn[i] = (struct drawn){end_ns, around};
        innermost[thread] = i;
        put_slice(put, tracks, tracks->ranges_tid + thread, start_ns, end_ns, range->name);
        PUT_LITERAL(put, "\",\"cat\":\"range\"}");
    }
}

void threads_put(struct put *put, const struct tracks *tracks)
{
    const struct trace *trace = tracks->run->trace;
    size_t threads = tracks->threads + (size_t)1;
    if (tracks->threads_tid == 0)
        return;
    struct arena arena = {0};
    int64_t *reached = arena_zeros(&arena, threads, sizeof *reached);
    struct drawn *drawn = arena_zeros(&arena, trace->recording->range_count, sizeof *drawn);
    size_t *innermost = arena_ones(&arena, threads, sizeof *innermost); /* SIZE_MAX */
    if (arena.full) {
        put->status = STATUS_NO_MEMORY;
    } else {
        put_calls(put, tracks, reached);
        if (tracks->ranges_tid != 0)
            put_ranges(put, tracks, drawn, innermost);
    }
    arena_free(&arena);
}
