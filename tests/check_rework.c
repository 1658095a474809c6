/* check_rework.c - recorded plans, changed as fixes would: they keep what data asks for, and
 * take the time of the plan that had it right from the start. */
#include "causes/knobs.h"

#include "analysis/analysis.h"
#include "plan/build.h"
#include "recorded_plan.h"
#include "rework/parts.h"
#include "rework_cases.h"
#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- orders --- */

/* Marks each op, so that what becomes of it is found again. */
static void mark_ops(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->op_count; i++)
        plan->recorded->ops[i].span = i;
}

/* Checks that a changed plan has the buffers that something touches, and no others: in as many
 * sets as tiles use, those of a program with a million would not fit. */
static void assert_buffers_used(const struct plan *fixed)
{
    const struct plan_recorded *recorded = fixed->recorded;
    bool *used = calloc(recorded->buffer_count + (size_t)1, sizeof *used);
    ck_assert_ptr_nonnull(used);
    for (size_t i = 0; i < recorded->access_count; i++) {
        ck_assert_uint_lt(recorded->accesses[i].range.buffer, recorded->buffer_count);
        used[recorded->accesses[i].range.buffer] = true;
    }
    for (uint32_t i = 0; i < recorded->buffer_count; i++)
        ck_assert_msg(used[i], "nothing touches buffer %u of %u", i, recorded->buffer_count);
    free(used);
}

void rework_assert_no_race(const struct plan *fixed)
{
    struct needed needed;
    struct clocks_table clocks;
    struct error error = {0};
    ck_assert_int_eq(plan_needed(fixed, &needed, &error), STATUS_OK);
    ck_assert_int_eq(clocks_table_make(&clocks, fixed, CLOCKS_CALLS, &error), STATUS_OK);
    for (uint32_t i = 0; i < fixed->op_count; i++) {
        for (size_t k = needed.first[i]; k < needed.first[i + 1]; k++)
            ck_assert_msg(clocks_table_orders(&clocks, needed.before[k], i),
                          "op %u of %u is not behind op %u", i, fixed->op_count,
                          needed.before[k]);
    }
    clocks_table_free(&clocks);
    needed_free(&needed);
}

static bool overlaps(const struct plan *plan, uint32_t one, uint32_t other, bool flow)
{
    const struct op_recorded *x = &plan->recorded->ops[one], *y = &plan->recorded->ops[other];
    const struct access *accesses = plan->recorded->accesses;
    for (uint32_t i = 0; i < x->access_count; i++) {
        for (uint32_t k = 0; k < y->access_count; k++) {
            const struct access *a = &accesses[x->first_access + i];
            const struct access *b = &accesses[y->first_access + k];
            bool counts = flow ? a->writes && !b->writes : a->writes || b->writes;
            if (counts && ranges_overlap(&a->range, &b->range))
                return true;
        }
    }
    return false;
}

/* Checks that each op that reads what another wrote last is still behind it, and, unless
 * buffers have other names, that all that conflict are in order. */
static void assert_kept(const struct plan *plan, const struct plan *fixed, bool renamed)
{
    struct clocks_table before, after;
    struct error error = {0};
    uint32_t *places = malloc((plan->op_count + 1) * sizeof *places);
    ck_assert_ptr_nonnull(places);
    memset(places, 0xff, (plan->op_count + 1) * sizeof *places);
    for (uint32_t i = 0; i < fixed->op_count; i++) {
        if (fixed->recorded->ops[i].span != UINT32_MAX && op_is_node(fixed->ops[i].kind))
            places[fixed->recorded->ops[i].span] = i;
    }
    ck_assert_int_eq(clocks_table_make(&before, plan, CLOCKS_RUN, &error), STATUS_OK);
    ck_assert_int_eq(clocks_table_make(&after, fixed, CLOCKS_CALLS, &error), STATUS_OK);
    for (uint32_t i = 0; i < plan->op_count; i++) {
        for (uint32_t k = i; k-- > 0 && places[i] != UINT32_MAX;) {
            bool conflict = overlaps(plan, k, i, renamed);
            if (conflict && places[k] != UINT32_MAX && clocks_table_orders(&before, k, i))
                ck_assert_msg(clocks_table_orders(&after, places[k], places[i]),
                              "op %u is no longer behind op %u", i, k);
            if (conflict && renamed)
                break; /* what it reads is of that one */
        }
    }
    clocks_table_free(&before);
    clocks_table_free(&after);
    free(places);
}

