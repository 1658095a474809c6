/* check_peers.c - copies from device to device: what the links between devices give them, and
 * that a plan with such copies is judged as any other. */
#include "analysis/analysis.h"
#include "analysis/critical.h"
#include "plan/rules.h"
#include "report/report.h"
#include "sim/simulator.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_program.h"

#include <math.h>
#include <string.h>

enum { PART = 4000 }; /* bytes of a device's part of each buffer */

/* A machine whose devices send a byte per ns, and 1.5 both ways together. */
static struct machine peer_machine(void)
{
    struct machine machine = test_machine();
    machine.devices = 4;
    machine.peer_bytes_per_s = 1e9;
    machine.peer_joint_bytes_per_s = 1.5e9;
    machine.host_h2d_bytes_per_s = machine.host_d2h_bytes_per_s = 1e15;
    machine.host_joint_bytes_per_s = 1e15;
    return machine;
}

/* A plan of that many devices, with a stream each. */
static struct plan peer_plan(uint32_t devices, uint32_t events)
{
    struct plan plan = test_plan(devices, events, 4, devices * PART / sizeof(float));
    plan.devices = devices;
    return plan;
}

/* Copies bytes from the beginning of a device's output to that of another's input. */
static uint32_t test_peer(struct plan *plan, uint32_t from, uint32_t to, uint64_t bytes)
{
    struct error error = {0};
    struct op op = {.kind = OP_PEER, .stream = from, .tile = 0};
    op.move.from = (struct range){BUFFER_DEVICE_OUT, from * (uint64_t)PART, bytes};
    op.move.to = (struct range){BUFFER_DEVICE_IN0, to * (uint64_t)PART, bytes};
    ck_assert_msg(plan_append(plan, &op, &error) == STATUS_OK, "%s", error.text);
    return plan->op_count - 1;
}

static struct timeline simulated(const struct machine *machine, const struct plan *plan)
{
    struct error error = {0};
    test_must(plan_validate(plan, &error), &error);
    return sim_run(machine, plan);
}

static void assert_end(const struct timeline *timeline, uint32_t op, int64_t end_ns)
{
    ck_assert_int_eq(timeline_span((struct timeline *)timeline, op)->end_ns, end_ns);
}

/* --- the rule --- */

START_TEST(rates_are_those_of_the_ports)
{
    const struct machine machine = peer_machine();
    ck_assert_double_eq(rule_peer_bytes_per_s(&machine, 1, false), 1e9);
    ck_assert_double_eq(rule_peer_bytes_per_s(&machine, 1, true), 0.75e9);
    ck_assert_double_eq(rule_peer_bytes_per_s(&machine, 2, false), 0.5e9);
    ck_assert_double_eq(rule_peer_bytes_per_s(&machine, 3, true), 0.25e9);
}
END_TEST

/* 900 bytes one way; 1000 and 400 both ways: until the shorter one has ended each has 0.75 of a
 * byte per ns. */
