/* check_plot_sweep.c - pictures of sweeps: curves, bars, cells. */
#include "plot_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sections of `first.count` x `second.count` runs; run i takes 1 ms / (i + 1). */
static struct test_report *sweep_report(struct sweep *sweep, const char *const sections[],
                                        int section_count)
{
    const struct sweep_axis *one = &sweep->axes[0], *two = &sweep->axes[1];
    int inner = sweep->axis_count > 1 ? two->count : 1, run = 0;
    struct test_report *test = test_report_new(section_count * one->count * inner);
    test->report.sweep = sweep;
    for (int s = 0; s < section_count; s++) {
        for (int p = 0; p < one->count * inner; p++, run++) {
            struct settings *settings = &test->settings[run];
            int length = snprintf(settings->name, RUN_NAME_MAX, "%s %s=%s", sections[s],
                                  one->option, one->values[p / inner]);
            if (sweep->axis_count > 1)
                snprintf(settings->name + length, RUN_NAME_MAX - (size_t)length, " %s=%s",
                         two->option, two->values[p % inner]);
            settings->ways = 3;
            test->runs[run].median_ns = 1000000 / (run + 1);
            test->runs[run].min_ns = test->runs[run].median_ns * 9 / 10;
            test->runs[run].max_ns = test->runs[run].median_ns * 11 / 10;
            test->runs[run].limit.ns = 1000000 / 40;
            test->runs[run].speedup = run + 1;
        }
    }
    return test;
}

static const char *numbers[] = {"1", "2", "4", "8", "16", "32", "64", "128"};
static const char *orders[] = {"depth", "breadth"};
static const char *const both_orders[] = {"depth", "breadth"}, *const only_run[] = {"run"};

START_TEST(a_sweep_is_drawn_as_curves)
{
    struct sweep sweep = {.axes = {{"streams", numbers, 8}}, .axis_count = 1};
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = sweep_report(&sweep, both_orders, 2);
    plot_assert_drawn(&test->report, "sweep.svg", &plot_slide);
    plot_assert_texts("sweep.svg", "streams|1|2|128|depth|breadth|limit|16.00x|"
                                   "best: breadth, streams=128|speed-up, 1 is depth streams=1|"
                                   "simulated, NVIDIA H200; timeline: virtual time; "
                                   "pipeline 0.0.0-test");
    free(test);
}
END_TEST

START_TEST(a_sweep_of_words_is_drawn_as_bars)
{
    struct sweep sweep = {.axes = {{"order", orders, 2}}, .axis_count = 1};
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = sweep_report(&sweep, only_run, 1);
    plot_assert_drawn(&test->report, "bars.svg", &plot_slide);
    plot_assert_texts("bars.svg", "order|depth|breadth|1.00|2.00|best: order=breadth");
    ck_assert_int_eq(plot_boxes("bars.svg", ENGINE_H2D), 2); /* of the first curve's colour */
    test->report.runs[0].speedup = 1;
    test->report.runs[1].speedup = 0.5;
    test->report.runs[0].median_ns = 123000000;
    test->report.runs[1].median_ns = 246000000;
    plot_assert_drawn(&test->report, "first.svg", &plot_slide);
    plot_assert_texts("first.svg", "123 ms|best: order=depth");
    free(test);
}
END_TEST

/* Labels are whole where there is room, and a wrong result has no bar. */
START_TEST(bars_have_whole_names)
{
    static const char *mistakes[] = {"none", "pinned-alloc-in-loop", "missing-wait"};
    struct sweep sweep = {.axes = {{"mistake", mistakes, 3}}, .axis_count = 1};
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = sweep_report(&sweep, only_run, 1);
    test->runs[2].verified = VERIFIED_NO;
    test->runs[2].speedup = NAN;
    plot_assert_drawn(&test->report, "bars.svg", &plot_slide);
    plot_assert_texts("bars.svg", "none|pinned-alloc-in-loop|missing-wait|WRONG|1.00|2.00|"
                                  "1 of 3 runs with a WRONG RESULT");
    ck_assert_int_eq(plot_boxes("bars.svg", ENGINE_H2D), 2);
    free(test);
}
END_TEST

/* There is no speed-up between different work or devices: each run has its own limit. */
START_TEST(what_does_not_compare_is_a_share_of_its_limit)
{
    static const char *devices[] = {"sim:k20c", "sim:h200"};
    struct sweep sweep = {.axes = {{"device", devices, 2}}, .axis_count = 1};
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = sweep_report(&sweep, only_run, 1);
    strcpy(test->runs[0].device, "NVIDIA Tesla K20c");
    report_find_speedups(&test->report);
    plot_assert_drawn(&test->report, "devices.svg", &plot_slide);
    plot_assert_texts("devices.svg", "share of each run's own limit|3%|5%|sim:k20c");
    free(test);
}
END_TEST

START_TEST(two_axes_are_drawn_as_curves_or_cells)
{
    struct sweep few = {.axes = {{"order", orders, 2}, {"tiles", numbers, 8}}, .axis_count = 2};
    struct sweep many = {.axes = {{"streams", numbers, 3}, {"tiles", numbers, 8}},
                         .axis_count = 2};
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = sweep_report(&few, only_run, 1);
    plot_assert_drawn(&test->report, "few.svg", &plot_slide);
    plot_assert_texts("few.svg",
                      "tiles|order=depth|order=breadth|128|best: order=breadth, tiles=128");
    free(test);
    test = sweep_report(&many, only_run, 1);
    plot_assert_drawn(&test->report, "many.svg", &plot_slide);
    plot_assert_texts("many.svg", "streams|tiles|1.00|24.00|best: streams=4, tiles=128");
    free(test);
}
END_TEST

/* The CSV report of a sweep has no line that names the axes, and yet the scripts in plots/ must
 * draw it when they are called by hand. */
START_TEST(a_report_is_drawn_by_hand)
{
    struct sweep sweep = {.axes = {{"tiles", numbers, 4}}, .axis_count = 1};
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = sweep_report(&sweep, both_orders, 2);
    for (int i = 0; i < test->report.run_count; i++)
        test->settings[i].tiles = (uint32_t)atoi(numbers[i % 4]);
    char *data = test_written(&test->report, write_csv_report);
    plot_write_file("sweep.csv", data, 0644);
    free(data);
    free(test);
    ck_assert_int_eq(plot_by_hand("sweep.gp sweep.csv sweep.svg"), 0);
    plot_assert_texts("sweep.svg", "tiles|depth|breadth|best: breadth, tiles=8");
    ck_assert_int_eq(plot_by_hand("bandwidth.gp sweep.csv bandwidth.svg"), 0);
    plot_assert_texts("bandwidth.svg", "bytes per tile|H2D|D2H");
}
END_TEST

TCase *plot_sweep_case(void)
{
    TCase *tests = tcase_create("sweeps");
    tcase_add_checked_fixture(tests, plot_enter_folder, plot_leave_folder);
    tcase_add_test(tests, a_sweep_is_drawn_as_curves);
    tcase_add_test(tests, a_sweep_of_words_is_drawn_as_bars);
    tcase_add_test(tests, bars_have_whole_names);
    tcase_add_test(tests, what_does_not_compare_is_a_share_of_its_limit);
    tcase_add_test(tests, two_axes_are_drawn_as_curves_or_cells);
    tcase_add_test(tests, a_report_is_drawn_by_hand);
    return tests;
}
