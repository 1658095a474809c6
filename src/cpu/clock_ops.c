/* clock_ops.c - calls as ops of a plan, which the simulator knows. */
#include "cpu/parts.h"

#include "plan/rules.h"
#include "plan/rules_blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- streams and events --- */

uint32_t clock_stream_number(uint32_t stream)
{
    const struct clock_stream *s = &clock_now.streams[stream];
    return (uint32_t)s->device * clock_now.streams_each + s->place;
}

uint32_t clock_stream_at(uint32_t number)
{
    uint32_t stream = 0;
    while (clock_stream_number(stream) != number)
        stream++;
    return stream;
}

/* Gives the plan room for `devices` devices of `each` streams, and its ops their streams' new
 * numbers. */
static void renumber(uint32_t devices, uint32_t each)
{
    struct plan *plan = &clock_now.plan;
    const uint32_t before = clock_now.streams_each, streams = devices * each;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        uint32_t *number = &plan->ops[i].stream;
        *number =
            *number < plan->streams ? *number / before * each + *number % before : streams;
    }
    plan->devices = devices;
    plan->streams = streams;
    clock_now.streams_each = each;
    plan->stream_kinds = clock_room(plan->stream_kinds, streams * sizeof *plan->stream_kinds);
    plan->priorities = clock_room(plan->priorities, streams * sizeof *plan->priorities);
    memset(plan->stream_kinds, STREAM_NONBLOCKING, streams * sizeof *plan->stream_kinds);
    memset(plan->priorities, 0, streams * sizeof *plan->priorities);
    for (uint32_t i = 0; i < clock_now.stream_count; i++) {
        static const uint8_t kinds[] = {[CPU_NONBLOCKING] = STREAM_NONBLOCKING,
                                        [CPU_BLOCKING] = STREAM_BLOCKING,
                                        [CPU_LEGACY] = STREAM_LEGACY,
                                        [CPU_PER_THREAD] = STREAM_BLOCKING};
        const uint32_t number = clock_stream_number(i);
        plan->stream_kinds[number] = kinds[clock_now.streams[i].kind];
        plan->priorities[number] = clock_now.streams[i].priority;
    }
}

uint32_t cpu_add_stream(int device, enum cpu_stream_kind kind, int priority, const void *handle)
{
    struct clock *c = &clock_now;
    uint32_t place = 0;
    for (size_t i = 0; i < c->stream_count; i++)
        place += c->streams[i].device == device;
    struct clock_stream *stream = CLOCK_ADD(c->streams, c->stream_count, c->stream_capacity);
    *stream = (struct clock_stream){.device = device,
                                    .priority = priority,
                                    .place = place,
                                    .kind = kind,
                                    .handle = handle,
                                    .last = CLOCK_NONE};
    const uint32_t each = place < c->streams_each ? c->streams_each : 2 * place + 8;
    const uint32_t devices = (uint32_t)device < plan_devices(&c->plan) ? plan_devices(&c->plan)
                                                                       : (uint32_t)device + 1;
    renumber(devices, each);
    tape_stream((uint32_t)c->stream_count - 1);
    return (uint32_t)c->stream_count - 1;
}

uint32_t clock_add_event(void)
{
    struct clock *c = &clock_now;
    struct clock_event *event = CLOCK_ADD(c->events, c->event_count, c->event_capacity);
    *event = (struct clock_event){.record = CLOCK_NONE, .passed_ns = -1};
    return (uint32_t)c->event_count - 1;
}

uint32_t cpu_add_event(unsigned flags)
{
    const uint32_t number = clock_add_event();
    clock_now.events[number].timed = (flags & 2) == 0; /* cudaEventDisableTiming */
    tape_event(number, flags);
    return number;
}

uint32_t clock_own_event(void)
{
    struct clock *c = &clock_now;
    if (c->own_used == c->own_count) {
        uint32_t *event = CLOCK_ADD(c->own_events, c->own_count, c->own_capacity);
        *event = clock_add_event();
    }
    return c->own_events[c->own_used++];
}

/* --- ops --- */

uint32_t clock_append(struct clock_call *call, struct op op, struct op_recorded seen,
                      const struct cpu_op *from)
{
    struct clock *c = &clock_now;
    struct plan *plan = &c->plan;
    struct clock_thread *thread = &c->threads[call->thread];
    const bool first = call->op_count == 0;
    const uint32_t place = plan->op_count;
    struct error error = {0};
    size_t seen_count = place, op_count = place;
    struct op_recorded *told = CLOCK_ADD(plan->recorded->ops, seen_count, c->seen_capacity);
    struct clock_op *own = CLOCK_ADD(c->ops, op_count, c->op_capacity);
    op.tile = -1;
    if (plan_append(plan, &op, &error) != STATUS_OK)
        clock_die("%s", error.text);
    seen.thread = call->thread;
    seen.span = UINT32_MAX;
    seen.host_ns = first ? thread->pending_ns : 0;
    seen.in_graph = !first;
    if (!first)
        seen.call_ns = 1;
    *told = seen;
    *own = (struct clock_op){.call = (uint32_t)(call - c->calls)};
    if (from != NULL)
        own->op = *from;
    if (first) {
        thread->pending_ns = 0;
        call->first_op = place;
    }
    call->op_count++;
    return place;
}

