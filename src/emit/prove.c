/* prove.c - proves that loops give a plan's ops: they are run through on paper, and each
 * op that comes is held against the plan's. */
#include "emit/parts.h"

#include <stdlib.h>

enum status emit_refuse_op(const struct emit_program *program, uint32_t at, struct error *error)
{
    char label[OP_LABEL];
    const struct plan *plan = program->plan;
    if (at >= plan->op_count)
        return error_set(error, STATUS_USAGE,
                         "--emit: this plan is not a loop that can be emitted: a loop would go "
                         "on behind its end");
    return error_set(error, STATUS_USAGE,
                     "--emit: this plan is not a loop that can be emitted: op %u (%s) is not "
                     "what the loop gives",
                     (unsigned)at, plan_op_label(plan, &plan->ops[at], label));
}

/* The loops as they are run through. */
struct walk {
    const struct emit_program *program;
    uint32_t at;        /* the plan's next op */
    uint32_t *latest;   /* per stage and slot, and per stage for the one of all: the record */
    uint32_t *recorder; /* per event of the plan: the op that records it, and 1; 0: none has */
};

/* Returns the device whose part of the chain a step is; 0 where none has a part. */
static uint32_t step_part(const struct walk *walk, struct step step)
{
    return walk->program->stages[step.stage].what.device;
}

/* Returns the place of the event that stands for the end of a stage of `batch`, or of one of
 * its device for all: behind those of the slots. */
static uint32_t event_place(const struct emit_program *program, uint32_t stage,
                            enum emit_whose whose, uint32_t batch)
{
    const bool single = whose == EMIT_LAST || whose == EMIT_ONCE;
    const uint32_t slots = emit_all_slots(program);
    return stage * (slots + program->devices) +
           (single ? slots + batch % program->devices : emit_slot(program, batch, 0));
}

/* Returns the plan's number of the stream that a step is in: that of its device. */
static uint32_t step_stream(const struct emit_program *program, struct step step)
{
    const uint32_t device =
        step.batch % program->devices + program->stages[step.stage].what.device;
    const uint32_t number = step.batch / program->devices;
    const int64_t fixed = program->stages[step.stage].stream;
    return device * program->streams +
           (fixed == EMIT_BY_TILE ? number % program->streams : (uint32_t)fixed);
}

/* Takes the plan's next op if it is of that kind, in that stream and for these tiles. */
static const struct op *take_from(struct walk *walk, enum op_kind kind, uint32_t stream,
                                  struct tiles tiles)
{
    const struct plan *plan = walk->program->plan;
    if (walk->at >= plan->op_count)
        return NULL;
    const struct op *op = &plan->ops[walk->at];
    if (op->kind != kind || op->stream != stream || op->tile != (int32_t)tiles.first ||
        op_tiles(op) != tiles.count)
        return NULL;
    walk->at++;
    return op;
}

/* Takes the plan's next op if it is in the step's stream. */
static const struct op *take_op(struct walk *walk, enum op_kind kind, struct step step,
                                struct tiles tiles)
{
    return take_from(walk, kind, step_stream(walk->program, step), tiles);
}

/* Takes a batch's copies of an array: one, or one for each row of a tile. */
static bool walk_copies(struct walk *walk, enum op_kind kind, enum buffer host,
                        enum buffer device, struct step step, struct tiles tiles)
{
    const struct emit_program *program = walk->program;
    const struct plan *plan = program->plan;
    const bool values = kind == OP_D2H && emit_reduction(program) != NULL;
    const uint32_t part = step_part(walk, step);
    const uint64_t rows = plan->copy == COPY_ROWS && !values && !emit_packs(program)
                              ? plan->elements / plan->tiles / plan->tile_width
                              : 1;
    for (uint64_t row = 0; row < rows; row++) {
        const struct op *op = take_op(walk, kind, step, tiles);
        if (op == NULL || op->copy.host.buffer != host || op->copy.device.buffer != device ||
            !emit_row_fits(program, &op->copy.host, part, row, rows, tiles) ||
            !emit_row_fits(program, &op->copy.device, part, row, rows, tiles))
            return false;
    }
    return true;
}

/* Takes the prefetch of a batch's part of an array: it has no side on the device. */
static bool walk_prefetch(struct walk *walk, enum op_kind kind, enum buffer host,
                          struct step step, struct tiles tiles)
{
    const struct op *op = take_op(walk, kind, step, tiles);
    return op != NULL && op->copy.host.buffer == host && op->copy.device.bytes == 0 &&
           emit_range_fits(walk->program, &op->copy.host, 0, tiles);
}

