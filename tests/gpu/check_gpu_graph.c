/* check_gpu_graph.c - graphs and mapped memory on a real device, beyond what the contract asks
 * of both: CUPTI's records find their nodes, events in a graph tell its times, priorities and
 * libraries' kernels go with it, one call is cheaper than many, and what can't be is refused.
 */
#include "check_gpu_graph.h"

#include "check_contract_timeline.h"
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "run/backend.h"
#include "run/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct backend_ops backend_cuda_ops;

static const struct backend_ops *const cuda = &backend_cuda_ops;

/* A run from options to its timeline. */
struct line {
    struct backend *backend;
    struct machine machine;
    struct plan plan;
    struct arrays arrays;
    struct timeline timeline;
    struct workload workload;
    struct run_times times; /* the times of the run that was not traced */
    int called;
};

static void on_tile(void *context, int32_t tile)
{
    (void)tile;
    ((struct line *)context)->called++;
}

static void line_prepare(struct line *line, const struct settings *settings)
{
    struct error error = {0};
    *line = (struct line){0};
    line->plan = (struct plan){0};
    line->timeline = (struct timeline){0};
    test_must(cuda->open("", settings, &line->backend, &error), &error);
    test_must(cuda->describe(line->backend, settings, &line->machine, &error), &error);
    line->plan = test_built_on(settings, &line->machine);
    test_must(arrays_create(&line->arrays, &line->plan, settings, &error), &error);
    line->workload = (struct workload){.plan = &line->plan,
                                       .settings = settings,
                                       .arrays = &line->arrays,
                                       .on_tile = on_tile,
                                       .context = line};
    test_must(cuda->prepare(line->backend, &line->workload, &error), &error);
}

/* Runs the line twice bare and then traced, each on a poisoned output and verified. */
static void line_run(struct line *line, const struct settings *settings, const char *shown)
{
    struct error error = {0};
    line_prepare(line, settings);
    for (int run = 0; run < 3; run++) {
        struct run_times times;
        arrays_poison(&line->arrays);
        line->called = 0;
        test_must(cuda->run(line->backend, run == 2 ? &line->timeline : NULL, &times, &error),
                  &error);
        test_must(verify_output(&line->plan, &line->arrays, &error), &error);
        if (settings->callbacks)
            ck_assert_int_eq(line->called, (int)(line->plan.tiles - line->plan.cpu_tiles));
        line->times = run == 1 ? times : line->times;
    }
    contract_check_timeline(&line->plan, &line->timeline, line->machine.copy_engines, true,
                            shown);
}

static void line_free(struct line *line)
{
    cuda->release(line->backend);
    cuda->close(line->backend);
    timeline_free(&line->timeline);
    arrays_free(&line->arrays);
    plan_free(&line->plan);
}

static struct settings settings_of(int number)
{
    static const char *const chains[] = {"scale",           "wave",         "scale,sum",
                                         "reduce-atomic",   "scan,scan",    "finite",
                                         "transpose-naive", "wave-launches"};
    struct settings settings = test_settings(chains[number % 8]);
    settings.elements = 1 << 20;
    settings.columns = 64;
    settings.tiles = 16;
    settings.intensity = 1 + (uint32_t)number % 3;
    settings.streams = 1 + (uint32_t)number % 5;
    settings.order = number / 8 % 2 ? ORDER_BREADTH : ORDER_DEPTH;
    settings.layout = number / 16 % 2 ? LAYOUT_STAGE : LAYOUT_TILE;
    settings.callbacks = number % 3 == 0;
    settings.issue = number % 4 ? ISSUE_GRAPH : ISSUE_STREAMS;
    settings.memory = number / 4 % 2 ? MEMORY_MAPPED : MEMORY_PINNED;
    if (settings.issue == ISSUE_STREAMS)
        settings.memory = MEMORY_MAPPED;
    if (number % 2) {
        settings.priority_count = 2;
        settings.priorities[0] = 0;
        settings.priorities[1] = -3;
    }
    return settings;
}

/* Where CUPTI tells times at all, it must tell those of a graph. */
static void all_lines(enum timing expected)
{
    for (int i = 0; i < 32; i++) {
        struct settings settings = settings_of(i);
        struct line line;
        char shown[64];
        snprintf(shown, sizeof shown, "graph and mapped, case %d", i);
        line_run(&line, &settings, shown);
        if (line.timeline.timing != expected &&
            (expected == TIMING_EVENTS || strstr(line.timeline.driver, "libcupti") == NULL))
            ck_abort_msg("%s: times from %s (%s)", shown, timeline_timing(&line.timeline),
                         line.timeline.driver);
        line_free(&line);
    }
}

START_TEST(test_by_cupti)
{
    all_lines(getenv("PIPELINE_NO_CUPTI") != NULL ? TIMING_EVENTS : TIMING_CUPTI);
}
END_TEST

START_TEST(test_by_events)
{
    const char *was = getenv("PIPELINE_NO_CUPTI");
    setenv("PIPELINE_NO_CUPTI", "1", 1);
    all_lines(TIMING_EVENTS);
    if (was == NULL)
        unsetenv("PIPELINE_NO_CUPTI");
}
END_TEST

/* A launch of cuBLAS may be several nodes. */
START_TEST(test_a_librarys_kernels)
{
    struct settings settings = test_settings("dgemm");
    const struct kernel *kernel = settings.chain[0];
    struct line line;
    if (kernel_missing(kernel) != NULL || kernel_launcher(kernel)->preload() != 0)
        return;
    settings.rows = 500;
    settings.inner = 300;
    settings.elements = 500 * 64;
    settings.tiles = 8;
    settings.issue = ISSUE_GRAPH;
    line_run(&line, &settings, "a product as a graph");
    line_free(&line);
}
END_TEST

/* Times are printed, and not judged: a host may hold up either once. */
START_TEST(test_many_tiles_are_one_call)
{
    int64_t issue_ns[2];
    for (int issue = ISSUE_STREAMS; issue <= ISSUE_GRAPH; issue++) {
        struct settings settings = test_settings("scale");
        struct line line;
        settings.elements = 1 << 20;
        settings.tiles = 512;
        settings.issue = (enum issue)issue;
        line_run(&line, &settings, "512 tiles");
        issue_ns[issue] = line.times.issue_ns;
        line_free(&line);
    }
    printf("check-gpu: 512 tiles are issued in %.1f us, and as a graph in %.1f us\n",
           1e-3 * (double)issue_ns[ISSUE_STREAMS], 1e-3 * (double)issue_ns[ISSUE_GRAPH]);
}
END_TEST

/* A sync in the loop is the host's own call: it is refused before anything runs. */
START_TEST(test_a_sync_is_refused)
{
    struct settings settings = test_settings("scale");
    struct error error = {0};
    struct line line;
    line_prepare(&line, &settings);
    cuda->release(line.backend);
    test_sync(&line.plan, 0);
    line.plan.issue = ISSUE_GRAPH;
    ck_assert_int_eq(cuda->prepare(line.backend, &line.workload, &error), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "a call of the host's own"));
    line_free(&line);
}
END_TEST

Suite *gpu_graph_suite(void)
{
    Suite *suite = suite_create("gpu, graphs and mapped memory");
    TCase *tcase = tcase_create("graphs");
    tcase_add_test(tcase, test_by_cupti);
    tcase_add_test(tcase, test_by_events);
    tcase_add_test(tcase, test_a_librarys_kernels);
    tcase_add_test(tcase, test_many_tiles_are_one_call);
    tcase_add_test(tcase, test_a_sync_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
