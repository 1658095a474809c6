/* stuck.c - nothing is left to happen, but ops have not ended: says what holds them.
 *
 * No plan that plan_validate() accepts comes to this on a machine that a machine file can
 * describe: everything waits for what was issued before it. This is for those that were not
 * asked. */
#include "plan/validate.h"
#include "sim/state.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    HOPS_SHOWN = 6, /* from an op to what holds it; the error's text has room for them */
    STUCK_TEXT = 960,
};

/* What holds an op, and how that is said; NONE: nothing that is an op. */
struct hold {
    uint32_t op;
    const char *how;
};

static uint32_t first_not_ended(const struct simulation *sim)
{
    uint32_t op = 0;
    while (op < sim->issued && sim->ops[op].ended)
        op++;
    return op < sim->issued ? op : NONE;
}

/* What keeps the host from issuing op `sim->issued`. */
static struct hold hold_of_host(const struct simulation *sim)
{
    int queue = sim->ops[sim->issued].queue;
    if (sim->called != NONE)
        return (struct hold){sim->called, "is issued when the host is done with"};
    if (sim->host_blocked && sim->hardware_queues[queue].front < sim->issued)
        return (struct hold){sim->hardware_queues[queue].front, "has no room in its queue for"};
    if (sim->sync != NULL && sim->sync->call == sim->issued && first_not_ended(sim) != NONE)
        return (struct hold){first_not_ended(sim), "waits for"};
    return (struct hold){NONE, "can't be issued"};
}

static struct hold hold_of(const struct simulation *sim, uint32_t op)
{
    const struct op_state *state = &sim->ops[op];
    const struct op *held = op_at(sim, op);
    if (op > sim->issued)
        return (struct hold){sim->issued, "is issued after"};
    if (op == sim->issued)
        return hold_of_host(sim);
    if (sim->streams[held->stream].head != op)
        return (struct hold){sim->streams[held->stream].head, "is behind"};
    if (held->kind == OP_WAIT && state->record != NONE && !sim->ops[state->record].ended)
        return (struct hold){state->record, "waits for"};
    if (state->queue >= 0 && sim->hardware_queues[state->queue].front < op)
        return (struct hold){sim->hardware_queues[state->queue].front,
                             "is in a hardware queue behind"};
    return (struct hold){NONE, "can't run"};
}

enum status simulation_refuse_stuck(const struct simulation *sim, uint32_t stuck)
{
    char text[STUCK_TEXT], label[OP_LABEL];
    size_t used = (size_t)snprintf(text, sizeof text, "op %" PRIu32 " (%s)", stuck,
                                   plan_op_label(sim->plan, op_at(sim, stuck), label));
    uint32_t op = stuck;
    for (int hop = 0; hop < HOPS_SHOWN && op != NONE; hop++) {
        struct hold hold = hold_of(sim, op);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s",
                                 hop > 0 ? ", which" : "", hold.how);
        op = hold.op;
        if (op != NONE)
            used += (size_t)snprintf(text + used, sizeof text - used, " op %" PRIu32 " (%s)",
                                     op, plan_op_label(sim->plan, op_at(sim, op), label));
        if (op == stuck)
            break;
    }
    return error_set(sim->error, STATUS_FAILED, "the plan never ends: %s", text);
}
