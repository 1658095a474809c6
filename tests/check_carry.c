/* check_carry.c - scans whose carry goes from tile to tile by way of the host: the plans, the
 * races without a wait, whole runs on simulated machines, and the lesson. */

#include "check_kernels_util.h"
#include "fixtures.h"
#include "plan/build.h"
#include "plan/rules.h"
#include "report/report.h"
#include "run/arrays.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"
#include "test_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const chains[] = {
    "scan",           "scan-exclusive,scan-naive", "scan,reduce-shuffle", "scan,scan,scan",
    "scan-efficient",
};
enum { CHAINS = sizeof chains / sizeof *chains };

static struct settings random_settings(uint64_t *random)
{
    struct settings settings =
        test_random_settings(random, chains[test_random_below(random, CHAINS)], 30, 3);
    settings.carry = test_random_below(random, 3) ? CARRY_CALLBACK : CARRY_SYNC;
    return settings;
}

/* --- what a callback does --- */

START_TEST(test_feed)
{
    uint32_t before = 0xFFFFFFF0, total = 0x20, next = 7;
    carry_feed(&before, &total, &next);
    ck_assert_uint_eq(next, 0x10); /* modulo 2^32 */
    carry_feed(NULL, &total, &next);
    ck_assert_uint_eq(next, 0x20);
    ck_assert_uint_eq(before, 0xFFFFFFF0);
}
END_TEST

/* A CPU twin that is asked for its own total leaves it without the carry it began with. */
START_TEST(test_own_total)
{
    static const char *const names[] = {"scan", "scan-exclusive", "scan-naive"};
    enum { COUNT = 100000 };
    uint32_t *data = calloc(COUNT, sizeof *data), begin = 0xABCDEF01, sum = 0;
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (uint64_t count = 1; count <= COUNT; count += COUNT - 1) {
            uint32_t own = 0, all = 0;
            struct kernel_args args = {
                .in = {data}, .out = data, .count = count, .params = {.intensity = 1}};
            args.carry_in = &begin;
            for (int with = 0; with < 2; with++) {
                arrays_generate(DTYPE_I32, i, 0, 0, count, data);
                sum = 0;
                for (uint64_t k = 0; k < count; k++)
                    sum += data[k];
                args.carry_own = with;
                args.carry_out = with ? &own : &all;
                table_code(names[i])->host(&args);
            }
            ck_assert_uint_eq(own, sum);
            ck_assert_uint_eq(all, sum + begin);
        }
    }
    free(data);
}
END_TEST

/* --- plans --- */

/* Returns the one op that writes `range`. */
static const struct op *writer_of(const struct plan *plan, const struct range *range)
{
    const struct op *found = NULL;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        struct access access[OP_ACCESS_MAX];
        int count = op_accesses(&plan->ops[i], access);
        for (int k = 0; k < count; k++) {
            if (!access[k].writes || !range_equal(&access[k].range, range))
                continue;
            ck_assert_msg(found == NULL, "ops %u and %u write the same place", found->id, i);
            found = &plan->ops[i];
        }
    }
    ck_assert_ptr_nonnull(found);
    return found;
}

/* Asserts the way back from a kernel to that of the tile before: its carry was copied in, a
 * callback fed that, and the callback's total was copied out. */
static void assert_fed(const struct plan *plan, const struct op *kernel)
{
    const struct op *in = writer_of(plan, &kernel->kernel.ranges->carry_in);
    ck_assert_int_eq(in->kind, OP_H2D);
    ck_assert(!rule_copy_staged(plan, in)); /* else it could be read before it is there */
    const struct op *feed = writer_of(plan, &in->copy.host);
    ck_assert(op_feeds(feed));
    ck_assert_int_eq(feed->tile, kernel->tile - 1);
    ck_assert_uint_eq(feed->callback.ranges->in[0].bytes, kernel->tile > 1 ? 4 : 0);
    ck_assert_uint_eq(feed->callback.result.bytes, 0);
    if (kernel->tile > 1)
        ck_assert(op_feeds(writer_of(plan, &feed->callback.ranges->in[0])));
    const struct op *out = writer_of(plan, &feed->callback.ranges->in[1]);
    ck_assert_int_eq(out->kind, OP_D2H);
    const struct op *before = writer_of(plan, &out->copy.device);
    ck_assert_int_eq(before->kind, OP_KERNEL);
    ck_assert_int_eq(before->tile, kernel->tile - 1);
    ck_assert_uint_eq(before->kernel.link, kernel->kernel.link);
    ck_assert(before->kernel.ranges->carry_own);
}

