/* events.c - events, where data asks for an order that nothing else keeps. */
#include "core/items.h"
#include "rework/parts.h"

#include <stdlib.h>
#include <string.h>

struct mender {
    struct rework_draft *draft;
    const struct needed *needed;
    bool keeps_blind;
    struct plan facts; /* the changed plan's streams and events, for the walk */
    struct clocks walk;
    uint32_t *now;    /* per place: the item's place now */
    uint32_t *copies; /* per recorded op: an item of it; REWORK_NONE: none */
    uint32_t *more;   /* per item: another of the same op */
    uint32_t *clocks; /* per item: of its stream as it has ended */
    uint32_t *events; /* per item: recorded behind it; REWORK_NONE: none */
    struct wait {
        uint32_t item, before;
    } * waits; /* by item */
    size_t wait_count, wait_capacity;
};

static void mender_free(struct mender *mender)
{
    clocks_end(&mender->walk);
    free(mender->now);
    free(mender->copies);
    free(mender->more);
    free(mender->clocks);
    free(mender->events);
    free(mender->waits);
}

static enum status mender_begin(struct mender *mender, struct error *error)
{
    enum { ROOM = 1 << 28 };
    const struct rework_draft *draft = mender->draft;
    size_t items = draft->count + 1, ops = draft->base->plan->op_count + (size_t)1;
    const size_t lanes = draft->streams + (size_t)1;
    mender->facts = (struct plan){
        .streams = draft->streams, .events = draft->events, .stream_kinds = draft->kinds};
    if (items * lanes > ROOM)
        return error_set(error, STATUS_FAILED, "too many ops and streams to try fixes");
    mender->now = malloc(items * sizeof *mender->now);
    mender->copies = malloc(ops * sizeof *mender->copies);
    mender->more = malloc(items * sizeof *mender->more);
    mender->clocks = calloc(items * lanes, sizeof *mender->clocks);
    mender->events = malloc(items * sizeof *mender->events);
    if (!mender->now || !mender->copies || !mender->more || !mender->clocks || !mender->events)
        return error_set(error, STATUS_NO_MEMORY, "no memory to try fixes");
    memset(mender->copies, 0xff, ops * sizeof *mender->copies);
    memset(mender->events, 0xff, items * sizeof *mender->events);
    for (uint32_t i = 0; i < draft->count; i++) {
        uint32_t origin = draft->stands[draft->items[i].origin];
        mender->now[draft->items[i].place] = i;
        mender->more[i] = mender->copies[origin];
        mender->copies[origin] = i;
    }
    return clocks_begin(&mender->walk, &mender->facts, CLOCKS_CALLS, error);
}

static const uint32_t *clock_after(const struct mender *mender, uint32_t item)
{
    return mender->clocks + (size_t)item * mender->walk.lanes;
}

/* Has an item wait for another one, of which it then knows all that had ended by its end. */
static bool add_wait(struct mender *mender, uint32_t item, uint32_t before, uint32_t *clock)
{
    struct wait *wait = ITEMS_ADD(mender->waits, mender->wait_count, mender->wait_capacity);
    if (wait == NULL)
        return false;
    *wait = (struct wait){item, before};
    if (mender->events[before] == REWORK_NONE)
        mender->events[before] = mender->draft->events++;
    clocks_join(&mender->walk, clock, clock_after(mender, before));
    return true;
}

/* Puts an item behind another one. */
static enum status mend_pair(struct mender *mender, uint32_t index, uint32_t before,
                             uint32_t *clock, struct error *error)
{
    uint32_t stream = mender->draft->items[before].op.stream;
    if (before > index)
        return error_set(error, STATUS_USAGE, "data asks for the order as issued");
    if (clock[stream] >= clock_after(mender, before)[stream] ||
        add_wait(mender, index, before, clock))
        return STATUS_OK;
    return error_set(error, STATUS_NO_MEMORY, "no memory to try fixes");
}

static bool is_blind(const struct mender *mender, uint32_t op)
{
    return mender->draft->base->plan->recorded->ops[op].access_count == 0;
}

/* Puts an item behind what the recorded plan had before it, where either's bytes are not known.
 */
static enum status mend_blind(struct mender *mender, uint32_t index, uint32_t *clock,
                              struct error *error)
{
    const struct rework_draft *draft = mender->draft;
    const struct needed *needed = draft->base->needed;
    enum status status = STATUS_OK;
    uint32_t op = draft->items[index].origin;
    bool blind = is_blind(mender, op);
    for (size_t k = needed->first[op + 1]; k-- > needed->first[op] && status == STATUS_OK;) {
        uint32_t before = draft->stands[needed->before[k]];
        if (!blind && !is_blind(mender, needed->before[k]))
            continue;
        for (uint32_t i = mender->copies[before]; i != REWORK_NONE && status == STATUS_OK;
             i = mender->more[i])
            status = mend_pair(mender, index, i, clock, error);
    }
    return status;
}

