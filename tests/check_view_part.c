/* check_view_part.c - `pipeline view` of a part, of two files, and what makes a command fail.
 */
#include "analysis/traced.h"
#include "causes/verdict.h"
#include "options_cases.h"
#include "recording_cases.h"
#include "suites.h"
#include "test_program.h"
#include "trace/trace.h"
#include "trace/view.h"
#include "trace_cases.h"
#include "view_cases.h"
#include "writers/cause.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- options --- */

START_TEST(test_options)
{
    struct options options = parse_right(
        LINE("view", "--window=2ms..50%", "--stream=7,13", "--device=H200", "x.csv"));
    ck_assert(options.part.from.given && !options.part.from.share);
    ck_assert_int_eq(options.part.from.ns, 2000000);
    ck_assert(options.part.to.given && options.part.to.share);
    ck_assert_double_eq(options.part.to.part, 0.5);
    ck_assert_int_eq(options.part.stream_count, 2);
    ck_assert_uint_eq(options.part.streams[1], 13);
    ck_assert_str_eq(options.part.device, "H200");
    ck_assert_int_eq(options.word_count, 1);
    options_free(&options);
    options = parse_right(LINE("--device=1", "view", "--window=..1.5us", "x.csv"));
    ck_assert_str_eq(options.part.device, "1");
    ck_assert(!options.part.from.given);
    ck_assert_int_eq(options.part.to.ns, 1500);
    options_free(&options);
    options = parse_right(LINE("view", "--before=a.csv", "--after=b.csv"));
    ck_assert_int_eq(options.word_count, 2);
    ck_assert_str_eq(options.words[0], "a.csv");
    ck_assert_str_eq(options.words[1], "b.csv");
    options_free(&options);
    options = parse_right(LINE("--fail-above=small-tiles:10%", "--fail-above=any:12.5%"));
    ck_assert_int_eq(options.fail_above_count, 2);
    ck_assert_int_eq(options.fail_above[0].code, VERDICT_SMALL_TILES);
    ck_assert_double_eq_tol(options.fail_above[0].share, 0.1, 1e-12);
    ck_assert_int_eq(options.fail_above[1].code, FAIL_ABOVE_ANY);
    options_free(&options);
}
END_TEST

START_TEST(test_refused_options)
{
    parse_wrong(LINE("view", "--window=2ms", "x"), "--window=2ms is no window", NULL);
    parse_wrong(LINE("view", "--window=2..5", "x"), "is no window", "2ms..5ms", NULL);
    parse_wrong(LINE("view", "--window=5ms..2ms", "x"), "ends before it begins", NULL);
    parse_wrong(LINE("view", "--window=10%..120%", "x"), "too large", NULL);
    parse_wrong(LINE("view", "--window=-1ms..2ms", "x"), "negative", NULL);
    parse_wrong(LINE("view", "--stream=a", "x"), "--stream=a is no list of streams", NULL);
    parse_wrong(LINE("view", "--stream=1,,2", "x"), "is no list of streams", NULL);
    parse_wrong(LINE("view", "--device=", "x"), "--device= is empty", NULL);
    parse_wrong(LINE("--device=H200"), "--device=H200 is unknown", NULL);
    parse_wrong(LINE("view", "--before=a"), "--before=a needs --after", NULL);
    parse_wrong(LINE("view", "--after=a"), "--after=a needs --before", NULL);
    parse_wrong(LINE("view", "--before=a", "--after=b", "c"), "c stands beside", NULL);
    parse_wrong(LINE("view", "--fix", "--before=a", "--after=b"), "--fix",
                "--before and --after", NULL);
    parse_wrong(LINE("view", "--fix", "--window=1ms..", "c"), "--fix", "--window", NULL);
    parse_wrong(LINE("view", "--fix", "--stream=1", "c"), "--fix", "--stream", NULL);
    parse_wrong(LINE("view", "--fix", "--dry-run", "c"), "--fix", "--dry-run", NULL);
    parse_wrong(LINE("view", "--stream=1", "--fail-above=any:5%", "c"), "--stream", NULL);
    parse_wrong(LINE("--fail-above=smal-tiles:5%"), "smal-tiles", "did you mean small-tiles?",
                NULL);
    parse_wrong(LINE("--fail-above=copy-bound:5%"), "there is no cause 'copy-bound'", NULL);
    parse_wrong(LINE("--fail-above=any"), "has no share", NULL);
    parse_wrong(LINE("--fail-above=any:5"), "has no share", NULL);
    parse_wrong(LINE("--fail-above=any:101%"), "too large", NULL);
    parse_wrong(LINE("--window=1ms..2ms"), "--window", "`pipeline view`", NULL);
    parse_wrong(LINE("run", "run"), "'run' is a command", NULL);
    parse_wrong(LINE("compare", "lesson", "1"), "'lesson' is a command", NULL);
    parse_wrong(LINE("tiles=4"), "'tiles=4'", "did you mean --tiles=4?", NULL);
    parse_wrong(LINE("help", "smal-tiles"), "did you mean small-tiles?", NULL);
}
END_TEST

