/* critical_finder.c - spans in order of time, and what held one latest; and holds that are
 * peculiar to some machines: queues and late signals. */
#include "analysis/critical_finder.h"

#include "core/compare.h"
#include "plan/rules.h"

#include <stdlib.h>

enum { JITTER_NS = 1000 }; /* of a measured time against another */

bool finder_begin(struct finder *finder, const struct timeline *timeline,
                  struct critical *result)
{
    size_t count = timeline->span_count + (size_t)1;
    result->holds = arena_zeros(&result->arena, count, sizeof *result->holds);
    result->before = arena_ones(&result->arena, count, sizeof *result->before);
    result->path = arena_zeros(&result->arena, count, sizeof *result->path);
    result->on_path = arena_zeros(&result->arena, count, sizeof *result->on_path);
    *finder =
        (struct finder){.timeline = timeline, .holds = result->holds, .before = result->before};
    finder->by_start = arena_zeros(&finder->arena, count, sizeof *finder->by_start);
    finder->by_end = arena_zeros(&finder->arena, count, sizeof *finder->by_end);
    finder->running = arena_zeros(&finder->arena, count, sizeof *finder->running);
    finder->sorted = arena_zeros(&finder->arena, count, sizeof *finder->sorted);
    finder->delays = arena_zeros(&finder->arena, count, sizeof *finder->delays);
    if (timeline->timing != TIMING_VIRTUAL)
        finder->jitter_ns = later(timeline->resolution_ns, JITTER_NS);
    return !result->arena.full && !finder->arena.full;
}

/* Only what began before a span can have held it, so that the way along holds leads back to the
 * start. */
void finder_consider(struct finder *finder, uint32_t index, enum held_by by, uint32_t holder,
                     bool even)
{
    const struct span *span = &finder->timeline->spans[index];
    const struct span *held = &finder->timeline->spans[holder];
    struct hold *hold = &finder->holds[index];
    int64_t free_ns = earlier(held->end_ns, span->start_ns);
    if (!span_precedes(held, span) || held->end_ns - finder->jitter_ns > span->start_ns)
        return;
    if (free_ns > hold->free_ns || (even && free_ns == hold->free_ns))
        *hold = (struct hold){
            .by = by, .span = holder, .free_ns = free_ns, .ready_ns = hold->ready_ns};
}

/* --- spans in order of time --- */

static int compare_starts(const void *a, const void *b)
{
    const struct span *x = *(const struct span *const *)a, *y = *(const struct span *const *)b;
    return span_precedes(x, y) ? -1 : span_precedes(y, x);
}

static int compare_ends(const void *a, const void *b)
{
    const struct span *x = *(const struct span *const *)a, *y = *(const struct span *const *)b;
    return COMPARE_ELSE(COMPARE_MEMBERS(end_ns), compare_starts(a, b));
}

/* Writes the places of the sorted spans into `places`. */
static void take_places(const struct finder *finder, uint32_t *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        places[i] = (uint32_t)(finder->sorted[i] - finder->timeline->spans);
}

uint32_t finder_sort(struct finder *finder, unsigned engines, uint32_t device)
{
    const struct timeline *timeline = finder->timeline;
    uint32_t count = 0;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        bool on = span->device == device && (engines >> span->engine & 1);
        if (on && !op_is_call(span->kind)) /* no engine's work */
            finder->sorted[count++] = span;
    }
    qsort(finder->sorted, count, sizeof *finder->sorted, compare_starts);
    take_places(finder, finder->by_start, count);
    qsort(finder->sorted, count, sizeof *finder->sorted, compare_ends);
    take_places(finder, finder->by_end, count);
    return count;
}

void finder_reach(const struct finder *finder, struct engine_pass *pass, uint32_t index)
{
    const struct span *spans = finder->timeline->spans, *span = &spans[index];
    int64_t jitter_ns = finder->jitter_ns;
    while (spans[finder->by_end[pass->ended]].end_ns - jitter_ns <= span->start_ns &&
           span_precedes(&spans[finder->by_end[pass->ended]], span))
        pass->ended++;
    while (pass->running_count > 0 &&
           spans[finder->running[pass->running_count - 1]].end_ns - jitter_ns <= span->start_ns)
        pass->running_count--;
    pass->latest = pass->ended > 0 ? finder->by_end[pass->ended - 1] : SPAN_NONE;
    pass->beside =
        pass->running_count > 0 ? finder->running[pass->running_count - 1] : SPAN_NONE;
    finder->running[pass->running_count++] = index;
}

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
    const uint32_t each = rule_queue_count(finder->machine->queues);
    const uint32_t count = each * timeline_devices(timeline);
    struct queue_state *queues = arena_zeros(&finder->arena, count, sizeof *queues);
    if (queues == NULL)
        return error_no_memory(error, "for the critical path of %u queues", count);
    for (uint32_t i = 0; i < count; i++)
        queues[i] = (struct queue_state){0, SPAN_NONE};
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (!op_on_device(span->kind))
            continue;
        const uint32_t number = timeline_stream_home(timeline, span->stream).number;
        int queue = rule_queue(finder->machine, finder->machine->queues, span->kind, number);
        if (queue >= 0)
            hold_by_queue(finder, i, &queues[span->device * each + (uint32_t)queue]);
    }
    return STATUS_OK;
}

/* --- late signals --- */

void finder_hold_by_signals(struct finder *finder, uint32_t device)
{
    uint32_t count = finder_sort(finder, 1U << ENGINE_COMPUTE, device);
    const struct span *spans = finder->timeline->spans;
    for (uint32_t i = 0; i < finder->timeline->span_count; i++) {
        const struct hold *hold = &finder->holds[i];
        bool copy = op_is_copy(spans[i].kind);
        bool follows = hold->span != SPAN_NONE && spans[hold->span].kind == OP_KERNEL;
        if (!copy || !follows || spans[i].device != device)
            continue;
        size_t ended =
            spans_ended_by(finder->sorted, count, spans[i].start_ns + finder->jitter_ns);
        if (ended > 0 && finder->by_end[ended - 1] != hold->span)
            finder_consider(finder, i, HELD_BY_SIGNAL, finder->by_end[ended - 1], false);
    }
}
