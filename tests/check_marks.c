/* check_marks.c - the NVTX ranges and names that a tool is told, by a tool that writes them
 * down (tests/nvtx). The program and nvtx-walk run as processes of their own: NVTX looks for a
 * tool once in each. */
#include "fixtures.h"
#include "marks_log.h"
#include "suites.h"
#include "term/marks.h"
#include "test_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INJECTION BUILD_FOLDER "/tests/nvtx/injection.so"
#define TOOL      "NVTX_INJECTION64_PATH=" INJECTION " PIPELINE_NVTX_LOG=log "
#define WALK      BUILD_FOLDER "/nvtx-walk"

/* Runs a shell's line and returns its exit code. */
static int shell(const char *environment, const char *program, const char *arguments,
                 const char *out)
{
    char command[2048];
    snprintf(command, sizeof command, "%s%s %s >%s 2>err </dev/null", environment, program,
             arguments, out);
    int status = system(command);
    ck_assert_msg(WIFEXITED(status), "%s: ended by signal %d", command, WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* The calls that the tool wrote down. */
static struct marks_log log_of(const char *program, const char *arguments, int code)
{
    char text[2048];
    remove("log");
    int ended = shell(TOOL, program, arguments, "out");
    test_file_read("err", text, sizeof text);
    ck_assert_msg(ended == code, "%s: exit %d: %s", arguments, ended, text);
    return marks_log_read("log");
}

static void assert_outline(const char *arguments, int code, const char *expected)
{
    char outline[4096];
    struct marks_log log = log_of(PIPELINE_PROGRAM, arguments, code);
    long thread = marks_log_thread(&log, "pipeline");
    ck_assert_int_ne(thread, 0);
    marks_log_outline(&log, thread, outline, sizeof outline);
    ck_assert_str_eq(outline, expected);
    marks_log_free(&log);
}

/* Every range of a run is told, nested as it is. */
START_TEST(test_ranges_of_a_run)
{
    assert_outline("--device=sim:h200 -n 64k -t 4 -q", 0,
                   "run{open and describe the device plan prepare simulated run{simulate "
                   "verify} analyse}");
    assert_outline("--device=sim:h200 -n 64k -t 4 -q -o out.npy", 0,
                   "run{open and describe the device plan prepare simulated run{simulate "
                   "verify} analyse write}");
    assert_outline("--device=sim:h200 -n 64k -t 4 -q --no-data", 0,
                   "run{open and describe the device plan prepare simulated run{simulate} "
                   "analyse}");
    assert_outline("--device=sim:h200 -n 64k -t 4 -q --dry-run", 0,
                   "run{open and describe the device plan}");
}
END_TEST

/* Each run of a comparison is a range with its name; whatever it is called. */
START_TEST(test_ranges_of_a_comparison)
{
    test_file_put("two.ini",
                  "[global]\ndevice=sim:h200\nelements=64k\ntiles=4\n[one]\nways=1\n[t%swo]\n");
    struct marks_log log = log_of(PIPELINE_PROGRAM, "-q two.ini", 0);
    ck_assert_int_eq(marks_log_ranges(&log, "run one"), 1);
    ck_assert_int_eq(marks_log_ranges(&log, "run t%swo"), 1);
    ck_assert_int_eq(marks_log_ranges(&log, "verify"), 2);
    marks_log_free(&log);
}
END_TEST

/* A run that fails leaves no range open: marks_log_read() sees to it. */
START_TEST(test_ranges_of_a_failed_run)
{
    assert_outline("--device=sim:nonesuch", 2, "run{open and describe the device}");
    assert_outline("--device=sim:h200 --no-data -n 1T -t 4 -w 1", 1,
                   "run{open and describe the device plan prepare}");
}
END_TEST

/* Each op of a plan has a range, in the plan's order; the CPU's are on its worker's thread. */
START_TEST(test_ranges_of_issues)
{
    static const char *const cases[] = {
        "--device=sim:h200 -n 64k -t 1 -s 1",
        "--device=sim:h200 -n 64k -t 8 -s 4",
        "--device=sim:h200 -n 64k -t 9 -s 4 --order=breadth --callbacks",
        "--device=sim:h200 -n 64k -t 7 -s 3 --layout=stage -k scale,sum --callbacks",
        "--device=sim:h200 -n 64k -t 8 -w 1 -k wave,sum",
        "--device=sim:h200 -n 64k -t 8 -s 3 -w 2",
        "--device=sim:h200 -n 64k -t 12 -s 3 -w 4 --cpu-share=0.5",
        "--device=sim:h200 -n 1M -t 3000 -s 3",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan plan = marks_log_plan(cases[i]);
        struct marks_log log = log_of(WALK, cases[i], 0);
        marks_log_assert_plan(&log, marks_log_thread(&log, "walk"), &plan, false, 1);
        long worker = marks_log_thread(&log, "pipeline CPU worker");
        ck_assert_int_eq(worker != 0, plan.cpu_tiles > 0);
        marks_log_assert_plan(&log, worker, &plan, true, 1);
        ck_assert_int_eq(marks_log_lines(&log, "stream\t", true), (int)plan.streams);
        ck_assert_int_eq(marks_log_lines(&log, "stream\t0x1\twalk stream 0", false), 1);
        marks_log_free(&log);
        plan_free(&plan);
    }
}
END_TEST

/* Strings are registered once each, not with every range. */
START_TEST(test_strings_are_registered_once)
{
    struct marks_log log = log_of(WALK, "--device=sim:h200 -n 64k -t 64", 0);
    int strings = OP_KIND_COUNT;
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        strings++;
    ck_assert_int_eq(marks_log_lines(&log, "string\t", true), strings);
    ck_assert_int_eq(marks_log_lines(&log, "string\tpipeline\tscale", false), 1);
    ck_assert_int_eq(marks_log_lines(&log, "category\t", true), OP_KIND_COUNT);
    marks_log_free(&log);
}
END_TEST

static void assert_walk(const char *environment, const char *expected)
{
    char text[64];
    ck_assert_int_eq(shell(environment, WALK, "--device=sim:h200 -n 64k -t 4", "out"), 0);
    test_file_read("out", text, sizeof text);
    ck_assert_str_eq(text, expected);
}

/* A tool is there, or is not, or can't be loaded, or refuses (it is given no file). */
START_TEST(test_whether_a_tool_listens)
{
    assert_walk(TOOL, "on\n");
    assert_walk("env -u NVTX_INJECTION64_PATH ", "off\n");
    assert_walk("NVTX_INJECTION64_PATH=/nonexistent.so ", "off\n");
    assert_walk("NVTX_INJECTION64_PATH=" INJECTION " PIPELINE_NVTX_LOG=/nowhere/log ", "off\n");
}
END_TEST

/* The program's output is the same with and without a tool. */
START_TEST(test_output_is_the_same)
{
    const char *arguments = "--device=sim:h200 -n 64k -t 8 -w 4 --cpu-share=0.25 --format=json";
    ck_assert_int_eq(
        shell("env -u NVTX_INJECTION64_PATH ", PIPELINE_PROGRAM, arguments, "without"), 0);
    ck_assert_int_eq(shell(TOOL, PIPELINE_PROGRAM, arguments, "with"), 0);
    ck_assert_int_eq(system("cmp -s with without"), 0);
    ck_assert_int_eq(access("log", F_OK), 0);
}
END_TEST

/* In a program built without NVTX's headers a tool changes nothing, and is told nothing. */
START_TEST(test_without_headers)
{
    ck_assert(!marks_on());
    marks_begin("nothing");
    marks_end();
    ck_assert_int_eq(shell(TOOL, PIPELINE_PROGRAM, "--device=sim:h200 -n 64k -t 4 -q", "out"),
                     0);
    ck_assert_int_ne(access("log", F_OK), 0);
}
END_TEST

Suite *marks_suite(void)
{
    Suite *suite = suite_create("marks");
    TCase *tcase = tcase_create("marks");
    tcase_add_checked_fixture(tcase, test_folder_enter, test_folder_leave);
    if (TESTS_NVTX) {
        tcase_add_test(tcase, test_ranges_of_a_run);
        tcase_add_test(tcase, test_ranges_of_a_comparison);
        tcase_add_test(tcase, test_ranges_of_a_failed_run);
        tcase_add_test(tcase, test_ranges_of_issues);
        tcase_add_test(tcase, test_strings_are_registered_once);
        tcase_add_test(tcase, test_whether_a_tool_listens);
        tcase_add_test(tcase, test_output_is_the_same);
    } else {
        tcase_add_test(tcase, test_without_headers);
    }
    suite_add_tcase(suite, tcase);
    return suite;
}
