/* checks.c - rule 5: how GPUs before compute capability 3.5 find out that a kernel has ended.
 *
 * They check it for the op behind the kernel in its stream. Kernels issued back to back, a run,
 * give their signal together; the check waits for all kernels issued earlier to have started;
 * and it keeps kernels issued later from starting. plan/rules.h has the sources. */
#include "sim/parts.h"

/* The CPU's ops are not issued to the device, so they end no run of kernels. */
void checks_link(struct simulation *sim)
{
    uint32_t run = NONE;
    if (sim->checks == NULL)
        return;
    for (uint32_t i = 0; i < sim->plan->op_count; i++) {
        enum op_kind kind = kind_of(sim, i);
        sim->checks[i].first_waiter = NONE;
        if (op_is_launch(kind)) {
            run = run == NONE ? i : run;
            sim->checks[i].run = run;
            sim->checks[run].run_left++;
        } else {
            sim->checks[i].placed = true; /* the op has no blocks */
            run = kind == OP_CPU ? run : NONE;
        }
    }
}

bool checks_pass(struct simulation *sim, uint32_t op)
{
    const struct op *head = op_at(sim, op);
    struct lane_state *lane = &sim->lanes[head->stream];
    if (op_is_launch(head->kind)) { /* a launch waits for that kernel in the same queue */
        lane->unchecked = NONE;
        return true;
    }
    if (head->kind == OP_WAIT) /* the op behind the wait is checked instead */
        return true;
    while (sim->first_unplaced < sim->plan->op_count && sim->checks[sim->first_unplaced].placed)
        sim->first_unplaced++;
    struct check_state *run = &sim->checks[sim->checks[lane->unchecked].run];
    if (rule_dependent_may_go(op, sim->first_unplaced, run->run_left)) {
        lane->unchecked = NONE;
        return true;
    }
    if (run->run_left > 0)
        waiters_add(&sim->waiters, &run->first_waiter, head->stream);
    else
        waiters_add(&sim->waiters, &sim->checks[sim->first_unplaced].first_waiter,
                    head->stream);
    return false;
}

bool checks_hold_kernel(const struct simulation *sim, uint32_t op)
{
    const struct gpu *gpu = &sim->gpus[0]; /* the only one: simulator_check() sees to that */
    for (uint32_t i = 0; sim->checks != NULL && i < gpu->group_end; i++) {
        const struct block_group *group = &gpu->groups[i];
        if (group->blocks > 0 &&
            rule_check_holds_kernel(sim->ops[group->op].next_in_stream, op))
            return true;
    }
    return false;
}

void checks_kernel_placed(struct simulation *sim, uint32_t op)
{
    if (sim->checks == NULL)
        return;
    sim->checks[op].placed = true;
    /* Streams that wait for a whole run wait at its first kernel: they are woken, too, and look
     * again. */
    simulation_wake(sim, &sim->checks[op].first_waiter);
}

void checks_kernel_ended(struct simulation *sim, uint32_t op)
{
    if (sim->checks == NULL)
        return;
    sim->lanes[stream_of(sim, op)].unchecked = op;
    struct check_state *run = &sim->checks[sim->checks[op].run];
    if (--run->run_left == 0)
        simulation_wake(sim, &run->first_waiter);
}
