/* hazard.c - finds ops that race: the same bytes, one writing, and no path between them.
 *
 * Ops are walked in issue order with a vector clock per stream: clock[s][t] is the number of
 * ops of stream t that have surely ended before the next op of stream s starts. Memory
 * remembers who wrote it last and who has read it since, as (stream, place in stream):
 * plan/cells.h; an access is ordered after those if its stream's clock covers them (FastTrack;
 * Flanagan & Freund, PLDI 2009). Waits refer to events recorded earlier, so one pass in issue
 * order sees every path. What the host has waited for, and what the legacy default stream and
 * the blocking streams have of one another, are clocks, too; a stream takes them up at its next
 * op. */
#include "plan/hazard.h"

#include "core/items.h"
#include "plan/cells.h"
#include "plan/legacy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The number of changes that a stream has taken up of the clocks that streams share: it takes
 * them up again only when they have changed since. */
struct seen {
    uint32_t syncs;
    uint32_t partner_ops; /* of the streams that it takes turns with: see plan/legacy.h */
};

struct hazard_finder {
    const struct plan *plan;
    uint32_t lanes;   /* streams and the CPU's lane */
    uint32_t *clocks; /* lanes x lanes */
    uint32_t *events; /* per event: which of `kept` is the recording stream's clock; 0: nobody
                         waits for it */
    uint32_t *kept;   /* clocks of events; that at place 0 is not used */
    size_t kept_count, kept_capacity;
    uint32_t
        spare; /* one of `kept` that is free again, whose first word says the next; 0: none */
    bool *last_uses; /* per op: of a record, none comes later; of those that wait for it, the
                        last */
    uint64_t clock_bytes;
    uint32_t *host; /* what is over for everything that the host issues from here on */
    uint32_t *done; /* per kind of stream: all that such streams have done, or waited for; NULL:
                       the plan has no legacy default stream, so nobody asks */
    struct legacy_walk legacy;
    struct seen *seen; /* per stream */
    uint32_t syncs;    /* how often `host` has changed */
    struct cells cells;
    uint32_t present;                   /* the op that is taken up */
    const struct hazard_filter *filter; /* NULL: all pairs count */
    struct hazard *hazards;
    size_t max, count;
};

/* --- set-up --- */

static bool waits_for_event(enum op_kind kind)
{
    return kind == OP_WAIT || kind == OP_SYNC_EVENT;
}

/* Finds the last that waits for each record: its clock is kept until then. */
static bool find_last_uses(struct hazard_finder *finder)
{
    const struct plan *plan = finder->plan;
    bool *used = calloc(plan->events + (size_t)1, sizeof *used);
    finder->last_uses = calloc(plan->op_count + (size_t)1, sizeof *finder->last_uses);
    for (uint32_t i = plan->op_count; used != NULL && finder->last_uses != NULL && i-- > 0;) {
        const struct op *op = &plan->ops[i];
        if (op->kind != OP_RECORD && !waits_for_event(op->kind))
            continue;
        finder->last_uses[i] = !used[op->event.event];
        used[op->event.event] = op->kind != OP_RECORD;
    }
    bool room = used != NULL && finder->last_uses != NULL;
    free(used);
    return room;
}

/* Counts one more clock. Returns false where there are too many. */
static bool clocks_fit(struct hazard_finder *finder, uint64_t count)
{
    finder->clock_bytes += count * finder->lanes * sizeof *finder->clocks;
    return finder->clock_bytes <= HAZARD_CLOCK_BYTES;
}

static enum status too_many_clocks(const struct hazard_finder *finder, struct error *error)
{
    return error_set(error, STATUS_FAILED,
                     "the plan has too many streams (%" PRIu32
                     "), or too many events at once that ops still wait for, to look for races",
                     finder->plan->streams);
}

static bool finder_init(struct hazard_finder *finder)
{
    size_t lanes = finder->lanes;
    finder->clocks = calloc(lanes * lanes, sizeof *finder->clocks);
    finder->events = calloc(finder->plan->events + (size_t)1, sizeof *finder->events);
    finder->host = calloc(lanes, sizeof *finder->host);
    bool legacy = false;
    for (uint32_t i = 0; i < finder->plan->streams; i++)
        legacy |= plan_stream_kind(finder->plan, i) == STREAM_LEGACY;
    if (legacy)
        finder->done = calloc(STREAM_KIND_COUNT * lanes, sizeof *finder->done);
    finder->seen = calloc(lanes, sizeof *finder->seen);
    return finder->clocks && finder->events && finder->host && (!legacy || finder->done) &&
           finder->seen && find_last_uses(finder) && cells_init(&finder->cells, finder->plan);
}

static void finder_free(struct hazard_finder *finder)
{
    cells_free(&finder->cells);
    free(finder->clocks);
    free(finder->events);
    free(finder->kept);
    free(finder->last_uses);
    free(finder->host);
    free(finder->done);
    free(finder->seen);
}

/* --- ops in the order of issue --- */

