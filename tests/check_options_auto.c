/* check_options_auto.c - what is left to the simulator, and which machine it is asked of. */
#include "options_cases.h"

/* Zeroes, which the job replaces; of --model and --machine there is one for all runs. */
START_TEST(auto_and_models_are_taken)
{
    struct options options = parse_right(LINE("-t", "auto", "--streams=auto", "-n1"));
    ck_assert_uint_eq(options.runs[0].tiles, 0);
    ck_assert_uint_eq(options.runs[0].streams, 0);
    ck_assert_int_eq(options.model, MODEL_NONE);
    ck_assert_ptr_null(options.machine);
    options_free(&options);
    options = parse_right(LINE("-tauto", "-t8", "--machine=c2050", "--model=sim"));
    ck_assert_uint_eq(options.runs[0].tiles, 8);
    ck_assert_str_eq(options.machine, "c2050");
    ck_assert_int_eq(options.model, MODEL_SIM);
    options_free(&options);
    options = parse_right(LINE("--sweep=ways=1..3", "-sauto", "--machine=./mine.ini"));
    ck_assert_uint_eq(options.runs[0].streams, 1); /* serial: nothing to choose */
    ck_assert_uint_eq(options.runs[1].streams, 0);
    options_free(&options);
}
END_TEST

/* The way to issue is kept open, and with it whether memory was given, wherever that was. */
START_TEST(issue_auto_is_taken)
{
    struct options options = parse_right(LINE("--issue=auto", "--machine=c2050", "--batch=8"));
    ck_assert_int_eq(options.runs[0].issue, ISSUE_AUTO);
    ck_assert(settings_are_open(&options.runs[0]));
    ck_assert(!options.runs[0].memory_given && !options.runs[0].layout_given);
    options_free(&options);
    options =
        parse_right(LINE("--issue=auto", "--memory=pinned", "--layout=tile", "--profile"));
    ck_assert(options.runs[0].memory_given && options.runs[0].layout_given);
    options_free(&options);
    options = parse_right(LINE("--issue=auto", "--sweep=memory=pinned,mapped"));
    ck_assert(options.runs[0].memory_given && options.runs[1].memory_given);
    options_free(&options);
    options = parse_right(LINE("--sweep=issue=streams,auto,graph"));
    ck_assert_int_eq(options.runs[1].issue, ISSUE_AUTO);
    ck_assert(!settings_are_open(&options.runs[2]));
    options_free(&options);
}
END_TEST

/* So are order and layout, of which the latter does not count as given then. */
START_TEST(order_and_layout_are_taken)
{
    struct options options = parse_right(LINE("--order=auto", "--layout=auto"));
    ck_assert_int_eq(options.runs[0].order, ORDER_AUTO);
    ck_assert_int_eq(options.runs[0].layout, LAYOUT_AUTO);
    ck_assert(settings_are_open(&options.runs[0]));
    ck_assert(!options.runs[0].layout_given);
    options_free(&options);
    options = parse_right(LINE("--sweep=order=depth,auto", "--layout=stage", "--machine=h200"));
    ck_assert(!settings_are_open(&options.runs[0]) && settings_are_open(&options.runs[1]));
    ck_assert(options.runs[1].layout_given);
    options_free(&options);
}
END_TEST

TCase *options_auto_tcase(void)
{
    TCase *tcase = tcase_create("auto");
    tcase_add_test(tcase, auto_and_models_are_taken);
    tcase_add_test(tcase, issue_auto_is_taken);
    tcase_add_test(tcase, order_and_layout_are_taken);
    return tcase;
}
