/* loop_steps.c - the loop as the program marked it: PyTorch's profiler has a range for each
 * step, whose ops are those that were issued in it. */
#include "analysis/loop_kinds.h"
#include "core/compare.h"

#include <stdlib.h>
#include <string.h>

struct step {
    int64_t start_ns,
        begin_ns; /* of its range; when the first op of it or of a later one ran */
    uint32_t ops;
};

/* Lists the steps; behind them stands one for all that was issued later. */
static uint32_t list_steps(const struct timeline *timeline, struct step *steps)
{
    static const char name[] = "ProfilerStep#";
    uint32_t count = 0;
    int64_t end_ns = 0;
    EACH (const struct host_range, range, timeline->ranges, timeline->range_count) {
        if (strncmp(range->name, name, sizeof name - 1) != 0)
            continue;
        steps[count++].start_ns = range->start_ns - timeline->ranges_from_ns;
        end_ns = range->end_ns - timeline->ranges_from_ns;
    }
    steps[count].start_ns = end_ns;
    return count;
}

/* Counts the ops of each of `count` steps, and finds when they begin. Returns how many ops are
 * in steps. */
static uint32_t put_ops(const struct timeline *timeline, struct step *steps, uint32_t count)
{
    int64_t end_ns = 0;
    uint32_t ops = 0;
    for (uint32_t i = 0; i <= count; i++)
        steps[i].begin_ns = INT64_MAX;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        BISECT(at, i, 0, count + (size_t)1, steps[i].start_ns <= span->issue_ns);
        end_ns = later(end_ns, span->end_ns);
        if (at == 0 || !op_on_device(span->kind))
            continue;
        steps[at - 1].begin_ns = earlier(steps[at - 1].begin_ns, span->start_ns);
        steps[at - 1].ops++;
        ops += at <= count;
    }
    steps[count].begin_ns = earlier(steps[count].begin_ns, end_ns);
    for (uint32_t i = count; i-- > 0;)
        steps[i].begin_ns = earlier(steps[i].begin_ns, steps[i + 1].begin_ns);
    return ops;
}

/* The first step may start things up, and the last may be a rest: what has less than half of
 * the ops of the one in the middle, or takes longer than the next by a quarter, is left out at
 * the ends. */
bool loop_steps_find(const struct timeline *timeline, struct loop *loop)
{
    struct step *steps = calloc(timeline->range_count + 1, sizeof *steps);
    uint32_t first = 0, end = steps != NULL ? list_steps(timeline, steps) : 0;
    if (end >= LOOP_PASSES_MIN && !timeline->issue_unknown &&
        2 * put_ops(timeline, steps, end) > timeline->span_count) {
        const uint32_t usual = steps[end / 2].ops;
        while (end > 0 && 2 * steps[end - 1].ops < usual)
            end--;
        while (end - first > LOOP_PASSES_MIN &&
               (2 * steps[first].ops < usual ||
                steps[first + 1].begin_ns - steps[first].begin_ns >
                    (steps[first + 2].begin_ns - steps[first + 1].begin_ns) / 4 * 5))
            first++;
        if (usual > 0 && end - first >= LOOP_PASSES_MIN)
            *loop = (struct loop){.passes = end - first,
                                  .marked = true,
                                  .from_ns = steps[first].begin_ns,
                                  .to_ns = steps[end].begin_ns};
        for (uint32_t i = first; i < first + loop->passes; i++)
            loop->unlike += steps[i].ops != usual;
    }
    free(steps);
    return steps != NULL;
}
