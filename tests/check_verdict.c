/* check_verdict.c - what is charged adds up, causes get their names, and what can't be gets
 * none.
 */
#include "causes/verdict.h"

#include "analysis/analysis.h"
#include "analysis/critical.h"
#include "causes/judge.h"
#include "fixtures.h"
#include "hostile_cases.h"
#include "plan/mistake.h"
#include "report/report.h"
#include "suites.h"
#include "trace/view.h"
#include "verdict_cases.h"
#include "writers/writer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- sums --- */

/* The pieces cover the span: none is empty, and each begins where the last one ended. */
static void assert_covered(const struct judged *judged)
{
    struct path_pieces pieces = {0};
    int64_t at = 0;
    ck_assert_int_eq(
        pieces_find(&judged->timeline, &judged->critical, &judged->plan, &pieces, NULL),
        STATUS_OK);
    for (uint32_t i = 0; i < pieces.count; i++) {
        ck_assert_int_eq(pieces.items[i].start_ns, at);
        ck_assert_int_gt(pieces.items[i].end_ns, at);
        at = pieces.items[i].end_ns;
    }
    ck_assert_int_eq(at, timeline_time_ns(&judged->timeline));
    pieces_free(&pieces);
}

static void assert_adds_up(const struct verdicts *verdicts, int64_t time_ns, int64_t limit_ns)
{
    int64_t sum = 0;
    ck_assert_int_ge(verdicts->count, 2);
    for (int i = 0; i < verdicts->count; i++) {
        const struct verdict *verdict = &verdicts->items[i];
        bool named = i < verdicts->named;
        sum += verdict->cost_ns;
        ck_assert_int_ge(verdict->cost_ns, 0);
        ck_assert_int_eq(named, verdict->code < VERDICT_COPY_BOUND);
        for (int j = 0; j < i; j++)
            ck_assert_int_ne(verdict->code, verdicts->items[j].code);
        ck_assert(!named || verdict->code == VERDICT_UNKNOWN || !verdicts->limit_known ||
                  verdict->evidence != EVIDENCE_UNKNOWN);
    }
    ck_assert_int_eq(verdicts->time_ns, time_ns);
    ck_assert_int_eq(verdicts->limit_ns, limit_ns);
    ck_assert_int_eq(sum, time_ns - limit_ns);
    ck_assert_int_eq(verdicts->items[verdicts->count - 1].code, VERDICT_REST);
}

/* What pictures mark is in the run, and no cause has more of it than it cost. */
static void assert_places(const struct judged *judged)
{
    const struct verdicts *verdicts = &judged->verdicts;
    int64_t left_ns[VERDICT_COUNT] = {0};
    for (int i = 0; i < verdicts->named; i++)
        left_ns[verdicts->items[i].code] = verdicts->items[i].cost_ns;
    for (uint32_t i = 0; i < verdicts->lost.count; i++) {
        const struct charged *lost = &verdicts->lost.items[i];
        ck_assert_uint_lt(lost->at.span, judged->timeline.span_count);
        ck_assert(0 <= lost->at.start_ns && lost->at.start_ns < lost->at.end_ns);
        ck_assert_int_le(lost->at.end_ns, timeline_time_ns(&judged->timeline));
        ck_assert_int_le(lost->cost_ns, lost->at.end_ns - lost->at.start_ns);
        left_ns[lost->code] -= lost->cost_ns;
        ck_assert_int_ge(left_ns[lost->code], 0);
    }
}

/* Returns what nothing explains of a run's time. What a scan hands from tile to tile is no part
 * of the limit, nor of any cause. */
static double unknown_share(const struct judged *judged)
{
    const struct verdicts *verdicts = &judged->verdicts;
    double share = 0;
    for (int i = 0; i < verdicts->named && judged->settings.chain[0]->shape != KERNEL_SCAN; i++)
        share += verdicts->items[i].code == VERDICT_UNKNOWN
                     ? (double)verdicts->items[i].cost_ns / (double)verdicts->time_ns
                     : 0;
    return share;
}

