/* check_sim_queues.c - hardware queues, old GPUs' checks, the host, pageable memory and
 * callbacks: each rule with and without (rules 4 to 9). */
#include "sim_cases.h"
#include "suites.h"

#include <stdlib.h>

/* --- rule 4: hardware queues --- */

/* 32 streams of two 10 ms one-block kernels each, depth-first: 330 ms with one queue, 20
 * with 32. (Hyper-Q, as NVIDIA's simpleHyperQ sample shows it.) In one queue the second kernel
 * of a stream waits for the first and holds up everybody behind it, but runs beside the next
 * stream's first. */
static int64_t two_kernels_in_each_of_32_streams(uint32_t queues)
{
    struct machine machine = test_machine();
    machine.sms = 16;
    machine.queues = queues;
    struct plan plan = test_plan(32, 0, 32, 64 * 100);
    /* One block of 128 slots, for 10 ms: 2 * count * 128 = 10e6 ns at 1 flop per ns; count ~
     * 39062. */
    machine.flops_per_s = 128.0 * 2 * 100 / 10e-3;
    for (uint32_t stream = 0; stream < 32; stream++) {
        test_kernel(&plan, stream, stream, 200 * stream, 100, 1);
        test_kernel(&plan, stream, stream, 200 * stream + 100, 100, 1);
    }
    struct timeline timeline = sim_run(&machine, &plan);
    int64_t span = timeline_time_ns(&timeline);
    timeline_free(&timeline);
    plan_free(&plan);
    return span;
}

START_TEST(test_one_queue_against_32)
{
    /* A kernel's rate changes with each that begins beside it, which may round it up by 1 ns.
     */
    ck_assert_int_le(llabs(two_kernels_in_each_of_32_streams(32) - 20000000), 32);
    ck_assert_int_eq(two_kernels_in_each_of_32_streams(1), 330000000);
}
END_TEST

/* Four streams, chains of three kernels on a quarter of the GPU each: one queue makes
 * depth-first serial (but for neighbours), breadth-first keeps four side by side; with 8 both
 * are. */
static int64_t chains_of_three(enum order order, uint32_t queues)
{
    struct machine machine = test_machine();
    machine.queues = queues;
    struct settings settings = test_settings("scale,scale,scale");
    settings.tiles = 4;
    settings.elements = 4 * 4096;
    settings.intensity = 64;
    settings.order = order;
    struct plan plan = test_built_on(&settings, &machine);
    for (uint32_t i = 0; i < plan.op_count; i++) {
        if (plan.ops[i].kind == OP_KERNEL)
            plan.ops[i].kernel.blocks = 2;
    }
    struct timeline timeline = sim_run(&machine, &plan);
    int64_t span = timeline_time_ns(&timeline);
    timeline_free(&timeline);
    plan_free(&plan);
    return span;
}

START_TEST(test_false_dependencies_depend_on_order)
{
    int64_t depth_one = chains_of_three(ORDER_DEPTH, 1);
    int64_t breadth_one = chains_of_three(ORDER_BREADTH, 1);
    int64_t depth_eight = chains_of_three(ORDER_DEPTH, 8);
    int64_t breadth_eight = chains_of_three(ORDER_BREADTH, 8);
    ck_assert_int_gt(depth_one, 2 * breadth_one);
    ck_assert_int_eq(depth_eight, breadth_eight);
    ck_assert_int_le(depth_eight, breadth_one);
}
END_TEST

/* With 8 queues the ninth stream shares the first one's: its kernel waits behind one that is
 * not ready. With 9 it has a queue of its own. */
START_TEST(test_streams_beyond_the_queues_share_them)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(9, 0, 2, 100);
    test_h2d(&plan, 0, 0, 0, 100);
    test_kernel(&plan, 0, 0, 0, 25, 4);
    test_kernel(&plan, 8, 1, 50, 25, 4);
    machine.queues = 8;
    sim_assert_start(&machine, &plan, 2, 100);
    machine.queues = 9;
    sim_assert_start(&machine, &plan, 2, 0);
    plan_free(&plan);
}
END_TEST

/* H2D 0, kernel 0, D2H 0, H2D 1: one copy engine works in the order of issue, so the second
 * tile waits for the first to be out; two engines have a queue each. */
