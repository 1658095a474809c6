/* check_writer_report.c - builds the report that the writers' tests show. */
#include "writer_cases.h"

#include <stdlib.h>
#include <string.h>

const char *const test_names[] = {
    "",
    " ",
    "plain",
    "with, comma",
    "with \"quotes\"",
    "two\nlines\r\n",
    "\033[31mred\033[0m\a",
    "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
    "cut \xe2\x82",
    "\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80",
    "a name as long as a section's name can be, which is to the end",
    "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
    "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80",
    "\",\"",
    "=1+1",
    NULL,
};

enum { US = 1000, TILES = 4, TILE_BYTES = 1 << 20 };

struct span *test_report_span(struct test_report *test, int run, enum op_kind kind,
                              uint32_t stream, int32_t tile, int64_t start_ns, int64_t end_ns)
{
    static const enum engine engines[OP_KIND_COUNT] = {
        [OP_H2D] = ENGINE_H2D,        [OP_KERNEL] = ENGINE_COMPUTE, [OP_D2H] = ENGINE_D2H,
        [OP_CPU] = ENGINE_CPU,        [OP_CALLBACK] = ENGINE_HOST,  [OP_WAIT] = ENGINE_NONE,
        [OP_SYNC] = ENGINE_HOST,      [OP_ALLOC] = ENGINE_HOST,     [OP_D2D] = ENGINE_COMPUTE,
        [OP_MEMSET] = ENGINE_COMPUTE,
    };
    struct timeline *timeline = &test->runs[run].timeline;
    ck_assert_uint_lt(timeline->span_count, TEST_SPANS_MAX);
    struct span *span = &timeline->spans[timeline->span_count];
    *span = (struct span){
        .op = timeline->span_count++,
        .kind = (uint8_t)kind,
        .engine = engines[kind] & SPAN_BITS,
        .stream = stream,
        .tile = tile,
        .bytes = kind == OP_H2D || kind == OP_D2H ? TILE_BYTES : 0,
        .issue_ns = 7 * (int64_t)span->op,
        .start_ns = start_ns,
        .end_ns = end_ns,
    };
    return span;
}

/* Adds the three stages of a tile, each from its start in us. */
static void add_tile(struct test_report *test, int run, uint32_t stream, int tile, int64_t in,
                     int64_t kernel, int64_t out)
{
    test_report_span(test, run, OP_H2D, stream, tile, in * US, (in + 100) * US);
    test_report_span(test, run, OP_KERNEL, stream, tile, kernel * US, (kernel + 50) * US);
    test_report_span(test, run, OP_D2H, stream, tile, out * US, (out + 100) * US);
}

static void add_spans(struct test_report *test, int run, int ways)
{
    if (ways == 4)
        test_report_span(test, run, OP_CPU, 4, 3, 0, 420 * US);
    for (int tile = 0; tile < TILES - (ways == 4); tile++) {
        uint32_t stream = ways == 1 ? 0 : (uint32_t)tile;
        if (ways == 1)
            add_tile(test, run, stream, tile, 100 * tile, 400 + 50 * tile, 600 + 100 * tile);
        else if (ways == 2)
            add_tile(test, run, stream, tile, 100 * tile, 400 + 50 * tile, 450 + 100 * tile);
        else
            add_tile(test, run, stream, tile, 100 * tile, 100 + 100 * tile, 150 + 100 * tile);
    }
}

static struct settings settings_of(int ways)
{
    struct settings settings = {
        .elements = 1 << 20,
        .chain = {kernel_find("scale")},
        .chain_length = 1,
        .intensity = 1,
        .columns = 1024,
        .stride = 1,
        .tiles = TILES,
        .streams = ways == 1 ? 1 : 4,
        .ways = ways,
        .cpu_share = ways == 4 ? 0.25 : 0,
        .device = "sim:h200",
        .runs = 1,
        .seed = 1,
    };
    static const char *const names[] = {"serial", "2-way", "3-way", "4-way"};
    strcpy(settings.name, names[ways - 1]);
    return settings;
}

static void add_run(struct test_report *test, int index, int ways)
{
    static const char *names[] = {"scale"};
    struct run_report *run = &test->runs[index];
    struct error error = {0};
    test->settings[index] = settings_of(ways);
    *run = (struct run_report){
        .settings = &test->settings[index],
        .streams = test->settings[index].streams,
        .slots = ways < 3 ? TILES : 2,
        .cpu_tiles = ways == 4,
        .host_bytes = 2 * TILES * TILE_BYTES,
        .device_bytes = 2 * TILE_BYTES,
        .verified = VERIFIED_YES,
        .repeats = 1,
        .issue_ns = 12345,
        .limit = {.ns = (ways == 4 ? 400 : 500) * US, .cause = LIMIT_COPIES},
        .timeline = {.timing = TIMING_VIRTUAL,
                     .device = "h200",
                     .resolution_ns = 1,
                     .names = names,
                     .name_count = 1,
                     .streams = test->settings[index].streams,
                     .spans = test->spans[index]},
        .device = "NVIDIA H200",
    };
    add_spans(test, index, ways);
    run->median_ns = run->min_ns = run->max_ns = timeline_time_ns(&run->timeline);
    run->speedup = (double)test->runs[0].median_ns / (double)run->median_ns;
    ck_assert_msg(analyse(&run->timeline, &run->analysis, &error) == STATUS_OK, "%s",
                  error.text);
}

struct test_report *test_report_new(int runs)
{
    struct test_report *test = calloc(1, sizeof *test);
    ck_assert_ptr_nonnull(test);
    test->report =
        (struct report){.version = "0.0.0-test", .runs = test->runs, .run_count = runs};
    for (int i = 0; i < runs; i++) {
        add_run(test, i, i % 4 + 1);
        if (i >= 4)
            snprintf(test->settings[i].name, RUN_NAME_MAX, "run %d", i);
    }
    return test;
}

static FILE *open_text(char **text, size_t *size)
{
    FILE *out = open_memstream(text, size);
    ck_assert_ptr_nonnull(out);
    return out;
}

char *test_text(const struct report *report, const struct writer_style *style)
{
    char *text;
    size_t size;
    FILE *out = open_text(&text, &size);
    write_text(out, report, style);
    fclose(out);
    return text;
}

char *test_gantt(const struct report *report, const struct writer_style *style)
{
    char *text;
    size_t size;
    FILE *out = open_text(&text, &size);
    write_gantt(out, report, style);
    fclose(out);
    return text;
}

char *test_written(const struct report *report, report_writer *write)
{
    char *text;
    size_t size;
    FILE *out = open_text(&text, &size);
    write(out, report);
    fclose(out);
    return text;
}
