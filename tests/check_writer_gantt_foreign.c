/* check_writer_gantt_foreign.c - the Gantt of runs that are known by a trace, or by nothing but
 * their times. */
#include "writer_cases.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 113 };
static const struct writer_style engines = {.width = WIDTH, .gantt = GANTT_ENGINES};
static const struct writer_style streams = {.width = WIDTH, .gantt = GANTT_STREAMS};

/* A report of one run that was read from a trace. */
static struct test_report *foreign(void)
{
    struct test_report *test = test_report_new(3);
    test->report.runs = &test->runs[2];
    test->report.run_count = 1;
    test->runs[2].foreign = true;
    test->runs[2].limit.ns = 0;
    for (uint32_t i = 0; i < test->runs[2].timeline.span_count; i++)
        test->spans[2][i].tile = -1;
    return test;
}

/* No speed-up, no limit, no tiles. */
START_TEST(foreign_runs_have_a_span_only)
{
    struct test_report *test = foreign();
    char *gantt = test_gantt(&test->report, &engines);
    ck_assert_ptr_nonnull(strstr(gantt, "3-way: 550 us\n"));
    ck_assert_ptr_nonnull(strstr(gantt, "H2D       H=================H=="));
    ck_assert_ptr_nonnull(strstr(gantt, ". idle   H== one span\n"));
    ck_assert_ptr_null(strstr(gantt, "limit"));
    ck_assert_ptr_null(strchr(gantt, '|'));
    free(gantt);
    free(test);
}
END_TEST

/* A profiler numbers streams as it likes, up to 32 bits; the labels make room. */
START_TEST(foreign_streams_go_by_their_ids)
{
    static uint32_t ids[] = {7, 13, 4294967295U, 21};
    struct test_report *test = foreign();
    test->runs[2].timeline.stream_ids = ids;
    test->runs[2].timeline.streams = 4;
    struct writer_style narrow = streams;
    narrow.width = 40;
    char *gantt = test_gantt(&test->report, &streams);
    ck_assert_ptr_nonnull(strstr(gantt, "\n  stream 7          H=="));
    ck_assert_ptr_nonnull(strstr(gantt, "\n  stream 4294967295 ...."));
    ck_assert_ptr_null(strstr(gantt, "stream 0"));
    test_lines(gantt, WIDTH);
    free(gantt);
    gantt = test_gantt(&test->report, &narrow);
    test_lines(gantt, 40);
    free(gantt);
    free(test);
}
END_TEST

/* Names of thousands of letters are cut; more names than letters are one kernel. */
START_TEST(foreign_kernels_have_a_short_legend)
{
    enum { NAMES = 3000, LETTERS = 5000 };
    static const char *names[NAMES];
    static char name[LETTERS];
    struct test_report *test = foreign();
    struct timeline *timeline = &test->runs[2].timeline;
    memset(name, '<', LETTERS - 1);
    memcpy(name, "void \033gemm", 10);
    for (int i = 0; i < NAMES; i++)
        names[i] = name;
    timeline->names = names;
    timeline->name_count = 1;
    char *gantt = test_gantt(&test->report, &engines);
    ck_assert_ptr_nonnull(strstr(gantt, "K void \\x1bgemm<<<<<<<<<..   D d2h"));
    free(gantt);
    timeline->name_count = NAMES;
    for (uint32_t i = 0; i < timeline->span_count; i++)
        timeline->spans[i].link = (uint16_t)(i * 700);
    gantt = test_gantt(&test->report, &engines);
    ck_assert_ptr_nonnull(strstr(gantt, "H h2d   K kernel   D d2h   . idle"));
    free(gantt);
    free(test);
}
END_TEST

/* As many lanes, or streams, as there may be cost no more than those that are drawn. */
START_TEST(hundred_thousand_lanes_are_counted)
{
    enum { LANES = 100000 };
    struct test_report *test = foreign();
    struct timeline *timeline = &test->runs[2].timeline;
    struct span *spans = calloc(LANES, sizeof *spans);
    ck_assert_ptr_nonnull(spans);
    for (uint32_t i = 0; i < LANES; i++)
        spans[i] = (struct span){.op = i,
                                 .kind = OP_KERNEL,
                                 .engine = ENGINE_COMPUTE,
                                 .lane = i,
                                 .stream = i,
                                 .tile = -1,
                                 .end_ns = 1000};
    timeline->spans = spans;
    timeline->span_count = LANES;
    timeline->streams = LANES;
    for (int verbose = 0; verbose < 2; verbose++) {
        struct writer_style style = _i == GANTT_STREAMS ? streams : engines;
        style.verbose = verbose;
        char *gantt = test_gantt(&test->report, &style);
        ck_assert_ptr_nonnull(strstr(gantt, verbose ? "\n  98976 more rows\n"
                                                    : "\n  99968 more rows (--verbose)\n"));
        test_lines(gantt, WIDTH);
        free(gantt);
    }
    spans[LANES - 1].lane = spans[LANES - 1].stream = UINT32_MAX;
    char *gantt = test_gantt(&test->report, &engines);
    test_lines(gantt, WIDTH);
    free(gantt);
    free(spans);
    free(test);
}
END_TEST

START_TEST(profiled_runs_have_no_timeline)
{
    struct test_report *test = test_report_new(2);
    for (int r = 0; r < 2; r++) {
        test->runs[r].profiled = true;
        test->runs[r].timeline.span_count = 0;
    }
    char *gantt = test_gantt(&test->report, &engines);
    ck_assert_str_eq(gantt, "\nserial: 1 ms, 1.00x, limit 500 us\n  no timeline (--profile)\n"
                            "\n2-way: 850 us, 1.18x, limit 500 us\n"
                            "  no timeline (--profile)\n");
    free(gantt);
    free(test);
}
END_TEST

void writer_gantt_add_foreign(TCase *gantt)
{
    tcase_add_test(gantt, foreign_runs_have_a_span_only);
    tcase_add_test(gantt, foreign_streams_go_by_their_ids);
    tcase_add_test(gantt, foreign_kernels_have_a_short_legend);
    tcase_add_loop_test(gantt, hundred_thousand_lanes_are_counted, GANTT_ENGINES, GANTT_NONE);
    tcase_add_test(gantt, profiled_runs_have_no_timeline);
}
