/* calls.c - turns a plan's ops into the arguments of CUDA calls, before anything is timed. */
#include "cuda/prepare.h"

#include "cuda/issue.h"
#include "plan/rules.h"

#include <inttypes.h>
#include <stdlib.h>

/* The memory that ops' arguments are kept in, as far as it is still free. */
struct room {
    uint32_t current; /* the device that is current when the next op's turn comes */
    struct kernel_args *args;
    struct cuda_callback *callback;
    struct pieces *op_pieces;
    struct pieces pieces;      /* with no count */
    struct kernel_tile *tiles; /* of `table` */
    struct kernel_tile *table; /* which each device has, too */
};

/* The address by which a kernel reaches the range: mapped host memory has one on the device. */
static void *kernel_pointer(const struct cuda_run *run, const struct range *range)
{
    if (range->bytes == 0 || range->buffer >= BUFFER_FIRST_DEVICE)
        return cuda_memory_at(run, range);
    return (char *)run->mapped[range->buffer] + host_layout_offset(run->workload.plan, range);
}

/* Returns true if a launch on several tiles has to be told where each is. */
static bool launch_is_over_tiles(const struct plan *plan, const struct op *op)
{
    const struct op_ranges *ranges = op->kernel.ranges;
    const struct kernel *kernel = plan->chain[op->kernel.link];
    bool apart = plan->elements % plan->tiles != 0
                     ? kernel->place_period != 0
                     : !kernel_joins(kernel, plan->elements / plan->tiles);
    for (int i = 0; i < plan->chain[op->kernel.link]->inputs; i++)
        apart |= host_layout_is_scattered(plan, ranges->in[i].buffer);
    return op_tiles(op) > 1 && (apart || host_layout_is_scattered(plan, ranges->out.buffer));
}

static struct kernel_args kernel_args(const struct cuda_run *run, const struct op *op)
{
    const struct op_ranges *ranges = op->kernel.ranges;
    const struct kernel_args args = {
        .resident = kernel_pointer(run, &ranges->resident),
        .scratch = cuda_memory_at(run, &ranges->scratch),
        .carry_in = cuda_memory_at(run, &ranges->carry_in),
        .carry_out = cuda_memory_at(run, &ranges->carry_out),
        .carry_own = ranges->carry_own,
        .count = op->kernel.count,
        .blocks = op->kernel.blocks,
        .repeat = op->kernel.repeat,
        .params = run->workload.plan->params,
        .context = run->contexts != NULL ? run->contexts[op->stream] : NULL,
    };
    return args;
}

/* Fills the next of the table's places with the tiles of a launch over several. */
static void look_up_tiles(const struct cuda_run *run, const struct op *op, struct room *room,
                          struct kernel_args *args, struct cuda_issued *issued)
{
    const struct plan *plan = run->workload.plan;
    const struct op_ranges *ranges = op->kernel.ranges;
    const struct tiles tiles = {(uint32_t)op->tile, op_tiles(op)};
    issued->kernel.tiles =
        run->tiles[plan_stream_device(plan, op->stream)] + (room->tiles - room->table);
    issued->kernel.tile_count = tiles.count;
    issued->kernel.launch_tiles = kernel_launcher(plan->chain[op->kernel.link])->launch_tiles;
    args->count = 0;
    for (uint32_t i = 0; i < tiles.count; i++) {
        struct kernel_tile *tile = room->tiles++;
        const struct range out = plan_tile_part(plan, &ranges->out, tiles, tiles.first + i);
        uint64_t first;
        plan_tile(plan, tiles.first + i, &first, &tile->count);
        for (int input = 0; input < KERNEL_INPUTS_MAX; input++) {
            const struct range in =
                plan_tile_part(plan, &ranges->in[input], tiles, tiles.first + i);
            tile->in[input] = kernel_pointer(run, &in);
        }
        tile->out = kernel_pointer(run, &out);
        args->count = tile->count > args->count ? tile->count : args->count;
    }
}