START_TEST(test_one_copy_engine_keeps_the_order_of_issue)
{
    struct machine machine = test_machine();
    machine.queues = 1;
    struct plan plan = test_plan(2, 0, 2, 50);
    test_h2d(&plan, 0, 0, 0, 100);
    test_kernel(&plan, 0, 0, 0, 25, 8);
    test_d2h(&plan, 0, 0, 0, 100);
    test_h2d(&plan, 1, 1, 100, 100);
    sim_assert_start(&machine, &plan, 3, 100);
    machine.copy_engines = 1;
    sim_assert_start(&machine, &plan, 3, 250);
    plan_free(&plan);
}
END_TEST

/* --- rule 5: checks below compute capability 3.5 --- */

static struct machine fermi(void)
{
    struct machine machine = test_machine();
    machine.compute_capability = 2.0;
    machine.concurrent_kernels = 16;
    machine.queues = 1;
    return machine;
}

/* Kernel 0, then (after its copy) kernel 1, then the copy that follows kernel 0: it waits until
 * kernel 1 has started. */
START_TEST(test_dependent_copy_waits_for_all_starts)
{
    struct machine machine = fermi();
    struct plan plan = test_plan(2, 0, 2, 150);
    test_kernel(&plan, 0, 0, 0, 50, 8); /* 100 ns */
    test_h2d(&plan, 1, 1, 200, 300);
    test_kernel(&plan, 1, 1, 50, 50, 8);
    test_d2h(&plan, 0, 0, 0, 100);
    sim_assert_start(&machine, &plan, 3, 300);
    machine.compute_capability = 3.5;
    sim_assert_start(&machine, &plan, 3, 100);
    plan_free(&plan);
}
END_TEST

/* Two kernels back to back, then the copies behind them: both wait for the second. With an op
 * for another engine between the kernels each has its own signal. */
START_TEST(test_kernels_back_to_back_signal_together)
{
    struct machine machine = fermi();
    struct plan plan = test_plan(3, 0, 3, 150), apart = test_plan(3, 0, 3, 150);
    test_kernel(&plan, 0, 0, 0, 50, 8);
    test_kernel(&plan, 1, 1, 50, 50, 8);
    test_d2h(&plan, 0, 0, 0, 100);
    test_d2h(&plan, 1, 1, 100, 100);
    sim_assert_start(&machine, &plan, 2, 200);
    sim_assert_start(&machine, &plan, 3, 300);

    test_kernel(&apart, 0, 0, 0, 50, 8);
    test_h2d(&apart, 2, 2, 200, 10);
    test_kernel(&apart, 1, 1, 50, 50, 8);
    test_d2h(&apart, 0, 0, 0, 100);
    sim_assert_start(&machine, &apart, 3, 100);

    machine.compute_capability = 3.5;
    sim_assert_start(&machine, &plan, 2, 100);
    plan_free(&plan);
    plan_free(&apart);
}
END_TEST

/* An op that the CPU is handed between two kernels is not issued to the device. */
START_TEST(test_cpu_work_does_not_part_kernels)
{
    struct machine machine = fermi();
    struct plan plan = test_plan(2, 0, 3, 150);
    test_kernel(&plan, 0, 0, 0, 50, 8);
    struct op work = {.kind = OP_CPU, .stream = 2, .tile = 2};
    work.cpu.count = 10;
    work.cpu.ranges = test_ranges(&plan);
    ck_assert_int_eq(plan_append(&plan, &work, NULL), STATUS_OK);
    test_kernel(&plan, 1, 1, 50, 50, 8);
    test_d2h(&plan, 0, 0, 0, 100);
    sim_assert_start(&machine, &plan, 3, 200);
    plan_free(&plan);
}
END_TEST

/* An event behind the first of the two stands for the same signal. */
START_TEST(test_events_wait_for_the_signal)
{
    struct machine machine = fermi();
    struct plan plan = test_plan(3, 1, 3, 150);
    test_kernel(&plan, 0, 0, 0, 50, 8);
    test_kernel(&plan, 1, 1, 50, 50, 8);
    test_record(&plan, 0, 0);
    test_wait(&plan, 2, 0);
    test_h2d(&plan, 2, 2, 200, 100);
    sim_assert_start(&machine, &plan, 4, 200);
    machine.compute_capability = 3.5;
    sim_assert_start(&machine, &plan, 4, 100);
    plan_free(&plan);
}
END_TEST

/* There is room for both kernels, but the copy behind the first is issued before the second:
 * that one is held until the first has ended. Issued the other way round they run side by side.
 */
