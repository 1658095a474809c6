/* state.c - a simulation's memory, and what all its parts use: events, lines, waiters. */
#include "sim/parts.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- events, lines, waiters --- */

enum status simulation_never(struct simulation *sim)
{
    return error_set(sim->error, STATUS_FAILED,
                     "on this machine the plan would take more than 36 years");
}

enum status simulation_post(struct simulation *sim, int64_t delay_ns, enum event_kind kind,
                            uint32_t subject, uint32_t stamp)
{
    if (delay_ns >= MACHINE_NEVER_NS - sim->now)
        return simulation_never(sim);
    if (!event_queue_push(&sim->events, sim->now + delay_ns, kind, subject, stamp))
        return error_no_memory(sim->error, "for the simulation");
    return STATUS_OK;
}

static void line_init(struct line *line)
{
    line->first = line->last = NONE;
}

void simulation_signal(struct simulation *sim, uint32_t count)
{
    for (; count < sim->waiters.woken_count; count++)
        sim->lanes[sim->waiters.woken[count]].signal_ns = sim->now;
}

void simulation_wake(struct simulation *sim, uint32_t *first)
{
    uint32_t count = sim->waiters.woken_count;
    waiters_wake(&sim->waiters, first);
    simulation_signal(sim, count);
}

/* --- set-up --- */

/* Returns true if an op holds up, or waits for, more than its own stream. */
static bool needs_domains(const struct simulation *sim, enum op_kind kind)
{
    bool memory = kind == OP_MEMSET || kind == OP_D2D;
    return memory && rule_op_synchronises(sim->machine, kind);
}

/* Links op `i`, which takes its turn in a stream, to the one before it there and in its
 * hardware queue. An event that keeps the time takes a place in the queue of the work before
 * it, and leaves that when the work has ended; other events have none. [Measured on an H200] */
static void link_in_stream(struct simulation *sim, uint32_t i, uint32_t *last_in_stream,
                           uint32_t *last_in_queue)
{
    struct op_state *state = &sim->ops[i];
    uint32_t *last = &last_in_stream[state->stream];
    *(*last == NONE ? &sim->lanes[state->stream].head : &sim->ops[*last].next_in_stream) = i;
    *last = i;
    if (sim->plan->issue == ISSUE_GRAPH && !sim->by_node)
        return; /* no branch of a graph holds up another, as streams in a queue do */
    const struct stream_home home = plan_stream_home(sim->plan, state->stream);
    const struct op_recorded *seen = plan_seen(sim->plan, op_at(sim, i));
    int queue = rule_queue(sim->machine, sim->queues, kind_of(sim, i), home.number);
    if (queue >= 0)
        queue += (int)(home.device * (QUEUE_KINDS * sim->queues));
    else if (seen != NULL && seen->timed)
        queue = sim->lanes[state->stream].queue;
    if (queue < 0)
        return;
    sim->lanes[state->stream].queue = (int16_t)queue;
    state->queue = (int16_t)queue;
    last = &last_in_queue[queue];
    uint32_t *front = &sim->hardware_queues[queue].front;
    *(*last == NONE ? front : &sim->ops[*last].next_in_line) = i;
    *last = i;
}

/* Links the ops of each stream and of each hardware queue, and waits to their records. Spans
 * tell an op's kind and stream in less memory than ops; records alone have none. */
