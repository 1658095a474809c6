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

#include "plan/build_parts.h"
#include "plan/host_layout.h"
#include "plan/managed.h"
#include "plan/rules.h"
#include "plan/validate.h"

#include <stdlib.h>
#include <string.h>

enum { NO_EVENT = 0, MARKED = UINT32_MAX };

/* --- steps --- */

/* Returns the stage that a step has in the plan's loops: there the uploads come behind all. */
static uint32_t noted_stage(const struct builder *builder, struct step step)
{
    const struct steps *steps = &builder->steps;
    return step.batch >= steps->batches ? steps->stages : step.stage;
}

/* Makes `stream` wait for the step before it goes on with the tiles, unless its own order, that
 * of the legacy default stream or an earlier wait sees to it. */
static enum status join(struct builder *builder, uint32_t stream, struct tiles tiles,
                        struct follow follow)
{
    const struct step step = follow.step;
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
    /* Only kernels follow copies in, which are stage 0. */
    if (mistake_drops_wait(&builder->mistake, step.stage == 0))
        return STATUS_OK;
    struct op wait = build_op(OP_WAIT, stream, tiles);
    wait.event.event = builder->events[index] - 1;
    return build_append_event(builder, &wait, follow.relation, noted_stage(builder, step));
}

/* Records an event, by `op`, behind a step if others wait for it. */
static enum status record_step(struct builder *builder, struct op op, struct step step)
{
    uint32_t *event = &builder->events[steps_index(&builder->steps, step)];
    if (*event != MARKED)
        return STATUS_OK;
    op.event.event = builder->plan->events;
    *event = ++builder->plan->events;
    return build_append_event(builder, &op, steps_event(&builder->steps, step),
                              noted_stage(builder, step));
}

/* Makes the host wait until a batch is back, and unpack it. */
static enum status take_back(struct builder *builder, uint32_t batch)
{
    const struct step out = {steps_out(&builder->steps), batch};
    const size_t index = steps_index(&builder->steps, out);
    if (builder->marking) {
        builder->events[index] = MARKED;
        return STATUS_OK;
    }
    struct op op =
        build_op(OP_SYNC_EVENT, builder->plan->streams, plan_batch(builder->plan, batch));
    op.event.event = builder->events[index] - 1;
    enum status status = build_append(builder, &op);
    return status == STATUS_OK ? build_unpacks(builder, batch) : status;
}

/* Notes something that the step does, once its ops are written. */
static void note(struct builder *builder, struct loop_item item)
{
    if (!builder->marking)
        loops_note(builder->plan->loops, item);
}

/* Packs a batch, once its slot is free: the host's slots are used in turn, as the device's. */
static enum status pack(struct builder *builder, uint32_t batch)
{
    const struct loop_item taken_back = {.kind = OP_SYNC_EVENT,
                                         .relation = RELATION_BEFORE,
                                         .event_stage = steps_out(&builder->steps)};
    const uint32_t slots = builder->plan->slots;
    enum status status = STATUS_OK;
    if (batch >= slots) {
        note(builder, taken_back);
        status = take_back(builder, batch - slots);
    }
    note(builder, (struct loop_item){.kind = OP_PACK});
    return status == STATUS_OK && !builder->marking ? build_packs(builder, batch) : status;
}

/* Takes back the batches that are still under way when all are issued. */
static enum status take_back_rest(struct builder *builder)
{
    const uint32_t batches = builder->steps.batches, slots = builder->plan->slots;
    enum status status = STATUS_OK;
    for (uint32_t batch = batches > slots ? batches - slots : 0;
         batch < batches && status == STATUS_OK; batch++)
        status = take_back(builder, batch);
    return status;
}

/* Issues the copy of the resident input into a device. */
static enum status issue_upload(struct builder *builder, uint32_t device)
{
    enum { NO_TILE = -1 };
    const struct step upload = steps_upload(&builder->steps, device);
    const uint32_t stream = steps_stream(&builder->steps, upload);
    builder->places[steps_index(&builder->steps, upload)] = ++builder->lengths[stream];
    if (builder->marking)
        return STATUS_OK;
    loops_step(builder->plan->loops, (struct step){builder->steps.stages, device});
    loops_note(builder->plan->loops, (struct loop_item){.kind = OP_H2D});
    struct op op = {.kind = OP_H2D, .stream = stream, .tile = NO_TILE};
    op.copy.host = plan_whole(builder->plan, BUFFER_HOST_RESIDENT);
    op.copy.device = plan_device_part(builder->plan, BUFFER_DEVICE_RESIDENT, device);
    enum status status = build_append(builder, &op);
    op = (struct op){.kind = OP_RECORD, .stream = stream, .tile = NO_TILE};
    if (status == STATUS_OK)
        status = record_step(builder, op, upload);
    return status;
}

