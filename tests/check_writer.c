/* check_writer.c - what the writers write, byte for byte, and what they share.
 *
 * `EXPECTED_UPDATE=1 build/check` writes tests/expected anew; read the difference before it is
 * kept. */
#include "suites.h"
#include "test_folder.h"
#include "trace/input.h"
#include "writer_cases.h"
#include "writers/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef TESTS_FOLDER
#define TESTS_FOLDER "tests"
#endif

static char *read_file(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    if (getdelim(&text, &size, '\0', file) < 0)
        ck_abort_msg("%s can't be read", path);
    fclose(file);
    return text;
}

/* Compares `text`, which it frees, with a file of tests/expected. */
static void check_expected(const char *name, char *text)
{
    char path[512];
    snprintf(path, sizeof path, TESTS_FOLDER "/expected/%s", name);
    if (getenv("EXPECTED_UPDATE") != NULL) {
        test_file_put(path, text);
    }
    char *expected = read_file(path);
    ck_assert_msg(strcmp(text, expected) == 0, "not as in %s:\n%.3000s", path, text);
    free(expected);
    free(text);
}

static const struct writer_style plain = {.width = 80, .gantt = GANTT_ENGINES};

/* Runs of which the same is said share a line, and a name that was cut has no open bracket. */
START_TEST(facts_are_said_once)
{
    struct test_report *test = test_report_new(4);
    struct settings fixed[2];
    for (int i = 0; i < 2; i++) {
        fixed[i] = *test->report.runs[2 * i].settings;
        fixed[i].blocks = 16;
        test->report.runs[2 * i].settings = &fixed[i];
    }
    char *text = test_text(&test->report, &plain);
    ck_assert_ptr_nonnull(strstr(text, "\n  serial, 3-way: scale with blocks=16 on"));
    ck_assert_ptr_nonnull(strstr(text, "\n  2-way, 4-way: scale on"));
    free(text);
    snprintf(fixed[0].name, RUN_NAME_MAX, "run (100 us to 300 us)");
    char name[TABLE_NAME];
    table_name(&test->report.runs[0], name);
    ck_assert_str_eq(name, "run");
    snprintf(fixed[0].name, RUN_NAME_MAX, "run (100 us)");
    table_name(&test->report.runs[0], name);
    ck_assert_str_eq(name, "run (100 us)");
    free(test);
}
END_TEST

START_TEST(report_is_as_expected)
{
    struct test_report *test = test_report_new(4);
    struct writer_style streams = plain;
    streams.gantt = GANTT_STREAMS;
    check_expected("ways.txt", test_text(&test->report, &plain));
    check_expected("ways.gantt", test_gantt(&test->report, &plain));
    check_expected("ways-streams.gantt", test_gantt(&test->report, &streams));
    check_expected("ways.json", test_written(&test->report, write_json));
    check_expected("ways.csv", test_written(&test->report, write_csv_report));
    check_expected("ways-timeline.csv", test_written(&test->report, write_csv_timeline));
    free(test);
}
END_TEST

/* Two devices, repeats, a reduction, a wrong result and hazards: everything the text can say.
 */
static struct test_report *eventful_report(char (*hazard_texts)[HAZARD_TEXT])
{
    struct test_report *test = test_report_new(2);
    struct run_report *run = &test->runs[1];
    test->settings[1].chain[1] = kernel_find("sum");
    test->settings[1].chain_length = 2;
    test->settings[1].intensity = 100;
    test->settings[1].input = "waves.npy";
    test->settings[1].output = "sums.npy";
    strcpy(run->device, "NVIDIA H200 (cuda:0)");
    strcpy(run->timeline.driver, "driver 13.0, runtime 13.0");
    run->timeline.timing = TIMING_EVENTS;
    run->repeats = 5;
    run->min_ns -= 1000;
    run->max_ns += 2345678;
    run->has_result = true;
    run->result = 12345.678;
    run->verified = VERIFIED_NO;
    run->limit.cause = LIMIT_COMPUTE;
    run->hazard_texts = hazard_texts;
    run->hazard_count = 10;
    run->hazards_lost = 3;
    for (int i = 0; i < 10; i++)
        snprintf(hazard_texts[i], sizeof hazard_texts[i],
                 "h2d %d and scale 0 both touch device.in0 [0, 4096)", i);
    report_find_speedups(&test->report);
    return test;
}

