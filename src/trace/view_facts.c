/* view_facts.c - what a trace shows beside its busy times. */
#include "trace/view_facts.h"
#include "core/compare.h"

#include <stdlib.h>

/* The times at which one engine was at work, merged and in order. */
struct intervals {
    struct busy_time {
        int64_t start_ns, end_ns;
    } * items;
    size_t count;
};

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

/* Merges the spans of an engine, given in order of start, and keeps the gaps between. */
static void merge(const struct timeline *timeline, struct span *const *spans, size_t count,
                  int engine, struct intervals *intervals, struct view_facts *facts)
{
    struct busy_time *last = NULL;
    intervals->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct span *span = spans[i];
        facts->sum_ns[engine] += span->end_ns - span->start_ns;
        if (last != NULL && span->start_ns <= last->end_ns) {
            last->end_ns = span->end_ns > last->end_ns ? span->end_ns : last->end_ns;
            continue;
        }
        if (last != NULL)
            keep_gap(facts, engine,
                     (struct view_gap){last->end_ns, span->start_ns,
                                       (uint32_t)(span - timeline->spans)});
        last = &intervals->items[intervals->count++];
        *last = (struct busy_time){span->start_ns, span->end_ns};
    }
}

/* The next time after `now` at which an engine begins or ends; sets whether it is at work. */
static int64_t next_change(const struct intervals *intervals, size_t *at, int64_t now,
                           bool *busy)
{
    while (*at < intervals->count && intervals->items[*at].end_ns <= now)
        ++*at;
    *busy = *at < intervals->count && intervals->items[*at].start_ns <= now;
    if (*at == intervals->count)
        return INT64_MAX;
    return *busy ? intervals->items[*at].end_ns : intervals->items[*at].start_ns;
}

static void find_together(const struct intervals intervals[DEVICE_ENGINES], int64_t end_ns,
                          struct view_facts *facts)
{
    size_t at[DEVICE_ENGINES] = {0};
    for (int64_t now = 0; now < end_ns;) {
        unsigned set = 0;
        int64_t next = end_ns;
        for (int i = 0; i < DEVICE_ENGINES; i++) {
            bool busy;
            int64_t change = next_change(&intervals[i], &at[i], now, &busy);
            set |= (unsigned)busy << i;
            next = change < next ? change : next;
        }
        facts->together_ns[set] += next - now;
        now = next;
    }
}

static enum status find_busy(const struct timeline *timeline, struct view_facts *facts,
                             struct error *error)
{
    size_t room = timeline->span_count + (size_t)1;
    struct span **spans = malloc(room * sizeof *spans);
    struct intervals intervals[DEVICE_ENGINES] = {0};
    bool there = spans != NULL;
    for (int i = 0; i < DEVICE_ENGINES && there; i++) {
        size_t count =
            timeline_engine_spans(timeline, (struct resource){(enum engine)i, 0, 0}, spans);
        intervals[i].items = malloc((count + 1) * sizeof *intervals[i].items);
        there = intervals[i].items != NULL;
        if (there)
            merge(timeline, spans, count, i, &intervals[i], facts);
    }
    if (there)
        find_together(intervals, timeline_time_ns(timeline), facts);
    for (int i = 0; i < DEVICE_ENGINES; i++)
        free(intervals[i].items);
    free(spans);
    return there ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "no memory to view a trace");
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
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
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
        const struct hold *hold = &critical->holds[index];
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
        facts->path_wait_ns[hold->by] += span->start_ns - hold->free_ns;
    }
}

static int compare_names(const void *a, const void *b)
{
    const struct view_name *x = a, *y = b;
    return COMPARE(y->ops > 0, x->ops > 0) ?: COMPARE(y->sum_ns, x->sum_ns);
}

enum status view_facts_find(const struct timeline *timeline, const struct critical *critical,
                            struct view_facts *facts, struct error *error)
{
    size_t names = timeline->name_count + (size_t)OP_KIND_COUNT;
    struct view_facts result = {.names = calloc(names, sizeof *result.names)};
    if (result.names == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to view a trace");
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
