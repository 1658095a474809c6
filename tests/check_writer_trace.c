/* check_writer_trace.c - Chrome traces: of ordinary runs, of real plans, and of what is odd. */
#include "fixtures.h"
#include "plan/build.h"
#include "sim/simulator.h"
#include "suites.h"
#include "trace_rules.h"
#include "writer_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_whole(const struct report *report)
{
    struct trace_file file = trace_file_read(report);
    trace_file_check(&file, report);
    trace_file_check_flows(&file);
    trace_file_free(&file);
}

/* The metadata of run `index`. */
static json_t *run_of(const struct trace_file *file, size_t index)
{
    json_t *runs = trace_member(trace_member(file->root, "metadata"), "runs");
    return json_array_get(runs, index);
}

/* The first event of a name; of process `pid` if that is not 0. */
static json_t *event_of(const struct trace_file *file, const char *name, int pid)
{
    json_t *event;
    size_t i;
    json_array_foreach(file->events, i, event)
    {
        if (strcmp(trace_text(event, "name"), name) == 0 &&
            (pid == 0 || trace_integer(event, "pid") == pid))
            return event;
    }
    return NULL;
}

static const char *process_of(const struct trace_file *file, int pid)
{
    return trace_text(trace_member(event_of(file, "process_name", pid), "args"), "name");
}

START_TEST(a_comparison_is_one_file)
{
    struct test_report *test = test_report_new(TEST_RUNS_MAX);
    check_whole(&test->report);
    struct trace_file file = trace_file_read(&test->report);
    ck_assert_str_eq(process_of(&file, 1), "serial: 1 ms, 1.00x, limit 500 us, simulated");
    ck_assert_str_eq(process_of(&file, 4), "4-way: 450 us, 2.22x, limit 400 us, simulated");
    for (int pid = 1; pid <= TEST_RUNS_MAX; pid++) {
        json_t *sort = event_of(&file, "process_sort_index", pid);
        ck_assert_int_eq(trace_integer(trace_member(sort, "args"), "sort_index"), pid);
    }
    static const char *const tracks[] = {"H2D",      "kernel",   "D2H",      "CPU",
                                         "stream 0", "stream 1", "stream 2", "host calls"};
    json_t *event;
    size_t i, seen = 0;
    json_array_foreach(file.events, i, event)
    {
        if (trace_integer(event, "pid") != 4 || trace_text(event, "ph")[0] != 'M')
            continue;
        json_t *args = trace_member(event, "args");
        if (strcmp(trace_text(event, "name"), "thread_name") == 0)
            ck_assert_str_eq(trace_text(args, "name"), tracks[seen]);
        if (strcmp(trace_text(event, "name"), "thread_sort_index") == 0)
            ck_assert_int_eq(trace_integer(args, "sort_index"), (int64_t)++seen);
    }
    ck_assert_uint_eq(seen, sizeof tracks / sizeof tracks[0]);
    trace_file_free(&file);
    free(test);
}
END_TEST

