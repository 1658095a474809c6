/* clocks.c - the walk with vector clocks. */
#include "plan/clocks.h"

#include "plan/barriers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How often the clocks that streams share had changed when a stream took them up: it does so
 * again only when they have changed since. */
struct taken_up {
    uint32_t host, partner;
};

/* --- set-up --- */

/* Finds the last that waits for each record: its clock is kept until then. Who walks by events
 * alone does not enter the host's own waits, and would keep for ever what is kept for them. */
static bool find_last_uses(struct clocks *clocks)
{
    const struct plan *plan = clocks->plan;
    bool *used = arena_zeros(&clocks->arena, plan->events, sizeof *used);
    clocks->last_uses = arena_zeros(&clocks->arena, plan->op_count, sizeof *clocks->last_uses);
    bool room = used != NULL && clocks->last_uses != NULL;
    for (uint32_t i = plan->op_count; room && i-- > 0;) {
        const struct op *op = &plan->ops[i];
        bool waits =
            op->kind == OP_WAIT || (op->kind == OP_SYNC_EVENT && clocks->by != CLOCKS_EVENTS);
        if (op->kind != OP_RECORD && !waits)
            continue;
        clocks->last_uses[i] = !used[op->event.event];
        used[op->event.event] = op->kind != OP_RECORD;
    }
    return room;
}

static bool has_legacy(const struct plan *plan)
{
    bool legacy = false;
    for (uint32_t i = 0; i < plan->streams; i++)
        legacy |= plan_stream_kind(plan, i) == STREAM_LEGACY;
    return legacy;
}

static enum status too_many(const struct clocks *clocks, struct error *error)
{
    return error_set(error, STATUS_FAILED,
                     "the plan has too many streams (%" PRIu32
                     "), or too many events at once that ops still wait for",
                     clocks->plan->streams);
}

static enum status no_memory(const struct clocks *clocks, struct error *error)
{
    return error_no_memory(error, "to follow %" PRIu32 " ops in %" PRIu32 " streams",
                           clocks->plan->op_count, clocks->plan->streams);
}

enum status clocks_begin(struct clocks *clocks, const struct plan *plan, enum clocks_order by,
                         struct error *error)
{
    const size_t lanes = plan->streams + (size_t)1;
    const bool shares = by != CLOCKS_EVENTS && has_legacy(plan);
    *clocks = (struct clocks){.plan = plan, .by = by, .lanes = (uint32_t)lanes};
    clocks->bytes = (uint64_t)lanes * lanes * sizeof *clocks->now;
    if (clocks->bytes > CLOCKS_BYTES_MOST)
        return too_many(clocks, error);
    struct arena *arena = &clocks->arena;
    const size_t rows = lanes + 1 + (shares ? STREAM_KIND_COUNT : 0);
    clocks->now = arena_zeros(arena, rows * lanes, sizeof *clocks->now);
    clocks->own = arena_zeros(arena, lanes, sizeof *clocks->own);
    clocks->knows = arena_zeros(arena, rows, sizeof *clocks->knows);
    clocks->host = clocks->now != NULL ? clocks->now + lanes * lanes : NULL;
    clocks->done = shares && clocks->now != NULL ? clocks->host + lanes : NULL;
    clocks->events = arena_zeros(arena, plan->events, sizeof(uint32_t *));
    clocks->seen = arena_zeros(arena, lanes, sizeof *clocks->seen);
    const bool room = !arena->full && (plan->op_count == 0 || find_last_uses(clocks));
    return room ? STATUS_OK : no_memory(clocks, error);
}

void clocks_end(struct clocks *clocks)
{
    for (uint32_t i = 0; clocks->events != NULL && i < clocks->plan->events; i++)
        free(clocks->events[i]);
    arena_free(&clocks->arena);
}

/* --- events --- */

void clocks_join(const struct clocks *clocks, uint32_t *clock, const uint32_t *from)
{
    for (uint32_t lane = 0; lane < clocks->lanes; lane++)
        clock[lane] = from[lane] > clock[lane] ? from[lane] : clock[lane];
    clocks->knows[(size_t)(clock - clocks->now) / clocks->lanes] = true;
}

static uint32_t *clock_of(const struct clocks *clocks, uint32_t lane)
{
    return &clocks->now[(size_t)lane * clocks->lanes];
}

/* Makes the host's clock, or one that streams share, cover what that of a lane covers. */
static void join_lane(const struct clocks *clocks, uint32_t *clock, uint32_t lane)
{
    if (clocks->knows[lane])
        clocks_join(clocks, clock, clock_of(clocks, lane));
    clock[lane] = clocks->own[lane] > clock[lane] ? clocks->own[lane] : clock[lane];
}

