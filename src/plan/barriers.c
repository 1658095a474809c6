/* barriers.c - barriers by bisection; they end in the order of issue. */
#include "plan/barriers.h"

#include "core/compare.h"

void waiters_init(struct waiters *waiters, uint32_t streams, struct arena *arena)
{
    const size_t lanes = streams + (size_t)1;
    waiters->next = arena_zeros(arena, lanes, sizeof *waiters->next);
    waiters->woken = arena_zeros(arena, 2 * lanes, sizeof *waiters->woken);
    waiters->woken_count = 0;
}

bool barriers_init(struct barriers *barriers, uint32_t room, struct arena *arena)
{
    *barriers = (struct barriers){.first_waiter = WAITERS_NONE};
    barriers->items = arena_zeros(arena, room + (size_t)1, sizeof *barriers->items);
    return barriers->items != NULL;
}

void barriers_add(struct barriers *barriers, uint32_t op, uint32_t before)
{
    barriers->items[barriers->count++] = (struct barrier){op, before, WAITERS_NONE};
}

/* Returns how many ops are in the legacy default stream. */
static uint32_t count_legacy(const struct plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; plan->stream_kinds != NULL && i < plan->op_count; i++)
        count += op_in_stream(plan->ops[i].kind) &&
                 plan_stream_kind(plan, plan->ops[i].stream) == STREAM_LEGACY;
    return count;
}

bool barriers_of_legacy(struct barriers *barriers, const struct plan *plan, struct arena *arena)
{
    struct legacy_walk walk = {0};
    uint32_t legacy = count_legacy(plan);
    if (!barriers_init(barriers, legacy, arena))
        return false;
    for (uint32_t i = 0; legacy > 0 && i < plan->op_count; i++) {
        if (!op_in_stream(plan->ops[i].kind))
            continue;
        enum stream_kind kind = plan_stream_kind(plan, plan->ops[i].stream);
        const struct legacy_side *blocking = legacy_before(&walk, kind);
        if (kind == STREAM_LEGACY)
            barriers_add(barriers, i,
                         barriers->count + (blocking != NULL ? blocking->count : 0));
        legacy_pass(&walk, kind, i, 0);
    }
    return true;
}

/* Returns the barrier that was issued last before `op`, if it has not ended; else NULL. */
static struct barrier *barriers_before(const struct barriers *barriers, uint32_t op)
{
    BISECT(at, i, barriers->ended, barriers->count, barriers->items[i].op < op);
    return at > barriers->ended ? &barriers->items[at - 1] : NULL;
}

uint32_t *barriers_held(struct barriers *barriers, uint32_t op)
{
    struct barrier *next = &barriers->items[barriers->ended];
    if (barriers->ended == barriers->count || next->op > op)
        return NULL;
    if (next->op == op)
        return barriers->ops_ended < next->before ? &barriers->first_waiter : NULL;
    return &barriers_before(barriers, op)->first_waiter;
}

void barriers_op_ended(struct barriers *barriers, uint32_t op, struct waiters *waiters)
{
    struct barrier *next = &barriers->items[barriers->ended];
    barriers->ops_ended++;
    if (barriers->ended < barriers->count && next->op == op) {
        barriers->ended++;
        waiters_wake(waiters, &next->first_waiter);
        next++;
    }
    if (barriers->first_waiter != WAITERS_NONE && barriers->ops_ended == next->before)
        waiters_wake(waiters, &barriers->first_waiter);
}
