/* simulator.c - streams, hardware queues and the loop: the machinery that applies the rules of
 * plan/rules.h.
 *
 * The path of an op: its thread's call ends (EVENT_ISSUED); when everything before it in its
 * stream has ended it is the stream's head and, after a delay, ready (EVENT_READY); when it is
 * also at the front of its hardware queue it goes to its engine, waits there for its turn, and
 * runs. Its end makes the next op of its stream the head. */
#include "sim/simulator.h"

#include "plan/build.h"
#include "sim/parts.h"

#include <inttypes.h>

/* --- streams and hardware queues --- */

/* Returns the driver's thread for callbacks of the process that issued `op`. */
static struct turn_engine *callbacks_of(struct simulation *sim, uint32_t op)
{
    return &sim->callbacks[sim->lanes[stream_of(sim, op)].process];
}

/* Passes the record at the head of its stream, and wakes the streams that wait for it. */
static void pass_record(struct simulation *sim, uint32_t op)
{
    struct record_state *record = &sim->records[sim->ops[op].record];
    simulation_pass_op(sim, op);
    simulation_wake(sim, &record->first_waiter);
    record->passed_ns = sim->now;
    if (sim->hooks.on_record != NULL)
        sim->hooks.on_record(sim->hooks.context, op_at(sim, op), sim->now);
}

/* Hands an op that is ready, and at the front of its hardware queue, to its engine. A record is
 * then over, and its stream goes on. */
static enum status engine_accept(struct simulation *sim, uint32_t op)
{
    enum op_kind kind = kind_of(sim, op);
    if (facts_of(sim, op)->is_launch)
        return kernels_accept(sim, op);
    if (kind == OP_RECORD) {
        pass_record(sim, op);
        waiters_note(&sim->waiters, stream_of(sim, op));
        return STATUS_OK;
    }
    if (kind == OP_CALLBACK)
        return turns_accept(sim, callbacks_of(sim, op), op);
    if (kind == OP_CPU)
        return turns_accept(sim, &sim->cpu, op);
    return copies_accept(sim, op);
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
            sim->waiting[queue->engine]--;
        status = engine_accept(sim, op);
    }
    if (status == STATUS_OK && queue->blocked.count > 0) /* there may be room in it now */
        status = host_find_room(sim, queue);
    return status;
}

static enum status op_ready(struct simulation *sim, uint32_t op)
{
    sim->ops[op].ready = true;
    int queue = sim->ops[op].queue;
    return queue < 0 ? engine_accept(sim, op) : queue_drain(sim, queue);
}

/* Returns when the head of a stream is ready: it has been launched, and has been told that what
 * came before it, and the events that its stream waited for, have ended. `woken`: see
 * stream_advance. */
static int64_t head_ready_ns(const struct simulation *sim, uint32_t op, bool woken)
{
    const struct machine *machine = sim->machine;
    const struct lane_state *lane = &sim->lanes[stream_of(sim, op)];
    enum op_kind kind = kind_of(sim, op);
    const struct kind_facts *facts = &sim->kinds[kind];
    int queue = sim->ops[op].queue; /* this one holds `op` */
    uint32_t others = queue >= 0 ? sim->waiting[sim->hardware_queues[queue].engine] - 1 : 0;
    int64_t ready = sim->now + (woken ? 0 : facts->launch_ns);
    int64_t signal_ns = lane->signal_ns;
    /* A recorded kernel's time includes its start and its end, which overlap the start of a
     * graph's next kernel: on an H200 each further kernel takes 0.9 us, which is what empty
     * kernels took. */
    const struct op_recorded *seen = plan_seen(sim->plan, op_at(sim, op));
    const int64_t gap_ns =
        seen != NULL && seen->in_graph ? seen->follow_ns : facts->same_engine_ns;
    if (lane->last_end_ns != NEVER && lane->last_kind == facts->engine_kind)
        ready = later(ready, lane->last_end_ns + gap_ns);
    else
        signal_ns = later(signal_ns, lane->last_end_ns);
    if (signal_ns != NEVER)
        ready = later(ready, signal_ns + rule_signal_ns(machine, kind, others));
    return ready + facts->begin_ns;
}

/* Returns when a graph's node starts whose dependencies are met at `ready_ns`: the device takes
 * it up now, or after those that it took up before. */
static int64_t graph_ready_ns(struct simulation *sim, int64_t ready_ns)
{
    int64_t begins = later(sim->node_free_ns, sim->now);
    sim->node_free_ns = begins + rule_graph_node_ns(sim->machine, sim->by_node);
    return later(ready_ns, sim->node_free_ns);
}