START_TEST(both_ways_share_the_joint_rate)
{
    const struct machine machine = peer_machine();
    struct plan plan = peer_plan(2, 0);
    test_peer(&plan, 0, 1, 900);
    struct timeline timeline = simulated(&machine, &plan);
    assert_end(&timeline, 0, 900);
    timeline_free(&timeline);
    plan_free(&plan);
    plan = peer_plan(2, 0);
    test_peer(&plan, 0, 1, 1000);
    test_peer(&plan, 1, 0, 300);
    timeline = simulated(&machine, &plan);
    assert_end(&timeline, 1, 400);
    assert_end(&timeline, 0, 400 + 700);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* Two send to one: each has half until one is done. One that sends to two does so in turn. */
START_TEST(a_device_receives_as_fast_as_one_sends)
{
    const struct machine machine = peer_machine();
    struct plan plan = peer_plan(3, 0);
    test_peer(&plan, 0, 2, 1000);
    test_peer(&plan, 1, 2, 400);
    struct timeline timeline = simulated(&machine, &plan);
    assert_end(&timeline, 1, 800);
    assert_end(&timeline, 0, 800 + 600);
    timeline_free(&timeline);
    plan_free(&plan);
    plan = peer_plan(3, 0);
    test_peer(&plan, 0, 1, 1000);
    test_peer(&plan, 0, 2, 400);
    timeline = simulated(&machine, &plan);
    assert_end(&timeline, 0, 1000);
    assert_end(&timeline, 1, 1400);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* What one device hands on while another sends to it shares its joint rate. */
START_TEST(a_device_in_the_middle_sends_and_receives)
{
    const struct machine machine = peer_machine();
    struct plan plan = peer_plan(3, 0);
    test_peer(&plan, 0, 1, 750);
    test_peer(&plan, 1, 2, 750);
    struct timeline timeline = simulated(&machine, &plan);
    assert_end(&timeline, 0, 1000);
    assert_end(&timeline, 1, 1000);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* A copy to another device begins after its latency, and takes nothing from the link to the
 * host, nor from the host's memory. */
START_TEST(hosts_links_are_not_touched)
{
    struct machine machine = peer_machine();
    machine.peer_latency_ns = 50;
    machine.host_h2d_bytes_per_s = machine.host_joint_bytes_per_s = 1e9;
    struct plan plan = peer_plan(2, 0);
    struct op op = {.kind = OP_H2D, .stream = 1, .tile = 0};
    op.copy.host = (struct range){BUFFER_HOST_IN0, 0, 1000};
    op.copy.device = (struct range){BUFFER_DEVICE_IN0, PART + 2000, 1000};
    test_peer(&plan, 0, 1, 1000);
    ck_assert_int_eq(plan_append(&plan, &op, NULL), STATUS_OK);
    struct timeline timeline = simulated(&machine, &plan);
    assert_end(&timeline, 0, 1050);
    assert_end(&timeline, 1, 1000);
    ck_assert_uint_eq(timeline.spans[0].bytes, 1000);
    ck_assert_uint_eq(timeline.spans[0].device, 0);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* H200s over NVLink: what was measured of two. */
START_TEST(h200s_are_as_fast_as_measured)
{
    struct machine machine = test_machine_named("h200");
    ck_assert_double_eq(rule_peer_bytes_per_s(&machine, 1, false), 395e9);
    ck_assert_double_eq(2 * rule_peer_bytes_per_s(&machine, 1, true), 781e9);
}
END_TEST

/* --- plans --- */

/* Makes a copy of 100 bytes on device 0 wrong, by offsets, sizes or buffers. */
static const struct {
    enum buffer from, to;
    uint64_t from_at, to_at, bytes, to_bytes;
    const char *words;
} faults[] = {
    {BUFFER_DEVICE_OUT, BUFFER_DEVICE_IN0, 0, 0, 100, 100, "device that it comes from"},
    {BUFFER_DEVICE_OUT, BUFFER_DEVICE_IN0, PART, PART, 100, 100, "another device's memory"},
    {BUFFER_DEVICE_OUT, BUFFER_DEVICE_IN0, 0, 2 * PART - 50, 100, 100, "two devices' memory"},
    {BUFFER_DEVICE_OUT, BUFFER_DEVICE_IN0, 0, PART, 100, 96, "different sizes"},
    {BUFFER_HOST_IN0, BUFFER_DEVICE_IN0, 0, PART, 100, 100, "to or from the host"},
    {BUFFER_DEVICE_OUT, BUFFER_HOST_OUT, 0, PART, 100, 100, "to or from the host"},
    {BUFFER_DEVICE_OUT, BUFFER_DEVICE_IN0, 0, 3 * PART, 100, 100, "beyond its buffer"},
};
START_TEST(validation_knows_the_two_ends)
{
    struct error error = {0};
    struct plan plan = peer_plan(3, 0);
    test_peer(&plan, 0, 1, 100);
    ck_assert_int_eq(plan_validate(&plan, &error), STATUS_OK);
    plan.ops[0].move.from =
        (struct range){faults[_i].from, faults[_i].from_at, faults[_i].bytes};
    plan.ops[0].move.to = (struct range){faults[_i].to, faults[_i].to_at, faults[_i].to_bytes};
    ck_assert_int_eq(plan_validate(&plan, &error), STATUS_FAILED);
    assert_has(error.text, faults[_i].words);
    plan_free(&plan);
}
END_TEST

/* The receiver's kernel has to wait: a stream of the sender's orders nothing there. */
START_TEST(a_missing_wait_is_a_hazard)
{
    for (int waits = 0; waits < 2; waits++) {
        struct plan plan = peer_plan(2, 1);
        struct error error = {0};
        test_peer(&plan, 0, 1, 400);
        if (waits) {
            test_record(&plan, 0, 0);
            test_wait(&plan, 1, 0);
        }
        test_kernel(&plan, 1, 0, PART / sizeof(float), 100, 1);
        ck_assert_int_eq(plan_validate(&plan, &error), STATUS_OK);
        enum status status = hazards_refuse(&plan, &error);
        ck_assert_int_eq(status, waits ? STATUS_OK : STATUS_FAILED);
        if (!waits)
            assert_has(error.text, "peer 0");
        plan_free(&plan);
    }
}
END_TEST

/* A machine whose file says nothing of peers can't do it. */
START_TEST(machines_without_peers_refuse)
{
    struct machine machine = peer_machine();
    struct error error = {0};
    struct plan plan = peer_plan(2, 0);
    test_peer(&plan, 0, 1, 400);
    ck_assert_int_eq(simulator_check(&machine, &plan, &error), STATUS_OK);
    machine.peer_bytes_per_s = 0;
    ck_assert_int_eq(simulator_check(&machine, &plan, &error), STATUS_USAGE);
    assert_has(error.text, "--exchange=peer");
    plan_free(&plan);
}
END_TEST

/* --- what is found in a timeline --- */

/* The second copy waits for the first one's end on the way out of device 0, the kernel for the
 * copy that it was handed. */
START_TEST(paths_go_by_copies_between_devices)
{
    const struct machine machine = peer_machine();
    struct critical critical;
    struct analysis analysis;
    struct error error = {0};
    struct plan plan = peer_plan(2, 1);
    plan.streams = 4; /* two of each device */
    test_peer(&plan, 0, 1, 1000);
    struct op op = plan.ops[0];
    op.stream = 1;
    op.move.from.offset = op.move.to.offset = 1000;
    op.move.to.offset += PART;
    ck_assert_int_eq(plan_append(&plan, &op, NULL), STATUS_OK);
    test_record(&plan, 1, 0);
    test_wait(&plan, 2, 0);
    test_kernel(&plan, 2, 0, (PART + 1000) / sizeof(float), 100, 1);
    struct timeline timeline = simulated(&machine, &plan);
    ck_assert_int_eq(critical_find(&timeline, &machine, &critical, &error), STATUS_OK);
    ck_assert_uint_eq(critical.path_count, 3);
    ck_assert_int_eq(critical.holds[1].by, HELD_BY_ENGINE);
    ck_assert_uint_eq(critical.holds[1].span, 0);
    ck_assert_int_eq(critical.holds[3].by, HELD_BY_EVENT);
    ck_assert_uint_eq(critical.holds[3].span, 1);
    ck_assert_int_eq(analyse(&timeline, &analysis, &error), STATUS_OK);
    ck_assert(analysis_shows(&analysis, ENGINE_PEER));
    ck_assert_int_eq(analysis.on[0][ENGINE_PEER].busy_ns, 2000);
    ck_assert_int_eq(analysis.on[1][ENGINE_PEER].busy_ns, 0);
    critical_free(&critical);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

Suite *peers_suite(void)
{
    Suite *suite = suite_create("peers");
    TCase *all = tcase_create("all");
    tcase_add_test(all, rates_are_those_of_the_ports);
    tcase_add_test(all, both_ways_share_the_joint_rate);
    tcase_add_test(all, a_device_receives_as_fast_as_one_sends);
    tcase_add_test(all, a_device_in_the_middle_sends_and_receives);
    tcase_add_test(all, hosts_links_are_not_touched);
    tcase_add_test(all, h200s_are_as_fast_as_measured);
    tcase_add_loop_test(all, validation_knows_the_two_ends, 0,
                        (int)(sizeof faults / sizeof faults[0]));
    tcase_add_test(all, a_missing_wait_is_a_hazard);
    tcase_add_test(all, machines_without_peers_refuse);
    tcase_add_test(all, paths_go_by_copies_between_devices);
    suite_add_tcase(suite, all);
    return suite;
}
