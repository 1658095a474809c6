/* check_sim_rules.c - the simulator's rules as functions, and what order, room and priority
 * change: each rule with and without (rules 1 to 3). */
#include "plan/rules.h"
#include "plan/rules_blocks.h"
#include "sim_cases.h"
#include "suites.h"

#include <math.h>

/* --- the rules alone
 * ---------------------------------------------------------------------------- */

START_TEST(test_rule_copy_rates)
{
    struct machine machine = test_machine();
    machine.h2d_bytes_per_s = 10;
    machine.d2h_bytes_per_s = 4;
    machine.joint_bytes_per_s = 12;
    ck_assert_double_eq(rule_copy_bytes_per_s(&machine, OP_H2D, false), 10);
    ck_assert_double_eq(rule_copy_bytes_per_s(&machine, OP_D2H, false), 4);
    /* D2H can't use its half, so H2D gets the rest of the joint rate. */
    ck_assert_double_eq(rule_copy_bytes_per_s(&machine, OP_H2D, true), 8);
    ck_assert_double_eq(rule_copy_bytes_per_s(&machine, OP_D2H, true), 4);
    machine.d2h_bytes_per_s = 9;
    ck_assert_double_eq(rule_copy_bytes_per_s(&machine, OP_H2D, true), 6);
    ck_assert_double_eq(rule_copy_bytes_per_s(&machine, OP_D2H, true), 6);
    machine.joint_bytes_per_s = 19;
    ck_assert_double_eq(rule_copy_bytes_per_s(&machine, OP_H2D, true), 10);
}
END_TEST

START_TEST(test_rule_queues)
{
    struct machine machine = test_machine();
    ck_assert_int_eq(rule_queue(&machine, 1, OP_KERNEL, 7), 0);
    ck_assert_int_eq(rule_queue(&machine, 1, OP_H2D, 7), 1);
    ck_assert_int_eq(rule_queue(&machine, 1, OP_D2H, 7), 2);
    ck_assert_int_eq(rule_queue(&machine, 8, OP_KERNEL, 9), 1);
    ck_assert_int_eq(rule_queue(&machine, 8, OP_RECORD, 9), -1);
    bool used[32] = {false};
    for (uint32_t stream = 0; stream < 8; stream++) {
        used[rule_queue(&machine, 8, OP_KERNEL, stream)] = true;
        used[rule_queue(&machine, 8, OP_H2D, stream)] = true;
        used[rule_queue(&machine, 8, OP_D2H, stream)] = true;
        used[rule_queue(&machine, 8, OP_PEER, stream)] = true;
    }
    ck_assert_uint_eq(rule_queue_count(8), 32);
    for (int i = 0; i < 32; i++)
        ck_assert(used[i]);
    machine.copy_engines = 1; /* one queue for both directions */
    ck_assert_int_eq(rule_queue(&machine, 8, OP_D2H, 9), rule_queue(&machine, 8, OP_H2D, 9));
}
END_TEST

START_TEST(test_rule_blocks)
{
    ck_assert_uint_eq(rule_blocks_placed(5, 8, 0), 5);
    ck_assert_uint_eq(rule_blocks_placed(5, 8, 6), 2);
    ck_assert_uint_eq(rule_blocks_placed(5, 8, 8), 0);
    struct machine machine = test_machine();
    machine.concurrent_kernels = 2;
    ck_assert(rule_kernel_may_start(&machine, 1));
    ck_assert(!rule_kernel_may_start(&machine, 2));
}
END_TEST

/* Returns what a launch of `blocks` blocks takes in one sweep while `in_use` are resident. */
static double sweep_ns(const struct machine *machine, struct kernel_cost cost, double blocks,
                       uint32_t in_use)
{
    return rule_sweep_ns(machine, cost, 1 / blocks, in_use, DEALT_EVENLY);
}

