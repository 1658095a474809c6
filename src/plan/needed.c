/* needed.c - finds the orders that data asks for, in one walk over the ops.
 *
 * Each buffer is a tree over its cells. A node of it knows who wrote its bytes last, and who
 * has read all of them since; one whose halves differ is split. A write makes the nodes that it
 * covers whole again, so what it costs to visit a split node was paid for by who split it: an
 * access visits log n nodes in the mean, beside those that give an edge. */
#include "plan/hazard.h"

#include "core/compare.h"
#include "core/items.h"
#include "plan/cells.h"
#include "plan/clocks.h"

#include <inttypes.h>
#include <stdlib.h>

#define NOBODY UINT32_MAX

struct node {
    uint32_t writer;  /* of all its bytes; NOBODY: not written, or its halves differ */
    uint32_t readers; /* of all its bytes, since then: the first in the pool; 0: none */
    bool split;       /* its halves know more */
    bool mixed;       /* its halves have different writers */
};

struct reader {
    uint32_t op, next;
};

/* A buffer, and its tree: node 1 is the root, the halves of node i are 2 i and 2 i + 1. */
struct tree {
    struct cuts cuts;
    struct node *nodes;
    size_t cells; /* a power of two */
};

/* Ops of a stream that work, in their order. */
struct blind_stream {
    uint32_t *ops;    /* lies in the walk's memory */
    uint32_t *blinds; /* per op: how many ops there are up to the latest blind one; 0: none */
    uint32_t count;
    uint32_t covered; /* of these: that its latest blind op comes after */
};

struct blind_walk {
    const struct plan *plan;
    bool any; /* false: the plan has no such op, and nothing else is set */
    uint32_t *ops, *blinds;
    struct blind_stream *streams;
    struct clocks clocks;
    uint32_t *covered; /* streams x streams: the same of each other stream */
};

struct finder {
    const struct plan *plan;
    struct tree *trees;
    uint32_t tree_count;
    struct reader *pool; /* entry 0 is not used */
    size_t pool_count, pool_capacity;
    uint32_t free_reader;
    struct blind_walk blind;
    uint32_t *found; /* the earlier ops of the op that is looked at */
    size_t found_count, found_capacity;
    uint32_t *stamps; /* per op: the op that has it among the `found`, and 1 */
    uint32_t op;
    bool no_memory;
    struct needed needed;
    size_t capacity;
    struct arena arena; /* what has the tables that do not grow, and those of the walk */
};

/* --- edges --- */

static void find(struct finder *finder, uint32_t before)
{
    if (before == NOBODY || before == finder->op || finder->no_memory ||
        finder->stamps[before] == finder->op + 1)
        return;
    uint32_t *found = ITEMS_ADD(finder->found, finder->found_count, finder->found_capacity);
    finder->no_memory = found == NULL;
    if (found == NULL)
        return;
    *found = before;
    finder->stamps[before] = finder->op + 1;
}

COMPARE_NUMBERS(compare_ops, uint32_t);

/* Unmarks those that come before one of the others anyway, by an edge of it. */
static void drop_implied(struct finder *finder)
{
    enum { EDGES = 8 }; /* of an op with more, no edge is looked at: that could take long */
    const struct needed *needed = &finder->needed;
    for (size_t i = 0; i < finder->found_count; i++) {
        uint32_t op = finder->found[i];
        if (needed->first[op + 1] - needed->first[op] > EDGES)
            continue;
        for (size_t k = needed->first[op]; k < needed->first[op + 1]; k++)
            finder->stamps[needed->before[k]] = 0;
    }
}

/* Keeps the edges of the op that was looked at. */
static bool keep_found(struct finder *finder)
{
    struct needed *needed = &finder->needed;
    if (finder->found_count > 1) {
        qsort(finder->found, finder->found_count, sizeof *finder->found, compare_ops);
        drop_implied(finder);
    }
    for (size_t i = 0; i < finder->found_count; i++) {
        if (finder->stamps[finder->found[i]] != finder->op + 1)
            continue;
        uint32_t *before = ITEMS_ADD(needed->before, needed->count, finder->capacity);
        if (before == NULL)
            return false;
        *before = finder->found[i];
    }
    finder->found_count = 0;
    needed->first[finder->op + 1] = needed->count;
    return true;
}

