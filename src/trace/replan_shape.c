/* replan_shape.c - puts the nodes of a graph in order, and deals them to branches. */
#include "trace/replan_parts.h"

#include "core/compare.h"
#include "core/items.h"

#include <stdlib.h>

/* Nodes of one graph, by id, and the edges between them while they are put in order. */
struct sorter {
    const struct recorded_node *nodes;
    uint32_t count;
    const struct recorded_edge *edges;
    size_t edge_count;
    uint32_t *first_after; /* per node, and one more: of `after` */
    uint32_t *after;       /* nodes that follow it */
    uint32_t *missing;     /* per node: how many that it follows have no place yet */
    uint32_t *order;       /* nodes, in their order */
    uint32_t *filled;      /* by place: how many nodes that it follows are written down */
    uint32_t *branches;    /* per node */
    struct arena arena;    /* what has these */
};

COMPARE_BY(compare_nodes, struct recorded_node, node);

/* Returns the number of a node of the graph; RECORDING_NONE: it has none of that id. */
static uint32_t number_of(const struct sorter *sorter, uint64_t node)
{
    const struct recorded_node key = {.node = node};
    const struct recorded_node *found =
        bsearch(&key, sorter->nodes, sorter->count, sizeof key, compare_nodes);
    return found != NULL ? (uint32_t)(found - sorter->nodes) : RECORDING_NONE;
}

static bool sorter_init(struct sorter *sorter)
{
    const size_t count = sorter->count + (size_t)1;
    struct arena *arena = &sorter->arena;
    sorter->first_after = arena_zeros(arena, count + 1, sizeof *sorter->first_after);
    sorter->after = arena_zeros(arena, sorter->edge_count, sizeof *sorter->after);
    sorter->missing = arena_zeros(arena, count, sizeof *sorter->missing);
    sorter->order = arena_zeros(arena, count, sizeof *sorter->order);
    sorter->filled = arena_zeros(arena, count, sizeof *sorter->filled);
    sorter->branches = arena_ones(arena, count, sizeof *sorter->branches);
    if (arena->full)
        return false;
    /* Edges are counted two places ahead, so that filling the table leaves each node's first.
     */
    for (size_t i = 0; i < sorter->edge_count; i++) {
        uint32_t from = number_of(sorter, sorter->edges[i].from);
        if (from != RECORDING_NONE &&
            number_of(sorter, sorter->edges[i].to) != RECORDING_NONE &&
            from + 2 <= sorter->count)
            sorter->first_after[from + 2]++;
    }
    for (uint32_t i = 2; i <= sorter->count; i++)
        sorter->first_after[i] += sorter->first_after[i - 1];
    for (size_t i = 0; i < sorter->edge_count; i++) {
        uint32_t from = number_of(sorter, sorter->edges[i].from);
        uint32_t to = number_of(sorter, sorter->edges[i].to);
        if (from == RECORDING_NONE || to == RECORDING_NONE)
            continue;
        sorter->after[sorter->first_after[from + 1]++] = to;
        sorter->missing[to]++;
    }
    return true;
}

/* Puts the nodes in order. Those of a circle, which no graph of CUDA's has, get no place.
 * Returns how many have one. */
static uint32_t sorter_sort(struct sorter *sorter)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sorter->count; i++) {
        if (sorter->missing[i] == 0)
            sorter->order[count++] = i;
    }
    for (uint32_t at = 0; at < count; at++) {
        const uint32_t node = sorter->order[at];
        for (uint32_t k = sorter->first_after[node]; k < sorter->first_after[node + 1]; k++) {
            if (--sorter->missing[sorter->after[k]] == 0)
                sorter->order[count++] = sorter->after[k];
        }
    }
    return count;
}

/* Deals the nodes to branches. Returns how many those are. */
static uint32_t sorter_deal(struct sorter *sorter, uint32_t count)
{
    uint32_t branches = 0;
    for (uint32_t at = 0; at < count; at++) {
        const uint32_t node = sorter->order[at];
        if (sorter->branches[node] == RECORDING_NONE) /* no branch goes on with it */
            sorter->branches[node] = branches++;
        for (uint32_t k = sorter->first_after[node]; k < sorter->first_after[node + 1]; k++) {
            if (sorter->branches[sorter->after[k]] != RECORDING_NONE)
                continue;
            sorter->branches[sorter->after[k]] = sorter->branches[node];
            break;
        }
    }
    return branches;
}

