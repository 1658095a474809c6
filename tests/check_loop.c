/* check_loop.c - the loop that a timeline shows: where it begins and ends, and none where there
 * is none. */
#include "analysis/loop.h"
#include "fixtures.h"
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- timelines by hand: one op behind the other --- */

enum { OPS_MOST = 20000, HOST_THREAD = 7 };

struct script {
    struct timeline timeline;
    int64_t now_ns;
    uint32_t thread;
};

static struct script begin(void)
{
    struct script script = {.thread = HOST_THREAD};
    script.timeline = (struct timeline){0};
    script.timeline.spans = calloc(OPS_MOST, sizeof *script.timeline.spans);
    script.timeline.calls =
        arena_zeros(&script.timeline.arena, OPS_MOST, sizeof *script.timeline.calls);
    script.timeline.streams = 4;
    return script;
}

static void op(struct script *script, enum op_kind kind, unsigned name, int64_t ns)
{
    struct timeline *timeline = &script->timeline;
    struct span *span = &timeline->spans[timeline->span_count];
    ck_assert_uint_lt(timeline->span_count, OPS_MOST);
    *span = (struct span){.op = timeline->span_count++,
                          .kind = (uint8_t)kind,
                          .link = (uint16_t)(kind == OP_KERNEL ? name : 0),
                          .bytes = kind == OP_KERNEL ? 0 : (uint64_t)name << 10,
                          .issue_ns = script->now_ns,
                          .start_ns = script->now_ns + 1000,
                          .end_ns = script->now_ns + 1000 + ns};
    timeline->calls[timeline->call_count++] =
        (struct host_call){.start_ns = script->now_ns,
                           .end_ns = script->now_ns + 500,
                           .thread = script->thread,
                           .row = host_call_row("cudaLaunchKernel")};
    script->now_ns = span->end_ns;
}

static void host(struct script *script, int64_t ns)
{
    script->now_ns += ns;
}

/* A pass of 48 us: a copy in, three kernels, a copy out, 5 us of the host. */
static void pass(struct script *script)
{
    op(script, OP_H2D, 64, 10000);
    op(script, OP_KERNEL, 1, 5000);
    op(script, OP_KERNEL, 2, 5000);
    op(script, OP_KERNEL, 1, 5000);
    op(script, OP_D2H, 64, 13000);
    host(script, 5000);
}
enum { PASS_NS = 48000 };

/* What comes before: copies of all sizes, kernels of all names, a second of the host. */
static void start_up(struct script *script)
{
    for (unsigned i = 0; i < 40; i++)
        op(script, i % 3 ? OP_KERNEL : OP_H2D, 10 + i, 4000 + 100 * i);
    host(script, 1000000000);
}

static struct loop find(struct script *script)
{
    struct loop loop;
    struct error error = {0};
    ck_assert_int_eq(loop_find(&script->timeline, &loop, &error), STATUS_OK);
    if (loop.passes > 0) {
        ck_assert_uint_ge(loop.passes, LOOP_PASSES_MIN);
        ck_assert_int_lt(loop.from_ns, loop.to_ns);
        ck_assert_int_ge(loop.from_ns, 0);
        ck_assert_int_le(loop.to_ns, timeline_time_ns(&script->timeline));
    }
    return loop;
}

static void end(struct script *script)
{
    timeline_free(&script->timeline);
}

/* Has the op that was added last wait for those of other streams. */
static void queue(struct script *script, uint32_t stream, int64_t start_ns)
{
    struct timeline *timeline = &script->timeline;
    struct span *span = &timeline->spans[timeline->span_count - 1];
    span->stream = stream;
    span->end_ns += start_ns - span->start_ns;
    span->start_ns = start_ns;
    script->now_ns = span->issue_ns + 1000;
}

/* --- what is found --- */

