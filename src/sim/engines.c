/* engines.c - what does the work, but kernels': copy engines, the driver's thread for
 * callbacks, and the CPU. */
#include "sim/state.h"

#include <math.h>

void line_push(struct simulation *sim, struct line *line, uint32_t op)
{
    sim->ops[op].next_in_line = NONE;
    if (line->first == NONE)
        line->first = op;
    else
        sim->ops[line->last].next_in_line = op;
    line->last = op;
}

static void line_push_front(struct simulation *sim, struct line *line, uint32_t op)
{
    sim->ops[op].next_in_line = line->first;
    if (line->first == NONE)
        line->last = op;
    line->first = op;
}

uint32_t line_pop(struct simulation *sim, struct line *line)
{
    uint32_t op = line->first;
    line->first = sim->ops[op].next_in_line;
    return op;
}

/* --- the start and the end of an op --- */

enum status engine_start_op(struct simulation *sim, uint32_t op)
{
    span_at(sim, op)->start_ns = sim->now;
    if (sim->hooks.on_start == NULL)
        return STATUS_OK;
    return sim->hooks.on_start(sim->hooks.context, op_at(sim, op), sim->error);
}

enum status engine_end_op(struct simulation *sim, uint32_t op)
{
    const struct op *ended = op_at(sim, op);
    struct stream_state *stream = &sim->streams[ended->stream];
    span_at(sim, op)->end_ns = sim->now;
    simulation_step_stream(sim, op);
    stream->last_kind = engine_kind(ended->kind);
    stream->last_end_ns = sim->now;
    stream->signal_ns = NEVER;
    sim->to_advance[sim->to_advance_count++] = ended->stream;
    if (op_is_launch(ended->kind))
        checks_kernel_ended(sim, op);
    if (sim->hooks.on_end == NULL)
        return STATUS_OK;
    return sim->hooks.on_end(sim->hooks.context, ended, sim->error);
}

/* --- copies --- */

static int64_t ns_for(double bytes, double bytes_per_s)
{
    double ns = ceil(1e9 * bytes / bytes_per_s);
    return ns > 0 ? machine_round_ns(ns) : 0;
}

/* Brings a flowing copy up to now and lets it go on at the rate that holds from here. */
static enum status copy_set_rate(struct simulation *sim, int index)
{
    struct copy_engine *engine = &sim->copies[index];
    if (!engine->flowing)
        return STATUS_OK;
    double moved = (double)(sim->now - engine->since_ns) * engine->bytes_per_s / 1e9;
    double left = engine->bytes_left - moved;
    engine->bytes_left = left > 0 ? left : 0;
    engine->since_ns = sim->now;
    enum op_kind kind = op_at(sim, engine->op)->kind;
    engine->bytes_per_s =
        rule_copy_bytes_per_s(sim->machine, kind, sim->copies[1 - index].flowing);
    if (copies_are_staged(sim))
        engine->bytes_per_s = rule_staged_bytes_per_s(sim->machine, kind, engine->bytes_per_s);
    return simulation_post(sim, ns_for(engine->bytes_left, engine->bytes_per_s), EVENT_COPIED,
                           (uint32_t)index, ++engine->stamp);
}

static enum status copy_begin_next(struct simulation *sim, int index)
{
    struct copy_engine *engine = &sim->copies[index];
    if (engine->op != NONE || engine->turning || engine->line.first == NONE)
        return STATUS_OK;
    int64_t wait = engine->free_ns - sim->now;
    if (wait > 0) {
        engine->turning = true;
        return simulation_post(sim, wait, EVENT_TURNED, (uint32_t)index, 0);
    }
    engine->op = line_pop(sim, &engine->line);
    int64_t latency = rule_copy_latency_ns(sim->machine, op_at(sim, engine->op)->kind);
    enum status status = engine_start_op(sim, engine->op);
    if (status != STATUS_OK)
        return status;
    return simulation_post(sim, latency, EVENT_FLOW, (uint32_t)index, 0);
}

enum status engine_copy_turned(struct simulation *sim, int index)
{
    sim->copies[index].turning = false;
    return copy_begin_next(sim, index);
}

enum status engine_copy_flows(struct simulation *sim, int index)
{
    struct copy_engine *engine = &sim->copies[index];
    engine->flowing = true;
    engine->bytes_left = (double)op_at(sim, engine->op)->copy.host.bytes;
    engine->bytes_per_s = 0;
    engine->since_ns = sim->now;
    enum status status = copy_set_rate(sim, index);
    return status == STATUS_OK ? copy_set_rate(sim, 1 - index) : status;
}

/* The host is done with a staged copy, whose last piece still has to go. */
static enum status copy_drain(struct simulation *sim, int index, uint64_t last_bytes)
{
    struct copy_engine *engine = &sim->copies[index];
    enum op_kind kind = op_at(sim, engine->op)->kind;
    double rate = rule_copy_bytes_per_s(sim->machine, kind, false);
    engine->draining = true;
    enum status status = simulation_post(sim, ns_for((double)last_bytes, rate), EVENT_COPIED,
                                         (uint32_t)index, ++engine->stamp);
    return status == STATUS_OK ? simulation_call_returns(sim, engine->op) : status;
}

