/* host.c - the host's calls: what they cost, and what they wait for. */
#include "sim/host.h"

#include "sim/sync.h"

/* Returns true if the call for `op`, which is about to be made, has no code to load. */
static bool is_loaded(struct simulation *sim, const struct op *op)
{
    if (op->kind != OP_KERNEL || !sim->plan->loads_lazily)
        return true;
    const struct kernel *kernel = sim->plan->chain[op->kernel.link];
    for (uint32_t i = 0; i < sim->kernels_loaded; i++) {
        if (sim->loaded[i] == kernel)
            return true;
    }
    sim->loaded[sim->kernels_loaded++] = kernel;
    return false;
}

enum status host_continue_call(struct simulation *sim)
{
    uint32_t call = sim->own_call;
    if (call == NONE || !sync_call_is_over(sim, call))
        return STATUS_OK;
    sim->own_call = NONE;
    return simulation_post(sim, rule_call_ns(sim->machine, op_at(sim, call)), EVENT_ISSUED,
                           call, 0);
}

enum status host_begin_call(struct simulation *sim)
{
    uint32_t next = sim->issued;
    sim->host_blocked = false;
    if (next == sim->plan->op_count)
        return STATUS_OK;
    const struct op *op = op_at(sim, next);
    if (op_is_call(op->kind)) {
        span_at(sim, next)->start_ns = sim->call_ended_ns;
        sim->own_call = next;
        return host_continue_call(sim);
    }
    int queue = sim->ops[next].queue;
    if (queue >= 0 && sim->hardware_queues[queue].length >= sim->machine->queue_depth) {
        sim->host_blocked = true;
        return STATUS_OK;
    }
    int64_t call_ns =
        rule_issue_ns(sim->machine, op->kind) + rule_load_ns(sim->machine, is_loaded(sim, op));
    return simulation_post(sim, call_ns, EVENT_ISSUED, next, 0);
}

enum status host_return_call(struct simulation *sim, uint32_t op)
{
    if (sim->called != op)
        return STATUS_OK;
    sim->called = NONE;
    sim->call_ended_ns = sim->now;
    return host_begin_call(sim);
}

void host_end_call(struct simulation *sim, uint32_t op)
{
    enum op_kind kind = op_at(sim, op)->kind;
    if (rule_call_waits(sim->plan, kind))
        sim->called = op;
    sim->timeline->issue_ns[op] = sim->call_ended_ns;
    if (kind != OP_RECORD)
        span_at(sim, op)->issue_ns = sim->call_ended_ns;
    sim->call_ended_ns = sim->now;
    sim->issued++;
    if (op_is_call(kind)) {
        span_at(sim, op)->end_ns = sim->now;
        sim->ops[op].ended = true;
        return;
    }
    int queue = sim->ops[op].queue;
    if (queue >= 0 && sim->hardware_queues[queue].length++ == 0)
        sim->waiting[(uint32_t)queue / sim->queues]++;
}