/* --- parts --- */

/* In 13 from 0 to 40, in 14 from 50 to 90, kernels from 40 to 70 and from 90 to 100. */
static const char rows[] = "1000,40,80,Pageable,Device,G (0),1,13,[CUDA memcpy HtoD]\n"
                           "1050,40,80,Pageable,Device,G (0),1,14,[CUDA memcpy HtoD]\n"
                           "1040,30,,,,G (0),1,13,a\n1090,10,,,,G (0),1,14,b\n";

static struct view view_part(const char *const *line)
{
    view_write_rows(rows);
    char *words[8] = {"pipeline", "view", test_trace_path};
    for (int i = 0; line[i] != NULL; i++)
        words[3 + i] = (char *)line[i];
    struct options options = parse_right(words);
    struct view view;
    struct error error = {0};
    ck_assert_msg(view_read(&options, NULL, &view, &error) == STATUS_OK, "%s", error.text);
    options_free(&options);
    return view;
}

#define PART(...) view_part((const char *const[]){__VA_ARGS__, NULL})

START_TEST(test_window)
{
    struct view view = PART("--window=20ns..60ns");
    const struct run_report *run = &view.report.runs[0];
    const struct timeline *timeline = &run->timeline;
    ck_assert_uint_eq(timeline->span_count, 3);
    ck_assert_int_eq(timeline->spans[0].start_ns, 0);
    ck_assert_int_eq(timeline->spans[0].end_ns, 20);
    ck_assert_uint_eq(timeline->spans[0].bytes, 40);
    ck_assert_int_eq(timeline->spans[1].start_ns, 20);
    ck_assert_int_eq(timeline->spans[1].end_ns, 40);
    ck_assert_int_eq(timeline->spans[2].start_ns, 30);
    ck_assert_int_eq(timeline->spans[2].end_ns, 40);
    ck_assert_uint_eq(timeline->spans[2].bytes, 20);
    ck_assert_int_eq(run->median_ns, 40);
    ck_assert_int_eq(run->analysis.engines[ENGINE_H2D].busy_ns, 30);
    ck_assert_uint_eq(run->trace->in.pageable, 2);
    ck_assert_uint_eq(run->trace->in.pageable_bytes, 60);
    ck_assert_str_eq(run->trace->part, "20 ns to 60 ns of 100 ns");
    ck_assert_ptr_nonnull(strstr(run->settings->name, "(20 ns to 60 ns)"));
    char *text = view_text(&view.report, 100);
    assert_has(text, "only a part: 20 ns to 60 ns of 100 ns; times count from 20 ns");
    free(text);
    view_free(&view);
    view = PART("--window=50%..");
    ck_assert_uint_eq(view.report.runs[0].timeline.span_count, 3);
    ck_assert_int_eq(view.report.runs[0].median_ns, 50);
    view_free(&view);
}
END_TEST

START_TEST(test_streams)
{
    struct view view = PART("--stream=14");
    const struct run_report *run = &view.report.runs[0];
    ck_assert_uint_eq(run->timeline.span_count, 2);
    ck_assert_uint_eq(run->timeline.streams, 1);
    ck_assert_uint_eq(timeline_stream_id(&run->timeline, 0), 14);
    ck_assert_int_eq(run->timeline.spans[0].start_ns, 50);
    ck_assert_str_eq(run->trace->part, "stream 14");
    ck_assert_ptr_nonnull(strstr(run->no_verdict, "--stream"));
    char *text = view_text(&view.report, 100);
    ck_assert_ptr_null(strstr(text, "All work is in one stream"));
    free(text);
    view_free(&view);
}
END_TEST

