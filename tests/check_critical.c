/* check_critical.c - what ops waited for, in timelines laid out by hand. */
#include "analysis/critical.h"
#include "critical_cases.h"
#include "fixtures.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"scale", "sum"};

static struct timeline by_hand(struct span *spans, uint32_t count, enum timing timing)
{
    static const enum engine engines[OP_KIND_COUNT] = {
        [OP_H2D] = ENGINE_H2D,     [OP_KERNEL] = ENGINE_COMPUTE, [OP_D2H] = ENGINE_D2H,
        [OP_CPU] = ENGINE_CPU,     [OP_CALLBACK] = ENGINE_HOST,  [OP_WAIT] = ENGINE_NONE,
        [OP_RECORD] = ENGINE_NONE, [OP_D2D] = ENGINE_COMPUTE,    [OP_MEMSET] = ENGINE_COMPUTE,
        [OP_SYNC] = ENGINE_HOST,   [OP_ALLOC] = ENGINE_HOST,
    };
    struct timeline timeline = {0};
    timeline.timing = timing;
    timeline.names = (const char **)names;
    timeline.name_count = 2;
    timeline.streams = 8;
    timeline.spans = spans;
    timeline.span_count = count;
    for (uint32_t i = 0; i < count; i++) {
        spans[i].op = i;
        spans[i].engine = engines[spans[i].kind] & SPAN_BITS;
    }
    return timeline;
}

struct critical test_critical(const struct timeline *timeline)
{
    struct critical critical;
    struct error error = {0};
    ck_assert_msg(critical_find(timeline, NULL, &critical, &error) == STATUS_OK, "%s",
                  error.text);
    return critical;
}

static void assert_hold(const struct critical *critical, uint32_t index, enum held_by by,
                        uint32_t span, int64_t free_ns)
{
    const struct hold *hold = &critical->holds[index];
    ck_assert_msg(hold->by == by && hold->span == span && hold->free_ns == free_ns,
                  "span %u: held by %s, span %d, until %ld; not by %s, span %d, until %ld",
                  index, held_by_name(hold->by), (int)hold->span, (long)hold->free_ns,
                  held_by_name(by), (int)span, (long)free_ns);
}

static void assert_says(const struct timeline *timeline, const struct critical *critical,
                        uint32_t index, const char *words)
{
    char text[CRITICAL_TEXT];
    ck_assert_str_eq(critical_explain(timeline, critical, index, text), words);
}

