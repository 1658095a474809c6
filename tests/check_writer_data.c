/* check_writer_data.c - JSON and CSV are read back, field by field. */
#include "trace/input.h"
#include "writer_cases.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *json_of(const struct report *report)
{
    char *text = test_written(report, write_json);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s in %.3000s", error.text, text);
    free(text);
    return root;
}

static json_t *json_run(json_t *root, size_t index)
{
    return json_array_get(json_object_get(root, "runs"), index);
}

static const char *text_at(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    ck_assert_msg(text != NULL, "%s is no string", key);
    return text;
}

static double number_at(json_t *object, const char *key)
{
    ck_assert_msg(json_is_number(json_object_get(object, key)), "%s is no number", key);
    return json_number_value(json_object_get(object, key));
}

static int64_t ns_at(json_t *object, const char *key)
{
    return llround(number_at(object, key) * 1e6);
}

START_TEST(json_has_the_keys_of_schema_1)
{
    struct test_report *test = test_report_new(4);
    json_t *root = json_of(&test->report), *run = json_run(root, 3);
    ck_assert_int_eq(json_integer_value(json_object_get(root, "schema")), 2);
    ck_assert_str_eq(text_at(root, "version"), "0.0.0-test");
    ck_assert_uint_eq(json_array_size(json_object_get(root, "runs")), 4);
    ck_assert_str_eq(text_at(run, "name"), "4-way");
    ck_assert_str_eq(text_at(run, "source"), "simulated");
    ck_assert_str_eq(text_at(run, "timing"), "virtual");
    ck_assert_str_eq(text_at(run, "device"), "NVIDIA H200");
    ck_assert_str_eq(text_at(run, "limit_cause"), "copies");
    ck_assert(json_is_true(json_object_get(run, "verified")));
    ck_assert_int_eq(ns_at(run, "time_ms"), 450000);
    ck_assert_int_eq(ns_at(run, "time_min_ms"), 450000);
    ck_assert_int_eq(ns_at(run, "time_max_ms"), 450000);
    ck_assert_int_eq(ns_at(run, "timeline_ms"), 450000);
    ck_assert_int_eq(ns_at(run, "limit_ms"), 400000);
    ck_assert_int_eq(ns_at(run, "issue_ms"), 12345);
    ck_assert_double_eq_tol(number_at(run, "limit_ratio"), 400.0 / 450, 1e-14);
    ck_assert_double_eq_tol(number_at(run, "speedup"), 1000.0 / 450, 1e-14);
    ck_assert_double_eq_tol(number_at(run, "concurrency"), test->runs[3].analysis.concurrency,
                            1e-14);
    ck_assert_uint_eq(json_array_size(json_object_get(run, "hazards")), 0);
    ck_assert(json_is_array(json_object_get(run, "verdicts")));
    ck_assert(json_is_null(json_object_get(run, "result")));
    json_decref(root);
    free(test);
}
END_TEST

START_TEST(json_has_the_four_engines)
{
    struct test_report *test = test_report_new(4);
    json_t *root = json_of(&test->report), *run = json_run(root, 3);
    json_t *engines = json_object_get(run, "engines");
    static const char *const names[] = {"h2d", "compute", "d2h", "cpu"};
    static const int64_t busy_us[] = {300, 150, 300, 420};
    static const int64_t bytes[] = {3 << 20, 0, 3 << 20, 0};
    ck_assert_uint_eq(json_object_size(engines), 4);
    for (int i = 0; i < 4; i++) {
        json_t *engine = json_object_get(engines, names[i]);
        ck_assert_uint_eq(json_object_size(engine), 3);
        ck_assert_int_eq(ns_at(engine, "busy_ms"), busy_us[i] * 1000);
        ck_assert_double_eq_tol(number_at(engine, "utilisation"), (double)busy_us[i] / 450,
                                1e-14);
        ck_assert_int_eq(json_integer_value(json_object_get(engine, "bytes")), bytes[i]);
    }
    json_decref(root);
    free(test);
}
END_TEST

