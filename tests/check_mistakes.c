/* check_mistakes.c - each mistake by itself: its ops in the plan, and its cost in the simulator
 * on GPUs of four generations. */
#include "fixtures.h"
#include "mistake_cases.h"
#include "plan/rules.h"
#include "sim_cases.h"
#include "suites.h"

#include <inttypes.h>

enum { TILES = 16 };

const char *const mistake_machines[MISTAKE_MACHINES] = {"h200", "k20c", "c2050", "c1060"};

/* Returns settings of sixteen tiles of a MiB each way, whose kernels take a part of their
 * copies' time. */
static struct settings plain_settings(int mistake)
{
    struct settings settings = test_settings("scale");
    settings.elements = 4 << 20;
    settings.tiles = TILES;
    settings.intensity = 100;
    settings.mistake = mistake;
    return settings;
}

/* A plan and its simulated run, without bytes. */
struct ran {
    struct machine machine;
    struct plan plan;
    struct timeline timeline;
    int64_t span_ns;
};

static struct ran run_on(const char *machine, const struct settings *settings)
{
    struct ran ran;
    ran.machine = test_machine_named(machine);
    ran.plan = test_built_on(settings, &ran.machine);
    ran.timeline = sim_run(&ran.machine, &ran.plan);
    ran.span_ns = timeline_time_ns(&ran.timeline);
    return ran;
}

static void ran_free(struct ran *ran)
{
    timeline_free(&ran->timeline);
    plan_free(&ran->plan);
}

static const struct span *span_of(struct ran *ran, uint32_t op)
{
    return timeline_span(&ran->timeline, op);
}

uint32_t mistake_count_kind(const struct plan *plan, enum op_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        count += plan->ops[i].kind == kind;
    return count;
}

/* Returns the time that the host's call for an op took. */
static int64_t call_ns(const struct ran *ran, uint32_t op)
{
    ck_assert_uint_lt(op + 1, ran->plan.op_count);
    return ran->timeline.issue_ns[op + 1] - ran->timeline.issue_ns[op];
}

/* Asserts that everything issued before `op` had ended by `from_ns`, and that nothing issued
 * later began before its end. */
static void assert_divides(struct ran *ran, uint32_t op, int64_t from_ns)
{
    for (uint32_t i = 0; i < ran->plan.op_count; i++) {
        const struct span *span = span_of(ran, i);
        if (span == NULL || i == op || span->kind == OP_CPU)
            continue;
        if (i < op)
            ck_assert_int_le(span->end_ns, from_ns);
        else
            ck_assert_int_ge(span->start_ns, span_of(ran, op)->end_ns);
    }
}

/* --- each mistake by itself: what it adds, and what its rule makes of it --- */

static void check_pageable(struct ran *ran, const struct ran *clean)
{
    const struct machine *machine = &ran->machine;
    double bytes = (double)ran->plan.buffer_bytes[BUFFER_HOST_OUT];
    ck_assert_int_eq(ran->plan.memory, MEMORY_PAGEABLE);
    ck_assert_int_eq(clean->plan.memory, MEMORY_PINNED);
    ck_assert_uint_eq(ran->plan.op_count, clean->plan.op_count);
    /* A call for a copy in takes as long as all its bytes but those left in the staging buffer.
     */
    double in = bytes - TILES * (double)machine->staging_piece_bytes;
    double least = bytes / machine->pageable_d2h_bytes_per_s;
    least += in > 0 ? in / machine->pageable_h2d_bytes_per_s : 0;
    ck_assert_int_ge(ran->span_ns, (int64_t)(1e9 * least));
}