/* One pair of ops is one hazard, however many cells they share. */
static void on_race(void *context, uint32_t before, const struct range *where, bool sure)
{
    struct hazard_finder *finder = context;
    const struct hazard_filter *filter = finder->filter;
    if (finder->count == finder->max ||
        (filter != NULL && !filter->counts(filter->context, before, finder->present)))
        return;
    for (size_t i = finder->count; i > 0; i--) {
        if (finder->hazards[i - 1].second != finder->present)
            break;
        if (finder->hazards[i - 1].first == before)
            return;
    }
    finder->hazards[finder->count++] = (struct hazard){before, finder->present, *where, sure};
}

/* Makes `clock` cover what `from` covers, too. */
static void clock_join(const struct hazard_finder *finder, uint32_t *clock,
                       const uint32_t *from)
{
    for (uint32_t lane = 0; lane < finder->lanes; lane++)
        clock[lane] = from[lane] > clock[lane] ? from[lane] : clock[lane];
}

static uint32_t *kept_clock(const struct hazard_finder *finder, uint32_t place)
{
    return &finder->kept[place * (size_t)finder->lanes];
}

/* Makes `clock` cover what the latest record of the event comes after. An event that was never
 * recorded stands for nothing. [CUDA Runtime API, cudaStreamWaitEvent()] */
static void join_event(struct hazard_finder *finder, const struct op *op, uint32_t *clock)
{
    uint32_t *event = &finder->events[op->event.event];
    if (*event == 0)
        return;
    uint32_t *recorded = kept_clock(finder, *event);
    clock_join(finder, clock, recorded);
    if (!finder->last_uses[op->id])
        return;
    *recorded = finder->spare;
    finder->spare = *event;
    *event = 0;
}

/* Makes room for a clock more. */
static enum status keep_more(struct hazard_finder *finder)
{
    size_t bytes = finder->lanes * sizeof *finder->kept;
    if (!clocks_fit(finder, 1))
        return STATUS_FAILED;
    uint32_t *kept =
        items_grow(finder->kept, finder->kept_count, &finder->kept_capacity, bytes);
    if (kept == NULL)
        return STATUS_NO_MEMORY;
    finder->kept = kept;
    finder->spare = (uint32_t)finder->kept_count++;
    *kept_clock(finder, finder->spare) = 0;
    return STATUS_OK;
}

/* Keeps what the record of an event comes after, if anyone waits for it. */
static enum status record_event(struct hazard_finder *finder, const struct op *op,
                                const uint32_t *clock)
{
    uint32_t *event = &finder->events[op->event.event];
    if (finder->last_uses[op->id])
        return STATUS_OK;
    enum status status = finder->spare == 0 ? keep_more(finder) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    *event = finder->spare;
    uint32_t *kept = kept_clock(finder, *event);
    finder->spare = *kept;
    memcpy(kept, clock, finder->lanes * sizeof *clock);
    return STATUS_OK;
}

static uint32_t *done_by(const struct hazard_finder *finder, enum stream_kind kind)
{
    return &finder->done[kind * (size_t)finder->lanes];
}

/* Takes up a sync. It ends when its stream's ops have, or, for the device, those of all
 * streams. The sync of the legacy default stream is one of all blocking streams, too. */
static void finder_sync(struct hazard_finder *finder, const struct op *op)
{
    size_t lanes = finder->lanes;
    finder->syncs++;
    if (op->kind == OP_SYNC_EVENT) {
        join_event(finder, op, finder->host);
        return;
    }
    if (op->stream < finder->plan->streams) {
        enum stream_kind kind = plan_stream_kind(finder->plan, op->stream);
        clock_join(finder, finder->host, &finder->clocks[op->stream * lanes]);
        if (rule_sync_encompasses(kind, STREAM_BLOCKING))
            clock_join(finder, finder->host, done_by(finder, STREAM_BLOCKING));
        return;
    }
    for (uint32_t i = 0; i < finder->plan->streams; i++)
        finder->host[i] = finder->clocks[i * lanes + i];
}

/* Takes up, before an op of a stream, what it comes after beyond the stream's own order. */
static void finder_catch_up(struct hazard_finder *finder, uint32_t stream)
{
    uint32_t *clock = &finder->clocks[(size_t)stream * finder->lanes];
    struct seen *seen = &finder->seen[stream];
    enum stream_kind kind = plan_stream_kind(finder->plan, stream);
    const struct legacy_side *before = legacy_before(&finder->legacy, kind);
    if (seen->syncs != finder->syncs)
        clock_join(finder, clock, finder->host);
    seen->syncs = finder->syncs;
    if (before == NULL || before->count == seen->partner_ops)
        return;
    clock_join(finder, clock, done_by(finder, legacy_partner(kind)));
    seen->partner_ops = before->count;
}

/* Notes, behind an op of a stream, what ops of other streams come after. */
static void finder_pass_on(struct hazard_finder *finder, const struct op *op)
{
    enum stream_kind kind = plan_stream_kind(finder->plan, op->stream);
    if (finder->done == NULL || !rule_minds_legacy(kind))
        return;
    legacy_pass(&finder->legacy, kind, op->id, 0);
    clock_join(finder, done_by(finder, kind),
               &finder->clocks[(size_t)op->stream * finder->lanes]);
}

