/* hostile_readers.c - reads back what the writers wrote: UTF-8, CSV, JSON, HTML. */
#include "hostile_cases.h"
#include "trace/input.h"
#include "writers/writer.h"

#include <check.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ck_assert() where it is said once per character: check's own tells its parent of each. */
__attribute__((format(printf, 2, 3))) static void require(bool holds, const char *format, ...)
{
    char text[512];
    if (holds)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ck_abort_msg("%s", text);
}

/* Valid, and nothing in it but `allowed` moves a terminal's cursor. */
static void assert_clean(const char *text, const char *allowed)
{
    const char *why = hostile_text_why(text, strlen(text), allowed);
    require(why == NULL, "a text %s: %.40s", why, text);
}

static bool is_utf8(const char *text)
{
    return hostile_text_why(text, strlen(text), NULL) == NULL;
}

/* A format without escapes must give a valid text back unchanged, and an invalid one with
 * U+FFFD in place of what is not UTF-8. */
static void assert_same(const char *given, const char *got)
{
    bool same = got != NULL && strcmp(given, got) == 0;
    bool replaced = got != NULL && is_utf8(got) && strstr(got, "\xef\xbf\xbd") != NULL;
    require(is_utf8(given) ? same : replaced, "'%s' for '%s'", got, given);
}

void hostile_check_text(const struct hostile *hostile, char *text)
{
    assert_clean(text, "\n");
    ck_assert(hostile->report.run_count == 0 || strlen(text) > 10);
}

/* With colours: nothing but "\033[...m". */
void hostile_check_colored(const struct hostile *hostile, char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        if (*from != '\033') {
            *to++ = *from++;
            continue;
        }
        require(from[1] == '[', "an escape code: %.9s", from + 1);
        from += 2 + strspn(from + 2, "0123456789;");
        require(*from++ == 'm', "an escape code that is no colour");
    }
    *to = '\0';
    hostile_check_text(hostile, text);
}

void hostile_check_gantt(const struct hostile *hostile, char *text)
{
    (void)hostile;
    assert_clean(text, "\n");
}

void hostile_check_colored_gantt(const struct hostile *hostile, char *text)
{
    struct hostile none = {.report.run_count = 0};
    (void)hostile;
    hostile_check_colored(&none, text);
}

/* --- CSV
 * ---------------------------------------------------------------------------------------- */

/* Fails where a spreadsheet would compute a cell. */
static void assert_no_formula(const char *cell)
{
    char *end;
    if (*cell == '\0' || strchr("=+-@\t\r", *cell) == NULL)
        return;
    strtod(cell, &end);
    require(end > cell && *end == '\0', "a formula: %.40s", cell);
}

/* Reads one field of RFC 4180 at *at, unquoted and unmarked in place; returns what ends it:
 * ',', '\n', 0. */
static char csv_field(char **at, const char **field)
{
    char *from = *at, *to = from;
    *field = from;
    if (*from == '"') {
        for (from++; *from != '"' || from[1] == '"'; from++) {
            require(*from != '\0', "a quote is not closed");
            from += *from == '"';
            *to++ = *from;
        }
        from++;
    } else {
        while (*from != '\0' && strchr(",\"\r\n", *from) == NULL)
            *to++ = *from++;
    }
    char end = *from;
    require(end == ',' || end == '\n' || end == '\0', "'%c' behind a field", end);
    *at = from + (end != '\0');
    *to = '\0';
    assert_no_formula(*field);
    csv_unmark((char *)*field);
    return end;
}

enum { FIELDS_MAX = 128 };

/* Reads one record; returns how many fields it has, 0 at the end. */
static int csv_record(char **at, const char *fields[FIELDS_MAX])
{
    int count = 0;
    if (**at == '\0')
        return 0;
    require(**at != '#', "a record looks like a comment: %.40s", *at);
    for (char end = ','; end == ',';) {
        require(count < FIELDS_MAX, "%d fields", count);
        end = csv_field(at, &fields[count++]);
        require(end != '\0', "the last line has no end");
    }
    return count;
}

void hostile_check_csv_report(const struct hostile *hostile, char *text)
{
    assert_clean(text, "\n");
    const char *fields[FIELDS_MAX];
    int width = csv_record(&text, fields);
    ck_assert_str_eq(fields[0], "run");
    for (int i = 0; i < hostile->report.run_count; i++) {
        ck_assert_int_eq(csv_record(&text, fields), width);
        ck_assert_str_eq(hostile->settings[i].name, fields[0]);
        ck_assert_str_eq(report_device(&hostile->runs[i]), fields[3]);
    }
    ck_assert_int_eq(csv_record(&text, fields), 0);
}

static bool is_number(const char *field, int64_t number)
{
    char *end;
    return strtoll(field, &end, 10) == number && *end == '\0';
}

static void check_csv_span(const struct run_report *run, const struct span *span,
                           const char *const fields[])
{
    bool named =
        span->kind != OP_KERNEL || strcmp(run->timeline.names[span->link], fields[3]) == 0;
    require(named && strcmp(run->settings->name, fields[0]) == 0, "'%s' of run '%s'", fields[3],
            fields[0]);
    bool same = is_number(fields[1], span->op) &&
                strcmp(fields[2], op_kind_name(span->kind)) == 0 &&
                strcmp(fields[6], engine_name(span->engine)) == 0 &&
                is_number(fields[7], span->lane) && is_number(fields[8], (int64_t)span->bytes);
    require(same, "span %u: %s %s %s", span->op, fields[1], fields[2], fields[6]);
    same = is_number(fields[9], span->issue_ns) && is_number(fields[10], span->start_ns) &&
           is_number(fields[11], span->end_ns);
    require(same, "span %u: %s %s %s", span->op, fields[9], fields[10], fields[11]);
}

