/* check_managed.c - plans on managed memory, whose pages move by faults or by prefetches: one
 * call's after another's, whichever way, and as slowly as an H200 showed. */
#include "options/options.h"
#include "plan/build.h"
#include "plan/hazard.h"
#include "plan/together.h"
#include "run/backend.h"
#include "sim_cases.h"
#include "suites.h"
#include "verdict_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct settings managed_settings(const char *chain, uint32_t tiles, bool prefetch)
{
    struct settings settings = test_settings(chain);
    settings.memory = MEMORY_MANAGED;
    settings.prefetch = prefetch;
    settings.elements = 1000;
    settings.tiles = tiles;
    return settings;
}

static struct machine managed_machine(void)
{
    struct machine machine = test_machine();
    machine.compute_capability = 9;
    machine.prefetch_in_bytes_per_s = 500e6;
    machine.prefetch_out_bytes_per_s = 250e6;
    machine.prefetch_in_ns = 100;
    machine.prefetch_out_ns = 300;
    machine.prefetch_begin_ns = 1000;
    machine.fault_bytes_per_s = 100e6;
    machine.fault_ns = 5000;
    return machine;
}

/* A copy of a prefetched plan has the host's bytes alone: a tile's inputs and its output go in,
 * and the output comes back, all in whole. Nothing of it is a race. */
START_TEST(test_prefetches_have_one_side)
{
    static const char *const chains[] = {"scale", "wave", "scale,sum", "scale,wave,scale"};
    struct machine machine = managed_machine();
    struct error error = {0};
    for (size_t i = 0; i < 4 * sizeof chains / sizeof *chains; i++) {
        struct settings settings = managed_settings(chains[i / 4], 9, true);
        settings.layout = i % 2 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.ways = (int)(i % 4) / 2 + 2;
        struct plan plan = test_built_on(&settings, &machine);
        uint64_t moved[BUFFER_COUNT] = {0}, back = 0;
        for (uint32_t j = 0; j < plan.op_count; j++) {
            const struct op *op = &plan.ops[j];
            if (!op_is_copy(op->kind))
                continue;
            ck_assert_uint_eq(op->copy.device.bytes, 0);
            *(op->kind == OP_H2D ? &moved[op->copy.host.buffer] : &back) += op->copy.host.bytes;
        }
        for (int b = 0; b < BUFFER_FIRST_DEVICE; b++)
            ck_assert_uint_eq(moved[b], plan.buffer_bytes[b]);
        ck_assert_uint_eq(back, plan.buffer_bytes[BUFFER_HOST_OUT]);
        ck_assert_uint_eq(plan.buffer_bytes[BUFFER_DEVICE_IN1], 0);
        struct hazard hazard;
        size_t races = 0;
        ck_assert_int_eq(plan_hazards(&plan, &hazard, 1, &races, &error), STATUS_OK);
        ck_assert_uint_eq(races, 0);
        plan_free(&plan);
    }
}
END_TEST

/* Without prefetches the plan is that of mapped memory, op by op; and the prefetches of a plan
 * make none that other memory would have. */
START_TEST(test_faults_are_no_ops)
{
    struct machine machine = managed_machine();
    struct settings settings = managed_settings("scale,wave", 9, false);
    settings.callbacks = true;
    struct plan plan = test_built_on(&settings, &machine);
    settings.memory = MEMORY_MAPPED;
    settings.prefetch = true;
    struct plan mapped = test_built_on(&settings, &machine);
    ck_assert_uint_eq(plan.op_count, mapped.op_count);
    for (uint32_t i = 0; i < plan.op_count; i++) {
        ck_assert_int_eq(plan.ops[i].kind, mapped.ops[i].kind);
        ck_assert_uint_eq(plan.ops[i].stream, mapped.ops[i].stream);
        ck_assert(!op_is_copy(plan.ops[i].kind));
        if (plan.ops[i].kind == OP_KERNEL)
            ck_assert(op_ranges_equal(plan.ops[i].kernel.ranges, mapped.ops[i].kernel.ranges));
    }
    plan_free(&plan);
    plan_free(&mapped);
}
END_TEST

/* One tile's prefetches, exactly: two go in, of 4000 bytes each, each behind what it waits in
 * its stream, and one comes out. */
