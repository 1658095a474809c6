/* check_writer_gantt.c - every letter of the Gantt stands where its span ran. */
#include "writer_cases.h"
#include "writers/gantt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 100 columns of time beside the labels: with 1 ms, 10 us each. */
enum { WIDTH = 113, COLUMNS = 100, MARGIN = 12 };
static const struct writer_style engines = {.width = WIDTH, .gantt = GANTT_ENGINES};
static const struct writer_style streams = {.width = WIDTH, .gantt = GANTT_STREAMS};

/* Run number `run` has a row called `label` whose cells begin with `expected`. */
static void check_row(const char *gantt, int run, const char *label, const char *expected)
{
    const char *begin = gantt;
    char want[WIDTH + 8];
    snprintf(want, sizeof want, "\n  %-10s%s", label, expected);
    for (; run > 0; run--) {
        begin = strstr(begin, "\n\n");
        ck_assert_msg(begin != NULL, "too few runs in%s", gantt);
        begin++;
    }
    const char *end = strstr(begin, "\n\n"), *found = strstr(begin, want);
    ck_assert_msg(found != NULL && (end == NULL || found < end), "no '%s' in\n%s", want, gantt);
}

static struct test_report *first_and(struct test_report *test, int runs)
{
    test->report.run_count = runs;
    return test;
}

#define DOTS10 ".........."
#define DOTS40 DOTS10 DOTS10 DOTS10 DOTS10

START_TEST(bars_lie_where_spans_ran)
{
    struct test_report *test = test_report_new(4);
    char *gantt = test_gantt(&test->report, &engines);
    /* The limit of 500 us is at column 50: it is drawn on what is idle and on a bar's filling,
     * and not on the letter of kernel 2, which begins there. */
    ck_assert_ptr_nonnull(strstr(gantt,
                                 "\nserial: 1 ms, 1.00x, limit 500 us\n"
                                 "  H2D       H0========H1========H2========H3========" DOTS10
                                 "|........." DOTS40 "\n"
                                 "  kernel    " DOTS40 "K0===K1===K2===K3===" DOTS40 "\n"
                                 "  D2H       " DOTS40 DOTS10 "|........."
                                 "D0========D1========D2========D3========\n"));
    ck_assert_ptr_nonnull(strstr(
        gantt,
        "\n3-way: 550 us, 1.82x, limit 500 us\n"
        "  H2D       H0========H1========H2========H3========" DOTS10 "|........." DOTS40 "\n"
        "  kernel    " DOTS10 "K0===.....K1===.....K2===.....K3===.....|........." DOTS40 "\n"
        "  D2H       " DOTS10 ".....D0========D1========D2========D3===|===="
        "....." DOTS40 "\n"));
    ck_assert_ptr_nonnull(
        strstr(gantt, "  CPU       C3======================================|=........" DOTS10));
    ck_assert_ptr_null(strstr(gantt, "host"));
    free(gantt);
    free(test);
}
END_TEST

START_TEST(axis_and_legend_explain)
{
    struct test_report *test = test_report_new(4);
    char *gantt = test_gantt(&test->report, &engines);
    const char *axis =
        "            +---------+---------+---------+---------+---------+---------+---------+---"
        "------+---------+---------+\n"
        "  ms        0.0       0.1       0.2       0.3       0.4       0.5       0.6       0.7"
        "       0.8       0.9\n"
        "  H h2d   K scale   D d2h   C cpu   . idle   | limit   H7== one span, of tile 7\n";
    const char *found = strstr(gantt, axis);
    ck_assert_msg(found != NULL && strlen(found) == strlen(axis), "%s", gantt);
    free(gantt);
    free(test);
}
END_TEST

START_TEST(streams_have_a_row_each)
{
    struct test_report *test = test_report_new(4);
    test_report_span(test, 2, OP_WAIT, 3, -1, 0, 300000);
    test_report_span(test, 2, OP_CALLBACK, 0, 0, 250000, 280000);
    test->spans[2][test->runs[2].timeline.span_count - 1].engine = ENGINE_HOST;
    char *gantt = test_gantt(&test->report, &streams);
    check_row(gantt, 0, "stream 0",
              "H0========H1========H2========H3========K0===K1===|2===K3===D0========");
    check_row(gantt, 2, "stream 0", "H0========K0===D0========B0=......................|");
    check_row(gantt, 2, "stream 3", "------------------------------H3========K3===D3===|====");
    check_row(gantt, 3, "CPU", "C3======================================|=....");
    ck_assert_ptr_null(strstr(gantt, "stream 4"));
    ck_assert_ptr_nonnull(strstr(gantt, "B callback   - wait"));
    free(gantt);
    free(test);
}
END_TEST

