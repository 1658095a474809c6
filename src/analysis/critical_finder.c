/* critical_finder.c - spans in order of time, and what held one latest. */
#include "analysis/critical_finder.h"

#include <stdlib.h>

enum { JITTER_NS = 1000 }; /* of a measured time against another */

bool finder_begin(struct finder *finder, const struct timeline *timeline,
                  struct critical *result)
{
    size_t count = timeline->span_count + (size_t)1;
    result->holds = calloc(count, sizeof *result->holds);
    result->path = calloc(count, sizeof *result->path);
    result->on_path = calloc(count, sizeof *result->on_path);
    *finder = (struct finder){
        .timeline = timeline,
        .holds = result->holds,
        .by_start = calloc(count, sizeof *finder->by_start),
        .by_end = calloc(count, sizeof *finder->by_end),
        .running = calloc(count, sizeof *finder->running),
        .sorted = calloc(count, sizeof *finder->sorted),
        .delays = calloc(count, sizeof *finder->delays),
    };
    if (timeline->timing != TIMING_VIRTUAL)
        finder->jitter_ns = later(timeline->resolution_ns, JITTER_NS);
    return result->holds != NULL && result->path != NULL && result->on_path != NULL &&
           finder->by_start != NULL && finder->by_end != NULL && finder->running != NULL &&
           finder->sorted != NULL && finder->delays != NULL;
}

void finder_end(struct finder *finder)
{
    free(finder->by_start);
    free(finder->by_end);
    free(finder->running);
    free(finder->sorted);
    free(finder->delays);
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
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return compare_starts(a, b);
}

/* Writes the places of the sorted spans into `places`. */
static void take_places(const struct finder *finder, uint32_t *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        places[i] = (uint32_t)(finder->sorted[i] - finder->timeline->spans);
}

uint32_t finder_sort(struct finder *finder, unsigned engines)
{
    const struct timeline *timeline = finder->timeline;
    uint32_t count = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (engines >> span->engine & 1 && !op_is_call(span->kind)) /* no engine's work */
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
