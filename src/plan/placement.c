/* placement.c - lays out a plan's arrays, and finds the bytes of each tile in them. */
#include "plan/placement.h"

enum {
    SLOT_ALIGNMENT = 256,
    CARRY_BYTES = 8, /* of a place: room for a value of any type */
};

/* Returns how many elements of the second input go with `count` of the first. */
static uint64_t second_count(const struct plan *plan, uint64_t count)
{
    return chain_second_count(plan->chain, plan->chain_length, &plan->params, count);
}

/* Returns the tiles' part of an array of the host. */
static struct range host_part(const struct placement *placement, enum part part,
                              struct tiles tiles)
{
    static const enum buffer buffers[] = {BUFFER_HOST_IN0, BUFFER_HOST_IN1, BUFFER_HOST_OUT};
    const uint64_t size = part == PART_OUT ? placement->out_bytes : placement->in_bytes;
    uint64_t first = tiles.first, count = tiles.count; /* of a reduction's values */
    if (part != PART_OUT || !placement->reduces)
        plan_tiles(placement->plan, tiles, &first, &count);
    if (part == PART_IN1) {
        first = second_count(placement->plan, first);
        count = second_count(placement->plan, count);
    }
    return (struct range){buffers[part], first * size, count * size};
}

/* Returns how many bytes of other tiles of its batch lie before a tile in its slot. Scratch
 * serves one tile after another. */
static uint64_t slot_offset(const struct placement *placement, enum buffer buffer,
                            uint32_t tile)
{
    const struct plan *plan = placement->plan;
    const uint32_t batch = plan_batch(plan, plan_batch_of(plan, tile)).first;
    const struct tiles before = {batch, tile - batch};
    if (before.count == 0 || buffer == BUFFER_DEVICE_SCRATCH)
        return 0;
    const enum part part = buffer == BUFFER_DEVICE_IN0   ? PART_IN0
                           : buffer == BUFFER_DEVICE_IN1 ? PART_IN1
                                                         : PART_OUT;
    return host_part(placement, part, before).bytes;
}

static uint32_t work_device(const struct plan *plan, uint32_t tile, uint32_t link)
{
    return plan_work_device(plan, plan_batch_of(plan, tile), link);
}

/* Returns `bytes` of what a device buffer holds where link `link` works, from `tile` on. */
static struct range slot_range(const struct placement *placement, enum buffer buffer,
                               uint32_t tile, uint32_t link, uint64_t bytes)
{
    const struct plan *plan = placement->plan;
    const uint32_t batch = plan_batch_of(plan, tile), slots = placement->device_slots;
    uint64_t slot = plan_batch_number(plan, batch) % slots;
    slot += plan_work_device(plan, batch, link) * (uint64_t)slots;
    uint64_t offset = slot * placement->stride[buffer];
    return (struct range){buffer, offset + slot_offset(placement, buffer, tile), bytes};
}

uint64_t placement_input_bytes(const struct placement *placement, struct tiles tiles)
{
    uint64_t bytes = 0;
    for (int input = 0; input < placement->inputs; input++)
        bytes += host_part(placement, (enum part)input, tiles).bytes;
    return bytes;
}

/* Returns the device buffer that a tile's result is copied out of. */
static enum buffer output_buffer(const struct placement *placement)
{
    return placement->in_place ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_OUT;
}

struct part_places placement_part(const struct placement *placement, enum part part,
                                  struct tiles tiles)
{
    static const enum buffer packed[] = {BUFFER_HOST_PACK_IN0, BUFFER_HOST_PACK_IN1,
                                         BUFFER_HOST_PACK_OUT};
    const struct plan *plan = placement->plan;
    const enum buffer buffers[] = {BUFFER_DEVICE_IN0, BUFFER_DEVICE_IN1,
                                   output_buffer(placement)};
    const uint32_t link = part == PART_OUT ? (uint32_t)plan->chain_length - 1 : 0;
    struct part_places places = {.host = host_part(placement, part, tiles)};
    places.sent = places.host;
    places.slot = (struct range){.buffer = BUFFER_FIRST_DEVICE};
    if (!plan->prefetches)
        places.slot =
            slot_range(placement, buffers[part], tiles.first, link, places.host.bytes);
    if (plan->packs && (part != PART_OUT || !placement->reduces)) {
        places.sent = places.slot;
        places.sent.buffer = packed[part];
    }
    return places;
}

/* Returns the bytes of a tile's places. By the host there are two: the tile's total and, behind
 * it, the sum before it. */
static uint64_t carry_bytes(const struct placement *placement)
{
    return placement->carry_by_host ? 2 * CARRY_BYTES : CARRY_BYTES;
}

struct range placement_carry(const struct placement *placement, enum buffer buffer,
                             uint32_t link, uint32_t tile, enum carry_place place)
{
    const struct plan *plan = placement->plan;
    const bool shared = place == CARRY_BEFORE && !placement->carry_by_host;
    const uint64_t owner = shared ? tile - 1 : tile;
    uint64_t offset = ((uint64_t)link * plan->tiles + owner) * carry_bytes(placement);
    if (buffer == BUFFER_DEVICE_CARRY)
        offset += plan_device_part(plan, buffer, work_device(plan, tile, link)).offset;
    if (place == CARRY_BEFORE && !shared)
        offset += CARRY_BYTES;
    return (struct range){buffer, offset, placement->leaves[link]};
}