/* Every option of a run, with a value of its kind. */
static void check_setting(void *context, const char *name, const char *value,
                          enum value_kind kind)
{
    json_t *member = json_object_get(context, name);
    ck_assert_msg(member != NULL, "no setting %s", name);
    char text[64];
    switch (kind) {
    case VALUE_TEXT:
        ck_assert_str_eq(json_string_value(member), value);
        break;
    case VALUE_INTEGER:
        ck_assert_msg(json_is_integer(member), "%s is no integer", name);
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(member));
        ck_assert_str_eq(text, value);
        break;
    case VALUE_REAL:
        ck_assert_double_eq_tol(json_number_value(member), strtod(value, NULL), 1e-12);
        break;
    case VALUE_BOOL:
        ck_assert(json_is_boolean(member));
        ck_assert_int_eq(json_is_true(member), strcmp(value, "true") == 0);
        break;
    case VALUE_NULL:
        ck_assert_msg(json_is_null(member), "%s is not null", name);
        break;
    }
    json_object_del(context, name);
}

START_TEST(json_has_every_setting)
{
    struct test_report *test = test_report_new(4);
    test->settings[3].callbacks = true;
    json_t *root = json_of(&test->report);
    json_t *settings = json_object_get(json_run(root, 3), "settings");
    ck_assert_uint_gt(json_object_size(settings), 10);
    settings_each(&test->settings[3], check_setting, settings);
    ck_assert_uint_eq(json_object_size(settings), 0);
    json_decref(root);
    free(test);
}
END_TEST

/* A seed that jansson's integers do not hold loses no digit. */
START_TEST(json_keeps_a_large_seed)
{
    struct test_report *test = test_report_new(1);
    test->settings[0].seed = UINT64_MAX;
    json_t *root = json_of(&test->report);
    json_t *settings = json_object_get(json_run(root, 0), "settings");
    ck_assert_str_eq(text_at(settings, "seed"), "18446744073709551615");
    json_decref(root);
    free(test);
}
END_TEST

static const int64_t odd_times_ns[] = {
    0, 1, 22400000, 123456789, 999999999999, INT64_C(863999999999999)};

START_TEST(json_times_give_back_nanoseconds)
{
    struct test_report *test = test_report_new(1);
    struct run_report *run = &test->runs[0];
    run->median_ns = run->limit.ns = odd_times_ns[_i];
    json_t *root = json_of(&test->report);
    ck_assert_int_eq(ns_at(json_run(root, 0), "time_ms"), odd_times_ns[_i]);
    ck_assert_int_eq(ns_at(json_run(root, 0), "limit_ms"), odd_times_ns[_i]);
    json_decref(root);
    free(test);
}
END_TEST

