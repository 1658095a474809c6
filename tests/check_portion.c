/* check_portion.c - a device's part of a plan as a plan of its own, and judging the results of
 * one device's tiles alone. */
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "plan/portion.h"
#include "report/report.h"
#include "run/backend.h"
#include "run/verify.h"
#include "suites.h"

#include <stdlib.h>

static struct plan plan_of(struct settings *settings, uint32_t devices)
{
    settings->devices = devices;
    struct machine machine = test_machine_named("h200");
    return test_built_on(settings, &machine);
}

static struct settings small(const char *kernels)
{
    struct settings settings = test_settings(kernels);
    settings.elements = 100003;
    settings.intensity = 1;
    settings.tiles = 13;
    return settings;
}

/* Every op of the plan is in one portion, and works on that device's bytes from 0. */
static void check_portions(const struct plan *plan)
{
    uint32_t all = 0;
    for (uint32_t device = 0; device < plan->devices; device++) {
        struct plan portion;
        struct error error = {0};
        ck_assert_msg(plan_portion(plan, device, NULL, &portion, &error) == STATUS_OK, "%s",
                      error.text);
        ck_assert_msg(plan_validate(&portion, &error) == STATUS_OK, "%s", error.text);
        ck_assert_msg(hazards_refuse(&portion, &error) == STATUS_OK, "%s", error.text);
        all += portion.op_count;
        for (uint32_t i = 0; i < portion.op_count; i++) {
            struct access access[OP_ACCESS_MAX];
            const int count = op_accesses(&portion.ops[i], access);
            ck_assert_uint_lt(portion.ops[i].stream, portion.streams);
            if (portion.ops[i].tile >= 0)
                ck_assert_uint_eq(plan_result_device(plan, (uint32_t)portion.ops[i].tile),
                                  device);
            for (int k = 0; k < count; k++)
                ck_assert_uint_le(access[k].range.offset + access[k].range.bytes,
                                  portion.buffer_bytes[access[k].range.buffer]);
        }
        plan_free(&portion);
    }
    ck_assert_uint_eq(all, plan->op_count);
}

START_TEST(portions_are_the_plan)
{
    static const char *const chains[] = {"scale", "wave", "scale,scale,sum", "sum-int"};
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        for (int way = 0; way < 6; way++) {
            struct settings settings = small(chains[i]);
            settings.order = way % 2 == 0 ? ORDER_DEPTH : ORDER_BREADTH;
            settings.layout = way == 2 || way == 3 ? LAYOUT_STAGE : LAYOUT_TILE;
            settings.callbacks = way == 1;
            settings.scatter = way == 3;
            settings.issue = way == 4 ? ISSUE_BATCH : ISSUE_STREAMS;
            settings.batch = way == 4 ? 2 : 0;
            settings.ways = way == 5 ? 1 : 3;
            struct plan plan = plan_of(&settings, 2 + (uint32_t)way % 3);
            check_portions(&plan);
            plan_free(&plan);
        }
    }
}
END_TEST

/* A plan of each kind that hands something on from device to device, by the host. */
static struct plan plan_that_crosses(int kind)
{
    struct settings settings = small(kind < 2   ? "scan,scan-exclusive"
                                     : kind < 4 ? "scale,scale,scale"
                                                : "stencil");
    settings.order = kind == 1 ? ORDER_BREADTH : ORDER_DEPTH;
    settings.layout = kind == 1 || kind == 3 ? LAYOUT_STAGE : LAYOUT_TILE;
    settings.carry = kind < 2 ? CARRY_CALLBACK : CARRY_DEVICE;
    settings.spread = kind == 2 || kind == 3 ? SPREAD_CHAIN : SPREAD_TILES;
    settings.exchange = EXCHANGE_HOST;
    settings.callbacks = kind == 2;
    if (kind >= 4) {
        settings.columns = 100;
        settings.halo = 2;
        settings.steps = 5;
        settings.tiles = 12;
        settings.elements = 100 * 12 * 8;
        settings.hide = kind == 5 ? HIDE_NO : HIDE_YES;
    }
    return plan_of(&settings, 3);
}
enum { KINDS_THAT_CROSS = 6 };

static uint32_t device_of(const struct plan *plan, const struct op *op)
{
    return plan_stream_home(plan, op->stream).device;
}

/* Returns true if an op of the device touches the range, as said, from op `first` to op `end`.
 */
static bool is_touched(const struct plan *plan, const struct range *range, uint32_t device,
                       bool writes, uint32_t first, uint32_t end)
{
    struct access access[OP_ACCESS_MAX];
    for (uint32_t i = first; i < end; i++) {
        const int count = op_accesses(&plan->ops[i], access);
        for (int k = 0; k < count && device_of(plan, &plan->ops[i]) == device; k++)
            if (!access[k].writes == !writes && range_equal(&access[k].range, range))
                return true;
    }
    return false;
}

