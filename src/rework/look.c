/* look.c - what a recorded plan is like: what the search for changes goes by. */
#include "analysis/analysis.h"
#include "rework/parts.h"
#include "sim/simulator.h"

#include <stdlib.h>

enum {
    MADE_TIMES = 3,      /* what is made before as many ops, and still in the second half of
                            all, is made in a loop */
    TILE_COPIES = 8,     /* a tile that is copied more often is a loop */
    SMALL_OP_NS = 30000, /* ops that take longer are not small */
};

/* Kernels whose blocks are, on average, on fewer of the SMs while any kernel runs leave room:
 * 128 blocks, say, are as many as a grid of a power of two may have on an H200's 132 SMs. */
static const double ROOM_PART = 0.9;

/* Returns the time that an op is at work, as far as the plan tells. */
static double work_of(const struct rework_base *base, const struct op *op)
{
    return op_work_is_seen(op->kind)
               ? (double)base->plan->recorded->ops[op->id].work_ns
               : machine_copy_ns(base->machine, op->kind == OP_H2D, op_bytes(op));
}

/* The work of one kind of op in the legacy default stream, and in other streams. */
struct share {
    double legacy_ns, other_ns;
    uint32_t legacy, others;
};

/* Returns true if the legacy default stream has ops of that kind that are no smaller than those
 * of other streams: they do not do something small beside those. */
static bool is_like_others(const struct share *share)
{
    return share->legacy > 0 && (share->others == 0 || 2 * share->legacy_ns * share->others >=
                                                           share->other_ns * share->legacy);
}

static void look_at_ops(const struct rework_base *base, struct rework_looks *looks, bool *used)
{
    const struct plan *plan = base->plan;
    struct share shares[OP_KIND_COUNT] = {0};
    double work_ns = 0, kernels_ns = 0, full_ns = 0;
    uint32_t ops = 0, kernels = 0, legacies = 0, copies = 0;
    uint32_t made[CALL_MADE_KINDS] = {0};
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        const struct op_recorded *seen = &plan->recorded->ops[i];
        looks->repeats |= seen->repeats;
        looks->ties_events |= seen->timed;
        looks->slow_peers |=
            !plan->recorded->facts.reaches_peers && rework_peer_ns(base->machine, op, seen) > 0;
        for (int k = 0; k < CALL_MADE_KINDS; k++)
            looks->makes[k] |= seen->made_ns[k] > 0 && ++made[k] >= MADE_TIMES &&
                               2 * (uint64_t)i >= plan->op_count;
        if (!op_on_device(op->kind) || op->stream >= plan->streams)
            continue;
        bool legacy = plan_stream_kind(plan, op->stream) == STREAM_LEGACY;
        struct share *share = &shares[op->kind];
        looks->streams += !used[op->stream];
        used[op->stream] = true;
        ops++;
        kernels += op->kind == OP_KERNEL;
        kernels_ns += op->kind == OP_KERNEL ? work_of(base, op) : 0;
        full_ns += op->kind == OP_KERNEL ? seen->fill * work_of(base, op) : 0;
        copies += op_is_copy(op->kind);
        work_ns += work_of(base, op);
        legacies += legacy && op->kind != OP_MEMSET;
        *(legacy ? &share->legacy_ns : &share->other_ns) += work_of(base, op);
        *(legacy ? &share->legacy : &share->others) += 1;
    }
    bool like_others = is_like_others(&shares[OP_KERNEL]) || is_like_others(&shares[OP_H2D]) ||
                       is_like_others(&shares[OP_D2H]);
    looks->ties_events &= looks->streams > base->machine->queues;
    looks->legacy_works = like_others && legacies > ops / 8;
    looks->loops = copies / TILE_COPIES > base->tiles;
    looks->tiled = 3 * (uint64_t)copies >= ops;
    looks->chained = 2 * kernels > 3 * base->tiles && 2 * full_ns > kernels_ns;
    looks->small = ops > 0 && work_ns < (double)SMALL_OP_NS * ops;
}

/* Sets whether kernels mostly have so few blocks that SMs have none while they run, on average.
 * A copy within the device is on all. Streams that share a queue may have kernels that would
 * run side by side, and so are not asked. */
static enum status look_at_blocks(const struct rework_base *base, struct rework_looks *looks,
                                  struct error *error)
{
    const struct plan *plan = base->plan;
    double sms_ns = 0, few_ns = 0, all_ns = 0, sms = base->machine->sms;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (!op_is_launch(op->kind))
            continue;
        const double work_ns = work_of(base, op);
        const bool few = rework_has_few_blocks(base->machine, op, &plan->recorded->ops[i]);
        sms_ns += work_ns * (few ? op->kernel.blocks : sms);
        few_ns += few ? work_ns : 0;
        all_ns += work_ns;
    }
    if (2 * few_ns <= all_ns || looks->streams > base->machine->queues)
        return STATUS_OK;
    struct timeline timeline = {0};
    struct analysis analysis;
    int64_t issued_ns;
    enum status status =
        simulator_run(base->machine, 0, plan, NULL, &timeline, &issued_ns, error);
    if (status == STATUS_OK)
        status = analyse(&timeline, &analysis, error);
    if (status == STATUS_OK)
        looks->few_blocks =
            sms_ns < ROOM_PART * sms * (double)analysis.engines[ENGINE_COMPUTE].busy_ns;
    timeline_free(&timeline);
    return status;
}

enum status rework_look(const struct rework_base *base, struct rework_looks *looks,
                        struct error *error)
{
    bool *used = calloc(base->plan->streams + (size_t)1, sizeof *used);
    *looks = (struct rework_looks){0};
    if (used == NULL)
        return error_no_memory(error, "to try fixes");
    look_at_ops(base, looks, used);
    free(used);
    return look_at_blocks(base, looks, error);
}
