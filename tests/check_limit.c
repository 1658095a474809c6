/* check_limit.c - the limit by hand, that settings can't move it, and that no simulated run is
 * below it. */
#include "analysis/limit.h"
#include "fixtures.h"
#include "plan/build.h"
#include "sim/simulator.h"
#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct limit limit_for(const struct settings *settings, const struct machine *machine)
{
    struct plan plan = test_built_on(settings, machine);
    struct limit limit = limit_of(machine, &plan);
    plan_free(&plan);
    return limit;
}

/* 400 bytes each way at 1 byte/ns, side by side; kernels of 2 flops * 100. */
START_TEST(test_copies)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.elements = 100;
    struct limit limit = limit_for(&settings, &machine);
    ck_assert_int_eq(limit.copies_ns, 400);
    ck_assert_int_eq(limit.compute_ns, 200);
    ck_assert_int_eq(limit.ns, 400);
    ck_assert_int_eq(limit.cause, LIMIT_COPIES);
    /* Both directions share 1 byte/ns. */
    machine.joint_bytes_per_s = 1e9;
    ck_assert_int_eq(limit_for(&settings, &machine).ns, 800);
    ck_assert_str_eq(limit_for(&settings, &machine).figure, "joint_bytes_per_s");
    /* One engine does them in turn; kernels on mapped memory would not be faster. */
    machine.joint_bytes_per_s = 1.1e9;
    machine.copy_engines = 1;
    ck_assert_int_eq(limit_for(&settings, &machine).ns, 800);
    ck_assert_str_eq(limit_for(&settings, &machine).figure, "h2d_bytes_per_s");
}
END_TEST

/* Beside copies out, copies in have half of the joint rate, and all of their own when those are
 * over: 400 out and 400 in at 0.75 byte/ns take 533.3 ns, the other 400 in take 400. */
START_TEST(test_unlike_directions)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("wave");
    settings.elements = 100;
    machine.joint_bytes_per_s = 1.5e9;
    machine.flops_per_s = 1e15;
    struct limit limit = limit_for(&settings, &machine);
    ck_assert_int_eq(limit.ns, 933);
    /* A reduction brings back one value. */
    settings = test_settings("sum");
    settings.elements = 100;
    limit = limit_for(&settings, &machine);
    ck_assert_int_eq(limit.ns, (int64_t)(4 / 0.75 + (400 - 4)));
    ck_assert_str_eq(limit.figure, "h2d_bytes_per_s");
}
END_TEST

START_TEST(test_kernels)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.elements = 100;
    settings.intensity = 10;
    struct limit limit = limit_for(&settings, &machine);
    ck_assert_int_eq(limit.ns, 2000);
    ck_assert_int_eq(limit.cause, LIMIT_COMPUTE);
    ck_assert_str_eq(limit.figure, "flops_per_s");
}
END_TEST

/* GPU: 400 ns a hundred elements, by the copies; CPU: 200 * 6 = 1200. So the GPU takes three
 * quarters, whatever the share that was set, and both end at 300. */
START_TEST(test_best_split)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.ways = 4;
    settings.elements = 100;
    settings.intensity = 6;
    machine.flops_per_s = 1e15;
    for (double share = 0; share <= 1; share += 0.25) {
        settings.cpu_share = share;
        struct limit limit = limit_for(&settings, &machine);
        ck_assert_int_le(llabs(limit.ns - 300), 1);
        ck_assert_double_eq_tol(limit.cpu_share, 0.25, 1e-6);
        ck_assert_int_eq(limit.cpu_ns, 1200);
        ck_assert_int_eq(limit.cause, LIMIT_COPIES);
    }
    machine.cpu_flops_per_s = 100e9;
    ck_assert_int_eq(limit_for(&settings, &machine).cause, LIMIT_CPU);
}
END_TEST

/* A run that was measured to be faster says that the machine's figure is too low. */
START_TEST(test_corrected)
{
    struct limit limit = {.ns = 100, .figure = "h2d_bytes_per_s"};
    limit_correct(&limit, 100);
    ck_assert_int_eq(limit.claimed_ns, 0);
    limit_correct(&limit, 90);
    ck_assert_int_eq(limit.ns, 90);
    ck_assert_int_eq(limit.claimed_ns, 100);
}
END_TEST

/* --- properties --- */

static const char *const chains[] = {
    "scale", "wave", "sum", "scale,wave,sum", "scan", "wave-launches", "scale,scale", "finite",
};
enum { CHAINS = sizeof chains / sizeof chains[0] };

/* Draws what the limit must not depend on. */
static void draw_arrangement(uint64_t *random, const struct machine *machine, bool tiny,
                             struct settings *settings)
{
    uint32_t tiles_most = tiny ? (uint32_t)settings->elements : 60;
    static const enum memory memories[] = {MEMORY_PINNED, MEMORY_PAGEABLE, MEMORY_REGISTERED,
                                           MEMORY_MAPPED};
    settings->tiles = 1 + test_random_below(random, tiles_most);
    settings->streams = 1 + test_random_below(random, 9);
    settings->order = test_random_below(random, 2) ? ORDER_BREADTH : ORDER_DEPTH;
    settings->layout = test_random_below(random, 2) ? LAYOUT_STAGE : LAYOUT_TILE;
    settings->memory = memories[test_random_below(random, 4)];
    settings->blocks = test_random_below(random, 3) ? 0 : 1 + test_random_below(random, 50);
    settings->issue = test_random_below(random, 4) || machine->graph_launch_ns == 0
                          ? ISSUE_STREAMS
                          : ISSUE_GRAPH;
    settings->cpu_share =
        test_random_below(random, 2) ? -1 : test_random_below(random, 101) / 100.0;
    if (settings->ways < 4)
        settings->ways = 1 + (int)test_random_below(random, 3);
}