static bool walk_prefetches_in(struct walk *walk, struct step step, struct tiles tiles)
{
    for (int input = 0; input < emit_inputs(walk->program); input++) {
        if (!walk_prefetch(walk, OP_H2D, (enum buffer)(BUFFER_HOST_IN0 + input), step, tiles))
            return false;
    }
    return walk_prefetch(walk, OP_H2D, BUFFER_HOST_OUT, step, tiles);
}

static bool walk_copies_in(struct walk *walk, struct step step, struct tiles tiles)
{
    for (int input = 0; input < emit_inputs(walk->program); input++) {
        if (!walk_copies(walk, OP_H2D, emit_sent_input(walk->program, input),
                         (enum buffer)(BUFFER_DEVICE_IN0 + input), step, tiles))
            return false;
    }
    return true;
}

/* Takes the launches of a kernel on tiles that go as one. */
static bool walk_launches(struct walk *walk, struct step step, struct tiles tiles)
{
    const struct emit_program *program = walk->program;
    const struct plan *plan = program->plan;
    const uint32_t link = program->stages[step.stage].what.link;
    const uint32_t part = step_part(walk, step);
    const uint32_t launches = kernel_launches(plan->chain[link], &plan->params);
    for (uint32_t repeat = 0; repeat < launches; repeat++) {
        const struct op *op = take_op(walk, OP_KERNEL, step, tiles);
        uint64_t first, count;
        plan_tiles(plan, tiles, &first, &count);
        if (op == NULL || op->kernel.link != link || op->kernel.repeat != repeat ||
            op->kernel.count != count)
            return false;
        const struct op_ranges *ranges = op->kernel.ranges;
        if (ranges->in[0].buffer != emit_kernel_input(program, link) ||
            ranges->out.buffer != emit_kernel_output(program, link) ||
            !emit_range_fits(program, &ranges->in[0], part, tiles) ||
            !emit_range_fits(program, &ranges->out, part, tiles))
            return false;
        const enum buffer second = emit_on_host(program) ? BUFFER_HOST_IN1 : BUFFER_DEVICE_IN1;
        if (plan->chain[link]->inputs == 2 &&
            (ranges->in[1].buffer != second ||
             !emit_range_fits(program, &ranges->in[1], part, tiles)))
            return false;
        if (plan->chain[link]->shape == KERNEL_SCAN && !emit_scan_fits(program, op))
            return false;
        if (emit_is_product(program) && !emit_product_fits(program, op))
            return false;
    }
    return true;
}

static bool walk_kernel(struct walk *walk, struct step step, struct tiles tiles)
{
    const bool joins = kernel_is_elementwise(
        walk->program->plan->chain[walk->program->stages[step.stage].what.link]);
    if (joins)
        return walk_launches(walk, step, tiles);
    for (uint32_t i = 0; i < tiles.count; i++) {
        if (!walk_launches(walk, step, (struct tiles){tiles.first + i, 1}))
            return false;
    }
    return true;
}

static bool walk_event(struct walk *walk, const struct emit_item *item, struct step step,
                       struct tiles tiles)
{
    const struct emit_program *program = walk->program;
    const struct op *op = take_op(walk, item->kind, step, tiles);
    if (op == NULL)
        return false;
    const uint32_t owner = item->whose == EMIT_AHEAD ? step.batch - 1 : step.batch;
    uint32_t *latest =
        &walk->latest[event_place(program, item->event_stage, item->whose, owner)];
    if (item->kind == OP_RECORD)
        *latest = walk->recorder[op->event.event] = op->id + 1;
    return *latest != 0 && *latest == walk->recorder[op->event.event];
}

static bool walk_callback(struct walk *walk, struct step step, struct tiles tiles)
{
    const struct op *op = take_op(walk, OP_CALLBACK, step, tiles);
    return op != NULL && op->callback.sleep_ns == walk->program->sleep_ns;
}

static bool walk_memsets(struct walk *walk, struct step step, struct tiles tiles)
{
    const struct emit_program *program = walk->program;
    for (int input = 0; input < emit_inputs(program); input++) {
        const struct op *op = take_op(walk, OP_MEMSET, step, tiles);
        if (op == NULL || op->set.value != 0 ||
            op->set.range.buffer != (enum buffer)(BUFFER_DEVICE_IN0 + input) ||
            !emit_range_fits(program, &op->set.range, 0, tiles))
            return false;
    }
    return true;
}

/* Other code is called: what it does is for no tile, and in no stream of the program's. */
static bool walk_other(struct walk *walk)
{
    const struct emit_program *program = walk->program;
    return walk->at < program->plan->op_count &&
           emit_other_fits(program, &program->plan->ops[walk->at++]);
}

