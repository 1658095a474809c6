/* check_plot_failures.c - what is said where gnuplot can't draw, and pictures drawn by hand and
 * by the program. */
#include "plot_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- what is said where it can't be drawn --- */

/* Refused with one line that has all of `words` (separated by '|'); the data is kept. */
static void assert_kept(const struct report *report, const char *words)
{
    char list[256];
    size_t size;
    struct error error = {0};
    ck_assert_int_eq(plot_test_draw(report, "x.svg", &plot_slide, &error), STATUS_FAILED);
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok(list, "|"); word != NULL; word = strtok(NULL, "|"))
        ck_assert_msg(strstr(error.text, word) != NULL, "no '%s' in: %s", word, error.text);
    ck_assert_ptr_null(strchr(error.text, '\n'));
    ck_assert_msg(access("x.svg", F_OK) != 0, "half a picture was left behind");
    char *kept = plot_read_file("x.svg.csv", &size);
    char *expected = test_written(report, write_csv_timeline);
    ck_assert_str_eq(kept, expected);
    ck_assert_int_eq(unlink("x.svg.csv"), 0);
    free(kept);
    free(expected);
}

START_TEST(without_gnuplot_the_data_is_kept)
{
    struct test_report *test = test_report_new(2);
    setenv("PATH", "/nonexistent", 1);
    assert_kept(&test->report, "cannot draw 'x.svg'|no gnuplot|gnuplot-nox|'x.svg.csv'");
    free(test);
}
END_TEST

/* Scripts in gnuplot's place fail in the ways that a gnuplot can, and each must be reported. */
START_TEST(whatever_gnuplot_does_is_said)
{
    static const struct {
        const char *script, *says;
    } cases[] = {
        {"#!/bin/sh\nprintf '\\nset x\\n    ^\\nline 1: unknown\\n\\n' >&2\nexit 1\n",
         "gnuplot: line 1: unknown;|'x.svg.csv'"},
        {"#!/bin/sh\nprintf 'sh: 1: awk: not found\n\nline 9: cannot\n' >&2\nexit 1\n",
         "gnuplot: awk: not found;"},
        {"#!/bin/sh\nexit 3\n", "gnuplot: it gives no reason"},
        {"#!/bin/sh\nkill -9 $$\n", "ended by signal 9"},
        {"#!/bin/sh\nexit 0\n", "drew nothing"},
    };
    char path[128], before[4096];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    struct test_report *test = test_report_new(1);
    ck_assert_int_eq(mkdir("bin", 0755), 0);
    snprintf(path, sizeof path, "%s/bin", plot_folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        plot_write_file("bin/gnuplot", cases[i].script, 0755);
        setenv("PATH", path, 1);
        assert_kept(&test->report, cases[i].says);
        setenv("PATH", before, 1);
    }
    free(test);
}
END_TEST

START_TEST(scripts_come_from_a_folder)
{
    size_t size;
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(1);
    ck_assert_int_eq(mkdir("it's \"mine\"", 0755), 0);
    setenv("PIPELINE_PLOTS", "it's \"mine\"", 1);
    assert_kept(&test->report, "PIPELINE_PLOTS|timeline.gp|No such file");
    plot_write_file("it's \"mine\"/timeline.gp", "a = 1\nset nonsense\n", 0644);
    assert_kept(&test->report, "timeline.gp|line 2");
    plot_write_file("it's \"mine\"/timeline.gp",
                    "set print '-'\nprint sprintf('%s %s %s', ARG2, ARG3, ARG4)\n", 0644);
    plot_assert_drawn(&test->report, "mine.svg", &plot_slide);
    char *text = plot_read_file("mine.svg", &size);
    ck_assert_str_eq(text, ".svg slide both\n");
    free(text);
    free(test);
}
END_TEST

START_TEST(data_that_cannot_be_written_is_a_failure)
{
    struct error error = {0};
    struct test_report *test = test_report_new(1);
    ck_assert_int_eq(mkdir("x.svg.csv", 0755), 0);
    ck_assert_int_eq(plot_test_draw(&test->report, "x.svg", &plot_slide, &error),
                     STATUS_FAILED);
    ck_assert_msg(strstr(error.text, "x.svg.csv") != NULL, "%s", error.text);
    ck_assert_int_ne(access("x.svg", F_OK), 0);
    free(test);
}
END_TEST

/* --- by hand --- */

START_TEST(kinds_of_ops_are_those_of_the_program)
{
    size_t size;
    ck_assert_int_eq(
        system("echo @plot-ops@ | " BUILD_FOLDER "/print-pages /usr >ops.gp 2>err"), 0);
    char *made = plot_read_file("ops.gp", &size);
    char *kept = plot_read_file(TESTS_FOLDER "/../plots/ops.gp", &size);
    ck_assert_msg(strcmp(made, kept) == 0, "plots/ops.gp is not of today: run make ops");
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        ck_assert_ptr_nonnull(strstr(kept, op_rows[kind].label));
    free(made);
    free(kept);
}
END_TEST

int plot_by_hand(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "gnuplot -c " TESTS_FOLDER "/../plots/%s 2>err",
             arguments);
    return system(command);
}