/* Sets where a kernel keeps what it needs beside its elements. */
static void place_scratch_and_carry(const struct placement *placement, uint32_t tile,
                                    struct op *op)
{
    const uint32_t link = op->kernel.link;
    const struct kernel *kernel = placement->plan->chain[link];
    uint64_t bytes = kernel_scratch_bytes(kernel, op->kernel.count);
    if (bytes > 0) {
        op->kernel.ranges->scratch =
            slot_range(placement, BUFFER_DEVICE_SCRATCH, tile, link, bytes);
        op->kernel.ranges->scratch.offset += placement->scratch[link];
    }
    if (kernel->shape != KERNEL_SCAN)
        return;
    if (tile > 0)
        op->kernel.ranges->carry_in =
            placement_carry(placement, BUFFER_DEVICE_CARRY, link, tile, CARRY_BEFORE);
    op->kernel.ranges->carry_out =
        placement_carry(placement, BUFFER_DEVICE_CARRY, link, tile, CARRY_TOTAL);
    op->kernel.ranges->carry_own = placement->carry_by_host;
}

/* Returns the buffer that a tile's elements are in between two kernels of the chain. */
static enum buffer work_buffer(const struct placement *placement)
{
    return placement->reduces ? BUFFER_DEVICE_IN0 : output_buffer(placement);
}

struct handing placement_handing(const struct placement *placement, uint32_t link,
                                 struct tiles tiles)
{
    uint64_t first, count;
    plan_tiles(placement->plan, tiles, &first, &count);
    const uint64_t bytes = count * placement->leaves[link];
    struct handing handing = {
        .left = slot_range(placement, work_buffer(placement), tiles.first, link, bytes),
        .taken = slot_range(placement, BUFFER_DEVICE_IN0, tiles.first, link + 1, bytes),
        .host = slot_range(placement, BUFFER_DEVICE_IN0, tiles.first, link, bytes)};
    handing.host.buffer = BUFFER_HOST_EXCHANGE;
    return handing;
}

/* Moves the chain's begin and end to the host's arrays, where kernels reach those. */
static void place_on_host(const struct placement *placement, struct tiles tiles, uint32_t link,
                          struct op *op)
{
    const struct plan *plan = placement->plan;
    if (!placement->mapped)
        return;
    if (link == 0)
        op->kernel.ranges->in[0] = host_part(placement, PART_IN0, tiles);
    if (plan->chain[link]->inputs == 2)
        op->kernel.ranges->in[1] = host_part(placement, PART_IN1, tiles);
    if (link + 1 == (uint32_t)plan->chain_length)
        op->kernel.ranges->out = host_part(placement, PART_OUT, tiles);
}

/* A chain of maps and scans reads the input buffer once and then works in place on the output
 * buffer, unless its kernel works in place from the start: so its first kernel, and it alone,
 * may gather. One that ends in a reduction works in place on the input buffer; only the value
 * goes to the output. By links, each device's part of the chain does as a chain of its own
 * would. */
void placement_kernel(const struct placement *placement, struct tiles tiles, uint32_t link,
                      struct op *op)
{
    const struct plan *plan = placement->plan;
    const struct kernel *kernel = plan->chain[link];
    uint64_t first, count;
    plan_tiles(plan, tiles, &first, &count);
    op->kernel.link = link;
    op->kernel.count = count;
    bool reduces = kernel->shape == KERNEL_REDUCE;
    enum buffer work = work_buffer(placement);
    op->kernel.ranges->in[0] =
        slot_range(placement, plan_link_is_first(plan, link) ? BUFFER_DEVICE_IN0 : work,
                   tiles.first, link, count * placement->reads[link]);
    if (kernel->inputs == 2)
        op->kernel.ranges->in[1] =
            slot_range(placement, BUFFER_DEVICE_IN1, tiles.first, link,
                       second_count(plan, count) * placement->reads[link]);
    if (kernel->resident_count != NULL)
        op->kernel.ranges->resident = plan_device_part(plan, BUFFER_DEVICE_RESIDENT,
                                                       work_device(plan, tiles.first, link));
    op->kernel.ranges->out =
        slot_range(placement, reduces ? BUFFER_DEVICE_OUT : work, tiles.first, link,
                   (reduces ? 1 : count) * placement->leaves[link]);
    place_on_host(placement, tiles, link, op);
    place_scratch_and_carry(placement, tiles.first, op);
}

