/* check_sweep.c - the tables of a sweep, made of figures by hand; and sweeps by the program. */
#include "options_cases.h"
#include "suites.h"
#include "test_program.h"
#include "writers/writer.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A report whose runs are those of a command line. */
struct swept {
    struct options options;
    struct run_report *runs;
    struct report report;
};

/* Spans in ns: the more streams the shorter, down to four; 16 tiles are best. */
static int64_t span_of(const struct settings *settings)
{
    int64_t streams = settings->streams < 4 ? settings->streams : 4;
    int64_t off = (int64_t)settings->tiles - 16;
    return (int64_t)(settings->elements >> 10) * 1000 / streams + off * off * 10 +
           (settings->order == ORDER_BREADTH ? 7 : 0);
}

static struct swept *swept_new(char *const line[])
{
    struct swept *swept = calloc(1, sizeof *swept);
    ck_assert_ptr_nonnull(swept);
    swept->options = parse_right(line);
    int count = swept->options.run_count;
    swept->runs = calloc((size_t)count, sizeof swept->runs[0]);
    ck_assert_ptr_nonnull(swept->runs);
    for (int i = 0; i < count; i++) {
        struct settings *settings = &swept->options.runs[i];
        struct run_report *run = &swept->runs[i];
        *run = (struct run_report){
            .settings = settings,
            .elements = settings->elements,
            .verified = settings->no_data ? VERIFIED_NOT_ASKED : VERIFIED_YES,
            .repeats = settings->no_data ? 1 : settings->runs,
            .median_ns = span_of(settings),
            .limit = {.ns = (int64_t)(settings->elements >> 10) * 200, .cause = LIMIT_COPIES},
            .timeline = {.timing = settings->no_data ? TIMING_VIRTUAL : TIMING_CUPTI},
            .device = "NVIDIA H200",
        };
        strcpy(run->timeline.driver, settings->no_data ? "" : "driver 13.0");
        run->min_ns = run->median_ns * 99 / 100;
        run->max_ns = run->median_ns * 103 / 100;
        run->analysis.engines[ENGINE_H2D].bytes = 4 * settings->elements;
        run->analysis.engines[ENGINE_D2H].bytes = 4 * settings->elements;
        run->speedup = (double)swept->runs[0].median_ns / (double)run->median_ns;
    }
    swept->report = (struct report){.version = "0.0.0-test",
                                    .runs = swept->runs,
                                    .run_count = count,
                                    .sweep = &swept->options.sweep};
    return swept;
}

static void swept_free(struct swept *swept)
{
    options_free(&swept->options);
    free(swept->runs);
    free(swept);
}

static char *table_of(const struct swept *swept, const struct writer_style *style)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    write_sweep(out, &swept->report, style);
    fclose(out);
    return text;
}

/* The text is that of a file; with EXPECTED_UPDATE set the file becomes it. */
static char *expected_text(const char *name, const char *now)
{
    char path[512], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, TESTS_FOLDER "/expected/%s", name);
    FILE *file = fopen(path, getenv("EXPECTED_UPDATE") != NULL ? "w+" : "r");
    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    if (getenv("EXPECTED_UPDATE") != NULL) {
        fputs(now, file);
        rewind(file);
    }
    ck_assert_int_gt(getdelim(&text, &size, '\0', file), 0);
    fclose(file);
    return text;
}

#define SECTIONS                                                                               \
    "[global]\nno-data=yes\nintensity=1\nelements=1M\ndevice=sim\n[depth first]\n[breadth "    \
    "first]\n"                                                                                 \
    "order=breadth\n[serial]\nways=1\n"

static const struct {
    char *words[6];
    const char *file;
    int width, verbose;
} tables[] = {
    {{"--intensity=1", "--no-data", "-n1M", "-dsim", "--sweep=streams=1..6"},
     "sweep-streams.txt",
     80,
     0},
    {{"--intensity=1", "-n1M", "-dcuda", "--sweep=tiles=4,8,16,32"},
     "sweep-measured.txt",
     80,
     0},
    {{"--intensity=1", "--no-data", "-dsim", "--sweep=elements=1M..64M*4"},
     "sweep-elements.txt",
     80,
     0},
    {{"s.ini", "--sweep=streams=1,2,4", "--sweep=tiles=8,16,32"}, "sweep-matrix.txt", 80, 0},
    {{"s.ini", "--sweep=streams=1,2", "--sweep=tiles=8,16"}, "sweep-verbose.txt", 80, 1},
    {{"s.ini", "--sweep=streams=1,2", "--sweep=tiles=8,16,24"}, "sweep-narrow.txt", 40, 0},
    {{"--intensity=1", "-n1M", "-dcuda", "--sweep=tiles=8..24+4", "--sweep=streams=1..16"},
     "sweep-folded.txt",
     80,
     0},
    {{"--intensity=1", "--no-data", "-n1M", "-dsim", "--sweep=order=breadth"},
     "sweep-one.txt",
     80,
     0},
};

