/* events.c - events, where data asks for an order that nothing else keeps. */
#include "core/arena.h"
#include "core/items.h"
#include "rework/parts.h"

#include <stdlib.h>
#include <string.h>

struct keeper {
    struct rework_draft *draft;
    const struct needed *needed;
    bool keeps_blind;
    struct plan facts; /* the changed plan's streams and events, for the walk */
    struct clocks walk;
    struct arena arena; /* what has these: */
    uint32_t *now;      /* per place: the item's place now */
    uint32_t *copies;   /* per recorded op: an item of it; REWORK_NONE: none */
    uint32_t *more;     /* per item: another of the same op */
    uint32_t *clocks; /* per item, of its stream as it has ended, where that may be asked for */
    bool *asked;      /* per item: it may be, by another stream or the host */
    uint32_t *events; /* per item: recorded behind it; REWORK_NONE: none */
    struct wait {
        uint32_t item, before;
    } * waits; /* by item */
    size_t wait_count, wait_capacity;
};

static void ask(const struct keeper *keeper, uint32_t before, uint32_t stream)
{
    const struct rework_draft *draft = keeper->draft;
    for (uint32_t i = keeper->copies[before]; i != REWORK_NONE; i = keeper->more[i])
        keeper->asked[i] |= draft->items[i].op.stream != stream;
}

/* Finds the items for which another stream, or the host, may wait. */
static void find_asked(const struct keeper *keeper)
{
    const struct rework_draft *draft = keeper->draft;
    const struct needed *given = &draft->base->needed;
    for (uint32_t i = 0; i < draft->count; i++) {
        const struct rework_item *item = &draft->items[i];
        const uint32_t stream = item->op.stream;
        if (item->target != REWORK_NONE) {
            ask(keeper, draft->stands[item->target], REWORK_NONE);
            continue;
        }
        for (size_t k = keeper->needed->first[item->place];
             k < keeper->needed->first[item->place + 1]; k++) {
            const uint32_t before = keeper->now[keeper->needed->before[k]];
            keeper->asked[before] |= draft->items[before].op.stream != stream;
        }
        for (size_t k = given->first[item->origin];
             keeper->keeps_blind && k < given->first[item->origin + 1]; k++)
            ask(keeper, draft->stands[given->before[k]], stream);
    }
}

static void keeper_begin(struct keeper *keeper)
{
    enum { ROOM = 1 << 28 };
    struct rework_draft *draft = keeper->draft;
    size_t items = draft->count + 1, ops = draft->base->plan->op_count + (size_t)1;
    const size_t lanes = draft->streams + (size_t)1;
    keeper->facts = (struct plan){
        .streams = draft->streams, .events = draft->events, .stream_kinds = draft->kinds};
    if (items * lanes > ROOM)
        (void)error_set(&draft->why, STATUS_FAILED, "too many ops and streams to try fixes");
    if (draft->why.status != STATUS_OK)
        return;
    keeper->now = arena_zeros(&keeper->arena, items, sizeof *keeper->now);
    keeper->copies = arena_ones(&keeper->arena, ops, sizeof *keeper->copies);
    keeper->more = arena_zeros(&keeper->arena, items, sizeof *keeper->more);
    keeper->clocks = arena_zeros(&keeper->arena, items * lanes, sizeof *keeper->clocks);
    keeper->asked = arena_zeros(&keeper->arena, items, sizeof *keeper->asked);
    keeper->events = arena_ones(&keeper->arena, items, sizeof *keeper->events);
    if (!rework_draft_room(draft, !keeper->arena.full))
        return;
    for (uint32_t i = 0; i < draft->count; i++) {
        uint32_t origin = draft->stands[draft->items[i].origin];
        keeper->now[draft->items[i].place] = i;
        keeper->more[i] = keeper->copies[origin];
        keeper->copies[origin] = i;
    }
    find_asked(keeper);
    (void)clocks_begin(&keeper->walk, &keeper->facts, CLOCKS_CALLS, &draft->why);
}

static const uint32_t *clock_after(const struct keeper *keeper, uint32_t item)
{
    return keeper->clocks + (size_t)item * keeper->walk.lanes;
}

/* Has an item wait for another one, of which it then knows all that had ended by its end. */
static void add_wait(struct keeper *keeper, uint32_t item, uint32_t before, uint32_t *clock)
{
    struct wait *wait = ITEMS_ADD(keeper->waits, keeper->wait_count, keeper->wait_capacity);
    if (!rework_draft_room(keeper->draft, wait != NULL))
        return;
    *wait = (struct wait){item, before};
    if (keeper->events[before] == REWORK_NONE)
        keeper->events[before] = keeper->draft->events++;
    clocks_join(&keeper->walk, clock, clock_after(keeper, before));
}

/* Puts an item behind another one. */
static void keep_pair(struct keeper *keeper, uint32_t index, uint32_t before, uint32_t *clock)
{
    uint32_t stream = keeper->draft->items[before].op.stream;
    if (before > index)
        (void)error_set(&keeper->draft->why, STATUS_USAGE, "data asks for the order as issued");
    else if (stream != keeper->draft->items[index].op.stream &&
             clock[stream] < clock_after(keeper, before)[stream])
        add_wait(keeper, index, before, clock);
}

