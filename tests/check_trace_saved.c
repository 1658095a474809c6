/* check_trace_saved.c - files that this program wrote, read back: the ops are the same. */
#include "core/version.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"
#include "trace_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char head[] = "# pipeline 1.0 timeline\n# run: one\n#   source: simulated\n"
                           "#   timing: virtual\n#   device: H\n#   resolution_ns: 1\n";
static const char header[] =
    "run,op,kind,name,tile,stream,engine,lane,bytes,issue_ns,start_ns,end_ns\n";

/* Returns the rows of a timeline as CSV, to be freed; `facts` is the file's, too. */
static char *rows_of(const char *path)
{
    char *text = test_file_text(path), *rows = strstr(text, "\nrun,op,");
    ck_assert_msg(rows != NULL, "%s has no rows", path);
    memmove(text, rows + 1, strlen(rows + 1) + 1);
    return text;
}

/* Runs of every kind. The last one has several, which keep their names. */
static const char *const runs[] = {
    "-n 1M -t 6 -s 3",
    "-n 1M -t 4 -s 2 --layout=stage --callbacks --ways=4 --intensity=2000",
    "-n 1M -t 4 --mistake=sync-in-loop",
    "-n 1M -t 4 --mistake=alloc-in-loop",
    "-n 1M -t 4 --mistake=legacy-stream",
    "-n 1M -t 4 --mistake=blocking-stream",
    "-n 1M -t 4 --mistake=memset-in-loop --memory=pageable",
    "-n 1M -t 8 -s 3 --issue=graph -k wave,sum",
    "-n 1M -t 6 -k scan --carry=callback",
    "-n 1M -t 4 --memory=mapped",
    "-n 1M -t 8 --blocks=16 --intensity=900 -s 8",
    "-d sim:h200*3 -n 1M -t 6 -k scale,scale,sum --spread=chain",
    "-d sim:h200*3 -n 1M -t 8 -k stencil --columns=4k --halo=2 --steps=5",
    "-n 1M --sweep=streams=1,2,4",
};
enum { RUNS = sizeof runs / sizeof runs[0] };

/* Whatever a run did, its CSV gives back every row, field for field. */
START_TEST(test_given_back)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments, "-q -d sim:h200 --no-data --timeline=saved.csv %s",
             runs[_i]);
    ck_assert_msg(program_run(arguments) == 0, "%s: %s", runs[_i], program_err);
    ck_assert_msg(program_run("view saved.csv --timeline=again.csv") == 0, "%s: %s", runs[_i],
                  program_err);
    char *rows = rows_of("saved.csv");
    if (_i + 1 == RUNS) { /* elsewhere the only run is called otherwise */
        char *again = rows_of("again.csv");
        ck_assert_str_eq(rows, again);
        free(again);
    }
    struct traces first = test_traces("saved.csv");
    struct traces other = test_traces("again.csv");
    ck_assert_int_eq(other.count, first.count);
    for (int run = 0; run < first.count; run++) {
        const struct timeline *a = &first.items[run].timeline;
        const struct timeline *b = &other.items[run].timeline;
        ck_assert_uint_eq(a->span_count, b->span_count);
        ck_assert_uint_eq(a->streams, b->streams);
        ck_assert_int_eq(a->launched_ns, b->launched_ns);
        ck_assert_int_eq(a->timing, TIMING_VIRTUAL);
        ck_assert_int_eq(b->timing, TIMING_VIRTUAL);
        ck_assert_str_eq(a->device, b->device);
        for (uint32_t k = 0; k <= a->streams; k++)
            ck_assert_int_eq(timeline_stream_kind(a, k), timeline_stream_kind(b, k));
        for (uint32_t k = 0; k < a->span_count; k++) {
            const struct span *x = &a->spans[k], *y = &b->spans[k];
            char one[SPAN_NAME], two[SPAN_NAME];
            ck_assert_str_eq(timeline_span_name(a, x, one), timeline_span_name(b, y, two));
            ck_assert_msg(x->op == y->op && x->kind == y->kind && x->engine == y->engine &&
                              x->lane == y->lane && x->device == y->device &&
                              x->stream == y->stream && x->tile == y->tile &&
                              x->bytes == y->bytes && x->issue_ns == y->issue_ns &&
                              x->start_ns == y->start_ns && x->end_ns == y->end_ns &&
                              x->target == y->target,
                          "%s: op %u differs", runs[_i], x->op);
            if (x->kind == OP_PEER)
                ck_assert(x->to == y->to && x->to != x->device);
        }
    }
    traces_free(&other);
    traces_free(&first);
    free(rows);
}
END_TEST

