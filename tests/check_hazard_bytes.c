/* check_hazard_bytes.c - where a plan with hazards runs on a simulated machine, its result is
 * wrong exactly where the timeline says that it would be. */
#include "fixtures.h"
#include "report/report.h"
#include "run/backend.h"
#include "run/verify.h"
#include "suites.h"
#include "test_folder.h"

#include <stdlib.h>
#include <string.h>

static const char *const chains[] = {"scale", "wave", "sum", "scale,scale", "reduce-shuffle"};
#define MACHINE_FILE "./slower.ini"
enum { CHAINS = sizeof chains / sizeof chains[0], DROPPED_MAX = 3 };

/* A run: what it holds while it lasts. */
struct raced {
    struct settings settings;
    struct backend *backend;
    struct plan plan;
    struct arrays arrays;
    struct workload workload;
    struct timeline timeline;
};

static struct settings random_settings(uint64_t *random)
{
    struct settings settings =
        test_random_settings(random, chains[test_random_below(random, CHAINS)], 11, 4);
    settings.tiles++; /* so that tiles can race */
    if (settings.ways == 1) {
        settings.ways = 2;
        settings.streams = 2;
    }
    settings.elements = settings.tiles * (uint64_t)(1u << test_random_below(random, 15));
    settings.intensity = 1 + test_random_below(random, 2) * test_random_below(random, 60);
    settings.cpu_share = settings.ways == 4 ? 0.25 : -1;
    settings.memory = test_random_below(random, 8) == 0 ? MEMORY_PAGEABLE : MEMORY_PINNED;
    settings.scatter = settings.seed % 2 == 0;
    return settings;
}

/* Returns true if the line's key is one of a rate: of the link, or of the kernels. */
static bool is_rate(const char *line, bool link)
{
    static const char *const keys[][5] = {
        {"flops_per_s =", "memory_bytes_per_s =", NULL},
        {"h2d_bytes_per_s =", "d2h_bytes_per_s =", "joint_bytes_per_s =", "pageable_", NULL},
    };
    bool is = false;
    for (int i = 0; keys[link][i] != NULL; i++)
        is |= strncmp(line, keys[link][i], strlen(keys[link][i])) == 0;
    return is;
}

/* Writes the file of a machine of the shelf with slower copies or slower kernels, so that what
 * an op takes is not always little beside what it costs to issue it. */
static void write_machine(const char *text, double copies, double kernels)
{
    FILE *file = fopen(MACHINE_FILE, "w");
    int scaled = 0;
    ck_assert_ptr_nonnull(file);
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n"), key = strcspn(line, "=");
        bool link = is_rate(line, true);
        if (link || is_rate(line, false)) {
            fprintf(file, "%.*s= %.9g\n", (int)key, line,
                    strtod(line + key + 1, NULL) / (link ? copies : kernels));
            scaled++;
        } else {
            fprintf(file, "%.*s\n", (int)length, line);
        }
        line += length + (line[length] != '\0');
    }
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_ge(scaled, 7);
}

static const char *random_machine(uint64_t *random)
{
    static const double slower[] = {1, 10, 100, 300};
    uint32_t count = 0;
    while (machine_texts[count].name != NULL)
        count++;
    const struct embedded *row = &machine_texts[test_random_below(random, count)];
    double copies = slower[test_random_below(random, 4)];
    write_machine(row->text, copies, slower[test_random_below(random, 4)]);
    return MACHINE_FILE;
}

/* Drops a few waits, of those that there are. */
static void drop_some_waits(struct plan *plan, uint64_t *random)
{
    uint32_t dropped = 1 + test_random_below(random, DROPPED_MAX);
    for (uint32_t i = 0; i < dropped; i++) {
        uint32_t op = test_random_below(random, plan->op_count);
        for (uint32_t n = 0; n < plan->op_count && plan->ops[op].kind != OP_WAIT; n++)
            op = (op + 1) % plan->op_count;
        if (plan->ops[op].kind == OP_WAIT)
            test_drop_wait(plan, op);
    }
}

static void raced_begin(struct raced *raced, const char *machine_name, uint64_t *random)
{
    struct error error = {0};
    struct machine machine;
    const struct settings *settings = &raced->settings;
    raced->timeline = (struct timeline){0};
    test_must(backend_sim_ops.open(machine_name, settings, &raced->backend, &error), &error);
    test_must(backend_sim_ops.describe(raced->backend, settings, &machine, &error), &error);
    raced->plan = test_built_on(settings, &machine);
    if (settings->mistake == MISTAKE_NONE)
        drop_some_waits(&raced->plan, random);
    test_must(plan_validate(&raced->plan, &error), &error);
    test_must(arrays_create(&raced->arrays, &raced->plan, settings, &error), &error);
    raced->workload = (struct workload){
        .plan = &raced->plan, .settings = settings, .arrays = &raced->arrays, .races = true};
    test_must(backend_sim_ops.prepare(raced->backend, &raced->workload, &error), &error);
}

