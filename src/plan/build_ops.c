/* build_ops.c - the ops that a plan's steps are made of. */
#include "plan/build_parts.h"
#include "plan/host_layout.h"
#include "plan/rules.h"
#include "plan/rules_blocks.h"

uint64_t build_steps_so_far(const struct builder *builder)
{
    uint64_t steps = 0;
    for (uint32_t i = 0; i < builder->plan->streams; i++)
        steps += builder->lengths[i];
    return steps;
}

static enum status refuse_size(const struct builder *builder)
{
    uint64_t cpu = builder->plan->cpu_tiles;
    uint64_t done = builder->marking ? builder->ops_most : cpu + build_steps_so_far(builder);
    return settings_refuse_size(builder->settings,
                                (double)done / (double)(cpu + builder->marked), builder->error);
}

enum status build_append(struct builder *builder, const struct op *op)
{
    if (builder->plan->op_count >= builder->ops_most)
        return refuse_size(builder);
    return plan_append(builder->plan, op, builder->error);
}

/* Appends an op of the step that is under way, and notes it in the plan's loops as `item`. */
static enum status append_item(struct builder *builder, const struct op *op,
                               struct loop_item item)
{
    item.kind = op->kind;
    loops_note(builder->plan->loops, item);
    return build_append(builder, op);
}

static enum status append_noted(struct builder *builder, const struct op *op)
{
    struct loop_item item = {.action = ALLOC_PAIR};
    if (op->kind == OP_ALLOC) {
        item.action = op->alloc.action;
        item.buffer = op->alloc.range.buffer;
    }
    return append_item(builder, op, item);
}

/* Does so with a part of a scan's way by the host. */
static enum status append_carry(struct builder *builder, const struct op *op)
{
    return append_item(builder, op, (struct loop_item){.carries = true});
}

