/* check_critical_plans.c - what ops waited for, in timelines of plans that the simulator ran.
 */
#include "analysis/critical.h"
#include "critical_cases.h"
#include "plan/build.h"
#include "plan/rules.h"
#include "sim_cases.h"

#include <stdlib.h>
#include <string.h>

/* Checks what holds for every timeline. */
static void assert_sound(const struct timeline *timeline, const struct critical *critical)
{
    const struct span *spans = timeline->spans;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct hold *hold = &critical->holds[i];
        ck_assert_int_le(hold->free_ns, spans[i].start_ns);
        ck_assert_int_ge(hold->free_ns, 0);
        bool by_span = hold->by == HELD_BY_STREAM || hold->by == HELD_BY_EVENT ||
                       hold->by == HELD_BY_ENGINE || hold->by == HELD_BY_CALL;
        ck_assert_int_eq(by_span, hold->span != SPAN_NONE);
        if (!by_span)
            continue;
        const struct span *held = &spans[hold->span];
        ck_assert_int_ne(held->kind, OP_WAIT);
        ck_assert(hold->by != HELD_BY_CALL || op_is_call(held->kind));
        if (op_is_sync(spans[i].kind)) { /* it waits from its call on */
            ck_assert_int_eq(hold->free_ns, spans[i].start_ns);
            continue;
        }
        bool beside = hold->by == HELD_BY_ENGINE && spans[i].kind == OP_KERNEL &&
                      held->start_ns <= hold->free_ns && held->end_ns > hold->free_ns;
        /* Behind such a call others may issue the op before it is on its way. */
        ck_assert_msg(beside || held->end_ns == hold->free_ns ||
                          (hold->by == HELD_BY_CALL && held->end_ns < hold->free_ns),
                      "span %u: free at %ld, held to %ld", i, (long)hold->free_ns,
                      (long)held->end_ns);
        ck_assert(hold->by != HELD_BY_STREAM || held->stream == spans[i].stream);
        ck_assert(hold->by != HELD_BY_EVENT || held->stream != spans[i].stream);
    }
}

static void assert_path(const struct timeline *timeline, const struct critical *critical)
{
    uint32_t marked = 0, count = critical->path_count;
    for (uint32_t i = 0; i < timeline->span_count; i++)
        marked += critical->on_path[i];
    ck_assert_uint_eq(marked, count);
    if (count == 0)
        return;
    int64_t sum = critical->holds[critical->path[0]].free_ns;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = critical->path[i];
        const struct hold *hold = &critical->holds[index];
        ck_assert(critical->on_path[index]);
        ck_assert_uint_eq(hold->span, i > 0 ? critical->path[i - 1] : SPAN_NONE);
        int64_t next = i + 1 < count ? critical->holds[critical->path[i + 1]].free_ns
                                     : timeline->spans[index].end_ns;
        bool waits = i + 1 < count && /* the sync has begun before what it waits for */
                     op_is_sync(timeline->spans[critical->path[i + 1]].kind);
        ck_assert(waits || next >= hold->free_ns);
        sum += next - hold->free_ns;
    }
    ck_assert_int_eq(sum, timeline_time_ns(timeline));
}

static struct settings random_settings(uint64_t *random)
{
    static const char *const chains[] = {"scale", "wave", "scale,scale", "sum", "scale,sum"};
    struct settings settings =
        test_random_settings(random, chains[test_random_below(random, 5)], 40, 4);
    settings.elements = settings.tiles * (uint64_t)(1 + test_random_below(random, 3000));
    settings.intensity = 1 + test_random_below(random, 4);
    settings.scatter = test_random_below(random, 4) == 0;
    if (test_random_below(random, 4) == 0) {
        settings.pack = true;
        settings.ways = 3;
    } else if (test_random_below(random, 4) == 0) {
        settings.issue = ISSUE_BATCH;
    }
    if (settings.pack || settings.issue == ISSUE_BATCH)
        settings.batch = test_random_below(random, 8);
    return settings;
}

static bool simulated(const struct settings *settings, const struct machine *machine,
                      struct timeline *timeline)
{
    struct plan plan;
    struct error error = {0};
    enum status status = plan_build(settings, machine, &plan, &error);
    if (status == STATUS_USAGE)
        return false; /* settings that do not go together */
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    *timeline = sim_run(machine, &plan);
    plan_free(&plan);
    return true;
}