/* Each crossing has a record of its sender's, and a wait of its receiver's that is behind it;
 * its bytes are written before the one and read after the other, and are listed once. All else
 * is the portions'. */
START_TEST(what_crosses_is_listed)
{
    struct plan plan = plan_that_crosses(_i), portion;
    struct crossings crossings;
    struct error error = {0};
    ck_assert_msg(crossings_find(&plan, &crossings, &error) == STATUS_OK, "%s", error.text);
    ck_assert_uint_gt(crossings.count, 3);
    ck_assert_uint_gt(crossings.parcel_count, 3);
    for (uint32_t i = 0; i < crossings.count; i++) {
        const struct crossing *crossing = &crossings.all[i];
        uint32_t wait = crossing->record;
        ck_assert_int_eq(plan.ops[crossing->record].kind, OP_RECORD);
        ck_assert_uint_eq(device_of(&plan, &plan.ops[crossing->record]), crossing->from);
        ck_assert_uint_eq(crossings.flags[crossing->record], crossing->flag);
        while (++wait < plan.op_count &&
               (plan.ops[wait].kind != OP_WAIT || crossings.flags[wait] != crossing->flag ||
                device_of(&plan, &plan.ops[wait]) != crossing->to))
            continue;
        ck_assert_uint_lt(wait, plan.op_count);
        for (uint32_t k = 0; k < crossings.parcel_count; k++) {
            const struct parcel *parcel = &crossings.parcels[k];
            if (parcel->crossing != i)
                continue;
            for (uint32_t m = 0; m < k; m++)
                ck_assert(crossings.parcels[m].crossing != i ||
                          !range_equal(&crossings.parcels[m].range, &parcel->range));
            ck_assert(
                is_touched(&plan, &parcel->range, crossing->from, true, 0, crossing->record));
            ck_assert(
                is_touched(&plan, &parcel->range, crossing->to, false, wait, plan.op_count));
        }
    }
    uint32_t all = 0;
    for (uint32_t device = 0; device < 3; device++) {
        ck_assert_msg(plan_portion(&plan, device, &crossings, &portion, &error) == STATUS_OK,
                      "%s", error.text);
        all += portion.op_count;
        plan_free(&portion);
    }
    ck_assert_uint_eq(all, plan.op_count);
    crossings_free(&crossings);
    plan_free(&plan);
}
END_TEST

/* Two streams of a device read what two of the other one left, not in the order in which they
 * waited; what is read twice comes once. */
START_TEST(what_is_read_again_comes_once)
{
    const struct range first = {BUFFER_HOST_EXCHANGE, 0, 8},
                       second = {BUFFER_HOST_EXCHANGE, 8, 8};
    const struct op ops[] = {
        {.kind = OP_D2H, .stream = 0, .copy.host = first},
        {.kind = OP_RECORD, .stream = 0, .event.event = 0},
        {.kind = OP_D2H, .stream = 1, .copy.host = second},
        {.kind = OP_RECORD, .stream = 1, .event.event = 1},
        {.kind = OP_WAIT, .stream = 2, .event.event = 0},
        {.kind = OP_WAIT, .stream = 3, .event.event = 1},
        {.kind = OP_H2D, .stream = 3, .copy.host = second},
        {.kind = OP_H2D, .stream = 2, .copy.host = first},
        {.kind = OP_H2D, .stream = 3, .copy.host = second},
    };
    struct plan plan = {0};
    struct crossings crossings;
    struct error error = {0};
    plan.devices = 2;
    plan.streams = 4;
    plan.events = 2;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        ck_assert_int_eq(plan_append(&plan, &ops[i], &error), STATUS_OK);
    ck_assert_msg(crossings_find(&plan, &crossings, &error) == STATUS_OK, "%s", error.text);
    ck_assert_uint_eq(crossings.count, 2);
    ck_assert_uint_eq(crossings.parcel_count, 2);
    ck_assert_uint_eq(crossings.parcels[0].crossing, 1);
    crossings_free(&crossings);
    plan_free(&plan);
}
END_TEST

/* Where a device does not wait for what it reads, nothing can bring it. */
START_TEST(what_nobody_waits_for_is_refused)
{
    struct plan plan = plan_that_crosses(_i);
    struct crossings crossings;
    struct error error = {0};
    uint32_t waits = 0;
    for (uint32_t i = 0; i < plan.op_count; i++) {
        const struct op kept = plan.ops[i];
        if (kept.kind != OP_WAIT)
            continue;
        plan.ops[i].kind = OP_SYNC;
        if (crossings_find(&plan, &crossings, &error) == STATUS_OK)
            crossings_free(&crossings);
        else
            waits++;
        ck_assert_uint_eq(crossings.count, 0);
        plan.ops[i] = kept;
        error_clear(&error);
    }
    ck_assert_uint_gt(waits, 3);
    plan_free(&plan);
}
END_TEST