/* Asserts that no blocking stream's copy runs beside a kernel. */
static void check_legacy_stream(struct ran *ran, const struct ran *clean)
{
    ck_assert_uint_eq(ran->plan.streams, clean->plan.streams + 1);
    ck_assert_uint_eq(ran->plan.events, 0); /* the legacy default stream orders all */
    for (uint32_t i = 0; i < ran->plan.op_count; i++) {
        const struct op *op = &ran->plan.ops[i];
        enum stream_kind kind = plan_stream_kind(&ran->plan, op->stream);
        ck_assert_int_eq(kind, op->kind == OP_KERNEL ? STREAM_LEGACY : STREAM_BLOCKING);
        if (op->kind == OP_KERNEL)
            assert_divides(ran, i, span_of(ran, i)->start_ns);
    }
}

static void check_blocking_stream(struct ran *ran, const struct ran *clean)
{
    ck_assert_uint_eq(ran->plan.streams, clean->plan.streams + 1);
    ck_assert_uint_eq(mistake_count_kind(&ran->plan, OP_MEMSET), TILES);
    ck_assert_uint_eq(clean->plan.buffer_bytes[BUFFER_DEVICE_OTHER], 0);
    for (uint32_t i = 0; i < ran->plan.op_count; i++) {
        const struct op *op = &ran->plan.ops[i];
        enum stream_kind kind = plan_stream_kind(&ran->plan, op->stream);
        ck_assert_int_eq(kind, op->kind == OP_MEMSET ? STREAM_LEGACY : STREAM_BLOCKING);
        if (op->kind != OP_MEMSET)
            continue;
        ck_assert_int_eq(op->set.range.buffer, BUFFER_DEVICE_OTHER);
        assert_divides(ran, i, span_of(ran, i)->start_ns);
    }
}

/* Asserts that, depth-first, every tile is by itself. */
static void check_sync(struct ran *ran, const struct ran *clean)
{
    const bool depth = ran->plan.ops[ran->plan.op_count - 1].tile == TILES - 1 &&
                       ran->plan.ops[1].kind == OP_KERNEL;
    (void)clean;
    ck_assert_uint_eq(mistake_count_kind(&ran->plan, OP_SYNC), TILES);
    for (uint32_t i = 0; i < ran->plan.op_count; i++) {
        const struct op *op = &ran->plan.ops[i];
        if (op->kind != OP_SYNC)
            continue;
        ck_assert_int_eq(ran->plan.ops[i - 1].kind, OP_D2H);
        ck_assert_int_eq(ran->plan.ops[i - 1].tile, op->tile);
        ck_assert_uint_eq(ran->plan.ops[i - 1].stream, op->stream);
        ck_assert_int_ge(span_of(ran, i)->end_ns, span_of(ran, i - 1)->end_ns);
        if (depth)
            assert_divides(ran, i, span_of(ran, i)->end_ns);
    }
}

static void check_alloc(struct ran *ran, const struct ran *clean)
{
    (void)clean;
    ck_assert_uint_eq(mistake_count_kind(&ran->plan, OP_ALLOC), TILES);
    for (uint32_t i = 0; i < ran->plan.op_count; i++) {
        const struct op *op = &ran->plan.ops[i];
        if (op->kind != OP_ALLOC)
            continue;
        ck_assert_int_eq(ran->plan.ops[i + 1].kind, OP_H2D);
        ck_assert_uint_eq(op->alloc.bytes, ran->plan.ops[i + 1].copy.host.bytes);
        int64_t call = rule_call_ns(&ran->machine, op);
        const struct span *span = span_of(ran, i);
        ck_assert_int_ge(span->end_ns - span->start_ns, call);
        if (rule_alloc_synchronises(&ran->machine, op->alloc.pinned))
            assert_divides(ran, i, span->end_ns - call);
        else
            ck_assert_int_eq(span->end_ns - span->start_ns, call);
    }
}

