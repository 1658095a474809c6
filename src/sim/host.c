/* host.c - the host's threads and their calls, what these cost and how long they wait (rule 6).
 *
 * A built plan has one thread, or one for each process, which makes one call behind another.
 * Those of a recorded plan
 * make their own calls, in the order of the plan, without regard to each other: a sync, an
 * allocation, a call that waits or a full queue holds up its own thread. What one thread does
 * for another is told by streams, events and syncs alone, and all of them go by the order of
 * the plan: an op takes its place in its stream and in its hardware queue even where another
 * thread has yet to issue one before it there, and waits for that; a sync waits for all that
 * comes before it in the plan. So an op depends only on those before it, and every plan ends.
 */
#include "sim/parts.h"

/* --- threads --- */

/* Returns the thread that makes the call for `op`. */
static struct host_thread *thread_of(struct simulation *sim, uint32_t op)
{
    if (sim->next_in_thread == NULL)
        return &sim->threads[0];
    const struct plan_recorded *recorded = sim->plan->recorded;
    return &sim->threads[recorded != NULL ? recorded->ops[op].thread : process_of(sim, op)];
}

static uint32_t next_call(const struct simulation *sim, uint32_t op)
{
    if (sim->next_in_thread != NULL)
        return sim->next_in_thread[op];
    return op + 1 < sim->plan->op_count ? op + 1 : NONE;
}

/* Links the calls of each of several threads. */
static void link_calls(struct simulation *sim)
{
    for (uint32_t i = sim->plan->op_count; i-- > 0;) {
        struct host_thread *thread = thread_of(sim, i);
        sim->next_in_thread[i] = thread->next;
        thread->next = i;
    }
}

enum status host_set_up(struct simulation *sim)
{
    const struct plan_recorded *recorded = sim->plan->recorded;
    sim->first_caller = sim->first_woken = NONE;
    sim->thread_count = recorded != NULL ? recorded->threads : sim->processes;
    sim->calls_wait = rule_calls_may_wait(sim->plan);
    sim->threads = arena_zeros(&sim->arena, sim->thread_count, sizeof *sim->threads);
    if (sim->thread_count > 1)
        sim->next_in_thread =
            arena_zeros(&sim->arena, sim->plan->op_count, sizeof *sim->next_in_thread);
    if (sim->arena.full)
        return error_no_memory(sim->error, "for the simulation");
    for (uint32_t i = 0; i < sim->thread_count; i++)
        sim->threads[i] = (struct host_thread){.next = NONE, .called = NONE};
    if (sim->thread_count > 1)
        link_calls(sim);
    else if (sim->plan->op_count > 0)
        sim->threads[0].next = 0;
    return STATUS_OK;
}

/* --- calls --- */

/* Loads the code for `call`, which is about to be made. Returns true if it was there. */
static bool load_code(struct simulation *sim, uint32_t call)
{
    if (!sim->plan->loads_lazily || kind_of(sim, call) != OP_KERNEL)
        return true;
    const struct op *op = op_at(sim, call);
    const struct op_recorded *seen = plan_seen(sim->plan, op);
    if (seen != NULL) {
        bool loaded = sim->names_loaded[seen->name];
        sim->names_loaded[seen->name] = true;
        return loaded;
    }
    const struct kernel *kernel = sim->plan->chain[op->kernel.link];
    for (uint32_t i = 0; i < sim->kernels_loaded; i++) {
        if (sim->loaded[i] == kernel)
            return true;
    }
    sim->loaded[sim->kernels_loaded++] = kernel;
    return false;
}

/* Returns the place of a thread among the threads. */
static uint32_t number_of(const struct simulation *sim, const struct host_thread *thread)
{
    return (uint32_t)(thread - sim->threads);
}

/* Posts the event that a thread makes or returns from a call `delay_ns` from now. */
static enum status post_call(struct simulation *sim, const struct host_thread *thread,
                             int64_t delay_ns, enum event_kind kind)
{
    const uint32_t number = number_of(sim, thread);
    return number == 0 ? simulation_set_timer(sim, THREAD_TIMER, delay_ns, kind, 0)
                       : simulation_post(sim, delay_ns, kind, number, 0);
}