/* What one device hands to another is in no portion, unless it goes by the host and is listed.
 */
START_TEST(what_crosses_is_refused)
{
    struct settings settings = small("scale,scale");
    settings.spread = SPREAD_CHAIN;
    settings.exchange = EXCHANGE_PEER;
    struct plan plan = plan_of(&settings, 2), portion;
    struct error error = {0};
    ck_assert_int_eq(plan_portion(&plan, 0, NULL, &portion, &error), STATUS_USAGE);
    ck_assert_int_eq(portion.op_count, 0);
    plan_free(&plan);
    plan = plan_that_crosses(0);
    ck_assert_int_eq(plan_portion(&plan, 0, NULL, &portion, &error), STATUS_USAGE);
    plan_free(&plan);
    settings = small("scale");
    settings.ways = 4;
    settings.cpu_share = 0.5;
    plan = plan_of(&settings, 2);
    error_clear(&error);
    ck_assert_int_eq(plan_portion(&plan, 1, NULL, &portion, &error), STATUS_USAGE);
    plan_free(&plan);
}
END_TEST

/* Runs device 1's portion of two, and judges that alone and all: the other one's tiles hold the
 * poison. `spoil` makes an element of a tile wrong. Returns the judgement of its own tiles. */
static struct judgement judge_portion(struct settings *settings, int spoil)
{
    struct plan plan = plan_of(settings, 2), portion;
    struct settings own = *settings;
    struct arrays arrays;
    struct backend *backend = NULL;
    struct error error = {0};
    struct run_times times;
    struct judgement judgement, all;
    own.devices = 1;
    ck_assert_int_eq(plan_portion(&plan, 1, NULL, &portion, &error), STATUS_OK);
    ck_assert_int_eq(arrays_create(&arrays, &plan, settings, &error), STATUS_OK);
    const struct workload workload = {.plan = &portion, .settings = &own, .arrays = &arrays};
    ck_assert_int_eq(backend_sim_ops.open("h200", &own, &backend, &error), STATUS_OK);
    ck_assert_msg(backend_sim_ops.prepare(backend, &workload, &error) == STATUS_OK, "%s",
                  error.text);
    arrays_poison(&arrays);
    ck_assert_int_eq(backend_sim_ops.run(backend, NULL, &times, &error), STATUS_OK);
    const bool reduces = plan_last_kernel(&plan)->shape == KERNEL_REDUCE;
    uint64_t first = (uint64_t)spoil, count;
    if (!reduces)
        plan_tile(&plan, (uint32_t)spoil, &first, &count);
    ((float *)arrays.host[BUFFER_HOST_OUT])[first] = 12345;
    ck_assert_int_eq(verify_judge(&plan, &arrays, &all, &error), STATUS_OK);
    ck_assert_int_ne(all.wrong.status, STATUS_OK);
    arrays.dealt = &plan;
    arrays.device = 1;
    ck_assert_int_eq(verify_judge(&plan, &arrays, &judgement, &error), STATUS_OK);
    backend_sim_ops.release(backend);
    backend_sim_ops.close(backend);
    arrays_free(&arrays);
    plan_free(&portion);
    plan_free(&plan);
    return judgement;
}

/* A portion's results are right, whatever lies in other devices' tiles, and a wrong one is
 * found. */
START_TEST(own_tiles_are_judged)
{
    static const char *const chains[] = {"scale", "sum", "transpose-copy"};
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        struct settings settings = small(chains[i]);
        settings.columns = 1000;
        settings.elements = 100000;
        settings.tiles = 10;
        ck_assert_int_eq(judge_portion(&settings, 4).wrong.status, STATUS_OK);
        const struct judgement wrong = judge_portion(&settings, 5);
        ck_assert_int_eq(wrong.wrong.status, STATUS_FAILED);
        ck_assert(!wrong.unwritten);
    }
}
END_TEST

Suite *portion_suite(void)
{
    Suite *suite = suite_create("portion");
    TCase *tests = tcase_create("portion");
    tcase_add_test(tests, portions_are_the_plan);
    tcase_add_loop_test(tests, what_crosses_is_listed, 0, KINDS_THAT_CROSS);
    tcase_add_test(tests, what_is_read_again_comes_once);
    tcase_add_loop_test(tests, what_nobody_waits_for_is_refused, 0, KINDS_THAT_CROSS);
    tcase_add_test(tests, what_crosses_is_refused);
    tcase_add_test(tests, own_tiles_are_judged);
    suite_add_tcase(suite, tests);
    return suite;
}
