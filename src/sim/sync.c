/* sync.c - ops that hold up more than their own stream: those of the legacy default stream
 * (rule 7) and those that synchronise implicitly (rule 10); and the calls in which the host
 * waits (rule 6). plan/barriers.h has the method. */
#include "sim/sync.h"

#include "plan/legacy.h"

#include <stdlib.h>

/* Returns true if the ops of `stream` belong to domain `index`. */
static bool in_domain(const struct simulation *sim, int index, uint32_t stream)
{
    if (index == DOMAIN_LEGACY)
        return rule_minds_legacy(plan_stream_kind(sim->plan, stream));
    return stream < sim->plan->streams;
}

/* --- set-up --- */

/* Finds the ops that synchronise all streams. */
static bool find_synchronising(struct simulation *sim, struct barriers *barriers)
{
    uint32_t ops = 0, count = 0;
    for (uint32_t i = 0; i < sim->plan->op_count; i++)
        count += rule_op_synchronises(sim->machine, op_at(sim, i)->kind);
    if (!barriers_init(barriers, count))
        return false;
    for (uint32_t i = 0; i < sim->plan->op_count; i++) {
        enum op_kind kind = op_at(sim, i)->kind;
        if (rule_op_synchronises(sim->machine, kind))
            barriers_add(barriers, i, ops);
        ops += op_in_stream(kind);
    }
    return true;
}

/* Returns the domain whose ops a call waits for. A sync of one stream that is not the legacy
 * default stream looks at that stream alone, whatever the domain. */
static int domain_of_call(const struct simulation *sim, const struct op *call)
{
    enum stream_kind kind = plan_stream_kind(sim->plan, call->stream);
    bool legacy = call->kind == OP_SYNC && rule_sync_encompasses(kind, STREAM_BLOCKING);
    return legacy ? DOMAIN_LEGACY : DOMAIN_ALL;
}

/* Counts the ops before every call that it may wait for. */
static void count_before_calls(struct simulation *sim)
{
    uint32_t ops[DOMAIN_COUNT] = {0};
    for (uint32_t i = 0; i < sim->plan->op_count; i++) {
        const struct op *op = op_at(sim, i);
        if (op_is_call(op->kind))
            sim->ops[i].before = ops[domain_of_call(sim, op)];
        for (int d = 0; op_in_stream(op->kind) && d < DOMAIN_COUNT; d++)
            ops[d] += in_domain(sim, d, op->stream);
    }
}

enum status sync_link(struct simulation *sim)
{
    sim->domains = calloc(DOMAIN_COUNT, sizeof *sim->domains);
    if (sim->domains == NULL || !find_synchronising(sim, &sim->domains[DOMAIN_ALL]) ||
        !barriers_of_legacy(&sim->domains[DOMAIN_LEGACY], sim->plan))
        return error_set(sim->error, STATUS_FAILED, "no memory for the simulation");
    count_before_calls(sim);
    return STATUS_OK;
}

/* --- barriers --- */

bool sync_passes(struct simulation *sim, uint32_t op)
{
    uint32_t stream = op_at(sim, op)->stream;
    for (int d = 0; d < DOMAIN_COUNT; d++) {
        uint32_t *list = in_domain(sim, d, stream) ? barriers_held(&sim->domains[d], op) : NULL;
        if (list == NULL)
            continue;
        waiters_add(&sim->waiters, list, stream);
        return false;
    }
    return true;
}

void sync_op_ended(struct simulation *sim, uint32_t op)
{
    uint32_t stream = op_at(sim, op)->stream, woken = sim->waiters.woken_count;
    for (int d = 0; d < DOMAIN_COUNT; d++) {
        if (in_domain(sim, d, stream))
            barriers_op_ended(&sim->domains[d], op, &sim->waiters);
    }
    simulation_signal(sim, woken);
}

/* --- the host's own calls --- */

bool sync_call_is_over(const struct simulation *sim, uint32_t call)
{
    const struct op *op = op_at(sim, call);
    if (!rule_call_synchronises(sim->machine, op))
        return true;
    int domain = domain_of_call(sim, op);
    if (op->kind == OP_SYNC && op->stream < sim->plan->streams && domain == DOMAIN_ALL)
        return sim->lanes[op->stream].head >= sim->issued; /* NONE is above them all */
    return sim->domains[domain].ops_ended >= sim->ops[call].before;
}
