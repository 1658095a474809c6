/* cells.c - runs of cells, whose heads are found by bits and summaries of bits. */
#include "plan/cells.h"

#include "core/items.h"

#include <stdlib.h>

/* A cell. What it remembers holds, where it is the head of a run, for all of that run. */
struct memory_cell {
    struct epoch write;    /* place 0: never written */
    uint32_t first_reader; /* in the pool; 0 for none */
    uint32_t end;          /* the cell behind the run; 0: it is no head */
};

struct reader {
    struct epoch by;
    uint32_t next; /* the index of another in the pool; 0: none */
};

/* --- heads of runs --- */

enum { HEAD_LEVELS = 6 };

/* Bits: the cells that begin a run; in each further level, the words of the level below that
 * are not 0. */
struct heads {
    uint64_t *levels[HEAD_LEVELS];
    uint64_t words[];
};

/* Makes every cell a head. Bits behind the last cell's are set, too, and never looked at. */
static bool heads_init(struct cell_side *side, size_t cells, struct arena *arena)
{
    size_t begins[HEAD_LEVELS], all = 0, words = cells;
    for (int level = 0; level < HEAD_LEVELS; level++) {
        words = words / 64 + 1;
        begins[level] = all;
        all += words;
    }
    struct heads *heads = arena_ones(arena, 1, sizeof *heads + all * sizeof heads->words[0]);
    if (heads == NULL)
        return false;
    for (int level = 0; level < HEAD_LEVELS; level++)
        heads->levels[level] = heads->words + begins[level];
    side->heads = heads;
    return true;
}

static void head_set(const struct cell_side *side, size_t cell)
{
    for (int level = 0; level < HEAD_LEVELS; level++, cell /= 64)
        side->heads->levels[level][cell / 64] |= UINT64_C(1) << cell % 64;
}

static void head_clear(const struct cell_side *side, size_t cell)
{
    for (int level = 0; level < HEAD_LEVELS; level++, cell /= 64) {
        side->heads->levels[level][cell / 64] &= ~(UINT64_C(1) << cell % 64);
        if (side->heads->levels[level][cell / 64] != 0)
            return;
    }
}

/* Returns the last bit of a level that is set, up to bit `at`. There is one: cell 0 always
 * begins a run. The highest level is a single word. */
static size_t last_bit(const struct cell_side *side, int level, size_t at)
{
    size_t place = at / 64;
    uint64_t word = side->heads->levels[level][place] & (UINT64_MAX >> (63 - at % 64));
    if (word == 0) {
        place = last_bit(side, level + 1, place - 1);
        word = side->heads->levels[level][place];
    }
    return place * 64 + 63 - (size_t)__builtin_clzll(word);
}

/* Returns the head of the run that a cell lies in. Mostly that is the cell itself. */
static uint32_t head_of(const struct cell_side *side, uint32_t cell)
{
    return side->cells[cell].end > 0 ? cell : (uint32_t)last_bit(side, 0, cell);
}

/* --- the latest op of each run --- */

static bool latest_init(struct cell_side *side, size_t cells, struct arena *arena)
{
    side->leaves = 1;
    while (side->leaves < cells)
        side->leaves *= 2;
    side->latest = arena_zeros(arena, 3 * (size_t)side->leaves, sizeof *side->latest);
    if (side->latest == NULL)
        return false;
    side->since = side->latest + 2 * (size_t)side->leaves;
    return true;
}

static void latest_set(const struct cell_side *side, uint32_t cell, uint32_t value)
{
    if (side->latest == NULL)
        return;
    size_t node = cell + (size_t)side->leaves;
    side->latest[node] = value;
    for (node /= 2; node > 0; node /= 2) {
        uint32_t left = side->latest[2 * node], right = side->latest[2 * node + 1];
        uint32_t larger = left > right ? left : right;
        if (side->latest[node] == larger)
            return;
        side->latest[node] = larger;
    }
}

/* Returns the first head from `cell` on whose run op `since` or a later one touched; `leaves`
 * where there is none. */
static uint32_t latest_next(const struct cell_side *side, uint32_t cell, uint32_t since)
{
    size_t node = cell + (size_t)side->leaves;
    if (cell >= side->leaves)
        return side->leaves;
    while (side->latest[node] <= since) {
        while (node % 2 == 1) /* a right child: what is right of its parent comes next */
            node /= 2;
        if (node == 0)
            return side->leaves;
        node++;
    }
    while (node < side->leaves)
        node = 2 * node + (side->latest[2 * node] <= since);
    return (uint32_t)(node - side->leaves);
}

/* --- set-up --- */