static bool is_blind(const struct keeper *keeper, uint32_t op)
{
    return keeper->draft->base->plan->recorded->ops[op].access_count == 0;
}

/* Puts an item behind what the recorded plan had before it, where either's bytes are not known.
 */
static void keep_blind(struct keeper *keeper, uint32_t index, uint32_t *clock)
{
    const struct rework_draft *draft = keeper->draft;
    const struct needed *needed = &draft->base->needed;
    uint32_t op = draft->items[index].origin;
    bool blind = is_blind(keeper, op);
    for (size_t k = needed->first[op + 1]; k-- > needed->first[op];) {
        uint32_t before = draft->stands[needed->before[k]];
        if (!blind && !is_blind(keeper, needed->before[k]))
            continue;
        for (uint32_t i = keeper->copies[before]; i != REWORK_NONE; i = keeper->more[i])
            keep_pair(keeper, index, i, clock);
    }
}

/* Puts an item behind all that its data needs, as far as the program did. */
static void keep_item(struct keeper *keeper, uint32_t index, uint32_t *clock)
{
    const struct rework_draft *draft = keeper->draft;
    const struct rework_item *item = &draft->items[index];
    const struct needed *needed = keeper->needed;
    for (size_t k = needed->first[item->place + 1]; k-- > needed->first[item->place];) {
        uint32_t before = keeper->now[needed->before[k]];
        const struct rework_item *other = &draft->items[before];
        if (other->origin != item->origin && !other->merged && !item->merged &&
            !clocks_table_orders(&draft->base->clocks, other->origin, item->origin))
            continue; /* the program itself does not keep that order */
        keep_pair(keeper, index, before, clock);
    }
    if (keeper->keeps_blind)
        keep_blind(keeper, index, clock);
}

/* Has the host wait for all pieces of an op; where none comes before it, its wait goes. */
static void keep_host(struct keeper *keeper, uint32_t index)
{
    struct rework_draft *draft = keeper->draft;
    uint32_t target = draft->stands[draft->items[index].target];
    size_t before = keeper->wait_count;
    for (uint32_t i = keeper->copies[target]; i != REWORK_NONE; i = keeper->more[i]) {
        if (i < index)
            add_wait(keeper, index, i, keeper->walk.host);
    }
    keeper->walk.host_changes++;
    if (keeper->wait_count == before)
        rework_draft_drop(draft, index);
}

static void keep_all(struct keeper *keeper)
{
    struct rework_draft *draft = keeper->draft;
    for (uint32_t i = 0; i < draft->count && draft->why.status == STATUS_OK; i++) {
        struct rework_item *item = &draft->items[i];
        if (item->target != REWORK_NONE) {
            keep_host(keeper, i);
            continue;
        }
        uint32_t *clock = clocks_enter(&keeper->walk, &item->op);
        bool works = clock != NULL && !op_is_call(item->op.kind) && clocks_counts(&item->op);
        if (works)
            keep_item(keeper, i, clock);
        (void)clocks_leave(&keeper->walk, &item->op, &item->seen, &draft->why);
        if (works && keeper->asked[i])
            clocks_copy(&keeper->walk, clocks_lane(&item->op),
                        keeper->clocks + (size_t)i * keeper->walk.lanes);
    }
}

/* --- the items with their events --- */

/* Adds a record or a wait beside an item, before which its thread spends `host_ns`. */
static void add_event(struct rework_draft *draft, const struct rework_item *beside,
                      enum op_kind kind, uint32_t event, int64_t host_ns)
{
    struct rework_item item = {
        .op = {.kind = kind, .stream = beside->op.stream, .tile = -1},
        .seen = {.host_ns = host_ns, .thread = beside->seen.thread, .span = UINT32_MAX},
        .origin = REWORK_NONE,
        .tile = REWORK_NONE,
        .target = REWORK_NONE};
    item.op.event.event = event;
    rework_draft_add(draft, &item);
}

static void add_all(struct keeper *keeper)
{
    struct rework_draft *draft = keeper->draft;
    struct rework_item *items = draft->items;
    size_t count = draft->count, wait = 0;
    draft->items = NULL;
    draft->count = draft->capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        /* The host's wait is its events' waits: the first has the time before it. */
        bool host = items[i].target != REWORK_NONE;
        int64_t host_ns = host ? items[i].seen.host_ns : 0;
        for (; wait < keeper->wait_count && keeper->waits[wait].item == i; wait++) {
            add_event(draft, &items[i], host ? OP_SYNC_EVENT : OP_WAIT,
                      keeper->events[keeper->waits[wait].before], host_ns);
            host_ns = 0;
        }
        if (!host)
            rework_draft_add(draft, &items[i]);
        if (keeper->events[i] != REWORK_NONE)
            add_event(draft, &items[i], OP_RECORD, keeper->events[i], 0);
    }
    free(items);
}

void rework_events_add(struct rework_draft *draft, const struct needed *needed,
                       bool keeps_blind)
{
    struct keeper keeper = {.draft = draft, .needed = needed, .keeps_blind = keeps_blind};
    keeper_begin(&keeper);
    keep_all(&keeper);
    if (draft->why.status == STATUS_OK)
        add_all(&keeper);
    clocks_end(&keeper.walk);
    arena_free(&keeper.arena);
    free(keeper.waits);
}