/* A trace of three ops in one stream, with their calls and two waits. */
static struct trace small_trace(void)
{
    static const struct span spans[] = {{.op = 0,
                                         .kind = OP_H2D,
                                         .engine = ENGINE_H2D,
                                         .issue_ns = 5,
                                         .start_ns = 10,
                                         .end_ns = 30},
                                        {.op = 1,
                                         .kind = OP_KERNEL,
                                         .engine = ENGINE_COMPUTE,
                                         .issue_ns = 15,
                                         .start_ns = 30,
                                         .end_ns = 60},
                                        {.op = 2,
                                         .kind = OP_D2H,
                                         .engine = ENGINE_D2H,
                                         .issue_ns = 40,
                                         .start_ns = 60,
                                         .end_ns = 90}};
    static const struct host_call calls[] = {{.start_ns = 5, .end_ns = 8},
                                             {.start_ns = 15, .end_ns = 18},
                                             {.start_ns = 35, .end_ns = 38},
                                             {.start_ns = 40, .end_ns = 45}};
    static const struct stream_wait waits[] = {
        {.op = 0, .target = 1}, {.op = 1, .target = 0}, {.op = 2, .target = 1}};
    struct trace trace = {0};
    struct timeline *timeline = &trace.timeline;
    *timeline = (struct timeline){0};
    timeline->streams = 1;
    timeline->spans = malloc(sizeof spans);
    timeline->calls = arena_zeros(&timeline->arena, 1, sizeof calls);
    timeline->waits = arena_zeros(&timeline->arena, 1, sizeof waits);
    timeline->span_count = 3;
    timeline->call_count = 4;
    timeline->wait_count = 3;
    memcpy(timeline->spans, spans, sizeof spans);
    memcpy(timeline->calls, calls, sizeof calls);
    memcpy(timeline->waits, waits, sizeof waits);
    return trace;
}

static struct view_part window(int64_t from_ns, int64_t to_ns)
{
    return (struct view_part){.from = {.given = true, .ns = from_ns},
                              .to = {.given = true, .ns = to_ns}};
}

/* A kernel that was issued before the window was not issued by a call that begins with it. */
START_TEST(test_calls_at_the_edge)
{
    struct trace trace = small_trace();
    struct traces all = {.items = &trace, .count = 1};
    struct view_part part = window(35, 80);
    struct traced traced = {.timeline = &trace.timeline};
    struct error error = {0};
    ck_assert_uint_eq(traced_call_of(&traced, 0), 0);
    ck_assert_uint_eq(traced_call_of(&traced, 1), 1);
    ck_assert_int_eq(traces_cut(&all, &part, "file", &error), STATUS_OK);
    ck_assert_uint_eq(trace.timeline.span_count, 2);
    ck_assert_uint_eq(trace.timeline.call_count, 2);
    ck_assert_int_eq(trace.timeline.calls[0].start_ns, 0);
    ck_assert_int_eq(trace.timeline.spans[0].issue_ns, 0);
    ck_assert_uint_eq(traced_call_of(&traced, 0), SPAN_NONE);
    ck_assert_uint_eq(traced_call_of(&traced, 1), 1);
    timeline_free(&trace.timeline);
}
END_TEST

/* A wait of an op that is gone goes, and so does one for such an op. */
START_TEST(test_waits_of_a_part)
{
    struct trace trace = small_trace();
    struct traces all = {.items = &trace, .count = 1};
    struct view_part part = window(35, 80);
    struct error error = {0};
    ck_assert_int_eq(traces_cut(&all, &part, "file", &error), STATUS_OK);
    ck_assert_uint_eq(trace.timeline.wait_count, 1);
    ck_assert_uint_eq(trace.timeline.waits[0].op, 2);
    ck_assert_uint_eq(trace.timeline.waits[0].target, 1);
    timeline_free(&trace.timeline);
}
END_TEST

