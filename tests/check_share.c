/* check_share.c - processes that share one device: kernels of one at a time, in slices, or of
 * all at once under MPS; one pair of copy engines for all; a thread that issues in each. */
#include "analysis/limit.h"
#include "options/options.h"
#include "run/backend.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdlib.h>
#include <string.h>

enum { CHANGE_NS = 100 };

static struct settings share_settings(uint32_t processes, enum sharing sharing, uint32_t tiles)
{
    struct settings settings = test_settings("scale");
    settings.devices = processes;
    settings.sharing = sharing;
    settings.elements = (uint64_t)tiles * 4096;
    settings.tiles = tiles;
    settings.intensity = 500; /* far more work than copies */
    settings.blocks = 1;      /* of the toy's eight at once */
    return settings;
}

static struct machine share_machine(int64_t slice_ns)
{
    struct machine machine = test_machine();
    machine.h2d_bytes_per_s = machine.d2h_bytes_per_s = 1e12;
    machine.joint_bytes_per_s = 2e12;
    machine.time_slice_ns = slice_ns;
    machine.context_switch_ns = CHANGE_NS;
    return machine;
}

static struct timeline simulated(const struct settings *settings, const struct machine *machine)
{
    struct plan plan = test_built_on(settings, machine);
    struct timeline timeline = sim_run(machine, &plan);
    plan_free(&plan);
    return timeline;
}

static bool at_once(const struct span *a, const struct span *b)
{
    return a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

/* Returns how many pairs of ops of that kind and of two processes are under way at once. */
static uint32_t pairs_at_once(const struct timeline *timeline, enum op_kind kind)
{
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++)
        for (uint32_t j = 0; j < i; j++) {
            const struct span *a = &timeline->spans[i], *b = &timeline->spans[j];
            pairs +=
                a->kind == kind && b->kind == kind && a->device != b->device && at_once(a, b);
        }
    return pairs;
}

static const struct span *kernel_of(const struct timeline *timeline, int32_t tile)
{
    for (uint32_t i = 0; i < timeline->span_count; i++)
        if (timeline->spans[i].kind == OP_KERNEL && timeline->spans[i].tile == tile)
            return &timeline->spans[i];
    ck_abort_msg("no kernel of tile %d", tile);
}

/* Kernels that end within their slice are of one process at a time, and between two of unlike
 * processes lies the change; under MPS they run at once. Copies take turns in any case. */
START_TEST(test_turns)
{
    for (int sharing = SHARING_SLICES; sharing <= SHARING_MPS; sharing++)
        for (uint32_t processes = 2; processes <= 4; processes++)
            for (int ways = 1; ways <= 3; ways++) {
                struct settings settings =
                    share_settings(processes, (enum sharing)sharing, 3 * processes + 1);
                struct machine machine = share_machine(1000000000);
                struct timeline timeline;
                settings.ways = ways;
                timeline = simulated(&settings, &machine);
                ck_assert_uint_eq(timeline.devices, processes);
                ck_assert_int_eq(timeline.sharing, sharing);
                ck_assert_uint_eq(pairs_at_once(&timeline, OP_H2D), 0);
                ck_assert_uint_eq(pairs_at_once(&timeline, OP_D2H), 0);
                ck_assert_int_eq(pairs_at_once(&timeline, OP_KERNEL) > 0,
                                 sharing == SHARING_MPS);
                for (uint32_t i = 0; i < timeline.span_count && sharing == SHARING_SLICES; i++)
                    for (uint32_t j = 0; j < timeline.span_count; j++) {
                        const struct span *a = &timeline.spans[i], *b = &timeline.spans[j];
                        if (a->kind == OP_KERNEL && b->kind == OP_KERNEL &&
                            a->device != b->device && a->end_ns <= b->start_ns)
                            ck_assert_int_ge(b->start_ns - a->end_ns, CHANGE_NS);
                    }
                timeline_free(&timeline);
            }
}
END_TEST

