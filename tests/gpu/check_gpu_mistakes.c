/* check_gpu_mistakes.c - each mistake on a real device, with its real calls: the result is
 * right, the times are such as its plan allows, and what CUDA settles once in a process is
 * refused. */
#include "check_gpu_mistakes.h"

#include "check_contract_timeline.h"
#include "fixtures.h"
#include "run/backend.h"
#include "run/verify.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct backend_ops backend_cuda_ops;

static const struct backend_ops *const cuda = &backend_cuda_ops;

static char *here; /* the folder that the tests were started in */

/* Enters the build's folder, for the program may have been built on another machine. */
static void enter_folder(void)
{
    static char program[4096];
    const char *given = getenv("PIPELINE_BUILD");
    char *build = given != NULL ? realpath(given, NULL) : NULL;
    if (build != NULL) {
        snprintf(program, sizeof program, "%s/pipeline", build);
        program_path = program;
    }
    free(build);
    here = getcwd(NULL, 0);
    ck_assert_ptr_nonnull(here);
    test_folder_enter();
}

static void leave_folder(void)
{
    test_folder_leave();
    ck_assert_int_eq(chdir(here), 0);
    free(here);
}

/* Returns true if CUDA takes the mistake's setting once in a process: it then gets one of its
 * own. */
static bool needs_process(int mistake)
{
    return mistake_rows[mistake].launches_block || mistake_rows[mistake].loads_lazily;
}

/* Runs once bare and once traced, verified, and no CUPTI record may be left over. */
static void run_case(struct backend *backend, const struct settings *settings)
{
    struct error error = {0};
    struct machine machine;
    struct arrays arrays;
    struct timeline timeline = {0};
    struct run_times times;
    test_must(cuda->describe(backend, settings, &machine, &error), &error);
    struct plan plan = test_built_on(settings, &machine);
    test_must(arrays_create(&arrays, &plan, settings, &error), &error);
    struct workload workload = {.plan = &plan, .settings = settings, .arrays = &arrays};
    test_must(cuda->prepare(backend, &workload, &error), &error);
    for (int traced = 0; traced <= 1; traced++) {
        arrays_poison(&arrays);
        test_must(cuda->run(backend, traced ? &timeline : NULL, &times, &error), &error);
        test_must(verify_output(&plan, &arrays, &error), &error);
    }
    printf("check-gpu: %s: %.3f ms, times from %s (%s)\n", mistake_name(settings->mistake),
           1e-6 * (double)times.time_ns, timeline_timing(&timeline), timeline.driver);
    if (plan.memory != MEMORY_PAGEABLE) /* a pageable copy may be several */
        ck_assert_ptr_null(strstr(timeline.driver, "did not match"));
    contract_check_timeline(&plan, &timeline, machine.copy_engines, true,
                            mistake_name(settings->mistake));
    cuda->release(backend);
    timeline_free(&timeline);
    arrays_free(&arrays);
    plan_free(&plan);
}

START_TEST(test_bytes_and_times)
{
    static const char *const chains[] = {"scale", "scale,sum", "scan", "wave"};
    const int mistake = _i;
    struct backend *backend = NULL;
    struct error error = {0};
    if (needs_process(mistake) || mistake_rows[mistake].races)
        return;
    for (int i = 0; i < 8; i++) {
        struct settings settings = test_settings(chains[i % 4]);
        settings.elements = (UINT64_C(1) << 20) + 77;
        settings.tiles = 9;
        settings.ways = 2 + i % 3;
        settings.cpu_share = settings.ways == 4 ? 0.25 : -1;
        if (settings.ways == 4 && i % 4 == 2) /* scans have no CPU share */
            settings.ways = 3;
        settings.layout = i / 2 % 2 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.order = i / 4 ? ORDER_BREADTH : ORDER_DEPTH;
        settings.callbacks = i % 2;
        settings.mistake = mistake;
        if (backend == NULL)
            test_must(cuda->open("", &settings, &backend, &error), &error);
        run_case(backend, &settings);
    }
    cuda->close(backend);
}
END_TEST

static double number_of(const json_t *run, const char *key)
{
    const json_t *value = json_object_get(run, key);
    ck_assert_msg(json_is_number(value), "no %s", key);
    return json_number_value(value);
}