static void link_ops(struct simulation *sim, uint32_t *last_in_stream, uint32_t *last_in_queue,
                     uint32_t *event_record)
{
    const struct span *spans = sim->timeline->spans;
    for (uint32_t i = 0, span = 0, record = 0; i < sim->plan->op_count; i++) {
        struct op_state *state = &sim->ops[i];
        plan_fetch_ahead(sim->plan, i);
        *state = (struct op_state){
            .next_in_stream = NONE, .next_in_line = NONE, .span = span, .queue = -1};
        if (span < sim->timeline->span_count && spans[span].op == i) {
            state->kind = spans[span].kind;
            state->stream = spans[span++].stream;
            if (state->kind == OP_WAIT || state->kind == OP_SYNC_EVENT)
                state->record = event_record[op_at(sim, i)->event.event];
        } else { /* records alone have no span */
            const struct op *op = op_at(sim, i);
            state->kind = OP_RECORD;
            state->stream = op->stream;
            sim->records[record] = (struct record_state){NEVER, NONE, op->stream};
            state->record = event_record[op->event.event] = record++;
        }
        sim->needs_domains |= needs_domains(sim, kind_of(sim, i));
        if (sim->kinds[state->kind].is_launch && !sim->lanes[state->stream].launches) {
            sim->lanes[state->stream].launches = true;
            sim->launching++;
        }
        if (!op_is_call(kind_of(sim, i)))
            link_in_stream(sim, i, last_in_stream, last_in_queue);
    }
}

static enum status no_memory(struct simulation *sim)
{
    return error_no_memory(sim->error, "to simulate %" PRIu32 " ops", sim->plan->op_count);
}

static enum status link_all(struct simulation *sim)
{
    const size_t streams = sim->plan->streams + (size_t)1;
    struct arena arena = {0};
    uint32_t *last_in_stream = arena_ones(&arena, streams, sizeof *last_in_stream);
    uint32_t *last_in_queue = arena_ones(&arena, sim->queue_count, sizeof *last_in_queue);
    uint32_t *event_record = arena_ones(&arena, sim->plan->events, sizeof *event_record);
    enum status status = STATUS_OK;
    if (!arena.full)
        link_ops(sim, last_in_stream, last_in_queue, event_record);
    else
        status = no_memory(sim);
    arena_free(&arena);
    return status;
}

static void find_levels(struct simulation *sim)
{
    int least = 0;
    sim->most_urgent = 0;
    for (uint32_t i = 0; sim->plan->priorities != NULL && i < sim->plan->streams; i++) {
        int priority = sim->plan->priorities[i];
        least = priority > least ? priority : least;
        sim->most_urgent = priority < sim->most_urgent ? priority : sim->most_urgent;
    }
    sim->level_count = least - sim->most_urgent + 1;
}

static enum status take_memory(struct simulation *sim)
{
    size_t ops = sim->plan->op_count + (size_t)1, streams = sim->plan->streams + (size_t)1;
    struct arena *arena = &sim->arena;
    find_levels(sim);
    sim->ops = arena_zeros(arena, ops, sizeof *sim->ops);
    sim->records = arena_zeros(arena, ops - sim->timeline->span_count, sizeof *sim->records);
    sim->lanes = arena_zeros(arena, streams, sizeof *sim->lanes);
    waiters_init(&sim->waiters, sim->plan->streams, arena);
    sim->hardware_queues = arena_zeros(arena, sim->queue_count, sizeof *sim->hardware_queues);
    for (uint32_t i = 0; i < sim->gpu_count; i++)
        sim->gpus[i].levels =
            arena_zeros(arena, (size_t)sim->level_count, sizeof *sim->gpus[i].levels);
    const struct plan_recorded *recorded = sim->plan->recorded;
    if (recorded != NULL)
        sim->names_loaded = arena_zeros(arena, recorded->name_count, sizeof *sim->names_loaded);
    if (rule_checks_dependencies(sim->machine))
        sim->checks = arena_zeros(arena, ops, sizeof *sim->checks);
    return arena->full ? no_memory(sim) : STATUS_OK;
}

void simulation_free(struct simulation *sim)
{
    for (uint32_t i = 0; sim->hardware_queues != NULL && i < sim->queue_count; i++)
        event_queue_free(&sim->hardware_queues[i].blocked);
    for (uint32_t i = 0; i < sim->gpu_count; i++)
        free(sim->gpus[i].groups);
    event_queue_free(&sim->events);
    arena_free(&sim->arena);
}

static uint8_t stream_device(const struct simulation *sim, uint32_t stream)
{
    return (uint8_t)plan_stream_home(sim->plan, stream).device;
}

