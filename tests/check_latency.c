/* check_latency.c - how long tiles took: timelines computed by hand, random ones the slow way,
 * what priorities do on simulated machines, and how the program shows it. */
#include "analysis/analysis.h"

#include "fixtures.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct latency latency_of(const struct timeline *timeline, const int *priorities,
                                 uint32_t batch)
{
    struct latency latency = {0};
    struct error error = {0};
    ck_assert_msg(latency_find(timeline, priorities, batch, &latency, &error) == STATUS_OK,
                  "%s", error.text);
    return latency;
}

static struct timeline timeline_of(struct span *spans, uint32_t count, uint32_t streams)
{
    struct timeline timeline = {0};
    timeline.spans = spans;
    timeline.span_count = count;
    timeline.streams = streams;
    return timeline;
}

/* --- by hand --- */

START_TEST(test_nothing)
{
    struct timeline timeline = timeline_of(NULL, 0, 1);
    struct latency latency = latency_of(&timeline, NULL, 1);
    ck_assert_uint_eq(latency.group_count, 0);
    latency_free(&latency);
}
END_TEST

/* Tile 0 from its issue at 10, though it starts at 20. Tile 1 was issued at 12 but could not
 * run before 100, where tile 0's callback ends; the callback is none of tile 0's ops. Tile 2,
 * in another stream, follows a wait that ends at 150. The CPU's tile is not the GPU's. */
START_TEST(test_from_when_a_tile_could_begin)
{
    struct span spans[] = {
        {.kind = OP_CPU, .stream = 2, .tile = 3, .start_ns = 0, .end_ns = 500},
        {.kind = OP_H2D, .stream = 0, .issue_ns = 10, .start_ns = 20, .end_ns = 40},
        {.kind = OP_D2H, .stream = 0, .issue_ns = 11, .start_ns = 50, .end_ns = 90},
        {.kind = OP_CALLBACK, .stream = 0, .issue_ns = 11, .start_ns = 90, .end_ns = 100},
        {.kind = OP_H2D,
         .stream = 0,
         .tile = 1,
         .issue_ns = 12,
         .start_ns = 130,
         .end_ns = 140},
        {.kind = OP_KERNEL,
         .stream = 0,
         .tile = 1,
         .issue_ns = 13,
         .start_ns = 140,
         .end_ns = 160},
        {.kind = OP_WAIT,
         .stream = 1,
         .tile = 2,
         .issue_ns = 14,
         .start_ns = 14,
         .end_ns = 150},
        {.kind = OP_KERNEL,
         .stream = 1,
         .tile = 2,
         .issue_ns = 15,
         .start_ns = 155,
         .end_ns = 250},
    };
    struct timeline timeline = timeline_of(spans, 8, 2);
    struct latency latency = latency_of(&timeline, NULL, 1);
    ck_assert_uint_eq(latency.group_count, 1);
    const struct latency_group *group = &latency.groups[0];
    ck_assert_int_eq(group->priority, 0);
    ck_assert_uint_eq(group->count, 3);
    ck_assert_int_eq(group->latencies[0], 60);  /* tile 1: 100 to 160 */
    ck_assert_int_eq(group->latencies[1], 80);  /* tile 0: 10 to 90 */
    ck_assert_int_eq(group->latencies[2], 100); /* tile 2: 150 to 250 */
    ck_assert_int_eq(group->min_ns, 60);
    ck_assert_int_eq(group->median_ns, 80);
    ck_assert_int_eq(group->p95_ns, 100);
    ck_assert_int_eq(group->max_ns, 100);
    ck_assert_double_eq_tol(group->mean_ns, 80, 1e-9);
    latency_free(&latency);
}
END_TEST

/* A tile whose stages are in three streams counts by its kernels' one, in whatever order they
 * stand. And a measured start may be earlier than what it followed. */