/* Returns when a callback at its stream's head can be called. After another one, which ends
 * now, the thread goes on with it. */
static int64_t callback_ready_ns(struct simulation *sim, uint32_t op)
{
    const struct lane_state *lane = &sim->lanes[stream_of(sim, op)];
    bool goes_on = lane->last_end_ns == sim->now && lane->last_kind == OP_CALLBACK;
    return goes_on ? sim->now : callbacks_told_ns(sim, op);
}

static enum status head_is_due(struct simulation *sim, uint32_t op, bool woken)
{
    bool callback = kind_of(sim, op) == OP_CALLBACK;
    int64_t ready = callback ? callback_ready_ns(sim, op) : head_ready_ns(sim, op, woken);
    if (sim->plan->issue == ISSUE_GRAPH && kind_of(sim, op) != OP_CPU)
        ready = graph_ready_ns(sim, ready);
    if (sim->sliced && facts_of(sim, op)->is_launch)
        sim->gpus[sim->lanes[stream_of(sim, op)].device].kernels_due++;
    int64_t delay = ready - sim->now;
    return delay > 0 ? simulation_post(sim, delay, EVENT_READY, op, 0) : op_ready(sim, op);
}

/* Passes the wait at the head of `stream` if its record has been passed, and returns true; if
 * not, the record wakes the stream. */
static bool pass_wait(struct simulation *sim, uint32_t stream, uint32_t op)
{
    if (sim->ops[op].record != NONE) {
        struct record_state *record = &sim->records[sim->ops[op].record];
        if (record->passed_ns == NEVER) {
            waiters_add(&sim->waiters, &record->first_waiter, stream);
            return false;
        }
        sim->lanes[stream].signal_ns = later(sim->lanes[stream].signal_ns, record->passed_ns);
    }
    simulation_pass_op(sim, op);
    return true;
}

/* Passes the records and finished waits at the head of a stream, up to the first op that needs
 * an engine or the first wait that is not over. `woken` says that the stream had waited for
 * something that has ended now; else the host has just issued its head. */
static enum status stream_advance(struct simulation *sim, uint32_t stream, bool woken)
{
    struct lane_state *lane = &sim->lanes[stream];
    while (lane->head != NONE && sim->ops[lane->head].issued) {
        uint32_t op = lane->head;
        enum op_kind kind = kind_of(sim, op);
        if (lane->unchecked != NONE && !checks_pass(sim, op))
            return STATUS_OK;
        if (sim->domains != NULL && !sync_passes(sim, op))
            return STATUS_OK;
        if (kind == OP_RECORD && sim->ops[op].queue < 0)
            pass_record(sim, op);
        else if (kind == OP_RECORD)
            return op_ready(sim, op);
        else if (kind != OP_WAIT)
            return head_is_due(sim, op, woken);
        else if (!pass_wait(sim, stream, op))
            return STATUS_OK;
    }
    return STATUS_OK;
}

static enum status advance_all(struct simulation *sim)
{
    enum status status = STATUS_OK;
    struct waiters *waiters = &sim->waiters;
    while (waiters->woken_count > 0 && status == STATUS_OK)
        status = stream_advance(sim, waiters->woken[--waiters->woken_count], true);
    return status;
}

/* A thread's call is over: its op may now be its stream's head, and the thread goes on. */
static enum status op_issued(struct simulation *sim, struct host_thread *thread)
{
    uint32_t op = thread->next, stream = stream_of(sim, op);
    enum status status = host_end_call(sim, thread);
    if (status == STATUS_OK && sim->lanes[stream].head == op)
        status = stream_advance(sim, stream, false);
    if (status == STATUS_OK)
        status = advance_all(sim);
    return status == STATUS_OK ? host_go_on(sim, thread) : status;
}

/* --- a plan that is launched as one graph --- */

/* Returns where the call will be when it next hands ops over: after all, or after the next node
 * and the records and waits that follow it. */
static uint32_t launched_next(const struct simulation *sim)
{
    const uint32_t count = sim->plan->op_count;
    uint32_t end = sim->launched;
    for (bool found = false; end < count; end++) {
        bool node = op_is_node(kind_of(sim, end));
        if (sim->by_node && node && found)
            break;
        found |= node;
    }
    return end;
}

