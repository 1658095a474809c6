/* check_writer_html.c - the page that --timeline=FILE.html writes: its data is read back, field
 * by field.
 *
 * With PIPELINE_PAGES=FOLDER in the environment the pages stay there, each with its CSV: the
 * tests in tests/browser open those that no run gives. */
#include "core/template.h"
#include "fixtures.h"
#include "recording_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "trace/view.h"
#include "writer_cases.h"
#include "writers/put.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char data_begin[] = "<script type=\"application/json\" id=\"data\">";
static const char data_end[] = "</script>";

static void keep(const char *path, const char *ending, const struct report *report,
                 report_writer *write)
{
    char name[512];
    snprintf(name, sizeof name, "%s.%s", path, ending);
    FILE *file = fopen(name, "w");
    ck_assert_msg(file != NULL, "%s can't be written", name);
    write(file, report);
    ck_assert_int_eq(fclose(file), 0);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

/* The data of the page of `report`, which is kept as `name` (NULL: it isn't). */
static json_t *data_of(const struct report *report, const char *name)
{
    char *page = test_written(report, write_html), path[400];
    const char *folder = getenv("PIPELINE_PAGES");
    if (folder != NULL && name != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        keep(path, "html", report, write_html);
        keep(path, "csv", report, write_csv_timeline);
    }
    ck_assert_uint_eq(strncmp(page, "<!DOCTYPE html>\n", 16), 0);
    ck_assert_str_eq(page + strlen(page) - 8, "</html>\n");
    ck_assert_uint_eq(count_of(page, "<script"), 2);
    ck_assert_uint_eq(count_of(page, "</script"), 2);
    char *data = strstr(page, data_begin);
    ck_assert_ptr_nonnull(data);
    data += strlen(data_begin);
    *strstr(data, data_end) = '\0';
    ck_assert_msg(strpbrk(data, "<>&") == NULL, "not escaped: %.200s", strpbrk(data, "<>&"));
    json_error_t error;
    json_t *root = json_loads(data, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s at %d in %.2000s", error.text, error.position, data);
    free(page);
    return root;
}

static json_t *run_of(json_t *root, size_t index)
{
    return json_array_get(json_object_get(root, "runs"), index);
}

static const char *text_at(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    ck_assert_msg(text != NULL, "%s is no text", key);
    return text;
}

/* A whole number, also where it is too large for JavaScript and so written as text. */
static int64_t whole(json_t *value)
{
    static const int64_t exact = INT64_C(1) << 53;
    if (json_is_string(value)) {
        int64_t number = strtoll(json_string_value(value), NULL, 10);
        ck_assert(number > exact || number < -exact);
        return number;
    }
    ck_assert(json_is_integer(value));
    ck_assert(json_integer_value(value) <= exact && json_integer_value(value) >= -exact);
    return json_integer_value(value);
}

static void check_span(json_t *values, const struct span *span)
{
    const int64_t expected[] = {
        span->op,       span->kind,     span->link,   span->engine,
        span->lane,     span->stream,   span->tile,   (int64_t)span->bytes,
        span->issue_ns, span->start_ns, span->end_ns,
    };
    ck_assert_uint_eq(json_array_size(values), 14);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        ck_assert_int_eq(whole(json_array_get(values, i)), expected[i]);
}

static void check_spans(json_t *root, const struct report *report)
{
    ck_assert_uint_eq(json_array_size(json_object_get(root, "runs")),
                      (size_t)report->run_count);
    for (int r = 0; r < report->run_count; r++) {
        const struct timeline *timeline = &report->runs[r].timeline;
        json_t *run = run_of(root, (size_t)r), *spans = json_object_get(run, "spans");
        ck_assert_uint_eq(json_array_size(spans), timeline->span_count);
        ck_assert_int_eq(whole(json_object_get(run, "span_count")), timeline->span_count);
        for (uint32_t i = 0; i < timeline->span_count; i++)
            check_span(json_array_get(spans, i), &timeline->spans[i]);
    }
}

START_TEST(page_has_every_span)
{
    struct test_report *test = test_report_new(4);
    test_report_span(test, 3, OP_CALLBACK, 2, 1, 1, 2);
    test_report_span(test, 3, OP_WAIT, 1, -1, 5, 9)->target = 2;
    json_t *root = data_of(&test->report, NULL);
    check_spans(root, &test->report);
    json_t *spans = json_object_get(run_of(root, 3), "spans");
    json_t *wait = json_array_get(spans, json_array_size(spans) - 1);
    ck_assert_str_eq(json_string_value(json_array_get(wait, 13)), "scale 0");
    json_decref(root);
    free(test);
}
END_TEST

START_TEST(page_has_the_figures)
{
    struct test_report *test = test_report_new(4);
    test->runs[3].repeats = 5;
    test->runs[3].sure = (struct time_range){430000, 495000};
    strcpy(test->runs[3].timeline.driver, "driver 13.0, runtime 13.0");
    json_t *root = data_of(&test->report, NULL), *run = run_of(root, 3);
    static const char *const texts[][2] = {
        {"name", "4-way"},          {"source", "simulated"},
        {"timing", "virtual"},      {"time", "450 us"},
        {"device", "NVIDIA H200"},  {"limit", "400 us"},
        {"ratio", "88.9%"},         {"speedup", "2.22x"},
        {"verified", "yes"},        {"bound", "copies"},
        {"drawn", "450 us"},        {"min", "450 us"},
        {"range", "430 to 495 us"}, {"driver", "driver 13.0, runtime 13.0"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert_str_eq(text_at(run, texts[i][0]), texts[i][1]);
    ck_assert_str_eq(text_at(root, "version"), "0.0.0-test");
    ck_assert_int_eq(whole(json_object_get(root, "axis_ns")), 1000000);
    ck_assert_int_eq(whole(json_object_get(run, "limit_ns")), 400000);
    ck_assert_int_eq(whole(json_object_get(run, "repeats")), 5);
    ck_assert(json_is_false(json_object_get(run, "foreign")));
    json_t *use = json_object_get(run, "use");
    ck_assert_str_eq(json_string_value(json_array_get(use, ENGINE_H2D)), "67%");
    ck_assert_str_eq(json_string_value(json_array_get(use, ENGINE_CPU)), "93%");
    json_decref(root);
    free(test);
}
END_TEST

static void find_setting(void *context, const char *name, const char *value,
                         enum value_kind kind)
{
    json_t *settings = context, *pair = json_array_get(settings, 0);
    ck_assert_str_eq(json_string_value(json_array_get(pair, 0)), name);
    ck_assert_str_eq(json_string_value(json_array_get(pair, 1)),
                     kind == VALUE_NULL ? "-" : value);
    json_array_remove(settings, 0);
}

START_TEST(page_has_every_setting)
{
    struct test_report *test = test_report_new(1);
    json_t *root = data_of(&test->report, NULL);
    json_t *settings = json_object_get(run_of(root, 0), "settings");
    ck_assert_uint_gt(json_array_size(settings), 10);
    settings_each(&test->settings[0], find_setting, settings);
    ck_assert_uint_eq(json_array_size(settings), 0);
    json_decref(root);
    free(test);
}
END_TEST

/* The page has for each span what held it, why, and if the end waited for it, just as
 * analysis/critical.h says. */
START_TEST(page_has_the_critical_path)
{
    struct test_report *test = test_report_new(1);
    struct run_report *run = &test->runs[0];
    struct error error = {0};
    ck_assert_int_eq(critical_find(&run->timeline, NULL, &run->critical, &error), STATUS_OK);
    ck_assert_ptr_nonnull(run->critical.holds);
    json_t *root = data_of(&test->report, NULL);
    json_t *spans = json_object_get(run_of(root, 0), "spans");
    int on_path = 0;
    for (uint32_t i = 0; i < run->timeline.span_count; i++) {
        json_t *values = json_array_get(spans, i);
        uint32_t holder = run->critical.holds[i].span;
        char text[CRITICAL_TEXT];
        ck_assert_int_eq(whole(json_array_get(values, 11)),
                         holder == SPAN_NONE ? -1 : (int64_t)holder);
        ck_assert_int_eq(whole(json_array_get(values, 12)), run->critical.on_path[i]);
        ck_assert_str_eq(json_string_value(json_array_get(values, 13)),
                         critical_explain(&run->timeline, &run->critical, i, text));
        on_path += run->critical.on_path[i];
    }
    ck_assert_int_gt(on_path, 0);
    json_decref(root);
    critical_free(&run->critical);
    free(test);
}
END_TEST

/* Names that would end the script, begin another, or are no UTF-8, from wherever one can come.
 */
START_TEST(page_escapes_every_name)
{
    static const char *const hostile[] = {"</script><script>alert(1)</script>", "<!--<script>",
                                          "\xff\xfe<b>&amp;\"'\\u003c\xc3",
                                          "line\nbreak\x7f\x01\t", "@data@@page.js@"};
    struct test_report *test = test_report_new(5);
    const char *names[5][1];
    char clean[256];
    for (int i = 0; i < 5; i++) {
        struct run_report *run = &test->runs[i];
        names[i][0] = hostile[i];
        strcpy(test->settings[i].name, hostile[i]);
        strcpy(run->device, hostile[i]);
        strcpy(run->timeline.driver, hostile[i]);
        test->settings[i].input = hostile[i];
        run->timeline.names = names[i];
    }
    json_t *root = data_of(&test->report, "hostile");
    for (size_t i = 0; i < 5; i++) {
        json_t *run = run_of(root, i);
        utf8_of(clean, sizeof clean, hostile[i]);
        ck_assert_str_eq(text_at(run, "name"), clean);
        ck_assert_str_eq(text_at(run, "device"), clean);
        ck_assert_str_eq(text_at(run, "driver"), clean);
        ck_assert_str_eq(json_string_value(json_array_get(json_object_get(run, "kernels"), 0)),
                         clean);
    }
    json_decref(root);
    free(test);
}
END_TEST

START_TEST(every_run_name_comes_back)
{
    struct test_report *test = test_report_new(1);
    char clean[3 * RUN_NAME_MAX + 1];
    strcpy(test->settings[0].name, test_names[_i]);
    json_t *root = data_of(&test->report, NULL);
    utf8_of(clean, sizeof clean, test_names[_i]);
    ck_assert_str_eq(text_at(run_of(root, 0), "name"), clean);
    json_decref(root);
    free(test);
}
END_TEST

START_TEST(page_of_no_runs_and_of_no_spans)
{
    struct test_report *test = test_report_new(1);
    test->report.run_count = 0;
    json_t *root = data_of(&test->report, "nothing");
    ck_assert_uint_eq(json_array_size(json_object_get(root, "runs")), 0);
    json_decref(root);
    test->report.run_count = 1;
    test->runs[0].timeline.span_count = 0;
    test->runs[0].timeline.name_count = 0;
    test->runs[0].median_ns = 0;
    root = data_of(&test->report, "empty");
    check_spans(root, &test->report);
    ck_assert_ptr_null(json_object_get(run_of(root, 0), "ratio"));
    ck_assert_int_eq(whole(json_object_get(root, "axis_ns")), 1);
    json_decref(root);
    test->runs[0].profiled = true;
    root = data_of(&test->report, "profiled");
    ck_assert(json_is_true(json_object_get(run_of(root, 0), "profiled")));
    json_decref(root);
    free(test);
}
END_TEST

START_TEST(page_of_spans_of_no_length)
{
    struct test_report *test = test_report_new(2);
    test->runs[0].timeline.span_count = 0;
    test_report_span(test, 0, OP_H2D, 0, 0, 0, 0);
    test_report_span(test, 1, OP_KERNEL, 0, 1, 1000, 1000);
    test_report_span(test, 1, OP_WAIT, 0, -1, 1000, 1000)->target = 999;
    json_t *root = data_of(&test->report, "zero");
    check_spans(root, &test->report);
    json_decref(root);
    free(test);
}
END_TEST

START_TEST(page_of_huge_numbers)
{
    struct test_report *test = test_report_new(1);
    test->runs[0].speedup = INFINITY;
    test->runs[0].limit.ns = INT64_MAX;
    test_report_span(test, 0, OP_H2D, 0, 4, INT64_MAX - 5000, INT64_MAX)->bytes = INT64_MAX;
    test_report_span(test, 0, OP_KERNEL, 0, INT32_MAX, -INT64_MAX, (INT64_C(1) << 53) + 1);
    test_report_span(test, 0, OP_D2H, UINT32_MAX - 1, INT32_MAX, INT64_C(1) << 53, INT64_MAX);
    json_t *root = data_of(&test->report, "huge");
    check_spans(root, &test->report);
    ck_assert_int_eq(whole(json_object_get(root, "axis_ns")), INT64_MAX);
    ck_assert_ptr_null(json_object_get(run_of(root, 0), "speedup"));
    json_decref(root);
    test->runs[0].timeline.spans[0].bytes = UINT64_MAX;
    root = data_of(&test->report, NULL);
    json_t *spans = json_object_get(run_of(root, 0), "spans");
    ck_assert_str_eq(json_string_value(json_array_get(json_array_get(spans, 0), 7)),
                     "18446744073709551615");
    json_decref(root);
    free(test);
}
END_TEST

/* A run that another program made has a timeline and a name, and no more. */
START_TEST(page_of_a_foreign_run)
{
    static uint32_t ids[] = {7, 14, 21, 28};
    struct test_report *test = test_report_new(3);
    struct run_report *run = &test->runs[2];
    test->settings[2] = (struct settings){.name = "trace"};
    run->foreign = true;
    run->limit = (struct limit){0};
    run->speedup = 0;
    run->timeline.timing = TIMING_CUPTI;
    run->timeline.stream_ids = ids;
    for (uint32_t i = 0; i < run->timeline.span_count; i++)
        run->timeline.spans[i].tile = -1;
    test->report.runs = run;
    test->report.run_count = 1;
    json_t *root = data_of(&test->report, "foreign"), *object = run_of(root, 0);
    static const char *const absent[] = {"settings", "limit", "limit_ns", "speedup",
                                         "verified"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        ck_assert_msg(json_object_get(object, absent[i]) == NULL, "%s", absent[i]);
    ck_assert_str_eq(text_at(object, "source"), "measured");
    json_t *list = json_object_get(object, "stream_ids");
    ck_assert_uint_eq(json_array_size(list), 4);
    ck_assert_int_eq(whole(json_array_get(list, 3)), 28);
    check_spans(root, &test->report);
    json_decref(root);
    free(test);
}
END_TEST

/* A gap with its cause, ops that raced, an urgent stream, and a wrong result. */
/* What sets the limit is said where the limit is known, whatever it is. */
START_TEST(page_has_what_sets_the_limit)
{
    static const enum verdict_code bounds[] = {VERDICT_COPY_BOUND,   VERDICT_KERNEL_BOUND,
                                               VERDICT_CPU_BOUND,    VERDICT_HOST_BOUND,
                                               VERDICT_SWITCH_BOUND, VERDICT_PEER_BOUND};
    enum { BOUNDS = sizeof bounds / sizeof bounds[0] };
    struct test_report *test = test_report_new(1);
    struct verdicts *verdicts = &test->runs[0].verdicts;
    *verdicts = (struct verdicts){.count = BOUNDS};
    for (int i = 0; i < BOUNDS; i++)
        verdicts->items[i] = (struct verdict){.code = bounds[i]};
    for (int known = 0; known < 2; known++) {
        verdicts->limit_known = known != 0;
        json_t *root = data_of(&test->report, NULL);
        ck_assert_uint_eq(json_array_size(json_object_get(run_of(root, 0), "verdicts")),
                          known != 0 ? BOUNDS : 0);
        json_decref(root);
    }
    free(test);
}
END_TEST

START_TEST(page_has_the_marks)
{
    struct test_report *test = test_report_new(2);
    struct run_report *run = &test->runs[1];
    struct hold holds[TEST_SPANS_MAX] = {0};
    struct hazard hazard = {.first = 0, .second = 4};
    run->critical.holds = holds;
    run->critical.on_path = NULL;
    run->verdicts = (struct verdicts){
        .items = {{.code = VERDICT_SLOW_KERNELS, .evidence = EVIDENCE_LIKELY, .cost_ns = 9},
                  {.code = VERDICT_REST}},
        .count = 2,
        .named = 1,
        .lost = {.items = {{.at = {400000, 450000, 1}, .code = VERDICT_SLOW_KERNELS}},
                 .count = 1},
        .time_ns = 850000,
        .limit_known = true};
    run->hazards = &hazard;
    run->hazard_count = 1;
    run->verified = VERIFIED_NO;
    test->settings[1].priorities[3] = -1;
    test->settings[1].priority_count = 4;
    for (int i = 0; i < TEST_SPANS_MAX; i++)
        holds[i].span = SPAN_NONE;
    report_find_speedups(&test->report);
    json_t *root = data_of(&test->report, "marks"), *object = run_of(root, 1);
    ck_assert_str_eq(text_at(root, "message"),
                     "2-way: WRONG RESULT: kernels take longer than at full rate");
    json_t *gap = json_array_get(json_object_get(object, "gaps"), 0);
    ck_assert_str_eq(text_at(gap, "code"), "slow-kernels");
    ck_assert_int_eq(whole(json_object_get(gap, "from")), 400000);
    ck_assert_int_eq(whole(json_object_get(gap, "to")), 450000);
    ck_assert_int_eq(whole(json_object_get(gap, "span")), 1);
    ck_assert_int_eq(whole(json_array_get(json_object_get(object, "raced"), 1)), 4);
    ck_assert_int_eq(whole(json_array_get(json_object_get(object, "urgent"), 0)), 3);
    ck_assert_ptr_null(json_object_get(object, "speedup"));
    ck_assert_str_eq(text_at(object, "verified"), "no");
    const json_t *verdicts = json_object_get(object, "verdicts");
    ck_assert_uint_eq(json_array_size(verdicts), 1); /* no rest of 0 */
    ck_assert(json_is_true(json_object_get(json_array_get(verdicts, 0), "likely")));
    json_decref(root);
    free(test);
}
END_TEST

/* `count` copies of 100 ns, one every 200 ns; or each until the end, on a lane of its own. */
static struct test_report *long_report(uint32_t count, bool lanes, struct span **spans)
{
    struct test_report *test = test_report_new(1);
    struct timeline *timeline = &test->runs[0].timeline;
    *spans = calloc(count, sizeof **spans);
    ck_assert_ptr_nonnull(*spans);
    for (uint32_t i = 0; i < count; i++)
        (*spans)[i] = (struct span){
            .op = i,
            .kind = OP_KERNEL,
            .engine = ENGINE_COMPUTE,
            .lane = lanes ? i : 0,
            .stream = i % 4,
            .tile = (int32_t)i,
            .start_ns = 200 * (int64_t)i,
            .end_ns = 200 * (int64_t)(lanes ? count : i) + 100,
        };
    timeline->spans = *spans;
    timeline->span_count = count;
    return test;
}

START_TEST(page_of_many_lanes)
{
    struct span *spans;
    struct test_report *test = long_report((uint32_t)test_cases(100000), true, &spans);
    json_t *root = data_of(&test->report, "lanes");
    check_spans(root, &test->report);
    json_decref(root);
    free(spans);
    free(test);
}
END_TEST

/* More spans than a page draws: how busy each engine was, column by column. */
START_TEST(page_of_too_many_spans)
{
    struct span *spans;
    uint32_t count = 200000;
    struct test_report *test = long_report(count, false, &spans);
    int64_t end_ns = 200 * (int64_t)count;
    spans[count - 1] = (struct span){.op = count - 1,
                                     .engine = ENGINE_H2D,
                                     .start_ns = end_ns / 4,
                                     .end_ns = end_ns / 2 + end_ns / 4000};
    spans[count - 2].end_ns = end_ns;
    json_t *root = data_of(&test->report, "many"), *run = run_of(root, 0);
    ck_assert_ptr_null(json_object_get(run, "spans"));
    ck_assert_int_eq(whole(json_object_get(run, "span_count")), count);
    json_t *columns = json_object_get(run, "columns");
    ck_assert_uint_eq(json_array_size(columns), ENGINE_NONE);
    json_t *kernels = json_array_get(columns, ENGINE_COMPUTE);
    json_t *copies = json_array_get(columns, ENGINE_H2D);
    ck_assert_uint_eq(json_array_size(kernels), 2000);
    for (size_t i = 0; i < 2000; i++) {
        int64_t copying = whole(json_array_get(copies, i));
        ck_assert_int_eq(copying, i < 500 || i > 1000 ? 0 : i == 1000 ? 50 : 100);
        ck_assert_int_ge(whole(json_array_get(kernels, i)), 50);
        ck_assert_int_le(whole(json_array_get(kernels, i)), 51);
    }
    json_decref(root);
    free(spans);
    free(test);
}
END_TEST

/* --- recordings --- */

static void view_file(struct view *view, const char *path)
{
    const char *words[] = {path};
    const struct options options = {.command = COMMAND_VIEW,
                                    .words = words,
                                    .word_count = 1,
                                    .timeline_count = 1,
                                    .quiet = true};
    struct error error = {0};
    ck_assert_msg(view_read(&options, NULL, view, &error) == STATUS_OK, "%s", error.text);
}

/* The page of a recording has each call of its threads, each range, and for each op the call
 * that issued it, with its line. */
START_TEST(page_of_a_recording)
{
    struct view view;
    recording_write_loop("loop.jsonl");
    view_file(&view, "loop.jsonl");
    const struct timeline *timeline = &view.report.runs[0].timeline;
    json_t *root = data_of(&view.report, "recorded"), *run = run_of(root, 0);
    json_t *calls = json_object_get(run, "calls"), *issues = json_object_get(run, "issues");
    json_t *names = json_object_get(root, "calls"), *lines = json_object_get(run, "lines");
    check_spans(root, &view.report);
    ck_assert_uint_eq(json_array_size(calls), 48);
    ck_assert_uint_eq(json_array_size(issues), timeline->span_count);
    for (uint32_t i = 0; i < 48; i++) {
        static const char *const called[] = {"cudaMemcpyAsync", "cudaLaunchKernel",
                                             "cudaStreamSynchronize"};
        static const char *const made[] = {"fit.cu:31", NULL, "/home/me/fit.cu:90"};
        json_t *call = json_array_get(calls, i);
        json_t *row = json_array_get(names, (size_t)whole(json_array_get(call, 0)));
        ck_assert_str_eq(json_string_value(json_array_get(row, 0)), called[i % 3]);
        ck_assert_int_eq(whole(json_array_get(row, 1)), i % 3 == 2);
        ck_assert_int_eq(whole(json_array_get(call, 1)), 0);
        ck_assert_int_eq(whole(json_array_get(call, 2)), timeline->calls[i].start_ns);
        ck_assert_int_eq(whole(json_array_get(call, 3)), timeline->calls[i].end_ns);
        int64_t line = whole(json_array_get(call, 4));
        const char *wanted = i == 14 ? "/home/me/fit.cu:88" : made[i % 3];
        ck_assert((line == 0) == (wanted == NULL));
        if (wanted != NULL)
            ck_assert_str_eq(json_string_value(json_array_get(lines, (size_t)line - 1)),
                             wanted);
    }
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        json_t *issue = json_array_get(issues, i);
        ck_assert(
            json_equal(json_array_get(issue, 0), json_array_get(calls, i / 2 * 3 + i % 2)));
        ck_assert_int_eq(whole(json_array_get(issue, 1)), 0);
        ck_assert_uint_eq(json_array_size(issue), i % 2 == 0 ? 2 : 6);
    }
    ck_assert_int_eq(whole(json_array_get(json_array_get(issues, 1), 3)), 256);
    json_t *range = json_array_get(json_object_get(run, "ranges"), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(run, "ranges")), 1);
    ck_assert_str_eq(json_string_value(json_array_get(range, 0)), "work");
    ck_assert_int_eq(whole(json_array_get(range, 2)), -1000);
    ck_assert_int_eq(whole(json_array_get(range, 3)), 3998000);
    json_decref(root);
    view_free(&view);
}
END_TEST

/* More calls than a page draws: how much of each column its threads were in them. */
START_TEST(page_of_too_many_calls)
{
    struct view view;
    FILE *out = fopen("many.jsonl", "w");
    ck_assert_ptr_nonnull(out);
    fputs("{\"pipeline_recording\":1}\n[\"call\",0,\"cudaMemcpyAsync\",1,0,100,0]\n"
          "[\"op\",0,\"h2d\",1,7,1000,20000100,8,\"pinned\",\"device\",0]\n"
          "[\"range\",2,5000000,10000000,\"half\"]\n",
          out);
    for (int i = 1; i <= 100000; i++)
        fprintf(out, "[\"call\",%d,\"%s\",%d,%d,%d,0]\n", i,
                i <= 50000 ? "cudaEventQuery" : "cudaDeviceSynchronize", i <= 50000 ? 1 : 2,
                200 * i, 200 * i + 150);
    fputs("[\"end\",30000000,\"exit\"]\n", out);
    ck_assert_int_eq(fclose(out), 0);
    view_file(&view, "many.jsonl");
    json_t *root = data_of(&view.report, "recorded_many"), *run = run_of(root, 0);
    check_spans(root, &view.report);
    ck_assert_ptr_null(json_object_get(run, "calls"));
    ck_assert_int_eq(whole(json_object_get(run, "call_count")), 100001);
    json_t *threads = json_object_get(run, "thread_columns");
    ck_assert_uint_eq(json_array_size(threads), 3);
    for (size_t i = 1; i < 1999; i++) {
        static const struct {
            size_t thread, which;
            bool late;
        } busy[] = {{0, 1, false}, {1, 0, true}};
        for (size_t k = 0; k < 2; k++) {
            json_t *shares =
                json_array_get(json_array_get(threads, busy[k].thread), busy[k].which);
            int64_t share = whole(json_array_get(shares, i));
            bool works = (i > 1000) == busy[k].late;
            if (i < 999 || i > 1001) /* elsewhere one thread goes on for the other */
                ck_assert_msg(works ? share >= 73 && share <= 77 : share == 0,
                              "column %zu: %" PRId64, i, share);
        }
    }
    json_t *ranges = json_array_get(json_array_get(threads, 1), 2);
    ck_assert_int_eq(whole(json_array_get(ranges, 700)), 100);
    ck_assert_int_eq(whole(json_array_get(ranges, 400)), 0);
    json_decref(root);
    view_free(&view);
}
END_TEST

/* The page asks for nothing and says so to the browser, which then holds it to that. */
START_TEST(page_holds_all_it_needs)
{
    struct test_report *test = test_report_new(4);
    char *page = test_written(&test->report, write_html);
    ck_assert_ptr_nonnull(strstr(page, "content=\"default-src 'none'; style-src "
                                       "'unsafe-inline'; script-src 'unsafe-inline'\""));
    ck_assert_ptr_nonnull(strstr(page, "<html lang=\"en\">"));
    static const char *const absent[] = {" src=",  "href=",    "import", "fetch(", "innerHTML",
                                         "@page.", "@viewer.", "@plot.", "@data@"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        ck_assert_msg(strstr(page, absent[i]) == NULL, "the page has %s", absent[i]);
    for (const char *at = page; (at = strstr(at, "url(")) != NULL; at++)
        ck_assert_msg(at[4] == '#', "it is not of the page itself: %.40s", at);
    free(page);
    free(test);
}
END_TEST

static void write_twice(struct put *put, const void *context)
{
    put_string(put, context);
    put_string(put, context);
}

/* Lines that are a name give way, also in texts that took the place of one; all else stays. */
START_TEST(template_is_put_together)
{
    static const char whole[] = "a @outer@\n@outer@\n@nobody@\n@@\n@twice@\nlast @\n@outer@";
    const struct template_part parts[] = {
        {.name = "outer", .text = "<\n@inner@\n>\n"},
        {.name = "inner", .text = "inside\n"},
        {.name = "twice", .write = write_twice, .context = "@outer@\n"},
        {.name = NULL},
    };
    struct put put;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    put_begin_large(&put, out);
    template_put(&put, whole, parts);
    ck_assert_int_eq(put_end(&put), STATUS_OK);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_str_eq(text, "a @outer@\n<\ninside\n>\n@nobody@\n@@\n@outer@\n@outer@\n"
                           "last @\n<\ninside\n>\n");
    free(text);
}
END_TEST

static int is_yes(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "yes") == 0 ? 1 : strcmp(name, "no") == 0 ? 0 : -1;
}

static const char *value_of(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "five") == 0 ? "5" : NULL;
}

static bool no_part(void *context, const char *name, int indent)
{
    (void)context, (void)name, (void)indent;
    return false;
}

static void add_line(void *context, const char *text, size_t length)
{
    fwrite(text, 1, length, context);
}

/* Values, parts of a line and lines between conditions; a condition that nobody knows is the
 * text's own, with all that belongs to it. */
START_TEST(template_has_conditions)
{
    static const char whole[] =
        "@five@ @if yes@a@if no@b@else@c@end@@end@ @six@@\\\n    .\n"
        "#if no && yes || yes\nin\n#if no\nnot\n#elif !no\nelif\n#else\n"
        "not\n#endif\n#else\nnot\n#if own\nnot\n#endif\n#endif\n"
        "#if own\nkept\n#if no\nnot\n#endif\n#else\nkept\n#endif\n";
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const struct template_fill fill = {out, is_yes, value_of, no_part, add_line};
    template_fill(whole, strlen(whole), &fill);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_str_eq(text, "5 ac @six@.\nin\nelif\n#if own\nkept\n#else\nkept\n#endif\n");
    free(text);
}
END_TEST

Suite *html_suite(void)
{
    int names = 0;
    while (test_names[names] != NULL)
        names++;
    Suite *suite = suite_create("html");
    TCase *page = tcase_create("page");
    tcase_add_test(page, page_has_every_span);
    tcase_add_test(page, page_has_the_figures);
    tcase_add_test(page, page_has_every_setting);
    tcase_add_test(page, page_has_the_critical_path);
    tcase_add_test(page, page_escapes_every_name);
    tcase_add_loop_test(page, every_run_name_comes_back, 0, names);
    tcase_add_test(page, page_of_no_runs_and_of_no_spans);
    tcase_add_test(page, page_of_spans_of_no_length);
    tcase_add_test(page, page_of_huge_numbers);
    tcase_add_test(page, page_of_a_foreign_run);
    tcase_add_test(page, page_has_what_sets_the_limit);
    tcase_add_test(page, page_has_the_marks);
    tcase_add_test(page, page_of_many_lanes);
    tcase_add_test(page, page_of_too_many_spans);
    tcase_add_test(page, page_holds_all_it_needs);
    tcase_add_test(page, template_is_put_together);
    tcase_add_test(page, template_has_conditions);
    suite_add_tcase(suite, page);
    TCase *recordings = tcase_create("recordings");
    tcase_add_checked_fixture(recordings, test_folder_enter, test_folder_leave);
    tcase_add_test(recordings, page_of_a_recording);
    tcase_add_test(recordings, page_of_too_many_calls);
    suite_add_tcase(suite, recordings);
    return suite;
}
