/* recorded_plan.c - see recorded_plan.h. */
#include "recorded_plan.h"

#include "plan/rules.h"
#include "plan/rules_blocks.h"

#include <stdlib.h>
#include <string.h>

static void *take(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* Returns how long `op` takes with the machine to itself. */
static int64_t alone_ns(const struct plan *built, const struct op *op,
                        const struct machine *machine)
{
    struct op first = *op;
    struct plan alone = *built;
    first.id = 0;
    alone.ops = &first;
    alone.op_count = 1;
    alone.issue = ISSUE_STREAMS;
    struct timeline timeline = sim_run(machine, &alone);
    int64_t ns = timeline.spans[0].end_ns - timeline.spans[0].start_ns;
    timeline_free(&timeline);
    return ns;
}

static void see(struct plan_recorded *recorded, const struct plan *built, const struct op *op,
                const struct machine *machine)
{
    struct op_recorded *seen = &recorded->ops[op->id];
    *seen = (struct op_recorded){
        .first_access = recorded->access_count,
        .span = UINT32_MAX,
        .sure = true,
        .pageable = built->memory == MEMORY_PAGEABLE && op_is_copy(op->kind),
    };
    seen->access_count = (uint32_t)op_accesses(op, &recorded->accesses[recorded->access_count]);
    recorded->access_count += seen->access_count;
    if (op->kind == OP_KERNEL) {
        seen->name = op->kernel.link;
        seen->fill = op->kernel.blocks / (double)machine_resident_blocks(machine);
    } else if (op_is_launch(op->kind)) {
        seen->fill = rule_memory_blocks(machine, op) / (double)machine_resident_blocks(machine);
    }
    seen->fill = seen->fill < 1 ? seen->fill : 1;
    if (op_is_launch(op->kind) || op->kind == OP_CALLBACK)
        seen->work_ns = alone_ns(built, op, machine);
    if (op->kind == OP_ALLOC)
        seen->work_ns = rule_call_ns(machine, op);
}

static struct plan_recorded *what_was_seen(const struct plan *built,
                                           const struct machine *machine)
{
    struct plan_recorded *recorded = take(1, sizeof *recorded);
    recorded->threads = 1;
    recorded->ops = take(built->op_count, sizeof *recorded->ops);
    recorded->accesses =
        take(built->op_count * (size_t)OP_ACCESS_MAX, sizeof *recorded->accesses);
    recorded->buffer_count = BUFFER_COUNT;
    recorded->buffers = take(BUFFER_COUNT, sizeof *recorded->buffers);
    for (int b = 0; b < BUFFER_COUNT; b++)
        recorded->buffers[b] = (struct recorded_buffer){.bytes = built->buffer_bytes[b],
                                                        .host = b < BUFFER_FIRST_DEVICE};
    recorded->name_count = (uint32_t)built->chain_length;
    recorded->names = take(recorded->name_count, sizeof *recorded->names);
    for (uint32_t i = 0; i < recorded->name_count; i++) {
        recorded->names[i] = strdup(built->chain[i]->name);
        ck_assert_ptr_nonnull(recorded->names[i]);
    }
    for (uint32_t i = 0; i < built->op_count; i++)
        see(recorded, built, &built->ops[i], machine);
    return recorded;
}

struct plan recorded_of(const struct plan *built, const struct machine *machine)
{
    struct plan plan = {0};
    struct error error = {0};
    ck_assert_uint_eq(built->cpu_tiles, 0);
    for (uint32_t i = 0; i < built->op_count; i++) {
        struct op op = built->ops[i];
        op.tile = -1;
        if (op.kind == OP_KERNEL)
            op.kernel.ranges = NULL;
        else if (op.kind == OP_CALLBACK)
            op.callback.ranges = NULL;
        ck_assert_int_eq(plan_append(&plan, &op, &error), STATUS_OK);
    }
    plan.streams = built->streams;
    plan.events = built->events;
    plan.launches_block = built->launches_block;
    plan.loads_lazily = built->loads_lazily;
    plan.issue = built->issue;
    if (built->priorities != NULL) {
        plan.priorities = take(plan.streams, sizeof *plan.priorities);
        memcpy(plan.priorities, built->priorities, plan.streams * sizeof *plan.priorities);
    }
    if (built->stream_kinds != NULL) {
        plan.stream_kinds = take(plan.streams, sizeof *plan.stream_kinds);
        memcpy(plan.stream_kinds, built->stream_kinds, plan.streams);
    }
    plan.recorded = what_was_seen(built, machine);
    ck_assert_msg(plan_validate(&plan, &error) == STATUS_OK, "%s", error.text);
    return plan;
}

uint32_t recorded_sync_event(struct plan *built, uint32_t event)
{
    struct op op = {.kind = OP_SYNC_EVENT, .stream = built->streams, .tile = -1};
    op.event.event = event;
    ck_assert_int_eq(plan_append(built, &op, NULL), STATUS_OK);
    return built->op_count - 1;
}
