/* trace_busy.c - the counter of busy engines.
 *
 * It needs the spans in order of start, and they come in order of issue, which is nearly that.
 * Sorting them all would take memory for each: instead the CHUNK spans that start first of all
 * that are left are taken at a time, from those blocks of the timeline whose least and latest
 * start allow it. Of nearly sorted spans these are a few; any order stays right, only slower.
 */
#include "writers/trace_tracks.h"

#include <stdlib.h>

enum { BLOCKS = 1024, CHUNK = 4096 };

/* A span of a working engine, in order of its start; among equal starts, of its place. */
struct start {
    int64_t start_ns, end_ns;
    uint32_t index, engine;
};

struct block {
    int64_t least_ns, most_ns; /* range of the starts in it; the least is above the most where
                                  there are none */
};

struct walk {
    const struct timeline *timeline;
    size_t block_length;
    struct block blocks[BLOCKS];
    struct start last; /* last start of the chunk before */
    bool begun;
    struct start heap[CHUNK]; /* the latest start on top, until it is sorted */
    uint32_t count;
};

static bool precedes(const struct start *a, const struct start *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->index < b->index;
}

static void walk_begin(struct walk *walk, const struct timeline *timeline)
{
    walk->timeline = timeline;
    walk->block_length = timeline->span_count / (size_t)BLOCKS + 1;
    walk->begun = false;
    for (size_t b = 0; b < BLOCKS; b++)
        walk->blocks[b] = (struct block){INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        struct block *block = &walk->blocks[i / walk->block_length];
        if (span->engine >= ENGINE_WORKING)
            continue;
        if (span->start_ns < block->least_ns)
            block->least_ns = span->start_ns;
        if (span->start_ns > block->most_ns)
            block->most_ns = span->start_ns;
    }
}

/* --- a heap of the earliest spans, the latest of them on top --- */

static void heap_sink(struct start *heap, uint32_t count, struct start item)
{
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && precedes(&heap[child], &heap[child + 1]))
            child++;
        if (!precedes(&item, &heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

static void heap_take(struct walk *walk, struct start item)
{
    struct start *heap = walk->heap;
    if (walk->count == CHUNK) {
        if (precedes(&item, &heap[0]))
            heap_sink(heap, CHUNK, item);
        return;
    }
    uint32_t at = walk->count++;
    for (; at > 0 && precedes(&heap[(at - 1) / 2], &item); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

static void heap_sort(struct walk *walk)
{
    for (uint32_t count = walk->count; count > 1; count--) {
        struct start item = walk->heap[count - 1];
        walk->heap[count - 1] = walk->heap[0];
        heap_sink(walk->heap, count - 1, item);
    }
}

/* --- chunks --- */

static void walk_block(struct walk *walk, size_t b)
{
    size_t begin = b * walk->block_length, end = begin + walk->block_length;
    const struct timeline *timeline = walk->timeline;
    end = end < timeline->span_count ? end : timeline->span_count;
    for (size_t i = begin; i < end; i++) {
        const struct span *span = &timeline->spans[i];
        const uint32_t devices = timeline_devices(timeline);
        struct start item = {span->start_ns, span->end_ns, (uint32_t)i,
                             resource_number(span_resource(span), devices)};
        if (span->engine < ENGINE_WORKING && (!walk->begun || precedes(&walk->last, &item)))
            heap_take(walk, item);
    }
}

/* Fills the chunk with the spans that start next, in order. Returns false at the end. */
static bool walk_next(struct walk *walk)
{
    walk->count = 0;
    for (size_t b = 0; b < BLOCKS; b++) {
        const struct block *block = &walk->blocks[b];
        bool over = block->least_ns > block->most_ns ||
                    (walk->begun && block->most_ns < walk->last.start_ns);
        bool later = walk->count == CHUNK && block->least_ns > walk->heap[0].start_ns;
        if (!over && !later)
            walk_block(walk, b);
    }
    if (walk->count == 0)
        return false;
    heap_sort(walk);
    walk->last = walk->heap[walk->count - 1];
    walk->begun = true;
    return true;
}

/* --- the counter --- */

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

void tracks_put_busy(struct put *put, const struct tracks *tracks)
{
    struct walk *walk = malloc(sizeof *walk);
    struct counter counter = {.put = put,
                              .tracks = tracks,
                              .engines = resource_count(tracks->devices),
                              .now_ns = INT64_MIN};
    if (walk == NULL) {
        put->status = STATUS_NO_MEMORY;
        return;
    }
    for (uint32_t engine = 0; engine < counter.engines; engine++)
        counter.until_ns[engine] = INT64_MIN;
    walk_begin(walk, &tracks->run->timeline);
    while (walk_next(walk)) {
        for (uint32_t i = 0; i < walk->count; i++) {
            const struct start *start = &walk->heap[i];
            if (start->start_ns > counter.now_ns)
                advance(&counter, start->start_ns, false);
            if (start->end_ns > counter.until_ns[start->engine])
                counter.until_ns[start->engine] = start->end_ns;
        }
    }
    advance(&counter, INT64_MAX, true);
    free(walk);
}