/* Issues those copies, before all tiles. */
static enum status issue_uploads(struct builder *builder)
{
    const uint32_t devices = steps_have_upload(&builder->steps) ? builder->steps.devices : 0;
    enum status status = STATUS_OK;
    for (uint32_t device = 0; device < devices && status == STATUS_OK; device++)
        status = issue_upload(builder, device);
    return status;
}

static enum status issue_step(struct builder *builder, struct step step)
{
    const struct steps *steps = &builder->steps;
    const uint32_t stage = step.stage;
    const struct tiles tiles = plan_batch(builder->plan, step.batch);
    if (!steps_have_stage(steps, stage))
        return STATUS_OK;
    bool first = stage == 0 || !steps_have_stage(steps, stage - 1);
    bool last = stage == steps_out(steps) || !steps_have_stage(steps, stage + 1);
    uint32_t stream = steps_stream(steps, step);
    struct follow follows[STEP_FOLLOWS_MAX];
    int count = steps_follow(steps, step, follows);
    enum status status = STATUS_OK;
    loops_step(builder->plan->loops, step);
    if (stage == 0 && builder->plan->packs)
        status = pack(builder, step.batch);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = join(builder, stream, tiles, follows[i]);
    builder->places[steps_index(steps, step)] = ++builder->lengths[stream];
    if (builder->marking || status != STATUS_OK)
        return status;
    const struct mistake_row *mistake = builder->mistake.row;
    status = build_memory(builder, ALLOC_TAKE, step, stream);
    if (status == STATUS_OK && first && mistake->before_tile != NULL)
        status = mistake->before_tile(&builder->mistake, stream, tiles.first);
    if (status == STATUS_OK)
        status = build_stage(builder, &steps->stage[stage], tiles, stream);
    if (status == STATUS_OK)
        status = build_memory(builder, ALLOC_GIVE, step, stream);
    if (status == STATUS_OK)
        status = record_step(builder, build_op(OP_RECORD, stream, tiles), step);
    if (status == STATUS_OK && last && mistake->after_tile != NULL)
        status = mistake->after_tile(&builder->mistake, stream, tiles.first);
    return status;
}

/* Issues stages [first, stages) of batches [begin, end), a stage of every batch before the next
 * stage. */
static enum status schedule_by_stage(struct builder *builder, uint32_t first, uint32_t begin,
                                     uint32_t end)
{
    enum status status = STATUS_OK;
    for (uint32_t stage = first; stage < builder->steps.stages; stage++) {
        for (uint32_t batch = begin; batch < end && status == STATUS_OK; batch++)
            status = issue_step(builder, (struct step){stage, batch});
    }
    return status;
}

/* Issues stages [first, stages) of every batch in the order asked for: breadth-first is by
 * stage in waves of as many batches as may be in flight, depth-first the same in waves of one.
 */
static enum status schedule_in_waves(struct builder *builder, uint32_t first)
{
    const uint32_t batches = builder->steps.batches, wave = steps_wave(&builder->steps);
    enum status status = STATUS_OK;
    for (uint32_t begin = 0; begin < batches && status == STATUS_OK; begin += wave) {
        uint32_t end = begin + wave < batches ? begin + wave : batches;
        status = schedule_by_stage(builder, first, begin, end);
    }
    return status;
}