/* Has the call go on to what it hands over next. */
static enum status graph_go_on(struct simulation *sim)
{
    sim->nodes = sim->by_node ? sim->nodes + 1 : plan_graph_nodes(sim->plan);
    int64_t at_ns = rule_graph_launch_ns(sim->machine, sim->nodes, sim->by_node);
    return simulation_post(sim, at_ns - sim->now, EVENT_LAUNCHED, launched_next(sim), 0);
}

/* Announces an op to the device, or to the CPU, whose ops need no call. */
static enum status graph_issue(struct simulation *sim, uint32_t op)
{
    const uint32_t stream = stream_of(sim, op);
    sim->ops[op].issued = true;
    simulation_enter_queue(sim, op);
    return sim->lanes[stream].head == op ? stream_advance(sim, stream, false) : STATUS_OK;
}

/* Begins the one call that issues all ops. The CPU takes up its ops before it ends. */
static enum status graph_begin(struct simulation *sim)
{
    enum status status = graph_go_on(sim);
    for (uint32_t i = 0; i < sim->plan->op_count && status == STATUS_OK; i++)
        status = kind_of(sim, i) == OP_CPU ? graph_issue(sim, i) : STATUS_OK;
    return status;
}

/* The call has handed over all ops before `end`: from here on only dependencies and engines
 * hold these up. It returns after the last. */
static enum status graph_launched(struct simulation *sim, uint32_t end)
{
    enum status status = STATUS_OK;
    for (; sim->launched < end && status == STATUS_OK; sim->launched++)
        if (kind_of(sim, sim->launched) != OP_CPU)
            status = graph_issue(sim, sim->launched);
    if (status == STATUS_OK && end < sim->plan->op_count)
        return graph_go_on(sim);
    sim->call_ended_ns = sim->timeline->launched_ns = sim->now;
    return status;
}

/* --- the loop --- */

static enum status dispatch(struct simulation *sim, const struct event *event)
{
    switch ((enum event_kind)event_kind(event)) {
    case EVENT_ISSUED:
        return op_issued(sim, &sim->threads[event->subject]);
    case EVENT_READY:
        return op_ready(sim, event->subject);
    case EVENT_FLOW:
        return copies_flow(sim, event->subject);
    case EVENT_COPIED:
        return copies_end(sim, event->subject);
    case EVENT_TURNED:
        return copies_turn(sim, event->subject);
    case EVENT_SLICE:
        return kernels_turn(sim, event->stamp);
    case EVENT_BLOCKS:
        return kernels_end_blocks(sim, event->subject, event->stamp);
    case EVENT_CALLED:
        return turns_end(sim, callbacks_of(sim, event->subject));
    case EVENT_CPU:
        return turns_end(sim, &sim->cpu);
    case EVENT_LAUNCHED:
        return graph_launched(sim, event->subject);
    case EVENT_CALL:
        return host_begin_call(sim, &sim->threads[event->subject]);
    }
    return STATUS_FAILED;
}

/* Returns the timer that goes off first. Engines take turns in patterns that repeat, so a
 * processor mostly predicts a branch here, and goes on before it knows the times that are
 * compared. The compiler would choose without a branch, by instructions that wait for those
 * times; told that a branch is hardly ever taken, it makes one. */
static struct event *first_timer(struct simulation *sim)
{
    struct event *first = &sim->timers[0];
    for (int i = 1; i < TIMERS_LEAST; i++) {
        bool before = event_before(&sim->timers[i], first);
        if (__builtin_expect_with_probability(before, false, 0.999))
            first = &sim->timers[i];
    }
    for (uint32_t i = TIMERS_LEAST; i < sim->timer_count; i++)
        first = event_before(&sim->timers[i], first) ? &sim->timers[i] : first;
    return first;
}

/* Takes the earliest event of all. Returns false when there is none. */
static bool take_next(struct simulation *sim, struct event *event)
{
    struct event *timer = first_timer(sim);
    if (sim->events.count > 0 && event_before(&sim->events.heap[0], timer))
        return event_queue_pop(&sim->events, event);
    *event = *timer;
    timer->time_ns = TIMER_OFF;
    return event->time_ns != TIMER_OFF;
}

static enum status run_to_end(struct simulation *sim)
{
    struct event event;
    bool graph = sim->plan->issue == ISSUE_GRAPH;
    enum status status = graph ? graph_begin(sim) : host_begin(sim);
    while (status == STATUS_OK && take_next(sim, &event)) {
        sim->now = event.time_ns;
        status = dispatch(sim, &event);
        if (status == STATUS_OK)
            status = advance_all(sim);
        if (status == STATUS_OK && sim->first_woken != NONE)
            status = host_continue_calls(sim);
    }
    return status;
}