START_TEST(test_charges_add_up)
{
    uint64_t random = 20161;
    int machines = 0, tried = 0, count[2] = {0};
    double unknown[2] = {0}; /* of tiles that go one by one, and in other ways */
    while (machine_texts[machines].name != NULL)
        machines++;
    for (int i = 0; i < test_cases(3000); i++) {
        struct judged judged;
        struct settings settings;
        judged_load(&judged,
                    machine_texts[test_random_below(&random, (uint32_t)machines)].name);
        if (test_random_below(&random, 4) == 0)
            judged.machine = test_machine();
        judged.machine.queues = 1 + test_random_below(&random, judged.machine.queues);
        judged_draw_settings(&random, &settings);
        if (!judged_make(&settings, &judged))
            continue;
        tried++;
        assert_covered(&judged);
        assert_adds_up(&judged.verdicts, timeline_time_ns(&judged.timeline), judged.limit.ns);
        assert_places(&judged);
        bool apart = settings.scatter || settings.pack || settings.issue == ISSUE_BATCH;
        unknown[apart] += unknown_share(&judged);
        count[apart]++;
        judged_free(&judged);
    }
    ck_assert_int_gt(tried, test_cases(3000) / 2);
    for (int apart = 0; apart < 2; apart++) {
        ck_assert_int_gt(count[apart], test_cases(3000) / 20);
        ck_assert_double_le(unknown[apart], 0.01 * count[apart]);
    }
}
END_TEST

/* Times that are measured lie beside one another: the sums hold for them as well. */
START_TEST(test_charges_add_up_of_noisy_times)
{
    uint64_t random = 9;
    int tried = 0;
    for (int i = 0; i < test_cases(300); i++) {
        struct judged judged;
        struct settings settings;
        struct error error = {0};
        judged_load(&judged, "h200");
        judged_draw_settings(&random, &settings);
        if (!judged_simulate(&settings, &judged))
            continue;
        tried++;
        for (uint32_t s = 0; s < judged.timeline.span_count; s++) {
            struct span *span = &judged.timeline.spans[s];
            span->start_ns += test_random_below(&random, 400);
            span->end_ns += 400;
        }
        judged.timeline.timing = TIMING_CUPTI;
        ck_assert_int_eq(
            critical_find(&judged.timeline, &judged.machine, &judged.critical, &error),
            STATUS_OK);
        struct verdict_case facts = judged_facts(&judged);
        facts.untraced_ns = timeline_time_ns(&judged.timeline) * 4 / 5;
        limit_correct(&judged.limit, facts.untraced_ns);
        ck_assert_msg(verdicts_find(&facts, &judged.verdicts, &error) == STATUS_OK, "%s",
                      error.text);
        assert_covered(&judged);
        assert_adds_up(&judged.verdicts, facts.untraced_ns, judged.limit.ns);
        judged_free(&judged);
    }
    ck_assert_int_gt(tried, test_cases(300) / 2);
}
END_TEST

static double even(const void *context, const struct span *span)
{
    (void)context;
    return span->kind == OP_H2D ? 1 : 0;
}

/* Two copies of 100 ns with 50 between them, and a limit of 200: 50 are lost, there. */
START_TEST(test_headway)
{
    struct span spans[] = {
        {.kind = OP_H2D, .end_ns = 100},
        {.op = 1, .kind = OP_KERNEL, .engine = ENGINE_COMPUTE, .start_ns = 100, .end_ns = 150},
        {.op = 2, .kind = OP_H2D, .start_ns = 150, .end_ns = 250}};
    struct timeline timeline = {.spans = spans, .span_count = 3};
    struct headway headway;
    uint32_t at = 0;
    static const int64_t times[] = {0, 50, 100, 125, 150, 200, 250};
    static const int64_t lost[] = {0, 0, 0, 25, 50, 50, 50};
    ck_assert_int_eq(headway_find(&timeline, 200, even, NULL, &headway, NULL), STATUS_OK);
    for (int i = 0; i < 7; i++)
        ck_assert_int_eq(headway_lost_ns(&headway, times[i], &at), lost[i]);
    arena_free(&headway.arena);
}
END_TEST

/* --- names --- */

/* 32 streams of two kernels each that leave room for others. */
#define HYPERQ(number)                                                                         \
    {                                                                                          \
        .kernels = "scale,scale", .elements = 32 << 10, .tiles = 32, .streams = 32,            \
        .queues = (number), .intensity = 65536                                                 \
    }

