/* check_analysis.c - busy time and concurrency of timelines computed by hand. */
#include "analysis/analysis.h"
#include "fixtures.h"
#include "suites.h"

#include <stdlib.h>

static struct analysis analysis_of(struct span *spans, uint32_t count)
{
    struct timeline timeline = {0};
    struct analysis analysis;
    struct error error = {0};
    timeline.spans = spans;
    timeline.span_count = count;
    ck_assert_int_eq(analyse(&timeline, &analysis, &error), STATUS_OK);
    return analysis;
}

START_TEST(test_empty)
{
    struct analysis analysis = analysis_of(NULL, 0);
    ck_assert_int_eq(analysis.time_ns, 0);
    ck_assert_double_eq(analysis.concurrency, 0);
    ck_assert_double_eq(analysis.engines[ENGINE_H2D].utilisation, 0);
}
END_TEST

/* In 0-40 and 50-90; kernels 40-60, 50-80 (union 40 ns) and, inside, 55-57; out 80-100. */
START_TEST(test_union_of_overlapping_spans)
{
    struct span spans[] = {
        {.engine = ENGINE_COMPUTE, .start_ns = 50, .end_ns = 80},
        {.engine = ENGINE_H2D, .bytes = 7, .start_ns = 0, .end_ns = 40},
        {.engine = ENGINE_H2D, .bytes = 5, .start_ns = 50, .end_ns = 90},
        {.engine = ENGINE_COMPUTE, .start_ns = 55, .end_ns = 57},
        {.engine = ENGINE_COMPUTE, .start_ns = 40, .end_ns = 60},
        {.engine = ENGINE_D2H, .bytes = 3, .start_ns = 80, .end_ns = 100},
        {.engine = ENGINE_NONE, .start_ns = 0, .end_ns = 100},
        {.engine = ENGINE_HOST, .start_ns = 0, .end_ns = 100},
    };
    struct analysis analysis = analysis_of(spans, 8);
    ck_assert_int_eq(analysis.time_ns, 100);
    ck_assert_int_eq(analysis.engines[ENGINE_H2D].busy_ns, 80);
    ck_assert_uint_eq(analysis.engines[ENGINE_H2D].bytes, 12);
    ck_assert_int_eq(analysis.engines[ENGINE_COMPUTE].busy_ns, 40);
    ck_assert_uint_eq(analysis.engines[ENGINE_COMPUTE].spans, 3);
    ck_assert_int_eq(analysis.engines[ENGINE_D2H].busy_ns, 20);
    ck_assert_int_eq(analysis.engines[ENGINE_CPU].busy_ns, 0);
    ck_assert_double_eq_tol(analysis.engines[ENGINE_H2D].utilisation, 0.8, 1e-12);
    ck_assert_double_eq_tol(analysis.concurrency, 1.52,
                            1e-12); /* spans side by side count each */
}
END_TEST

/* Eight kernels at once, and nothing else, are a concurrency of eight on one engine that is
 * busy. */
START_TEST(test_kernels_beside_kernels)
{
    struct span spans[8];
    for (int i = 0; i < 8; i++)
        spans[i] = (struct span){.engine = ENGINE_COMPUTE, .start_ns = 0, .end_ns = 50};
    struct analysis analysis = analysis_of(spans, 8);
    ck_assert_double_eq_tol(analysis.engines[ENGINE_COMPUTE].utilisation, 1, 1e-12);
    ck_assert_double_eq_tol(analysis.concurrency, 8, 1e-12);
}
END_TEST

START_TEST(test_zero_length_spans)
{
    struct span spans[] = {{.engine = ENGINE_H2D, .start_ns = 5, .end_ns = 5},
                           {.engine = ENGINE_H2D, .start_ns = 5, .end_ns = 5}};
    struct analysis analysis = analysis_of(spans, 2);
    ck_assert_int_eq(analysis.engines[ENGINE_H2D].busy_ns, 0);
    ck_assert_int_eq(analysis.time_ns, 5);
}
END_TEST

START_TEST(test_median)
{
    int64_t odd[] = {9, 1, 5}, even[] = {4, 1, 9, 2}, one[] = {7};
    int64_t large[] = {INT64_MAX, INT64_MAX - 2};
    ck_assert_int_eq(median_ns(odd, 3), 5);
    ck_assert_int_eq(odd[0], 1);
    ck_assert_int_eq(odd[2], 9);
    ck_assert_int_eq(median_ns(even, 4), 3);
    ck_assert_int_eq(median_ns(one, 1), 7);
    ck_assert_int_eq(median_ns(large, 2), INT64_MAX - 1);
}
END_TEST

Suite *analysis_suite(void)
{
    Suite *suite = suite_create("analysis");
    TCase *tests = tcase_create("analysis");
    tcase_add_test(tests, test_empty);
    tcase_add_test(tests, test_union_of_overlapping_spans);
    tcase_add_test(tests, test_kernels_beside_kernels);
    tcase_add_test(tests, test_zero_length_spans);
    tcase_add_test(tests, test_median);
    suite_add_tcase(suite, tests);
    return suite;
}