/* --- plans --- */

static bool build(const struct settings *settings, const struct machine *machine,
                  struct plan *plan)
{
    struct error error = {0};
    enum status status = plan_build(settings, machine, plan, &error);
    ck_assert_msg(status == STATUS_OK || status == STATUS_USAGE, "%s", error.text);
    return status == STATUS_OK;
}

static struct settings random_settings(uint64_t *random)
{
    static const char *const chains[] = {"scale", "wave", "scale,scale", "sum"};
    struct settings settings =
        test_random_settings(random, chains[test_random_below(random, 4)], 24, 3);
    settings.elements = settings.tiles * (uint64_t)(1024 + test_random_below(random, 30000));
    settings.mistake = (int)test_random_below(random, (uint32_t)test_mistake_count());
    return settings;
}

static struct rework random_change(uint64_t *random)
{
    struct rework change = {
        .pins = test_random_below(random, 2),
        .unblocks = test_random_below(random, 2),
        .drops_memsets = test_random_below(random, 2),
        .drops_syncs = test_random_below(random, 2),
        .drops_allocs = test_random_below(random, 2),
        .drops_pinned_allocs = test_random_below(random, 2),
        .frees_launches = test_random_below(random, 2),
        .function_threads = test_random_below(random, 2),
        .loads_early = test_random_below(random, 2),
        .drops_waits = test_random_below(random, 2),
        .evens_priorities = test_random_below(random, 2),
        .raises_priorities = test_random_below(random, 2),
        .drops_repeats = test_random_below(random, 2),
        .reaches_peers = test_random_below(random, 2),
        .makes_early = {test_random_below(random, 2), test_random_below(random, 2)},
        .order = (enum rework_order)test_random_below(random, 3),
    };
    if (test_random_below(random, 2))
        change.streams = 2 + test_random_below(random, 5);
    if (change.streams > 0 && test_random_below(random, 2))
        change.pieces = 1 + test_random_below(random, 4);
    if (change.streams > 0 && change.pieces < 2)
        change.merged = test_random_below(random, 4);
    return change;
}

START_TEST(test_needed_orders_are_kept)
{
    uint64_t random = 1604;
    int made = 0, refused = 0;
    for (int i = 0; i < test_cases(400); i++) {
        struct machine machine = test_machine();
        struct settings settings = random_settings(&random);
        struct rework change = random_change(&random);
        struct plan built, fixed;
        struct rework_base base;
        struct error error = {0};
        if (!build(&settings, &machine, &built))
            continue;
        struct plan plan = recorded_of(&built, &machine);
        mark_ops(&plan);
        ck_assert_int_eq(rework_begin(&base, &plan, &machine, &error), STATUS_OK);
        enum status status = rework_apply(&base, &change, &fixed, &error);
        ck_assert_msg(status == STATUS_OK || status == STATUS_USAGE, "%s", error.text);
        bool races = mistake_rows[settings.mistake].races;
        refused += status == STATUS_USAGE;
        if (status == STATUS_OK) {
            made++;
            assert_buffers_used(&fixed);
            if (!races)
                rework_assert_no_race(&fixed);
            if (change.pieces < 2 && change.merged < 2)
                assert_kept(&plan, &fixed, change.streams > 0);
            plan_free(&fixed);
        }
        rework_end(&base);
        plan_free(&plan);
        plan_free(&built);
    }
    ck_assert_int_gt(made, 5 * refused);
}
END_TEST

/* --- times --- */

/* A mistake, the change that fixes it, and how far the fixed plan's time may be from that of
 * the plan without the mistake, as a part of it. */