START_TEST(test_empty)
{
    struct timeline timeline = by_hand(NULL, 0, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    ck_assert_uint_eq(critical.path_count, 0);
    critical_free(&critical);
    critical_free(&critical);
}
END_TEST

START_TEST(test_one_span)
{
    struct span spans[] = {{.kind = OP_H2D, .issue_ns = 5, .start_ns = 7, .end_ns = 9}};
    struct timeline timeline = by_hand(spans, 1, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 0, HELD_BY_ISSUE, SPAN_NONE, 5);
    assert_says(&timeline, &critical, 0, "waited for the host to issue it, then 2 ns to start");
    ck_assert_uint_eq(critical.path_count, 1);
    ck_assert(critical.on_path[0]);
    critical_free(&critical);
}
END_TEST

/* One stream: each op waits for the one before, whatever its engine. */
START_TEST(test_stream_order)
{
    struct span spans[] = {
        {.kind = OP_H2D, .end_ns = 100},
        {.kind = OP_KERNEL, .start_ns = 104, .end_ns = 150},
        {.kind = OP_D2H, .start_ns = 152, .end_ns = 250},
        {.kind = OP_H2D, .tile = 1, .start_ns = 250, .end_ns = 350},
    };
    struct timeline timeline = by_hand(spans, 4, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 0, HELD_BY_NOTHING, SPAN_NONE, 0);
    assert_hold(&critical, 1, HELD_BY_STREAM, 0, 100);
    assert_hold(&critical, 2, HELD_BY_STREAM, 1, 150);
    assert_hold(&critical, 3, HELD_BY_STREAM, 2, 250);
    ck_assert_uint_eq(critical.path_count, 4);
    assert_says(&timeline, &critical, 0, "had nothing to wait for");
    assert_says(&timeline, &critical, 1,
                "waited for h2d 0 (stream 0), before it in its stream, then 4 ns to start");
    assert_says(&timeline, &critical, 3,
                "waited for d2h 0 (stream 0), before it in its stream");
    critical_free(&critical);
}
END_TEST

/* Copies of two streams take turns; the kernels hide in their shade. */
START_TEST(test_copies_take_turns)
{
    struct span spans[] = {
        {.kind = OP_H2D, .end_ns = 100},
        {.kind = OP_KERNEL, .start_ns = 100, .end_ns = 120},
        {.kind = OP_H2D,
         .stream = 1,
         .tile = 1,
         .issue_ns = 10,
         .start_ns = 100,
         .end_ns = 200},
        {.kind = OP_KERNEL,
         .stream = 1,
         .tile = 1,
         .issue_ns = 210,
         .start_ns = 215,
         .end_ns = 240},
    };
    struct timeline timeline = by_hand(spans, 4, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 2, HELD_BY_ENGINE, 0, 100);
    assert_hold(&critical, 3, HELD_BY_ISSUE, SPAN_NONE, 210);
    assert_says(&timeline, &critical, 2, "waited for its engine: h2d 0 (stream 0)");
    /* The host's issue ends the way back. */
    ck_assert_uint_eq(critical.path_count, 1);
    ck_assert_uint_eq(critical.path[0], 3);
    ck_assert(!critical.on_path[1] && !critical.on_path[2]);
    critical_free(&critical);
}
END_TEST

/* The time that an issue call took counts, where the next call tells it. */
START_TEST(test_issue_ends_with_its_call)
{
    int64_t issues[] = {0, 50, 90, 95};
    struct span spans[] = {
        {.kind = OP_H2D, .end_ns = 60, .start_ns = 50},
        {.kind = OP_KERNEL, .issue_ns = 50, .start_ns = 90, .end_ns = 100},
        {.kind = OP_CPU, .stream = 8, .start_ns = 92, .end_ns = 99},
    };
    struct timeline timeline = by_hand(spans, 3, TIMING_VIRTUAL);
    timeline.issue_ns = issues;
    timeline.issue_count = 4;
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 0, HELD_BY_ISSUE, SPAN_NONE, 50);
    assert_hold(&critical, 1, HELD_BY_ISSUE, SPAN_NONE, 90);
    assert_hold(&critical, 2, HELD_BY_NOTHING, SPAN_NONE, 0);
    critical_free(&critical);
}
END_TEST

/* A stream per stage: the kernel waits for its copy by an event; so does the wait's target. */
START_TEST(test_events)
{
    struct span spans[] = {
        {.kind = OP_H2D, .tile = 3, .end_ns = 100},
        {.kind = OP_WAIT, .stream = 1, .tile = -1, .target = 0, .end_ns = 100},
        {.kind = OP_KERNEL, .stream = 1, .tile = 3, .start_ns = 105, .end_ns = 150},
        {.kind = OP_WAIT, .stream = 1, .tile = -1, .target = 0, .start_ns = 150, .end_ns = 150},
        {.kind = OP_KERNEL, .stream = 1, .tile = 4, .link = 1, .start_ns = 150, .end_ns = 160},
    };
    struct timeline timeline = by_hand(spans, 5, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 1, HELD_BY_NOTHING, SPAN_NONE, 0);
    assert_hold(&critical, 2, HELD_BY_EVENT, 0, 100);
    assert_hold(&critical, 4, HELD_BY_STREAM, 2, 150);
    assert_says(&timeline, &critical, 1, "waits for h2d 3 (stream 0)");
    assert_says(&timeline, &critical, 2,
                "waited by an event for h2d 3 (stream 0), then 5 ns to start");
    ck_assert_uint_eq(critical.path_count, 3);
    ck_assert(!critical.on_path[1] && !critical.on_path[3]);
    critical_free(&critical);
}
END_TEST

