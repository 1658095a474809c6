/* check_hazard.c - plans with hazards: refused with both ops named; what is said of them where
 * they run; and which of ops that run at once spoil each other. */
#include "fixtures.h"
#include "report/report.h"
#include "run/host_ops.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

/* --- refused
 * ---------------------------------------------------------------------------------------- */

static uint32_t find_op(struct plan *plan, enum op_kind kind, int32_t tile)
{
    return (uint32_t)(test_op_of_tile(plan, kind, tile) - plan->ops);
}

/* Whoever uses the plan by itself is refused, with words about both ops. The plan is freed. */
static void assert_hazard(struct plan *plan, uint32_t first, uint32_t second,
                          const char *buffer)
{
    struct error error = {0};
    char text[256], one[OP_LABEL], other[OP_LABEL];
    ck_assert_msg(plan_validate(plan, &error) == STATUS_OK, "%s", error.text);
    snprintf(text, sizeof text, "op %u (%s) and op %u (%s) both touch %s and nothing", first,
             plan_op_label(plan, &plan->ops[first], one), second,
             plan_op_label(plan, &plan->ops[second], other), buffer);
    ck_assert_int_eq(hazards_refuse(plan, &error), STATUS_FAILED);
    ck_assert_msg(strstr(error.text, text) != NULL, "\"%s\" lacks \"%s\"", error.text, text);
    plan_free(plan);
}

static struct settings staged(void)
{
    struct settings settings = test_settings("scale");
    settings.layout = LAYOUT_STAGE;
    settings.tiles = 8;
    settings.streams = 3;
    return settings;
}

START_TEST(test_dropped_wait)
{
    struct settings settings = staged();
    struct plan plan = test_built(&settings);
    uint32_t copy = find_op(&plan, OP_H2D, 2), kernel = find_op(&plan, OP_KERNEL, 2);
    test_drop_wait(&plan, kernel - 1);
    assert_hazard(&plan, copy, kernel, "device.in0");
    plan = test_built(&settings);
    kernel = find_op(&plan, OP_KERNEL, 4), copy = find_op(&plan, OP_D2H, 4);
    test_drop_wait(&plan, copy - 1);
    assert_hazard(&plan, kernel, copy, "device.out");
}
END_TEST

/* Three slots: tile 5 takes that of tile 2. */
START_TEST(test_slot_reused_too_early)
{
    struct settings settings = staged();
    struct plan plan = test_built(&settings);
    uint32_t copy = find_op(&plan, OP_H2D, 5), kernel = find_op(&plan, OP_KERNEL, 2);
    test_drop_wait(&plan, copy - 1);
    assert_hazard(&plan, kernel, copy, "device.in0");
    plan = test_built(&settings);
    copy = find_op(&plan, OP_D2H, 2), kernel = find_op(&plan, OP_KERNEL, 5);
    test_drop_wait(&plan, kernel - 1); /* for the slot; before it, for the copy in */
    assert_hazard(&plan, copy, kernel, "device.out");
}
END_TEST

START_TEST(test_two_streams_on_one_buffer)
{
    struct settings settings = test_settings("scale");
    struct plan plan = test_built(&settings);
    uint32_t first = find_op(&plan, OP_H2D, 0), second = find_op(&plan, OP_H2D, 1);
    ck_assert_uint_ne(plan.ops[first].stream, plan.ops[second].stream);
    plan.ops[second].copy.device.offset = plan.ops[first].copy.device.offset;
    assert_hazard(&plan, first, second, "device.in0");
    plan = test_built(&settings);
    first = find_op(&plan, OP_D2H, 2), second = find_op(&plan, OP_D2H, 3);
    plan.ops[second].copy.host.offset = plan.ops[first].copy.host.offset + 8;
    assert_hazard(&plan, first, second, "host.out");
}
END_TEST

