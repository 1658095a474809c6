/* build_ops.c - the ops that a plan's steps are made of. */
#include "plan/build_parts.h"
#include "plan/host_layout.h"
#include "plan/rules.h"
#include "plan/rules_blocks.h"

bool build_failed(const struct builder *builder)
{
    return builder->error->status != STATUS_OK;
}

struct op build_op(enum op_kind kind, uint32_t stream, struct tiles tiles)
{
    return (struct op){.kind = kind,
                       .stream = stream,
                       .tile = (int32_t)tiles.first,
                       .tiles = tiles.count & OP_TILES_MOST};
}

uint64_t build_steps_so_far(const struct builder *builder)
{
    uint64_t steps = 0;
    for (uint32_t i = 0; i < builder->plan->streams; i++)
        steps += builder->lengths[i];
    return steps;
}

static void refuse_size(const struct builder *builder)
{
    uint64_t cpu = builder->plan->cpu_tiles, done, all = cpu + builder->marked;
    if (builder->lengths == NULL) { /* a halo's plan has no steps of tiles: its copies count */
        done = builder->ops_most - builder->others;
        all = 2 * (uint64_t)builder->plan->tiles;
    } else {
        done = builder->marking ? builder->ops_most : cpu + build_steps_so_far(builder);
    }
    settings_refuse_size(builder->settings, (double)done / (double)all, builder->error);
}

void build_append(struct builder *builder, const struct op *op)
{
    if (build_failed(builder))
        return;
    if (builder->plan->op_count >= builder->ops_most)
        refuse_size(builder);
    else
        plan_append(builder->plan, op, builder->error);
}

/* Appends an op of the step that is under way, and notes it in the plan's loops as `item`. */
static void append_item(struct builder *builder, const struct op *op, struct loop_item item)
{
    item.kind = op->kind;
    loops_note(builder->plan->loops, item);
    build_append(builder, op);
}

static void append_noted(struct builder *builder, const struct op *op)
{
    struct loop_item item = {.action = ALLOC_PAIR};
    if (op->kind == OP_ALLOC) {
        item.action = op->alloc.action;
        item.buffer = op->alloc.range.buffer;
    }
    append_item(builder, op, item);
}

/* Does so with a part of a scan's way by the host. */
static void append_carry(struct builder *builder, const struct op *op)
{
    append_item(builder, op, (struct loop_item){.carries = true});
}

void build_append_event(struct builder *builder, const struct op *op, enum relation relation,
                        uint32_t stage)
{
    append_item(builder, op, (struct loop_item){.relation = relation, .event_stage = stage});
}

uint32_t build_blocks(const struct builder *builder, uint32_t link, uint64_t count)
{
    const struct kernel *kernel = builder->plan->chain[link];
    const uint32_t asked = builder->settings->blocks;
    uint32_t *most = &builder->plan->loops->blocks[link];
    const uint32_t blocks = kernel_blocks(
        kernel, count,
        asked > 0 ? asked : rule_blocks_most(builder->machine, builder->plan, kernel, count));
    *most = blocks > *most ? blocks : *most;
    return blocks;
}

/* --- a scan's carry by way of the host ---
 *
 * A carry that stays on the device needs no host: a kernel leaves it, the next one waits for an
 * event and takes it. The way by the host stands for all that only the host can do between two
 * tiles: a tile's total is copied out, a callback adds it to the sum, and what that leaves is
 * copied in for the next tile. Stream order and events put these in their order, so that nobody
 * waits but the streams. */

/* Appends a copy of what link `link` carries, in or out. Its place has the same offset on both
 * sides. */
static void write_carry(struct builder *builder, enum op_kind kind, uint32_t stream,
                        uint32_t tile, uint32_t link)
{
    const struct placement *placement = &builder->placement;
    const enum carry_place place = kind == OP_H2D ? CARRY_BEFORE : CARRY_TOTAL;
    struct op op = {.kind = kind, .stream = stream, .tile = (int32_t)tile};
    op.copy.host = placement_carry(placement, BUFFER_HOST_CARRY, link, tile, place);
    op.copy.device = placement_carry(placement, BUFFER_DEVICE_CARRY, link, tile, place);
    append_carry(builder, &op);
}

/* Appends the callback that leaves what the next tile copies in. */
static void write_feed(struct builder *builder, uint32_t stream, uint32_t tile, uint32_t link)
{
    const struct placement *placement = &builder->placement;
    struct op_ranges *ranges = plan_take_ranges(builder->plan, builder->error);
    struct op op = {.kind = OP_CALLBACK, .stream = stream, .tile = (int32_t)tile};
    if (ranges == NULL)
        return;
    if (tile > 0)
        ranges->in[0] = placement_carry(placement, BUFFER_HOST_CARRY, link, tile, CARRY_BEFORE);
    ranges->in[1] = placement_carry(placement, BUFFER_HOST_CARRY, link, tile, CARRY_TOTAL);
    ranges->out = placement_carry(placement, BUFFER_HOST_CARRY, link, tile + 1, CARRY_BEFORE);
    op.callback.ranges = ranges;
    append_carry(builder, &op);
}