static const struct fixed_by {
    const char *mistake;
    struct rework change;
    double bound;
} fixed_by[] = {
    {"pageable-memory", {.pins = true}, 0.001},
    {"legacy-stream", {.unblocks = true}, 0.03},
    {"blocking-stream", {.unblocks = true}, 0.03},
    {"sync-in-loop", {.drops_syncs = true}, 0.03},
    {"alloc-in-loop", {.drops_allocs = true}, 0.03},
    {"pinned-alloc-in-loop", {.drops_pinned_allocs = true}, 0.03},
    {"memset-in-loop", {.drops_memsets = true}, 0.03},
    {"launch-blocking", {.frees_launches = true}, 0.001},
    {"slow-callback", {.function_threads = 4}, 0.03},
    {"lazy-loading", {.loads_early = true}, 0.001},
};

static int64_t time_of(const struct plan *plan, const struct machine *machine)
{
    struct error error = {0};
    int64_t time_ns = 0;
    ck_assert_msg(simulator_time(machine, 0, plan, &time_ns, &error) == STATUS_OK, "%s",
                  error.text);
    return time_ns;
}

/* Makes the plans of settings with a mistake, recorded, and of those without. */
static void make_both(const struct settings *settings, const char *mistake,
                      const struct machine *machine, struct plan *wrong, struct plan *right)
{
    struct settings other = *settings;
    struct plan built;
    other.mistake = test_mistake(mistake);
    ck_assert(build(&other, machine, &built));
    *wrong = recorded_of(&built, machine);
    plan_free(&built);
    other.mistake = MISTAKE_NONE;
    other.callbacks |= strcmp(mistake, "slow-callback") == 0;
    ck_assert(build(&other, machine, &built));
    *right = recorded_of(&built, machine);
    plan_free(&built);
}

START_TEST(test_fixed_mistakes_take_the_time_of_the_right_plan)
{
    struct error error = {0};
    struct machine machine = test_machine_named("h200");
    for (size_t i = 0; i < sizeof fixed_by / sizeof fixed_by[0]; i++) {
        for (int k = 0; k < 4; k++) {
            struct settings settings = test_settings(k % 2 ? "scale" : "scale,scale");
            settings.elements = 64 << 20;
            settings.tiles = 32;
            settings.order = k / 2 ? ORDER_BREADTH : ORDER_DEPTH;
            struct plan wrong, right, fixed;
            struct rework_base base;
            make_both(&settings, fixed_by[i].mistake, &machine, &wrong, &right);
            ck_assert_int_eq(rework_begin(&base, &wrong, &machine, &error), STATUS_OK);
            ck_assert_msg(rework_apply(&base, &fixed_by[i].change, &fixed, &error) == STATUS_OK,
                          "%s", error.text);
            int64_t wrong_ns = time_of(&wrong, &machine), right_ns = time_of(&right, &machine);
            int64_t fixed_ns = time_of(&fixed, &machine);
            double off = (double)(fixed_ns - right_ns) / (double)right_ns;
            ck_assert_msg(off >= -fixed_by[i].bound && off <= fixed_by[i].bound,
                          "%s, %d: %ld ns, fixed %ld, right %ld: %.1f %%", fixed_by[i].mistake,
                          k, (long)wrong_ns, (long)fixed_ns, (long)right_ns, 100 * off);
            ck_assert_int_lt(right_ns, wrong_ns);
            rework_end(&base);
            plan_free(&wrong);
            plan_free(&right);
            plan_free(&fixed);
        }
    }
}
END_TEST

/* Tiles use the host's bytes of the tile eight before them. The thread spends `host_ns` before
 * each call, and `work_ns` behind each wait. */
static struct plan round_robin(const struct machine *machine, int64_t host_ns, int64_t work_ns)
{
    struct settings settings = test_settings("scale");
    struct plan built, plan;
    settings.elements = 64 << 20;
    settings.tiles = 32;
    settings.mistake = test_mistake("sync-in-loop");
    ck_assert(build(&settings, machine, &built));
    plan = recorded_of(&built, machine);
    plan_free(&built);
    struct plan_recorded *recorded = plan.recorded;
    for (size_t i = 0; i < recorded->access_count; i++) {
        struct range *range = &recorded->accesses[i].range;
        if (recorded->buffers[range->buffer].host)
            range->offset %= recorded->buffers[range->buffer].bytes / 4;
    }
    for (uint32_t i = 0; i < plan.op_count; i++) {
        bool behind = i > 0 && op_is_sync(plan.ops[i - 1].kind);
        recorded->ops[i].host_ns = behind ? work_ns : host_ns;
    }
    return plan;
}

