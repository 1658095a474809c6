/* halo.c - proves the loops of a stencil: stencil.c writes those of one device, and
 * exchange.c those of several.
 *
 * The loops go over the devices in each part of a step: what the parts do is run through here
 * in the same order, and each op is held against the plan's. An event has the name of what it
 * stands for, and of its device: the record that a wait is for must be the latest of that name.
 * One device has no neighbours, and so no events: a step is one launch. */
#include "emit/parts.h"
#include "machine/machine.h"

#include <stdlib.h>

/* A device records that its edges have been sent, that its edges are made, and that its inner
 * rows are: waits of its own and of its neighbours are for these. */
enum event { SENT, EDGES, INSIDE, EVENTS };

/* The loops as they are run through. */
struct walk {
    const struct emit_program *program;
    uint32_t at;        /* the plan's next op */
    uint32_t *recorder; /* per event of the plan: the op that records it, and 1; 0: none has */
    uint32_t latest[EVENTS][MACHINE_DEVICES_MAX]; /* the same, of the program's own */
    uint64_t row;                                 /* bytes of a row */
    uint64_t of_tile;                             /* rows */
    uint64_t halo;                                /* rows above a device's, and below */
    uint32_t step;                                /* copies in come before step 0 */
};

/* Rows of an array of a device, counted from the first one of the halo above. */
struct rows {
    enum buffer array;
    uint32_t device;
    uint64_t first, count;
};

/* --- what is where --- */

static bool has_above(uint32_t device)
{
    return device > 0;
}

static bool has_below(const struct walk *walk, uint32_t device)
{
    return device + 1 < walk->program->devices;
}

/* Returns the array that a step reads; the one before wrote there. */
static enum buffer now(uint32_t step)
{
    return step % 2 == 0 ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_OUT;
}

static struct tiles tiles_of(const struct walk *walk, uint32_t device)
{
    return plan_device_tiles(walk->program->plan, device);
}

/* Returns the row behind a device's own. */
static uint64_t end_of(const struct walk *walk, uint32_t device)
{
    return walk->halo + tiles_of(walk, device).count * walk->of_tile;
}

static uint32_t stream_of(const struct walk *walk, uint32_t device)
{
    return emit_hides(walk->program) ? 2 * device : device;
}

static uint32_t edge_stream(const struct walk *walk, uint32_t device)
{
    return stream_of(walk, device) + (emit_hides(walk->program) ? 1 : 0);
}

static bool is_rows(const struct walk *walk, const struct range *range, struct rows rows)
{
    const struct range part = plan_device_part(walk->program->plan, rows.array, rows.device);
    return range->buffer == rows.array &&
           range->offset == part.offset + rows.first * walk->row &&
           range->bytes == rows.count * walk->row && range->offset >= part.offset &&
           range->offset + range->bytes <= part.offset + part.bytes;
}

/* Returns true if a range is rows of an array of the host's. */
static bool is_host(const struct walk *walk, const struct range *range, enum buffer array,
                    uint64_t first, uint64_t count)
{
    return range->buffer == array && range->offset == first * walk->row &&
           range->bytes == count * walk->row;
}

/* Returns true if a range is where a device leaves an edge of a step for another. */
static bool is_exchange(const struct walk *walk, const struct range *range, uint32_t device,
                        uint32_t to, uint32_t step)
{
    const uint64_t place = (device * UINT64_C(2) + (to > device)) * 2 + step % 2;
    return is_host(walk, range, BUFFER_HOST_EXCHANGE, place * walk->halo, walk->halo);
}

/* --- ops --- */

/* Takes the plan's next op if it is of that kind, for that tile, in the stream. */
static const struct op *take_op(struct walk *walk, enum op_kind kind, int32_t tile,
                                uint32_t stream)
{
    const struct plan *plan = walk->program->plan;
    if (walk->at >= plan->op_count)
        return NULL;
    const struct op *op = &plan->ops[walk->at];
    if (op->kind != kind || op->stream != stream || op->tile != tile ||
        (tile >= 0 && op_tiles(op) != 1))
        return NULL;
    walk->at++;
    return op;
}

static bool walk_record(struct walk *walk, uint32_t stream, enum event event, uint32_t device)
{
    const struct op *op = take_op(walk, OP_RECORD, -1, stream);
    if (op == NULL)
        return false;
    walk->latest[event][device] = walk->recorder[op->event.event] = op->id + 1;
    return true;
}

static bool walk_wait(struct walk *walk, uint32_t stream, enum event event, uint32_t device)
{
    const struct op *op = take_op(walk, OP_WAIT, -1, stream);
    const uint32_t latest = walk->latest[event][device];
    return op != NULL && latest != 0 && latest == walk->recorder[op->event.event];
}

