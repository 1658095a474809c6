/* check_mapped.c - plans whose kernels work on the host's memory: no copies, and the link as
 * their bound. */
#include "analysis/limit.h"
#include "plan/rules_blocks.h"
#include "sim_cases.h"
#include "suites.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct settings mapped_settings(const char *chain, uint64_t elements, uint32_t tiles)
{
    struct settings settings = test_settings(chain);
    settings.memory = MEMORY_MAPPED;
    settings.elements = elements;
    settings.tiles = tiles;
    return settings;
}

static bool is_host(const struct range *range)
{
    return range->buffer < BUFFER_FIRST_DEVICE;
}

/* The chain's first kernel reads the host's arrays, its last one writes there, and what is
 * between them is on the device. */
static void check_kernel(const struct plan *plan, const struct op *op)
{
    uint32_t last = (uint32_t)plan->chain_length - 1;
    ck_assert_int_eq(is_host(&op->kernel.ranges->in[0]), op->kernel.link == 0);
    ck_assert_int_eq(is_host(&op->kernel.ranges->out), op->kernel.link == last);
    if (plan->chain[op->kernel.link]->inputs == 2)
        ck_assert_int_eq(op->kernel.ranges->in[1].buffer, BUFFER_HOST_IN1);
    if (op->kernel.link > 0) {
        ck_assert_uint_eq(op->kernel.ranges->in[0].offset % 256, 0);
        ck_assert_int_eq(plan->ops[op->id - 1].kind == OP_CALLBACK, false);
    }
}

START_TEST(test_there_are_no_copies)
{
    static const char *const chains[] = {
        "scale", "sum", "wave", "scale,sum", "scan", "scan,scan", "scale,wave,scale"};
    struct machine machine = test_machine();
    for (size_t i = 0; i < 2 * sizeof chains / sizeof *chains; i++) {
        struct settings settings = mapped_settings(chains[i / 2], 1000, 9);
        settings.layout = i % 2 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.callbacks = true;
        struct plan plan = test_built_on(&settings, &machine);
        uint32_t kernels = 0, callbacks = 0;
        ck_assert_uint_eq(plan.streams, i % 2 ? 1 : 4);
        for (uint32_t j = 0; j < plan.op_count; j++) {
            const struct op *op = &plan.ops[j];
            ck_assert(op->kind != OP_H2D && op->kind != OP_D2H);
            kernels += op->kind == OP_KERNEL;
            callbacks += op->kind == OP_CALLBACK;
            if (op->kind == OP_KERNEL)
                check_kernel(&plan, op);
        }
        ck_assert_uint_eq(kernels, 9 * (uint32_t)plan.chain_length);
        ck_assert_uint_eq(callbacks, 9);
        bool between = plan.chain_length > 1;
        ck_assert_int_eq(
            plan.buffer_bytes[BUFFER_DEVICE_IN0] + plan.buffer_bytes[BUFFER_DEVICE_OUT] > 0,
            between);
        ck_assert_uint_eq(plan.buffer_bytes[BUFFER_DEVICE_IN1], 0);
        plan_free(&plan);
    }
}
END_TEST

/* With no copies there is nothing that 2-way would leave out, and serial is one stream. */
START_TEST(test_ways_are_alike)
{
    struct machine machine = test_machine();
    struct settings settings = mapped_settings("scale,scale", 1000, 9);
    for (uint32_t streams = 1; streams <= 4; streams += 3) {
        settings.streams = streams;
        settings.ways = 3;
        struct plan plan = test_built_on(&settings, &machine);
        settings.ways = streams == 1 ? 1 : 2;
        struct plan other = test_built_on(&settings, &machine);
        ck_assert_uint_eq(plan.op_count, other.op_count);
        ck_assert_uint_eq(plan.slots, other.slots);
        for (uint32_t i = 0; i < plan.op_count; i++) {
            ck_assert_uint_eq(plan.ops[i].stream, other.ops[i].stream);
            ck_assert_int_eq(plan.ops[i].tile, other.ops[i].tile);
            ck_assert_uint_eq(plan.ops[i].kernel.link, other.ops[i].kernel.link);
        }
        plan_free(&plan);
        plan_free(&other);
    }
}
END_TEST

/* Where the arrays are not mapped, no kernel reaches them. */
START_TEST(test_only_mapped_memory_is_reached)
{
    struct machine machine = test_machine();
    struct settings settings = mapped_settings("scale", 100, 4);
    struct plan plan = test_built_on(&settings, &machine);
    struct error error = {0};
    plan.memory = MEMORY_PINNED;
    ck_assert_int_eq(plan_validate(&plan, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "works on a buffer of the other side"));
    plan_free(&plan);
}
END_TEST