/* A kernel longer than the slice is stopped, and goes on in its next turn: two that are equally
 * long end after both their work and one change for each slice that anybody had. */
START_TEST(test_slices)
{
    struct settings settings = share_settings(1, SHARING_NONE, 1);
    struct machine machine = share_machine(0);
    struct timeline timeline = simulated(&settings, &machine);
    const struct span *alone = kernel_of(&timeline, 0);
    const int64_t work_ns = alone->end_ns - alone->start_ns;
    timeline_free(&timeline);
    for (int64_t parts = 1; parts <= 7; parts++) {
        const int64_t slice_ns = work_ns / parts + 1;
        machine = share_machine(slice_ns);
        settings = share_settings(2, SHARING_SLICES, 2);
        timeline = simulated(&settings, &machine);
        const struct span *first = kernel_of(&timeline, 0), *second = kernel_of(&timeline, 1);
        const int64_t begun_ns =
            (first->start_ns < second->start_ns ? first : second)->start_ns;
        const int64_t ended_ns = (first->end_ns > second->end_ns ? first : second)->end_ns;
        const int64_t took_ns = ended_ns - begun_ns;
        const int64_t changes = (took_ns - 2 * work_ns) / CHANGE_NS;
        /* Where a process ends its work within a slice the change begins at once. */
        ck_assert_int_ge(changes, 2 * parts - 1);
        ck_assert_int_le(changes, 2 * parts + 1);
        ck_assert_int_le(llabs(took_ns - 2 * work_ns - changes * CHANGE_NS), 4 * parts);
        timeline_free(&timeline);
    }
}
END_TEST

/* A process whose kernels follow each other keeps the device, though between them there is a
 * gap in which none is under way: it changes once for each process, not once for each kernel.
 */
START_TEST(test_a_row_is_one_turn)
{
    struct settings settings = share_settings(4, SHARING_SLICES, 40);
    struct machine machine = share_machine(1000000000);
    struct timeline timeline;
    uint32_t changes = 0;
    machine.kernel_gap_ns = 50;
    settings.ways = 1;
    settings.streams = 1;
    timeline = simulated(&settings, &machine);
    for (int32_t tile = 0; tile < 36; tile++) /* the next kernel of the same process */
        changes +=
            kernel_of(&timeline, tile + 4)->start_ns - kernel_of(&timeline, tile)->end_ns >=
            CHANGE_NS;
    ck_assert_uint_eq(changes, 0);
    timeline_free(&timeline);
}
END_TEST

/* Each process issues by itself: all begin at once. */
START_TEST(test_each_issues)
{
    struct settings settings = share_settings(3, SHARING_MPS, 9);
    struct machine machine = share_machine(1000);
    struct timeline timeline;
    machine.issue_copy_ns = machine.issue_kernel_ns = 10;
    timeline = simulated(&settings, &machine);
    for (int32_t tile = 0; tile < 3; tile++)
        for (uint32_t i = 0; i < timeline.span_count; i++)
            if (timeline.spans[i].kind == OP_H2D && timeline.spans[i].tile == tile)
                ck_assert_int_eq(timeline.spans[i].issue_ns, 0);
    timeline_free(&timeline);
}
END_TEST

/* No sharing makes one device do more than it can. */
START_TEST(test_the_limit_is_one_device_s)
{
    struct machine machine = test_machine();
    struct settings one = share_settings(1, SHARING_NONE, 8);
    struct plan plan;
    plan = test_built_on(&one, &machine);
    const struct limit alone = limit_of(&machine, &plan);
    plan_free(&plan);
    for (int sharing = SHARING_SLICES; sharing <= SHARING_MPS; sharing++) {
        struct settings settings = share_settings(4, (enum sharing)sharing, 8);
        plan = test_built_on(&settings, &machine);
        const struct limit limit = limit_of(&machine, &plan);
        ck_assert_int_eq(limit.ns, alone.ns);
        ck_assert_int_eq(limit.cause, alone.cause);
        plan_free(&plan);
    }
}
END_TEST