START_TEST(test_checks_hold_later_kernels)
{
    struct machine machine = fermi();
    struct plan plan = test_plan(2, 0, 2, 100), other = test_plan(2, 0, 2, 100);
    test_kernel(&plan, 0, 0, 0, 50, 2); /* 400 ns on a quarter of the GPU */
    test_d2h(&plan, 0, 0, 0, 100);
    test_kernel(&plan, 1, 1, 50, 50, 2);
    sim_assert_start(&machine, &plan, 2, 400);

    test_kernel(&other, 0, 0, 0, 50, 2);
    test_kernel(&other, 1, 1, 50, 50, 2);
    test_d2h(&other, 0, 0, 0, 100);
    sim_assert_start(&machine, &other, 1, 0);

    machine.compute_capability = 3.5;
    sim_assert_start(&machine, &plan, 2, 0);
    plan_free(&plan);
    plan_free(&other);
}
END_TEST
/* --- rule 6: the host --- */

START_TEST(test_late_issue_leaves_gaps)
{
    struct machine machine = test_machine();
    machine.issue_copy_ns = 150;
    struct plan plan = test_plan(2, 0, 2, 50);
    test_h2d(&plan, 0, 0, 0, 100);
    test_h2d(&plan, 1, 1, 100, 100);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 150, 250);
    sim_assert_span(&timeline, 1, 300, 400);
    ck_assert_int_eq(timeline_span(&timeline, 0)->issue_ns, 0);
    ck_assert_int_eq(timeline_span(&timeline, 1)->issue_ns, 150);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* One place per queue: the call for the third copy waits until the second leaves the queue, and
 * so the other direction's copy, which could run at once, is issued late. */
START_TEST(test_full_queue_blocks_the_caller)
{
    struct machine machine = test_machine();
    machine.queue_depth = 1;
    machine.queues = 1;
    struct plan plan = test_plan(1, 0, 3, 75);
    for (uint32_t i = 0; i < 3; i++)
        test_h2d(&plan, 0, i, 100 * i, 100);
    struct op other = {.kind = OP_D2H, .stream = 1, .tile = 0};
    plan.streams = 2;
    other.copy.host = (struct range){BUFFER_HOST_OUT, 0, 100};
    other.copy.device = (struct range){BUFFER_DEVICE_OUT, 0, 100};
    ck_assert_int_eq(plan_append(&plan, &other, NULL), STATUS_OK);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 2, 200, 300);
    sim_assert_span(&timeline, 3, 100, 200);
    ck_assert_int_eq(timeline_span(&timeline, 3)->issue_ns, 100);
    timeline_free(&timeline);

    machine.queue_depth = 2;
    timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 3, 0, 100);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* --- rule 8: pageable memory --- */

static struct machine staging_machine(void)
{
    struct machine machine = test_machine();
    machine.pageable_h2d_bytes_per_s = 0.5e9;
    machine.pageable_d2h_bytes_per_s = 0.25e9;
    machine.staging_bytes = machine.staging_piece_bytes = 20;
    return machine;
}

/* 10 bytes are one piece: the host has them in its staging buffer after 20 ns and goes on,
 * though a kernel in the same stream takes 500; the engine moves them in 10 ns when that has
 * ended. On the way back the engine takes 10 ns first, and then the host 40. */
