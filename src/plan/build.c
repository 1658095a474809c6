/* build.c - turns settings into a plan.
 *
 * Three questions settle the whole plan:
 *   when is a step issued?        schedule(): the ways and the order
 *   in which stream?              steps_stream(): the ways and the layout
 *   which steps must end first?   steps_follow(): data flow, and slots that are used again
 * Where a step follows one of another stream, an event joins them: recorded right behind the
 * earlier step, waited for right before the later one. Which steps need a record is known only
 * once all are placed, so the schedule runs twice: first to mark, then to write the ops. */
#include "plan/build.h"

#include "plan/host_layout.h"
#include "plan/mistake.h"
#include "plan/rules.h"
#include "plan/steps.h"
#include "plan/validate.h"

#include <stdlib.h>
#include <string.h>

enum { NO_EVENT = 0, MARKED = UINT32_MAX };

struct builder {
    const struct settings *settings;
    struct plan *plan;
    uint32_t ops_most;
    uint32_t most_blocks; /* a launch's, where its work does not say */
    struct steps steps;
    struct placement placement;
    struct plan_mistake mistake;
    bool marking;      /* the schedule's first run, which writes no ops */
    uint32_t *events;  /* per step: NO_EVENT, MARKED, or its event's number plus 1 */
    uint32_t *places;  /* per step: its place in its stream, from 1 */
    uint32_t *known;   /* streams x streams: place in the other up to which each has waited */
    uint32_t *lengths; /* per stream: steps so far */
    uint64_t marked;   /* steps of the schedule's first run */
    struct error *error;
};

/* Counts those of the schedule's present run. */
static uint64_t steps_so_far(const struct builder *builder)
{
    uint64_t steps = 0;
    for (uint32_t i = 0; i < builder->plan->streams; i++)
        steps += builder->lengths[i];
    return steps;
}

static enum status refuse_size(const struct builder *builder)
{
    uint64_t cpu = builder->plan->tiles - builder->steps.gpu_tiles;
    uint64_t done = builder->marking ? builder->ops_most : cpu + steps_so_far(builder);
    return settings_refuse_size(builder->settings,
                                (double)done / (double)(cpu + builder->marked), builder->error);
}

static enum status append(struct builder *builder, const struct op *op)
{
    if (builder->plan->op_count >= builder->ops_most)
        return refuse_size(builder);
    return plan_append(builder->plan, op, builder->error);
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
    return append(builder, &op);
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
    return append(builder, &op);
}

/* Appends what comes right behind it: the copy out of the tile's own total, and the callback
 * that leaves what the next tile copies in; with CARRY_SYNC the host waits for that. The next
 * tile's link waits for this stream: see steps_follow(). */
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
        status = append(builder, &op);
    return status;
}

/* --- steps --- */

static enum status write_copies_in(struct builder *builder, uint32_t stream, uint32_t tile)
{
    enum status status = STATUS_OK;
    for (int input = 0; input < builder->placement.inputs && status == STATUS_OK; input++) {
        struct op op = {.kind = OP_H2D, .stream = stream, .tile = (int32_t)tile};
        op.copy.host = placement_input(&builder->placement, input, tile);
        op.copy.device = placement_input_slot(&builder->placement, input, tile);
        status = append(builder, &op);
    }
    return status;
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
        status = append(builder, op);
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
    return append(builder, &callback);
}

static enum status write_kernel(struct builder *builder, uint32_t stream, uint32_t tile,
                                uint32_t link)
{
    struct op op = {.kind = OP_KERNEL, .stream = stream, .tile = (int32_t)tile};
    struct op_ranges ranges = {0};
    op.kernel.ranges = &ranges;
    placement_kernel(&builder->placement, tile, link, &op);
    op.kernel.ranges = plan_keep_ranges(builder->plan, &ranges, builder->error);
    if (op.kernel.ranges == NULL)
        return STATUS_NO_MEMORY;
    op.kernel.blocks =
        kernel_blocks(builder->plan->chain[link], op.kernel.count, builder->most_blocks);
    enum status status = write_carry_in(builder, stream, tile, link);
    if (status == STATUS_OK)
        status = append_launches(builder, &op);
    if (status == STATUS_OK)
        status = write_carry_out(builder, stream, tile, link);
    bool on_host = !steps_have_stage(&builder->steps, link + 2); /* no copy out follows */
    if (status == STATUS_OK && on_host)
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
    enum status status = append(builder, &op);
    return status == STATUS_OK ? write_callback(builder, stream, tile) : status;
}

/* Makes `stream` wait for the step before it goes on with `tile`, unless its own order, that of
 * the legacy default stream or an earlier wait sees to it. Only kernels follow copies in. */
