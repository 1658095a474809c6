/* interval.c - simulates a run on machines that are a little slower and faster. */
#include "sim/interval.h"

#include "machine/spread.h"
#include "sim/simulator.h"

#include <math.h>

static const double NINE_OF_TEN = 1.645; /* standard deviations of a normal distribution */

/* By how much the simulator's rules are off where a group of figures decides, beside the
 * figures themselves; the last is what none of them tells, and there a run also takes some
 * microseconds more or less. With plan_rest() fitted to 1300 settings that were measured on
 * seven starts of H200s and simulated by each start's own file, as errors with Student's
 * distribution of four degrees of freedom, and widened by 15 %, so that 85 and 84 of 100
 * of them lie inside, usual ones and those at the edges:
 * bench/results/h200-2026-11-30-usual-1.csv.xz, -edges-1, -drawn-anew-usual-1 and so on, to
 * -last-edges-1. Left out were mapped memory with callbacks or carries by the host, which this
 * program delayed then. */
static const double rules_off[OUTLOOK_GROUPS] = {
    [SPREAD_COPIES] = 0.005,    [SPREAD_PAGEABLE] = 0.14, [SPREAD_MANAGED] = 0.15,
    [SPREAD_MAPPED] = 0.09,     [SPREAD_KERNELS] = 0.036, [SPREAD_DELAYS] = 0.13,
    [SPREAD_CALLS] = 0.15,      [SPREAD_CALLBACKS] = 0.2, [SPREAD_CPU] = 0.12,
    [SPREAD_ALLOCATIONS] = 0.8, [OUTLOOK_REST] = 0.004,
};
static const double REST_NS = 18000;

/* A plan is off by so much more with several streams, with callbacks, with blocks so few that
 * memory has to wait for them, and where the CPU packs, as no single figure tells these. */
static const double STREAMS_OFF = 0.0155, CALLBACKS_OFF = 0.032, FEW_OFF = 0.04,
                    PACKS_OFF = 0.16;

void interval_widen(struct outlook *outlook, double part)
{
    const double time_ns = (double)outlook->time_ns;
    const double off =
        hypot((double)(outlook->slower_ns[OUTLOOK_REST] - outlook->time_ns), part * time_ns);
    outlook->slower_ns[OUTLOOK_REST] = machine_round_ns(time_ns + off);
    outlook->faster_ns[OUTLOOK_REST] = machine_round_ns(fmax(0, time_ns - off));
}

enum status interval_look(const struct machine *machine, int64_t time_ns, interval_time *time,
                          const void *context, struct outlook *outlook, struct error *error)
{
    enum status status = STATUS_OK;
    struct outlook look = {.time_ns = time_ns};
    look.slower_ns[OUTLOOK_REST] = time_ns;
    interval_widen(&look, hypot(rules_off[OUTLOOK_REST], REST_NS / (double)later(1, time_ns)));
    for (int group = 0; group < SPREAD_COUNT && status == STATUS_OK; group++) {
        const double times = 1 + hypot(machine->spread[group], rules_off[group]);
        struct machine moved = *machine;
        look.slower_ns[group] = look.faster_ns[group] = time_ns;
        machine_slow(&moved, (enum machine_spread)group, times);
        status = time(context, &moved, &look.slower_ns[group], error);
        if (status != STATUS_OK || look.slower_ns[group] == time_ns)
            continue;
        moved = *machine;
        machine_slow(&moved, (enum machine_spread)group, 1 / times);
        status = time(context, &moved, &look.faster_ns[group], error);
    }
    if (status == STATUS_OK)
        *outlook = look;
    return status;
}

/* A plan, and the queues that it is simulated with. */
struct planned {
    const struct plan *plan;
    uint32_t queues;
};

static enum status plan_time(const void *context, const struct machine *machine,
                             int64_t *time_ns, struct error *error)
{
    const struct planned *run = context;
    return simulator_time(machine, run->queues, run->plan, time_ns, error);
}

/* Returns true for a launch whose blocks go over their part again and again, though more of
 * them would fit: a run asked for so few. */
static bool has_few_blocks(const struct machine *machine, const struct plan *plan,
                           const struct op *op)
{
    const uint64_t at_once = (uint64_t)op->kernel.blocks * KERNEL_THREADS;
    return op->kernel.blocks < machine_resident_blocks(machine) / 2 &&
           op->kernel.count > at_once * plan->chain[op->kernel.link]->per_thread;
}

/* Returns what the rules are off by for what a plan has, as a part of its time. */
static double plan_rest(const struct machine *machine, const struct plan *plan)
{
    bool calls_back = false, few = false;
    if (plan->recorded != NULL)
        return 0;
    for (uint32_t i = 0; i < plan->op_count && !(calls_back && few); i++) {
        const struct op *op = &plan->ops[i];
        calls_back |= op->kind == OP_CALLBACK;
        few |= op->kind == OP_KERNEL && has_few_blocks(machine, plan, op);
    }
    return hypot(hypot(plan->streams > 1 ? STREAMS_OFF : 0, calls_back ? CALLBACKS_OFF : 0),
                 hypot(few ? FEW_OFF : 0, plan->packs ? PACKS_OFF : 0));
}

enum status interval_look_plan(const struct machine *machine, uint32_t queues,
                               const struct plan *plan, int64_t time_ns,
                               struct outlook *outlook, struct error *error)
{
    enum { OPS_MOST = 200000 }; /* some 0.3 s */
    const struct planned run = {plan, queues};
    if (plan->op_count > OPS_MOST)
        return error_set(error, STATUS_FAILED, "the plan has too many ops for an interval");
    enum status status = interval_look(machine, time_ns, plan_time, &run, outlook, error);
    if (status == STATUS_OK)
        interval_widen(outlook, plan_rest(machine, plan));
    return status;
}

/* The squares of what makes a figure less and more. */
struct squares {
    double less, more;
};

/* Adds what the figure is with a group slower and faster: the farther one each way. */
static void add_group(struct squares *squares, int64_t figure, int64_t slower, int64_t faster)
{
    const double least = (double)(earlier(figure, earlier(slower, faster)) - figure);
    const double most = (double)(later(figure, later(slower, faster)) - figure);
    squares->less += least * least;
    squares->more += most * most;
}

static struct time_range around(int64_t figure, const struct squares *squares)
{
    return (struct time_range){
        figure - machine_round_ns(NINE_OF_TEN * sqrt(squares->less)),
        figure + machine_round_ns(NINE_OF_TEN * sqrt(squares->more)),
    };
}

struct time_range interval_of(const struct outlook *outlook)
{
    struct squares squares = {0};
    for (int i = 0; i < OUTLOOK_GROUPS; i++)
        add_group(&squares, outlook->time_ns, outlook->slower_ns[i], outlook->faster_ns[i]);
    struct time_range interval = around(outlook->time_ns, &squares);
    interval.low_ns = later(0, interval.low_ns);
    return interval;
}

struct time_range interval_gain(const struct outlook *before, const struct outlook *after)
{
    struct squares squares = {0};
    for (int i = 0; i < SPREAD_COUNT; i++)
        add_group(&squares, before->time_ns - after->time_ns,
                  before->slower_ns[i] - after->slower_ns[i],
                  before->faster_ns[i] - after->faster_ns[i]);
    for (int i = 0; i < 2; i++) {
        const struct outlook *one = i == 0 ? before : after;
        add_group(&squares, one->time_ns, one->slower_ns[OUTLOOK_REST],
                  one->faster_ns[OUTLOOK_REST]);
    }
    return around(before->time_ns - after->time_ns, &squares);
}
