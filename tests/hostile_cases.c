/* hostile_cases.c - builds the reports: empty, degenerate, huge, and with texts of every kind.
 */
#include "hostile_cases.h"
#include "fixtures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct run_report *add_run(struct hostile *hostile, const char *name)
{
    int index = hostile->report.run_count++;
    ck_assert_int_lt(index, HOSTILE_RUNS_MAX);
    struct run_report *run = &hostile->runs[index];
    struct settings *settings = &hostile->settings[index];
    *settings = test_settings("scale");
    snprintf(settings->name, sizeof settings->name, "%s", name);
    *run = (struct run_report){
        .settings = settings,
        .streams = 4,
        .slots = 4,
        .elements = settings->elements,
        .verified = VERIFIED_YES,
        .repeats = 1,
        .speedup = 1,
        .limit = {.ns = 1000, .cause = LIMIT_COPIES},
        .timeline = {.timing = TIMING_VIRTUAL, .resolution_ns = 1, .streams = 4},
    };
    strcpy(run->device, "NVIDIA H200");
    strcpy(run->timeline.device, "h200");
    run->timeline.names = arena_zeros(&run->timeline.arena, 1, sizeof run->timeline.names[0]);
    ck_assert_ptr_nonnull(run->timeline.names);
    run->timeline.names[0] = "scale";
    run->timeline.name_count = 1;
    return run;
}

/* A run that was read from a trace: it has a name, spans and little else. */
static struct run_report *add_foreign(struct hostile *hostile, const char *name)
{
    int index = hostile->report.run_count;
    struct run_report *run = add_run(hostile, name);
    hostile->settings[index] = (struct settings){0};
    snprintf(hostile->settings[index].name, RUN_NAME_MAX, "%s", name);
    run->foreign = true;
    run->verified = VERIFIED_NOT_ASKED;
    run->repeats = 0;
    run->speedup = NAN;
    run->limit = (struct limit){0};
    run->slots = 0;
    run->elements = 0;
    run->timeline.timing = TIMING_CUPTI;
    strcpy(run->timeline.driver, "traced by Nsight Systems");
    hostile->traces[index] = (struct trace){.bytes_unit = 1};
    run->trace = &hostile->traces[index];
    return run;
}

/* Appends a span, issued when it starts; the next of its lane 0. */
static struct span *add_span(struct run_report *run, enum op_kind kind, uint32_t stream,
                             int32_t tile, int64_t start_ns, int64_t end_ns)
{
    static const enum engine engines[OP_KIND_COUNT] = {
        [OP_H2D] = ENGINE_H2D,        [OP_KERNEL] = ENGINE_COMPUTE, [OP_D2H] = ENGINE_D2H,
        [OP_CPU] = ENGINE_CPU,        [OP_CALLBACK] = ENGINE_HOST,  [OP_WAIT] = ENGINE_NONE,
        [OP_SYNC] = ENGINE_HOST,      [OP_ALLOC] = ENGINE_HOST,     [OP_D2D] = ENGINE_COMPUTE,
        [OP_MEMSET] = ENGINE_COMPUTE,
    };
    struct timeline *timeline = &run->timeline;
    uint32_t count = timeline->span_count;
    if ((count & (count + 1)) == 0) { /* room for 1, 3, 7, ... */
        timeline->spans =
            reallocarray(timeline->spans, 2 * (size_t)count + 1, sizeof timeline->spans[0]);
        ck_assert_ptr_nonnull(timeline->spans);
    }
    timeline->span_count++;
    timeline->spans[count] = (struct span){
        .op = count,
        .kind = (uint8_t)kind,
        .engine = engines[kind] & SPAN_BITS,
        .lane = kind == OP_WAIT ? stream : 0,
        .stream = stream,
        .tile = run->foreign ? -1 : tile,
        .bytes = kind == OP_H2D || kind == OP_D2H ? 4096 : 0,
        .issue_ns = start_ns,
        .start_ns = start_ns,
        .end_ns = end_ns,
    };
    return &timeline->spans[count];
}

/* A tile's way: in, worked on, out, one microsecond each. */
static void add_tile(struct run_report *run, uint32_t stream, int32_t tile, int64_t start_ns)
{
    add_span(run, OP_H2D, stream, tile, start_ns, start_ns + 1000);
    add_span(run, OP_KERNEL, stream, tile, start_ns + 1000, start_ns + 2000);
    add_span(run, OP_D2H, stream, tile, start_ns + 2000, start_ns + 3000);
}

static void build_nothing(struct hostile *hostile)
{
    (void)hostile;
}