/* --- ops of unknown bytes ---
 *
 * An op of unknown bytes may use whatever was done before it, and leave what comes later needs:
 * so it keeps its place between all ops that streams and events put before it or behind it. */

/* Returns true if an op takes part: it works in a stream. */
static bool works(const struct op *op)
{
    return op_in_stream(op->kind) && clocks_counts(op);
}

/* Returns true if an op works in a stream, on bytes that nobody knows. */
static bool is_blind(const struct plan *plan, const struct op *op)
{
    struct access room[OP_ACCESS_MAX];
    uint32_t count;
    if (!works(op) || (plan->recorded == NULL && op->kind != OP_CALLBACK))
        return false;
    plan_accesses(plan, op, room, &count);
    return count == 0;
}

/* Lists the ops of each stream. */
static void list_ops(struct blind_walk *walk)
{
    const struct plan *plan = walk->plan;
    uint32_t first = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (works(&plan->ops[i]))
            walk->streams[plan->ops[i].stream].count++;
    }
    for (uint32_t s = 0; s < plan->streams; s++) {
        walk->streams[s].ops = walk->ops + first;
        walk->streams[s].blinds = walk->blinds + first;
        first += walk->streams[s].count;
        walk->streams[s].count = 0;
    }
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (!works(&plan->ops[i]))
            continue;
        struct blind_stream *stream = &walk->streams[plan->ops[i].stream];
        const uint32_t at = stream->count++;
        stream->ops[at] = i;
        stream->blinds[at] = is_blind(plan, &plan->ops[i]) ? at + 1
                             : at > 0                      ? stream->blinds[at - 1]
                                                           : 0;
    }
}

/* Prepares a walk over all ops of `plan`. STATUS_NO_MEMORY, or STATUS_FAILED where streams are
 * too many. Where it finds `any`, clocks_end() in any case. */
static enum status blind_init(struct blind_walk *walk, const struct plan *plan,
                              struct arena *arena, struct error *error)
{
    const size_t streams = plan->streams;
    *walk = (struct blind_walk){.plan = plan};
    for (uint32_t i = 0; i < plan->op_count && !walk->any; i++)
        walk->any = is_blind(plan, &plan->ops[i]);
    if (!walk->any)
        return STATUS_OK;
    enum status status = clocks_begin(&walk->clocks, plan, CLOCKS_EVENTS, error);
    if (status != STATUS_OK)
        return status;
    walk->ops = arena_zeros(arena, plan->op_count, sizeof *walk->ops);
    walk->blinds = arena_zeros(arena, plan->op_count, sizeof *walk->blinds);
    walk->streams = arena_zeros(arena, streams, sizeof *walk->streams);
    walk->covered = arena_zeros(arena, streams * streams, sizeof *walk->covered);
    if (arena->full)
        return error_no_memory(error, "to follow %" PRIu32 " ops", plan->op_count);
    list_ops(walk);
    return STATUS_OK;
}

/* Takes up the next op of the plan, and finds each earlier op that it comes after because one
 * of both is blind. STATUS_NO_MEMORY, or STATUS_FAILED where streams, and events to be waited
 * for, are too many. */
static enum status blind_take(struct blind_walk *walk, const struct op *op,
                              struct finder *finder, struct error *error)
{
    const size_t streams = walk->plan->streams;
    if (!walk->any || !op_in_stream(op->kind))
        return STATUS_OK;
    const uint32_t *clock = clocks_enter(&walk->clocks, op);
    const uint32_t own = walk->clocks.own[op->stream];
    const bool blind = is_blind(walk->plan, op);
    uint32_t end;
    const uint32_t first = clocks_known(&walk->clocks, op->stream, &end);
    for (size_t s = first; works(op) && s < end && s < streams; s++) {
        struct blind_stream *stream = &walk->streams[s];
        const bool same = s == op->stream;
        const uint32_t ended = same ? own : clock[s];
        const uint32_t latest = ended > 0 ? stream->blinds[ended - 1] : 0;
        uint32_t *covered = same ? &stream->covered : &walk->covered[op->stream * streams + s];
        /* Its own stream's latest blind op has come after the rest. */
        if (!blind && latest > (same ? 0 : *covered))
            find(finder, stream->ops[latest - 1]);
        for (; blind && *covered < ended; ++*covered)
            find(finder, stream->ops[*covered]);
    }
    return clocks_leave(&walk->clocks, op, NULL, error);
}