/* Where the part is not there, the file's own are named. */
START_TEST(test_no_such_part)
{
    static const struct {
        const char *option, *words, *rows;
    } cases[] = {{"--window=1ms..", "all has ended at 0 ns", "1000,0,,,,G,1,7,a\n"},
                 {"--stream=7", "13, 14", rows},
                 {"--device=H100", "G (0)", rows},
                 {"--device=1", "G (0)", rows},
                 {"--device=99999999999999999999", "G (0)", rows},
                 {"--window=1ms..", "all has ended at 100 ns", rows}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        view_write_rows(cases[i].rows);
        struct options options =
            parse_right(LINE("view", (char *)cases[i].option, test_trace_path));
        struct view view;
        struct error error = {0};
        ck_assert_int_eq(view_read(&options, NULL, &view, &error), STATUS_USAGE);
        assert_has(error.text, cases[i].words);
        view_free(&view);
        options_free(&options);
    }
    struct view view = PART("--device=g");
    ck_assert_int_eq(view.report.run_count, 1);
    view_free(&view);
}
END_TEST

/* Names are whole in a verbose report, however long. */
START_TEST(test_long_names)
{
    char name[301] = "", row[400];
    memset(name, 'n', sizeof name - 2);
    name[sizeof name - 2] = 'z';
    snprintf(row, sizeof row, "1000,10,,,,G,1,7,%s\n", name);
    view_write_rows(row);
    char command[1100];
    snprintf(command, sizeof command, "view --verbose %s", test_trace_path);
    ck_assert_int_eq(program_run(command), 0);
    assert_has(program_out, name);
}
END_TEST

/* A wait whose target is cut away waits for nothing that is known; a legacy stream stays one.
 */
START_TEST(test_own_part)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 --no-data -n 4M -t 8 --mistake=legacy-stream "
                                 "--timeline=saved.csv"),
                     0);
    ck_assert_int_eq(program_run("view saved.csv --window=30%..60% --timeline=cut.csv"), 0);
    struct traces traces = test_traces("cut.csv");
    const struct timeline *timeline = &traces.items[0].timeline;
    int legacy = 0;
    for (uint32_t i = 0; i < timeline->streams; i++)
        legacy += timeline_stream_kind(timeline, i) == STREAM_LEGACY &&
                  timeline_stream_id(timeline, i) == 4;
    ck_assert_int_eq(legacy, 1);
    ck_assert_int_eq(traces.items[0].limit_ns, 0);
    traces_free(&traces);
    ck_assert_int_eq(
        program_run("-q -d sim:h200 --no-data -n 4M -t 8 --layout=stage --timeline=saved.csv"),
        0);
    ck_assert_int_eq(program_run("view saved.csv --window=50%..90% --timeline=cut.csv"), 0);
    ck_assert_int_eq(program_run("view cut.csv"), 0);
}
END_TEST

/* --- two files --- */

START_TEST(test_before_and_after)
{
    ck_assert_int_eq(
        program_run("-q -d sim:h200 --no-data -n 16M --mistake=sync-in-loop --timeline=b.csv"),
        0);
    ck_assert_int_eq(program_run("-q -d sim:h200 --no-data -n 16M --timeline=a.csv"), 0);
    char *names[] = {"pipeline", "view", "--before=b.csv", "--after=a.csv", NULL};
    struct options options = parse_right(names);
    struct view view;
    struct error error = {0};
    ck_assert_msg(view_read(&options, NULL, &view, &error) == STATUS_OK, "%s", error.text);
    const struct run_report *runs = view.report.runs;
    ck_assert_int_eq(view.report.run_count, 2);
    ck_assert(view.report.paired);
    ck_assert_str_eq(runs[0].settings->name, "before");
    ck_assert_str_eq(runs[1].settings->name, "after");
    ck_assert_double_eq_tol(runs[1].speedup,
                            (double)runs[0].median_ns / (double)runs[1].median_ns, 1e-12);
    ck_assert_double_gt(runs[1].speedup, 1.3);
    char *text = view_text(&view.report, 100);
    assert_has(text, "times as fast\n");
    assert_has(text, "before: simulated, NVIDIA H200; 96 ops and 32 waits or calls");
    assert_has(text, "after: simulated, NVIDIA H200; 96 ops");
    assert_has(text, "\nH2D busy ");
    assert_has(text, "\nH2D idle in gaps ");
    free(text);
    char message[MESSAGE_TEXT];
    writer_message(&view.report, message);
    assert_has(message, "after is ");
    assert_has(message, "x as fast as before, which lost ");
    view.items[1].trace.unlike = true;
    writer_message(&view.report, message);
    assert_has(message, ", maybe for different work");
    view_free(&view);
    options_free(&options);
    ck_assert_int_eq(
        program_run("-q -d sim:h200 --no-data -n 4M --sweep=ways=1..3 --timeline=w.csv"), 0);
    ck_assert_int_eq(program_run("view --before=w.csv --after=w.csv --format=json"), 0);
    assert_has(program_out, "\"before: run ways=1\"");
    assert_has(program_out, "\"after: run ways=3\"");
    ck_assert_int_eq(program_run("view --before=w.csv --after=a.csv"), 2);
    assert_has(program_err, "no run of one name");
}
END_TEST

