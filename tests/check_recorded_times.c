/* check_recorded_times.c - recorded plans in the simulator: as long as the plan that was built,
 * and what only recorded plans have. */
#include "plan/build.h"
#include "recorded_plan.h"
#include "run/backend.h"

#include <math.h>
#include <stdlib.h>

/* --- as long as the plan that was recorded --- */

/* Returns true if two launches of a run had blocks on the GPU at once. */
static bool launches_overlap(const struct timeline *timeline)
{
    int64_t end_ns = 0;
    struct span **spans = calloc(timeline->span_count + 1, sizeof *spans);
    ck_assert_ptr_nonnull(spans);
    size_t count =
        timeline_engine_spans(timeline, (struct resource){ENGINE_COMPUTE, 0, 0}, spans);
    bool overlap = false;
    for (size_t i = 0; i < count; i++) {
        overlap |= spans[i]->start_ns < end_ns;
        end_ns = later(end_ns, spans[i]->end_ns);
    }
    free(spans);
    return overlap;
}

/* Compares a recording with the plan itself: each span, where no launches ran side by side, for
 * then each takes what it takes alone. Side by side they share the GPU's rates, which a
 * measured launch does not: returns by what part the run's time differs. */
static double assert_as_long(const struct plan *built, const struct machine *machine)
{
    struct plan plan = recorded_of(built, machine);
    struct timeline own = sim_run(machine, built), other = sim_run(machine, &plan);
    ck_assert_uint_eq(own.span_count, other.span_count);
    bool exact = !launches_overlap(&own);
    for (uint32_t i = 0; i < own.span_count && exact; i++) {
        const struct span *a = &own.spans[i], *b = &other.spans[i];
        ck_assert_int_eq(a->issue_ns, b->issue_ns);
        ck_assert_int_eq(a->start_ns, b->start_ns);
        ck_assert_int_eq(a->end_ns, b->end_ns);
        ck_assert_uint_eq(a->bytes, b->bytes);
        if (a->kind == OP_KERNEL)
            ck_assert_str_eq(own.names[a->link], other.names[b->link]);
    }
    double time = (double)timeline_time_ns(&own);
    double differs = fabs((double)timeline_time_ns(&other) / time - 1);
    timeline_free(&own);
    timeline_free(&other);
    plan_free(&plan);
    return exact ? -1 : differs;
}

struct sums {
    int exact, close;
    double worst;
};

static void try_settings(const struct settings *settings, const struct machine *machine,
                         struct sums *sums)
{
    struct plan plan;
    struct error error = {0};
    enum status status = plan_build(settings, machine, &plan, &error);
    if (status == STATUS_USAGE) /* no place for this mistake */
        return;
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    double differs = assert_as_long(&plan, machine);
    sums->exact += differs < 0;
    sums->close += differs >= 0;
    sums->worst = fmax(sums->worst, differs);
    plan_free(&plan);
}

static struct settings some_settings(int i)
{
    static const char *const chains[] = {"scale", "wave", "scan", "scale,scale,sum"};
    struct settings settings = test_settings(chains[i % 4]);
    settings.order = i / 4 % 2 ? ORDER_BREADTH : ORDER_DEPTH;
    settings.layout = i / 8 % 2 ? LAYOUT_STAGE : LAYOUT_TILE;
    settings.elements = 1 << 20;
    settings.tiles = 8;
    settings.streams = i / 16 % 3 + 1;
    settings.callbacks = i / 48 % 2;
    settings.memory = i / 48 == 2 ? MEMORY_PAGEABLE : MEMORY_PINNED;
    settings.intensity = i % 3 == 0 ? 400 : 1;
    if (i / 48 == 3) {
        settings.priority_count = 2;
        settings.priorities[0] = -3;
    }
    return settings;
}

/* Measured kernels keep their time side by side, where the model lets them share the GPU. That
 * makes most of two kernels whose blocks take less than half of it, and whose arithmetic all:
 * `wave` at an intensity of 400 on an H200, whose run is a quarter shorter. */
