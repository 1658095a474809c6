/* event_queue.h - future events by virtual time; ties leave in the order they came.
 *
 * A binary heap: push and pop cost log n. A simulation pushes and pops several events per op,
 * so an event is kept to 24 bytes. */
#ifndef PIPELINE_CORE_EVENT_QUEUE_H
#define PIPELINE_CORE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

void event_queue_init(struct event_queue *queue);
void event_queue_free(struct event_queue *queue);

/* Adds an event. Returns false when memory runs out. */
bool event_queue_push(struct event_queue *queue, int64_t time_ns, int kind, uint32_t subject,
                      uint32_t stamp);

/* Drops the earliest event, which is there. */
void event_queue_drop(struct event_queue *queue);

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