START_TEST(json_has_null_for_what_is_not_known)
{
    struct test_report *test = test_report_new(3);
    test->runs[0].verified = VERIFIED_NOT_ASKED;
    test->runs[0].median_ns = test->runs[0].limit.ns = 0;
    test->runs[0].speedup = INFINITY;
    test->runs[0].has_result = true;
    test->runs[0].result = NAN;
    test->runs[1].has_result = true;
    test->runs[1].result = -1.25e300;
    test->runs[1].verified = VERIFIED_NO;
    json_t *root = json_of(&test->report), *first = json_run(root, 0);
    static const char *const keys[] = {"verified", "limit_ratio", "speedup", "result"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        ck_assert_msg(json_is_null(json_object_get(first, keys[i])), "%s", keys[i]);
    ck_assert(json_is_false(json_object_get(json_run(root, 1), "verified")));
    ck_assert_double_eq(number_at(json_run(root, 1), "result"), -1.25e300);
    json_decref(root);
    free(test);
}
END_TEST

START_TEST(json_lists_hazards)
{
    struct test_report *test = test_report_new(1);
    struct hazard hazards[2] = {
        {.first = 0, .second = 1, .where = {BUFFER_HOST_OUT, 0, 4}, .sure = true}, {0}};
    char texts[2][HAZARD_TEXT] = {"h2d 4 and scale 0 both touch device.in0 [0, 4096)",
                                  "bad \xff \"x\""};
    test->runs[0].hazards = hazards;
    test->runs[0].hazard_texts = texts;
    test->runs[0].hazard_count = 2;
    json_t *root = json_of(&test->report);
    json_t *list = json_object_get(json_run(root, 0), "hazards");
    ck_assert_uint_eq(json_array_size(list), 2);
    ck_assert_str_eq(json_string_value(json_array_get(list, 0)), texts[0]);
    ck_assert_str_eq(json_string_value(json_array_get(list, 1)), "bad \xef\xbf\xbd \"x\"");
    json_decref(root);
    free(test);
}
END_TEST

/* An RFC 4180 reader: the fields of the next record, after comment lines. */
enum { FIELDS_MAX = 96 };
struct record {
    char *fields[FIELDS_MAX];
    int count;
};

/* Reads a field in place, behind *text, and moves *text behind its delimiter, which it returns.
 */
static char read_field(char **text, char **field)
{
    char *from = *text, *to = *text;
    *field = to;
    if (*from == '"') {
        for (from++; *from != '"' || from[1] == '"'; from++) {
            ck_assert_msg(*from != '\0', "a quote is not closed");
            from += *from == '"';
            *to++ = *from;
        }
        from++;
    } else {
        while (*from != '\0' && strchr(",\n", *from) == NULL) {
            ck_assert_msg(strchr("\"\r", *from) == NULL, "not quoted: %s", *field);
            *to++ = *from++;
        }
    }
    char delimiter = *from;
    ck_assert_msg(delimiter == ',' || delimiter == '\n', "a field ends in '%c'", delimiter);
    *to = '\0';
    *text = from + 1;
    return delimiter;
}

static bool read_record(char **text, struct record *record)
{
    while (**text == '#')
        *text = strchr(*text, '\n') + 1;
    if (**text == '\0')
        return false;
    record->count = 0;
    do
        ck_assert_int_lt(record->count, FIELDS_MAX);
    while (read_field(text, &record->fields[record->count++]) == ',');
    return true;
}

static const char *field_of(const struct record *header, const struct record *record,
                            const char *name)
{
    ck_assert_int_eq(record->count, header->count);
    for (int i = 0; i < header->count; i++) {
        if (strcmp(header->fields[i], name) == 0)
            return record->fields[i];
    }
    ck_abort_msg("no column %s", name);
    return NULL;
}

/* A field as it was before it was written. */
static const char *unmarked(const struct record *header, const struct record *row,
                            const char *name)
{
    return csv_unmark((char *)field_of(header, row, name));
}

/* A name as JSON shows it. */
static const char *shown(const char *name, char clean[3 * RUN_NAME_MAX + 1])
{
    return utf8_of(clean, 3 * RUN_NAME_MAX + 1, name);
}

static void set_name(struct test_report *test, int run, const char *name)
{
    ck_assert_uint_lt(strlen(name), RUN_NAME_MAX);
    strcpy(test->settings[run].name, name);
}

START_TEST(every_name_comes_back)
{
    struct test_report *test = test_report_new(2);
    char clean[3 * RUN_NAME_MAX + 1];
    struct record header, row;
    set_name(test, 1, test_names[_i]);
    test->settings[1].input = test_names[_i];
    shown(test_names[_i], clean);

    json_t *root = json_of(&test->report), *run = json_run(root, 1);
    ck_assert_str_eq(text_at(run, "name"), clean);
    ck_assert_str_eq(text_at(json_object_get(run, "settings"), "input"), clean);
    json_decref(root);

    char *report = test_written(&test->report, write_csv_report), *text = report;
    ck_assert(read_record(&text, &header) && read_record(&text, &row));
    ck_assert_str_eq(field_of(&header, &row, "run"), "serial");
    ck_assert(read_record(&text, &row));
    ck_assert_str_eq(unmarked(&header, &row, "run"), test_names[_i]);
    ck_assert_str_eq(unmarked(&header, &row, "settings.input"), test_names[_i]);
    ck_assert(!read_record(&text, &row));
    free(report);

    char *timeline = test_written(&test->report, write_csv_timeline);
    text = timeline;
    ck_assert(read_record(&text, &header));
    for (int i = 0; i < 24; i++) {
        ck_assert(read_record(&text, &row));
        ck_assert_str_eq(unmarked(&header, &row, "run"), i < 12 ? "serial" : test_names[_i]);
    }
    ck_assert(!read_record(&text, &row));
    free(timeline);
    free(test);
}
END_TEST

START_TEST(csv_report_has_the_figures)
{
    struct test_report *test = test_report_new(4);
    static const char *const fields[][2] = {
        {"run", "4-way"},
        {"source", "simulated"},
        {"timing", "virtual"},
        {"device", "NVIDIA H200"},
        {"verified", "true"},
        {"time_ms", "0.450000"},
        {"limit_ms", "0.400000"},
        {"limit_ratio", "0.888888889"},
        {"speedup", "2.22222222"},
        {"h2d_busy_ms", "0.300000"},
        {"h2d_bytes", "3145728"},
        {"cpu_busy_ms", "0.420000"},
        {"d2h_utilisation", "0.666666667"},
        {"limit_cause", "copies"},
        {"result", ""},
        {"issue_ms", "0.012345"},
        {"settings.ways", "4"},
        {"settings.device", "sim:h200"},
        {"settings.input", ""},
        {"hazards", "0"},
    };
    struct record header, row;
    char *report = test_written(&test->report, write_csv_report), *text = report;
    ck_assert(read_record(&text, &header));
    for (int i = 0; i < 4; i++)
        ck_assert(read_record(&text, &row));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        ck_assert_str_eq(field_of(&header, &row, fields[i][0]), fields[i][1]);
    for (int i = 0; i < header.count; i++) {
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(header.fields[i], header.fields[k]);
    }
    free(report);
    free(test);
}
END_TEST

/* Unknown figures are empty fields; a result that is one keeps its digits. */
START_TEST(csv_report_leaves_out_what_is_not_known)
{
    struct test_report *test = test_report_new(1);
    struct record header, row;
    struct run_report *run = &test->runs[0];
    run->verified = VERIFIED_NOT_ASKED;
    run->speedup = NAN;
    run->median_ns = run->limit.ns = 0;
    run->max_ns = INT64_C(1) << 62;
    run->has_result = true;
    run->result = 0.1;
    char *report = test_written(&test->report, write_csv_report), *text = report;
    ck_assert(read_record(&text, &header) && read_record(&text, &row));
    ck_assert_str_eq(field_of(&header, &row, "verified"), "");
    ck_assert_str_eq(field_of(&header, &row, "speedup"), "");
    ck_assert_str_eq(field_of(&header, &row, "limit_ratio"), "");
    ck_assert_str_eq(field_of(&header, &row, "time_max_ms"), "4611686018427.387904");
    ck_assert_double_eq(strtod(field_of(&header, &row, "result"), NULL), 0.1);
    free(report);
    free(test);
}
END_TEST

static void check_integer(const struct record *header, const struct record *row,
                          const char *name, int64_t expected)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, expected);
    ck_assert_str_eq(field_of(header, row, name), text);
}