/* Puts an item behind all that its data needs, as far as the program did. */
static enum status mend_item(struct mender *mender, uint32_t index, uint32_t *clock,
                             struct error *error)
{
    const struct rework_draft *draft = mender->draft;
    const struct rework_item *item = &draft->items[index];
    const struct needed *needed = mender->needed;
    enum status status = STATUS_OK;
    for (size_t k = needed->first[item->place + 1];
         k-- > needed->first[item->place] && status == STATUS_OK;) {
        uint32_t before = mender->now[needed->before[k]];
        const struct rework_item *other = &draft->items[before];
        if (other->origin != item->origin && !other->merged && !item->merged &&
            !clocks_table_orders(draft->base->clocks, other->origin, item->origin))
            continue; /* the program itself does not keep that order */
        status = mend_pair(mender, index, before, clock, error);
    }
    return status == STATUS_OK && mender->keeps_blind ? mend_blind(mender, index, clock, error)
                                                      : status;
}

/* Has the host wait for all pieces of an op; where none comes before it, its wait goes. */
static bool mend_host(struct mender *mender, uint32_t index)
{
    struct rework_draft *draft = mender->draft;
    uint32_t target = draft->stands[draft->items[index].target];
    size_t before = mender->wait_count;
    for (uint32_t i = mender->copies[target]; i != REWORK_NONE; i = mender->more[i]) {
        if (i < index && !add_wait(mender, index, i, mender->walk.host))
            return false;
    }
    mender->walk.host_changes++;
    if (mender->wait_count == before)
        rework_draft_drop(draft, index);
    return true;
}

static enum status mend_all(struct mender *mender, struct error *error)
{
    struct rework_draft *draft = mender->draft;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < draft->count && status == STATUS_OK; i++) {
        struct rework_item *item = &draft->items[i];
        if (item->target != REWORK_NONE) {
            if (!mend_host(mender, i))
                status = error_set(error, STATUS_NO_MEMORY, "no memory to try fixes");
            continue;
        }
        uint32_t *clock = clocks_enter(&mender->walk, &item->op);
        bool works = clock != NULL && !op_is_call(item->op.kind) && clocks_counts(&item->op);
        if (works)
            status = mend_item(mender, i, clock, error);
        if (status == STATUS_OK)
            status = clocks_leave(&mender->walk, &item->op, &item->seen, error);
        if (works)
            memcpy(mender->clocks + (size_t)i * mender->walk.lanes, clock,
                   mender->walk.lanes * sizeof *clock);
    }
    return status;
}

/* --- the items with their events --- */

/* Adds a record or a wait beside an item, before which its thread spends `host_ns`. */
static bool add_event(struct rework_draft *draft, const struct rework_item *beside,
                      enum op_kind kind, uint32_t event, int64_t host_ns)
{
    struct rework_item item = {
        .op = {.kind = kind, .stream = beside->op.stream, .tile = -1},
        .seen = {.host_ns = host_ns, .thread = beside->seen.thread, .span = UINT32_MAX},
        .origin = REWORK_NONE,
        .tile = REWORK_NONE,
        .target = REWORK_NONE};
    item.op.event.event = event;
    return rework_draft_add(draft, &item);
}

static bool add_all(struct mender *mender)
{
    struct rework_draft *draft = mender->draft;
    struct rework_item *items = draft->items;
    size_t count = draft->count, wait = 0;
    bool room = true;
    draft->items = NULL;
    draft->count = draft->capacity = 0;
    for (uint32_t i = 0; i < count && room; i++) {
        /* The host's wait is its events' waits: the first has the time before it. */
        bool host = items[i].target != REWORK_NONE;
        int64_t host_ns = host ? items[i].seen.host_ns : 0;
        for (; wait < mender->wait_count && mender->waits[wait].item == i && room; wait++) {
            room = add_event(draft, &items[i], host ? OP_SYNC_EVENT : OP_WAIT,
                             mender->events[mender->waits[wait].before], host_ns);
            host_ns = 0;
        }
        room = room && (host || rework_draft_add(draft, &items[i]));
        if (mender->events[i] != REWORK_NONE)
            room = room && add_event(draft, &items[i], OP_RECORD, mender->events[i], 0);
    }
    free(items);
    return room;
}

enum status rework_events_add(struct rework_draft *draft, const struct needed *needed,
                              bool keeps_blind, struct error *error)
{
    struct mender mender = {.draft = draft, .needed = needed, .keeps_blind = keeps_blind};
    enum status status = mender_begin(&mender, error);
    if (status == STATUS_OK)
        status = mend_all(&mender, error);
    if (status == STATUS_OK && !add_all(&mender))
        status = error_set(error, STATUS_NO_MEMORY, "no memory to try fixes");
    mender_free(&mender);
    return status;
}
