/* build.c - turns settings into a plan.
 *
 * A tile goes through stages: 0 copies it in, 1 to L run the chain's L kernels, L + 1 copies it
 * out. A step is one stage of one tile. Three questions settle the whole plan:
 *   when is a step issued?        schedule_*: the ways and the order
 *   in which stream?              step_stream: the ways and the layout
 *   which steps must end first?   step_follows: data flow, and slots that are used again
 * Where a step follows one of another stream, an event joins them: recorded right behind the
 * earlier step, waited for right before the later one. Which steps need a record is known only
 * once all are placed, so the schedule runs twice: first to mark, then to write the ops. */
#include "plan/build.h"
#include "plan/carry.h"
#include "plan/mistake.h"
#include "plan/placement.h"
#include "plan/rules.h"
#include "plan/validate.h"

#include <stdlib.h>

enum { NO_EVENT = 0, MARKED = UINT32_MAX, FOLLOWS_MAX = 5 };

struct builder {
    const struct settings *settings;
    struct plan *plan;
    uint32_t most_blocks; /* of a launch, where its work does not say */
    uint32_t gpu_tiles, stages;
    uint32_t tile_streams; /* that tiles are dealt over: the plan may have more */
    int ways;              /* as asked for; with no copies to overlap, 1 and 2 are 3 */
    struct placement placement;
    struct plan_mistake mistake;
    bool marking;
    uint32_t *events;  /* per step: NO_EVENT, MARKED, or its event's number plus 1 */
    uint32_t *places;  /* per step: its place in its stream, from 1 */
    uint32_t *known;   /* streams x streams: up to which place of the other each has waited */
    uint32_t *lengths; /* per stream: steps so far */
    struct error *error;
};

static size_t step_index(const struct builder *builder, uint32_t stage, uint32_t tile)
{
    return (size_t)tile * builder->stages + stage;
}

/* A step that must have ended. */
struct step {
    uint32_t stage, tile;
};

/* The resident input's copy in counts as one of a tile behind the last. It comes first of all,
 * in the first stream. */
static struct step upload_step(const struct builder *builder)
{
    return (struct step){0, builder->gpu_tiles};
}

static bool has_resident(const struct builder *builder)
{
    return builder->plan->buffer_bytes[BUFFER_HOST_RESIDENT] > 0;
}

static uint32_t stage_out(const struct builder *builder)
{
    return builder->stages - 1;
}

/* Kernels that work on the host's memory need no copies: of a tile's stages only theirs are
 * there. */
static bool has_stage(const struct builder *builder, uint32_t stage)
{
    return !builder->placement.mapped || (stage > 0 && stage < stage_out(builder));
}

static uint32_t step_stream(const struct builder *builder, uint32_t stage, uint32_t tile)
{
    const struct settings *settings = builder->settings;
    if (builder->ways == 1 || tile == builder->gpu_tiles)
        return 0;
    if (settings->layout == LAYOUT_STAGE && builder->placement.mapped)
        return 0;
    bool is_kernel = stage > 0 && stage < stage_out(builder);
    if (is_kernel && builder->mistake.kernel_stream != MISTAKE_NO_STREAM)
        return (uint32_t)builder->mistake.kernel_stream;
    if (settings->layout == LAYOUT_STAGE)
        return stage == 0 ? 0 : stage == stage_out(builder) ? 2 : 1;
    if (builder->ways == 2 && stage == 0)
        return 0;
    return tile % builder->tile_streams;
}

/* Whether a stage begins with what its kernel left of the tile before. */
static bool stage_carries(const struct builder *builder, uint32_t stage, uint32_t tile)
{
    return tile > 0 && stage > 0 && stage < stage_out(builder) &&
           builder->plan->chain[stage - 1]->shape == KERNEL_SCAN;
}