/* Writes a trace of PyTorch's profiler of 10 passes: a copy in and then kernels of 68 us; with
 * `steps` they are marked. */
static void write_passes(const char *path, const char *kernel, int kernels, int pass_us,
                         int bytes, bool steps)
{
    static const char op[] =
        ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"ts\":%d,\"dur\":%d,"
        "\"pid\":1,\"tid\":1,\"args\":{\"device\":0,\"stream\":7,\"bytes\":%d,"
        "\"correlation\":%d}}";
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fputs("{\"schemaVersion\":1,\"traceEvents\":[{}", out);
    for (int pass = 0; pass < 10; pass++) {
        const int at = pass * pass_us;
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", pass);
        if (steps)
            fprintf(out, op, "user_annotation", name, at, pass_us, 0, 0);
        for (int i = 0; i <= kernels; i++) {
            const int id = 100 * pass + i + 1;
            fprintf(out, op, "cuda_runtime", "cudaLaunchKernel", at + i, 1, 0, id);
            if (i == 0)
                fprintf(out, op, "gpu_memcpy", "Memcpy HtoD", at + 2, 20, bytes, id);
            else
                fprintf(out, op, "kernel", kernel, at + 70 * i - 45, 68, 0, id);
        }
    }
    fputs("]}\n", out);
    ck_assert_int_eq(fclose(out), 0);
}

/* Passes are compared, of a trace of PyTorch's with those of a recording: 200 us with one
 * kernel "step". As many passes as have the same kernels are, and where these tell nothing
 * there is no gain, but by the bytes of data. */
START_TEST(test_passes_are_compared)
{
    static const struct {
        const char *kernel;
        int kernels, pass_us, bytes;
        bool steps;
        const char *after, *says[2];
    } cases[] = {
        {"step",
         1,
         400,
         4096,
         false,
         "loop.jsonl",
         {"for a pass instead of 369 us: 1.89", "before (10 passes): "}},
        {"step",
         4,
         400,
         4096,
         false,
         "loop.jsonl",
         {" for 4 passes instead of ", "same kernels: slow"}},
        {"other", 1, 400, 4096, false, "loop.jsonl", {"too little in common to tell", "work."}},
        {"other",
         1,
         200,
         4 << 20,
         false,
         "more.json",
         {"the byte, after is 0.25 times", "Mind: "}},
        {"other",
         1,
         400,
         4 << 20,
         true,
         "more.json",
         {"takes 189 us for a pass", "times as fast"}},
        {"step",
         1,
         200,
         4 << 20,
         false,
         "more.json",
         {"as fast as before", "Mind: before is 2 ops"}},
    };
    recording_write_loop("loop.jsonl");
    write_passes("more.json", "step", 1, 200, 1 << 20, true);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[96];
        write_passes("passes.json", cases[i].kernel, cases[i].kernels, cases[i].pass_us,
                     cases[i].bytes, cases[i].steps);
        snprintf(line, sizeof line, "view --before=passes.json --after=%s", cases[i].after);
        ck_assert_msg(program_run(line) == 0, "%s", program_err);
        for (int k = 0; k < 2; k++)
            assert_says(program_out, cases[i].says[k]);
    }
    ck_assert_int_eq(program_run("view passes.json loop.jsonl"), 0);
    assert_says(program_out, "loop takes 196 us for a pass instead of 189 us");
    ck_assert_int_eq(program_run("view --all passes.json loop.jsonl"), 0);
    assert_says(program_out, "for 1.");
}
END_TEST

