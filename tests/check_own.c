/* check_own.c - kernels of users' own, from libraries: alone and in chains, under every way,
 * and what no such library is. */
#include "fixtures.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN BUILD_FOLDER "/tests/own/"

static const char *const right[] = {
    "-k " OWN "SOFT.so",
    "-k " OWN "SOFT.so --order=breadth --layout=stage --callbacks",
    "-k " OWN "SOFT.so -w 1",
    "-k " OWN "SOFT.so -w 2",
    "-k " OWN "SOFT.so -w 4 --cpu-share=0.3",
    "-k " OWN "SOFT.so --issue=graph",
    "-k " OWN "SOFT.so --issue=batch --batch=3",
    "-k " OWN "SOFT.so --memory=mapped",
    "-k " OWN "SOFT.so --alloc=async --memory=pageable",
    "-k " OWN "SOFT.so -d sim:h200*3",
    "-k " OWN "SOFT.so --scatter",
    "-k " OWN "AXPY.so",
    "-k " OWN "AXPY.so --scatter --order=breadth",
    "-k " OWN "TOTAL.so",
    "-k " OWN "TOTAL.so -w 4 --cpu-share=0.5",
    "-k scan," OWN "TOTAL.so",
    "-k scale," OWN "SOFT.so,sum",
    "-k " OWN "AXPY.so," OWN "SOFT.so,scale," OWN "AXPY.so",
    "-k wave," OWN "SOFT.so -d sim:h200*2 --spread=chain",
    "-k " OWN "SOFT.so --tiles=auto --streams=auto",
};
START_TEST(results_are_right)
{
    char line[1024];
    snprintf(line, sizeof line, "-q -d sim:h200 -n 100003 -t 13 --intensity=2 --format=json %s",
             right[_i]);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
    assert_has(program_out, "\"verified\": true");
    assert_has(program_out,
               OWN); /* the settings name the library, so that they can be used again */
}
END_TEST

/* Reports and pictures have the kernel's own name. */
START_TEST(reports_name_it)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M --gantt=none -k scale," OWN "SOFT.so"),
                     0);
    assert_has(program_out, "scale,mine");
}
END_TEST

/* A result that depends on the tiles is none. */
START_TEST(places_are_told)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M -t 8 --gantt=none -k " OWN "PLACE.so"),
                     1);
    assert_has(program_err, "wrong result: tile 0, element 512");
}
END_TEST

static const struct {
    const char *library, *words;
} refused[] = {
    {OWN "NONE.so", "it defines no pipeline_kernel"},
    {OWN "NEWER.so", "version 2 of pipeline/kernel.h, and this program has version 1"},
    {OWN "NONAME.so", "its name is not"},
    {OWN "SPACED.so", "its name is not"},
    {OWN "TAKEN.so", "its name is that of a kernel of pipeline's"},
    {OWN "TWINLESS.so", "it has no CPU twin"},
    {OWN "INPUTS.so", "it reads neither 1 array nor 2"},
    {OWN "TYPES.so", "its types"},
    {OWN "COST.so", "its cost"},
    {OWN "PAIR.so", "a reduction reads one array"},
    {OWN "WIDE.so", "its tolerance"},
    {OWN "MISSING.so", "can't be opened as a library"},
    {"missing.so", "can't be opened as a library"},
    {"./", "can't be opened as a library"},
    {TESTS_FOLDER "/check_own.c", "can't be opened as a library"},
    {"scale," OWN "TOTAL.so", "leaves float32, mine takes int32"},
    {OWN "TOTAL.so,scale", "leaves one value per tile"},
    {OWN "SOFT.so --emit=-", "the kernel mine can't be written"},
};
START_TEST(others_are_refused)
{
    char line[1024];
    snprintf(line, sizeof line, "-q -d sim:h200 -n 1M -k %s", refused[_i].library);
    ck_assert_msg(program_run(line) == 2, "%s: %s", line, program_out);
    assert_has(program_err, refused[_i].words);
    ck_assert_ptr_eq(strchr(program_err, '\n'), program_err + strlen(program_err) - 1);
}
END_TEST

/* Whose code it was that crashed is said, and with which signal. */
START_TEST(crashes_are_told)
{
    ck_assert_int_ne(program_run("-q -d sim:h200 -n 1M -k " OWN "CRASH.so"), 0);
    assert_has(program_err, "pipeline: " OWN "CRASH.so: the CPU twin of your kernel crashed: "
                            "Segmentation fault. That is the library's own code\n");
    ck_assert_str_eq(program_out, "");
    ck_assert_int_ne(program_run("-q -d sim:h200 -n 1M -k " OWN "GARBLED.so"), 0);
    assert_has(program_err,
               "GARBLED.so: what it calls pipeline_kernel is none: reading it crashed");
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M -k " OWN "EXIT.so"), 1);
    assert_has(program_err, "pipeline: the library of your kernel ended the program\n");
    ck_assert_str_eq(program_out, "");
}
END_TEST

/* What a file was written for is told from it, and opens no library: nothing that came from
 * elsewhere is run because somebody looks at it. */
START_TEST(files_open_none)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M --gantt=none --timeline=own.csv "
                                 "--timeline=own.html -k " OWN "SOFT.so"),
                     0);
    ck_assert_int_eq(program_run("-q view own.csv"), 0);
    assert_has(program_out, "kernel");
    remove("own.csv");
    remove("own.html");
}
END_TEST

Suite *own_suite(void)
{
    Suite *suite = suite_create("own");
    TCase *tests = tcase_create("own");
    tcase_add_checked_fixture(tests, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(tests, results_are_right, 0, sizeof right / sizeof right[0]);
    tcase_add_test(tests, reports_name_it);
    tcase_add_test(tests, places_are_told);
    tcase_add_loop_test(tests, others_are_refused, 0, sizeof refused / sizeof refused[0]);
    tcase_add_test(tests, crashes_are_told);
    tcase_add_test(tests, files_open_none);
    suite_add_tcase(suite, tests);
    return suite;
}
