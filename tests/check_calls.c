/* check_calls.c - syncs, allocations, memsets, copies within the device and kinds of streams,
 * on their way through the rooms but the simulator: the plan and its hazards, timelines, the
 * critical path, the bytes, and what writers show of them. */
#include "analysis/critical.h"
#include "app/backends.h"
#include "check_contract_timeline.h"
#include "critical_cases.h"
#include "run/backend.h"
#include "sim_cases.h"
#include "suites.h"
#include "writer_cases.h"

#include <stdlib.h>
#include <string.h>

/* --- the plan --- */

START_TEST(test_bad_ops_are_refused)
{
    struct error error = {0};
    struct plan plan = test_plan(2, 0, 1, 100);
    test_d2d(&plan, 0, 0, 100);
    test_memset(&plan, 1, 0, 100, 7);
    test_sync(&plan, 2);
    test_alloc(&plan, 1, true);
    ck_assert_msg(plan_validate(&plan, &error) == STATUS_OK, "%s", error.text);
    struct op *d2d = &plan.ops[0], *set = &plan.ops[1], good = *d2d;
    d2d->move.from.bytes = 99;
    test_plan_refused(&plan, "op 0 (d2d) copies between ranges of different sizes");
    *d2d = good;
    d2d->move.to.buffer = BUFFER_DEVICE_IN0;
    d2d->move.to.offset = 99;
    test_plan_refused(&plan, "overlap");
    *d2d = good;
    d2d->move.to.buffer = BUFFER_HOST_OUT;
    test_plan_refused(&plan, "works on a buffer of the other side");
    *d2d = good;
    d2d->move.to.bytes = d2d->move.from.bytes = 0;
    test_plan_refused(&plan, "copies nothing");
    *d2d = good;
    d2d->move.from.offset = 301;
    test_plan_refused(&plan, "reaches beyond its buffer");
    *d2d = good;
    set->set.range.bytes = 0;
    test_plan_refused(&plan, "op 1 (memset) sets nothing");
    set->set.range = (struct range){BUFFER_HOST_IN0, 0, 4};
    test_plan_refused(&plan, "works on a buffer of the other side");
    set->set.range = (struct range){BUFFER_DEVICE_IN0, 0, 4};
    plan.ops[2].stream = 3;
    test_plan_refused(&plan, "is in a stream that the plan does not have");
    plan.ops[2].stream = 1;
    plan.ops[3].stream = 1;
    test_plan_refused(&plan, "op 3 (alloc page-locked) is in a stream");
    plan.ops[3].stream = 2;
    plan.ops[3].alloc.bytes = 0;
    test_plan_refused(&plan, "takes no memory");
    plan_free(&plan);
}
END_TEST

START_TEST(test_bad_stream_kinds_are_refused)
{
    static const enum stream_kind kinds[] = {STREAM_LEGACY, STREAM_BLOCKING};
    struct error error = {0};
    int priorities[] = {-1, 0};
    struct plan plan = test_plan(2, 0, 1, 100);
    test_stream_kinds(&plan, kinds);
    ck_assert_msg(plan_validate(&plan, &error) == STATUS_OK, "%s", error.text);
    plan.stream_kinds[1] = STREAM_LEGACY;
    test_plan_refused(&plan, "stream 1 is the legacy default stream, too");
    plan.stream_kinds[1] = STREAM_KIND_COUNT;
    test_plan_refused(&plan, "stream 1 is of no kind");
    plan.stream_kinds[1] = STREAM_BLOCKING;
    plan.priorities = priorities;
    test_plan_refused(&plan, "stream 0 is the legacy default stream, which has no priority");
    plan.priorities = NULL;
    plan_free(&plan);
}
END_TEST

/* --- hazards --- */

/* A copy out in another stream than the memset that it needs. */
static struct plan racing(uint32_t *between)
{
    struct plan plan = test_plan(3, 0, 1, 100);
    test_memset(&plan, 0, 0, 100, 0);
    *between = test_sync(&plan, 0);
    test_d2h(&plan, 1, 0, 0, 100);
    return plan;
}

