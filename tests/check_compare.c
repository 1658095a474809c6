/* check_compare.c - timelines with known distances, and settings with known winners. */
#include "report/compare.h"
#include "report/report.h"
#include "sim_cases.h"
#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- two timelines --- */

enum { SPANS = 8 };

/* A timeline laid out by hand. */
struct drawn {
    struct span spans[SPANS];
    struct timeline timeline;
};

static void drawn_add(struct drawn *drawn, enum engine engine, int64_t start_ns, int64_t end_ns)
{
    uint32_t op = drawn->timeline.span_count++;
    drawn->spans[op] = (struct span){
        .op = op, .engine = engine & SPAN_BITS, .start_ns = start_ns, .end_ns = end_ns};
    drawn->timeline.spans = drawn->spans;
}

/* Three copies in, two kernels, a copy back, a wait, a callback; the last end is at 100. */
static void draw(struct drawn *drawn)
{
    *drawn = (struct drawn){0};
    drawn_add(drawn, ENGINE_H2D, 0, 10);
    drawn_add(drawn, ENGINE_H2D, 10, 20);
    drawn_add(drawn, ENGINE_H2D, 20, 30);
    drawn_add(drawn, ENGINE_COMPUTE, 30, 50);
    drawn_add(drawn, ENGINE_COMPUTE, 50, 70);
    drawn_add(drawn, ENGINE_D2H, 70, 80);
    drawn_add(drawn, ENGINE_NONE, 0, 80);
    drawn_add(drawn, ENGINE_HOST, 80, 100);
}

static void move_span(struct drawn *drawn, uint32_t op, int64_t start_by, int64_t end_by)
{
    drawn->spans[op].start_ns += start_by;
    drawn->spans[op].end_ns += end_by;
}

static struct comparison compare(const struct drawn *measured, const struct drawn *simulated)
{
    struct comparison comparison = {0};
    struct error error = {0};
    enum status status =
        compare_timelines(&measured->timeline, &simulated->timeline, &comparison, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    return comparison;
}

START_TEST(test_against_itself_is_zero)
{
    struct drawn drawn;
    draw(&drawn);
    struct comparison comparison = compare(&drawn, &drawn);
    ck_assert_uint_eq(comparison.spans, SPANS - 1); /* the wait is on no engine */
    ck_assert_int_eq(comparison.start.largest_ns, 0);
    ck_assert_int_eq(comparison.end.largest_ns, 0);
    ck_assert_double_eq(comparison.traced_error, 0);
    ck_assert_double_eq(comparison.same_order, 1);
}
END_TEST

/* Starts are off by 0, 0, 0, 3, 5, 7, 7 and ends by 0, 0, 2, 2, 2, 7, 20, in no order. */
START_TEST(test_distances)
{
    struct drawn measured, simulated;
    draw(&measured);
    draw(&simulated);
    move_span(&simulated, 0, 0, 2);
    move_span(&simulated, 2, 3, -2);
    move_span(&simulated, 3, -5, 2);
    move_span(&simulated, 4, 7, 0);
    move_span(&simulated, 5, 7, 7);
    move_span(&simulated, 6, 50, 50); /* the wait does not count */
    move_span(&simulated, 7, 0, 20);
    struct comparison comparison = compare(&measured, &simulated);
    ck_assert_int_eq(comparison.start.median_ns, 3);
    ck_assert_int_eq(comparison.start.p95_ns, 7);
    ck_assert_int_eq(comparison.start.largest_ns, 7);
    ck_assert_int_eq(comparison.end.median_ns, 2);
    ck_assert_int_eq(comparison.end.p95_ns, 20);
    ck_assert_int_eq(comparison.end.largest_ns, 20);
    ck_assert_double_eq_tol(comparison.traced_error, 130.0 / 100 - 1, 1e-12);
    ck_assert_double_eq(comparison.same_order, 1);
}
END_TEST

/* There are three pairs of neighbours, two of copies in and one of kernels. One pair is
 * swapped, then two, then all, and the share in the same order must fall by a third each time.
 */
START_TEST(test_swaps_are_counted)
{
    struct drawn measured, simulated;
    draw(&measured);
    draw(&simulated);
    move_span(&simulated, 1, 10, 10);
    move_span(&simulated, 2, -10, -10);
    ck_assert_double_eq_tol(compare(&measured, &simulated).same_order, 2.0 / 3, 1e-12);
    move_span(&simulated, 4, -21, -21);
    ck_assert_double_eq_tol(compare(&measured, &simulated).same_order, 1.0 / 3, 1e-12);
    move_span(&simulated, 0, 40, 40);
    ck_assert_double_eq_tol(compare(&measured, &simulated).same_order, 0, 1e-12);
}
END_TEST

/* Kernels that started at once were in no order, and may start at once. */
START_TEST(test_ties_are_no_swaps)
{
    struct drawn measured, simulated;
    draw(&measured);
    draw(&simulated);
    measured.spans[4].start_ns = 30;
    simulated.spans[3].start_ns = 40;
    simulated.spans[4].start_ns = 35;
    ck_assert_double_eq(compare(&measured, &simulated).same_order, 1);
    draw(&measured);
    simulated.spans[3].start_ns = simulated.spans[4].start_ns = 35;
    ck_assert_double_eq(compare(&measured, &simulated).same_order, 1);
}
END_TEST

START_TEST(test_nothing_to_compare)
{
    struct drawn none = {0};
    struct comparison comparison = compare(&none, &none);
    ck_assert_uint_eq(comparison.spans, 0);
    ck_assert_int_eq(comparison.start.largest_ns, 0);
    ck_assert_double_eq(comparison.same_order, 1);
}
END_TEST

START_TEST(test_different_plans_are_refused)
{
    struct drawn measured, simulated;
    struct comparison comparison = {.spans = 77};
    draw(&measured);
    draw(&simulated);
    simulated.spans[3].tile = 1;
    struct error error = {0};
    ck_assert_int_eq(
        compare_timelines(&measured.timeline, &simulated.timeline, &comparison, &error),
        STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "op 3"));
    simulated.timeline.span_count--;
    error_clear(&error);
    ck_assert_int_eq(
        compare_timelines(&measured.timeline, &simulated.timeline, &comparison, &error),
        STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "8 and 7"));
    ck_assert_uint_eq(comparison.spans, 77);
}
END_TEST