/* --- readers --- */

static void reader_add(struct finder *finder, struct node *node, uint32_t op)
{
    uint32_t reader = finder->free_reader;
    if (node->readers != 0 && finder->pool[node->readers].op == op)
        return;
    if (reader != 0) {
        finder->free_reader = finder->pool[reader].next;
    } else {
        if (finder->pool_count == 0)
            finder->pool_count = 1;
        const bool room = ITEMS_ROOM(finder->pool, finder->pool_count, finder->pool_capacity);
        finder->no_memory |= !room;
        if (!room)
            return;
        reader = (uint32_t)finder->pool_count++;
    }
    finder->pool[reader] = (struct reader){.op = op, .next = node->readers};
    node->readers = reader;
}

static void readers_forget(struct finder *finder, struct node *node)
{
    while (node->readers != 0) {
        uint32_t reader = node->readers;
        node->readers = finder->pool[reader].next;
        finder->pool[reader].next = finder->free_reader;
        finder->free_reader = reader;
    }
}

/* --- trees --- */

/* Has the halves of a node know what it knows itself, before one of them changes. */
static void node_split(struct finder *finder, struct tree *tree, size_t index)
{
    struct node *node = &tree->nodes[index];
    for (size_t half = 2 * index; half <= 2 * index + 1; half++) {
        if (!node->split)
            tree->nodes[half] = (struct node){.writer = node->writer};
        for (uint32_t r = node->readers; r != 0 && !finder->no_memory; r = finder->pool[r].next)
            reader_add(finder, &tree->nodes[half], finder->pool[r].op);
    }
    readers_forget(finder, node);
    node->split = true;
}

/* Sees who wrote the bytes of a node, whose halves have changed. */
static void node_join(struct tree *tree, size_t index)
{
    struct node *node = &tree->nodes[index];
    const struct node *left = &tree->nodes[2 * index], *right = &tree->nodes[2 * index + 1];
    node->mixed = left->mixed || right->mixed || left->writer != right->writer;
    node->writer = node->mixed ? NOBODY : left->writer;
}

/* Finds all who have touched the bytes of a node, and makes it whole. A writer that others have
 * `read` since comes before those. */
static void node_clear(struct finder *finder, struct tree *tree, size_t index, bool read)
{
    struct node *node = &tree->nodes[index];
    for (uint32_t r = node->readers; r != 0; r = finder->pool[r].next)
        find(finder, finder->pool[r].op);
    read |= node->readers != 0;
    if (node->split) {
        node_clear(finder, tree, 2 * index, read);
        node_clear(finder, tree, 2 * index + 1, read);
    } else if (!read) {
        find(finder, node->writer);
    }
    readers_forget(finder, node);
    *node = (struct node){.writer = NOBODY};
}

/* Cells [begin, end) of a tree, which an access touches. */
struct touch {
    struct tree *tree;
    size_t begin, end;
    bool writes;
};

/* Touches what lies in the node of `cells` cells from `first` on. */
static void node_touch(struct finder *finder, const struct touch *touch, size_t index,
                       size_t first, size_t cells)
{
    struct node *node = &touch->tree->nodes[index];
    if (touch->end <= first || first + cells <= touch->begin || finder->no_memory)
        return;
    bool whole = touch->begin <= first && first + cells <= touch->end;
    if (whole && touch->writes) {
        node_clear(finder, touch->tree, index, false);
        node->writer = finder->op;
        return;
    }
    if (whole && !node->mixed) {
        find(finder, node->writer);
        reader_add(finder, node, finder->op);
        return;
    }
    if (touch->writes || !node->split)
        node_split(finder, touch->tree, index);
    node_touch(finder, touch, 2 * index, first, cells / 2);
    node_touch(finder, touch, 2 * index + 1, first + cells / 2, cells / 2);
    node_join(touch->tree, index);
}

