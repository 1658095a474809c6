/* check_plan.c - plans made by hand: the faults that are refused, and the ops that race. */
#include "fixtures.h"
#include "plan/plan.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

static void assert_refused(struct plan *plan, const char *words)
{
    test_plan_refused(plan, words);
    plan_free(plan);
}

START_TEST(test_tiles_cover_everything)
{
    static const uint64_t elements[] = {1, 7, 1000003, UINT64_C(1) << 40};
    for (int i = 0; i < 4; i++) {
        for (uint32_t tiles = 1; tiles <= 1000 && tiles <= elements[i]; tiles += 37) {
            struct plan plan = test_plan(1, 0, tiles, elements[i]);
            uint64_t next = 0, least = UINT64_MAX, most = 0;
            for (uint32_t tile = 0; tile < tiles; tile++) {
                uint64_t first, count;
                plan_tile(&plan, tile, &first, &count);
                ck_assert_uint_eq(first, next);
                next += count;
                least = count < least ? count : least;
                most = count > most ? count : most;
            }
            ck_assert_uint_eq(next, elements[i]);
            ck_assert_uint_ge(least, 1);
            ck_assert_uint_le(most - least, 1);
        }
    }
}
END_TEST

START_TEST(test_good_plan_is_accepted)
{
    struct plan plan = test_plan(2, 1, 1, 64);
    struct error error = {0};
    test_h2d(&plan, 0, 0, 0, 256);
    test_record(&plan, 0, 0);
    test_wait(&plan, 1, 0);
    test_kernel(&plan, 1, 0, 0, 64, 1);
    test_d2h(&plan, 1, 0, 0, 256);
    ck_assert_int_eq(plan_validate(&plan, &error), STATUS_OK);
    plan_free(&plan);
}
END_TEST

START_TEST(test_bad_streams_events_tiles)
{
    struct plan plan = test_plan(2, 1, 1, 64);
    test_h2d(&plan, 2, 0, 0, 256);
    assert_refused(&plan, "op 0 (h2d 0) is in a stream");
    plan = test_plan(2, 1, 1, 64);
    test_record(&plan, 0, 1);
    assert_refused(&plan, "an event that the plan does not have");
    plan = test_plan(2, 1, 1, 64);
    test_wait(&plan, 0, 0);
    test_record(&plan, 0, 0);
    assert_refused(&plan,
                   "op 0 (wait event 0) waits for an event that no op before it records");
    plan = test_plan(2, 1, 1, 64);
    test_h2d(&plan, 0, 1, 0, 256);
    assert_refused(&plan, "a tile that the plan does not have");
    plan = test_plan(0, 0, 1, 64);
    assert_refused(&plan, "no tiles, streams or kernels");
}
END_TEST

START_TEST(test_bad_ranges)
{
    uint32_t op;
    struct plan plan = test_plan(1, 0, 1, 64);
    test_h2d(&plan, 0, 0, 4, 256);
    assert_refused(&plan, "reaches beyond its buffer");
    plan = test_plan(1, 0, 1, 64);
    test_h2d(&plan, 0, 0, UINT64_MAX - 3, 8);
    assert_refused(&plan, "reaches beyond its buffer");
    plan = test_plan(1, 0, 1, 64);
    test_h2d(&plan, 0, 0, 0, 0);
    assert_refused(&plan, "copies nothing");
    plan = test_plan(1, 0, 1, 64);
    op = test_h2d(&plan, 0, 0, 0, 8);
    plan.ops[op].copy.host.bytes = 4;
    assert_refused(&plan, "different sizes");
    plan = test_plan(1, 0, 1, 64);
    op = test_h2d(&plan, 0, 0, 0, 8);
    plan.ops[op].copy.host.buffer = BUFFER_DEVICE_OUT;
    assert_refused(&plan, "one side");
    plan = test_plan(1, 0, 1, 64);
    op = test_kernel(&plan, 0, 0, 0, 8, 1);
    plan.ops[op].kernel.ranges->out.buffer = BUFFER_HOST_OUT;
    assert_refused(&plan, "other side");
    plan = test_plan(1, 0, 1, 64);
    test_kernel(&plan, 0, 0, 0, 8, 0);
    assert_refused(&plan, "without work");
    plan = test_plan(1, 0, 1, 64);
    op = test_kernel(&plan, 0, 0, 0, 8, 1);
    plan.ops[op].kernel.ranges = NULL;
    assert_refused(&plan, "nothing to work on");
}
END_TEST