/* Takes a launch on rows of a device. It reads those around them, too. */
static bool walk_launch(struct walk *walk, uint32_t stream, uint32_t device, uint64_t first,
                        uint64_t end)
{
    const struct op *op = take_op(walk, OP_KERNEL, -1, stream);
    const uint64_t count = (end - first) * walk->program->plan->params.columns;
    const uint64_t per_block = EMIT_STENCIL_BLOCK;
    if (op == NULL || op->kernel.link != 0 || op->kernel.repeat != 0 ||
        op->kernel.count != count || op->kernel.blocks != (count + per_block - 1) / per_block)
        return false;
    const struct op_ranges *ranges = op->kernel.ranges;
    const struct rows read = {now(walk->step), device, first - walk->halo,
                              end - first + 2 * walk->halo};
    const struct rows written = {now(walk->step + 1), device, first, end - first};
    return is_rows(walk, &ranges->in[0], read) && is_rows(walk, &ranges->out, written);
}

/* --- before the steps, and behind them --- */

/* Takes what sets the rows from `first` on, which are outside the array, to zero. */
static bool walk_memset(struct walk *walk, uint32_t device, enum buffer array, uint64_t first)
{
    const struct rows rows = {array, device, first, walk->halo};
    const struct op *op = take_op(walk, OP_MEMSET, -1, stream_of(walk, device));
    return op != NULL && op->set.value == 0 && is_rows(walk, &op->set.range, rows);
}

static bool walk_clear(struct walk *walk, uint32_t device)
{
    const uint32_t arrays = emit_repeats_steps(walk->program) ? 2 : 1;
    for (uint32_t i = 0; i < arrays; i++) {
        if (!has_above(device) && !walk_memset(walk, device, now(i), 0))
            return false;
        if (!has_below(walk, device) &&
            !walk_memset(walk, device, now(i), end_of(walk, device)))
            return false;
    }
    return true;
}

/* Takes the copy in of a tile: with the rows of the halo beside a device's first and last one.
 */
static bool walk_copy_in(struct walk *walk, uint32_t device, uint32_t tile)
{
    const struct tiles own = tiles_of(walk, device);
    const uint32_t before = tile - own.first;
    const uint64_t above = has_above(device) && before == 0 ? walk->halo : 0;
    const uint64_t below = has_below(walk, device) && before + 1 == own.count ? walk->halo : 0;
    const struct rows rows = {BUFFER_DEVICE_IN0, device,
                              walk->halo + before * walk->of_tile - above,
                              above + walk->of_tile + below};
    const struct op *op = take_op(walk, OP_H2D, (int32_t)tile, stream_of(walk, device));
    return op != NULL &&
           is_host(walk, &op->copy.host, BUFFER_HOST_IN0, tile * walk->of_tile - above,
                   rows.count) &&
           is_rows(walk, &op->copy.device, rows);
}

static bool walk_copy_out(struct walk *walk, uint32_t device, uint32_t tile)
{
    const struct rows rows = {
        now(walk->step), device,
        walk->halo + (tile - tiles_of(walk, device).first) * walk->of_tile, walk->of_tile};
    const struct op *op = take_op(walk, OP_D2H, (int32_t)tile, stream_of(walk, device));
    return op != NULL &&
           is_host(walk, &op->copy.host, BUFFER_HOST_OUT, tile * walk->of_tile, rows.count) &&
           is_rows(walk, &op->copy.device, rows);
}

/* Takes the copies of tiles, of each device in turn. */
static bool walk_tiles(struct walk *walk, bool (*copy)(struct walk *, uint32_t, uint32_t))
{
    for (uint32_t i = 0; i < tiles_of(walk, 0).count; i++) /* no device has more */
        for (uint32_t device = 0; device < walk->program->devices; device++) {
            const struct tiles own = tiles_of(walk, device);
            if (i < own.count && !copy(walk, device, own.first + i))
                return false;
        }
    return true;
}

/* --- the parts of a step --- */

typedef bool part(struct walk *walk, uint32_t device);

/* Takes the wait for what a neighbour sent and, where it is the host's, the copy of that. */
static bool walk_receive(struct walk *walk, uint32_t device, uint32_t from)
{
    const struct rows rows = {now(walk->step), device, from < device ? 0 : end_of(walk, device),
                              walk->halo};
    if (!walk_wait(walk, edge_stream(walk, device), SENT, from))
        return false;
    if (!walk->program->plan->by_host)
        return true;
    const struct op *op = take_op(walk, OP_H2D, -1, edge_stream(walk, device));
    return op != NULL && is_exchange(walk, &op->copy.host, from, device, walk->step - 1) &&
           is_rows(walk, &op->copy.device, rows);
}

static bool walk_waits(struct walk *walk, uint32_t device)
{
    const bool hides = emit_hides(walk->program), later = walk->step > 0;
    if (later && has_above(device) && !walk_receive(walk, device, device - 1))
        return false;
    if (later && has_below(walk, device) && !walk_receive(walk, device, device + 1))
        return false;
    return !hides || (walk_wait(walk, edge_stream(walk, device), INSIDE, device) &&
                      (!later || walk_wait(walk, stream_of(walk, device), EDGES, device)));
}