/* Every op of a plan that plan_validate() accepts ends, on any machine that a machine file can
 * describe: an op waits only for what was issued before it. So if an op is left when there are
 * no more events, the caller did not call plan_validate(). */
static enum status check_all_ended(const struct simulation *sim)
{
    if (sim->ended == sim->plan->op_count)
        return STATUS_OK;
    char label[OP_LABEL];
    uint32_t left = 0;
    while (sim->ops[left].ended)
        left++;
    return error_set(sim->error, STATUS_FAILED,
                     "the plan never ends: op %" PRIu32 " (%s) is left", left,
                     plan_op_label(sim->plan, op_at(sim, left), label));
}

enum status simulator_check(const struct machine *machine, const struct plan *plan,
                            struct error *error)
{
    const bool taken = rule_takes_issue(machine, plan->issue);
    if (plan->issue == ISSUE_BATCH && !taken)
        return error_set(
            error, STATUS_USAGE,
            "--issue=batch: the machine %s knows no batches of copies, or its file "
            "does not say how they run (batch_gap_ns, issue_batch_copy_ns)",
            machine->name);
    if (plan->has_peers && plan->recorded == NULL && !machine_has_peers(machine))
        return error_set(error, STATUS_USAGE,
                         "%s: the machine %s has no devices that copy to each other, or its "
                         "file does not say how fast (peer_bytes_per_s, "
                         "peer_joint_bytes_per_s): %s",
                         plan->has_halo ? "--kernel=stencil" : "--exchange=peer", machine->name,
                         plan->has_halo ? "a stencil needs such devices, or one alone"
                                        : "allowed is host");
    if (plan_devices(plan) > 1 && rule_checks_dependencies(machine))
        return error_set(error, STATUS_USAGE,
                         "the machine %s is of a generation of which it is not known what "
                         "several devices do (compute capability 2.0 to 3.4)",
                         machine->name);
    if (plan->issue != ISSUE_GRAPH)
        return STATUS_OK;
    if (!taken)
        return error_set(error, STATUS_USAGE,
                         "--issue=graph: the machine %s knows no graphs, or its file does not "
                         "say what one costs (graph_launch_ns)",
                         machine->name);
    return plan_check_graph(plan, error);
}

static enum status set_up(struct simulation *sim)
{
    enum status status = simulation_set_up(sim);
    if (status == STATUS_OK)
        status = host_set_up(sim);
    if (status == STATUS_OK)
        checks_link(sim);
    return status == STATUS_OK && sim->needs_domains ? sync_link(sim) : status;
}

enum status simulator_run(const struct machine *machine, uint32_t queues,
                          const struct plan *plan, const struct simulator_hooks *hooks,
                          struct timeline *timeline, int64_t *issued_ns, struct error *error)
{
    struct simulation sim = {
        .machine = machine, .plan = plan, .timeline = timeline, .error = error};
    sim.by_node = plan_graph_by_node(plan, machine);
    sim.devices = plan_gpus(plan);
    sim.processes = plan->sharing != SHARING_NONE ? plan_devices(plan) : 1;
    sim.sliced = plan->sharing == SHARING_SLICES && sim.processes > 1;
    sim.gpu_count = sim.sliced ? sim.processes : sim.devices;
    sim.queues = sim.by_node ? plan->streams : queues > 0 ? queues : machine->queues;
    sim.queue_count = plan_devices(plan) * rule_queue_count(sim.queues);
    if (hooks != NULL)
        sim.hooks = *hooks;
    enum status status = simulator_check(machine, plan, error);
    if (status == STATUS_OK)
        status = timeline_begin(timeline, plan, error);
    if (status == STATUS_OK)
        status = set_up(&sim);
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

enum status simulator_time(const struct machine *machine, uint32_t queues,
                           const struct plan *plan, int64_t *time_ns, struct error *error)
{
    struct timeline timeline = {0};
    int64_t issued_ns;
    enum status status =
        simulator_run(machine, queues, plan, NULL, &timeline, &issued_ns, error);
    if (status == STATUS_OK)
        *time_ns = plan->recorded != NULL ? timeline_extent_ns(&timeline)
                                          : timeline_time_ns(&timeline);
    timeline_free(&timeline);
    return status;
}
