/* event_queue.h - future events by virtual time; ties leave in the order they came.
 *
 * A binary heap: push and pop cost log n. A simulation pushes and pops several events per op,
 * so an event is kept to 24 bytes. */
#ifndef PIPELINE_CORE_EVENT_QUEUE_H
#define PIPELINE_CORE_EVENT_QUEUE_H

#include "core/items.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { EVENT_KIND_BITS = 4 }; /* kinds are 0 to 15 */

struct event {
    int64_t time_ns;
    uint64_t order; /* count of those that came before, above the kind's bits: breaks ties */
    uint32_t subject;
    uint32_t stamp; /* the pusher's own, by which it sees that an event has been overtaken */
};

static inline bool event_before(const struct event *a, const struct event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

static inline int event_kind(const struct event *event)
{
    return (int)(event->order & ((1U << EVENT_KIND_BITS) - 1));
}

/* Zero-initialise; free with event_queue_free(). */
struct event_queue {
    struct event *heap;
    size_t count, capacity;
    uint64_t pushed; /* events so far */
};

/* Returns an event that leaves behind all that were made before for its time: for a caller that
 * keeps some events itself. */
static inline struct event event_make(struct event_queue *queue, int64_t time_ns, int kind,
                                      uint32_t subject, uint32_t stamp)
{
    uint64_t order = queue->pushed++ << EVENT_KIND_BITS | (uint64_t)kind;
    return (struct event){time_ns, order, subject, stamp};
}

static inline void event_queue_free(struct event_queue *queue)
{
    free(queue->heap);
    *queue = (struct event_queue){0};
}

/* Adds an event. Returns false when memory runs out. */
static inline bool event_queue_push(struct event_queue *queue, int64_t time_ns, int kind,
                                    uint32_t subject, uint32_t stamp)
{
    if (!ITEMS_ROOM(queue->heap, queue->count, queue->capacity))
        return false;
    struct event event = event_make(queue, time_ns, kind, subject, stamp);
    size_t hole = queue->count++;
    while (hole > 0 && event_before(&event, &queue->heap[(hole - 1) / 2])) {
        queue->heap[hole] = queue->heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    queue->heap[hole] = event;
    return true;
}

/* Drops the earliest event, which is there. */
static inline void event_queue_drop(struct event_queue *queue)
{
    const struct event *last = &queue->heap[--queue->count];
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child >= queue->count)
            break;
        if (child + 1 < queue->count &&
            event_before(&queue->heap[child + 1], &queue->heap[child]))
            child++;
        if (!event_before(&queue->heap[child], last))
            break;
        queue->heap[hole] = queue->heap[child];
        hole = child;
    }
    queue->heap[hole] = *last;
}

/* Takes the earliest event. Returns false when there is none. It is inline, so that a caller
 * reads what it needs of the event from where that lies. A copy of the whole goes in wider
 * words than the event was written in, and if that was just before, has to wait for it. */
static inline bool event_queue_pop(struct event_queue *queue, struct event *event)
{
    if (queue->count == 0)
        return false;
    *event = queue->heap[0];
    event_queue_drop(queue);
    return true;
}

#endif