/* Engines show callbacks only where there are any, and never waits. */
START_TEST(engines_show_callbacks_but_no_waits)
{
    struct test_report *test = first_and(test_report_new(3), 3);
    test_report_span(test, 1, OP_WAIT, 3, -1, 0, 300000);
    test_report_span(test, 1, OP_CALLBACK, 0, 2, 250000, 290000);
    char *gantt = test_gantt(&test->report, &engines);
    check_row(gantt, 1, "host", DOTS10 DOTS10 ".....B2==");
    ck_assert_ptr_null(strstr(gantt, "wait"));
    free(gantt);
    free(test);
}
END_TEST

/* What the CPU packs is told from what it waits for, in the host's row. */
START_TEST(packing_has_a_letter)
{
    struct test_report *test = first_and(test_report_new(3), 3);
    test_report_span(test, 1, OP_PACK, 4, 2, 250000, 290000);
    test_report_span(test, 1, OP_SYNC_EVENT, 4, 2, 290000, 320000);
    const uint32_t count = test->runs[1].timeline.span_count;
    test->spans[1][count - 2].engine = test->spans[1][count - 1].engine = ENGINE_HOST;
    char *gantt = test_gantt(&test->report, &engines);
    check_row(gantt, 1, "host", DOTS10 DOTS10 ".....P2==S2=");
    ck_assert_ptr_nonnull(strstr(gantt, "S sync   P pack"));
    free(gantt);
    free(test);
}
END_TEST

/* A run whose spans are taken one after another from `at`, with the same pause after each. */
static void add_train(struct test_report *test, int run, enum op_kind kind, int count,
                      int64_t start_ns, int64_t length_ns, int64_t pause_ns)
{
    for (int i = 0; i < count; i++) {
        int64_t at = start_ns + i * (length_ns + pause_ns);
        test_report_span(test, run, kind, 0, i, at, at + length_ns);
    }
}

/* Bars of fewer than three columns show no number, bars without room for theirs neither. */
START_TEST(numbers_stand_only_where_they_fit)
{
    struct test_report *test = first_and(test_report_new(1), 1);
    test->runs[0].timeline.span_count = 0;
    test->runs[0].limit.ns = 0;
    add_train(test, 0, OP_H2D, 4, 0, 20, 0);
    add_train(test, 0, OP_D2H, 4, 100, 30, 10);
    test->spans[0][5].tile = 12;
    test->spans[0][6].tile = 123;
    test->spans[0][7].tile = -1;
    test_report_span(test, 0, OP_KERNEL, 0, 2147483647, 0, 1000);
    char *gantt = test_gantt(&test->report, &engines);
    check_row(gantt, 0, "H2D", "H=H=H=H=....");
    check_row(gantt, 0, "D2H", DOTS10 "D0=.D12.D==.D==....");
    check_row(gantt, 0, "kernel", "K2147483647=====");
    free(gantt);
    free(test);
}
END_TEST

/* A hundred thousand spans share the columns: capitals say busy half of the time or more. */
START_TEST(many_spans_show_how_busy_they_are)
{
    enum { SPANS = 99999 };
    struct test_report *test = first_and(test_report_new(1), 1);
    struct timeline *timeline = &test->runs[0].timeline;
    struct span *spans = calloc(SPANS, sizeof *spans);
    ck_assert_ptr_nonnull(spans);
    for (int i = 0; i < SPANS; i++) {
        int kind = i % 3, length = kind == OP_H2D ? 60 : kind == OP_KERNEL ? 50 : 49;
        spans[i] = (struct span){.op = (uint32_t)i,
                                 .kind = (uint8_t)kind,
                                 .engine = (unsigned)kind & SPAN_BITS,
                                 .tile = i / 3,
                                 .start_ns = i / 3 * 100,
                                 .end_ns = i / 3 * 100 + length};
    }
    spans[SPANS - 1].end_ns = SPANS / 3 * 100;
    timeline->spans = spans;
    timeline->span_count = SPANS;
    test->runs[0].limit.ns = timeline_time_ns(timeline) / 2;
    char *gantt = test_gantt(&test->report, &engines), row[COLUMNS + 1];
    memset(row, 'H', COLUMNS);
    row[COLUMNS] = '\0';
    row[COLUMNS / 2] = '|';
    check_row(gantt, 0, "H2D", row);
    memset(row, 'K', COLUMNS);
    row[COLUMNS / 2] = '|';
    check_row(gantt, 0, "kernel", row);
    memset(row, 'd', COLUMNS);
    check_row(gantt, 0, "D2H", row);
    ck_assert_ptr_nonnull(strstr(gantt, "small letter: busy under half"));
    ck_assert_ptr_nonnull(strstr(gantt, "--timeline=FILE.html shows the ops one by one"));
    free(gantt);
    free(spans);
    free(test);
}
END_TEST

