/* event_queue.h - future events by virtual time; ties leave in the order they came.
 *
 * A binary heap: push and pop cost log n. */
#ifndef PIPELINE_EVENT_QUEUE_H
#define PIPELINE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
    int64_t time_ns;
    uint64_t sequence; /* set by event_queue_push: breaks ties */
    int kind;
    uint32_t subject;
    uint64_t stamp; /* the pusher's own: lets it see that an event has been overtaken */
};

struct event_queue {
    struct event *heap;
    size_t count, capacity;
    uint64_t next_sequence;
};

void event_queue_init(struct event_queue *queue);
void event_queue_free(struct event_queue *queue);

/* Adds an event. False when memory runs out. */
bool event_queue_push(struct event_queue *queue, int64_t time_ns, int kind, uint32_t subject,
                      uint64_t stamp);

/* Takes the earliest event. False when there is none. */
bool event_queue_pop(struct event_queue *queue, struct event *event);

#endif