START_TEST(provenance_is_in_the_metadata)
{
    struct test_report *test = test_report_new(2);
    strcpy(test->runs[1].timeline.driver, "driver 13.0");
    test->runs[1].timeline.timing = TIMING_CUPTI;
    test->runs[1].speedup = NAN;
    test->settings[1].seed = UINT64_MAX; /* which a JSON reader of 64 bits can't take */
    struct trace_file file = trace_file_read(&test->report);
    json_t *run = run_of(&file, 1), *settings = trace_member(run, "settings");
    ck_assert_str_eq(trace_text(trace_member(file.root, "metadata"), "version"), "0.0.0-test");
    ck_assert_str_eq(trace_text(file.root, "displayTimeUnit"), "ms");
    ck_assert_int_eq(trace_integer(run, "pid"), 2);
    ck_assert_str_eq(trace_text(run, "name"), "2-way");
    ck_assert_str_eq(trace_text(run, "source"), "measured");
    ck_assert_str_eq(trace_text(run, "timing"), "cupti");
    ck_assert_str_eq(trace_text(run, "device"), "NVIDIA H200");
    ck_assert_str_eq(trace_text(run, "driver"), "driver 13.0");
    ck_assert_int_eq(trace_integer(run, "resolution_ns"), 1);
    ck_assert_double_eq(json_real_value(trace_member(run, "time_ms")), 0.85);
    ck_assert_double_eq(json_real_value(trace_member(run, "limit_ms")), 0.5);
    ck_assert(json_is_null(trace_member(run, "speedup")));
    ck_assert(json_is_true(trace_member(run, "verified")));
    ck_assert_double_eq(json_number_value(trace_member(run_of(&file, 0), "speedup")), 1);
    ck_assert_ptr_null(json_object_get(run_of(&file, 0), "driver"));
    ck_assert_int_eq(trace_integer(settings, "tiles"), 4);
    ck_assert_str_eq(trace_text(settings, "kernel"), "scale");
    ck_assert_str_eq(trace_text(settings, "seed"), "18446744073709551615");
    ck_assert(json_is_null(trace_member(settings, "input")));
    ck_assert(json_is_false(trace_member(settings, "callbacks")));
    ck_assert(strstr(process_of(&file, 2), ", measured") != NULL);
    trace_file_free(&file);
    free(test);
}
END_TEST

