/* check_writer_predictions.c - what --model predicted, as text, JSON and CSV. */
#include "writer_cases.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Serial and 2-way, of 1 ms and of 2: the prediction is right for the one alone. */
static struct test_report *predicted_report(void)
{
    struct test_report *test = test_report_new(2);
    test->runs[0].median_ns = 1000000;
    test->runs[1].median_ns = 2000000;
    test->runs[0].predicted_ns = 1000000;
    test->runs[1].predicted_ns = 1900000;
    test->runs[1].predicted = (struct time_range){1850000, 1990000};
    return test;
}

static enum status write_80(FILE *out, const struct report *report)
{
    write_predictions(out, report, &(struct writer_style){.width = 80});
    return STATUS_OK;
}

static enum status write_20(FILE *out, const struct report *report)
{
    write_predictions(out, report, &(struct writer_style){.width = 24});
    return STATUS_OK;
}

static void assert_table(const struct test_report *test, const char *wanted)
{
    char *text = test_written(&test->report, write_80);
    ck_assert_str_eq(text, wanted);
    free(text);
}

START_TEST(predictions_are_a_table)
{
    struct test_report *test = predicted_report();
    assert_table(test, "\nrun     time     sim  off by         interval\n"
                       "serial  1 ms    1 ms   +0.0%                -\n"
                       "2-way   2 ms  1.9 ms   -5.0%  1.85 to 1.99 ms\n");
    free(test);
}
END_TEST

START_TEST(nothing_predicted_is_no_table)
{
    struct test_report *test = test_report_new(2);
    assert_table(test, "");
    free(test);
}
END_TEST

/* Narrower than the table: a prediction and its error stay together. */
START_TEST(predictions_are_folded)
{
    struct test_report *test = predicted_report();
    char *text = test_written(&test->report, write_20);
    test_lines(text, 24);
    ck_assert_ptr_nonnull(strstr(text, "\nrun        sim  off by\n"));
    free(text);
    free(test);
}
END_TEST

static void assert_prediction(const json_t *run, size_t index, const char *model, double ms,
                              double error)
{
    const json_t *one = json_array_get(json_object_get(run, "predictions"), index);
    ck_assert_str_eq(json_string_value(json_object_get(one, "model")), model);
    ck_assert_double_eq(json_real_value(json_object_get(one, "ms")), ms);
    ck_assert_double_eq_tol(json_real_value(json_object_get(one, "error")), error, 1e-12);
}

START_TEST(predictions_are_in_the_json_report)
{
    struct test_report *test = predicted_report();
    char *text = test_written(&test->report, write_json);
    json_t *report = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(report);
    const json_t *runs = json_object_get(report, "runs");
    const json_t *first = json_array_get(runs, 0), *second = json_array_get(runs, 1);
    ck_assert_uint_eq(json_array_size(json_object_get(first, "predictions")), 1);
    assert_prediction(first, 0, "sim", 1, 0);
    ck_assert_uint_eq(json_array_size(json_object_get(second, "predictions")), 1);
    assert_prediction(second, 0, "sim", 1.9, -0.05);
    json_decref(report);
    free(text);
    free(test);
}
END_TEST

START_TEST(predictions_are_in_the_csv_report)
{
    struct test_report *test = predicted_report();
    char *text = test_written(&test->report, write_csv_report);
    ck_assert_ptr_nonnull(strstr(text, ",device_bytes,predicted_sim_ms,settings.elements,"));
    ck_assert_ptr_nonnull(strstr(text, ",2097152,1.000000,"));
    ck_assert_ptr_nonnull(strstr(text, ",2097152,1.900000,"));
    free(text);
    free(test);
}
END_TEST

TCase *writer_predictions_case(void)
{
    TCase *tcase = tcase_create("predictions");
    tcase_add_test(tcase, predictions_are_a_table);
    tcase_add_test(tcase, nothing_predicted_is_no_table);
    tcase_add_test(tcase, predictions_are_folded);
    tcase_add_test(tcase, predictions_are_in_the_json_report);
    tcase_add_test(tcase, predictions_are_in_the_csv_report);
    return tcase;
}
