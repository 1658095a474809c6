/* latency.c - one pass over the spans in op order, then a sort by priority and time. */
#include "analysis/analysis.h"

#include "core/arena.h"
#include "core/compare.h"

#include <stdlib.h>

/* The way of one tile, or of a batch, through the engines. */
struct way {
    bool begun;
    int priority;
    int64_t ready_ns, end_ns;
};

/* A pass over all spans, in op order. */
struct latency_pass {
    const int *priorities;
    int64_t *stream_ends; /* of each stream's latest op */
    uint32_t batch;
    struct way *ways; /* per batch */
    uint32_t count;
    struct arena arena; /* what has these tables */
};

/* Returns one more than the highest batch there is. */
static uint32_t count_batches(const struct timeline *timeline, uint32_t batch)
{
    int64_t highest = -1;
    for (uint32_t i = 0; i < timeline->span_count; i++)
        highest = later(highest, timeline->spans[i].tile);
    return highest < 0 ? 0 : (uint32_t)highest / batch + 1;
}

static bool pass_begin(struct latency_pass *pass, const struct timeline *timeline,
                       const int *priorities, uint32_t batch)
{
    pass->priorities = priorities;
    pass->batch = batch;
    pass->count = count_batches(timeline, batch);
    const size_t streams = timeline->streams + (size_t)1;
    pass->ways = arena_zeros(&pass->arena, pass->count, sizeof *pass->ways);
    pass->stream_ends = arena_zeros(&pass->arena, streams, sizeof *pass->stream_ends);
    return !pass->arena.full;
}

/* Takes up one span. Measured times may be a little out of step, so a tile is made ready no
 * later than it began. */
static void pass_span(struct latency_pass *pass, const struct span *span)
{
    int64_t *stream_end = &pass->stream_ends[span->stream];
    if (span->tile >= 0 && op_on_device(span->kind)) {
        struct way *way = &pass->ways[(uint32_t)span->tile / pass->batch];
        int64_t ready = later(span->issue_ns, *stream_end);
        if (!way->begun) {
            way->ready_ns = ready < span->start_ns ? ready : span->start_ns;
            way->end_ns = span->end_ns;
        }
        way->end_ns = later(way->end_ns, span->end_ns);
        if (pass->priorities != NULL && (!way->begun || span->kind == OP_KERNEL))
            way->priority = pass->priorities[span->stream];
        way->begun = true;
    }
    if (op_in_stream(span->kind))
        *stream_end = later(*stream_end, span->end_ns);
}

static int compare_ways(const void *a, const void *b)
{
    const struct way *x = a, *y = b;
    const int64_t own = x->end_ns - x->ready_ns, other = y->end_ns - y->ready_ns;
    return COMPARE_ELSE(COMPARE_MEMBERS(priority), COMPARE(own, other));
}

/* Moves the tiles that have begun to the front, sorts them and returns how many they are. */
static uint32_t sort_ways(struct latency_pass *pass)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pass->count; i++) {
        if (pass->ways[i].begun)
            pass->ways[count++] = pass->ways[i];
    }
    qsort(pass->ways, count, sizeof *pass->ways, compare_ways);
    return count;
}

static void describe(struct latency_group *group)
{
    const int64_t *sorted = group->latencies;
    double sum = 0;
    for (uint32_t i = 0; i < group->count; i++)
        sum += (double)sorted[i];
    group->min_ns = sorted[0];
    group->median_ns = sorted[rank_of(50, group->count)];
    group->p95_ns = sorted[rank_of(95, group->count)];
    group->max_ns = sorted[group->count - 1];
    group->mean_ns = sum / group->count;
}

/* Cuts the sorted tiles where the priority changes. */
static enum status group_ways(const struct way *ways, uint32_t count, struct latency *latency,
                              struct error *error)
{
    uint32_t groups = count > 0;
    for (uint32_t i = 1; i < count; i++)
        groups += ways[i].priority != ways[i - 1].priority;
    struct latency found = {
        .groups = calloc(groups + (size_t)1, sizeof *found.groups),
        .latencies = calloc(count + (size_t)1, sizeof *found.latencies),
    };
    if (found.groups == NULL || found.latencies == NULL) {
        latency_free(&found);
        return error_no_memory(error, "for the latencies of %u tiles", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || ways[i].priority != ways[i - 1].priority)
            found.groups[found.group_count++] = (struct latency_group){
                .priority = ways[i].priority, .latencies = &found.latencies[i]};
        found.latencies[i] = ways[i].end_ns - ways[i].ready_ns;
        found.groups[found.group_count - 1].count++;
    }
    for (uint32_t i = 0; i < found.group_count; i++)
        describe(&found.groups[i]);
    *latency = found;
    return STATUS_OK;
}

enum status latency_find(const struct timeline *timeline, const int *priorities, uint32_t batch,
                         struct latency *latency, struct error *error)
{
    struct latency_pass pass = {0};
    enum status status = STATUS_OK;
    if (!pass_begin(&pass, timeline, priorities, batch))
        status = error_no_memory(error, "for the latencies of %u tiles", pass.count);
    for (uint32_t i = 0; i < timeline->span_count && status == STATUS_OK; i++)
        pass_span(&pass, &timeline->spans[i]);
    if (status == STATUS_OK)
        status = group_ways(pass.ways, sort_ways(&pass), latency, error);
    arena_free(&pass.arena);
    return status;
}

void latency_free_tiles(struct latency *latency)
{
    free(latency->latencies);
    latency->latencies = NULL;
    for (uint32_t i = 0; i < latency->group_count; i++)
        latency->groups[i].latencies = NULL;
}

void latency_free(struct latency *latency)
{
    latency_free_tiles(latency);
    free(latency->groups);
    *latency = (struct latency){0};
}
