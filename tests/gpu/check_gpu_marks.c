/* check_gpu_marks.c - NVTX and --profile on a real device: the program runs with a tool that
 * writes down what it is told (tests/nvtx), and that must be the plan, once per run of it. */
#include "check_gpu_marks.h"

#include "marks_log.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64]; /* the folder that the tests write to */

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/pipeline-gpu-marks-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Returns the folder of the program, which may have been built on another machine. */
static const char *build_folder(void)
{
    const char *given = getenv("PIPELINE_BUILD");
    return given != NULL ? given : BUILD_FOLDER;
}

/* Runs `pipeline ARGUMENTS` with the tool attached; returns its exit code. */
static int run_program(const char *environment, const char *arguments)
{
    char command[2048];
    const char *build = build_folder();
    snprintf(command, sizeof command,
             "rm -f %s/log; NVTX_INJECTION64_PATH=%s/tests/nvtx/injection.so "
             "PIPELINE_NVTX_LOG=%s/log %s %s/pipeline -q %s >%s/out 2>%s/err </dev/null",
             folder, build, folder, environment, build, arguments, folder, folder);
    int status = system(command);
    ck_assert_msg(WIFEXITED(status), "%s: ended by signal %d", command, WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void read_file(const char *name, char *text, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "no %s", path);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static struct marks_log log_of(const char *environment, const char *arguments)
{
    char text[2048], path[128];
    int code = run_program(environment, arguments);
    read_file("err", text, sizeof text);
    ck_assert_msg(code == 0, "%s: exit %d: %s", arguments, code, text);
    snprintf(path, sizeof path, "%s/log", folder);
    return marks_log_read(path);
}

static void assert_outline(const struct marks_log *log, const char *expected)
{
    char outline[4096];
    marks_log_outline(log, marks_log_thread(log, "pipeline"), outline, sizeof outline);
    ck_assert_str_eq(outline, expected);
}

/* Each callback's work is a range on the driver's thread, which is named. */
static void assert_callbacks(const struct marks_log *log, const struct plan *plan, int passes)
{
    int planned = 0, arrived = 0;
    long issuing = marks_log_thread(log, "pipeline");
    for (uint32_t i = 0; i < plan->op_count; i++)
        planned += plan->ops[i].kind == OP_CALLBACK;
    for (size_t i = 0; i < log->count; i++)
        arrived +=
            log->marks[i].thread != issuing && strcmp(log->marks[i].text, "callback") == 0;
    ck_assert_int_eq(arrived, passes * planned);
    ck_assert_int_eq(marks_log_thread(log, "pipeline callbacks") != 0, planned > 0);
}

/* Asserts a range around every call of every run of the plan, on the thread that makes it; the
 * CPU's share is on its worker's. CUPTI's records may not match, and the traced run be made
 * again. */
static void assert_issues(const struct marks_log *log, const char *arguments, int runs)
{
    struct plan plan = marks_log_plan(arguments);
    int passes = marks_log_ranges(log, "issue");
    ck_assert_msg(passes == runs || passes == runs + 1, "%s: %d runs", arguments, passes);
    ck_assert_int_eq(marks_log_ranges(log, "wait"), passes);
    marks_log_assert_plan(log, marks_log_thread(log, "pipeline"), &plan, false, passes);
    long worker = marks_log_thread(log, "pipeline CPU worker");
    ck_assert_int_eq(worker != 0, plan.cpu_tiles > 0);
    marks_log_assert_plan(log, worker, &plan, true, passes);
    ck_assert_int_eq(marks_log_lines(log, "stream\t", true), (int)plan.streams);
    assert_callbacks(log, &plan, passes);
    plan_free(&plan);
}

START_TEST(test_issues)
{
    static const char *const cases[] = {
        "--device=cuda -n 4M -t 12 -s 3 --runs=2 --gantt=none",
        "--device=cuda -n 4M -t 13 -s 4 --order=breadth --callbacks --runs=2 --gantt=none",
        "--device=cuda -n 4M -t 7 -s 3 --layout=stage -k scale,sum --callbacks --runs=2 "
        "--gantt=none",
        "--device=cuda -n 4M -t 8 -w 1 --runs=2 --gantt=none",
        "--device=cuda -n 4M -t 8 -s 3 -w 2 --runs=2 --gantt=none",
        "--device=cuda -n 4M -t 12 -s 3 -w 4 --cpu-share=0.25 --runs=2 --gantt=none",
        "--device=cuda -n 4M -t 1024 -s 8 --runs=2 --gantt=none",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct marks_log log = log_of("", cases[i]);
        assert_issues(&log, cases[i], 4); /* a warm-up, two repeats, a traced run */
        marks_log_free(&log);
    }
}
END_TEST

START_TEST(test_ranges)
{
    const char *arguments = "--device=cuda -n 1M -t 4 --runs=2 --gantt=none";
    struct marks_log log = log_of("PIPELINE_NO_CUPTI=1", arguments);
    assert_outline(&log, "run{open and describe the device plan prepare "
                         "warm-up 1 of 1{issue wait verify} repeat 1 of 2{issue wait verify} "
                         "repeat 2 of 2{issue wait verify} traced run{issue wait verify} "
                         "analyse}");
    marks_log_free(&log);
}
END_TEST

/* One stream per stage is called after its stage. */
START_TEST(test_stream_names)
{
    struct marks_log log =
        log_of("", "--device=cuda -n 1M -t 4 --layout=stage --runs=1 --gantt=none");
    static const char *const names[] = {"\tpipeline h2d\n", "\tpipeline kernel\n",
                                        "\tpipeline d2h\n"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_msg(strstr(log.text, names[i]) != NULL, "no stream%s", names[i]);
    marks_log_free(&log);
}
END_TEST

static const json_t *only_run(const json_t *root, const char *key)
{
    const json_t *runs = json_object_get(root, "runs");
    ck_assert_uint_eq(json_array_size(runs), 1);
    const json_t *value = json_object_get(json_array_get(runs, 0), key);
    ck_assert_msg(value != NULL, "no %s", key);
    return value;
}

/* With --profile there is one run, verified, with no instrumentation inside and no times
 * claimed. */
START_TEST(test_profiled)
{
    const char *arguments =
        "--device=cuda -n 4M -t 8 -s 2 --profile --warmup=2 --callbacks --format=json";
    char text[65536];
    struct marks_log log = log_of("", arguments);
    assert_outline(&log, "run{open and describe the device plan prepare "
                         "warm-up 1 of 2{issue wait verify} warm-up 2 of 2{issue wait verify} "
                         "repeat 1 of 1{profiled run{issue wait} verify}}");
    struct plan plan = marks_log_plan(arguments);
    marks_log_assert_plan(&log, marks_log_thread(&log, "pipeline"), &plan, false, 3);
    /* Streams are named twice: a tool may begin to listen with the run. */
    ck_assert_int_eq(marks_log_lines(&log, "stream\t", true), 2 * (int)plan.streams);
    plan_free(&plan);
    marks_log_free(&log);

    read_file("out", text, sizeof text);
    json_t *root = json_loads(text, 0, NULL);
    ck_assert_msg(root != NULL, "%s", text);
    ck_assert(json_is_true(only_run(root, "verified")));
    ck_assert_int_eq(json_integer_value(only_run(root, "repeats")), 1);
    ck_assert_str_eq(json_string_value(only_run(root, "source")), "measured");
    ck_assert(json_real_value(only_run(root, "time_ms")) > 0);
    ck_assert(json_is_string(only_run(root, "driver")));
    ck_assert(json_is_null(only_run(root, "timing")));
    ck_assert(json_is_null(only_run(root, "engines")));
    ck_assert(json_is_null(only_run(root, "timeline_ms")));
    json_decref(root);
}
END_TEST

/* A profiled run has no timeline to write: that is said before anything runs. */
START_TEST(test_profiled_without_timeline)
{
    static const char *const devices[] = {"cuda", "cuda:0", "auto"};
    char arguments[256], path[128], text[2048];
    snprintf(path, sizeof path, "%s/x.csv", folder);
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        snprintf(arguments, sizeof arguments, "--device=%s --profile --timeline=%s", devices[i],
                 path);
        ck_assert_int_eq(run_program("", arguments), 2);
        read_file("err", text, sizeof text);
        ck_assert_msg(strstr(text, "--profile") != NULL, "%s", text);
        ck_assert_int_ne(access(path, F_OK), 0);
    }
}
END_TEST

Suite *gpu_marks_suite(void)
{
    Suite *suite = suite_create("gpu, marks");
    TCase *tcase = tcase_create("marks");
    tcase_add_checked_fixture(tcase, make_folder, remove_folder);
    if (TESTS_NVTX) {
        tcase_add_test(tcase, test_issues);
        tcase_add_test(tcase, test_ranges);
        tcase_add_test(tcase, test_stream_names);
        tcase_add_test(tcase, test_profiled);
    }
    tcase_add_test(tcase, test_profiled_without_timeline);
    suite_add_tcase(suite, tcase);
    return suite;
}