static enum status schedule(struct builder *builder)
{
    const size_t streams = builder->plan->streams;
    memset(builder->known, 0, streams * streams * sizeof *builder->known);
    memset(builder->lengths, 0, streams * sizeof *builder->lengths);
    enum status status = issue_uploads(builder);
    if (status != STATUS_OK)
        return status;
    if (builder->steps.ways == 1)
        return schedule_by_stage(builder, 0, 0, builder->steps.batches);
    if (builder->steps.ways > 2) {
        status = schedule_in_waves(builder, 0);
        return status == STATUS_OK && builder->plan->packs ? take_back_rest(builder) : status;
    }
    for (uint32_t batch = 0; batch < builder->steps.batches && status == STATUS_OK; batch++)
        status = issue_step(builder, (struct step){0, batch});
    return status == STATUS_OK ? schedule_in_waves(builder, 1) : status;
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
        builder->marked = build_steps_so_far(builder);
    }
    loops_begin(builder->plan->loops, &builder->steps);
    /* The CPU starts first: handing it its tiles costs the host next to nothing. */
    if (status == STATUS_OK)
        status = build_cpu_tiles(builder);
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
                 settings->streams <= STREAMS_MAX / settings_devices(settings) &&
                 settings_devices(settings) <= MACHINE_DEVICES_MAX &&
                 (!settings_by_link(settings) ||
                  settings_devices(settings) <= (uint32_t)settings->chain_length) &&
                 settings_halo_fits(settings) && settings->issue < ISSUE_AUTO &&
                 (settings->copy == COPY_WHOLE ||
                  (settings->tile_width > 0 && settings_tiles_fit(settings, settings->tiles)));
    if (whole)
        return STATUS_OK;
    return error_set(
        error, STATUS_FAILED,
        "a plan needs elements, up to %d tiles, up to %d streams, up to %d kernels "
        "and a way to be issued",
        TILES_MAX, STREAMS_MAX, CHAIN_MAX);
}

struct plan plan_outline(const struct settings *settings, const struct machine *machine)
{
    struct plan plan;
    plan_init(&plan);
    plan.memory = settings->memory;
    plan.prefetches = settings->memory == MEMORY_MANAGED && settings->prefetch;
    plan.issue = settings->issue;
    plan.packs = settings->pack;
    plan.alloc = settings->alloc;
    plan.devices = settings_devices(settings);
    plan.sharing = settings->sharing;
    plan.by_link = settings_by_link(settings);
    plan.has_halo = settings_has_halo(settings);
    plan.by_host = (plan.by_link && settings->exchange == EXCHANGE_AUTO)
                       ? !rule_peers_pay(machine)
                       : settings->exchange == EXCHANGE_HOST;
    plan.copy = settings->copy;
    plan.tile_width = settings->tile_width;
    plan.elements = settings->elements;
    plan.tiles = settings->tiles;
    plan.cpu_tiles = plan_cpu_tiles(settings, machine);
    plan.cpu_helps = settings->ways == 4;
    plan.batch = settings_batch(settings);
    plan.params = settings_params(settings);
    plan.chain_length = settings->chain_length;
    for (int i = 0; i < settings->chain_length; i++)
        plan.chain[i] = settings->chain[i];
    return plan;
}

/* Writes a plan whose tiles come and go, of which the facts are set. */
static enum status build_tiles(struct builder *builder)
{
    const struct settings *settings = builder->settings;
    struct plan *plan = builder->plan;
    steps_begin(&builder->steps, settings, plan, &builder->placement);
    placement_begin(&builder->placement, plan, settings->carry != CARRY_DEVICE);
    enum status status = mistake_begin(&builder->mistake, settings, builder->machine, plan,
                                       &builder->placement, builder->error);
    builder->steps.kernel_stream = builder->mistake.kernel_stream;
    if (status == STATUS_OK)
        status = plan_set_priorities(plan, settings, builder->machine, builder->error);
    return status == STATUS_OK ? write_ops(builder) : status;
}

enum status plan_build(const struct settings *settings, const struct machine *machine,
                       struct plan *plan, struct error *error)
{
    plan_init(plan);
    enum status status = check_settings(settings, error);
    if (status != STATUS_OK)
        return status;
    struct builder builder = {
        .settings = settings, .machine = machine, .plan = plan, .error = error};
    builder.ops_most = settings_ops_most(settings);
    *plan = plan_outline(settings, machine);
    plan->loops = calloc(1, sizeof *plan->loops);
    if (plan->loops == NULL)
        status = error_set(error, STATUS_NO_MEMORY, "no memory for a plan's loops");
    if (status == STATUS_OK && settings->scatter)
        status = host_layout_draw(plan, settings->seed, error);
    if (status == STATUS_OK)
        status = plan->has_halo ? build_halo(&builder) : build_tiles(&builder);
    if (status == STATUS_OK)
        status = plan_validate(plan, error);
    if (status == STATUS_OK)
        status = managed_check(plan, machine, error);
    if (status != STATUS_OK)
        plan_free(plan);
    return status;
}
