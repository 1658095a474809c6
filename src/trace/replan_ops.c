/* replan_ops.c - the ops of a recording's plan, one by one, and what they refer to. */
#include "trace/replan_parts.h"

#include "analysis/traced.h"
#include "core/items.h"
#include "trace/build.h"

#include <string.h>

/* --- streams and names --- */

uint32_t replan_add_stream(struct replan *replan, enum stream_kind kind, int32_t priority)
{
    struct plan *plan = replan->plan;
    if (!ITEMS_ROOM(plan->stream_kinds, plan->streams, replan->kind_room) ||
        !ITEMS_ROOM(plan->priorities, plan->streams, replan->priority_room)) {
        replan_no_memory(replan);
        return RECORDING_NONE;
    }
    plan->stream_kinds[plan->streams] = (uint8_t)kind;
    plan->priorities[plan->streams] = kind == STREAM_LEGACY ? 0 : priority;
    return plan->streams++;
}

bool replan_is_ours(const struct replan *replan, uint32_t stream)
{
    return stream < replan->recording->stream_count &&
           replan->recording->streams[stream].device == replan->device;
}

/* Each of several contexts has a default stream of its own, and a plan has one: the others
 * become blocking streams, as do those of which the kind is not known, since that is how
 * cudaStreamCreate() makes them. */
uint32_t replan_find_stream(struct replan *replan, uint32_t stream)
{
    const struct recorded_stream *seen = &replan->recording->streams[stream];
    if (replan->streams[stream] == RECORDING_NONE) {
        enum stream_kind kind =
            seen->kind < STREAM_KIND_COUNT ? (enum stream_kind)seen->kind : STREAM_BLOCKING;
        if (kind == STREAM_LEGACY && replan->legacy)
            kind = STREAM_BLOCKING;
        replan->legacy |= kind == STREAM_LEGACY;
        replan->streams[stream] = replan_add_stream(replan, kind, seen->priority);
    }
    return replan->streams[stream];
}

/* Returns the plan's number of what a kernel is called; what has no name gets one. */
static uint32_t find_name(struct replan *replan, const struct recorded_op *ran)
{
    const struct recording *recording = replan->recording;
    struct plan_recorded *recorded = replan->recorded;
    const bool named = ran->name < recording->name_count;
    uint32_t *number = &replan->names[named ? ran->name : recording->name_count];
    if (*number != RECORDING_NONE)
        return *number;
    size_t length;
    const char *name = trace_short_name(
        named ? recording->names[ran->name] : "kernel without a name", &length);
    char *text = strndup(name, length);
    if (text == NULL)
        replan_no_memory(replan);
    recorded->names[recorded->name_count] = text;
    return *number = recorded->name_count++;
}

/* --- ops --- */

/* Returns the time that a call's thread spent elsewhere since it began, or since its last call
 * that made an op. Threads begin with the first call of all. */
static int64_t time_elsewhere(struct replan *replan, const struct recorded_call *call)
{
    struct replan_thread *thread = &replan->threads[replan_thread_of(replan, call)];
    if (!replan->begun)
        replan->begin_ns = call->start_ns;
    replan->begun = true;
    int64_t since = thread->began ? thread->ended_ns : replan->begin_ns;
    int64_t elsewhere = call->start_ns > since ? call->start_ns - since : 0;
    thread->began = true;
    thread->ended_ns = later(call->end_ns, call->start_ns);
    return elsewhere;
}

void replan_append(struct replan *replan, const struct recorded_call *call, struct op op,
                   struct op_recorded seen)
{
    struct plan_recorded *recorded = replan->recorded;
    op.tile = -1;
    if (!ITEMS_ROOM(recorded->ops, replan->plan->op_count, replan->seen_capacity))
        replan_no_memory(replan);
    if (replan_failed(replan) || plan_append(replan->plan, &op, replan->error) != STATUS_OK)
        return;
    const bool same = replan->last_call == call;
    seen.first_access = recorded->access_count;
    seen.thread = replan_thread_of(replan, call);
    seen.host_ns = time_elsewhere(replan, call);
    replan_take_made(replan, &seen);
    seen.call_ns = replan_call_ns(replan, call, &op, &seen, same);
    replan_take_cost(replan, call, &seen);
    seen.library = (op_is_sync(op.kind) || op_is_copy(op.kind)) &&
                   host_call_kind(call->row) == CALL_HANDLE;
    seen.in_graph = same && host_call_kind(call->row) == CALL_GRAPH;
    replan->last_call = call;
    if (!op_on_device(op.kind))
        seen.name = UINT32_MAX;
    if (!op_on_device(op.kind) && op.kind != OP_CALLBACK)
        seen.span = UINT32_MAX;
    replan->threads[seen.thread].alloc = RECORDING_NONE;
    recorded->ops[op.id = replan->plan->op_count - 1] = seen;
}

uint32_t replan_append_record(struct replan *replan, const struct recorded_call *call,
                              uint32_t stream, bool timed)
{
    struct op op = {.kind = OP_RECORD, .stream = stream};
    const uint32_t record = op.event.event = replan->plan->op_count;
    replan_append(replan, call, op, (struct op_recorded){.timed = timed});
    return record;
}

