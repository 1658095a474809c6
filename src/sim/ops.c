/* ops.c - what an op's start and end mean for others: the ops that hold up more than their own
 * stream, which are those of the legacy default stream (rule 7) and those that synchronise
 * implicitly (rule 10); and what the host's own calls wait for (rule 6). plan/barriers.h has
 * the method by which streams wait for others. */
#include "sim/parts.h"

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
        count += rule_op_synchronises(sim->machine, kind_of(sim, i));
    if (!barriers_init(barriers, count, &sim->arena))
        return false;
    for (uint32_t i = 0; i < sim->plan->op_count; i++) {
        enum op_kind kind = kind_of(sim, i);
        if (rule_op_synchronises(sim->machine, kind))
            barriers_add(barriers, i, ops);
        ops += op_in_stream(kind);
    }
    return true;
}

enum status sync_link(struct simulation *sim)
{
    sim->domains = arena_zeros(&sim->arena, DOMAIN_COUNT, sizeof *sim->domains);
    if (sim->domains == NULL || !find_synchronising(sim, &sim->domains[DOMAIN_ALL]) ||
        !barriers_of_legacy(&sim->domains[DOMAIN_LEGACY], sim->plan, &sim->arena))
        return error_no_memory(sim->error, "for the simulation");
    return STATUS_OK;
}

bool sync_passes(struct simulation *sim, uint32_t op)
{
    uint32_t stream = stream_of(sim, op);
    for (int d = 0; d < DOMAIN_COUNT; d++) {
        uint32_t *list = in_domain(sim, d, stream) ? barriers_held(&sim->domains[d], op) : NULL;
        if (list == NULL)
            continue;
        waiters_add(&sim->waiters, list, stream);
        return false;
    }
    return true;
}

/* Returns true if all ops of domain `index` that come before op `op` in the plan, and that its
 * process issued, have ended. */
static bool domain_has_ended(struct simulation *sim, int index, uint32_t op)
{
    const uint32_t process = process_of(sim, op);
    uint32_t *first = &sim->first_unended[index][process];
    for (; *first < op; ++*first) {
        const struct op *before = op_at(sim, *first);
        if (!sim->ops[*first].ended && op_in_stream(before->kind) &&
            in_domain(sim, index, before->stream) && process_of(sim, *first) == process)
            return false;
    }
    return true;
}

/* Returns the stream whose ops alone a call waits for; the number of streams: several. */
static uint32_t stream_of_call(const struct simulation *sim, uint32_t call)
{
    const struct op *op = op_at(sim, call);
    enum stream_kind kind = plan_stream_kind(sim->plan, op->stream);
    if (op->kind == OP_SYNC_EVENT)
        return sim->records[sim->ops[call].record].stream;
    bool several = op->kind != OP_SYNC || rule_sync_encompasses(kind, STREAM_BLOCKING);
    return several ? sim->plan->streams : op->stream;
}

bool sync_call_is_over(struct simulation *sim, uint32_t call)
{
    const struct op *op = op_at(sim, call);
    if (!rule_call_synchronises(sim->machine, op))
        return true;
    if (op->kind == OP_SYNC_EVENT) {
        uint32_t record = sim->ops[call].record;
        return record == NONE || sim->records[record].passed_ns != NEVER;
    }
    uint32_t stream = stream_of_call(sim, call);
    if (stream < sim->plan->streams)
        return sim->lanes[stream].head > call; /* NONE is above them all */
    bool all = op->kind != OP_SYNC || op->stream == sim->plan->streams;
    return domain_has_ended(sim, all ? DOMAIN_ALL : DOMAIN_LEGACY, call);
}

uint32_t *sync_call_list(struct simulation *sim, uint32_t call)
{
    uint32_t stream = stream_of_call(sim, call);
    return stream < sim->plan->streams ? &sim->lanes[stream].first_caller : &sim->first_caller;
}

/* Wakes all threads that are on the list from *first, and empties it. */
static void wake_callers(struct simulation *sim, uint32_t *first)
{
    while (*first != NONE) {
        struct host_thread *thread = &sim->threads[*first];
        uint32_t woken = *first;
        *first = thread->next_blocked;
        thread->next_blocked = sim->first_woken;
        sim->first_woken = woken;
    }
}

static void sync_op_ended(struct simulation *sim, uint32_t op)
{
    uint32_t stream = stream_of(sim, op), woken = sim->waiters.woken_count;
    for (int d = 0; d < DOMAIN_COUNT; d++) {
        if (in_domain(sim, d, stream))
            barriers_op_ended(&sim->domains[d], op, &sim->waiters);
    }
    simulation_signal(sim, woken);
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
    struct lane_state *lane = &sim->lanes[stream_of(sim, op)];
    sim->ops[op].ended = true;
    sim->ended++;
    lane->head = sim->ops[op].next_in_stream;
    wake_callers(sim, &lane->first_caller);
    if (op == sim->first_unended[DOMAIN_ALL][lane->process] ||
        op == sim->first_unended[DOMAIN_LEGACY][lane->process])
        wake_callers(sim, &sim->first_caller);
    if (sim->domains != NULL)
        sync_op_ended(sim, op);
}

enum status simulation_end_op(struct simulation *sim, uint32_t op)
{
    const struct kind_facts *facts = facts_of(sim, op);
    struct lane_state *lane = &sim->lanes[stream_of(sim, op)];
    span_at(sim, op)->end_ns = sim->now;
    simulation_pass_op(sim, op);
    lane->last_kind = facts->engine_kind;
    lane->last_end_ns = sim->now;
    lane->signal_ns = NEVER;
    waiters_note(&sim->waiters, stream_of(sim, op));
    if (facts->is_launch)
        checks_kernel_ended(sim, op);
    if (sim->hooks.on_end == NULL)
        return STATUS_OK;
    return sim->hooks.on_end(sim->hooks.context, op_at(sim, op), sim->error);
}
