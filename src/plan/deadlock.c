/* deadlock.c - judges waits for events that no earlier op has recorded: either the plan never
 * ends, or the wait orders nothing.
 *
 * The plan is run without a clock: the host issues op after op until a sync holds it up; an op
 * at its stream's head ends as soon as the rules let it. A wait ends once its record has: the
 * latest before it or, where there is none before it, any. What has not ended when nothing more
 * can is stuck. What holds a stuck op is stuck as well, so the way from one op to what holds it
 * comes round to where it was: that is the cycle that is named. */
#include "plan/barriers.h"
#include "plan/rules.h"
#include "plan/validate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum {
    CYCLE_TEXT = 960,
    HOP_TEXT = 200, /* of that, what one op of the cycle may take */
};

/* The state of an op. */
struct search_op {
    uint32_t next_in_stream;
    uint32_t record;       /* waits: what they wait for; NONE: any record of the event */
    uint32_t first_waiter; /* a stream whose head waits until this op has ended, or NONE */
    bool ended;
};

/* The records of an event. */
struct event_records {
    uint32_t first, latest; /* NONE: none so far */
    uint32_t first_waiter;  /* a stream whose head waits for any record, or NONE */
    bool recorded;
};

struct search_lane {
    uint32_t head, last; /* of the ops that were issued to the stream; NONE: all have ended */
};

struct wait_search {
    const struct plan *plan;
    struct search_op *nodes;
    struct event_records *events;
    struct search_lane *lanes; /* per stream */
    struct waiters waiters;
    struct barriers legacy;      /* ops of the legacy default stream */
    uint32_t issued, in_streams; /* ops issued, and those of them that streams still hold */
    uint32_t minding; /* of `in_streams`, ops of blocking streams and the legacy one */
    uint32_t early;   /* the first wait before any record of its event, or NONE */
};

static const struct op *op_at(const struct wait_search *search, uint32_t op)
{
    return &search->plan->ops[op];
}

/* Returns true if `stream` takes turns with the legacy default stream. */
static bool minds_legacy(const struct wait_search *search, uint32_t stream)
{
    return rule_minds_legacy(plan_stream_kind(search->plan, stream));
}

/* --- what waits for what --- */

static void link_event(struct wait_search *search, const struct op *op)
{
    struct event_records *event = &search->events[op->event.event];
    if (op->kind == OP_WAIT) {
        search->nodes[op->id].record = event->latest;
        if (event->latest == NONE && search->early == NONE)
            search->early = op->id;
    } else {
        event->first = event->first == NONE ? op->id : event->first;
        event->latest = op->id;
    }
}

static void link_ops(struct wait_search *search)
{
    for (uint32_t i = 0; i < search->plan->op_count; i++) {
        const struct op *op = op_at(search, i);
        search->nodes[i] = (struct search_op){NONE, NONE, NONE, false};
        if (op->kind == OP_WAIT || op->kind == OP_RECORD)
            link_event(search, op);
    }
}

/* --- which ops are stuck --- */

/* Returns the list in which the head of `stream` has to wait; NULL if it can end. */
static uint32_t *held_in(struct wait_search *search, uint32_t stream)
{
    uint32_t head = search->lanes[stream].head;
    const struct op *op = op_at(search, head);
    uint32_t record = search->nodes[head].record;
    uint32_t *list = minds_legacy(search, stream) ? barriers_held(&search->legacy, head) : NULL;
    if (list != NULL || op->kind != OP_WAIT)
        return list;
    struct event_records *event = &search->events[op->event.event];
    if (record != NONE)
        return search->nodes[record].ended ? NULL : &search->nodes[record].first_waiter;
    return event->recorded ? NULL : &event->first_waiter;
}

static void end_head(struct wait_search *search, uint32_t stream)
{
    uint32_t head = search->lanes[stream].head;
    const struct op *op = op_at(search, head);
    struct search_op *node = &search->nodes[head];
    node->ended = true;
    search->lanes[stream].head = node->next_in_stream;
    search->in_streams--;
    waiters_wake(&search->waiters, &node->first_waiter);
    if (op->kind == OP_RECORD) {
        search->events[op->event.event].recorded = true;
        waiters_wake(&search->waiters, &search->events[op->event.event].first_waiter);
    }
    if (minds_legacy(search, stream)) {
        search->minding--;
        barriers_op_ended(&search->legacy, head, &search->waiters);
    }
}

/* Ends the heads of a stream up to the first that has to wait. */
static void advance(struct wait_search *search, uint32_t stream)
{
    while (search->lanes[stream].head != NONE) {
        uint32_t *list = held_in(search, stream);
        if (list != NULL) {
            waiters_add(&search->waiters, list, stream);
            return;
        }
        end_head(search, stream);
    }
}

