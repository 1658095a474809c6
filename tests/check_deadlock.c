/* check_deadlock.c - plans that never end, or wait for what comes too late: refused, with the
 * ops that wait for each other named; and plans that are not refused end on any machine. */
#include "plan/plan.h"
#include "sim_cases.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

enum { NO_OP = -1 };

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

/* --- by hand
 * ---------------------------------------------------------------------------------------- */

START_TEST(test_event_that_is_never_recorded)
{
    struct plan plan = test_plan(2, 4, 1, 64);
    test_h2d(&plan, 0, 0, 0, 256);
    test_record(&plan, 0, 0);
    test_wait(&plan, 1, 0);
    test_wait(&plan, 1, 3);
    assert_text(&plan,
                "op 3 (wait event 3) waits for event 3, which no op records: a deadlock");
}
END_TEST

START_TEST(test_wait_before_the_record_in_one_stream)
{
    struct plan plan = test_plan(1, 1, 1, 64);
    test_wait(&plan, 0, 0);
    test_h2d(&plan, 0, 0, 0, 256);
    test_record(&plan, 0, 0);
    assert_text(&plan, "a deadlock: op 0 (wait event 0) waits for op 2 (record event 0), which "
                       "is behind op 0 in stream 0");
}
END_TEST

START_TEST(test_two_streams_wait_for_each_other)
{
    struct plan plan = test_plan(3, 3, 1, 64);
    test_record(&plan, 2, 2);
    test_wait(&plan, 0, 1);
    test_record(&plan, 0, 0);
    test_wait(&plan, 2, 2);
    test_wait(&plan, 1, 0);
    test_h2d(&plan, 1, 0, 0, 256);
    test_record(&plan, 1, 1);
    assert_text(&plan,
                "a deadlock: op 1 (wait event 1) waits for op 6 (record event 1), which "
                "is behind op 4 (wait event 0) in stream 1, which waits for op 2 (record "
                "event 0), which is behind op 1 in stream 0");
}
END_TEST

/* Whoever only waits for the cycle is not in it. */
START_TEST(test_cycle_without_its_hangers_on)
{
    struct plan plan = test_plan(3, 3, 1, 64);
    test_wait(&plan, 0, 2);
    test_wait(&plan, 1, 1);
    test_record(&plan, 1, 2);
    test_wait(&plan, 2, 2);
    test_record(&plan, 2, 1);
    assert_text(&plan,
                "a deadlock: op 1 (wait event 1) waits for op 4 (record event 1), which "
                "is behind op 3 (wait event 2) in stream 2, which waits for op 2 (record "
                "event 2), which is behind op 1 in stream 1");
}
END_TEST

/* A wait is for any later record of its event: one that comes suffices. */
START_TEST(test_one_record_of_two_that_comes)
{
    struct plan plan = test_plan(2, 1, 1, 64);
    test_wait(&plan, 0, 0);
    test_record(&plan, 0, 0);
    test_record(&plan, 1, 0);
    assert_text(&plan, "op 0 (wait event 0) is issued before op 1 (record event 0): a wait for "
                       "an event that is not yet recorded has no effect, so nothing is ordered "
                       "by it");
}
END_TEST

START_TEST(test_late_record_without_a_cycle)
{
    struct plan plan = test_plan(2, 1, 1, 64);
    test_wait(&plan, 1, 0);
    test_h2d(&plan, 0, 0, 0, 256);
    test_record(&plan, 0, 0);
    assert_text(&plan, "op 0 (wait event 0) is issued before op 2 (record event 0): a wait for "
                       "an event that is not yet recorded has no effect, so nothing is ordered "
                       "by it");
}
END_TEST

START_TEST(test_host_that_waits_before_it_issues_the_record)
{
    struct plan plan = test_plan(2, 1, 1, 64);
    test_wait(&plan, 1, 0);
    append_sync(&plan, 1);
    test_record(&plan, 0, 0);
    assert_text(&plan, "a deadlock: op 0 (wait event 0) waits for op 2 (record event 0), which "
                       "is issued after op 1 (sync stream 1), which waits for op 0");
    plan = test_plan(2, 1, 1, 64);
    test_wait(&plan, 1, 0);
    append_sync(&plan, 2);
    test_record(&plan, 0, 0);
    assert_text(&plan, "a deadlock: op 0 (wait event 0) waits for op 2 (record event 0), which "
                       "is issued after op 1 (sync device), which waits for op 0");
    plan = test_plan(2, 1, 1, 64);
    test_wait(&plan, 1, 0);
    append_sync(&plan, 0); /* of the other stream: no cycle */
    test_record(&plan, 0, 0);
    assert_text(&plan, "op 0 (wait event 0) is issued before op 2 (record event 0): a wait for "
                       "an event that is not yet recorded has no effect, so nothing is ordered "
                       "by it");
}
END_TEST