/* Runs one plan after another, all as the runs of one report. */
static void simulate(struct run_report *run, struct settings *settings)
{
    struct machine machine;
    struct plan plan;
    struct error error = {0};
    int64_t issued_ns;
    enum status status = machine_built_in(&machine, "h200", &error);
    if (status == STATUS_OK)
        status = plan_build(settings, &machine, &plan, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    run->timeline = (struct timeline){0};
    status = simulator_run(&machine, settings->connections, &plan, NULL, &run->timeline,
                           &issued_ns, &error);
    if (status == STATUS_OK)
        status = critical_find(&run->timeline, NULL, &run->critical, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    run->settings = settings;
    run->median_ns = timeline_time_ns(&run->timeline);
    run->speedup = 1;
    plan_free(&plan);
}

static struct settings random_settings(uint64_t *random)
{
    static const char *const chains[] = {"scale", "wave", "scale,scale,scale", "sum",
                                         "wave,sum"};
    struct settings settings =
        test_random_settings(random, chains[test_random_below(random, 5)], 30, 4);
    settings.elements = settings.tiles * (uint64_t)(1 + test_random_below(random, 100000));
    settings.connections = test_random_below(random, 3);
    settings.intensity = 1 + test_random_below(random, 2000);
    settings.cpu_share = test_random_below(random, 11) / 10.0;
    return settings;
}

/* Plans as the program makes them: waits, callbacks, reductions, kernels side by side, a CPU.
 */
START_TEST(real_plans_keep_the_rules)
{
    enum { RUNS = 5 };
    uint64_t random = 77;
    struct run_report runs[RUNS] = {0};
    struct settings settings[RUNS];
    struct report report = {.version = "0.0.0-test", .runs = runs, .run_count = RUNS};
    for (int i = test_cases(40); i > 0; i--) {
        for (int r = 0; r < RUNS; r++) {
            settings[r] = random_settings(&random);
            simulate(&runs[r], &settings[r]);
        }
        check_whole(&report);
        report_free(&report);
    }
}
END_TEST

/* One run by stages, with all that is known of it. */
static void simulate_stages(struct run_report *run, struct settings *settings)
{
    *run = (struct run_report){0};
    *settings = test_settings("scale");
    settings->tiles = 8;
    settings->elements = 1 << 20;
    settings->layout = LAYOUT_STAGE;
    simulate(run, settings);
}

START_TEST(spans_say_what_held_them)
{
    struct run_report run;
    struct settings settings;
    simulate_stages(&run, &settings);
    struct report report = {.version = "0.0.0-test", .runs = &run, .run_count = 1};
    struct trace_file file = trace_file_read(&report);
    uint32_t explained = 0, on_path = 0;
    for (size_t i = 0; i < file.slice_count; i++) {
        json_t *args = trace_member(file.slices[i].json, "args");
        json_t *why = json_object_get(args, "why");
        if (strcmp(file.slices[i].track, "host calls") == 0)
            continue;
        struct span *span = timeline_span(&run.timeline, (uint32_t)trace_integer(args, "op"));
        uint32_t index = (uint32_t)(span - run.timeline.spans);
        const struct hold *hold = &run.critical.holds[index];
        char text[CRITICAL_TEXT];
        on_path += json_is_true(json_object_get(args, "critical"));
        ck_assert_int_eq(json_object_get(args, "critical") != NULL,
                         run.critical.on_path[index]);
        if (why == NULL)
            continue;
        explained++;
        ck_assert_str_eq(json_string_value(why),
                         critical_explain(&run.timeline, &run.critical, index, text));
        if (span->kind == OP_WAIT)
            continue;
        ck_assert_str_eq(trace_text(args, "held by"), held_by_name(hold->by));
        ck_assert_int_eq(trace_integer(args, "free_ns"), hold->free_ns);
        ck_assert_int_eq(json_object_get(args, "waited for") != NULL, hold->span != SPAN_NONE);
    }
    ck_assert_uint_eq(explained, run.timeline.span_count);
    ck_assert_uint_eq(on_path, 2 * run.critical.path_count); /* by engine and by stream */
    trace_file_free(&file);
    report_free(&report);
}
END_TEST

START_TEST(calls_last_until_the_next)
{
    struct run_report run;
    struct settings settings;
    simulate_stages(&run, &settings);
    struct report report = {.version = "0.0.0-test", .runs = &run, .run_count = 1};
    struct trace_file file = trace_file_read(&report);
    const int64_t *issue_ns = run.timeline.issue_ns;
    uint32_t calls = 0, records = 0;
    for (size_t i = 0; i < file.slice_count; i++) {
        const struct trace_slice *slice = &file.slices[i];
        if (strcmp(slice->track, "host calls") != 0)
            continue;
        bool record = strcmp(trace_text(slice->json, "name"), "issue record") == 0;
        ck_assert_int_eq(trace_integer(trace_member(slice->json, "args"), "op"), calls);
        ck_assert_int_eq(slice->start_ns, issue_ns[calls]);
        ck_assert_int_eq(slice->end_ns,
                         issue_ns[calls + (calls + 1 < run.timeline.issue_count)]);
        ck_assert_int_eq(record, timeline_span(&run.timeline, calls) == NULL);
        records += record;
        calls++;
    }
    ck_assert_uint_eq(calls, run.timeline.issue_count);
    ck_assert_uint_gt(records, 0);
    trace_file_free(&file);
    report_free(&report);
}
END_TEST

START_TEST(a_wait_names_what_it_waited_for)
{
    struct test_report *test = test_report_new(1);
    test_report_span(test, 0, OP_WAIT, 1, 2, 5, 99)->target = 1;
    test_report_span(test, 0, OP_WAIT, 1, 3, 99, 99)->target = UINT32_MAX;
    check_whole(&test->report);
    struct trace_file file = trace_file_read(&test->report);
    json_t *wait = event_of(&file, "wait for scale 0", 1);
    ck_assert_str_eq(trace_text(trace_member(wait, "args"), "waited for"), "scale 0");
    wait = event_of(&file, "wait", 1); /* what it waited for was over before it */
    ck_assert_ptr_null(json_object_get(trace_member(wait, "args"), "waited for"));
    trace_file_free(&file);
    free(test);
}
END_TEST

/* Measured times may be off by some ns: drawn one behind another, but told as they are. */
START_TEST(a_stream_is_drawn_without_overlaps)
{
    struct test_report *test = test_report_new(1);
    test_report_span(test, 0, OP_WAIT, 7, -1, 0, 105);
    test_report_span(test, 0, OP_KERNEL, 7, 9, 2000000, 2000100);
    test_report_span(test, 0, OP_CALLBACK, 7, 9, 2000098, 2000150);
    test_report_span(test, 0, OP_WAIT, 7, 9, 2000120, 2000140);
    test_report_span(test, 0, OP_H2D, 7, 9, 2000149, 2000300);
    struct trace_file file = trace_file_read(&test->report);
    trace_file_check(&file, &test->report);
    trace_file_free(&file);
    free(test);
}
END_TEST

START_TEST(names_come_back_clean)
{
    struct test_report *test = test_report_new(2);
    const char *kernels[] = {test_names[_i]};
    char clean[3 * RUN_NAME_MAX + 1], name[3 * RUN_NAME_MAX + 16];
    utf8_of(clean, sizeof clean, test_names[_i]);
    strcpy(test->settings[1].name, test_names[_i]);
    test->settings[1].input = test_names[_i];
    snprintf(test->runs[1].device, sizeof test->runs[1].device, "%s", test_names[_i]);
    test->runs[1].timeline.names = kernels;
    check_whole(&test->report);
    struct trace_file file = trace_file_read(&test->report);
    ck_assert_str_eq(trace_text(run_of(&file, 1), "name"), clean);
    ck_assert_str_eq(trace_text(trace_member(run_of(&file, 1), "settings"), "input"), clean);
    ck_assert_int_eq(strncmp(process_of(&file, 2), clean, strlen(clean)), 0);
    snprintf(name, sizeof name, "%s 3", clean);
    ck_assert_ptr_nonnull(event_of(&file, name, 2));
    trace_file_free(&file);
    free(test);
}
END_TEST

/* --- what is odd --- */

START_TEST(nothing_is_a_valid_trace)
{
    struct test_report *test = test_report_new(3);
    test->runs[1].timeline.span_count = 0;
    test->runs[1].profiled = true;
    check_whole(&test->report);
    test->report.run_count = 0;
    check_whole(&test->report);
    struct trace_file file = trace_file_read(&test->report);
    ck_assert_uint_eq(json_array_size(file.events), 0);
    trace_file_free(&file);
    free(test);
}
END_TEST

/* A trace of another program: no settings, no limit; its streams' own names; when its calls
 * began, if that is known. */
START_TEST(a_foreign_run_says_what_is_known)
{
    struct test_report *test = test_report_new(1);
    struct run_report *run = &test->runs[0];
    uint32_t ids[] = {13};
    run->foreign = true;
    run->timeline.timing = TIMING_CUPTI;
    run->timeline.stream_ids = ids;
    run->timeline.issue_unknown = _i == 1;
    for (uint32_t i = 0; i < run->timeline.span_count; i++)
        run->timeline.spans[i].tile = -1;
    check_whole(&test->report);
    struct trace_file file = trace_file_read(&test->report);
    ck_assert_str_eq(process_of(&file, 1), "serial: 1 ms, measured");
    ck_assert_ptr_null(json_object_get(run_of(&file, 0), "settings"));
    ck_assert_ptr_null(json_object_get(run_of(&file, 0), "limit_ms"));
    size_t instants = 0, streams = 0;
    for (size_t i = 0; i < file.slice_count; i++) {
        instants += trace_text(file.slices[i].json, "ph")[0] == 'i';
        streams += strcmp(file.slices[i].track, "stream 13") == 0;
    }
    ck_assert_uint_eq(instants, _i == 1 ? 0 : run->timeline.span_count);
    ck_assert_uint_eq(streams, run->timeline.span_count);
    trace_file_free(&file);
    free(test);
}
END_TEST

START_TEST(times_are_exact_to_the_last_ns)
{
    static const int64_t times[][2] = {
        {0, 0},
        {0, 1},
        {-1, 0},
        {-999, 999},
        {-1000, -1},
        {INT64_MIN, INT64_MIN},
        {INT64_MIN, INT64_MAX},
        {INT64_MAX - 1, INT64_MAX},
        {INT64_MAX, INT64_MAX},
        {99999999, 100000000},
        {9999999999999999, 10000000000000001},
        {1, INT64_MAX},
    };
    struct test_report *test = test_report_new(1);
    test->runs[0].timeline.span_count = 0;
    struct span *span =
        test_report_span(test, 0, OP_H2D, 0, INT32_MAX, times[_i][0], times[_i][1]);
    span->bytes = INT64_MAX;
    span->issue_ns = times[_i][0];
    test_report_span(test, 0, OP_D2H, 0, INT32_MAX, times[_i][1], times[_i][1]);
    check_whole(&test->report);
    free(test);
}
END_TEST

/* A run whose spans are in `spans`. */
static void check_many(struct span *spans, uint32_t count)
{
    struct test_report *test = test_report_new(2);
    struct span *own = test->runs[0].timeline.spans;
    test->runs[0].timeline.spans = spans;
    test->runs[0].timeline.span_count = count;
    struct trace_file file = trace_file_read(&test->report);
    trace_file_check(&file, &test->report);
    trace_file_free(&file);
    test->runs[0].timeline.spans = own;
    free(test);
}

START_TEST(a_hundred_thousand_lanes_are_tracks)
{
    uint32_t count = (uint32_t)test_cases(100000);
    struct span *spans = calloc(count, sizeof *spans);
    for (uint32_t i = 0; i < count; i++) {
        spans[i] = (struct span){.op = i,
                                 .kind = OP_KERNEL,
                                 .engine = ENGINE_COMPUTE,
                                 .lane = i,
                                 .stream = i % 1000,
                                 .tile = (int32_t)i,
                                 .start_ns = 10 * (int64_t)i,
                                 .end_ns = 10 * (int64_t)count + i};
    }
    check_many(spans, count);
    free(spans);
}
END_TEST

/* The counter takes spans in chunks: here from backwards to any order at all, with many alike.
 */
START_TEST(the_counter_is_right_in_any_order)
{
    uint32_t count = (uint32_t)test_cases(12000);
    uint64_t random = 5 + (uint64_t)_i;
    struct span *spans = calloc(count, sizeof *spans);
    for (uint32_t i = 0; i < count; i++) {
        int64_t start_ns = _i == 0   ? 7 * (int64_t)(count - i)
                           : _i == 1 ? test_random_below(&random, count)
                           : _i == 2 ? test_random_below(&random, 2)
                                     : 3 * (int64_t)i + test_random_below(&random, 500);
        enum op_kind kinds[] = {OP_H2D, OP_KERNEL, OP_D2H, OP_CPU};
        enum op_kind kind = kinds[test_random_below(&random, 4)];
        /* The last are long: one left out, wherever it is sorted to, shows. */
        int64_t length_ns = i + 4 < count ? test_random_below(&random, 12) : 2000 + i;
        spans[i] = (struct span){.op = i,
                                 .kind = (uint8_t)kind,
                                 .engine = op_rows[kind].engine & SPAN_BITS,
                                 .lane = i,
                                 .stream = i,
                                 .tile = -1,
                                 .start_ns = start_ns,
                                 .end_ns = start_ns + length_ns};
    }
    check_many(spans, count);
    free(spans);
}
END_TEST

Suite *writer_trace_suite(void)
{
    int names = 0;
    while (test_names[names] != NULL)
        names++;
    Suite *suite = suite_create("writer_trace");
    TCase *usual = tcase_create("usual"), *odd = tcase_create("odd");
    tcase_add_test(usual, a_comparison_is_one_file);
    tcase_add_test(usual, provenance_is_in_the_metadata);
    tcase_add_test(usual, real_plans_keep_the_rules);
    tcase_add_test(usual, spans_say_what_held_them);
    tcase_add_test(usual, calls_last_until_the_next);
    tcase_add_test(usual, a_wait_names_what_it_waited_for);
    tcase_add_test(odd, a_stream_is_drawn_without_overlaps);
    tcase_add_loop_test(odd, names_come_back_clean, 0, names);
    tcase_add_test(odd, nothing_is_a_valid_trace);
    tcase_add_loop_test(odd, a_foreign_run_says_what_is_known, 0, 2);
    tcase_add_loop_test(odd, times_are_exact_to_the_last_ns, 0, 12);
    tcase_add_test(odd, a_hundred_thousand_lanes_are_tracks);
    tcase_add_loop_test(odd, the_counter_is_right_in_any_order, 0, 4);
    suite_add_tcase(suite, usual);
    suite_add_tcase(suite, odd);
    return suite;
}