static void build_empty(struct hostile *hostile)
{
    add_run(hostile, "empty");
}

static void build_empty_foreign(struct hostile *hostile)
{
    add_foreign(hostile, "empty");
}

static void build_some_empty(struct hostile *hostile)
{
    add_run(hostile, "first");
    add_tile(add_run(hostile, "second"), 0, 0, 0);
    add_run(hostile, "third");
}

static void build_one_span(struct hostile *hostile)
{
    add_span(add_run(hostile, "one"), OP_H2D, 3, 0, 5, 6);
}

static void build_one_kernel(struct hostile *hostile)
{
    add_span(add_foreign(hostile, "one"), OP_KERNEL, 0, -1, 0, 1);
}

static void add_zero_length(struct run_report *run)
{
    for (int i = 0; i < 4; i++) {
        add_span(run, OP_H2D, (uint32_t)i, i, 0, 0);
        add_span(run, OP_KERNEL, (uint32_t)i, i, 0, 0);
        add_span(run, OP_D2H, (uint32_t)i, i, 0, 0);
    }
}

static void build_zero_length(struct hostile *hostile)
{
    add_zero_length(add_run(hostile, "nothing took any time"));
    add_zero_length(add_run(hostile, "the same"));
    add_tile(&hostile->runs[1], 0, 4, 0);
    add_span(&hostile->runs[1], OP_H2D, 0, 5, 3000, 3000);
}

static void build_zero_length_foreign(struct hostile *hostile)
{
    add_zero_length(add_foreign(hostile, "nothing took any time"));
}

/* Every kind there is, and waits for ops that there are and that there are not. */
static void build_every_kind(struct hostile *hostile)
{
    struct run_report *run = add_run(hostile, "kinds");
    add_tile(run, 0, 0, 0);
    add_span(run, OP_WAIT, 1, 0, 0, 2000)->target = 1;
    add_span(run, OP_WAIT, 2, 0, 0, 0)->target = UINT32_MAX;
    add_span(run, OP_CALLBACK, 0, 0, 3000, 4000);
    add_span(run, OP_CPU, 3, INT32_MAX, 0, 5000);
    add_span(run, OP_H2D, 1, -1, 2000, 2001)->bytes = INT64_MAX;
}

/* Kernels that all run at once, each on a lane of its own. */
static void add_lanes(struct run_report *run, uint32_t lanes)
{
    for (uint32_t i = 0; i < lanes; i++)
        add_span(run, OP_KERNEL, i % run->timeline.streams, (int32_t)i, i, lanes + i)->lane = i;
}

static void build_lanes(struct hostile *hostile)
{
    struct run_report *run = add_run(hostile, "lanes");
    run->streams = run->timeline.streams = 1024;
    add_lanes(run, (uint32_t)test_cases(100000));
}

static void build_lanes_foreign(struct hostile *hostile)
{
    uint32_t lanes = (uint32_t)test_cases(100000);
    struct run_report *run = add_foreign(hostile, "lanes");
    run->streams = run->timeline.streams = lanes;
    run->timeline.stream_ids =
        arena_zeros(&run->timeline.arena, lanes, sizeof run->timeline.stream_ids[0]);
    ck_assert_ptr_nonnull(run->timeline.stream_ids);
    for (uint32_t i = 0; i < lanes; i++)
        run->timeline.stream_ids[i] = UINT32_MAX - i;
    add_lanes(run, lanes);
}

static void add_late(struct run_report *run)
{
    add_span(run, OP_H2D, 0, 0, 0, INT64_MAX - 10);
    add_span(run, OP_KERNEL, 1, 0, INT64_MAX / 2, INT64_MAX);
    add_span(run, OP_D2H, 2, 0, INT64_MAX - 5, INT64_MAX);
    add_span(run, OP_KERNEL, 3, 1, 7, INT64_MAX / 2);
}

static void build_late(struct hostile *hostile)
{
    add_late(add_run(hostile, "nearly 2^63"));
    add_tile(add_run(hostile, "short"), 0, 0, INT64_MAX - 3000);
    hostile->runs[0].limit.ns = INT64_MAX;
    hostile->runs[0].issue_ns = INT64_MAX;
}

static void build_late_foreign(struct hostile *hostile)
{
    add_late(add_foreign(hostile, "nearly 2^63"));
    add_tile(add_foreign(hostile, "short"), 0, 0, INT64_MAX - 3000);
}

static void add_negative(struct run_report *run)
{
    const int64_t far = INT64_C(1) << 61;
    add_span(run, OP_H2D, 0, 0, -far, -5);
    add_span(run, OP_H2D, 0, 1, -5, 0);
    add_span(run, OP_KERNEL, 1, 0, -1, far);
}

