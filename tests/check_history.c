/* check_history.c - what was measured and published on old GPUs, as ratios, against the
 * simulator.
 *
 * Machine files hold data sheets' figures; nothing in them was fitted to these results. */
#include "kernels/kernel_code.h"
#include "machine/machine.h"
#include "options/options.h"
#include "plan/build.h"
#include "sim_cases.h"
#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_ratio(const char *what, double got, double published, double tolerance)
{
    ck_assert_msg(fabs(got / published - 1) <= tolerance, "%s: %.3f, published %.3f (+-%g%%)",
                  what, got, published, 100 * tolerance);
}

static struct machine machine_named(const char *name)
{
    struct machine machine;
    struct error error = {0};
    ck_assert_msg(machine_built_in(&machine, name, &error) == STATUS_OK, "%s", error.text);
    return machine;
}

static double span_of(const struct machine *machine, const struct settings *settings)
{
    struct plan plan;
    struct error error = {0};
    ck_assert_msg(plan_build(settings, machine, &plan, &error) == STATUS_OK, "%s", error.text);
    double span = (double)sim_span_ns(machine, &plan);
    plan_free(&plan);
    return span;
}

/* Simulates the runs of configs/history/NAME, in order. */
enum { RUNS_MOST = 4 };
static int config_spans(const char *name, double spans[RUNS_MOST])
{
    char path[512];
    snprintf(path, sizeof path, "%s/../configs/history/%s", TESTS_FOLDER, name);
    char *argv[] = {"pipeline", path, NULL};
    struct options options;
    struct error error = {0};
    ck_assert_msg(options_parse(2, argv, &options, &error) == STATUS_OK, "%s", error.text);
    ck_assert_int_le(options.run_count, RUNS_MOST);
    int count = options.run_count;
    for (int i = 0; i < count; i++) {
        const struct settings *settings = &options.runs[i];
        ck_assert_ptr_eq(strstr(settings->device, "sim:"), settings->device);
        struct machine machine = machine_named(settings->device + 4);
        if (settings->connections > 0)
            machine.queues = settings->connections;
        spans[i] = span_of(&machine, settings);
    }
    options_free(&options);
    return count;
}

/* --- overlapped transfers: serial, depth-first, breadth-first
 * ------------------------------------------------------------------- */

/* Milliseconds from Harris, "How to Overlap Data Transfers in CUDA C/C++", NVIDIA developer
 * blog, 2012. The kernel's weight follows from the serial run (the configs say how), so that is
 * no prediction; the two ratios to it are. */
START_TEST(test_overlap_by_order)
{
    static const struct {
        const char *config;
        double serial, depth, breadth;
    } published[] = {
        {"overlap-c1060.ini", 12.92, 13.64, 8.85},
        {"overlap-c2050.ini", 9.98, 5.74, 7.60},
        {"overlap-k20c.ini", 7.10, 3.97, 3.97},
    };
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        double spans[RUNS_MOST];
        ck_assert_int_eq(config_spans(published[i].config, spans), 3);
        assert_ratio(published[i].config, spans[0] / spans[1],
                     published[i].serial / published[i].depth, 0.06);
        assert_ratio(published[i].config, spans[0] / spans[2],
                     published[i].serial / published[i].breadth, 0.06);
    }
}
END_TEST

/* How often scale has to repeat its arithmetic to last as long as a tile's copy in. */
static uint32_t balanced_intensity(const struct machine *machine, uint64_t elements)
{
    struct kernel_params params = {.intensity = 1000};
    struct kernel_cost cost =
        machine_kernel_cost(machine, kernel_find("scale"), &params, elements);
    double beside = (double)cost.fixed_ns + cost.memory_ns / 2; /* as rule_sweep_ns() has it */
    double ns = machine_copy_ns(machine, 1, 4 * elements) - beside;
    return (uint32_t)lround(1000 * ns / cost.arithmetic_ns);
}