static void advance_all(struct wait_search *search)
{
    while (search->waiters.woken_count > 0)
        advance(search, search->waiters.woken[--search->waiters.woken_count]);
}

/* Returns true if the host can issue `op`: only a sync can hold it up. The sync of the legacy
 * default stream waits for the blocking streams as well. */
static bool can_issue(const struct wait_search *search, const struct op *op)
{
    if (op->kind != OP_SYNC)
        return true;
    if (rule_sync_encompasses(plan_stream_kind(search->plan, op->stream), STREAM_BLOCKING))
        return search->minding == 0;
    if (op->stream < search->plan->streams)
        return search->lanes[op->stream].head == NONE;
    return search->in_streams == 0;
}

static void issue(struct wait_search *search, const struct op *op)
{
    search->issued++;
    search->nodes[op->id].ended = !op_in_stream(op->kind);
    if (!op_in_stream(op->kind))
        return;
    struct search_lane *lane = &search->lanes[op->stream];
    search->in_streams++;
    search->minding += minds_legacy(search, op->stream);
    if (lane->head != NONE) {
        search->nodes[lane->last].next_in_stream = op->id;
    } else {
        lane->head = op->id;
        waiters_note(&search->waiters, op->stream);
    }
    lane->last = op->id;
}

/* Issues and ends all that can be. */
static void run_without_clock(struct wait_search *search)
{
    while (search->issued < search->plan->op_count &&
           can_issue(search, op_at(search, search->issued))) {
        issue(search, op_at(search, search->issued));
        advance_all(search);
    }
}

/* --- what holds them --- */

/* An op that holds another, and how that is said. */
struct deadlock_hold {
    uint32_t op;
    const char *how;
    uint32_t stream; /* to be named behind it; NONE: none */
};

/* The first stuck op of the streams whose kinds are in `kinds`: bits, by enum stream_kind. */
static uint32_t first_stuck(const struct wait_search *search, uint32_t kinds)
{
    uint32_t first = NONE;
    for (uint32_t i = 0; i < search->plan->streams; i++) {
        if (kinds >> plan_stream_kind(search->plan, i) & 1 && search->lanes[i].head < first)
            first = search->lanes[i].head;
    }
    return first;
}

/* The first stuck op that `sync` waits for. */
static uint32_t held_sync(const struct wait_search *search, const struct op *sync)
{
    enum { ALL = (1 << STREAM_KIND_COUNT) - 1 };
    if (sync->stream == search->plan->streams)
        return first_stuck(search, ALL);
    if (plan_stream_kind(search->plan, sync->stream) == STREAM_LEGACY)
        return first_stuck(search, ALL & ~(1 << STREAM_NONBLOCKING));
    return search->lanes[sync->stream].head;
}

static struct deadlock_hold hold_of(struct wait_search *search, uint32_t stuck)
{
    const struct op *op = op_at(search, stuck);
    if (stuck > search->issued)
        return (struct deadlock_hold){search->issued, "is issued after", NONE};
    if (op->kind == OP_SYNC)
        return (struct deadlock_hold){held_sync(search, op), "waits for", NONE};
    if (search->lanes[op->stream].head != stuck)
        return (struct deadlock_hold){search->lanes[op->stream].head, "is behind", op->stream};
    bool held = minds_legacy(search, op->stream) && barriers_held(&search->legacy, stuck);
    if (held && plan_stream_kind(search->plan, op->stream) == STREAM_LEGACY)
        return (struct deadlock_hold){first_stuck(search, 1 << STREAM_BLOCKING),
                                      "waits, in the default stream, for", NONE};
    if (held)
        return (struct deadlock_hold){barriers_before(&search->legacy, stuck)->op,
                                      "waits, as blocking streams do, for", NONE};
    uint32_t record = search->nodes[stuck].record;
    if (record == NONE)
        record = search->events[op->event.event].first;
    return (struct deadlock_hold){record, "waits for", NONE};
}

/* --- what is said of them --- */

/* The first wait, in order of issue, of the cycle that the way from `stuck` leads into. */
static uint32_t find_cycle(struct wait_search *search, uint32_t stuck, uint32_t *length)
{
    /* Held are heads, records and a sync: after as many steps one goes round in circles. */
    for (uint32_t i = 0; i < 2 * search->plan->streams + 2; i++)
        stuck = hold_of(search, stuck).op;
    uint32_t at = stuck, first = NONE;
    *length = 0;
    do {
        if (op_at(search, at)->kind == OP_WAIT && at < first)
            first = at;
        at = hold_of(search, at).op;
        ++*length;
    } while (at != stuck);
    return first;
}

/* "op 2 (wait event 1) waits for op 9 (record event 1), which is behind op 7 (wait event 0) in
 * stream 1, which waits for op 5 (record event 0), which is behind op 2 in stream 0" */
