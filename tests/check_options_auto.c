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

TCase *options_auto_tcase(void)
{
    TCase *tcase = tcase_create("auto");
    tcase_add_test(tcase, auto_and_models_are_taken);
    return tcase;
}
