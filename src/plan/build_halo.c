/* build_halo.c - the plan of a stencil: rows that are dealt over devices and stay there for
 * many steps.
 *
 * A device has tiles that follow one another, in two buffers: a step reads one and writes the
 * other, and the next step the other way round. Around its own rows each buffer has room for
 * the neighbours' nearest rows, its halo. Before each step but the first a device needs its
 * halo from the neighbours as they are now: each sends its outermost rows, its edges, from
 * device to device, or leaves them in the host's memory, from where the neighbours take them.
 * What lies outside the array is zero, and is set so once.
 *
 * Hidden, a step begins with the edges, in an urgent stream, which also sends them; the rows in
 * between are worked on in another stream, beside the copies. Else a step is one launch, and
 * the copies follow it in its stream.
 *
 * The events of a device are recorded anew in each step. All waits of a step are issued before
 * any of its records, so that they are for what the step before left. */
#include "plan/build_parts.h"

#include <stdlib.h>

/* What a device records in a step: its edges have been sent; its edges, and its inside, are
 * done. Where nothing is hidden there is the first alone. */
enum { SENT, EDGES, INSIDE, EVENT_KINDS };

/* No device has more ops in a step, with its share of what comes before all and behind. */
enum { STEP_OPS_MOST = 16 };

/* Elements [first, end) of the array, whole rows. */
struct rows {
    uint64_t first, end;
};

struct halo {
    struct builder *builder;
    uint64_t border; /* elements of a halo's rows on one side */
    uint32_t steps, devices;
    bool hides;
};

/* --- what is where --- */

static struct rows rows_of(const struct halo *halo, uint32_t device)
{
    uint64_t first, count;
    plan_tiles(halo->builder->plan, plan_device_tiles(halo->builder->plan, device), &first,
               &count);
    return (struct rows){first, first + count};
}

static bool has_above(uint32_t device)
{
    return device > 0;
}

static bool has_below(const struct halo *halo, uint32_t device)
{
    return device + 1 < halo->devices;
}

/* Returns the edges, which neighbours need, and what is not in them: all where edges are no
 * launches of their own. */
static struct rows edge_above(const struct halo *halo, uint32_t device)
{
    const struct rows own = rows_of(halo, device);
    return (struct rows){own.first, own.first + halo->border};
}

static struct rows edge_below(const struct halo *halo, uint32_t device)
{
    const struct rows own = rows_of(halo, device);
    return (struct rows){own.end - halo->border, own.end};
}

static struct rows inside(const struct halo *halo, uint32_t device)
{
    struct rows rows = rows_of(halo, device);
    rows.first += halo->hides && has_above(device) ? halo->border : 0;
    rows.end -= halo->hides && has_below(halo, device) ? halo->border : 0;
    return rows;
}

/* Returns the buffer that a step reads; the step before wrote there. */
static enum buffer source(uint32_t step)
{
    return step % 2 == 0 ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_OUT;
}

/* Returns where rows, a device's own or its halo's, are in a buffer of that device. */
static struct range range_of(const struct halo *halo, enum buffer buffer, uint32_t device,
                             struct rows rows)
{
    const struct plan *plan = halo->builder->plan;
    const uint64_t size = dtype_bytes(plan->chain[0]->in);
    const uint64_t before = rows.first + halo->border - rows_of(halo, device).first;
    return (struct range){buffer, plan_device_part(plan, buffer, device).offset + before * size,
                          (rows.end - rows.first) * size};
}

/* Returns a device's streams: of the inside and all copies from and to the host, and of the
 * edges. They are one where nothing is hidden. */
static uint32_t inside_stream(const struct halo *halo, uint32_t device)
{
    return halo->hides ? 2 * device : device;
}

static uint32_t edge_stream(const struct halo *halo, uint32_t device)
{
    return inside_stream(halo, device) + halo->hides;
}

/* --- ops --- */

