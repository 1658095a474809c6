/* next.c - which copy is the next one from or to the same bytes of the host's. */
#include "core/arena.h"
#include "core/compare.h"
#include "plan/timeline.h"
#include "rework/parts.h"

#include <stdlib.h>

/* Memory of the host is cut into cells where copies' bytes begin and end, which are the leaves
 * of a tree: entry k has the halves 2 k and 2 k + 1. The copies come from last to first. */
struct cells {
    struct range *cuts; /* ascending; their bytes count for nothing */
    size_t cut_count, leaves;
    uint32_t *whole;  /* per entry: the latest copy of all its cells; REWORK_NONE: none */
    uint32_t *latest; /* per entry: the latest of any of its cells, but for those of all cells
                         of an entry above */
};

COMPARE_BY(compare_cuts, struct range, buffer, offset);

/* Returns the host's side of item `index`; NULL where that is no copy, or has none. */
static const struct access *host_access(const struct rework_draft *draft, uint32_t index)
{
    const struct rework_item *item = &draft->items[index];
    const struct recorded_buffer *buffers = draft->base->plan->recorded->buffers;
    for (uint32_t i = 0; i < item->seen.access_count && op_is_copy(item->op.kind); i++) {
        const struct access *access = &draft->accesses[item->seen.first_access + i];
        if (buffers[access->range.buffer].host)
            return access;
    }
    return NULL;
}

/* Returns the leaf of the cell that begins where a range does. */
static size_t leaf_of(const struct cells *cells, const struct range *range)
{
    BISECT(at, i, 0, cells->cut_count, compare_cuts(&cells->cuts[i], range) < 0);
    return cells->leaves + at;
}

/* Returns the copy that came last to any of the cells of a range, and lets `item` be that of
 * all. It comes before all others in the plan, and so is the least of them. */
static uint32_t next_of_range(struct cells *cells, const struct range *range, uint32_t item)
{
    const struct range behind = {.buffer = range->buffer,
                                 .offset = range->offset + range->bytes};
    const size_t first = leaf_of(cells, range), end = leaf_of(cells, &behind);
    int64_t next = REWORK_NONE;
    if (first == end)
        return REWORK_NONE;
    for (size_t a = first, b = end - 1; a > 0; a /= 2, b /= 2)
        next = earlier(next, earlier(cells->whole[a], cells->whole[b]));
    for (size_t a = first, b = end; a < b; a /= 2, b /= 2) {
        if (a % 2) {
            next = earlier(next, cells->latest[a]);
            cells->latest[a] = cells->whole[a] = item;
            a++;
        }
        if (b % 2) {
            b--;
            next = earlier(next, cells->latest[b]);
            cells->latest[b] = cells->whole[b] = item;
        }
    }
    for (size_t a = first, b = end - 1; a > 0; a /= 2, b /= 2)
        cells->latest[a] = cells->latest[b] = item;
    return (uint32_t)next;
}

uint32_t *rework_next_copies(const struct rework_draft *draft, struct arena *arena)
{
    uint32_t *next = arena_ones(arena, draft->count + 1, sizeof *next);
    struct cells cells = {.cuts = arena_zeros(arena, 2 * draft->count + 1, sizeof *cells.cuts),
                          .leaves = 1};
    for (uint32_t i = 0; i < draft->count && cells.cuts != NULL; i++) {
        const struct access *access = host_access(draft, i);
        if (access == NULL)
            continue;
        cells.cuts[cells.cut_count++] = access->range;
        cells.cuts[cells.cut_count] = access->range;
        cells.cuts[cells.cut_count++].offset += access->range.bytes;
    }
    while (cells.leaves <= cells.cut_count)
        cells.leaves *= 2;
    cells.whole = arena_ones(arena, 2 * cells.leaves, sizeof *cells.whole);
    cells.latest = arena_ones(arena, 2 * cells.leaves, sizeof *cells.latest);
    if (arena->full)
        return NULL;
    qsort(cells.cuts, cells.cut_count, sizeof *cells.cuts, compare_cuts);
    for (uint32_t i = (uint32_t)draft->count; i-- > 0;) {
        const struct access *access = host_access(draft, i);
        if (access != NULL)
            next[i] = next_of_range(&cells, &access->range, i);
    }
    return next;
}
