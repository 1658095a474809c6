/* check_sim.c - the simulator against timelines computed by hand: streams, copies, kernels
 * (rules 1 to 3) and whole plans. */
#include "sim/interval.h"
#include "sim_cases.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

/* --- rule 1: stream order and events
 * ------------------------------------------------------------- */

/* 100 ns in, a kernel of 25 floats at 2 flops each = 50 ns, 100 ns out. */
START_TEST(test_one_tile)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(1, 0, 1, 25);
    test_h2d(&plan, 0, 0, 0, 100);
    test_kernel(&plan, 0, 0, 0, 25, 8);
    test_d2h(&plan, 0, 0, 0, 100);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 0, 100);
    sim_assert_span(&timeline, 1, 100, 150);
    sim_assert_span(&timeline, 2, 150, 250);
    ck_assert_int_eq(timeline_time_ns(&timeline), 250);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

START_TEST(test_event_holds_another_stream_back)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(2, 1, 2, 50);
    test_h2d(&plan, 0, 0, 0, 100);
    test_record(&plan, 0, 0);
    test_h2d(&plan, 0, 1, 100, 100); /* behind the record: not waited for */
    test_wait(&plan, 1, 0);
    test_kernel(&plan, 1, 0, 0, 25, 8);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 2, 100, 200);
    sim_assert_span(&timeline, 3, 0, 100); /* the wait itself */
    sim_assert_span(&timeline, 4, 100, 150);
    ck_assert_uint_eq(timeline_span(&timeline, 3)->target, 0);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

START_TEST(test_record_before_any_op_is_reached_at_once)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(2, 1, 1, 25);
    test_record(&plan, 0, 0);
    test_h2d(&plan, 0, 0, 0, 100);
    test_wait(&plan, 1, 0);
    test_kernel(&plan, 1, 0, 0, 25, 8);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 3, 0, 50);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* --- rule 2: copies
 * -------------------------------------------------------------------------------- */

START_TEST(test_more_streams_do_not_speed_up_one_direction)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(4, 0, 4, 100);
    for (uint32_t i = 0; i < 4; i++)
        test_h2d(&plan, i, i, 100 * i, 100);
    struct timeline timeline = sim_run(&machine, &plan);
    for (uint32_t i = 0; i < 4; i++)
        sim_assert_span(&timeline, i, 100 * i, 100 * i + 100);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* Joint rate 1 byte/ns: each direction gets half while both are busy. In: 100 bytes. Out: 50
 * bytes. At 100 ns 50 bytes have gone each way: out ends, and the other 50 in take 50 ns. */
START_TEST(test_directions_share_the_link_and_speed_up_again)
{
    struct machine machine = test_machine();
    machine.joint_bytes_per_s = 1e9;
    struct plan plan = test_plan(2, 0, 1, 50);
    test_h2d(&plan, 0, 0, 0, 100);
    test_d2h(&plan, 1, 0, 0, 50);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 0, 150);
    sim_assert_span(&timeline, 1, 0, 100);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

START_TEST(test_one_copy_engine_takes_turns)
{
    struct machine machine = test_machine();
    machine.copy_engines = 1;
    struct plan plan = test_plan(2, 0, 1, 50);
    test_h2d(&plan, 0, 0, 0, 100);
    test_d2h(&plan, 1, 0, 0, 50);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 0, 100);
    sim_assert_span(&timeline, 1, 100, 150);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

START_TEST(test_copy_latency_and_gap)
{
    struct machine machine = test_machine();
    machine.h2d_latency_ns = 30;
    machine.h2d_gap_ns = 7;
    machine.signal_gap_ns = 11; /* where a kernel waits for the copy; in part, so far as the
                                   other direction is idle */
    struct plan plan = test_plan(2, 0, 2, 75);
    test_h2d(&plan, 0, 0, 0, 100);
    test_kernel(&plan, 0, 0, 0, 25, 8);
    test_h2d(&plan, 1, 1, 100, 100);
    test_h2d(&plan, 1, 1, 200, 100);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 0, 130);
    sim_assert_span(&timeline, 2, 139, 269);
    sim_assert_span(&timeline, 3, 276, 406);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* --- rule 3: kernels
 * --------------------------------------------------------------------------------- */