START_TEST(test_plans)
{
    uint64_t random = 4711;
    for (int i = 0; i < test_cases(300); i++) {
        struct settings settings = random_settings(&random);
        settings.memory = i % 3 == 0 ? MEMORY_PAGEABLE : MEMORY_PINNED;
        struct plan plan = test_built(&settings);
        struct error error = {0};
        uint32_t scans = 0, feeds = 0, syncs = 0;
        ck_assert_msg(hazards_refuse(&plan, &error) == STATUS_OK, "%s", error.text);
        for (uint32_t k = 0; k < plan.op_count; k++) {
            const struct op *op = &plan.ops[k];
            const bool scan =
                op->kind == OP_KERNEL && plan.chain[op->kernel.link]->shape == KERNEL_SCAN;
            if (scan && op->tile > 0)
                assert_fed(&plan, op);
            scans += scan && op->tile > 0;
            feeds += op_feeds(op);
            syncs += op->kind == OP_SYNC;
        }
        ck_assert_uint_eq(feeds, scans);
        ck_assert_uint_eq(syncs, settings.carry == CARRY_SYNC ? scans : 0);
        plan_free(&plan);
    }
}
END_TEST

/* Returns the wait before the copy in of a tile's carry. */
static uint32_t find_wait(const struct plan *plan, int32_t tile)
{
    for (uint32_t i = 1; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind == OP_H2D && op->tile == tile && op->copy.host.buffer == BUFFER_HOST_CARRY)
            return i - 1;
    }
    ck_abort_msg("tile %" PRId32 " is not fed", tile);
}