void clocks_copy(const struct clocks *clocks, uint32_t lane, uint32_t *zeroes)
{
    if (clocks->knows[lane])
        memcpy(zeroes, clock_of(clocks, lane), clocks->lanes * sizeof *zeroes);
    zeroes[lane] = clocks->own[lane];
}

/* Returns true if nobody waits for the event of `op` behind it, before it is recorded anew. */
static bool is_last_use(const struct clocks *clocks, const struct op *op)
{
    return clocks->last_uses != NULL && clocks->last_uses[op->id];
}

/* Makes `clock` cover what the latest record of the event comes after. An event that was never
 * recorded stands for nothing. [CUDA Runtime API, cudaStreamWaitEvent()] */
static void join_event(struct clocks *clocks, const struct op *op, uint32_t *clock)
{
    uint32_t **event = &clocks->events[op->event.event];
    if (*event == NULL)
        return;
    clocks_join(clocks, clock, *event);
    if (!is_last_use(clocks, op))
        return;
    free(*event);
    *event = NULL;
    clocks->bytes -= clocks->lanes * sizeof *clock;
}

/* Keeps what the record of an event comes after, if anyone waits for it. */
static enum status record_event(struct clocks *clocks, const struct op *op, struct error *error)
{
    const size_t bytes = clocks->lanes * sizeof **clocks->events;
    uint32_t **event = &clocks->events[op->event.event];
    if (is_last_use(clocks, op))
        return STATUS_OK;
    if (*event == NULL) {
        if (clocks->bytes + bytes > CLOCKS_BYTES_MOST)
            return too_many(clocks, error);
        *event = malloc(bytes);
        if (*event == NULL)
            return no_memory(clocks, error);
        clocks->bytes += bytes;
    }
    memset(*event, 0, bytes);
    clocks_copy(clocks, clocks_lane(op), *event);
    return STATUS_OK;
}

/* --- the host, and the legacy default stream --- */

static uint32_t *done_by(const struct clocks *clocks, enum stream_kind kind)
{
    return &clocks->done[kind * (size_t)clocks->lanes];
}

/* Takes up a wait of the host's. It ends when its stream's ops have, or, for the device, those
 * of all streams. A wait for the legacy default stream is one for all blocking streams, too. */
static void host_waits(struct clocks *clocks, const struct op *op)
{
    clocks->host_changes++;
    if (op->kind == OP_SYNC_EVENT) {
        join_event(clocks, op, clocks->host);
        return;
    }
    if (op->stream < clocks->plan->streams) {
        enum stream_kind kind = plan_stream_kind(clocks->plan, op->stream);
        join_lane(clocks, clocks->host, op->stream);
        if (rule_sync_encompasses(kind, STREAM_BLOCKING))
            clocks_join(clocks, clocks->host, done_by(clocks, STREAM_BLOCKING));
        return;
    }
    for (uint32_t i = 0; i < clocks->plan->streams; i++)
        clocks->host[i] = clocks->own[i];
}

/* Returns true if the host waited for `op` itself. A copy back to pageable memory returns only
 * when it has ended, also if its call is an asynchronous one. [API 11.1, 2; since CUDA 12 that
 * text says it "might be synchronous", and no driver is known that returns earlier] */
static bool host_waits_for(const struct clocks *clocks, const struct op *op,
                           const struct op_recorded *seen)
{
    if (clocks->by == CLOCKS_RUN && clocks->plan->launches_block && op->kind == OP_KERNEL)
        return true;
    return seen != NULL && (seen->waits || (seen->pageable && op->kind == OP_D2H));
}

/* Takes up, before an op of a stream, what it comes after beyond the stream's own order. */
static void catch_up(struct clocks *clocks, uint32_t stream, uint32_t *clock)
{
    struct taken_up *seen = &clocks->seen[stream];
    enum stream_kind partner = legacy_partner(plan_stream_kind(clocks->plan, stream));
    if (seen->host != clocks->host_changes)
        clocks_join(clocks, clock, clocks->host);
    seen->host = clocks->host_changes;
    if (partner == STREAM_NONBLOCKING || seen->partner == clocks->done_changes[partner])
        return;
    clocks_join(clocks, clock, done_by(clocks, partner));
    seen->partner = clocks->done_changes[partner];
}

/* Notes, behind an op of a stream, what ops of other streams come after. */
static void pass_on(struct clocks *clocks, uint32_t stream)
{
    enum stream_kind kind = plan_stream_kind(clocks->plan, stream);
    if (clocks->done == NULL || !rule_minds_legacy(kind))
        return;
    clocks->done_changes[kind]++;
    join_lane(clocks, done_by(clocks, kind), stream);
}