/* The steps that (stage, tile) must follow, beyond the order of its own stream. */
static int step_follows(const struct builder *builder, uint32_t stage, uint32_t tile,
                        struct step follows[FOLLOWS_MAX])
{
    int count = 0;
    uint32_t slots = builder->plan->slots;
    bool reused = tile >= slots; /* the slot held an earlier tile */
    /* 2-way: after H2D of everything, for which a scan's first tile has waited already. */
    bool after_all = stage == 1 && builder->ways == 2;
    bool carries = stage_carries(builder, stage, tile);
    if (carries)
        follows[count++] = (struct step){stage, tile - 1};
    if (after_all && !carries)
        follows[count++] = (struct step){0, builder->gpu_tiles - 1};
    if (stage > 0 && has_stage(builder, stage - 1) && !(after_all && carries))
        follows[count++] = (struct step){stage - 1, tile};
    if (builder->placement.mapped) { /* a slot is free again behind the chain's last kernel */
        if (reused && stage == 1)
            follows[count++] = (struct step){stage_out(builder) - 1, tile - slots};
        return count;
    }
    if (stage == 0 && reused &&
        builder->placement.in_place) /* don't overwrite what still goes out */
        follows[count++] = (struct step){stage_out(builder), tile - slots};
    else if (stage == 0 && reused) /* nor what a kernel still reads */
        follows[count++] =
            (struct step){(uint32_t)builder->placement.last_input_link + 1, tile - slots};
    if (stage == (uint32_t)builder->placement.first_output_link + 1 && reused &&
        !builder->placement.in_place)
        follows[count++] = (struct step){stage_out(builder), tile - slots};
    if (stage == 1 && has_resident(builder)) /* last: mostly another wait covers it */
        follows[count++] = upload_step(builder);
    return count;
}

static enum status write_copies_in(struct builder *builder, uint32_t stream, uint32_t tile)
{
    enum status status = STATUS_OK;
    for (int input = 0; input < builder->placement.inputs && status == STATUS_OK; input++) {
        struct op op = {.kind = OP_H2D, .stream = stream, .tile = (int32_t)tile};
        op.copy.host = placement_input(&builder->placement, input, tile);
        op.copy.device = placement_input_slot(&builder->placement, input, tile);
        status = plan_append(builder->plan, &op, builder->error);
    }
    return status;
}

/* All launches of a tile's kernel, one behind the other in its stream. A launch per repeat goes
 * on in the output with what the last one left there. */
static enum status append_launches(struct builder *builder, struct op *op)
{
    const struct kernel *kernel = builder->plan->chain[op->kernel.link];
    const uint32_t launches = kernel_launches(kernel, &builder->plan->params);
    enum status status = STATUS_OK;
    for (uint32_t repeat = 0; repeat < launches && status == STATUS_OK; repeat++) {
        op->kernel.repeat = repeat;
        status = plan_append(builder->plan, op, builder->error);
    }
    return status;
}

static enum status write_callback(struct builder *builder, uint32_t stream, uint32_t tile)
{
    struct op callback = {.kind = OP_CALLBACK, .stream = stream, .tile = (int32_t)tile};
    if (!builder->settings->callbacks && builder->mistake.sleep_ns == 0)
        return STATUS_OK;
    callback.callback.result = placement_output(&builder->placement, tile);
    callback.callback.sleep_ns = builder->mistake.sleep_ns;
    return plan_append(builder->plan, &callback, builder->error);
}

static enum status write_kernel(struct builder *builder, uint32_t stream, uint32_t tile,
                                uint32_t link)
{
    struct op op = {.kind = OP_KERNEL, .stream = stream, .tile = (int32_t)tile};
    placement_kernel(&builder->placement, tile, link, &op);
    op.kernel.blocks =
        kernel_blocks(builder->plan->chain[link], op.kernel.count, builder->most_blocks);
    struct plan *plan = builder->plan;
    const struct placement *placement = &builder->placement;
    enum status status = carry_write_in(plan, placement, stream, tile, link, builder->error);
    if (status == STATUS_OK)
        status = append_launches(builder, &op);
    if (status == STATUS_OK)
        status = carry_write_out(plan, placement, builder->settings->carry, stream, tile, link,
                                 builder->error);
    if (status == STATUS_OK && !has_stage(builder, link + 2)) /* its result is on the host */
        status = write_callback(builder, stream, tile);
    return status;
}

