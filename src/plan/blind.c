/* blind.c - lists each stream's ops, and looks up those that a vector clock covers. */
#include "plan/blind.h"

#include <inttypes.h>
#include <stdlib.h>

/* Returns true if an op takes part: it works in a stream. */
static bool works(const struct op *op)
{
    return op_in_stream(op->kind) && clocks_counts(op);
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
        if (!works(&plan->ops[i]))
            continue;
        const uint32_t at = stream->count++;
        stream->ops[at] = i;
        stream->blinds[at] = plan_is_blind(plan, &plan->ops[i]) ? at + 1
                             : at > 0                           ? stream->blinds[at - 1]
                                                                : 0;
    }
}

enum status blind_init(struct blind_walk *walk, const struct plan *plan, struct error *error)
{
    const size_t streams = plan->streams;
    *walk = (struct blind_walk){.plan = plan};
    for (uint32_t i = 0; i < plan->op_count && !walk->any; i++)
        walk->any = plan_is_blind(plan, &plan->ops[i]);
    if (!walk->any)
        return STATUS_OK;
    enum status status = clocks_begin(&walk->clocks, plan, CLOCKS_EVENTS, error);
    if (status != STATUS_OK)
        return status;
    walk->ops = malloc((plan->op_count + (size_t)1) * sizeof *walk->ops);
    walk->blinds = malloc((plan->op_count + (size_t)1) * sizeof *walk->blinds);
    walk->streams = calloc(streams + 1, sizeof *walk->streams);
    walk->covered = calloc(streams * streams + 1, sizeof *walk->covered);
    if (!walk->ops || !walk->blinds || !walk->streams || !walk->covered)
        return error_set(error, STATUS_NO_MEMORY, "no memory to follow %" PRIu32 " ops",
                         plan->op_count);
    list_ops(walk);
    return STATUS_OK;
}

void blind_free(struct blind_walk *walk)
{
    if (walk->any)
        clocks_end(&walk->clocks);
    free(walk->ops);
    free(walk->blinds);
    free(walk->streams);
    free(walk->covered);
}

enum status blind_take(struct blind_walk *walk, const struct op *op,
                       void (*found)(void *context, uint32_t op), void *context,
                       struct error *error)
{
    const size_t streams = walk->plan->streams;
    if (!walk->any || !op_in_stream(op->kind))
        return STATUS_OK;
    const uint32_t *clock = clocks_enter(&walk->clocks, op);
    const bool blind = plan_is_blind(walk->plan, op);
    uint32_t *covered = &walk->covered[op->stream * streams];
    for (size_t s = 0; works(op) && s < streams; s++) {
        const struct blind_stream *stream = &walk->streams[s];
        const uint32_t latest = clock[s] > 0 ? stream->blinds[clock[s] - 1] : 0;
        /* Its own stream's latest blind op has come after the rest. */
        if (!blind && latest > (s == op->stream ? 0 : covered[s]))
            found(context, stream->ops[latest - 1]);
        for (; blind && covered[s] < clock[s]; covered[s]++)
            found(context, stream->ops[covered[s]]);
    }
    return clocks_leave(&walk->clocks, op, NULL, error);
}
