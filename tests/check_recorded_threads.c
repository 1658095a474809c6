/* check_recorded_threads.c - the threads of recorded programs: each makes its own calls, and
 * only streams, events and syncs tell one of what another does. */
#include "analysis/critical.h"
#include "recorded_plan.h"

#include <stdlib.h>

/* Lets the ops in `ops`, a bit each, be another thread's. */
static void give_thread(struct plan *plan, uint64_t ops)
{
    plan->recorded->threads = 2;
    for (uint32_t i = 0; i < plan->op_count; i++)
        plan->recorded->ops[i].thread = ops >> i & 1;
}

/* Lets every launch take `ns` on half of the GPU. */
static void give_work(struct plan *plan, int64_t ns)
{
    for (uint32_t i = 0; i < plan->op_count; i++) {
        plan->recorded->ops[i].fill = 0.5;
        plan->recorded->ops[i].work_ns = ns;
    }
}

START_TEST(time_elsewhere_is_a_gap)
{
    struct machine machine = test_machine();
    machine.issue_copy_ns = 3;
    struct plan built = test_plan(2, 0, 1, 64);
    test_h2d(&built, 0, 0, 0, 50);
    test_d2h(&built, 1, 0, 0, 50);
    test_sync(&built, 2);
    struct plan plan = recorded_of(&built, &machine);
    plan.recorded->ops[0].host_ns = 20;
    plan.recorded->ops[1].host_ns = 500;
    plan.recorded->ops[2].host_ns = 1000;
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 23, 73);
    sim_assert_span(&timeline, 1, 526, 576);
    sim_assert_span(&timeline, 2, 1526, 1526);
    ck_assert_int_eq(timeline.issue_ns[0], 20);
    ck_assert_int_eq(timeline.issue_ns[1], 523);
    ck_assert_int_eq(timeline.op_calls[0].returned_ns, 23);
    timeline_free(&timeline);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* Two threads, a stream each: kernel, sync, kernel. Issued by one, each waits for the other. */
START_TEST(threads_overlap_their_syncs)
{
    struct machine machine = test_machine();
    struct plan built = test_plan(2, 0, 1, 64);
    for (uint32_t i = 0; i < 2; i++) {
        test_kernel(&built, i, 0, 0, 64, 1);
        test_sync(&built, i);
        test_kernel(&built, i, 0, 0, 64, 1);
    }
    test_sync(&built, 1);
    struct plan plan = recorded_of(&built, &machine);
    give_work(&plan, 100);
    sim_assert_start(&machine, &plan, 5, 200);
    give_thread(&plan, 0x78);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 1, 0, 100);
    sim_assert_span(&timeline, 4, 0, 100);
    sim_assert_span(&timeline, 2, 100, 200);
    sim_assert_span(&timeline, 5, 100, 200);
    ck_assert_int_eq(timeline.issue_ns[3], 0);
    timeline_free(&timeline);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* What holds up a thread - a copy that it waits for, memory, a full queue - does not hold up
 * another. */
START_TEST(calls_block_their_own_thread)
{
    struct machine machine = test_machine();
    machine.queue_depth = 1;
    for (int how = 0; how < 3; how++) {
        struct plan built = test_plan(2, 0, 1, 256);
        if (how == 0)
            test_h2d(&built, 0, 0, 0, 300);
        else if (how == 1)
            test_alloc(&built, 8, false);
        for (int i = 0; i < 4 && how == 2; i++)
            test_kernel(&built, 0, 0, 0, 64, 1);
        uint32_t own = test_d2h(&built, 1, 0, 0, 10), other = test_d2h(&built, 1, 0, 0, 10);
        struct plan plan = recorded_of(&built, &machine);
        give_work(&plan, 150);
        if (how == 1)
            plan.recorded->ops[0].work_ns = 300;
        plan.recorded->ops[0].waits = how == 0;
        sim_assert_start(&machine, &plan, own, 300);
        give_thread(&plan, UINT64_C(1) << own | UINT64_C(1) << other);
        sim_assert_start(&machine, &plan, own, 0);
        sim_assert_start(&machine, &plan, other, 10);
        plan_free(&plan);
        plan_free(&built);
    }
}
END_TEST