/* --- errors and noise --- */

START_TEST(test_error_has_a_sign)
{
    ck_assert_double_eq_tol(compare_error(102, 100), 0.02, 1e-12);
    ck_assert_double_eq_tol(compare_error(75, 100), -0.25, 1e-12);
    ck_assert_double_eq(compare_error(100, 100), 0);
    ck_assert_double_eq(compare_error(0, 0), 0);
    ck_assert(isinf(compare_error(1, 0)));
}
END_TEST

/* Quartiles by nearest rank: of 7 the 2nd and the 6th, of 4 the 1st and the 3rd. */
START_TEST(test_noise_is_half_the_distance_of_the_quartiles)
{
    const int64_t seven[] = {10, 90, 95, 100, 104, 110, 900}, four[] = {80, 100, 120, 900};
    ck_assert_double_eq_tol(compare_noise(seven, 7), 0.1, 1e-12);
    ck_assert_double_eq_tol(compare_noise(four, 4), 0.2, 1e-12);
    ck_assert_double_eq(compare_noise(seven, 1), 0);
    ck_assert_double_eq(compare_noise((int64_t[]){0, 0}, 2), 0);
}
END_TEST

/* --- many settings --- */

enum { SETTINGS_MAX = 64 };

struct cases {
    struct comparison comparisons[SETTINGS_MAX];
    struct settings settings[SETTINGS_MAX];
    uint32_t count;
};

static struct cases *cases_new(void)
{
    struct cases *cases = calloc(1, sizeof *cases);
    ck_assert_ptr_nonnull(cases);
    return cases;
}

static struct settings *cases_add(struct cases *cases, enum order order, int64_t measured_ns,
                                  int64_t simulated_ns)
{
    ck_assert_uint_lt(cases->count, SETTINGS_MAX);
    struct settings *settings = &cases->settings[cases->count];
    *settings = test_settings("scale");
    settings->order = order;
    cases->comparisons[cases->count++] =
        (struct comparison){.measured_ns = measured_ns,
                            .simulated_ns = simulated_ns,
                            .error = compare_error(simulated_ns, measured_ns)};
    return settings;
}