static int64_t at_share(double ns)
{
    return llround(ns / MACHINE_MAPPED_SHARE);
}

/* 400 bytes in and out, each direction at 1 byte/ns, in one sweep: one after the other. Where
 * the joint rate is no more than each, both at once are no faster. Heavier than that the kernel
 * is bound by its arithmetic, as ever. Two kernels at once take as long as one after another:
 * they share the link. */
START_TEST(test_the_link_is_the_bound)
{
    struct machine machine = test_machine();
    double flops_per_s = machine.flops_per_s;
    machine.flops_per_s = 1e15;
    struct settings settings = mapped_settings("scale", 100, 1);
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert_int_le(labs((long)(sim_span_ns(&machine, &plan) - 800)), 4);
    machine.joint_bytes_per_s = 1e9;
    ck_assert_int_le(labs((long)(sim_span_ns(&machine, &plan) - at_share(800))), 4);
    plan_free(&plan);
    settings.tiles = 2;
    plan = test_built_on(&settings, &machine);
    ck_assert_int_le(labs((long)(sim_span_ns(&machine, &plan) - at_share(800))), 8);
    plan_free(&plan);
    settings.tiles = 1;
    settings.intensity = 10;
    machine.flops_per_s = flops_per_s;
    plan = test_built_on(&settings, &machine);
    int64_t heavy_ns = sim_span_ns(&machine, &plan);
    plan_free(&plan);
    settings.memory = MEMORY_PINNED;
    plan = test_built_on(&settings, &machine);
    ck_assert_int_eq(heavy_ns + 400, sim_span_ns(&machine, &plan));
    plan_free(&plan);
}
END_TEST

/* Both directions are used at once once 1.7 MB have been read, by a kernel whose threads move
 * 16 bytes at once and that leaves room on the GPU; what fills it begins anew in each launch,
 * whatever its stream. */
START_TEST(test_first_sweep)
{
    struct machine machine = test_machine();
    machine.flops_per_s = 1e15;
    struct settings settings = mapped_settings("scale", 4 * KERNEL_THREADS * 1000, 1);
    settings.blocks = 1;
    settings.streams = 4;
    const int64_t bytes = 4 * 4 * KERNEL_THREADS; /* of a sweep of a block, each way */
    const int64_t apart = 1700000;
    struct plan plan = test_built_on(&settings, &machine);
    int64_t expected_ns = 2 * apart + at_share(1000 * (double)bytes) - at_share((double)apart);
    ck_assert_int_le(labs((long)(sim_span_ns(&machine, &plan) - expected_ns)), 1000);
    plan_free(&plan);
    settings.elements = 4 * KERNEL_THREADS * 10;
    plan = test_built_on(&settings, &machine);
    expected_ns = 2 * 10 * bytes;
    ck_assert_int_le(labs((long)(sim_span_ns(&machine, &plan) - expected_ns)), 20);
    machine.mapped_latency_ns = 100000; /* in each sweep its threads wait for what they read */
    ck_assert_int_le(labs((long)(sim_span_ns(&machine, &plan) - 10 * 70000)), 20);
    machine.mapped_latency_ns = 0;
    plan_free(&plan);
    settings.blocks = 8;
    settings.elements = UINT64_C(4) * 8 * 4 * KERNEL_THREADS;
    settings.tiles = 4;
    plan = test_built_on(&settings, &machine);
    expected_ns = 4 * 2 * 8 * bytes;
    ck_assert_int_le(labs((long)(sim_span_ns(&machine, &plan) - expected_ns)), 8);
    plan_free(&plan);
    settings.streams = 1;
    plan = test_built_on(&settings, &machine);
    machine.kernel_gap_ns = 1; /* the next one's blocks begin when all have ended */
    ck_assert_int_le(labs((long)(sim_span_ns(&machine, &plan) - expected_ns - 3)), 8);
    plan_free(&plan);
}
END_TEST

/* So many bytes of a launch go one way after the other: those of the first sweep, of threads
 * that move a word at once more, and never more than there are. Transposes' blocks begin one by
 * one, so that theirs don't take the link from others. */