/* Returns an op of no tile. */
static struct op op_in(enum op_kind kind, uint32_t stream)
{
    return (struct op){.kind = kind, .stream = stream, .tile = -1};
}

static void event_op(const struct halo *halo, enum op_kind kind, uint32_t stream,
                     uint32_t device, uint32_t event)
{
    struct op op = op_in(kind, stream);
    op.event.event = device * (halo->hides ? EVENT_KINDS : 1) + event;
    build_append(halo->builder, &op);
}

/* Launches a step on rows of a device. It reads those around them, too. */
static void launch(const struct halo *halo, uint32_t stream, uint32_t device, uint32_t step,
                   struct rows rows)
{
    struct builder *builder = halo->builder;
    struct op op = op_in(OP_KERNEL, stream);
    struct op_ranges ranges = {0};
    ranges.in[0] = range_of(halo, source(step), device,
                            (struct rows){rows.first - halo->border, rows.end + halo->border});
    ranges.out = range_of(halo, source(step + 1), device, rows);
    op.kernel.count = rows.end - rows.first;
    op.kernel.blocks = build_blocks(builder, 0, op.kernel.count);
    op.kernel.ranges = plan_keep_ranges(builder->plan, &ranges, builder->error);
    build_append(builder, &op);
}

/* Returns where in the host's memory a device leaves its edge for a neighbour, above or below.
 * It has two places for that, which steps use in turn: the neighbour takes what one step left
 * before it sends the next one's edge, for which the device has waited before it leaves the
 * edge of the step after that. */
static struct range exchange(const struct halo *halo, uint32_t device, uint32_t to,
                             uint32_t step)
{
    const uint64_t bytes = halo->border * dtype_bytes(halo->builder->plan->chain[0]->in);
    return (struct range){BUFFER_HOST_EXCHANGE,
                          (device * 4 + (to > device) * 2 + step % 2) * bytes, bytes};
}

/* Sends rows that a step has left to another device's halo, or to the host's memory. */
static void send(const struct halo *halo, uint32_t device, uint32_t to, uint32_t step,
                 struct rows rows)
{
    const bool by_host = halo->builder->plan->by_host;
    struct op op = op_in(by_host ? OP_D2H : OP_PEER, edge_stream(halo, device));
    const struct range left = range_of(halo, source(step + 1), device, rows);
    if (by_host) {
        op.copy.host = exchange(halo, device, to, step);
        op.copy.device = left;
    } else {
        op.move.from = left;
        op.move.to = range_of(halo, source(step + 1), to, rows);
    }
    build_append(halo->builder, &op);
}

/* Takes what the step before left in the host's memory for this device's halo. */
static void take(const struct halo *halo, uint32_t device, uint32_t from, uint32_t step)
{
    struct op op = op_in(OP_H2D, edge_stream(halo, device));
    op.copy.host = exchange(halo, from, device, step - 1);
    op.copy.device = range_of(halo, source(step), device,
                              from < device ? edge_below(halo, from) : edge_above(halo, from));
    build_append(halo->builder, &op);
}

/* --- the parts of a step, for one device each --- */

typedef void part(const struct halo *halo, uint32_t device, uint32_t step);

/* Waits for what a neighbour sent in the step before, and takes it where it is the host's. */
static void receive(const struct halo *halo, uint32_t device, uint32_t from, uint32_t step)
{
    event_op(halo, OP_WAIT, edge_stream(halo, device), from, SENT);
    if (halo->builder->plan->by_host)
        take(halo, device, from, step);
}

/* The edges need the neighbours' edges and the inside as the step before left them, and the
 * inside needs the edges. */
static void write_waits(const struct halo *halo, uint32_t device, uint32_t step)
{
    if (step > 0 && has_above(device))
        receive(halo, device, device - 1, step);
    if (step > 0 && has_below(halo, device))
        receive(halo, device, device + 1, step);
    if (halo->hides)
        event_op(halo, OP_WAIT, edge_stream(halo, device), device, INSIDE);
    if (halo->hides && step > 0)
        event_op(halo, OP_WAIT, inside_stream(halo, device), device, EDGES);
}