static const struct named_case {
    const char *machine;
    struct settings_change {
        const char *kernels;
        uint64_t elements;
        uint32_t tiles, streams;
        int ways;
        enum order order;
        enum layout layout;
        enum memory memory;
        uint32_t queues, intensity;
        enum issue issue;
        bool pack, scatter;
        uint32_t batch;
    } settings;
    enum verdict_code first;
} named_cases[] = {
    {"h200", {.ways = 1}, VERDICT_ONE_STREAM},
    {"h200", {.streams = 1}, VERDICT_ONE_STREAM},
    {"k20c", {.streams = 1, .intensity = 100}, VERDICT_ONE_STREAM},
    {"h200", {.ways = 2}, VERDICT_NEEDLESS_WAIT},
    {"h200", {.ways = 2, .layout = LAYOUT_STAGE}, VERDICT_NEEDLESS_WAIT},
    {"h200", {.layout = LAYOUT_STAGE, .streams = 1, .tiles = 64}, VERDICT_FEW_STREAMS},
    {"h200", {.memory = MEMORY_PAGEABLE}, VERDICT_PAGEABLE_MEMORY},
    {"c2050", {.memory = MEMORY_PAGEABLE}, VERDICT_PAGEABLE_MEMORY},
    {"h200", {.tiles = 8192}, VERDICT_SMALL_TILES},
    {"c1060", {.tiles = 4, .intensity = 40}, VERDICT_ONE_COPY_ENGINE},
    {"c2050", {.tiles = 4, .intensity = 400, .order = ORDER_BREADTH}, VERDICT_LATE_SIGNAL},
    {"k20c", HYPERQ(1), VERDICT_ONE_QUEUE},
    {"k20c", HYPERQ(4), VERDICT_FEW_QUEUES},
    /* Tiles in batches, packed, and apart in the host's memory. */
    {"h200", {.tiles = 4096, .issue = ISSUE_BATCH}, VERDICT_SMALL_TILES},
    {"h200", {.tiles = 4096, .scatter = true}, VERDICT_SMALL_TILES},
    {"a100", {.tiles = 4096, .scatter = true}, VERDICT_SMALL_TILES},
    {"h200", {.tiles = 4096, .issue = ISSUE_GRAPH, .scatter = true}, VERDICT_SMALL_TILES},
    {"h200", {.tiles = 4096, .issue = ISSUE_BATCH, .scatter = true}, VERDICT_SMALL_TILES},
    {"h200", {.tiles = 4096, .memory = MEMORY_MAPPED, .scatter = true}, VERDICT_SMALL_TILES},
    {"h200",
     {.tiles = 4096, .memory = MEMORY_MAPPED, .issue = ISSUE_BATCH, .scatter = true},
     VERDICT_SMALL_TILES},
    {"h200",
     {.tiles = 4096, .memory = MEMORY_PAGEABLE, .scatter = true},
     VERDICT_PAGEABLE_MEMORY},
    {"h200",
     {.tiles = 64, .issue = ISSUE_BATCH, .batch = 32, .scatter = true},
     VERDICT_FEW_TILES},
    {"h200", {.tiles = 32, .pack = true}, VERDICT_PACKING},
    {"h200", {.tiles = 4096, .pack = true}, VERDICT_PACKING},
    {"h200", {.tiles = 4096, .pack = true, .scatter = true}, VERDICT_PACKING},
    {"h200", {.tiles = 4096, .pack = true, .batch = 1, .scatter = true}, VERDICT_PACKING},
    {"h200",
     {.tiles = 4096, .pack = true, .memory = MEMORY_PAGEABLE, .scatter = true},
     VERDICT_PACKING},
    /* Beside a slow link there is time to pack. */
    {"k20c", {.tiles = 32, .pack = true, .intensity = 100}, VERDICT_COPY_BOUND},
    {"h200", {.tiles = 32, .scatter = true}, VERDICT_COPY_BOUND},
    {"h200", {.tiles = 32, .issue = ISSUE_BATCH}, VERDICT_COPY_BOUND},
    /* And nothing is named where nothing is wrong. */
    {"h200", {.tiles = 32}, VERDICT_COPY_BOUND},
    {"h200", {.tiles = 32, .layout = LAYOUT_STAGE}, VERDICT_COPY_BOUND},
    {"h200", {.tiles = 32, .order = ORDER_BREADTH}, VERDICT_COPY_BOUND},
    {"h200", {.tiles = 32, .intensity = 4000}, VERDICT_KERNEL_BOUND},
    {"a100", {.tiles = 32}, VERDICT_COPY_BOUND},
    {"c2050", {.tiles = 32, .intensity = 10}, VERDICT_COPY_BOUND},
    {"c1060", {.tiles = 32, .intensity = 10, .order = ORDER_BREADTH}, VERDICT_COPY_BOUND},
};

