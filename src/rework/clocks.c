/* clocks.c - which ops have surely ended before another starts. */
#include "rework/parts.h"

#include <stdlib.h>
#include <string.h>

static enum stream_kind kind_of(const struct rework_walk *walk, uint32_t stream)
{
    return walk->kinds == NULL ? STREAM_NONBLOCKING : (enum stream_kind)walk->kinds[stream];
}

enum status rework_walk_begin(struct rework_walk *walk, const struct plan *plan,
                              struct error *error)
{
    enum { ROOM = 1 << 27 }; /* in all, of counts */
    size_t streams = plan->streams;
    *walk = (struct rework_walk){.streams = plan->streams,
                                 .kinds = plan->stream_kinds,
                                 .launches_block = plan->launches_block};
    if ((streams + plan->events) * (streams + 1) > ROOM)
        return error_set(error, STATUS_FAILED, "too many streams to try fixes");
    walk->clocks = calloc(streams * streams + 1, sizeof *walk->clocks);
    walk->events = calloc(plan->events * streams + 1, sizeof *walk->events);
    walk->host = calloc(streams + 1, sizeof *walk->host);
    walk->done = calloc(STREAM_KIND_COUNT * streams + 1, sizeof *walk->done);
    return walk->clocks && walk->events && walk->host && walk->done
               ? STATUS_OK
               : error_set(error, STATUS_NO_MEMORY, "no memory to try fixes");
}

void rework_walk_free(struct rework_walk *walk)
{
    free(walk->clocks);
    free(walk->events);
    free(walk->host);
    free(walk->done);
    *walk = (struct rework_walk){0};
}

void rework_walk_join(const struct rework_walk *walk, uint32_t *clock, const uint32_t *from)
{
    for (uint32_t i = 0; i < walk->streams; i++)
        clock[i] = from[i] > clock[i] ? from[i] : clock[i];
}

static uint32_t *clock_of(const struct rework_walk *walk, uint32_t stream)
{
    return walk->clocks + (size_t)stream * walk->streams;
}

uint32_t *rework_walk_enter(struct rework_walk *walk, const struct op *op)
{
    if (op->stream >= walk->streams)
        return NULL;
    uint32_t *clock = clock_of(walk, op->stream);
    enum stream_kind partner = legacy_partner(kind_of(walk, op->stream));
    if (op_is_call(op->kind))
        return clock;
    rework_walk_join(walk, clock, walk->host);
    if (partner != STREAM_NONBLOCKING)
        rework_walk_join(walk, clock, walk->done + (size_t)partner * walk->streams);
    return clock;
}

/* The host has waited: for an event; for a stream, and with the legacy default stream for the
 * blocking ones; or for all. */
static void host_waits(struct rework_walk *walk, const struct op *op)
{
    uint32_t *host = walk->host;
    if (op->kind == OP_SYNC_EVENT) {
        rework_walk_join(walk, host, walk->events + (size_t)op->event.event * walk->streams);
        return;
    }
    if (op->stream < walk->streams) {
        rework_walk_join(walk, host, clock_of(walk, op->stream));
        if (rule_sync_encompasses(kind_of(walk, op->stream), STREAM_BLOCKING))
            rework_walk_join(walk, host, walk->done + STREAM_BLOCKING * (size_t)walk->streams);
        return;
    }
    for (uint32_t i = 0; i < walk->streams; i++)
        host[i] = clock_of(walk, i)[i];
}

void rework_walk_leave(struct rework_walk *walk, const struct op *op,
                       const struct op_recorded *seen)
{
    if (op_is_sync(op->kind))
        host_waits(walk, op);
    if (op_is_call(op->kind) || op->stream >= walk->streams)
        return;
    uint32_t *clock = clock_of(walk, op->stream);
    enum stream_kind kind = kind_of(walk, op->stream);
    bool event = op->kind == OP_RECORD || op->kind == OP_WAIT;
    uint32_t *of_event = event ? walk->events + (size_t)op->event.event * walk->streams : NULL;
    if (op->kind == OP_RECORD)
        memcpy(of_event, clock, walk->streams * sizeof *clock);
    else if (op->kind == OP_WAIT)
        rework_walk_join(walk, clock, of_event);
    else
        clock[op->stream]++;
    if (rule_minds_legacy(kind))
        rework_walk_join(walk, walk->done + kind * (size_t)walk->streams, clock);
    if (!event && (seen->waits || (walk->launches_block && op->kind == OP_KERNEL)))
        rework_walk_join(walk, walk->host, clock);
}

/* --- of a whole plan --- */

enum status rework_clocks_find(const struct plan *plan, struct rework_clocks *clocks,
                               struct error *error)
{
    enum { ROOM = 1 << 28 };
    struct rework_walk walk;
    size_t ops = plan->op_count + (size_t)1;
    *clocks = (struct rework_clocks){.streams = plan->streams};
    if (ops * plan->streams > ROOM)
        return error_set(error, STATUS_FAILED, "too many ops and streams to try fixes");
    clocks->starts = calloc(ops * plan->streams + 1, sizeof *clocks->starts);
    clocks->places = calloc(ops, sizeof *clocks->places);
    clocks->lanes = calloc(ops, sizeof *clocks->lanes);
    if (!clocks->starts || !clocks->places || !clocks->lanes)
        return error_set(error, STATUS_NO_MEMORY, "no memory to try fixes");
    enum status status = rework_walk_begin(&walk, plan, error);
    for (uint32_t i = 0; i < plan->op_count && status == STATUS_OK; i++) {
        const struct op *op = &plan->ops[i];
        const struct op_recorded *seen = &plan->recorded->ops[i];
        const uint32_t *clock = rework_walk_enter(&walk, op);
        bool works = clock != NULL && !op_is_call(op->kind);
        if (works) {
            memcpy(clocks->starts + (size_t)i * plan->streams, clock,
                   plan->streams * sizeof *clock);
            bool event = op->kind == OP_RECORD || op->kind == OP_WAIT;
            clocks->places[i] = event ? 0 : clock[op->stream] + 1;
            clocks->lanes[i] = op->stream;
        }
        rework_walk_leave(&walk, op, seen);
    }
    rework_walk_free(&walk);
    return status;
}

void rework_clocks_free(struct rework_clocks *clocks)
{
    free(clocks->starts);
    free(clocks->places);
    free(clocks->lanes);
    *clocks = (struct rework_clocks){0};
}
