/* engines.c - the engines that do one op at a time: copy engines, the driver's thread for
 * callbacks, and the CPU. */
#include "sim/parts.h"

#include <math.h>

/* --- copies --- */

static uint32_t device_of(uint32_t index)
{
    return index / COPY_ENGINES;
}

static bool is_peer(uint32_t index)
{
    return index % COPY_ENGINES == COPIES_PEER;
}

/* Returns the engine of a device's copies to other devices. */
static uint32_t peer_copies(uint32_t device)
{
    return COPY_ENGINES * device + COPIES_PEER;
}

/* Returns the copy engine of the other direction: of the same device, or of the receiver. */
static uint32_t other_copies(const struct simulation *sim, uint32_t index)
{
    if (is_peer(index))
        return peer_copies(sim->copies[index].receiver);
    return COPY_ENGINES * device_of(index) + COPIES_OUT - index % COPY_ENGINES;
}

/* Sets the timer of a copy engine. */
static inline enum status copy_set_timer(struct simulation *sim, uint32_t index,
                                         int64_t delay_ns, enum event_kind kind)
{
    return simulation_set_timer(sim, copy_timer(index), delay_ns, kind, index);
}

static int64_t ns_for(double bytes, double bytes_per_s)
{
    return bytes > 0 ? machine_ceil_ns(1e9 * bytes / bytes_per_s) : 0;
}

/* Returns the rate of a flowing copy to another device. */
static double peer_bytes_per_s(const struct simulation *sim, uint32_t index)
{
    const uint32_t sender = device_of(index), receiver = sim->copies[index].receiver;
    uint32_t into = 0;
    bool both_ways = sim->copies[peer_copies(receiver)].flowing;
    for (uint32_t device = 0; device < sim->devices; device++) {
        const struct copy_engine *engine = &sim->copies[peer_copies(device)];
        into += engine->flowing && engine->receiver == receiver;
        both_ways |= engine->flowing && engine->receiver == sender;
    }
    return rule_peer_bytes_per_s(sim->machine, into, both_ways);
}

/* Returns the rate that its link has for a flowing copy. */
static double link_bytes_per_s(const struct simulation *sim, uint32_t index)
{
    if (is_peer(index))
        return peer_bytes_per_s(sim, index);
    const bool other_busy = sim->copies[other_copies(sim, index)].flowing;
    const struct copy_engine *engine = &sim->copies[index];
    return fmin(facts_of(sim, engine->op)->bytes_per_s[other_busy], engine->most_bytes_per_s);
}

/* Returns the part of its link's rate that the host's memory lets a copy of that kind have,
 * beside all that flow. */
static double host_share(const struct simulation *sim, enum op_kind kind)
{
    double in = 0, out = 0;
    for (uint32_t i = 0; i < COPY_ENGINES * sim->devices; i++) {
        if (sim->copies[i].flowing && !is_peer(i))
            *(kind_of(sim, sim->copies[i].op) == OP_H2D ? &in : &out) +=
                link_bytes_per_s(sim, i);
    }
    return rule_host_share(sim->machine, kind, in, out);
}

/* Lets a copy that flows go on at the rate that holds from now. */
static enum status copy_go_on(struct simulation *sim, uint32_t index)
{
    struct copy_engine *engine = &sim->copies[index];
    engine->since_ns = sim->now;
    engine->bytes_per_s = link_bytes_per_s(sim, index);
    if (sim->devices > 1 && !is_peer(index))
        engine->bytes_per_s *= host_share(sim, kind_of(sim, engine->op));
    if (engine->staged && !engine->piece)
        engine->bytes_per_s = rule_staged_bytes_per_s(sim->machine, kind_of(sim, engine->op),
                                                      engine->bytes_per_s);
    return copy_set_timer(sim, index, ns_for(engine->bytes_left, engine->bytes_per_s),
                          EVENT_COPIED);
}

/* Sets a copy's rate anew, after what it has moved so far is counted, because another engine's
 * copy has begun or ended to flow. */
static enum status copy_set_rate(struct simulation *sim, uint32_t index)
{
    struct copy_engine *engine = &sim->copies[index];
    if (!engine->flowing)
        return STATUS_OK;
    double moved = (double)(sim->now - engine->since_ns) * engine->bytes_per_s / 1e9;
    double left = engine->bytes_left - moved;
    engine->bytes_left = left > 0 ? left : 0;
    return copy_go_on(sim, index);
}

/* Sets anew the rates of all other copies that change where copy engine `index` begins or ends
 * to move bytes: that of the other direction, and as devices share the host's memory, theirs.
 * What goes from device to device and what does not have nothing in common. */
static enum status copies_set_others(struct simulation *sim, uint32_t index)
{
    if (sim->devices == 1)
        return copy_set_rate(sim, other_copies(sim, index));
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < COPY_ENGINES * sim->devices && status == STATUS_OK; i++)
        status = i != index && is_peer(i) == is_peer(index) ? copy_set_rate(sim, i) : STATUS_OK;
    return status;
}