/* Among several waits the one whose target ended last counts, and a target that cannot have
 * held anything (recorded where nothing had been issued) does not. */
START_TEST(test_several_waits)
{
    struct span spans[] = {
        {.kind = OP_H2D, .end_ns = 500},
        {.kind = OP_H2D, .stream = 1, .end_ns = 80},
        {.kind = OP_D2H, .stream = 2, .end_ns = 60},
        {.kind = OP_WAIT, .stream = 3, .target = 1, .end_ns = 80},
        {.kind = OP_WAIT, .stream = 3, .target = 2, .start_ns = 80, .end_ns = 80},
        {.kind = OP_WAIT, .stream = 3, .target = 0, .start_ns = 80, .end_ns = 80},
        {.kind = OP_KERNEL, .stream = 3, .start_ns = 80, .end_ns = 90},
    };
    struct timeline timeline = by_hand(spans, 7, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 6, HELD_BY_EVENT, 1, 80);
    assert_hold(&critical, 4, HELD_BY_EVENT, 1, 80);
    critical_free(&critical);
}
END_TEST

/* Kernels run side by side. The third had no room until the first ended; the fourth began
 * beside the third's last blocks; the fifth was on its way while another ended by chance. */
START_TEST(test_room_for_kernels)
{
    struct span spans[] = {
        {.kind = OP_KERNEL, .start_ns = 0, .end_ns = 100},
        {.kind = OP_KERNEL, .stream = 1, .start_ns = 0, .end_ns = 140},
        {.kind = OP_KERNEL, .stream = 2, .tile = 2, .start_ns = 100, .end_ns = 200},
        {.kind = OP_KERNEL, .stream = 3, .tile = 3, .start_ns = 170, .end_ns = 300},
        {.kind = OP_H2D, .stream = 4, .end_ns = 310},
        {.kind = OP_KERNEL, .stream = 4, .tile = 4, .start_ns = 330, .end_ns = 400},
        {.kind = OP_H2D, .stream = 5, .start_ns = 310, .end_ns = 395},
        {.kind = OP_KERNEL, .stream = 5, .tile = 5, .start_ns = 415, .end_ns = 500},
    };
    struct timeline timeline = by_hand(spans, 8, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 2, HELD_BY_ENGINE, 0, 100);
    assert_hold(&critical, 3, HELD_BY_ENGINE, 2, 170);
    assert_hold(&critical, 5, HELD_BY_STREAM, 4, 310);
    assert_hold(&critical, 7, HELD_BY_STREAM, 6, 395);
    assert_says(&timeline, &critical, 2, "waited for its engine: scale 0 (stream 0)");
    assert_says(&timeline, &critical, 3, "waited for room beside: scale 2 (stream 2)");
    critical_free(&critical);
}
END_TEST

/* A kernel on its way to its start is not held by others that run meanwhile, nor by one that
 * ends: only one that took longer than a launch was. */
START_TEST(test_launches_take_time)
{
    struct span spans[] = {
        {.kind = OP_KERNEL, .start_ns = 0, .end_ns = 100000},
        {.kind = OP_H2D, .stream = 1, .end_ns = 50000},
        {.kind = OP_KERNEL, .stream = 1, .start_ns = 54000, .end_ns = 60000},
        {.kind = OP_D2H, .stream = 2, .end_ns = 60000},
        {.kind = OP_KERNEL, .stream = 2, .start_ns = 103000, .end_ns = 200000},
        {.kind = OP_H2D, .stream = 3, .start_ns = 50000, .end_ns = 98000},
        {.kind = OP_KERNEL, .stream = 3, .start_ns = 101000, .end_ns = 180000},
        {.kind = OP_H2D, .stream = 4, .start_ns = 98000, .end_ns = 120000},
        {.kind = OP_KERNEL, .stream = 4, .start_ns = 150000, .end_ns = 300000},
    };
    struct timeline timeline = by_hand(spans, 9, TIMING_CUPTI);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 2, HELD_BY_STREAM, 1, 50000);
    assert_hold(&critical, 4, HELD_BY_ENGINE, 0, 100000);
    assert_hold(&critical, 6, HELD_BY_STREAM, 5, 98000);
    assert_hold(&critical, 8, HELD_BY_ENGINE, 4, 150000);
    critical_free(&critical);
}
END_TEST