static void build_negative(struct hostile *hostile)
{
    add_negative(add_run(hostile, "before 0"));
    add_tile(add_run(hostile, "a little before 0"), 0, 0, -1500);
}

static void build_negative_foreign(struct hostile *hostile)
{
    add_negative(add_foreign(hostile, "before 0"));
}

/* Figures that divisions by nothing leave. */
static void build_not_numbers(struct hostile *hostile)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 1e308, -0.0};
    for (int i = 0; i < 5; i++) {
        struct run_report *run = add_run(hostile, "figures");
        hostile->settings[i].name[0] = (char)('a' + i);
        add_tile(run, 0, 0, 0);
        run->speedup = run->result = values[i];
        run->has_result = true;
        run->limit.ns = i % 2 == 0 ? 0 : INT64_MAX;
        run->verified = VERIFIED_NO;
        run->host_bytes = run->device_bytes = UINT64_MAX;
    }
}

/* Each text wherever a report has one, as many runs as there is room for. */
static void put_text(struct hostile *hostile, int index, const char *text)
{
    struct run_report *run = &hostile->runs[index];
    char(*hazards)[HAZARD_TEXT] = calloc(1, sizeof *hazards);
    struct settings *settings = &hostile->settings[index];
    settings->input = settings->output = settings->device = text;
    snprintf(run->device, sizeof run->device, "%s", text);
    snprintf(run->timeline.device, sizeof run->timeline.device, "%s", text);
    snprintf(run->timeline.driver, sizeof run->timeline.driver, "%s", text);
    ck_assert_ptr_nonnull(hazards);
    snprintf(hazards[0], sizeof hazards[0], "%s", text);
    run->hazard_texts = hazards; /* report_free() gives it back */
    run->hazard_count = 1;
    run->timeline.names[0] = text;
}

static void build_texts(struct hostile *hostile, int first)
{
    hostile->report.version = hostile_texts[first];
    for (int i = 0; i < HOSTILE_RUNS_MAX && hostile_texts[first + i] != NULL; i++) {
        add_tile(add_run(hostile, hostile_texts[first + i]), 0, 0, 0);
        put_text(hostile, i, hostile_texts[first + i]);
    }
}

static void build_texts_1(struct hostile *hostile)
{
    build_texts(hostile, 0);
}

static void build_texts_2(struct hostile *hostile)
{
    build_texts(hostile, HOSTILE_RUNS_MAX);
}

static void build_texts_3(struct hostile *hostile)
{
    build_texts(hostile, 2 * HOSTILE_RUNS_MAX);
}

static void build_texts_4(struct hostile *hostile)
{
    build_texts(hostile, 3 * HOSTILE_RUNS_MAX);
}

/* A trace's kernels may be called anything, and at any length. */
static void add_long_names(struct run_report *run)
{
    static char longest[3][4097];
    static const char *const fillings[] = {"x", "\"\xf0\x9f\x98\x80", "<\n\xff,"};
    int texts = 0;
    while (hostile_texts[texts] != NULL)
        texts++;
    run->timeline.name_count = (uint32_t)texts + 3;
    run->timeline.names =
        arena_zeros(&run->timeline.arena, (size_t)texts + 3, sizeof run->timeline.names[0]);
    ck_assert_ptr_nonnull(run->timeline.names);
    memcpy(run->timeline.names, hostile_texts, (size_t)texts * sizeof hostile_texts[0]);
    for (int i = 0; i < 3; i++) {
        for (size_t at = 0; at < sizeof longest[i] - 1; at++)
            longest[i][at] = fillings[i][at % strlen(fillings[i])];
        run->timeline.names[texts + i] = longest[i];
    }
    for (int i = 0; i < texts + 3; i++) {
        struct span *span = add_span(run, OP_KERNEL, (uint32_t)i % 4, i, 10 * i, 10 * i + 10);
        span->link = (uint16_t)i;
        add_span(run, OP_WAIT, (uint32_t)(i + 1) % 4, i, 10 * i, 10 * i + 10)->target =
            run->timeline.span_count - 1;
    }
}

static void build_long_names(struct hostile *hostile)
{
    add_long_names(add_run(hostile, "names"));
}

static void build_long_names_foreign(struct hostile *hostile)
{
    for (int i = 0; i < 4; i++) {
        struct run_report *run = add_foreign(hostile, hostile_texts[5 * i + 3]);
        snprintf(run->device, sizeof run->device, "%s", hostile_texts[5 * i + 3]);
        snprintf(run->timeline.driver, sizeof run->timeline.driver, "%s",
                 hostile_texts[5 * i + 4]);
        add_long_names(run);
        run->timeline.issue_unknown = i % 2 != 0;
    }
}