/* Ranges that differ, be it in one field, are never one; the same ones in turn mostly are. */
START_TEST(test_ranges_are_shared_by_the_same_only)
{
    enum { FIELDS = 22, ROUNDS = 300 };
    struct plan plan = test_plan(1, 0, 1, 64);
    struct op_ranges wanted[FIELDS] = {0};
    const struct op_ranges *first[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        struct op_ranges *w = &wanted[i];
        struct range *parts[] = {&w->in[0],   &w->in[1],    &w->resident, &w->out,
                                 &w->scratch, &w->carry_in, &w->carry_out};
        if (i == FIELDS - 1)
            w->carry_own = true;
        else if (i % 3 == 0)
            parts[i / 3]->buffer = BUFFER_DEVICE_OTHER;
        else
            *(i % 3 == 1 ? &parts[i / 3]->offset : &parts[i / 3]->bytes) = UINT64_C(1) << 40;
    }
    for (int i = 0; i < FIELDS * ROUNDS; i++) {
        struct error error = {0};
        const struct op_ranges *kept = plan_keep_ranges(&plan, &wanted[i / ROUNDS], &error);
        ck_assert_ptr_nonnull(kept);
        ck_assert(op_ranges_equal(kept, &wanted[i / ROUNDS]));
        if (i % ROUNDS == 0)
            first[i / ROUNDS] = kept;
        ck_assert_ptr_eq(kept, first[i / ROUNDS]);
        test_ranges(&plan)->in[0].bytes = 1;
    }
    for (int i = 0; i < FIELDS; i++) {
        for (int k = 0; k < FIELDS; k++)
            ck_assert(op_ranges_equal(first[i], &wanted[k]) == (i == k));
    }
    plan_free(&plan);
}
END_TEST

static size_t hazards_of(const struct plan *plan, struct hazard hazards[8])
{
    struct error error = {0};
    size_t count = 99;
    ck_assert_int_eq(plan_hazards(plan, hazards, 8, &count, &error), STATUS_OK);
    return count;
}

START_TEST(test_missing_wait_is_a_hazard)
{
    struct hazard hazards[8];
    struct plan plan = test_plan(2, 1, 1, 64);
    uint32_t copy = test_h2d(&plan, 0, 0, 0, 256);
    test_record(&plan, 0, 0);
    uint32_t kernel = test_kernel(&plan, 1, 0, 0, 64, 1);
    ck_assert_uint_eq(hazards_of(&plan, hazards), 1);
    ck_assert_uint_eq(hazards[0].first, copy);
    ck_assert_uint_eq(hazards[0].second, kernel);
    ck_assert_int_eq(hazards[0].where.buffer, BUFFER_DEVICE_IN0);
    ck_assert_uint_eq(hazards[0].where.bytes, 256);
    plan_free(&plan);
}
END_TEST

START_TEST(test_wait_before_the_record_does_not_help)
{
    struct hazard hazards[8];
    struct plan plan = test_plan(2, 2, 1, 64);
    test_record(&plan, 0, 0); /* too early: the copy comes behind it */
    test_h2d(&plan, 0, 0, 0, 256);
    test_wait(&plan, 1, 0);
    test_kernel(&plan, 1, 0, 0, 64, 1);
    ck_assert_uint_eq(hazards_of(&plan, hazards), 1);
    plan_free(&plan);
}
END_TEST

START_TEST(test_paths_through_a_third_stream)
{
    struct hazard hazards[8];
    struct plan plan = test_plan(3, 2, 1, 64);
    test_h2d(&plan, 0, 0, 0, 256);
    test_record(&plan, 0, 0);
    test_wait(&plan, 1, 0);
    test_record(&plan, 1, 1);
    test_wait(&plan, 2, 1);
    test_kernel(&plan, 2, 0, 0, 64, 1);
    ck_assert_uint_eq(hazards_of(&plan, hazards), 0);
    plan_free(&plan);
}
END_TEST

START_TEST(test_reads_do_not_race_but_a_write_behind_them_does)
{
    struct hazard hazards[8];
    struct plan plan = test_plan(3, 2, 1, 64);
    uint32_t first = test_d2h(&plan, 0, 0, 0, 128);
    uint32_t second = test_d2h(&plan, 1, 0, 128, 128);
    /* They write different bytes of the host, and only read the device's. */
    ck_assert_uint_eq(hazards_of(&plan, hazards), 0);
    uint32_t kernel = test_kernel(&plan, 2, 0, 0, 64, 1);
    ck_assert_uint_eq(hazards_of(&plan, hazards), 2);
    ck_assert_uint_eq(hazards[0].first, first);
    ck_assert_uint_eq(hazards[1].first, second);
    ck_assert_uint_eq(hazards[1].second, kernel);
    plan_free(&plan);
}
END_TEST

START_TEST(test_partly_overlapping_ranges)
{
    struct hazard hazards[8];
    struct plan plan = test_plan(2, 0, 1, 64);
    test_h2d(&plan, 0, 0, 0, 100);
    test_h2d(&plan, 1, 0, 96, 100);
    ck_assert_uint_eq(hazards_of(&plan, hazards), 1);
    ck_assert_uint_eq(hazards[0].where.offset, 96);
    ck_assert_uint_eq(hazards[0].where.bytes, 4);
    plan_free(&plan);
    plan = test_plan(2, 0, 1, 64);
    test_h2d(&plan, 0, 0, 0, 96);
    test_h2d(&plan, 1, 0, 96, 100);
    ck_assert_uint_eq(hazards_of(&plan, hazards), 0);
    plan_free(&plan);
}
END_TEST