/* Half-full kernels run side by side; a third one waits for room. 4 blocks: 2 * 100 ns each. */
START_TEST(test_kernels_share_the_gpu)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(3, 0, 3, 150);
    for (uint32_t i = 0; i < 3; i++)
        test_kernel(&plan, i, i, 50 * i, 50, 4);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 0, 200);
    sim_assert_span(&timeline, 1, 0, 200);
    sim_assert_span(&timeline, 2, 200, 400);
    ck_assert_uint_eq(timeline_span(&timeline, 0)->lane, 0);
    ck_assert_uint_eq(timeline_span(&timeline, 1)->lane, 1);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* 6 of 8 slots are taken; the next kernel wants 4 blocks and starts with the 2 that fit. Its
 * other 2 start when the first kernel ends, and the kernel behind it may not overtake. */
START_TEST(test_leftover_blocks_and_no_overtaking)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(3, 0, 3, 300);
    test_kernel(&plan, 0, 0, 0, 60, 6);   /* 120 flops on 6/8: 160 ns */
    test_kernel(&plan, 1, 1, 100, 60, 4); /* 240 ns a block */
    test_kernel(&plan, 2, 2, 200, 20, 2); /* 160 ns a block */
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 0, 160);
    sim_assert_span(&timeline, 1, 0, 400);
    sim_assert_span(&timeline, 2, 160, 320);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

START_TEST(test_urgent_blocks_go_first)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(3, 0, 3, 300);
    plan.priorities = calloc(3, sizeof *plan.priorities);
    plan.priorities[2] = -3;
    machine.issue_kernel_ns = 1;
    test_kernel(&plan, 0, 0, 0, 100, 16);  /* two waves of 8 blocks, 100 ns each */
    test_kernel(&plan, 1, 1, 100, 100, 8); /* queued behind it */
    test_kernel(&plan, 2, 2, 200, 100, 8); /* comes last, is served next */
    struct timeline timeline = sim_run(&machine, &plan);
    /* Priority acts between blocks: the first wave runs on, the second waits. */
    sim_assert_span(&timeline, 2, 101, 301);
    sim_assert_span(&timeline, 0, 1, 401);
    sim_assert_span(&timeline, 1, 401, 601);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* Two blocks of the 8 do all the arithmetic. A kernel of two blocks takes 100 ns alone. The
 * second comes after 40 ns: from then on each gets half, so the first needs 120 ns more and
 * ends at 160; by then the second has 40 ns left of its own 100 and runs alone again. */
START_TEST(test_kernels_slow_each_other_down)
{
    struct machine machine = test_machine();
    machine.arithmetic_fill = 0.25;
    machine.issue_kernel_ns = 40;
    struct plan plan = test_plan(2, 0, 2, 100);
    test_kernel(&plan, 0, 0, 0, 50, 2);
    test_kernel(&plan, 1, 1, 50, 50, 2);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 40, 200);
    sim_assert_span(&timeline, 1, 80, 240);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

START_TEST(test_concurrent_kernels_are_limited)
{
    struct machine machine = test_machine();
    machine.concurrent_kernels = 1;
    struct plan plan = test_plan(2, 0, 2, 100);
    test_kernel(&plan, 0, 0, 0, 10, 1);
    test_kernel(&plan, 1, 1, 50, 10, 1);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 0, 160);
    sim_assert_span(&timeline, 1, 160, 320);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* --- whole plans
 * ---------------------------------------------------------------------------------------- */

/* Tiles of 100 bytes each way, kernels of 100 ns, 4 tiles: serial 1200; 2-way 400 + 100 + 400;
 * 3-way 4 * 100 + 200. */
