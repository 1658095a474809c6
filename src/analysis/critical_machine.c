/* critical_machine.c - holds that are peculiar to some machines: queues and late signals. */
#include "analysis/critical_finder.h"

#include "plan/rules.h"

#include <stdlib.h>

/* --- hardware queues --- */

/* The state of a hardware queue up to here. */
struct queue_state {
    int64_t passed_ns; /* when the last of its ops so far could leave it */
    uint32_t blocker;  /* the op that was ready then; SPAN_NONE: none so far */
};

/* An op leaves its queue when it is ready and all before it have left, so it is held by what
 * the latest of those waited for. */
static void hold_by_queue(struct finder *finder, uint32_t index, struct queue_state *queue)
{
    struct hold *hold = &finder->holds[index];
    int64_t start_ns = finder->timeline->spans[index].start_ns;
    if (queue->blocker != SPAN_NONE && queue->passed_ns > hold->ready_ns + finder->jitter_ns &&
        queue->passed_ns <= start_ns) {
        const struct hold *first = &finder->holds[queue->blocker];
        uint32_t holder = first->span;
        bool behind = holder != SPAN_NONE && span_precedes(&finder->timeline->spans[holder],
                                                           &finder->timeline->spans[index]);
        if (behind)
            *hold = (struct hold){HELD_BY_QUEUE, holder, queue->passed_ns, hold->ready_ns,
                                  first->by == HELD_BY_QUEUE ? first->blocker : queue->blocker};
    }
    if (queue->blocker == SPAN_NONE || hold->ready_ns > queue->passed_ns) {
        queue->passed_ns = hold->ready_ns;
        queue->blocker = index;
    }
}

enum status finder_hold_by_queues(struct finder *finder, struct error *error)
{
    const struct timeline *timeline = finder->timeline;
    uint32_t count = rule_queue_count(finder->machine->queues);
    struct queue_state *queues = malloc((count + (size_t)1) * sizeof *queues);
    if (queues == NULL)
        return error_set(error, STATUS_FAILED, "no memory for the critical path of %u queues",
                         count);
    for (uint32_t i = 0; i < count; i++)
        queues[i] = (struct queue_state){0, SPAN_NONE};
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (!op_on_device((enum op_kind)span->kind))
            continue;
        int queue = rule_queue(finder->machine, finder->machine->queues,
                               (enum op_kind)span->kind, span->stream);
        if (queue >= 0)
            hold_by_queue(finder, i, &queues[queue]);
    }
    free(queues);
    return STATUS_OK;
}

/* --- late signals --- */

/* Returns the last of the kernels in by_end that ended by `time_ns`; SPAN_NONE if none did. */
static uint32_t last_ended(const struct finder *finder, uint32_t count, int64_t time_ns)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (finder->timeline->spans[finder->by_end[middle]].end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? finder->by_end[low - 1] : SPAN_NONE;
}

void finder_hold_by_signals(struct finder *finder)
{
    uint32_t count = finder_sort(finder, 1U << ENGINE_COMPUTE);
    const struct span *spans = finder->timeline->spans;
    for (uint32_t i = 0; i < finder->timeline->span_count; i++) {
        const struct hold *hold = &finder->holds[i];
        bool copy = spans[i].kind == OP_H2D || spans[i].kind == OP_D2H;
        bool follows = hold->span != SPAN_NONE && spans[hold->span].kind == OP_KERNEL;
        if (!copy || !follows)
            continue;
        uint32_t kernel = last_ended(finder, count, spans[i].start_ns + finder->jitter_ns);
        if (kernel != SPAN_NONE && kernel != hold->span)
            finder_consider(finder, i, HELD_BY_SIGNAL, kernel, false);
    }
}
