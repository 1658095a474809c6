/* setup.c - takes a simulation's memory and links its ops. */
#include "sim/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void line_init(struct line *line)
{
    line->first = line->last = NONE;
}

/* Links the ops of each stream and of each hardware queue, and waits to their records. */
static void link_ops(struct simulation *sim, uint32_t *last_in_stream, uint32_t *last_in_queue,
                     uint32_t *event_record)
{
    for (uint32_t i = 0, spans = 0; i < sim->plan->op_count; i++) {
        const struct op *op = op_at(sim, i);
        struct op_state *state = &sim->ops[i];
        *state = (struct op_state){.next_in_stream = NONE, .next_in_line = NONE, .queue = -1};
        sim->needs_sync |= sync_is_needed(sim, op);
        if (op_is_call(op->kind)) { /* in no stream, and nobody's work */
            state->span = spans++;
            continue;
        }
        uint32_t *last = &last_in_stream[op->stream];
        *(*last == NONE ? &sim->streams[op->stream].head : &sim->ops[*last].next_in_stream) = i;
        *last = i;
        int queue = -1; /* a graph's branches are no streams: none holds another up */
        if (sim->plan->issue == ISSUE_STREAMS)
            queue = rule_queue(sim->machine, sim->queues, op->kind, op->stream);
        state->queue = (int16_t)queue;
        if (queue >= 0) {
            last = &last_in_queue[queue];
            uint32_t *front = &sim->hardware_queues[queue].front;
            *(*last == NONE ? front : &sim->ops[*last].next_in_line) = i;
            *last = i;
        }
        if (op->kind == OP_WAIT)
            state->record = event_record[op->event.event];
        if (op->kind == OP_RECORD) {
            event_record[op->event.event] = i;
            state->first_waiter = NONE;
        } else {
            state->span = spans++;
        }
    }
}

static uint32_t *none_filled(size_t count)
{
    uint32_t *values = malloc((count + 1) * sizeof *values);
    if (values != NULL)
        memset(values, 0xFF, (count + 1) * sizeof *values);
    return values;
}

static enum status no_memory(struct simulation *sim)
{
    return error_set(sim->error, STATUS_FAILED, "no memory to simulate %" PRIu32 " ops",
                     sim->plan->op_count);
}

static enum status link_all(struct simulation *sim)
{
    uint32_t *last_in_stream = none_filled(sim->plan->streams + (size_t)1);
    uint32_t *last_in_queue = none_filled(rule_queue_count(sim->queues));
    uint32_t *event_record = none_filled(sim->plan->events);
    enum status status = STATUS_OK;
    if (last_in_stream && last_in_queue && event_record)
        link_ops(sim, last_in_stream, last_in_queue, event_record);
    else
        status = no_memory(sim);
    free(last_in_stream);
    free(last_in_queue);
    free(event_record);
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
    find_levels(sim);
    sim->ops = malloc(ops * sizeof *sim->ops);
    sim->streams = malloc(streams * sizeof *sim->streams);
    sim->to_advance = malloc(2 * streams * sizeof *sim->to_advance);
    sim->hardware_queues = calloc(rule_queue_count(sim->queues), sizeof *sim->hardware_queues);
    sim->levels = calloc((size_t)sim->level_count, sizeof *sim->levels);
    if (!sim->ops || !sim->streams || !sim->to_advance || !sim->hardware_queues || !sim->levels)
        return no_memory(sim);
    if (!rule_checks_dependencies(sim->machine))
        return STATUS_OK;
    sim->checks = calloc(ops, sizeof *sim->checks);
    return sim->checks != NULL ? STATUS_OK : no_memory(sim);
}

void simulation_free(struct simulation *sim)
{
    free(sim->ops);
    free(sim->streams);
    free(sim->checks);
    sync_free(sim);
    free(sim->to_advance);
    free(sim->hardware_queues);
    free(sim->levels);
    free(sim->groups);
    event_queue_free(&sim->events);
}

enum status simulation_set_up(struct simulation *sim)
{
    enum status status = take_memory(sim);
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i <= sim->plan->streams; i++)
        sim->streams[i] = (struct stream_state){.head = NONE,
                                                .next_waiter = NONE,
                                                .unchecked = NONE,
                                                .last_end_ns = NEVER,
                                                .signal_ns = NEVER};
    for (uint32_t i = 0; i < rule_queue_count(sim->queues); i++)
        sim->hardware_queues[i].front = NONE;
    for (int i = 0; i < sim->level_count; i++)
        line_init(&sim->levels[i]);
    for (int i = 0; i < 2; i++) {
        line_init(&sim->copies[i].line);
        sim->copies[i].op = sim->copies[i].follower = NONE;
    }
    line_init(&sim->callbacks.line);
    line_init(&sim->cpu.line);
    sim->callbacks.op = sim->cpu.op = NONE;
    sim->resident_blocks = machine_resident_blocks(sim->machine);
    sim->called = NONE;
    status = link_all(sim);
    if (status == STATUS_OK)
        checks_link(sim);
    if (status == STATUS_OK && sim->needs_sync)
        status = sync_link(sim);
    return status;
}