/* The article's diagrams, in which a kernel lasts as long as a copy: of 12 steps in turn. */
START_TEST(test_overlap_as_drawn)
{
    static const struct {
        const char *machine;
        double depth, breadth; /* steps */
    } drawn[] = {{"c1060", 12, 8}, {"c2050", 6, 9}, {"k20c", 6, 6}, {"k20x", 6, 6}};
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++) {
        struct machine machine = machine_named(drawn[i].machine);
        struct settings settings = test_settings("scale");
        settings.elements = 4 << 20;
        settings.intensity = balanced_intensity(&machine, settings.elements / 4);
        double depth = span_of(&machine, &settings);
        settings.order = ORDER_BREADTH;
        double breadth = span_of(&machine, &settings);
        settings.ways = 1;
        settings.streams = 1;
        settings.tiles = 1;
        double serial = span_of(&machine, &settings);
        assert_ratio(drawn[i].machine, serial / depth, 12 / drawn[i].depth, 0.03);
        assert_ratio(drawn[i].machine, serial / breadth, 12 / drawn[i].breadth, 0.03);
    }
}
END_TEST

/* The C2050's loss is rule 5, and nothing else. */
START_TEST(test_breadth_loses_by_the_checks)
{
    struct machine machine = machine_named("c2050");
    struct settings settings = test_settings("scale");
    settings.elements = 4 << 20;
    settings.intensity = balanced_intensity(&machine, settings.elements / 4);
    double depth = span_of(&machine, &settings);
    settings.order = ORDER_BREADTH;
    ck_assert_double_gt(span_of(&machine, &settings), 1.4 * depth);
    machine.compute_capability = 3.5;
    ck_assert_double_lt(span_of(&machine, &settings), 1.02 * depth);
}
END_TEST

/* --- Hyper-Q
 * -------------------------------------------------------------------------------------- */

/* NVIDIA's sample simpleHyperQ: 33 kernels' time with one queue, 2 with 32. Ours are shorter,
 * so what the host takes to issue them shows: 10%. */
START_TEST(test_one_queue_against_32)
{
    double spans[RUNS_MOST];
    ck_assert_int_eq(config_spans("hyperq.ini", spans), 2);
    assert_ratio("one queue against 32", spans[0] / spans[1], 33.0 / 2, 0.1);
}
END_TEST

/* --- tiled DGEMM on a C2070
 * ----------------------------------------------------------------------- */

/* Gflop/s of C = A B + C in panels of columns, m = n = 8192, k = 288, from Rennich's slide,
 * "CUDA C/C++ Streams and Concurrency", NVIDIA 2011: the config says what of it is remembered
 * and what assumed. 10%: the copies' rate is a round figure for any board of that time, and in
 * 4-way the simulated CPU gives all its cores to its share, none to feeding the GPU. */
START_TEST(test_dgemm_ladder)
{
    static const double published[] = {125, 177, 262, 282};
    static const char *const ways[] = {"serial", "2-way", "3-way", "4-way"};
    const double flops = 2.0 * 8192 * 8192 * 288;
    double spans[RUNS_MOST];
    ck_assert_int_eq(config_spans("dgemm-c2070.ini", spans), 4);
    for (int i = 0; i < 4; i++)
        assert_ratio(ways[i], flops / spans[i], published[i], 0.1);
}
END_TEST

Suite *history_suite(void)
{
    Suite *suite = suite_create("history");
    TCase *tests = tcase_create("history");
    tcase_add_test(tests, test_overlap_by_order);
    tcase_add_test(tests, test_overlap_as_drawn);
    tcase_add_test(tests, test_breadth_loses_by_the_checks);
    tcase_add_test(tests, test_one_queue_against_32);
    if (kernel_missing(kernel_find("dgemm")) == NULL)
        tcase_add_test(tests, test_dgemm_ladder);
    suite_add_tcase(suite, tests);
    return suite;
}