START_TEST(csv_timeline_has_every_span)
{
    struct test_report *test = test_report_new(4);
    struct record header, row;
    test_report_span(test, 3, OP_CALLBACK, 2, 1, 1, INT64_C(1) << 62);
    test_report_span(test, 3, OP_WAIT, 1, -1, 5, 5)->target = 2;
    char *timeline = test_written(&test->report, write_csv_timeline), *text = timeline;
    ck_assert(read_record(&text, &header));
    for (int r = 0; r < 4; r++) {
        for (uint32_t i = 0; i < test->runs[r].timeline.span_count; i++) {
            const struct span *span = &test->spans[r][i];
            char name[SPAN_NAME];
            ck_assert(read_record(&text, &row));
            ck_assert_str_eq(field_of(&header, &row, "run"), test->settings[r].name);
            ck_assert_str_eq(field_of(&header, &row, "kind"), op_kind_name(span->kind));
            ck_assert_str_eq(field_of(&header, &row, "engine"), engine_name(span->engine));
            ck_assert_str_eq(field_of(&header, &row, "name"),
                             timeline_span_name(&test->runs[r].timeline, span, name));
            check_integer(&header, &row, "op", span->op);
            check_integer(&header, &row, "stream", span->stream);
            check_integer(&header, &row, "lane", span->lane);
            check_integer(&header, &row, "bytes", (int64_t)span->bytes);
            check_integer(&header, &row, "issue_ns", span->issue_ns);
            check_integer(&header, &row, "start_ns", span->start_ns);
            check_integer(&header, &row, "end_ns", span->end_ns);
            if (span->tile >= 0)
                check_integer(&header, &row, "tile", span->tile);
            else
                ck_assert_str_eq(field_of(&header, &row, "tile"), "");
        }
    }
    ck_assert_str_eq(field_of(&header, &row, "name"), "scale 0"); /* what the wait waited for */
    ck_assert(!read_record(&text, &row));
    free(timeline);
    free(test);
}
END_TEST