static void raced_end(struct raced *raced)
{
    backend_sim_ops.release(raced->backend);
    backend_sim_ops.close(raced->backend);
    timeline_free(&raced->timeline);
    arrays_free(&raced->arrays);
    plan_free(&raced->plan);
}

/* Runs once and verifies. */
static bool is_right(struct raced *raced)
{
    struct error error = {0};
    struct judgement judgement;
    struct run_times times;
    arrays_poison(&raced->arrays);
    test_must(backend_sim_ops.run(raced->backend, &raced->timeline, &times, &error), &error);
    test_must(verify_judge(&raced->plan, &raced->arrays, &judgement, &error), &error);
    return judgement.wrong.status == STATUS_OK;
}

/* The facts of a timeline on all pairs of ops: how many that touch the same bytes overlapped,
 * and how many ran in the wrong order. */
struct lost {
    int overlapped, swapped;
};

static struct lost lost_of(struct raced *raced)
{
    struct lost lost = {0};
    for (uint32_t b = 0; b < raced->plan.op_count; b++) {
        const struct span *later = timeline_span(&raced->timeline, b);
        for (uint32_t a = 0; later != NULL && a < b; a++) {
            const struct span *earlier = timeline_span(&raced->timeline, a);
            if (earlier == NULL || later->start_ns >= earlier->end_ns ||
                !test_ops_touch(&raced->plan.ops[a], &raced->plan.ops[b]))
                continue;
            lost.swapped += later->end_ns <= earlier->start_ns;
            lost.overlapped += later->end_ns > earlier->start_ns;
        }
    }
    return lost;
}

/* The hazards found never contradict the bytes. */
static void assert_told_alike(struct raced *raced, bool right)
{
    struct run_report run = {.timeline = raced->timeline};
    struct error error = {0};
    test_must(hazards_find(&raced->plan, &run.hazards, &run.hazard_count, &error), &error);
    test_must(hazards_tell(&raced->plan, &run, &error), &error);
    ck_assert(run.hazards_lost == 0 || !right);
    ck_assert(right || run.hazard_count > 0);
    free(run.hazards);
    free(run.hazard_texts);
}

START_TEST(test_bytes_are_wrong_exactly_where_the_timeline_says_so)
{
    uint64_t random = 99;
    int cases = 0, harmless = 0, overlapped = 0, swapped = 0;
    for (int i = 0; i < test_cases(400); i++) {
        struct raced raced = {.settings = random_settings(&random)};
        raced_begin(&raced, random_machine(&random), &random);
        for (int again = 0; again < 2; again++) { /* what was left before must not help */
            bool right = is_right(&raced);
            struct lost lost = lost_of(&raced);
            ck_assert_msg(right == (lost.overlapped + lost.swapped == 0),
                          "case %d, run %d: %s, but %d overlapped and %d swapped", i, again,
                          right ? "right" : "wrong", lost.overlapped, lost.swapped);
            assert_told_alike(&raced, right);
            harmless += lost.overlapped + lost.swapped == 0;
            overlapped += lost.overlapped > 0;
            swapped += lost.swapped > 0;
            cases++;
        }
        raced_end(&raced);
    }
    /* Each happens, and often. */
    ck_assert_int_gt(harmless, cases / 10);
    ck_assert_int_gt(overlapped, cases / 50);
    ck_assert_int_gt(swapped, cases / 50);
}
END_TEST

/* The mistake that users make: the same holds. */
START_TEST(test_missing_waits_give_what_the_timeline_says)
{
    uint64_t random = 271828;
    int right_ones = 0, wrong_ones = 0;
    for (int i = 0; i < test_cases(100); i++) {
        struct raced raced = {.settings = random_settings(&random)};
        raced.settings.layout = LAYOUT_STAGE;
        raced.settings.mistake = test_mistake("missing-wait");
        raced_begin(&raced, random_machine(&random), &random);
        bool right = is_right(&raced);
        struct lost lost = lost_of(&raced);
        ck_assert_int_eq(right, lost.overlapped + lost.swapped == 0);
        right_ones += right;
        wrong_ones += !right;
        raced_end(&raced);
    }
    ck_assert_int_gt(right_ones, 0);
    ck_assert_int_gt(wrong_ones, 0);
}
END_TEST

Suite *hazard_bytes_suite(void)
{
    Suite *suite = suite_create("hazard_bytes");
    TCase *tests = tcase_create("hazard_bytes");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, test_folder_enter, test_folder_leave);
    tcase_add_test(tests, test_bytes_are_wrong_exactly_where_the_timeline_says_so);
    tcase_add_test(tests, test_missing_waits_give_what_the_timeline_says);
    suite_add_tcase(suite, tests);
    return suite;
}
