/* simulator.c - the machinery that applies the rules of simulator_rules.h.
 *
 * The way of an op: the host's call ends (EVENT_ISSUED); when everything before it in its
 * stream has ended it is the stream's head and, after a delay, ready (EVENT_READY); when it is
 * also at the front of its hardware queue it goes to its engine, waits there for its turn, and
 * runs. Its end makes the next op of its stream the head. */
#include "sim/state.h"

enum status simulation_post(struct simulation *sim, int64_t delay_ns, enum event_kind kind,
                            uint32_t subject, uint32_t stamp)
{
    if (delay_ns >= MACHINE_NEVER_NS - sim->now)
        return error_set(sim->error, STATUS_FAILED,
                         "on this machine the plan would take more than a century");
    if (event_queue_push(&sim->events, sim->now + delay_ns, kind, subject, stamp))
        return STATUS_OK;
    return error_set(sim->error, STATUS_FAILED, "no memory for the simulation");
}

/* Puts the next op of `op`'s stream at the stream's head. */
void simulation_step_stream(struct simulation *sim, uint32_t op)
{
    uint32_t stream = op_at(sim, op)->stream;
    sim->ops[op].ended = true;
    sim->streams[stream].head = sim->ops[op].next_in_stream;
    if (sim->sync != NULL)
        sync_op_ended(sim, op);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* --- streams and hardware queues --- */

/* Whether nothing of the op has to be loaded for its call, which is about to be made. */
static bool is_loaded(struct simulation *sim, const struct op *op)
{
    if (op->kind != OP_KERNEL || !sim->plan->loads_lazily)
        return true;
    const struct kernel *kernel = sim->plan->chain[op->kernel.link];
    for (uint32_t i = 0; i < sim->kernels_loaded; i++) {
        if (sim->loaded[i] == kernel)
            return true;
    }
    sim->loaded[sim->kernels_loaded++] = kernel;
    return false;
}

/* Begins the call for the next op, unless its queue is full: then the caller is blocked until
 * there is room. */
static enum status host_call(struct simulation *sim)
{
    uint32_t next = sim->issued;
    sim->host_blocked = false;
    if (next == sim->plan->op_count)
        return STATUS_OK;
    const struct op *op = op_at(sim, next);
    if (op_is_call(op->kind))
        return sync_call_begins(sim, next);
    int queue = sim->ops[next].queue;
    if (queue >= 0 && sim->hardware_queues[queue].length >= sim->machine->queue_depth) {
        sim->host_blocked = true;
        return STATUS_OK;
    }
    int64_t call_ns =
        rule_issue_ns(sim->machine, op->kind) + rule_load_ns(sim->machine, is_loaded(sim, op));
    return simulation_post(sim, call_ns, EVENT_ISSUED, next, 0);
}

/* Lets ops leave a hardware queue in order, as far as they are ready: an op that is not ready
 * blocks all behind it. [Rennich: false dependencies] */
static enum status queue_drain(struct simulation *sim, int number)
{
    struct hardware_queue *queue = &sim->hardware_queues[number];
    enum status status = STATUS_OK;
    while (status == STATUS_OK && queue->front != NONE && sim->ops[queue->front].ready) {
        uint32_t op = queue->front;
        queue->front = sim->ops[op].next_in_line;
        if (--queue->length == 0)
            sim->waiting[(uint32_t)number / sim->queues]--;
        status = engine_accept(sim, op);
    }
    if (status == STATUS_OK && sim->host_blocked) /* there may be room now */
        status = host_call(sim);
    return status;
}

static enum status op_ready(struct simulation *sim, uint32_t op)
{
    sim->ops[op].ready = true;
    int queue = sim->ops[op].queue;
    return queue < 0 ? engine_accept(sim, op) : queue_drain(sim, queue);
}

/* When the head of a stream is ready: launched, and told of the end of what came before it and
 * of the events that its stream waited for. */
static int64_t head_ready_ns(const struct simulation *sim, uint32_t op, bool woken)
{
    const struct machine *machine = sim->machine;
    const struct stream_state *stream = &sim->streams[op_at(sim, op)->stream];
    enum op_kind kind = op_at(sim, op)->kind;
    int queue = sim->ops[op].queue; /* this one holds `op` */
    uint32_t others = queue >= 0 ? sim->waiting[(uint32_t)queue / sim->queues] - 1 : 0;
    int64_t signal = rule_signal_ns(machine, kind, others);
    int64_t ready = sim->now + (woken ? 0 : rule_launch_ns(machine, kind));
    if (stream->last_end_ns != NEVER) {
        bool same_engine = stream->last_kind == engine_kind(kind);
        int64_t told = same_engine ? rule_same_engine_ns(machine, kind) : signal;
        ready = later(ready, stream->last_end_ns + told);
    }
    if (stream->signal_ns != NEVER)
        ready = later(ready, stream->signal_ns + signal);
    return ready;
}

static enum status head_is_due(struct simulation *sim, uint32_t op, bool woken)
{
    int64_t ready = head_ready_ns(sim, op, woken);
    if (sim->plan->issue == ISSUE_GRAPH && op_at(sim, op)->kind != OP_CPU)
        ready = graph_ready_ns(sim, ready);
    int64_t delay = ready - sim->now;
    return delay > 0 ? simulation_post(sim, delay, EVENT_READY, op, 0) : op_ready(sim, op);
}

void waiters_add(struct simulation *sim, uint32_t *first, uint32_t stream)
{
    sim->streams[stream].next_waiter = *first;
    *first = stream;
}

void waiters_wake(struct simulation *sim, uint32_t *first)
{
    for (uint32_t stream = *first; stream != NONE; stream = sim->streams[stream].next_waiter) {
        sim->streams[stream].signal_ns = sim->now;
        sim->to_advance[sim->to_advance_count++] = stream;
    }
    *first = NONE;
}

/* Whether `stream`, whose head is a wait, may go on; if not it is woken by the record. */
static bool wait_is_over(struct simulation *sim, uint32_t stream, uint32_t wait)
{
    struct op_state *record = &sim->ops[sim->ops[wait].record];
    if (!record->ended)
        waiters_add(sim, &record->first_waiter, stream);
    return record->ended;
}

enum status simulation_advance(struct simulation *sim, uint32_t stream, bool woken)
{
    struct stream_state *state = &sim->streams[stream];
    while (state->head < sim->issued) { /* NONE is above them all */
        uint32_t op = state->head;
        enum op_kind kind = op_at(sim, op)->kind;
        if (state->unchecked != NONE && !checks_pass(sim, op))
            return STATUS_OK;
        if (sim->sync != NULL && !sync_passes(sim, op))
            return STATUS_OK;
        if (kind == OP_RECORD) {
            simulation_step_stream(sim, op);
            waiters_wake(sim, &sim->ops[op].first_waiter);
            sim->ops[op].passed_ns = sim->now;
        } else if (kind == OP_WAIT) {
            if (!wait_is_over(sim, stream, op))
                return STATUS_OK;
            state->signal_ns = later(state->signal_ns, sim->ops[sim->ops[op].record].passed_ns);
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
        status = simulation_advance(sim, sim->to_advance[--sim->to_advance_count], true);
    return status;
}

/* --- the host --- */

enum status simulation_call_returns(struct simulation *sim, uint32_t op)
{
    if (sim->called != op)
        return STATUS_OK;
    sim->called = NONE;
    sim->call_ended_ns = sim->now;
    return host_call(sim);
}

static enum status host_issued(struct simulation *sim, uint32_t op)
{
    const struct op *issued = op_at(sim, op);
    if (rule_call_waits(sim->plan, issued->kind))
        sim->called = op;
    sim->timeline->issue_ns[op] = sim->call_ended_ns;
    if (issued->kind != OP_RECORD)
        span_at(sim, op)->issue_ns = sim->call_ended_ns;
    sim->call_ended_ns = sim->now;
    sim->issued++;
    if (op_is_call(issued->kind)) {
        sync_call_ends(sim, op);
        return host_call(sim);
    }
    int queue = sim->ops[op].queue;
    if (queue >= 0 && sim->hardware_queues[queue].length++ == 0)
        sim->waiting[(uint32_t)queue / sim->queues]++;
    enum status status = STATUS_OK;
    if (sim->streams[issued->stream].head == op)
        status = simulation_advance(sim, issued->stream, false);
    if (status == STATUS_OK)
        status = advance_all(sim);
    return status == STATUS_OK && sim->called != op ? host_call(sim) : status;
}

/* --- the loop
 * ------------------------------------------------------------------------------------ */

static enum status dispatch(struct simulation *sim, const struct event *event)
{
    switch ((enum event_kind)event_kind(event)) {
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
    case EVENT_LAUNCHED:
        return graph_launched(sim);
    }
    return STATUS_FAILED;
}

static enum status run_to_end(struct simulation *sim)
{
    struct event event;
    bool graph = sim->plan->issue == ISSUE_GRAPH;
    enum status status = graph ? graph_begin(sim) : host_call(sim);
    while (status == STATUS_OK && event_queue_pop(&sim->events, &event)) {
        sim->now = event.time_ns;
        status = dispatch(sim, &event);
        if (status == STATUS_OK)
            status = advance_all(sim);
        if (status == STATUS_OK && sim->sync != NULL)
            status = sync_call_goes_on(sim);
    }
    return status;
}

/* Nothing left to happen, but an op that has not ended: a plan no machine could finish. */
static enum status check_all_ended(const struct simulation *sim)
{
    for (uint32_t i = 0; i < sim->plan->op_count; i++) {
        if (!sim->ops[i].ended)
            return simulation_refuse_stuck(sim, i);
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
    enum status status = simulator_check(machine, plan, error);
    if (status == STATUS_OK)
        status = timeline_begin(timeline, plan, error);
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