START_TEST(recordings_take_as_long)
{
    static const char *const names[] = {"h200", "c2050", "c1060"};
    struct sums sums = {0};
    for (int m = 0; m < 3; m++) {
        struct machine machine;
        struct error error = {0};
        ck_assert_msg(machine_load(&machine, names[m], &error) == STATUS_OK, "%s", error.text);
        for (int i = 0; i < 4 * 48; i++) {
            struct settings settings = some_settings(i);
            try_settings(&settings, &machine, &sums);
        }
    }
    ck_assert_msg(sums.exact > 500 && sums.worst < 0.25, "%d exact, %d close, worst %.3f",
                  sums.exact, sums.close, sums.worst);
}
END_TEST

START_TEST(mistakes_take_as_long)
{
    static const char *const names[] = {"h200", "c2050"};
    struct sums sums = {0};
    for (int m = 0; m < 2; m++) {
        struct machine machine;
        struct error error = {0};
        ck_assert_msg(machine_load(&machine, names[m], &error) == STATUS_OK, "%s", error.text);
        machine.sync_latency_ns = 0; /* is part of a recorded allocation's own time */
        for (int mistake = 1; mistake < test_mistake_count(); mistake++) {
            for (int layout = 0; layout < 2; layout++) {
                struct settings settings = test_settings("scale");
                settings.elements = 1 << 20;
                settings.tiles = 8;
                settings.streams = 3;
                settings.layout = layout ? LAYOUT_STAGE : LAYOUT_TILE;
                settings.mistake = mistake;
                try_settings(&settings, &machine, &sums);
            }
        }
    }
    ck_assert_msg(sums.exact > 20 && sums.worst < 0.1, "%d exact, %d close, worst %.3f",
                  sums.exact, sums.close, sums.worst);
}
END_TEST

/* --- what only recorded plans have --- */

START_TEST(kernels_of_half_a_gpu)
{
    struct machine machine = test_machine();
    struct plan built = test_plan(3, 0, 1, 64);
    for (uint32_t i = 0; i < 3; i++)
        test_kernel(&built, i, 0, 0, 64, 1);
    struct plan plan = recorded_of(&built, &machine);
    for (uint32_t i = 0; i < 3; i++) {
        plan.recorded->ops[i].fill = 0.5;
        plan.recorded->ops[i].work_ns = 100 + 10 * i;
    }
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 0, 100);
    sim_assert_span(&timeline, 1, 0, 110);
    sim_assert_span(&timeline, 2, 100, 220);
    timeline_free(&timeline);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* Copies within the device and memsets are launches as well; a kernel of no time takes a ns. */
START_TEST(measured_launches_of_all_kinds)
{
    struct machine machine = test_machine();
    struct plan built = test_plan(1, 0, 1, 64);
    test_memset(&built, 0, 0, 256, 1);
    test_d2d(&built, 0, 0, 256);
    test_kernel(&built, 0, 0, 0, 64, 1);
    sim_callback(&built, 0, 0);
    struct plan plan = recorded_of(&built, &machine);
    machine.callback_ns = 1000; /* it is in what was measured */
    plan.recorded->ops[0].work_ns = 7;
    plan.recorded->ops[1].work_ns = 30;
    plan.recorded->ops[2].work_ns = 0;
    plan.recorded->ops[3].work_ns = 500;
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 0, 7);
    sim_assert_span(&timeline, 1, 7, 37);
    sim_assert_span(&timeline, 2, 37, 38);
    sim_assert_span(&timeline, 3, 38, 538);
    timeline_free(&timeline);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* The first copy is staged at a quarter of the rate; its call returns when the last piece of 64
 * bytes is in the buffer, or, where it waited for the copy, when that has ended. */