/* How long a launch takes is learnt from kernels that had the engine to themselves. */
START_TEST(test_launch_time_is_learnt)
{
    struct span spans[] = {
        {.kind = OP_H2D, .end_ns = 100},
        {.kind = OP_KERNEL, .start_ns = 104, .end_ns = 110},
        {.kind = OP_KERNEL, .start_ns = 114, .end_ns = 500},
        {.kind = OP_H2D, .stream = 1, .start_ns = 100, .end_ns = 200},
        {.kind = OP_KERNEL, .stream = 1, .start_ns = 207, .end_ns = 300},
        {.kind = OP_H2D, .stream = 2, .start_ns = 200, .end_ns = 300},
        {.kind = OP_KERNEL, .stream = 2, .start_ns = 309, .end_ns = 400},
    };
    struct timeline timeline = by_hand(spans, 7, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 4, HELD_BY_STREAM, 3, 200); /* 7 ns are within twice 4 */
    assert_hold(&critical, 6, HELD_BY_ENGINE, 2, 309); /* 9 are not */
    critical_free(&critical);
}
END_TEST

/* Copies of both directions that take turns, far from anything else that could have held them:
 * one engine. */
START_TEST(test_shared_copy_engine)
{
    struct span spans[] = {
        {.kind = OP_H2D, .end_ns = 100},
        {.kind = OP_D2H, .stream = 1, .start_ns = 100, .end_ns = 200},
        {.kind = OP_H2D, .stream = 2, .start_ns = 203, .end_ns = 300},
    };
    struct timeline timeline = by_hand(spans, 3, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 1, HELD_BY_ENGINE, 0, 100);
    assert_hold(&critical, 2, HELD_BY_ENGINE, 1, 200);
    ck_assert_uint_eq(critical.path_count, 3);
    critical_free(&critical);
    /* The same but for one overlap: two engines. */
    spans[1].start_ns = 99;
    critical = test_critical(&timeline);
    assert_hold(&critical, 1, HELD_BY_NOTHING, SPAN_NONE, 0);
    assert_hold(&critical, 2, HELD_BY_ENGINE, 0, 100);
    critical_free(&critical);
}
END_TEST

/* No overlap, but the copy was on its way when the other direction's ended: no proof. */
START_TEST(test_copies_that_never_meet)
{
    struct span spans[] = {
        {.kind = OP_H2D, .end_ns = 100},
        {.kind = OP_D2H, .stream = 1, .issue_ns = 97, .start_ns = 103, .end_ns = 200},
    };
    struct timeline timeline = by_hand(spans, 2, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 1, HELD_BY_ISSUE, SPAN_NONE, 97);
    critical_free(&critical);
}
END_TEST

START_TEST(test_cpu_and_callbacks_take_turns)
{
    struct span spans[] = {
        {.kind = OP_CPU, .stream = 8, .tile = 6, .end_ns = 50},
        {.kind = OP_CPU, .stream = 8, .tile = 7, .start_ns = 50, .end_ns = 90},
        {.kind = OP_CALLBACK, .stream = 0, .end_ns = 30},
        {.kind = OP_CALLBACK, .stream = 1, .tile = 1, .start_ns = 30, .end_ns = 60},
    };
    struct timeline timeline = by_hand(spans, 4, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 1, HELD_BY_STREAM, 0, 50);
    assert_hold(&critical, 3, HELD_BY_ENGINE, 2, 30);
    assert_says(&timeline, &critical, 1, "waited for cpu 6, before it in its stream");
    critical_free(&critical);
}
END_TEST

/* The thread is told of a callback some time after the op before it: it then held the callback
 * only if it was still at work. */