/* Returns how long what moves bytes within the device takes, and sets the room that it takes.
 */
static int64_t memory_ns(const struct op *op, double *fill)
{
    const struct machine *machine = &clock_now.machine;
    const uint32_t blocks = rule_memory_blocks(machine, op);
    const struct kernel_cost cost = rule_memory_cost(machine, op);
    *fill = (double)blocks / machine_resident_blocks(machine);
    return cost.fixed_ns +
           machine_ceil_ns(rule_sweep_ns(machine, cost, 1.0 / blocks, blocks, DEALT_EVENLY));
}

static uint32_t name_of(const char *text)
{
    struct plan_recorded *recorded = clock_now.plan.recorded;
    size_t count = recorded->name_count;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(recorded->names[i], text) == 0)
            return i;
    *CLOCK_ADD(recorded->names, count, clock_now.name_capacity) =
        clock_copy(text, strlen(text) + 1);
    return recorded->name_count++;
}

static uint32_t append_kernel(struct clock_call *call, const struct cpu_op *from, struct op op)
{
    const struct cpu_launch *launch = from->launch;
    const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    const struct block_need need = {launch->block[0] * launch->block[1] * launch->block[2],
                                    CPU_REGISTERS, (uint32_t)launch->shared};
    const uint32_t sms = clock_now.machine.sms;
    op.kernel.blocks = blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
    const uint32_t known = clock_now.plan.recorded->name_count;
    struct op_recorded seen = {
        .name = name_of(launch->name),
        .fill = occupancy_fill(&clock_now.room, sms, op.kernel.blocks, &need),
        .waves = (uint32_t)(blocks / sms / occupancy_blocks_per_sm(&clock_now.room, &need))};
    for (uint32_t i = 0; i < launch->word_count; i++) {
        const struct cpu_block *block = cpu_block_at(launch->words[i]);
        if (block != NULL && block->device < 0) /* the link is one for all */
            seen.fill = 1;
    }
    if (seen.name == known && clock_loads_lazily()) /* the first launch loads its code */
        seen.call_ns =
            clock_now.machine.issue_kernel_ns + rule_load_ns(&clock_now.machine, false);
    const uint32_t place = clock_append(call, op, seen, from);
    struct clock_op *own = &clock_now.ops[place];
    own->name = seen.name;
    own->blocks = op.kernel.blocks;
    own->threads = need.threads;
    own->shared = need.shared;
    own->word_count = launch->word_count;
    own->words = clock_copy(launch->words, launch->word_count * sizeof *own->words);
    return place;
}

static uint32_t append_copy(struct clock_call *call, const struct cpu_op *from, struct op op)
{
    const bool in = from->from_device < 0 && from->to_device >= 0;
    const bool out = from->from_device >= 0 && from->to_device < 0;
    struct op_recorded seen = {
        .fill = 1, .sure = true, .waits = from->waits, .name = UINT32_MAX};
    if (in || out) {
        op.kind = in ? OP_H2D : OP_D2H;
        op.copy.host.bytes = op.copy.device.bytes = from->bytes;
        seen.pageable = (in ? from->from_kind : from->to_kind) == CPU_PAGEABLE;
    } else if (from->from_device == from->to_device && in == out && from->to_device >= 0) {
        op.kind = OP_D2D;
        op.move.from.bytes = op.move.to.bytes = from->bytes;
        seen.work_ns = memory_ns(&op, &seen.fill);
    } else { /* between devices, or within the host */
        const struct machine *machine = &clock_now.machine;
        const bool peers = from->to_device >= 0;
        const double h2d = machine->h2d_bytes_per_s, d2h = machine->d2h_bytes_per_s;
        /* Without access pieces go out and in again in turn. [Two H200s: 16 MiB took 483 us] */
        const double rate = !peers ? machine->pageable_h2d_bytes_per_s
                            : !from->staged && machine->peer_bytes_per_s > 0
                                ? machine->peer_bytes_per_s
                                : h2d * d2h / (h2d + d2h);
        seen.work_ns = machine->peer_latency_ns +
                       machine_ceil_ns(1e9 * (double)from->bytes / fmax(rate, 1));
        op.kind = peers ? OP_PEER : OP_KERNEL;
        if (peers) {
            op.move.from.bytes = op.move.to.bytes = from->bytes;
        } else { /* it takes no room of a device */
            op.kernel.blocks = 1;
            seen.fill = 1e-6;
            seen.name = name_of("copy of the host's");
        }
    }
    return clock_append(call, op, seen, from);
}