START_TEST(memory_is_each_copy_s_own)
{
    struct machine machine = test_machine();
    machine.pageable_h2d_bytes_per_s = machine.pageable_d2h_bytes_per_s = 0.25e9;
    machine.staging_bytes = machine.staging_piece_bytes = 64;
    machine.issue_copy_ns = 1;
    struct plan built = test_plan(2, 0, 1, 64);
    test_h2d(&built, 0, 0, 0, 256);
    test_d2h(&built, 1, 0, 0, 256);
    test_h2d(&built, 0, 0, 0, 256);
    struct plan plan = recorded_of(&built, &machine);
    for (int how = 0; how < 3; how++) {
        plan.recorded->ops[0].pageable = how > 0;
        plan.recorded->ops[0].waits = how > 1;
        int64_t end = how == 0 ? 257 : 1 + 1024 + 64, called = how == 0 ? 1 : 1025;
        called = how > 1 ? end : called;
        struct timeline timeline = sim_run(&machine, &plan);
        sim_assert_span(&timeline, 0, 1, end);
        sim_assert_span(&timeline, 1, called + 1, called + 257);
        sim_assert_span(&timeline, 2, later(end, called + 2), later(end, called + 2) + 256);
        ck_assert_int_eq(timeline.issue_ns[1], called);
        ck_assert_uint_eq(timeline.spans[0].host_memory,
                          how > 0 ? HOST_MEMORY_PAGEABLE : HOST_MEMORY_PINNED);
        timeline_free(&timeline);
    }
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* cudaMemcpy() from pinned memory, a memset and a host function that the host waited for. */
START_TEST(blocking_calls)
{
    struct machine machine = test_machine();
    machine.compute_capability = 9; /* a memset holds up its own stream alone */
    struct plan built = test_plan(2, 0, 1, 64);
    test_h2d(&built, 0, 0, 0, 100);
    test_memset(&built, 0, 0, 4, 1);
    sim_callback(&built, 0, 0);
    test_d2h(&built, 1, 0, 0, 10);
    struct plan plan = recorded_of(&built, &machine);
    plan.recorded->ops[1].work_ns = 20;
    plan.recorded->ops[2].work_ns = 30;
    static const int64_t starts[] = {0, 100, 120, 150};
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t j = 0; j < 3; j++)
            plan.recorded->ops[j].waits = j == i;
        sim_assert_start(&machine, &plan, 3, starts[i + 1]);
    }
    plan.recorded->ops[2].waits = false;
    sim_assert_start(&machine, &plan, 3, 0);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* A queue of three copies with an event behind the second: the host goes on at its end. */
START_TEST(event_sync_in_the_middle_of_a_queue)
{
    struct machine machine = test_machine();
    machine.sync_ns = 5;
    struct plan built = test_plan(2, 2, 1, 64);
    test_h2d(&built, 0, 0, 0, 100);
    test_record(&built, 0, 0);
    test_h2d(&built, 0, 0, 0, 10);
    test_record(&built, 0, 0);
    test_h2d(&built, 0, 0, 0, 50);
    uint32_t sync = recorded_sync_event(&built, 0);
    uint32_t back = test_d2h(&built, 1, 0, 0, 10);
    test_record(&built, 0, 0); /* a later record is another */
    uint32_t never = recorded_sync_event(&built, 1);
    test_wait(&built, 1, 1);
    uint32_t last = test_d2h(&built, 1, 0, 0, 10);
    struct plan plan = recorded_of(&built, &machine);
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, sync, 0, 115);
    ck_assert_uint_eq(timeline_span(&timeline, sync)->target, 2);
    sim_assert_span(&timeline, back, 115, 125);
    sim_assert_span(&timeline, never, 115, 120);
    ck_assert_uint_eq(timeline_span(&timeline, never)->target, UINT32_MAX);
    ck_assert_uint_eq(timeline_span(&timeline, last - 1)->target, UINT32_MAX);
    sim_assert_span(&timeline, last, 125, 135);
    timeline_free(&timeline);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

