/* check_calibrate_cli.c - `pipeline calibrate` as its user runs it: a machine file on standard
 * output, which can be simulated and compared with; or one line on standard error and nothing
 * else. */
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `pipeline ARGUMENTS`, which must end with `code`; its output is in "out" and "err". */
static void run(const char *arguments, int code)
{
    int ended = program_run(arguments);
    ck_assert_msg(ended == code, "pipeline %s: exit %d: %s", arguments, ended, program_err);
}

static void assert_holds(const char *path, const char *words)
{
    char *text = test_file_text(path);
    assert_shown(text, words);
    free(text);
}

static void assert_empty(const char *path)
{
    char *text = test_file_text(path);
    ck_assert_str_eq(text, "");
    free(text);
}

/* A user makes a file, simulates it, and compares with it. Calibrated once more it has the same
 * keys. */
START_TEST(test_made_and_used)
{
    run("calibrate --device=sim:v100", 0);
    assert_empty("err"); /* there is nothing to note, and no terminal */
    assert_holds("out", "; NVIDIA V100|simulated|[copies]\n|[kernel scale]\n");
    ck_assert_int_eq(rename("out", "mine.ini"), 0);
    run("--device=sim:./mine.ini -n 1M --format=json", 0);
    assert_holds("out", "NVIDIA V100|\"verified\": true");
    run("compare --device=sim:v100 --machine=./mine.ini --no-data -n 16M --format=csv", 0);
    assert_holds("out", "sim:mine");
    run("calibrate --device=sim:./mine.ini", 0);
    ck_assert_int_eq(system("grep -o '^[a-z_0-9]* =' mine.ini > a; "
                            "grep -o '^[a-z_0-9]* =' out > b"),
                     0);
    assert_holds("a", "h2d_bytes_per_s =|cpu_flops_per_s =|memory_fill =");
    ck_assert_int_eq(system("cmp a b"), 0);
}
END_TEST

START_TEST(test_connections)
{
    run("calibrate --device=sim:h200 --connections=3 -q --no-color", 0);
    assert_holds("out", "\nqueues = 3 |\nqueues_max = 32 ");
    run("calibrate --device=sim:c2050 --connections=3", 2);
    assert_holds("err", "--connections=3|c2050|1 hardware queue");
    assert_empty("out");
}
END_TEST

/* `auto` never fails, so the program says which device it took; -q keeps it quiet. */
START_TEST(test_auto_says_what_it_took)
{
    if (access("/dev/nvidiactl", F_OK) == 0)
        return; /* there may be a device */
    run("calibrate", 0);
    assert_holds("err", "pipeline: note: no CUDA device: calibrating a simulated NVIDIA H200");
    assert_holds("out", "; NVIDIA H200, simulated");
    run("calibrate -q", 0);
    assert_empty("err");
    assert_holds("out", "; NVIDIA H200, simulated");
}
END_TEST

START_TEST(test_no_device_is_77)
{
    if (access("/dev/nvidiactl", F_OK) == 0)
        return;
    run("calibrate --device=cuda", 77);
    assert_holds("err", "--device=cuda");
    assert_empty("out");
}
END_TEST

/* Options and words that calibrate would ignore, in any place on the line. */
static const struct {
    const char *arguments, *words;
} refusals[] = {
    {"--elements=5", "--elements=5|pipeline run"},
    {"-n 5", "--elements=5"},
    {"--device=sim:h200 --no-data", "--no-data"},
    {"--seed=3", "--seed=3"},
    {"--runs=3 --device=sim:h200", "--runs=3"},
    {"--profile", "--profile"},
    {"--tiles=auto", "--tiles=auto"},
    {"--format=json", "--format"},
    {"--format=csv", "--format"},
    {"--timeline=x.csv", "--timeline"},
    {"--gantt=none", "--gantt"},
    {"--size=paper", "--size"},
    {"--sweep=streams=1,2", "--sweep"},
    {"--machine=h200", "--machine"},
    {"--model=sim", "--model"},
    {"--dry-run", "--dry-run"},
    {"-v", "--verbose"},
    {"x.ini", "x.ini"},
    {"mine.ini --device=sim:h200", "mine.ini"},
    {"calibrate", "calibrate is not for `pipeline calibrate`"},
    {"--device=sim:h201", "h201|h200"},
    {"--device=gpu", "gpu"},
    {"--device=sim:./nowhere.ini", "./nowhere.ini"},
};

START_TEST(test_refusals)
{
    char arguments[128];
    snprintf(arguments, sizeof arguments, "calibrate %s", refusals[_i].arguments);
    run(arguments, 2);
    assert_holds("err", refusals[_i].words);
    char *text = test_file_text("err");
    ck_assert_msg(strchr(text, '\n') == text + strlen(text) - 1, "not one line: %s", text);
    free(text);
    assert_empty("out");
    ck_assert_int_ne(access("x.csv", F_OK), 0);
}
END_TEST

/* A device too small for the measurements. */
START_TEST(test_failures_print_nothing)
{
    run("calibrate --device=sim:v100", 0);
    ck_assert_int_eq(
        system("sed 's/^memory_bytes = .*/memory_bytes = 1000000/' out > small.ini"), 0);
    run("calibrate --device=sim:./small.ini", 1);
    assert_empty("out");
    assert_holds("err", "device memory|small");
}
END_TEST

START_TEST(test_full_disk_is_an_error)
{
    if (access("/dev/full", W_OK) != 0)
        return;
    int status = system(PIPELINE_PROGRAM " calibrate -q --device=sim:h200 >/dev/full 2>err");
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    assert_holds("err", "standard output can't be written");
}
END_TEST

Suite *calibrate_cli_suite(void)
{
    Suite *suite = suite_create("calibrate_cli");
    TCase *good = tcase_create("good input");
    tcase_add_checked_fixture(good, test_folder_enter, test_folder_leave);
    tcase_add_test(good, test_made_and_used);
    tcase_add_test(good, test_connections);
    tcase_add_test(good, test_auto_says_what_it_took);
    suite_add_tcase(suite, good);
    TCase *bad = tcase_create("bad input");
    tcase_add_checked_fixture(bad, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(bad, test_refusals, 0, sizeof refusals / sizeof refusals[0]);
    tcase_add_test(bad, test_failures_print_nothing);
    tcase_add_test(bad, test_no_device_is_77);
    tcase_add_test(bad, test_full_disk_is_an_error);
    suite_add_tcase(suite, bad);
    return suite;
}