enum status build_append_event(struct builder *builder, const struct op *op,
                               enum relation relation, uint32_t stage)
{
    return append_item(builder, op,
                       (struct loop_item){.relation = relation, .event_stage = stage});
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

static bool carries_by_host(const struct placement *placement, uint32_t link)
{
    return placement->carry_by_host && placement->plan->chain[link]->shape == KERNEL_SCAN;
}

/* Appends `op`, a copy of the carry. Its place has the same offset on both sides. */
static enum status write_carry(struct builder *builder, struct op op, uint32_t link,
                               enum carry_place place)
{
    const uint32_t tile = (uint32_t)op.tile;
    op.copy.host = placement_carry(&builder->placement, BUFFER_HOST_CARRY, link, tile, place);
    op.copy.device =
        placement_carry(&builder->placement, BUFFER_DEVICE_CARRY, link, tile, place);
    return append_carry(builder, &op);
}

/* Appends what comes right before link `link` of the tile: the copy in of the sum of all tiles
 * before it, which a callback has left on the host. The first tile needs none. */
static enum status write_carry_in(struct builder *builder, uint32_t stream, uint32_t tile,
                                  uint32_t link)
{
    if (!carries_by_host(&builder->placement, link) || tile == 0)
        return STATUS_OK;
    const struct op op = {.kind = OP_H2D, .stream = stream, .tile = (int32_t)tile};
    return write_carry(builder, op, link, CARRY_BEFORE);
}

/* Appends the callback that leaves what the next tile copies in. */
static enum status write_feed(struct builder *builder, uint32_t stream, uint32_t tile,
                              uint32_t link)
{
    const struct placement *placement = &builder->placement;
    struct op_ranges *ranges = plan_take_ranges(builder->plan, builder->error);
    struct op op = {.kind = OP_CALLBACK, .stream = stream, .tile = (int32_t)tile};
    if (ranges == NULL)
        return STATUS_NO_MEMORY;
    if (tile > 0)
        ranges->in[0] = placement_carry(placement, BUFFER_HOST_CARRY, link, tile, CARRY_BEFORE);
    ranges->in[1] = placement_carry(placement, BUFFER_HOST_CARRY, link, tile, CARRY_TOTAL);
    ranges->out = placement_carry(placement, BUFFER_HOST_CARRY, link, tile + 1, CARRY_BEFORE);
    op.callback.ranges = ranges;
    return append_carry(builder, &op);
}

/* Appends what comes right behind a scan's link: the copy out of the tile's own total, and the
 * callback that leaves what the next tile copies in; with CARRY_SYNC the host waits for that.
 * The next tile's link waits for this stream: see steps_follow(). */
static enum status write_carry_out(struct builder *builder, uint32_t stream, uint32_t tile,
                                   uint32_t link)
{
    const struct placement *placement = &builder->placement;
    if (!carries_by_host(placement, link) || tile + 1 == builder->plan->tiles)
        return STATUS_OK;
    struct op op = {.kind = OP_D2H, .stream = stream, .tile = (int32_t)tile};
    enum status status = write_carry(builder, op, link, CARRY_TOTAL);
    if (status == STATUS_OK)
        status = write_feed(builder, stream, tile, link);
    op.kind = OP_SYNC;
    if (status == STATUS_OK && builder->settings->carry == CARRY_SYNC)
        status = append_carry(builder, &op);
    return status;
}

/* --- steps --- */

/* Appends a copy between the host's arrays and a slot: one op, or one for each row. */
static enum status write_copy(struct builder *builder, struct op op)
{
    const struct range device = op.copy.device;
    struct range rest = op.copy.host;
    const uint64_t first = rest.offset;
    if (builder->plan->copy != COPY_ROWS)
        return append_noted(builder, &op);
    enum status status = STATUS_OK;
    while (status == STATUS_OK && host_layout_next(builder->plan, &rest, &op.copy.host)) {
        op.copy.device.offset = device.offset + (op.copy.host.offset - first);
        op.copy.device.bytes = op.copy.host.bytes;
        status = append_noted(builder, &op);
    }
    return status;
}

/* Returns the device's side of a copy: `slot`, or nothing where pages are prefetched. */
static struct range slot_of(const struct builder *builder, struct range slot)
{
    const struct range none = {.buffer = BUFFER_FIRST_DEVICE};
    return builder->plan->prefetches ? none : slot;
}

static enum status write_copies_in(struct builder *builder, uint32_t stream, struct tiles tiles)
{
    enum status status = STATUS_OK;
    for (int input = 0; input < builder->placement.inputs && status == STATUS_OK; input++) {
        struct op op = build_op(OP_H2D, stream, tiles);
        op.copy.host = placement_sent_input(&builder->placement, input, tiles);
        op.copy.device =
            slot_of(builder, placement_input_slot(&builder->placement, input, tiles));
        status = write_copy(builder, op);
    }
    if (status != STATUS_OK || !builder->plan->prefetches)
        return status;
    struct op op =
        build_op(OP_H2D, stream, tiles); /* a kernel writes its output's pages, too */
    op.copy.host = placement_sent_output(&builder->placement, tiles);
    op.copy.device = slot_of(builder, (struct range){0});
    return append_noted(builder, &op);
}

/* Appends all launches of a tile's kernel, one behind the other in its stream. A launch per
 * repeat goes on in the output with what the last one left there. */
static enum status append_launches(struct builder *builder, struct op *op)
{
    const struct kernel *kernel = builder->plan->chain[op->kernel.link];
    const uint32_t launches = kernel_launches(kernel, &builder->plan->params);
    enum status status = STATUS_OK;
    for (uint32_t repeat = 0; repeat < launches && status == STATUS_OK; repeat++) {
        op->kernel.repeat = repeat;
        status = append_noted(builder, op);
    }
    return status;
}

static enum status write_callback(struct builder *builder, uint32_t stream, struct tiles tiles)
{
    struct op callback = build_op(OP_CALLBACK, stream, tiles);
    if (!builder->settings->callbacks && builder->mistake.sleep_ns == 0)
        return STATUS_OK;
    callback.callback.result = placement_sent_output(&builder->placement, tiles);
    callback.callback.sleep_ns = builder->plan->loops->sleep_ns = builder->mistake.sleep_ns;
    return append_noted(builder, &callback);
}

/* Appends a launch of link `link` on the tiles, with what carries a scan over. */
static enum status write_launch(struct builder *builder, uint32_t stream, struct tiles tiles,
                                uint32_t link)
{
    struct op op = build_op(OP_KERNEL, stream, tiles);
    struct op_ranges ranges = {0};
    op.kernel.ranges = &ranges;
    placement_kernel(&builder->placement, tiles, link, &op);
    op.kernel.ranges = plan_keep_ranges(builder->plan, &ranges, builder->error);
    if (op.kernel.ranges == NULL)
        return STATUS_NO_MEMORY;
    op.kernel.blocks = build_blocks(builder, link, op.kernel.count);
    enum status status = write_carry_in(builder, stream, tiles.first, link);
    if (status == STATUS_OK)
        status = append_launches(builder, &op);
    return status == STATUS_OK ? write_carry_out(builder, stream, tiles.first, link) : status;
}

/* Appends one launch on all the tiles, or one on each where the kernel can't join them. */
static enum status write_kernel(struct builder *builder, uint32_t stream, struct tiles tiles,
                                uint32_t link)
{
    const bool joins = kernel_is_elementwise(builder->plan->chain[link]);
    const uint32_t end = tiles.first + tiles.count, step = joins ? tiles.count : 1;
    enum status status = STATUS_OK;
    for (uint32_t tile = tiles.first; tile < end && status == STATUS_OK; tile += step)
        status = write_launch(builder, stream, (struct tiles){tile, step}, link);
    const uint32_t next = builder->steps.kernel_stage[link] + 1;
    bool on_host = !steps_have_stage(&builder->steps, next); /* no copy out follows */
    if (status == STATUS_OK && on_host)
        status = write_callback(builder, stream, tiles);
    return status;
}

static enum status write_copy_out(struct builder *builder, uint32_t stream, struct tiles tiles)
{
    struct op op = build_op(OP_D2H, stream, tiles);
    op.copy.host = placement_sent_output(&builder->placement, tiles);
    op.copy.device = slot_of(builder, placement_output_slot(&builder->placement, tiles));
    enum status status = write_copy(builder, op);
    return status == STATUS_OK ? write_callback(builder, stream, tiles) : status;
}

/* Appends the copy of what link `link` leaves to the device that goes on with it. */
static enum status write_peer(struct builder *builder, uint32_t stream, struct tiles tiles,
                              uint32_t link)
{
    struct op op = build_op(OP_PEER, stream, tiles);
    op.peer.from = placement_handed(&builder->placement, link, tiles);
    op.peer.to = placement_taken(&builder->placement, link, tiles);
    return append_noted(builder, &op);
}

/* Appends a copy of the same out into the host's memory, or in from there. */
static enum status write_exchange(struct builder *builder, enum op_kind kind, uint32_t stream,
                                  struct tiles tiles, uint32_t link)
{
    struct op op = build_op(kind, stream, tiles);
    op.copy.host = placement_exchange(&builder->placement, link, tiles);
    op.copy.device = kind == OP_D2H ? placement_handed(&builder->placement, link, tiles)
                                    : placement_taken(&builder->placement, link, tiles);
    return append_noted(builder, &op);
}

enum status build_stage(struct builder *builder, const struct stage *stage, struct tiles tiles,
                        uint32_t stream)
{
    switch (stage->kind) {
    case STAGE_IN:
        return write_copies_in(builder, stream, tiles);
    case STAGE_KERNEL:
        return write_kernel(builder, stream, tiles, stage->link);
    case STAGE_PEER:
        return write_peer(builder, stream, tiles, stage->link);
    case STAGE_TO_HOST:
        return write_exchange(builder, OP_D2H, stream, tiles, stage->link);
    case STAGE_FROM_HOST:
        return write_exchange(builder, OP_H2D, stream, tiles, stage->link);
    case STAGE_OUT:
        break;
    }
    return write_copy_out(builder, stream, tiles);
}

/* Appends an action on the whole slot that a tile's part lies in. */
static enum status write_action(struct builder *builder, struct op op, struct range part)
{
    const uint64_t stride = builder->placement.stride[part.buffer];
    op.alloc.range = (struct range){part.buffer, part.offset / stride * stride, stride};
    op.alloc.bytes = stride;
    return append_noted(builder, &op);
}

enum status build_memory(struct builder *builder, enum alloc_action action, struct step step,
                         uint32_t stream)
{
    const struct placement *placement = &builder->placement;
    const struct plan *plan = builder->plan;
    const struct tiles tiles = plan_batch(plan, step.batch);
    const bool ordered = plan->alloc != ALLOC_LOOP, takes = action == ALLOC_TAKE;
    const uint32_t out = steps_out(&builder->steps);
    const uint32_t first_output = ordered ? steps_first_output(&builder->steps) : 0;
    const uint32_t last_input = ordered ? steps_last_input(&builder->steps) : out;
    enum status status = STATUS_OK;
    if (plan->alloc == ALLOC_ONCE)
        return STATUS_OK;
    struct op op = build_op(OP_ALLOC, plan->streams, tiles);
    op.alloc.action = action;
    op.alloc.ordered = ordered;
    op.alloc.stream = stream;
    const int inputs = step.stage == (takes ? 0 : last_input) ? placement->inputs : 0;
    for (int input = 0; input < inputs && status == STATUS_OK; input++)
        status = write_action(builder, op, placement_input_slot(placement, input, tiles));
    if (status != STATUS_OK || placement->in_place ||
        step.stage != (takes ? first_output : out))
        return status;
    return write_action(builder, op, placement_output_slot(placement, tiles));
}

/* Appends a copy within the host's memory, by its cores. */
static enum status write_pack(struct builder *builder, struct tiles tiles, struct range from,
                              struct range to)
{
    struct op op = build_op(OP_PACK, builder->plan->streams, tiles);
    op.pack.from = from;
    op.pack.to = to;
    return build_append(builder, &op);
}

enum status build_packs(struct builder *builder, uint32_t batch)
{
    const struct placement *placement = &builder->placement;
    const struct tiles tiles = plan_batch(builder->plan, batch);
    enum status status = STATUS_OK;
    for (int input = 0; input < placement->inputs && status == STATUS_OK; input++)
        status = write_pack(builder, tiles, placement_input(placement, input, tiles),
                            placement_sent_input(placement, input, tiles));
    return status;
}

enum status build_unpacks(struct builder *builder, uint32_t batch)
{
    const struct placement *placement = &builder->placement;
    const struct tiles tiles = plan_batch(builder->plan, batch);
    if (placement->reduces)
        return STATUS_OK;
    return write_pack(builder, tiles, placement_sent_output(placement, tiles),
                      placement_output(placement, tiles));
}

enum status build_cpu_tiles(struct builder *builder)
{
    struct plan *plan = builder->plan;
    enum status status = STATUS_OK;
    for (uint32_t tile = plan->tiles - plan->cpu_tiles;
         tile < plan->tiles && status == STATUS_OK; tile++) {
        struct op op = {.kind = OP_CPU, .stream = plan->streams, .tile = (int32_t)tile};
        uint64_t first;
        op.cpu.ranges = plan_take_ranges(plan, builder->error);
        if (op.cpu.ranges == NULL)
            return STATUS_NO_MEMORY;
        plan_tile(plan, tile, &first, &op.cpu.count);
        for (int input = 0; input < builder->placement.inputs; input++)
            op.cpu.ranges->in[input] =
                placement_input(&builder->placement, input, (struct tiles){tile, 1});
        op.cpu.ranges->resident = plan_whole(plan, BUFFER_HOST_RESIDENT);
        op.cpu.ranges->out = placement_output(&builder->placement, (struct tiles){tile, 1});
        status = build_append(builder, &op);
    }
    return status;
}