START_TEST(test_rule_sweep_times)
{
    struct machine machine = test_machine(); /* 8 block slots, on one SM */
    struct kernel_cost heavy = {0, 200, 1, 1, 1, 0}, light = {800, 0, 1, 1, 1, 0},
                       both = {100, 200, 1, 1, 1, 0};
    ck_assert_double_eq_tol(sweep_ns(&machine, heavy, 8, 8), 200, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, heavy, 2, 2), 800, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, heavy, 16, 8), 100, 1e-9); /* two waves */
    /* A quarter of the slots does all the arithmetic, alone; beside others it gets its share.
     */
    heavy.arithmetic_fill = 0.25;
    ck_assert_double_eq_tol(sweep_ns(&machine, heavy, 2, 2), 200, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, heavy, 1, 1), 400, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, heavy, 2, 4), 400, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, heavy, 8, 8), 200, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, both, 8, 8), 250, 1e-9); /* half is hidden */
    light.memory_fill = 0.5;
    ck_assert_double_eq_tol(sweep_ns(&machine, light, 4, 4), 800, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, light, 2, 2), 1600, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, light, 4, 8), 1600, 1e-9);
    /* Few blocks wait less for an idle memory: at half of those that saturate it, each waits
     * for the mean of what it does there and where it is idle. */
    light.idle_memory_share = 0.6;
    ck_assert_double_eq_tol(sweep_ns(&machine, light, 4, 4), 800, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, light, 2, 2), 1280, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, light, 8, 8), 800, 1e-9);
}
END_TEST

/* The arithmetic is an SM's own: of 5 blocks on 4 SMs two share one, and the launch ends with
 * them. Memory is the device's. */
START_TEST(test_rule_fullest_sm)
{
    struct machine machine = test_machine();
    machine.sms = 4;
    machine.threads_per_sm = 2 * KERNEL_THREADS;
    struct kernel_cost heavy = {0, 400, 0.5, 0.5, 1, 0}, light = {400, 0, 0.5, 0.5, 1, 0};
    ck_assert_double_eq_tol(sweep_ns(&machine, heavy, 4, 4), 400, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, heavy, 5, 5), 640, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, heavy, 8, 8), 400, 1e-9);
    ck_assert_double_eq_tol(sweep_ns(&machine, light, 5, 5), 400, 1e-9);
    /* Beside others it is half as bad. */
    ck_assert_double_eq_tol(rule_sweep_ns(&machine, heavy, 0.2, 5, DEALT_BESIDE), 520, 1e-9);
    machine.leftover_excess = 1.5;
    ck_assert_double_eq_tol(rule_sweep_ns(&machine, heavy, 0.25, 4, DEALT_FIRST), 800, 1e-9);
}
END_TEST

/* Few blocks wait less for what lies in the cache, scans a little less, and much less for what
 * a launch before has written. The more streams' tiles are there, the less of them the cache
 * has. */
START_TEST(test_rule_waits)
{
    const struct kernel *scale = kernel_find("scale"), *scan = kernel_find("scan"),
                        *launches = kernel_find("wave-launches");
    const struct kernel_params params = {.intensity = 3};
    struct machine machine = test_machine();
    machine.idle_memory_share = 0.5;
#define IDLE(kernel, streams)                                                                  \
    rule_launch_cost(&machine, kernel, &params, 1024, streams).idle_memory_share
    ck_assert_double_eq(IDLE(scale, 1), 0.5);
    ck_assert_double_eq(IDLE(launches, 1), 0.5);
    machine.l2_bytes = 1 << 20; /* tiles of `scale` have 8 KiB */
    ck_assert_double_lt(IDLE(scale, 1), 0.4);
    ck_assert_double_lt(IDLE(scale, 1), IDLE(scan, 1));
    ck_assert_double_lt(IDLE(scan, 1), 0.5);
    ck_assert_double_lt(IDLE(launches, 1), 0.25);
    ck_assert_double_eq(IDLE(scale, 32), IDLE(scale, 1));
    ck_assert_double_eq_tol(IDLE(scale, 48), (IDLE(scale, 1) + 0.5) / 2, 1e-9);
    ck_assert_double_eq(IDLE(scale, 64), 0.5);
#undef IDLE
}
END_TEST

