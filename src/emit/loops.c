/* loops.c - finds the loops in a plan.
 *
 * What each stage does with which batches is read off the ops. The order of the loops is that
 * which the settings ask for. Whether that gives the plan is proved afterwards. */
#include "emit/parts.h"

#include <stdlib.h>

enum { NO_STAGE = UINT32_MAX };

/* Returns the stage of that kind that an op is the work of: that of its link, or the one in
 * which its device takes tiles over or hands them on. */
static uint32_t find_stage(const struct emit_program *program, const struct op *op,
                           enum stage_kind kind)
{
    const uint32_t device = plan_stream_home(program->plan, op->stream).device;
    for (uint32_t stage = 0; stage < program->stage_count; stage++) {
        const struct stage *what = &program->stages[stage].what;
        const bool single = kind == STAGE_IN || kind == STAGE_OUT;
        if (what->kind == kind &&
            (single ||
             (kind == STAGE_KERNEL ? what->link == op->kernel.link : what->device == device)))
            return stage;
    }
    return NO_STAGE;
}

/* Returns the stage that an op is the work of; NO_STAGE for events, callbacks and what carries
 * a scan. The copy of what is resident is for no tile: it comes before the loops. */
static uint32_t work_stage(const struct emit_program *program, const struct op *op)
{
    if (emit_op_carries(op))
        return NO_STAGE;
    const bool handed = op_is_copy(op->kind) && op->copy.host.buffer == BUFFER_HOST_EXCHANGE;
    switch (op->kind) {
    case OP_H2D:
        if (op->tile < 0)
            return program->stage_count;
        return find_stage(program, op, handed ? STAGE_FROM_HOST : STAGE_IN);
    case OP_KERNEL:
        return find_stage(program, op, STAGE_KERNEL);
    case OP_PEER:
        return find_stage(program, op, STAGE_PEER);
    case OP_D2H:
        return find_stage(program, op, handed ? STAGE_TO_HOST : STAGE_OUT);
    default:
        return NO_STAGE;
    }
}

/* --- reading the stages off the ops --- */

/* Returns how early an item comes in its stage: what the host does before it comes first. Waits
 * come before what waits, that for the batch ahead before others, and with them what is copied
 * in for a scan. */
static int turn(const struct emit_item *item)
{
    switch (item->kind) {
    case OP_SYNC_EVENT:
        return 0;
    case OP_PACK:
        return 1;
    case OP_WAIT:
        return item->whose == EMIT_AHEAD ? 2 : 3;
    default:
        return item->kind == OP_H2D && item->carries ? 4 : 5;
    }
}

/* Adds that batch step.batch has such an item in its stage. */
static bool add_item(struct emit_program *program, struct step step, struct emit_item wanted)
{
    struct emit_stage *stage = &program->stages[step.stage];
    for (int i = 0; i < stage->item_count; i++) {
        struct emit_item *item = &stage->items[i];
        if (item->kind != wanted.kind || item->event_stage != wanted.event_stage ||
            item->whose != wanted.whose || item->carries != wanted.carries ||
            item->deed != wanted.deed || item->buffer != wanted.buffer)
            continue;
        if (item->to != step.batch && item->to != step.batch + 1)
            return false;
        item->to = step.batch + 1;
        return true;
    }
    if (stage->item_count == EMIT_ITEMS_MAX)
        return false;
    wanted.from = step.batch;
    wanted.to = step.batch + 1;
    int place = stage->item_count++;
    for (; place > 0 && turn(&stage->items[place - 1]) > turn(&wanted); place--)
        stage->items[place] = stage->items[place - 1];
    stage->items[place] = wanted;
    return true;
}

