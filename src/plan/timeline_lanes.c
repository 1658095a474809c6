/* timeline_lanes.c - the spans of each engine, in order of start, and the lanes that they lie
 * in.
 */
#include "core/event_queue.h"
#include "plan/timeline.h"

#include <stdlib.h>

static bool is_on(const struct span *span, struct resource engine)
{
    return span->engine == engine.kind && span->device == engine.device;
}

static int compare_by_start(const void *a, const void *b)
{
    const struct span *x = *(struct span *const *)a, *y = *(struct span *const *)b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->op < y->op ? -1 : 1;
}

size_t timeline_engine_spans(const struct timeline *timeline, struct resource engine,
                             struct span **spans)
{
    /* Engines work nearly in the order of issue, so that few spans have to move far. Beyond so
     * many moves for each, a sort of all is faster. */
    enum { FEW_MOVES = 8 };
    const size_t most = FEW_MOVES * (size_t)timeline->span_count;
    size_t count = 0, moves = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        struct span *span = &timeline->spans[i];
        if (!is_on(span, engine))
            continue;
        size_t at = count++;
        for (; at > 0 && moves < most && compare_by_start(&spans[at - 1], &span) > 0; at--) {
            spans[at] = spans[at - 1];
            moves++;
        }
        spans[at] = span;
    }
    if (count > 0 && moves == most)
        qsort(spans, count, sizeof *spans, compare_by_start);
    return count;
}

/* Gives the spans of one engine, in order of start, the lowest lane that is free. Returns false
 * when memory runs out. Of the two queues, `busy` gives lanes by the time at which they are
 * free again, and `idle` by their number. */
static bool lanes_of_engine(struct span **spans, size_t count)
{
    struct event_queue busy, idle;
    struct event lane;
    uint32_t lanes = 0;
    bool room = true;
    event_queue_init(&busy);
    event_queue_init(&idle);
    for (size_t i = 0; i < count && room; i++) {
        while (room && busy.count > 0 && busy.heap[0].time_ns <= spans[i]->start_ns) {
            event_queue_pop(&busy, &lane);
            room = event_queue_push(&idle, lane.subject, 0, lane.subject, 0);
        }
        spans[i]->lane = event_queue_pop(&idle, &lane) ? lane.subject : lanes++;
        room = room && event_queue_push(&busy, spans[i]->end_ns, 0, spans[i]->lane, 0);
    }
    event_queue_free(&busy);
    event_queue_free(&idle);
    return room;
}

/* A look over all spans. */
struct look {
    __extension__ __int128 ns, bytes; /* all added up */
    int64_t last_ns;                  /* the last end */
    /* Per engine, by resource_number(): the end of its latest span; and if it has two at once
     * in the order of issue, so that not all are in its first lane, as they mostly are. */
    int64_t ends_ns[RESOURCES_MOST];
    bool beside[RESOURCES_MOST];
};

/* Looks over the spans, and gives them the lanes that they have where engines take turns.
 * Waits, which do nothing, are left out of the sum: there may be very many at once. */
static struct look look_over(struct timeline *timeline)
{
    const uint32_t devices = timeline_devices(timeline);
    struct look look = {.ns = 0};
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        struct span *span = &timeline->spans[i];
        look.ns += span->kind != OP_WAIT ? span->end_ns - span->start_ns : 0;
        look.bytes += span->bytes;
        look.last_ns = later(look.last_ns, span->end_ns);
        const uint32_t engine =
            devices > 1 ? resource_number(span_resource(span), devices) : span->engine;
        look.beside[engine] |= span->start_ns < look.ends_ns[engine];
        look.ends_ns[engine] = span->end_ns;
        span->lane = span->engine == ENGINE_NONE ? span->stream : 0;
    }
    for (uint32_t i = 0; i < timeline->call_count; i++)
        look.ns += timeline->calls[i].end_ns - timeline->calls[i].start_ns;
    look.ns += look.last_ns;
    return look;
}

static enum status set_lanes(struct timeline *timeline, const struct look *look,
                             struct error *error)
{
    struct span **spans = NULL;
    bool room = true;
    const uint32_t devices = timeline_devices(timeline);
    for (uint32_t i = 0; i < resource_count(devices) && room; i++) {
        const struct resource engine = resource_at(i, devices);
        if (!look->beside[i] || engine.kind == ENGINE_NONE)
            continue;
        if (spans == NULL)
            spans = malloc((timeline->span_count + (size_t)1) * sizeof *spans);
        room = spans != NULL &&
               lanes_of_engine(spans, timeline_engine_spans(timeline, engine, spans));
    }
    free(spans);
    return room ? STATUS_OK
                : error_set(error, STATUS_NO_MEMORY, "no memory to lay out a timeline");
}

/* Refuses what timeline.h says. */
static enum status check_sums(const struct look *look, struct error *error)
{
    if (look->ns >= MACHINE_NEVER_NS)
        return error_set(error, STATUS_USAGE,
                         "the ops and calls take more than 36 years together, which is more "
                         "than a timeline can hold");
    if (look->bytes > INT64_MAX)
        return error_set(error, STATUS_USAGE,
                         "the ops move more than 8 EiB together, which is more bytes than a "
                         "timeline can hold");
    return STATUS_OK;
}

enum status timeline_lay_out(struct timeline *timeline, struct error *error)
{
    struct look look = look_over(timeline);
    enum status status = check_sums(&look, error);
    return status == STATUS_OK ? set_lanes(timeline, &look, error) : status;
}