START_TEST(test_rule_sweeps)
{
    struct sweeps sweeps = rule_sweeps(10 * KERNEL_THREADS, 4, 1); /* 2.5 sweeps of one block */
    ck_assert_uint_eq(sweeps.least, 2);
    ck_assert_uint_eq(sweeps.blocks_with_more, 1);
    ck_assert_double_eq_tol(sweeps.share, 1 / 2.5, 1e-12);
    sweeps = rule_sweeps(25 * KERNEL_THREADS, 1, 10); /* half of the blocks make a third */
    ck_assert_uint_eq(sweeps.least, 2);
    ck_assert_uint_eq(sweeps.blocks_with_more, 5);
    ck_assert_double_eq_tol(sweeps.share, 1 / 25.0, 1e-12);
    sweeps = rule_sweeps(100, 1, 8); /* less than one sweep */
    ck_assert_uint_eq(sweeps.least, 1);
    ck_assert_uint_eq(sweeps.blocks_with_more, 0);
    ck_assert_double_eq_tol(sweeps.share, 1 / 8.0, 1e-12);
}
END_TEST

START_TEST(test_rule_checks)
{
    struct machine machine = test_machine();
    static const struct {
        double compute_capability;
        bool checks;
    } cases[] = {{1.3, false}, {2.0, true},  {2.1, true},
                 {3.0, true},  {3.5, false}, {9.0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        machine.compute_capability = cases[i].compute_capability;
        ck_assert_int_eq(rule_checks_dependencies(&machine), cases[i].checks);
    }
    machine.compute_capability = 2.0;
    machine.concurrent_kernels = 1;
    ck_assert(!rule_checks_dependencies(&machine));
    ck_assert(rule_dependent_may_go(7, 8, 0));
    ck_assert(!rule_dependent_may_go(7, 6, 0));
    ck_assert(!rule_dependent_may_go(7, 8, 1));
    ck_assert(rule_check_holds_kernel(6, 7));
    ck_assert(!rule_check_holds_kernel(8, 7));
}
END_TEST

START_TEST(test_rule_staging)
{
    struct machine machine = test_machine();
    machine.pageable_h2d_bytes_per_s = 5;
    machine.pageable_d2h_bytes_per_s = 7;
    machine.staging_piece_bytes = 64;
    ck_assert_double_eq(rule_staged_bytes_per_s(&machine, OP_H2D, 6), 5);
    ck_assert_double_eq(rule_staged_bytes_per_s(&machine, OP_D2H, 6), 6);
    ck_assert_uint_eq(rule_staged_last_bytes(&machine, OP_H2D, 100), 64);
    ck_assert_uint_eq(rule_staged_last_bytes(&machine, OP_H2D, 10), 10);
    ck_assert_uint_eq(rule_staged_last_bytes(&machine, OP_D2H, 100), 0);
    struct plan plan = {.memory = MEMORY_PAGEABLE};
    const struct op in = {.kind = OP_H2D}, out = {.kind = OP_D2H}, set = {.kind = OP_MEMSET};
    const struct op kernel = {.kind = OP_KERNEL};
    ck_assert(rule_call_waits(&plan, &in) && rule_call_waits(&plan, &out));
    ck_assert(!rule_call_waits(&plan, &kernel) && !rule_copy_staged(&plan, &kernel));
    plan = (struct plan){.launches_block = true};
    ck_assert(!rule_call_waits(&plan, &in) && !rule_call_waits(&plan, &out));
    ck_assert(rule_call_waits_out(&plan, &kernel) && !rule_call_waits(&plan, &set));
    struct op_recorded seen = {.pageable = true};
    struct plan_recorded recorded = {.ops = &seen};
    plan = (struct plan){.recorded = &recorded};
    ck_assert(rule_copy_staged(&plan, &in) && rule_call_waits(&plan, &in));
    ck_assert(!rule_call_waits_out(&plan, &in) && !rule_call_waits(&plan, &set));
    seen = (struct op_recorded){.waits = true};
    ck_assert(!rule_copy_staged(&plan, &in) && rule_call_waits_out(&plan, &in));
    ck_assert(rule_call_waits_out(&plan, &set));
    struct machine toy = test_machine(); /* 8 blocks */
    ck_assert_uint_eq(rule_measured_blocks(&toy, 0), 1);
    ck_assert_uint_eq(rule_measured_blocks(&toy, 0.49), 3);
    ck_assert_uint_eq(rule_measured_blocks(&toy, 3 / 8.0 - 1e-12), 3);
    ck_assert_uint_eq(rule_measured_blocks(&toy, 1), 8);
    machine.lazy_load_ns = 7;
    ck_assert_int_eq(rule_load_ns(&machine, false), 7);
    ck_assert_int_eq(rule_load_ns(&machine, true), 0);
}
END_TEST

/* What the cores have just packed lies in their caches, where copies are slow; the more the
 * slots hold, the less of it. A call that waits lets nothing be packed meanwhile. */
START_TEST(test_rule_packed_copies)
{
    struct machine machine = test_machine();
    machine.h2d_bytes_per_s = machine.d2h_bytes_per_s = 48e9;
    machine.joint_bytes_per_s = 96e9;
    machine.cpu_cores = 8;
    struct plan plan = {.packs = true, .slots = 1, .chain_length = 1};
    plan.chain[0] = kernel_find("sum");
    struct op in = {.kind = OP_H2D, .copy.host = {BUFFER_HOST_PACK_IN0, 0, 8 << 20}};
    const struct op out = {.kind = OP_D2H, .copy.host = {BUFFER_HOST_PACK_OUT, 0, 8 << 20}};
    const double half = rule_packed_bytes_per_s(&machine, &plan, &in);
    ck_assert_double_eq_tol(half, 32e9, 1); /* half of it at 24 GB/s */
    ck_assert_double_eq_tol(rule_packed_bytes_per_s(&machine, &plan, &out),
                            1 / (0.3 / 24e9 + 0.7 / 48e9), 1);
    plan.slots = 3;
    ck_assert_double_eq_tol(rule_packed_bytes_per_s(&machine, &plan, &in),
                            1 / (0.1 / 24e9 + 0.9 / 48e9), 1);
    plan.memory = MEMORY_PAGEABLE;
    ck_assert_double_eq(rule_packed_bytes_per_s(&machine, &plan, &in), half);
    in.copy.host.buffer = BUFFER_HOST_IN0;
    ck_assert_double_eq(rule_packed_bytes_per_s(&machine, &plan, &in), INFINITY);
    machine.pack_ns = 5;
    machine.pack_bytes_per_s = 2e9;
    ck_assert_int_eq(rule_pack_ns(&machine, &plan, 140000), 100005); /* nothing goes out */
    plan.chain[0] = kernel_find("scale");
    ck_assert_int_eq(rule_pack_ns(&machine, &plan, 140000), 140005);
    plan.slots = 1;
    ck_assert_int_eq(rule_pack_ns(&machine, &plan, 140000), 100005);
}
END_TEST

/* --- rule 1: order and signals
 * ------------------------------------------------------------------- */

/* Two streams run side by side what one keeps in order. */
START_TEST(test_stream_order)
{
    struct machine machine = test_machine();
    for (uint32_t other = 0; other < 2; other++) {
        struct plan plan = test_plan(2, 0, 2, 100);
        test_kernel(&plan, 0, 0, 0, 50, 4); /* 200 ns on half of the GPU */
        test_kernel(&plan, other, 1, 50, 50, 4);
        sim_assert_start(&machine, &plan, 1, other == 0 ? 200 : 0);
        plan_free(&plan);
    }
}
END_TEST

/* One engine takes its time to signal another; a launch takes its own. */
START_TEST(test_signals_take_time)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(1, 0, 1, 100);
    test_h2d(&plan, 0, 0, 0, 100);
    test_h2d(&plan, 0, 0, 100, 100);
    test_kernel(&plan, 0, 0, 0, 25, 8);
    sim_assert_start(&machine, &plan, 2, 200);
    machine.kernel_dependency_ns = 30;
    machine.h2d_dependency_ns = machine.d2h_dependency_ns = 999;
    sim_assert_start(&machine, &plan, 1, 100); /* the same engine: no signal */
    sim_assert_start(&machine, &plan, 2, 230);
    machine.kernel_latency_ns = 4; /* of what waits for nothing but its issue */
    sim_assert_start(&machine, &plan, 2, 230);
    machine.copy_start_ns = 6;
    sim_assert_start(&machine, &plan, 0, 6);
    sim_assert_start(&machine, &plan, 1, 106);
    sim_assert_start(&machine, &plan, 2, 236);
    plan_free(&plan);
    plan = test_plan(1, 0, 1, 100);
    test_kernel(&plan, 0, 0, 0, 25, 8);
    test_kernel(&plan, 0, 0, 0, 25, 8);
    machine.kernel_gap_ns = 9;
    sim_assert_start(&machine, &plan, 0, 4);
    sim_assert_start(&machine, &plan, 1, 4 + 50 + 9);
    plan_free(&plan);
}
END_TEST