START_TEST(test_by_the_kernels_stream)
{
    const int priorities[] = {0, -5, 0};
    struct span spans[] = {
        {.kind = OP_H2D, .stream = 0, .tile = 0, .issue_ns = 0, .start_ns = 0, .end_ns = 10},
        {.kind = OP_KERNEL,
         .stream = 1,
         .tile = 0,
         .issue_ns = 1,
         .start_ns = 10,
         .end_ns = 30},
        {.kind = OP_D2H, .stream = 2, .tile = 0, .issue_ns = 2, .start_ns = 30, .end_ns = 40},
        {.kind = OP_H2D, .stream = 0, .tile = 1, .issue_ns = 3, .start_ns = 8, .end_ns = 20},
    };
    struct timeline timeline = timeline_of(spans, 4, 3);
    struct latency latency = latency_of(&timeline, priorities, 1);
    ck_assert_uint_eq(latency.group_count, 2);
    ck_assert_int_eq(latency.groups[0].priority, -5);
    ck_assert_uint_eq(latency.groups[0].count, 1);
    ck_assert_int_eq(latency.groups[0].max_ns, 40);
    ck_assert_int_eq(latency.groups[1].priority, 0);
    ck_assert_int_eq(latency.groups[1].max_ns, 12);
    latency_free_tiles(&latency);
    ck_assert_ptr_null(latency.groups[0].latencies);
    ck_assert_int_eq(latency.groups[0].max_ns, 40);
    latency_free(&latency);
}
END_TEST

/* Among 20 tiles at 1, 2, ... 20 the 19th is the 95th percentile, of 21 the 20th. */
START_TEST(test_percentiles)
{
    struct span spans[21] = {0};
    for (int i = 0; i < 21; i++)
        spans[i] = (struct span){.kind = OP_KERNEL, .stream = (uint32_t)i, .tile = i};
    for (uint32_t count = 20; count <= 21; count++) {
        struct timeline timeline = timeline_of(spans, count, 21);
        for (uint32_t i = 0; i < count; i++)
            spans[i].end_ns = (i * 11) % count + 1;
        struct latency latency = latency_of(&timeline, NULL, 1);
        ck_assert_int_eq(latency.groups[0].min_ns, 1);
        ck_assert_int_eq(latency.groups[0].median_ns, count == 20 ? 10 : 11);
        ck_assert_int_eq(latency.groups[0].p95_ns, count == 20 ? 19 : 20);
        ck_assert_int_eq(latency.groups[0].max_ns, count);
        latency_free(&latency);
    }
}
END_TEST

/* --- simulated --- */

static struct timeline simulated(const struct settings *settings, const char *machine_name,
                                 struct plan *plan)
{
    struct machine machine = test_machine_named(machine_name);
    *plan = test_built_on(settings, &machine);
    return sim_run(&machine, plan);
}

/* The latency of a tile, looked up op by op. */
static int64_t slow_latency(const struct timeline *timeline, const struct plan *plan,
                            int32_t tile, int *priority)
{
    int64_t ready = -1, end = 0;
    *priority = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->tile != tile || !op_on_device(span->kind))
            continue;
        end = span->end_ns > end ? span->end_ns : end;
        if (span->kind == OP_KERNEL && plan->priorities != NULL)
            *priority = plan->priorities[span->stream];
        if (ready >= 0)
            continue;
        ready = span->issue_ns;
        for (uint32_t j = 0; j < i; j++) {
            const struct span *before = &timeline->spans[j];
            if (before->stream == span->stream && op_in_stream(before->kind) &&
                before->end_ns > ready)
                ready = before->end_ns;
        }
    }
    return end - ready;
}

static struct settings random_settings(uint64_t *random)
{
    static const char *const chains[] = {"scale", "scale,scale", "scan", "wave,sum"};
    struct settings settings =
        test_random_settings(random, chains[test_random_below(random, 4)], 40, 3);
    settings.elements = 4096;
    for (uint32_t i = test_random_below(random, 4); i > 0; i--)
        settings.priorities[settings.priority_count++] = -(int)test_random_below(random, 3);
    return settings;
}

static void assert_as_the_slow_way(const struct timeline *timeline, const struct plan *plan)
{
    struct latency latency = latency_of(timeline, plan->priorities, 1);
    uint32_t tiles = 0;
    for (uint32_t g = 0; g < latency.group_count; g++) {
        const struct latency_group *group = &latency.groups[g];
        ck_assert(g == 0 || group->priority > group[-1].priority);
        double all = 0, slow = 0;
        uint32_t members = 0;
        for (uint32_t i = 0; i < group->count; i++) {
            ck_assert(i == 0 || group->latencies[i] >= group->latencies[i - 1]);
            all += (double)group->latencies[i];
        }
        for (uint32_t tile = 0; tile < plan->tiles; tile++) {
            int priority;
            int64_t ns = slow_latency(timeline, plan, (int32_t)tile, &priority);
            if (priority != group->priority)
                continue;
            members++;
            slow += (double)ns;
        }
        ck_assert_uint_eq(members, group->count);
        ck_assert_double_eq(all, slow);
        tiles += group->count;
    }
    ck_assert_uint_eq(tiles, plan->tiles);
    latency_free(&latency);
}

