/* check_recorded.c - the plans of recorded programs: races, simulated times, critical paths. */
#include "recorded_plan.h"
#include "suites.h"

Suite *recorded_suite(void)
{
    Suite *s = suite_create("recorded");
    suite_add_tcase(s, recorded_hazards_case());
    suite_add_tcase(s, recorded_times_case());
    suite_add_tcase(s, recorded_threads_case());
    return s;
}