/* Writes a trace of one rank of two: 10 passes of a kernel of its own, and of one in which it
 * waits for the other rank until `end_us`. */
static void write_rank(const char *path, int rank, int begin_us, int own_us, int end_us)
{
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fprintf(out,
            "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":%d,\"world_size\":2},"
            "\"traceEvents\":[{}",
            rank);
    for (int pass = 0; pass < 10; pass++) {
        const int us[] = {begin_us, begin_us + own_us, end_us};
        for (int i = 0; i < 2; i++)
            fprintf(out,
                    ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"ts\":%d,\"dur\":%d,"
                    "\"args\":{\"device\":%d,\"stream\":7}}",
                    i == 0 ? "own" : "ncclDevKernel_AllReduce", 1000 * pass + us[i],
                    us[i + 1] - us[i], rank);
    }
    fputs("]}\n", out);
    ck_assert_int_eq(fclose(out), 0);
}

/* Ranks of one job count from one clock, and the one that comes last is named; not where each
 * waits as long for the other, the kernels did not end together, or it is no job. */
START_TEST(test_ranks)
{
    write_rank("r0.json", 0, 100, 100, 600);
    write_rank("r1.json", 1, 140, 400, 600);
    ck_assert_int_eq(program_run("view --timeline=r.csv r0.json r1.json"), 0);
    assert_has(program_out, "rank 0 waits for rank 1, which begins their common kernels last: "
                            "3.4 ms, 36% of");
    char csv[4096];
    test_file_read("r.csv", csv, sizeof csv);
    assert_has(csv, "# run: rank 1\n");
    assert_has(csv, "#   clock_ns: 40000\n");
    ck_assert_int_eq(program_run("view r1.json r1.json"), 0);
    ck_assert_ptr_null(strstr(program_out, "waits for rank"));
    write_rank("r1.json", 1, 140, 400, 1000);
    ck_assert_int_eq(program_run("view r0.json r1.json"), 0);
    ck_assert_ptr_null(strstr(program_out, "waits for rank"));
}
END_TEST

/* --- --fail-above --- */

START_TEST(test_fail_above)
{
    static const char run[] = "-q -d sim:h200 --no-data -n 16M --mistake=sync-in-loop";
    static const struct {
        const char *option;
        int code;
    } cases[] = {{"--fail-above=sync-in-loop:10%", 1},
                 {"--fail-above=any:10%", 1},
                 {"--fail-above=sync-in-loop:95%", 0},
                 {"--fail-above=any:95%", 0},
                 {"--fail-above=pageable-memory:0%", 0},
                 {"--fail-above=pageable-memory:0% --fail-above=sync-in-loop:1%", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s %s", run, cases[i].option);
        ck_assert_msg(program_run(line) == cases[i].code, "%s: %s", line, program_err);
        ck_assert_msg(strlen(program_out) > 100, "%s: no report", line);
        if (cases[i].code == 1)
            assert_has(program_err, "sync-in-loop costs ");
    }
    ck_assert_int_eq(program_run("view " DATA "serial.csv --fail-above=any:95%"), 0);
    ck_assert_int_eq(
        program_run("-q -d sim:h200 --no-data -n 1M -t 4 --layout=stage --mistake=missing-wait "
                    "--no-data --fail-above=missing-wait:50%"),
        1);
    assert_has(program_err, "missing-wait");
}
END_TEST

TCase *view_part_case(void)
{
    TCase *tests = tcase_create("parts");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, test_trace_begin, test_trace_end);
    tcase_add_checked_fixture(tests, test_folder_enter, test_folder_leave);
    tcase_add_test(tests, test_options);
    tcase_add_test(tests, test_refused_options);
    tcase_add_test(tests, test_window);
    tcase_add_test(tests, test_streams);
    tcase_add_test(tests, test_calls_at_the_edge);
    tcase_add_test(tests, test_waits_of_a_part);
    tcase_add_test(tests, test_no_such_part);
    tcase_add_test(tests, test_long_names);
    tcase_add_test(tests, test_own_part);
    tcase_add_test(tests, test_before_and_after);
    tcase_add_test(tests, test_passes_are_compared);
    tcase_add_test(tests, test_ranks);
    tcase_add_test(tests, test_fail_above);
    return tests;
}