static void write_edges(const struct halo *halo, uint32_t device, uint32_t step)
{
    const uint32_t stream = edge_stream(halo, device);
    if (has_above(device))
        launch(halo, stream, device, step, edge_above(halo, device));
    if (has_below(halo, device))
        launch(halo, stream, device, step, edge_below(halo, device));
    event_op(halo, OP_RECORD, stream, device, EDGES);
}

/* No neighbour needs what the last step leaves. A halo is free when it is sent to: whoever
 * reads it sent an edge of its own after that, for which the sender has waited. */
static void write_sends(const struct halo *halo, uint32_t device, uint32_t step)
{
    if (halo->devices == 1 || step + 1 == halo->steps)
        return;
    if (has_above(device))
        send(halo, device, device - 1, step, edge_above(halo, device));
    if (has_below(halo, device))
        send(halo, device, device + 1, step, edge_below(halo, device));
    event_op(halo, OP_RECORD, edge_stream(halo, device), device, SENT);
}

static void write_inside(const struct halo *halo, uint32_t device, uint32_t step)
{
    const uint32_t stream = inside_stream(halo, device);
    launch(halo, stream, device, step, inside(halo, device));
    if (halo->hides)
        event_op(halo, OP_RECORD, stream, device, INSIDE);
}

static void write_steps(const struct halo *halo)
{
    static part *const hidden[] = {write_waits, write_edges, write_sends, write_inside, NULL};
    static part *const bare[] = {write_waits, write_inside, write_sends, NULL};
    part *const *parts = halo->hides ? hidden : bare;
    for (uint32_t step = 0; step < halo->steps && !build_failed(halo->builder); step++)
        for (int i = 0; parts[i] != NULL; i++)
            for (uint32_t device = 0; device < halo->devices; device++)
                parts[i](halo, device, step);
}

/* --- before the steps, and behind them --- */

/* Sets what lies outside the array to zero: `step` says in which buffer. */
static void clear(const struct halo *halo, uint32_t device, uint32_t step)
{
    const struct rows own = rows_of(halo, device);
    const struct rows outside[] = {{own.first - halo->border, own.first},
                                   {own.end, own.end + halo->border}};
    const bool is_outside[] = {!has_above(device), !has_below(halo, device)};
    for (int side = 0; side < 2; side++) {
        struct op op = op_in(OP_MEMSET, inside_stream(halo, device));
        op.set.range = range_of(halo, source(step), device, outside[side]);
        if (is_outside[side] && halo->border > 0)
            build_append(halo->builder, &op);
    }
}

/* Copies a tile of a device in, the first and the last one with the rows of the halo. */
static void copy_in(const struct halo *halo, uint32_t device, uint32_t tile)
{
    const struct plan *plan = halo->builder->plan;
    const struct rows own = rows_of(halo, device);
    const uint64_t size = dtype_bytes(plan->chain[0]->in);
    struct op op = build_op(OP_H2D, inside_stream(halo, device), (struct tiles){tile, 1});
    uint64_t first, count;
    plan_tile(plan, tile, &first, &count);
    struct rows rows = {first, first + count};
    rows.first -= rows.first == own.first && has_above(device) ? halo->border : 0;
    rows.end += rows.end == own.end && has_below(halo, device) ? halo->border : 0;
    op.copy.host =
        (struct range){BUFFER_HOST_IN0, rows.first * size, (rows.end - rows.first) * size};
    op.copy.device = range_of(halo, source(0), device, rows);
    build_append(halo->builder, &op);
}

static void copy_out(const struct halo *halo, uint32_t device, uint32_t tile)
{
    const struct plan *plan = halo->builder->plan;
    const uint64_t size = dtype_bytes(plan->chain[0]->out);
    struct op op = build_op(OP_D2H, inside_stream(halo, device), (struct tiles){tile, 1});
    uint64_t first, count;
    plan_tile(plan, tile, &first, &count);
    op.copy.host = (struct range){BUFFER_HOST_OUT, first * size, count * size};
    op.copy.device =
        range_of(halo, source(halo->steps), device, (struct rows){first, first + count});
    build_append(halo->builder, &op);
}

