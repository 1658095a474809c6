/* parts.h - what the simulator's files call of one another: private to them.
 *
 * Each file calls only files above it in this list:
 *
 *   sim/state.c      memory, events to come, lines of ops, streams that wait
 *   sim/checks.c     rule 5: what old GPUs check before an op that follows a kernel
 *   sim/ops.c        ops that others wait for; an op's start and end
 *   sim/host.c       the host's threads and their calls
 *   sim/engines.c    copies, callbacks, the CPU
 *   sim/slices.c     whose turn it is where processes share a device
 *   sim/kernels.c    kernels
 *   sim/simulator.c  streams, hardware queues, graphs, the loop
 *
 * What an op's end sets free is noted in `waiters`; the loop acts on the note. */
#ifndef PIPELINE_SIM_PARTS_H
#define PIPELINE_SIM_PARTS_H

#include "sim/state.h"

static inline const struct op *op_at(const struct simulation *sim, uint32_t op)
{
    return &sim->plan->ops[op];
}

static inline enum op_kind kind_of(const struct simulation *sim, uint32_t op)
{
    return (enum op_kind)sim->ops[op].kind;
}

static inline uint32_t stream_of(const struct simulation *sim, uint32_t op)
{
    return sim->ops[op].stream;
}

/* Returns the process that makes the call for `op`. Calls for no stream, which are the host's
 * own, are made by the one that made the call before. */
static inline uint32_t process_of(const struct simulation *sim, uint32_t op)
{
    while (sim->processes > 1 && op > 0 && op_at(sim, op)->stream >= sim->plan->streams)
        op--;
    return sim->processes > 1 ? sim->lanes[op_at(sim, op)->stream].process : 0;
}

static inline struct span *span_at(const struct simulation *sim, uint32_t op)
{
    return &sim->timeline->spans[sim->ops[op].span];
}

static inline const struct kind_facts *facts_of(const struct simulation *sim, uint32_t op)
{
    return &sim->kinds[sim->ops[op].kind];
}

/* Takes memory and links the ops; simulation_free() gives it back in any case. */
enum status simulation_set_up(struct simulation *sim);
void simulation_free(struct simulation *sim);

/* Posts an event `delay_ns` from now. */
enum status simulation_post(struct simulation *sim, int64_t delay_ns, enum event_kind kind,
                            uint32_t subject, uint32_t stamp);

/* Refuses an event that is too far away to be told. */
enum status simulation_never(struct simulation *sim);

/* Posts the event of what has one to come at most: a copy engine, and the first thread. Each
 * has a timer, which this sets, and only the rest of all events go through the queue. */
#define TIMER_OFF INT64_MAX
static inline enum status simulation_set_timer(struct simulation *sim, uint32_t timer,
                                               int64_t delay_ns, enum event_kind kind,
                                               uint32_t subject)
{
    if (delay_ns >= MACHINE_NEVER_NS - sim->now)
        return simulation_never(sim);
    sim->timers[timer] = event_make(&sim->events, sim->now + delay_ns, kind, subject, 0);
    return STATUS_OK;
}

/* Ops enter a line at its end or, before all others, at its front; they leave at the front. */
static inline void line_push(struct simulation *sim, struct line *line, uint32_t op)
{
    sim->ops[op].next_in_line = NONE;
    if (line->first == NONE)
        line->first = op;
    else
        sim->ops[line->last].next_in_line = op;
    line->last = op;
}

static inline void line_push_front(struct simulation *sim, struct line *line, uint32_t op)
{
    sim->ops[op].next_in_line = line->first;
    if (line->first == NONE)
        line->last = op;
    line->first = op;
}

static inline uint32_t line_pop(struct simulation *sim, struct line *line)
{
    uint32_t op = line->first;
    line->first = sim->ops[op].next_in_line;
    return op;
}

/* Counts an op that is issued in its hardware queue, if it has one. */
static inline void simulation_enter_queue(struct simulation *sim, uint32_t op)
{
    if (sim->ops[op].queue < 0)
        return;
    struct hardware_queue *queue = &sim->hardware_queues[sim->ops[op].queue];
    if (queue->length++ == 0)
        sim->waiting[queue->engine]++;
}

/* Wakes the streams that wait in the list from *first, and tells them of an end now. */
void simulation_wake(struct simulation *sim, uint32_t *first);

/* Tells the streams woken since there were `count` of them of an end now. */
void simulation_signal(struct simulation *sim, uint32_t count);

/* --- sim/checks.c: on a machine without rule 5 nothing of it does anything --- */

