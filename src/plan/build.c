/* build.c - turns settings into a plan.
 *
 * Three questions settle the whole plan:
 *   when is a step issued?        loops_begin(): the ways and the order
 *   in which stream?              steps_place(): the ways and the layout
 *   which steps must end first?   steps_follow(): data flow, and slots that are used again
 * If a step follows one in another stream, an event joins them: recorded right after the
 * earlier step, waited for right before the later one. Which steps need a record is known only
 * when all are placed, so the schedule runs twice: first to mark, then to write the ops. */
#include "plan/build.h"

#include "plan/build_parts.h"
#include "plan/host_layout.h"
#include "plan/rules.h"

#include <stdlib.h>
#include <string.h>

enum { NO_EVENT = 0 };
#define MARKED UINT32_MAX

/* --- steps --- */

/* Makes `stream` wait for the step before it continues, unless its own order, that of the
 * legacy default stream or an earlier wait already ensures that. */
static void join(struct builder *builder, uint32_t stream, struct tiles tiles,
                 struct follow follow)
{
    const struct step_place *step = &follow.step;
    uint32_t *known = &builder->known[(size_t)stream * builder->plan->streams + step->stream];
    bool turns = rule_legacy_orders(plan_stream_kind(builder->plan, stream),
                                    plan_stream_kind(builder->plan, step->stream));
    if (step->stream == stream || turns || *known >= builder->places[step->index])
        return;
    *known = builder->places[step->index];
    if (builder->marking) {
        builder->events[step->index] = MARKED;
        return;
    }
    if (mistake_drops_wait(&builder->mistake, step->copies_in)) /* only kernels follow these */
        return;
    struct op wait = build_op(OP_WAIT, stream, tiles);
    wait.event.event = builder->events[step->index] - 1;
    build_append_event(builder, &wait, follow.relation, step->stage);
}

/* Records an event, by `op`, after a step if others wait for it. */
static void record_step(struct builder *builder, struct op op, const struct step_place *step)
{
    uint32_t *event = &builder->events[step->index];
    if (*event != MARKED)
        return;
    op.event.event = builder->plan->events;
    *event = ++builder->plan->events;
    build_append_event(builder, &op, step->event, step->stage);
}

/* Makes the host wait until a batch is back, and unpack it. */
static void take_back(struct builder *builder, uint32_t batch)
{
    const struct step out = {builder->steps.stages - 1, batch};
    uint32_t *event = &builder->events[steps_place(&builder->steps, out).index];
    if (builder->marking) {
        *event = MARKED;
        return;
    }
    struct op op =
        build_op(OP_SYNC_EVENT, builder->plan->streams, plan_batch(builder->plan, batch));
    op.event.event = *event - 1;
    build_append(builder, &op);
    build_unpacks(builder, batch);
}

/* Notes something that the step does, once its ops are written. */
static void note(struct builder *builder, struct loop_item item)
{
    if (!builder->marking)
        loops_note(builder->plan->loops, item);
}

/* Packs a batch once its slot is free: the host's slots are used in turn, like the device's. */
static void pack(struct builder *builder, uint32_t batch)
{
    const struct loop_item taken_back = {.kind = OP_SYNC_EVENT,
                                         .relation = RELATION_BEFORE,
                                         .event_stage = builder->steps.stages - 1};
    const uint32_t slots = builder->plan->slots;
    if (batch >= slots) {
        note(builder, taken_back);
        take_back(builder, batch - slots);
    }
    note(builder, (struct loop_item){.kind = OP_PACK});
    if (!builder->marking)
        build_packs(builder, batch);
}

/* Unpacks the batches that are still in flight when all are issued. */
static void take_back_rest(struct builder *builder)
{
    const uint32_t batches = builder->steps.batches, slots = builder->plan->slots;
    for (uint32_t batch = batches > slots ? batches - slots : 0;
         batch < batches && !build_failed(builder); batch++)
        take_back(builder, batch);
}

static void issue_step(struct builder *builder, struct step step)
{
    const struct steps *steps = &builder->steps;
    const struct stage *stage = &steps->stage[step.stage];
    const struct tiles none = {UINT32_MAX, 0};
    const struct tiles tiles =
        stage->kind == STAGE_ONCE ? none : plan_batch(builder->plan, step.batch);
    const struct step_place place = steps_place(steps, step);
    const uint32_t stream = place.stream;
    struct follow follows[STEP_FOLLOWS_MAX];
    int count = steps_follow(steps, step, follows);
    loops_step(builder->plan->loops, step);
    if (step.stage == 0 && builder->plan->packs)
        pack(builder, step.batch);
    for (int i = 0; i < count; i++)
        join(builder, stream, tiles, follows[i]);
    builder->places[place.index] = ++builder->lengths[stream];
    if (builder->marking)
        return;
    const struct mistake_row *mistake = builder->mistake.row;
    build_memory(builder, ALLOC_TAKE, stage, tiles, stream);
    if (step.stage == 0 && mistake->before_tile != NULL)
        mistake->before_tile(&builder->mistake, stream, tiles.first);
    build_stage(builder, stage, tiles, stream);
    build_memory(builder, ALLOC_GIVE, stage, tiles, stream);
    record_step(builder, build_op(OP_RECORD, stream, tiles), &place);
    if (step.stage + 1 == steps->stages && mistake->after_tile != NULL)
        mistake->after_tile(&builder->mistake, stream, tiles.first);
}