START_TEST(code_is_loaded_by_name)
{
    struct machine machine = test_machine();
    machine.lazy_load_ns = 1000;
    struct plan built = test_plan(1, 0, 1, 64);
    for (int i = 0; i < 3; i++)
        test_kernel(&built, 0, 0, 0, 64, 1);
    built.chain[1] = kernel_find("wave");
    built.chain_length = 2;
    struct plan plan = recorded_of(&built, &machine);
    plan.loads_lazily = true;
    plan.recorded->ops[2].name = 1;
    for (int i = 0; i < 3; i++)
        plan.recorded->ops[i].work_ns = 1;
    struct timeline timeline = sim_run(&machine, &plan);
    sim_assert_span(&timeline, 0, 1000, 1001);
    sim_assert_span(&timeline, 1, 1001, 1002);
    sim_assert_span(&timeline, 2, 2000, 2001);
    char text[SPAN_NAME], label[OP_LABEL];
    ck_assert_str_eq(timeline_span_name(&timeline, &timeline.spans[2], text), "wave");
    ck_assert_str_eq(plan_op_label(&plan, &plan.ops[2], label), "wave");
    timeline_free(&timeline);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* Memory is taken for as long as it was seen to take, whatever the machine's file says. */
START_TEST(allocations_take_as_long_as_seen)
{
    struct machine machine = test_machine();
    machine.alloc_small_ns = 300;
    struct plan built = test_plan(1, 0, 1, 256);
    uint32_t alloc = test_alloc(&built, 8, false), copy = test_h2d(&built, 0, 0, 0, 10);
    struct plan plan = recorded_of(&built, &machine);
    sim_assert_start(&machine, &plan, copy, 300);
    plan.recorded->ops[alloc].work_ns = 1234;
    sim_assert_start(&machine, &plan, copy, 1234);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* Behind a kernel of stream 0 an event is recorded; kernels of other streams come behind it.
 * On an H200 with one queue one that keeps the time holds these up until that kernel has ended,
 * though nothing waits for it; one that does not, or that is in a stream with nothing before
 * it, holds up nobody, and with a queue for each stream none does. */
START_TEST(events_that_keep_the_time_take_a_place_in_the_queue)
{
    struct machine machine = test_machine();
    machine.queues = 1;
    struct plan built = test_plan(4, 2, 4, 200);
    const uint32_t first = test_kernel(&built, 0, 0, 0, 50, 1),
                   idle = test_record(&built, 3, 0),
                   beside = test_kernel(&built, 1, 1, 50, 50, 1),
                   behind = test_record(&built, 0, 1),
                   other = test_kernel(&built, 2, 2, 100, 50, 1);
    struct plan plan = recorded_of(&built, &machine);
    struct timeline timeline = sim_run(&machine, &plan);
    const int64_t end_ns = timeline.spans[0].end_ns;
    timeline_free(&timeline);
    ck_assert_int_gt(end_ns, 0);
    sim_assert_start(&machine, &plan, other, 0);
    plan.recorded->ops[idle].timed = plan.recorded->ops[behind].timed = true;
    sim_assert_start(&machine, &plan, first, 0);
    sim_assert_start(&machine, &plan, beside, 0);
    sim_assert_start(&machine, &plan, other, end_ns);
    machine.queues = 4;
    sim_assert_start(&machine, &plan, other, 0);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

TCase *recorded_times_case(void)
{
    TCase *tc = tcase_create("times");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, recordings_take_as_long);
    tcase_add_test(tc, mistakes_take_as_long);
    tcase_add_test(tc, kernels_of_half_a_gpu);
    tcase_add_test(tc, measured_launches_of_all_kinds);
    tcase_add_test(tc, memory_is_each_copy_s_own);
    tcase_add_test(tc, blocking_calls);
    tcase_add_test(tc, event_sync_in_the_middle_of_a_queue);
    tcase_add_test(tc, code_is_loaded_by_name);
    tcase_add_test(tc, allocations_take_as_long_as_seen);
    tcase_add_test(tc, events_that_keep_the_time_take_a_place_in_the_queue);
    return tc;
}
