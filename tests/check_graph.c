/* check_graph.c - plans that are launched as one graph: issued at once, held by nothing but
 * their dependencies, and refused where they can't be. */
#include "analysis/limit.h"
#include "check_contract_timeline.h"
#include "fixtures.h"
#include "plan/build.h"
#include "sim/simulator.h"
#include "suites.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCH = 100, LAUNCH_NODE = 1, NODE = 10 };

static struct machine graph_machine(void)
{
    struct machine machine = test_machine();
    machine.graph_launch_ns = LAUNCH;
    return machine;
}

/* The span of a plan; its timeline is the caller's to free. */
static int64_t simulate(const struct machine *machine, const struct plan *plan,
                        struct timeline *timeline, int64_t *issued_ns)
{
    struct error error = {0};
    *timeline = (struct timeline){0};
    enum status status = simulator_run(machine, 0, plan, NULL, timeline, issued_ns, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    return timeline_time_ns(timeline);
}

static int64_t span_of_settings(const struct machine *machine, const struct settings *settings,
                                int64_t *issued_ns)
{
    struct timeline timeline;
    struct plan plan = test_built_on(settings, machine);
    int64_t span_ns = simulate(machine, &plan, &timeline, issued_ns);
    timeline_free(&timeline);
    plan_free(&plan);
    return span_ns;
}

/* The host makes one call, which costs its own time and a node's each; records and waits are
 * edges. Nothing of the device starts before it returns; the CPU is at work from the start. */
START_TEST(test_one_call_issues_all)
{
    struct machine machine = graph_machine();
    machine.graph_launch_node_ns = LAUNCH_NODE;
    machine.issue_copy_ns = machine.issue_kernel_ns = 1000;
    struct settings settings = test_settings("scale");
    settings.elements = 1000;
    settings.tiles = 8;
    settings.ways = 4;
    settings.cpu_share = 0.25;
    settings.layout = LAYOUT_STAGE;
    settings.issue = ISSUE_GRAPH;
    settings.callbacks = true;
    struct timeline timeline;
    int64_t issued_ns;
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert_uint_gt(plan.events, 0);
    ck_assert_uint_eq(plan_graph_nodes(&plan), 6 * 4);
    simulate(&machine, &plan, &timeline, &issued_ns);
    ck_assert_int_eq(issued_ns, LAUNCH + 24 * LAUNCH_NODE);
    ck_assert_int_eq(timeline.launched_ns, issued_ns);
    uint32_t cpu = 0;
    for (uint32_t i = 0; i < timeline.span_count; i++) {
        const struct span *span = &timeline.spans[i];
        ck_assert_int_eq(span->issue_ns, 0);
        if (span->kind == OP_CPU)
            ck_assert(cpu++ > 0 || span->start_ns == 0);
        else if (span->kind != OP_WAIT)
            ck_assert_int_ge(span->start_ns, issued_ns);
    }
    ck_assert_uint_eq(cpu, 2);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* A graph with copies: the call hands its nodes over one by one, in the order of issue, and a
 * node that nothing else holds starts then. Records and waits cost nothing. */
START_TEST(test_copies_are_handed_over_one_by_one)
{
    enum { TILES = 4, PART = 50, BYTES = 40 };
    struct machine machine = graph_machine();
    machine.graph_launch_node_ns = LAUNCH_NODE;
    machine.graph_node_ns = NODE;
    machine.graph_copies_node_ns = PART;
    struct plan plan = test_plan(2 * TILES, TILES, TILES, TILES * BYTES / 4);
    for (uint32_t i = 0; i < TILES; i++) {
        test_h2d(&plan, i, i, i * BYTES, BYTES);
        test_record(&plan, i, i);
        test_wait(&plan, TILES + i, i);
        test_d2h(&plan, TILES + i, i, i * BYTES, BYTES);
    }
    plan.issue = ISSUE_GRAPH;
    struct timeline timeline;
    int64_t issued_ns;
    simulate(&machine, &plan, &timeline, &issued_ns);
    ck_assert_int_eq(issued_ns, LAUNCH + 2 * TILES * PART);
    ck_assert_int_eq(timeline.launched_ns, issued_ns);
    int64_t nodes = 0;
    for (uint32_t i = 0; i < timeline.span_count; i++)
        if (op_is_node((enum op_kind)timeline.spans[i].kind))
            ck_assert_int_eq(timeline.spans[i].start_ns, LAUNCH + ++nodes * PART);
    ck_assert_int_eq(nodes, 2 * TILES);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* On such a machine a graph of kernels alone goes as a whole; what follows a kernel in it has a
 * gap of its own, which streams and other graphs don't have. */
START_TEST(test_kernels_alone_go_as_a_whole)
{
    enum { GAP = 30, GRAPH_GAP = 7, KERNEL_NS = 8 * 2 * 10 };
    struct machine machine = graph_machine();
    machine.kernel_gap_ns = GAP;
    machine.graph_gap_ns = GRAPH_GAP;
    machine.graph_copies_node_ns = 50;
    machine.graph_launch_node_ns = LAUNCH_NODE;
    for (int copies = 0; copies < 2; copies++) {
        struct plan plan = test_plan(2, 0, 2, 20);
        test_kernel(&plan, 0, 0, 0, 10, 1);
        test_kernel(&plan, 0, 0, 0, 10, 1);
        if (copies)
            test_d2h(&plan, 1, 1, 40, 4);
        plan.issue = ISSUE_GRAPH;
        struct timeline timeline;
        int64_t issued_ns;
        simulate(&machine, &plan, &timeline, &issued_ns);
        const struct span *spans = timeline.spans;
        ck_assert_int_eq(issued_ns, copies ? LAUNCH + 3 * 50 : LAUNCH + 2 * LAUNCH_NODE);
        ck_assert_int_eq(spans[0].start_ns, copies ? LAUNCH + 50 : issued_ns);
        ck_assert_int_eq(spans[1].start_ns - spans[0].end_ns, copies ? GAP : GRAPH_GAP);
        ck_assert_int_eq(spans[0].end_ns - spans[0].start_ns, KERNEL_NS);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

/* Four streams of two one-block kernels each, issued depth-first to one queue: by streams each
 * second kernel holds up the next stream's first; a graph's branches run side by side. */
START_TEST(test_branches_hold_no_others)
{
    enum { STREAMS = 4, ELEMENTS = 10, KERNEL_NS = 8 * 2 * ELEMENTS };
    struct machine machine = graph_machine();
    machine.queues = 1;
    struct plan plan = test_plan(STREAMS, 0, STREAMS, STREAMS * ELEMENTS);
    for (uint32_t i = 0; i < 2 * STREAMS; i++)
        test_kernel(&plan, i / 2, i / 2, (uint64_t)(i / 2) * ELEMENTS, ELEMENTS, 1);
    struct timeline timeline;
    int64_t issued_ns;
    int64_t streams_ns = simulate(&machine, &plan, &timeline, &issued_ns);
    timeline_free(&timeline);
    plan.issue = ISSUE_GRAPH;
    int64_t graph_ns = simulate(&machine, &plan, &timeline, &issued_ns);
    timeline_free(&timeline);
    /* A kernel's rate changes with one that begins beside it, which may round it up by 1 ns. */
    ck_assert_int_le(llabs(streams_ns - (STREAMS + 1) * KERNEL_NS), STREAMS);
    ck_assert_int_le(llabs(graph_ns - (LAUNCH + 2 * KERNEL_NS)), STREAMS);
    /* Nor where nodes are handed over one by one, for the sake of a copy. */
    machine.graph_copies_node_ns = 1;
    test_d2h(&plan, 0, 0, 0, 4);
    simulate(&machine, &plan, &timeline, &issued_ns);
    for (uint32_t i = 0; i < 2 * STREAMS; i += 2) {
        const struct span *kernels = &timeline.spans[i];
        ck_assert_int_eq(kernels[0].start_ns, LAUNCH + i + 1);
        ck_assert_int_eq(kernels[1].start_ns, kernels[0].end_ns);
    }
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* The device takes the nodes up one by one, however many could go. */
START_TEST(test_nodes_are_taken_up_in_turn)
{
    enum { STREAMS = 8 };
    struct machine machine = graph_machine();
    machine.graph_node_ns = NODE;
    struct plan plan = test_plan(STREAMS, 0, STREAMS, STREAMS);
    for (uint32_t i = 0; i < STREAMS; i++)
        test_kernel(&plan, i, i, i, 1, 1);
    plan.issue = ISSUE_GRAPH;
    struct timeline timeline;
    int64_t issued_ns;
    simulate(&machine, &plan, &timeline, &issued_ns);
    for (uint32_t i = 0; i < STREAMS; i++)
        ck_assert_int_eq(timeline.spans[i].start_ns, LAUNCH + (i + 1) * NODE);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

static struct settings random_settings(uint64_t *random)
{
    static const char *const chains[] = {"scale", "sum", "wave", "scale,scale,sum",
                                         "scan,scan"};
    struct settings settings =
        test_random_settings(random, chains[test_random_below(random, 5)], 40, 4);
    settings.elements = settings.tiles + test_random_below(random, 100000);
    if (settings.ways == 4 && kernel_chain_scans(settings.chain, settings.chain_length))
        settings.ways = 3;
    settings.memory = test_random_below(random, 2) ? MEMORY_MAPPED : MEMORY_PINNED;
    settings.issue = ISSUE_GRAPH;
    return settings;
}

/* Whatever the plan: its edges hold, engines do one copy at a time, no limit is beaten. */
START_TEST(test_any_plan_keeps_its_edges)
{
    static const char *const machines[] = {"h200", "k20c", "v100"};
    uint64_t random = 11;
    for (int i = 0; i < test_cases(300); i++) {
        struct settings settings = random_settings(&random);
        struct plan plan;
        struct timeline timeline;
        struct hazard hazard;
        struct error error = {0};
        size_t hazards;
        int64_t issued_ns;
        char shown[64];
        snprintf(shown, sizeof shown, "graph %d on %s", i, machines[i % 3]);
        struct machine machine = test_machine_named(machines[i % 3]);
        ck_assert_msg(plan_build(&settings, &machine, &plan, &error) == STATUS_OK, "%s: %s",
                      shown, error.text);
        ck_assert_int_eq(plan_hazards(&plan, &hazard, 1, &hazards, &error), STATUS_OK);
        ck_assert_uint_eq(hazards, 0);
        int64_t span_ns = simulate(&machine, &plan, &timeline, &issued_ns);
        snprintf(timeline.device, sizeof timeline.device, "%s", machine.name);
        timeline.resolution_ns = 1;
        contract_check_timeline(&plan, &timeline, machine.copy_engines, false, shown);
        ck_assert_int_ge(span_ns, limit_of(&machine, &plan).ns);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

static void must_refuse(const struct machine *machine, struct plan *plan, const char *why)
{
    struct timeline timeline = {0};
    struct error error = {0};
    int64_t issued_ns;
    plan->issue = ISSUE_GRAPH;
    ck_assert_int_eq(simulator_run(machine, 0, plan, NULL, &timeline, &issued_ns, &error),
                     STATUS_USAGE);
    ck_assert_msg(strstr(error.text, why) != NULL, "%s", error.text);
    ck_assert_ptr_null(strchr(error.text, '\n'));
    timeline_free(&timeline);
    plan_free(plan);
}

static struct plan small_plan(void)
{
    struct plan plan = test_plan(2, 0, 1, 10);
    test_h2d(&plan, 0, 0, 0, 40);
    return plan;
}

START_TEST(test_what_no_graph_can_hold)
{
    struct machine machine = graph_machine();
    struct plan plan = small_plan();
    test_sync(&plan, 0);
    must_refuse(&machine, &plan, "op 1 (sync stream 0) is a call of the host's own");
    plan = small_plan();
    test_alloc(&plan, 10, true);
    must_refuse(&machine, &plan, "op 1 (alloc page-locked) is a call of the host's own");
    plan = small_plan();
    const enum stream_kind kinds[] = {STREAM_NONBLOCKING, STREAM_LEGACY};
    test_stream_kinds(&plan, kinds);
    must_refuse(&machine, &plan, "stream 1 is the legacy default stream");
    plan = small_plan();
    plan.memory = MEMORY_PAGEABLE;
    must_refuse(&machine, &plan, "pageable memory");
    plan = small_plan();
    machine.graph_launch_ns = 0;
    must_refuse(&machine, &plan, "knows no graphs");
}
END_TEST

/* One GiB each way in tiles of 64 KiB to 4 MiB: the run's time and the call's, each the mean of
 * those of two H200s (bench/results/h200-2026-11-22-graphs.txt, and -again.txt). */
START_TEST(test_what_an_h200_does)
{
    static const struct {
        uint32_t tiles;
        enum issue issue;
        enum memory memory;
        double ms, calls_ms;
    } runs[] = {
        {16384, ISSUE_STREAMS, MEMORY_PINNED, 133, 133},
        {16384, ISSUE_GRAPH, MEMORY_PINNED, 111, 87},
        {4096, ISSUE_GRAPH, MEMORY_PINNED, 45, 20},
        {1024, ISSUE_GRAPH, MEMORY_PINNED, 27.1, 5.3},
        {256, ISSUE_GRAPH, MEMORY_PINNED, 23.9, 1.45},
        {16384, ISSUE_GRAPH, MEMORY_MAPPED, 30.3, 0.077},
    };
    struct machine machine = test_machine_named("h200");
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct settings settings = test_settings("scale");
        int64_t issued_ns;
        settings.elements = 256 << 20;
        settings.tiles = runs[i].tiles;
        settings.streams = 4;
        settings.memory = runs[i].memory;
        settings.issue = runs[i].issue;
        double ms = 1e-6 * (double)span_of_settings(&machine, &settings, &issued_ns);
        ck_assert_double_ge(ms, 0.9 * runs[i].ms);
        ck_assert_double_le(ms, 1.1 * runs[i].ms);
        ck_assert_double_ge(1e-6 * (double)issued_ns, 0.9 * runs[i].calls_ms);
        ck_assert_double_le(1e-6 * (double)issued_ns, 1.1 * runs[i].calls_ms);
    }
}
END_TEST

Suite *graph_suite(void)
{
    Suite *suite = suite_create("graph");
    TCase *tcase = tcase_create("graph");
    tcase_add_test(tcase, test_one_call_issues_all);
    tcase_add_test(tcase, test_copies_are_handed_over_one_by_one);
    tcase_add_test(tcase, test_kernels_alone_go_as_a_whole);
    tcase_add_test(tcase, test_branches_hold_no_others);
    tcase_add_test(tcase, test_nodes_are_taken_up_in_turn);
    tcase_add_test(tcase, test_any_plan_keeps_its_edges);
    tcase_add_test(tcase, test_what_no_graph_can_hold);
    tcase_add_test(tcase, test_what_an_h200_does);
    suite_add_tcase(suite, tcase);
    return suite;
}