static void look_up_launch(const struct cuda_run *run, const struct op *op, struct room *room,
                           struct cuda_issued *issued)
{
    const struct plan *plan = run->workload.plan;
    const struct op_ranges *ranges = op->kernel.ranges;
    struct kernel_args *args = room->args++;
    *args = kernel_args(run, op);
    issued->kernel.launch = kernel_launcher(plan->chain[op->kernel.link])->launch;
    issued->kernel.call = kernel_launcher(plan->chain[op->kernel.link])->call;
    issued->kernel.args = args;
    if (launch_is_over_tiles(plan, op)) {
        look_up_tiles(run, op, room, args, issued);
        return;
    }
    for (int i = 0; i < KERNEL_INPUTS_MAX; i++)
        args->in[i] = kernel_pointer(run, &ranges->in[i]);
    args->out = kernel_pointer(run, &ranges->out);
}

/* Returns how many copies an op is made of that go together; 0: it is one, or none. */
static uint64_t pieces_of(const struct plan *plan, const struct op *op)
{
    const uint32_t copies = rule_copies(plan, op);
    if (op->kind != OP_PACK)
        return copies > 1 ? copies : 0;
    const uint64_t from = host_layout_rows(plan, &op->move.from).count;
    const uint64_t to = host_layout_rows(plan, &op->move.to).count;
    const uint64_t rows = from > to ? from : to;
    return rows > copies ? rows : copies;
}

/* Fills the next free pieces with the copies of each tile, or of its rows, from one range to
 * the other. */
static void look_up_pieces(const struct cuda_run *run, const struct op *op,
                           const struct range *from, const struct range *to, struct room *room,
                           struct cuda_issued *issued)
{
    const struct plan *plan = run->workload.plan;
    const struct tiles tiles = {(uint32_t)op->tile, op_tiles(op)};
    issued->pieces = room->op_pieces++;
    *issued->pieces = room->pieces;
    for (uint32_t i = 0; i < tiles.count; i++) {
        const struct range source = plan_tile_part(plan, from, tiles, tiles.first + i);
        const struct range target = plan_tile_part(plan, to, tiles, tiles.first + i);
        const struct host_copy copy = host_layout_copy(plan, &target, &source);
        for (uint64_t row = 0; row < copy.rows; row++) {
            *room->pieces.to++ = (char *)cuda_memory_at(run, &target) + row * copy.to_pitch;
            *room->pieces.from++ =
                (const char *)cuda_memory_at(run, &source) + row * copy.from_pitch;
            *room->pieces.bytes++ = copy.bytes;
        }
        issued->pieces->count += copy.rows;
    }
}

static struct cuda_callback callback_of(struct cuda_run *run, const struct op *op)
{
    struct cuda_callback callback = {.listener = run->listener,
                                     .tile = op->tile,
                                     .tiles = op_tiles(op),
                                     .sleep_ns = op->callback.sleep_ns};
    if (op_feeds(op)) {
        const struct op_ranges *ranges = op->callback.ranges;
        callback.before = cuda_memory_at(run, &ranges->in[0]);
        callback.total = cuda_memory_at(run, &ranges->in[1]);
        callback.next = cuda_memory_at(run, &ranges->out);
    } else if (run->workload.plan->memory == MEMORY_MANAGED &&
               plan_last_kernel(run->workload.plan)->shape == KERNEL_REDUCE) {
        callback.result = cuda_memory_at(run, &op->callback.result);
        callback.result_to = arrays_at(run->workload.arrays, &op->callback.result);
        callback.result_bytes = op->callback.result.bytes;
    }
    return callback;
}

