/* check_scatter_runs.c - runs on tiles that lie apart in host memory: the same results as on
 * arrays in one piece, and wrong ones where a tile is taken from another one's place. */
#include "fixtures.h"
#include "plan/build.h"
#include "plan/host_layout.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"
#include "test_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Runs the settings with tiles apart and with arrays in one piece: the bytes of the results and
 * the times are the same. */
static void check_alike(struct settings *settings)
{
    char *bytes[2];
    size_t sizes[2];
    int64_t times[2];
    for (int apart = 0; apart < 2; apart++) {
        struct test_run run;
        settings->scatter = apart == 1;
        test_run_begin(&run, settings);
        ck_assert_int_eq(run.plan.places != NULL, apart);
        times[apart] = test_run_go(&run);
        test_run_assert_right(&run);
        bytes[apart] = test_run_output(&run, &sizes[apart]);
        test_run_end(&run);
    }
    ck_assert_uint_eq(sizes[0], sizes[1]);
    ck_assert_mem_eq(bytes[0], bytes[1], sizes[0]);
    ck_assert_int_eq(times[0], times[1]);
    free(bytes[0]);
    free(bytes[1]);
}

static const struct shape {
    uint64_t elements;
    uint32_t tiles;
} shapes[] = {{1, 1}, {5000, 1}, {99, 99}, {1003, 7}, {65537, 64}, {40000, 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const char *const chains[] = {
    "scale",         "wave",       "sum", "scale,sum", "uniform,wave,scale",
    "wave-launches", "sum-double", "all"};
enum { CHAINS = sizeof chains / sizeof *chains };

static struct settings shaped(const char *chain, const struct shape *shape)
{
    struct settings settings = test_settings(chain);
    settings.elements = shape->elements;
    settings.tiles = shape->tiles;
    settings.intensity = 2;
    settings.scatter = true;
    return settings;
}

START_TEST(results_are_the_same_wherever_tiles_lie)
{
    static const enum memory memories[] = {MEMORY_PINNED, MEMORY_PAGEABLE, MEMORY_REGISTERED,
                                           MEMORY_MAPPED};
    int turn = 0;
    for (int memory = 0; memory < 4; memory++) {
        for (int i = 0; i < 16; i++) {
            struct settings settings = shaped(chains[_i], &shapes[turn++ % SHAPES]);
            settings.memory = memories[memory];
            settings.ways = i % 4 + 1;
            settings.cpu_share = settings.ways == 4 ? 0.4 : -1;
            settings.streams = settings.ways == 1 ? 1 : 3;
            settings.order = i / 4 % 2 ? ORDER_BREADTH : ORDER_DEPTH;
            settings.layout = i / 8 ? LAYOUT_STAGE : LAYOUT_TILE;
            settings.callbacks = turn % 3 == 0;
            settings.issue =
                settings.memory != MEMORY_PAGEABLE && turn % 2 ? ISSUE_GRAPH : ISSUE_STREAMS;
            settings.seed = (uint64_t)turn;
            check_alike(&settings);
        }
    }
}
END_TEST

/* Every mistake that the settings leave a place for ends as it does on arrays in one piece. One
 * that pins memory in the run pins the gaps, too. */
START_TEST(mistakes_work_as_before)
{
    int made = 0;
    for (int mistake = 1; mistake < test_mistake_count(); mistake++) {
        for (int layout = 0; layout < 2; layout++) {
            struct error error[2] = {0};
            enum status status[2];
            for (int apart = 0; apart < 2; apart++) {
                struct settings settings = shaped("wave", &shapes[4]);
                struct machine machine = test_machine();
                struct plan plan;
                settings.mistake = mistake;
                settings.layout = layout ? LAYOUT_STAGE : LAYOUT_TILE;
                settings.scatter = apart == 1;
                status[apart] = plan_build(&settings, &machine, &plan, &error[apart]);
                plan_free(&plan);
                if (status[apart] != STATUS_OK || mistake_rows[mistake].races)
                    continue;
                struct test_run run;
                test_run_begin(&run, &settings);
                test_run_go(&run);
                const struct error wrong = test_run_wrong(&run);
                ck_assert_msg(wrong.status == STATUS_OK, "%s: %s", mistake_name(mistake),
                              wrong.text);
                test_run_end(&run);
                made++;
            }
            ck_assert_int_eq(status[0], status[1]);
            ck_assert_str_eq(error[0].text, error[1].text);
        }
    }
    ck_assert_int_gt(made, 2 * test_mistake_count());
}
END_TEST

/* --- what must come out wrong --- */

/* A copy from or to the place of the tile beside it in memory, or in the array, gives a wrong
 * result. */
START_TEST(another_tiles_place_is_wrong)
{
    static const struct shape even = {64000, 64};
    for (int i = 0; i < 4; i++) {
        struct settings settings = shaped("scale", &even);
        struct test_run run;
        char expected[32];
        test_run_begin(&run, &settings);
        struct op *op = test_op_of_tile(&run.plan, i % 2 ? OP_D2H : OP_H2D, 20);
        uint32_t other = 21;
        while (i >= 2 && run.plan.places[other] != (run.plan.places[20] + 1) % run.plan.tiles)
            other = (other + 1) % run.plan.tiles;
        op->copy.host = host_layout_piece(&run.plan, op->copy.host.buffer, other);
        test_run_go(&run);
        const struct error wrong = test_run_wrong(&run);
        ck_assert_int_eq(wrong.status, STATUS_FAILED);
        /* Where the copy out went astray, tile 20 is unwritten, or the other one comes first.
         */
        snprintf(expected, sizeof expected, "tile %" PRIu32 ",",
                 i % 2 && other < 20 ? other : 20);
        ck_assert_msg(strstr(wrong.text, expected) != NULL, "%s: no %s", wrong.text, expected);
        test_run_end(&run);
    }
}
END_TEST

/* Places that are not those that the arrays were filled by give a wrong result: all who touch
 * the bytes go by the plan's. */
START_TEST(other_places_are_wrong)
{
    for (int way = 3; way <= 4; way++) {
        for (int memory = 0; memory < 2; memory++) {
            struct settings settings = shaped("scale", &shapes[4]);
            struct test_run run;
            struct error wrong;
            settings.ways = way;
            settings.cpu_share = way == 4 ? 1 : -1; /* no tile is the GPU's */
            settings.memory = memory ? MEMORY_MAPPED : MEMORY_PINNED;
            test_run_begin(&run, &settings);
            test_run_prepare(&run);
            struct plan other = run.plan;
            other.places = NULL;
            test_must(host_layout_draw(&other, 77, &wrong), &wrong);
            run.workload.plan = &other;
            test_run_go(&run);
            wrong = test_run_wrong(&run);
            ck_assert_int_eq(wrong.status, STATUS_FAILED);
            run.workload.plan = &run.plan;
            test_run_go(&run);
            test_run_assert_right(&run);
            free(other.places);
            test_run_end(&run);
        }
    }
}
END_TEST

/* A copy out that goes on beyond its tile's end leaves every element right, and is a wrong
 * result all the same. */
START_TEST(a_copy_beyond_its_tile_is_wrong)
{
    for (int32_t tile = 0; tile < 7; tile++) {
        struct settings settings = shaped("scale", &shapes[3]);
        struct test_run run;
        char expected[64];
        test_run_begin(&run, &settings);
        struct op *op = test_op_of_tile(&run.plan, OP_D2H, tile);
        op->copy.host.bytes += 8;
        test_run_go(&run);
        const struct error wrong = test_run_wrong(&run);
        ck_assert_int_eq(wrong.status, STATUS_FAILED);
        snprintf(expected, sizeof expected,
                 "tile %" PRId32 ": bytes 0 to 8 behind its end in host.out", tile);
        ck_assert_msg(strstr(wrong.text, expected) != NULL, "%s: no %s", wrong.text, expected);
        op->copy.host.bytes -= 8;
        test_run_go(&run);
        test_run_assert_right(&run);
        test_run_end(&run);
    }
}
END_TEST

/* --- the program --- */

#define SMALL "-q -d sim:h200 -n 10007 -t 13 --gantt=none "

/* Runs the program, which must end well and verify. */
static void works(const char *arguments)
{
    ck_assert_msg(program_run(arguments) == 0, "%s: %s", arguments, program_err);
}

START_TEST(the_program_says_that_tiles_lie_apart)
{
    works(SMALL "--scatter");
    assert_says(program_out, "pinned memory, tiles scattered");
    works(SMALL "--memory=mapped");
    ck_assert_ptr_null(strstr(program_out, "scattered"));
    works(SMALL "--scatter --dry-run");
    assert_has(program_out, "(pinned, tiles scattered)");
    works(SMALL "--format=json --scatter --kernel=wave");
    assert_has(program_out, "\"scatter\": true");
    assert_has(program_out, "\"verified\": true");
    /* 770 elements of a tile are 3,080 bytes: 49 times 64, and the gap. */
    assert_has(program_out, "\"host_bytes\": 132288");
    works(SMALL "--format=json --kernel=wave");
    assert_has(program_out, "\"scatter\": false");
    assert_has(program_out, "\"host_bytes\": 120084");
    works(SMALL "--sweep=scatter=no,yes --sweep=memory=pinned,mapped");
    assert_shown(program_out, "scatter \\ memory|4 runs, verified");
    works("compare " SMALL "--scatter");
    works(SMALL "--scatter --no-data");
    works(SMALL "--scatter --callbacks --kernel=scale,sum --fix");
}
END_TEST

START_TEST(files_hold_the_array_in_order)
{
    static const char *const names[] = {"apart.npy", "apart.raw"};
    works(SMALL "-o one.npy");
    works(SMALL "-o one.raw");
    works(SMALL "-o apart.npy --scatter -t 1001");
    works(SMALL "-o apart.raw --scatter");
    for (int i = 0; i < 2; i++) {
        char line[160];
        snprintf(line, sizeof line, "cmp one%s %s", strchr(names[i], '.'), names[i]);
        ck_assert_int_eq(system(line), 0);
        snprintf(line, sizeof line, SMALL "-i %s -o again.raw -k scale --intensity=3",
                 names[i]);
        works(line);
        snprintf(line, sizeof line,
                 SMALL "-i %s -o apart-again.raw --intensity=3 --scatter -t 10007", names[i]);
        works(line);
        ck_assert_int_eq(system("cmp again.raw apart-again.raw"), 0);
    }
}
END_TEST

START_TEST(a_config_may_mix)
{
    FILE *file = fopen("mixed.ini", "w");
    ck_assert_ptr_nonnull(file);
    fputs("[global]\ndevice=sim:h200\nelements=10007\ntiles=13\nkernel=scale,sum\n"
          "[together]\n[apart]\nscatter=yes\n[mapped]\nscatter=on\nmemory=mapped\n"
          "[cpu]\nways=4\ncpu-share=0.5\nscatter=true\n[scan]\nkernel=scan\nscatter=no\n",
          file);
    ck_assert_int_eq(fclose(file), 0);
    works("-q --format=json mixed.ini");
    int right = 0, apart = 0;
    for (const char *at = program_out; (at = strstr(at, "\"verified\": true")) != NULL; at++)
        right++;
    for (const char *at = program_out; (at = strstr(at, "\"scatter\": true")) != NULL; at++)
        apart++;
    ck_assert_int_eq(right, 5);
    ck_assert_int_eq(apart, 3);
    works("-q --gantt=none mixed.ini");
    fputs("scatter=yes\n", file = fopen("mixed.ini", "a"));
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(program_run("-q mixed.ini"), 2);
    assert_has(program_err, "mixed.ini");
}
END_TEST

static const struct {
    const char *arguments, *words;
} refusals[] = {
    {"-k scan", "has scan, "},
    {"-k scale,sum --memory=mapped -k scan-exclusive", "has scan-exclusive, "},
    {"-k scan,reduce-shuffle", "has scan, "},
    {"-k transpose-naive", "has transpose-naive, "},
    {"-k transpose-copy,scale", "has transpose-copy, "},
    {"-k stride-copy", "has stride-copy, "},
    {"-k dgemm -n 64k --rows=64 --inner=8", "has dgemm, "},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

START_TEST(what_joins_tiles_is_refused)
{
    char line[160];
    snprintf(line, sizeof line, "-d sim:h200 -n 64k -t 4 -o out.npy --scatter %s",
             refusals[_i].arguments);
    ck_assert_int_eq(program_run(line), 2);
    assert_says(program_err, "--scatter lays tiles apart, but --kernel=");
    assert_says(program_err, refusals[_i].words);
    ck_assert_str_eq(program_out, "");
    snprintf(line, sizeof line, "-q -d sim:h200 -n 64k -t 4 %s --gantt=none",
             refusals[_i].arguments);
    ck_assert_int_eq(program_run(line), 0);
}
END_TEST

/* Every kernel of the table either runs on tiles that lie apart, or is refused. */
START_TEST(every_kernel_is_known)
{
    int joined = 0, apart = 0;
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        struct settings settings = shaped(kernel->name, &shapes[4]);
        struct error error = {0};
        settings.columns = 1;
        settings.rows = 1;
        settings.inner = 8;
        settings.tiles = 1;
        joined += kernel_needs_neighbours(kernel) != NULL;
        if (kernel_needs_neighbours(kernel) != NULL) {
            ck_assert_int_eq(settings_check(&settings, &error), STATUS_USAGE);
            ck_assert_ptr_nonnull(strstr(error.text, kernel_needs_neighbours(kernel)));
            continue;
        }
        settings.tiles = 64;
        check_alike(&settings);
        apart++;
    }
    ck_assert_int_gt(joined, 10);
    ck_assert_int_gt(apart, 15);
}
END_TEST

Suite *scatter_runs_suite(void)
{
    Suite *suite = suite_create("scatter_runs");
    TCase *right = tcase_create("right"), *wrong = tcase_create("wrong"),
          *program = tcase_create("program");
    tcase_set_timeout(right, 120);
    tcase_set_timeout(program, 120);
    tcase_add_loop_test(right, results_are_the_same_wherever_tiles_lie, 0, CHAINS);
    tcase_add_test(right, mistakes_work_as_before);
    tcase_add_test(right, every_kernel_is_known);
    tcase_add_test(wrong, another_tiles_place_is_wrong);
    tcase_add_test(wrong, other_places_are_wrong);
    tcase_add_test(wrong, a_copy_beyond_its_tile_is_wrong);
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_test(program, the_program_says_that_tiles_lie_apart);
    tcase_add_test(program, files_hold_the_array_in_order);
    tcase_add_test(program, a_config_may_mix);
    tcase_add_loop_test(program, what_joins_tiles_is_refused, 0, REFUSALS);
    suite_add_tcase(suite, right);
    suite_add_tcase(suite, wrong);
    suite_add_tcase(suite, program);
    return suite;
}