static enum status write_copy_out(struct builder *builder, uint32_t stream, uint32_t tile)
{
    struct op op = {.kind = OP_D2H, .stream = stream, .tile = (int32_t)tile};
    op.copy.host = placement_output(&builder->placement, tile);
    op.copy.device =
        placement_slot(&builder->placement, placement_output_buffer(&builder->placement), tile,
                       op.copy.host.bytes);
    enum status status = plan_append(builder->plan, &op, builder->error);
    return status == STATUS_OK ? write_callback(builder, stream, tile) : status;
}

static enum status write_event(struct builder *builder, enum op_kind kind, uint32_t stream,
                               uint32_t tile, uint32_t event)
{
    struct op op = {.kind = kind, .stream = stream, .tile = (int32_t)tile};
    op.event.event = event;
    return plan_append(builder->plan, &op, builder->error);
}

/* Makes `stream` wait for the step, unless its own order, that of the legacy default stream or
 * an earlier wait sees to it. Only kernels follow copies in. */
static enum status join(struct builder *builder, uint32_t stream, uint32_t tile,
                        struct step step)
{
    size_t index = step_index(builder, step.stage, step.tile);
    uint32_t other = step_stream(builder, step.stage, step.tile);
    uint32_t *known = &builder->known[(size_t)stream * builder->plan->streams + other];
    bool turns = rule_legacy_orders(plan_stream_kind(builder->plan, stream),
                                    plan_stream_kind(builder->plan, other));
    if (other == stream || turns || *known >= builder->places[index])
        return STATUS_OK;
    *known = builder->places[index];
    if (builder->marking) {
        builder->events[index] = MARKED;
        return STATUS_OK;
    }
    if (mistake_drops_wait(&builder->mistake, step.stage == 0))
        return STATUS_OK;
    return write_event(builder, OP_WAIT, stream, tile, builder->events[index] - 1);
}

/* Behind a step that others wait for. */
static enum status record_step(struct builder *builder, uint32_t stream, int32_t tile,
                               size_t index)
{
    if (builder->events[index] != MARKED)
        return STATUS_OK;
    struct op op = {.kind = OP_RECORD, .stream = stream, .tile = tile};
    op.event.event = builder->plan->events;
    builder->events[index] = ++builder->plan->events;
    return plan_append(builder->plan, &op, builder->error);
}

/* The resident input, before all tiles. */
static enum status issue_upload(struct builder *builder)
{
    enum { NO_TILE = -1, FIRST_STREAM = 0 };
    size_t index = step_index(builder, upload_step(builder).stage, upload_step(builder).tile);
    builder->places[index] = ++builder->lengths[FIRST_STREAM];
    if (builder->marking)
        return STATUS_OK;
    struct op op = {.kind = OP_H2D, .stream = FIRST_STREAM, .tile = NO_TILE};
    op.copy.host = placement_resident(&builder->placement, BUFFER_HOST_RESIDENT);
    op.copy.device = placement_resident(&builder->placement, BUFFER_DEVICE_RESIDENT);
    enum status status = plan_append(builder->plan, &op, builder->error);
    if (status == STATUS_OK)
        status = record_step(builder, FIRST_STREAM, NO_TILE, index);
    return status;
}

/* What a stage of a tile is made of. */
static enum status write_stage(struct builder *builder, uint32_t stage, uint32_t stream,
                               uint32_t tile)
{
    if (stage == 0)
        return write_copies_in(builder, stream, tile);
    if (stage == stage_out(builder))
        return write_copy_out(builder, stream, tile);
    return write_kernel(builder, stream, tile, stage - 1);
}

