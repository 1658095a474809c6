/* blind.c - follows streams and events with a vector clock per stream. */
#include "plan/blind.h"

#include "plan/hazard.h"

#include <stdlib.h>
#include <string.h>

/* Returns true if an op takes part: it works in a stream. */
static bool works(const struct op *op)
{
    return op_in_stream(op->kind) && op->kind != OP_RECORD && op->kind != OP_WAIT;
}

bool plan_is_blind(const struct plan *plan, const struct op *op)
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
    for (uint32_t i = 0; i < plan->op_count; i++)
        walk->streams[plan->ops[i].stream].count += works(&plan->ops[i]);
    for (uint32_t s = 0; s < plan->streams; s++) {
        walk->streams[s].ops = walk->ops + first;
        walk->streams[s].blinds = walk->blinds + first;
        first += walk->streams[s].count;
        walk->streams[s].count = 0;
    }
    for (uint32_t i = 0; i < plan->op_count; i++) {
        struct blind_stream *stream = &walk->streams[plan->ops[i].stream];
        if (plan->ops[i].kind == OP_WAIT)
            walk->waits[plan->ops[i].event.event]++;
        if (!works(&plan->ops[i]))
            continue;
        const uint32_t at = stream->count++;
        stream->ops[at] = i;
        stream->blinds[at] = plan_is_blind(plan, &plan->ops[i]) ? at + 1
                             : at > 0                           ? stream->blinds[at - 1]
                                                                : 0;
    }
}

enum status blind_init(struct blind_walk *walk, const struct plan *plan)
{
    const size_t streams = plan->streams, events = plan->events;
    *walk = (struct blind_walk){.plan = plan};
    for (uint32_t i = 0; i < plan->op_count && !walk->any; i++)
        walk->any = plan_is_blind(plan, &plan->ops[i]);
    if (!walk->any)
        return STATUS_OK;
    walk->clock_bytes = 2 * (uint64_t)streams * streams * sizeof *walk->clocks;
    if (walk->clock_bytes > HAZARD_CLOCK_BYTES)
        return STATUS_FAILED;
    walk->ops = malloc((plan->op_count + (size_t)1) * sizeof *walk->ops);
    walk->blinds = malloc((plan->op_count + (size_t)1) * sizeof *walk->blinds);
    walk->streams = calloc(streams + 1, sizeof *walk->streams);
    walk->clocks = calloc(streams * streams + 1, sizeof *walk->clocks);
    walk->covered = calloc(streams * streams + 1, sizeof *walk->covered);
    walk->events = calloc(events + 1, sizeof(uint32_t *));
    walk->waits = calloc(events + 1, sizeof *walk->waits);
    if (!walk->ops || !walk->blinds || !walk->streams || !walk->clocks || !walk->covered ||
        !walk->events || !walk->waits)
        return STATUS_NO_MEMORY;
    list_ops(walk);
    return STATUS_OK;
}

void blind_free(struct blind_walk *walk)
{
    for (uint32_t i = 0; walk->events != NULL && i < walk->plan->events; i++)
        free(walk->events[i]);
    free(walk->ops);
    free(walk->blinds);
    free(walk->streams);
    free(walk->clocks);
    free(walk->covered);
    free(walk->events);
    free(walk->waits);
}

/* Keeps what comes before a record, if anyone waits for it. */
static enum status take_record(struct blind_walk *walk, uint32_t event, const uint32_t *clock)
{
    const size_t bytes = walk->plan->streams * sizeof *clock;
    if (walk->waits[event] == 0)
        return STATUS_OK;
    if (walk->events[event] == NULL) {
        walk->clock_bytes += bytes;
        if (walk->clock_bytes > HAZARD_CLOCK_BYTES)
            return STATUS_FAILED;
        walk->events[event] = malloc(bytes);
    }
    if (walk->events[event] == NULL)
        return STATUS_NO_MEMORY;
    memcpy(walk->events[event], clock, bytes);
    return STATUS_OK;
}

static void take_wait(struct blind_walk *walk, uint32_t event, uint32_t *clock)
{
    uint32_t *other = walk->events[event];
    for (uint32_t s = 0; other != NULL && s < walk->plan->streams; s++)
        clock[s] = other[s] > clock[s] ? other[s] : clock[s];
    if (--walk->waits[event] > 0 || other == NULL)
        return;
    free(other);
    walk->events[event] = NULL;
    walk->clock_bytes -= walk->plan->streams * sizeof *clock;
}

enum status blind_take(struct blind_walk *walk, const struct op *op,
                       void (*found)(void *context, uint32_t op), void *context)
{
    const size_t streams = walk->plan->streams;
    if (!walk->any || !op_in_stream(op->kind))
        return STATUS_OK;
    uint32_t *clock = &walk->clocks[op->stream * streams];
    uint32_t *covered = &walk->covered[op->stream * streams];
    if (op->kind == OP_RECORD)
        return take_record(walk, op->event.event, clock);
    if (op->kind == OP_WAIT) {
        take_wait(walk, op->event.event, clock);
        return STATUS_OK;
    }
    const bool blind = plan_is_blind(walk->plan, op);
    for (size_t s = 0; s < streams; s++) {
        const struct blind_stream *stream = &walk->streams[s];
        const uint32_t latest = clock[s] > 0 ? stream->blinds[clock[s] - 1] : 0;
        /* Its own stream's latest blind op has come after the rest. */
        if (!blind && latest > (s == op->stream ? 0 : covered[s]))
            found(context, stream->ops[latest - 1]);
        for (; blind && covered[s] < clock[s]; covered[s]++)
            found(context, stream->ops[covered[s]]);
    }
    clock[op->stream]++;
    return STATUS_OK;
}