START_TEST(eventful_text_is_as_expected)
{
    char hazard_texts[10][HAZARD_TEXT];
    struct test_report *test = eventful_report(hazard_texts);
    struct writer_style verbose = {.width = 200, .verbose = 1};
    check_expected("eventful.txt", test_text(&test->report, &plain));
    check_expected("eventful-verbose.txt", test_text(&test->report, &verbose));
    free(test);
}
END_TEST

/* Every run has a row, and no row is wider than the terminal, unless a column is. */
START_TEST(text_fits_the_terminal)
{
    static const int widths[] = {0, 40, 60, 80, 100, 160};
    for (int n = 0; test_names[n] != NULL; n++) {
        struct test_report *test = test_report_new(TEST_RUNS_MAX);
        struct writer_style style = {.width = widths[_i], .verbose = n % 2};
        strcpy(test->settings[0].name, test_names[n]);
        char *text = test_text(&test->report, &style), *line = strstr(text, "\n\n");
        int rows = 0, widest = 0;
        for (line = strtok(line, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            int columns = writer_columns(line);
            widest = columns > widest ? columns : widest;
            rows += strncmp(line, "run 29", 6) == 0;
            ck_assert_msg(line[strlen(line) - 1] != ' ', "'%s' ends in blanks", line);
        }
        ck_assert_int_ge(rows, 1);
        ck_assert_int_le(widest, widths[_i] < 40 ? 40 : widths[_i]);
        free(text);
        free(test);
    }
}
END_TEST

START_TEST(text_says_what_was_not_asked_or_is_not_known)
{
    struct test_report *test = test_report_new(1);
    test->runs[0].verified = VERIFIED_NOT_ASKED;
    test->runs[0].median_ns = 0;
    test->runs[0].limit.ns = 0;
    test->runs[0].speedup = NAN;
    test->runs[0].timeline.timing = TIMING_CUPTI;
    test->runs[0].device[0] = '\0';
    char *text = test_text(&test->report, &plain);
    ck_assert_ptr_nonnull(strstr(text, "\nmeasured, h200\n"));
    ck_assert_ptr_nonnull(strstr(text, "; timeline: CUPTI\n"));
    ck_assert_ptr_nonnull(strstr(text, "  0 ns   0 ns         -  not asked\n"));
    free(text);
    test->report.run_count = 0;
    text = test_text(&test->report, &plain);
    ck_assert_str_eq(text, "pipeline 0.0.0-test\n");
    free(text);
    text = test_written(&test->report, write_json);
    ck_assert_ptr_nonnull(strstr(text, "\"runs\": []"));
    free(text);
    free(test);
}
END_TEST

/* A plan by hand with an op of every kind, on two streams and the CPU. */
static struct plan every_op(int *priorities)
{
    static struct op ops[] = {
        {.id = 0, .kind = OP_CPU, .stream = 2, .tile = 2},
        {.id = 1, .kind = OP_H2D, .stream = 0, .tile = 0},
        {.id = 2, .kind = OP_RECORD, .stream = 0, .tile = 0},
        {.id = 3, .kind = OP_WAIT, .stream = 1, .tile = 0},
        {.id = 4, .kind = OP_KERNEL, .stream = 1, .tile = 0},
        {.id = 5, .kind = OP_D2H, .stream = 1, .tile = 0},
        {.id = 6, .kind = OP_CALLBACK, .stream = 1, .tile = 0},
        {.id = 7, .kind = OP_WAIT, .stream = 1, .tile = -1},
    };
    static struct op_ranges work, launch;
    ops[0].cpu.count = 342;
    ops[0].cpu.ranges = &work;
    work.in[0] = (struct range){BUFFER_HOST_IN0, 2728, 1368};
    work.in[1] = (struct range){BUFFER_HOST_IN1, 2728, 1368};
    work.out = (struct range){BUFFER_HOST_OUT, 2728, 1368};
    ops[1].copy.host = (struct range){BUFFER_HOST_IN0, 0, 1364};
    ops[1].copy.device = (struct range){BUFFER_DEVICE_IN0, 256, 1364};
    ops[2].event.event = ops[3].event.event = ops[7].event.event = 0;
    ops[4].kernel.count = 341;
    ops[4].kernel.blocks = 2;
    ops[4].kernel.ranges = &launch;
    launch.in[0] = ops[1].copy.device;
    launch.out = (struct range){BUFFER_DEVICE_OUT, 512, 1364};
    launch.scratch = (struct range){BUFFER_DEVICE_SCRATCH, 0, 64};
    ops[5].copy.host = (struct range){BUFFER_HOST_OUT, 0, 1364};
    ops[5].copy.device = launch.out;
    ops[6].callback.result = ops[5].copy.host;
    struct plan plan = {.ops = ops,
                        .op_count = 8,
                        .streams = 2,
                        .events = 1,
                        .tiles = 3,
                        .cpu_tiles = 1,
                        .slots = 2,
                        .priorities = priorities,
                        .elements = 1024,
                        .chain = {kernel_find("wave")},
                        .chain_length = 1,
                        .params = {.intensity = 7}};
    for (int b = 0; b < BUFFER_COUNT; b++)
        plan.buffer_bytes[b] = 4096;
    plan.buffer_bytes[BUFFER_HOST_RESIDENT] = plan.buffer_bytes[BUFFER_DEVICE_RESIDENT] = 0;
    plan.buffer_bytes[BUFFER_DEVICE_OTHER] = 0;
    return plan;
}

static char *plan_text(const struct plan *plan, const struct settings *settings)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    write_plan(out, plan, settings);
    fclose(out);
    return text;
}

