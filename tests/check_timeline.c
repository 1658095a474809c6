/* check_timeline.c - spans made from plans, and starts rebuilt from ends alone. */
#include "plan/timeline.h"
#include "sim_cases.h"
#include "suites.h"

#include <stdlib.h>

static struct timeline begun(const struct plan *plan)
{
    struct timeline timeline = {0};
    struct error error = {0};
    ck_assert_int_eq(timeline_begin(&timeline, plan, &error), STATUS_OK);
    return timeline;
}

START_TEST(test_begin_makes_a_span_for_all_but_records)
{
    struct plan plan = test_plan(2, 1, 1, 25);
    test_h2d(&plan, 0, 0, 0, 100);
    test_record(&plan, 0, 0);
    test_wait(&plan, 1, 0);
    test_kernel(&plan, 1, 0, 0, 25, 8);
    struct timeline timeline = begun(&plan);
    char text[SPAN_NAME];
    ck_assert_uint_eq(timeline.span_count, 3);
    ck_assert_ptr_null(timeline_span(&timeline, 1));
    ck_assert_ptr_null(timeline_span(&timeline, 4));
    ck_assert_uint_eq(timeline_span(&timeline, 0)->bytes, 100);
    ck_assert_int_eq(timeline_span(&timeline, 0)->engine, ENGINE_H2D);
    ck_assert_int_eq(timeline_span(&timeline, 3)->engine, ENGINE_COMPUTE);
    ck_assert_int_eq(timeline_span(&timeline, 2)->engine, ENGINE_NONE);
    ck_assert_str_eq(timeline_span_name(&timeline, timeline_span(&timeline, 0), text), "h2d");
    ck_assert_str_eq(timeline_span_name(&timeline, timeline_span(&timeline, 3), text), "scale");
    ck_assert_str_eq(timeline_span_name(&timeline, timeline_span(&timeline, 2), text), "h2d 0");
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

START_TEST(test_empty_plan)
{
    struct plan plan = test_plan(1, 0, 1, 1);
    struct error error = {0};
    struct timeline timeline = begun(&plan);
    ck_assert_int_eq(timeline_finish(&timeline, &plan, &error), STATUS_OK);
    ck_assert_int_eq(timeline_time_ns(&timeline), 0);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* An event behind a copy that is still queued: timed by events, its start would be its issue.
 */
START_TEST(test_queued_copy_starts_when_its_engine_is_free)
{
    struct plan plan = test_plan(2, 0, 2, 50);
    struct error error = {0};
    test_h2d(&plan, 0, 0, 0, 100);
    test_h2d(&plan, 1, 1, 100, 100);
    struct timeline timeline = begun(&plan);
    timeline_span(&timeline, 0)->issue_ns = 0;
    timeline_span(&timeline, 0)->end_ns = 100;
    timeline_span(&timeline, 1)->issue_ns = 5;
    timeline_span(&timeline, 1)->end_ns = 200;
    ck_assert_int_eq(timeline_rebuild_starts(&timeline, &plan, &error), STATUS_OK);
    ck_assert_int_eq(timeline_span(&timeline, 0)->start_ns, 0);
    ck_assert_int_eq(timeline_span(&timeline, 1)->start_ns, 100);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* On a machine without latencies, and kernels that do not wait for each other's room, ends are
 * enough: the rebuilt timeline is the true one. */
START_TEST(test_rebuilt_starts_are_the_true_ones)
{
    uint64_t random = 77;
    struct machine machine = test_machine();
    struct error error = {0};
    machine.threads_per_sm = 1 << 20;
    machine.blocks_per_sm = 1024;
    for (int i = 0; i < test_cases(300); i++) {
        struct settings settings =
            test_settings(test_random_below(&random, 2) ? "scale" : "wave");
        settings.tiles = 1 + test_random_below(&random, 30);
        settings.elements = settings.tiles * (uint64_t)(1 + test_random_below(&random, 3000));
        settings.layout = test_random_below(&random, 2) ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.order = test_random_below(&random, 2) ? ORDER_BREADTH : ORDER_DEPTH;
        settings.streams = 1 + test_random_below(&random, 8);
        struct plan plan = test_built_on(&settings, &machine);
        struct timeline timeline = sim_run(&machine, &plan);
        struct timeline rebuilt = begun(&plan);
        for (uint32_t s = 0; s < timeline.span_count; s++) {
            rebuilt.spans[s].issue_ns = timeline.spans[s].issue_ns;
            rebuilt.spans[s].end_ns = timeline.spans[s].end_ns;
        }
        ck_assert_int_eq(timeline_rebuild_starts(&rebuilt, &plan, &error), STATUS_OK);
        ck_assert_int_eq(timeline_finish(&rebuilt, &plan, &error), STATUS_OK);
        for (uint32_t s = 0; s < timeline.span_count; s++) {
            ck_assert_int_eq(rebuilt.spans[s].start_ns, timeline.spans[s].start_ns);
            ck_assert_int_eq(rebuilt.spans[s].lane, timeline.spans[s].lane);
        }
        timeline_free(&timeline);
        timeline_free(&rebuilt);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(test_lanes_never_overlap)
{
    struct plan plan = test_plan(4, 0, 4, 100);
    struct error error = {0};
    static const int64_t starts[] = {0, 10, 20, 30}, ends[] = {25, 15, 40, 35};
    static const int lanes[] = {0, 1, 1, 0};
    for (uint32_t i = 0; i < 4; i++)
        test_kernel(&plan, i, i, 25 * i, 25, 1);
    struct timeline timeline = begun(&plan);
    for (uint32_t i = 0; i < 4; i++) {
        timeline.spans[i].start_ns = starts[i];
        timeline.spans[i].end_ns = ends[i];
    }
    ck_assert_int_eq(timeline_finish(&timeline, &plan, &error), STATUS_OK);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_int_eq(timeline.spans[i].lane, lanes[i]);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* The lowest lane that is free, as one would look for it: lane by lane. */
static uint32_t lane_by_looking(const struct timeline *timeline, uint32_t index)
{
    for (uint32_t lane = 0;; lane++) {
        bool taken = false;
        for (uint32_t i = 0; i < index && !taken; i++)
            taken = timeline->spans[i].lane == lane &&
                    timeline->spans[i].end_ns > timeline->spans[index].start_ns;
        if (!taken)
            return lane;
    }
}

START_TEST(test_lanes_are_the_lowest_free)
{
    uint64_t random = 31;
    struct error error = {0};
    for (int i = 0; i < test_cases(300); i++) {
        uint32_t count = 1 + test_random_below(&random, 60);
        struct plan plan = test_plan(1, 0, 1, 100);
        for (uint32_t k = 0; k < count; k++)
            test_kernel(&plan, 0, 0, 0, 25, 1);
        struct timeline timeline = begun(&plan);
        int64_t start = 0;
        for (uint32_t k = 0; k < count; k++) {
            start += test_random_below(&random, 4);
            timeline.spans[k].start_ns = start;
            timeline.spans[k].end_ns = start + test_random_below(&random, 30);
        }
        ck_assert_int_eq(timeline_finish(&timeline, &plan, &error), STATUS_OK);
        for (uint32_t k = 0; k < count; k++)
            ck_assert_uint_eq(timeline.spans[k].lane, lane_by_looking(&timeline, k));
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

/* More than 16 bits hold. */
START_TEST(test_many_lanes)
{
    enum { LANES = 100000 };
    struct plan plan = test_plan(1, 0, 1, 100);
    struct error error = {0};
    for (uint32_t i = 0; i < LANES; i++)
        test_kernel(&plan, 0, 0, 0, 25, 1);
    struct timeline timeline = begun(&plan);
    for (uint32_t i = 0; i < LANES; i++) {
        timeline.spans[i].start_ns = i;
        timeline.spans[i].end_ns = LANES;
    }
    ck_assert_int_eq(timeline_finish(&timeline, &plan, &error), STATUS_OK);
    for (uint32_t i = 0; i < LANES; i++)
        ck_assert_uint_eq(timeline.spans[i].lane, i);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

Suite *timeline_suite(void)
{
    Suite *suite = suite_create("timeline");
    TCase *tests = tcase_create("timeline");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_begin_makes_a_span_for_all_but_records);
    tcase_add_test(tests, test_empty_plan);
    tcase_add_test(tests, test_queued_copy_starts_when_its_engine_is_free);
    tcase_add_test(tests, test_rebuilt_starts_are_the_true_ones);
    tcase_add_test(tests, test_lanes_never_overlap);
    tcase_add_test(tests, test_lanes_are_the_lowest_free);
    tcase_add_test(tests, test_many_lanes);
    suite_add_tcase(suite, tests);
    return suite;
}