static struct settings settings_of(const struct settings_change *change)
{
    struct settings settings = test_settings(change->kernels ? change->kernels : "scale");
    settings.elements = change->elements > 0 ? change->elements : 64 << 20;
    settings.tiles = change->tiles > 0 ? change->tiles : 16;
    settings.streams = change->streams > 0 ? change->streams : 4;
    settings.ways = change->ways > 0 ? change->ways : 3;
    settings.order = change->order;
    settings.layout = change->layout;
    settings.memory = change->memory;
    settings.intensity = change->intensity > 0 ? change->intensity : 1;
    settings.issue = change->issue;
    settings.pack = change->pack;
    settings.scatter = change->scatter;
    settings.batch = change->batch;
    return settings;
}

START_TEST(test_names)
{
    const struct named_case *given = &named_cases[_i];
    const struct settings settings = settings_of(&given->settings);
    struct judged judged;
    judged_load(&judged, given->machine);
    if (given->settings.queues > 0)
        judged.machine.queues = given->settings.queues;
    ck_assert(judged_make(&settings, &judged));
    enum verdict_code first = judged.verdicts.items[0].code;
    if (first == VERDICT_SHORT_RUN && given->first >= VERDICT_COPY_BOUND)
        first = given->first; /* no setting's fault */
    ck_assert_msg(first == given->first, "%s, not %s", verdict_rows[first].name,
                  verdict_rows[given->first].name);
    judged_free(&judged);
}
END_TEST

/* Where an allocation takes no time of its own, what it held is charged with it; whether it was
 * of page-locked memory is told by it, not by the op that it held. */
START_TEST(test_allocations_without_a_time)
{
    struct settings settings = test_settings("scale");
    struct judged judged;
    settings.elements = 64 << 20;
    settings.tiles = 7;
    settings.streams = 6;
    settings.order = ORDER_BREADTH;
    settings.intensity = 1800;
    ck_assert(mistake_find("alloc-in-loop", &settings.mistake));
    judged_load(&judged, "c1060");
    judged.machine.alloc_ns = 0;
    ck_assert(judged_make(&settings, &judged));
    bool named = false;
    for (int i = 0; i < judged.verdicts.count; i++) {
        ck_assert_int_ne(judged.verdicts.items[i].code, VERDICT_PINNED_ALLOC_IN_LOOP);
        ck_assert_int_ne(judged.verdicts.items[i].code, VERDICT_PIN_IN_RUN);
        named |= judged.verdicts.items[i].code == VERDICT_ALLOC_IN_LOOP;
    }
    ck_assert(named);
    judged_free(&judged);
}
END_TEST

/* A race comes first, whatever it costs: it is the result that is at stake. */
START_TEST(test_races_come_first)
{
    struct settings settings = settings_of(&(struct settings_change){.ways = 1});
    struct judged judged;
    judged_load(&judged, "h200");
    ck_assert(judged_make(&settings, &judged));
    struct verdict_case facts = judged_facts(&judged);
    facts.races = true;
    ck_assert_int_eq(verdicts_find(&facts, &judged.verdicts, NULL), STATUS_OK);
    ck_assert_int_eq(judged.verdicts.items[0].code, VERDICT_MISSING_WAIT);
    ck_assert_int_eq(judged.verdicts.items[1].code, VERDICT_ONE_STREAM);
    assert_adds_up(&judged.verdicts, timeline_time_ns(&judged.timeline), judged.limit.ns);
    judged_free(&judged);
}
END_TEST

/* The run is judged by its time without tracing: what that cost is no cause of the run. */
START_TEST(test_tracing_is_no_cause)
{
    struct settings settings = settings_of(&(struct settings_change){.tiles = 32});
    struct judged judged;
    judged_load(&judged, "h200");
    ck_assert(judged_make(&settings, &judged));
    const int64_t time_ns = judged.verdicts.time_ns;
    for (uint32_t i = 0; i < judged.timeline.span_count; i++) {
        struct span *span = &judged.timeline.spans[i];
        span->start_ns += span->start_ns / 10;
        span->end_ns += span->end_ns / 10;
    }
    struct verdict_case facts = judged_facts(&judged);
    facts.untraced_ns = time_ns;
    judged.timeline.timing = TIMING_CUPTI;
    ck_assert_int_eq(verdicts_find(&facts, &judged.verdicts, NULL), STATUS_OK);
    ck_assert_int_eq(judged.verdicts.time_ns, time_ns);
    for (int i = 0; i < judged.verdicts.named; i++)
        ck_assert_int_eq(judged.verdicts.items[i].code, VERDICT_SHORT_RUN);
    judged_free(&judged);
}
END_TEST