START_TEST(test_default_stream_closes_a_cycle)
{
    static const enum stream_kind kinds[] = {STREAM_LEGACY, STREAM_BLOCKING};
    struct plan plan = test_plan(2, 1, 1, 64);
    set_kinds(&plan, kinds);
    test_wait(&plan, 1, 0);
    test_record(&plan, 0, 0);
    assert_text(&plan, "a deadlock: op 0 (wait event 0) waits for op 1 (record event 0), which "
                       "waits, in the default stream, for op 0");
    plan = test_plan(2, 1, 1, 64);
    set_kinds(&plan, kinds);
    test_wait(&plan, 0, 0);
    test_record(&plan, 1, 0);
    assert_text(&plan, "a deadlock: op 0 (wait event 0) waits for op 1 (record event 0), which "
                       "waits, as blocking streams do, for op 0");
}
END_TEST

/* Stream s waits for what stream s + 1 records behind its own wait, all round. */
static struct plan ring(uint32_t streams)
{
    struct plan plan = test_plan(streams, streams, 1, 64);
    for (uint32_t s = 0; s < streams; s++) {
        test_wait(&plan, s, (s + 1) % streams);
        test_record(&plan, s, s);
    }
    return plan;
}

START_TEST(test_long_cycle_is_cut)
{
    struct error error = {0};
    struct plan plan = ring(1000);
    ck_assert_int_eq(plan_validate(&plan, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "a deadlock: op 0 (wait event 1) waits for op 3 "
                                             "(record event 1), which is behind op 2 (wait "
                                             "event 2) in stream 1, which waits for op 5 "));
    const char *end = strstr(error.text, ", and so on, over ");
    ck_assert_ptr_nonnull(end);
    ck_assert_ptr_nonnull(strstr(end, " more, back to op 0"));
    plan_free(&plan);
}
END_TEST

/* Would take hours if each hop looked at the whole plan. */
START_TEST(test_many_ops_between)
{
    struct error error = {0};
    struct plan plan = ring(1000);
    for (uint32_t i = 0; i < 300000; i++) {
        test_wait(&plan, i % 1000, (i + 7) % 1000);
        test_record(&plan, i % 1000, i % 1000);
    }
    ck_assert_int_eq(plan_validate(&plan, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "a deadlock: op 0 (wait event 1)"));
    plan_free(&plan);
}
END_TEST

/* --- generated, against a slow, obvious method
 * -------------------------------------------------- */

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

static bool minds(const struct plan *plan, uint32_t stream)
{
    return plan_stream_kind(plan, stream) != STREAM_NONBLOCKING;
}

/* Returns true if op b has to come after op a, which was issued before it. */
static bool comes_after(const struct plan *plan, const struct op *a, const struct op *b)
{
    if (a->kind == OP_SYNC)
        return true;
    if (b->kind == OP_SYNC)
        return b->stream == plan->streams || b->stream == a->stream ||
               (plan_stream_kind(plan, b->stream) == STREAM_LEGACY && minds(plan, a->stream));
    bool legacy = plan_stream_kind(plan, a->stream) == STREAM_LEGACY ||
                  plan_stream_kind(plan, b->stream) == STREAM_LEGACY;
    return a->stream == b->stream ||
           (legacy && minds(plan, a->stream) && minds(plan, b->stream));
}

/* Returns true if wait `b` is for record `a`: the latest before it, or any behind it. */
static bool is_for(const struct plan *plan, uint32_t a, uint32_t b)
{
    int latest = NO_OP;
    uint32_t event = plan->ops[b].event.event;
    for (uint32_t i = 0; i < b; i++) {
        if (plan->ops[i].kind == OP_RECORD && plan->ops[i].event.event == event)
            latest = (int)i;
    }
    return plan->ops[a].kind == OP_RECORD && plan->ops[a].event.event == event &&
           (latest == NO_OP || latest == (int)a);
}

static bool can_end(const struct plan *plan, uint32_t b, const bool ended[OPS])
{
    bool recorded = plan->ops[b].kind != OP_WAIT;
    for (uint32_t a = 0; a < OPS; a++) {
        if (a < b && !ended[a] && comes_after(plan, &plan->ops[a], &plan->ops[b]))
            return false;
        recorded |= ended[a] && is_for(plan, a, b);
    }
    return recorded;
}