static uint32_t count_syncs(const struct plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        count += op_is_sync(plan->ops[i].kind);
    return count;
}

START_TEST(test_moments_between_calls_are_no_work)
{
    const struct rework change = {.drops_syncs = true};
    struct error error = {0};
    struct machine machine = test_machine_named("h200");
    for (int works = 0; works <= 1; works++) {
        struct plan wrong = round_robin(&machine, 6000, works ? 200000 : 6000), fixed;
        struct rework_base base;
        ck_assert_uint_ge(count_syncs(&wrong), 32);
        ck_assert_int_eq(rework_begin(&base, &wrong, &machine, &error), STATUS_OK);
        ck_assert_int_eq(rework_apply(&base, &change, &fixed, &error), STATUS_OK);
        if (works)
            ck_assert_uint_ge(count_syncs(&fixed), 24);
        else
            ck_assert_uint_eq(count_syncs(&fixed), 1);
        rework_end(&base);
        plan_free(&wrong);
        plan_free(&fixed);
    }
}
END_TEST

static void streams_1(struct settings *settings)
{
    settings->streams = 1;
}
static void streams_2(struct settings *settings)
{
    settings->streams = 2;
    settings->intensity = 400;
}
static void tiles_1(struct settings *settings)
{
    settings->tiles = 1;
}
static void tiles_2(struct settings *settings)
{
    settings->tiles = 2;
}
static void tiles_16k(struct settings *settings)
{
    settings->elements = 4 << 20;
    settings->tiles = 2048;
}
static void ways_1(struct settings *settings)
{
    settings->ways = 1;
}
static void ways_2(struct settings *settings)
{
    settings->ways = 2;
}
static void breadth(struct settings *settings)
{
    settings->order = ORDER_BREADTH;
}
static const struct searched {
    const char *mistake;
    void (*make)(struct settings *settings);
    const char *machine;
    enum verdict_code code;
} searched[] = {
    {"pageable-memory", NULL, "h200", VERDICT_PAGEABLE_MEMORY},
    {"legacy-stream", NULL, "h200", VERDICT_LEGACY_STREAM},
    {"blocking-stream", NULL, "h200", VERDICT_BLOCKING_STREAM},
    {"sync-in-loop", NULL, "h200", VERDICT_SYNC_IN_LOOP},
    {"alloc-in-loop", NULL, "h200", VERDICT_ALLOC_IN_LOOP},
    {"pinned-alloc-in-loop", NULL, "h200", VERDICT_PINNED_ALLOC_IN_LOOP},
    {"launch-blocking", breadth, "h200", VERDICT_LAUNCH_BLOCKING},
    {"slow-callback", NULL, "h200", VERDICT_SLOW_CALLBACK},
    {"lazy-loading", NULL, "h200", VERDICT_LAZY_LOADING},
    {"none", streams_1, "h200", VERDICT_ONE_STREAM},
    {"none", streams_2, "h200", VERDICT_FEW_STREAMS},
    {"none", tiles_1, "h200", VERDICT_FEW_TILES},
    {"none", tiles_2, "h200", VERDICT_FEW_TILES},
    {"none", tiles_16k, "h200", VERDICT_SMALL_TILES},
    {"none", ways_1, "h200", VERDICT_ONE_STREAM},
    {"none", ways_2, "h200", VERDICT_NEEDLESS_WAIT},
    {"none", breadth, "c2050", VERDICT_LATE_SIGNAL},
    {"none", NULL, "c1060", VERDICT_ONE_COPY_ENGINE},
};

