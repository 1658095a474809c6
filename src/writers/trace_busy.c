/* trace_busy.c - the counter of busy engines: the spans of all engines, merged in order of
 * their starts. */
#include "writers/trace_tracks.h"

#include <stdlib.h>

struct counter {
    struct put *put;
    const struct tracks *tracks;
    uint32_t engines;
    int64_t until_ns[RESOURCES_MOST]; /* latest end of the spans that have started so far, by
                                         engine */
    int64_t now_ns;                   /* time of the latest start */
    int busy;                         /* number of busy engines that was put last */
};

/* Puts the counter. Viewers join its name and the argument's: "busy engines". */
static void put_busy(struct counter *counter, int64_t time_ns, int busy)
{
    counter->busy = busy;
    char *at = put_reserve(counter->put, 2 * HEAD_ROOM);
    at = write_head(at, counter->tracks, 'C', counter->tracks->first_tid);
    at = WRITE_LITERAL(at, ",\"ts\":");
    at = write_us(at, time_ns);
    at = WRITE_LITERAL(at, ",\"name\":\"busy\",\"cat\":\"busy\",\"args\":{\"engines\":");
    at = write_count(at, (uint64_t)busy);
    counter->put->at = WRITE_LITERAL(at, "}}");
}

/* Puts how many engines are busy at `time_ns`, up to which all starts are known. */
static void settle(struct counter *counter, int64_t time_ns)
{
    int busy = 0;
    for (uint32_t engine = 0; engine < counter->engines; engine++)
        busy += counter->until_ns[engine] > time_ns;
    if (busy != counter->busy)
        put_busy(counter, time_ns, busy);
}

/* Settles the present and every end between it and `next_ns`; with `last`, every end. */
static void advance(struct counter *counter, int64_t next_ns, bool last)
{
    settle(counter, counter->now_ns);
    while (counter->busy > 0) {
        int64_t end_ns = INT64_MAX;
        for (uint32_t engine = 0; engine < counter->engines; engine++) {
            int64_t until_ns = counter->until_ns[engine];
            if (until_ns > counter->now_ns && until_ns < end_ns)
                end_ns = until_ns;
        }
        if (!last && end_ns >= next_ns)
            break;
        settle(counter, end_ns);
        counter->now_ns = end_ns;
    }
    counter->now_ns = next_ns;
}

/* The spans of the working engines, each engine's in order of start and behind the one's before
 * it. */
struct queues {
    struct span **spans;
    size_t next[RESOURCES_MOST], end[RESOURCES_MOST]; /* in `spans`, by engine */
};

static void queues_fill(struct queues *queues, const struct tracks *tracks, uint32_t engines)
{
    size_t count = 0;
    for (uint32_t i = 0; i < engines; i++) {
        const struct resource engine = resource_at(i, tracks->devices);
        queues->next[i] = count;
        if (engine.kind < ENGINE_WORKING)
            count +=
                timeline_engine_spans(&tracks->run->timeline, engine, queues->spans + count);
        queues->end[i] = count;
    }
}

/* Takes the span that starts next, and sets its engine; NULL at the end. */
static const struct span *queues_take(struct queues *queues, uint32_t engines, uint32_t *engine)
{
    const struct span *first = NULL;
    for (uint32_t i = 0; i < engines; i++) {
        const struct span *span =
            queues->next[i] < queues->end[i] ? queues->spans[queues->next[i]] : NULL;
        if (span == NULL || (first != NULL && span->start_ns >= first->start_ns))
            continue;
        first = span;
        *engine = i;
    }
    queues->next[*engine] += first != NULL;
    return first;
}

void tracks_put_busy(struct put *put, const struct tracks *tracks)
{
    const size_t spans = tracks->run->timeline.span_count + (size_t)1;
    struct queues queues = {.spans = malloc(spans * sizeof *queues.spans)};
    struct counter counter = {.put = put,
                              .tracks = tracks,
                              .engines = resource_count(tracks->devices),
                              .now_ns = INT64_MIN};
    if (queues.spans == NULL) {
        put->status = STATUS_NO_MEMORY;
        return;
    }
    for (uint32_t engine = 0; engine < counter.engines; engine++)
        counter.until_ns[engine] = INT64_MIN;
    queues_fill(&queues, tracks, counter.engines);
    uint32_t engine = 0;
    for (const struct span *span;
         (span = queues_take(&queues, counter.engines, &engine)) != NULL;) {
        if (span->start_ns > counter.now_ns)
            advance(&counter, span->start_ns, false);
        counter.until_ns[engine] = later(counter.until_ns[engine], span->end_ns);
    }
    advance(&counter, INT64_MAX, true);
    free(queues.spans);
}