START_TEST(test_reads_before_writes)
{
    const struct kernel *const scale = kernel_find("scale"),
                               *const uniform = kernel_find("uniform"),
                               *const scan = kernel_find("scan"),
                               *const turn = kernel_find("transpose-copy");
    ck_assert_double_eq(rule_link_apart(scale, 0.25, 17e6), 0.25);
    ck_assert_double_eq(rule_link_apart(scale, 0.01, 17e6), 0.1);
    ck_assert_double_eq(rule_link_apart(uniform, 0.01, 40e6), 0.25);
    ck_assert_double_eq(rule_link_apart(uniform, 0.01, 5e6), 1);
    ck_assert_double_eq(rule_link_apart(scan, 1, 36e6), 0.5);
    ck_assert_double_eq(rule_link_apart(scan, 0.2, 36e6), 0.2);
    ck_assert_double_eq(rule_link_apart(turn, 0.3, 40e6), 0.3);
    const struct machine machine = test_machine(); /* 8 blocks */
    ck_assert(rule_link_is_taken(&machine, scale, 8) &&
              !rule_link_is_taken(&machine, scale, 7));
    ck_assert(rule_link_is_taken(&machine, uniform, 1));
    ck_assert(!rule_link_is_taken(&machine, turn, 8) && !rule_link_is_taken(&machine, scan, 8));
}
END_TEST

/* A reduction moves next to nothing out: its bound is one direction's rate. */
START_TEST(test_one_direction_alone)
{
    struct machine machine = test_machine();
    machine.joint_bytes_per_s = machine.h2d_bytes_per_s;
    machine.flops_per_s = 1e15;
    struct settings settings = mapped_settings("sum", 1000, 1);
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert_int_le(labs((long)(sim_span_ns(&machine, &plan) - at_share(4004))), 40);
    plan_free(&plan);
}
END_TEST

/* A launch that reads or writes the host's memory takes longer by the latency; one between two
 * others of its chain is on the device. A kernel may get another share of the link. */
START_TEST(test_latency_and_share)
{
    struct machine machine = test_machine();
    machine.flops_per_s = 1e15;
    struct settings settings = mapped_settings("scale,scale,scale", 100, 1);
    struct plan plan = test_built_on(&settings, &machine);
    int64_t without_ns = sim_span_ns(&machine, &plan);
    machine.mapped_latency_ns = 3000;
    ck_assert_int_eq(sim_span_ns(&machine, &plan), without_ns + 2 * 3000);
    machine.mapped_latency_ns = 0;
    machine.kernel_count = 1;
    machine.kernels[0] = (struct machine_kernel){.name = "scale", .mapped_share = 0.1};
    ck_assert_int_eq(sim_span_ns(&machine, &plan), without_ns); /* in, and then out */
    plan_free(&plan);
    settings = mapped_settings("scale", 100, 1);
    plan = test_built_on(&settings, &machine);
    machine.kernel_count = 0;
    without_ns = sim_span_ns(&machine, &plan);
    machine.kernel_count = 1;
    int64_t more_ns = llround(1e9 * 800 / machine.joint_bytes_per_s / 0.1) - without_ns;
    ck_assert_int_le(labs((long)(sim_span_ns(&machine, &plan) - without_ns - more_ns)), 8);
    ck_assert_double_eq(machine_mapped_share(&machine, kernel_find("wave")),
                        MACHINE_MAPPED_SHARE);
    ck_assert_double_eq(machine_mapped_share(&machine, NULL), MACHINE_MAPPED_SHARE);
    machine.kernels[0].mapped_share = 0.97; /* which is the limit's, too */
    ck_assert_double_eq(machine_mapped_share(&machine, NULL), 0.97);
    plan_free(&plan);
}
END_TEST

/* The limit counts what the plan's kernels move, without lead and tail; and holds. */
START_TEST(test_limit)
{
    static const char *const chains[] = {"scale",           "sum",           "wave",
                                         "scale,scale,sum", "wave-launches", "scan,scan"};
    uint64_t random = 5;
    struct machine machine = test_machine_named("h200");
    for (int i = 0; i < test_cases(200); i++) {
        struct settings settings = mapped_settings(chains[i % 6], 100000, 1);
        settings.tiles = 1 + test_random_below(&random, 40);
        settings.elements += test_random_below(&random, 100000);
        settings.streams = 1 + test_random_below(&random, 8);
        settings.intensity = 1 + test_random_below(&random, 5);
        settings.issue = test_random_below(&random, 2) ? ISSUE_GRAPH : ISSUE_STREAMS;
        struct plan plan = test_built_on(&settings, &machine);
        struct limit limit = limit_of(&machine, &plan);
        plan.memory = MEMORY_PINNED;
        ck_assert_int_eq(limit.ns, limit_of(&machine, &plan).ns);
        plan.memory = MEMORY_MAPPED;
        ck_assert_int_ge(sim_span_ns(&machine, &plan), limit.ns);
        plan_free(&plan);
    }
}
END_TEST

