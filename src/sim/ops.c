/* ops.c - what an op's start and end mean for others: the ops that hold up more than their own
 * stream, which are those of the legacy default stream (rule 7) and those that synchronise
 * implicitly (rule 10); the host's calls, what they cost and what they wait for (rule 6).
 * plan/barriers.h has the method by which streams wait for others. */
#include "sim/state.h"

#include <stdlib.h>

/* --- ops that others wait for in all streams --- */

/* Returns true if the ops of `stream` belong to domain `index`. */
static bool in_domain(const struct simulation *sim, int index, uint32_t stream)
{
    if (index == DOMAIN_LEGACY)
        return rule_minds_legacy(plan_stream_kind(sim->plan, stream));
    return stream < sim->plan->streams;
}

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
        if (op_is_call(op->kind) && op->kind != OP_SYNC_EVENT)
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
        return error_set(sim->error, STATUS_NO_MEMORY, "no memory for the simulation");
    count_before_calls(sim);
    return STATUS_OK;
}

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

static void sync_op_ended(struct simulation *sim, uint32_t op)
{
    uint32_t stream = op_at(sim, op)->stream, woken = sim->waiters.woken_count;
    for (int d = 0; d < DOMAIN_COUNT; d++) {
        if (in_domain(sim, d, stream))
            barriers_op_ended(&sim->domains[d], op, &sim->waiters);
    }
    simulation_signal(sim, woken);
}

/* Returns true if what the host's own call waits for is done. */
static bool sync_call_is_over(const struct simulation *sim, uint32_t call)
{
    const struct op *op = op_at(sim, call);
    if (!rule_call_synchronises(sim->machine, op))
        return true;
    if (op->kind == OP_SYNC_EVENT) {
        uint32_t record = sim->ops[call].record;
        return record == NONE || sim->records[record].passed_ns != NEVER;
    }
    int domain = domain_of_call(sim, op);
    if (op->kind == OP_SYNC && op->stream < sim->plan->streams && domain == DOMAIN_ALL)
        return sim->lanes[op->stream].head >= sim->issued; /* NONE is above them all */
    return sim->domains[domain].ops_ended >= sim->ops[call].before;
}

/* --- the host's calls --- */

/* Returns true if the call for `op`, which is about to be made, has no code to load. */
static bool is_loaded(struct simulation *sim, const struct op *op)
{
    if (op->kind != OP_KERNEL || !sim->plan->loads_lazily)
        return true;
    const struct op_recorded *seen = plan_seen(sim->plan, op);
    if (seen != NULL) {
        bool loaded = sim->names_loaded[seen->name];
        sim->names_loaded[seen->name] = true;
        return loaded;
    }
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
    if (!sync_call_is_over(sim, call))
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
    if (rule_call_waits(sim->plan, op_at(sim, op)))
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

/* --- the start and the end of an op --- */

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
