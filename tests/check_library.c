/* check_library.c - the library's interface: what it refuses, and what it gives before and
 * after a run. */
#include "lib/pipeline.h"
#include "suites.h"

#include <string.h>

static struct pipeline *run;
static struct pipeline_error error;

static void set_up(void)
{
    run = pipeline_new();
    ck_assert_ptr_nonnull(run);
    error.text[0] = '\0';
}

static void tear_down(void)
{
    pipeline_free(run);
}

START_TEST(test_nothing_is_known_before_a_run)
{
    struct pipeline_span span;
    struct pipeline_verdict verdict;
    ck_assert_int_eq(pipeline_time_ns(run), 0);
    ck_assert_int_eq(pipeline_limit_ns(run), 0);
    ck_assert_uint_eq(pipeline_span_count(run), 0);
    ck_assert_uint_eq(pipeline_verdict_count(run), 0);
    ck_assert(!pipeline_span(run, 0, &span));
    ck_assert(!pipeline_verdict(run, 0, &verdict));
}
END_TEST

START_TEST(test_what_costs_add_up_to)
{
    struct pipeline_verdict verdict;
    int64_t sum = 0;
    ck_assert(pipeline_set(run, "streams", "1", &error));
    ck_assert_msg(pipeline_simulate(run, &error), "%s", error.text);
    ck_assert_int_gt(pipeline_time_ns(run), pipeline_limit_ns(run));
    for (size_t i = 0; pipeline_verdict(run, i, &verdict); i++)
        sum += verdict.ns;
    ck_assert_int_eq(sum, pipeline_time_ns(run) - pipeline_limit_ns(run));
    ck_assert(pipeline_verdict(run, 0, &verdict));
    ck_assert_str_eq(verdict.code, "one-stream");
    ck_assert(verdict.named);
}
END_TEST

START_TEST(test_an_option_drops_the_results)
{
    ck_assert(pipeline_simulate(run, &error));
    ck_assert_uint_gt(pipeline_span_count(run), 0);
    ck_assert(pipeline_set(run, "tiles", "8", &error));
    ck_assert_uint_eq(pipeline_span_count(run), 0);
    ck_assert_int_eq(pipeline_time_ns(run), 0);
}
END_TEST

static const struct {
    const char *option, *value, *says;
} refused[] = {
    {"no-such", "1", "no-such"},       {"streams", "many", "many"},
    {"streams", "-1", "-1"},           {"kernel", "scael", "scale"},
    {"output", "x.npy", "output"},     {"device", "cuda", "device"},
    {"timeline", "x.csv", "timeline"}, {"mistake", "nothing-of-the-kind", "nothing"},
    {"elements", "", "elements"},
};

START_TEST(test_a_bad_option_is_refused)
{
    ck_assert(!pipeline_set(run, refused[_i].option, refused[_i].value, &error));
    ck_assert_msg(strstr(error.text, refused[_i].says) != NULL, "%s", error.text);
    ck_assert(!pipeline_set(run, refused[_i].option, refused[_i].value, NULL));
    ck_assert(pipeline_simulate(run, &error)); /* what was there before still stands */
}
END_TEST

START_TEST(test_settings_that_do_not_go_together_are_refused)
{
    ck_assert(pipeline_set(run, "tiles", "64", &error));
    ck_assert(pipeline_set(run, "elements", "8", &error));
    ck_assert(!pipeline_simulate(run, &error));
    ck_assert_str_ne(error.text, "");
    ck_assert_uint_eq(pipeline_span_count(run), 0);
}
END_TEST

START_TEST(test_what_the_command_chooses_is_refused)
{
    ck_assert(pipeline_set(run, "tiles", "auto", &error));
    ck_assert(!pipeline_simulate(run, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "auto"));
    ck_assert(pipeline_set(run, "tiles", "4", &error));
    ck_assert(pipeline_set(run, "issue", "auto", &error));
    ck_assert(!pipeline_simulate(run, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "auto"));
}
END_TEST

START_TEST(test_a_machine_has_only_its_queues)
{
    ck_assert(pipeline_set_machine(run, "c2050", &error));
    ck_assert(pipeline_set(run, "connections", "32", &error));
    ck_assert(!pipeline_simulate(run, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "queue"));
}
END_TEST