static enum status issue_step(struct builder *builder, uint32_t stage, uint32_t tile)
{
    if (!has_stage(builder, stage))
        return STATUS_OK;
    bool first = stage == 0 || !has_stage(builder, stage - 1);
    bool last = stage == stage_out(builder) || !has_stage(builder, stage + 1);
    uint32_t stream = step_stream(builder, stage, tile);
    struct step follows[FOLLOWS_MAX];
    int count = step_follows(builder, stage, tile, follows);
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = join(builder, stream, tile, follows[i]);
    size_t index = step_index(builder, stage, tile);
    builder->places[index] = ++builder->lengths[stream];
    if (builder->marking || status != STATUS_OK)
        return status;

    if (first)
        status = mistake_before_tile(&builder->mistake, stream, tile);
    if (status == STATUS_OK)
        status = write_stage(builder, stage, stream, tile);
    if (status == STATUS_OK)
        status = record_step(builder, stream, (int32_t)tile, index);
    if (status == STATUS_OK && last)
        status = mistake_after_tile(&builder->mistake, stream, tile);
    return status;
}

/* Stages [first, stages) of tiles [begin, end), a stage of every tile before the next stage. */
static enum status schedule_by_stage(struct builder *builder, uint32_t first, uint32_t begin,
                                     uint32_t end)
{
    enum status status = STATUS_OK;
    for (uint32_t stage = first; stage < builder->stages; stage++) {
        for (uint32_t tile = begin; tile < end && status == STATUS_OK; tile++)
            status = issue_step(builder, stage, tile);
    }
    return status;
}

/* Stages [first, stages) of every tile in the order asked for: breadth-first is by stage in
 * waves of as many tiles as may be in flight, depth-first the same in waves of one. */
static enum status schedule_in_waves(struct builder *builder, uint32_t first)
{
    uint32_t wave = 1;
    if (builder->settings->order == ORDER_BREADTH)
        wave = builder->settings->streams;
    enum status status = STATUS_OK;
    for (uint32_t begin = 0; begin < builder->gpu_tiles && status == STATUS_OK; begin += wave) {
        uint32_t end = begin + wave < builder->gpu_tiles ? begin + wave : builder->gpu_tiles;
        status = schedule_by_stage(builder, first, begin, end);
    }
    return status;
}

static enum status schedule(struct builder *builder)
{
    size_t streams = builder->plan->streams;
    for (size_t i = 0; i < streams * streams; i++)
        builder->known[i] = 0;
    for (size_t i = 0; i < streams; i++)
        builder->lengths[i] = 0;
    enum status status = STATUS_OK;
    if (has_resident(builder) && builder->gpu_tiles > 0)
        status = issue_upload(builder);
    if (status != STATUS_OK)
        return status;
    if (builder->ways == 1)
        return schedule_by_stage(builder, 0, 0, builder->gpu_tiles);
    if (builder->ways > 2)
        return schedule_in_waves(builder, 0);
    for (uint32_t tile = 0; tile < builder->gpu_tiles && status == STATUS_OK; tile++)
        status = issue_step(builder, 0, tile);
    return status == STATUS_OK ? schedule_in_waves(builder, 1) : status;
}