START_TEST(test_prefetch_times)
{
    struct machine machine = managed_machine();
    struct settings settings = managed_settings("scale", 1, true);
    struct plan plan = test_built_on(&settings, &machine);
    struct timeline timeline = sim_run(&machine, &plan);
    const struct span *spans = timeline.spans;
    ck_assert_uint_eq(timeline.span_count, 4);
    ck_assert_int_eq(spans[0].start_ns, 1000);
    ck_assert_int_eq(spans[0].end_ns, 1000 + 8100);
    ck_assert_int_eq(spans[1].start_ns, spans[0].end_ns + 1000);
    ck_assert_int_eq(spans[1].end_ns, spans[1].start_ns + 8100);
    ck_assert_uint_eq(spans[2].bytes, 0); /* the kernel moves none */
    ck_assert_int_eq(spans[3].start_ns, spans[2].end_ns);
    ck_assert_int_eq(spans[3].end_ns, spans[3].start_ns + 16300);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* In whichever direction, prefetches never overlap, and streams hide each other's beginnings.
 */
START_TEST(test_one_engine_moves_pages)
{
    struct machine machine = managed_machine();
    int64_t times_ns[2];
    for (int i = 0; i < 2; i++) {
        struct settings settings = managed_settings("scale", 20, true);
        settings.streams = i ? 4 : 1;
        settings.order = i ? ORDER_BREADTH : ORDER_DEPTH;
        struct plan plan = test_built_on(&settings, &machine);
        struct timeline timeline = sim_run(&machine, &plan);
        ck_assert(timeline.copies_take_turns);
        for (uint32_t a = 0; a < timeline.span_count; a++)
            for (uint32_t b = 0; b < a; b++)
                if (op_is_copy(timeline.spans[a].kind) && op_is_copy(timeline.spans[b].kind))
                    ck_assert(timeline.spans[a].start_ns >= timeline.spans[b].end_ns ||
                              timeline.spans[b].start_ns >= timeline.spans[a].end_ns);
        times_ns[i] = timeline_time_ns(&timeline);
        timeline_free(&timeline);
        plan_free(&plan);
    }
    ck_assert_int_lt(times_ns[1], times_ns[0]);
    ck_assert_int_ge(times_ns[1], 4000 * (2 + 2 + 4) + 20 * (2 * 100 + 300));
}
END_TEST

/* Faults take their bytes' time, once for all kernels, and the first of a kernel takes some
 * more unless another kernel works meanwhile. */
START_TEST(test_fault_times)
{
    struct machine machine = managed_machine();
    machine.kernel_gap_ns = 10; /* in one stream none begins as another ends */
    for (uint32_t streams = 1; streams <= 4; streams += 3) {
        struct settings settings = managed_settings("scale", 20, false);
        settings.streams = streams;
        struct plan plan = test_built_on(&settings, &machine);
        struct timeline timeline = sim_run(&machine, &plan);
        const double bytes_ns = 80000, first_ns = streams == 1 ? 20 * 5000 : 0;
        ck_assert_double_ge_tol((double)timeline_time_ns(&timeline), bytes_ns + first_ns, 100);
        ck_assert_double_le_tol((double)timeline_time_ns(&timeline),
                                bytes_ns + (streams == 1 ? 1.05 * first_ns : 5000), 300);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

/* What an H200 took for 256 MiB in, 256 MiB out and back again, in ms
 * (bench/results/h200-2026-11-26-experiments-memory.csv), and how far off this may be: the runs
 * of one row lay up to 40 % apart. */
static const struct {
    uint32_t tiles, streams;
    bool prefetch;
    double ms;
} measured[] = {
    {1, 1, false, 59.59}, {8, 1, false, 54.37},  {32, 1, false, 62.69},  {128, 1, false, 81.77},
    {8, 4, false, 61.68}, {32, 4, false, 59.54}, {128, 4, false, 60.35}, {1, 1, true, 33.91},
    {8, 1, true, 32.11},  {32, 1, true, 38.17},  {128, 1, true, 53.30},  {8, 4, true, 24.84},
    {32, 4, true, 30.74}, {128, 4, true, 39.95},
};

START_TEST(test_an_h200)
{
    struct machine machine;
    struct error error = {0};
    ck_assert_int_eq(machine_load(&machine, "h200", &error), STATUS_OK);
    struct settings settings =
        managed_settings("scale", measured[_i].tiles, measured[_i].prefetch);
    settings.elements = 64 << 20;
    settings.intensity = 1;
    settings.streams = measured[_i].streams;
    struct plan plan = test_built_on(&settings, &machine);
    struct timeline timeline = sim_run(&machine, &plan);
    const double ms = (double)timeline_time_ns(&timeline) / 1e6;
    ck_assert_msg(fabs(log(ms / measured[_i].ms)) < log(1.2), "%g for %g ms", ms,
                  measured[_i].ms);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* Both causes are found, each with its fix; and with the prefetches there are no faults. */
START_TEST(test_verdicts)
{
    struct judged judged;
    const bool prefetch = _i > 0;
    judged_load(&judged, "h200");
    struct settings settings = managed_settings("scale", 32, prefetch);
    settings.elements = 64 << 20;
    settings.intensity = 1;
    ck_assert(judged_make(&settings, &judged));
    const char *fix = NULL;
    for (int i = 0; i < judged.verdicts.named; i++) {
        const struct verdict *verdict = &judged.verdicts.items[i];
        if (verdict->code == VERDICT_PAGE_FAULTS) {
            fix = verdict->command;
            ck_assert_int_eq(verdict->evidence, EVIDENCE_CERTAIN);
        }
        if (verdict->code == VERDICT_MANAGED_MEMORY)
            ck_assert_str_eq(verdict->command, "--memory=pinned");
    }
    ck_assert_int_eq(judged.verdicts.items[0].code, VERDICT_MANAGED_MEMORY);
    ck_assert_int_eq(fix == NULL, prefetch);
    ck_assert(fix == NULL || strcmp(fix, "--prefetch=yes") == 0);
    ck_assert_ptr_null(strstr(judged.verdicts.best, "--prefetch"));
    judged_free(&judged);
}
END_TEST

/* What does not go with managed memory is refused, and so are machines that have none of it. */
START_TEST(test_refusals)
{
    const struct settings fine = managed_settings("scale", 9, true);
    struct settings other[] = {fine, fine, fine, fine, fine, fine, fine};
    struct error error = {0};
    ck_assert_int_eq(settings_check(&fine, &error), STATUS_OK);
    other[0].issue = ISSUE_GRAPH;
    other[1].issue = ISSUE_BATCH;
    other[2].scatter = true;
    other[3].pack = true;
    other[4].mistake = test_mistake("sync-in-loop");
    other[5].device = "sim:h200*2";
    other[5].devices = 2;
    other[6].chain[0] = kernel_find("scan");
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        error = (struct error){0};
        ck_assert_int_eq(settings_check(&other[i], &error), STATUS_USAGE);
        ck_assert_ptr_nonnull(strstr(error.text, "managed"));
        ck_assert(settings_misfit(&other[i]) != NULL);
    }
    struct machine machine = managed_machine();
    struct plan plan;
    machine.compute_capability = 5.2;
    ck_assert_int_eq(plan_build(&fine, &machine, &plan, &error), STATUS_USAGE);
    machine.compute_capability = 6;
    machine.memory_bytes = 4 * 8000;
    plan = test_built_on(&fine, &machine);
    plan_free(&plan);
    machine.memory_bytes--;
    ck_assert_int_eq(plan_build(&fine, &machine, &plan, &error), STATUS_USAGE);
}
END_TEST

Suite *managed_suite(void)
{
    Suite *suite = suite_create("managed");
    TCase *tcase = tcase_create("managed");
    tcase_add_test(tcase, test_prefetches_have_one_side);
    tcase_add_test(tcase, test_faults_are_no_ops);
    tcase_add_test(tcase, test_prefetch_times);
    tcase_add_test(tcase, test_one_engine_moves_pages);
    tcase_add_test(tcase, test_fault_times);
    tcase_add_loop_test(tcase, test_an_h200, 0, sizeof measured / sizeof *measured);
    tcase_add_loop_test(tcase, test_verdicts, 0, 2);
    tcase_add_test(tcase, test_refusals);
    suite_add_tcase(suite, tcase);
    return suite;
}