static bool cut_at_accesses(struct cells *cells, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->op_count; i++) {
        struct access room[OP_ACCESS_MAX];
        uint32_t count;
        const struct access *access = plan_accesses(plan, &plan->ops[i], room, &count);
        for (uint32_t j = 0; j < count; j++) {
            const struct range *range = &access[j].range;
            struct cut_buffer *buffer = &cells->buffers[range->buffer];
            buffer->both |= plan->recorded != NULL && !plan->recorded->ops[i].sure;
            if (!cuts_add(&buffer->cuts, range))
                return false;
        }
    }
    return true;
}

/* Makes each cell a run of its own, which nothing has touched. */
static bool side_init(struct cell_side *side, size_t cells, bool alone, struct arena *arena)
{
    side->cells = arena_zeros(arena, cells + 1, sizeof *side->cells);
    if (side->cells == NULL || cells > INT32_MAX ||
        (cells > 1 && !heads_init(side, cells, arena)) ||
        (!alone && !latest_init(side, cells, arena)))
        return false;
    for (size_t i = 0; i < cells; i++)
        side->cells[i].end = (uint32_t)i + 1;
    return true;
}

bool cells_init(struct cells *cells, const struct plan *plan)
{
    *cells = (struct cells){
        .buffer_count = plan_buffer_count(plan),
        .pool_count = 1,
    };
    struct arena *arena = &cells->arena;
    cells->buffers = arena_zeros(arena, cells->buffer_count, sizeof *cells->buffers);
    if (cells->buffers == NULL || !cut_at_accesses(cells, plan))
        return false;
    EACH (struct cut_buffer, buffer, cells->buffers, cells->buffer_count) {
        cuts_tidy(&buffer->cuts);
        for (int s = buffer->both ? SIDE_POSSIBLE : SIDE_SURE;
             s < SIDE_COUNT && buffer->cuts.count > 0; s++) {
            if (!side_init(&buffer->sides[s], buffer->cuts.count - 1, !buffer->both, arena))
                return false;
        }
    }
    return true;
}

void cells_free(struct cells *cells)
{
    for (uint32_t b = 0; cells->buffers != NULL && b < cells->buffer_count; b++)
        cuts_free(&cells->buffers[b].cuts);
    arena_free(&cells->arena);
    free(cells->pool);
}

/* --- who touched a run --- */

static void forget_readers(struct cells *cells, struct memory_cell *cell)
{
    while (cell->first_reader != 0) {
        uint32_t reader = cell->first_reader;
        cell->first_reader = cells->pool[reader].next;
        cells->pool[reader].next = cells->free_reader;
        cells->free_reader = reader;
    }
}

/* A run keeps one reader per stream: the latest, which covers the earlier ones. */
static bool add_reader(struct cells *cells, struct memory_cell *cell, struct epoch by)
{
    for (uint32_t r = cell->first_reader; r != 0; r = cells->pool[r].next) {
        if (cells->pool[r].by.stream == by.stream) {
            cells->pool[r].by = by;
            return true;
        }
    }
    uint32_t reader = cells->free_reader;
    if (reader != 0) {
        cells->free_reader = cells->pool[reader].next;
    } else {
        if (!ITEMS_ROOM(cells->pool, cells->pool_count, cells->pool_capacity) ||
            cells->pool_count == UINT32_MAX)
            return false;
        reader = (uint32_t)cells->pool_count++;
    }
    cells->pool[reader] = (struct reader){by, cell->first_reader};
    cell->first_reader = reader;
    return true;
}

/* Cuts the run that `at` lies in, so that `at` begins one. */
static bool split_run(struct cells *cells, const struct cell_side *side, uint32_t at)
{
    uint32_t head = head_of(side, at);
    struct memory_cell *first = &side->cells[head], *second = &side->cells[at];
    if (head == at)
        return true;
    *second = (struct memory_cell){.write = first->write, .end = first->end};
    first->end = at;
    head_set(side, at);
    if (side->latest != NULL) {
        side->since[at] = side->since[head];
        latest_set(side, at, side->latest[head + (size_t)side->leaves]);
    }
    for (uint32_t r = first->first_reader; r != 0; r = cells->pool[r].next) {
        if (!add_reader(cells, second, cells->pool[r].by))
            return false;
    }
    return true;
}

/* An access that is taken up. */
struct toucher {
    struct cells *cells;
    const struct cut_buffer *buffer;
    const struct access *access;
    uint32_t first, end; /* its cells */
    struct epoch by;
    const uint32_t *clock;
    const struct cells_watcher *watcher;
    bool raced; /* with an access on the other side */
};