START_TEST(test_rows)
{
    for (int code = 0; code < VERDICT_COUNT; code++) {
        const struct verdict_row *row = &verdict_rows[code];
        ck_assert_ptr_nonnull(row->name);
        ck_assert_ptr_nonnull(row->text);
        ck_assert_ptr_nonnull(row->fix);
        bool open = code == VERDICT_REST || code == VERDICT_UNKNOWN; /* nothing to fix */
        ck_assert(row->text[0] != '\0' && (row->fix[0] != '\0' || open));
        for (int other = 0; other < code; other++)
            ck_assert_str_ne(row->name, verdict_rows[other].name);
    }
    /* A mistake and the verdict that names it are called alike, unless its row says which. */
    for (int mistake = MISTAKE_NONE + 1; mistake_rows[mistake].name != NULL; mistake++) {
        const struct mistake_row *row = &mistake_rows[mistake];
        const char *named = row->verdict != NULL ? row->verdict : row->name;
        bool found = false;
        for (int code = 0; code < VERDICT_COPY_BOUND; code++)
            found |= strcmp(verdict_rows[code].name, named) == 0;
        ck_assert_msg(found, "no verdict is called %s", named);
    }
}
END_TEST

/* What rows say of a run names no figure that is not there. */
START_TEST(test_words_of_rows)
{
    struct settings settings = settings_of(&(struct settings_change){.tiles = 4});
    struct judged judged;
    judged_load(&judged, "h200");
    ck_assert(judged_make(&settings, &judged));
    const struct verdict_case facts = judged_facts(&judged);
    static struct judge judge; /* which is too large for a small stack */
    judge = (struct judge){.facts = &facts};
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        struct verdict verdict = {.code = (enum verdict_code)code};
        evidence_run(&judge, &verdict, 1);
        ck_assert_msg(strpbrk(verdict.seen, "?{}") == NULL, "%s: %s", verdict_rows[code].name,
                      verdict.seen);
    }
    judged_free(&judged);
}
END_TEST

/* --- what can't be --- */

static void assert_refused(struct judged *judged, const char *words)
{
    struct error error = {0};
    struct verdicts verdicts = {.count = 77};
    struct verdict_case facts = judged_facts(judged);
    ck_assert_int_eq(verdicts_find(&facts, &verdicts, &error), STATUS_FAILED);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" is not in: %s", words, error.text);
    ck_assert_int_eq(verdicts.count, 77);
}

START_TEST(test_impossible_timelines)
{
    struct settings settings = settings_of(&(struct settings_change){.tiles = 4});
    struct judged judged;
    judged_load(&judged, "h200");
    ck_assert(judged_make(&settings, &judged));
    struct span *spans = judged.timeline.spans, saved = spans[3];
    spans[3].end_ns = spans[3].start_ns - 1;
    assert_refused(&judged, "op 3 (h2d) ends before it starts");
    spans[3] = saved;
    spans[3].start_ns = spans[0].end_ns - 1;
    assert_refused(&judged, "op 3 (h2d) starts while op 0 is on the same copy engine");
    spans[3] = saved;
    spans[3].op = judged.plan.op_count;
    assert_refused(&judged, "the plan has 12 ops, and none numbered 12");
    spans[3] = saved;
    spans[3].kind = OP_D2H;
    assert_refused(&judged, "is not what the plan has in its place");
    spans[3] = saved;
    spans[0].start_ns = -1;
    assert_refused(&judged, "op 0 (h2d) starts before the run");
    spans[0].start_ns = 0;
    struct run_report run = {.timeline = judged.timeline, .limit = judged.limit};
    spans[3].end_ns = -5;
    ck_assert_int_eq(report_judge(&run, &judged.plan, &judged.machine, NULL, NULL, NULL, NULL),
                     STATUS_OK);
    ck_assert_int_eq(run.verdicts.count, 0);
    ck_assert_ptr_nonnull(strstr(run.no_verdict, "ends before it starts"));
    judged_free(&judged);
}
END_TEST