static struct compare_summary summary_of(const struct cases *cases)
{
    struct compare_summary summary;
    struct error error = {0};
    struct compared *compared = calloc(cases->count + (size_t)1, sizeof *compared);
    struct run_report *runs = calloc(cases->count + (size_t)1, sizeof *runs);
    ck_assert(compared != NULL && runs != NULL);
    for (uint32_t i = 0; i < cases->count; i++) {
        compared[i].comparison = cases->comparisons[i];
        runs[i].compared = &compared[i];
    }
    const struct report report = {.runs = runs, .run_count = (int)cases->count};
    enum status status = compare_report(&report, cases->settings, &summary, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    free(runs);
    free(compared);
    return summary;
}

/* Errors of 1 to 20 %, of either sign: the 10th and the 19th; of 21, the 11th and the 20th. */
START_TEST(test_quantiles_by_nearest_rank)
{
    struct cases *cases = cases_new();
    for (int i = 0; i < 20; i++) {
        int percent = 1 + i * 7 % 20;
        cases_add(cases, ORDER_DEPTH, 1000, 1000 + (i % 2 ? 10 : -10) * percent);
        cases->comparisons[i].noise = 0.001 * percent;
    }
    struct compare_summary summary = summary_of(cases);
    ck_assert_uint_eq(summary.settings, 20);
    ck_assert_double_eq_tol(summary.simulator.median, 0.10, 1e-9);
    ck_assert_double_eq_tol(summary.simulator.p95, 0.19, 1e-9);
    ck_assert_double_eq_tol(summary.simulator.largest, 0.20, 1e-9);
    ck_assert_double_eq_tol(summary.noise.median, 0.010, 1e-9);
    ck_assert_double_eq_tol(summary.noise.p95, 0.019, 1e-9);
    cases_add(cases, ORDER_DEPTH, 1000, 1210);
    summary = summary_of(cases);
    ck_assert_double_eq_tol(summary.simulator.median, 0.11, 1e-9);
    ck_assert_double_eq_tol(summary.simulator.p95, 0.20, 1e-9);
    ck_assert_double_eq_tol(summary.simulator.largest, 0.21, 1e-9);
    free(cases);
}
END_TEST

START_TEST(test_no_settings)
{
    struct cases *cases = cases_new();
    struct compare_summary summary = summary_of(cases);
    ck_assert_uint_eq(summary.settings, 0);
    ck_assert_uint_eq(summary.pairs, 0);
    ck_assert_double_eq(summary.simulator.largest, 0);
    free(cases);
}
END_TEST

static const struct {
    int64_t depth, breadth, depth_simulated, breadth_simulated;
    bool apart, right;
} winners[] = {
    {1000, 1030, 1000, 900, false, false}, /* just 3 %: not over it */
    {1030, 1000, 900, 1000, false, false},
    {1000, 1031, 500, 501, true, true}, /* by how much is another matter */
    {1031, 1000, 501, 500, true, true},
    {1000, 1031, 501, 500, true, false},
    {1031, 1000, 500, 501, true, false},
    {1000, 2000, 700, 700, true, false}, /* no winner is the wrong one */
    {1000, 1000, 10, 20, false, false},
};

START_TEST(test_winners)
{
    struct cases *cases = cases_new();
    cases_add(cases, ORDER_DEPTH, winners[_i].depth, winners[_i].depth_simulated);
    cases_add(cases, ORDER_BREADTH, winners[_i].breadth, winners[_i].breadth_simulated);
    struct compare_summary summary = summary_of(cases);
    ck_assert_uint_eq(summary.pairs, 1);
    ck_assert_uint_eq(summary.apart, winners[_i].apart);
    ck_assert_uint_eq(summary.right, winners[_i].right);
    free(cases);
}
END_TEST

/* Settings that differ in anything else are no pair, wherever the two stand. */
START_TEST(test_pairs_differ_in_their_order_alone)
{
    struct cases *cases = cases_new();
    cases_add(cases, ORDER_BREADTH, 2000, 2000)->tiles = 64;
    cases_add(cases, ORDER_DEPTH, 1000, 1000);
    cases_add(cases, ORDER_DEPTH, 1000, 1000)->tiles = 64;
    cases_add(cases, ORDER_BREADTH, 1000, 1000)->tiles = 65;
    cases_add(cases, ORDER_BREADTH, 1000, 1000)->layout = LAYOUT_STAGE;
    struct settings *other = cases_add(cases, ORDER_BREADTH, 1000, 1000);
    other->priorities[0] = -1;
    other->priority_count = 1;
    struct compare_summary summary = summary_of(cases);
    ck_assert_uint_eq(summary.pairs, 1);
    ck_assert_uint_eq(summary.apart, 1);
    ck_assert_uint_eq(summary.right, 1);
    /* Names differ, and files, which no two runs can share. */
    struct settings *third = cases_add(cases, ORDER_BREADTH, 900, 1100);
    strcpy(third->name, "third");
    third->output = "third.npy";
    summary = summary_of(cases);
    ck_assert_uint_eq(summary.pairs, 2);
    ck_assert_uint_eq(summary.apart, 2);
    ck_assert_uint_eq(summary.right, 1);
    /* A second one alike finds no partner. */
    cases_add(cases, ORDER_BREADTH, 900, 1100);
    ck_assert_uint_eq(summary_of(cases).pairs, 2);
    cases_add(cases, ORDER_DEPTH, 900, 900);
    ck_assert_uint_eq(summary_of(cases).pairs, 3);
    free(cases);
}
END_TEST

/* --- a run, and what is simulated of it --- */

/* A run of the H200 that is simulated: its report, as far as it takes. */
struct subject {
    struct settings settings;
    struct machine machine;
    struct plan plan;
    struct run_report run;
};

static void subject_begin(struct subject *subject)
{
    *subject = (struct subject){.settings = test_settings("scale")};
    struct settings *settings = &subject->settings;
    settings->elements = 1 << 20;
    settings->tiles = 8;
    memset(settings->name, 'x', RUN_NAME_MAX - 1);
    settings->name[RUN_NAME_MAX - 1] = '\0';
    subject->machine = test_machine_named("h200");
    subject->plan = test_built_on(settings, &subject->machine);
    subject->run.settings = settings;
    subject->run.timeline = sim_run(&subject->machine, &subject->plan);
    subject->run.median_ns = timeline_time_ns(&subject->run.timeline);
}

static void subject_end(struct subject *subject)
{
    struct report report = {.runs = &subject->run, .run_count = 1};
    report_free(&report);
    plan_free(&subject->plan);
}

static const struct compared *subject_compare(struct subject *subject, const char *machine)
{
    struct error error = {0};
    struct machine other = test_machine_named(machine);
    enum status status = compare_run(&subject->plan, &other, NULL, &subject->run, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    ck_assert_ptr_nonnull(subject->run.compared);
    return subject->run.compared;
}

START_TEST(test_run_on_its_own_machine)
{
    struct subject subject;
    subject_begin(&subject);
    const struct compared *compared = subject_compare(&subject, "h200");
    ck_assert_double_eq(compared->comparison.error, 0);
    ck_assert_int_eq(compared->comparison.end.largest_ns, 0);
    ck_assert_int_eq(compared->comparison.measured_ns, subject.run.median_ns);
    ck_assert_uint_eq(compared->comparison.spans, 3 * 8);
    ck_assert_str_eq(compared->device, "sim:h200");
    ck_assert_str_eq(compared->run.settings->device, "sim:h200");
    subject_end(&subject);
}
END_TEST

/* A machine with one copy engine takes longer; its simulated run stands behind the other, under
 * a name that tells the two apart however long it is. */
START_TEST(test_pairs_for_the_files)
{
    struct subject subject;
    struct report pairs;
    struct error error = {0};
    subject_begin(&subject);
    const struct compared *compared = subject_compare(&subject, "c1060");
    ck_assert_double_gt(compared->comparison.error, 0.5);
    ck_assert_double_eq(compared->comparison.error, compared->comparison.traced_error);
    struct report report = {.version = "1", .runs = &subject.run, .run_count = 1};
    ck_assert_int_eq(compare_pairs(&report, &pairs, &error), STATUS_OK);
    ck_assert_int_eq(pairs.run_count, 2);
    ck_assert_ptr_eq(pairs.runs[0].settings, &subject.settings);
    const char *name = pairs.runs[1].settings->name;
    ck_assert_uint_eq(strlen(name), RUN_NAME_MAX - 1);
    ck_assert_str_eq(strchr(name, ' '), " simulated");
    ck_assert_int_eq(pairs.runs[1].median_ns, compared->comparison.simulated_ns);
    ck_assert_uint_eq(pairs.runs[1].timeline.span_count, pairs.runs[0].timeline.span_count);
    ck_assert_int_gt(pairs.runs[1].limit.ns, 0);
    ck_assert_double_nan(pairs.runs[1].speedup); /* another machine's time is no speed-up */
    free(pairs.runs);
    subject_end(&subject);
}
END_TEST

Suite *compare_suite(void)
{
    Suite *suite = suite_create("compare");
    TCase *timelines = tcase_create("timelines");
    tcase_add_test(timelines, test_against_itself_is_zero);
    tcase_add_test(timelines, test_distances);
    tcase_add_test(timelines, test_swaps_are_counted);
    tcase_add_test(timelines, test_ties_are_no_swaps);
    tcase_add_test(timelines, test_nothing_to_compare);
    tcase_add_test(timelines, test_different_plans_are_refused);
    suite_add_tcase(suite, timelines);
    TCase *settings = tcase_create("settings");
    tcase_add_test(settings, test_error_has_a_sign);
    tcase_add_test(settings, test_noise_is_half_the_distance_of_the_quartiles);
    tcase_add_test(settings, test_quantiles_by_nearest_rank);
    tcase_add_test(settings, test_no_settings);
    tcase_add_loop_test(settings, test_winners, 0, sizeof winners / sizeof winners[0]);
    tcase_add_test(settings, test_pairs_differ_in_their_order_alone);
    suite_add_tcase(suite, settings);
    TCase *runs = tcase_create("runs");
    tcase_add_test(runs, test_run_on_its_own_machine);
    tcase_add_test(runs, test_pairs_for_the_files);
    suite_add_tcase(suite, runs);
    return suite;
}
