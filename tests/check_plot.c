/* check_plot.c - pictures: that gnuplot draws what is in the report, that nothing in a name can
 * harm it, and what is said where it can't draw. Without gnuplot only the last are tested. */
#include "plot_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "writers/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char plot_folder[64];
static char *path_before;

void plot_enter_folder(void)
{
    snprintf(plot_folder, sizeof plot_folder, "/tmp/pipeline-plot-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(plot_folder));
    ck_assert_int_eq(chdir(plot_folder), 0);
    unsetenv("PIPELINE_PLOTS");
    const char *path = getenv("PATH");
    path_before = strdup(path != NULL ? path : "");
    ck_assert_ptr_nonnull(path_before);
}

void plot_leave_folder(void)
{
    char command[128];
    setenv("PATH", path_before, 1);
    unsetenv("PIPELINE_PLOTS");
    free(path_before);
    snprintf(command, sizeof command, "rm -rf %s", plot_folder);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(system(command), 0);
}

void plot_write_file(const char *path, const char *text, mode_t mode)
{
    test_file_put(path, text);
    ck_assert_int_eq(chmod(path, mode), 0);
}

char *plot_read_file(const char *path, size_t *size)
{
    struct stat about;
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    ck_assert_int_eq(fstat(fileno(file), &about), 0);
    char *text = calloc((size_t)about.st_size + 1, 1);
    ck_assert_ptr_nonnull(text);
    *size = fread(text, 1, (size_t)about.st_size, file);
    fclose(file);
    return text;
}

bool plot_have_gnuplot(void)
{
    return system("gnuplot -e 'exit status strstrt(GPVAL_TERMINALS, \"pngcairo\") == 0' "
                  ">/dev/null 2>&1") == 0;
}

const struct picture_style plot_slide = {.size = PICTURE_SLIDE, .rows = GANTT_ENGINES};

int plot_test_seconds = 60;

/* Draws `report` into `path`, as app/outputs.c does. */
enum status plot_test_draw(const struct report *report, const char *path,
                           const struct picture_style *style, struct error *error)
{
    struct output_file file = {0};
    struct picture_style styled = *style;
    const struct timeline_writer *writer;
    ck_assert_int_eq(timeline_writer_find(path, &writer, error), STATUS_OK);
    styled.ending = writer->ending;
    enum status status = output_file_open(&file, path, error);
    ck_assert_int_eq(status, STATUS_OK);
    status = plot_draw_within(plot_test_seconds, &file, report, &styled, error);
    if (status == STATUS_OK)
        status = output_file_commit(&file, error);
    output_file_discard(&file);
    return status;
}

void plot_assert_drawn(const struct report *report, const char *path,
                       const struct picture_style *style)
{
    char data[64];
    struct error error = {0};
    enum status status = plot_test_draw(report, path, style, &error);
    ck_assert_msg(status == STATUS_OK, "%s: %s", path, error.text);
    snprintf(data, sizeof data, "%s.csv", path);
    ck_assert_msg(access(data, F_OK) != 0, "%s was left behind", data);
}

/* The picture's texts, a line each, as an XML parser reads them. To be freed. */
char *plot_read_texts(const char *svg)
{
    size_t size;
    char command[512];
    snprintf(command, sizeof command,
             "python3 -c 'import sys, xml.etree.ElementTree as tree\n"
             "for item in tree.parse(\"%s\").iter():\n"
             "    if item.tag.endswith(\"}text\"):\n"
             "        sys.stdout.buffer.write(\"\".join(item.itertext()).encode() + b\"\\n\")'"
             " >texts",
             svg);
    ck_assert_msg(system(command) == 0, "%s is no XML", svg);
    return plot_read_file("texts", &size);
}

static bool has_line(const char *texts, const char *line)
{
    size_t length = strlen(line);
    for (const char *at = texts; (at = strstr(at, line)) != NULL; at++) {
        if ((at == texts || at[-1] == '\n') && at[length] == '\n')
            return true;
    }
    return false;
}

int plot_count(const char *text, const char *word)
{
    int count = 0;
    /* Not strstr(): a sanitizer's looks for the end of a large text each time. */
    const char *end = text + strlen(text);
    while ((text = memmem(text, (size_t)(end - text), word, strlen(word))) != NULL) {
        text++;
        count++;
    }
    return count;
}

/* Each of `lines` (separated by '|') is a text of the picture. */
void plot_assert_texts(const char *svg, const char *lines)
{
    char list[512], *texts = plot_read_texts(svg);
    snprintf(list, sizeof list, "%s", lines);
    for (char *line = strtok(list, "|"); line != NULL; line = strtok(NULL, "|"))
        ck_assert_msg(has_line(texts, line), "%s: no text '%s' in:\n%.2000s", svg, line, texts);
    free(texts);
}

/* Boxes of a stage's colour. */
int plot_boxes(const char *svg, int engine)
{
    static const char *const colors[] = {
        "<polygon fill = 'rgb(  0, 114, 178)'", "<polygon fill = 'rgb(230, 159,   0)'",
        "<polygon fill = 'rgb(  0, 158, 115)'", "<polygon fill = 'rgb(136,  34,  85)'",
        "<polygon fill = 'rgb(204, 121, 167)'"};
    size_t size;
    char *text = plot_read_file(svg, &size);
    int count = plot_count(text, colors[engine]);
    free(text);
    return count;
}

static int spans_of(const struct report *report, int engine)
{
    int count = 0;
    for (int i = 0; i < report->run_count; i++) {
        for (uint32_t k = 0; k < report->runs[i].timeline.span_count; k++)
            count += report->runs[i].timeline.spans[k].engine == engine;
    }
    return count;
}

/* --- what is drawn --- */

START_TEST(a_comparison_has_a_box_for_every_span)
{
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(4);
    plot_assert_drawn(&test->report, "ways.svg", &plot_slide);
    plot_assert_texts("ways.svg",
                      "serial|2-way|3-way|4-way|H2D|kernel|D2H|CPU|limit|0|1|2|3|"
                      "1 ms|1.00x|450 us|2.22x|"
                      "simulated, NVIDIA H200; timeline: virtual time; pipeline 0.0.0-test");
    for (int engine = 0; engine < ENGINE_WORKING; engine++) { /* and one in the legend */
        const int legend = !engine_rows[engine].rare;
        ck_assert_int_eq(plot_boxes("ways.svg", engine),
                         spans_of(&test->report, engine) + legend);
    }
    free(test);
}
END_TEST

START_TEST(one_run_is_drawn_by_engine_and_by_stream)
{
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(4);
    test->report.runs += 2;
    test->report.run_count = 1;
    plot_assert_drawn(&test->report, "3-way.svg", &plot_slide);
    plot_assert_texts("3-way.svg", "engines|streams|H0|D3|H2D|kernel|D2H|0|3|busy");
    struct run_report *run = &test->report.runs[0];
    struct settings settings = *run->settings;
    settings.blocks = 16;
    run->settings = &settings;
    run->streams = settings.streams + 3; /* as the plan has it */
    char streams[32];
    snprintf(streams, sizeof streams, "%u streams, 16 blocks", (unsigned)run->streams);
    plot_assert_drawn(&test->report, "blocks.svg", &plot_slide);
    char *drawn = plot_read_texts("blocks.svg");
    ck_assert_ptr_nonnull(strstr(drawn, streams));
    free(drawn);
    for (int engine = 0; engine < ENGINE_PEER; engine++)
        ck_assert_int_eq(plot_boxes("3-way.svg", engine),
                         2 * spans_of(&test->report, engine) + 1);
    free(test);
}
END_TEST

START_TEST(streams_show_waits)
{
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(2);
    const struct picture_style streams = {.size = PICTURE_PAPER, .rows = GANTT_STREAMS};
    test_report_span(test, 1, OP_WAIT, 1, 1, 0, 100000)->engine = ENGINE_NONE;
    plot_assert_drawn(&test->report, "streams.svg", &streams);
    plot_assert_texts("streams.svg", "stream 0|stream 1|stream 3|wait");
    free(test);
}
END_TEST

/* The host's own calls, and memsets and copies within the device, have rows of their own also
 * where rows are streams, for they belong to no stream. */
START_TEST(calls_and_memsets_are_drawn)
{
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(1);
    const struct picture_style styles[] = {{.size = PICTURE_PAPER, .rows = GANTT_ENGINES},
                                           {.size = PICTURE_PAPER, .rows = GANTT_STREAMS}};
    test_report_span(test, 0, OP_SYNC, 40, -1, 0, 100000);
    test_report_span(test, 0, OP_ALLOC, 40, -1, 100000, 200000);
    test_report_span(test, 0, OP_MEMSET, 0, -1, 200000, 300000);
    test_report_span(test, 0, OP_D2D, 0, -1, 300000, 400000);
    for (int i = 0; i < 2; i++) {
        plot_assert_drawn(&test->report, "calls.svg", &styles[i]);
        plot_assert_texts("calls.svg", "host|D2D|memset|sync|alloc");
        char *texts = plot_read_texts("calls.svg");
        ck_assert(!has_line(texts, "stream 40") && !has_line(texts, "callback"));
        free(texts);
    }
    free(test);
}
END_TEST

/* A cause is named above its gap, what raced is hatched, and a wrong result has no speed-up. */
START_TEST(marks_are_drawn)
{
    static const char data[] =
        "# pipeline 0.0.0-test timeline\n# message: it is slow\n# run: right\n"
        "#   time_ns: 900000\n#   speedup: 1\n#   limit_ns: 400000\n"
        "#   gaps: sync-in-loop 2 100000 300000\n#   urgent: 1\n# run: raced\n"
        "#   verified: no\n#   raced: 0\n"
        "run,op,kind,tile,stream,engine,lane,start_ns,end_ns\n"
        "right,0,h2d,0,0,h2d,0,0,100000\nright,2,h2d,1,1,h2d,0,300000,400000\n"
        "right,3,memset,,1,compute,0,400000,400010\n"
        "right,4,d2h,1,1,d2h,0,400000,900000\nraced,0,h2d,0,0,h2d,0,0,800000\n";
    if (!plot_have_gnuplot())
        return;
    plot_write_file("marks.csv", data, 0644);
    ck_assert_int_eq(plot_by_hand("timeline.gp marks.csv marks.svg"), 0);
    plot_assert_texts("marks.svg",
                      "it is slow|sync-in-loop|lost time|raced|urgent|1.00x|memset|"
                      "WRONG|RESULT|limit 400 us");
    size_t size;
    char *svg = plot_read_file("marks.svg", &size);
    ck_assert_int_ge(plot_count(svg, "<pattern"), 2);
    free(svg);
}
END_TEST

/* A slide is 1920 x 1080, or 16:9; paper is 170 mm wide. */
START_TEST(pictures_have_their_sizes)
{
    static const unsigned char slide_size[] = {0, 0, 7, 0x80, 0, 0, 4, 0x38};
    static const unsigned char paper_width[] = {0, 0, 7, 0xd8}; /* 2008 at 300 dpi */
    const struct picture_style paper = {.size = PICTURE_PAPER, .rows = GANTT_ENGINES};
    size_t size;
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(4);
    plot_assert_drawn(&test->report, "slide.PNG", &plot_slide);
    char *png = plot_read_file("slide.PNG", &size);
    ck_assert_int_eq(memcmp(png, "\x89PNG\r\n\x1a\n", 8), 0);
    ck_assert_int_eq(memcmp(png + 16, slide_size, sizeof slide_size), 0);
    free(png);
    plot_assert_drawn(&test->report, "paper.png", &paper);
    png = plot_read_file("paper.png", &size);
    ck_assert_int_eq(memcmp(png + 16, paper_width, sizeof paper_width), 0);
    free(png);
    plot_assert_drawn(&test->report, "slide.pdf", &plot_slide);
    char *pdf = plot_read_file("slide.pdf", &size);
    ck_assert_int_eq(memcmp(pdf, "%PDF-", 5), 0);
    free(pdf);
    plot_assert_drawn(&test->report, "paper.svg", &paper);
    char *svg = plot_read_file("paper.svg", &size);
    ck_assert_ptr_nonnull(strstr(svg, "width=\"642\""));
    free(svg);
    free(test);
}
END_TEST

/* A figure is for a slide that has the title, and no text on it is smaller than the slide's. */
START_TEST(a_figure_has_large_type_and_no_title)
{
    const struct picture_style figure = {.size = PICTURE_FIGURE, .rows = GANTT_ENGINES};
    size_t size;
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(4);
    plot_assert_drawn(&test->report, "figure.svg", &figure);
    plot_assert_texts("figure.svg", "serial|4-way|1 ms|2.22x|limit|"
                                    "simulated, NVIDIA H200; pipeline 0.0.0-test");
    char *svg = plot_read_file("figure.svg", &size), *texts = plot_read_texts("figure.svg");
    ck_assert_ptr_nonnull(strstr(svg, "viewBox=\"0 0 1216 512\""));
    ck_assert_ptr_null(strstr(texts, "as fast as"));
    int sized = 0;
    for (const char *at = svg; (at = strstr(at, "font-size=\"")) != NULL; sized++) {
        at += strlen("font-size=\"");
        ck_assert_msg(strtod(at, NULL) >= 24, "a text of %.5s", at);
    }
    ck_assert_int_gt(sized, 10);
    free(texts);
    free(svg);
    free(test);
}
END_TEST

/* Names that mean something to gnuplot, awk, the shell or XML. */
START_TEST(no_name_means_anything)
{
    static const char *const names[] = {
        "`touch bad`",     "$(touch bad)",
        "'; set title 'x", "\"; !touch bad; \"",
        "a_b^{c}@d&e~f",   "%s %d %n \\n \\",
        "<script>&lt;",    "@bad",
        "# END",           "END",
    };
    enum { NAMES = sizeof names / sizeof names[0] };
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(24);
    for (int i = 0; i < NAMES; i++)
        strcpy(test->settings[i].name, names[i]);
    for (int i = 0; i < 14; i++)
        snprintf(test->settings[NAMES + i].name, RUN_NAME_MAX, "%s", test_names[i]);
    strcpy(test->runs[0].device, "'\"`touch bad`\\");
    const char *kernels[] = {"void f<'\"`touch bad`>(int)"};
    test->runs[1].timeline.names = kernels;
    test->runs[1].timeline.name_count = 1;
    plot_assert_drawn(&test->report, "names.svg", &plot_slide);
    plot_assert_texts(
        "names.svg",
        "`touch bad`|$(touch bad)|'; set title 'x|a_b^{c}@d&e~f|<script>&lt;|"
        "%s %d %n \\n \\|@bad|# END|END|=1+1|caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    ck_assert_msg(access("bad", F_OK) != 0, "a name was run as a command");
    test->report.run_count = 1;
    plot_assert_drawn(&test->report, "name.svg", &plot_slide);
    ck_assert_msg(access("bad", F_OK) != 0, "a name was run as a command");
    free(test);
}
END_TEST

START_TEST(little_is_drawn_too)
{
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(1);
    struct timeline *timeline = &test->runs[0].timeline;
    uint32_t count = timeline->span_count;
    timeline->span_count = 0;
    plot_assert_drawn(&test->report, "empty.svg", &plot_slide);
    plot_assert_texts("empty.svg", "nothing to draw: there are no spans");
    timeline->span_count = 1;
    plot_assert_drawn(&test->report, "one.svg", &plot_slide);
    ck_assert_int_eq(plot_boxes("one.svg", ENGINE_H2D), 3);
    timeline->spans[0].end_ns = timeline->spans[0].start_ns;
    plot_assert_drawn(&test->report, "zero.svg", &plot_slide);
    ck_assert_int_eq(plot_boxes("zero.svg", ENGINE_H2D), 3);
    timeline->span_count = count;
    test->report.run_count = 0;
    plot_assert_drawn(&test->report, "none.svg", &plot_slide);
    plot_assert_texts("none.svg", "nothing to draw: there are no spans");
    free(test);
}
END_TEST

/* From ns to years, and a limit that is beyond the longest run. */
START_TEST(any_time_is_drawn)
{
    static const struct {
        double scale;
        const char *text;
    } cases[] = {{1e-5, "10 ns"}, {3.6e6, "3600 s"}, {9e12, "9e+09 s"}};
    if (!plot_have_gnuplot())
        return;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct test_report *test = test_report_new(2);
        for (int i = 0; i < 2; i++) {
            struct run_report *run = &test->runs[i];
            for (uint32_t k = 0; k < run->timeline.span_count; k++) {
                struct span *span = &run->timeline.spans[k];
                span->start_ns = (int64_t)fmin((double)span->start_ns * cases[c].scale, 9.2e18);
                span->end_ns = (int64_t)fmin((double)span->end_ns * cases[c].scale, 9.22e18);
            }
            run->median_ns = (int64_t)fmin((double)run->median_ns * cases[c].scale, 9.22e18);
            run->limit.ns = run->median_ns;
        }
        test->runs[0].limit.ns += test->runs[0].limit.ns / 3 * (c < 2);
        plot_assert_drawn(&test->report, "times.svg", &plot_slide);
        plot_assert_texts("times.svg", cases[c].text);
        free(test);
    }
}
END_TEST

/* Spans that are narrower than a pixel share it, so that a picture stays small. */
START_TEST(many_spans_make_no_large_picture)
{
    enum { SPANS = 20000, LANES = 100 };
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(1);
    struct span *spans = calloc(SPANS, sizeof *spans);
    ck_assert_ptr_nonnull(spans);
    for (uint32_t i = 0; i < SPANS; i++)
        spans[i] = (struct span){.op = i,
                                 .kind = OP_KERNEL,
                                 .engine = ENGINE_COMPUTE,
                                 .lane = i % LANES,
                                 .stream = i % LANES,
                                 .tile = (int32_t)i,
                                 .start_ns = i * 10,
                                 .end_ns = i * 10 + 900};
    test->runs[0].timeline.spans = spans;
    test->runs[0].timeline.span_count = SPANS;
    plot_assert_drawn(&test->report, "many.svg", &plot_slide);
    plot_assert_texts("many.svg", "kernel|0|200 us");
    ck_assert_int_le(plot_boxes("many.svg", ENGINE_COMPUTE), 2 * SPANS + 1);
    ck_assert_int_ge(plot_boxes("many.svg", ENGINE_COMPUTE), SPANS);
    test->runs[0].timeline.span_count = SPANS / 100;
    for (uint32_t i = 0; i < SPANS / 100; i++)
        spans[i].end_ns = spans[i].start_ns + 1;
    spans[SPANS / 100 - 1].end_ns = (int64_t)1e9;
    plot_assert_drawn(&test->report, "few.svg", &plot_slide);
    ck_assert_int_le(plot_boxes("few.svg", ENGINE_COMPUTE), 2 * (LANES + 1) + 1);
    free(spans);
    free(test);
}
END_TEST

/* More runs than fit are counted, not drawn. */
START_TEST(too_many_runs_are_counted)
{
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(TEST_RUNS_MAX);
    plot_assert_drawn(&test->report, "runs.svg", &plot_slide);
    plot_assert_texts("runs.svg", "serial|run 23|and 6 more runs");
    free(test);
}
END_TEST

/* A trace of another program has no limit, no speed-up, no tiles and no settings. */
START_TEST(a_trace_is_drawn)
{
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(2);
    const char *kernels[] = {"void ns::saxpy<float, 4>(float*, int)"};
    for (int i = 0; i < 2; i++) {
        struct timeline *timeline = &test->runs[i].timeline;
        memset(&test->settings[i], 0, sizeof test->settings[i]);
        strcpy(test->settings[i].name, "trace"); /* both */
        test->runs[i].foreign = true;
        test->runs[i].limit.ns = 0;
        timeline->timing = TIMING_CUPTI;
        timeline->names = kernels;
        timeline->name_count = 1;
        for (uint32_t k = 0; k < timeline->span_count; k++)
            timeline->spans[k].tile = -1;
    }
    plot_assert_drawn(&test->report, "traces.svg", &plot_slide);
    plot_assert_texts("traces.svg", "trace|measured, NVIDIA H200; timeline: CUPTI; "
                                    "pipeline 0.0.0-test");
    ck_assert_int_eq(plot_boxes("traces.svg", ENGINE_H2D),
                     spans_of(&test->report, ENGINE_H2D) + 1);
    test->report.run_count = 1;
    plot_assert_drawn(&test->report, "trace.svg", &plot_slide);
    plot_assert_texts("trace.svg", "trace|H|D");
    plot_assert_texts("trace.svg", "saxpy"); /* of its whole name */
    char *texts = plot_read_texts("trace.svg");
    ck_assert_ptr_null(strstr(texts, "limit"));
    free(texts);
    free(test);
}
END_TEST

Suite *plot_suite(void)
{
    Suite *suite = suite_create("plot");
    TCase *drawn = tcase_create("drawn");
    if (!plot_have_gnuplot())
        fprintf(stderr, "plot: no gnuplot with cairo: only failures are tested\n");
    tcase_add_checked_fixture(drawn, plot_enter_folder, plot_leave_folder);
    tcase_add_test(drawn, a_comparison_has_a_box_for_every_span);
    tcase_add_test(drawn, one_run_is_drawn_by_engine_and_by_stream);
    tcase_add_test(drawn, streams_show_waits);
    tcase_add_test(drawn, calls_and_memsets_are_drawn);
    tcase_add_test(drawn, marks_are_drawn);
    tcase_add_test(drawn, pictures_have_their_sizes);
    tcase_add_test(drawn, a_figure_has_large_type_and_no_title);
    tcase_add_test(drawn, no_name_means_anything);
    tcase_add_test(drawn, little_is_drawn_too);
    tcase_add_test(drawn, any_time_is_drawn);
    tcase_add_test(drawn, many_spans_make_no_large_picture);
    tcase_add_test(drawn, too_many_runs_are_counted);
    tcase_add_test(drawn, a_trace_is_drawn);
    suite_add_tcase(suite, drawn);
    suite_add_tcase(suite, plot_sweep_case());
    suite_add_tcase(suite, plot_hand_case());
    suite_add_tcase(suite, plot_failure_case());
    return suite;
}