START_TEST(test_causes_are_found)
{
    const struct searched *row = &searched[_i];
    struct error error = {0};
    struct settings settings = test_settings("scale");
    struct plan wrong, right, fixed;
    struct rework_base base;
    struct found found = {.count = 0};
    struct machine machine = test_machine_named(row->machine);
    settings.elements = 64 << 20;
    settings.tiles = 32;
    if (row->make != NULL)
        row->make(&settings);
    make_both(&settings, row->mistake, &machine, &wrong, &right);
    ck_assert_msg(rework_find(&wrong, &machine, &found, &error) == STATUS_OK, "%s", error.text);
    int64_t sum_ns = 0;
    const struct knob_gain *first = &found.knobs[0];
    for (int i = 0; i < found.count; i++) {
        sum_ns += found.knobs[i].cost_ns;
        if (found.knobs[i].fixed_ns < first->fixed_ns)
            first = &found.knobs[i];
    }
    ck_assert_int_eq(sum_ns, found.given_ns - found.better_ns);
    ck_assert_int_gt(found.count, 0);
    ck_assert_msg(first->code == row->code, "%s instead of %s", verdict_rows[first->code].name,
                  verdict_rows[row->code].name);
    ck_assert_int_eq(rework_begin(&base, &wrong, &machine, &error), STATUS_OK);
    ck_assert_int_eq(rework_apply(&base, &found.whole, &fixed, &error), STATUS_OK);
    rework_assert_no_race(&fixed);
    ck_assert_int_lt(found.better_ns, found.given_ns);
    if (settings.mistake != MISTAKE_NONE) /* nothing else is better than the right plan */
        ck_assert_int_ge(103 * found.better_ns, 100 * time_of(&right, &machine));
    rework_end(&base);
    plan_free(&wrong);
    plan_free(&right);
    plan_free(&fixed);
}
END_TEST

struct found rework_must_find(const struct plan *plan, const struct machine *machine)
{
    struct found found = {.count = 0};
    struct error error = {0};
    ck_assert_msg(rework_find(plan, machine, &found, &error) == STATUS_OK, "%s", error.text);
    return found;
}

/* Two tiles that are cut take as long as many that were there from the start: their pieces are
 * issued one after another, so that none waits for all copies of its stream. */
START_TEST(test_cut_tiles_take_the_time_of_small_ones)
{
    struct settings settings = test_settings("scale");
    struct machine machine = test_machine_named("h200");
    settings.elements = 64 << 20;
    settings.intensity = 4000;
    int64_t times_ns[2];
    for (int right = 0; right <= 1; right++) {
        struct plan built, plan;
        settings.tiles = right ? 32 : 2;
        settings.streams = right ? 4 : 2;
        ck_assert(build(&settings, &machine, &built));
        plan = recorded_of(&built, &machine);
        times_ns[right] =
            right ? time_of(&plan, &machine) : rework_must_find(&plan, &machine).better_ns;
        plan_free(&built);
        plan_free(&plan);
    }
    ck_assert_msg(100 * times_ns[0] <= 105 * times_ns[1], "%ld ns, not %ld", (long)times_ns[0],
                  (long)times_ns[1]);
}
END_TEST

/* A buffer that a loop fills and copies out again and again is no large tile. */
START_TEST(test_loops_are_not_cut)
{
    struct machine machine = test_machine_named("h200");
    const uint64_t bytes = 4 << 20;
    struct plan built = test_plan(1, 0, 1, 60 * bytes);
    for (int i = 0; i < 60; i++) {
        test_kernel(&built, 0, 0, 0, bytes / 4, machine_resident_blocks(&machine));
        test_d2h(&built, 0, 0, 0, bytes);
    }
    struct plan plan = recorded_of(&built, &machine);
    struct plan_recorded *recorded = plan.recorded;
    for (uint32_t i = 0; i < plan.op_count; i++) {
        recorded->ops[i].work_ns = i % 2 == 0 ? 80000 : 0;
        for (uint32_t k = 0; k < recorded->ops[i].access_count; k++) {
            struct range *range = &recorded->accesses[recorded->ops[i].first_access + k].range;
            range->offset += recorded->buffers[range->buffer].host ? i / 2 * bytes : 0;
        }
    }
    ck_assert_uint_lt(rework_must_find(&plan, &machine).better.change.pieces, 2);
    plan_free(&built);
    plan_free(&plan);
}
END_TEST

/* --- verdicts --- */

/* Judges a plan as if the timeline that the simulator gives it had been recorded, slower by a
 * tenth. */
