/* check_sim_sync.c - what holds up more than its own stream, each rule with and without: syncs
 * (rule 6), the legacy default stream (rule 7), implicit synchronisation by generation (rule
 * 10). */
#include "plan/rules.h"
#include "plan/rules_blocks.h"
#include "sim_cases.h"
#include "suites.h"

/* Copies move a byte per ns, and memsets set one: a block does all that the memory can. */
static struct machine sync_machine(double compute_capability)
{
    struct machine machine = test_machine();
    machine.compute_capability = compute_capability;
    machine.memory_bytes_per_s = 1e9;
    machine.memory_fill = 0.125;
    return machine;
}

static void assert_ran(const struct machine *machine, const struct plan *plan, uint32_t op,
                       int64_t start, int64_t end)
{
    struct timeline timeline = sim_run(machine, plan);
    sim_assert_span(&timeline, op, start, end);
    timeline_free(&timeline);
}

/* --- the rules alone --- */

START_TEST(test_rule_synchronising_ops)
{
    static const struct {
        double compute_capability;
        bool old;
    } cases[] = {{1.3, true},  {2.0, true},  {3.5, true}, {3.7, true},
                 {5.0, false}, {6.0, false}, {9.0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machine machine = sync_machine(cases[i].compute_capability);
        ck_assert_int_eq(rule_op_synchronises(&machine, OP_MEMSET), cases[i].old);
        ck_assert_int_eq(rule_op_synchronises(&machine, OP_D2D), cases[i].old);
        ck_assert(!rule_op_synchronises(&machine, OP_H2D));
        ck_assert(!rule_op_synchronises(&machine, OP_KERNEL));
        ck_assert_int_eq(rule_alloc_synchronises(&machine, true), cases[i].old);
        ck_assert(rule_alloc_synchronises(&machine, false));
    }
}
END_TEST

START_TEST(test_rule_streams_and_syncs)
{
    ck_assert(rule_minds_legacy(STREAM_BLOCKING) && rule_minds_legacy(STREAM_LEGACY));
    ck_assert(!rule_minds_legacy(STREAM_NONBLOCKING));
    ck_assert(rule_sync_encompasses(STREAM_LEGACY, STREAM_BLOCKING));
    ck_assert(!rule_sync_encompasses(STREAM_LEGACY, STREAM_NONBLOCKING));
    ck_assert(!rule_sync_encompasses(STREAM_BLOCKING, STREAM_LEGACY));
}
END_TEST

START_TEST(test_rule_costs)
{
    struct machine machine = sync_machine(9.0);
    machine.sync_ns = 7;
    machine.alloc_small_ns = 20;
    machine.alloc_ns = 30;
    machine.pinned_bytes_per_s = 2e9;
    struct op op = {.kind = OP_SYNC};
    ck_assert_int_eq(rule_call_ns(&machine, &op), 7);
    op = (struct op){.kind = OP_ALLOC, .alloc = {.bytes = 100}};
    ck_assert_int_eq(rule_call_ns(&machine, &op), 20); /* out of a piece that is there */
    op.alloc.bytes = 1 << 20;
    ck_assert_int_eq(rule_call_ns(&machine, &op), 30);
    op.alloc.bytes = 100;
    op.alloc.pinned = true;
    ck_assert_int_eq(rule_call_ns(&machine, &op), 80);
    machine.pinned_ns = 400; /* a fixed part of its own, whatever its size */
    ck_assert_int_eq(rule_call_ns(&machine, &op), 480);
    op = (struct op){.kind = OP_ALLOC, .alloc = {.bytes = 3 << 20}};
    machine.alloc_mib_ns = 5; /* the device's memory goes by its size, too */
    ck_assert_int_eq(rule_call_ns(&machine, &op), 45);
    op = (struct op){.kind = OP_MEMSET, .set = {.range = {BUFFER_DEVICE_OUT, 0, 8193}}};
    ck_assert_uint_eq(rule_memory_blocks(&machine, &op), 3); /* of 4096 bytes */
    ck_assert_double_eq_tol(rule_memory_cost(&machine, &op).memory_ns, 8193, 1e-6);
    op.set.range.bytes = 1 << 20;
    ck_assert_uint_eq(rule_memory_blocks(&machine, &op), 8);
    op = (struct op){.kind = OP_D2D, .move = {.to = {BUFFER_DEVICE_OUT, 0, 100}}};
    ck_assert_double_eq_tol(rule_memory_cost(&machine, &op).memory_ns, 200, 1e-6);
}
END_TEST

/* --- rule 6: syncs --- */

#define NO_SYNC UINT32_MAX

/* A copy of 100 ns in stream 0 and one of 200 in stream 1, then the sync of `stream`, then a
 * memset of 50 ns in stream 2; with how many ops before that. */
static uint32_t synced_plan(struct plan *plan, uint32_t stream)
{
    *plan = test_plan(3, 0, 2, 100);
    test_h2d(plan, 0, 0, 0, 100);
    test_d2h(plan, 1, 1, 200, 200);
    if (stream != NO_SYNC)
        test_sync(plan, stream);
    return test_memset(plan, 2, 0, 50, 0);
}

START_TEST(test_sync_holds_the_host)
{
    static const struct {
        uint32_t stream;
        int64_t start; /* of the memset */
    } cases[] = {{NO_SYNC, 0}, {0, 100}, {1, 200}, {2, 0}, {3, 200}};
    struct machine machine = sync_machine(9.0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan plan;
        uint32_t last = synced_plan(&plan, cases[i].stream);
        machine.sync_ns = 0;
        assert_ran(&machine, &plan, last, cases[i].start, cases[i].start + 50);
        machine.sync_ns = 7;
        int64_t start = cases[i].start + (cases[i].stream != NO_SYNC ? 7 : 0);
        assert_ran(&machine, &plan, last, start, start + 50);
        if (cases[i].stream != NO_SYNC)
            assert_ran(&machine, &plan, 2, 0, start); /* the call itself */
        /* A call that had to wait hears later that it need not any more. */
        machine.sync_latency_ns = 4;
        start += cases[i].start > 0 ? 4 : 0;
        assert_ran(&machine, &plan, last, start, start + 50);
        machine.sync_latency_ns = 0;
        plan_free(&plan);
    }
}
END_TEST

/* Ops issued before a sync go on meanwhile; what comes after it is issued call by call.
 */
START_TEST(test_sync_in_the_middle)
{
    struct machine machine = sync_machine(9.0);
    machine.issue_copy_ns = 10;
    struct plan plan = test_plan(2, 0, 3, 100);
    test_h2d(&plan, 0, 0, 0, 100);
    test_h2d(&plan, 1, 1, 100, 100);
    test_sync(&plan, 0);
    test_h2d(&plan, 0, 2, 200, 100);
    test_d2h(&plan, 0, 2, 200, 100);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 10, 110);
    sim_assert_span(&timeline, 1, 110, 210);
    sim_assert_span(&timeline, 2, 20, 110);
    sim_assert_span(&timeline, 3, 210, 310);
    ck_assert_int_eq(timeline.issue_ns[2], 20);
    ck_assert_int_eq(timeline.issue_ns[3], 110);
    ck_assert_int_eq(timeline.issue_ns[4], 120);
    ck_assert_int_eq(timeline_span(&timeline, 2)->engine, ENGINE_HOST);
    ck_assert_uint_eq(timeline_span(&timeline, 2)->target, 0);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* Records, waits and callbacks are a stream's ops, too; the CPU's are not the device's. */
START_TEST(test_sync_waits_for_callbacks_and_waits)
{
    struct machine machine = sync_machine(9.0);
    machine.callback_ns = 40;
    struct plan plan = test_plan(3, 1, 2, 100);
    struct op cpu = {.kind = OP_CPU, .stream = 3, .tile = 1};
    cpu.cpu.count = 100000;
    cpu.cpu.ranges = test_ranges(&plan);
    ck_assert_int_eq(plan_append(&plan, &cpu, NULL), STATUS_OK);
    test_h2d(&plan, 0, 0, 0, 100);
    test_record(&plan, 0, 0);
    sim_callback(&plan, 0, 0);
    test_wait(&plan, 1, 0);
    test_sync(&plan, 1); /* 5: until the event */
    test_sync(&plan, 0); /* 6: until the callback */
    test_sync(&plan, 3); /* 7: nothing is left */
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 5, 0, 100);
    sim_assert_span(&timeline, 6, 100, 140);
    sim_assert_span(&timeline, 7, 140, 140);
    ck_assert_uint_eq(timeline_span(&timeline, 5)->target, 1);
    ck_assert_uint_eq(timeline_span(&timeline, 6)->target, 3);
    ck_assert_uint_eq(timeline_span(&timeline, 7)->target, 3); /* the last that ended */
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* The host gives up its sync only when a full queue has let all ops through. */
START_TEST(test_sync_behind_a_full_queue)
{
    struct machine machine = sync_machine(9.0);
    machine.queue_depth = 1;
    machine.queues = 1;
    struct plan plan = test_plan(1, 0, 4, 100);
    for (uint32_t i = 0; i < 4; i++)
        test_h2d(&plan, 0, i, 100 * i, 100);
    uint32_t sync = test_sync(&plan, 0);
    struct timeline timeline = sim_run(&machine, &plan);
    ck_assert_int_eq(timeline_span(&timeline, sync)->end_ns, 400);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* --- rule 7: the legacy default stream --- */

/* Stream 0 copies in for 100 ns, the second sets memory for 50, stream 2 copies out for 100. */
static struct plan three_streams(const enum stream_kind *kinds)
{
    struct plan plan = test_plan(3, 0, 2, 100);
    test_stream_kinds(&plan, kinds);
    test_h2d(&plan, 0, 0, 0, 100);
    test_memset(&plan, 1, 0, 50, 0);
    test_d2h(&plan, 2, 1, 200, 100);
    return plan;
}

START_TEST(test_legacy_stream_waits_and_is_waited_for)
{
    static const struct {
        enum stream_kind kinds[3];
        int64_t starts[3];
    } cases[] = {
        {{STREAM_BLOCKING, STREAM_LEGACY, STREAM_BLOCKING}, {0, 100, 150}},
        {{STREAM_NONBLOCKING, STREAM_LEGACY, STREAM_BLOCKING}, {0, 0, 50}},
        {{STREAM_BLOCKING, STREAM_LEGACY, STREAM_NONBLOCKING}, {0, 100, 0}},
        {{STREAM_BLOCKING, STREAM_BLOCKING, STREAM_BLOCKING}, {0, 0, 0}},
        {{STREAM_LEGACY, STREAM_BLOCKING, STREAM_BLOCKING}, {0, 100, 100}},
        {{STREAM_BLOCKING, STREAM_BLOCKING, STREAM_LEGACY}, {0, 0, 100}},
    };
    struct machine machine = sync_machine(9.0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan plan = three_streams(cases[i].kinds);
        for (uint32_t op = 0; op < 3; op++)
            sim_assert_start(&machine, &plan, op, cases[i].starts[op]);
        plan_free(&plan);
    }
}
END_TEST

/* An op behind several ops of the legacy stream waits for the last, and for no later one. */
START_TEST(test_many_legacy_ops)
{
    static const enum stream_kind kinds[] = {STREAM_LEGACY, STREAM_BLOCKING};
    struct machine machine = sync_machine(9.0);
    struct plan plan = test_plan(2, 0, 2, 1000);
    test_stream_kinds(&plan, kinds);
    test_memset(&plan, 0, 0, 50, 0);
    test_memset(&plan, 0, 50, 50, 0);
    test_h2d(&plan, 1, 0, 0, 300);
    test_d2h(&plan, 1, 0, 400, 100);
    test_memset(&plan, 0, 100, 50, 0);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 1, 50, 100);
    sim_assert_span(&timeline, 2, 100, 400);
    sim_assert_span(&timeline, 3, 400, 500);
    sim_assert_span(&timeline, 4, 500, 550);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* An event recorded in the legacy stream stands for all blocking streams; its sync, too. */
START_TEST(test_legacy_events_and_syncs)
{
    static const enum stream_kind kinds[] = {STREAM_BLOCKING, STREAM_LEGACY,
                                             STREAM_NONBLOCKING};
    struct machine machine = sync_machine(9.0);
    for (int sync = 0; sync <= 1; sync++) {
        struct plan plan = test_plan(3, 1, 1, 100);
        test_stream_kinds(&plan, kinds);
        test_h2d(&plan, 0, 0, 0, 100);
        if (sync)
            test_sync(&plan, 1);
        else
            test_record(&plan, 1, 0);
        if (!sync)
            test_wait(&plan, 2, 0);
        uint32_t last = test_d2h(&plan, 2, 0, 200, 100);
        assert_ran(&machine, &plan, last, 100, 200);
        plan.stream_kinds[0] = STREAM_NONBLOCKING;
        assert_ran(&machine, &plan, last, 0, 100);
        plan_free(&plan);
    }
}
END_TEST

/* --- rule 10: implicit synchronisation --- */

/* A copy of 200 ns, then what may synchronise, in another stream, then a copy out in a third.
 */
static struct plan around(enum op_kind kind, bool pinned)
{
    struct plan plan = test_plan(3, 0, 2, 100);
    test_h2d(&plan, 0, 0, 0, 200);
    if (kind == OP_MEMSET)
        test_memset(&plan, 1, 300, 100, 0);
    else if (kind == OP_D2D)
        test_d2d(&plan, 1, 300, 50);
    else
        test_alloc(&plan, 60, pinned);
    test_d2h(&plan, 2, 1, 200, 100);
    return plan;
}

START_TEST(test_implicit_synchronisation_by_generation)
{
    static const struct {
        enum op_kind kind;
        bool pinned;
        int64_t old[3], now[3]; /* start and end of it, start of the copy behind it */
    } cases[] = {
        {OP_MEMSET, false, {200, 300, 300}, {0, 100, 0}},
        {OP_D2D, false, {200, 300, 300}, {0, 100, 0}},
        {OP_ALLOC, false, {0, 230, 230}, {0, 230, 230}},
        {OP_ALLOC, true, {0, 290, 290}, {0, 90, 90}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan plan = around(cases[i].kind, cases[i].pinned);
        for (int old = 0; old <= 1; old++) {
            struct machine machine = sync_machine(old ? 3.5 : 9.0);
            const int64_t *expected = old ? cases[i].old : cases[i].now;
            machine.alloc_small_ns = machine.alloc_ns = 30;
            assert_ran(&machine, &plan, 1, expected[0], expected[1]);
            sim_assert_start(&machine, &plan, 2, expected[2]);
        }
        plan_free(&plan);
    }
}
END_TEST

/* They run beside other launches where those run side by side. */
START_TEST(test_memsets_are_launches)
{
    struct machine machine = sync_machine(9.0);
    machine.concurrent_kernels = 1;
    struct plan plan = test_plan(2, 0, 1, 100);
    test_memset(&plan, 0, 0, 100, 0);
    test_d2d(&plan, 1, 200, 100); /* twice as long: it reads, too */
    assert_ran(&machine, &plan, 1, 100, 300);
    machine.concurrent_kernels = 2;
    struct timeline timeline = sim_run(&machine, &plan); /* they share the memory's rate */
    sim_assert_span(&timeline, 0, 0, 200);
    sim_assert_span(&timeline, 1, 0, 300);
    ck_assert_int_eq(timeline_span(&timeline, 0)->engine, ENGINE_COMPUTE);
    ck_assert_uint_eq(timeline_span(&timeline, 0)->bytes, 100);
    ck_assert_uint_eq(timeline_span(&timeline, 1)->bytes, 100);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* Many ops behind one another's barriers: each is told of one. With a list of all of them to go
 * through for every end this would take hours. */
START_TEST(test_many_barriers)
{
    static const uint32_t streams = 512, rounds = 400;
    struct machine machine = sync_machine(2.0);
    struct error error = {0};
    struct plan plan = test_plan(streams, 0, 1, 100);
    enum stream_kind kinds[512] = {STREAM_LEGACY};
    for (uint32_t i = 1; i < streams; i++)
        kinds[i] = i % 2 ? STREAM_BLOCKING : STREAM_NONBLOCKING;
    test_stream_kinds(&plan, kinds);
    for (uint32_t round = 0; round < rounds; round++) {
        test_memset(&plan, round % streams, 0, 4, 0);
        for (uint32_t i = 0; i < streams; i++)
            test_h2d(&plan, i, 0, 0, 4);
    }
    ck_assert_int_eq(plan_validate(&plan, &error), STATUS_OK);
    ck_assert_int_eq(sim_span_ns(&machine, &plan), rounds * (4 + 4 * (int64_t)streams));
    plan_free(&plan);
}
END_TEST

Suite *sim_sync_suite(void)
{
    Suite *suite = suite_create("sim_sync");
    TCase *tests = tcase_create("sim_sync");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_rule_synchronising_ops);
    tcase_add_test(tests, test_rule_streams_and_syncs);
    tcase_add_test(tests, test_rule_costs);
    tcase_add_test(tests, test_sync_holds_the_host);
    tcase_add_test(tests, test_sync_in_the_middle);
    tcase_add_test(tests, test_sync_waits_for_callbacks_and_waits);
    tcase_add_test(tests, test_sync_behind_a_full_queue);
    tcase_add_test(tests, test_legacy_stream_waits_and_is_waited_for);
    tcase_add_test(tests, test_many_legacy_ops);
    tcase_add_test(tests, test_legacy_events_and_syncs);
    tcase_add_test(tests, test_implicit_synchronisation_by_generation);
    tcase_add_test(tests, test_memsets_are_launches);
    tcase_add_test(tests, test_many_barriers);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, sim_sync_random_case());
    return suite;
}
