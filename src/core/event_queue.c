/* event_queue.c - a binary heap of future events. */
#include "core/event_queue.h"

#include "core/items.h"

#include <stdlib.h>

void event_queue_init(struct event_queue *queue)
{
    *queue = (struct event_queue){0};
}

void event_queue_free(struct event_queue *queue)
{
    free(queue->heap);
    event_queue_init(queue);
}

bool event_queue_push(struct event_queue *queue, int64_t time_ns, int kind, uint32_t subject,
                      uint32_t stamp)
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

void event_queue_drop(struct event_queue *queue)
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