START_TEST(table_is_as_expected)
{
    test_file_write("s.ini", SECTIONS, sizeof SECTIONS - 1);
    char *const *words = tables[_i].words;
    struct swept *swept = swept_new(LINE(words[0], words[1], words[2], words[3], words[4]));
    const struct writer_style style = {.width = tables[_i].width,
                                       .verbose = tables[_i].verbose};
    char *text = table_of(swept, &style), *expected = expected_text(tables[_i].file, text);
    ck_assert_msg(strcmp(text, expected) == 0, "not as in %s:\n%.3000s", tables[_i].file, text);
    free(expected);
    free(text);
    swept_free(swept);
}
END_TEST

/* Colours are escapes, and nothing else changes; no line ends with one on. */
START_TEST(colors_only_add_escapes)
{
    test_file_write("s.ini", SECTIONS, sizeof SECTIONS - 1);
    char *const *words = tables[_i].words;
    struct swept *swept = swept_new(LINE(words[0], words[1], words[2], words[3], words[4]));
    struct writer_style style = {.width = tables[_i].width, .verbose = tables[_i].verbose};
    char *plain = table_of(swept, &style);
    style.color = true;
    char *colored = table_of(swept, &style), *to = colored;
    bool on = false;
    ck_assert_ptr_null(strchr(plain, '\033'));
    ck_assert_ptr_nonnull(strstr(colored, "\033[1m"));
    for (char *from = colored; *from != '\0'; from++) {
        ck_assert(*from != '\n' || !on);
        if (*from != '\033') {
            *to++ = *from;
            continue;
        }
        on = strncmp(from, "\033[0m", 4) != 0;
        from = strchr(from, 'm');
    }
    *to = '\0';
    ck_assert_str_eq(colored, plain);
    free(plain);
    free(colored);
    swept_free(swept);
}
END_TEST

static const int widths[] = {-1, 0, 39, 40, 47, 60, 80, 97, 200, 10000};

START_TEST(no_line_is_too_wide)
{
    test_file_write("s.ini", SECTIONS, sizeof SECTIONS - 1);
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        char *const *words = tables[t].words;
        struct swept *swept = swept_new(LINE(words[0], words[1], words[2], words[3], words[4]));
        const struct writer_style style = {.width = widths[_i], .verbose = (int)t % 2};
        int most = style.width < 40 ? 40 : style.width;
        char *text = table_of(swept, &style);
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            ck_assert_msg(writer_columns(line) <= most, "wider than %d:\n%s", most, line);
            ck_assert_msg(line[strlen(line) - 1] != ' ', "blank at the end:\n%s|", line);
        }
        free(text);
        swept_free(swept);
    }
}
END_TEST

/* Times of none, and a device of any name, are shown somehow. */
START_TEST(odd_figures_are_shown)
{
    struct swept *swept = swept_new(LINE("-dsim", "--no-data", "--sweep=streams=1,2"));
    strcpy(swept->runs[1].device, "\033[31mred\xff\n");
    swept->runs[0].median_ns = swept->runs[1].median_ns = 0;
    swept->runs[0].speedup = swept->runs[1].speedup = 0.0 / 0.0;
    swept->runs[1].elements = 0;
    swept->runs[1].limit.ns = INT64_MAX;
    char *text = table_of(swept, &(struct writer_style){.width = 80});
    ck_assert_ptr_nonnull(strstr(text, "streams"));
    for (const char *byte = text; *byte != '\0'; byte++)
        ck_assert((unsigned char)*byte >= ' ' || *byte == '\n');
    free(text);
    swept->report.run_count = 0;
    text = table_of(swept, &(struct writer_style){.width = 80});
    ck_assert_str_eq(text, "");
    free(text);
    swept_free(swept);
}
END_TEST

/* --- by the program --- */

/* Counts the rows of a file that have `words`. */
static int count_in(const char *path, const char *words)
{
    char line[65536];
    int count = 0;
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "no %s", path);
    while (fgets(line, sizeof line, file) != NULL)
        count += line[0] != '#' && strstr(line, words) != NULL;
    fclose(file);
    return count;
}