/* Runs each in a process of its own: verified, measured, and not shorter than the calls it
 * waits for. */
START_TEST(test_program)
{
    enum { TILES = 8 };
    char line[160];
    json_error_t why;
    snprintf(line, sizeof line,
             "-q -d cuda -n 4M -t %d --intensity=50 --format=json --mistake=%s", TILES,
             mistake_rows[_i].name);
    if (mistake_rows[_i].races)
        return;
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
    json_t *report = json_loads(program_out, 0, &why);
    ck_assert_msg(report != NULL, "%s", why.text);
    const json_t *run = json_array_get(json_object_get(report, "runs"), 0);
    ck_assert(json_is_true(json_object_get(run, "verified")));
    ck_assert_str_eq(json_string_value(json_object_get(run, "source")), "measured");
    double span_ms = number_of(run, "time_ms");
    printf("check-gpu: --mistake=%s: %.3f ms\n", mistake_rows[_i].name, span_ms);
    if (_i == test_mistake("slow-callback"))
        ck_assert(span_ms >= TILES * 0.2);
    if (_i == test_mistake("lazy-loading"))
        ck_assert(number_of(run, "repeats") == 1);
    json_decref(report);
}
END_TEST

START_TEST(test_once_in_a_process)
{
    static const struct {
        const char *line, *words;
    } refused[] = {
        {"--sweep=mistake=none,launch-blocking", "with and without --mistake=launch-blocking "},
        {"--sweep=mistake=launch-blocking,none", "with and without --mistake=launch-blocking "},
        {"--sweep=mistake=none,lazy-loading", " loads kernel scale before it, and a process "},
    };
    char line[160];
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        snprintf(line, sizeof line, "-q -d cuda -n 64k -t 4 %s", refused[i].line);
        ck_assert_msg(program_run(line) == 2, "%s: %s", line, program_err);
        assert_has(program_err, refused[i].words);
    }
    ck_assert_msg(program_run("-q -d cuda -n 64k -t 4 --sweep=mistake=lazy-loading,none") == 0,
                  "%s", program_err);
    /* The backend refuses what the program's own check of options does not see. */
    struct settings settings = test_settings("scale");
    struct error error = {0};
    struct backend *backend = NULL;
    settings.mistake = test_mistake("launch-blocking");
    ck_assert_int_eq(cuda->open("", &settings, &backend, &error), STATUS_USAGE);
    assert_has(error.text, "CUDA was started without CUDA_LAUNCH_BLOCKING");
}
END_TEST

/* Earlier tests have loaded the kernel. */
START_TEST(test_loaded_before)
{
    struct settings settings = test_settings("scale");
    struct error error = {0};
    struct backend *backend = NULL;
    struct machine machine;
    struct arrays arrays;
    test_must(cuda->open("", &settings, &backend, &error), &error);
    run_case(backend, &settings);
    settings.mistake = test_mistake("lazy-loading");
    test_must(cuda->describe(backend, &settings, &machine, &error), &error);
    struct plan plan = test_built_on(&settings, &machine);
    test_must(arrays_create(&arrays, &plan, &settings, &error), &error);
    struct workload workload = {.plan = &plan, .settings = &settings, .arrays = &arrays};
    ck_assert_int_eq(cuda->prepare(backend, &workload, &error), STATUS_USAGE);
    assert_has(error.text, "kernel scale was loaded before this run");
    cuda->release(backend);
    cuda->close(backend);
    arrays_free(&arrays);
    plan_free(&plan);
}
END_TEST

Suite *gpu_mistakes_suite(void)
{
    Suite *suite = suite_create("gpu_mistakes");
    TCase *tests = tcase_create("gpu_mistakes");
    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, enter_folder, leave_folder);
    tcase_add_loop_test(tests, test_bytes_and_times, 0, test_mistake_count());
    tcase_add_loop_test(tests, test_program, 0, test_mistake_count());
    tcase_add_test(tests, test_once_in_a_process);
    tcase_add_test(tests, test_loaded_before);
    suite_add_tcase(suite, tests);
    return suite;
}
