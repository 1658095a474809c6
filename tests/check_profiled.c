/* check_profiled.c - --profile: what the reports say of a run whose timeline is a profiler's,
 * and that a simulated machine, which needs no instrumentation, runs as ever. */
#include "fixtures.h"
#include "suites.h"
#include "writers/writer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* A report of two runs: one as ever, one left to a profiler. */
static struct settings settings[2];
static struct run_report runs[2];
static struct report report;

static void make_report(void)
{
    report = (struct report){.version = "1.2.3", .runs = runs, .run_count = 2};
    for (int i = 0; i < 2; i++) {
        settings[i] = test_settings("scale");
        settings[i].profile = i == 1;
        runs[i] = (struct run_report){.settings = &settings[i],
                                      .verified = VERIFIED_YES,
                                      .repeats = 1,
                                      .median_ns = 2000000,
                                      .min_ns = 2000000,
                                      .max_ns = 2000000,
                                      .speedup = 1,
                                      .limit = {.ns = 1000000},
                                      .profiled = i == 1};
        runs[i].timeline = (struct timeline){0};
        runs[i].timeline.timing = TIMING_EVENTS;
        runs[i].timeline.resolution_ns = 500;
        snprintf(runs[i].timeline.device, TIMELINE_TEXT, "a GPU");
    }
}

/* Returns a writer's text, to be freed. */
static char *written_text(report_writer *write)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    write(out, &report);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

static const json_t *member_of(const json_t *root, int run, const char *key)
{
    const json_t *value =
        json_object_get(json_array_get(json_object_get(root, "runs"), (size_t)run), key);
    ck_assert_msg(value != NULL, "no %s", key);
    return value;
}

/* Null where only a timeline tells; everything else is there. */
START_TEST(test_json)
{
    static const char *const traced[] = {"timing", "timeline_ms", "engines", "concurrency",
                                         "resolution_ns"};
    static const char *const always[] = {"source",   "device",      "time_ms", "limit_ms",
                                         "verified", "limit_ratio", "settings"};
    make_report();
    char *text = written_text(write_json);
    json_t *root = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(root);
    for (size_t i = 0; i < sizeof traced / sizeof traced[0]; i++) {
        ck_assert_msg(!json_is_null(member_of(root, 0, traced[i])), "%s", traced[i]);
        ck_assert_msg(json_is_null(member_of(root, 1, traced[i])), "%s", traced[i]);
    }
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        ck_assert_msg(!json_is_null(member_of(root, 1, always[i])), "%s", always[i]);
    ck_assert_str_eq(json_string_value(member_of(root, 1, "source")), "measured");
    json_decref(root);
    free(text);
}
END_TEST

/* The field under `title` in data row `row` (from 1) of a CSV without quotes. */
static void csv_field(const char *csv, const char *title, int row, char *field, size_t size)
{
    char *copy = strdup(csv), *rest = copy;
    char *header = strsep(&rest, "\n"), *line = header;
    for (int i = 0; i < row; i++)
        line = strsep(&rest, "\n");
    ck_assert_ptr_nonnull(line);
    for (char *name, *value; (name = strsep(&header, ",")) != NULL;) {
        value = strsep(&line, ",");
        ck_assert_msg(value != NULL, "row %d has no %s", row, name);
        if (strcmp(name, title) == 0)
            snprintf(field, size, "%s", value);
    }
    ck_assert_msg(line == NULL, "row %d has fields without a title", row);
    free(copy);
}

START_TEST(test_csv)
{
    static const char *const traced[] = {"timing",    "h2d_busy_ms", "compute_utilisation",
                                         "cpu_bytes", "concurrency", "timeline_ms"};
    char field[256];
    make_report();
    char *text = written_text(write_csv_report);
    for (size_t i = 0; i < sizeof traced / sizeof traced[0]; i++) {
        csv_field(text, traced[i], 1, field, sizeof field);
        ck_assert_msg(field[0] != '\0', "%s", traced[i]);
        csv_field(text, traced[i], 2, field, sizeof field);
        ck_assert_msg(field[0] == '\0', "%s is %s", traced[i], field);
    }
    csv_field(text, "time_ms", 2, field, sizeof field);
    ck_assert_str_eq(field, "2.000000");
    csv_field(text, "repeats", 2, field, sizeof field);
    ck_assert_str_eq(field, "1");
    free(text);
}
END_TEST

static enum status write_all_text(FILE *out, const struct report *shown)
{
    const struct writer_style style = {.width = 200, .gantt = GANTT_ENGINES, .verbose = 1};
    write_text(out, shown, &style);
    write_gantt(out, shown, &style);
    return STATUS_OK;
}

START_TEST(test_text)
{
    make_report();
    runs[0] = runs[1];
    report.run_count = 1;
    char *text = written_text(write_all_text);
    ck_assert_msg(strstr(text, "measured, a GPU") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "profiled: time by the host's clock, no timeline") != NULL, "%s",
                  text);
    ck_assert_msg(strstr(text, " 0%") == NULL, "a figure without a timeline: %s", text);
    ck_assert_msg(strstr(text, "no timeline (--profile)\n") != NULL, "%s", text);
    free(text);
}
END_TEST

/* The report of `pipeline ARGUMENTS` on a simulated machine. */
static json_t *simulated(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command,
             "%s --device=sim:h200 -n 64k -t 8 -q --format=json %s 2>&1 </dev/null",
             PIPELINE_PROGRAM, arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    json_t *root = json_loadf(pipe, 0, NULL);
    int status = pclose(pipe);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0 && root != NULL, "%s", command);
    return root;
}

/* Virtual times need no instrumentation: with --profile they are all there, and the same. */
START_TEST(test_simulated)
{
    static const char *const keys[] = {"timing", "time_ms", "timeline_ms", "engines",
                                       "concurrency"};
    json_t *with = simulated("--profile"), *without = simulated("--runs=1");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        ck_assert_msg(json_equal(member_of(with, 0, keys[i]), member_of(without, 0, keys[i])),
                      "%s", keys[i]);
    const json_t *used = member_of(with, 0, "settings");
    ck_assert(json_is_true(json_object_get(used, "profile")));
    ck_assert_int_eq(json_integer_value(json_object_get(used, "runs")), 1);
    json_decref(with);
    json_decref(without);
}
END_TEST

Suite *profiled_suite(void)
{
    Suite *suite = suite_create("profiled");
    TCase *tcase = tcase_create("profiled");
    tcase_add_test(tcase, test_json);
    tcase_add_test(tcase, test_csv);
    tcase_add_test(tcase, test_text);
    tcase_add_test(tcase, test_simulated);
    suite_add_tcase(suite, tcase);
    return suite;
}