/* Goes on with a thread's own call, whose wait is over. How long the driver takes to find
 * memory depends on much that no machine file says: where it was recorded, that is taken. */
static enum status end_wait(struct simulation *sim, struct host_thread *thread)
{
    const struct op *call = op_at(sim, thread->next);
    const struct op_recorded *seen = plan_seen(sim->plan, call);
    bool recorded = seen != NULL && call->kind == OP_ALLOC;
    int64_t call_ns = recorded ? seen->work_ns
                      : call->kind == OP_PACK
                          ? rule_pack_ns(sim->machine, sim->plan, call->move.to.bytes)
                          : rule_call_ns(sim->machine, call);
    if (!recorded && call->kind == OP_ALLOC && call->alloc.ordered && !sim->took) {
        sim->took = true;
        call_ns += rule_first_take_ns(sim->machine);
    }
    if (thread->waited && !recorded)
        call_ns += rule_hears_ns(sim->machine);
    thread->waited = false;
    return post_call(sim, thread, call_ns, EVENT_ISSUED);
}

/* Lets a thread wait in its own call, or go on with it. */
static enum status wait_in_call(struct simulation *sim, struct host_thread *thread)
{
    if (sync_call_is_over(sim, thread->next))
        return end_wait(sim, thread);
    thread->waited = true;
    uint32_t *first = sync_call_list(sim, thread->next);
    thread->next_blocked = *first;
    *first = number_of(sim, thread);
    return STATUS_OK;
}

enum status host_continue_calls(struct simulation *sim)
{
    enum status status = STATUS_OK;
    while (sim->first_woken != NONE && status == STATUS_OK) {
        struct host_thread *thread = &sim->threads[sim->first_woken];
        sim->first_woken = thread->next_blocked;
        status = wait_in_call(sim, thread);
    }
    return status;
}

/* Returns true if there is room in a queue for `op`. The first op that is to leave the queue
 * always finds some: ops behind it, of other threads, may have been issued before it. So does
 * a graph's node: the launch of all of them took the room. */
static bool has_room(const struct simulation *sim, const struct hardware_queue *queue,
                     uint32_t op)
{
    const struct op_recorded *seen = plan_seen(sim->plan, op_at(sim, op));
    return (seen != NULL && seen->in_graph) ||
           queue->length + queue->calls < sim->machine->queue_depth || queue->front == op;
}

/* Makes the call that is a thread's next. Where its queue is full, the thread waits there. */
static enum status make_call(struct simulation *sim, struct host_thread *thread)
{
    const uint32_t op = thread->next;
    const struct kind_facts *facts = facts_of(sim, op);
    if (facts->is_call) {
        span_at(sim, op)->start_ns = thread->begin_ns;
        return wait_in_call(sim, thread);
    }
    int number = sim->ops[op].queue;
    struct hardware_queue *queue = number >= 0 ? &sim->hardware_queues[number] : NULL;
    if (queue != NULL && !has_room(sim, queue, op)) {
        if (event_queue_push(&queue->blocked, op, 0, number_of(sim, thread), 0))
            return STATUS_OK;
        return error_no_memory(sim->error, "for the simulation");
    }
    if (queue != NULL)
        queue->calls++;
    const struct op_recorded *seen = plan_seen(sim->plan, op_at(sim, op));
    const bool known = seen != NULL && seen->call_ns > 0;
    int64_t call_ns =
        known ? seen->call_ns : facts->issue_ns + later(0, thread->held_until_ns - sim->now);
    call_ns += rule_load_ns(sim->machine, load_code(sim, op));
    if (sim->plan->issue == ISSUE_BATCH)
        call_ns += rule_issue_batch_ns(sim->machine, rule_copies(sim->plan, op_at(sim, op)));
    if (sim->calls_wait && rule_call_hands_over(sim->machine, sim->plan, op_at(sim, op)))
        call_ns += rule_piece_ns(sim->machine, OP_H2D, op_at(sim, op)->copy.host.bytes);
    return post_call(sim, thread, call_ns, EVENT_ISSUED);
}

void host_hold(struct simulation *sim, uint32_t op)
{
    thread_of(sim, op)->held_until_ns = sim->now + rule_callback_holds_ns(sim->machine);
}