/* Whether anything but a copy of the same kind comes next in its stream, or a record: the
 * engine then has to signal its end. What the stream waits for in between is another matter. */
static bool copy_is_waited_for(const struct simulation *sim, uint32_t op)
{
    uint32_t next = sim->ops[op].next_in_stream;
    while (next != NONE && op_at(sim, next)->kind == OP_WAIT)
        next = sim->ops[next].next_in_stream;
    return next != NONE && op_at(sim, next)->kind != op_at(sim, op)->kind;
}

static int64_t copy_gap_ns(const struct simulation *sim, uint32_t op)
{
    uint32_t kernels = sim->waiting[0], others = kernels > 0 ? kernels - 1 : 0;
    enum op_kind kind = op_at(sim, op)->kind;
    bool other_busy = sim->copies[1 - rule_copy_engine(sim->machine, kind)].op != NONE;
    return rule_copy_gap_ns(sim->machine, kind, copy_is_waited_for(sim, op), other_busy,
                            others);
}

/* The copy right behind it, if it is issued: the engine goes on with that. */
static uint32_t copy_follower(const struct simulation *sim, uint32_t op)
{
    uint32_t next = sim->ops[op].next_in_stream; /* NONE is above what is issued */
    return next < sim->issued && op_at(sim, next)->kind == op_at(sim, op)->kind ? next : NONE;
}

enum status engine_copy_ends(struct simulation *sim, int index, uint32_t stamp)
{
    struct copy_engine *engine = &sim->copies[index];
    if (stamp != engine->stamp)
        return STATUS_OK; /* its rate changed after this event was posted */
    uint32_t op = engine->op;
    enum op_kind kind = op_at(sim, op)->kind;
    engine->flowing = false;
    if (copies_are_staged(sim) && !engine->draining) {
        uint64_t bytes = op_at(sim, op)->copy.host.bytes;
        uint64_t last = rule_staged_last_bytes(sim->machine, kind, bytes);
        if (last > 0)
            return copy_drain(sim, index, last);
    }
    engine->draining = false;
    engine->op = NONE;
    engine->free_ns = sim->now + copy_gap_ns(sim, op);
    engine->follower = copy_follower(sim, op);
    enum status status = engine_end_op(sim, op);
    if (status == STATUS_OK)
        status = simulation_call_returns(sim, op);
    if (status == STATUS_OK)
        status = copy_set_rate(sim, 1 - index);
    if (status != STATUS_OK || engine->follower == NONE)
        return status == STATUS_OK ? copy_begin_next(sim, index) : status;
    engine->turning = true; /* until the follower is in line */
    return simulation_post(sim, engine->free_ns - sim->now, EVENT_TURNED, (uint32_t)index, 0);
}

/* --- callbacks and the CPU --- */

static int64_t cpu_ns(const struct simulation *sim, const struct op *op)
{
    double ns = 0;
    for (int i = 0; i < sim->plan->chain_length; i++)
        ns += machine_cpu_ns(sim->machine, sim->plan->chain[i], &sim->plan->params,
                             op->cpu.count);
    return machine_round_ns(ns);
}

static enum status turn_begin_next(struct simulation *sim, struct turn_engine *engine)
{
    if (engine->op != NONE || engine->line.first == NONE)
        return STATUS_OK;
    engine->op = line_pop(sim, &engine->line);
    const struct op *op = op_at(sim, engine->op);
    enum status status = engine_start_op(sim, engine->op);
    if (status != STATUS_OK)
        return status;
    if (op->kind == OP_CPU)
        return simulation_post(sim, cpu_ns(sim, op), EVENT_CPU, op->id, 0);
    return simulation_post(sim, sim->machine->callback_ns + op->callback.sleep_ns, EVENT_CALLED,
                           op->id, 0);
}

enum status engine_turn_ends(struct simulation *sim, struct turn_engine *engine)
{
    uint32_t op = engine->op;
    engine->op = NONE;
    enum status status = engine_end_op(sim, op);
    return status == STATUS_OK ? turn_begin_next(sim, engine) : status;
}

/* --- which engine --- */

/* Hands an op that is ready, and at the front of its queue, to its engine. */
enum status engine_accept(struct simulation *sim, uint32_t op)
{
    enum op_kind kind = op_at(sim, op)->kind;
    if (op_is_launch(kind))
        return engine_kernel_arrives(sim, op);
    if (kind == OP_CALLBACK || kind == OP_CPU) {
        struct turn_engine *engine = kind == OP_CPU ? &sim->cpu : &sim->callbacks;
        line_push(sim, &engine->line, op);
        return turn_begin_next(sim, engine);
    }
    int index = rule_copy_engine(sim->machine, kind);
    struct copy_engine *engine = &sim->copies[index];
    if (op == engine->follower)
        line_push_front(sim, &engine->line, op);
    else
        line_push(sim, &engine->line, op);
    return copy_begin_next(sim, index);
}