START_TEST(a_loop_is_found_between_other_ops)
{
    struct script script = begin();
    start_up(&script);
    const int64_t begin_ns = script.now_ns;
    for (int i = 0; i < 20; i++)
        pass(&script);
    const int64_t end_ns = script.now_ns;
    start_up(&script);
    const struct loop loop = find(&script);
    ck_assert_uint_ge(loop.passes, 19);
    ck_assert_uint_le(loop.passes, 20);
    ck_assert_uint_eq(loop.ops, 5);
    ck_assert_int_eq(loop.pass_ns, PASS_NS);
    ck_assert_int_ge(loop.from_ns, begin_ns - PASS_NS);
    ck_assert_int_le(loop.to_ns, end_ns);
    ck_assert_int_eq(loop.to_ns - loop.from_ns, loop.passes * (int64_t)PASS_NS);
    end(&script);
}
END_TEST

/* What is left of a pass at the end is no part of few passes, and not worth a word of many. */
START_TEST(what_a_cut_left_of_a_pass_makes_none_longer)
{
    static const int passes[] = {3, 40};
    for (int i = 0; i < 2; i++) {
        struct script script = begin();
        for (int k = 0; k < passes[i]; k++)
            pass(&script);
        op(&script, OP_H2D, 64, 10000);
        op(&script, OP_KERNEL, 1, 5000);
        const struct loop loop = find(&script);
        ck_assert_uint_eq(loop.passes, passes[i]);
        ck_assert_uint_eq(loop.ops, 5);
        ck_assert_int_le(loop.pass_ns, PASS_NS + PASS_NS / 50);
        end(&script);
    }
}
END_TEST

/* Copies of one stream that wait in it, and a kernel of another one that does not: when the
 * last one was issued, no pass had ended. */
START_TEST(queued_copies_are_no_loop_that_ends_before_it_begins)
{
    struct script script = begin();
    op(&script, OP_H2D, 16 << 10, 300000);
    host(&script, 10000000);
    const int64_t begin_ns = script.now_ns;
    for (int i = 0; i < 20; i++) {
        op(&script, OP_H2D, 16 << 10, 300000);
        queue(&script, 1, begin_ns + 1000 + 300000 * i);
    }
    op(&script, OP_KERNEL, 1, 20000);
    const struct loop loop = find(&script);
    ck_assert(loop.passes == 0 || loop.ops > 0);
    end(&script);
}
END_TEST

/* Two threads do the same. One pass of the first one takes half a second: what the other one
 * did before that is no reason to judge it. */
START_TEST(slow_first_passes_stay_out_whatever_other_threads_did)
{
    struct script script = begin();
    for (int i = 0; i < 40; i++) {
        script.thread = HOST_THREAD + (i % 4 == 3);
        pass(&script);
        host(&script, i < 2 ? 250000000 : 0);
        if (i == 0) {
            script.thread = HOST_THREAD + 1;
            op(&script, OP_KERNEL, 1, 5000);
        }
    }
    const struct loop loop = find(&script);
    ck_assert_uint_ge(loop.passes, 20);
    ck_assert_int_lt(loop.to_ns - loop.from_ns, 40 * (int64_t)PASS_NS);
    end(&script);
}
END_TEST

/* A result that is checked behind the loop is no part of a pass, even with fewer ops. */
START_TEST(few_other_ops_at_the_end_are_behind_the_loop)
{
    struct script script = begin();
    for (int i = 0; i < 20; i++)
        pass(&script);
    const int64_t end_ns = script.now_ns;
    host(&script, 400000000);
    op(&script, OP_KERNEL, 9, 3000);
    op(&script, OP_D2H, 1, 2000);
    const struct loop loop = find(&script);
    ck_assert_uint_eq(loop.passes, 20);
    /* What the host did behind the last pass is no part of it. */
    ck_assert_int_eq(loop.pass_ns, PASS_NS - 5000 / 20);
    ck_assert_int_le(loop.to_ns, end_ns);
    end(&script);
}
END_TEST

