/* check_writer_marks.c - what is marked and said of runs wherever they are shown: speed-ups,
 * results that are wrong, gaps with their causes, ops that raced, urgent streams, messages. */
#include "causes/judge.h"
#include "writer_cases.h"
#include "writers/cause.h"

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

/* --- gaps, races, urgent streams --- */

/* A run of two tiles in which the host waited for the first before it issued the second. */
enum { SECOND_H2D = 4, SECOND_KERNEL = 5 };

static struct test_report *marked_new(void)
{
    struct test_report *test = test_report_new(1);
    test->runs[0].timeline.span_count = 0;
    test_report_span(test, 0, OP_H2D, 0, 0, 0, 100);
    test_report_span(test, 0, OP_KERNEL, 0, 0, 100, 150);
    test_report_span(test, 0, OP_D2H, 0, 0, 150, 250);
    test_report_span(test, 0, OP_SYNC, 4, 0, 10, 260);
    test_report_span(test, 0, OP_H2D, 1, 1, 270, 370);
    test_report_span(test, 0, OP_KERNEL, 1, 1, 380, 430);
    test_report_span(test, 0, OP_D2H, 1, 1, 430, 530);
    return test;
}

static void add_verdict(struct test_report *test, enum verdict_code code, struct loss lost)
{
    struct verdicts *verdicts = &test->runs[0].verdicts;
    const int64_t cost_ns = lost.end_ns - lost.start_ns;
    verdicts->items[verdicts->count++] = (struct verdict){.code = code, .cost_ns = cost_ns};
    verdicts->lost.items[verdicts->lost.count++] = (struct charged){lost, cost_ns, code};
    verdicts->named = verdicts->count;
    verdicts->time_ns = 530;
}

/* Causes are placed in gaps of 170 and 10 ns that end together, each charged 10, 60 and more.
 */
START_TEST(no_time_is_marked_twice)
{
    struct test_report *test = marked_new();
    struct run_report *run = &test->runs[0];
    struct losses *lost = &run->verdicts.lost;
    struct marks marks;
    static const struct verdict causes[] = {{.code = VERDICT_LEGACY_STREAM, .cost_ns = 11},
                                            {.code = VERDICT_SYNC_IN_LOOP, .cost_ns = 60},
                                            {.code = VERDICT_ONE_STREAM, .cost_ns = 500}};
    struct account *account = malloc(sizeof *account);
    ck_assert_ptr_nonnull(account);
    account_begin(account, &run->timeline);
    account_place(account, VERDICT_LEGACY_STREAM, (struct loss){260, 270, SECOND_H2D});
    account_place(account, VERDICT_SYNC_IN_LOOP, (struct loss){100, 270, SECOND_H2D});
    account_place(account, VERDICT_ONE_STREAM, (struct loss){100, 270, SECOND_H2D});
    for (int i = 0; i < 3; i++)
        account_list_places(account, &causes[i], lost);
    ck_assert_uint_eq(lost->count, 3);
    ck_assert_int_eq(lost->items[0].at.end_ns, 270);
    for (int i = 1; i < 3; i++)
        ck_assert_int_eq(lost->items[i].at.end_ns, lost->items[i - 1].at.start_ns);
    ck_assert_int_eq(lost->items[1].cost_ns, 59); /* of a time in ns, rounded down */
    ck_assert_int_eq(lost->items[2].at.start_ns, 100);
    ck_assert_int_eq(writer_find_marks(run, &marks), STATUS_OK);
    ck_assert_uint_eq(marks.gap_count, 3);
    run->timeline.span_count = 0; /* as in a sweep, which keeps no timelines */
    ck_assert_int_eq(writer_find_marks(run, &marks), STATUS_OK);
    ck_assert_uint_eq(marks.gap_count, 0);
    free(account);
    free(test);
}
END_TEST

/* The second kernel runs beside the first for 10 ns; 1/25 of 530 ns are 21. */
START_TEST(ops_that_hardly_overlap_share_a_row)
{
    struct marks marks;
    struct test_report *test = marked_new();
    struct span *second = &test->runs[0].timeline.spans[SECOND_KERNEL];
    second->lane = 1;
    second->start_ns = 140;
    ck_assert_int_eq(writer_find_marks(&test->runs[0], &marks), STATUS_OK);
    ck_assert(marks.one_row[ENGINE_COMPUTE] && !marks.one_row[ENGINE_H2D]);
    second->start_ns = 120;
    ck_assert_int_eq(writer_find_marks(&test->runs[0], &marks), STATUS_OK);
    ck_assert(!marks.one_row[ENGINE_COMPUTE]);
    free(test);
}
END_TEST

