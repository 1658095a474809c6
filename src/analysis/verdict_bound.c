/* verdict_bound.c - the work that bounds a run: the parts of the sums in limit.c. */
#include "analysis/verdict_parts.h"

#include "analysis/analysis.h"

#include <math.h>

/* --- shares of the work --- */

static double kernel_work_ns(const struct verdict_case *facts, const struct op *op)
{
    const struct kernel *kernel = facts->plan->chain[op->kernel.link];
    struct kernel_cost cost =
        machine_kernel_cost(facts->machine, kernel, &facts->plan->params, op->kernel.count);
    return fmax(cost.memory_ns, cost.arithmetic_ns);
}

static double copy_work_ns(const struct verdict_bound *bound, const struct span *span)
{
    const struct machine *machine = bound->facts->machine;
    bool in = span->kind == OP_H2D, copies = bound->limit.cause == LIMIT_COPIES;
    double alone = 1e9 / (in ? machine->h2d_bytes_per_s : machine->d2h_bytes_per_s);
    bool edge =
        in ? span->tile == bound->first_tile || span->tile < 0 : span->tile == bound->last_tile;
    double rate = edge ? alone : !copies ? 0 : in ? bound->in_ns : bound->out_ns;
    return rate * (double)span->bytes;
}

double verdict_bound_work(const void *context, const struct span *span)
{
    const struct verdict_bound *bound = context;
    const struct verdict_case *facts = bound->facts;
    if (facts->plan == NULL)
        return span->engine == bound->engine ? (double)(span->end_ns - span->start_ns) : 0;
    const struct op *op = &facts->plan->ops[span->op];
    bool copies = bound->limit.cause == LIMIT_COPIES;
    bool edge = span->tile == bound->first_tile || span->tile == bound->last_tile;
    if (bound->limit.cause == LIMIT_CPU)
        return span->kind == OP_CPU ? (double)op->cpu.count : 0;
    if (span->kind == OP_H2D || span->kind == OP_D2H)
        return copy_work_ns(bound, span);
    if (span->kind != OP_KERNEL)
        return 0;
    if (bound->limit.cause == LIMIT_LINK)
        return (double)span->bytes;
    return !copies || edge ? kernel_work_ns(facts, op) : 0;
}

/* --- what binds --- */

/* Finds which direction binds, or that both do by the link that they share. */
static void find_rates(struct verdict_bound *bound)
{
    const struct machine *machine = bound->facts->machine;
    const struct timeline *timeline = bound->facts->timeline;
    double in = 0, out = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        in += span->kind == OP_H2D ? (double)span->bytes : 0;
        out += span->kind == OP_D2H ? (double)span->bytes : 0;
    }
    double in_s = in / machine->h2d_bytes_per_s, out_s = out / machine->d2h_bytes_per_s;
    double both_s = (in + out) / machine->joint_bytes_per_s;
    bool joint = both_s >= fmax(in_s, out_s) && machine->copy_engines > 1;
    bool turns = machine->copy_engines == 1;
    bound->in_ns = joint                    ? 1e9 / machine->joint_bytes_per_s
                   : turns || in_s >= out_s ? 1e9 / machine->h2d_bytes_per_s
                                            : 0;
    bound->out_ns = joint                   ? 1e9 / machine->joint_bytes_per_s
                    : turns || in_s < out_s ? 1e9 / machine->d2h_bytes_per_s
                                            : 0;
}

static void find_edges(struct verdict_bound *bound)
{
    const struct timeline *timeline = bound->facts->timeline;
    const struct span *first = NULL, *last = NULL;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->tile < 0 || !op_on_device((enum op_kind)span->kind))
            continue;
        if (first == NULL || span->start_ns < first->start_ns)
            first = span;
        if (last == NULL || span->end_ns > last->end_ns)
            last = span;
    }
    bound->first_tile = first != NULL ? first->tile : -1;
    bound->last_tile = last != NULL ? last->tile : -1;
}

static enum status bound_of_trace(struct verdict_bound *bound, struct error *error)
{
    static const enum limit_cause causes[ENGINE_WORKING] = {
        [ENGINE_H2D] = LIMIT_COPIES,
        [ENGINE_COMPUTE] = LIMIT_COMPUTE,
        [ENGINE_D2H] = LIMIT_COPIES,
        [ENGINE_CPU] = LIMIT_CPU,
    };
    struct analysis analysis;
    enum status status = analyse(bound->facts->timeline, &analysis, error);
    for (int i = 0; i < ENGINE_WORKING && status == STATUS_OK; i++) {
        if (analysis.engines[i].busy_ns <= bound->limit.ns)
            continue;
        bound->limit.ns = analysis.engines[i].busy_ns;
        bound->limit.cause = causes[i];
        bound->engine = (enum engine)i;
    }
    return status;
}

enum status verdict_bound_find(const struct verdict_case *facts, struct verdict_bound *bound,
                               struct error *error)
{
    *bound = (struct verdict_bound){.facts = facts, .engine = ENGINE_NONE};
    if (facts->plan == NULL)
        return bound_of_trace(bound, error);
    bound->limit = *facts->limit;
    find_rates(bound);
    find_edges(bound);
    return STATUS_OK;
}
