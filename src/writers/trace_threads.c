/* trace_threads.c - the threads of a recorded program: its calls to CUDA, and its NVTX ranges.
 *
 * Slices of one track may lie within one another but not overlap in part (trace_tracks.c).
 * Calls of a thread follow one another; its ranges lie within one another, but for those that
 * the program begins and ends by hand: these end with the one around them. */
#include "trace/recording.h"
#include "trace/trace.h"
#include "writers/trace.h"
#include "writers/writer.h"

#include <stdlib.h>

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
    at = WRITE_LITERAL(at, ",\"ts\":");
    at = write_us(at, start_ns);
    at = WRITE_LITERAL(at, ",\"dur\":");
    at = write_thousandths(at, (uint64_t)(end_ns - start_ns));
    put->at = WRITE_LITERAL(at, ",\"name\":\"");
    put_json_text(put, name, false);
}

/* The timeline has the calls that lie within it, and none within another. */
static void put_calls(struct put *put, const struct tracks *tracks, int64_t *reached)
{
    const struct timeline *timeline = &tracks->run->timeline;
    const struct window window = {0, timeline_time_ns(timeline)};
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
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
        const struct recorded_range *range = &recording->ranges[i];
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
    int64_t *reached = calloc(threads, sizeof *reached);
    struct drawn *drawn = malloc((trace->recording->range_count + 1) * sizeof *drawn);
    size_t *innermost = malloc(threads * sizeof *innermost);
    if (reached == NULL || drawn == NULL || innermost == NULL) {
        put->status = STATUS_NO_MEMORY;
    } else {
        for (size_t i = 0; i < threads; i++)
            innermost[i] = SIZE_MAX;
        put_calls(put, tracks, reached);
        if (tracks->ranges_tid != 0)
            put_ranges(put, tracks, drawn, innermost);
    }
    free(reached);
    free(drawn);
    free(innermost);
}