START_TEST(test_syncs_remove_hazards)
{
    uint32_t sync;
    struct plan plan = racing(&sync);
    ck_assert_uint_eq(test_hazard_count(&plan), 0);
    plan.ops[sync].stream = 3; /* the device */
    ck_assert_uint_eq(test_hazard_count(&plan), 0);
    plan.ops[sync].stream = 1; /* not the one it has to wait for */
    ck_assert_uint_eq(test_hazard_count(&plan), 1);
    /* Machines differ in what an allocation synchronises: no plan may rely on it. */
    plan.ops[sync] = (struct op){.id = sync, .kind = OP_ALLOC, .stream = 3, .tile = -1};
    plan.ops[sync].alloc.bytes = 1;
    ck_assert_uint_eq(test_hazard_count(&plan), 1);
    plan_free(&plan);
}
END_TEST

/* The CPU takes its ops up by itself: the host's sync holds none of them up. */
START_TEST(test_syncs_do_not_order_the_cpu)
{
    struct plan plan = test_plan(1, 0, 2, 100);
    test_d2h(&plan, 0, 0, 0, 100);
    test_sync(&plan, 1);
    struct op cpu = {.kind = OP_CPU, .stream = 1, .tile = 1};
    cpu.cpu.count = 25;
    cpu.cpu.ranges = test_ranges(&plan);
    cpu.cpu.ranges->in[0] = (struct range){BUFFER_HOST_IN0, 0, 100};
    cpu.cpu.ranges->out = (struct range){BUFFER_HOST_OUT, 0, 100};
    ck_assert_int_eq(plan_append(&plan, &cpu, NULL), STATUS_OK);
    ck_assert_uint_eq(test_hazard_count(&plan), 1);
    plan_free(&plan);
}
END_TEST