START_TEST(test_callbacks_are_told_of)
{
    struct span spans[] = {
        {.kind = OP_D2H, .end_ns = 10},
        {.kind = OP_CALLBACK, .start_ns = 30, .end_ns = 45},
        {.kind = OP_D2H, .stream = 1, .tile = 1, .start_ns = 10, .end_ns = 40},
        {.kind = OP_CALLBACK, .stream = 1, .tile = 1, .start_ns = 60, .end_ns = 75},
    };
    struct timeline timeline = by_hand(spans, 4, TIMING_VIRTUAL);
    struct machine machine = test_machine();
    for (int i = 0; i < 2; i++) {
        struct critical critical;
        struct error error = {0};
        machine.callback_latency_ns = i == 0 ? 20 : 3;
        ck_assert_int_eq(critical_find(&timeline, &machine, &critical, &error), STATUS_OK);
        if (i == 0)
            assert_hold(&critical, 3, HELD_BY_STREAM, 2, 40);
        else
            assert_hold(&critical, 3, HELD_BY_ENGINE, 1, 45);
        critical_free(&critical);
    }
}
END_TEST

/* Measured ends may lie behind the start of what they let go: never free after the start. */
START_TEST(test_jitter)
{
    struct span spans[] = {
        {.kind = OP_H2D, .end_ns = 100000},
        {.kind = OP_KERNEL, .start_ns = 99700, .end_ns = 150000},
        {.kind = OP_H2D, .stream = 1, .issue_ns = 10, .start_ns = 99100, .end_ns = 200000},
        {.kind = OP_H2D, .stream = 2, .issue_ns = 20, .start_ns = 198900, .end_ns = 300000},
    };
    struct timeline timeline = by_hand(spans, 4, TIMING_CUPTI);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 1, HELD_BY_STREAM, 0, 99700);
    assert_hold(&critical, 2, HELD_BY_ENGINE, 0, 99100);
    assert_hold(&critical, 3, HELD_BY_ENGINE, 0, 100000); /* 1100 ns are too much */
    critical_free(&critical);
    timeline.timing = TIMING_VIRTUAL;
    critical = test_critical(&timeline);
    assert_hold(&critical, 1, HELD_BY_NOTHING, SPAN_NONE, 0);
    critical_free(&critical);
}
END_TEST

/* A span that began later held nothing, whatever the clocks' noise says of its end. */
START_TEST(test_only_earlier_ones_hold)
{
    struct span spans[] = {
        {.kind = OP_H2D, .start_ns = 1000, .end_ns = 1200},
        {.kind = OP_KERNEL, .start_ns = 900, .end_ns = 5000},
    };
    struct timeline timeline = by_hand(spans, 2, TIMING_CUPTI);
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 1, HELD_BY_NOTHING, SPAN_NONE, 0);
    ck_assert_uint_eq(critical.path_count, 1);
    critical_free(&critical);
}
END_TEST

/* A trace without the host's calls: nothing is said of issue. */
START_TEST(test_issue_unknown)
{
    struct span spans[] = {
        {.kind = OP_H2D, .tile = -1, .issue_ns = 0, .end_ns = 100},
        {.kind = OP_KERNEL, .tile = -1, .issue_ns = 900, .start_ns = 900, .end_ns = 1000},
        {.kind = OP_KERNEL,
         .stream = 1,
         .tile = -1,
         .issue_ns = 950,
         .start_ns = 950,
         .end_ns = 960},
    };
    struct timeline timeline = by_hand(spans, 3, TIMING_CUPTI);
    uint32_t ids[] = {7, 13, 0, 0, 0, 0, 0, 0};
    timeline.stream_ids = ids;
    timeline.issue_unknown = true;
    struct critical critical = test_critical(&timeline);
    assert_hold(&critical, 0, HELD_BY_NOTHING, SPAN_NONE, 0);
    assert_hold(&critical, 1, HELD_BY_STREAM, 0, 100);
    assert_hold(&critical, 2, HELD_BY_NOTHING, SPAN_NONE, 0);
    assert_says(&timeline, &critical, 0, "the trace doesn't say what it waited for");
    assert_says(&timeline, &critical, 1,
                "waited for h2d (stream 7), before it in its stream, then 800 ns to start");
    critical_free(&critical);
    spans[1].start_ns = 90100, spans[1].end_ns = 91000;
    critical = test_critical(&timeline);
    assert_says(&timeline, &critical, 1,
                "waited for h2d (stream 7), before it in its stream; it started 90 us later, "
                "and the trace doesn't say why");
    spans[1].start_ns = 900, spans[1].end_ns = 1000;
    critical_free(&critical);
    timeline.issue_unknown = false;
    critical = test_critical(&timeline);
    assert_hold(&critical, 1, HELD_BY_ISSUE, SPAN_NONE, 900);
    critical_free(&critical);
}
END_TEST