/* Whatever a timeline holds, there is a sum or a refusal. */
START_TEST(test_hostile)
{
    struct hostile hostile;
    hostile_begin(&hostile, &hostile_cases[_i]);
    for (int i = 0; i < hostile.report.run_count; i++) {
        struct run_report *run = &hostile.runs[i];
        if (run->profiled)
            continue;
        run->hazard_count = 0;
        ck_assert_int_eq(report_judge(run, NULL, NULL, NULL, NULL, NULL, NULL), STATUS_OK);
        ck_assert_int_eq(run->verdicts.count == 0, run->no_verdict[0] != '\0');
        if (run->verdicts.count > 0)
            assert_adds_up(&run->verdicts, timeline_time_ns(&run->timeline),
                           run->verdicts.limit_ns);
    }
    hostile_end(&hostile);
}
END_TEST

/* --- as they are shown --- */

static char *shown(const struct run_report *run, int width)
{
    struct run_report copy = *run;
    const struct report report = {.version = "0", .runs = &copy, .run_count = 1};
    const struct writer_style style = {.width = width};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    write_verdicts(out, &report, &style);
    fclose(out);
    return text;
}

START_TEST(test_text)
{
    struct settings settings = settings_of(&(struct settings_change){.ways = 1});
    snprintf(settings.name, sizeof settings.name, "serial");
    struct judged judged;
    judged_load(&judged, "h200");
    ck_assert(judged_make(&settings, &judged));
    struct run_report run = {.settings = &settings, .verdicts = judged.verdicts};
    char *text = shown(&run, 4000);
    ck_assert_msg(strstr(text, "\nwhy\nserial: 9.84 ms; limit 5.32 ms, set by the copies\n") ==
                      text,
                  "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "%: one-stream: all is in one stream, where each op"));
    ck_assert_ptr_nonnull(strstr(text, "\n    fix: "));
    ck_assert_ptr_nonnull(strstr(text, "%: the rest: "));
    free(text);
    text = shown(&run, 60);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        ck_assert_int_le(writer_columns(line), 60);
    free(text);
    run.verdicts.count = 0;
    snprintf(run.no_verdict, sizeof run.no_verdict, "no verdict: op 3 is late");
    text = shown(&run, 80);
    ck_assert_str_eq(text, "\nwhy\nserial: no verdict: op 3 is late\n");
    free(text);
    judged_free(&judged);
}
END_TEST

/* A trace without a plan is judged by what it shows, and what it can't show is said. */
START_TEST(test_trace)
{
    struct view view;
    struct error error = {0};
    const char *words[] = {TESTS_FOLDER "/data/traces/streams.csv"};
    struct options options = {.command = COMMAND_VIEW, .words = words, .word_count = 1};
    ck_assert_msg(view_read(&options, NULL, &view, &error) == STATUS_OK, "%s", error.text);
    const struct run_report *run = &view.report.runs[0];
    ck_assert(!run->verdicts.limit_known);
    assert_adds_up(&run->verdicts, run->median_ns, 400000);
    const struct writer_style style = {.width = 200};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    write_verdicts(out, &view.report, &style);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "so the limit is not known"));
    ck_assert_ptr_nonnull(strstr(text, "; its busiest engine 400 us"));
    free(text);
    view_free(&view);
}
END_TEST

Suite *verdict_suite(void)
{
    Suite *suite = suite_create("verdict");
    TCase *sums = tcase_create("sums");
    tcase_set_timeout(sums, 120);
    tcase_add_test(sums, test_charges_add_up);
    tcase_add_test(sums, test_charges_add_up_of_noisy_times);
    tcase_add_test(sums, test_headway);
    TCase *names = tcase_create("names");
    tcase_add_loop_test(names, test_names, 0, sizeof named_cases / sizeof named_cases[0]);
    tcase_add_test(names, test_races_come_first);
    tcase_add_test(names, test_allocations_without_a_time);
    tcase_add_test(names, test_tracing_is_no_cause);
    tcase_add_test(names, test_rows);
    tcase_add_test(names, test_words_of_rows);
    TCase *refusals = tcase_create("refusals");
    tcase_add_test(refusals, test_impossible_timelines);
    tcase_add_loop_test(refusals, test_hostile, 0, hostile_case_count);
    TCase *shows = tcase_create("shown");
    tcase_add_test(shows, test_text);
    tcase_add_test(shows, test_trace);
    suite_add_tcase(suite, sums);
    suite_add_tcase(suite, names);
    suite_add_tcase(suite, verdict_fixes_case());
    suite_add_tcase(suite, refusals);
    suite_add_tcase(suite, shows);
    return suite;
}