/* Asserts that a memset keeps others waiting on old GPUs; on new ones it is only more work. */
static void check_memset(struct ran *ran, const struct ran *clean)
{
    ck_assert_uint_eq(mistake_count_kind(&ran->plan, OP_MEMSET), TILES);
    for (uint32_t i = 0; i < ran->plan.op_count; i++) {
        const struct op *op = &ran->plan.ops[i], *next = op + 1;
        if (op->kind != OP_MEMSET)
            continue;
        ck_assert_int_eq(next->kind, OP_H2D);
        ck_assert_uint_eq(next->stream, op->stream);
        ck_assert_int_eq(op->set.range.buffer, next->copy.device.buffer);
        ck_assert_uint_eq(op->set.range.offset, next->copy.device.offset);
        ck_assert_uint_eq(op->set.range.bytes, next->copy.device.bytes);
        if (rule_op_synchronises(&ran->machine, OP_MEMSET))
            assert_divides(ran, i, span_of(ran, i)->start_ns);
    }
    if (!rule_op_synchronises(&ran->machine, OP_MEMSET))
        ck_assert_int_le(ran->span_ns, clean->span_ns + clean->span_ns / 10);
}

static void check_launch_blocking(struct ran *ran, const struct ran *clean)
{
    ck_assert_uint_eq(ran->plan.op_count, clean->plan.op_count);
    for (uint32_t i = 0; i < ran->plan.op_count; i++) {
        if (ran->plan.ops[i].kind == OP_KERNEL)
            ck_assert_int_eq(ran->timeline.issue_ns[i + 1],
                             span_of(ran, i)->end_ns + rule_hears_ns(&ran->machine));
    }
}

/* Asserts that one thread runs all callbacks, each for longer than its tile's copies. */
static void check_slow_callback(struct ran *ran, const struct ran *clean)
{
    int64_t sleeps = 0, copies = 0, ended = 0;
    (void)clean;
    ck_assert_uint_eq(mistake_count_kind(&ran->plan, OP_CALLBACK), TILES);
    for (uint32_t i = 0; i < ran->plan.op_count; i++) {
        const struct op *op = &ran->plan.ops[i];
        const struct span *span = span_of(ran, i);
        if (op->kind == OP_H2D || op->kind == OP_D2H)
            copies += (int64_t)machine_copy_ns(&ran->machine, op->kind == OP_H2D, op_bytes(op));
        if (op->kind != OP_CALLBACK)
            continue;
        ck_assert_int_ge(op->callback.sleep_ns, 200000);
        ck_assert_int_eq(span->end_ns - span->start_ns,
                         op->callback.sleep_ns + ran->machine.callback_ns);
        ck_assert(sleeps == 0 || span->start_ns >= ended);
        sleeps += op->callback.sleep_ns;
        ended = span->end_ns;
    }
    ck_assert_int_ge(sleeps, 2 * copies - 2 * TILES);
    ck_assert_int_gt(ran->span_ns, sleeps);
}

static void check_lazy_loading(struct ran *ran, const struct ran *clean)
{
    const int64_t call = rule_issue_ns(&ran->machine, OP_KERNEL);
    int launches = 0;
    for (uint32_t i = 0; i < ran->plan.op_count; i++) {
        if (ran->plan.ops[i].kind == OP_KERNEL)
            ck_assert_int_eq(call_ns(ran, i),
                             call + (launches++ == 0 ? ran->machine.lazy_load_ns : 0));
    }
    ck_assert_int_eq(ran->machine.lazy_load_ns > 0, ran->machine.compute_capability >= 5.0);
    if (ran->machine.lazy_load_ns == 0)
        ck_assert_int_eq(ran->span_ns, clean->span_ns);
    else
        ck_assert_int_gt(ran->span_ns, clean->span_ns);
}

/* Asserts that the whole run is later by the time that the allocation takes. */
static void check_pin_in_run(struct ran *ran, const struct ran *clean)
{
    const struct op *alloc = &ran->plan.ops[0];
    ck_assert_uint_eq(mistake_count_kind(&ran->plan, OP_ALLOC), 1);
    ck_assert(alloc->kind == OP_ALLOC && alloc->alloc.pinned);
    ck_assert_uint_eq(alloc->alloc.bytes, plan_host_bytes(&ran->plan));
    ck_assert_int_eq(ran->span_ns, clean->span_ns + rule_call_ns(&ran->machine, alloc));
}

