/* check_event_queue.c - the heap against sorting. */
#include "core/event_queue.h"
#include "fixtures.h"
#include "suites.h"

#include <stdlib.h>

START_TEST(test_empty)
{
    struct event_queue queue = {0};
    struct event event;
    ck_assert(!event_queue_pop(&queue, &event));
    event_queue_free(&queue);
}
END_TEST

START_TEST(test_ties_leave_in_order)
{
    struct event_queue queue = {0};
    struct event event;
    for (uint32_t i = 0; i < 100; i++)
        ck_assert(event_queue_push(&queue, 7, 0, i, 0));
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert(event_queue_pop(&queue, &event));
        ck_assert_uint_eq(event.subject, i);
    }
    event_queue_free(&queue);
}
END_TEST

START_TEST(test_random_pushes_and_pops)
{
    struct event_queue queue = {0};
    struct event event;
    uint64_t random = 99;
    int64_t reached = -1;
    size_t inside = 0;
    for (int i = 0; i < test_cases(20000); i++) {
        if (test_random_below(&random, 3) > 0) {
            /* As in a simulation: never before the time that was reached. */
            int64_t time = (reached < 0 ? 0 : reached) + test_random_below(&random, 50);
            ck_assert(event_queue_push(&queue, time, 3, (uint32_t)i, (uint32_t)i + 1));
            inside++;
        } else if (inside > 0) {
            ck_assert(event_queue_pop(&queue, &event));
            ck_assert_int_ge(event.time_ns, reached);
            ck_assert_int_eq(event_kind(&event), 3);
            ck_assert_uint_eq(event.stamp, event.subject + 1);
            reached = event.time_ns;
            inside--;
        }
    }
    for (; inside > 0; inside--) {
        ck_assert(event_queue_pop(&queue, &event));
        ck_assert_int_ge(event.time_ns, reached);
        reached = event.time_ns;
    }
    ck_assert(!event_queue_pop(&queue, &event));
    event_queue_free(&queue);
}
END_TEST

Suite *event_queue_suite(void)
{
    Suite *suite = suite_create("event_queue");
    TCase *tests = tcase_create("event_queue");
    tcase_add_test(tests, test_empty);
    tcase_add_test(tests, test_ties_leave_in_order);
    tcase_add_test(tests, test_random_pushes_and_pops);
    suite_add_tcase(suite, tests);
    return suite;
}