/* The rows of the file itself are those of the run: what is read is not only alike both times.
 */
START_TEST(test_rows)
{
    ck_assert_int_eq(
        program_run(
            "-q -d sim:h200 --no-data -n 1M -t 3 -s 2 --layout=stage --sweep=order=depth,"
            "breadth --timeline=saved.csv"),
        0);
    struct traces traces = test_traces("saved.csv");
    ck_assert_int_eq(traces.count, 2);
    ck_assert_str_eq(traces.items[0].name, "run order=depth");
    const struct timeline *timeline = &traces.items[0].timeline;
    char *rows = rows_of("saved.csv"), *row = strchr(rows, '\n') + 1;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        char name[SPAN_NAME], line[256], tile[16] = "";
        if (span->tile >= 0)
            snprintf(tile, sizeof tile, "%d", span->tile);
        snprintf(line, sizeof line, "run order=depth,%u,%s,%s,%s,%u,%s,%u,%lu,%ld,%ld,%ld\n",
                 span->op, op_kind_name((enum op_kind)span->kind),
                 timeline_span_name(timeline, span, name), tile, span->stream,
                 engine_name((enum engine)span->engine), span->lane, (unsigned long)span->bytes,
                 (long)span->issue_ns, (long)span->start_ns, (long)span->end_ns);
        ck_assert_msg(strncmp(row, line, strlen(line)) == 0, "not %sbut %.100s", line, row);
        row += strlen(line);
    }
    free(rows);
    traces_free(&traces);
}
END_TEST

/* The report names the source as what it is. */
START_TEST(test_source)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 --no-data -n 1M -t 3 --timeline=saved.csv"),
                     0);
    ck_assert_int_eq(program_run("view saved.csv"), 0);
    assert_has(program_out, "simulated, NVIDIA H200\n");
    ck_assert_ptr_null(strstr(program_out, "Nsight"));
    char *text = test_file_text("saved.csv"), *at = strstr(text, "virtual");
    memcpy(at, "events ", 7); /* the blank ends no word that is read */
    memmove(at + 6, at + 7, strlen(at + 7) + 1);
    test_file_put("events.csv", text);
    free(text);
    ck_assert_int_eq(program_run("view events.csv"), 0);
    assert_has(program_out, "measured by events, NVIDIA H200\n");
    ck_assert_int_eq(program_run("view " DATA "streams.csv --timeline=nsys.csv"), 0);
    ck_assert_int_eq(program_run("view nsys.csv"), 0);
    assert_has(program_out, "measured, NVIDIA H200 (0), traced by Nsight Systems\n");
    assert_has(program_out, "(13, 14, 15, 16)");
}
END_TEST

/* A trace's streams keep their numbers, in files and when those are read back. */
START_TEST(test_stream_numbers)
{
    ck_assert_int_eq(program_run("view " DATA "streams.csv --timeline=a.csv"), 0);
    char *text = test_file_text("a.csv");
    assert_has(text, ",14,h2d,");
    assert_has(text, "timing: nsys");
    assert_has(text, "issue_times: unknown");
    free(text);
    struct traces traces = test_traces("a.csv");
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->streams, 4);
    ck_assert(timeline->issue_unknown);
    for (uint32_t k = 0; k < 4; k++)
        ck_assert_uint_eq(timeline_stream_id(timeline, k), 13 + k);
    traces_free(&traces);
}
END_TEST

static void refused(const char *text, const char *words)
{
    test_file_put(test_trace_path, text);
    test_trace_refused(words);
}