/* Where every row begins a span at the limit, its mark is drawn all the same. */
START_TEST(limit_is_marked_in_any_case)
{
    struct test_report *test = first_and(test_report_new(1), 1);
    test->runs[0].timeline.span_count = 0;
    test->runs[0].limit.ns = 500;
    test_report_span(test, 0, OP_H2D, 0, 0, 0, 500);
    test_report_span(test, 0, OP_H2D, 0, 1, 500, 1000);
    char *gantt = test_gantt(&test->report, &engines);
    ck_assert_ptr_nonnull(strstr(gantt, "==|1=="));
    free(gantt);
    test->runs[0].limit.ns = 1000; /* the end of the axis: behind the last column */
    gantt = test_gantt(&test->report, &engines);
    ck_assert_ptr_nonnull(strstr(gantt, "==H1=="));
    ck_assert_ptr_nonnull(strstr(gantt, "==|\n"));
    free(gantt);
    test->runs[0].limit.ns = 1001; /* beyond the picture */
    gantt = test_gantt(&test->report, &engines);
    ck_assert_ptr_null(strchr(gantt, '|'));
    free(gantt);
    free(test);
}
END_TEST

/* Without its escapes and with its fillings back, a coloured picture is the plain one; its
 * legend shows the colours. */
START_TEST(colors_change_nothing_else)
{
    struct test_report *test = test_report_new(4);
    struct writer_style colored = _i == GANTT_STREAMS ? streams : engines;
    colored.color = true;
    char *plain = test_gantt(&test->report, _i == GANTT_STREAMS ? &streams : &engines);
    char *gantt = test_gantt(&test->report, &colored), *to = gantt;
    ck_assert_ptr_null(strchr(plain, '\033'));
    ck_assert_ptr_nonnull(strstr(gantt, "\033[0;48;5;25;38;5;231mH0"));
    ck_assert_ptr_nonnull(strstr(gantt, "\n  \033[0;48;5;25;38;5;231m H \033[0m h2d   "
                                        "\033[0;48;5;178;38;5;16m K \033[0m scale"));
    bool on = false;
    for (char *from = gantt; *from != '\0'; from++) {
        if (*from != '\033') {
            ck_assert_msg(*from != '\n' || !on, "a colour is on at the end of a line");
            *to++ = *from;
            continue;
        }
        on = strncmp(from, "\033[0m", 4) != 0;
        from = strchr(from, 'm');
    }
    *to = '\0';
    const char *legend = strstr(plain, "\n  H h2d");
    ck_assert_ptr_nonnull(legend);
    ck_assert_ptr_eq(strstr(gantt, "\n   H  h2d"), gantt + (legend - plain));
    for (size_t i = 0; i < (size_t)(legend - plain); i++)
        ck_assert_msg(plain[i] == gantt[i] || (plain[i] == '=' && gantt[i] == ' '), "at %zu",
                      i);
    free(plain);
    free(gantt);
    free(test);
}
END_TEST

START_TEST(kernels_of_a_chain_have_letters)
{
    struct test_report *test = test_report_new(4);
    static const char *names[2][2] = {{"scale", "wave"}, {"scale", "sum"}};
    for (int r = 0; r < 4; r++) {
        test->runs[r].timeline.names = names[r == 3];
        test->runs[r].timeline.name_count = 2;
    }
    test_report_span(test, 1, OP_KERNEL, 0, 1, 0, 100000)->link = 1;
    test_report_span(test, 1, OP_KERNEL, 0, 2, 900000, 1000000)->link = CHAIN_MAX - 1;
    char *gantt = test_gantt(&test->report, &engines);
    check_row(gantt, 1, "kernel", "L1========");
    ck_assert_ptr_nonnull(strstr(gantt, "R2========"));
    ck_assert_ptr_nonnull(strstr(gantt, "K scale   L kernel 2   R kernel   D d2h"));
    free(gantt);
    free(test);
}
END_TEST

static void lanes_of_kernels(struct test_report *test, int lanes)
{
    test->runs[0].timeline.span_count = 0;
    for (int i = 0; i < lanes; i++)
        test_report_span(test, 0, OP_KERNEL, 0, i, 0, 1000)->lane = (uint32_t)i;
}