static enum status copy_begin_next(struct simulation *sim, uint32_t index)
{
    struct copy_engine *engine = &sim->copies[index];
    if (engine->op != NONE || engine->turning || engine->line.first == NONE)
        return STATUS_OK;
    int64_t wait = engine->free_ns - sim->now;
    if (wait > 0) {
        engine->turning = true;
        return copy_set_timer(sim, index, wait, EVENT_TURNED);
    }
    engine->op = line_pop(sim, &engine->line);
    /* Where no copy is many, the op itself is left alone: it is not in the cache. */
    const bool one = sim->plan->issue != ISSUE_BATCH;
    engine->copies = engine->to_copy = one ? 1 : rule_copies(sim->plan, op_at(sim, engine->op));
    enum status status = simulation_start_op(sim, engine->op);
    if (status != STATUS_OK)
        return status;
    if (is_peer(index)) {
        const struct op_recorded *seen = plan_seen(sim->plan, op_at(sim, engine->op));
        if (seen != NULL) /* its other device is not in the plan */
            return copy_set_timer(sim, index, seen->work_ns, EVENT_COPIED);
        engine->receiver =
            (uint8_t)plan_range_device(sim->plan, &op_at(sim, engine->op)->move.to);
    }
    return copy_set_timer(sim, index, facts_of(sim, engine->op)->latency_ns, EVENT_FLOW);
}

enum status copies_accept(struct simulation *sim, uint32_t op)
{
    const uint32_t index =
        (sim->devices > 1 ? COPY_ENGINES * sim->lanes[stream_of(sim, op)].device : 0) +
        facts_of(sim, op)->copy_engine;
    struct copy_engine *engine = &sim->copies[index];
    if (op == engine->follower)
        line_push_front(sim, &engine->line, op);
    else
        line_push(sim, &engine->line, op);
    return copy_begin_next(sim, index);
}

enum status copies_turn(struct simulation *sim, uint32_t index)
{
    sim->copies[index].turning = false;
    return copy_begin_next(sim, index);
}

enum status copies_flow(struct simulation *sim, uint32_t index)
{
    struct copy_engine *engine = &sim->copies[index];
    const struct op *op = op_at(sim, engine->op);
    engine->flowing = true;
    engine->staged = rule_copy_staged(sim->plan, op);
    engine->most_bytes_per_s = rule_rows_bytes_per_s(sim->machine, sim->plan, op);
    if (sim->plan->packs)
        engine->most_bytes_per_s = fmin(engine->most_bytes_per_s,
                                        rule_packed_bytes_per_s(sim->machine, sim->plan, op));
    engine->piece = rule_copy_in_one_piece(sim->machine, sim->plan, op);
    engine->bytes_left = (double)span_at(sim, engine->op)->bytes / engine->copies;
    enum status status = copy_go_on(sim, index);
    return status == STATUS_OK ? copies_set_others(sim, index) : status;
}

/* Returns how long the copy on `engine` still takes when all its bytes have flowed: the engine
 * moves the last piece of a staged copy in, the host takes a piece that has come out. */
static int64_t copy_rest_ns(const struct simulation *sim, const struct copy_engine *engine)
{
    const enum op_kind kind = kind_of(sim, engine->op);
    const struct op_recorded *seen = plan_seen(sim->plan, op_at(sim, engine->op));
    const int64_t new_ns = seen != NULL && kind == OP_D2H ? seen->new_ns : 0;
    const uint64_t bytes = op_at(sim, engine->op)->copy.host.bytes;
    if (engine->piece)
        return kind == OP_D2H ? new_ns + rule_piece_ns(sim->machine, kind, bytes) : 0;
    const uint64_t last = rule_staged_last_bytes(sim->machine, kind, bytes);
    return new_ns + ns_for((double)last, rule_copy_bytes_per_s(sim->machine, kind, false));
}

/* Goes on with what is left of a staged copy. The host returns from one in: it is done. */
static enum status copy_drain(struct simulation *sim, uint32_t index, int64_t rest_ns)
{
    struct copy_engine *engine = &sim->copies[index];
    const struct op *op = op_at(sim, engine->op);
    engine->draining = true;
    enum status status = copy_set_timer(sim, index, rest_ns, EVENT_COPIED);
    bool returns = op->kind == OP_H2D && !rule_call_waits_out(sim->plan, op);
    return status == STATUS_OK && returns ? host_return_call(sim, engine->op) : status;
}

/* Returns true if anything but a copy of the same kind comes next in the copy's stream, be it a
 * record: the engine then has to signal the copy's end. Waits in between change nothing. */
