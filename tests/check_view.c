/* check_view.c - what is made of a trace: overlap, gaps and the path, computed by hand, and how
 * `pipeline view` says it. */
#include "suites.h"
#include "trace/view.h"
#include "trace_cases.h"
#include "view_cases.h"
#include "writers/writer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct view view_of(const char *path)
{
    const char *traces[] = {path};
    const struct options options = {.command = COMMAND_VIEW, .words = traces, .word_count = 1};
    struct view view;
    struct error error = {0};
    ck_assert_msg(view_read(&options, NULL, &view, &error) == STATUS_OK, "%s", error.text);
    return view;
}

char *view_text(const struct report *report, int width)
{
    const struct writer_style style = {.width = width, .gantt = GANTT_ENGINES};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    write_view(out, report, &style);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

/* Joins lines to the ones that they continue, which they are indented under. Returns `text`. */
static char *unfolded(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool continues = from[0] == '\n' && from[1] == ' ';
        *to++ = continues ? ' ' : *from;
        from += continues ? strspn(from + 1, " ") : 0;
    }
    *to = '\0';
    return text;
}

static char *written(const struct report *report, report_writer *write)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    write(out, report);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

void view_write_rows(const char *rows)
{
    char text[4096];
    snprintf(text, sizeof text,
             "Start (ns),Duration (ns),Bytes (B),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n%s",
             rows);
    test_file_put(test_trace_path, text);
}

/* The text of a trace of `rows`, without the breaks of its lines, to be freed. */
static char *text_of_rows(const char *rows)
{
    view_write_rows(rows);
    struct view view = view_of(test_trace_path);
    char *said = unfolded(view_text(&view.report, 10000));
    view_free(&view);
    return said;
}

static void assert_says(const char *rows, const char *words, bool says)
{
    char *text = text_of_rows(rows);
    ck_assert_msg((strstr(text, words) != NULL) == says, "\"%s\" is %sin: %s", words,
                  says ? "not " : "", text);
    free(text);
}

/* In 0-40 and 50-90, kernels 30-60 and, beside, 35-55 and 70-80, out 80-120. */
START_TEST(test_facts)
{
    static const char rows[] = "1000,40,8,Pinned,Device,G,1,7,[CUDA memcpy HtoD]\n"
                               "1050,40,8,Pinned,Device,G,1,7,[CUDA memcpy HtoD]\n"
                               "1030,30,,,,G,1,8,a\n1035,20,,,,G,1,9,b\n1070,10,,,,G,1,8,a\n"
                               "1080,40,8,Device,Pinned,G,1,10,[CUDA memcpy DtoH]\n";
    free(text_of_rows(rows));
    struct view view = view_of(test_trace_path);
    const struct run_report *run = &view.report.runs[0];
    struct view_facts facts;
    ck_assert_int_eq(view_facts_find(&run->timeline, &run->critical, &facts, NULL), STATUS_OK);
    static const int64_t together[ENGINE_SETS] = {
        [1] = 30 + 10, [2] = 10, [3] = 10 + 10 + 10, [4] = 30, [5] = 10};
    for (int set = 0; set < ENGINE_SETS; set++)
        ck_assert_msg(facts.together_ns[set] == together[set], "set %d: %ld", set,
                      (long)facts.together_ns[set]);
    ck_assert_int_eq(view_facts_at_once_ns(&facts, 1), 80);
    ck_assert_int_eq(view_facts_at_once_ns(&facts, 2), 40);
    ck_assert_int_eq(view_facts_together_ns(&facts, 1U << ENGINE_COMPUTE), 40);
    ck_assert_int_eq(facts.sum_ns[ENGINE_COMPUTE], 60);
    ck_assert_uint_eq(facts.gap_counts[ENGINE_H2D], 1);
    ck_assert_int_eq(facts.gaps[ENGINE_H2D][0].start_ns, 40);
    ck_assert_int_eq(facts.gaps[ENGINE_H2D][0].end_ns, 50);
    ck_assert_int_eq(facts.gap_sums_ns[ENGINE_COMPUTE], 10);
    ck_assert_uint_eq(facts.gap_counts[ENGINE_D2H], 0);
    ck_assert_uint_eq(facts.name_count, 4);
    ck_assert_str_eq(facts.names[0].name, "h2d");
    ck_assert_int_eq(facts.names[0].sum_ns, 80);
    ck_assert_str_eq(facts.names[3].name, "b");
    ck_assert_uint_eq(facts.names[3].ops, 1);
    view_facts_free(&facts);
    view_free(&view);
}
END_TEST