/* Appends what comes right behind a scan's link: the copy out of the tile's own total, and the
 * callback that leaves what the next tile copies in; with CARRY_SYNC the host waits for that.
 * The next tile's link waits for this stream: see steps_follow(). */
static void write_carry_out(struct builder *builder, uint32_t stream, uint32_t tile,
                            uint32_t link)
{
    const struct op sync = {.kind = OP_SYNC, .stream = stream, .tile = (int32_t)tile};
    write_carry(builder, OP_D2H, stream, tile, link);
    write_feed(builder, stream, tile, link);
    if (builder->settings->carry == CARRY_SYNC)
        append_carry(builder, &sync);
}

/* --- steps --- */

/* Appends the copy of the tiles' part of an array in or out: one op, or one for each row. */
static void write_copy(struct builder *builder, enum op_kind kind, enum part part,
                       uint32_t stream, struct tiles tiles)
{
    const struct part_places places = placement_part(&builder->placement, part, tiles);
    struct range rest = places.sent;
    struct op op = build_op(kind, stream, tiles);
    op.copy.host = places.sent;
    op.copy.device = places.slot;
    if (builder->plan->copy != COPY_ROWS) {
        append_noted(builder, &op);
        return;
    }
    while (!build_failed(builder) && host_layout_next(builder->plan, &rest, &op.copy.host)) {
        op.copy.device.offset = places.slot.offset + (op.copy.host.offset - places.sent.offset);
        op.copy.device.bytes = op.copy.host.bytes;
        append_noted(builder, &op);
    }
}

static void write_copies_in(struct builder *builder, uint32_t stream, struct tiles tiles)
{
    for (int input = 0; input < builder->placement.inputs; input++)
        write_copy(builder, OP_H2D, (enum part)input, stream, tiles);
    if (builder->plan->prefetches) /* a kernel writes its output's pages, too */
        write_copy(builder, OP_H2D, PART_OUT, stream, tiles);
}

static void write_callback(struct builder *builder, uint32_t stream, struct tiles tiles)
{
    struct op callback = build_op(OP_CALLBACK, stream, tiles);
    if (!builder->settings->callbacks && builder->mistake.sleep_ns == 0)
        return;
    callback.callback.result = placement_part(&builder->placement, PART_OUT, tiles).sent;
    callback.callback.sleep_ns = builder->plan->loops->sleep_ns = builder->mistake.sleep_ns;
    append_noted(builder, &callback);
}

/* Appends the launches of a stage on the tiles, one behind the other in their stream, with what
 * carries a scan over: a copy in of the sum of all tiles before, which a callback has left on
 * the host and the first tile has no need of, and what leaves it for the next tile. A launch
 * per repeat goes on in the output with what the last one left there. */
static void write_launches(struct builder *builder, const struct stage *stage, uint32_t stream,
                           struct tiles tiles)
{
    struct op op = build_op(OP_KERNEL, stream, tiles);
    struct op_ranges ranges = {0};
    op.kernel.ranges = &ranges;
    placement_kernel(&builder->placement, tiles, stage->link, &op);
    op.kernel.ranges = plan_keep_ranges(builder->plan, &ranges, builder->error);
    op.kernel.blocks = build_blocks(builder, stage->link, op.kernel.count);
    if (stage->by_host && tiles.first > 0)
        write_carry(builder, OP_H2D, stream, tiles.first, stage->link);
    for (; op.kernel.repeat < stage->launches && !build_failed(builder); op.kernel.repeat++)
        append_noted(builder, &op);
    if (stage->by_host && tiles.first + 1 < builder->plan->tiles)
        write_carry_out(builder, stream, tiles.first, stage->link);
}

/* Appends one launch on all the tiles, or one on each where the kernel can't join them. */
static void write_kernel(struct builder *builder, const struct stage *stage, uint32_t stream,
                         struct tiles tiles)
{
    const uint32_t end = tiles.first + tiles.count, step = stage->joins ? tiles.count : 1;
    for (uint32_t tile = tiles.first; tile < end && !build_failed(builder); tile += step)
        write_launches(builder, stage, stream, (struct tiles){tile, step});
}

/* Appends the copy of what a device's last link leaves to the device that goes on with it, out
 * into the host's memory, or in from there. */
static void write_handing(struct builder *builder, const struct stage *stage, uint32_t stream,
                          struct tiles tiles)
{
    static const enum op_kind kinds[] = {
        [STAGE_PEER] = OP_PEER, [STAGE_TO_HOST] = OP_D2H, [STAGE_FROM_HOST] = OP_H2D};
    const struct handing at = placement_handing(&builder->placement, stage->link, tiles);
    struct op op = build_op(kinds[stage->kind], stream, tiles);
    if (op.kind == OP_PEER) {
        op.move.from = at.left;
        op.move.to = at.taken;
    } else {
        op.copy.host = at.host;
        op.copy.device = op.kind == OP_D2H ? at.left : at.taken;
    }
    append_noted(builder, &op);
}