/* Asks the rules about the copies of a plan that are prefetches: one engine moves the pages of
 * both directions. */
static void find_prefetch_facts(struct simulation *sim)
{
    static const enum op_kind kinds[] = {OP_H2D, OP_D2H};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct kind_facts *facts = &sim->kinds[kinds[i]];
        facts->copy_engine = COPIES_IN;
        facts->begin_ns = rule_prefetch_begin_ns(sim->machine, kinds[i]);
        facts->latency_ns = rule_prefetch_ns(sim->machine, kinds[i]);
        facts->bytes_per_s[false] = facts->bytes_per_s[true] =
            rule_prefetch_bytes_per_s(sim->machine, kinds[i]);
    }
}

/* Asks the rules about each kind of op. */
static void find_facts(struct simulation *sim)
{
    const struct machine *machine = sim->machine;
    const bool whole_graph = sim->plan->issue == ISSUE_GRAPH && !sim->by_node;
    for (int k = 0; k < OP_KIND_COUNT; k++) {
        const enum op_kind kind = (enum op_kind)k;
        sim->kinds[k] = (struct kind_facts){
            .is_launch = op_is_launch(kind),
            .is_call = op_is_call(kind),
            .engine_kind = op_is_launch(kind) ? OP_KERNEL : (uint8_t)kind,
            .copy_engine = (uint8_t)rule_copy_engine(machine, kind),
            .issue_ns = rule_issue_ns(machine, kind),
            .launch_ns = rule_launch_ns(machine, kind),
            .same_engine_ns = rule_same_engine_ns(machine, kind, whole_graph),
            .latency_ns = rule_copy_latency_ns(machine, kind),
            .bytes_per_s = {rule_copy_bytes_per_s(machine, kind, false),
                            rule_copy_bytes_per_s(machine, kind, true)},
        };
    }
}

enum status simulation_set_up(struct simulation *sim)
{
    enum status status = take_memory(sim);
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i <= sim->plan->streams; i++)
        sim->lanes[i] =
            (struct lane_state){.head = NONE,
                                .first_caller = NONE,
                                .unchecked = NONE,
                                .queue = -1,
                                .device = sim->gpu_count > 1 ? stream_device(sim, i) : 0,
                                .process = sim->processes > 1 ? stream_device(sim, i) : 0,
                                .last_end_ns = NEVER,
                                .signal_ns = NEVER};
    for (uint32_t i = 0; i < sim->queue_count; i++)
        sim->hardware_queues[i] =
            (struct hardware_queue){.engine = i / sim->queues, .front = NONE};
    for (uint32_t i = 0; i < sim->gpu_count; i++) {
        for (int level = 0; level < sim->level_count; level++)
            line_init(&sim->gpus[i].levels[level]);
        sim->gpus[i].blocks_ended_ns = -1;
    }
    for (uint32_t i = 0; i < COPY_ENGINES * sim->devices; i++) {
        line_init(&sim->copies[i].line);
        sim->copies[i].op = sim->copies[i].follower = NONE;
    }
    sim->timer_count = sim->plan->recorded != NULL || sim->devices > 1
                           ? 1 + COPY_ENGINES * sim->devices
                           : TIMERS_LEAST;
    for (uint32_t i = 0; i < sim->timer_count; i++)
        sim->timers[i].time_ns = TIMER_OFF;
    for (uint32_t i = 0; i < sim->processes; i++) {
        line_init(&sim->callbacks[i].line);
        sim->callbacks[i].op = NONE;
        sim->callbacks[i].awake_ns = sim->callbacks[i].done_ns = -RULE_SLEEP_BEFORE_NS;
    }
    line_init(&sim->cpu.line);
    sim->cpu.op = NONE;
    find_facts(sim);
    if (sim->plan->prefetches)
        find_prefetch_facts(sim);
    sim->needs_domains = sim->plan->stream_kinds != NULL;
    sim->resident_blocks = machine_resident_blocks(sim->machine);
    return link_all(sim);
}