static int64_t span_of_ways(int ways)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.ways = ways;
    settings.elements = 100;
    settings.streams = ways == 1 ? 1 : 4;
    settings.intensity = 2;
    struct plan plan = test_built_on(&settings, &machine);
    for (uint32_t i = 0; i < plan.op_count; i++) {
        if (plan.ops[i].kind == OP_KERNEL)
            plan.ops[i].kernel.blocks = 8;
    }
    struct timeline timeline = sim_run(&machine, &plan);
    int64_t span = timeline_time_ns(&timeline);
    timeline_free(&timeline);
    plan_free(&plan);
    return span;
}

START_TEST(test_serial_two_and_three_way)
{
    ck_assert_int_eq(span_of_ways(1), 1200);
    ck_assert_int_eq(span_of_ways(2), 900);
    ck_assert_int_eq(span_of_ways(3), 600);
}
END_TEST

/* 16 blocks where 8 fit: two waves of 16384 ns each, and what a launch costs by itself once. */
START_TEST(test_more_blocks_than_fit_come_in_waves)
{
    enum { BLOCKS = 16, COUNT = BLOCKS * 4 * KERNEL_THREADS };
    struct machine machine = test_machine();
    machine.kernel_fixed_ns = 1000;
    struct plan plan = test_plan(1, 0, 1, COUNT);
    test_kernel(&plan, 0, 0, 0, COUNT, BLOCKS);
    struct timeline timeline = sim_run(&machine, &plan);
    ck_assert_int_eq(timeline_time_ns(&timeline), 1000 + 2 * 16384);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

static struct settings generated_settings(uint64_t *random)
{
    static const char *const chains[] = {"scale", "wave", "scale,sum", "scale,scale,scale"};
    struct settings settings = test_settings(chains[test_random_below(random, 4)]);
    settings.tiles = 1 + test_random_below(random, 60);
    settings.elements = settings.tiles * (1 + (uint64_t)test_random_below(random, 100000));
    settings.ways = 1 + (int)test_random_below(random, 4);
    settings.streams = settings.ways == 1 ? 1 : 1 + test_random_below(random, 16);
    settings.order = test_random_below(random, 2) ? ORDER_BREADTH : ORDER_DEPTH;
    settings.layout = test_random_below(random, 2) ? LAYOUT_STAGE : LAYOUT_TILE;
    settings.callbacks = test_random_below(random, 2);
    for (int i = 0; test_random_below(random, 2) && i < 3; i++)
        settings.priorities[settings.priority_count++] = -(int)test_random_below(random, 3);
    settings.intensity = 1 + test_random_below(random, 500);
    return settings;
}

/* Causes come before effects, engines do one copy at a time, streams are in order. */
static void assert_rules_hold(const struct timeline *timeline)
{
    int64_t stream_end[32] = {0}, issue = 0;
    for (uint32_t s = 0; s < timeline->span_count; s++) {
        const struct span *span = &timeline->spans[s];
        ck_assert_int_ge(span->issue_ns, issue);
        ck_assert_int_ge(span->start_ns, span->issue_ns);
        ck_assert_int_ge(span->end_ns, span->start_ns);
        ck_assert_int_ge(span->start_ns, stream_end[span->stream]);
        stream_end[span->stream] = span->end_ns;
        issue = span->issue_ns;
        if (span->engine == ENGINE_H2D || span->engine == ENGINE_D2H)
            ck_assert_uint_eq(span->lane, 0); /* one lane: never two copies at once */
    }
}

/* Any machine on the shelf, with fewer queues and places in them than it has. */
static struct machine generated_machine(uint64_t *random)
{
    static const char *const names[] = {"c1060", "c2050", "k20c", "rtx3050-laptop", "h200"};
    const char *name = names[test_random_below(random, 5)];
    struct machine machine = test_machine_named(name);
    machine.queues = 1 + test_random_below(random, machine.queues);
    machine.queue_depth = 2 + test_random_below(random, 100);
    machine.concurrent_kernels = 1 + test_random_below(random, machine.concurrent_kernels);
    return machine;
}

/* Checks what must hold of any timeline on any machine, from page-locked memory and from
 * pageable; and the same input gives the same bytes out. */
START_TEST(test_generated_timelines_obey_the_rules)
{
    uint64_t random = 31337;
    for (int i = 0; i < test_cases(400); i++) {
        struct settings settings = generated_settings(&random);
        struct machine machine = generated_machine(&random);
        int64_t issued_ns;
        struct plan plan = test_built_on(&settings, &machine);
        struct timeline timeline = sim_run(&machine, &plan), again = sim_run(&machine, &plan);
        ck_assert_int_eq(
            memcmp(timeline.spans, again.spans, timeline.span_count * sizeof *timeline.spans),
            0);
        assert_rules_hold(&timeline);
        timeline_free(&timeline);
        timeline_free(&again);
        timeline = sim_run_pageable(&machine, &plan, &issued_ns);
        assert_rules_hold(&timeline);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

static enum status stop_at_the_third(void *context, const struct op *op, struct error *error)
{
    (void)op;
    if (++*(int *)context == 3)
        return error_set(error, STATUS_FAILED, "stopped");
    return STATUS_OK;
}

START_TEST(test_hook_hears_ends_in_order_and_can_stop)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(1, 0, 4, 100);
    for (uint32_t i = 0; i < 4; i++)
        test_h2d(&plan, 0, i, 100 * i, 100);
    int heard = 0;
    struct simulator_hooks hooks = {.on_end = stop_at_the_third, .context = &heard};
    struct timeline timeline = {0};
    struct error error = {0};
    int64_t issued;
    ck_assert_int_eq(simulator_run(&machine, 0, &plan, &hooks, &timeline, &issued, &error),
                     STATUS_FAILED);
    ck_assert_int_eq(heard, 3);
    ck_assert_str_eq(error.text, "stopped");
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* --- intervals --- */

/* Looks at a copy of `bytes` beside a short kernel. */
static struct outlook look(const struct machine *machine, uint64_t bytes)
{
    struct plan plan = test_plan(2, 0, 2, 50000000);
    struct error error = {0};
    struct outlook outlook;
    int64_t time_ns;
    test_h2d(&plan, 0, 0, 0, bytes);
    test_kernel(&plan, 1, 1, bytes, 25, 8);
    ck_assert_int_eq(simulator_time(machine, 0, &plan, &time_ns, &error), STATUS_OK);
    ck_assert_int_eq(interval_look_plan(machine, 0, &plan, time_ns, &outlook, &error),
                     STATUS_OK);
    plan_free(&plan);
    return outlook;
}

/* A run that the copies bound moves with their rates alone; the rest is the simulator's. */
START_TEST(test_only_what_bounds_a_run_moves_it)
{
    struct machine machine = test_machine();
    machine.spread[SPREAD_COPIES] = 0.1;
    machine.spread[SPREAD_KERNELS] = 0.5;
    const struct outlook outlook = look(&machine, 100000000);
    ck_assert_int_eq(outlook.time_ns, 100000000);
    for (int i = 0; i < SPREAD_COUNT; i++)
        ck_assert_int_eq(outlook.slower_ns[i] != 100000000, i == SPREAD_COPIES);
    ck_assert_int_gt(outlook.slower_ns[SPREAD_COPIES], 110000000);
    ck_assert_int_lt(outlook.faster_ns[SPREAD_COPIES], 91000000);
    const struct time_range sure = interval_of(&outlook);
    ck_assert_int_lt(sure.low_ns, 100000000 - 1.645 * 9000000);
    ck_assert_int_gt(sure.high_ns, 100000000 + 1.645 * 10000000);
}
END_TEST

/* What a plan has beside copies and kernels adds what the rules are off by there: callbacks,
 * few blocks that go over much, packing, several streams. */
START_TEST(test_what_a_plan_has_moves_the_rest)
{
    const struct machine machine = test_machine();
    const int64_t time_ns = 100000000;
    int64_t rest[5];
    for (int i = 0; i < 5; i++) {
        struct plan plan = test_plan(i == 1 ? 2 : 1, 0, 1, 100 * KERNEL_THREADS);
        struct error error = {0};
        struct outlook outlook;
        plan.packs = i == 4;
        test_kernel(&plan, 0, 0, 0, i == 3 ? 100 * KERNEL_THREADS : 25, 2);
        if (i == 2)
            ck_assert_int_eq(
                plan_append(&plan, &(struct op){.kind = OP_CALLBACK, .stream = 0}, &error),
                STATUS_OK);
        ck_assert_int_eq(interval_look_plan(&machine, 0, &plan, time_ns, &outlook, &error),
                         STATUS_OK);
        rest[i] = outlook.slower_ns[OUTLOOK_REST] - time_ns;
        plan_free(&plan);
    }
    for (int i = 1; i < 5; i++)
        ck_assert_int_gt(rest[i], rest[i - 1]); /* in this order it is ever more */
    ck_assert_int_gt(rest[4], time_ns / 10);
}
END_TEST

/* What moves two runs alike does not make it unsure which of them is faster. */
START_TEST(test_a_gain_is_of_one_machine)
{
    struct machine machine = test_machine();
    machine.spread[SPREAD_COPIES] = 0.5;
    const struct outlook slow = look(&machine, 100000000);
    const struct outlook fast = look(&machine, 90000000);
    const struct time_range gain = interval_gain(&slow, &fast);
    ck_assert_int_gt(interval_of(&fast).high_ns, slow.time_ns);
    ck_assert_int_gt(gain.low_ns, 0);
    ck_assert_int_gt(gain.high_ns, 10000000);
    const struct outlook alike = look(&machine, 99000000);
    ck_assert_int_lt(interval_gain(&slow, &alike).low_ns, 0);
    struct outlook wide = slow;
    interval_widen(&wide, 0.2);
    ck_assert_int_lt(interval_gain(&wide, &fast).low_ns, 0);
}
END_TEST

Suite *sim_suite(void)
{
    Suite *suite = suite_create("sim");
    TCase *tests = tcase_create("sim");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_one_tile);
    tcase_add_test(tests, test_event_holds_another_stream_back);
    tcase_add_test(tests, test_record_before_any_op_is_reached_at_once);
    tcase_add_test(tests, test_more_streams_do_not_speed_up_one_direction);
    tcase_add_test(tests, test_directions_share_the_link_and_speed_up_again);
    tcase_add_test(tests, test_one_copy_engine_takes_turns);
    tcase_add_test(tests, test_copy_latency_and_gap);
    tcase_add_test(tests, test_kernels_share_the_gpu);
    tcase_add_test(tests, test_leftover_blocks_and_no_overtaking);
    tcase_add_test(tests, test_urgent_blocks_go_first);
    tcase_add_test(tests, test_kernels_slow_each_other_down);
    tcase_add_test(tests, test_concurrent_kernels_are_limited);
    tcase_add_test(tests, test_serial_two_and_three_way);
    tcase_add_test(tests, test_more_blocks_than_fit_come_in_waves);
    tcase_add_test(tests, test_generated_timelines_obey_the_rules);
    tcase_add_test(tests, test_hook_hears_ends_in_order_and_can_stop);
    tcase_add_test(tests, test_only_what_bounds_a_run_moves_it);
    tcase_add_test(tests, test_what_a_plan_has_moves_the_rest);
    tcase_add_test(tests, test_a_gain_is_of_one_machine);
    suite_add_tcase(suite, tests);
    return suite;
}