/* Asserts that every op begins the moment that what held it lets go. */
static void assert_explained(const struct timeline *timeline, const struct critical *critical,
                             int number)
{
    for (uint32_t s = 0; s < timeline->span_count; s++) {
        const struct span *span = &timeline->spans[s];
        ck_assert_msg(span->kind == OP_WAIT || critical->holds[s].free_ns == span->start_ns,
                      "case %d: op %u (%s %d, stream %u) began at %ld, free at %ld by %s",
                      number, span->op, op_kind_name(span->kind), span->tile, span->stream,
                      (long)span->start_ns, (long)critical->holds[s].free_ns,
                      held_by_name(critical->holds[s].by));
    }
}

/* On a machine where nothing takes time but the work, every op begins the moment that what held
 * it lets go: so a hold that was missed, or one that is made up, shows. */
START_TEST(test_every_start_is_explained)
{
    uint64_t random = 4711;
    int tried = 0;
    for (int i = 0; i < test_cases(400); i++) {
        struct machine machine = test_machine();
        struct settings settings;
        struct timeline timeline;
        machine.copy_engines = 1 + (int)test_random_below(&random, 2);
        machine.batch_gap_ns = 1;
        settings = random_settings(&random);
        if (!simulated(&settings, &machine, &timeline))
            continue;
        tried++;
        struct critical critical = test_critical(&timeline);
        assert_sound(&timeline, &critical);
        assert_path(&timeline, &critical);
        assert_explained(&timeline, &critical, i);
        critical_free(&critical);
        timeline_free(&timeline);
    }
    ck_assert_int_gt(tried, 10);
}
END_TEST

/* A graph's node may wait for the call to come to it, which it does in the order of issue. */
START_TEST(test_every_start_in_a_graph_is_explained)
{
    enum { LAUNCH = 100 };
    uint64_t random = 17;
    int by_issue = 0;
    for (int i = 0; i < test_cases(200); i++) {
        struct machine machine = test_machine();
        struct settings settings;
        struct timeline timeline;
        struct critical critical;
        struct error error = {0};
        machine.queues = 2; /* which hold up no branch */
        machine.graph_launch_ns = LAUNCH;
        machine.graph_copies_node_ns = 1 + test_random_below(&random, 3000);
        settings = random_settings(&random);
        settings.pack = false;
        settings.issue = ISSUE_GRAPH;
        ck_assert(simulated(&settings, &machine, &timeline));
        ck_assert_int_eq(critical_find(&timeline, &machine, &critical, &error), STATUS_OK);
        assert_sound(&timeline, &critical);
        assert_path(&timeline, &critical);
        assert_explained(&timeline, &critical, i);
        for (uint32_t s = 0; s < timeline.span_count; s++) {
            const struct span *span = &timeline.spans[s];
            if (critical.holds[s].by != HELD_BY_ISSUE || !op_is_node((enum op_kind)span->kind))
                continue;
            ck_assert_int_eq((span->start_ns - LAUNCH) % machine.graph_copies_node_ns, 0);
            by_issue += span->start_ns < timeline.launched_ns;
        }
        critical_free(&critical);
        timeline_free(&timeline);
    }
    ck_assert_int_gt(by_issue, test_cases(200) / 10);
}
END_TEST

/* On a machine as it is, starts lag behind by what the machine takes, and by no more. */
START_TEST(test_delays_are_the_machine_s)
{
    uint64_t random = 99;
    struct machine machine = test_machine_named("h200");
    machine.queues = 32;
    enum { STREAMS = 8 };
    int64_t most = machine.d2h_dependency_ns + STREAMS * machine.poll_ns +
                   machine.kernel_latency_ns + machine.issue_kernel_ns;
    int64_t most_told = rule_callback_told_ns(&machine, RULE_SLEEP_MOST_NS);
    for (int i = 0; i < test_cases(100); i++) {
        struct settings settings;
        struct timeline timeline;
        settings = random_settings(&random);
        settings.elements *= 1000;
        if (!simulated(&settings, &machine, &timeline))
            continue;
        struct critical critical = test_critical(&timeline);
        assert_sound(&timeline, &critical);
        assert_path(&timeline, &critical);
        for (uint32_t s = 0; s < timeline.span_count; s++) {
            const struct span *span = &timeline.spans[s];
            int64_t delay = span->start_ns - critical.holds[s].free_ns;
            ck_assert_msg(span->kind == OP_WAIT ||
                              delay <= (span->kind == OP_CALLBACK ? most_told : most),
                          "case %d: op %u (%s %d) began at %ld, free at %ld by %s", i, span->op,
                          op_kind_name(span->kind), span->tile, (long)span->start_ns,
                          (long)critical.holds[s].free_ns, held_by_name(critical.holds[s].by));
        }
        critical_free(&critical);
        timeline_free(&timeline);
    }
}
END_TEST