/* Memory of a slot is taken or given back, by the host or in the order of the step's stream. */
static bool walk_deed(struct walk *walk, const struct emit_item *item, struct step step)
{
    const struct emit_program *program = walk->program;
    return walk->at < program->plan->op_count &&
           emit_deed_fits(program, &program->plan->ops[walk->at++], item, step.batch,
                          step_stream(program, step));
}

/* Memory for a tile's inputs is taken and given back, in no stream. */
static bool walk_alloc(struct walk *walk, struct step step, struct tiles tiles)
{
    const struct plan *plan = walk->program->plan;
    uint64_t first, count, all = 0;
    (void)step;
    plan_tiles(plan, tiles, &first, &count);
    for (int input = 0; input < emit_inputs(walk->program); input++)
        all += emit_elements(walk->program, (enum buffer)(BUFFER_DEVICE_IN0 + input), count);
    if (walk->at >= plan->op_count)
        return false;
    const struct op *op = &plan->ops[walk->at++];
    return op->kind == OP_ALLOC && op->alloc.deed == ALLOC_PAIR &&
           op->tile == (int32_t)tiles.first &&
           op->alloc.bytes == all * dtype_bytes(plan->chain[0]->in);
}

static bool walk_carry(struct walk *walk, const struct emit_item *item, struct step step,
                       struct tiles tiles)
{
    const struct op *op = take_op(walk, item->kind, step, tiles);
    return op != NULL && emit_carry_fits(walk->program, op);
}

/* Takes a copy within the host's memory. */
static bool walk_pack(struct walk *walk, enum buffer from, enum buffer to, struct tiles tiles)
{
    const struct emit_program *program = walk->program;
    const struct op *op = take_from(walk, OP_PACK, program->plan->streams, tiles);
    return op != NULL && op->pack.from.buffer == from && op->pack.to.buffer == to &&
           emit_range_fits(program, &op->pack.from, 0, tiles) &&
           emit_range_fits(program, &op->pack.to, 0, tiles);
}

static bool walk_packs(struct walk *walk, struct tiles tiles)
{
    bool fits = true;
    for (int input = 0; input < emit_inputs(walk->program) && fits; input++)
        fits = walk_pack(walk, (enum buffer)(BUFFER_HOST_IN0 + input),
                         (enum buffer)(BUFFER_HOST_PACK_IN0 + input), tiles);
    return fits;
}

/* Takes what has a batch back: the host waits for its copy out, and unpacks it. */
static bool walk_take_back(struct walk *walk, uint32_t batch)
{
    const struct emit_program *program = walk->program;
    const struct tiles tiles = plan_batch(program->plan, batch);
    const struct op *op = take_from(walk, OP_SYNC_EVENT, program->plan->streams, tiles);
    const uint32_t place = event_place(program, program->stage_count - 1, EMIT_OWN, batch);
    if (op == NULL || walk->latest[place] == 0 ||
        walk->latest[place] != walk->recorder[op->event.event])
        return false;
    return !emit_unpacks(program) ||
           walk_pack(walk, BUFFER_HOST_PACK_OUT, BUFFER_HOST_OUT, tiles);
}

/* Takes what has the batches back that are still under way when all are issued. */
static bool walk_rest(struct walk *walk)
{
    const uint32_t batches = walk->program->batches, slots = emit_all_slots(walk->program);
    uint32_t batch = batches > slots ? batches - slots : 0;
    while (emit_packs(walk->program) && batch < batches && walk_take_back(walk, batch))
        batch++;
    return batch == batches || !emit_packs(walk->program);
}