uint32_t clock_append_work(struct clock_call *call, const struct cpu_op *from, uint32_t stream,
                           uint64_t node)
{
    struct op op = {.kind = OP_CALLBACK, .stream = stream};
    struct op_recorded seen = {.fill = 1, .waits = from->waits, .name = UINT32_MAX};
    uint32_t place;
    if (from->kind == CPU_KERNEL) {
        op.kind = OP_KERNEL;
        place = append_kernel(call, from, op);
    } else if (from->kind == CPU_COPY) {
        place = append_copy(call, from, op);
    } else if (from->kind == CPU_SET) {
        op.kind = OP_MEMSET;
        op.set.range.bytes = from->bytes;
        seen.sure = true;
        seen.work_ns = memory_ns(&op, &seen.fill);
        place = clock_append(call, op, seen, from);
    } else {
        place = clock_append(call, op, seen, from);
    }
    clock_now.ops[place].is_work = true;
    clock_now.ops[place].node = node;
    clock_now.ops[place].doing = hazard_op(from, clock_stream_at(stream), call, node);
    return place;
}

uint32_t clock_append_record(struct clock_call *call, uint32_t stream, uint32_t event)
{
    struct clock_event *recorded = &clock_now.events[event];
    const struct op op = {.kind = OP_RECORD, .stream = stream, .event.event = event};
    const struct op_recorded seen = {.timed = recorded->timed, .name = UINT32_MAX};
    recorded->passed_ns = -1;
    hazard_record(clock_stream_at(stream), event);
    return recorded->record = clock_append(call, op, seen, NULL);
}

uint32_t clock_append_wait(struct clock_call *call, uint32_t stream, uint32_t event)
{
    const struct op op = {.kind = OP_WAIT, .stream = stream, .event.event = event};
    hazard_wait(clock_stream_at(stream), event);
    if (clock_now.events[event].record == CLOCK_NONE) /* that is over, or never was */
        return CLOCK_NONE;
    const uint32_t place =
        clock_append(call, op, (struct op_recorded){.name = UINT32_MAX}, NULL);
    clock_now.ops[place].record = clock_now.events[event].record;
    return place;
}

uint32_t clock_append_look(struct clock_call *call)
{
    const struct op op = {.kind = OP_ALLOC,
                          .stream = clock_now.plan.streams,
                          .alloc = {.ordered = true, .action = ALLOC_TAKE}};
    const struct op_recorded seen = {.name = UINT32_MAX,
                                     .work_ns = clock_now.machine.issue_record_ns};
    return clock_append(call, op, seen, NULL);
}

uint32_t clock_append_sync(struct clock_call *call, const struct cpu_op *from)
{
    const struct clock *c = &clock_now;
    const struct op_recorded seen = {.name = UINT32_MAX};
    struct op op = {.kind = OP_SYNC, .stream = c->plan.streams};
    if (from->kind == CPU_SYNC_EVENT) {
        if (c->events[from->event].record == CLOCK_NONE)
            return clock_append_look(call);
        op.kind = OP_SYNC_EVENT;
        op.event.event = from->event;
    } else if (from->kind == CPU_SYNC_STREAM) {
        op.stream = clock_stream_number(from->stream);
    } else if (plan_devices(&c->plan) > 1) { /* the plan's own sync is of all devices */
        uint32_t place = CLOCK_NONE;
        for (uint32_t i = 0; i < c->stream_count; i++) {
            op.stream = clock_stream_number(i);
            if (c->streams[i].device == (int)from->stream)
                place = clock_append(call, op, seen, from);
        }
        return place != CLOCK_NONE ? place : clock_append_look(call);
    }
    return clock_append(call, op, seen, from);
}

/* --- memory --- */

static void add_memory(struct clock_memory memory)
{
    struct clock *c = &clock_now;
    memory.call = (uint32_t)clock_own.call;
    *CLOCK_ADD(c->memory, c->memory_count, c->memory_capacity) = memory;
}

/* A call that takes memory, or gives it back, takes half of what both do together; for memory
 * that is there already it takes a part of that. [Measured on an H200: cudaHostRegister() of
 * 1 MiB that was in use took 113 us and cudaHostUnregister() 52, a ninth of what
 * cudaMallocHost() and cudaFreeHost() take] */
static void add_time(enum cpu_memory kind, uint64_t bytes)
{
    enum { THERE_PART = 9 };
    const bool pinned = kind == CPU_PINNED || kind == CPU_REGISTERED;
    const struct op op = {.kind = OP_ALLOC,
                          .alloc = {.bytes = bytes,
                                    .pinned = pinned,
                                    .ordered = kind == CPU_POOL,
                                    .action = ALLOC_TAKE}};
    clock_now.calls[clock_own.call].own_ns +=
        rule_call_ns(&clock_now.machine, &op) / (kind == CPU_REGISTERED ? THERE_PART : 1);
}

void cpu_took(enum cpu_memory kind, uint64_t address, uint64_t bytes, int device)
{
    add_memory((struct clock_memory){0, true, kind, address, bytes, device});
    add_time(kind, bytes);
}

void cpu_gave_back(uint64_t address)
{
    const struct cpu_block *block = cpu_block_at((uintptr_t)address);
    add_memory((struct clock_memory){.address = address});
    if (block != NULL)
        add_time(block->kind, block->bytes);
}