/* Makes the runs that an access touches one, which it has written. */
static void write_runs(const struct toucher *toucher, const struct cell_side *side)
{
    uint32_t first = toucher->first;
    for (uint32_t i = first, next; i < toucher->end; i = next) {
        next = side->cells[i].end;
        forget_readers(toucher->cells, &side->cells[i]);
        if (i == first)
            continue;
        side->cells[i].end = 0;
        head_clear(side, i);
        latest_set(side, i, 0);
    }
    side->cells[first] = (struct memory_cell){.write = toucher->by, .end = toucher->end};
    if (side->latest != NULL)
        side->since[first] = toucher->raced ? 0 : toucher->by.op;
    latest_set(side, first, toucher->by.op + 1);
}

static bool read_runs(const struct toucher *toucher, const struct cell_side *side)
{
    for (uint32_t i = toucher->first; i < toucher->end; i = side->cells[i].end) {
        if (!add_reader(toucher->cells, &side->cells[i], toucher->by))
            return false;
        latest_set(side, i, toucher->by.op + 1);
    }
    return true;
}

/* Takes an access for the last that touched its bytes on a side. Its runs there go from cell
 * `from` to cell `to`. */
static bool note(const struct toucher *toucher, const struct cell_side *side, uint32_t from,
                 uint32_t to)
{
    if ((from < toucher->first && !split_run(toucher->cells, side, toucher->first)) ||
        (to > toucher->end && !split_run(toucher->cells, side, toucher->end)))
        return false;
    if (!toucher->access->writes)
        return read_runs(toucher, side);
    write_runs(toucher, side);
    return true;
}

/* --- races --- */

/* Returns true if an access comes after `before`, or is of the same op. */
static bool comes_after(const struct toucher *toucher, const struct epoch *before)
{
    return before->op == toucher->by.op || toucher->clock[before->stream] >= before->place;
}

static void report(const struct toucher *toucher, uint32_t before, uint32_t head, uint32_t end,
                   bool sure)
{
    const struct range *own = &toucher->access->range;
    const uint64_t *offsets = toucher->buffer->cuts.offsets;
    uint64_t from = offsets[head > toucher->first ? head : toucher->first];
    uint64_t to = offsets[end < toucher->end ? end : toucher->end];
    struct range where = {own->buffer, from, to - from};
    toucher->watcher->on_race(toucher->watcher->context, before, &where, sure);
}

/* Looks at who touched the run of head `head`. Returns true for a race. */
static bool look_at_run(const struct toucher *toucher, const struct cell_side *side,
                        uint32_t head, bool sure)
{
    const struct memory_cell *cell = &side->cells[head];
    bool raced = cell->write.place > 0 && !comes_after(toucher, &cell->write);
    if (raced)
        report(toucher, cell->write.op, head, cell->end, sure);
    for (uint32_t r = toucher->access->writes ? cell->first_reader : 0; r != 0;
         r = toucher->cells->pool[r].next) {
        const struct epoch *reader = &toucher->cells->pool[r].by;
        if (comes_after(toucher, reader))
            continue;
        report(toucher, reader->op, head, cell->end, sure);
        raced = true;
    }
    return raced;
}

/* Looks, on the other side, at who touched cells [first, end) since op `since`. */
static void look_across(struct toucher *toucher, const struct cell_side *other, uint32_t first,
                        uint32_t end, uint32_t since)
{
    uint32_t head = head_of(other, first);
    if (other->latest[head + (size_t)other->leaves] <= since)
        head = latest_next(other, head + 1, since);
    for (; head < end; head = latest_next(other, head + 1, since))
        toucher->raced |= look_at_run(toucher, other, head, false);
}

bool cells_touch(struct cells *cells, const struct access *access, struct epoch by, bool sure,
                 const uint32_t *clock, const struct cells_watcher *watcher)
{
    struct cut_buffer *buffer = &cells->buffers[access->range.buffer];
    const struct cell_side *own = &buffer->sides[sure ? SIDE_SURE : SIDE_POSSIBLE];
    const struct cell_side *other = &buffer->sides[sure ? SIDE_POSSIBLE : SIDE_SURE];
    size_t end, first = cuts_find(&buffer->cuts, &access->range, &end);
    struct toucher toucher = {
        .cells = cells,
        .buffer = buffer,
        .access = access,
        .first = (uint32_t)first,
        .end = (uint32_t)end,
        .by = by,
        .clock = clock,
        .watcher = watcher,
    };
    const uint32_t from = head_of(own, toucher.first);
    uint32_t to = from;
    while (to < toucher.end) {
        const uint32_t head = to;
        const struct memory_cell *cell = &own->cells[head];
        bool after = cell->write.place > 0 && comes_after(&toucher, &cell->write);
        to = cell->end;
        look_at_run(&toucher, own, head, sure);
        if (buffer->both)
            look_across(&toucher, other, head > toucher.first ? head : toucher.first,
                        to < toucher.end ? to : toucher.end, after ? own->since[head] : 0);
    }
    return note(&toucher, own, from, to);
}