static enum status write_cpu_tiles(struct builder *builder)
{
    struct plan *plan = builder->plan;
    enum status status = STATUS_OK;
    for (uint32_t tile = builder->gpu_tiles; tile < plan->tiles && status == STATUS_OK;
         tile++) {
        struct op op = {.kind = OP_CPU, .stream = plan->streams, .tile = (int32_t)tile};
        uint64_t first;
        plan_tile(plan, tile, &first, &op.cpu.count);
        for (int input = 0; input < builder->placement.inputs; input++)
            op.cpu.in[input] = placement_input(&builder->placement, input, tile);
        op.cpu.resident = placement_resident(&builder->placement, BUFFER_HOST_RESIDENT);
        op.cpu.out = placement_output(&builder->placement, tile);
        status = plan_append(plan, &op, builder->error);
    }
    return status;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How many streams there are for `in_flight` tiles. One per stage is one where there are no
 * copies. */
static uint32_t count_streams(const struct builder *builder, uint32_t in_flight)
{
    if (builder->ways == 1)
        return 1;
    if (builder->settings->layout == LAYOUT_TILE)
        return in_flight;
    return builder->plan->memory == MEMORY_MAPPED ? 1 : 3;
}

/* Streams and slots. Serial and 2-way hold the whole array on the device at once. */
static void shape_plan(struct builder *builder)
{
    const struct settings *settings = builder->settings;
    struct plan *plan = builder->plan;
    uint32_t in_flight = smaller(settings->streams, builder->gpu_tiles);
    if (in_flight == 0) /* everything is the CPU's */
        in_flight = 1;
    plan->slots = builder->ways <= 2 ? builder->gpu_tiles : in_flight;
    plan->streams = count_streams(builder, in_flight);
    builder->tile_streams = plan->streams;
}

static enum status take_tables(struct builder *builder)
{
    size_t steps = ((size_t)builder->gpu_tiles + 1) * builder->stages; /* and the upload */
    size_t streams = builder->plan->streams;
    builder->events = calloc(steps, sizeof *builder->events);
    builder->places = calloc(steps, sizeof *builder->places);
    builder->known = calloc(streams * streams, sizeof *builder->known);
    builder->lengths = calloc(streams, sizeof *builder->lengths);
    if (builder->events && builder->places && builder->known && builder->lengths)
        return STATUS_OK;
    return error_set(builder->error, STATUS_FAILED, "no memory for a plan of %zu steps", steps);
}

static void free_tables(struct builder *builder)
{
    free(builder->events);
    free(builder->places);
    free(builder->known);
    free(builder->lengths);
}

static enum status write_ops(struct builder *builder)
{
    enum status status = take_tables(builder);
    if (status == STATUS_OK) {
        builder->marking = true;
        status = schedule(builder);
    }
    /* The CPU starts first: handing it its tiles costs the host next to nothing. */
    if (status == STATUS_OK)
        status = write_cpu_tiles(builder);
    if (status == STATUS_OK)
        status = mistake_at_start(&builder->mistake);
    if (status == STATUS_OK) {
        builder->marking = false;
        status = schedule(builder);
    }
    if (status == STATUS_OK)
        status = mistake_check(&builder->mistake);
    free_tables(builder);
    return status;
}

enum status plan_build(const struct settings *settings, const struct machine *machine,
                       struct plan *plan, struct error *error)
{
    plan_init(plan);
    struct builder builder = {.settings = settings, .plan = plan, .error = error};
    builder.most_blocks =
        settings->blocks > 0 ? settings->blocks : machine_resident_blocks(machine);
    plan->memory = settings->memory;
    plan->issue = settings->issue;
    builder.ways = settings->memory == MEMORY_MAPPED && settings->ways < 3 ? 3 : settings->ways;
    plan->elements = settings->elements;
    plan->tiles = settings->tiles;
    plan->params = settings_params(settings);
    plan->chain_length = settings->chain_length;
    for (int i = 0; i < settings->chain_length; i++)
        plan->chain[i] = settings->chain[i];
    plan->cpu_tiles = plan_cpu_tiles(settings, machine);
    builder.gpu_tiles = plan->tiles - plan->cpu_tiles;
    builder.stages = (uint32_t)plan->chain_length + 2;
    shape_plan(&builder);
    placement_begin(&builder.placement, plan, settings->carry != CARRY_DEVICE);
    enum status status =
        mistake_begin(&builder.mistake, settings, machine, plan, &builder.placement, error);
    if (status == STATUS_OK)
        status = plan_set_priorities(plan, settings, machine, error);
    if (status == STATUS_OK)
        status = write_ops(&builder);
    if (status == STATUS_OK)
        status = plan_validate(plan, error);
    if (status != STATUS_OK)
        plan_free(plan);
    return status;
}