static bool walk_edges(struct walk *walk, uint32_t device)
{
    const uint32_t stream = edge_stream(walk, device);
    const uint64_t end = end_of(walk, device), halo = walk->halo;
    return (!has_above(device) || walk_launch(walk, stream, device, halo, 2 * halo)) &&
           (!has_below(walk, device) || walk_launch(walk, stream, device, end - halo, end)) &&
           walk_record(walk, stream, EDGES, device);
}

/* Takes the copy of an edge to a neighbour's halo, or to the host. */
static bool walk_send(struct walk *walk, uint32_t device, uint32_t to, uint64_t first)
{
    const bool by_host = walk->program->plan->by_host;
    const enum buffer array = now(walk->step + 1);
    const struct rows edge = {array, device, first, walk->halo};
    const struct rows there = {array, to, to < device ? end_of(walk, to) : 0, walk->halo};
    const struct op *op =
        take_op(walk, by_host ? OP_D2H : OP_PEER, -1, edge_stream(walk, device));
    if (op == NULL)
        return false;
    if (by_host)
        return is_exchange(walk, &op->copy.host, device, to, walk->step) &&
               is_rows(walk, &op->copy.device, edge);
    return is_rows(walk, &op->peer.from, edge) && is_rows(walk, &op->peer.to, there);
}

static bool walk_sends(struct walk *walk, uint32_t device)
{
    if (walk->program->devices == 1 || walk->step + 1 == walk->program->plan->params.steps)
        return true;
    return (!has_above(device) || walk_send(walk, device, device - 1, walk->halo)) &&
           (!has_below(walk, device) ||
            walk_send(walk, device, device + 1, end_of(walk, device) - walk->halo)) &&
           walk_record(walk, edge_stream(walk, device), SENT, device);
}

static bool walk_inside(struct walk *walk, uint32_t device)
{
    const bool hides = emit_hides(walk->program);
    const uint32_t stream = stream_of(walk, device);
    const uint64_t above = hides && has_above(device) ? walk->halo : 0;
    const uint64_t below = hides && has_below(walk, device) ? walk->halo : 0;
    return walk_launch(walk, stream, device, walk->halo + above,
                       end_of(walk, device) - below) &&
           (!hides || walk_record(walk, stream, INSIDE, device));
}

/* Takes what comes once, where edges are apart: that all rows are there, or that they leave. */
static bool walk_all_in(struct walk *walk, uint32_t device)
{
    return walk_record(walk, stream_of(walk, device), INSIDE, device);
}

static bool walk_all_done(struct walk *walk, uint32_t device)
{
    return walk_wait(walk, stream_of(walk, device), EDGES, device);
}

/* Takes a part of each device in turn. */
static bool walk_part(struct walk *walk, part *each)
{
    uint32_t device = 0;
    while (device < walk->program->devices && each(walk, device))
        device++;
    return device == walk->program->devices;
}

static bool walk_step(struct walk *walk)
{
    if (!walk_part(walk, walk_waits))
        return false;
    if (emit_hides(walk->program))
        return walk_part(walk, walk_edges) && walk_part(walk, walk_sends) &&
               walk_part(walk, walk_inside);
    return walk_part(walk, walk_inside) && walk_part(walk, walk_sends);
}

static bool walk_all(struct walk *walk)
{
    const bool hides = emit_hides(walk->program);
    if (!walk_part(walk, walk_clear) || !walk_tiles(walk, walk_copy_in) ||
        (hides && !walk_part(walk, walk_all_in)))
        return false;
    for (; walk->step < walk->program->plan->params.steps; walk->step++) {
        if (!walk_step(walk))
            return false;
    }
    return (!hides || walk_part(walk, walk_all_done)) && walk_tiles(walk, walk_copy_out) &&
           walk->at == walk->program->plan->op_count;
}

/* Reads the blocks of a step's largest launch off the plan. */
static uint32_t read_blocks(const struct plan *plan)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind == OP_KERNEL && op->kernel.blocks > most)
            most = op->kernel.blocks;
    }
    return most;
}

enum status emit_prove_stencil(struct emit_program *program, struct error *error)
{
    const struct plan *plan = program->plan;
    const uint64_t columns = plan->params.columns, rows = plan->elements / columns;
    struct walk walk = {.program = program,
                        .recorder = calloc((size_t)plan->events + 1, sizeof *walk.recorder),
                        .row = columns * sizeof(float),
                        .of_tile = rows / plan->tiles,
                        .halo = plan->params.halo};
    if (walk.recorder == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to write a program");
    const bool whole = rows * columns == plan->elements && rows % plan->tiles == 0;
    const bool fits = whole && program->devices <= MACHINE_DEVICES_MAX && walk_all(&walk);
    free(walk.recorder);
    program->blocks[0] = read_blocks(plan);
    return fits ? STATUS_OK : emit_refuse_op(program, walk.at, error);
}