static enum status refuse_cycle(struct wait_search *search, uint32_t stuck, struct error *error)
{
    char text[CYCLE_TEXT], label[OP_LABEL];
    uint32_t length, first = find_cycle(search, stuck, &length), at = first;
    size_t used = (size_t)snprintf(text, sizeof text, "op %" PRIu32 " (%s)", first,
                                   plan_op_label(search->plan, op_at(search, first), label));
    while (length > 0 && used < CYCLE_TEXT - HOP_TEXT) {
        struct deadlock_hold hold = hold_of(search, at);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s op %" PRIu32,
                                 at == first ? "" : ", which", hold.how, hold.op);
        if (hold.op != first)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, " (%s)",
                                 plan_op_label(search->plan, op_at(search, hold.op), label));
        if (hold.stream != NONE)
            used += (size_t)snprintf(text + used, sizeof text - used, " in stream %" PRIu32,
                                     hold.stream);
        at = hold.op;
        length--;
    }
    if (length > 0)
        snprintf(text + used, sizeof text - used,
                 ", and so on, over %" PRIu32 " more, back to op %" PRIu32, length - 1, first);
    return error_set(error, STATUS_FAILED, "a deadlock: %s", text);
}

static enum status refuse_unrecorded(const struct wait_search *search, uint32_t wait,
                                     struct error *error)
{
    char label[OP_LABEL];
    const struct op *op = op_at(search, wait);
    return error_set(error, STATUS_FAILED,
                     "op %" PRIu32 " (%s) waits for event %" PRIu32
                     ", which no op records: a deadlock",
                     wait, plan_op_label(search->plan, op, label), op->event.event);
}

/* Refuses a wait before any record of its event. It is no deadlock, but nobody can have meant
 * it. [CUDA Runtime API, cudaStreamWaitEvent(): a call for an event that was never recorded has
 * no effect] */
static enum status refuse_early(const struct wait_search *search, uint32_t wait,
                                struct error *error)
{
    char label[OP_LABEL], record_label[OP_LABEL];
    const struct op *op = op_at(search, wait);
    const struct op *record = op_at(search, search->events[op->event.event].first);
    return error_set(error, STATUS_FAILED,
                     "op %" PRIu32 " (%s) is issued before op %" PRIu32
                     " (%s): a wait for an event that is not yet recorded has no effect, so "
                     "nothing is ordered by it",
                     wait, plan_op_label(search->plan, op, label), record->id,
                     plan_op_label(search->plan, record, record_label));
}

/* The worst first: an event that is never recorded, a cycle, a wait without effect. */
static enum status judge(struct wait_search *search, struct error *error)
{
    for (uint32_t i = 0; i < search->plan->op_count; i++) {
        const struct op *op = op_at(search, i);
        if (op->kind == OP_WAIT && search->events[op->event.event].first == NONE)
            return refuse_unrecorded(search, i, error);
    }
    run_without_clock(search);
    if (search->issued < search->plan->op_count)
        return refuse_cycle(search, search->issued, error);
    for (uint32_t i = 0; i < search->plan->streams; i++) {
        if (search->lanes[i].head != NONE)
            return refuse_cycle(search, search->lanes[i].head, error);
    }
    return search->early != NONE ? refuse_early(search, search->early, error) : STATUS_OK;
}

static bool take_memory(struct wait_search *search)
{
    size_t events = search->plan->events + (size_t)1;
    size_t streams = search->plan->streams + (size_t)1;
    search->nodes = malloc((search->plan->op_count + (size_t)1) * sizeof *search->nodes);
    search->events = malloc(events * sizeof *search->events);
    search->lanes = malloc(streams * sizeof *search->lanes);
    bool waiters = waiters_init(&search->waiters, search->plan->streams);
    bool barriers = barriers_of_legacy(&search->legacy, search->plan);
    if (!search->nodes || !search->events || !search->lanes || !waiters || !barriers)
        return false;
    for (size_t i = 0; i < events; i++)
        search->events[i] = (struct event_records){NONE, NONE, NONE, false};
    for (size_t i = 0; i < streams; i++)
        search->lanes[i] = (struct search_lane){NONE, NONE};
    return true;
}

enum status plan_check_waits(const struct plan *plan, struct error *error)
{
    struct wait_search search = {.plan = plan, .early = NONE};
    enum status status;
    if (plan->recorded != NULL)
        return STATUS_OK;
    if (take_memory(&search)) {
        link_ops(&search);
        status = judge(&search, error);
    } else {
        status = error_set(error, STATUS_NO_MEMORY,
                           "no memory to check the waits of %" PRIu32 " ops", plan->op_count);
    }
    free(search.nodes);
    free(search.events);
    free(search.lanes);
    waiters_free(&search.waiters);
    barriers_free(&search.legacy);
    return status;
}
