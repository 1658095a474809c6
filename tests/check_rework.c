/* check_rework.c - recorded plans, changed as fixes would: they keep what data asks for, and
 * take the time of the plan that had it right from the start. */
#include "analysis/rework.h"

#include "analysis/rework_parts.h"
#include "plan/build.h"
#include "recorded_plan.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

/* --- orders --- */

/* Marks each op, so that what becomes of it is found again. */
static void mark_ops(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->op_count; i++)
        plan->recorded->ops[i].span = i;
}

/* Checks that every order that `fixed` itself asks for is kept: it has no race. */
static void assert_no_race(const struct plan *fixed)
{
    struct needed needed;
    struct rework_clocks clocks;
    struct error error = {0};
    ck_assert_int_eq(plan_needed(fixed, &needed, &error), STATUS_OK);
    ck_assert_int_eq(rework_clocks_find(fixed, &clocks, &error), STATUS_OK);
    for (uint32_t i = 0; i < fixed->op_count; i++) {
        for (size_t k = needed.first[i]; k < needed.first[i + 1]; k++)
            ck_assert_msg(rework_clocks_order(&clocks, needed.before[k], i),
                          "op %u of %u is not behind op %u", i, fixed->op_count,
                          needed.before[k]);
    }
    rework_clocks_free(&clocks);
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
    struct rework_clocks before, after;
    struct error error = {0};
    uint32_t *places = malloc((plan->op_count + 1) * sizeof *places);
    ck_assert_ptr_nonnull(places);
    memset(places, 0xff, (plan->op_count + 1) * sizeof *places);
    for (uint32_t i = 0; i < fixed->op_count; i++) {
        if (fixed->recorded->ops[i].span != UINT32_MAX && op_is_node(fixed->ops[i].kind))
            places[fixed->recorded->ops[i].span] = i;
    }
    ck_assert_int_eq(rework_clocks_find(plan, &before, &error), STATUS_OK);
    ck_assert_int_eq(rework_clocks_find(fixed, &after, &error), STATUS_OK);
    for (uint32_t i = 0; i < plan->op_count; i++) {
        for (uint32_t k = i; k-- > 0 && places[i] != UINT32_MAX;) {
            bool conflict = overlaps(plan, k, i, renamed);
            if (conflict && places[k] != UINT32_MAX && rework_clocks_order(&before, k, i))
                ck_assert_msg(rework_clocks_order(&after, places[k], places[i]),
                              "op %u is no longer behind op %u", i, k);
            if (conflict && renamed)
                break; /* what it reads is of that one */
        }
    }
    rework_clocks_free(&before);
    rework_clocks_free(&after);
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
    struct settings settings = test_settings(chains[test_random_below(random, 4)]);
    settings.tiles = 1 + test_random_below(random, 24);
    settings.elements = settings.tiles * (uint64_t)(1024 + test_random_below(random, 30000));
    settings.layout = test_random_below(random, 4) == 0 ? LAYOUT_STAGE : LAYOUT_TILE;
    settings.order = test_random_below(random, 2) ? ORDER_BREADTH : ORDER_DEPTH;
    settings.ways = 1 + (int)test_random_below(random, 3);
    settings.streams = 1 + test_random_below(random, 6);
    settings.callbacks = test_random_below(random, 4) == 0;
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
        .shortens_callbacks = test_random_below(random, 2),
        .loads_early = test_random_below(random, 2),
        .drops_waits = test_random_below(random, 2),
        .evens_priorities = test_random_below(random, 2),
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
            if (!races)
                assert_no_race(&fixed);
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

Suite *rework_suite(void)
{
    Suite *suite = suite_create("rework");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, test_needed_orders_are_kept);
    suite_add_tcase(suite, all);
    return suite;
}
