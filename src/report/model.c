/* model.c - what predicts a run: the simulator, or a formula over the run's parts.
 *
 * The formulas' authors time those parts on the device, each alone. Here they are timed on the
 * simulated machine, so that the formulas know neither more nor less of it than the simulator:
 * only how the parts go together is their own. */
#include "report/model.h"

#include "plan/rules.h"
#include "plan/timeline.h"
#include "sim/simulator.h"

#include <math.h>
#include <stdlib.h>

/* What is timed: some of a plan's ops, without the rest of it. */
struct alone {
    const struct machine *machine;
    const struct plan *plan;
    struct op *ops; /* room for as many as the plan has */
    uint32_t count;
};

static void add_op(struct alone *alone, const struct op *op)
{
    struct op *added = &alone->ops[alone->count];
    *added = *op;
    added->id = alone->count++;
}

/* Simulates the first `count` of the ops that were added. */
static enum status simulate_alone(const struct alone *alone, uint32_t count,
                                  struct timeline *timeline, struct error *error)
{
    struct plan plan = *alone->plan;
    int64_t issued_ns;
    plan.ops = alone->ops;
    plan.op_count = count;
    plan.events = 0;
    plan.priorities = NULL;
    plan.stream_kinds = NULL;
    return simulator_run(alone->machine, 0, &plan, NULL, timeline, &issued_ns, error);
}

static enum status time_alone(const struct alone *alone, uint32_t count, double *ns,
                              struct error *error)
{
    struct timeline timeline;
    timeline_init(&timeline);
    enum status status = simulate_alone(alone, count, &timeline, error);
    if (status == STATUS_OK)
        *ns = (double)timeline_time_ns(&timeline);
    timeline_free(&timeline);
    return status;
}

/* --- copies --- */

/* Times the copies of a direction as [Werkhoven]'s benchmarks do: what a series of copies takes
 * beyond its bytes is L + o for the first, its latency and the host's call, and g for each
 * further one, the gap that the engine leaves between two. */
static enum status time_copies(struct alone *alone, enum op_kind kind,
                               struct model_copies *copies, struct error *error)
{
    uint64_t bytes = 0;
    uint32_t of_first = 0;
    alone->count = 0;
    *copies = (struct model_copies){0};
    for (uint32_t i = 0; i < alone->plan->op_count; i++) {
        const struct op *op = &alone->plan->ops[i];
        if (op->kind != kind)
            continue;
        add_op(alone, op);
        bytes += op->copy.host.bytes;
        of_first += op->tile == alone->ops[0].tile;
    }
    if (alone->count == 0)
        return STATUS_OK;
    enum status status = time_alone(alone, alone->count, &copies->all_ns, error);
    if (status == STATUS_OK)
        status = time_alone(alone, of_first, &copies->chunk_ns, error);
    alone->ops[0].copy.host.bytes = alone->ops[0].copy.device.bytes = bytes;
    if (status == STATUS_OK)
        status = time_alone(alone, 1, &copies->whole_ns, error);
    return status;
}

/* --- kernels --- */

/* From its first block's start to its last one's end. */
static enum status time_kernel(struct alone *alone, const struct op *op, double *ns,
                               struct error *error)
{
    struct timeline timeline;
    timeline_init(&timeline);
    alone->count = 0;
    add_op(alone, op);
    enum status status = simulate_alone(alone, 1, &timeline, error);
    if (status == STATUS_OK)
        *ns = (double)(timeline.spans[0].end_ns - timeline.spans[0].start_ns);
    timeline_free(&timeline);
    return status;
}

/* Tiles differ by an element at most: a kernel takes as long as its latest launch mostly. */
static enum status time_kernels(struct alone *alone, double *kernels_ns, struct error *error)
{
    struct {
        uint64_t count;
        double ns;
    } known[CHAIN_MAX] = {0};
    enum status status = STATUS_OK;
    *kernels_ns = 0;
    for (uint32_t i = 0; i < alone->plan->op_count && status == STATUS_OK; i++) {
        const struct op *op = &alone->plan->ops[i];
        if (op->kind != OP_KERNEL)
            continue;
        uint32_t link = op->kernel.link;
        if (known[link].count != op->kernel.count)
            status = time_kernel(alone, op, &known[link].ns, error);
        known[link].count = op->kernel.count;
        *kernels_ns += known[link].ns;
    }
    return status;
}

/* --- all of it --- */

enum status model_parts_of(const struct machine *machine, const struct plan *plan,
                           struct model_parts *parts, struct error *error)
{
    struct alone alone = {.machine = machine, .plan = plan};
    struct model_parts found = {
        .chunks = plan->tiles - plan->cpu_tiles,
        .copy_engines = machine->copy_engines,
        .synchronises = rule_checks_dependencies(machine),
    };
    alone.ops = malloc((plan->op_count + (size_t)1) * sizeof *alone.ops);
    if (alone.ops == NULL)
        return error_set(error, STATUS_FAILED, "no memory to predict a plan of %u ops",
                         plan->op_count);
    enum status status = time_copies(&alone, OP_H2D, &found.in, error);
    if (status == STATUS_OK)
        status = time_copies(&alone, OP_D2H, &found.out, error);
    if (status == STATUS_OK)
        status = time_kernels(&alone, &found.kernels_ns, error);
    free(alone.ops);
    if (status != STATUS_OK)
        return status;
    double dividing =
        found.in.all_ns - found.in.whole_ns + found.out.all_ns - found.out.whole_ns;
    uint64_t launches = kernel_chain_launches(plan->chain, plan->chain_length, &plan->params);
    if (found.chunks > 0)
        found.overhead_ns =
            dividing / found.chunks + (double)launches * (double)machine->kernel_latency_ns;
    *parts = found;
    return STATUS_OK;
}

static enum status simulated_span_ns(const struct machine *machine, const struct plan *plan,
                                     int64_t *span_ns, struct error *error)
{
    struct timeline timeline;
    int64_t issued_ns;
    timeline_init(&timeline);
    enum status status = simulator_run(machine, 0, plan, NULL, &timeline, &issued_ns, error);
    if (status == STATUS_OK)
        *span_ns = timeline_time_ns(&timeline);
    timeline_free(&timeline);
    return status;
}

enum status model_span_ns(enum model model, const struct machine *machine,
                          const struct plan *plan, const struct settings *settings,
                          int64_t *span_ns, struct error *error)
{
    if (model == MODEL_SIM)
        return simulated_span_ns(machine, plan, span_ns, error);
    struct model_parts parts;
    enum status status = model_parts_of(machine, plan, &parts, error);
    if (status != STATUS_OK)
        return status;
    double ns = model == MODEL_WERKHOVEN ? model_werkhoven_ns(&parts, settings->ways)
                                         : model_gomez_luna_ns(&parts, settings->ways);
    *span_ns = llround(ns);
    return STATUS_OK;
}