/* Returns the simulated time; -1 where these settings don't go together. */
static int64_t time_of(const struct settings *settings, const struct machine *machine,
                       struct limit *limit)
{
    struct plan plan;
    struct timeline timeline = {0};
    struct error error = {0};
    int64_t issued_ns, time_ns = -1;
    if (plan_build(settings, machine, &plan, &error) != STATUS_OK)
        return -1;
    *limit = limit_of(machine, &plan);
    if (simulator_run(machine, 0, &plan, NULL, &timeline, &issued_ns, &error) == STATUS_OK)
        time_ns = timeline_time_ns(&timeline);
    timeline_free(&timeline);
    plan_free(&plan);
    return time_ns;
}

static void check_work(uint64_t *random, const struct machine *machine, int *tried,
                       double *best)
{
    enum { ARRANGEMENTS = 6 };
    struct settings settings = test_settings(chains[test_random_below(random, CHAINS)]);
    int64_t same_ns = -1;
    bool tiny = test_random_below(random, 4) == 0; /* tiles down to an element */
    settings.elements = 60 * (1 + (uint64_t)test_random_below(random, tiny ? 60 : 200000));
    settings.intensity = 1 + test_random_below(random, 300);
    if (settings.chain[0] == kernel_find("wave-launches"))
        settings.intensity = 1 + test_random_below(random, 5);
    settings.ways = test_random_below(random, 4) ? 3 : 4;
    for (int i = 0; i < ARRANGEMENTS; i++) {
        struct limit limit;
        draw_arrangement(random, machine, tiny, &settings);
        int64_t time_ns = time_of(&settings, machine, &limit);
        if (time_ns < 0)
            continue;
        ck_assert_msg(same_ns < 0 || limit.ns == same_ns, "%s: the limit moves", machine->name);
        ck_assert_msg(limit.ns <= time_ns, "%s, %s, %u tiles, ways %d: %ld is below %ld",
                      machine->name, settings.chain[0]->name, settings.tiles, settings.ways,
                      (long)time_ns, (long)limit.ns);
        same_ns = limit.ns;
        *best = fmax(*best, (double)limit.ns / (double)time_ns);
        ++*tried;
    }
}

/* Tiles of the CPU that take less than a nanosecond still take their time together. */
START_TEST(test_tiny_tiles)
{
    struct limit limit;
    struct settings settings = test_settings("finite");
    struct machine machine = test_machine_named("p100");
    settings.elements = 1 << 18;
    settings.tiles = 1 << 16;
    settings.ways = 4;
    settings.cpu_share = 1;
    int64_t time_ns = time_of(&settings, &machine, &limit);
    ck_assert_int_gt(limit.ns, 0);
    ck_assert_int_ge(time_ns, limit.ns);
}
END_TEST

START_TEST(test_settings_do_not_move_it)
{
    uint64_t random = 2718;
    int machines = 0, tried = 0;
    double best = 0;
    while (machine_texts[machines].name != NULL)
        machines++;
    for (int i = 0; i < test_cases(1500); i++) {
        struct machine machine = test_machine_named(
            machine_texts[test_random_below(&random, (uint32_t)machines)].name);
        if (test_random_below(&random, 3) == 0)
            machine.copy_engines = 1 + (int)test_random_below(&random, 2);
        if (test_random_below(&random, 3) == 0) {
            /* Every op takes less than a nanosecond. */
            machine.cpu_bytes_per_s = machine.cpu_flops_per_s = 1e15;
            machine.h2d_bytes_per_s = machine.d2h_bytes_per_s = machine.joint_bytes_per_s =
                1e15;
            machine.memory_bytes_per_s = machine.flops_per_s = 1e15;
            machine.kernel_count = 0;
            machine.h2d_latency_ns = machine.d2h_latency_ns = machine.kernel_latency_ns = 0;
            machine.h2d_gap_ns = machine.d2h_gap_ns = machine.kernel_gap_ns = 0;
            machine.kernel_fixed_ns = machine.kernel_dependency_ns = 0;
            machine.h2d_dependency_ns = machine.d2h_dependency_ns = machine.signal_gap_ns = 0;
            machine.issue_copy_ns = machine.issue_kernel_ns = machine.issue_record_ns = 0;
            machine.issue_wait_ns = machine.poll_ns = 0;
        }
        if (test_random_below(&random, 3) == 0)
            machine.joint_bytes_per_s = fmax(machine.h2d_bytes_per_s, machine.d2h_bytes_per_s) *
                                        (1 + test_random_below(&random, 100) / 100.0);
        check_work(&random, &machine, &tried, &best);
    }
    ck_assert_int_gt(tried, test_cases(1500) * 4);
    ck_assert_double_gt(best, 0.97); /* the limit is not idle: some runs nearly reach it */
}
END_TEST

Suite *limit_suite(void)
{
    Suite *suite = suite_create("limit");
    TCase *tests = tcase_create("limit");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_copies);
    tcase_add_test(tests, test_unlike_directions);
    tcase_add_test(tests, test_kernels);
    tcase_add_test(tests, test_best_split);
    tcase_add_test(tests, test_corrected);
    tcase_add_test(tests, test_tiny_tiles);
    tcase_add_test(tests, test_settings_do_not_move_it);
    suite_add_tcase(suite, tests);
    return suite;
}
