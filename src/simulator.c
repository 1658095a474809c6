/* simulator.c - the machinery that applies the rules of simulator_rules.h.
 *
 * The way of an op: the host's call ends (EVENT_ISSUED); when everything before it in its
 * stream has ended it is the stream's head and, after a delay, ready (EVENT_READY); when it is
 * also at the front of its hardware queue it goes to its engine, waits there for its turn, and
 * runs. Its end makes the next op of its stream the head. */
#include "simulator_state.h"

#include <inttypes.h>

enum status simulation_post(struct simulation *sim, int64_t delay_ns, enum event_kind kind,
                            uint32_t subject, uint64_t stamp)
{
    if (event_queue_push(&sim->events, sim->now + delay_ns, kind, subject, stamp))
        return STATUS_OK;
    return error_set(sim->error, STATUS_FAILED, "no memory for the simulation");
}

/* Puts the next op of `op`'s stream at the stream's head. */
void simulation_step_stream(struct simulation *sim, uint32_t op)
{
    uint32_t stream = op_at(sim, op)->stream;
    sim->ended[op] = true;
    sim->head[stream] = sim->next_in_stream[op];
}

/* --- streams and hardware queues --- */

/* Begins the call for the next op, unless its queue is full: then the caller is blocked until
 * there is room. */
static enum status host_call(struct simulation *sim)
{
    uint32_t next = sim->issued;
    sim->host_blocked = false;
    if (next == sim->plan->op_count)
        return STATUS_OK;
    const struct op *op = op_at(sim, next);
    int queue = rule_queue(sim->queues, op->kind, op->stream);
    if (queue >= 0 && sim->hardware_queues[queue].length >= sim->machine->queue_depth) {
        sim->host_blocked = true;
        return STATUS_OK;
    }
    return simulation_post(sim, rule_issue_ns(sim->machine, op->kind), EVENT_ISSUED, next, 0);
}

/* Lets ops leave a hardware queue in order, as far as they are ready: an op that is not ready
 * blocks all behind it. [Rennich: false dependencies] */
static enum status queue_drain(struct simulation *sim, int number)
{
    struct hardware_queue *queue = &sim->hardware_queues[number];
    enum status status = STATUS_OK;
    while (status == STATUS_OK && queue->front != NONE && sim->ready[queue->front]) {
        uint32_t op = queue->front;
        queue->front = sim->next_in_queue[op];
        queue->length--;
        status = engine_accept(sim, op);
    }
    if (status == STATUS_OK && sim->host_blocked) /* there may be room now */
        status = host_call(sim);
    return status;
}

static enum status op_ready(struct simulation *sim, uint32_t op)
{
    sim->ready[op] = true;
    int queue = rule_queue(sim->queues, op_at(sim, op)->kind, op_at(sim, op)->stream);
    return queue < 0 ? engine_accept(sim, op) : queue_drain(sim, queue);
}

static enum status head_is_due(struct simulation *sim, uint32_t op, bool woken)
{
    enum op_kind kind = op_at(sim, op)->kind;
    bool same_engine = sim->last_kind[op_at(sim, op)->stream] == kind;
    int64_t delay = rule_ready_delay_ns(sim->machine, kind, woken, same_engine);
    return delay > 0 ? simulation_post(sim, delay, EVENT_READY, op, 0) : op_ready(sim, op);
}

/* A record is reached: the streams that wait for it go on. */
static void record_reached(struct simulation *sim, uint32_t record)
{
    uint32_t stream = sim->first_waiter[record];
    while (stream != NONE) {
        sim->to_advance[sim->to_advance_count++] = stream;
        stream = sim->next_waiter[stream];
    }
}

/* Whether `stream`, whose head is a wait, may go on; if not it is woken by the record. */
static bool wait_is_over(struct simulation *sim, uint32_t stream, uint32_t wait)
{
    uint32_t record = sim->record_of[wait];
    if (sim->ended[record])
        return true;
    sim->next_waiter[stream] = sim->first_waiter[record];
    sim->first_waiter[record] = stream;
    return false;
}

/* Passes the records and finished waits at the head of a stream, up to the first op that needs
 * an engine or the first wait that is not over. */