/* Lines of provenance, a header, a record per span. */
void hostile_check_csv_timeline(const struct hostile *hostile, char *text)
{
    const char *fields[FIELDS_MAX];
    assert_clean(text, "\n");
    while (*text == '#') {
        text = strchr(text, '\n');
        ck_assert_ptr_nonnull(text);
        text++;
    }
    ck_assert_int_eq(csv_record(&text, fields), 12);
    ck_assert_str_eq(fields[11], "end_ns");
    for (int i = 0; i < hostile->report.run_count; i++) {
        const struct run_report *run = &hostile->runs[i];
        for (uint32_t k = 0; k < run->timeline.span_count; k++) {
            int width = csv_record(&text, fields);
            require(width == 12, "%d fields", width);
            check_csv_span(run, &run->timeline.spans[k], fields);
        }
    }
    ck_assert_int_eq(csv_record(&text, fields), 0);
}

/* --- JSON
 * ---------------------------------------------------------------------------------------- */

/* jansson refuses invalid UTF-8, control characters and what is no number. */
static json_t *parse(const char *text)
{
    assert_clean(text, "\n");
    json_error_t why;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(value != NULL, "line %d: %s", why.line, why.text);
    return value;
}

void hostile_check_json(const struct hostile *hostile, char *text)
{
    json_t *report = parse(text);
    json_t *runs = json_object_get(report, "runs");
    ck_assert_uint_eq(json_array_size(runs), (size_t)hostile->report.run_count);
    for (int i = 0; i < hostile->report.run_count; i++) {
        json_t *run = json_array_get(runs, (size_t)i);
        assert_same(hostile->settings[i].name, json_string_value(json_object_get(run, "name")));
    }
    json_decref(report);
}

/* How many events of a trace are complete slices; and of each run, that its process is named.
 */
static size_t count_slices(const json_t *events, bool named[HOSTILE_RUNS_MAX],
                           const struct hostile *hostile)
{
    size_t index, slices = 0;
    json_t *event;
    json_array_foreach(events, index, event)
    {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        const char *name = json_string_value(json_object_get(event, "name"));
        require(phase != NULL && name != NULL, "event %zu has no phase or name", index);
        slices += strcmp(phase, "X") == 0;
        if (strcmp(phase, "M") != 0 || strcmp(name, "process_name") != 0)
            continue;
        name = json_string_value(json_object_get(json_object_get(event, "args"), "name"));
        ck_assert_ptr_nonnull(name);
        for (int i = 0; i < hostile->report.run_count; i++)
            named[i] |= !is_utf8(hostile->settings[i].name) ||
                        strstr(name, hostile->settings[i].name) != NULL;
    }
    return slices;
}

void hostile_check_trace(const struct hostile *hostile, char *text)
{
    json_t *trace = parse(text);
    const json_t *events = json_is_array(trace) ? trace : json_object_get(trace, "traceEvents");
    bool named[HOSTILE_RUNS_MAX] = {false};
    size_t spans = 0;
    ck_assert(json_is_array(events));
    size_t slices = count_slices(events, named, hostile);
    for (int i = 0; i < hostile->report.run_count; i++) {
        ck_assert_msg(named[i], "no process is called %s", hostile->settings[i].name);
        spans += hostile->runs[i].timeline.span_count;
    }
    ck_assert_uint_ge(slices, spans);
    json_decref(trace);
}

/* --- HTML
 * ---------------------------------------------------------------------------------------- */

static const char data_begin[] = "<script type=\"application/json\" id=\"data\">";
static const char data_end[] = "</script>";

/* Takes the data out of a page, which stays as it is without. */
static char *take_data(char *page)
{
    char *begin = strstr(page, data_begin);
    ck_assert_ptr_nonnull(begin);
    begin += strlen(data_begin);
    char *end = strstr(begin, data_end);
    ck_assert_ptr_nonnull(end);
    char *data = strndup(begin, (size_t)(end - begin));
    ck_assert_ptr_nonnull(data);
    memmove(begin, end, strlen(end) + 1);
    return data;
}

char *hostile_written(const struct report *report, report_writer *write, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    ck_assert_ptr_nonnull(out);
    write(out, report);
    ck_assert_int_eq(ferror(out), 0);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(strlen(text), *length); /* no NUL in it */
    return text;
}

/* The data is all that differs between one page and another, and it has nothing in it that a
 * reader of HTML could take for a tag, a comment or an entity. */
void hostile_check_html(const struct hostile *hostile, char *text)
{
    const struct report nothing = {.version = "1"};
    size_t length;
    char *other = hostile_written(&nothing, write_html, &length);
    free(take_data(other));
    char *data = take_data(text);
    ck_assert(is_utf8(data));
    assert_clean(text, "\n\t");
    ck_assert_str_eq(text, other);
    ck_assert_ptr_null(strpbrk(data, "<>&"));
    json_t *report = parse(data);
    json_t *runs = json_object_get(report, "runs");
    ck_assert_uint_eq(json_array_size(runs), (size_t)hostile->report.run_count);
    for (int i = 0; i < hostile->report.run_count; i++) {
        json_t *run = json_array_get(runs, (size_t)i);
        assert_same(hostile->settings[i].name, json_string_value(json_object_get(run, "name")));
        ck_assert_int_eq(json_integer_value(json_object_get(run, "span_count")),
                         hostile->runs[i].timeline.span_count);
    }
    json_decref(report);
    free(data);
    free(other);
}