/* Appends the copy of the resident input into the device of `stream`. */
static void write_upload(struct builder *builder, uint32_t stream, struct tiles none)
{
    const struct plan *plan = builder->plan;
    struct op op = build_op(OP_H2D, stream, none);
    op.copy.host = plan_whole(plan, BUFFER_HOST_RESIDENT);
    op.copy.device =
        plan_device_part(plan, BUFFER_DEVICE_RESIDENT, plan_stream_device(plan, stream));
    append_noted(builder, &op);
}

void build_stage(struct builder *builder, const struct stage *stage, struct tiles tiles,
                 uint32_t stream)
{
    switch (stage->kind) {
    case STAGE_IN:
        write_copies_in(builder, stream, tiles);
        break;
    case STAGE_KERNEL:
        write_kernel(builder, stage, stream, tiles);
        break;
    case STAGE_PEER:
    case STAGE_TO_HOST:
    case STAGE_FROM_HOST:
        write_handing(builder, stage, stream, tiles);
        break;
    case STAGE_ONCE:
        write_upload(builder, stream, tiles);
        break;
    case STAGE_OUT:
        write_copy(builder, OP_D2H, PART_OUT, stream, tiles);
        break;
    }
    if (stage == &builder->steps.stage[builder->steps.stages - 1])
        write_callback(builder, stream, tiles);
}

/* Appends an action on the whole slot that the tiles' part of an array lies in. */
static void write_action(struct builder *builder, struct op op, enum part part,
                         struct tiles tiles)
{
    const struct range slot = placement_part(&builder->placement, part, tiles).slot;
    const uint64_t stride = builder->placement.stride[slot.buffer];
    op.alloc.range = (struct range){slot.buffer, slot.offset / stride * stride, stride};
    op.alloc.bytes = stride;
    append_noted(builder, &op);
}

void build_memory(struct builder *builder, enum alloc_action action, const struct stage *stage,
                  struct tiles tiles, uint32_t stream)
{
    const bool takes = action == ALLOC_TAKE;
    const bool inputs = takes ? stage->takes_inputs : stage->gives_inputs;
    struct op op = build_op(OP_ALLOC, builder->plan->streams, tiles);
    op.alloc.action = action;
    op.alloc.ordered = builder->plan->alloc != ALLOC_LOOP;
    op.alloc.stream = stream;
    for (int input = 0; inputs && input < builder->placement.inputs; input++)
        write_action(builder, op, (enum part)input, tiles);
    if (takes ? stage->takes_output : stage->gives_output)
        write_action(builder, op, PART_OUT, tiles);
}

/* Appends that the host's cores copy a batch's part of an array into the slot that is sent, or
 * back out of it. */
static void write_pack(struct builder *builder, uint32_t batch, enum part part)
{
    const struct tiles tiles = plan_batch(builder->plan, batch);
    const struct part_places places = placement_part(&builder->placement, part, tiles);
    struct op op = build_op(OP_PACK, builder->plan->streams, tiles);
    op.move.from = part == PART_OUT ? places.sent : places.host;
    op.move.to = part == PART_OUT ? places.host : places.sent;
    build_append(builder, &op);
}

void build_packs(struct builder *builder, uint32_t batch)
{
    for (int input = 0; input < builder->placement.inputs; input++)
        write_pack(builder, batch, (enum part)input);
}

void build_unpacks(struct builder *builder, uint32_t batch)
{
    if (!builder->placement.reduces)
        write_pack(builder, batch, PART_OUT);
}

void build_cpu_tiles(struct builder *builder)
{
    struct plan *plan = builder->plan;
    for (uint32_t tile = plan->tiles - plan->cpu_tiles;
         tile < plan->tiles && !build_failed(builder); tile++) {
        struct op op = {.kind = OP_CPU, .stream = plan->streams, .tile = (int32_t)tile};
        uint64_t first;
        op.cpu.ranges = plan_take_ranges(plan, builder->error);
        if (op.cpu.ranges == NULL)
            return;
        plan_tile(plan, tile, &first, &op.cpu.count);
        const struct tiles alone = {tile, 1};
        for (int input = 0; input < builder->placement.inputs; input++)
            op.cpu.ranges->in[input] =
                placement_part(&builder->placement, (enum part)input, alone).host;
        op.cpu.ranges->resident = plan_whole(plan, BUFFER_HOST_RESIDENT);
        op.cpu.ranges->out = placement_part(&builder->placement, PART_OUT, alone).host;
        build_append(builder, &op);
    }
}