START_TEST(test_wrong_files)
{
    static const struct {
        const char *rows, *words;
    } cases[] = {
        {"one,0,h2d,h2d,0,0,h2d,0,8,0,0,10\none,1,kernel,a,0,0,comp", ":9: |no end|cut short"},
        {"one,0,h2d,h2d,0,0,h2d,0,8,0,0\n", ":8: |11 fields|12"},
        {"one,0,h2d,h2d,0,0,h2d,0,8,0,20,10\n", ":8: |ends before it starts"},
        {"one,0,h2d,h2d,0,0,h2d,0,8,0,-1,10\n", ":8: |start_ns '-1'"},
        {"one,0,hd2,h2d,0,0,h2d,0,8,0,0,10\n", ":8: |kind 'hd2'"},
        {"one,0,h2d,h2d,0,0,d2h,0,8,0,0,10\n", ":8: |engine 'd2h'"},
        {"one,0,h2d,h2d,0,,h2d,0,8,0,0,10\n", ":8: |in no stream"},
        {"two,0,h2d,h2d,0,0,h2d,0,8,0,0,10\n", ":8: |run 'two'"},
        {"one,0,h2d,h2d,0,0,h2d,0,8,0,0,10\none,0,h2d,h2d,0,0,h2d,0,8,0,0,10\n",
         ":9: |op 0 of run 'one'"},
        {"one,0,h2d,\"h2d,0,0,h2d,0,8,0,0,10\n", ":8: |quote"},
        {"one,99999999999,h2d,h2d,0,0,h2d,0,8,0,0,10\n", ":8: |op '99999999999'"},
        /* Each number can be read; their sums could not be held. */
        {"one,0,h2d,h2d,0,0,h2d,0,8,0,0,2000000000000000000\n", ":2: |36 years"},
        {"one,0,h2d,h2d,0,0,h2d,0,8,0,0,800000000000000000\n"
         "one,1,h2d,h2d,0,1,h2d,0,8,0,0,800000000000000000\n",
         ":2: |36 years"},
        {"one,0,h2d,h2d,0,0,h2d,0,18446744073709551615,0,0,1\n"
         "one,1,h2d,h2d,0,0,h2d,0,18446744073709551615,0,1,2\n",
         ":2: |bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s%s", head, header, cases[i].rows);
        refused(text, cases[i].words);
    }
    char text[2048];
    refused(head, "cut short");
    snprintf(text, sizeof text, "%srun,op,kind,name\n", head);
    refused(text, ":7: |no column tile");
    refused("# pipeline 1 timeline\n# run: one\n#   timing: sundial\n", ":3: |sundial");
    snprintf(text, sizeof text, "# pipeline 1 timeline\n# run: one\n%s%s", header,
             "one,0,h2d,h2d,0,0,h2d,0,8,0,0,10\n");
    refused(text, ":4: |where run 'one' comes from");
    snprintf(text, sizeof text, "%s#   busy_ns: h2d=20 compute=0 d2h=0 cpu=0\n%s%s", head,
             header, "one,0,h2d,h2d,0,0,h2d,0,8,0,0,10\n");
    refused(text, ":2: |20 ns|10 ns|cut short");
}
END_TEST

/* A run of several devices gets as many streams on each, behind those that the file has. */
START_TEST(test_largest_stream)
{
    const char *format = "%s#   devices: 8\n%sone,0,h2d,h2d,0,%u,h2d,0,8,0,0,10\n";
    char text[2048];
    snprintf(text, sizeof text, format, head, header, 4294967294U);
    refused(text, ":9: |stream '4294967294'");
    snprintf(text, sizeof text, format, head, header, 4294967286U);
    test_file_put(test_trace_path, text);
    struct traces traces = test_traces(test_trace_path);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->streams, 8);
    ck_assert_uint_eq(timeline_stream_id(timeline, 7), 4294967293U);
    traces_free(&traces);
}
END_TEST

/* Returns a file with a row for each of so many kernels, and a copy behind them. */
static char *many_kernels(uint32_t kernels)
{
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s%s", head, header);
    for (uint32_t i = 0; i < kernels; i++)
        fprintf(file, "one,%u,kernel,k%u,,0,compute,0,0,%u,%u,%u\n", i, i, i, i, i + 1);
    fprintf(file, "one,%u,h2d,h2d,,0,h2d,0,8,%u,%u,%u\n", kernels, kernels, kernels,
            kernels + 1);
    ck_assert_int_eq(fclose(file), 0);
    return text;
}

START_TEST(test_most_kernels)
{
    char *text = many_kernels(65536), name[SPAN_NAME];
    test_file_put(test_trace_path, text);
    free(text);
    struct traces traces = test_traces(test_trace_path);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_uint_eq(timeline->span_count, 65537);
    ck_assert_str_eq(timeline_span_name(timeline, &timeline->spans[65535], name), "k65535");
    traces_free(&traces);
    text = many_kernels(65537);
    refused(text, ":65544: |more kernels");
    free(text);
}
END_TEST

