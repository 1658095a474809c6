/* pieces.c - follows the critical path backwards, through the host's calls, too. */
#include "analysis/pieces.h"

#include <stdlib.h>

enum {
    NEAR_NS = 3000,       /* from the end of what a measured call waited for to its return */
    LONG_CALL_NS = 20000, /* a call that only issues is shorter */
};

/* The way back: what is next is either an op, which ran until `now`, or the host, which was in
 * the call of an op. */
struct walk {
    const struct timeline *timeline;
    const struct critical *critical;
    const struct plan *plan;
    uint32_t *by_end; /* spans but waits and the host's calls */
    uint32_t end_count;
    uint32_t *last_ends; /* by op: of all spans up to it, the one that ended last */
    uint32_t *span_of;   /* by op; SPAN_NONE: none */
    int64_t near_ns;
    struct piece *items; /* last first */
    uint32_t count, room;
    int64_t now;
    uint32_t span; /* SPAN_NONE: the host's turn */
    uint32_t call; /* the op whose call comes next; UINT32_MAX: none is left */
};

static const struct span *span_at(const struct walk *walk, uint32_t index)
{
    return &walk->timeline->spans[index];
}

/* Takes the time from `start_ns` to now for a piece. */
static bool take(struct walk *walk, int64_t start_ns, struct piece piece)
{
    if (start_ns < 0)
        start_ns = 0;
    if (start_ns >= walk->now)
        return true;
    if (walk->count == walk->room) {
        uint32_t room = walk->room > 0 ? 2 * walk->room : 1024;
        struct piece *items = reallocarray(walk->items, room, sizeof *items);
        if (items == NULL)
            return false;
        walk->items = items;
        walk->room = room;
    }
    piece.start_ns = start_ns;
    piece.end_ns = walk->now;
    walk->items[walk->count++] = piece;
    walk->now = start_ns;
    return true;
}

/* --- the host's calls --- */

static int64_t issue_of(const struct walk *walk, uint32_t op)
{
    return walk->timeline->issue_ns[op];
}