static enum status stream_advance(struct simulation *sim, uint32_t stream, bool woken)
{
    while (sim->head[stream] != NONE && sim->head[stream] < sim->issued) {
        uint32_t op = sim->head[stream];
        enum op_kind kind = op_at(sim, op)->kind;
        if (kind == OP_RECORD) {
            simulation_step_stream(sim, op);
            record_reached(sim, op);
        } else if (kind == OP_WAIT) {
            if (!wait_is_over(sim, stream, op))
                return STATUS_OK;
            sim->last_kind[stream] = OP_WAIT;
            simulation_step_stream(sim, op);
        } else {
            return head_is_due(sim, op, woken);
        }
    }
    return STATUS_OK;
}

static enum status advance_all(struct simulation *sim)
{
    enum status status = STATUS_OK;
    while (sim->to_advance_count > 0 && status == STATUS_OK)
        status = stream_advance(sim, sim->to_advance[--sim->to_advance_count], true);
    return status;
}

/* --- the host --- */

static enum status host_issued(struct simulation *sim, uint32_t op)
{
    const struct op *issued = op_at(sim, op);
    sim->timeline->issue_ns[op] = sim->call_ended_ns;
    if (issued->kind != OP_RECORD)
        span_at(sim, op)->issue_ns = sim->call_ended_ns;
    sim->call_ended_ns = sim->now;
    sim->issued++;
    int queue = rule_queue(sim->queues, issued->kind, issued->stream);
    if (queue >= 0)
        sim->hardware_queues[queue].length++;
    enum status status = STATUS_OK;
    if (sim->head[issued->stream] == op)
        status = stream_advance(sim, issued->stream, false);
    if (status == STATUS_OK)
        status = advance_all(sim);
    return status == STATUS_OK ? host_call(sim) : status;
}

/* --- the loop
 * ------------------------------------------------------------------------------------ */

static enum status dispatch(struct simulation *sim, const struct event *event)
{
    switch ((enum event_kind)event->kind) {
    case EVENT_ISSUED:
        return host_issued(sim, event->subject);
    case EVENT_READY:
        return op_ready(sim, event->subject);
    case EVENT_FLOW:
        return engine_copy_flows(sim, (int)event->subject);
    case EVENT_COPIED:
        return engine_copy_ends(sim, (int)event->subject, event->stamp);
    case EVENT_TURNED:
        return engine_copy_turned(sim, (int)event->subject);
    case EVENT_BLOCKS:
        return engine_blocks_end(sim, event->subject, event->stamp);
    case EVENT_CALLED:
        return engine_turn_ends(sim, &sim->callbacks);
    case EVENT_CPU:
        return engine_turn_ends(sim, &sim->cpu);
    }
    return STATUS_FAILED;
}

static enum status run_to_end(struct simulation *sim)
{
    struct event event;
    enum status status = host_call(sim);
    while (status == STATUS_OK && event_queue_pop(&sim->events, &event)) {
        sim->now = event.time_ns;
        status = dispatch(sim, &event);
        if (status == STATUS_OK)
            status = advance_all(sim);
    }
    return status;
}

/* Nothing left to happen, but an op that has not ended: a plan no machine could finish. */
static enum status check_all_ended(const struct simulation *sim)
{
    for (uint32_t i = 0; i < sim->plan->op_count; i++) {
        char label[OP_LABEL];
        if (!sim->ended[i])
            return error_set(sim->error, STATUS_FAILED,
                             "the plan never ends: op %" PRIu32 " (%s) can't run", i,
                             plan_op_label(sim->plan, op_at(sim, i), label));
    }
    return STATUS_OK;
}

enum status simulator_run(const struct machine *machine, uint32_t queues,
                          const struct plan *plan, const struct simulator_hooks *hooks,
                          struct timeline *timeline, int64_t *issued_ns, struct error *error)
{
    struct simulation sim = {
        .machine = machine, .plan = plan, .timeline = timeline, .error = error};
    sim.queues = queues > 0 ? queues : machine->queues;
    if (hooks != NULL)
        sim.hooks = *hooks;
    event_queue_init(&sim.events);
    enum status status = timeline_begin(timeline, plan, error);
    if (status == STATUS_OK)
        status = simulation_set_up(&sim);
    if (status == STATUS_OK)
        status = run_to_end(&sim);
    if (status == STATUS_OK)
        status = check_all_ended(&sim);
    if (status == STATUS_OK)
        status = timeline_finish(timeline, plan, error);
    if (status == STATUS_OK)
        *issued_ns = sim.call_ended_ns;
    simulation_free(&sim);
    return status;
}