START_TEST(test_pageable_pieces_are_handed_over)
{
    struct machine machine = staging_machine();
    struct plan plan = test_plan(2, 0, 1, 500);
    test_kernel(&plan, 0, 0, 0, 250, 8); /* 500 ns */
    test_h2d(&plan, 0, 0, 0, 10);
    test_d2h(&plan, 1, 0, 0, 10);
    test_h2d(&plan, 1, 0, 0, 10);
    int64_t issued_ns;
    struct timeline timeline = sim_run_pageable(&machine, &plan, &issued_ns);
    sim_assert_span(&timeline, 1, 500, 510);
    sim_assert_span(&timeline, 2, 20, 70);
    sim_assert_span(&timeline, 3, 90, 100);
    ck_assert_int_eq(timeline_span(&timeline, 3)->issue_ns, 70);
    ck_assert_int_eq(issued_ns, 90);
    timeline_free(&timeline);
    machine.staging_bytes = 9; /* more than a piece waits for its stream */
    timeline = sim_run_pageable(&machine, &plan, &issued_ns);
    ck_assert_int_gt(timeline_span(&timeline, 2)->issue_ns, 500);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* The host copies 100 bytes in 200 ns into the staging buffer; the engine moves the last 20 in
 * 20 ns more, while the host goes on. On the way back 100 bytes take 400 ns, and the call as
 * long. */
START_TEST(test_pageable_copies_hold_the_caller)
{
    struct machine machine = staging_machine();
    struct plan plan = test_plan(3, 0, 1, 50);
    test_h2d(&plan, 0, 0, 0, 100);
    test_d2h(&plan, 1, 0, 0, 100);
    test_kernel(&plan, 2, 0, 0, 25, 8);
    int64_t issued_ns;
    struct timeline timeline = sim_run_pageable(&machine, &plan, &issued_ns);
    sim_assert_span(&timeline, 0, 0, 220);
    sim_assert_span(&timeline, 1, 200, 600);
    sim_assert_span(&timeline, 2, 600, 650);
    ck_assert_int_eq(timeline_span(&timeline, 1)->issue_ns, 200);
    ck_assert_int_eq(timeline_span(&timeline, 2)->issue_ns, 600);
    ck_assert_int_eq(issued_ns, 600);
    timeline_free(&timeline);

    timeline = sim_run(&machine, &plan); /* page-locked: nobody waits */
    sim_assert_span(&timeline, 0, 0, 100);
    sim_assert_span(&timeline, 1, 0, 100);
    sim_assert_span(&timeline, 2, 0, 50);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* Each copy in is staged anew, behind the last piece of the one before it. */
START_TEST(test_pageable_copies_follow_one_another)
{
    struct machine machine = staging_machine();
    machine.sync_latency_ns = 7; /* no call that copies in waits for the device */
    struct plan plan = test_plan(1, 0, 1, 50);
    test_h2d(&plan, 0, 0, 0, 100);
    test_h2d(&plan, 0, 0, 100, 100);
    int64_t issued_ns;
    struct timeline timeline = sim_run_pageable(&machine, &plan, &issued_ns);
    sim_assert_span(&timeline, 1, 220, 440);
    ck_assert_int_eq(timeline_span(&timeline, 1)->issue_ns, 200);
    ck_assert_int_eq(issued_ns, 420);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* "A stream sync is performed before the copy is initiated": the call waits for the kernel
 * before the copy in its stream, too, and so the other stream's kernel comes late. */
START_TEST(test_pageable_copies_synchronise_their_stream)
{
    struct machine machine = staging_machine();
    struct plan plan = test_plan(2, 0, 2, 50);
    test_kernel(&plan, 0, 0, 0, 25, 4); /* 100 ns */
    test_d2h(&plan, 0, 0, 0, 50);
    test_kernel(&plan, 1, 1, 25, 25, 4);
    int64_t issued_ns;
    struct timeline timeline = sim_run_pageable(&machine, &plan, &issued_ns);
    sim_assert_span(&timeline, 1, 100, 300);
    sim_assert_span(&timeline, 2, 300, 400);
    timeline_free(&timeline);
    machine.sync_latency_ns = 7; /* hears later of the copy's end */
    timeline = sim_run_pageable(&machine, &plan, &issued_ns);
    sim_assert_span(&timeline, 1, 100, 300);
    sim_assert_span(&timeline, 2, 307, 407);
    timeline_free(&timeline);
    sim_assert_start(&machine, &plan, 2, 0);
    plan_free(&plan);
}
END_TEST

/* --- rule 9: callbacks --- */

/* One thread runs both callbacks, 40 ns each; the op behind each waits for its own. */
START_TEST(test_callbacks_take_turns_and_hold_their_stream)
{
    struct machine machine = test_machine();
    machine.callback_ns = 40;
    struct plan plan = test_plan(3, 0, 3, 150);
    sim_callback(&plan, 0, 0);
    sim_callback(&plan, 1, 1);
    test_kernel(&plan, 1, 1, 0, 25, 8);
    test_h2d(&plan, 2, 2, 200, 100); /* in a stream without one: at once */
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 0, 40);
    sim_assert_span(&timeline, 1, 40, 80);
    sim_assert_span(&timeline, 2, 80, 130);
    sim_assert_span(&timeline, 3, 0, 100);
    timeline_free(&timeline);
    machine.callback_ns = 0;
    sim_assert_start(&machine, &plan, 2, 0);
    plan_free(&plan);
}
END_TEST

/* The thread is told of a callback; and one that has slept, for 4 ms before a run, wakes. One
 * right behind another in its stream is called at once. */
START_TEST(test_callbacks_are_told_of)
{
    struct machine machine = test_machine();
    machine.callback_ns = 40;
    struct plan plan = test_plan(2, 0, 2, 50);
    test_kernel(&plan, 0, 0, 0, 25, 8); /* 50 ns */
    sim_callback(&plan, 0, 0);
    sim_callback(&plan, 0, 0);
    test_kernel(&plan, 0, 0, 0, 25, 8);
    sim_callback(&plan, 0, 0);
    sim_assert_start(&machine, &plan, 1, 50);
    machine.callback_latency_ns = 300;
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 1, 350, 390);
    sim_assert_span(&timeline, 2, 390, 430);
    sim_assert_span(&timeline, 4, 780, 820);
    timeline_free(&timeline);
    machine.callback_wake_ns = 100000; /* times the roots of 0.400005 and of 50 / 10^7 */
    timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 1, 63596, 63636);
    sim_assert_span(&timeline, 4, 64250, 64290);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* A thread that is at work, or on its way, is only told: it wakes once for both streams. */
START_TEST(test_threads_wake_once)
{
    struct machine machine = test_machine();
    machine.callback_ns = 1000;
    machine.callback_latency_ns = 300;
    machine.callback_wake_ns = 100000;
    struct plan plan = test_plan(3, 0, 3, 50);
    sim_callback(&plan, 0, 0);
    test_kernel(&plan, 1, 1, 0, 25, 8);
    sim_callback(&plan, 1, 1);
    test_kernel(&plan, 2, 2, 0, 25, 1); /* ends at 400 */
    sim_callback(&plan, 2, 2);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 63546, 64546);
    sim_assert_span(&timeline, 2, 64546, 65546);
    sim_assert_span(&timeline, 4, 65546, 66546);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* The driver's thread, when it wakes for a callback, holds up a call that begins meanwhile, for
 * half of what telling it takes; one that begins later is as it was. */
START_TEST(test_callbacks_hold_a_call)
{
    struct machine machine = test_machine();
    machine.issue_kernel_ns = 1000;
    machine.callback_latency_ns = 2000;
    struct plan plan = test_plan(2, 0, 4, 50);
    test_kernel(&plan, 0, 0, 0, 25, 8); /* 1000 to 1050: then the thread is woken */
    sim_callback(&plan, 0, 0);
    for (uint32_t i = 1; i < 4; i++)
        test_kernel(&plan, 1, i, 0, 25, 8);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 1, 3050, 3050);
    sim_assert_span(&timeline, 2, 2000, 2050);
    sim_assert_span(&timeline, 3, 3050, 3100); /* its call began at 2000, and went on at 2050 */
    sim_assert_span(&timeline, 4, 4050, 4100);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

Suite *sim_queues_suite(void)
{
    Suite *suite = suite_create("sim_queues");
    TCase *tests = tcase_create("sim_queues");
    tcase_add_test(tests, test_one_queue_against_32);
    tcase_add_test(tests, test_false_dependencies_depend_on_order);
    tcase_add_test(tests, test_streams_beyond_the_queues_share_them);
    tcase_add_test(tests, test_one_copy_engine_keeps_the_order_of_issue);
    tcase_add_test(tests, test_dependent_copy_waits_for_all_starts);
    tcase_add_test(tests, test_kernels_back_to_back_signal_together);
    tcase_add_test(tests, test_cpu_work_does_not_part_kernels);
    tcase_add_test(tests, test_events_wait_for_the_signal);
    tcase_add_test(tests, test_checks_hold_later_kernels);
    tcase_add_test(tests, test_late_issue_leaves_gaps);
    tcase_add_test(tests, test_full_queue_blocks_the_caller);
    tcase_add_test(tests, test_pageable_pieces_are_handed_over);
    tcase_add_test(tests, test_pageable_copies_hold_the_caller);
    tcase_add_test(tests, test_pageable_copies_follow_one_another);
    tcase_add_test(tests, test_pageable_copies_synchronise_their_stream);
    tcase_add_test(tests, test_callbacks_take_turns_and_hold_their_stream);
    tcase_add_test(tests, test_callbacks_are_told_of);
    tcase_add_test(tests, test_callbacks_hold_a_call);
    tcase_add_test(tests, test_threads_wake_once);
    suite_add_tcase(suite, tests);
    return suite;
}
