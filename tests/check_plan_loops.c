/* check_plan_loops.c - a plan's loops, unrolled, are the plan: each op in its place, in its
 * stream, for its tiles, and each wait for the event of the step that it follows. */
#include "fixtures.h"
#include "options/options.h"
#include "plan/build.h"
#include "plan/steps.h"
#include "suites.h"

#include <stdlib.h>

/* The loops as they are unrolled. */
struct walk {
    const struct plan *plan;
    const struct plan_loops *loops;
    uint32_t at;             /* the plan's next op */
    uint32_t batches, width; /* of `records`: as many as there are batches, or devices */
    uint32_t *records;       /* per stage and batch, or device: the step's record, and 1 */
    uint32_t *recorder;      /* per event of the plan: the op that records it, and 1 */
};

static uint32_t slots_in_turn(const struct walk *walk)
{
    const struct plan *plan = walk->plan;
    return plan->slots / (plan->by_link ? plan_devices(plan) : 1);
}

/* Returns the streams of a device, without the legacy default stream. */
static uint32_t made_streams(const struct plan *plan)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < plan->streams; i++)
        made += plan_stream_kind(plan, i) != STREAM_LEGACY;
    return made / plan_devices(plan);
}

static uint32_t step_stream(const struct walk *walk, struct step step)
{
    const struct plan *plan = walk->plan;
    const struct loop_stage *stage = &walk->loops->stages[step.stage];
    const bool once = step.stage == walk->loops->stage_count;
    const uint32_t device =
        stage->what.device + (once ? step.batch : plan_batch_device(plan, step.batch));
    const uint32_t number = stage->what.stream != STREAM_DEALT
                                ? (uint32_t)stage->what.stream
                                : plan_batch_number(plan, step.batch) % made_streams(plan);
    return device * (plan->streams / plan_devices(plan)) + number;
}

/* Returns the stream that an item's ops are in: those of the host and of other code are in none
 * of the step's. */
static uint32_t item_stream(const struct walk *walk, const struct loop_item *item,
                            struct step step)
{
    const struct plan *plan = walk->plan;
    uint32_t legacy = 0;
    if (item->kind == OP_ALLOC || item->kind == OP_PACK || item->kind == OP_SYNC_EVENT)
        return plan->streams;
    if (item->buffer != BUFFER_DEVICE_OTHER)
        return step_stream(walk, step);
    while (plan_stream_kind(plan, legacy) != STREAM_LEGACY)
        legacy++;
    return legacy;
}

static bool op_carries(const struct op *op)
{
    return op_feeds(op) || (op_is_copy(op->kind) && op->copy.host.buffer == BUFFER_HOST_CARRY);
}

/* Returns true if the plan's next op is of an item of the step. */
static bool is_next(const struct walk *walk, const struct loop_item *item, struct step step)
{
    const struct op *op = &walk->plan->ops[walk->at];
    const bool alone = step.stage == walk->loops->stage_count ||
                       item->buffer == BUFFER_DEVICE_OTHER; /* for no tile */
    if (walk->at == walk->plan->op_count || op->kind != item->kind ||
        op->stream != item_stream(walk, item, step) || (op->tile < 0) != alone)
        return false;
    const struct tiles tiles = plan_batch(walk->plan, alone ? 0 : step.batch);
    const uint32_t tile = (uint32_t)op->tile;
    if (!alone && (tile < tiles.first || tile + op_tiles(op) > tiles.first + tiles.count))
        return false;
    if (op->kind == OP_KERNEL)
        return op->kernel.link == walk->loops->stages[step.stage].what.link &&
               op->kernel.blocks <= walk->loops->blocks[op->kernel.link];
    if (op->kind == OP_ALLOC)
        return op->alloc.action == item->action && op->alloc.range.buffer == item->buffer &&
               (!op->alloc.ordered || op->alloc.stream == step_stream(walk, step));
    return op->kind == OP_SYNC || op_carries(op) == item->carries;
}

/* Returns where the step whose event a step waits for has its record. */
static uint32_t *record_of(const struct walk *walk, const struct loop_item *item,
                           struct step step)
{
    const uint32_t last = walk->batches - 1, devices = plan_devices(walk->plan);
    uint32_t batch = step.batch;
    if (item->relation == RELATION_AHEAD)
        batch--;
    else if (item->relation == RELATION_BEFORE)
        batch -= slots_in_turn(walk);
    else if (item->relation == RELATION_LAST) /* of its device */
        batch = last - (last - batch) % devices;
    else if (item->relation == RELATION_ONCE)
        batch %= devices;
    return &walk->records[item->event_stage * walk->width + batch];
}