static void look_up_copy(const struct cuda_run *run, const struct op *op, struct room *room,
                         struct cuda_issued *issued)
{
    const struct range *from = op->kind == OP_H2D ? &op->copy.host : &op->copy.device;
    const struct range *to = op->kind == OP_H2D ? &op->copy.device : &op->copy.host;
    issued->batched = pieces_of(run->workload.plan, op) > 0;
    if (issued->batched) {
        look_up_pieces(run, op, from, to, room, issued);
        return;
    }
    const struct host_copy copy = host_layout_copy(run->workload.plan, to, from);
    issued->copy.to = cuda_memory_at(run, to);
    issued->copy.from = cuda_memory_at(run, from);
    issued->copy.bytes = copy.bytes;
    issued->copy.rows = copy.rows;
    issued->copy.to_pitch = copy.to_pitch;
    issued->copy.from_pitch = copy.from_pitch;
    issued->prefetched = run->workload.plan->prefetches;
    if (!issued->prefetched)
        return;
    issued->copy.bytes = op->copy.host.bytes;                /* the only side that it has */
    issued->device = (int16_t)run->devices->items[0].number; /* whichever is current */
}

/* Sets which device is current for an op in a stream. Ops come in the order of the plan, and
 * the first device is current before them, so it is known here where that changes. */
static void look_up_device(const struct cuda_run *run, const struct op *op, struct room *room,
                           struct cuda_issued *issued)
{
    const struct plan *plan = run->workload.plan;
    const bool all = op->kind == OP_SYNC && op->stream == plan->streams;
    if (run->devices->count == 1)
        return;
    if (all) /* cuda_devices_wait() */
        room->current = 0;
    if (all || !op_in_stream(op->kind) || op->stream >= plan->streams)
        return;
    const uint32_t device = plan_stream_device(plan, op->stream);
    issued->enters = device != room->current;
    issued->device = (int16_t)run->devices->items[device].number;
    room->current = device;
}

static void look_up_peer(const struct cuda_run *run, const struct op *op,
                         struct cuda_issued *issued)
{
    const struct plan *plan = run->workload.plan;
    issued->peer.to = cuda_memory_at(run, &op->move.to);
    issued->peer.from = cuda_memory_at(run, &op->move.from);
    issued->peer.bytes = op->move.to.bytes;
    issued->peer.to_device = run->devices->items[plan_range_device(plan, &op->move.to)].number;
    issued->peer.from_device =
        run->devices->items[plan_range_device(plan, &op->move.from)].number;
}

/* Turns an op into the arguments of its CUDA call, which are kept in the next free room. */
static void look_up_op(struct cuda_run *run, const struct op *op, struct room *room,
                       struct cuda_issued *issued)
{
    const struct plan *plan = run->workload.plan;
    issued->kind = op->kind;
    look_up_device(run, op, room, issued);
    if (op->stream < plan->streams)
        issued->stream = run->streams[op->stream];
    switch (op->kind) {
    case OP_H2D:
    case OP_D2H:
        look_up_copy(run, op, room, issued);
        break;
    case OP_KERNEL:
        look_up_launch(run, op, room, issued);
        break;
    case OP_CALLBACK:
        *room->callback = callback_of(run, op);
        issued->callback = room->callback++;
        break;
    case OP_RECORD:
    case OP_WAIT:
    case OP_SYNC_EVENT:
        issued->event = run->events[op->event.event];
        issued->flag = cuda_flag_at(run, op->event.flag);
        break;
    case OP_D2D:
        issued->copy.to = cuda_memory_at(run, &op->move.to);
        issued->copy.from = cuda_memory_at(run, &op->move.from);
        issued->copy.bytes = op->move.to.bytes;
        break;
    case OP_MEMSET:
        issued->set.at = cuda_memory_at(run, &op->set.range);
        issued->set.value = op->set.value;
        issued->set.bytes = op->set.range.bytes;
        break;
    case OP_SYNC:
        issued->devices = op->stream == plan->streams ? run->devices : NULL;
        break;
    case OP_ALLOC:
        issued->action = (uint8_t)op->alloc.action;
        issued->ordered = op->alloc.ordered;
        if (op->alloc.ordered)
            issued->stream = run->streams[op->alloc.stream];
        issued->alloc.bytes = op->alloc.bytes;
        issued->alloc.pinned = op->alloc.pinned;
        break;
    case OP_PACK:
        look_up_pieces(run, op, &op->move.from, &op->move.to, room, issued);
        break;
    case OP_PEER:
        look_up_peer(run, op, issued);
        break;
    case OP_CPU:
    case OP_KIND_COUNT:
        break;
    }
}