/* The first passes load code, and take longer: they are start-up. */
START_TEST(slow_first_passes_are_left_out)
{
    struct script script = begin();
    for (int i = 0; i < 20; i++) {
        host(&script, i < 3 ? 900000 : 0);
        pass(&script);
    }
    const struct loop loop = find(&script);
    ck_assert_uint_eq(loop.passes, 17);
    ck_assert_int_ge(loop.from_ns, 3 * 900000);
    end(&script);
}
END_TEST

/* A kernel runs behind every 20th pass. Its first launch loads its code, and the pass that
 * comes next waits: all up to that is start-up. Where the call takes little of a pass, or later
 * ones as long, all passes count. */
START_TEST(passes_up_to_the_last_load_of_code_are_left_out)
{
    static const struct {
        int64_t first_ns, later_ns;
        uint32_t passes;
    } cases[] = {{3000000, 3000, 179}, {PASS_NS / 5, 500, 200}, {60000, 60000, 200}};
    struct script script = begin();
    script.timeline.name_count = 4;
    for (int i = 0; i < 200; i++) {
        pass(&script);
        if (i % 20 != 19)
            continue;
        op(&script, OP_KERNEL, 3, 2000);
        struct host_call *call = &script.timeline.calls[script.timeline.call_count - 1];
        call->end_ns = call->start_ns + (i == 19 ? cases[_i].first_ns : cases[_i].later_ns);
        host(&script, call->end_ns - call->start_ns);
    }
    ck_assert_uint_eq(find(&script).passes, cases[_i].passes);
    end(&script);
}
END_TEST

/* Code is compiled in one of the first passes: all up to it is start-up. What holds up a pass
 * behind many that took no longer than usual is held up in the loop. */
START_TEST(a_pass_that_is_held_up_later_stays)
{
    enum { PASSES = 100, HELD_UP_NS = 1000000 };
    static const struct {
        int held_up;
        uint32_t passes;
    } cases[] = {{3, PASSES - 4}, {20, PASSES}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct script script = begin();
        for (int k = 0; k < PASSES; k++) {
            host(&script, k == cases[i].held_up ? HELD_UP_NS : 0);
            pass(&script);
        }
        const struct loop loop = find(&script);
        ck_assert_uint_eq(loop.passes, cases[i].passes);
        ck_assert_int_eq(loop.to_ns - loop.from_ns > PASSES * (int64_t)PASS_NS, i > 0);
        end(&script);
    }
}
END_TEST

/* What other passes do, too, is an evaluation; the commonest pass is judged, as long as no
 * other stands between. Where a graph is made each time, that is a pass of the loop. */
START_TEST(an_evaluation_is_no_part_of_the_pass)
{
    struct script script = begin();
    for (int i = 0; i < 60; i++) {
        pass(&script);
        if (_i == 1 && i % 10 == 9)
            script.timeline.calls[script.timeline.call_count++] =
                (struct host_call){script.now_ns, script.now_ns + 500, HOST_THREAD,
                                   .row = host_call_row("cudaGraphInstantiate")};
        host(&script, 1000);
        for (int k = 0; i % 10 == 9 && k < 6; k++) {
            op(&script, OP_H2D, 64, 10000);
            op(&script, OP_KERNEL, 1, 5000);
        }
    }
    const struct loop loop = find(&script);
    ck_assert_uint_eq(loop.ops, _i == 0 ? 5 : 10 * 5 + 6 * 2);
    ck_assert_int_eq(loop.passes >= 9 && loop.passes <= 11, _i == 0);
    ck_assert_int_eq(loop.pass_ns <= PASS_NS + 1000 && loop.pass_ns >= PASS_NS, _i == 0);
    end(&script);
}
END_TEST

/* Adds an op of the graph that the op before is of: one launch issued both. */
static void node(struct script *script, unsigned name)
{
    struct timeline *timeline = &script->timeline;
    op(script, OP_KERNEL, name, 5000);
    timeline->call_count--;
    timeline->spans[timeline->span_count - 1].issue_ns =
        timeline->spans[timeline->span_count - 2].issue_ns;
}

/* What repeats within a graph is no loop of the host's, which launches the graph again and
 * again. The two branches do not always take turns. */