/* A wait, of a stream or the host, is for the record of the step that it follows. */
static void check_event(struct walk *walk, const struct loop_item *item, struct step step)
{
    const struct op *op = &walk->plan->ops[walk->at];
    uint32_t *record = op->kind == OP_RECORD
                           ? &walk->records[step.stage * walk->width + step.batch]
                           : record_of(walk, item, step);
    if (op->kind == OP_RECORD)
        *record = walk->recorder[op->event.event] = op->id + 1;
    ck_assert_uint_ne(*record, 0);
    ck_assert_uint_eq(*record, walk->recorder[op->event.event]);
}

/* Takes what unpacks the results of a batch. */
static void take_unpacks(struct walk *walk)
{
    const struct plan *plan = walk->plan;
    while (walk->at < plan->op_count && plan->ops[walk->at].kind == OP_PACK &&
           plan->ops[walk->at].move.to.buffer == BUFFER_HOST_OUT)
        walk->at++;
}

static void take_item(struct walk *walk, const struct loop_item *item, struct step step)
{
    if (item->kind == OP_SYNC_EVENT) { /* it is for the tiles of the batch before */
        ck_assert_int_eq(walk->plan->ops[walk->at].kind, OP_SYNC_EVENT);
        check_event(walk, item, step);
        walk->at++;
        take_unpacks(walk);
        return;
    }
    ck_assert_msg(is_next(walk, item, step), "op %u is not %s of stage %u, batch %u", walk->at,
                  op_kind_name(item->kind), step.stage, step.batch);
    if (item->kind == OP_RECORD || item->kind == OP_WAIT) {
        check_event(walk, item, step);
        walk->at++;
        return;
    }
    while (is_next(walk, item, step))
        walk->at++;
}

static void take_step(struct walk *walk, struct step step)
{
    const struct loop_stage *stage = &walk->loops->stages[step.stage];
    for (int i = 0; i < stage->item_count; i++) {
        if (step.batch >= stage->items[i].from && step.batch < stage->items[i].to)
            take_item(walk, &stage->items[i], step);
    }
}

static void take_loop(struct walk *walk, const struct loop *loop)
{
    for (uint32_t begin = 0; begin < walk->batches; begin += loop->wave) {
        for (uint32_t stage = loop->first; stage < loop->end; stage++) {
            for (uint32_t i = 0; i < loop->wave && begin + i < walk->batches; i++)
                take_step(walk, (struct step){stage, begin + i});
        }
    }
}

/* Takes back the packed batches that are still under way when all are issued. */
static void take_rest(struct walk *walk)
{
    const struct loop_item back = {.relation = RELATION_OWN,
                                   .event_stage = walk->loops->stage_count - 1};
    const uint32_t batches = walk->batches, slots = slots_in_turn(walk);
    for (uint32_t batch = batches > slots ? batches - slots : 0; batch < batches; batch++) {
        ck_assert_uint_lt(walk->at, walk->plan->op_count);
        ck_assert_int_eq(walk->plan->ops[walk->at].kind, OP_SYNC_EVENT);
        check_event(walk, &back, (struct step){0, batch});
        walk->at++;
        take_unpacks(walk);
    }
}

static void check_plan(const struct plan *plan)
{
    const uint32_t devices = plan_devices(plan), batches = plan_batches(plan);
    struct walk walk = {.plan = plan, .loops = plan->loops, .batches = batches};
    walk.width = batches > devices ? batches : devices;
    walk.records = calloc((STAGES_MOST + 1) * (size_t)walk.width, sizeof *walk.records);
    walk.recorder = calloc((size_t)plan->events + 1, sizeof *walk.recorder);
    ck_assert(walk.records != NULL && walk.recorder != NULL);
    for (; walk.at < plan->cpu_tiles; walk.at++)
        ck_assert_int_eq(plan->ops[walk.at].kind, OP_CPU);
    for (uint32_t device = 0; device < devices; device++)
        take_step(&walk, (struct step){walk.loops->stage_count, device});
    for (int i = 0; i < walk.loops->loop_count; i++)
        take_loop(&walk, &walk.loops->loops[i]);
    if (plan->packs)
        take_rest(&walk);
    ck_assert_uint_eq(walk.at, plan->op_count);
    free(walk.records);
    free(walk.recorder);
}