/* An H200 moved one GiB each way in 25 ms. In tiles of 64 KiB a launch for each costs the
 * host more than that, but far less than copies would. */
START_TEST(test_what_an_h200_does)
{
    struct machine machine = test_machine_named("h200");
    struct settings settings = mapped_settings("scale", 256 << 20, 32);
    struct plan plan = test_built_on(&settings, &machine);
    double large_ms = 1e-6 * (double)sim_span_ns(&machine, &plan);
    plan_free(&plan);
    ck_assert_double_ge(large_ms, 0.9 * 25);
    ck_assert_double_le(large_ms, 1.1 * 25);
    double ms[2];
    for (int mapped = 0; mapped <= 1; mapped++) {
        settings.tiles = 16384;
        settings.memory = mapped ? MEMORY_MAPPED : MEMORY_PINNED;
        plan = test_built_on(&settings, &machine);
        ms[mapped] = 1e-6 * (double)sim_span_ns(&machine, &plan);
        plan_free(&plan);
    }
    ck_assert_double_lt(2 * ms[1], ms[0]);
    settings.tiles = 32;
    settings.memory = MEMORY_PINNED;
    plan = test_built_on(&settings, &machine);
    ck_assert_double_lt(1e-6 * (double)sim_span_ns(&machine, &plan), large_ms);
    plan_free(&plan);
}
END_TEST

/* Builds a plan on the built-in H200, and returns the blocks of its first launch. */
static uint32_t blocks_of(const struct settings *settings)
{
    uint32_t blocks = 0;
    struct machine machine = test_machine_named("h200");
    struct plan plan = test_built_on(settings, &machine);
    for (uint32_t i = 0; i < plan.op_count && blocks == 0; i++)
        blocks = plan.ops[i].kind == OP_KERNEL ? plan.ops[i].kernel.blocks : 0;
    plan_free(&plan);
    return blocks;
}

START_TEST(test_short_launches_have_few_blocks)
{
    const uint32_t sms = 132, all = 8 * sms;
    struct settings settings = mapped_settings("scale", 64 << 20, 64);
    settings.intensity = 1;
    ck_assert_uint_eq(blocks_of(&settings), sms); /* 4 MiB, less than a sweep of all blocks */
    settings.tiles = 32;
    ck_assert_uint_eq(blocks_of(&settings), sms); /* 8 MiB, two sweeps */
    settings.tiles = 16;
    ck_assert_uint_eq(blocks_of(&settings), all); /* 16 MiB, four */
    settings.tiles = 64;
    settings.memory = MEMORY_PINNED;
    ck_assert_uint_gt(blocks_of(&settings), sms);
    settings.memory = MEMORY_MAPPED;
    settings.blocks = 66;
    ck_assert_uint_eq(blocks_of(&settings), 66);
    settings.blocks = 0;
    settings.intensity = 10000; /* that many blocks would not do in the link's time */
    ck_assert_uint_gt(blocks_of(&settings), sms);
    settings.intensity = 1;
    settings.chain[0] = kernel_find("sum"); /* writes next to nothing */
    settings.tiles = 32;
    ck_assert_uint_gt(blocks_of(&settings), sms);
    settings.tiles = 64;
    settings.chain[0] = kernel_find("scale");
    settings.chain_length = 2; /* the first only reads there, the last only writes */
    settings.chain[1] = settings.chain[0];
    ck_assert_uint_gt(blocks_of(&settings), sms);
}
END_TEST

Suite *mapped_suite(void)
{
    Suite *suite = suite_create("mapped");
    TCase *tcase = tcase_create("mapped");
    tcase_add_test(tcase, test_there_are_no_copies);
    tcase_add_test(tcase, test_ways_are_alike);
    tcase_add_test(tcase, test_only_mapped_memory_is_reached);
    tcase_add_test(tcase, test_the_link_is_the_bound);
    tcase_add_test(tcase, test_first_sweep);
    tcase_add_test(tcase, test_reads_before_writes);
    tcase_add_test(tcase, test_one_direction_alone);
    tcase_add_test(tcase, test_latency_and_share);
    tcase_add_test(tcase, test_limit);
    tcase_add_test(tcase, test_short_launches_have_few_blocks);
    tcase_add_test(tcase, test_what_an_h200_does);
    suite_add_tcase(suite, tcase);
    return suite;
}
