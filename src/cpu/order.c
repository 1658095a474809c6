/* order.c - other orders than the simulated one in which CUDA may run what was issued.
 *
 * PIPELINE_TRY_ORDER says which: `first`, `last`, or a number from which orders are drawn. What
 * was issued is done when the host waits or asks: the first (or the last, or any) of all
 * streams that may go on then does its next op, and goes on for as long as it may. An op may
 * run when the one before it in its stream has run, the record that it waits for, and what the
 * legacy default stream orders before it. A missing wait is then one too few in some order. */
#include "cpu/parts.h"

#include "core/mix.h"

#include <stdlib.h>
#include <string.h>

static enum { ORDER_UNKNOWN, ORDER_SIMULATED, ORDER_FIRST, ORDER_LAST, ORDER_DRAWN } order;
static uint64_t seed, drawn; /* how many numbers were drawn */

static void read_order(void)
{
    const char *text = clock_variable("PIPELINE_TRY_ORDER");
    order = ORDER_SIMULATED;
    if (text == NULL || strcmp(text, "simulated") == 0)
        return;
    order = strcmp(text, "first") == 0  ? ORDER_FIRST
            : strcmp(text, "last") == 0 ? ORDER_LAST
                                        : ORDER_DRAWN;
    seed = strtoull(text, NULL, 10);
}

static uint32_t draw(uint32_t below)
{
    return (uint32_t)(mix_at(seed, drawn++) % below);
}

/* Returns true if all ops before `op` that lie in streams of one kind, of its device, have run.
 */
static bool kind_has_run(uint32_t op, enum stream_kind kind)
{
    const struct plan *plan = &clock_now.plan;
    const uint32_t device = plan_stream_device(plan, plan->ops[op].stream);
    for (uint32_t i = 0; i < op; i++) {
        const struct op *other = &plan->ops[i];
        if (!clock_now.ops[i].passed && other->stream < plan->streams &&
            plan_stream_kind(plan, other->stream) == kind &&
            plan_stream_device(plan, other->stream) == device && op_in_stream(other->kind))
            return false;
    }
    return true;
}

static bool may_run(uint32_t op)
{
    const struct plan *plan = &clock_now.plan;
    const struct clock_op *own = &clock_now.ops[op];
    const enum stream_kind kind = plan_stream_kind(plan, plan->ops[op].stream);
    if (plan->ops[op].kind == OP_WAIT && !clock_now.ops[own->record].passed)
        return false;
    if (kind == STREAM_NONBLOCKING)
        return true;
    return kind_has_run(op, kind == STREAM_LEGACY ? STREAM_BLOCKING : STREAM_LEGACY);
}

/* Returns the first op of a stream that has not run; CLOCK_NONE: none. */
static uint32_t head_of(uint32_t stream)
{
    const struct plan *plan = &clock_now.plan;
    for (uint32_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].stream == stream && !clock_now.ops[i].passed &&
            op_in_stream(plan->ops[i].kind))
            return i;
    return CLOCK_NONE;
}

/* Runs a stream for as long as it may go on, or for one op. Returns false if it may not. */
static bool run_stream(uint32_t stream, bool one)
{
    bool ran = false;
    for (uint32_t op = head_of(stream); op != CLOCK_NONE && may_run(op); op = head_of(stream)) {
        clock_now.ops[op].passed = true;
        clock_do_work(&clock_now.ops[op]);
        ran = true;
        if (one)
            break;
    }
    return ran;
}

void order_run(void)
{
    const uint32_t streams = clock_now.plan.streams;
    bool ran = streams > 0;
    if (order == ORDER_UNKNOWN)
        read_order();
    while (ran && order != ORDER_SIMULATED) {
        const uint32_t from = order == ORDER_DRAWN ? draw(streams) : 0;
        ran = false;
        for (uint32_t i = 0; i < streams && !ran; i++)
            ran = run_stream(order == ORDER_LAST ? streams - 1 - i : (from + i) % streams,
                             order == ORDER_DRAWN);
    }
}