static struct verdicts judge(const struct plan *plan, const struct machine *machine,
                             int64_t *time_ns)
{
    struct timeline timeline = sim_run(machine, plan);
    struct critical critical;
    struct verdicts verdicts;
    struct error error = {0};
    struct analysis analysis;
    timeline.timing = TIMING_RECORDED;
    for (uint32_t i = 0; i < timeline.span_count; i++) {
        struct span *span = &timeline.spans[i];
        span->issue_ns += span->issue_ns / 10;
        span->start_ns += span->start_ns / 10;
        span->end_ns += span->end_ns / 10;
    }
    ck_assert_int_eq(analyse(&timeline, &analysis, &error), STATUS_OK);
    ck_assert_int_eq(critical_find(&timeline, NULL, &critical, &error), STATUS_OK);
    struct limit limit =
        limit_of_recorded(machine, plan, analysis.engines[ENGINE_COMPUTE].busy_ns);
    const struct verdict_case facts = {.timeline = &timeline,
                                       .critical = &critical,
                                       .plan = plan,
                                       .limit = &limit,
                                       .model = machine};
    ck_assert_msg(verdicts_find(&facts, &verdicts, &error) == STATUS_OK, "%s", error.text);
    *time_ns = analysis.time_ns;
    critical_free(&critical);
    timeline_free(&timeline);
    return verdicts;
}

START_TEST(test_verdicts_predict_the_time_with_the_fix)
{
    const struct searched *row = &searched[_i];
    struct settings settings = test_settings("scale");
    struct plan wrong, right;
    int64_t time_ns, sum_ns = 0;
    struct machine machine = test_machine_named(row->machine);
    settings.elements = 64 << 20;
    settings.tiles = 32;
    if (row->make != NULL)
        row->make(&settings);
    make_both(&settings, row->mistake, &machine, &wrong, &right);
    struct verdicts verdicts = judge(&wrong, &machine, &time_ns);
    ck_assert(verdicts.limit_known && !verdicts.too_far);
    ck_assert_int_gt(verdicts.modelled_ns, 0);
    const bool lazy = row->code == VERDICT_LAZY_LOADING; /* of less than is named */
    ck_assert(lazy || verdicts.named > 0);
    for (int i = 0; i < verdicts.count; i++) {
        const struct verdict *verdict = &verdicts.items[i];
        ck_assert_int_ge(verdict->cost_ns, 0);
        ck_assert_int_ge(verdict->predicted_ns,
                         verdict->predicted_ns > 0 ? verdicts.limit_ns : 0);
        ck_assert_int_le(verdict->predicted_ns, verdicts.time_ns);
        ck_assert(i >= verdicts.named || verdict->seen[0] != '\0');
        sum_ns += verdict->cost_ns;
    }
    ck_assert_int_eq(sum_ns, time_ns - verdicts.limit_ns);
    const struct verdict *first = &verdicts.items[0];
    ck_assert_msg(lazy || first->code == row->code, "%s instead of %s",
                  verdict_rows[first->code].name, verdict_rows[row->code].name);
    if (settings.mistake != MISTAKE_NONE) { /* the right plan, slower by a tenth, too */
        double right_ns = 1.1 * (double)time_of(&right, &machine);
        ck_assert_double_le(fabs((double)first->predicted_ns - right_ns), 0.05 * right_ns);
    }
    plan_free(&wrong);
    plan_free(&right);
}
END_TEST

Suite *rework_suite(void)
{
    Suite *suite = suite_create("rework");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, test_needed_orders_are_kept);
    tcase_add_test(all, test_fixed_mistakes_take_the_time_of_the_right_plan);
    tcase_add_test(all, test_cut_tiles_take_the_time_of_small_ones);
    tcase_add_test(all, test_loops_are_not_cut);
    tcase_add_test(all, test_moments_between_calls_are_no_work);
    tcase_add_loop_test(all, test_causes_are_found, 0,
                        (int)(sizeof searched / sizeof searched[0]));
    tcase_add_loop_test(all, test_verdicts_predict_the_time_with_the_fix, 0,
                        (int)(sizeof searched / sizeof searched[0]));
    suite_add_tcase(suite, all);
    suite_add_tcase(suite, rework_work_case());
    return suite;
}