START_TEST(test_a_bad_machine_is_refused)
{
    ck_assert(!pipeline_set_machine(run, "h2000", &error));
    ck_assert_ptr_nonnull(strstr(error.text, "h200"));
    error.text[0] = '\0';
    ck_assert(!pipeline_set_machine_text(run, "[machine]\nname=\n", "mine.ini", &error));
    ck_assert_ptr_nonnull(strstr(error.text, "mine.ini"));
    ck_assert(pipeline_simulate(run, &error));
}
END_TEST

START_TEST(test_two_runs_know_nothing_of_each_other)
{
    struct pipeline *other = pipeline_new();
    ck_assert_ptr_nonnull(other);
    ck_assert(pipeline_set(other, "streams", "1", &error));
    ck_assert(pipeline_simulate(run, &error));
    ck_assert(pipeline_simulate(other, &error));
    ck_assert_int_lt(pipeline_time_ns(run), pipeline_time_ns(other));
    pipeline_free(other);
}
END_TEST

/* Bindings of other languages hand on what they have. */
START_TEST(test_null_is_no_run_and_no_text)
{
    struct pipeline_span span;
    struct pipeline_verdict verdict;
    ck_assert(!pipeline_set(NULL, "streams", "4", &error));
    ck_assert(!pipeline_set(run, NULL, "4", &error));
    ck_assert(!pipeline_set(run, "streams", NULL, &error));
    ck_assert(!pipeline_set_machine(NULL, "h200", &error));
    ck_assert(!pipeline_set_machine(run, NULL, &error));
    ck_assert(!pipeline_set_machine_text(NULL, "[machine]\n", "mine.ini", &error));
    ck_assert(!pipeline_set_machine_text(run, NULL, "mine.ini", &error));
    ck_assert(!pipeline_set_machine_text(run, "[machine]\n", NULL, &error));
    error.text[0] = '\0';
    ck_assert(!pipeline_simulate(NULL, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "NULL"));
    ck_assert(!pipeline_simulate(NULL, NULL));
    ck_assert_int_eq(pipeline_time_ns(NULL), 0);
    ck_assert_int_eq(pipeline_limit_ns(NULL), 0);
    ck_assert(pipeline_concurrency(NULL) == 0);
    ck_assert_uint_eq(pipeline_span_count(NULL), 0);
    ck_assert_uint_eq(pipeline_verdict_count(NULL), 0);
    ck_assert(!pipeline_span(NULL, 0, &span));
    ck_assert(!pipeline_verdict(NULL, 0, &verdict));
    ck_assert(pipeline_simulate(run, &error)); /* what was there before still stands */
    ck_assert(!pipeline_span(run, 0, NULL));
    ck_assert(!pipeline_verdict(run, 0, NULL));
    pipeline_free(NULL);
}
END_TEST

START_TEST(test_names_end)
{
    size_t machines = 0, kernels = 0, mistakes = 0;
    while (pipeline_machine_name(machines) != NULL) {
        ck_assert(pipeline_set_machine(run, pipeline_machine_name(machines), &error));
        machines++;
    }
    while (pipeline_kernel_name(kernels) != NULL)
        kernels++;
    while (pipeline_mistake_name(mistakes) != NULL)
        ck_assert(pipeline_set(run, "mistake", pipeline_mistake_name(mistakes++), &error));
    ck_assert_uint_ge(machines, 11);
    ck_assert_uint_ge(kernels, 20);
    ck_assert_uint_ge(mistakes, 12);
}
END_TEST

Suite *library_suite(void)
{
    Suite *suite = suite_create("library");
    TCase *tests = tcase_create("interface");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, test_nothing_is_known_before_a_run);
    tcase_add_test(tests, test_what_costs_add_up_to);
    tcase_add_test(tests, test_an_option_drops_the_results);
    tcase_add_loop_test(tests, test_a_bad_option_is_refused, 0,
                        sizeof refused / sizeof refused[0]);
    tcase_add_test(tests, test_settings_that_do_not_go_together_are_refused);
    tcase_add_test(tests, test_what_the_command_chooses_is_refused);
    tcase_add_test(tests, test_a_machine_has_only_its_queues);
    tcase_add_test(tests, test_a_bad_machine_is_refused);
    tcase_add_test(tests, test_two_runs_know_nothing_of_each_other);
    tcase_add_test(tests, test_null_is_no_run_and_no_text);
    tcase_add_test(tests, test_names_end);
    suite_add_tcase(suite, tests);
    return suite;
}