/* --- the walk --- */

static bool cut_buffers(struct finder *finder)
{
    struct access room[OP_ACCESS_MAX];
    uint32_t count;
    for (uint32_t i = 0; i < finder->plan->op_count; i++) {
        const struct access *access =
            plan_accesses(finder->plan, &finder->plan->ops[i], room, &count);
        for (uint32_t k = 0; k < count; k++) {
            const struct range *range = &access[k].range;
            if (!cuts_add(&finder->trees[range->buffer].cuts, range))
                return false;
        }
    }
    EACH (struct tree, tree, finder->trees, finder->tree_count) {
        cuts_tidy(&tree->cuts);
        tree->cells = 1;
        while (tree->cells + 1 < tree->cuts.count)
            tree->cells *= 2;
        if (tree->cuts.count > 0)
            tree->nodes = arena_zeros(&finder->arena, 2 * tree->cells, sizeof *tree->nodes);
        if (tree->nodes != NULL)
            tree->nodes[1].writer = NOBODY;
    }
    return !finder->arena.full;
}

static enum status no_memory(const struct finder *finder, struct error *error)
{
    return error_no_memory(error, "to find what the data of %" PRIu32 " ops asks for",
                           finder->plan->op_count);
}

static enum status finder_init(struct finder *finder, struct error *error)
{
    size_t ops = finder->plan->op_count + (size_t)1;
    finder->tree_count = plan_buffer_count(finder->plan);
    struct arena *arena = &finder->arena;
    enum status status = blind_init(&finder->blind, finder->plan, arena, error);
    finder->trees = arena_zeros(arena, finder->tree_count, sizeof *finder->trees);
    finder->stamps = arena_zeros(arena, ops, sizeof *finder->stamps);
    finder->needed.first = calloc(ops, sizeof *finder->needed.first);
    if (status == STATUS_OK && (arena->full || !finder->needed.first || !cut_buffers(finder)))
        status = no_memory(finder, error);
    return status;
}

static void finder_free(struct finder *finder)
{
    for (uint32_t i = 0; finder->trees != NULL && i < finder->tree_count; i++)
        cuts_free(&finder->trees[i].cuts);
    if (finder->blind.any)
        clocks_end(&finder->blind.clocks);
    free(finder->pool);
    free(finder->found);
    arena_free(&finder->arena);
}

static enum status finder_step(struct finder *finder, const struct op *op, struct error *error)
{
    struct access room[OP_ACCESS_MAX];
    uint32_t count;
    const struct access *access = plan_accesses(finder->plan, op, room, &count);
    if (op->kind == OP_ALLOC) /* memory is taken for the data's sake: it asks for no order */
        count = 0;
    finder->op = op->id;
    for (uint32_t i = 0; i < count; i++) {
        const struct range *range = &access[i].range;
        struct tree *tree = &finder->trees[range->buffer];
        struct touch touch = {.tree = tree, .writes = access[i].writes != 0};
        touch.begin = cuts_find(&tree->cuts, range, &touch.end);
        node_touch(finder, &touch, 1, 0, tree->cells);
    }
    enum status status = blind_take(&finder->blind, op, finder, error);
    if (status == STATUS_OK && (!keep_found(finder) || finder->no_memory))
        status = no_memory(finder, error);
    if (status == STATUS_OK && finder->needed.count > NEEDED_MOST)
        status = error_set(error, STATUS_FAILED,
                           "the plan's data asks for too many orders to judge them");
    return status;
}

enum status plan_needed(const struct plan *plan, struct needed *needed, struct error *error)
{
    struct finder finder = {.plan = plan};
    enum status status = finder_init(&finder, error);
    for (uint32_t i = 0; i < plan->op_count && status == STATUS_OK; i++)
        status = finder_step(&finder, &plan->ops[i], error);
    finder_free(&finder);
    if (status == STATUS_OK)
        *needed = finder.needed;
    else
        needed_free(&finder.needed);
    return status;
}

void needed_free(struct needed *needed)
{
    free(needed->first);
    free(needed->before);
    *needed = (struct needed){0};
}