/* Does an op in its stream or, if it is the CPU's, in the CPU's lane. STATUS_FAILED where there
 * are too many clocks. */
static enum status finder_do(struct hazard_finder *finder, const struct op *op)
{
    uint32_t *clock = &finder->clocks[(size_t)op->stream * finder->lanes];
    if (op->kind == OP_RECORD)
        return record_event(finder, op, clock);
    if (op->kind == OP_WAIT) {
        join_event(finder, op, clock);
        return STATUS_OK;
    }
    struct access room[OP_ACCESS_MAX];
    uint32_t count;
    const struct access *access = plan_accesses(finder->plan, op, room, &count);
    const struct op_recorded *seen = plan_seen(finder->plan, op);
    struct epoch by = {op->id, op->stream, clock[op->stream] + 1};
    const struct cells_watcher watcher = {on_race, finder};
    finder->present = op->id;
    for (uint32_t i = 0; i < count; i++) {
        if (!cells_touch(&finder->cells, &access[i], by, seen == NULL || seen->sure, clock,
                         &watcher))
            return STATUS_NO_MEMORY;
    }
    clock[op->stream] = by.place;
    return STATUS_OK;
}

/* Returns true if the host waited for `op` itself, as the program's calls make sure. That a
 * launch blocks is the environment's affair, and prevents no race elsewhere. */
static bool host_waits_for(const struct plan *plan, const struct op *op)
{
    const struct op_recorded *seen = plan_seen(plan, op);
    return seen != NULL && (seen->waits || (seen->pageable && op->kind == OP_D2H));
}

/* Takes up what the host's cores do in a call of their own: it comes after all that the host
 * has waited for, and before all that it issues later. */
static enum status finder_pack(struct hazard_finder *finder, const struct op *op)
{
    uint32_t *clock = &finder->clocks[(size_t)op->stream * finder->lanes];
    clock_join(finder, clock, finder->host);
    enum status status = finder_do(finder, op);
    finder->host[op->stream] = clock[op->stream];
    finder->syncs++;
    return status;
}

/* Takes up memory that is taken or given back: in a stream's order it is as an op of that
 * stream; else the host does it, and gives back only what is idle. */
static enum status finder_alloc(struct hazard_finder *finder, const struct op *op)
{
    struct op ordered = *op;
    if (op->alloc.action == ALLOC_PAIR)
        return STATUS_OK;
    if (op->alloc.action == ALLOC_GIVE && !op->alloc.ordered)
        finder_sync(finder, op);
    if (!op->alloc.ordered)
        return finder_pack(finder, op);
    ordered.stream = op->alloc.stream;
    finder_catch_up(finder, ordered.stream);
    const enum status status = finder_do(finder, &ordered);
    finder_pass_on(finder, &ordered);
    return status;
}

static enum status finder_step(struct hazard_finder *finder, const struct op *op)
{
    if (op->kind == OP_PACK)
        return finder_pack(finder, op);
    if (op->kind == OP_ALLOC)
        return finder_alloc(finder, op);
    if (op_is_sync(op->kind))
        finder_sync(finder, op);
    if (op_is_call(op->kind))
        return STATUS_OK;
    if (op->kind == OP_CPU) /* its own thread takes it up by itself */
        return finder_do(finder, op);
    finder_catch_up(finder, op->stream);
    enum status status = finder_do(finder, op);
    finder_pass_on(finder, op);
    if (host_waits_for(finder->plan, op)) {
        finder->syncs++;
        clock_join(finder, finder->host, &finder->clocks[op->stream * (size_t)finder->lanes]);
    }
    return status;
}

enum status plan_hazards(const struct plan *plan, struct hazard *hazards, size_t max,
                         size_t *count, struct error *error)
{
    return plan_hazards_wanted(plan, NULL, hazards, max, count, error);
}

enum status plan_hazards_wanted(const struct plan *plan, const struct hazard_filter *filter,
                                struct hazard *hazards, size_t max, size_t *count,
                                struct error *error)
{
    struct hazard_finder finder = {.plan = plan,
                                   .lanes = plan->streams + 1,
                                   .kept_count = 1,
                                   .filter = filter,
                                   .hazards = hazards,
                                   .max = max};
    if (!clocks_fit(&finder, finder.lanes))
        return too_many_clocks(&finder, error);
    enum status status = finder_init(&finder) ? STATUS_OK : STATUS_NO_MEMORY;
    for (uint32_t i = 0; status == STATUS_OK && i < plan->op_count && finder.count < max; i++)
        status = finder_step(&finder, &plan->ops[i]);
    finder_free(&finder);
    if (status == STATUS_FAILED)
        return too_many_clocks(&finder, error);
    if (status == STATUS_NO_MEMORY)
        return error_set(error, STATUS_NO_MEMORY,
                         "no memory to look for hazards in %" PRIu32 " ops", plan->op_count);
    *count = finder.count;
    return STATUS_OK;
}