/* Copies tiles, of each device in turn. */
static void copy_tiles(const struct halo *halo,
                       void (*copy)(const struct halo *, uint32_t, uint32_t))
{
    const struct plan *plan = halo->builder->plan;
    for (uint32_t i = 0; i <= plan->tiles / halo->devices && !build_failed(halo->builder); i++)
        for (uint32_t device = 0; device < halo->devices; device++) {
            const struct tiles tiles = plan_device_tiles(plan, device);
            if (i < tiles.count)
                copy(halo, device, tiles.first + i);
        }
}

static void bring_in(const struct halo *halo)
{
    for (uint32_t device = 0; device < halo->devices; device++) {
        clear(halo, device, 0);
        if (halo->steps > 1)
            clear(halo, device, 1);
    }
    copy_tiles(halo, copy_in);
    for (uint32_t device = 0; device < halo->devices && halo->hides; device++)
        event_op(halo, OP_RECORD, inside_stream(halo, device), device, INSIDE);
}

static void bring_out(const struct halo *halo)
{
    for (uint32_t device = 0; device < halo->devices && halo->hides; device++)
        event_op(halo, OP_WAIT, inside_stream(halo, device), device, EDGES);
    copy_tiles(halo, copy_out);
}

/* --- the plan --- */

static void set_priorities(const struct halo *halo, int greatest)
{
    struct plan *plan = halo->builder->plan;
    if (!halo->hides || greatest == 0)
        return;
    plan->priorities = calloc(plan->streams, sizeof *plan->priorities);
    if (plan->priorities == NULL)
        error_no_memory(halo->builder->error, "for a plan");
    for (uint32_t device = 0; device < halo->devices && plan->priorities != NULL; device++)
        plan->priorities[edge_stream(halo, device)] = greatest;
}

/* Sizes the host's arrays, and a device's buffers by what the device with most rows needs. */
static void size_buffers(const struct halo *halo)
{
    struct plan *plan = halo->builder->plan;
    const uint64_t size = dtype_bytes(plan->chain[0]->in);
    uint64_t most = 0;
    for (uint32_t device = 0; device < halo->devices; device++) {
        const struct rows own = rows_of(halo, device);
        most = own.end - own.first > most ? own.end - own.first : most;
    }
    const uint64_t bytes = placement_aligned((most + 2 * halo->border) * size);
    plan->buffer_bytes[BUFFER_HOST_IN0] = plan->elements * size;
    plan->buffer_bytes[BUFFER_HOST_OUT] = plan->elements * size;
    plan->buffer_bytes[source(0)] = plan->buffer_bytes[source(1)] = halo->devices * bytes;
    if (plan->by_host)
        plan->buffer_bytes[BUFFER_HOST_EXCHANGE] = halo->devices * 4 * halo->border * size;
}

void build_halo(struct builder *builder)
{
    struct plan *plan = builder->plan;
    struct halo halo = {.builder = builder,
                        .border = plan->params.halo * plan->params.columns,
                        .steps = plan->params.steps,
                        .devices = plan_devices(plan)};
    halo.hides = halo.devices > 1 && builder->settings->hide == HIDE_YES;
    plan->slots = halo.devices;
    plan->streams = halo.hides ? 2 * halo.devices : halo.devices;
    plan->events = halo.hides         ? EVENT_KINDS * halo.devices
                   : halo.devices > 1 ? halo.devices
                                      : 0;
    builder->others = halo.steps * halo.devices * STEP_OPS_MOST;
    size_buffers(&halo);
    set_priorities(&halo, builder->machine->priority_greatest);
    bring_in(&halo);
    write_steps(&halo);
    bring_out(&halo);
}