START_TEST(a_launch_of_a_graph_is_one_pass)
{
    enum { PAIRS = 20, LAUNCHES = 60 };
    struct script script = begin();
    for (int i = 0; i < LAUNCHES; i++) {
        op(&script, OP_KERNEL, 3, 5000);
        for (unsigned k = 0; k < 2 * PAIRS; k++)
            node(&script, 1 + k % 2);
        for (unsigned k = 0; k < 4; k++)
            node(&script, 1 + k / 2);
        host(&script, 100000);
    }
    const struct loop loop = find(&script);
    ck_assert_uint_eq(loop.ops, 2 * PAIRS + 5);
    ck_assert_uint_ge(loop.passes, LAUNCHES - 1);
    end(&script);
}
END_TEST

/* Where little else lies between them, it is judged with them. */
START_TEST(a_message_now_and_then_stays)
{
    struct script script = begin();
    for (int i = 0; i < 61; i++) {
        pass(&script);
        if (i % 7 == 6)
            op(&script, OP_D2H, 1, 1000);
    }
    const struct loop loop = find(&script);
    ck_assert_uint_eq(loop.ops, 5);
    ck_assert_uint_ge(loop.passes, 59);
    ck_assert_uint_eq(loop.unlike, 8);
    end(&script);
}
END_TEST

/* A pass with one kernel of a template, which is one of five by chance; with `once`, one of
 * many, of which each is launched in one pass alone. */
static struct loop find_by_template(bool once)
{
    enum { PASSES = 40, FIRST = 3, KERNELS = 5 };
    uint64_t random = 7;
    static const char *const plain[FIRST] = {"fill", "scale", "sum"};
    static char names[PASSES][8];
    struct script script = begin();
    struct timeline *timeline = &script.timeline;
    timeline->name_count = FIRST + PASSES;
    timeline->names = arena_zeros(&timeline->arena, FIRST + PASSES, sizeof *timeline->names);
    memcpy(timeline->names, plain, sizeof plain);
    for (unsigned i = 0; i < PASSES; i++) {
        snprintf(names[i], sizeof names[i], "fft<%u>", i);
        timeline->names[FIRST + i] = names[i];
    }
    for (unsigned i = 0; i < PASSES; i++) {
        op(&script, OP_KERNEL, 1, 5000);
        op(&script, OP_KERNEL, FIRST + (once ? i : test_random_below(&random, KERNELS)), 5000);
        op(&script, OP_KERNEL, 2, 5000);
        host(&script, 5000);
    }
    const struct loop loop = find(&script);
    end(&script);
    return loop;
}

START_TEST(kernels_of_a_template_do_the_same_work)
{
    const struct loop loop = find_by_template(false);
    ck_assert_uint_ge(loop.passes, 38);
    ck_assert_uint_eq(loop.ops, 3);
    ck_assert_uint_eq(find_by_template(true).passes, 0);
}
END_TEST

/* Tiles that belong together by what stands once before and behind them are one pass. */
START_TEST(tiles_are_not_taken_for_passes)
{
    struct script script = begin();
    for (int i = 0; i < 12; i++) {
        op(&script, OP_H2D, 9999, 60000);
        for (int tile = 0; tile < 8; tile++)
            pass(&script);
        op(&script, OP_MEMSET, 1, 40000);
    }
    const struct loop loop = find(&script);
    ck_assert_uint_eq(loop.ops, 42);
    ck_assert_uint_ge(loop.passes, 11);
    end(&script);
}
END_TEST

/* Another thread's ops come when they come: the passes are those of the thread that issues
 * most.
 */
START_TEST(passes_are_those_of_one_thread)
{
    struct script script = begin();
    uint64_t state = 3;
    for (int i = 0; i < 50; i++) {
        op(&script, OP_H2D, 64, 10000);
        script.thread = 8;
        for (unsigned k = 0; k < 1 + test_random_below(&state, 3); k++)
            op(&script, OP_KERNEL, 40 + (unsigned)test_random_below(&state, 9), 1000);
        script.thread = HOST_THREAD;
        op(&script, OP_KERNEL, 1, 5000);
        op(&script, OP_KERNEL, 2, 5000);
        op(&script, OP_D2H, 64, 10000);
    }
    const struct loop loop = find(&script);
    ck_assert_uint_ge(loop.passes, 48);
    end(&script);
}
END_TEST