/* Fills the shape from nodes that are in order and dealt. */
static bool shape_fill(struct graph_shape *shape, const struct sorter *sorter)
{
    struct arena *arena = &shape->arena;
    uint32_t *places = shape->places = arena_ones(arena, sorter->count, sizeof *places);
    shape->nodes = arena_zeros(arena, sorter->count, sizeof *shape->nodes);
    shape->before = arena_zeros(arena, sorter->edge_count, sizeof *shape->before);
    if (arena->full)
        return false;
    for (uint32_t at = 0; at < shape->node_count; at++) {
        const uint32_t node = sorter->order[at];
        places[node] = at;
        shape->nodes[at] = (struct shape_node){.seen = &sorter->nodes[node],
                                               .branch = sorter->branches[node],
                                               .kind = sorter->nodes[node].kind,
                                               .ends = sorter->branches[node] > 0,
                                               .forks = sorter->branches[node] > 0};
    }
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t at = 0; at < shape->node_count; at++) {
            const uint32_t node = sorter->order[at];
            for (uint32_t k = sorter->first_after[node]; k < sorter->first_after[node + 1];
                 k++) {
                const uint32_t to = places[sorter->after[k]];
                if (to == RECORDING_NONE)
                    continue;
                struct shape_node *later_node = &shape->nodes[to];
                shape->nodes[at].ends = later_node->forks = false;
                if (later_node->branch == shape->nodes[at].branch)
                    continue;
                shape->nodes[at].passes = true;
                if (pass == 0)
                    later_node->before_count++;
                else
                    shape->before[later_node->first_before + sorter->filled[to]++] = at;
            }
        }
        for (uint32_t at = 1; at < shape->node_count; at++)
            shape->nodes[at].first_before =
                shape->nodes[at - 1].first_before + shape->nodes[at - 1].before_count;
    }
    return true;
}

static uint32_t part_of(const struct graph_shape *shape, uint32_t branch)
{
    while (shape->parts[branch] != branch)
        branch = shape->parts[branch] = shape->parts[shape->parts[branch]];
    return branch;
}

/* Finds the parts of the graph: branches that edges join. */
static bool shape_find_parts(struct graph_shape *shape)
{
    shape->parts = arena_zeros(&shape->arena, shape->branches, sizeof *shape->parts);
    shape->works = arena_zeros(&shape->arena, shape->branches, sizeof *shape->works);
    if (shape->arena.full)
        return false;
    for (uint32_t branch = 0; branch < shape->branches; branch++)
        shape->parts[branch] = branch;
    EACH (const struct shape_node, node, shape->nodes, shape->node_count) {
        for (uint32_t i = 0; i < node->before_count; i++) {
            const uint32_t before = shape->before[node->first_before + i];
            const uint32_t one = part_of(shape, node->branch);
            const uint32_t other = part_of(shape, shape->nodes[before].branch);
            shape->parts[one > other ? one : other] = one > other ? other : one;
        }
    }
    for (uint32_t branch = 0; branch < shape->branches; branch++)
        shape->parts[branch] = part_of(shape, branch);
    EACH (const struct shape_node, node, shape->nodes, shape->node_count) {
        shape->works[shape->parts[node->branch]] |=
            node->kind < OP_KIND_COUNT && node->kind != OP_CALLBACK;
    }
    return true;
}

/* Returns the first of `count` items, each of `size` bytes and beginning with the handle of its
 * graph, that is not before `exec`. */
static size_t first_of(const void *items, size_t count, size_t size, uint64_t exec)
{
    BISECT(at, i, 0, count, *(const uint64_t *)((const char *)items + size * i) < exec);
    return at;
}

static bool shape_make(struct graph_shape *shape, const struct recording *recording,
                       uint64_t exec)
{
    const size_t node =
        first_of(recording->nodes, recording->node_count, sizeof *recording->nodes, exec);
    const size_t edge =
        first_of(recording->edges, recording->edge_count, sizeof *recording->edges, exec);
    struct sorter sorter = {.nodes = recording->nodes + node, .edges = recording->edges + edge};
    while (node + sorter.count < recording->node_count &&
           sorter.nodes[sorter.count].exec == exec)
        sorter.count++;
    while (edge + sorter.edge_count < recording->edge_count &&
           sorter.edges[sorter.edge_count].exec == exec)
        sorter.edge_count++;
    *shape =
        (struct graph_shape){.exec = exec, .seen = sorter.nodes, .seen_count = sorter.count};
    bool room = sorter_init(&sorter);
    if (room) {
        shape->node_count = sorter_sort(&sorter);
        shape->branches = sorter_deal(&sorter, shape->node_count);
        room = shape_fill(shape, &sorter) && shape_find_parts(shape);
    }
    arena_free(&sorter.arena);
    if (!room)
        arena_free(&shape->arena);
    return room;
}

struct graph_shape *graph_shape_of(struct replan *replan, uint64_t exec)
{
    for (size_t i = replan->shape_count; i > 0; i--) {
        if (replan->shapes[i - 1].exec == exec)
            return &replan->shapes[i - 1];
    }
    if (!ITEMS_ROOM(replan->shapes, replan->shape_count, replan->shape_room))
        return NULL;
    struct graph_shape *shape = &replan->shapes[replan->shape_count];
    if (!shape_make(shape, replan->recording, exec))
        return NULL;
    replan->shape_count++;
    return shape;
}

uint32_t graph_shape_place(const struct graph_shape *shape, uint64_t node)
{
    const struct sorter sorter = {.nodes = shape->seen, .count = shape->seen_count};
    const uint32_t number = number_of(&sorter, node);
    return number != RECORDING_NONE ? shape->places[number] : RECORDING_NONE;
}