static bool copy_is_waited_for(const struct simulation *sim, uint32_t op)
{
    uint32_t next = sim->ops[op].next_in_stream;
    while (next != NONE && kind_of(sim, next) == OP_WAIT)
        next = sim->ops[next].next_in_stream;
    return next != NONE && kind_of(sim, next) != kind_of(sim, op);
}

/* Returns how long engine `index` takes from the end of copy `op` to its next one. */
static int64_t copy_gap_ns(const struct simulation *sim, uint32_t index, uint32_t op)
{
    uint32_t kernels = sim->waiting[QUEUE_KINDS * device_of(index)],
             others = kernels > 0 ? kernels - 1 : 0;
    enum op_kind kind = kind_of(sim, op);
    bool other_busy = sim->copies[other_copies(sim, index)].op != NONE;
    return rule_copy_gap_ns(sim->machine, kind, copy_is_waited_for(sim, op), other_busy,
                            others);
}

/* Returns the copy of the same kind right behind `op` in its stream, if it is issued: the
 * engine goes on with that one. Else NONE. */
static uint32_t copy_follower(const struct simulation *sim, uint32_t op)
{
    uint32_t next = sim->ops[op].next_in_stream;
    bool issued = next != NONE && sim->ops[next].issued;
    return issued && kind_of(sim, next) == kind_of(sim, op) ? next : NONE;
}

enum status copies_end(struct simulation *sim, uint32_t index)
{
    struct copy_engine *engine = &sim->copies[index];
    uint32_t op = engine->op;
    engine->flowing = false;
    if (engine->to_copy > 1) {
        engine->to_copy--;
        enum status status = copy_set_timer(sim, index, sim->machine->batch_gap_ns, EVENT_FLOW);
        return status == STATUS_OK ? copies_set_others(sim, index) : status;
    }
    const int64_t rest_ns = engine->staged && !engine->draining ? copy_rest_ns(sim, engine) : 0;
    if (rest_ns > 0)
        return copy_drain(sim, index, rest_ns);
    engine->draining = false;
    engine->op = NONE;
    engine->free_ns = sim->now + copy_gap_ns(sim, index, op);
    engine->follower = copy_follower(sim, op);
    enum status status = simulation_end_op(sim, op);
    if (status == STATUS_OK)
        status = host_return_call(sim, op);
    if (status == STATUS_OK)
        status = copies_set_others(sim, index);
    if (status != STATUS_OK || engine->follower == NONE)
        return status == STATUS_OK ? copy_begin_next(sim, index) : status;
    engine->turning = true; /* until the follower is in line */
    return copy_set_timer(sim, index, engine->free_ns - sim->now, EVENT_TURNED);
}

/* --- callbacks and the CPU --- */

static enum status turn_begin_next(struct simulation *sim, struct turn_engine *engine)
{
    if (engine->op != NONE || engine->line.first == NONE)
        return STATUS_OK;
    engine->op = line_pop(sim, &engine->line);
    const struct op *op = op_at(sim, engine->op);
    enum status status = simulation_start_op(sim, engine->op);
    if (status != STATUS_OK)
        return status;
    if (op->kind == OP_CPU) {
        double ns =
            machine_chain_cpu_ns(sim->machine, sim->plan->chain, sim->plan->chain_length,
                                 &sim->plan->params, op->cpu.count);
        /* Many tiles far below a nanosecond still take their time together. */
        return simulation_post(sim, machine_ceil_ns(ns), EVENT_CPU, op->id, 0);
    }
    const struct op_recorded *seen = plan_seen(sim->plan, op);
    int64_t ns =
        seen != NULL ? seen->work_ns : sim->machine->callback_ns + op->callback.sleep_ns;
    return simulation_post(sim, ns, EVENT_CALLED, op->id, 0);
}

enum status turns_end(struct simulation *sim, struct turn_engine *engine)
{
    uint32_t op = engine->op;
    engine->op = NONE;
    engine->done_ns = sim->now;
    enum status status = simulation_end_op(sim, op);
    if (status == STATUS_OK)
        status = host_return_call(sim, op);
    return status == STATUS_OK ? turn_begin_next(sim, engine) : status;
}

int64_t callbacks_told_ns(struct simulation *sim, uint32_t op)
{
    struct turn_engine *thread = &sim->callbacks[sim->lanes[stream_of(sim, op)].process];
    int64_t idle_ns = later(thread->awake_ns, thread->done_ns);
    int64_t told_ns = sim->now + rule_callback_told_ns(sim->machine, 0);
    if (thread->op == NONE && sim->now > idle_ns) {
        thread->awake_ns = sim->now + rule_callback_told_ns(sim->machine, sim->now - idle_ns);
        host_hold(sim, op);
    }
    return later(told_ns, thread->awake_ns);
}

enum status turns_accept(struct simulation *sim, struct turn_engine *engine, uint32_t op)
{
    line_push(sim, &engine->line, op);
    return turn_begin_next(sim, engine);
}