START_TEST(marks_stand_above_the_spans)
{
    struct test_report *test = marked_new();
    struct run_report *run = &test->runs[0];
    struct hazard hazards[] = {{.first = 0, .second = 5}, {.first = 1, .second = 5}};
    add_verdict(test, VERDICT_SYNC_IN_LOOP, (struct loss){100, 270, SECOND_H2D});
    run->hazards = hazards;
    run->hazard_count = 2;
    run->verified = VERIFIED_NO;
    test->settings[0].priorities[1] = -5;
    test->settings[0].priority_count = 2;
    run->streams = 4;
    char *text = test_written(&test->report, write_csv_timeline);
    ck_assert_ptr_nonnull(strstr(text, "\n# message: serial: WRONG RESULT: the host waits"));
    ck_assert_ptr_nonnull(strstr(text, "\n#   verified: no\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "\n#   gaps: sync-in-loop 4 100 270\n#   lost_ns: sync-in-loop=170\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n#   raced: 0 1 5\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n#   urgent: 1 3\n"));
    free(text);
    test->settings[0].priority_count = 1; /* all are alike */
    text = test_written(&test->report, write_csv_timeline);
    ck_assert_ptr_null(strstr(text, "urgent"));
    free(text);
    free(test);
}
END_TEST

/* Each mark stands under its row: 53 columns of 10 ns behind the labels. */
START_TEST(the_gantt_has_the_marks)
{
    struct test_report *test = marked_new();
    struct run_report *run = &test->runs[0];
    struct hazard hazard = {.first = 1, .second = 6};
    struct writer_style style = {.width = 12 + 53 + 1, .gantt = GANTT_ENGINES};
    add_verdict(test, VERDICT_SYNC_IN_LOOP, (struct loss){100, 270, SECOND_H2D});
    add_verdict(test, VERDICT_FEW_BLOCKS, (struct loss){380, 430, SECOND_KERNEL});
    run->hazards = &hazard;
    run->hazard_count = 1;
    char *text = test_gantt(&test->report, &style);
    ck_assert_ptr_nonnull(strstr(text,
                                 "\n                      ^^^^^^^^^^^^^^^^^ sync-in-loop\n"
                                 "  kernel "));
    ck_assert_ptr_nonnull(strstr(text, "\n                      !!!!!\n                      "
                                       "                 few-blocks ^^^^^\n  D2H "));
    ck_assert_ptr_nonnull(strstr(text, "!!!!!!!!!!\n  host "));
    ck_assert_ptr_nonnull(strstr(text, "^^ lost to that cause"));
    ck_assert_ptr_nonnull(strstr(text, "!! raced"));
    test_lines(text, style.width);
    free(text);
    style.gantt = GANTT_STREAMS;
    text = test_gantt(&test->report, &style);
    ck_assert_ptr_nonnull(strstr(text, "^^^ sync-in-loop   !!!!!!!!!!\n"));
    ck_assert_ptr_nonnull(strstr(text, " few-blocks ^^^^^\n"));
    free(text);
    free(test);
}
END_TEST

/* --- messages --- */

START_TEST(a_comparison_says_which_is_how_much_faster)
{
    char text[MESSAGE_TEXT];
    struct test_report *test = test_report_new(4);
    test->runs[0].verdicts.items[0] =
        (struct verdict){.code = VERDICT_ONE_STREAM, .cost_ns = 500000};
    test->runs[0].verdicts.named = 1;
    writer_message(&test->report, text);
    ck_assert_str_eq(
        text, "4-way is 2.22x as fast as serial, which lost 500 us because all is in one "
              "stream, where each op waits for the one before it");
    test->report.message = "One stream overlaps nothing.";
    writer_message(&test->report, text);
    ck_assert_str_eq(text, "One stream overlaps nothing.");
    test->report.message = NULL;
    for (int i = 0; i < 4; i++)
        test->runs[i].median_ns = 1000000 + i;
    writer_message(&test->report, text);
    ck_assert_str_eq(text, "All 4 runs take about the same time, 1 ms");
    for (int i = 0; i < 4; i++)
        test->settings[i].intensity = (uint32_t)i + 1; /* no two do the same work */
    writer_message(&test->report, text);
    ck_assert_str_eq(text, "");
    test->runs[2].verified = VERIFIED_NO;
    writer_message(&test->report, text);
    ck_assert_str_eq(text, "3-way: WRONG RESULT");
    free(test);
}
END_TEST

/* Fixes of other causes are no answer to the first one, and are left to the report. */
START_TEST(a_cause_stands_with_no_fix_of_others)
{
    char text[MESSAGE_TEXT];
    struct test_report *test = test_report_new(1);
    struct verdicts *verdicts = &test->runs[0].verdicts;
    verdicts->items[0] = (struct verdict){.code = VERDICT_HOST_WORK, .cost_ns = 500000};
    verdicts->named = 1;
    verdicts->time_ns = 1000000;
    verdicts->best_ns = 900000;
    test->runs[0].foreign = true;
    strcpy(verdicts->best, "small-tiles and one-stream");
    writer_run_message(&test->runs[0], false, text);
    ck_assert_ptr_nonnull(strstr(text, "host-work costs 500 us of 1 ms"));
    ck_assert_ptr_null(strstr(text, "small-tiles"));
    strcpy(verdicts->best, "pinned-alloc-in-loop and one-stream");
    verdicts->items[0].code = VERDICT_ALLOC_IN_LOOP;
    writer_run_message(&test->runs[0], false, text);
    ck_assert_ptr_null(strstr(text, "one-stream"));
    verdicts->items[0].code = VERDICT_HOST_WORK;
    strcpy(verdicts->best, "host-work and one-stream");
    writer_run_message(&test->runs[0], false, text);
    ck_assert_ptr_nonnull(
        strstr(text, "; without host-work and one-stream it would take 900 us"));
    free(test);
}
END_TEST

TCase *writer_marks_case(void)
{
    TCase *marks = tcase_create("marks");
    tcase_add_test(marks, no_time_is_marked_twice);
    tcase_add_test(marks, ops_that_hardly_overlap_share_a_row);
    tcase_add_test(marks, a_cause_stands_with_no_fix_of_others);
    tcase_add_test(marks, marks_stand_above_the_spans);
    tcase_add_test(marks, the_gantt_has_the_marks);
    tcase_add_test(marks, a_comparison_says_which_is_how_much_faster);
    tcase_add_test(marks, speedups_are_of_the_same_work_on_the_same_device);
    tcase_add_test(marks, a_wrong_result_has_no_speedup);
    return marks;
}
