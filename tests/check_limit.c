/* check_limit.c - the bound by hand, and that no simulated run ever beats it. */
#include "analysis/limit.h"
#include "fixtures.h"
#include "plan/build.h"
#include "sim/simulator.h"
#include "suites.h"

#include <math.h>
#include <stdlib.h>

static struct limit limit_for(const struct settings *settings, const struct machine *machine)
{
    struct plan plan;
    struct error error = {0};
    ck_assert_int_eq(plan_build(settings, machine, &plan, &error), STATUS_OK);
    struct limit limit = limit_of(machine, &plan);
    plan_free(&plan);
    return limit;
}

/* Four tiles of 100 bytes each way at 1 byte/ns; a kernel takes 2 flops * 25 = 50 ns. In all
 * 400 in and 400 out. 150 ns go by before anything comes out, 150 at the end without anything
 * going in; the 250 bytes left each way fit together into 250 ns. */
START_TEST(test_copies_bound)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.elements = 100;
    struct limit limit = limit_for(&settings, &machine);
    ck_assert_int_eq(limit.first_in_ns, 100);
    ck_assert_int_eq(limit.last_out_ns, 100);
    ck_assert_int_eq(limit.copies_ns, 550);
    ck_assert_int_eq(limit.compute_ns, 100 + 200 + 100);
    ck_assert_int_eq(limit.ns, 550);
    ck_assert_int_eq(limit.cause, LIMIT_COPIES);
    /* Both directions share 1 byte/ns: the 500 bytes left take 500 ns. */
    machine.joint_bytes_per_s = 1e9;
    ck_assert_int_eq(limit_for(&settings, &machine).copies_ns, 800);
}
END_TEST

START_TEST(test_compute_bound)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.elements = 100;
    settings.intensity = 10;
    struct limit limit = limit_for(&settings, &machine);
    ck_assert_int_eq(limit.ns, 100 + 2000 + 100);
    ck_assert_int_eq(limit.cause, LIMIT_COMPUTE);
}
END_TEST

START_TEST(test_single_tile_is_the_sum_of_its_parts)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.elements = 100;
    settings.tiles = 1;
    ck_assert_int_eq(limit_for(&settings, &machine).ns, 400 + 200 + 400);
}
END_TEST

/* A reduction brings back a value per tile; wave takes two arrays in. */
START_TEST(test_reductions_and_two_inputs)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("sum");
    settings.elements = 100;
    struct limit limit = limit_for(&settings, &machine);
    /* 400 bytes in; the last tile's kernel takes 25 ns and its value 4. */
    ck_assert_int_eq(limit.copies_ns, 400 + 25 + 4);
    settings = test_settings("wave");
    settings.elements = 100;
    machine.flops_per_s = 1e15;
    ck_assert_int_eq(limit_for(&settings, &machine).copies_ns, 800 + 100);
}
END_TEST

START_TEST(test_cpu_bound)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.ways = 4;
    settings.elements = 400;
    settings.cpu_share = 0.5;
    settings.intensity = 10;
    machine.flops_per_s = 1e15;
    struct limit limit = limit_for(&settings, &machine);
    ck_assert_int_eq(limit.cpu_ns, 200 * 2 * 10);
    ck_assert_int_eq(limit.cause, LIMIT_CPU);
    settings.cpu_share = 1;
    limit = limit_for(&settings, &machine);
    ck_assert_int_eq(limit.ns, 8000);
    ck_assert_int_eq(limit.copies_ns, 0);
}
END_TEST

START_TEST(test_no_simulated_run_beats_the_limit)
{
    static const char *const chains[] = {"scale", "wave", "sum", "scale,wave,sum"};
    uint64_t random = 2718;
    struct error error = {0};
    double best = 0;
    for (int i = 0; i < test_cases(2000); i++) {
        struct machine machine;
        ck_assert_int_eq(machine_built_in(&machine, "h200", &error), STATUS_OK);
        if (test_random_below(&random, 2))
            machine = test_machine();
        machine.copy_engines = 1 + (int)test_random_below(&random, 2);
        machine.joint_bytes_per_s = fmax(machine.h2d_bytes_per_s, machine.d2h_bytes_per_s) *
                                    (1 + test_random_below(&random, 100) / 100.0);
        struct settings settings = test_settings(chains[test_random_below(&random, 4)]);
        settings.tiles = 1 + test_random_below(&random, 30);
        settings.elements =
            settings.tiles * (1 + (uint64_t)test_random_below(&random, 1000000));
        settings.ways = 1 + (int)test_random_below(&random, 4);
        settings.streams = settings.ways == 1 ? 1 : 1 + test_random_below(&random, 8);
        settings.order = test_random_below(&random, 2) ? ORDER_BREADTH : ORDER_DEPTH;
        settings.layout = test_random_below(&random, 2) ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.intensity = 1 + test_random_below(&random, 300);
        struct plan plan;
        struct timeline timeline;
        int64_t issued;
        timeline_init(&timeline);
        ck_assert_int_eq(plan_build(&settings, &machine, &plan, &error), STATUS_OK);
        ck_assert_int_eq(simulator_run(&machine, 0, &plan, NULL, &timeline, &issued, &error),
                         STATUS_OK);
        struct limit limit = limit_of(&machine, &plan);
        int64_t span = timeline_time_ns(&timeline);
        /* Rounding to whole ns, once per op at most, is all the slack there is. */
        ck_assert_msg(limit.ns <= span + plan.op_count, "%s, %u tiles, ways %d: %ld beats %ld",
                      machine.name, settings.tiles, settings.ways, (long)span, (long)limit.ns);
        best = fmax(best, (double)limit.ns / (double)span);
        timeline_free(&timeline);
        plan_free(&plan);
    }
    ck_assert_double_gt(best, 0.97); /* and the bound is not idle: some runs nearly reach it */
}
END_TEST

Suite *limit_suite(void)
{
    Suite *suite = suite_create("limit");
    TCase *tests = tcase_create("limit");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_copies_bound);
    tcase_add_test(tests, test_compute_bound);
    tcase_add_test(tests, test_single_tile_is_the_sum_of_its_parts);
    tcase_add_test(tests, test_reductions_and_two_inputs);
    tcase_add_test(tests, test_cpu_bound);
    tcase_add_test(tests, test_no_simulated_run_beats_the_limit);
    suite_add_tcase(suite, tests);
    return suite;
}
