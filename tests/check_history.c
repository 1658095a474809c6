/* check_history.c - what was measured and published, against the simulator.
 *
 * Machine files hold data sheets' figures, and rates of copies and products measured alone;
 * nothing in them was fitted to these results. */
#include "kernels/kernel_code.h"
#include "machine/machine.h"
#include "options/options.h"
#include "plan/rules_blocks.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_folder.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void assert_ratio(const char *what, double got, double published, double tolerance)
{
    ck_assert_msg(fabs(got / published - 1) <= tolerance, "%s: %.3f, published %.3f (+-%g%%)",
                  what, got, published, 100 * tolerance);
}

static double span_of(const struct machine *machine, const struct settings *settings)
{
    struct plan plan = test_built_on(settings, machine);
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
        struct machine machine = test_machine_named(settings->device + 4);
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
        struct machine machine = test_machine_named(drawn[i].machine);
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
    struct machine machine = test_machine_named("c2050");
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

/* --- predicted blind
 * ---------------------------------------------------------------------------------- */

/* A published time, in ms, of run `run` of configs/history/NAME.ini, and what of the simulated
 * run it is: all of it, or a frame of simpleMultiCopy (copies-a100.ini says why). Those that
 * hold are predicted within BLIND_TOLERANCE; what is known of the others is in
 * docs/accuracy.md. */
#define BLIND_TOLERANCE 0.1
struct blind {
    const char *config, *what;
    int run;
    const char *published;
    bool holds;
};

static double blind_ms(const struct blind *blind)
{
    char name[64];
    snprintf(name, sizeof name, "%s.ini", blind->config);
    double spans[RUNS_MOST];
    ck_assert_int_gt(config_spans(name, spans), blind->run);
    double ns = spans[blind->run];
    if (strncmp(blind->config, "copies-", 7) == 0) {
        struct machine machine = test_machine_named(strchr(blind->config, '-') + 1);
        const uint64_t bytes = 16 << 20;
        ns = (ns - machine_copy_ns(&machine, 1, bytes) - machine_copy_ns(&machine, 0, bytes)) /
             10;
    }
    return ns / 1e6;
}

/* The table of docs/accuracy.md has these rows, as the simulator is today. */
START_TEST(test_predicted_blind)
{
    static const struct blind published[] = {
        {"copies-a100", "4 streams", 1, "0.8479", false},
        {"copies-gtx1080ti", "4 streams, light kernel", 1, "3.0941", false},
        {"copies-gtx1080ti", "4 streams, heavier kernel", 3, "3.0636", false},
        {"copies-gtx1650-super", "4 streams", 1, "1.6813", false},
        {"hyperq-gtx1650-super", "32 streams, 8 queues", 0, "58", true},
        {"daxpy-v100", "64 chunks", 0, "418.4", false},
        {"daxpy-v100", "16 chunks", 1, "411.0", false},
        {"daxpy-v100", "4 chunks", 2, "430.7", true},
        {"daxpy-k40", "64 chunks", 0, "1461.5", true},
        {"daxpy-k40", "16 chunks", 1, "1462.9", true},
        {"daxpy-k40", "4 chunks", 2, "1579.9", true},
        {"dgemm-v100", "k = 2048", 0, "267.9", false},
        {"dgemm-v100", "k = 4096", 1, "1292.3", true},
        {"dgemm-k40", "k = 2048", 0, "1496.2", false},
        {"dgemm-k40", "k = 4096", 1, "7569.8", true},
    };
    char *page = test_file_text(TESTS_FOLDER "/../docs/accuracy.md");
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        const struct blind *blind = &published[i];
        if (strncmp(blind->config, "dgemm", 5) == 0 &&
            kernel_missing(kernel_find("dgemm")) != NULL)
            continue;
        double ms = blind_ms(blind), ratio = ms / strtod(blind->published, NULL);
        char row[256];
        snprintf(row, sizeof row, "| `%s` | %s | %s | %.4g | %.4g | %s |", blind->config,
                 blind->what, blind->published, ms, ratio, blind->holds ? "held" : "missed");
        ck_assert_msg(strstr(page, row) != NULL, "docs/accuracy.md lacks this row: %s", row);
        ck_assert_msg(blind->holds == (fabs(ratio - 1) <= BLIND_TOLERANCE), "%s", row);
    }
    free(page);
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
    tcase_add_test(tests, test_predicted_blind);
    if (kernel_missing(kernel_find("dgemm")) == NULL)
        tcase_add_test(tests, test_dgemm_ladder);
    suite_add_tcase(suite, tests);
    return suite;
}