void replan_append_wait(struct replan *replan, const struct recorded_call *call,
                        uint32_t stream, uint32_t record)
{
    struct op op = {.kind = stream < replan->plan->streams ? OP_WAIT : OP_SYNC_EVENT,
                    .stream = stream};
    op.event.event = record;
    replan_append(replan, call, op, (struct op_recorded){0});
}

/* Copies between devices run in a stream, and hold up neither kernels nor the copies from and
 * to the host: they stand as kernels that take next to no room. */
static void fill_kernel(struct replan *replan, const struct recorded_op *ran, struct op *op,
                        struct op_recorded *seen)
{
    const struct recording *recording = replan->recording;
    seen->name = find_name(replan, ran);
    op->kernel.blocks = ran->blocks > 0 ? ran->blocks : 1;
    const struct recorded_device *device = &recording->devices[replan->device];
    seen->fill = occupancy_fill(&device->sm, device->sms, ran->blocks, &ran->need);
    const uint64_t at_once =
        (uint64_t)device->sms * occupancy_blocks_per_sm(&device->sm, &ran->need);
    if (at_once > 0)
        seen->waves = (uint32_t)(ran->blocks / at_once);
}

/* Returns the part of the GPU that a copy within the device, or a memset, takes: a thread moves
 * 16 bytes. */
static double fill_of_bytes(const struct recorded_device *device, uint64_t bytes)
{
    const double threads = (double)device->sms * device->sm.threads;
    const double wanted = (double)bytes / 16;
    return wanted < threads ? wanted / threads : 1;
}

/* Notes whether the first launch of a kernel loaded its code. */
static void note_loading(struct replan *replan, const struct recorded_call *call, bool first)
{
    const bool launch = host_call_kind(call->row) == CALL_LAUNCH;
    replan->loads += first && launch;
    replan->slow_loads += first && launch && call->end_ns - call->start_ns >= TRACED_LOAD_NS;
}

enum { FOLLOW_MOST_NS = 5000 }; /* nodes of a graph that are farther apart wait for others */

void replan_append_ran(struct replan *replan, const struct recorded_call *call,
                       const struct recorded_op *ran, uint32_t stream)
{
    struct op op = {.kind = (enum op_kind)ran->kind, .stream = stream};
    struct op_recorded seen = {.work_ns = later(ran->end_ns - ran->start_ns, 0),
                               .fill = 1,
                               .name = UINT32_MAX,
                               .span = (uint32_t)(ran - replan->recording->ops)};
    const bool to_host = op.kind == OP_D2H, copies = op_is_copy(op.kind);
    if (op.kind == OP_KERNEL) {
        const uint32_t names = replan->recorded->name_count;
        fill_kernel(replan, ran, &op, &seen);
        note_loading(replan, call, replan->recorded->name_count > names);
    } else if (copies) {
        op.copy.host.bytes = op.copy.device.bytes = ran->bytes;
        seen.pageable = (to_host ? ran->to : ran->from) == HOST_MEMORY_PAGEABLE;
        seen.waits = host_call_kind(call->row) == CALL_COPY_WAIT;
        seen.took = !to_host && call->op_count == 1 && call->effect == EFFECT_COPY
                        ? call->copy->hash
                        : 0;
    } else if (op_moves(op.kind)) {
        op.move.from.bytes = op.move.to.bytes = ran->bytes;
    } else {
        op.set.range.bytes = ran->bytes;
    }
    if (op.kind == OP_D2D || op.kind == OP_MEMSET)
        seen.fill = fill_of_bytes(&replan->recording->devices[replan->device], ran->bytes);
    if (replan->recording->facts.by_node && replan->last_call == call &&
        ran[-1].stream == ran->stream)
        seen.follow_ns =
            (uint16_t)later(earlier(ran->start_ns - ran[-1].end_ns, FOLLOW_MOST_NS), 0);
    seen.sure = op.kind != OP_KERNEL;
    replan_append(replan, call, op, seen);
}

/* --- behind the last --- */

void replan_number_events(struct replan *replan)
{
    struct plan *plan = replan->plan;
    uint32_t *numbers = arena_ones(&replan->arena, plan->op_count, sizeof *numbers);
    if (numbers == NULL) {
        replan_no_memory(replan);
        return;
    }
    EACH (const struct op, op, plan->ops, plan->op_count) {
        if ((op->kind == OP_WAIT || op->kind == OP_SYNC_EVENT) &&
            numbers[op->event.event] == RECORDING_NONE)
            numbers[op->event.event] = plan->events++;
    }
    const uint32_t unwanted = plan->events;
    EACH (struct op, op, plan->ops, plan->op_count) {
        if (op->kind != OP_RECORD && op->kind != OP_WAIT && op->kind != OP_SYNC_EVENT)
            continue;
        const bool wanted = numbers[op->event.event] != RECORDING_NONE;
        op->event.event = wanted ? numbers[op->event.event] : unwanted;
        if (!wanted)
            plan->events = unwanted + 1;
    }
}

void replan_number_streams(struct plan *plan)
{
    if (plan->streams == 0) /* a plan has one at least */
        plan->streams = 1;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (plan->ops[i].stream == RECORDING_NONE)
            plan->ops[i].stream = plan->streams;
    }
}
