/* check_needed.c - which orders the data of a plan asks for. */
#include "fixtures.h"
#include "plan/hazard.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

enum { OPS = 60, BUFFERS = 3, BYTES = 40, TOUCHES = 3 };

static struct needed find_needed(const struct plan *plan)
{
    struct needed needed;
    struct error error = {0};
    ck_assert_msg(plan_needed(plan, &needed, &error) == STATUS_OK, "%s", error.text);
    return needed;
}

/* --- every order that data asks for, and no other --- */

/* A plan with accesses of its own, as recorded ones have, of random ranges. */
struct random_plan {
    struct plan plan;
    struct plan_recorded recorded;
    struct op ops[OPS];
    struct op_recorded seen[OPS];
    struct access accesses[OPS * TOUCHES];
};

static void make_random(struct random_plan *random, uint64_t *state)
{
    *random = (struct random_plan){0};
    random->recorded = (struct plan_recorded){
        .ops = random->seen, .accesses = random->accesses, .buffer_count = BUFFERS};
    random->plan = (struct plan){
        .ops = random->ops, .op_count = OPS, .streams = 2, .recorded = &random->recorded};
    size_t count = 0;
    for (uint32_t i = 0; i < OPS; i++) {
        random->ops[i] = (struct op){.id = i, .kind = OP_KERNEL, .stream = i % 2, .tile = -1};
        random->seen[i].first_access = count;
        random->seen[i].access_count = 1 + test_random_below(state, TOUCHES);
        for (uint32_t k = 0; k < random->seen[i].access_count; k++) {
            struct range range = {.buffer = (enum buffer)test_random_below(state, BUFFERS),
                                  .offset = test_random_below(state, BYTES)};
            range.bytes = 1 + test_random_below(state, BYTES - (uint32_t)range.offset);
            random->accesses[count++] =
                (struct access){.range = range, .writes = test_random_below(state, 3) == 0};
        }
    }
    random->recorded.access_count = count;
}

static bool conflict(const struct random_plan *random, uint32_t one, uint32_t other)
{
    const struct op_recorded *a = &random->seen[one], *b = &random->seen[other];
    for (uint32_t i = 0; i < a->access_count; i++) {
        for (uint32_t k = 0; k < b->access_count; k++) {
            const struct access *x = &random->accesses[a->first_access + i];
            const struct access *y = &random->accesses[b->first_access + k];
            if ((x->writes || y->writes) && ranges_overlap(&x->range, &y->range))
                return true;
        }
    }
    return false;
}

/* Makes `after` say of each two ops whether a chain of orders leads from one to the other. */
static void close_orders(bool after[OPS][OPS])
{
    for (int i = 0; i < OPS; i++) {
        for (int k = i - 1; k >= 0; k--) {
            for (int before = 0; after[i][k] && before < k; before++)
                after[i][before] |= after[k][before];
        }
    }
}

START_TEST(the_orders_of_random_accesses)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    size_t all = 0, kept = 0;
    for (int round = 0; round < test_cases(2000); round++) {
        static struct random_plan random;
        static bool wanted[OPS][OPS], got[OPS][OPS];
        make_random(&random, &state);
        memset(wanted, 0, sizeof wanted);
        memset(got, 0, sizeof got);
        for (uint32_t i = 0; i < OPS; i++) {
            for (uint32_t k = 0; k < i; k++)
                wanted[i][k] = conflict(&random, k, i);
        }
        struct needed needed = find_needed(&random.plan);
        for (uint32_t i = 0; i < OPS; i++) {
            for (size_t k = needed.first[i]; k < needed.first[i + 1]; k++) {
                const uint32_t before = needed.before[k];
                ck_assert_uint_lt(before, i);
                ck_assert(k == needed.first[i] || needed.before[k - 1] < before);
                ck_assert_msg(wanted[i][before], "op %u does not follow op %u", i, before);
                got[i][before] = true;
            }
        }
        kept += needed.count;
        for (int i = 0; i < OPS * OPS; i++)
            all += wanted[i / OPS][i % OPS];
        close_orders(wanted);
        close_orders(got);
        ck_assert_int_eq(memcmp(wanted, got, sizeof got), 0);
        needed_free(&needed);
    }
    ck_assert_uint_lt(3 * kept, all); /* those that follow from others are left out */
}
END_TEST

/* --- plans of ours --- */

static bool has_edge(const struct needed *needed, uint32_t op, uint32_t before)
{
    for (size_t k = needed->first[op]; k < needed->first[op + 1]; k++) {
        if (needed->before[k] == before)
            return true;
    }
    return false;
}

/* One stream orders all; data asks only that a tile's steps follow one another, and that a slot
 * is used again when its last tile has left it. */
START_TEST(one_stream_asks_for_more_than_data)
{
    struct settings settings = test_settings("scale");
    struct machine machine = test_machine();
    settings.elements = 6 * 4096;
    settings.tiles = 6;
    settings.streams = 2;
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert_uint_eq(plan.op_count, 18);
    struct needed needed = find_needed(&plan);
    for (uint32_t tile = 0; tile < 6; tile++) {
        const uint32_t in = 3 * tile, kernel = in + 1, out = in + 2;
        ck_assert_uint_eq(needed.first[in + 1] - needed.first[in], tile < 2 ? 0 : 1);
        ck_assert(tile < 2 || has_edge(&needed, in, kernel - 6));
        ck_assert(has_edge(&needed, kernel, in));
        ck_assert(tile < 2 || has_edge(&needed, kernel, out - 6));
        ck_assert_uint_eq(needed.first[out + 1] - needed.first[out], 1);
        ck_assert(has_edge(&needed, out, kernel));
    }
    needed_free(&needed);
    plan_free(&plan);
}
END_TEST