enum status host_begin_call(struct simulation *sim, struct host_thread *thread)
{
    thread->begin_ns = sim->now;
    return make_call(sim, thread);
}

/* Lets a thread go on to its next call, if there is one, in `after_ns`. It first does what else
 * it had to do. */
static enum status go_on(struct simulation *sim, struct host_thread *thread, int64_t after_ns)
{
    if (thread->next == NONE)
        return STATUS_OK;
    const struct plan_recorded *recorded = sim->plan->recorded;
    const struct op_recorded *seen = recorded != NULL ? &recorded->ops[thread->next] : NULL;
    if (seen != NULL && seen->host_ns > 0)
        after_ns += seen->host_ns;
    if (after_ns > 0)
        return post_call(sim, thread, after_ns, EVENT_CALL);
    return host_begin_call(sim, thread);
}

enum status host_begin(struct simulation *sim)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < sim->thread_count && status == STATUS_OK; i++)
        status = go_on(sim, &sim->threads[i], 0);
    return status;
}

enum status host_find_room(struct simulation *sim, struct hardware_queue *queue)
{
    enum status status = STATUS_OK;
    struct event first;
    while (status == STATUS_OK && queue->blocked.count > 0 &&
           has_room(sim, queue, (uint32_t)queue->blocked.heap[0].time_ns) &&
           event_queue_pop(&queue->blocked, &first))
        status = make_call(sim, &sim->threads[first.subject]);
    return status;
}

/* Keeps the latest return of all calls: one that hears later returns after one that another
 * thread makes meanwhile. */
static void note_return(struct simulation *sim, int64_t at_ns)
{
    if (at_ns > sim->call_ended_ns)
        sim->call_ended_ns = at_ns;
}

enum status host_return_call(struct simulation *sim, uint32_t op)
{
    if (!sim->calls_wait)
        return STATUS_OK;
    struct host_thread *thread = thread_of(sim, op);
    if (thread->called != op)
        return STATUS_OK;
    const bool hears = rule_call_hears(sim->plan, op_at(sim, op));
    const int64_t after_ns = hears ? rule_hears_ns(sim->machine) : 0;
    thread->called = NONE;
    note_return(sim, sim->now + after_ns);
    if (sim->timeline->op_calls != NULL)
        sim->timeline->op_calls[op].returned_ns = sim->now + after_ns;
    return go_on(sim, thread, after_ns);
}

enum status host_end_call(struct simulation *sim, struct host_thread *thread)
{
    const uint32_t op = thread->next;
    const enum op_kind kind = kind_of(sim, op);
    struct op_state *state = &sim->ops[op];
    if (sim->calls_wait && rule_call_waits(sim->plan, op_at(sim, op)) &&
        !rule_call_hands_over(sim->machine, sim->plan, op_at(sim, op)))
        thread->called = op;
    state->issued = true;
    note_return(sim, sim->now);
    sim->timeline->issue_ns[op] = thread->begin_ns;
    if (sim->timeline->op_calls != NULL)
        sim->timeline->op_calls[op].issued_ns = sim->timeline->op_calls[op].returned_ns =
            sim->now;
    if (kind != OP_RECORD)
        span_at(sim, op)->issue_ns = thread->begin_ns;
    thread->next = next_call(sim, op);
    if (sim->kinds[kind].is_launch) /* its blocks are asked for when it is ready */
        __builtin_prefetch(op_at(sim, op));
    if (sim->kinds[kind].is_call) {
        span_at(sim, op)->end_ns = sim->now;
        state->ended = true;
        sim->ended++;
        bool moves = kind == OP_PACK && sim->hooks.on_end != NULL;
        return moves ? sim->hooks.on_end(sim->hooks.context, op_at(sim, op), sim->error)
                     : STATUS_OK;
    }
    if (state->queue >= 0)
        sim->hardware_queues[state->queue].calls--;
    simulation_enter_queue(sim, op);
    return STATUS_OK;
}

enum status host_go_on(struct simulation *sim, struct host_thread *thread)
{
    return thread->called != NONE ? STATUS_OK : go_on(sim, thread, 0);
}