START_TEST(lanes_beyond_32_are_counted_unless_verbose)
{
    struct test_report *test = first_and(test_report_new(1), 1);
    struct writer_style verbose = engines;
    verbose.verbose = 1;
    lanes_of_kernels(test, 40);
    char *gantt = test_gantt(&test->report, &engines);
    check_row(gantt, 0, "kernel 0", "K0==");
    check_row(gantt, 0, "kernel 31", "K31=");
    ck_assert_ptr_null(strstr(gantt, "kernel 32"));
    ck_assert_ptr_nonnull(strstr(gantt, "\n  8 more rows (--verbose)\n"));
    free(gantt);
    test->spans[0][39].lane = UINT16_MAX;
    gantt = test_gantt(&test->report, &verbose);
    ck_assert_ptr_nonnull(strstr(gantt, "\n  kernel 38   K38="));
    ck_assert_ptr_nonnull(strstr(gantt, "\n  64512 more rows\n"));
    free(gantt);
    free(test);
}
END_TEST

const char *utf8_of(char *clean, size_t room, const char *text)
{
    size_t used = 0;
    while (*text != '\0') {
        uint32_t character;
        size_t length = escape_utf8(text, &character), written = length > 0 ? length : 3;
        if (used + written >= room)
            break;
        memcpy(clean + used, length > 0 ? text : "\xef\xbf\xbd", written);
        used += written;
        text += length > 0 ? length : 1;
    }
    clean[used] = '\0';
    return clean;
}

void test_lines(const char *gantt, int width)
{
    for (const char *line = gantt, *end; *line != '\0'; line = end + 1) {
        char text[4096];
        end = strchr(line, '\n');
        ck_assert_msg(end != NULL && (size_t)(end - line) < sizeof text, "an endless line");
        snprintf(text, sizeof text, "%.*s", (int)(end - line), line);
        ck_assert_msg(writer_columns(text) <= width, "wider than %d:\n%s", width, text);
        for (const char *c = text; *c != '\0'; c++)
            ck_assert_msg((unsigned char)*c >= ' ' && *c != 0x7f, "a control character");
    }
}

static const int widths[] = {-1, 0, 39, 40, 41, 80, 113, 400, 401, 100000};

START_TEST(no_line_is_too_wide)
{
    for (int n = 0; test_names[n] != NULL; n++) {
        struct test_report *test = test_report_new(6);
        struct writer_style style = {.width = widths[_i],
                                     .gantt = n % 2 ? GANTT_STREAMS : GANTT_ENGINES,
                                     .verbose = n / 2 % 2};
        strcpy(test->settings[0].name, test_names[n]);
        test->runs[1].speedup = NAN;
        test->runs[2].speedup = 1e300;
        test->runs[3].median_ns = 123456;
        test_report_span(test, 4, OP_KERNEL, 1023, 99, 0, 1)->lane = 1023;
        char *gantt = test_gantt(&test->report, &style);
        test_lines(gantt, widths[_i] < 40 ? 40 : widths[_i]);
        free(gantt);
        free(test);
    }
}
END_TEST

/* The row called `label` shows one of `letters`, though its spans may be of no length. */
static void check_shown(const char *gantt, const char *label, const char *letters)
{
    const char *row = strstr(gantt, label);
    ck_assert_msg(row != NULL, "no%s in%s", label, gantt);
    row += 1 + MARGIN;
    ck_assert_msg(row[strcspn(row, letters)] != '\0' &&
                      strcspn(row, letters) < strcspn(row, "\n"),
                  "nothing shown in%s of%s", label, gantt);
}

static const int64_t odd_times[][2] = {
    {0, 0}, {0, 1}, {1, 1}, {-5, 3}, {7, 2}, {0, INT64_C(1) << 62}, {INT64_MAX, INT64_MAX},
};

START_TEST(odd_timelines_are_drawn)
{
    struct test_report *test = first_and(test_report_new(2), 2);
    struct writer_style style = {.width = 80, .gantt = GANTT_ENGINES};
    int64_t start_ns = odd_times[_i][0], end_ns = odd_times[_i][1];
    test->runs[0].timeline.span_count = 0; /* empty beside the other */
    test->runs[1].timeline.span_count = 0;
    test_report_span(test, 1, OP_H2D, 0, 0, start_ns, end_ns);
    test_report_span(test, 1, OP_KERNEL, 0, 0, end_ns, end_ns);
    char *gantt = test_gantt(&test->report, &style);
    test_lines(gantt, 80);
    ck_assert_ptr_nonnull(strstr(gantt, "\n  no timeline\n"));
    check_shown(gantt, "\n  H2D ", "Hh");
    check_shown(gantt, "\n  kernel ", "Kk");
    free(gantt);
    test->report.run_count = 0;
    gantt = test_gantt(&test->report, &style);
    ck_assert_str_eq(gantt, "");
    free(gantt);
    free(test);
}
END_TEST

