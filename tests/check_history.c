/* check_history.c - what was measured and published on old GPUs, as ratios, against the
 * simulator.
 *
 * Machine files hold data sheets' figures; nothing in them was fitted to these results. */
#include "machine.h"
#include "options.h"
#include "plan_build.h"
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
    ck_assert_msg(machine_load(&machine, name, &error) == STATUS_OK, "%s", error.text);
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

/* C = A B + C in panels of columns: A stays on the device, panels of B and C go in, panels of C
 * come out. Sizes as remembered of Rennich's slide, "CUDA C/C++ Streams and Concurrency", 2011;
 * in how many panels is assumed. */
enum { DGEMM_M = 8192, DGEMM_N = 8192, DGEMM_K = 288, PANELS = 16, WIDE = DGEMM_N / PANELS };

static const struct kernel dgemm = {
    .sweep = 1,
    .name = "dgemm",
    .shape = KERNEL_MAP,
    .inputs = 1,
    .flops = 2 * DGEMM_K, /* per element of C */
};

/* On a Fermi, CUBLAS 3.2's DGEMM reaches 302 Gflop/s: Tan, Li, Triechle, Phillips, Bao & Sun,
 * "Fast Implementation of DGEMM on Fermi GPU", SC 2011. The CPU's 43 are on Rennich's slide. */
static struct machine dgemm_machine(void)
{
    struct machine machine = machine_named("c2070");
    machine.kernel_count = 1;
    machine.kernels[0] =
        (struct machine_kernel){.name = "dgemm", .flops_per_s = 302e9, .cpu_flops_per_s = 43e9};
    return machine;
}

static void panel_in(struct plan *plan, uint32_t stream, uint32_t panel)
{
    test_h2d(plan, stream, panel, 0, 8 * DGEMM_K * WIDE);
    test_h2d(plan, stream, panel, 0, 8 * (uint64_t)DGEMM_M * WIDE);
}

static void panel_multiply(struct plan *plan, uint32_t stream, uint32_t panel, uint32_t blocks)
{
    test_kernel(plan, stream, panel, 0, (uint64_t)DGEMM_M * WIDE, blocks);
}

static void panel_out(struct plan *plan, uint32_t stream, uint32_t panel)
{
    test_d2h(plan, stream, panel, 0, 8 * (uint64_t)DGEMM_M * WIDE);
}

static void write_serial(struct plan *plan, uint32_t blocks)
{
    for (uint32_t i = 0; i < PANELS; i++)
        panel_in(plan, 0, i);
    for (uint32_t i = 0; i < PANELS; i++)
        panel_multiply(plan, 0, i, blocks);
    for (uint32_t i = 0; i < PANELS; i++)
        panel_out(plan, 0, i);
}

static void write_two_way(struct plan *plan, uint32_t blocks)
{
    for (uint32_t i = 0; i < PANELS; i++)
        panel_in(plan, 0, i);
    test_record(plan, 0, 0);
    for (uint32_t i = 0; i < PANELS; i++) {
        uint32_t stream = i % plan->streams;
        if (stream != 0 && i < plan->streams)
            test_wait(plan, stream, 0);
        panel_multiply(plan, stream, i, blocks);
        panel_out(plan, stream, i);
    }
}

/* A goes in first of all, and copies in one direction keep the order of issue: no kernel can
 * start before it is there. */
static void write_three_way(struct plan *plan, uint32_t blocks, uint32_t panels)
{
    for (uint32_t i = 0; i < panels; i++) {
        uint32_t stream = i % plan->streams;
        panel_in(plan, stream, i);
        panel_multiply(plan, stream, i, blocks);
        panel_out(plan, stream, i);
    }
}

static void write_cpu(struct plan *plan, uint32_t panels)
{
    for (uint32_t i = 0; i < panels; i++) {
        struct op op = {.kind = OP_CPU, .stream = plan->streams, .tile = (int32_t)i};
        op.cpu.count = (uint64_t)DGEMM_M * WIDE;
        ck_assert_int_eq(plan_append(plan, &op, NULL), STATUS_OK);
    }
}

/* Gflop/s of `ways`; in 4-way the CPU takes `cpu_panels`. */
static double dgemm_rate(int ways, uint32_t cpu_panels)
{
    struct machine machine = dgemm_machine();
    uint32_t blocks = machine_resident_blocks(&machine);
    struct plan plan = test_plan(ways == 1 ? 1 : 4, 1, PANELS, 1);
    plan.chain[0] = &dgemm;
    write_cpu(&plan, cpu_panels);
    test_h2d(&plan, 0, 0, 0, 8 * (uint64_t)DGEMM_M * DGEMM_K); /* A */
    if (ways == 1)
        write_serial(&plan, blocks);
    else if (ways == 2)
        write_two_way(&plan, blocks);
    else
        write_three_way(&plan, blocks, PANELS - cpu_panels);
    double flops = 2.0 * DGEMM_M * DGEMM_N * DGEMM_K;
    double rate = flops / (double)sim_span_ns(&machine, &plan);
    plan_free(&plan);
    return rate;
}

/* The best share the CPU can have, in whole panels. */
static double dgemm_four_way_rate(void)
{
    double best = 0;
    for (uint32_t panels = 0; panels < PANELS; panels++)
        best = fmax(best, dgemm_rate(4, panels));
    return best;
}

/* 10%: the copies' rate is a round figure for any board of that time, and in 4-way the
 * simulated CPU gives all its cores to its share, none to feeding the GPU. */
START_TEST(test_dgemm_ladder)
{
    assert_ratio("serial", dgemm_rate(1, 0), 125, 0.1);
    assert_ratio("2-way", dgemm_rate(2, 0), 177, 0.1);
    assert_ratio("3-way", dgemm_rate(3, 0), 262, 0.1);
    assert_ratio("4-way", dgemm_four_way_rate(), 282, 0.1);
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
    tcase_add_test(tests, test_dgemm_ladder);
    suite_add_tcase(suite, tests);
    return suite;
}