/* --- ops in the order of issue --- */

/* Returns true if an op is one of a lane: the host's waits are not, nor is memory that is taken
 * and given back at once. */
static bool has_lane(const struct op *op)
{
    return !op_is_sync(op->kind) && (op->kind != OP_ALLOC || op->alloc.action != ALLOC_PAIR);
}

/* Returns true if the host's cores do an op in a call of its own: it comes after all that the
 * host has waited for, and before all that it issues later. */
static bool is_of_host(const struct op *op)
{
    return op->kind == OP_PACK || (op->kind == OP_ALLOC && !op->alloc.ordered);
}

uint32_t *clocks_enter(struct clocks *clocks, const struct op *op)
{
    const uint32_t lane = clocks_lane(op);
    uint32_t *clock = clock_of(clocks, lane);
    if (op_is_sync(op->kind))
        host_waits(clocks, op);
    if (!has_lane(op))
        return NULL;
    if (op->kind == OP_ALLOC && !op->alloc.ordered && op->alloc.action == ALLOC_GIVE)
        host_waits(clocks, op); /* it gives back only what is idle */
    if (is_of_host(op))
        clocks_join(clocks, clock, clocks->host);
    else if (op->kind != OP_CPU && clocks->by != CLOCKS_EVENTS)
        catch_up(clocks, lane, clock); /* the CPU's thread waits for nothing of this */
    if (op->kind == OP_WAIT)
        join_event(clocks, op, clock);
    if (clocks->by != CLOCKS_EVENTS || clocks->knows[lane])
        clock[lane] = clocks->own[lane];
    return clock;
}

enum status clocks_leave(struct clocks *clocks, const struct op *op,
                         const struct op_recorded *seen, struct error *error)
{
    const uint32_t lane = clocks_lane(op);
    enum status status = STATUS_OK;
    if (!has_lane(op))
        return STATUS_OK;
    if (op->kind == OP_RECORD)
        status = record_event(clocks, op, error);
    clocks->own[lane] += clocks_counts(op);
    if (is_of_host(op)) {
        clocks->host[lane] = clocks->own[lane];
        clocks->host_changes++;
    } else if (op->kind != OP_CPU) {
        pass_on(clocks, lane);
        if (host_waits_for(clocks, op, seen)) {
            join_lane(clocks, clocks->host, lane);
            clocks->host_changes++;
        }
    }
    return status;
}

/* --- of a whole plan --- */

static enum status fill_table(struct clocks_table *table, struct clocks *clocks,
                              struct error *error)
{
    const struct plan *plan = clocks->plan;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < plan->op_count && status == STATUS_OK; i++) {
        const struct op *op = &plan->ops[i];
        const uint32_t *clock = clocks_enter(clocks, op);
        if (clock != NULL && !op_is_call(op->kind)) {
            clocks_copy(clocks, clocks_lane(op), &table->starts[i * (size_t)table->lanes]);
            table->lane[i] = clocks_lane(op);
            table->places[i] = clocks_counts(op) ? clocks->own[table->lane[i]] + 1 : 0;
        }
        status = clocks_leave(clocks, op, plan_seen(plan, op), error);
    }
    return status;
}

enum status clocks_table_make(struct clocks_table *table, const struct plan *plan,
                              enum clocks_order by, struct error *error)
{
    enum { ROOM = 1 << 28 };
    struct clocks clocks;
    const size_t ops = plan->op_count + (size_t)1, lanes = plan->streams + (size_t)1;
    *table = (struct clocks_table){.lanes = (uint32_t)lanes};
    if (ops * lanes > ROOM)
        return error_set(error, STATUS_FAILED,
                         "the plan has too many ops and streams (%" PRIu32 " and %" PRIu32 ")",
                         plan->op_count, plan->streams);
    table->starts = arena_zeros(&table->arena, ops * lanes, sizeof *table->starts);
    table->places = arena_zeros(&table->arena, ops, sizeof *table->places);
    table->lane = arena_zeros(&table->arena, ops, sizeof *table->lane);
    enum status status = clocks_begin(&clocks, plan, by, error);
    if (status == STATUS_OK && table->arena.full)
        status = no_memory(&clocks, error);
    if (status == STATUS_OK)
        status = fill_table(table, &clocks, error);
    clocks_end(&clocks);
    return status;
}

void clocks_table_free(struct clocks_table *table)
{
    arena_free(&table->arena);
    *table = (struct clocks_table){0};
}
