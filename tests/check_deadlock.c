/* check_deadlock.c - plans that wait for what comes too late are refused, and plans that are
 * not refused end on any machine. */
#include "plan/plan.h"
#include "sim_cases.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

/* Judges a plan, which is freed. */
static void assert_text(struct plan *plan, const char *text)
{
    struct error error = {0};
    ck_assert_int_eq(plan_validate(plan, &error), STATUS_FAILED);
    ck_assert_str_eq(error.text, text);
    plan_free(plan);
}

static uint32_t append_sync(struct plan *plan, uint32_t stream)
{
    struct op op = {.kind = OP_SYNC, .stream = stream, .tile = -1};
    ck_assert_int_eq(plan_append(plan, &op, NULL), STATUS_OK);
    return plan->op_count - 1;
}

static void set_kinds(struct plan *plan, const enum stream_kind *kinds)
{
    plan->stream_kinds = calloc(plan->streams, sizeof *plan->stream_kinds);
    ck_assert_ptr_nonnull(plan->stream_kinds);
    for (uint32_t i = 0; i < plan->streams; i++)
        plan->stream_kinds[i] = (uint8_t)kinds[i];
}

/* --- by hand --- */

START_TEST(test_event_that_is_never_recorded)
{
    struct plan plan = test_plan(2, 4, 1, 64);
    test_h2d(&plan, 0, 0, 0, 256);
    test_record(&plan, 0, 0);
    test_wait(&plan, 1, 0);
    test_wait(&plan, 1, 3);
    assert_text(&plan, "op 3 (wait event 3) waits for an event that no op before it records: "
                       "that orders nothing");
}
END_TEST

/* Two streams that wait for each other would never end if waits were for what is still to come.
 */
START_TEST(test_event_that_is_recorded_later)
{
    struct plan plan = test_plan(2, 2, 1, 64);
    test_wait(&plan, 0, 1);
    test_record(&plan, 0, 0);
    test_wait(&plan, 1, 0);
    test_record(&plan, 1, 1);
    assert_text(&plan, "op 0 (wait event 1) waits for an event that no op before it records: "
                       "that orders nothing");
}
END_TEST

/* --- generated --- */

enum { OPS = 26, STREAMS = 4, EVENTS = 5 };

static struct plan random_plan(uint64_t *random)
{
    struct plan plan = test_plan(STREAMS, EVENTS, 4, 64);
    if (test_random_below(random, 2)) {
        enum stream_kind kinds[STREAMS];
        for (int i = 0; i < STREAMS; i++)
            kinds[i] = test_random_below(random, 2) ? STREAM_BLOCKING : STREAM_NONBLOCKING;
        kinds[0] = STREAM_LEGACY;
        set_kinds(&plan, kinds);
    }
    uint32_t waits = 1 + test_random_below(random, 3); /* of eight ops */
    while (plan.op_count < OPS) {
        uint32_t stream = test_random_below(random, STREAMS);
        uint32_t event = test_random_below(random, EVENTS), dice = test_random_below(random, 8);
        if (dice < waits)
            test_wait(&plan, stream, event);
        else if (dice < waits + 2)
            test_record(&plan, stream, event);
        else if (dice == 7 && test_random_below(random, 3) == 0)
            append_sync(&plan, test_random_below(random, STREAMS + 1));
        else
            test_kernel(&plan, stream, stream, 16 * stream, 16, 1);
    }
    return plan;
}

/* Returns true if each wait has a record before it. */
static bool is_in_order(const struct plan *plan)
{
    bool recorded[EVENTS] = {false}, in_order = true;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (plan->ops[i].kind == OP_RECORD)
            recorded[plan->ops[i].event.event] = true;
        else if (plan->ops[i].kind == OP_WAIT)
            in_order &= recorded[plan->ops[i].event.event];
    }
    return in_order;
}

/* Queues that are few and short, one copy engine, rules of old: whatever can hold up an op. */
static struct machine random_machine(uint64_t *random)
{
    struct machine machine = test_machine();
    machine.copy_engines = 1 + (int)test_random_below(random, 2);
    machine.queues = machine.queues_max = 1 + test_random_below(random, 3);
    machine.queue_depth = 1 + test_random_below(random, 3);
    machine.concurrent_kernels = 1 + test_random_below(random, 3);
    machine.kernel_latency_ns = test_random_below(random, 2) ? 100 : 0;
    if (test_random_below(random, 2))
        machine.compute_capability = test_random_below(random, 2) ? 1.3 : 2.0;
    return machine;
}

START_TEST(test_valid_plans_end_on_any_machine)
{
    uint64_t random = 4242;
    int ended = 0;
    for (int i = 0; i < test_cases(20000); i++) {
        struct plan plan = random_plan(&random);
        struct machine machine = random_machine(&random);
        plan.memory = test_random_below(&random, 4) == 0 ? MEMORY_PAGEABLE : MEMORY_PINNED;
        struct error error = {0};
        struct timeline timeline = {0};
        int64_t issued_ns;
        const bool valid = plan_validate(&plan, NULL) == STATUS_OK;
        ck_assert_int_eq(valid, is_in_order(&plan));
        if (valid) {
            enum status status =
                simulator_run(&machine, 0, &plan, NULL, &timeline, &issued_ns, &error);
            ck_assert_msg(status == STATUS_OK, "case %d: %s", i, error.text);
            ended++;
        }
        timeline_free(&timeline);
        plan_free(&plan);
    }
    ck_assert_int_gt(ended, test_cases(20000) / 50);
}
END_TEST

static void assert_never_ends(const struct machine *machine, struct plan *plan,
                              const char *text)
{
    struct error error = {0};
    struct timeline timeline = {0};
    int64_t issued_ns;
    enum status status = simulator_run(machine, 0, plan, NULL, &timeline, &issued_ns, &error);
    ck_assert_int_eq(status, STATUS_FAILED);
    ck_assert_str_eq(error.text, text);
    timeline_free(&timeline);
    plan_free(plan);
}

/* No machine file describes such machines. */
START_TEST(test_machines_that_never_end)
{
    struct machine machine = test_machine();
    struct plan plan = test_plan(2, 1, 1, 64);
    machine.concurrent_kernels = 0;
    machine.queues = machine.queues_max = 1;
    test_kernel(&plan, 0, 0, 0, 64, 1);
    test_record(&plan, 0, 0);
    test_wait(&plan, 1, 0);
    test_d2h(&plan, 1, 0, 0, 256);
    assert_never_ends(&machine, &plan, "the plan never ends: op 0 (scale 0) is left");
    plan = test_plan(2, 1, 1, 64);
    test_h2d(&plan, 0, 0, 0, 256);
    test_record(&plan, 0, 0);
    test_wait(&plan, 1, 0);
    test_kernel(&plan, 1, 0, 0, 64, 1);
    append_sync(&plan, 1);
    test_d2h(&plan, 0, 0, 0, 256);
    assert_never_ends(&machine, &plan, "the plan never ends: op 3 (scale 0) is left");
}
END_TEST

Suite *deadlock_suite(void)
{
    Suite *suite = suite_create("deadlock");
    TCase *tests = tcase_create("deadlock");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_event_that_is_never_recorded);
    tcase_add_test(tests, test_event_that_is_recorded_later);
    tcase_add_test(tests, test_valid_plans_end_on_any_machine);
    tcase_add_test(tests, test_machines_that_never_end);
    suite_add_tcase(suite, tests);
    return suite;
}