/* --profile: runs without a timeline, beside one with. */
static void build_profiled(struct hostile *hostile)
{
    for (int i = 0; i < 3; i++) {
        struct run_report *run = add_run(hostile, hostile_texts[9 + i]);
        run->profiled = i != 1;
        run->median_ns = 1000;
        if (i == 1)
            add_tile(run, 0, 0, 0);
    }
}

/* Two axes whose values are names that a machine file could have. */
static void build_sweep(struct hostile *hostile)
{
    static const char *files[] = {"sim:./a,\"b\".ini", "sim:<script>\n\xff.ini"};
    static const char *tiles[] = {"1", "16777216"};
    hostile->sweep = (struct sweep){
        .axes = {{"device", files, 2}, {"tiles", tiles, 2}},
        .axis_count = 2,
    };
    hostile->report.sweep = &hostile->sweep;
    for (int i = 0; i < 8; i++) { /* of two sections */
        struct run_report *run = add_run(hostile, hostile_texts[i]);
        hostile->settings[i].device = files[i / 2 % 2];
        hostile->settings[i].tiles = i % 2 == 0 ? 1 : 1u << 24;
        run->median_ns = i == 3 ? 0 : i == 5 ? INT64_MAX : 1000;
        if (i % 3 == 0)
            add_tile(run, 0, 0, 0);
    }
}

static void build_sweep_of_one(struct hostile *hostile)
{
    static const char *values[] = {"\"\n</script>,"};
    hostile->sweep = (struct sweep){.axes = {{"device", values, 1}}, .axis_count = 1};
    hostile->report.sweep = &hostile->sweep;
    add_tile(add_run(hostile, "\"\n</script>,"), 0, 0, 0);
    hostile->settings[0].device = values[0];
}

const struct hostile_case hostile_cases[] = {
    {"no runs", build_nothing},
    {"empty", build_empty},
    {"empty, foreign", build_empty_foreign},
    {"some empty", build_some_empty},
    {"one span", build_one_span},
    {"one kernel, foreign", build_one_kernel},
    {"zero length", build_zero_length},
    {"zero length, foreign", build_zero_length_foreign},
    {"every kind", build_every_kind},
    {"100,000 lanes", build_lanes},
    {"100,000 lanes, foreign", build_lanes_foreign},
    {"near 2^63", build_late},
    {"near 2^63, foreign", build_late_foreign},
    {"negative", build_negative},
    {"negative, foreign", build_negative_foreign},
    {"not numbers", build_not_numbers},
    {"texts 1", build_texts_1},
    {"texts 2", build_texts_2},
    {"texts 3", build_texts_3},
    {"texts 4", build_texts_4},
    {"names", build_long_names},
    {"names, foreign", build_long_names_foreign},
    {"profiled", build_profiled},
    {"sweep", build_sweep},
    {"sweep of one", build_sweep_of_one},
};
const int hostile_case_count = sizeof hostile_cases / sizeof hostile_cases[0];

static void finish_run(struct run_report *run)
{
    struct error error = {0};
    struct timeline *timeline = &run->timeline;
    if (run->profiled)
        return;
    if (!run->foreign) {
        timeline->issue_count = timeline->span_count;
        timeline->issue_ns = calloc(timeline->span_count + (size_t)1, sizeof(int64_t));
        ck_assert_ptr_nonnull(timeline->issue_ns);
        for (uint32_t i = 0; i < timeline->span_count; i++)
            timeline->issue_ns[i] = timeline->spans[i].issue_ns;
    }
    if (run->median_ns == 0)
        run->median_ns = timeline_time_ns(timeline);
    run->min_ns = run->max_ns = run->median_ns;
    ck_assert_msg(analyse(timeline, &run->analysis, &error) == STATUS_OK, "%s", error.text);
    ck_assert_msg(critical_find(timeline, NULL, &run->critical, &error) == STATUS_OK, "%s",
                  error.text);
}

void hostile_begin(struct hostile *hostile, const struct hostile_case *given)
{
    *hostile = (struct hostile){.report = {.version = "0.0.0-test", .runs = hostile->runs}};
    given->build(hostile);
    for (int i = 0; i < hostile->report.run_count; i++)
        finish_run(&hostile->runs[i]);
}

void hostile_end(struct hostile *hostile)
{
    report_free(&hostile->report);
}