/* Issues the stages of a loop: a stage of every batch of a wave before the next stage. */
static void schedule_loop(struct builder *builder, const struct loop *loop)
{
    const uint32_t batches = builder->steps.batches;
    for (uint32_t begin = 0; begin < batches; begin += loop->wave) {
        const uint32_t end = begin + loop->wave < batches ? begin + loop->wave : batches;
        for (uint32_t stage = loop->first; stage < loop->end; stage++)
            for (uint32_t batch = begin; batch < end && !build_failed(builder); batch++)
                issue_step(builder, (struct step){stage, batch});
    }
}

static void schedule(struct builder *builder)
{
    const size_t streams = builder->plan->streams;
    memset(builder->known, 0, streams * streams * sizeof *builder->known);
    memset(builder->lengths, 0, streams * sizeof *builder->lengths);
    for (uint32_t device = 0; device < builder->steps.uploads; device++)
        issue_step(builder, (struct step){builder->steps.stages, device});
    for (int i = 0; i < builder->plan->loops->loop_count; i++)
        schedule_loop(builder, &builder->plan->loops->loops[i]);
    if (builder->steps.ways > 2 && builder->plan->packs)
        take_back_rest(builder);
}

static void take_tables(struct builder *builder)
{
    size_t steps = steps_number(&builder->steps);
    size_t streams = builder->plan->streams;
    builder->events = arena_zeros(&builder->arena, steps, sizeof *builder->events);
    builder->places = arena_zeros(&builder->arena, steps, sizeof *builder->places);
    builder->known = arena_zeros(&builder->arena, streams * streams, sizeof *builder->known);
    builder->lengths = arena_zeros(&builder->arena, streams, sizeof *builder->lengths);
    if (builder->arena.full)
        error_no_memory(builder->error, "for a plan of %zu steps", steps);
}

/* Runs the schedule twice, and what comes before it. */
static void schedule_twice(struct builder *builder)
{
    builder->marking = true;
    loops_begin(builder->plan->loops, &builder->steps);
    schedule(builder);
    builder->marked = build_steps_so_far(builder);
    loops_step(builder->plan->loops, (struct step){builder->steps.stages, 0});
    /* The CPU starts first, since giving it its tiles costs the host next to nothing. */
    build_cpu_tiles(builder);
    if (builder->mistake.row->at_start != NULL)
        builder->mistake.row->at_start(&builder->mistake);
    builder->marking = false;
    schedule(builder);
}

static void write_ops(struct builder *builder)
{
    take_tables(builder);
    if (!build_failed(builder))
        schedule_twice(builder);
    arena_free(&builder->arena);
    mistake_check(&builder->mistake);
}

/* Refuses what could not even be laid out. settings_check() refuses all else. */
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
    struct plan plan = {0};
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

/* Writes a plan whose tiles come and go, and whose facts are set. */
static void build_tiles(struct builder *builder)
{
    const struct settings *settings = builder->settings;
    struct plan *plan = builder->plan;
    steps_begin(&builder->steps, settings, plan);
    placement_begin(&builder->placement, plan, settings->carry != CARRY_DEVICE);
    mistake_begin(&builder->mistake, settings, builder->machine, plan, &builder->placement,
                  builder->error);
    steps_settle(&builder->steps, &builder->placement, builder->mistake.kernel_stream);
    if (!build_failed(builder))
        plan_set_priorities(plan, settings, builder->machine, builder->error);
    if (!build_failed(builder))
        write_ops(builder);
}

static enum status build_ops(struct builder *builder)
{
    if (builder->plan->has_halo)
        build_halo(builder);
    else
        build_tiles(builder);
    return builder->error->status;
}

enum status plan_build(const struct settings *settings, const struct machine *machine,
                       struct plan *plan, struct error *error)
{
    struct error first = {0};
    *plan = (struct plan){0};
    if (check_settings(settings, &first) != STATUS_OK)
        return error_pass(error, &first);
    struct builder builder = {
        .settings = settings, .machine = machine, .plan = plan, .error = &first};
    builder.ops_most = settings_ops_most(settings);
    *plan = plan_outline(settings, machine);
    plan->loops = calloc(1, sizeof *plan->loops);
    enum status status =
        plan->loops != NULL ? STATUS_OK : error_no_memory(&first, "for a plan's loops");
    if (status == STATUS_OK && settings->scatter)
        status = host_layout_draw(plan, settings->seed, &first);
    if (status == STATUS_OK)
        status = build_ops(&builder);
    if (status == STATUS_OK)
        status = plan_validate(plan, &first);
    if (status == STATUS_OK)
        status = managed_check(plan, machine, &first);
    if (status == STATUS_OK)
        return STATUS_OK;
    plan_free(plan);
    return error_pass(error, &first);
}
