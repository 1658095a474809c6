/* pieces.c - follows the critical path backwards, through the host's calls, too. */
#include "analysis/critical.h"

#include "core/arena.h"
#include "core/items.h"
#include "plan/rules.h"

#include <stdlib.h>

enum {
    NEAR_NS = 3000, /* the most from the end of what a measured call waited for to its return */
    LONG_CALL_NS = 20000, /* a call that only issues is shorter */
};

/* The way back. Next is either an op, which ran until `now`, or the host, which was in the call
 * of an op. */
struct way_back {
    const struct timeline *timeline;
    const struct critical *critical;
    const struct plan *plan;
    const struct span **by_end; /* all but waits and the host's calls, in order of end */
    uint32_t end_count;
    uint32_t *last_ends; /* by op: of all spans up to it, the one that ended last */
    uint32_t *span_of;   /* by op; SPAN_NONE: none */
    struct arena arena;  /* what has these */
    int64_t near_ns;
    struct path_piece *items; /* last first */
    uint32_t count;
    size_t room;
    bool full; /* memory ran out for one of them */
    int64_t now;
    uint32_t span; /* SPAN_NONE: the host's turn */
    uint32_t call; /* the op whose call comes next; UINT32_MAX: none is left */
};

static const struct span *span_at(const struct way_back *way, uint32_t index)
{
    return &way->timeline->spans[index];
}

/* Takes the time from `start_ns` to now for a piece. */
static void take(struct way_back *way, int64_t start_ns, struct path_piece piece)
{
    if (start_ns < 0)
        start_ns = 0;
    if (start_ns >= way->now)
        return;
    struct path_piece *item = ITEMS_ADD(way->items, way->count, way->room);
    way->full |= item == NULL;
    if (item == NULL)
        return;
    piece.start_ns = start_ns;
    piece.end_ns = way->now;
    *item = piece;
    way->now = start_ns;
}

/* --- the host's calls --- */

static uint32_t last_ended(const struct way_back *way, int64_t time_ns)
{
    size_t ended = spans_ended_by(way->by_end, way->end_count, time_ns);
    return ended > 0 ? (uint32_t)(way->by_end[ended - 1] - way->timeline->spans) : SPAN_NONE;
}

/* Returns true if `span` ended while the call was under way, that is, since `since_ns`. A span
 * that had not begun by now is left out, for every step leads back in time. */
static bool ended_in_call(const struct way_back *way, uint32_t span, int64_t since_ns)
{
    if (span == SPAN_NONE)
        return false;
    int64_t end_ns = span_at(way, span)->end_ns;
    return span_at(way, span)->start_ns < way->now && end_ns > since_ns &&
           end_ns <= way->now + way->near_ns;
}

/* Returns how the call of op `op`, which lasted from `since_ns` until now, waited, and sets the
 * span that it waited for. */
static enum link call_waited(const struct way_back *way, const struct op *op, int64_t since_ns,
                             uint32_t *waited_for)
{
    uint32_t own = way->span_of[op->id];
    uint32_t before = op->id > 0 ? way->last_ends[op->id - 1] : SPAN_NONE;
    if (op->kind == OP_PACK) /* at work itself, all the time */
        return LINK_NONE;
    if (op_is_sync(op->kind) && own != SPAN_NONE) {
        uint32_t target = span_at(way, own)->target;
        *waited_for = target < way->plan->op_count ? way->span_of[target] : SPAN_NONE;
        return ended_in_call(way, *waited_for, since_ns) ? LINK_SYNC : LINK_NONE;
    }
    *waited_for = before;
    if (op->kind == OP_ALLOC) /* it waited for all, or for nothing */
        return ended_in_call(way, before, since_ns) ? LINK_ALLOC : LINK_NONE;
    *waited_for = own;
    /* A short kernel ends soon behind any launch, so only a kernel that had ended before its
     * own launch returned counts. */
    if (op->kind == OP_KERNEL && ended_in_call(way, own, since_ns) &&
        span_at(way, own)->end_ns <= way->now)
        return LINK_LAUNCH;
    bool staged = rule_copy_staged(way->plan, op); /* its own work takes long */
    *waited_for = last_ended(way, way->now);
    bool full = !staged && way->now - since_ns > LONG_CALL_NS && op->id >= way->plan->streams &&
                ended_in_call(way, *waited_for, since_ns);
    return full ? LINK_FULL : LINK_NONE;
}