/* The host's calls before the loop are told apart by what they do. */
START_TEST(start_up_is_told_by_its_calls)
{
    struct script script = begin();
    struct host_call *call = &script.timeline.calls[0];
    call[0] = (struct host_call){0, 3000000, HOST_THREAD, .row = host_call_row("cudaMalloc")};
    call[1] = (struct host_call){3000000, 3500000, HOST_THREAD,
                                 .row = host_call_row("cudaLaunchKernel")};
    call[2] = (struct host_call){3500000, 3600000, HOST_THREAD,
                                 .row = host_call_row("cudaDeviceSynchronize")};
    call[3] = (struct host_call){3500000, 9000000, 99, .row = host_call_row("cudaMalloc")};
    script.timeline.call_count = 4;
    script.now_ns = 10000000;
    for (int i = 0; i < 20; i++)
        pass(&script);
    const struct loop loop = find(&script);
    ck_assert_int_eq(loop.startup.allocs_ns, 3000000);
    ck_assert_int_eq(loop.startup.loads_ns, 500000);
    ck_assert_int_eq(loop.startup.waits_ns, 100000);
    ck_assert_int_eq(loop.startup.calls_ns, 0);
    end(&script);
}
END_TEST

/* --- what is not --- */

/* A server does what it is asked for: ops of any kind, in any number. */
START_TEST(no_loop_is_found_where_nothing_repeats)
{
    struct script script = begin();
    uint64_t state = (uint64_t)_i + 1;
    for (int request = 0; request < 1000; request++) {
        op(&script, OP_H2D, 1 + (unsigned)test_random_below(&state, 3000), 5000);
        for (unsigned k = 0; k < test_random_below(&state, 16); k++)
            op(&script, OP_KERNEL, (unsigned)test_random_below(&state, 60), 3000);
        op(&script, OP_D2H, 1 + (unsigned)test_random_below(&state, 3000), 5000);
        host(&script, (int64_t)test_random_below(&state, 200000));
    }
    ck_assert_uint_eq(find(&script).passes, 0);
    end(&script);
}
END_TEST

START_TEST(few_passes_are_no_loop)
{
    struct script script = begin();
    ck_assert_uint_eq(find(&script).passes, 0);
    for (int i = 0; i < _i; i++)
        pass(&script);
    ck_assert_uint_eq(find(&script).passes, _i >= LOOP_PASSES_MIN ? (uint32_t)_i : 0);
    end(&script);
}
END_TEST

/* All copies in, then all kernels, then all copies out: none of these alone is the loop. */
START_TEST(phases_of_one_pass_are_no_loop)
{
    struct script script = begin();
    for (int i = 0; i < 32; i++)
        op(&script, OP_H2D, 64, 10000);
    for (int i = 0; i < 32; i++) {
        op(&script, OP_KERNEL, 1, 10000);
        op(&script, OP_D2H, 64, 10000);
    }
    ck_assert_uint_eq(find(&script).passes, 0);
    end(&script);
}
END_TEST

/* A recording that was cut in the middle of a pass, and one whose clock jumps. */
/* As often as passes do, but in little time, their data was made before. */
START_TEST(making_the_data_is_no_phase)
{
    struct script script = begin();
    for (int i = 0; i < 20; i++) {
        op(&script, OP_KERNEL, 4, 500);
        op(&script, OP_D2H, 1, 500);
    }
    for (int i = 0; i < 20; i++)
        pass(&script);
    const struct loop loop = find(&script);
    ck_assert_uint_eq(loop.ops, 5);
    ck_assert_uint_ge(loop.passes, 19);
    end(&script);
}
END_TEST