static uint32_t last_ended(const struct walk *walk, int64_t time_ns)
{
    uint32_t low = 0, high = walk->end_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (span_at(walk, walk->by_end[middle])->end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? walk->by_end[low - 1] : SPAN_NONE;
}

/* Whether `span` ended while the call was under way, that is, since `since_ns`. What had not
 * begun by now is left out: every step leads back in time. */
static bool ended_in_call(const struct walk *walk, uint32_t span, int64_t since_ns)
{
    if (span == SPAN_NONE)
        return false;
    int64_t end_ns = span_at(walk, span)->end_ns;
    return span_at(walk, span)->start_ns < walk->now && end_ns > since_ns &&
           end_ns <= walk->now + walk->near_ns;
}

/* What the call of op `op`, which lasted from `since_ns` until now, waited for, and how. */
static enum link call_waited(const struct walk *walk, const struct op *op, int64_t since_ns,
                             uint32_t *waited_for)
{
    uint32_t own = walk->span_of[op->id];
    uint32_t before = op->id > 0 ? walk->last_ends[op->id - 1] : SPAN_NONE;
    if (op->kind == OP_SYNC && own != SPAN_NONE) {
        uint32_t target = span_at(walk, own)->target;
        *waited_for = target < walk->plan->op_count ? walk->span_of[target] : SPAN_NONE;
        return ended_in_call(walk, *waited_for, since_ns) ? LINK_SYNC : LINK_NONE;
    }
    *waited_for = before;
    if (op->kind == OP_ALLOC) /* it waited for all, or for nothing */
        return ended_in_call(walk, before, since_ns) ? LINK_ALLOC : LINK_NONE;
    *waited_for = own;
    /* A short kernel ends soon behind any launch: only one that had ended before that returned.
     */
    if (op->kind == OP_KERNEL && ended_in_call(walk, own, since_ns) &&
        span_at(walk, own)->end_ns <= walk->now)
        return LINK_LAUNCH;
    bool staged = walk->plan->memory == MEMORY_PAGEABLE &&
                  (op->kind == OP_H2D || op->kind == OP_D2H); /* its own work takes long */
    *waited_for = last_ended(walk, walk->now);
    bool full = !staged && walk->now - since_ns > LONG_CALL_NS &&
                op->id >= walk->plan->streams && ended_in_call(walk, *waited_for, since_ns);
    return full ? LINK_FULL : LINK_NONE;
}

/* Goes back over one call. */
static bool step_call(struct walk *walk)
{
    const struct op *op = &walk->plan->ops[walk->call];
    int64_t since_ns = issue_of(walk, walk->call);
    uint32_t waited_for = SPAN_NONE;
    struct piece piece = {.kind = PIECE_CALL,
                          .span = SPAN_NONE,
                          .op = op->id,
                          .link = LINK_ISSUE,
                          .from = SPAN_NONE};
    enum link link =
        since_ns < walk->now ? call_waited(walk, op, since_ns, &waited_for) : LINK_NONE;
    if (link == LINK_NONE) {
        walk->call = walk->call > 0 ? walk->call - 1 : UINT32_MAX;
        return take(walk, since_ns, piece);
    }
    int64_t end_ns = span_at(walk, waited_for)->end_ns;
    piece.link = link;
    piece.from = waited_for;
    uint32_t count = walk->count;
    bool taken = take(walk, end_ns, piece);
    if (taken && walk->count == count && count > 0 &&
        walk->items[count - 1].link == LINK_ISSUE) { /* the call returned at once */
        walk->items[count - 1].link = link;
        walk->items[count - 1].from = waited_for;
    }
    walk->span = waited_for;
    return taken;
}

static bool step_host(struct walk *walk)
{
    if (walk->plan != NULL && walk->timeline->issue_ns != NULL && walk->call != UINT32_MAX)
        return step_call(walk);
    struct piece piece = {.kind = PIECE_CALL,
                          .span = SPAN_NONE,
                          .op = UINT32_MAX,
                          .link = LINK_NONE,
                          .from = SPAN_NONE};
    return take(walk, 0, piece);
}

/* --- ops --- */

/* Goes back over an op's work, and over its way from where it was let go. */
static bool step_span(struct walk *walk)
{
    uint32_t index = walk->span;
    const struct span *span = span_at(walk, index);
    const struct hold *hold = &walk->critical->holds[index];
    bool by_host = hold->by == HELD_BY_ISSUE || hold->by == HELD_BY_CALL;
    bool by_span = !by_host && hold->span != SPAN_NONE;
    struct piece piece = {.kind = PIECE_WORK,
                          .span = index,
                          .op = span->op,
                          .from = SPAN_NONE,
                          .link = by_host   ? LINK_ISSUE
                                  : by_span ? LINK_HELD
                                            : LINK_NONE};
    if (by_span)
        piece.from = hold->span;
    if (!take(walk, span->start_ns, piece))
        return false;
    piece.kind = PIECE_START;
    int64_t free_ns = by_host || by_span ? hold->free_ns : 0;
    if (!take(walk, free_ns, piece))
        return false;
    walk->span = by_span ? hold->span : SPAN_NONE;
    walk->call =
        walk->plan != NULL && span->op < walk->timeline->issue_count ? span->op : UINT32_MAX;
    return true;
}

static bool walk_back(struct walk *walk)
{
    while (walk->now > 0) {
        bool stepped = walk->span != SPAN_NONE ? step_span(walk) : step_host(walk);
        if (!stepped)
            return false;
    }
    return true;
}

/* --- setting out --- */

static int compare_ends(const void *a, const void *b, void *spans)
{
    const struct span *x = (struct span *)spans + *(const uint32_t *)a;
    const struct span *y = (struct span *)spans + *(const uint32_t *)b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

static void index_spans(struct walk *walk)
{
    const struct timeline *timeline = walk->timeline;
    uint32_t ops = walk->plan != NULL ? walk->plan->op_count : 0;
    for (uint32_t i = 0; i < ops; i++)
        walk->span_of[i] = SPAN_NONE;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->op < ops)
            walk->span_of[span->op] = i;
        if (op_on_device((enum op_kind)span->kind) || span->kind == OP_CALLBACK)
            walk->by_end[walk->end_count++] = i;
    }
    qsort_r(walk->by_end, walk->end_count, sizeof *walk->by_end, compare_ends, timeline->spans);
    uint32_t last = SPAN_NONE;
    for (uint32_t i = 0; i < ops; i++) {
        uint32_t span = walk->span_of[i];
        enum op_kind kind = walk->plan->ops[i].kind;
        bool work = span != SPAN_NONE && (op_on_device(kind) || kind == OP_CALLBACK);
        if (work &&
            (last == SPAN_NONE || timeline->spans[span].end_ns > timeline->spans[last].end_ns))
            last = span;
        walk->last_ends[i] = last;
    }
}

static bool walk_begin(struct walk *walk)
{
    size_t ops = (walk->plan != NULL ? walk->plan->op_count : 0) + (size_t)1;
    size_t spans = walk->timeline->span_count + (size_t)1;
    walk->by_end = calloc(spans, sizeof *walk->by_end);
    walk->last_ends = calloc(ops, sizeof *walk->last_ends);
    walk->span_of = calloc(ops, sizeof *walk->span_of);
    if (walk->by_end == NULL || walk->last_ends == NULL || walk->span_of == NULL)
        return false;
    index_spans(walk);
    const struct critical *critical = walk->critical;
    walk->span =
        critical->path_count > 0 ? critical->path[critical->path_count - 1] : SPAN_NONE;
    walk->call = UINT32_MAX;
    walk->now = walk->span != SPAN_NONE ? span_at(walk, walk->span)->end_ns : 0;
    return true;
}

static void walk_end(struct walk *walk)
{
    free(walk->by_end);
    free(walk->last_ends);
    free(walk->span_of);
}

static void reverse(struct piece *items, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        struct piece other = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = other;
    }
}

enum status pieces_find(const struct timeline *timeline, const struct critical *critical,
                        const struct plan *plan, struct pieces *pieces, struct error *error)
{
    struct walk walk = {.timeline = timeline, .critical = critical, .plan = plan};
    walk.near_ns = timeline->timing == TIMING_VIRTUAL ? 0 : NEAR_NS;
    bool done = walk_begin(&walk) && walk_back(&walk);
    walk_end(&walk);
    if (!done) {
        free(walk.items);
        return error_set(error, STATUS_FAILED, "no memory to follow the path of %u spans",
                         timeline->span_count);
    }
    reverse(walk.items, walk.count);
    *pieces = (struct pieces){walk.items, walk.count};
    return STATUS_OK;
}

void pieces_free(struct pieces *pieces)
{
    free(pieces->items);
    *pieces = (struct pieces){0};
}