static bool walk_item(struct walk *walk, const struct emit_item *item, struct step step)
{
    const struct emit_program *program = walk->program;
    const struct tiles tiles = plan_batch(program->plan, step.batch);
    if (emit_hands_on(program, step.stage) && item->kind != OP_RECORD &&
        item->kind != OP_WAIT) {
        const struct op *op = take_op(walk, item->kind, step, tiles);
        return op != NULL && emit_handing_fits(program, op, step.stage, tiles);
    }
    if (item->carries)
        return walk_carry(walk, item, step, tiles);
    switch (item->kind) {
    case OP_H2D:
        return program->plan->prefetches ? walk_prefetches_in(walk, step, tiles)
                                         : walk_copies_in(walk, step, tiles);
    case OP_KERNEL:
        return walk_kernel(walk, step, tiles);
    case OP_D2H:
        if (program->plan->prefetches)
            return walk_prefetch(walk, OP_D2H, BUFFER_HOST_OUT, step, tiles);
        return walk_copies(walk, OP_D2H, emit_sent_output(program), emit_copied_out(program),
                           step, tiles);
    case OP_PACK:
        return walk_packs(walk, tiles);
    case OP_SYNC_EVENT:
        return walk_take_back(walk, step.batch - emit_all_slots(program));
    case OP_RECORD:
    case OP_WAIT:
        return walk_event(walk, item, step, tiles);
    case OP_CALLBACK:
        return walk_callback(walk, step, tiles);
    case OP_SYNC:
        return take_op(walk, OP_SYNC, step, tiles) != NULL;
    case OP_MEMSET:
        return item->buffer == BUFFER_DEVICE_OTHER ? walk_other(walk)
                                                   : walk_memsets(walk, step, tiles);
    case OP_ALLOC:
        if (item->deed != ALLOC_PAIR)
            return walk_deed(walk, item, step);
        return walk_alloc(walk, step, tiles);
    default:
        return false;
    }
}

/* Takes the copy of what is resident to the step's device. */
static bool walk_upload(struct walk *walk, struct step step, struct tiles none)
{
    const struct op *op = take_op(walk, OP_H2D, step, none);
    return op != NULL && emit_upload_fits(walk->program, op, step.batch);
}

/* Takes what comes once on a device, before the loops: page-locking, or that copy, and its
 * event. */
static bool walk_prologue(struct walk *walk, uint32_t device)
{
    const struct step step = {walk->program->stage_count, device};
    const struct emit_stage *stage = &walk->program->stages[step.stage];
    const struct tiles none = {UINT32_MAX, 1}; /* an op that is for no tile has the tile -1 */
    bool fits = true;
    for (int i = 0; i < stage->item_count && fits; i++) {
        const struct emit_item *item = &stage->items[i];
        if (device < item->from || device >= item->to)
            continue;
        if (item->kind == OP_ALLOC)
            fits = emit_pin_fits(walk->program, &walk->program->plan->ops[walk->at++]);
        else
            fits = item->kind == OP_RECORD ? walk_event(walk, item, step, none)
                                           : walk_upload(walk, step, none);
    }
    return fits;
}

static bool walk_step(struct walk *walk, struct step step)
{
    const struct emit_stage *stage = &walk->program->stages[step.stage];
    for (int i = 0; i < stage->item_count; i++) {
        const struct emit_item *item = &stage->items[i];
        if (step.batch >= item->from && step.batch < item->to && !walk_item(walk, item, step))
            return false;
    }
    return true;
}

static bool walk_loop(struct walk *walk, const struct emit_loop *loop)
{
    const uint32_t batches = walk->program->batches;
    for (uint64_t begin = 0; begin < batches; begin += loop->wave) {
        const uint64_t end = begin + loop->wave < batches ? begin + loop->wave : batches;
        for (uint32_t stage = loop->first; stage < loop->end; stage++) {
            for (uint32_t batch = (uint32_t)begin; batch < end; batch++) {
                if (!walk_step(walk, (struct step){stage, batch}))
                    return false;
            }
        }
    }
    return true;
}

enum status emit_prove(const struct emit_program *program, struct error *error)
{
    const size_t places =
        ((size_t)program->stage_count + 1) * program->devices * (program->slots + 1);
    struct walk walk = {.program = program,
                        .latest = calloc(places, sizeof *walk.latest),
                        .recorder =
                            calloc((size_t)program->plan->events + 1, sizeof *walk.recorder)};
    enum status status = STATUS_OK;
    if (walk.latest == NULL || walk.recorder == NULL)
        status = error_set(error, STATUS_NO_MEMORY, "no memory to write a program");
    walk.at = emit_prove_cpu(program); /* behind the CPU's ops come the loops' */
    if (status == STATUS_OK && walk.at < program->plan->cpu_tiles)
        status = emit_refuse_op(program, walk.at, error);
    for (uint32_t device = 0; device < program->devices && status == STATUS_OK; device++) {
        if (!walk_prologue(&walk, device))
            status = emit_refuse_op(program, walk.at, error);
    }
    for (int i = 0; i < program->loop_count && status == STATUS_OK; i++) {
        if (!walk_loop(&walk, &program->loops[i]))
            status = emit_refuse_op(program, walk.at, error);
    }
    if (status == STATUS_OK && (!walk_rest(&walk) || walk.at != program->plan->op_count))
        status = emit_refuse_op(program, walk.at, error);
    free(walk.latest);
    free(walk.recorder);
    return status;
}