/* Says whose event a batch waits for. */
static bool find_whose(const struct emit_program *program, struct step waits,
                       struct step recorded, enum emit_whose *whose)
{
    const uint32_t batch = waits.batch;
    if (recorded.stage == program->stage_count)
        *whose = EMIT_ONCE;
    else if (program->settings->ways == 2 && recorded.stage == 0)
        *whose = EMIT_LAST;
    else if (recorded.stage == waits.stage && recorded.batch + 1 == batch)
        *whose = EMIT_AHEAD;
    else if (recorded.batch == batch)
        *whose = EMIT_OWN;
    else if (recorded.batch + emit_all_slots(program) == batch)
        *whose = EMIT_BEFORE;
    else
        return false;
    return *whose != EMIT_LAST ||
           (recorded.batch + program->devices >= program->batches &&
            recorded.batch % program->devices == batch % program->devices);
}

/* Returns the work that op `at` is for: of the op itself, of the one behind what comes
 * first in a stage, or of the one before what comes last. */
static uint32_t work_of(const struct emit_program *program, uint32_t at)
{
    const struct plan *plan = program->plan;
    const enum op_kind kind = plan->ops[at].kind;
    const bool forwards = kind == OP_WAIT || kind == OP_MEMSET ||
                          (kind == OP_ALLOC && plan->ops[at].alloc.deed != ALLOC_GIVE) ||
                          (kind == OP_H2D && emit_op_carries(&plan->ops[at]));
    while (at < plan->op_count && work_stage(program, &plan->ops[at]) == NO_STAGE)
        at = forwards ? at + 1 : at - 1; /* before op 0 it wraps beyond them all */
    return at;
}

/* Returns true if op `at` is on a scan's way by the host; a wait of the host is if it comes
 * behind another one that is. */
static bool carries(const struct emit_program *program, uint32_t at)
{
    const struct op *ops = program->plan->ops;
    return emit_op_carries(&ops[at]) ||
           (ops[at].kind == OP_SYNC && at > 0 && emit_op_carries(&ops[at - 1]));
}

/* Reads an op of the host's beside its calls: a batch is packed, or taken back by the one that
 * gets its slot. What is behind that, its unpacking and the last batches, follows. */
static bool read_pack(struct emit_program *program, const struct op *op)
{
    const uint32_t batch = plan_batch_of(program->plan, (uint32_t)op->tile);
    struct emit_item item = {.kind = op->kind};
    if (op->kind == OP_PACK)
        return op->pack.to.buffer == BUFFER_HOST_OUT ||
               add_item(program, (struct step){0, batch}, item);
    item.event_stage = program->stage_count - 1;
    item.whose = EMIT_BEFORE;
    const uint32_t next = batch + emit_all_slots(program); /* which gets the slot */
    return next >= program->batches || add_item(program, (struct step){0, next}, item);
}

/* Reads what other code does, as the last of the stage and the batch that it comes behind. */
static bool read_other(struct emit_program *program, uint32_t at)
{
    const struct plan *plan = program->plan;
    const struct emit_item item = {.kind = OP_MEMSET, .buffer = BUFFER_DEVICE_OTHER};
    while (at > 0 && work_stage(program, &plan->ops[at]) == NO_STAGE)
        at--;
    const struct op *work = &plan->ops[at];
    if (work->tile < 0 || work_stage(program, work) == NO_STAGE)
        return false;
    const uint32_t batch = plan_batch_of(plan, (uint32_t)work->tile);
    return add_item(program, (struct step){work_stage(program, work), batch}, item);
}