enum verdict { FINE, UNRECORDED, STUCK, EARLY };

/* Ends ops as long as any can. */
static enum verdict judge(const struct plan *plan)
{
    bool ended[OPS] = {false};
    enum verdict verdict = FINE;
    for (uint32_t wait = 0; wait < OPS; wait++) {
        if (plan->ops[wait].kind != OP_WAIT)
            continue;
        bool early = true, never = true;
        for (uint32_t i = 0; i < OPS; i++) {
            bool record = plan->ops[i].kind == OP_RECORD &&
                          plan->ops[i].event.event == plan->ops[wait].event.event;
            early &= !record || i > wait;
            never &= !record;
        }
        if (never)
            return UNRECORDED;
        verdict = early ? EARLY : verdict;
    }
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < OPS; i++) {
            if (!ended[i] && can_end(plan, i, ended))
                more = ended[i] = true;
        }
    }
    for (uint32_t i = 0; i < OPS; i++)
        verdict = ended[i] ? verdict : STUCK;
    return verdict;
}

static enum verdict verdict_of(const char *text)
{
    if (text[0] == '\0')
        return FINE;
    if (strstr(text, "which no op records: a deadlock") != NULL)
        return UNRECORDED;
    return strncmp(text, "a deadlock: ", 12) == 0 ? STUCK : EARLY;
}

/* The text leads from op to op, and back to the first: each has to come after the next. */
static void assert_cycle(const struct plan *plan, const char *text)
{
    int first = NO_OP, before = NO_OP, hops = 0;
    for (const char *at = text; (at = strstr(at, "op ")) != NULL; at += 3) {
        int op = (int)strtol(at + 3, NULL, 10);
        if (before != NO_OP) {
            bool follows = op < before && comes_after(plan, &plan->ops[op], &plan->ops[before]);
            bool waits = plan->ops[before].kind == OP_WAIT &&
                         is_for(plan, (uint32_t)op, (uint32_t)before);
            ck_assert_msg(follows || waits, "op %d does not wait for op %d: %s", before, op,
                          text);
            hops++;
        }
        first = first == NO_OP ? op : first;
        before = op;
    }
    ck_assert_msg(hops > 1 && before == first, "no cycle: %s", text);
}

START_TEST(test_against_a_slow_method)
{
    uint64_t random = 20177;
    int seen[4] = {0};
    for (int i = 0; i < test_cases(20000); i++) {
        struct plan plan = random_plan(&random);
        struct error error = {0};
        enum verdict wanted = judge(&plan);
        enum status status = plan_validate(&plan, &error);
        ck_assert_int_eq(status, wanted == FINE ? STATUS_OK : STATUS_FAILED);
        ck_assert_msg(verdict_of(error.text) == wanted, "case %d: not %d: %s", i, (int)wanted,
                      error.text);
        if (wanted == STUCK)
            assert_cycle(&plan, error.text);
        seen[wanted]++;
        plan_free(&plan);
    }
    for (int i = 0; i < 4; i++)
        ck_assert_int_gt(seen[i], 0);
}
END_TEST

/* --- what is not refused ends
 * ----------------------------------------------------------------------- */

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
        struct timeline timeline;
        int64_t issued_ns;
        timeline_init(&timeline);
        if (plan_validate(&plan, NULL) == STATUS_OK) {
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
    struct timeline timeline;
    int64_t issued_ns;
    timeline_init(&timeline);
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
    tcase_add_test(tests, test_wait_before_the_record_in_one_stream);
    tcase_add_test(tests, test_two_streams_wait_for_each_other);
    tcase_add_test(tests, test_cycle_without_its_hangers_on);
    tcase_add_test(tests, test_one_record_of_two_that_comes);
    tcase_add_test(tests, test_late_record_without_a_cycle);
    tcase_add_test(tests, test_host_that_waits_before_it_issues_the_record);
    tcase_add_test(tests, test_default_stream_closes_a_cycle);
    tcase_add_test(tests, test_long_cycle_is_cut);
    tcase_add_test(tests, test_many_ops_between);
    tcase_add_test(tests, test_against_a_slow_method);
    tcase_add_test(tests, test_valid_plans_end_on_any_machine);
    tcase_add_test(tests, test_machines_that_never_end);
    suite_add_tcase(suite, tests);
    return suite;
}