/* An engine looks at the queues in which something waits one after another. */
START_TEST(test_signals_wait_for_polls)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(3, 0, 3, 300);
    for (uint32_t stream = 0; stream < 3; stream++)
        test_h2d(&plan, stream, stream, 100 * stream, 100);
    for (uint32_t stream = 0; stream < 3; stream++)
        test_kernel(&plan, stream, stream, 25 * stream, 25, 1);
    machine.kernel_dependency_ns = 30;
    machine.poll_ns = 5;
    sim_assert_start(&machine, &plan, 3, 100 + 30 + 2 * 5);
    /* The engine that signals takes longer, too, by half as much with nothing to copy out. */
    sim_assert_start(&machine, &plan, 4, 200 + 5 + 30 + 5);
    sim_assert_start(&machine, &plan, 5, 300 + 5 + 2 + 30);
    plan_free(&plan);
}
END_TEST

/* --- rule 3: what makes room for kernels
 * --------------------------------------------------------- */

/* 6 of 8 slots are taken: the 2 left go to the next kernel, unless the machine runs one kernel
 * at a time. */
START_TEST(test_leftover_needs_concurrent_kernels)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(2, 0, 2, 200);
    test_kernel(&plan, 0, 0, 0, 60, 6);
    test_kernel(&plan, 1, 1, 100, 60, 4);
    sim_assert_start(&machine, &plan, 1, 0);
    machine.concurrent_kernels = 1;
    sim_assert_start(&machine, &plan, 1, 160);
    plan_free(&plan);
}
END_TEST