/* How much room a plan's ops need. */
struct needs {
    size_t kernels, callbacks, ops, pieces, tiles;
};

static struct needs count_needs(const struct plan *plan)
{
    struct needs needs = {0};
    EACH (const struct op, op, plan->ops, plan->op_count) {
        const uint64_t pieces = pieces_of(plan, op);
        needs.kernels += op->kind == OP_KERNEL;
        needs.callbacks += op->kind == OP_CALLBACK;
        needs.ops += pieces > 0;
        needs.pieces += pieces;
        if (op->kind == OP_KERNEL && launch_is_over_tiles(plan, op))
            needs.tiles += op_tiles(op);
    }
    return needs;
}

/* Callbacks are apart from the rest, for a device that is not idle may still call them. */
static bool take_room(struct cuda_run *run, const struct needs *needs, struct room *room)
{
    struct arena *arena = &run->arena;
    struct pieces *pieces = &room->pieces;
    run->issued = arena_zeros(arena, run->workload.plan->op_count, sizeof *run->issued);
    run->callbacks = calloc(needs->callbacks + 1, sizeof *run->callbacks);
    room->callback = run->callbacks;
    room->args = arena_zeros(arena, needs->kernels, sizeof *room->args);
    room->op_pieces = arena_zeros(arena, needs->ops, sizeof *room->op_pieces);
    pieces->to = arena_zeros(arena, needs->pieces, sizeof *pieces->to);
    pieces->from = arena_zeros(arena, needs->pieces, sizeof *pieces->from);
    pieces->bytes = arena_zeros(arena, needs->pieces, sizeof *pieces->bytes);
    room->tiles = room->table = arena_zeros(arena, needs->tiles, sizeof *room->table);
    return !arena->full && run->callbacks != NULL;
}

/* Takes memory for the table of tiles on each device; with `table`, copies it there. */
static enum status fill_tables(struct cuda_run *run, const struct kernel_tile *table,
                               size_t bytes, struct error *error)
{
    enum status status = STATUS_OK;
    if (bytes == 0)
        return STATUS_OK;
    for (uint32_t i = 0; cuda_devices_reach(run->devices, i, &status, error); i++)
        status =
            table == NULL
                ? CUDA_CHECK(cudaMalloc((void **)&run->tiles[i], bytes), error)
                : CUDA_CHECK(cudaMemcpy(run->tiles[i], table, bytes, cudaMemcpyHostToDevice),
                             error);
    /* A copy from pageable memory may return before the device has it. */
    return status == STATUS_OK && table != NULL ? cuda_devices_settle(run->devices, error)
                                                : status;
}

enum status cuda_calls_look_up(struct cuda_run *run, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    const struct needs needs = count_needs(plan);
    const size_t table_bytes = needs.tiles * sizeof *run->tiles[0];
    struct room room = {0};
    enum status status = fill_tables(run, NULL, table_bytes, error);
    if (status == STATUS_OK && !take_room(run, &needs, &room))
        status = error_no_memory(error, "to issue %" PRIu32 " ops", plan->op_count);
    for (uint32_t i = 0; i < plan->op_count && status == STATUS_OK; i++)
        look_up_op(run, &plan->ops[i], &room, &run->issued[i]);
    if (status == STATUS_OK)
        status = cuda_slots_look_up(run, error);
    if (status == STATUS_OK)
        status = fill_tables(run, room.table, table_bytes, error);
    return status;
}
