/* view_facts.c - what a trace shows beside its busy times. */
#include "core/compare.h"
#include "trace/view.h"

#include <stdlib.h>

/* An op begins or ends on an engine. Of one time those that begin come first: an engine whose
 * next op begins where the one before ends is at work all the time. */
struct turn {
    int64_t time_ns;
    bool ends;
    uint32_t span;
};
COMPARE_BY(compare_turns, struct turn, time_ns, ends, span);

static void keep_gap(struct view_facts *facts, int engine, struct view_gap gap)
{
    struct view_gap *gaps = facts->gaps[engine];
    uint32_t kept = facts->gap_counts[engine]++;
    facts->gap_sums_ns[engine] += gap.end_ns - gap.start_ns;
    uint32_t place = kept < GAPS_KEPT ? kept : GAPS_KEPT;
    for (; place > 0; place--) {
        const struct view_gap *other = &gaps[place - 1];
        if (other->end_ns - other->start_ns >= gap.end_ns - gap.start_ns)
            break;
        if (place < GAPS_KEPT)
            gaps[place] = *other;
    }
    if (place < GAPS_KEPT)
        gaps[place] = gap;
}

/* An engine while turns are gone through. */
struct engine_state {
    uint32_t running; /* ops */
    bool begun;
    int64_t idle_ns; /* since when it has nothing to do, where it has begun and runs none */
};

/* Takes an op's beginning or end on the engine whose bit of *set says whether it is at work. */
static void take_turn(struct engine_state *state, const struct turn *turn, int engine,
                      unsigned *set, struct view_facts *facts)
{
    if (turn->ends && --state->running == 0) {
        *set &= ~(1U << engine);
        state->idle_ns = turn->time_ns;
    } else if (!turn->ends && state->running++ == 0) {
        if (state->begun)
            keep_gap(facts, engine,
                     (struct view_gap){state->idle_ns, turn->time_ns, turn->span});
        state->begun = true;
        *set |= 1U << engine;
    }
}

static void sweep(const struct timeline *timeline, const struct turn *turns, size_t count,
                  struct view_facts *facts)
{
    const int64_t end_ns = timeline_time_ns(timeline);
    struct engine_state states[DEVICE_ENGINES] = {0};
    unsigned set = 0;
    int64_t now_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const int engine = (int)timeline->spans[turns[i].span].engine;
        const int64_t next_ns = later(now_ns, earlier(turns[i].time_ns, end_ns));
        facts->together_ns[set] += next_ns - now_ns;
        now_ns = next_ns;
        take_turn(&states[engine], &turns[i], engine, &set, facts);
    }
    facts->together_ns[set] += later(end_ns - now_ns, 0);
}

static enum status find_busy(const struct timeline *timeline, struct view_facts *facts,
                             struct error *error)
{
    struct turn *turns = malloc((2 * (size_t)timeline->span_count + 1) * sizeof *turns);
    size_t count = 0;
    if (turns == NULL)
        return error_no_memory(error, "to view a trace");
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->engine >= DEVICE_ENGINES || span->device != 0)
            continue;
        facts->sum_ns[span->engine] += span->end_ns - span->start_ns;
        turns[count++] = (struct turn){span->start_ns, false, i};
        turns[count++] = (struct turn){span->end_ns, true, i};
    }
    qsort(turns, count, sizeof *turns, compare_turns);
    sweep(timeline, turns, count, facts);
    free(turns);
    return STATUS_OK;
}

/* Returns the place where ops called as `span` are counted: by their kind and, behind all
 * kinds, kernels by link. */
static struct view_name *name_of(const struct view_facts *facts,
                                 const struct timeline *timeline, const struct span *span)
{
    uint32_t index =
        span->kind == OP_KERNEL ? OP_KIND_COUNT + (uint32_t)span->link : span->kind;
    bool known = span->engine < DEVICE_ENGINES && index < timeline->name_count + OP_KIND_COUNT;
    return known ? &facts->names[index] : NULL;
}

static void count_names(const struct timeline *timeline, struct view_facts *facts)
{
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        struct view_name *name = name_of(facts, timeline, span);
        char text[SPAN_NAME];
        if (name == NULL)
            continue;
        if (name->ops++ == 0)
            name->name = timeline_span_name(timeline, span, text);
        name->engine = span->engine;
        name->sum_ns += span->end_ns - span->start_ns;
    }
}

/* Every piece of the path belongs to an op: from what let it go to what it lets go. Of that it
 * waited first, and then ran. */
static void count_path(const struct timeline *timeline, const struct critical *critical,
                       struct view_facts *facts)
{
    for (uint32_t i = 0; i < critical->path_count; i++) {
        uint32_t index = critical->path[i];
        const struct span *span = &timeline->spans[index];
        int64_t until_ns = span->end_ns;
        /* A call of the host waits for the op's end, from before it. */
        if (i + 1 < critical->path_count &&
            !op_is_call(timeline->spans[critical->path[i + 1]].kind))
            until_ns = critical->holds[critical->path[i + 1]].free_ns;
        struct view_name *name = name_of(facts, timeline, span);
        if (name == NULL)
            continue;
        name->path_ns += until_ns - span->start_ns;
        facts->path_ns[span->engine] += until_ns - span->start_ns;
    }
}

static int compare_names(const void *a, const void *b)
{
    const struct view_name *x = a, *y = b;
    return COMPARE_ELSE(COMPARE(y->ops > 0, x->ops > 0), COMPARE(y->sum_ns, x->sum_ns));
}

enum status view_facts_find(const struct timeline *timeline, const struct critical *critical,
                            struct view_facts *facts, struct error *error)
{
    size_t names = timeline->name_count + (size_t)OP_KIND_COUNT;
    struct view_facts result = {.names = calloc(names, sizeof *result.names)};
    if (result.names == NULL)
        return error_no_memory(error, "to view a trace");
    enum status status = find_busy(timeline, &result, error);
    if (status != STATUS_OK) {
        view_facts_free(&result);
        return status;
    }
    count_names(timeline, &result);
    count_path(timeline, critical, &result);
    qsort(result.names, names, sizeof *result.names, compare_names);
    while (result.name_count < names && result.names[result.name_count].ops > 0)
        result.name_count++;
    *facts = result;
    return STATUS_OK;
}

void view_facts_free(struct view_facts *facts)
{
    free(facts->names);
    *facts = (struct view_facts){0};
}

int64_t view_facts_at_once_ns(const struct view_facts *facts, int count)
{
    int64_t sum = 0;
    for (unsigned set = 0; set < ENGINE_SETS; set++)
        sum += __builtin_popcount(set) == count ? facts->together_ns[set] : 0;
    return sum;
}

int64_t view_facts_together_ns(const struct view_facts *facts, unsigned engines)
{
    int64_t sum = 0;
    for (unsigned set = 0; set < ENGINE_SETS; set++)
        sum += (set & engines) == engines ? facts->together_ns[set] : 0;
    return sum;
}