/* Four ranks on one H200 took these times, the first of them in
 * bench/results/h200-2026-11-26-share-run.txt and the others in
 * h200-2026-11-26-share-blind.txt.
 */
START_TEST(test_an_h200)
{
    static const struct {
        const char *chain;
        uint32_t intensity, tiles, streams;
        uint64_t elements;
        enum sharing sharing;
        int64_t ns;
    } seen[] = {
        {"scale", 1800, 16, 4, 1 << 20, SHARING_SLICES, 671000},
        {"scale", 100, 32, 4, 131072, SHARING_SLICES, 1176280},
        {"scale", 1000, 256, 2, 4194304, SHARING_SLICES, 18190035},
        {"scale", 100, 32, 4, 131072, SHARING_MPS, 164808},
        {"scale", 1000, 256, 2, 4194304, SHARING_MPS, 1570180},
    };
    struct machine machine;
    struct error error = {0};
    ck_assert_int_eq(machine_load(&machine, "h200", &error), STATUS_OK);
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        struct settings settings = test_settings(seen[i].chain);
        struct timeline timeline;
        settings.devices = 4;
        settings.sharing = seen[i].sharing;
        settings.intensity = seen[i].intensity;
        settings.elements = seen[i].elements;
        settings.tiles = seen[i].tiles;
        settings.streams = seen[i].streams;
        settings.order = i % 3 == 2 || i == 4 ? ORDER_BREADTH : ORDER_DEPTH;
        timeline = simulated(&settings, &machine);
        const double off = (double)timeline_time_ns(&timeline) / (double)seen[i].ns - 1;
        ck_assert_msg(off > -0.1 && off < 0.1, "%zu: %.1f %% off", i, 100 * off);
        timeline_free(&timeline);
    }
}
END_TEST

/* --- the program --- */

static void refused(const char *arguments, const char *why)
{
    char line[256];
    snprintf(line, sizeof line, "-q -d sim:h200*2 --share=mps -n 64k %s", arguments);
    ck_assert_int_eq(program_run(line), 2);
    assert_has(program_err, why);
    ck_assert_ptr_eq(strchr(program_err, '\n'), strrchr(program_err, '\n'));
}

START_TEST(test_program)
{
    refused("-k scan --carry=callback", "hands on from tile to tile");
    refused("-k stencil --columns=64", "hands on from tile to tile");
    refused("-k scale,scale --spread=chain", "use --spread=tiles");
    refused("-w 4", "use --ways=1, 2 or 3");
    refused("--pack", "use --pack=no");
    refused("--issue=auto", "use --issue=streams or batch");
    refused("--share=always", "must be none, slices, mps");
    ck_assert_int_eq(program_run("-d sim:h200*4 --share=slices -n 1M -t 16 --timeline=t.csv"),
                     0);
    assert_has(program_out, "NVIDIA H200, shared by 4 processes");
    assert_has(program_out, "tiles over processes, in time slices");
    assert_has(program_out, "\n  process 3\n");
    assert_has(program_out, "time-slices costs");
    assert_has(program_out, "with --share=mps it would take");
    ck_assert_int_eq(program_run("view t.csv"), 0);
    assert_has(program_out, "shared by 4 processes");
    ck_assert_int_eq(program_run("-d sim:h200*4 --share=mps -n 1M -t 16 --fix"), 0);
    assert_has(program_out, "under MPS");
    ck_assert_ptr_null(strstr(program_out, "time-slices"));
}
END_TEST

Suite *share_suite(void)
{
    Suite *suite = suite_create("share");
    TCase *tests = tcase_create("share");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_turns);
    tcase_add_test(tests, test_slices);
    tcase_add_test(tests, test_a_row_is_one_turn);
    tcase_add_test(tests, test_each_issues);
    tcase_add_test(tests, test_the_limit_is_one_device_s);
    tcase_add_test(tests, test_an_h200);
    suite_add_tcase(suite, tests);
    TCase *program = tcase_create("program");
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_test(program, test_program);
    suite_add_tcase(suite, program);
    return suite;
}
