/* check_scan.c - scans: the plans with a carry, what is refused, whole runs on simulated
 * machines, and results that are wrong. */
#include "check_kernels_util.h"
#include "fixtures.h"
#include "plan/build.h"
#include "report/report.h"
#include "scan_cases.h"
#include "suites.h"
#include "test_run.h"

#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const char *const chains[] = {
    "scan",
    "scan,scan",
    "scan-exclusive,scan-naive",
    "scan,scan,scan-conflict-free",
    "scan-efficient",
    "scan-naive,reduce-shuffle",
    "scan,scan-exclusive,reduce-shuffle",
};
enum { CHAINS = sizeof chains / sizeof *chains };

/* --- plans
 * ------------------------------------------------------------------------------------------ */

static struct settings random_settings(uint64_t *random)
{
    return test_random_settings(random, chains[test_random_below(random, CHAINS)], 40, 3);
}

static uint32_t find_kernel(const struct plan *plan, uint32_t link, int32_t tile)
{
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind == OP_KERNEL && op->kernel.link == link && op->tile == tile)
            return i;
    }
    ck_abort_msg("no kernel %" PRIu32 " of tile %" PRId32, link, tile);
}

/* A scan's kernel begins with the carry that the kernel of the tile before left in its own
 * place. That kernel is issued earlier, for a stream that waits for a later op would never go
 * on. */
static void assert_carries(const struct plan *plan)
{
    for (uint32_t link = 0; link < (uint32_t)plan->chain_length; link++) {
        const bool scans = plan->chain[link]->shape == KERNEL_SCAN;
        const struct op *before = NULL;
        for (int32_t tile = 0; tile < (int32_t)plan->tiles; tile++) {
            const struct op *op = &plan->ops[find_kernel(plan, link, tile)];
            ck_assert_uint_eq(op->kernel.ranges->carry_out.bytes, scans ? 4 : 0);
            ck_assert_uint_eq(op->kernel.ranges->carry_in.bytes, scans && tile > 0 ? 4 : 0);
            ck_assert(!scans || op->kernel.ranges->carry_out.buffer == BUFFER_DEVICE_CARRY);
            if (scans && tile > 0) {
                ck_assert(range_equal(&op->kernel.ranges->carry_in,
                                      &before->kernel.ranges->carry_out));
                ck_assert_uint_lt(before->id, op->id);
            }
            before = op;
        }
    }
}

/* A kernel's scratch is never another link's, whichever tile it is of. */
static void assert_scratch_apart(const struct plan *plan)
{
    for (uint32_t a = 0; a < plan->op_count; a++) {
        const struct op *one = &plan->ops[a];
        for (uint32_t b = 0; b < a && one->kind == OP_KERNEL; b++) {
            const struct op *other = &plan->ops[b];
            if (other->kind != OP_KERNEL || other->kernel.link == one->kernel.link)
                continue;
            const struct range *x = &one->kernel.ranges->scratch,
                               *y = &other->kernel.ranges->scratch;
            ck_assert(x->offset + x->bytes <= y->offset || y->offset + y->bytes <= x->offset);
        }
    }
}

START_TEST(test_plans_carry_from_tile_to_tile)
{
    uint64_t random = 20161;
    for (int i = 0; i < test_cases(1000); i++) {
        struct settings settings = random_settings(&random);
        struct plan plan = test_built(&settings);
        struct error error = {0};
        ck_assert_msg(hazards_refuse(&plan, &error) == STATUS_OK, "%s", error.text);
        ck_assert_uint_eq(plan.buffer_bytes[BUFFER_DEVICE_CARRY],
                          UINT64_C(8) * (uint32_t)plan.chain_length * plan.tiles);
        assert_carries(&plan);
        assert_scratch_apart(&plan);
        plan_free(&plan);
    }
}
END_TEST

/* By default each tile is in another stream than the one before: one event each. By stage the
 * kernels are in one stream anyway. */
START_TEST(test_waits_only_where_streams_differ)
{
    struct settings settings = test_settings("scan");
    settings.tiles = 9;
    struct plan plan = test_built(&settings);
    ck_assert_uint_eq(plan.events, 8);
    plan_free(&plan);
    settings.ways = 2; /* and the first tile's wait for all copies in covers the others' */
    plan = test_built(&settings);
    ck_assert_uint_eq(plan.events, 8);
    plan_free(&plan);
    settings.ways = 3;
    settings.streams = 1;
    plan = test_built(&settings);
    ck_assert_uint_eq(plan.events, 0);
    plan_free(&plan);
    settings = test_settings("scale");
    settings.layout = LAYOUT_STAGE;
    plan = test_built(&settings);
    uint32_t events = plan.events;
    ck_assert_uint_eq(plan.buffer_bytes[BUFFER_DEVICE_CARRY], 0);
    plan_free(&plan);
    settings.chain[0] = table_row("scan");
    plan = test_built(&settings);
    ck_assert_uint_eq(plan.events, events);
    plan_free(&plan);
}
END_TEST