/* The longest gaps are kept, longest first. */
START_TEST(test_gaps_are_the_longest)
{
    char rows[2048];
    size_t used = 0;
    static const int gaps[] = {3, 9, 1, 7, 9, 2, 8, 4};
    int at = 0;
    for (size_t i = 0; i <= sizeof gaps / sizeof gaps[0]; i++) {
        used += (size_t)snprintf(rows + used, sizeof rows - used, "%d,10,,,,G,1,7,k\n", at);
        at += 10 + (i < sizeof gaps / sizeof gaps[0] ? gaps[i] : 0);
    }
    free(text_of_rows(rows));
    struct view view = view_of(test_trace_path);
    const struct run_report *run = &view.report.runs[0];
    struct view_facts facts;
    ck_assert_int_eq(view_facts_find(&run->timeline, &run->critical, &facts, NULL), STATUS_OK);
    static const int longest[GAPS_KEPT] = {9, 9, 8, 7, 4};
    static const uint32_t next[GAPS_KEPT] = {2, 5, 7, 4, 8};
    ck_assert_uint_eq(facts.gap_counts[ENGINE_COMPUTE], 8);
    for (int i = 0; i < GAPS_KEPT; i++) {
        const struct view_gap *gap = &facts.gaps[ENGINE_COMPUTE][i];
        ck_assert_int_eq(gap->end_ns - gap->start_ns, longest[i]);
        ck_assert_uint_eq(gap->next, next[i]);
    }
    view_facts_free(&facts);
    view_free(&view);
}
END_TEST

START_TEST(test_findings)
{
    static const char in[] = "1000,40,8,Pinned,Device,G,1,7,[CUDA memcpy HtoD]\n";
    static const char rows[] = "0,100000,8,Pageable,Device,G,1,7,[CUDA memcpy HtoD]\n"
                               "110000,100000,,,,G,1,7,k\n"
                               "210000,100000,8,Device,Pinned,G,1,7,[CUDA memcpy DtoH]\n";
    static const char beside[] = "0,100000,8,Pinned,Device,G,1,13,[CUDA memcpy HtoD]\n"
                                 "50000,100000,,,,G,1,14,k\n"
                                 "90000,100000,8,Device,Pinned,G,1,15,[CUDA memcpy DtoH]\n";
    assert_says(rows, "All work is in one stream (7, as the default stream", true);
    assert_says(rows, "No kernel ran while a copy did", true);
    assert_says(rows, "Copies in and copies out never overlapped", true);
    assert_says(rows, "Pageable memory: 1 of 1 copies in (8 B). Such", true);
    assert_says(rows, "For 10 us", false); /* 3% */
    assert_says(beside, "one stream", false);
    assert_says(beside, "No kernel ran", false);
    assert_says(beside, "never overlapped", false);
    assert_says(beside, "Pageable", false);
    assert_says(beside, "no events and no waits, and this one not the host's calls", true);
    assert_says(in, "one stream", false);
    assert_says("0,10,,,,G,1,7,k\n90,10,,,,G,1,7,k\n",
                "For 80 ns (80% of the time) no engine was at work", true);
}
END_TEST

START_TEST(test_short_ops)
{
    char rows[1024];
    size_t used = 0;
    for (int i = 0; i < 16; i++)
        used += (size_t)snprintf(rows + used, sizeof rows - used, "%d,9000,,,,G,1,7,k\n",
                                 20000 * i);
    assert_says(rows, "16 kernels take 9 us on average", true);
}
END_TEST

/* The figures of a trace that is simple enough to work them out by hand. */
START_TEST(test_figures)
{
    struct view view = view_of(DATA "streams.csv");
    char *text = unfolded(view_text(&view.report, 10000));
    static const char *const words[] = {
        "\nstreams\n",
        "measured, NVIDIA H200 (0), traced by Nsight Systems\n",
        "12 ops in 4 streams (13, 14, 15, 16); 557 us from the first start to the last end\n",
        "\nH2D            4     400 us     72%        1 us    32 MiB    83.9 GB/s\n",
        "\nkernel         4     200 us     36%       51 us         -            -\n",
        "critical path: 6 ops, H2D 100 us, kernel 50 us, D2H 400 us; 7 us between them\n",
        "busiest engine: H2D, at work for 400 us, 72% of the time: no order of these ops ends "
        "sooner\n",
        "H2D idle for 1 us at 100 us, until h2d (stream 14): waited for its engine: h2d "
        "(stream 13), then 1 us to start",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        ck_assert_msg(strstr(text, words[i]) != NULL, "\"%s\" is not in: %s", words[i], text);
    const char *stands_out = strstr(text, "\nwhat stands out\n");
    ck_assert(stands_out != NULL && stands_out < strstr(text, "\nengine "));
    free(text);
    view_free(&view);
}
END_TEST

static void assert_fits(char *text, int width)
{
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        ck_assert_msg(writer_columns(line) <= width, "too wide: %s", line);
        for (const char *c = line; *c != '\0'; c++)
            ck_assert_msg((unsigned char)*c >= ' ' && *c != 0x7f, "control in: %s", line);
    }
}