/* The callback writes bytes of the host: without the wait it races with the copy in. */
START_TEST(test_a_dropped_wait_is_a_hazard)
{
    for (int32_t tile = 1; tile < 8; tile++) {
        struct settings settings = test_settings("scan");
        settings.tiles = 8;
        settings.carry = CARRY_CALLBACK;
        settings.order = tile % 2 ? ORDER_BREADTH : ORDER_DEPTH;
        struct plan plan = test_built(&settings);
        struct error error = {0};
        char first[64], second[64];
        test_drop_wait(&plan, find_wait(&plan, tile));
        ck_assert_int_eq(hazards_refuse(&plan, &error), STATUS_FAILED);
        snprintf(first, sizeof first, "(callback %" PRId32 ") and op ", tile - 1);
        snprintf(second, sizeof second, "(h2d %" PRId32 ") both touch host.carry ", tile);
        assert_has(error.text, first);
        assert_has(error.text, second);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(test_refusals)
{
    struct settings settings = test_settings("scale,sum");
    struct error error = {0};
    settings.carry = CARRY_CALLBACK;
    ck_assert_int_eq(settings_check(&settings, &error), STATUS_USAGE);
    assert_has(error.text, "carry=callback is about what a scan carries");
    assert_has(error.text, "kernel=scale,sum has none");
    settings = test_settings("scan,reduce-shuffle");
    settings.carry = CARRY_SYNC;
    ck_assert_int_eq(settings_check(&settings, &error), STATUS_OK);
}
END_TEST

/* --- runs --- */

static struct {
    struct test_run run;
    uint32_t tiles_told;
} at;

static void on_tile(void *context, int32_t tile)
{
    (void)context, (void)tile;
    at.tiles_told++;
}

static void run_begin(const struct settings *settings)
{
    at.tiles_told = 0;
    test_run_begin(&at.run, settings);
    at.run.workload.on_tile = on_tile;
}

/* The result is exact, and a callback that feeds tells nobody that its tile is done. */
START_TEST(test_runs_of_random_settings)
{
    static const char *const devices[] = {"sim:h200", "sim:c1060", "sim:c2050", "sim:k20c"};
    uint64_t random = 2718;
    for (int i = 0; i < test_cases(200); i++) {
        struct settings settings = random_settings(&random);
        settings.device = devices[i % 4];
        settings.connections = i % 4 == 0 ? 1 : 0;
        settings.memory = i % 5 == 0 ? MEMORY_PAGEABLE : MEMORY_PINNED;
        run_begin(&settings);
        test_run_go(&at.run);
        test_run_assert_right(&at.run);
        ck_assert_uint_eq(at.tiles_told, settings.callbacks ? settings.tiles : 0);
        test_run_end(&at.run);
    }
}
END_TEST

/* With the wait, a kernel of tile 0 that takes long makes no difference; without it, tile 1
 * gets a carry that nobody has left there yet. */
START_TEST(test_a_lost_race_shows)
{
    struct settings settings = test_settings("scan");
    settings.elements = 1 << 20;
    settings.tiles = 4;
    settings.carry = CARRY_CALLBACK;
    run_begin(&settings);
    for (uint32_t i = 0; i < at.run.plan.op_count; i++) {
        if (at.run.plan.ops[i].kind == OP_KERNEL && at.run.plan.ops[i].tile == 0)
            at.run.plan.ops[i].kernel.blocks = 1;
    }
    if (_i)
        test_drop_wait(&at.run.plan, find_wait(&at.run.plan, 1));
    at.run.workload.races = _i;
    test_run_go(&at.run);
    const struct error error = test_run_wrong(&at.run);
    ck_assert_int_eq(error.status, _i ? STATUS_FAILED : STATUS_OK);
    if (_i)
        assert_has(error.text, "wrong result: tile 1, element 0 (262144 of the array)");
    test_run_end(&at.run);
}
END_TEST

/* Every run of configs/lessons/23-feeding.ini takes less time than the one before it. */
START_TEST(test_lesson)
{
    static const char *const machines[] = {"h200", "v100", "k20c"};
    char path[512];
    snprintf(path, sizeof path, "%s/../configs/lessons/23-feeding.ini", TESTS_FOLDER);
    char *argv[] = {"pipeline", path, NULL};
    struct options options;
    struct error error = {0};
    ck_assert_msg(options_parse(2, argv, &options, &error) == STATUS_OK, "%s", error.text);
    ck_assert_int_eq(options.run_count, 3);
    ck_assert_int_eq(options.runs[0].carry, CARRY_SYNC);
    ck_assert_int_eq(options.runs[2].carry, CARRY_DEVICE);
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        int64_t spans[3];
        for (int i = 0; i < 3; i++) {
            struct machine machine;
            struct plan plan;
            test_must(machine_built_in(&machine, machines[m], &error), &error);
            test_must(plan_build(&options.runs[i], &machine, &plan, &error), &error);
            spans[i] = sim_span_ns(&machine, &plan);
            plan_free(&plan);
        }
        ck_assert_msg((double)spans[1] < 0.9 * (double)spans[0], "%s", machines[m]);
        ck_assert_msg((double)spans[2] < 0.95 * (double)spans[1], "%s", machines[m]);
    }
    options_free(&options);
}
END_TEST

/* --- the program --- */

START_TEST(test_program)
{
    ck_assert_int_eq(program_run("-q --device=sim:h200 -k scan -n 64k -t 8 --gantt=none "
                                 "--carry=callback --callbacks --format=json"),
                     0);
    assert_has(program_out, "\"carry\": \"callback\"");
    assert_has(program_out, "\"verified\": true");
    ck_assert_int_eq(program_run("-q --device=sim:h200 -k scan -n 64k -t 8 --blocks=7 "
                                 "--carry=sync"),
                     0);
    assert_has(program_out, "\nscan with blocks=7 with carry=sync on 64k elements");
    ck_assert_int_eq(program_run("-q --carry=callback"), 2);
    assert_has(program_err, "use --carry=device, or a --kernel such as scan\n");
    ck_assert_int_eq(program_run("-q --carry=event -k scan"), 2);
    assert_has(program_err, "--carry=event is unknown: must be device, callback, sync\n");
}
END_TEST

Suite *carry_suite(void)
{
    Suite *suite = suite_create("carry");
    TCase *tests = tcase_create("carry");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_feed);
    tcase_add_test(tests, test_own_total);
    tcase_add_test(tests, test_plans);
    tcase_add_test(tests, test_a_dropped_wait_is_a_hazard);
    tcase_add_test(tests, test_refusals);
    tcase_add_test(tests, test_runs_of_random_settings);
    tcase_add_loop_test(tests, test_a_lost_race_shows, 0, 2);
    tcase_add_test(tests, test_lesson);
    suite_add_tcase(suite, tests);
    TCase *program = tcase_create("program");
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_test(program, test_program);
    suite_add_tcase(suite, program);
    return suite;
}