/* Finds the kernels that are issued back to back. */
void checks_link(struct simulation *sim);

/* Returns true if `op`, the head of a stream with something unchecked, may go; if not, its
 * stream is woken when that may change. */
bool checks_pass(struct simulation *sim, uint32_t op);

/* Returns true if a kernel that wants to start is held back by one that still runs. */
bool checks_hold_kernel(const struct simulation *sim, uint32_t op);

/* Takes note that all blocks of a kernel have started, or that it has ended. */
void checks_kernel_placed(struct simulation *sim, uint32_t op);
void checks_kernel_ended(struct simulation *sim, uint32_t op);

/* --- sim/ops.c --- */

/* Takes memory for the domains and finds their barriers; simulation_free() gives it back. */
enum status sync_link(struct simulation *sim);

/* In a simulation with `domains`: returns true if `op`, the head of its stream, may go; if not,
 * its stream is woken when it may. */
bool sync_passes(struct simulation *sim, uint32_t op);

/* Returns true if what the host's own call `call` waits for is done; if not, and the thread is
 * put on the list that sync_call_list() returns, the end of an op wakes it to look again. */
bool sync_call_is_over(struct simulation *sim, uint32_t call);
uint32_t *sync_call_list(struct simulation *sim, uint32_t call);

/* Begins and ends an op on an engine, and its span; its stream is then noted in `waiters`. */
enum status simulation_start_op(struct simulation *sim, uint32_t op);
enum status simulation_end_op(struct simulation *sim, uint32_t op);

/* Marks `op` as ended, as far as its stream goes: the next op is the stream's head. */
void simulation_pass_op(struct simulation *sim, uint32_t op);

/* --- sim/host.c --- */

/* Takes memory for the threads and links their calls; simulation_free() gives it back. */
enum status host_set_up(struct simulation *sim);

/* Lets all threads begin; and a thread make its next call, to which it has come. */
enum status host_begin(struct simulation *sim);
enum status host_begin_call(struct simulation *sim, struct host_thread *thread);

/* Goes on with those of the woken threads whose wait is over. */
enum status host_continue_calls(struct simulation *sim);

/* Lets threads that wait for room in a queue look again. */
enum status host_find_room(struct simulation *sim, struct hardware_queue *queue);

/* Holds up calls that the thread which issued callback `op` begins soon: for it the driver's
 * thread wakes now. */
void host_hold(struct simulation *sim, uint32_t op);

/* Takes note that a thread's call has issued its op, or done its own work; lets the thread go
 * on, unless the call waits; and returns from the call for `op`, if that still waits. */
enum status host_end_call(struct simulation *sim, struct host_thread *thread);
enum status host_go_on(struct simulation *sim, struct host_thread *thread);
enum status host_return_call(struct simulation *sim, uint32_t op);

/* --- sim/engines.c and sim/kernels.c --- */

/* Hand over an op that is ready, and at the front of its hardware queue: a copy; a callback or
 * an op of the CPU's; a launch, which enters the line of its priority. */
enum status copies_accept(struct simulation *sim, uint32_t op);
enum status turns_accept(struct simulation *sim, struct turn_engine *engine, uint32_t op);

/* Returns when the driver's thread of its process can run callback `op`, to which its stream
 * comes now: it is told of it, and woken if it sleeps. */
int64_t callbacks_told_ns(struct simulation *sim, uint32_t op);
enum status kernels_accept(struct simulation *sim, uint32_t op);

/* The copy on engine `index` begins to move bytes; it has moved the last; the engine can take
 * its next one. */
enum status copies_flow(struct simulation *sim, uint32_t index);
enum status copies_end(struct simulation *sim, uint32_t index);
enum status copies_turn(struct simulation *sim, uint32_t index);

/* The op at work is done; the blocks of a group end, unless `stamp` has been overtaken. */
enum status turns_end(struct simulation *sim, struct turn_engine *engine);
enum status kernels_end_blocks(struct simulation *sim, uint32_t number, uint32_t stamp);

/* A slice, or the change to another process, is over, unless `stamp` has been overtaken. */
enum status kernels_turn(struct simulation *sim, uint32_t stamp);

/* --- sim/slices.c: of a simulation that is `sliced` --- */

/* Returns true if kernels of that process may run now. */
bool slices_holds(const struct simulation *sim, const struct gpu *gpu);

/* Takes note that kernels came or ended: it may be another process's turn. */
enum status slices_look(struct simulation *sim);

/* Ends a slice: the EVENT_SLICE that counts has come. */
enum status slices_turn(struct simulation *sim);

#endif