/* 80 columns, whatever the names are. */
START_TEST(test_fits)
{
    static const char *const files[] = {DATA "streams.csv", DATA "serial.csv",
                                        DATA "devices.csv"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct view view = view_of(files[i]);
        char *text = view_text(&view.report, 80);
        assert_fits(text, 80);
        free(text);
        view_free(&view);
    }
    char rows[2048], name[900];
    memset(name, 'x', sizeof name);
    memcpy(name, "\033[2J \xff<script> ", 14);
    name[sizeof name - 1] = '\0';
    snprintf(rows, sizeof rows, "0,10,,,,\033[31mG\xc3,1,7,%s\n90,10,,,,\033[31mG\xc3,1,7,%s\n",
             name, name);
    free(text_of_rows(rows));
    struct view view = view_of(test_trace_path);
    char *text = view_text(&view.report, 80);
    ck_assert_ptr_null(
        strstr(text, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
    assert_fits(text, 80);
    free(text);
    view_free(&view);
}
END_TEST

START_TEST(test_nothing_ran)
{
    char *text = text_of_rows("");
    ck_assert_ptr_nonnull(strstr(text, "nothing to draw"));
    free(text);
    struct view view = view_of(test_trace_path);
    ck_assert_int_eq(view.report.run_count, 1);
    ck_assert_uint_eq(view.report.runs[0].timeline.span_count, 0);
    view_free(&view);
}
END_TEST

/* One run per file and device, in order, each named after its file. */
START_TEST(test_runs)
{
    const char *traces[] = {DATA "streams.csv", DATA "devices.csv"};
    const struct options options = {.command = COMMAND_VIEW, .words = traces, .word_count = 2};
    struct view view;
    struct error error = {0};
    ck_assert_int_eq(view_read(&options, NULL, &view, &error), STATUS_OK);
    ck_assert_int_eq(view.report.run_count, 3);
    const struct run_report *runs = view.report.runs;
    ck_assert_str_eq(runs[0].settings->name, "streams");
    ck_assert_str_eq(runs[1].settings->name, "devices: NVIDIA A100 (0)");
    ck_assert_str_eq(runs[2].settings->name, "devices: NVIDIA A100 (1)");
    for (int i = 0; i < 3; i++) {
        ck_assert(runs[i].foreign && isnan(runs[i].speedup));
        ck_assert_int_eq(runs[i].median_ns, timeline_time_ns(&runs[i].timeline));
        ck_assert_int_gt(runs[i].critical.path_count, 0);
        ck_assert_ptr_eq(runs[i].trace, &view.items[i].trace);
    }
    ck_assert_uint_eq(runs[0].trace->in.count, 4);
    ck_assert_double_eq_tol(runs[0].analysis.concurrency, 1000.0 / 557, 1e-9);
    view_free(&view);
    traces[1] = "/nowhere";
    ck_assert_int_eq(view_read(&options, NULL, &view, &error), STATUS_USAGE);
    view_free(&view);
}
END_TEST

/* Schema 1: what a trace does not tell is null, or empty. */
START_TEST(test_json_and_csv)
{
    static const char *const unknown[] = {"settings",    "plan",        "verified", "result",
                                          "repeats",     "issue_ms",    "limit_ms", "speedup",
                                          "limit_ratio", "limit_cause", "latency"};
    struct view view = view_of(DATA "streams.csv");
    char *text = written(&view.report, write_json);
    json_t *root = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(root);
    const json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        ck_assert_msg(json_is_null(json_object_get(run, unknown[i])), "%s", unknown[i]);
    ck_assert_double_eq_tol(json_number_value(json_object_get(run, "time_ms")), 0.557, 1e-9);
    ck_assert_str_eq(json_string_value(json_object_get(run, "source")), "measured");
    const json_t *h2d = json_object_get(json_object_get(run, "engines"), "h2d");
    ck_assert_int_eq(json_integer_value(json_object_get(h2d, "bytes")), 4 * 8389000);
    json_decref(root);
    free(text);
    text = written(&view.report, write_csv_report);
    int commas[2] = {0};
    char *row = strchr(text, '\n') + 1;
    for (char *c = text; *c != '\0'; c++)
        commas[c >= row] += *c == ',';
    ck_assert_int_eq(commas[0], commas[1]);
    ck_assert_ptr_nonnull(strstr(row, "streams,measured,nsys,NVIDIA H200 (0),"));
    ck_assert_ptr_null(strstr(row, "depth"));
    free(text);
    view_free(&view);
}
END_TEST

static int program(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "%s view %s </dev/null >/dev/null 2>&1", PIPELINE_PROGRAM,
             arguments);
    int status = system(command);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(test_program)
{
    ck_assert_int_eq(program(DATA "streams.csv"), 0);
    ck_assert_int_eq(program("--format=json " DATA "streams.csv " DATA "serial.csv"), 0);
    ck_assert_int_eq(program(DATA "README.md"), 2);
    ck_assert_int_eq(program("/nowhere"), 2);
    ck_assert_int_eq(program(""), 2);
}
END_TEST

Suite *view_suite(void)
{
    Suite *suite = suite_create("view");
    TCase *tests = tcase_create("view");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, test_trace_begin, test_trace_end);
    tcase_add_test(tests, test_facts);
    tcase_add_test(tests, test_gaps_are_the_longest);
    tcase_add_test(tests, test_findings);
    tcase_add_test(tests, test_short_ops);
    tcase_add_test(tests, test_figures);
    tcase_add_test(tests, test_fits);
    tcase_add_test(tests, test_nothing_ran);
    tcase_add_test(tests, test_runs);
    tcase_add_test(tests, test_json_and_csv);
    tcase_add_test(tests, test_program);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, view_part_case());
    return suite;
}
