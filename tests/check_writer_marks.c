/* check_writer_marks.c - what is marked and said of runs wherever they are shown: speed-ups,
 * and results that are wrong. */
#include "writer_cases.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- speed-ups --- */

START_TEST(speedups_are_of_the_same_work_on_the_same_device)
{
    struct test_report *test = test_report_new(8);
    struct run_report *runs = test->runs;
    test->settings[2].intensity = 7;
    strcpy(runs[3].device, "NVIDIA Tesla K20c");
    runs[4].elements = 1;
    runs[5].timeline.timing = TIMING_CUPTI;
    test->settings[6].intensity = 7;
    report_find_speedups(&test->report);
    ck_assert_double_eq(runs[0].speedup, 1);
    ck_assert_double_eq(runs[1].speedup, 1000.0 / 850);
    ck_assert_double_eq(runs[2].speedup, 1); /* it has its like in run 6 */
    ck_assert_double_eq(runs[6].speedup, 1);
    for (int alone = 3; alone < 6; alone++)
        ck_assert(isnan(runs[alone].speedup));
    ck_assert_double_eq(runs[7].speedup, 1000.0 / 450);
    test->report.run_count = 1;
    report_find_speedups(&test->report);
    ck_assert_double_eq(runs[0].speedup, 1);
    free(test);
}
END_TEST

START_TEST(a_wrong_result_has_no_speedup)
{
    struct test_report *test = test_report_new(3);
    test->runs[0].verified = VERIFIED_NO; /* nor is anything compared with it */
    report_find_speedups(&test->report);
    ck_assert(isnan(test->runs[0].speedup));
    ck_assert_double_eq(test->runs[1].speedup, 1);
    ck_assert_double_eq(test->runs[2].speedup, 850.0 / 550);
    char *text = test_written(&test->report, write_json);
    json_t *root = json_loads(text, 0, NULL);
    json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    ck_assert(json_is_null(json_object_get(run, "speedup")));
    json_decref(root);
    free(text);
    const struct writer_style plain = {.width = 80, .gantt = GANTT_ENGINES};
    text = test_text(&test->report, &plain);
    ck_assert_ptr_nonnull(strstr(text, "  WRONG\n"));
    free(text);
    text = test_gantt(&test->report, &plain);
    ck_assert_ptr_nonnull(strstr(text, "\nserial: 1 ms, WRONG RESULT, limit 500 us\n"));
    free(text);
    free(test);
}
END_TEST

TCase *writer_marks_case(void)
{
    TCase *marks = tcase_create("marks");
    tcase_add_test(marks, speedups_are_of_the_same_work_on_the_same_device);
    tcase_add_test(marks, a_wrong_result_has_no_speedup);
    return marks;
}