/* How many spans of the path are held by what. */
static void count_path(const struct critical *critical, uint32_t counts[HELD_BY_COUNT])
{
    memset(counts, 0, HELD_BY_COUNT * sizeof *counts);
    for (uint32_t i = 0; i < critical->path_count; i++)
        counts[critical->holds[critical->path[i]].by]++;
}

static struct settings known_case(int ways, enum layout layout, uint32_t streams)
{
    struct settings settings = test_settings("scale");
    settings.ways = ways;
    settings.layout = layout;
    settings.streams = streams;
    settings.tiles = 8;
    settings.elements = 8 * 4096;
    return settings;
}

/* 4 bytes an element make copies of 16 us; the kernel has 2 flops an element: 8 us. */
START_TEST(test_known_cases)
{
    static const struct {
        int ways;
        enum layout layout;
        uint32_t streams, path, by[HELD_BY_COUNT];
    } cases[] = {
        /* Serial: 8 copies in, 8 kernels, 8 copies out, one behind the other in one stream. */
        {1, LAYOUT_TILE, 1, 24, {[HELD_BY_NOTHING] = 1, [HELD_BY_STREAM] = 23}},
        /* One stream: so is a tile after the other. */
        {3, LAYOUT_TILE, 1, 24, {[HELD_BY_NOTHING] = 1, [HELD_BY_STREAM] = 23}},
        /* Enough streams: the copies in, by turns, and the last tile's way out. */
        {3,
         LAYOUT_TILE,
         8,
         10,
         {[HELD_BY_NOTHING] = 1, [HELD_BY_STREAM] = 2, [HELD_BY_ENGINE] = 7}},
        /* A stream per stage: the same, in stream order, joined by events. */
        {3,
         LAYOUT_STAGE,
         8,
         10,
         {[HELD_BY_NOTHING] = 1, [HELD_BY_STREAM] = 7, [HELD_BY_EVENT] = 2}},
    };
    struct machine machine = test_machine();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct settings settings = known_case(cases[i].ways, cases[i].layout, cases[i].streams);
        struct timeline timeline;
        uint32_t counts[HELD_BY_COUNT];
        ck_assert(simulated(&settings, &machine, &timeline));
        struct critical critical = test_critical(&timeline);
        count_path(&critical, counts);
        ck_assert_msg(critical.path_count == cases[i].path, "case %zu: %u", i,
                      critical.path_count);
        for (int by = 0; by < HELD_BY_COUNT; by++)
            ck_assert_msg(counts[by] == cases[i].by[by], "case %zu: %u by %s", i, counts[by],
                          held_by_name((enum held_by)by));
        critical_free(&critical);
        timeline_free(&timeline);
    }
}
END_TEST

/* With two slots a copy in waits, by an event, until its slot is free again. */
START_TEST(test_slots_hold_copies)
{
    struct machine machine = test_machine();
    struct settings settings = known_case(3, LAYOUT_STAGE, 2);
    struct timeline timeline;
    settings.intensity = 100; /* the kernel is what takes long */
    ck_assert(simulated(&settings, &machine, &timeline));
    struct critical critical = test_critical(&timeline);
    int by_event = 0;
    for (uint32_t i = 0; i < timeline.span_count; i++) {
        if (timeline.spans[i].kind == OP_H2D && timeline.spans[i].tile >= 2) {
            const struct hold *hold = &critical.holds[i];
            ck_assert_int_eq(hold->by, HELD_BY_EVENT);
            ck_assert_int_eq(timeline.spans[hold->span].tile, timeline.spans[i].tile - 2);
            by_event++;
        }
    }
    ck_assert_int_eq(by_event, 6);
    critical_free(&critical);
    timeline_free(&timeline);
}
END_TEST

TCase *critical_plans_case(void)
{
    TCase *tests = tcase_create("plans");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_every_start_is_explained);
    tcase_add_test(tests, test_every_start_in_a_graph_is_explained);
    tcase_add_test(tests, test_delays_are_the_machine_s);
    tcase_add_test(tests, test_known_cases);
    tcase_add_test(tests, test_slots_hold_copies);
    return tests;
}