/* The ops of a stream go in the order of the plan, whoever issues them first. With room for one
 * op in its queue, the one that comes first must find room behind the one that is there. */
START_TEST(a_stream_of_two_threads)
{
    for (uint32_t depth = 1; depth < 3; depth++) {
        struct machine machine = test_machine();
        machine.queue_depth = depth;
        machine.queues = 1;
        struct plan built = test_plan(1, 0, 1, 64);
        for (int i = 0; i < 4; i++)
            test_kernel(&built, 0, 0, 0, 64, 1);
        struct plan plan = recorded_of(&built, &machine);
        give_work(&plan, 10);
        give_thread(&plan, 0xA); /* the second and the fourth */
        plan.recorded->ops[0].host_ns = 500;
        struct timeline timeline = sim_run(&machine, &plan);
        for (uint32_t i = 0; i < 4; i++)
            sim_assert_span(&timeline, i, 500 + 10 * i, 510 + 10 * i);
        ck_assert_int_eq(timeline.issue_ns[1], 0);
        timeline_free(&timeline);
        plan_free(&plan);
        plan_free(&built);
    }
}
END_TEST

/* One queue with room for one op: the next thread's call begins when the op of the one before
 * has left, in the order of the plan. */
START_TEST(threads_share_a_queue)
{
    struct machine machine = test_machine();
    machine.queue_depth = machine.queues = 1;
    machine.issue_kernel_ns = 10;
    struct plan built = test_plan(3, 0, 1, 64);
    for (uint32_t i = 0; i < 3; i++)
        test_kernel(&built, i, 0, 0, 64, 1);
    struct plan plan = recorded_of(&built, &machine);
    plan.recorded->threads = 3;
    for (uint32_t i = 0; i < 3; i++) {
        plan.recorded->ops[i].thread = 2 - i;
        plan.recorded->ops[i].fill = 0.2;
        plan.recorded->ops[i].host_ns = i == 2 ? 0 : 1; /* the last one comes first */
    }
    struct timeline timeline = sim_run(&machine, &plan);
    ck_assert_int_eq(timeline.spans[0].start_ns, 11);
    ck_assert_int_eq(timeline.spans[1].start_ns, 21);
    ck_assert_int_eq(timeline.spans[2].start_ns, 21);
    timeline_free(&timeline);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* A thread issues a copy, and its record, only at 500: whatever comes after them in the plan
 * and refers to them waits. What comes later does not count, though it ends before. */
START_TEST(what_comes_before_in_the_plan)
{
    enum { HOWS = 6 };
    for (int how = 0; how < HOWS; how++) {
        struct machine machine = test_machine();
        struct plan built = test_plan(3, 1, 1, 256);
        static const enum stream_kind kinds[] = {STREAM_BLOCKING, STREAM_NONBLOCKING,
                                                 STREAM_LEGACY};
        test_stream_kinds(&built, kinds);
        test_h2d(&built, 0, 0, 0, 100);
        test_record(&built, 0, 0);
        if (how == 0)
            test_wait(&built, 1, 0);
        else if (how == 1)
            recorded_sync_event(&built, 0);
        else if (how == 2)
            test_sync(&built, 0);
        else if (how == 3)
            test_sync(&built, 3); /* the device */
        else if (how == 4)
            test_sync(&built, 2); /* the blocking streams, with the legacy default one */
        uint32_t last = test_d2h(&built, how == 5 ? 2 : 1, 0, 0, 10);
        uint32_t later = test_d2h(&built, 1, 0, 0, 10);
        struct plan plan = recorded_of(&built, &machine);
        give_thread(&plan, UINT64_MAX << 2);
        plan.recorded->ops[later].thread = 2;
        plan.recorded->threads = 3;
        plan.recorded->ops[0].host_ns = 500;
        struct timeline timeline = sim_run(&machine, &plan);
        int64_t start_ns = timeline_span(&timeline, last)->start_ns;
        ck_assert_msg(start_ns == 600, "%d: it started at %ld", how, (long)start_ns);
        if (how == 5) /* in a stream of its own */
            sim_assert_span(&timeline, later, 0, 10);
        timeline_free(&timeline);
        plan_free(&plan);
        plan_free(&built);
    }
}
END_TEST

/* The sync of the device comes before two short copies of another thread, which end first. */
START_TEST(later_ops_do_not_end_a_sync)
{
    struct machine machine = test_machine();
    struct plan built = test_plan(2, 0, 1, 256);
    test_h2d(&built, 0, 0, 0, 1000);
    test_sync(&built, 2);
    test_d2h(&built, 1, 0, 0, 10);
    test_d2h(&built, 1, 0, 0, 10);
    struct plan plan = recorded_of(&built, &machine);
    give_thread(&plan, 0xC);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 1, 0, 1000);
    sim_assert_span(&timeline, 3, 10, 20);
    timeline_free(&timeline);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* --- any plan ends --- */

static void append_random(struct plan *built, uint64_t *random, uint32_t streams,
                          uint32_t events)
{
    uint32_t stream = test_random_below(random, streams);
    uint32_t event = test_random_below(random, events);
    switch (test_random_below(random, 10)) {
    case 0:
    case 1:
        test_kernel(built, stream, 0, 0, 8, 1 + test_random_below(random, 8));
        break;
    case 2:
        test_h2d(built, stream, 0, 0, 32);
        break;
    case 3:
        test_d2h(built, stream, 0, 0, 32);
        break;
    case 4:
        test_record(built, stream, event);
        break;
    case 5:
        test_wait(built, stream, event);
        break;
    case 6:
        recorded_sync_event(built, event);
        break;
    case 7:
        test_sync(built, test_random_below(random, streams + 1));
        break;
    case 8:
        test_memset(built, stream, 0, 32, 1);
        break;
    default:
        if (test_random_below(random, 2))
            sim_callback(built, stream, 0);
        else
            test_alloc(built, 64, test_random_below(random, 2));
    }
}

static struct plan random_threads(uint64_t *random, const struct machine *machine)
{
    enum { STREAMS = 4, EVENTS = 3, OPS = 40, THREADS = 4 };
    enum stream_kind kinds[STREAMS];
    struct plan built = test_plan(STREAMS, EVENTS, 1, 64);
    for (int i = 0; i < STREAMS; i++)
        kinds[i] = test_random_below(random, 2) ? STREAM_BLOCKING : STREAM_NONBLOCKING;
    kinds[0] = test_random_below(random, 2) ? STREAM_LEGACY : kinds[0];
    test_stream_kinds(&built, kinds);
    for (int i = 0; i < OPS; i++)
        append_random(&built, random, STREAMS, EVENTS);
    struct plan plan = recorded_of(&built, machine);
    plan.recorded->threads = THREADS;
    for (uint32_t i = 0; i < plan.op_count; i++) {
        struct op_recorded *seen = &plan.recorded->ops[i];
        seen->thread = test_random_below(random, THREADS);
        seen->host_ns = test_random_below(random, 3) > 0 ? 0 : test_random_below(random, 200);
        seen->waits = test_random_below(random, 6) == 0;
        seen->pageable = test_random_below(random, 6) == 0;
    }
    plan_free(&built);
    return plan;
}

/* Checks that the ops of each stream took turns in the order of the plan, and that the calls of
 * each thread did. */
static void assert_in_order(const struct plan *plan, struct timeline *timeline)
{
    int64_t stream_ns[8] = {0}, thread_ns[8] = {0};
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        uint32_t thread = plan->recorded->ops[i].thread;
        ck_assert_int_ge(timeline->issue_ns[i],
                         thread_ns[thread] + plan->recorded->ops[i].host_ns);
        thread_ns[thread] = timeline->op_calls[i].returned_ns;
        if (op->kind == OP_RECORD)
            continue;
        const struct span *span = timeline_span(timeline, i);
        ck_assert_int_ge(span->start_ns, span->issue_ns);
        if (!op_in_stream(op->kind) || op->kind == OP_WAIT)
            continue;
        ck_assert_int_ge(span->start_ns, stream_ns[op->stream]);
        stream_ns[op->stream] = span->end_ns;
        if (plan->recorded->ops[i].waits)
            ck_assert_int_ge(timeline->op_calls[i].returned_ns, span->end_ns);
    }
}