START_TEST(test_counting_stops_at_max)
{
    struct hazard hazards[2];
    struct error error = {0};
    size_t count;
    struct plan plan = test_plan(4, 0, 1, 64);
    for (uint32_t stream = 0; stream < 4; stream++)
        test_h2d(&plan, stream, 0, 0, 256);
    ck_assert_int_eq(plan_hazards(&plan, hazards, 2, &count, &error), STATUS_OK);
    ck_assert_uint_eq(count, 2);
    plan_free(&plan);
}
END_TEST

/* --- against a slow, obvious method: who reaches whom, by matrix
 * -------------------------------- */

enum { RANDOM_OPS = 60 };

static void reach(const struct plan *plan, bool reaches[RANDOM_OPS][RANDOM_OPS])
{
    memset(reaches, 0, sizeof(bool) * RANDOM_OPS * RANDOM_OPS);
    for (uint32_t b = 0; b < plan->op_count; b++) {
        for (uint32_t a = 0; a < b; a++) {
            const struct op *x = &plan->ops[a], *y = &plan->ops[b];
            bool edge = x->stream == y->stream;
            if (y->kind == OP_WAIT && x->kind == OP_RECORD &&
                x->event.event == y->event.event) {
                edge = true; /* the latest record before the wait */
                for (uint32_t c = a + 1; c < b; c++)
                    edge &= plan->ops[c].kind != OP_RECORD ||
                            plan->ops[c].event.event != y->event.event;
                edge |= x->stream == y->stream;
            }
            if (!edge)
                continue;
            reaches[a][b] = true;
            for (uint32_t c = 0; c < a; c++)
                reaches[c][b] |= reaches[c][a];
        }
    }
}

static struct plan random_plan(uint64_t *random)
{
    struct plan plan = test_plan(4, 4, 4, 64);
    bool recorded[4] = {false};
    while (plan.op_count < RANDOM_OPS) {
        uint32_t stream = test_random_below(random, 4), tile = test_random_below(random, 4);
        uint32_t event = test_random_below(random, 4);
        uint64_t offset = 4 * (uint64_t)test_random_below(random, 60);
        switch (test_random_below(random, 7)) {
        case 0:
            test_h2d(&plan, stream, tile, offset, 16);
            break;
        case 1:
            test_d2h(&plan, stream, tile, offset, 16);
            break;
        case 2:
            test_kernel(&plan, stream, tile, offset / 4, 4, 1);
            break;
        case 3:
        case 4:
            test_record(&plan, stream, event);
            recorded[event] = true;
            break;
        default:
            if (recorded[event])
                test_wait(&plan, stream, event);
        }
    }
    return plan;
}

/* The finder names, for each op, races with the latest accesses only, so it is asked whether
 * any op races, op by op: the first racing op and its racing partners must be the obvious
 * method's. */
START_TEST(test_against_reachability)
{
    static bool reaches[RANDOM_OPS][RANDOM_OPS];
    uint64_t random = 12345;
    int with_hazard = 0;
    for (int i = 0; i < test_cases(2000); i++) {
        struct plan plan = random_plan(&random);
        struct hazard hazards[64];
        struct error error = {0};
        size_t count;
        ck_assert_int_eq(plan_validate(&plan, &error), STATUS_OK);
        ck_assert_int_eq(plan_hazards(&plan, hazards, 64, &count, &error), STATUS_OK);
        reach(&plan, reaches);
        uint32_t first_racing = UINT32_MAX;
        for (uint32_t b = 0; b < RANDOM_OPS && first_racing == UINT32_MAX; b++) {
            for (uint32_t a = 0; a < b; a++) {
                if (test_ops_touch(&plan.ops[a], &plan.ops[b]) && !reaches[a][b])
                    first_racing = b;
            }
        }
        ck_assert_uint_eq(count > 0 ? hazards[0].second : UINT32_MAX, first_racing);
        for (size_t h = 0; h < count; h++) {
            uint32_t a = hazards[h].first, b = hazards[h].second;
            ck_assert(test_ops_touch(&plan.ops[a], &plan.ops[b]) && !reaches[a][b]);
        }
        with_hazard += count > 0;
        plan_free(&plan);
    }
    ck_assert_int_gt(with_hazard, 0);
}
END_TEST

Suite *plan_suite(void)
{
    Suite *suite = suite_create("plan");
    TCase *tests = tcase_create("plan");
    tcase_add_test(tests, test_tiles_cover_everything);
    tcase_add_test(tests, test_good_plan_is_accepted);
    tcase_add_test(tests, test_bad_streams_events_tiles);
    tcase_add_test(tests, test_bad_ranges);
    tcase_add_test(tests, test_ranges_are_shared_by_the_same_only);
    tcase_add_test(tests, test_missing_wait_is_a_hazard);
    tcase_add_test(tests, test_wait_before_the_record_does_not_help);
    tcase_add_test(tests, test_paths_through_a_third_stream);
    tcase_add_test(tests, test_reads_do_not_race_but_a_write_behind_them_does);
    tcase_add_test(tests, test_partly_overlapping_ranges);
    tcase_add_test(tests, test_counting_stops_at_max);
    tcase_add_test(tests, test_against_reachability);
    suite_add_tcase(suite, tests);
    return suite;
}