START_TEST(test_a_plan_without_hazards_is_not_refused)
{
    struct settings settings = staged();
    struct plan plan = test_built(&settings);
    struct error error = {0};
    struct hazard none, *hazards = &none;
    size_t count = 9;
    ck_assert_int_eq(hazards_refuse(&plan, &error), STATUS_OK);
    ck_assert_int_eq(hazards_find(&plan, &hazards, &count, &error), STATUS_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(hazards);
    plan_free(&plan);
}
END_TEST

/* --- what is said of them
 * --------------------------------------------------------------------------- */

START_TEST(test_all_hazards_are_found)
{
    enum { TILES = 1000 };
    struct plan plan = test_plan(2, 0, TILES, TILES);
    struct hazard *hazards;
    struct error error = {0};
    size_t count;
    for (uint32_t tile = 0; tile < TILES; tile++) {
        test_h2d(&plan, 0, tile, 4 * tile, 4);
        test_kernel(&plan, 1, tile, tile, 1, 1);
    }
    ck_assert_int_eq(hazards_find(&plan, &hazards, &count, &error), STATUS_OK);
    ck_assert_uint_eq(count, TILES);
    for (uint32_t tile = 0; tile < TILES; tile++) {
        ck_assert_uint_eq(hazards[tile].first, 2 * tile);
        ck_assert_uint_eq(hazards[tile].second, 2 * tile + 1);
    }
    free(hazards);
    plan_free(&plan);
}
END_TEST

static void set_span(struct timeline *timeline, uint32_t op, int64_t start, int64_t end)
{
    struct span *span = timeline_span(timeline, op);
    span->start_ns = start;
    span->end_ns = end;
}

/* A copy from 1000 to 5000 ns, and a kernel at other times. */
static void assert_told(int64_t start, int64_t end, bool lost, const char *text)
{
    struct plan plan = test_plan(2, 0, 1, 64);
    struct run_report run = {0};
    struct error error = {0};
    test_h2d(&plan, 0, 0, 16, 64);
    test_kernel(&plan, 1, 0, 0, 64, 1);
    run.timeline = (struct timeline){0};
    ck_assert_int_eq(timeline_begin(&run.timeline, &plan, &error), STATUS_OK);
    set_span(&run.timeline, 0, 1000, 5000);
    set_span(&run.timeline, 1, start, end);
    ck_assert_int_eq(hazards_find(&plan, &run.hazards, &run.hazard_count, &error), STATUS_OK);
    ck_assert_int_eq(hazards_tell(&plan, &run, &error), STATUS_OK);
    ck_assert_uint_eq(run.hazard_count, 1);
    ck_assert_uint_eq(run.hazards_lost, lost);
    ck_assert_str_eq(run.hazard_texts[0], text);
    struct report report = {.runs = &run, .run_count = 1};
    report_free(&report);
    plan_free(&plan);
}

#define BOTH "h2d 0 and scale 0 both touch device.in0 [16, 80); in this run "

START_TEST(test_what_came_of_it)
{
    assert_told(3000, 9000, true, BOTH "scale 0 began 2 us before h2d 0 ended");
    assert_told(0, 9000, true, BOTH "scale 0 began 5 us before h2d 0 ended");
    assert_told(2000, 3000, true, BOTH "scale 0 began 3 us before h2d 0 ended");
    assert_told(0, 700, true, BOTH "scale 0 ended 300 ns before h2d 0 began");
    assert_told(5000, 9000, false, BOTH "h2d 0 ended 0 ns before scale 0 began");
    assert_told(6500, 9000, false, BOTH "h2d 0 ended 1.5 us before scale 0 began");
}
END_TEST

/* --- which running ops spoil each other
 * ------------------------------------------------------------- */

/* Starts and ends as they are told; +op starts it, -op - 1 ends it, `at` ns each. */
struct told {
    int op;
    int64_t at;
};

/* Tells `count` of them and gives the spoiled ops as bits. */
static uint32_t spoiled_of(const struct plan *plan, const struct told *told, int count)
{
    struct running running = {0};
    uint32_t spoiled = 0;
    for (int i = 0; i < count; i++) {
        int op = told[i].op >= 0 ? told[i].op : -told[i].op - 1;
        if (told[i].op >= 0)
            ck_assert(running_start(&running, &plan->ops[op], told[i].at));
        else if (running_end(&running, &plan->ops[op], told[i].at))
            spoiled |= 1u << op;
    }
    ck_assert_uint_eq(running.count, 0);
    running_free(&running);
    return spoiled;
}

#define SPOILED(plan, ...)                                                                     \
    spoiled_of(plan, (const struct told[]){__VA_ARGS__},                                       \
               sizeof((const struct told[]){__VA_ARGS__}) / sizeof(struct told))

enum { H2D, KERNEL, D2H, ELSEWHERE, SAME, H2D_ENDS = -1, KERNEL_ENDS = -2, D2H_ENDS = -3 };

START_TEST(test_who_is_spoiled)
{
    struct plan plan = test_plan(4, 0, 1, 64);
    test_h2d(&plan, 0, 0, 0, 128);
    test_kernel(&plan, 1, 0, 0, 32, 1);
    test_d2h(&plan, 2, 0, 0, 128);
    test_h2d(&plan, 3, 0, 128, 128);
    test_h2d(&plan, 3, 0, 124, 128);
    const uint32_t reader = 1u << KERNEL;
    /* The one that reads, whichever starts or ends first. */
    ck_assert_uint_eq(SPOILED(&plan, {H2D, 0}, {KERNEL, 5}, {H2D_ENDS, 9}, {KERNEL_ENDS, 12}),
                      reader);
    ck_assert_uint_eq(SPOILED(&plan, {H2D, 0}, {KERNEL, 5}, {KERNEL_ENDS, 7}, {H2D_ENDS, 9}),
                      reader);
    ck_assert_uint_eq(SPOILED(&plan, {KERNEL, 0}, {H2D, 5}, {KERNEL_ENDS, 7}, {H2D_ENDS, 9}),
                      reader);
    ck_assert_uint_eq(SPOILED(&plan, {KERNEL, 0}, {H2D, 5}, {H2D_ENDS, 7}, {KERNEL_ENDS, 9}),
                      reader);
    /* Touching ends, told in either order. */
    ck_assert_uint_eq(SPOILED(&plan, {H2D, 0}, {H2D_ENDS, 5}, {KERNEL, 5}, {KERNEL_ENDS, 9}),
                      0);
    ck_assert_uint_eq(SPOILED(&plan, {H2D, 0}, {KERNEL, 5}, {H2D_ENDS, 5}, {KERNEL_ENDS, 9}),
                      0);
    /* A kernel's input and what is copied out are different bytes; its output is not. */
    ck_assert_uint_eq(SPOILED(&plan, {H2D, 0}, {D2H, 5}, {H2D_ENDS, 6}, {D2H_ENDS, 9}), 0);
    ck_assert_uint_eq(SPOILED(&plan, {KERNEL, 0}, {D2H, 5}, {KERNEL_ENDS, 6}, {D2H_ENDS, 9}),
                      1u << D2H);
    /* Two that write: only where their ranges meet, and then both. */
    ck_assert_uint_eq(
        SPOILED(&plan, {H2D, 0}, {ELSEWHERE, 5}, {H2D_ENDS, 6}, {-ELSEWHERE - 1, 9}), 0);
    ck_assert_uint_eq(SPOILED(&plan, {H2D, 0}, {SAME, 5}, {H2D_ENDS, 6}, {-SAME - 1, 9}),
                      1u << H2D | 1u << SAME);
    plan_free(&plan);
}
END_TEST

Suite *hazard_suite(void)
{
    Suite *suite = suite_create("hazard");
    TCase *tests = tcase_create("hazard");
    tcase_add_test(tests, test_dropped_wait);
    tcase_add_test(tests, test_slot_reused_too_early);
    tcase_add_test(tests, test_two_streams_on_one_buffer);
    tcase_add_test(tests, test_a_plan_without_hazards_is_not_refused);
    tcase_add_test(tests, test_all_hazards_are_found);
    tcase_add_test(tests, test_what_came_of_it);
    tcase_add_test(tests, test_who_is_spoiled);
    suite_add_tcase(suite, tests);
    return suite;
}