/* A function of unknown bytes keeps its place in its stream, and in others as far as events
 * say. */
START_TEST(functions_keep_their_place)
{
    struct plan plan = test_plan(3, 2, 5, 80);
    uint32_t one = test_h2d(&plan, 0, 0, 0, 16), other = test_h2d(&plan, 1, 1, 16, 16);
    uint32_t two = test_h2d(&plan, 0, 2, 32, 16);
    test_record(&plan, 0, 0);
    test_wait(&plan, 2, 0);
    struct op op = {.kind = OP_CALLBACK, .stream = 2, .tile = -1};
    struct error error = {0};
    ck_assert_int_eq(plan_append(&plan, &op, &error), STATUS_OK);
    uint32_t function = plan.op_count - 1, later = test_h2d(&plan, 2, 3, 48, 16);
    test_record(&plan, 2, 1);
    uint32_t unordered = test_d2h(&plan, 1, 1, 16, 16);
    test_wait(&plan, 1, 1);
    uint32_t last = test_h2d(&plan, 1, 4, 64, 16);
    struct needed needed = find_needed(&plan);
    ck_assert_uint_eq(needed.count, 4);
    ck_assert(has_edge(&needed, function, one) && has_edge(&needed, function, two));
    ck_assert(!has_edge(&needed, function, other) && has_edge(&needed, later, function));
    ck_assert(!has_edge(&needed, unordered, function) && has_edge(&needed, last, function));
    needed_free(&needed);
    plan_free(&plan);
}
END_TEST

/* The clocks of so many streams would take 80 GB: they are refused before they are taken. */
START_TEST(too_many_streams_are_refused)
{
    struct plan plan = test_plan(100000, 0, 1, 16);
    struct op op = {.kind = OP_CALLBACK, .stream = 2, .tile = -1};
    struct needed needed;
    struct error error = {0};
    ck_assert_int_eq(plan_append(&plan, &op, &error), STATUS_OK);
    ck_assert_int_eq(plan_needed(&plan, &needed, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "too many"));
    plan_free(&plan);
}
END_TEST

/* Events that the host alone waits for say nothing of a function's place: the clocks of so
 * many, 1.04 GB beside those of the streams, are not kept for it. */
START_TEST(events_of_the_host_keep_no_clocks)
{
    enum { STREAMS = 4000, EVENTS = 65000 };
    struct plan plan = test_plan(STREAMS, EVENTS, 1, 16);
    struct op function = {.kind = OP_CALLBACK, .stream = 2, .tile = -1};
    struct error error = {0};
    uint32_t before = test_h2d(&plan, 2, 0, 0, 16);
    for (uint32_t i = 0; i < EVENTS; i++)
        test_record(&plan, i % STREAMS, i);
    ck_assert_int_eq(plan_append(&plan, &function, &error), STATUS_OK);
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct op wait = {.kind = OP_SYNC_EVENT, .stream = STREAMS, .tile = -1};
        wait.event.event = i;
        ck_assert_int_eq(plan_append(&plan, &wait, &error), STATUS_OK);
    }
    struct needed needed = find_needed(&plan);
    ck_assert_uint_eq(needed.count, 1);
    ck_assert(has_edge(&needed, before + EVENTS + 1, before));
    needed_free(&needed);
    plan_free(&plan);
}
END_TEST

/* Many readers of the whole, and writers of parts, take no longer than their orders are. */
START_TEST(a_million_accesses_are_quick)
{
    enum { MANY = 200000, PARTS = 1000 };
    struct plan plan = test_plan(1, 0, 1, 1 << 20);
    struct error error = {0};
    for (uint32_t i = 0; i < MANY; i++) {
        struct op op = {.kind = OP_MEMSET, .tile = -1};
        op.set.range = (struct range){.buffer = BUFFER_DEVICE_IN0, .bytes = 1 << 20};
        if (i % 2 == 0)
            op.set.range = (struct range){
                .buffer = BUFFER_DEVICE_IN0, .offset = i / 2 % PARTS * 1024, .bytes = 1024};
        ck_assert_int_eq(plan_append(&plan, &op, &error), STATUS_OK);
    }
    struct needed needed = find_needed(&plan);
    ck_assert_uint_eq(needed.count, MANY - 1);
    needed_free(&needed);
    plan_free(&plan);
}
END_TEST

Suite *needed_suite(void)
{
    Suite *suite = suite_create("needed");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, the_orders_of_random_accesses);
    tcase_add_test(all, one_stream_asks_for_more_than_data);
    tcase_add_test(all, functions_keep_their_place);
    tcase_add_test(all, too_many_streams_are_refused);
    tcase_add_test(all, events_of_the_host_keep_no_clocks);
    tcase_add_test(all, a_million_accesses_are_quick);
    suite_add_tcase(suite, all);
    return suite;
}
