/* ops.c - the start and the end of an op. */
#include "sim/ops.h"

#include "sim/checks.h"
#include "sim/sync.h"

enum status simulation_start_op(struct simulation *sim, uint32_t op)
{
    span_at(sim, op)->start_ns = sim->now;
    if (sim->hooks.on_start == NULL)
        return STATUS_OK;
    return sim->hooks.on_start(sim->hooks.context, op_at(sim, op), sim->error);
}

void simulation_pass_op(struct simulation *sim, uint32_t op)
{
    sim->ops[op].ended = true;
    sim->lanes[op_at(sim, op)->stream].head = sim->ops[op].next_in_stream;
    if (sim->domains != NULL)
        sync_op_ended(sim, op);
}

enum status simulation_end_op(struct simulation *sim, uint32_t op)
{
    const struct op *ended = op_at(sim, op);
    struct lane_state *lane = &sim->lanes[ended->stream];
    span_at(sim, op)->end_ns = sim->now;
    simulation_pass_op(sim, op);
    lane->last_kind = engine_kind(ended->kind);
    lane->last_end_ns = sim->now;
    lane->signal_ns = NEVER;
    waiters_note(&sim->waiters, ended->stream);
    if (op_is_launch(ended->kind))
        checks_kernel_ended(sim, op);
    if (sim->hooks.on_end == NULL)
        return STATUS_OK;
    return sim->hooks.on_end(sim->hooks.context, ended, sim->error);
}
