/* sync.c - ops that hold up more than their own stream: those of the legacy default stream
 * (rule 7), those that synchronise implicitly (rule 10); and the calls in which the host waits
 * (rule 6).
 *
 * A barrier waits for all ops that were issued before it to the streams of its domain, and all
 * that come to them later wait for it. As each waits for those before it, barriers end in the
 * order of issue, and an op only has to wait for the last before it, of whose end it is told
 * once. So the cost is log n for an op. Every wait is for something issued earlier: there is no
 * deadlock. */
#include "sim/sync.h"

#include <inttypes.h>
#include <stdlib.h>

/* Returns true if the ops of `stream` belong to domain `index`. */
static bool in_domain(const struct simulation *sim, int index, uint32_t stream)
{
    if (index == DOMAIN_LEGACY)
        return rule_minds_legacy(plan_stream_kind(sim->plan, stream));
    return stream < sim->plan->streams;
}

/* Returns true if all ops of domain `index` issued before `op` come before it, and all issued
 * later behind it. */
static bool is_barrier(const struct simulation *sim, int index, const struct op *op)
{
    if (!op_in_stream(op->kind))
        return false;
    if (index == DOMAIN_LEGACY)
        return plan_stream_kind(sim->plan, op->stream) == STREAM_LEGACY;
    return rule_op_synchronises(sim->machine, op->kind);
}

/* --- set-up --- */

static enum status take_barriers(struct simulation *sim, int index)
{
    struct domain *domain = &sim->domains[index];
    domain->first_waiter = NONE;
    for (uint32_t i = 0; i < sim->plan->op_count; i++)
        domain->count += is_barrier(sim, index, op_at(sim, i));
    domain->barriers = calloc(domain->count + (size_t)1, sizeof *domain->barriers);
    if (domain->barriers == NULL)
        return error_set(sim->error, STATUS_FAILED, "no memory to simulate %" PRIu32 " ops",
                         sim->plan->op_count);
    return STATUS_OK;
}

/* Returns the domain whose ops a call waits for. A sync of one stream other than the legacy
 * default stream looks at that stream alone, whatever the domain. */
static int domain_of_call(const struct simulation *sim, const struct op *call)
{
    enum stream_kind kind = plan_stream_kind(sim->plan, call->stream);
    bool legacy = call->kind == OP_SYNC && rule_sync_encompasses(kind, STREAM_BLOCKING);
    return legacy ? DOMAIN_LEGACY : DOMAIN_ALL;
}

/* Counts the ops before every barrier and every call. */
static void find_barriers(struct simulation *sim)
{
    uint32_t ops[DOMAIN_COUNT] = {0}, barriers[DOMAIN_COUNT] = {0};
    for (uint32_t i = 0; i < sim->plan->op_count; i++) {
        const struct op *op = op_at(sim, i);
        if (op_is_call(op->kind))
            sim->ops[i].before = ops[domain_of_call(sim, op)];
        if (!op_in_stream(op->kind))
            continue;
        for (int d = 0; d < DOMAIN_COUNT; d++) {
            struct barrier barrier = {i, ops[d], NONE};
            if (is_barrier(sim, d, op))
                sim->domains[d].barriers[barriers[d]++] = barrier;
            ops[d] += in_domain(sim, d, op->stream);
        }
    }
}

enum status sync_link(struct simulation *sim)
{
    sim->domains = calloc(DOMAIN_COUNT, sizeof *sim->domains);
    if (sim->domains == NULL)
        return error_set(sim->error, STATUS_FAILED, "no memory for the simulation");
    enum status status = take_barriers(sim, DOMAIN_ALL);
    if (status == STATUS_OK)
        status = take_barriers(sim, DOMAIN_LEGACY);
    if (status == STATUS_OK)
        find_barriers(sim);
    return status;
}

/* --- barriers --- */

/* Returns the barrier that was issued last before `op`, if it has not ended; else NULL. */
static struct barrier *barrier_before(const struct domain *domain, uint32_t op)
{
    uint32_t low = domain->ended, high = domain->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (domain->barriers[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    return low > domain->ended ? &domain->barriers[low - 1] : NULL;
}

/* Returns the list in which the stream of `op` has to wait for this domain; NULL if `op` may
 * go. */
static uint32_t *held_in(struct domain *domain, uint32_t op)
{
    struct barrier *next = &domain->barriers[domain->ended];
    if (domain->ended == domain->count || next->op > op)
        return NULL;
    if (next->op == op)
        return domain->ops_ended < next->before ? &domain->first_waiter : NULL;
    return &barrier_before(domain, op)->first_waiter;
}

bool sync_passes(struct simulation *sim, uint32_t op)
{
    uint32_t stream = op_at(sim, op)->stream;
    for (int d = 0; d < DOMAIN_COUNT; d++) {
        uint32_t *list = in_domain(sim, d, stream) ? held_in(&sim->domains[d], op) : NULL;
        if (list == NULL)
            continue;
        waiters_add(sim, list, stream);
        return false;
    }
    return true;
}

static void domain_op_ended(struct simulation *sim, struct domain *domain, uint32_t op)
{
    struct barrier *next = &domain->barriers[domain->ended];
    domain->ops_ended++;
    if (domain->ended < domain->count && next->op == op) {
        domain->ended++;
        waiters_wake(sim, &next->first_waiter);
        next++;
    }
    if (domain->first_waiter != NONE && domain->ops_ended == next->before)
        waiters_wake(sim, &domain->first_waiter);
}

void sync_op_ended(struct simulation *sim, uint32_t op)
{
    uint32_t stream = op_at(sim, op)->stream;
    for (int d = 0; d < DOMAIN_COUNT; d++) {
        if (in_domain(sim, d, stream))
            domain_op_ended(sim, &sim->domains[d], op);
    }
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