/* Without the wait for the tile before the two kernels race for the carry, and are named. */
START_TEST(test_a_dropped_wait_is_a_hazard)
{
    for (int32_t tile = 1; tile < 8; tile++) {
        struct settings settings = test_settings("scan");
        settings.tiles = 8;
        settings.order = tile % 2 ? ORDER_BREADTH : ORDER_DEPTH;
        struct plan plan = test_built(&settings);
        struct error error = {0};
        char text[128];
        uint32_t kernel = find_kernel(&plan, 0, tile), before = find_kernel(&plan, 0, tile - 1);
        test_drop_wait(&plan, kernel - 1);
        ck_assert_int_eq(hazards_refuse(&plan, &error), STATUS_FAILED);
        snprintf(text, sizeof text,
                 "op %" PRIu32 " (scan %" PRId32 ") and op %" PRIu32 " (scan %" PRId32
                 ") both touch device.carry and nothing",
                 before, tile - 1, kernel, tile);
        ck_assert_msg(strstr(error.text, text) != NULL, "\"%s\" lacks \"%s\"", error.text,
                      text);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(test_four_ways_are_refused)
{
    for (int i = 0; i < CHAINS; i++) {
        struct settings settings = test_settings(chains[i]);
        struct error error = {0};
        ck_assert_int_eq(settings_check(&settings, &error), STATUS_OK);
        settings.ways = 4;
        ck_assert_int_eq(settings_check(&settings, &error), STATUS_USAGE);
        ck_assert_ptr_nonnull(strstr(error.text, "use ways=1, 2 or 3"));
        ck_assert_ptr_nonnull(strstr(error.text, chains[i]));
    }
    struct settings settings = test_settings("reduce-shuffle");
    struct error error = {0};
    settings.ways = 4;
    ck_assert_int_eq(settings_check(&settings, &error), STATUS_OK);
}
END_TEST

/* --- runs --- */

static struct test_run at;

static void run_begin(const struct settings *settings)
{
    test_run_begin(&at, settings);
    test_run_go(&at);
}

/* Element `index` of the array must be named as the first wrong one. */
static void assert_wrong(uint64_t index)
{
    const struct error error = test_run_wrong(&at);
    char text[64];
    uint64_t first = 0, count = 0;
    uint32_t tile = 0;
    while (plan_tile(&at.plan, tile, &first, &count), index >= first + count)
        tile++;
    snprintf(text, sizeof text,
             "wrong result: tile %" PRIu32 ", element %" PRIu64 " (%" PRIu64 " of ", tile,
             index - first, index);
    ck_assert_int_eq(error.status, STATUS_FAILED);
    ck_assert_msg(strncmp(error.text, text, strlen(text)) == 0, "'%s' is not '%s...'",
                  error.text, text);
}

/* Also where streams share a queue, and where copies share an engine: no wait is ever for what
 * comes behind it. */
START_TEST(test_runs_of_random_settings)
{
    static const char *const devices[] = {"sim:h200", "sim:c1060", "sim:c2050", "sim:k20c"};
    uint64_t random = 314159;
    for (int i = 0; i < test_cases(300); i++) {
        struct settings settings = random_settings(&random);
        settings.device = devices[i % 4];
        settings.connections = i % 4 == 0 ? 1 : 0;
        run_begin(&settings);
        test_run_assert_right(&at);
        test_run_end(&at);
    }
}
END_TEST

/* Not only what verification makes of it: the plain loop. */
START_TEST(test_a_run_scans_the_whole_array)
{
    struct settings settings = test_settings(_i ? "scan-efficient" : "scan-naive");
    settings.elements = 100003;
    settings.tiles = 17;
    run_begin(&settings);
    const uint32_t *in = at.arrays.host[BUFFER_HOST_IN0],
                   *out = at.arrays.host[BUFFER_HOST_OUT];
    uint32_t total = 0;
    for (uint64_t i = 0; i < settings.elements; i++) {
        const uint32_t before = total;
        total += in[i];
        ck_assert_uint_eq(out[i], _i ? before : total);
    }
    test_run_end(&at);
}
END_TEST

/* At the seams of what verification works on at once (1024, 16384), and of tiles (20000). */
START_TEST(test_a_wrong_element_is_named)
{
    static const uint64_t spots[] = {0,     1,     1023,  1024,  16383, 16384,
                                     19999, 20000, 36383, 36384, 99999};
    struct settings settings = test_settings(_i ? "scan,scan-exclusive" : "scan");
    settings.elements = 100000;
    settings.tiles = 5;
    run_begin(&settings);
    test_run_assert_right(&at);
    uint32_t *out = at.arrays.host[BUFFER_HOST_OUT], *in = at.arrays.host[BUFFER_HOST_IN0];
    for (size_t i = 0; i < sizeof spots / sizeof *spots; i++) {
        out[spots[i]] ^= 1u << 31;
        assert_wrong(spots[i]);
        out[spots[i]] ^= 1u << 31;
        in[spots[i]] += 1;
        if (!_i)
            assert_wrong(spots[i]);
        else if (spots[i] + 1 < settings.elements) /* only those behind it have it */
            assert_wrong(spots[i] + 1);
        in[spots[i]] -= 1;
    }
    test_run_assert_right(&at);
    test_run_end(&at);
}
END_TEST

/* A tile that begins with the carry of an earlier tile, or with none, has only wrong elements;
 * the first of them must be named, since a missing wait looks like this. */
START_TEST(test_a_stale_carry_is_found)
{
    struct settings settings = test_settings("scan");
    settings.elements = 70001;
    settings.tiles = 7;
    run_begin(&settings);
    uint32_t *out = at.arrays.host[BUFFER_HOST_OUT];
    for (uint32_t tile = 1; tile < settings.tiles; tile++) {
        uint64_t first, count;
        plan_tile(&at.plan, tile, &first, &count);
        const uint32_t carry = out[first - 1], stale = tile % 2 ? 0 : out[first / 2];
        for (uint64_t i = 0; i < count; i++)
            out[first + i] += stale - carry;
        assert_wrong(first);
        for (uint64_t i = 0; i < count; i++)
            out[first + i] += carry - stale;
    }
    test_run_assert_right(&at);
    test_run_end(&at);
}
END_TEST

/* Tile 0's kernel gets one block, so that it takes longer than tile 1's copy in. With the wait
 * that makes no difference; without it tile 1 begins with a carry that is not there yet. */
START_TEST(test_a_lost_race_for_the_carry_shows)
{
    struct settings settings = test_settings("scan");
    settings.elements = 1 << 22;
    test_run_begin(&at, &settings);
    at.plan.ops[find_kernel(&at.plan, 0, 0)].kernel.blocks = 1;
    if (_i)
        test_drop_wait(&at.plan, find_kernel(&at.plan, 0, 1) - 1);
    at.workload.races = _i;
    test_run_go(&at);
    if (_i)
        assert_wrong(1 << 20);
    else
        test_run_assert_right(&at);
    test_run_end(&at);
}
END_TEST

START_TEST(test_the_number_of_cores_changes_nothing)
{
    const int usual = omp_get_max_threads();
    struct settings settings = test_settings("scan,scan,reduce-shuffle");
    settings.elements = 300007;
    settings.tiles = 3;
    for (int threads = 1; threads <= 7; threads += 3) {
        omp_set_num_threads(threads);
        run_begin(&settings);
        test_run_assert_right(&at);
        test_run_end(&at);
    }
    omp_set_num_threads(usual);
}
END_TEST

Suite *scan_suite(void)
{
    Suite *suite = suite_create("scan");
    suite_add_tcase(suite, scan_twins_tcase());

    TCase *plans = tcase_create("plans");
    tcase_set_timeout(plans, 120);
    tcase_add_test(plans, test_plans_carry_from_tile_to_tile);
    tcase_add_test(plans, test_waits_only_where_streams_differ);
    tcase_add_test(plans, test_a_dropped_wait_is_a_hazard);
    tcase_add_test(plans, test_four_ways_are_refused);
    suite_add_tcase(suite, plans);

    TCase *runs = tcase_create("runs");
    tcase_set_timeout(runs, 120);
    tcase_add_test(runs, test_runs_of_random_settings);
    tcase_add_loop_test(runs, test_a_run_scans_the_whole_array, 0, 2);
    tcase_add_loop_test(runs, test_a_wrong_element_is_named, 0, 2);
    tcase_add_test(runs, test_a_stale_carry_is_found);
    tcase_add_loop_test(runs, test_a_lost_race_for_the_carry_shows, 0, 2);
    tcase_add_test(runs, test_the_number_of_cores_changes_nothing);
    suite_add_tcase(suite, runs);
    return suite;
}