/* --- plans --- */

/* Returns settings of which most, but not all, go together. */
static struct settings draw(uint64_t *random)
{
    static const char *const chains[] = {"scale",
                                         "wave",
                                         "sum",
                                         "scale,sum",
                                         "scale,wave,scale",
                                         "scan",
                                         "scan-exclusive",
                                         "wave,sum",
                                         "dgemm",
                                         "wave-launches",
                                         "wave,scale",
                                         "transpose-naive",
                                         "scale,scale",
                                         "reduce-atomic",
                                         "scale,scale,scale"};
    enum { CHAINS = sizeof chains / sizeof *chains, COLUMNS = 10 };
    struct settings settings = test_settings(chains[test_random_below(random, CHAINS)]);
    const bool scans = kernel_chain_scans(settings.chain, settings.chain_length);
    const bool plain = test_random_below(random, 2) == 0;
    settings.devices = plain ? 1 : 1 + test_random_below(random, 4);
    settings.tiles = settings.devices + test_random_below(random, 40);
    settings.columns = settings.rows = settings.inner = settings.tile_width = COLUMNS;
    settings.elements = 100 * settings.tiles + (test_random_below(random, 3) == 0 ? 7 : 0);
    settings.ways = 1 + (int)test_random_below(random, 4);
    settings.streams = settings.ways == 1 ? 1 : 1 + test_random_below(random, 6);
    settings.order = (enum order)test_random_below(random, 2);
    settings.layout = (enum layout)test_random_below(random, 2);
    settings.callbacks = test_random_below(random, 2) == 0;
    settings.carry = scans ? (enum carry)test_random_below(random, 3) : CARRY_DEVICE;
    settings.cpu_share = test_random_below(random, 10) / 10.0;
    if (settings.devices > 1 && test_random_below(random, 2) == 0) {
        settings.spread = SPREAD_CHAIN;
        settings.exchange = (enum exchange)test_random_below(random, 3);
    }
    if (settings.ways < 4 && test_random_below(random, 4) == 0)
        settings.copy = COPY_ROWS;
    settings.pack = settings.ways == 3 && test_random_below(random, 3) == 0;
    if (!plain)
        return settings;
    if (test_random_below(random, 3) == 0)
        settings.memory = (enum memory)test_random_below(random, 5);
    else if (test_random_below(random, 3) == 0)
        settings.alloc = (enum alloc)test_random_below(random, 4);
    else if (test_random_below(random, 3) == 0)
        settings.issue = ISSUE_BATCH;
    settings.prefetch = settings.memory == MEMORY_MANAGED && settings.callbacks;
    if (test_random_below(random, 3) == 0)
        settings.mistake = (int)test_random_below(random, (uint32_t)test_mistake_count());
    return settings;
}

/* A scan in batches whose carry goes by the host is no such loop: a batch comes to the same
 * calls again and again, tile by tile. */
static bool is_no_loop(const struct plan *plan, const struct settings *settings)
{
    return plan->batch > 1 && settings->carry != CARRY_DEVICE &&
           kernel_chain_scans(plan->chain, plan->chain_length);
}

START_TEST(loops_are_the_plan)
{
    const struct machine machine = test_machine();
    uint64_t random = 19;
    int built = 0;
    const int cases = test_cases(4000);
    for (int i = 0; i < cases; i++) {
        struct settings settings = draw(&random);
        struct error error = {0};
        struct plan plan;
        if (settings_check(&settings, &error) != STATUS_OK ||
            plan_build(&settings, &machine, &plan, &error) != STATUS_OK)
            continue;
        built++;
        ck_assert(!plan.loops->broken || is_no_loop(&plan, &settings));
        if (!plan.loops->broken)
            check_plan(&plan);
        plan_free(&plan);
    }
    ck_assert_int_gt(built, cases / 4);
}
END_TEST

Suite *plan_loops_suite(void)
{
    Suite *suite = suite_create("plan_loops");
    TCase *all = tcase_create("all");
    tcase_add_test(all, loops_are_the_plan);
    suite_add_tcase(suite, all);
    return suite;
}