uint64_t placement_aligned(uint64_t bytes)
{
    return (bytes + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
}

/* Gives each kernel scratch of its own, where it finds what it left. Returns a slot's bytes. */
static uint64_t lay_out_scratch(struct placement *placement, uint64_t count)
{
    uint64_t bytes = 0;
    for (int link = 0; link < placement->plan->chain_length; link++) {
        placement->scratch[link] = bytes;
        bytes += placement_aligned(kernel_scratch_bytes(placement->plan->chain[link], count));
    }
    return bytes;
}

/* Sets a slot's bytes, of `tiles` tiles with `count` elements at most, of what is copied in and
 * out; where nothing is copied, of what is between kernels. */
static void size_slots(struct placement *placement, uint32_t tiles, uint64_t count)
{
    const struct plan *plan = placement->plan;
    uint64_t in = placement->in_bytes, out = placement->out_bytes;
    bool reduces = placement->reduces;
    if (placement->mapped) {
        if (plan->chain_length > 1)
            placement->stride[work_buffer(placement)] = count * (reduces ? in : out);
        return;
    }
    placement->stride[BUFFER_DEVICE_IN0] = count * in;
    placement->stride[BUFFER_DEVICE_IN1] = second_count(plan, count) * in;
    placement->stride[output_buffer(placement)] = (reduces ? tiles : count) * out;
}

/* Gives the host a slot of its own for each of the device's. */
static void size_packing(const struct placement *placement, struct plan *plan)
{
    const enum buffer out = output_buffer(placement);
    plan->buffer_bytes[BUFFER_HOST_PACK_IN0] = plan->buffer_bytes[BUFFER_DEVICE_IN0];
    plan->buffer_bytes[BUFFER_HOST_PACK_IN1] = plan->buffer_bytes[BUFFER_DEVICE_IN1];
    plan->buffer_bytes[BUFFER_HOST_PACK_OUT] = placement->reduces ? 0 : plan->buffer_bytes[out];
}

static void size_buffers(struct placement *placement, struct plan *plan)
{
    uint64_t in = placement->in_bytes, out = placement->out_bytes;
    const uint64_t devices = plan_devices(plan);
    uint64_t tile = (plan->elements + plan->tiles - 1) / plan->tiles;
    uint32_t tiles = plan_batches(plan) > 0 ? plan_batch(plan, 0).count : 1;
    size_slots(placement, tiles, tiles * tile);
    placement->stride[BUFFER_DEVICE_SCRATCH] = lay_out_scratch(placement, tile);
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT; b++) {
        placement->stride[b] = placement_aligned(placement->stride[b]);
        plan->buffer_bytes[b] = plan->slots * placement->stride[b];
    }
    if (kernel_chain_scans(plan->chain, plan->chain_length))
        plan->buffer_bytes[BUFFER_DEVICE_CARRY] =
            devices * plan->chain_length * plan->tiles * carry_bytes(placement);
    if (plan->packs)
        size_packing(placement, plan);
    if (plan->by_host) /* slots for each device that hands tiles on */
        plan->buffer_bytes[BUFFER_HOST_EXCHANGE] =
            (devices - 1) * placement->device_slots * placement->stride[BUFFER_DEVICE_IN0];
    if (placement->carry_by_host)
        plan->buffer_bytes[BUFFER_HOST_CARRY] =
            plan->buffer_bytes[BUFFER_DEVICE_CARRY] / devices;
    plan->buffer_bytes[BUFFER_HOST_IN0] = plan->elements * in;
    plan->buffer_bytes[BUFFER_HOST_IN1] = second_count(plan, plan->elements) * in;
    plan->buffer_bytes[BUFFER_HOST_RESIDENT] =
        chain_resident_bytes(plan->chain, plan->chain_length, &plan->params);
    plan->buffer_bytes[BUFFER_DEVICE_RESIDENT] =
        devices * plan->buffer_bytes[BUFFER_HOST_RESIDENT];
    plan->buffer_bytes[BUFFER_HOST_OUT] =
        (placement->reduces ? plan->tiles : plan->elements) * out;
}

static void study_chain(struct placement *placement)
{
    const struct plan *plan = placement->plan;
    const struct kernel *last = plan_last_kernel(plan);
    placement->inputs = 1;
    placement->reduces = last->shape == KERNEL_REDUCE;
    placement->mapped = plan_kernels_reach_host(plan);
    placement->in_place = plan->chain[0]->in_place;
    placement->last_input_link = placement->reduces ? plan->chain_length - 1 : 0;
    placement->first_output_link = placement->last_input_link;
    for (int link = 0; link < plan->chain_length; link++) {
        placement->reads[link] = dtype_bytes(plan->chain[link]->in);
        placement->leaves[link] = dtype_bytes(plan->chain[link]->out);
        if (plan->chain[link]->inputs < 2)
            continue;
        placement->inputs = 2;
        if (link > placement->last_input_link)
            placement->last_input_link = link;
    }
    placement->in_bytes = placement->reads[0];
    placement->out_bytes = placement->leaves[plan->chain_length - 1];
}

void placement_begin(struct placement *placement, struct plan *plan, bool carry_by_host)
{
    *placement = (struct placement){.plan = plan,
                                    .device_slots = plan->slots / plan_devices(plan),
                                    .carry_by_host = carry_by_host};
    study_chain(placement);
    size_buffers(placement, plan);
}