/* Of a Chrome trace of ours the ops are read, each once though it is drawn twice, and what has
 * more of them is said. */
START_TEST(test_json)
{
    ck_assert_int_eq(
        program_run("-q -d sim:h200 --no-data -n 1M -t 9 -s 8 --timeline=saved.json"), 0);
    struct traces traces = test_traces("saved.json");
    const struct timeline *timeline = &traces.items[0].timeline;
    char name[SPAN_NAME];
    ck_assert_int_eq(traces.count, 1);
    ck_assert_str_eq(timeline->device, "NVIDIA H200 (1)");
    ck_assert_int_eq(timeline->timing, TIMING_VIRTUAL);
    ck_assert_uint_eq(timeline->span_count, 27);
    ck_assert_int_eq(timeline->spans[0].kind, OP_H2D);
    ck_assert_uint_eq(timeline->streams, 8);
    ck_assert_uint_eq(timeline->name_count, 1);
    ck_assert_str_eq(timeline->names[0], "scale");
    for (uint32_t i = 0; i < timeline->streams; i++)
        ck_assert_int_eq(timeline_stream_kind(timeline, i), STREAM_NONBLOCKING);
    ck_assert_str_eq(timeline_span_name(timeline, &timeline->spans[26], name), "d2h");
    ck_assert_ptr_nonnull(strstr(traces.unread, "--timeline=FILE.csv"));
    traces_free(&traces);
}
END_TEST

/* A pipe gives what its file gives, although it can be read only once. */
START_TEST(test_pipes)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 --no-data -n 1M -t 3 --timeline=saved.csv"),
                     0);
    static const char *const files[] = {"saved.csv", TESTS_FOLDER "/data/traces/streams.csv"};
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    for (int i = 0; i < 2; i++) {
        char command[512];
        snprintf(command, sizeof command, "cat %s >pipe &", files[i]);
        ck_assert_int_eq(system(command), 0);
        struct traces piped = test_traces("pipe"), plain = test_traces(files[i]);
        const struct timeline *timeline = &piped.items[0].timeline;
        ck_assert_int_eq(piped.items[0].saved, plain.items[0].saved);
        ck_assert_uint_eq(timeline->span_count, plain.items[0].timeline.span_count);
        ck_assert_int_eq(timeline_time_ns(timeline),
                         timeline_time_ns(&plain.items[0].timeline));
        traces_free(&piped);
        traces_free(&plain);
    }
}
END_TEST

/* Lines may end as other systems end them, and a byte order mark may stand before them. */
START_TEST(test_line_ends)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 --no-data -n 1M -t 3 --timeline=saved.csv"),
                     0);
    char *text = test_file_text("saved.csv");
    char *crlf = malloc(2 * strlen(text) + 4), *to = stpcpy(crlf, "\xef\xbb\xbf");
    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '\n')
            *to++ = '\r';
        *to++ = *from;
    }
    struct traces plain = test_traces("saved.csv");
    test_file_write("crlf", crlf, (size_t)(to - crlf));
    struct traces other = test_traces("crlf");
    ck_assert_uint_eq(plain.items[0].timeline.span_count, other.items[0].timeline.span_count);
    ck_assert_str_eq(plain.items[0].timeline.device, other.items[0].timeline.device);
    traces_free(&plain);
    traces_free(&other);
    free(crlf);
    free(text);
}
END_TEST

TCase *trace_saved_case(void)
{
    TCase *tests = tcase_create("saved files");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, test_trace_begin, test_trace_end);
    tcase_add_checked_fixture(tests, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(tests, test_given_back, 0, RUNS);
    tcase_add_test(tests, test_rows);
    tcase_add_test(tests, test_source);
    tcase_add_test(tests, test_stream_numbers);
    tcase_add_test(tests, test_wrong_files);
    tcase_add_test(tests, test_largest_stream);
    tcase_add_test(tests, test_most_kernels);
    tcase_add_test(tests, test_json);
    tcase_add_test(tests, test_pipes);
    tcase_add_test(tests, test_line_ends);
    return tests;
}
