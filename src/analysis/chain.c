/* chain.c - what no change of the host's calls makes shorter: ops of one stream, and those that
 * need each other's data. */
#include "analysis/analysis.h"

#include "core/arena.h"
#include "plan/hazard.h"

/* Returns true if op `i` reads bytes that op `before` writes. A kernel may read all that it may
 * write. */
static bool flows(const struct plan_recorded *recorded, uint32_t before, uint32_t i)
{
    enum { PAIRS_MOST = 4096 };
    const struct op_recorded *x = &recorded->ops[before], *y = &recorded->ops[i];
    if ((uint64_t)x->access_count * y->access_count > PAIRS_MOST)
        return false;
    for (uint32_t a = 0; a < x->access_count; a++) {
        const struct access *from = &recorded->accesses[x->first_access + a];
        for (uint32_t b = 0; b < y->access_count && from->writes; b++) {
            const struct access *to = &recorded->accesses[y->first_access + b];
            if ((!to->writes || !y->sure) && from->range.buffer == to->range.buffer &&
                from->range.offset < to->range.offset + to->range.bytes &&
                to->range.offset < from->range.offset + from->range.bytes)
                return true;
        }
    }
    return false;
}

/* Returns how long the longest chain takes of ops that take `works_ns`. */
static int64_t longest_ns(const struct plan *plan, const int64_t works_ns[],
                          struct arena *arena)
{
    struct needed needed = {0};
    int64_t most_ns = 0;
    int64_t *chains_ns = arena_zeros(arena, plan->op_count, sizeof *chains_ns);
    if (chains_ns == NULL || plan_needed(plan, &needed, NULL) != STATUS_OK)
        return 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        for (size_t k = needed.first[i]; k < needed.first[i + 1] && works_ns[i] > 0; k++) {
            if (flows(plan->recorded, needed.before[k], i))
                chains_ns[i] = later(chains_ns[i], chains_ns[needed.before[k]]);
        }
        chains_ns[i] += works_ns[i];
        most_ns = later(most_ns, chains_ns[i]);
    }
    needed_free(&needed);
    return most_ns;
}

int64_t chain_ns(const struct plan *plan, const struct timeline *timeline)
{
    struct arena arena = {0};
    int64_t *works_ns = arena_zeros(&arena, plan->op_count, sizeof *works_ns);
    for (uint32_t i = 0; i < plan->op_count && works_ns != NULL; i++) {
        const uint32_t index = plan->recorded->ops[i].span;
        if (op_on_device(plan->ops[i].kind) && index < timeline->span_count)
            works_ns[i] = timeline->spans[index].end_ns - timeline->spans[index].start_ns;
    }
    const int64_t most_ns = works_ns != NULL ? longest_ns(plan, works_ns, &arena) : 0;
    arena_free(&arena);
    return most_ns;
}

int64_t chain_least_ns(const struct plan *plan, const struct machine *machine)
{
    struct arena arena = {0};
    int64_t *works_ns = arena_zeros(&arena, plan->op_count, sizeof *works_ns);
    int64_t *streams_ns = arena_zeros(&arena, plan->streams, sizeof *streams_ns), most_ns = 0;
    for (uint32_t i = 0; i < plan->op_count && !arena.full; i++) {
        const struct op *op = &plan->ops[i];
        if (op_work_is_seen(op->kind))
            works_ns[i] = plan->recorded->ops[i].work_ns;
        else if (op_is_copy(op->kind))
            works_ns[i] = (int64_t)machine_copy_ns(machine, op->kind == OP_H2D, op_bytes(op));
        if (op->stream < plan->streams)
            most_ns = later(most_ns, streams_ns[op->stream] += works_ns[i]);
    }
    if (!arena.full)
        most_ns = later(most_ns, longest_ns(plan, works_ns, &arena));
    arena_free(&arena);
    return most_ns;
}

int64_t chain_shared_ns(const struct plan *plan, const struct machine *machine)
{
    double sum_ns = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op_recorded *seen = &plan->recorded->ops[i];
        if (plan->ops[i].kind != OP_KERNEL)
            continue;
        const double part = (double)plan->ops[i].kernel.blocks / machine->sms;
        sum_ns += (part < 1 ? part : 1) * (double)seen->work_ns;
    }
    return (int64_t)sum_ns;
}