static const struct rule {
    const char *mistake;
    void (*check)(struct ran *ran, const struct ran *clean);
    /* Percent by which a run is longer than a clean one at least, depth-first and
     * breadth-first, for each machine; -1: its time need not be longer. */
    int longer[2][MISTAKE_MACHINES];
} rules[] = {
    {"pageable-memory", check_pageable, {{100, 50, 50, -1}, {100, 50, 20, 2}}},
    {"legacy-stream", check_legacy_stream, {{20, 10, 20, -1}, {30, 20, 10, 10}}},
    {"blocking-stream", check_blocking_stream, {{80, 80, 80, -1}, {50, 50, 30, 3}}},
    {"sync-in-loop", check_sync, {{80, 80, 80, -1}, {10, 10, 10, -1}}},
    {"alloc-in-loop", check_alloc, {{200, 100, 100, 10}, {200, 80, 50, 20}}},
    {"pinned-alloc-in-loop", check_alloc, {{900, 200, 200, 50}, {900, 200, 100, 80}}},
    {"memset-in-loop", check_memset, {{-1, 80, 80, 2}, {-1, 50, 20, 3}}},
    {"launch-blocking", check_launch_blocking, {{10, 10, 20, -1}, {20, 20, -1, 5}}},
    {"slow-callback", check_slow_callback, {{200, 200, 200, 40}, {200, 200, 100, 60}}},
    {"lazy-loading", check_lazy_loading, {{20, -1, -1, -1}, {20, -1, -1, -1}}},
    {"pin-in-run", check_pin_in_run, {{900, 200, 200, 80}, {900, 200, 150, 100}}},
    {NULL, NULL, {{0}}},
};

static const struct rule *rule_of(int mistake)
{
    const struct rule *rule = rules;
    while (rule->mistake != NULL && strcmp(rule->mistake, mistake_name(mistake)) != 0)
        rule++;
    return rule;
}

void mistake_assert_no_hazards(const struct plan *plan)
{
    struct hazard hazard;
    struct error error = {0};
    size_t hazards;
    test_must(plan_hazards(plan, &hazard, 1, &hazards, &error), &error);
    ck_assert_uint_eq(hazards, 0);
}

/* Each mistake is made by itself, in the tile layout, on every generation, in both orders. */
START_TEST(test_rule)
{
    const int mistake = _i;
    const struct rule *rule = rule_of(mistake);
    if (rule->check == NULL) { /* no mistake; and races, which have a suite */
        ck_assert(mistake == MISTAKE_NONE || mistake_rows[mistake].races);
        return;
    }
    for (int order = 0; order < 2; order++) {
        for (int i = 0; i < MISTAKE_MACHINES; i++) {
            struct settings settings = plain_settings(MISTAKE_NONE);
            settings.order = order ? ORDER_BREADTH : ORDER_DEPTH;
            struct ran clean = run_on(mistake_machines[i], &settings);
            settings.mistake = mistake;
            struct ran ran = run_on(mistake_machines[i], &settings);
            mistake_assert_no_hazards(&ran.plan);
            rule->check(&ran, &clean);
            int longer = rule->longer[order][i];
            ck_assert_msg(longer < 0 ||
                              ran.span_ns >= clean.span_ns + clean.span_ns / 100 * longer,
                          "%s on %s, %s: %" PRId64 " ns against %" PRId64 ", not %d %% more",
                          mistake_name(mistake), mistake_machines[i],
                          order ? "breadth" : "depth", ran.span_ns, clean.span_ns, longer);
            ran_free(&ran);
            ran_free(&clean);
        }
    }
}
END_TEST

Suite *mistakes_suite(void)
{
    Suite *suite = suite_create("mistakes");
    TCase *alone = tcase_create("rules");
    tcase_set_timeout(alone, 120);
    tcase_add_loop_test(alone, test_rule, 0, test_mistake_count());
    suite_add_tcase(suite, alone);
    suite_add_tcase(suite, mistake_runs_case());
    suite_add_tcase(suite, mistake_program_case());
    return suite;
}