START_TEST(plan_is_as_expected)
{
    struct test_report *test = test_report_new(3);
    int priorities[] = {0, -5};
    struct plan plan = every_op(priorities);
    check_expected("plan.txt", plan_text(&plan, &test->settings[2]));
    free(test);
}
END_TEST

/* An empty plan, and one as long as it likes, have a line per op. */
START_TEST(plan_has_a_line_per_op)
{
    enum { OPS = 1000 };
    static const int counts[] = {0, 1, OPS};
    struct test_report *test = test_report_new(1);
    struct plan plan = every_op(NULL);
    struct op *ops = calloc(OPS, sizeof *ops);
    ck_assert_ptr_nonnull(ops);
    for (uint32_t i = 0; i < OPS; i++) {
        ops[i] = plan.ops[1];
        ops[i].id = i;
    }
    plan.ops = ops;
    plan.op_count = (uint32_t)counts[_i];
    plan.tiles = _i == 0 ? 0 : 3;
    strcpy(test->settings[0].name, "two\nlines");
    char *text = plan_text(&plan, &test->settings[0]);
    int lines = 0;
    for (char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    ck_assert_int_eq(lines, 8 + counts[_i]);
    free(text);
    free(ops);
    free(test);
}
END_TEST

static const struct {
    const char *text, *field;
} fields[] = {
    {"", ""},
    {"plain", "plain"},
    {" blanks ", " blanks "},
    {"a,b", "\"a,b\""},
    {"a\"b", "\"a\"\"b\""},
    {"\"", "\"\"\"\""},
    {"a\nb", "'a\\nb"},
    {"a\rb", "'a\\rb"},
    {"tab\t", "'tab\\t"},
    {"\xff,", "\"'\\xff,\""},
    {"C:\\x", "C:\\x"},
    {"C:\\x\t", "'C:\\\\x\\t"},
    {"it's", "it's"},
    {"'", "''"},
    {"=1+1", "'=1+1"},
    {"@SUM(A1)", "'@SUM(A1)"},
    {"+x", "'+x"},
    {"-", "'-"},
    {"-1", "-1"},
    {"-1.5e-3", "-1.5e-3"},
    {"+1,2", "\"'+1,2\""},
    {"--1", "'--1"},
    {"-inf", "'-inf"},
    {"=cmd|' /C calc'!A0,\"\"", "\"'=cmd|' /C calc'!A0,\"\"\"\"\""},
    {"\t=1", "'\\t=1"},
    {"\xc2\x9b\xe2\x80\xae", "'\\u009b\\u202e"},
};

START_TEST(csv_field_is_quoted_where_it_must_be)
{
    char *text, *field;
    const char *why;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    write_csv_field(out, fields[_i].text);
    fclose(out);
    ck_assert_str_eq(text, fields[_i].field);
    ck_assert_int_eq(csv_line_split(text, ',', &field, 1, &why), 1);
    ck_assert_str_eq(csv_unmark(field), fields[_i].text);
    free(text);
}
END_TEST

#define BAD "\xef\xbf\xbd" /* U+FFFD */
static const struct {
    const char *text, *clean, *line;
} cleaned[] = {
    {"", "", ""},
    {"plain", "plain", "plain"},
    {"a\tb\n\x7f", "a\tb\n\x7f", "a\\tb\\n\\x7f"},
    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
     "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"\xc2\x9b"
     "31m\xc2\xa0",
     "\xc2\x9b"
     "31m\xc2\xa0",
     "\\u009b31m\xc2\xa0"}, /* C1: CSI */
    {"\xff", BAD, "\\xff"},
    {"\x80x", BAD "x", "\\x80x"},
    {"\xc0\xaf", BAD BAD, "\\xc0\\xaf"},              /* overlong '/' */
    {"\xe0\x9f\xbf", BAD BAD BAD, "\\xe0\\x9f\\xbf"}, /* overlong */
    {"\xed\xa0\x80", BAD BAD BAD, "\\xed\\xa0\\x80"}, /* a surrogate */
    {"\xe2\x80\xae\xe2\x81\xa6", "\xe2\x80\xae\xe2\x81\xa6", "\\u202e\\u2066"},
    {"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"},
    {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
    {"\xf4\x90\x80\x80", BAD BAD BAD BAD, "\\xf4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
    {"\xf0\x9f\x98", BAD BAD BAD, "\\xf0\\x9f\\x98"},              /* cut short */
    {"\xe2\x82", BAD BAD, "\\xe2\\x82"},
    {"\xc3", BAD, "\\xc3"},
};

START_TEST(text_is_cleaned)
{
    char clean[64];
    ck_assert_str_eq(utf8_of(clean, sizeof clean, cleaned[_i].text), cleaned[_i].clean);
    ck_assert_str_eq(escape_text(clean, sizeof clean, cleaned[_i].text), cleaned[_i].line);
}
END_TEST

START_TEST(text_is_cut_between_characters)
{
    char clean[8], fitted[64];
    ck_assert_str_eq(utf8_of(clean, 1, "abc"), "");
    ck_assert_str_eq(utf8_of(clean, 3, "abc"), "ab");
    ck_assert_str_eq(utf8_of(clean, 4, "abc"), "abc");
    ck_assert_str_eq(utf8_of(clean, 4, "ab\xc3\xa9"), "ab");
    ck_assert_str_eq(utf8_of(clean, 5, "ab\xc3\xa9"), "ab\xc3\xa9");
    ck_assert_str_eq(writer_fit(fitted, sizeof fitted, "abcdef", 6), "abcdef");
    ck_assert_str_eq(writer_fit(fitted, sizeof fitted, "abcdef", 5), "abc..");
    ck_assert_str_eq(writer_fit(fitted, sizeof fitted, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 3),
                     "\xc3\xa9..");
    ck_assert_str_eq(writer_fit(fitted, 6, "abcdef", 60), "abc..");
    ck_assert_str_eq(writer_fit(fitted, sizeof fitted, "a\nb", 4), "a\\nb");
    ck_assert_str_eq(writer_fit(fitted, sizeof fitted, "a\nb", 3), "a..");
    ck_assert_int_eq(writer_columns("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), 4);
}
END_TEST

START_TEST(timelines_are_found_by_their_ending)
{
    static const struct {
        const char *path;
        report_writer *write;
    } cases[] = {
        {"a.csv", write_csv_timeline},
        {"A.CSV", write_csv_timeline},
        {"o.d/x.y.json", write_trace},
        {"/tmp/.html", write_html},
        {"a.svg", NULL},
        {"a.PNG", NULL},
        {"a.csv.pdf", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        const struct timeline_writer *writer = NULL;
        ck_assert_int_eq(timeline_writer_find(cases[i].path, &writer, &error), STATUS_OK);
        ck_assert(writer->write == cases[i].write);
        ck_assert(writer->draw == (cases[i].write == NULL ? plot_draw : NULL));
    }
}
END_TEST

#define ENDINGS                                                                                \
    "the ending names no form of a timeline: must be .csv, .json, .html, .svg, .png, .pdf"

static const struct {
    const char *path, *message;
} refused[] = {
    {"a.txt", "--timeline: 'a.txt': " ENDINGS},
    {"a", "--timeline: 'a': " ENDINGS},
    {"", "--timeline: '': " ENDINGS},
    {"a.csv/b", "--timeline: 'a.csv/b': " ENDINGS},
    {"a.csv\n", "--timeline: 'a.csv\\n': " ENDINGS},
};

START_TEST(other_timelines_are_refused)
{
    struct error error = {0};
    const struct timeline_writer *writer = NULL;
    ck_assert_int_eq(timeline_writer_find(refused[_i].path, &writer, &error), STATUS_USAGE);
    ck_assert_str_eq(error.text, refused[_i].message);
    ck_assert_ptr_null(writer);
}
END_TEST

/* A long path keeps the message on one line, with what is allowed at its end. */
START_TEST(a_long_path_is_refused_in_one_line)
{
    char path[4096];
    struct error error = {0};
    const struct timeline_writer *writer = NULL;
    memset(path, '\xff', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(timeline_writer_find(path, &writer, &error), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "..': the ending names no form of a timeline: "
                                             "must be .csv"));
}
END_TEST

/* The owner of the file learns that it could not be written. */
START_TEST(a_full_disk_shows_in_the_file)
{
    struct test_report *test = test_report_new(4);
    report_writer *const writers[] = {write_json, write_csv_report, write_csv_timeline,
                                      write_trace, write_html};
    FILE *out = fopen("/dev/full", "w");
    if (out != NULL) {
        writers[_i](out, &test->report);
        fflush(out); /* may find nothing left to write */
        ck_assert(ferror(out));
        fclose(out);
    }
    free(test);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof(array)[0])

Suite *writer_suite(void)
{
    Suite *suite = suite_create("writer");
    TCase *expected = tcase_create("expected");
    tcase_add_test(expected, report_is_as_expected);
    tcase_add_test(expected, facts_are_said_once);
    tcase_add_test(expected, eventful_text_is_as_expected);
    tcase_add_test(expected, plan_is_as_expected);
    suite_add_tcase(suite, expected);

    TCase *text = tcase_create("text and plan");
    tcase_add_loop_test(text, text_fits_the_terminal, 0, 6);
    tcase_add_test(text, text_says_what_was_not_asked_or_is_not_known);
    tcase_add_loop_test(text, plan_has_a_line_per_op, 0, 3);
    suite_add_tcase(suite, text);

    TCase *shared = tcase_create("shared");
    tcase_add_loop_test(shared, csv_field_is_quoted_where_it_must_be, 0, COUNT(fields));
    tcase_add_loop_test(shared, text_is_cleaned, 0, COUNT(cleaned));
    tcase_add_test(shared, text_is_cut_between_characters);
    tcase_add_test(shared, timelines_are_found_by_their_ending);
    tcase_add_loop_test(shared, other_timelines_are_refused, 0, COUNT(refused));
    tcase_add_test(shared, a_long_path_is_refused_in_one_line);
    tcase_add_loop_test(shared, a_full_disk_shows_in_the_file, 0, 5);
    suite_add_tcase(suite, shared);

    suite_add_tcase(suite, writer_data_case());
    suite_add_tcase(suite, writer_predictions_case());
    suite_add_tcase(suite, writer_gantt_case());
    suite_add_tcase(suite, writer_marks_case());
    return suite;
}