static enum status join(struct builder *builder, uint32_t stream, uint32_t tile,
                        struct step step)
{
    size_t index = steps_index(&builder->steps, step);
    uint32_t other = steps_stream(&builder->steps, step);
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
    struct op wait = {.kind = OP_WAIT, .stream = stream, .tile = (int32_t)tile};
    wait.event.event = builder->events[index] - 1;
    return append(builder, &wait);
}

/* Records an event behind a step if others wait for it. */
static enum status record_step(struct builder *builder, uint32_t stream, int32_t tile,
                               size_t index)
{
    if (builder->events[index] != MARKED)
        return STATUS_OK;
    struct op op = {.kind = OP_RECORD, .stream = stream, .tile = tile};
    op.event.event = builder->plan->events;
    builder->events[index] = ++builder->plan->events;
    return append(builder, &op);
}

/* Issues the copy of the resident input, before all tiles. */
static enum status issue_upload(struct builder *builder)
{
    enum { NO_TILE = -1, FIRST_STREAM = 0 };
    size_t index = steps_index(&builder->steps, steps_upload(&builder->steps));
    builder->places[index] = ++builder->lengths[FIRST_STREAM];
    if (builder->marking)
        return STATUS_OK;
    struct op op = {.kind = OP_H2D, .stream = FIRST_STREAM, .tile = NO_TILE};
    op.copy.host = placement_resident(&builder->placement, BUFFER_HOST_RESIDENT);
    op.copy.device = placement_resident(&builder->placement, BUFFER_DEVICE_RESIDENT);
    enum status status = append(builder, &op);
    if (status == STATUS_OK)
        status = record_step(builder, FIRST_STREAM, NO_TILE, index);
    return status;
}

/* Appends the ops that a step is made of. */
static enum status write_step(struct builder *builder, struct step step, uint32_t stream)
{
    if (step.stage == 0)
        return write_copies_in(builder, stream, step.tile);
    if (step.stage == steps_out(&builder->steps))
        return write_copy_out(builder, stream, step.tile);
    return write_kernel(builder, stream, step.tile, step.stage - 1);
}

static enum status issue_step(struct builder *builder, struct step step)
{
    const struct steps *steps = &builder->steps;
    const uint32_t stage = step.stage, tile = step.tile;
    if (!steps_have_stage(steps, stage))
        return STATUS_OK;
    bool first = stage == 0 || !steps_have_stage(steps, stage - 1);
    bool last = stage == steps_out(steps) || !steps_have_stage(steps, stage + 1);
    uint32_t stream = steps_stream(steps, step);
    struct step follows[STEP_FOLLOWS_MAX];
    int count = steps_follow(steps, step, follows);
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = join(builder, stream, tile, follows[i]);
    size_t index = steps_index(steps, step);
    builder->places[index] = ++builder->lengths[stream];
    if (builder->marking || status != STATUS_OK)
        return status;
    const struct mistake_row *mistake = builder->mistake.row;
    if (first && mistake->before_tile != NULL)
        status = mistake->before_tile(&builder->mistake, stream, tile);
    if (status == STATUS_OK)
        status = write_step(builder, step, stream);
    if (status == STATUS_OK)
        status = record_step(builder, stream, (int32_t)tile, index);
    if (status == STATUS_OK && last && mistake->after_tile != NULL)
        status = mistake->after_tile(&builder->mistake, stream, tile);
    return status;
}

/* Issues stages [first, stages) of tiles [begin, end), a stage of every tile before the next
 * stage. */
static enum status schedule_by_stage(struct builder *builder, uint32_t first, uint32_t begin,
                                     uint32_t end)
{
    enum status status = STATUS_OK;
    for (uint32_t stage = first; stage < builder->steps.stages; stage++) {
        for (uint32_t tile = begin; tile < end && status == STATUS_OK; tile++)
            status = issue_step(builder, (struct step){stage, tile});
    }
    return status;
}

/* Issues stages [first, stages) of every tile in the order asked for: breadth-first is by stage
 * in waves of as many tiles as may be in flight, depth-first the same in waves of one. */
static enum status schedule_in_waves(struct builder *builder, uint32_t first)
{
    const uint32_t tiles = builder->steps.gpu_tiles;
    const uint32_t wave =
        builder->settings->order == ORDER_BREADTH ? builder->settings->streams : 1;
    enum status status = STATUS_OK;
    for (uint32_t begin = 0; begin < tiles && status == STATUS_OK; begin += wave) {
        uint32_t end = begin + wave < tiles ? begin + wave : tiles;
        status = schedule_by_stage(builder, first, begin, end);
    }
    return status;
}

static enum status schedule(struct builder *builder)
{
    const size_t streams = builder->plan->streams;
    memset(builder->known, 0, streams * streams * sizeof *builder->known);
    memset(builder->lengths, 0, streams * sizeof *builder->lengths);
    enum status status = steps_have_upload(&builder->steps) ? issue_upload(builder) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    if (builder->steps.ways == 1)
        return schedule_by_stage(builder, 0, 0, builder->steps.gpu_tiles);
    if (builder->steps.ways > 2)
        return schedule_in_waves(builder, 0);
    for (uint32_t tile = 0; tile < builder->steps.gpu_tiles && status == STATUS_OK; tile++)
        status = issue_step(builder, (struct step){0, tile});
    return status == STATUS_OK ? schedule_in_waves(builder, 1) : status;
}