static bool read_op(struct emit_program *program, uint32_t at, struct step *recorded)
{
    const struct plan *plan = program->plan;
    const struct op *op = &plan->ops[at];
    if (op->kind == OP_PACK || op->kind == OP_SYNC_EVENT)
        return read_pack(program, op);
    if (emit_is_other(op))
        return read_other(program, at);
    if (emit_is_pin(op))
        return add_item(program, (struct step){program->stage_count, 0},
                        (struct emit_item){.kind = OP_ALLOC});
    const uint32_t work = work_of(program, at);
    if (work >= plan->op_count)
        return false;
    const struct step step = {work_stage(program, &plan->ops[work]),
                              op->tile < 0 ? plan_stream_home(plan, op->stream).device
                                           : plan_batch_of(plan, (uint32_t)op->tile)};
    if ((op->tile < 0) != (step.stage == program->stage_count))
        return false;
    struct emit_item item = {.kind = op->kind, .carries = carries(program, at)};
    if (op->kind == OP_ALLOC && op->alloc.deed != ALLOC_PAIR) {
        item.deed = op->alloc.deed;
        item.buffer = op->alloc.range.buffer;
    }
    if (op->kind == OP_CALLBACK && !item.carries)
        program->sleep_ns = op->callback.sleep_ns;
    if (op->kind == OP_KERNEL && op->kernel.blocks > program->blocks[op->kernel.link])
        program->blocks[op->kernel.link] = op->kernel.blocks;
    if (op->kind == OP_RECORD) {
        recorded[op->event.event] = step;
        item.event_stage = step.stage;
        if (program->settings->ways == 2 && step.stage == 0)
            item.whose = EMIT_LAST;
        if (step.stage == program->stage_count)
            item.whose = EMIT_ONCE;
    } else if (op->kind == OP_WAIT) {
        item.event_stage = recorded[op->event.event].stage;
        if (!find_whose(program, step, recorded[op->event.event], &item.whose))
            return false;
    }
    return add_item(program, step, item);
}

/* Sets each stage's stream by the first batches; what the others have is proved later. */
static void read_streams(struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const bool deals = program->settings->layout == LAYOUT_TILE && program->streams > 1;
    for (uint32_t i = plan->op_count; i-- > 0;) {
        const uint32_t stage = work_stage(program, &plan->ops[i]);
        const bool dealt = deals && stage != program->stage_count &&
                           !(program->settings->ways == 2 && stage == 0) &&
                           plan->ops[i].stream != program->legacy;
        if (stage == NO_STAGE)
            continue;
        program->stages[stage].stream = plan_stream_home(plan, plan->ops[i].stream).number;
        if (dealt)
            program->stages[stage].stream = EMIT_BY_TILE;
    }
}

static void add_loop(struct emit_program *program, uint32_t first, uint32_t end, uint32_t wave)
{
    program->loops[program->loop_count++] = (struct emit_loop){first, end, wave};
}

/* Sets the loops as the settings ask for them. */
static void order_loops(struct emit_program *program)
{
    const struct settings *settings = program->settings;
    const uint32_t end = program->stage_count;
    const bool copies = !emit_on_host(program) || program->plan->prefetches;
    const uint32_t wave =
        settings->order == ORDER_BREADTH ? program->devices * settings->streams : 1;
    if (settings->ways == 1 && copies) {
        for (uint32_t stage = 0; stage < end; stage++)
            add_loop(program, stage, stage + 1, 1);
        return;
    }
    const uint32_t first = settings->ways == 2 && copies ? 1 : 0;
    if (first > 0)
        add_loop(program, 0, 1, 1);
    add_loop(program, first, end, wave);
}

/* Tells the streams that are made from the legacy default stream. */
static void count_streams(struct emit_program *program)
{
    const struct plan *plan = program->plan;
    program->legacy = EMIT_NO_LEGACY;
    program->streams = plan->streams / plan_devices(plan);
    for (uint32_t i = 0; i < plan->streams; i++) {
        if (plan_stream_kind(plan, i) == STREAM_LEGACY)
            program->legacy = i;
    }
    if (program->legacy != EMIT_NO_LEGACY)
        program->streams--;
}

enum status emit_find_loops(struct emit_program *program, struct error *error)
{
    const struct plan *plan = program->plan;
    count_streams(program);
    if (emit_is_stencil(program))
        return emit_prove_stencil(program, error);
    struct step *recorded = calloc((size_t)plan->events + 1, sizeof *recorded);
    enum status status = STATUS_OK;
    if (recorded == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to write a program");
    for (uint32_t i = plan->cpu_tiles; i < plan->op_count && status == STATUS_OK; i++) {
        if (!read_op(program, i, recorded))
            status = emit_refuse_op(program, i, error);
    }
    free(recorded);
    read_streams(program);
    order_loops(program);
    return status == STATUS_OK ? emit_prove(program, error) : status;
}