/* The figures are those of the same runs made one by one. */
START_TEST(sweep_gives_what_its_runs_give)
{
    json_error_t why;
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 64k -t 8 --format=json "
                                 "--sweep streams=1,2,4 --sweep order=depth,breadth"),
                     0);
    json_t *report = json_load_file("out", JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(report != NULL, "%s", why.text);
    ck_assert_int_eq(json_integer_value(json_object_get(report, "schema")), 2);
    json_t *runs = json_object_get(report, "runs");
    ck_assert_uint_eq(json_array_size(runs), 6);
    json_t *fifth = json_array_get(runs, 4), *settings = json_object_get(fifth, "settings");
    ck_assert_str_eq(json_string_value(json_object_get(fifth, "name")),
                     "run streams=4 order=depth");
    ck_assert_int_eq(json_integer_value(json_object_get(settings, "streams")), 4);
    ck_assert_str_eq(json_string_value(json_object_get(settings, "order")), "depth");
    ck_assert(json_is_true(json_object_get(fifth, "verified")));
    double span = json_real_value(json_object_get(fifth, "time_ms"));
    double first = json_real_value(json_object_get(json_array_get(runs, 0), "time_ms"));
    ck_assert_double_eq_tol(json_real_value(json_object_get(fifth, "speedup")), first / span,
                            1e-9);
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 64k -t 8 --format=json -s 4"), 0);
    json_t *alone = json_load_file("out", 0, &why);
    ck_assert_double_eq(json_real_value(json_object_get(
                            json_array_get(json_object_get(alone, "runs"), 0), "time_ms")),
                        span);
    json_decref(alone);
    json_decref(report);
}
END_TEST

/* Spans are kept where a file wants them, and CSV has a row for each run. */
START_TEST(sweep_writes_csv_and_timelines)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 64k --format=csv --sweep tiles=4,8 "
                                 "--timeline=t.csv"),
                     0);
    ck_assert_int_eq(count_in("out", ",true,"), 2);
    ck_assert_int_eq(count_in("t.csv", ",h2d,"), 4 + 8);
    ck_assert_int_eq(count_in("t.csv", "run tiles=8,"), 3 * 8);
}
END_TEST

START_TEST(sweep_of_a_dry_run_prints_plans)
{
    ck_assert_int_eq(program_run("-d sim:h200 --dry-run --sweep tiles=1..3"), 0);
    ck_assert_int_eq(count_in("out", "scale 0"), 3);
    ck_assert_int_eq(count_in("out", "scale 2"), 1);
}
END_TEST

/* Whatever one of the runs can't do is said before the first is made. */
START_TEST(nothing_runs_before_all_are_checked)
{
    test_file_write("eight.raw", "aaaabbbbccccddddeeeeffffgggghhhh", 32);
    ck_assert_int_eq(program_run("-d sim:h200 -i eight.raw --sweep tiles=4,8,16 -v"), 2);
    ck_assert_int_eq(count_in("err", "run tiles=16: tiles=16 is more than elements=8"), 1);
    ck_assert_int_eq(count_in("err", ""), 1);
    ck_assert_int_eq(count_in("out", ""), 0);
    ck_assert_int_eq(program_run("-d sim:h200 -i eight.raw --sweep tiles=4,8"), 0);
    ck_assert_int_eq(count_in("out", "2 runs, verified"), 1);
}
END_TEST

/* A note that holds for every run is said once. */
START_TEST(notes_are_not_repeated)
{
    ck_assert_int_eq(
        program_run("-d sim:h200 -n 64k -t 4 --priorities=-99 --sweep streams=1..4"), 0);
    ck_assert_int_eq(count_in("err", "clamped"), 1);
    ck_assert_int_eq(count_in("err", ""), 1);
}
END_TEST

Suite *sweep_suite(void)
{
    Suite *suite = suite_create("sweep");
    TCase *tcase = tcase_create("tables");
    tcase_add_checked_fixture(tcase, options_enter_folder, options_leave_folder);
    ADD_EACH(tcase, table_is_as_expected, tables);
    ADD_EACH(tcase, colors_only_add_escapes, tables);
    ADD_EACH(tcase, no_line_is_too_wide, widths);
    tcase_add_test(tcase, odd_figures_are_shown);
    suite_add_tcase(suite, tcase);
    TCase *program = tcase_create("program");
    tcase_add_checked_fixture(program, options_enter_folder, options_leave_folder);
    tcase_add_test(program, sweep_gives_what_its_runs_give);
    tcase_add_test(program, sweep_writes_csv_and_timelines);
    tcase_add_test(program, sweep_of_a_dry_run_prints_plans);
    tcase_add_test(program, nothing_runs_before_all_are_checked);
    tcase_add_test(program, notes_are_not_repeated);
    suite_add_tcase(suite, program);
    return suite;
}