START_TEST(none_draws_nothing)
{
    struct test_report *test = test_report_new(4);
    struct writer_style style = {.width = 80, .gantt = GANTT_NONE};
    char *gantt = test_gantt(&test->report, &style);
    ck_assert_str_eq(gantt, "");
    free(gantt);
    free(test);
}
END_TEST

static const struct {
    int64_t length_ns;
    int columns;
    const char *unit;
    double step;
    int decimals;
} ticks[] = {
    {0, 67, "ns", 1, 0},
    {1, 67, "ns", 1, 0},
    {999, 67, "ns", 200, 0},
    {1000, 67, "us", 0.2, 1},
    {22400000, 67, "ms", 5, 0},
    {22400000, 267, "ms", 1, 0},
    {1000000, 27, "ms", 0.5, 1},
    {INT64_C(3600000000000), 67, "s", 1000, 0},
    {INT64_C(1) << 62, 67, "s", 1e9, 0},
};

START_TEST(ticks_are_round_and_apart)
{
    struct writer_ticks chosen =
        writer_ticks_choose(ticks[_i].length_ns, ticks[_i].columns, 10);
    ck_assert_str_eq(chosen.unit, ticks[_i].unit);
    ck_assert_double_eq_tol(chosen.step_ns / chosen.unit_ns, ticks[_i].step,
                            1e-9 * ticks[_i].step);
    ck_assert_int_eq(chosen.decimals, ticks[_i].decimals);
}
END_TEST

/* Ops of a third of the time look alike all along, and a gap between dense stretches stays. */
START_TEST(short_ops_look_even)
{
    float busy[COLUMNS] = {0};
    bool small[COLUMNS];
    for (double start = 0; start + 0.68 < COLUMNS; start += 2.08) {
        int first = (int)start, next = first + 1;
        double over = start + 0.68 - next;
        busy[first] += (float)(over > 0 ? 0.68 - over : 0.68);
        if (over > 0)
            busy[next] += (float)over;
    }
    gantt_even(busy, COLUMNS, small);
    for (int c = 2; c < COLUMNS - 4; c++)
        ck_assert_msg(small[c] || (busy[c] > 0 && busy[c] < 0.5F), "column %d: %g", c,
                      (double)busy[c]);
    for (int c = 0; c < COLUMNS; c++)
        busy[c] = c == 20 || c == 21 || c > 40 ? 0 : c == 10 ? -1 : 1;
    gantt_even(busy, COLUMNS, small);
    for (int c = 0; c < COLUMNS; c++)
        ck_assert(!small[c]);
}
END_TEST

TCase *writer_gantt_case(void)
{
    TCase *gantt = tcase_create("gantt");
    tcase_add_test(gantt, bars_lie_where_spans_ran);
    tcase_add_test(gantt, short_ops_look_even);
    tcase_add_test(gantt, axis_and_legend_explain);
    tcase_add_test(gantt, streams_have_a_row_each);
    tcase_add_test(gantt, engines_show_callbacks_but_no_waits);
    tcase_add_test(gantt, packing_has_a_letter);
    tcase_add_test(gantt, numbers_stand_only_where_they_fit);
    tcase_add_test(gantt, many_spans_show_how_busy_they_are);
    tcase_add_test(gantt, limit_is_marked_in_any_case);
    tcase_add_loop_test(gantt, colors_change_nothing_else, GANTT_ENGINES, GANTT_NONE);
    tcase_add_test(gantt, kernels_of_a_chain_have_letters);
    tcase_add_test(gantt, lanes_beyond_32_are_counted_unless_verbose);
    writer_gantt_add_foreign(gantt);
    tcase_add_loop_test(gantt, no_line_is_too_wide, 0, sizeof widths / sizeof widths[0]);
    tcase_add_loop_test(gantt, odd_timelines_are_drawn, 0,
                        sizeof odd_times / sizeof odd_times[0]);
    tcase_add_test(gantt, none_draws_nothing);
    tcase_add_loop_test(gantt, ticks_are_round_and_apart, 0, sizeof ticks / sizeof ticks[0]);
    return gantt;
}