static enum status write_cpu_tiles(struct builder *builder)
{
    struct plan *plan = builder->plan;
    enum status status = STATUS_OK;
    for (uint32_t tile = builder->steps.gpu_tiles; tile < plan->tiles && status == STATUS_OK;
         tile++) {
        struct op op = {.kind = OP_CPU, .stream = plan->streams, .tile = (int32_t)tile};
        uint64_t first;
        op.cpu.ranges = plan_take_ranges(plan, builder->error);
        if (op.cpu.ranges == NULL)
            return STATUS_NO_MEMORY;
        plan_tile(plan, tile, &first, &op.cpu.count);
        for (int input = 0; input < builder->placement.inputs; input++)
            op.cpu.ranges->in[input] = placement_input(&builder->placement, input, tile);
        op.cpu.ranges->resident = placement_resident(&builder->placement, BUFFER_HOST_RESIDENT);
        op.cpu.ranges->out = placement_output(&builder->placement, tile);
        status = append(builder, &op);
    }
    return status;
}

static enum status take_tables(struct builder *builder)
{
    size_t steps = steps_number(&builder->steps);
    size_t streams = builder->plan->streams;
    builder->events = calloc(steps, sizeof *builder->events);
    builder->places = calloc(steps, sizeof *builder->places);
    builder->known = calloc(streams * streams, sizeof *builder->known);
    builder->lengths = calloc(streams, sizeof *builder->lengths);
    if (builder->events && builder->places && builder->known && builder->lengths)
        return STATUS_OK;
    return error_set(builder->error, STATUS_NO_MEMORY, "no memory for a plan of %zu steps",
                     steps);
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
        builder->marked = steps_so_far(builder);
    }
    /* The CPU starts first: handing it its tiles costs the host next to nothing. */
    if (status == STATUS_OK)
        status = write_cpu_tiles(builder);
    if (status == STATUS_OK && builder->mistake.row->at_start != NULL)
        status = builder->mistake.row->at_start(&builder->mistake);
    if (status == STATUS_OK) {
        builder->marking = false;
        status = schedule(builder);
    }
    if (status == STATUS_OK)
        status = mistake_check(&builder->mistake);
    free_tables(builder);
    return status;
}

/* Refuses what could not even be laid out. All else is settings_check()'s. */
static enum status check_settings(const struct settings *settings, struct error *error)
{
    bool whole = settings->chain_length >= 1 && settings->chain_length <= CHAIN_MAX &&
                 settings->elements >= 1 && settings->tiles >= 1 &&
                 settings->tiles <= TILES_MAX && settings->streams >= 1 &&
                 settings->streams <= STREAMS_MAX;
    if (whole)
        return STATUS_OK;
    return error_set(
        error, STATUS_FAILED,
        "a plan needs elements, up to %d tiles, up to %d streams and up to %d kernels",
        TILES_MAX, STREAMS_MAX, CHAIN_MAX);
}

/* Sets what the settings say of the plan as a whole. */
static enum status take_settings(struct plan *plan, const struct settings *settings,
                                 const struct machine *machine, struct error *error)
{
    plan->memory = settings->memory;
    plan->issue = settings->issue;
    plan->elements = settings->elements;
    plan->tiles = settings->tiles;
    plan->cpu_tiles = plan_cpu_tiles(settings, machine);
    plan->cpu_helps = settings->ways == 4;
    plan->params = settings_params(settings);
    plan->chain_length = settings->chain_length;
    for (int i = 0; i < settings->chain_length; i++)
        plan->chain[i] = settings->chain[i];
    return settings->scatter ? host_layout_draw(plan, settings->seed, error) : STATUS_OK;
}

enum status plan_build(const struct settings *settings, const struct machine *machine,
                       struct plan *plan, struct error *error)
{
    plan_init(plan);
    enum status status = check_settings(settings, error);
    if (status != STATUS_OK)
        return status;
    struct builder builder = {.settings = settings, .plan = plan, .error = error};
    builder.ops_most = settings_ops_most(settings);
    builder.most_blocks =
        settings->blocks > 0 ? settings->blocks : machine_resident_blocks(machine);
    status = take_settings(plan, settings, machine, error);
    steps_begin(&builder.steps, settings, plan, &builder.placement);
    placement_begin(&builder.placement, plan, settings->carry != CARRY_DEVICE);
    if (status == STATUS_OK)
        status =
            mistake_begin(&builder.mistake, settings, machine, plan, &builder.placement, error);
    builder.steps.kernel_stream = builder.mistake.kernel_stream;
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