/* Long names are cut between characters and leave room for the rest. */
START_TEST(test_long_names)
{
    char longer[301];
    const char *long_names[] = {longer};
    memset(longer, 'x', sizeof longer);
    memcpy(longer + 47, "\xc3\xa4", 2);
    longer[300] = '\0';
    struct span spans[] = {
        {.kind = OP_KERNEL, .tile = 1000000, .end_ns = INT64_MAX - 2000},
        {.kind = OP_D2H, .tile = 1000000, .start_ns = INT64_MAX - 1000, .end_ns = INT64_MAX}};
    struct timeline timeline = by_hand(spans, 2, TIMING_CUPTI);
    timeline.names = long_names;
    struct critical critical = test_critical(&timeline);
    char text[CRITICAL_TEXT];
    critical_explain(&timeline, &critical, 1, text);
    ck_assert_ptr_nonnull(strstr(text, "waited for xxxxxxx"));
    ck_assert_ptr_nonnull(strstr(text, "x.. 1000000 (stream 0), before"));
    ck_assert_ptr_nonnull(strstr(text, "then 1 us to start"));
    critical_free(&critical);
}
END_TEST

/* Zero-length spans, many at one time, one engine, one stream each: no way round in circles. */
START_TEST(test_zero_length_spans)
{
    struct span spans[64] = {0};
    for (uint32_t i = 0; i < 64; i++)
        spans[i] = (struct span){.kind = i % 3 == 1 ? OP_KERNEL : OP_H2D,
                                 .stream = i % 7,
                                 .start_ns = i < 32 ? 5 : 6,
                                 .end_ns = i < 32 ? 5 : 6};
    struct timeline timeline = by_hand(spans, 64, TIMING_VIRTUAL);
    struct critical critical = test_critical(&timeline);
    ck_assert_uint_ge(critical.path_count, 1);
    for (uint32_t i = 1; i < critical.path_count; i++)
        ck_assert_uint_lt(critical.path[i - 1], critical.path[i]);
    critical_free(&critical);
}
END_TEST

static TCase *by_hand_case(void)
{
    TCase *tests = tcase_create("by hand");
    tcase_add_test(tests, test_empty);
    tcase_add_test(tests, test_one_span);
    tcase_add_test(tests, test_stream_order);
    tcase_add_test(tests, test_copies_take_turns);
    tcase_add_test(tests, test_issue_ends_with_its_call);
    tcase_add_test(tests, test_events);
    tcase_add_test(tests, test_several_waits);
    tcase_add_test(tests, test_room_for_kernels);
    tcase_add_test(tests, test_launches_take_time);
    tcase_add_test(tests, test_launch_time_is_learnt);
    tcase_add_test(tests, test_only_earlier_ones_hold);
    tcase_add_test(tests, test_shared_copy_engine);
    tcase_add_test(tests, test_copies_that_never_meet);
    tcase_add_test(tests, test_cpu_and_callbacks_take_turns);
    tcase_add_test(tests, test_callbacks_are_told_of);
    tcase_add_test(tests, test_jitter);
    tcase_add_test(tests, test_issue_unknown);
    tcase_add_test(tests, test_long_names);
    tcase_add_test(tests, test_zero_length_spans);
    return tests;
}

Suite *critical_suite(void)
{
    Suite *suite = suite_create("critical");
    suite_add_tcase(suite, by_hand_case());
    suite_add_tcase(suite, critical_plans_case());
    return suite;
}