/* The same three kernels: the last is served before the second only by its priority. */
START_TEST(test_priority_decides_who_is_next)
{
    struct machine machine = test_machine();
    int priorities[] = {0, 0, -1};
    struct plan plan = test_plan(3, 0, 3, 300);
    for (uint32_t i = 0; i < 3; i++)
        test_kernel(&plan, i, i, 100 * i, 100, 8); /* 200 ns, the whole GPU */
    sim_assert_start(&machine, &plan, 2, 400);
    plan.priorities = priorities;
    sim_assert_start(&machine, &plan, 2, 200);
    plan.priorities = NULL;
    plan_free(&plan);
}
END_TEST

/* One kernel at a time: the urgent one can't start before the first is done, and must not keep
 * the rest of the first's blocks waiting for that. */
START_TEST(test_urgent_kernel_lets_a_running_one_finish)
{
    struct machine machine = test_machine();
    machine.concurrent_kernels = 1;
    machine.issue_kernel_ns = 10;
    int priorities[] = {0, -1};
    struct plan plan = test_plan(2, 0, 2, 200);
    plan.priorities = priorities;
    test_kernel(&plan, 0, 0, 0, 100, 16); /* two waves of 100 ns */
    test_kernel(&plan, 1, 1, 100, 100, 8);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 10, 210);
    sim_assert_span(&timeline, 1, 210, 410);
    timeline_free(&timeline);
    plan.priorities = NULL;
    plan_free(&plan);
}
END_TEST

Suite *sim_rules_suite(void)
{
    Suite *suite = suite_create("sim_rules");
    TCase *tests = tcase_create("sim_rules");
    tcase_add_test(tests, test_rule_copy_rates);
    tcase_add_test(tests, test_rule_queues);
    tcase_add_test(tests, test_rule_blocks);
    tcase_add_test(tests, test_rule_sweep_times);
    tcase_add_test(tests, test_rule_fullest_sm);
    tcase_add_test(tests, test_rule_waits);
    tcase_add_test(tests, test_rule_sweeps);
    tcase_add_test(tests, test_rule_checks);
    tcase_add_test(tests, test_rule_staging);
    tcase_add_test(tests, test_rule_packed_copies);
    tcase_add_test(tests, test_stream_order);
    tcase_add_test(tests, test_signals_take_time);
    tcase_add_test(tests, test_signals_wait_for_polls);
    tcase_add_test(tests, test_leftover_needs_concurrent_kernels);
    tcase_add_test(tests, test_priority_decides_who_is_next);
    tcase_add_test(tests, test_urgent_kernel_lets_a_running_one_finish);
    suite_add_tcase(suite, tests);
    return suite;
}