START_TEST(any_plan_ends)
{
    uint64_t random = 7;
    for (int i = 0; i < test_cases(1500); i++) {
        struct machine machine = test_machine();
        struct critical critical;
        struct error error = {0};
        machine.pageable_h2d_bytes_per_s = machine.pageable_d2h_bytes_per_s = 0.5e9;
        machine.queues = 1 + test_random_below(&random, 3);
        machine.queue_depth = 1 + test_random_below(&random, 3);
        machine.copy_engines = 1 + (int)test_random_below(&random, 2);
        machine.concurrent_kernels = i % 2 ? 128 : 2;
        machine.compute_capability = i % 3 == 0 ? 2.0 : 9.0;
        machine.issue_copy_ns = test_random_below(&random, 9);
        machine.issue_kernel_ns = test_random_below(&random, 9);
        struct plan plan = random_threads(&random, &machine);
        struct timeline timeline = sim_run(&machine, &plan);
        assert_in_order(&plan, &timeline);
        ck_assert_int_eq(critical_find(&timeline, &machine, &critical, &error), STATUS_OK);
        ck_assert_uint_gt(critical.path_count, 0);
        critical_free(&critical);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

/* --- critical paths --- */

/* The kernel was issued behind a copy that its own thread waited for, not behind the sync that
 * another thread had begun meanwhile. */
START_TEST(held_by_calls_of_the_same_thread)
{
    struct machine machine = test_machine();
    machine.issue_copy_ns = 5;
    struct plan built = test_plan(3, 0, 1, 64);
    uint32_t copy = test_h2d(&built, 0, 0, 0, 100);
    test_d2h(&built, 1, 0, 0, 40);
    uint32_t sync = test_sync(&built, 1);
    uint32_t kernel = test_kernel(&built, 2, 0, 0, 64, 1);
    uint32_t other = test_d2h(&built, 1, 0, 0, 10);
    struct plan plan = recorded_of(&built, &machine);
    give_thread(&plan, 0x16);
    plan.recorded->ops[copy].waits = true;
    plan.recorded->ops[kernel].host_ns = 7;
    plan.recorded->ops[kernel].work_ns = 1000;
    struct timeline timeline = sim_run(&machine, &plan);
    struct critical critical;
    struct error error = {0};
    ck_assert_int_eq(critical_find(&timeline, &machine, &critical, &error), STATUS_OK);
    const struct hold *hold = &critical.holds[kernel];
    ck_assert_int_eq(hold->by, HELD_BY_CALL);
    ck_assert_uint_eq(hold->span, copy);
    ck_assert_int_eq(hold->free_ns, 112);
    ck_assert_uint_eq(critical.holds[other].span, sync);
    ck_assert_uint_eq(critical.path_count, 2);
    ck_assert_uint_eq(critical.path[0], copy);
    critical_free(&critical);
    timeline_free(&timeline);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

TCase *recorded_threads_case(void)
{
    TCase *tc = tcase_create("threads");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, time_elsewhere_is_a_gap);
    tcase_add_test(tc, threads_overlap_their_syncs);
    tcase_add_test(tc, calls_block_their_own_thread);
    tcase_add_test(tc, a_stream_of_two_threads);
    tcase_add_test(tc, threads_share_a_queue);
    tcase_add_test(tc, what_comes_before_in_the_plan);
    tcase_add_test(tc, later_ops_do_not_end_a_sync);
    tcase_add_test(tc, any_plan_ends);
    tcase_add_test(tc, held_by_calls_of_the_same_thread);
    return tc;
}
