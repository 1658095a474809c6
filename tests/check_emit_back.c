/* check_emit_back.c - recordings of emitted programs give back the plans that these were made
 * of. */
#include "fixtures.h"
#include "suites.h"
#include "test_emit.h"
#include "test_emit_back.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdio.h>

#define EMITTED TESTS_FOLDER "/recordings/emitted/"

/* Has the program print the plan of `options`. */
static void print_plan(const char *options)
{
    char line[OPTIONS_TEXT];
    snprintf(line, sizeof line, "-q -d sim:h200 %s --dry-run --format=json", options);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
}

/* Recorded on an H100 by `pipeline record`: the programs of these options' plans. */
static const struct {
    const char *file, *options;
} recorded[] = {
    {EMITTED "scale.jsonl", "-n 16M -t 8 -s 3"},
    {EMITTED "own.jsonl", "-n 16M -t 13 -s 3 -k ./half.so"},
};

START_TEST(recordings_give_back_plans)
{
    char why[DIFFERENCE_TEXT] = "";
    emit_libraries();
    print_plan(recorded[_i].options);
    ck_assert_msg(emit_gives_back(recorded[_i].file, 6, false, why), "%s: %s",
                  recorded[_i].file, why);
}
END_TEST

/* The comparison is no good that holds for other plans. */
START_TEST(other_plans_are_told_apart)
{
    static const char *const others[][2] = {
        {"-n 16M -t 8 -s 2", "is in another stream"},
        {"-n 16M -t 8 -s 4", "is in another stream"},
        {"-n 16M -t 16 -s 3", "a run has 24 ops, not 48"},
        {"-n 16777208 -t 8 -s 3", "bytes of host.in0+0 are 8388608"},
        {"-n 16M -t 8 -s 3 --order=breadth", "op 1, h2d 1, is kernel"},
        {"-n 16M -t 8 -s 3 --layout=stage", "a run has 24 ops, not"},
        {"-n 16M -t 8 -s 3 -k wave", "a run has 24 ops, not 32"},
        {"-n 16M -t 8 -s 3 -k uniform", "uniform 0 is the kernel scale"},
        {"-n 16M -t 8 -s 3 --blocks=7", "scale 0 has 1056 blocks, not 7"},
    };
    char why[DIFFERENCE_TEXT] = "";
    print_plan(others[_i][0]);
    ck_assert(!emit_gives_back(recorded[0].file, 6, false, why));
    assert_has(why, others[_i][1]);
}
END_TEST

START_TEST(runs_are_counted)
{
    char why[DIFFERENCE_TEXT] = "";
    print_plan(recorded[0].options);
    ck_assert(!emit_gives_back(recorded[0].file, 5, false, why));
    assert_has(why, "there are 6 runs, not 5");
}
END_TEST

Suite *emit_back_suite(void)
{
    Suite *suite = suite_create("emit_back");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 600);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(all, recordings_give_back_plans, 0, 2);
    tcase_add_loop_test(all, other_plans_are_told_apart, 0, 9);
    tcase_add_test(all, runs_are_counted);
    suite_add_tcase(suite, all);
    return suite;
}