/* Each line before the header is a comment, whatever is in the names. */
START_TEST(csv_timeline_begins_with_provenance)
{
    struct test_report *test = test_report_new(1);
    strcpy(test->runs[0].device, "a\ndevice");
    strcpy(test->runs[0].timeline.driver, "driver 13.0\r\n# x");
    set_name(test, 0, "two\nlines");
    char *timeline = test_written(&test->report, write_csv_timeline);
    static const char *const lines[] = {"# pipeline 0.0.0-test timeline\n",
                                        "# run: 'two\\nlines\n#   source: simulated\n",
                                        "#   timing: virtual\n#   device: 'a\\ndevice\n",
                                        "#   driver: 'driver 13.0\\r\\n# x\n",
                                        "#   resolution_ns: 1\n#   time_ns: 1000000\n",
                                        "\n#   limit_ns: 500000\n#   speedup: 1\n",
                                        "\n#   busy_ns: h2d=400000 ",
                                        "\n#   settings: elements=",
                                        " kernel=scale "};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_msg(strstr(timeline, lines[i]) != NULL, "no %s", lines[i]);
    char *line = timeline;
    while (line[0] == '#')
        line = strchr(line, '\n') + 1;
    ck_assert_int_eq(strncmp(line, "run,op,kind,", 12), 0);
    free(timeline);
    free(test);
}
END_TEST

TCase *writer_data_case(void)
{
    int names = 0;
    while (test_names[names] != NULL)
        names++;
    TCase *data = tcase_create("JSON and CSV");
    tcase_add_test(data, json_has_the_keys_of_schema_1);
    tcase_add_test(data, json_has_the_four_engines);
    tcase_add_test(data, json_has_every_setting);
    tcase_add_test(data, json_keeps_a_large_seed);
    tcase_add_loop_test(data, json_times_give_back_nanoseconds, 0,
                        sizeof odd_times_ns / sizeof odd_times_ns[0]);
    tcase_add_test(data, json_has_null_for_what_is_not_known);
    tcase_add_test(data, json_lists_hazards);
    tcase_add_loop_test(data, every_name_comes_back, 0, names);
    tcase_add_test(data, csv_report_has_the_figures);
    tcase_add_test(data, csv_report_leaves_out_what_is_not_known);
    tcase_add_test(data, csv_timeline_has_every_span);
    tcase_add_test(data, csv_timeline_begins_with_provenance);
    return data;
}