/* Steps that were marked are the passes, though no two have the same ops: not the first, which
 * starts up, and not the last, which has few ops. Without their marks they are no loop. */
START_TEST(marked_steps_are_the_passes)
{
    enum { STEPS = 6, OPS = 20 };
    static char names[STEPS][16];
    struct script script = begin();
    struct host_range ranges[STEPS];
    unsigned name = 100;
    int64_t begun_ns[STEPS + 1];
    for (int i = 0; i < STEPS; i++) {
        snprintf(names[i], sizeof names[i], "ProfilerStep#%d", 7 + i);
        ranges[i] = (struct host_range){.start_ns = script.now_ns, .name = names[i]};
        begun_ns[i] = script.now_ns + 1000; /* when its first op starts */
        if (i == 0)
            start_up(&script);
        for (int k = 0; k < (i == STEPS - 1 ? 2 : OPS + i % 2); k++)
            op(&script, OP_KERNEL, name++, 5000);
        ranges[i].end_ns = script.now_ns;
        host(&script, 500);
    }
    ck_assert_uint_eq(find(&script).passes, 0);
    script.timeline.ranges = ranges;
    script.timeline.range_count = STEPS;
    const struct loop loop = find(&script);
    ck_assert_uint_eq(loop.passes, STEPS - 2);
    ck_assert_int_eq(loop.from_ns, begun_ns[1]);
    ck_assert_int_eq(loop.to_ns, begun_ns[STEPS - 1]);
    ck_assert_uint_eq(loop.first, 40 + OPS);
    script.timeline.range_count = 2;
    ck_assert_uint_eq(find(&script).passes, 0);
    end(&script);
}
END_TEST

START_TEST(damaged_recordings_have_their_loop)
{
    struct script script = begin();
    for (int i = 0; i < 30; i++)
        pass(&script);
    script.timeline.span_count -= 3;
    ck_assert_uint_ge(find(&script).passes, 28);
    for (uint32_t i = 70; i < script.timeline.span_count; i++) {
        script.timeline.spans[i].issue_ns += INT64_C(1) << 50;
        script.timeline.spans[i].start_ns += INT64_C(1) << 50;
        script.timeline.spans[i].end_ns += INT64_C(1) << 50;
    }
    (void)find(&script);
    end(&script);
}
END_TEST

Suite *loop_suite(void)
{
    Suite *suite = suite_create("loop");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_loop_is_found_between_other_ops);
    tcase_add_test(all, few_other_ops_at_the_end_are_behind_the_loop);
    tcase_add_test(all, slow_first_passes_are_left_out);
    tcase_add_test(all, a_pass_that_is_held_up_later_stays);
    tcase_add_loop_test(all, passes_up_to_the_last_load_of_code_are_left_out, 0, 3);
    tcase_add_loop_test(all, an_evaluation_is_no_part_of_the_pass, 0, 2);
    tcase_add_test(all, a_launch_of_a_graph_is_one_pass);
    tcase_add_test(all, a_message_now_and_then_stays);
    tcase_add_test(all, kernels_of_a_template_do_the_same_work);
    tcase_add_test(all, tiles_are_not_taken_for_passes);
    tcase_add_test(all, slow_first_passes_stay_out_whatever_other_threads_did);
    tcase_add_test(all, what_a_cut_left_of_a_pass_makes_none_longer);
    tcase_add_test(all, queued_copies_are_no_loop_that_ends_before_it_begins);
    tcase_add_test(all, passes_are_those_of_one_thread);
    tcase_add_test(all, start_up_is_told_by_its_calls);
    tcase_add_loop_test(all, no_loop_is_found_where_nothing_repeats, 0, 8);
    tcase_add_loop_test(all, few_passes_are_no_loop, 1, 9);
    tcase_add_test(all, phases_of_one_pass_are_no_loop);
    tcase_add_test(all, making_the_data_is_no_phase);
    tcase_add_test(all, marked_steps_are_the_passes);
    tcase_add_test(all, damaged_recordings_have_their_loop);
    suite_add_tcase(suite, all);
    return suite;
}