/* Goes back over one call. */
static void step_call(struct way_back *way)
{
    const struct op *op = &way->plan->ops[way->call];
    int64_t since_ns = way->timeline->issue_ns[way->call];
    uint32_t waited_for = SPAN_NONE;
    struct path_piece piece = {.kind = PIECE_CALL,
                               .span = SPAN_NONE,
                               .op = op->id,
                               .link = LINK_ISSUE,
                               .from = SPAN_NONE};
    enum link link =
        since_ns < way->now ? call_waited(way, op, since_ns, &waited_for) : LINK_NONE;
    if (link == LINK_NONE) {
        way->call = way->call > 0 ? way->call - 1 : UINT32_MAX;
        take(way, since_ns, piece);
        return;
    }
    int64_t end_ns = span_at(way, waited_for)->end_ns;
    piece.link = link;
    piece.from = waited_for;
    uint32_t count = way->count;
    take(way, end_ns, piece);
    if (way->count == count && count > 0 &&
        way->items[count - 1].link == LINK_ISSUE) { /* the call returned at once */
        way->items[count - 1].link = link;
        way->items[count - 1].from = waited_for;
    }
    way->span = waited_for;
}

static void step_host(struct way_back *way)
{
    const struct path_piece before_all = {.kind = PIECE_CALL,
                                          .span = SPAN_NONE,
                                          .op = UINT32_MAX,
                                          .link = LINK_NONE,
                                          .from = SPAN_NONE};
    if (way->timeline->issue_ns != NULL && way->call != UINT32_MAX)
        step_call(way);
    else
        take(way, 0, before_all);
}

/* --- ops --- */

/* Goes back over an op's work, and over the time since it was let go. */
static void step_span(struct way_back *way)
{
    uint32_t index = way->span;
    const struct span *span = span_at(way, index);
    const struct hold *hold = &way->critical->holds[index];
    bool by_host = hold->by == HELD_BY_ISSUE || hold->by == HELD_BY_CALL;
    bool by_span = !by_host && hold->span != SPAN_NONE;
    struct path_piece piece = {.kind = PIECE_WORK,
                               .span = index,
                               .op = span->op,
                               .from = SPAN_NONE,
                               .link = by_host   ? LINK_ISSUE
                                       : by_span ? LINK_HELD
                                                 : LINK_NONE};
    if (by_span)
        piece.from = hold->span;
    take(way, span->start_ns, piece);
    piece.kind = PIECE_START;
    take(way, by_host || by_span ? hold->free_ns : 0, piece);
    way->span = by_span ? hold->span : SPAN_NONE;
    way->call = span->op < way->timeline->issue_count ? span->op : UINT32_MAX;
}

/* --- setting out --- */

static void index_spans(struct way_back *way)
{
    const struct timeline *timeline = way->timeline;
    const uint32_t ops = way->plan->op_count;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->op < ops)
            way->span_of[span->op] = i;
        if (op_is_node(span->kind))
            way->by_end[way->end_count++] = span;
    }
    qsort(way->by_end, way->end_count, sizeof *way->by_end, span_compare_ends);
    uint32_t last = SPAN_NONE;
    for (uint32_t i = 0; i < ops; i++) {
        uint32_t span = way->span_of[i];
        enum op_kind kind = way->plan->ops[i].kind;
        bool work = span != SPAN_NONE && op_is_node(kind);
        if (work &&
            (last == SPAN_NONE || timeline->spans[span].end_ns > timeline->spans[last].end_ns))
            last = span;
        way->last_ends[i] = last;
    }
}

static void way_begin(struct way_back *way)
{
    size_t ops = way->plan->op_count + (size_t)1;
    size_t spans = way->timeline->span_count + (size_t)1;
    way->by_end = arena_zeros(&way->arena, spans, sizeof *way->by_end);
    way->last_ends = arena_zeros(&way->arena, ops, sizeof *way->last_ends);
    way->span_of = arena_ones(&way->arena, ops, sizeof *way->span_of);
    way->full = way->arena.full;
    if (way->full)
        return;
    index_spans(way);
    const struct critical *critical = way->critical;
    way->span = critical->path_count > 0 ? critical->path[critical->path_count - 1] : SPAN_NONE;
    way->call = UINT32_MAX;
    way->now = way->span != SPAN_NONE ? span_at(way, way->span)->end_ns : 0;
}

enum status pieces_find(const struct timeline *timeline, const struct critical *critical,
                        const struct plan *plan, struct path_pieces *pieces,
                        struct error *error)
{
    struct way_back way = {.timeline = timeline, .critical = critical, .plan = plan};
    way.near_ns = timeline->timing == TIMING_VIRTUAL ? 0 : NEAR_NS;
    way_begin(&way);
    while (way.now > 0 && !way.full)
        (way.span != SPAN_NONE ? step_span : step_host)(&way);
    arena_free(&way.arena);
    if (way.full) {
        free(way.items);
        return error_no_memory(error, "to follow the path of %u spans", timeline->span_count);
    }
    for (uint32_t i = 0; i < way.count / 2; i++) {
        struct path_piece other = way.items[i];
        way.items[i] = way.items[way.count - 1 - i];
        way.items[way.count - 1 - i] = other;
    }
    *pieces = (struct path_pieces){way.items, way.count};
    return STATUS_OK;
}

void pieces_free(struct path_pieces *pieces)
{
    free(pieces->items);
    *pieces = (struct path_pieces){0};
}