START_TEST(test_random_plans)
{
    uint64_t random = 77;
    for (int i = test_cases(200); i > 0; i--) {
        struct settings settings = random_settings(&random);
        struct plan plan;
        struct timeline timeline = simulated(&settings, "h200", &plan);
        assert_as_the_slow_way(&timeline, &plan);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

/* --- what priorities do: the runs of tests/data/priorities.ini --- */

enum { HEAVY, URGENT, SHORT_BLOCKS, FEW_BLOCKS, COPIES, COPIES_URGENT, RUNS };

/* The latencies of the most urgent and of the least urgent tiles of each run. */
struct lesson {
    int64_t p95_ns[RUNS], median_ns[RUNS], others_median_ns[RUNS];
};

static struct lesson lesson_on(const char *machine)
{
    struct lesson lesson;
    char path[512];
    snprintf(path, sizeof path, "%s/data/priorities.ini", TESTS_FOLDER);
    char *argv[] = {"pipeline", path, NULL};
    struct options options;
    struct error error = {0};
    ck_assert_msg(options_parse(2, argv, &options, &error) == STATUS_OK, "%s", error.text);
    ck_assert_int_eq(options.run_count, RUNS);
    for (int i = 0; i < RUNS; i++) {
        struct plan plan;
        struct timeline timeline = simulated(&options.runs[i], machine, &plan);
        struct latency latency = latency_of(&timeline, plan.priorities, 1);
        ck_assert_uint_eq(latency.group_count, i == HEAVY || i == COPIES ? 1 : 2);
        lesson.p95_ns[i] = latency.groups[0].p95_ns;
        lesson.median_ns[i] = latency.groups[0].median_ns;
        lesson.others_median_ns[i] = latency.groups[latency.group_count - 1].median_ns;
        latency_free(&latency);
        timeline_free(&timeline);
        plan_free(&plan);
    }
    options_free(&options);
    return lesson;
}

static void assert_ratio(const char *machine, int64_t part, int64_t whole, double least,
                         double most)
{
    double ratio = (double)part / (double)whole;
    ck_assert_msg(ratio >= least && ratio <= most, "%s: %lld of %lld ns is %.3f", machine,
                  (long long)part, (long long)whole, ratio);
}

/* Kernels that wait for one another obey priorities: the better, the shorter their blocks.
 * Those that all run at once do not, nor do copies. */
START_TEST(test_lesson)
{
    static const char *const machines[] = {"h200", "v100", "k20c"};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        const char *name = machines[i];
        struct lesson lesson = lesson_on(name);
        const int64_t *p95_ns = lesson.p95_ns;
        assert_ratio(name, p95_ns[URGENT], p95_ns[HEAVY], 0, 0.6);
        assert_ratio(name, lesson.median_ns[FEW_BLOCKS], lesson.others_median_ns[FEW_BLOCKS],
                     0.98, 1.02);
        assert_ratio(name, p95_ns[COPIES_URGENT], p95_ns[COPIES], 0.98, 1.02);
        bool fills = strcmp(name, "k20c") == 0; /* a tile has more blocks than it holds */
        assert_ratio(name, p95_ns[SHORT_BLOCKS], p95_ns[URGENT], fills ? 0 : 1,
                     fills ? 0.85 : 1);
    }
}
END_TEST

/* --- the program --- */

static const char run_urgent[] =
    "-q --device=sim:h200 -n 1M -t 16 --intensity=500 --gantt=none --priorities=-5,0 ";

START_TEST(test_text)
{
    ck_assert_int_eq(program_run(run_urgent), 0);
    assert_has(program_out, "\ntile latency: from when a tile could begin");
    assert_has(program_out, "\nrun        -5      8  ");
    assert_has(program_out, "\n            0      8  ");
    assert_has(program_out, "M median, P 95th percentile\n");
    ck_assert_int_eq(program_run("-q --device=sim:h200 -n 64k --gantt=none"), 0);
    ck_assert_ptr_null(strstr(program_out, "latency"));
    ck_assert_int_eq(program_run("-q --device=sim:h200 -n 64k --gantt=none -v"), 0);
    assert_has(program_out, "\nrun         0     32  ");
}
END_TEST

/* A batch counts as one, though its tiles have kernels of their own; and the words say so. */
START_TEST(test_batches)
{
    static const char batches[] = "-q --device=sim:h200 --no-data -n 4M -t 16 --issue=batch "
                                  "--batch=4 --priorities=-5,0 ";
    char arguments[256];
    for (int apart = 0; apart < 2; apart++) {
        snprintf(arguments, sizeof arguments, "%s %s", batches,
                 apart ? "--kernel=transpose-naive" : "--intensity=1");
        ck_assert_int_eq(program_run(arguments), 0);
        assert_has(program_out, "\nbatch latency: from when a batch of tiles could begin to ");
        assert_has(program_out, "\nrun  priority  count ");
        assert_has(program_out, "\nrun        -5      2  ");
        assert_has(program_out, "\n            0      2  ");
        assert_has(program_out, " H7== one span, of tile 7 or the batch from it");
    }
    snprintf(arguments, sizeof arguments, "%s --format=json", batches);
    ck_assert_int_eq(program_run(arguments), 0);
    assert_has(program_out, "\"batches\": 2");
    const char *mixed = "-q --device=sim:h200 --no-data -n 4M -t 16 --intensity=1 -v "
                        "both.ini";
    test_file_put("both.ini", "[plain]\n[packed]\npack=yes\nbatch=4\n");
    ck_assert_int_eq(program_run(mixed), 0);
    assert_has(program_out, "\nlatency: from when a tile or batch could begin to the ");
    assert_has(program_out, "  issued by\n");
    assert_has(program_out, "  streams\npacked ");
    assert_has(program_out, "  pack\n");
}
END_TEST

/* Piped, no line is longer than 80, whatever the runs are called. */
START_TEST(test_lines_are_short)
{
    FILE *file = fopen("long.ini", "w");
    ck_assert_ptr_nonnull(file);
    fputs("[global]\nelements=1M\ntiles=8\npriorities=-5,0\n[a]\n"
          "[a name as long as a section's name can be, which is to the end]\n",
          file);
    fclose(file);
    ck_assert_int_eq(program_run("-q --device=sim:h200 --gantt=none long.ini"), 0);
    char *latency = strstr(program_out, "\ntile latency: ");
    ck_assert_ptr_nonnull(latency);
    for (char *line = strtok(latency, "\n"); line != NULL; line = strtok(NULL, "\n"))
        ck_assert_msg(strlen(line) <= 80, "%s", line);
}
END_TEST

START_TEST(test_json)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments, "%s --format=json", run_urgent);
    ck_assert_int_eq(program_run(arguments), 0);
    json_t *root = json_loads(program_out, 0, NULL);
    ck_assert_ptr_nonnull(root);
    json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    json_t *groups = json_object_get(run, "latency");
    ck_assert_uint_eq(json_array_size(groups), 2);
    for (size_t i = 0; i < 2; i++) {
        static const char *const ascending[] = {"min_ms", "median_ms", "p95_ms", "max_ms"};
        json_t *group = json_array_get(groups, i);
        ck_assert_int_eq(json_integer_value(json_object_get(group, "priority")), i ? 0 : -5);
        ck_assert_int_eq(json_integer_value(json_object_get(group, "tiles")), 8);
        double last = 0;
        for (size_t k = 0; k < 4; k++) {
            double ms = json_number_value(json_object_get(group, ascending[k]));
            ck_assert_double_ge(ms, last);
            last = ms;
        }
        double mean = json_number_value(json_object_get(group, "mean_ms"));
        ck_assert(mean > 0 && mean <= last);
    }
    json_decref(root);
}
END_TEST

Suite *latency_suite(void)
{
    Suite *suite = suite_create("latency");
    TCase *tests = tcase_create("latency");
    tcase_add_test(tests, test_nothing);
    tcase_add_test(tests, test_from_when_a_tile_could_begin);
    tcase_add_test(tests, test_by_the_kernels_stream);
    tcase_add_test(tests, test_percentiles);
    tcase_add_test(tests, test_random_plans);
    tcase_add_test(tests, test_lesson);
    suite_add_tcase(suite, tests);
    TCase *program = tcase_create("program");
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_test(program, test_text);
    tcase_add_test(program, test_batches);
    tcase_add_test(program, test_lines_are_short);
    tcase_add_test(program, test_json);
    suite_add_tcase(suite, program);
    return suite;
}