START_TEST(scripts_run_by_hand)
{
    size_t size;
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(4);
    char *data = test_written(&test->report, write_csv_timeline);
    plot_write_file("it's a=b.csv", data, 0644);
    free(data);
    free(test);
    ck_assert_int_eq(plot_by_hand("timeline.gp \"it's a=b.csv\" \"it's.svg\""), 0);
    ck_assert_int_eq(rename("it's.svg", "its.svg"), 0);
    plot_assert_texts("its.svg", "serial|4-way");
    ck_assert_int_eq(plot_by_hand("timeline.gp \"it's a=b.csv\" one.svg paper both 3"), 0);
    plot_assert_texts("one.svg", "engines|streams|1.82x, limit 500 us");
    ck_assert_int_eq(plot_by_hand("bandwidth.gp \"it's a=b.csv\" bandwidth.svg"), 0);
    plot_assert_texts("bandwidth.svg",
                      "bandwidth against copy size|1 MiB|H2D|D2H|bytes per copy");
    ck_assert_int_ne(plot_by_hand("timeline.gp \"it's a=b.csv\" x.svg slide both 5"), 0);
    char *text = plot_read_file("err", &size);
    ck_assert_ptr_nonnull(strstr(text, "there is no run 5: there are 4"));
    free(text);
    ck_assert_int_ne(plot_by_hand("timeline.gp nowhere.csv x.svg"), 0);
    ck_assert_int_ne(plot_by_hand("sweep.gp \"it's a=b.csv\" x.svg"), 0);
    ck_assert_int_ne(plot_by_hand("timeline.gp \"it's a=b.csv\" x.doc"), 0);
}
END_TEST

/* Spreadsheets drop the lines of provenance, and end lines with CR LF. */
START_TEST(bare_and_foreign_lines_are_drawn)
{
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(2);
    char *data = test_written(&test->report, write_csv_timeline);
    plot_write_file("whole.csv", data, 0644);
    free(data);
    free(test);
    ck_assert_int_eq(system("grep -v '^#' whole.csv >bare.csv"), 0);
    ck_assert_int_eq(system("sed 's/$/\\r/' whole.csv >crlf.csv"), 0);
    ck_assert_int_eq(plot_by_hand("timeline.gp whole.csv whole.svg"), 0);
    ck_assert_int_eq(plot_by_hand("timeline.gp bare.csv bare.svg"), 0);
    ck_assert_int_eq(plot_by_hand("timeline.gp crlf.csv crlf.svg"), 0);
    for (int engine = 0; engine < ENGINE_CPU; engine++) {
        ck_assert_int_eq(plot_boxes("bare.svg", engine), plot_boxes("whole.svg", engine));
        ck_assert_int_eq(plot_boxes("crlf.svg", engine), plot_boxes("whole.svg", engine));
    }
    plot_assert_texts("bare.svg", "serial|2-way|H2D|0|3");
    plot_assert_texts("crlf.svg", "serial|2-way|1 ms|1.00x");
}
END_TEST

/* --- the program --- */

START_TEST(the_program_draws)
{
    size_t size;
    static const char run[] = PIPELINE_PROGRAM
        " --device=sim:h200 --no-data -q -n 1M -t 4 --timeline=x.svg >out 2>err </dev/null";
    static const char hidden[] =
        "PATH=/nonexistent " PIPELINE_PROGRAM
        " --device=sim:h200 --no-data -q -n 1M -t 4 --timeline=y.svg >out 2>err </dev/null";
    static const char piped[] =
        "ln -s /dev/stdout z.svg; " PIPELINE_PROGRAM
        " --device=sim:h200 --no-data -q -n 1M -t 4 --timeline=z.svg --gantt=none | cat >z";
    int ended = system(hidden);
    ck_assert_int_eq(WEXITSTATUS(ended), 1);
    char *text = plot_read_file("err", &size);
    ck_assert_int_eq(plot_count(text, "\n"), 1);
    free(text);
    ck_assert_int_eq(access("y.svg.csv", F_OK), 0);
    if (!plot_have_gnuplot())
        return;
    ck_assert_int_eq(system(run), 0);
    plot_assert_texts("x.svg", "engines|streams|H2D");
    ck_assert_int_ne(access("x.svg.csv", F_OK), 0);
    ck_assert_int_eq(system(piped), 0);
    text = plot_read_file("z", &size);
    ck_assert_ptr_nonnull(strstr(text, "</svg>"));
    free(text);
}
END_TEST

TCase *plot_hand_case(void)
{
    TCase *tests = tcase_create("hand");
    tcase_add_checked_fixture(tests, plot_enter_folder, plot_leave_folder);
    tcase_add_test(tests, scripts_run_by_hand);
    tcase_add_test(tests, bare_and_foreign_lines_are_drawn);
    tcase_add_test(tests, the_program_draws);
    tcase_add_test(tests, kinds_of_ops_are_those_of_the_program);
    return tests;
}

TCase *plot_failure_case(void)
{
    TCase *tests = tcase_create("failures");
    tcase_add_checked_fixture(tests, plot_enter_folder, plot_leave_folder);
    tcase_add_test(tests, without_gnuplot_the_data_is_kept);
    tcase_add_test(tests, whatever_gnuplot_does_is_said);
    tcase_add_test(tests, scripts_come_from_a_folder);
    tcase_add_test(tests, data_that_cannot_be_written_is_a_failure);
    return tests;
}