START_TEST(test_legacy_stream_removes_hazards)
{
    static const struct {
        enum stream_kind kinds[3];
        size_t hazards;
    } cases[] = {
        {{STREAM_LEGACY, STREAM_BLOCKING, STREAM_BLOCKING}, 0},
        {{STREAM_BLOCKING, STREAM_LEGACY, STREAM_BLOCKING}, 0},
        {{STREAM_LEGACY, STREAM_NONBLOCKING, STREAM_BLOCKING}, 1},
        {{STREAM_NONBLOCKING, STREAM_LEGACY, STREAM_BLOCKING}, 1},
        {{STREAM_BLOCKING, STREAM_BLOCKING, STREAM_LEGACY}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t sync;
        struct plan plan = racing(&sync);
        plan.ops[sync].stream = 2; /* idle */
        test_stream_kinds(&plan, cases[i].kinds);
        if (cases[i].kinds[2] == STREAM_LEGACY) /* its sync is one of all blocking streams */
            ck_assert_uint_eq(test_hazard_count(&plan), 0);
        plan.ops[sync] = (struct op){.id = sync, .kind = OP_CALLBACK, .stream = 1, .tile = -1};
        ck_assert_uint_eq(test_hazard_count(&plan), cases[i].hazards);
        plan_free(&plan);
    }
}
END_TEST

/* Two blocking streams are ordered by what stands between them in the legacy one: any op. */
START_TEST(test_legacy_op_between_blocking_streams)
{
    static const enum stream_kind kinds[] = {STREAM_BLOCKING, STREAM_BLOCKING, STREAM_LEGACY};
    static const enum op_kind between_kinds[] = {OP_CALLBACK, OP_RECORD};
    for (size_t i = 0; i < sizeof between_kinds / sizeof between_kinds[0]; i++) {
        uint32_t between;
        struct plan plan = racing(&between);
        test_stream_kinds(&plan, kinds);
        plan.events = 1;
        plan.ops[between] =
            (struct op){.id = between, .kind = between_kinds[i], .stream = 2, .tile = -1};
        ck_assert_uint_eq(test_hazard_count(&plan), 0);
        plan.stream_kinds[2] = STREAM_BLOCKING;
        ck_assert_uint_eq(test_hazard_count(&plan), 1);
        plan_free(&plan);
    }
}
END_TEST

/* --- a run with all of it --- */

enum { BYTES = 64 };

/* in0 goes in; half of it is copied to out on the device, the other half of that is set; both
 * come out, in a stream each. Every op but the first waits for the one before it. */
static struct plan every_new_kind(void)
{
    static const enum stream_kind kinds[] = {STREAM_NONBLOCKING, STREAM_BLOCKING, STREAM_LEGACY,
                                             STREAM_BLOCKING};
    struct error error = {0};
    struct plan plan = test_plan(4, 0, 1, BYTES / 4);
    test_stream_kinds(&plan, kinds);
    test_h2d(&plan, 0, 0, 0, BYTES);
    test_sync(&plan, 0);
    test_d2d(&plan, 1, 0, BYTES / 2);                  /* 2 */
    test_memset(&plan, 2, BYTES / 2, BYTES / 2, 0x5A); /* 3: after 2, as the legacy stream */
    test_d2h(&plan, 3, 0, 0, BYTES);                   /* 4: after 3 */
    test_alloc(&plan, 4096, false);                    /* 5 */
    test_alloc(&plan, 4096, true);                     /* 6 */
    test_sync(&plan, 4);                               /* 7 */
    test_memset(&plan, 0, 0, BYTES, 0xA5);             /* 8: after 7 */
    ck_assert_msg(plan_validate(&plan, &error) == STATUS_OK, "%s", error.text);
    ck_assert_uint_eq(test_hazard_count(&plan), 0);
    return plan;
}

START_TEST(test_bytes)
{
    static const char *const machines[] = {"h200", "c2050"};
    struct settings settings = test_settings("scale");
    settings.elements = BYTES / 4;
    settings.tiles = 1;
    for (int i = 0; i < 2; i++) {
        struct error error = {0};
        struct backend *backend;
        struct arrays arrays = {0};
        struct run_times times;
        struct plan plan = every_new_kind();
        ck_assert_int_eq(backends[0]->open(machines[i], &settings, &backend, &error),
                         STATUS_OK);
        ck_assert_int_eq(arrays_create(&arrays, &plan, &settings, &error), STATUS_OK);
        struct workload workload = {.plan = &plan, .settings = &settings, .arrays = &arrays};
        ck_assert_int_eq(backends[0]->prepare(backend, &workload, &error), STATUS_OK);
        struct timeline timeline = {0};
        ck_assert_msg(backends[0]->run(backend, &timeline, &times, &error) == STATUS_OK, "%s",
                      error.text);
        contract_check_timeline(&plan, &timeline, 2, false, machines[i]);
        timeline_free(&timeline);
        const uint8_t *in = arrays.host[BUFFER_HOST_IN0], *out = arrays.host[BUFFER_HOST_OUT];
        ck_assert_mem_eq(out, in, BYTES / 2);
        for (int byte = BYTES / 2; byte < BYTES; byte++)
            ck_assert_uint_eq(out[byte], 0x5A);
        backends[0]->release(backend);
        backends[0]->close(backend);
        arrays_free(&arrays);
        plan_free(&plan);
    }
}
END_TEST

/* --- the timeline --- */

START_TEST(test_spans)
{
    struct machine machine = test_machine_named("h200");
    struct plan plan = every_new_kind();
    struct timeline timeline = sim_run(&machine, &plan);
    char text[SPAN_NAME];
    static const struct {
        uint32_t op;
        const char *name;
        enum engine engine;
        uint32_t stream;
        uint64_t bytes;
    } cases[] = {
        {1, "h2d 0", ENGINE_HOST, 0, 0},
        {2, "d2d", ENGINE_COMPUTE, 1, BYTES / 2},
        {3, "memset", ENGINE_COMPUTE, 2, BYTES / 2},
        {5, "alloc", ENGINE_HOST, 4, 0},
        {7, "d2h 0", ENGINE_HOST, 4, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct span *span = timeline_span(&timeline, cases[i].op);
        ck_assert_str_eq(timeline_span_name(&timeline, span, text), cases[i].name);
        ck_assert_int_eq(span->engine, cases[i].engine);
        ck_assert_uint_eq(span->stream, cases[i].stream);
        ck_assert_uint_eq(span->bytes, cases[i].bytes);
        ck_assert_int_eq(span->issue_ns <= span->start_ns, 1);
    }
    ck_assert_int_eq(timeline_stream_kind(&timeline, 2), STREAM_LEGACY);
    ck_assert_int_eq(timeline_stream_kind(&timeline, 4), STREAM_NONBLOCKING);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* Where only ends are known, an op of a blocking stream starts behind the legacy stream's. */
START_TEST(test_rebuilt_starts_mind_the_legacy_stream)
{
    static const enum stream_kind kinds[] = {STREAM_BLOCKING, STREAM_LEGACY, STREAM_BLOCKING};
    static const int64_t ends[] = {100, 150, 300}, starts[] = {0, 100, 150};
    struct error error = {0};
    struct plan plan = test_plan(3, 0, 1, 100);
    struct timeline timeline = {0};
    test_stream_kinds(&plan, kinds);
    test_h2d(&plan, 0, 0, 0, 100);
    test_memset(&plan, 1, 0, 100, 0);
    test_d2h(&plan, 2, 0, 200, 100);
    ck_assert_int_eq(timeline_begin(&timeline, &plan, &error), STATUS_OK);
    for (int i = 0; i < 3; i++)
        timeline.spans[i].end_ns = ends[i];
    ck_assert_int_eq(timeline_rebuild_starts(&timeline, &plan, &error), STATUS_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(timeline.spans[i].start_ns, starts[i]);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* --- the critical path --- */

static void assert_on_path(const struct critical *critical, const uint32_t *spans,
                           uint32_t count)
{
    ck_assert_uint_eq(critical->path_count, count);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_uint_eq(critical->path[i], spans[i]);
}

/* It leads through the host's calls, and through the legacy stream. */
START_TEST(test_critical_path)
{
    static const uint32_t path[] = {0, 1, 2, 3, 4, 5};
    static const enum stream_kind kinds[] = {STREAM_BLOCKING, STREAM_LEGACY, STREAM_BLOCKING};
    char text[CRITICAL_TEXT];
    struct machine machine = test_machine();
    machine.sync_ns = machine.alloc_ns = 5;
    machine.compute_capability = 9.0;
    struct plan plan = test_plan(3, 0, 2, 200);
    test_stream_kinds(&plan, kinds);
    test_h2d(&plan, 0, 0, 0, 200);
    test_sync(&plan, 0);
    test_alloc(&plan, 100, true);
    test_h2d(&plan, 0, 1, 200, 200);
    test_memset(&plan, 1, 0, 100, 0);
    test_d2h(&plan, 2, 0, 400, 100);
    struct timeline timeline = sim_run(&machine, &plan);
    timeline.timing = TIMING_VIRTUAL;
    struct critical critical = test_critical(&timeline);
    assert_on_path(&critical, path, 6);
    ck_assert_int_eq(critical.holds[2].by, HELD_BY_CALL);
    ck_assert_int_eq(critical.holds[4].by, HELD_BY_LEGACY);
    ck_assert_int_eq(critical.holds[5].by, HELD_BY_LEGACY);
    ck_assert_uint_eq(critical.holds[1].span, 0);
    ck_assert_int_eq(critical.holds[3].by, HELD_BY_CALL);
    ck_assert_uint_eq(timeline.spans[critical.holds[3].span].kind, OP_ALLOC);
    ck_assert_str_eq(critical_explain(&timeline, &critical, 5, text),
                     "waited for memset (stream 1): blocking streams and the default stream "
                     "take turns");
    critical_free(&critical);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* A callback waits for no call of the host's: those have no engine. */
START_TEST(test_calls_are_no_engines_turns)
{
    struct machine machine = test_machine();
    machine.callback_ns = 10;
    machine.sync_ns = 50;
    struct plan plan = test_plan(2, 0, 1, 100);
    test_sync(&plan, 0);
    sim_callback(&plan, 1, 0);
    struct timeline timeline = sim_run(&machine, &plan);
    timeline.timing = TIMING_VIRTUAL;
    struct critical critical = test_critical(&timeline);
    ck_assert_int_eq(critical.holds[1].by, HELD_BY_CALL);
    ck_assert_uint_eq(critical.holds[1].span, 0);
    critical_free(&critical);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* --- writers --- */

/* One run of a hand-made timeline with a span of each new kind, and a wait for a copy. */
static struct test_report *new_kinds_report(void)
{
    struct test_report *test = test_report_new(1);
    struct timeline *timeline = &test->runs[0].timeline;
    timeline->span_count = 0;
    test_report_span(test, 0, OP_H2D, 0, 0, 0, 100000);
    test_report_span(test, 0, OP_SYNC, 0, -1, 50000, 100000)->target = 0;
    test_report_span(test, 0, OP_MEMSET, 1, -1, 100000, 200000);
    test_report_span(test, 0, OP_D2D, 0, 0, 200000, 300000)->bytes = 4096;
    test_report_span(test, 0, OP_ALLOC, timeline->streams, -1, 300000, 400000);
    return test;
}

static void assert_has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
}

START_TEST(test_gantt_rows)
{
    struct test_report *test = new_kinds_report();
    struct writer_style style = {.width = 93, .gantt = GANTT_ENGINES}; /* 80 columns */
    char *text = test_gantt(&test->report, &style);
    assert_has(text, "kernel    ....................Z===================E0==================");
    assert_has(text, "host      ..........S=========");
    assert_has(text, "A===================");
    assert_has(text, "E d2d   Z memset   S sync   A alloc");
    free(text);
    style.gantt = GANTT_STREAMS;
    text = test_gantt(&test->report, &style);
    assert_has(text, "stream 0  H0==================....................E0==================");
    assert_has(text, "host      ..........S=========");
    ck_assert_ptr_null(strstr(text, "stream 2"));
    free(text);
    free(test);
}
END_TEST

START_TEST(test_csv_rows)
{
    struct test_report *test = new_kinds_report();
    char *text = test_written(&test->report, write_csv_timeline);
    assert_has(text, ",1,sync,h2d 0,,0,host,0,0,7,50000,100000\n");
    assert_has(text, ",2,memset,memset,,1,compute,0,0,14,100000,200000\n");
    assert_has(text, ",3,d2d,d2d,0,0,compute,0,4096,21,200000,300000\n");
    assert_has(text, ",4,alloc,alloc,,");
    free(text);
    free(test);
}
END_TEST

/* The host's calls are on the host's track alone, the rest on its stream's, too. */
START_TEST(test_trace_slices)
{
    static const struct {
        const char *name;
        int slices;
    } cases[] = {{"\"name\":\"sync for H2D 0\"", 1},
                 {"\"name\":\"alloc\"", 1},
                 {"\"name\":\"memset\"", 2},
                 {"\"name\":\"D2D 0\"", 2}};
    struct test_report *test = new_kinds_report();
    char *text = test_written(&test->report, write_trace);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int slices = 0;
        for (const char *at = text; (at = strstr(at, cases[i].name)) != NULL; at++)
            slices++;
        ck_assert_msg(slices == cases[i].slices, "%s: %d times in\n%s", cases[i].name, slices,
                      text);
    }
    assert_has(text, "\"name\":\"host\"");
    free(text);
    free(test);
}
END_TEST

START_TEST(test_plan_lines)
{
    char *text;
    size_t size;
    struct settings settings = test_settings("scale");
    struct plan plan = every_new_kind();
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    write_plan(out, &plan, &settings);
    fclose(out);
    assert_has(text, "priorities none; non-blocking,blocking,legacy,blocking\n");
    assert_has(text, "1 d2d, 2 memset, 2 sync, 2 alloc");
    assert_has(text, "     1    host  sync stream 0\n");
    assert_has(text, "     2       1  d2d                32 B                    "
                     "device.in0+0 -> device.out+0\n");
    assert_has(text, "     3       2  memset             32 B of 90             -> "
                     "device.out+32\n");
    assert_has(text, "     5    host  alloc device       4 KiB\n");
    assert_has(text, "     6    host  alloc page-locked  4 KiB\n");
    assert_has(text, "     7    host  sync device\n");
    free(text);
    plan_free(&plan);
}
END_TEST

Suite *calls_suite(void)
{
    Suite *suite = suite_create("calls");
    TCase *tests = tcase_create("calls");
    tcase_add_test(tests, test_bad_ops_are_refused);
    tcase_add_test(tests, test_bad_stream_kinds_are_refused);
    tcase_add_test(tests, test_syncs_remove_hazards);
    tcase_add_test(tests, test_syncs_do_not_order_the_cpu);
    tcase_add_test(tests, test_legacy_stream_removes_hazards);
    tcase_add_test(tests, test_legacy_op_between_blocking_streams);
    tcase_add_test(tests, test_bytes);
    tcase_add_test(tests, test_spans);
    tcase_add_test(tests, test_rebuilt_starts_mind_the_legacy_stream);
    tcase_add_test(tests, test_critical_path);
    tcase_add_test(tests, test_calls_are_no_engines_turns);
    tcase_add_test(tests, test_gantt_rows);
    tcase_add_test(tests, test_csv_rows);
    tcase_add_test(tests, test_trace_slices);
    tcase_add_test(tests, test_plan_lines);
    suite_add_tcase(suite, tests);
    return suite;
}
