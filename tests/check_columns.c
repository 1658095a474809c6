/* check_columns.c - tiles that are blocks of a matrix's columns: where their bytes lie, that
 * all ways to copy them give what arrays in one piece give, how long they take on the simulated
 * machine, and what is refused. */
#include "fixtures.h"
#include "plan/build.h"
#include "plan/host_layout.h"
#include "plan/rules.h"
#include "run/backend.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"
#include "test_run.h"
#include "verdict_cases.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct shape {
    uint32_t rows, tiles, width;
} shapes[] = {{1, 1, 5},  {4, 1, 7},    {1, 8, 16},  {3, 7, 1},
              {5, 4, 13}, {64, 6, 129}, {9, 13, 64}, {2, 3, 5000}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static struct settings shaped(const char *chain, const struct shape *shape, enum copy copy)
{
    struct settings settings = test_settings(chain);
    settings.elements = (uint64_t)shape->rows * shape->tiles * shape->width;
    settings.tiles = shape->tiles;
    settings.tile_width = shape->width;
    settings.intensity = 2;
    settings.streams = 3;
    settings.copy = copy;
    return settings;
}

static struct plan plan_of(const struct settings *settings)
{
    struct error error = {0};
    struct machine machine;
    test_must(machine_load(&machine, "h200", &error), &error);
    return test_built_on(settings, &machine);
}

/* --- where bytes lie --- */

/* Element e of tile t is in row e / width of the matrix, in the tile's column e % width. */
START_TEST(an_element_is_in_its_row_and_column)
{
    const struct shape *shape = &shapes[_i];
    const struct settings settings = shaped("wave", shape, COPY_2D);
    struct plan plan = plan_of(&settings);
    static const enum buffer buffers[] = {BUFFER_HOST_IN0, BUFFER_HOST_IN1, BUFFER_HOST_OUT};
    const uint64_t each = (uint64_t)shape->rows * shape->width;
    for (int b = 0; b < 3; b++) {
        ck_assert_uint_eq(host_layout_bytes(&plan, buffers[b]), 4 * settings.elements);
        uint64_t astray = 0;
        for (uint64_t i = 0; i < settings.elements; i++) {
            const uint64_t tile = i / each, row = i % each / shape->width;
            const uint64_t column = tile * shape->width + i % shape->width;
            const struct range element = {buffers[b], 4 * i, 4};
            astray += host_layout_offset(&plan, &element) !=
                      4 * (row * shape->tiles * shape->width + column);
        }
        ck_assert_uint_eq(astray, 0);
    }
    const struct range slot = {BUFFER_DEVICE_IN0, 8, 4};
    ck_assert_uint_eq(host_layout_offset(&plan, &slot), 8);
    plan_free(&plan);
}
END_TEST

/* A walk over a tile gives its rows, and one call copies the same bytes. */
START_TEST(a_tile_is_its_rows)
{
    const struct shape *shape = &shapes[_i];
    const struct settings settings = shaped("scale", shape, COPY_2D);
    struct plan plan = plan_of(&settings);
    const uint64_t bytes = UINT64_C(4) * shape->rows * shape->width;
    for (uint32_t tile = 0; tile < shape->tiles; tile++) {
        struct range all = {BUFFER_HOST_IN0, tile * bytes, bytes}, rest = all, piece;
        const struct range slot = {BUFFER_DEVICE_IN0, 0, bytes};
        const struct host_copy in = host_layout_copy(&plan, &slot, &all);
        const struct host_copy out = host_layout_copy(&plan, &all, &slot);
        ck_assert_uint_eq(in.rows * in.bytes, bytes);
        ck_assert_uint_eq(in.to_pitch, in.bytes);
        ck_assert_uint_eq(out.from_pitch, out.bytes);
        ck_assert_uint_eq(in.from_pitch, out.to_pitch);
        ck_assert_uint_eq(in.rows, shape->tiles > 1 ? shape->rows : 1);
        const uint64_t first = host_layout_offset(&plan, &all);
        uint64_t row = 0;
        for (; host_layout_next(&plan, &rest, &piece); row++) {
            ck_assert_uint_eq(piece.bytes, in.bytes);
            ck_assert_uint_eq(host_layout_offset(&plan, &piece), first + row * in.from_pitch);
        }
        ck_assert_uint_eq(row, in.rows);
    }
    plan_free(&plan);
}
END_TEST

/* --- runs --- */

/* Returns the right output as a file would have it, to be freed. */
static char *output_of(const struct settings *settings, size_t *size)
{
    struct test_run run;
    test_run_begin(&run, settings);
    test_run_go(&run);
    test_run_assert_right(&run);
    char *bytes = test_run_output(&run, size);
    test_run_end(&run);
    return bytes;
}

static const char *const chains[] = {"scale",         "wave",       "sum", "scale,sum",
                                     "wave-launches", "sum-double", "all", "uniform,scale"};
enum { CHAINS = sizeof chains / sizeof *chains };

START_TEST(results_are_those_of_one_piece)
{
    int turn = 0;
    for (int shape = 0; shape < SHAPES; shape++) {
        for (int i = 0; i < 8; i++, turn++) {
            const enum copy copies[] = {COPY_WHOLE, COPY_2D, COPY_ROWS};
            char *bytes[3];
            size_t sizes[3];
            for (int copy = 0; copy < 3; copy++) {
                struct settings settings = shaped(chains[_i], &shapes[shape], copies[copy]);
                settings.pack = i % 4 == 3;
                settings.batch = settings.pack && turn % 2 ? 2 : 0;
                settings.ways = settings.pack ? 3 : turn % 3 + 1;
                settings.streams = settings.ways == 1 ? 1 : 3;
                settings.order = turn % 2 ? ORDER_BREADTH : ORDER_DEPTH;
                settings.layout = i / 4 ? LAYOUT_STAGE : LAYOUT_TILE;
                settings.memory = i == 0 ? MEMORY_PAGEABLE : MEMORY_PINNED;
                settings.issue = i % 4 == 1 ? ISSUE_GRAPH : ISSUE_STREAMS;
                settings.callbacks = i % 4 == 2;
                settings.seed = (uint64_t)turn;
                bytes[copy] = output_of(&settings, &sizes[copy]);
                ck_assert_uint_eq(sizes[copy], sizes[0]);
                ck_assert_mem_eq(bytes[copy], bytes[0], sizes[0]);
            }
            for (int copy = 0; copy < 3; copy++)
                free(bytes[copy]);
        }
    }
}
END_TEST

/* Several devices share the matrix. */
START_TEST(devices_take_columns)
{
    for (int copy = COPY_2D; copy <= COPY_ROWS; copy++) {
        struct settings settings = shaped("scale,scale", &shapes[5], (enum copy)copy);
        size_t size;
        settings.device = "sim:h200*2";
        settings.devices = 2;
        free(output_of(&settings, &size));
        settings.spread = SPREAD_CHAIN;
        free(output_of(&settings, &size));
    }
}
END_TEST

/* Every mistake that the settings leave a place for makes no wrong result but by a race. */
START_TEST(mistakes_work_on_columns)
{
    int made = 0;
    for (int mistake = 1; mistake < test_mistake_count(); mistake++) {
        for (int copy = COPY_2D; copy <= COPY_ROWS; copy++) {
            struct settings settings = shaped("wave", &shapes[5], (enum copy)copy);
            struct machine machine = test_machine();
            struct error error = {0};
            struct plan plan;
            settings.mistake = mistake;
            const enum status status = plan_build(&settings, &machine, &plan, &error);
            plan_free(&plan);
            if (status != STATUS_OK || mistake_rows[mistake].races)
                continue;
            size_t size;
            free(output_of(&settings, &size));
            made++;
        }
    }
    ck_assert_int_gt(made, test_mistake_count());
}
END_TEST

/* A copy of another tile's columns, or of another row, is a wrong result. */
START_TEST(other_columns_are_wrong)
{
    for (int i = 0; i < 8; i++) {
        const bool by_rows = i & 1, next_tile = i & 2, out = i & 4;
        struct settings settings = shaped("scale", &shapes[5], by_rows ? COPY_ROWS : COPY_2D);
        struct test_run run;
        test_run_begin(&run, &settings);
        struct op *op = test_op_of_tile(&run.plan, out ? OP_D2H : OP_H2D, 2);
        const uint64_t row = UINT64_C(4) * settings.tile_width, tile = row * shapes[5].rows;
        op->copy.host.offset += next_tile ? tile : row;
        if (!by_rows && !next_tile) /* the last row would be the next tile's */
            op->copy.host.bytes -= row;
        test_run_go(&run);
        ck_assert_int_eq(test_run_wrong(&run).status, STATUS_FAILED);
        test_run_end(&run);
    }
}
END_TEST

/* --- plans and times --- */

static uint32_t count_copies(const struct settings *settings)
{
    struct plan plan = plan_of(settings);
    uint32_t copies = 0;
    for (uint32_t i = 0; i < plan.op_count; i++)
        copies += op_is_copy(plan.ops[i].kind);
    plan_free(&plan);
    return copies;
}

START_TEST(rows_have_calls_of_their_own)
{
    const struct shape *shape = &shapes[5];
    struct settings settings = shaped("scale", shape, COPY_2D);
    ck_assert_uint_eq(count_copies(&settings), 2 * shape->tiles);
    settings.copy = COPY_ROWS;
    ck_assert_uint_eq(count_copies(&settings), 2 * shape->tiles * shape->rows);
    settings.pack = true;
    ck_assert_uint_eq(count_copies(&settings), 2 * shape->tiles);
    settings.pack = false;
    settings.chain[0] = kernel_find("sum"); /* a value for each tile comes out */
    ck_assert_uint_eq(count_copies(&settings), shape->tiles * shape->rows + shape->tiles);
}
END_TEST

START_TEST(a_share_lies_between_its_neighbours)
{
    struct machine machine;
    struct error error = {0};
    test_must(machine_load(&machine, "h200", &error), &error);
    ck_assert_double_eq(rule_rows_share(&machine, OP_H2D, 4096), machine.row_h2d_share[4]);
    ck_assert_double_eq(rule_rows_share(&machine, OP_D2H, 1), machine.row_d2h_share[0]);
    ck_assert_double_eq(rule_rows_share(&machine, OP_D2H, 1 << 30), machine.row_d2h_share[7]);
    for (uint64_t bytes = 1; bytes < 200000; bytes++) {
        const double share = rule_rows_share(&machine, OP_H2D, bytes);
        ck_assert(share >= 0.44 && share <= 1);
    }
    const double middle = rule_rows_share(&machine, OP_D2H, 128); /* of 64 and 256 */
    ck_assert_double_eq_tol(middle, (machine.row_d2h_share[0] + machine.row_d2h_share[1]) / 2,
                            1e-12);
    /* A machine whose file says nothing copies rows as fast as one piece. */
    test_must(machine_load(&machine, "a100", &error), &error);
    ck_assert_double_eq(rule_rows_share(&machine, OP_H2D, 64), 1);
}
END_TEST

/* The copies of a long run take the time of their bytes at the share of the link's rate. */
START_TEST(copies_take_the_time_of_their_rows)
{
    static const uint32_t widths[] = {16, 64, 1024, 16384};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        struct judged judged;
        judged_load(&judged, "h200");
        const struct shape shape = {(8 << 20) / 4 / widths[i], 16, widths[i]};
        const struct settings settings = shaped("scale", &shape, COPY_2D);
        ck_assert(judged_simulate(&settings, &judged));
        for (uint32_t k = 0; k < judged.timeline.span_count; k++) {
            const struct span *span = &judged.timeline.spans[k];
            if (!op_is_copy(span->kind))
                continue;
            const enum op_kind kind = (enum op_kind)span->kind;
            const double rate = rule_rows_share(&judged.machine, kind, 4 * widths[i]) *
                                rule_copy_bytes_per_s(&judged.machine, kind, false);
            const double ns = 1e9 * (8 << 20) / rate;
            ck_assert_double_ge((double)(span->end_ns - span->start_ns), ns);
        }
        judged_free(&judged);
    }
}
END_TEST

/* --- verdicts --- */

START_TEST(rows_are_the_cause)
{
    static const struct shape shape = {512, 16, 1024};
    struct judged judged;
    judged_load(&judged, "h200");
    struct settings settings = shaped("scale", &shape, COPY_ROWS);
    settings.streams = 4;
    ck_assert(judged_make(&settings, &judged));
    const struct verdict *first = &judged.verdicts.items[0];
    ck_assert_int_eq(first->code, VERDICT_ROW_COPIES);
    ck_assert_int_eq(first->evidence, EVIDENCE_CERTAIN);
    ck_assert_str_eq(first->command, "--copy=2d");
    ck_assert_int_lt(10 * first->predicted_ns, timeline_time_ns(&judged.timeline));
    judged_free(&judged);

    judged_load(&judged, "h200");
    settings.copy = COPY_2D;
    ck_assert(judged_make(&settings, &judged));
    ck_assert_ptr_null(judged_find(&judged, VERDICT_ROW_COPIES));
    ck_assert_ptr_nonnull(judged_find(&judged, VERDICT_NARROW_ROWS));
    ck_assert_ptr_null(judged_find(&judged, VERDICT_UNKNOWN));
    judged_free(&judged);

    judged_load(&judged, "h200");
    settings.copy = COPY_WHOLE;
    ck_assert(judged_make(&settings, &judged));
    ck_assert_ptr_null(judged_find(&judged, VERDICT_NARROW_ROWS));
    judged_free(&judged);
}
END_TEST

/* --- the program --- */

#define SMALL "-q -d sim:h200 -n 10400 -t 13 --tile-width=16 --gantt=none "

static void works(const char *arguments)
{
    ck_assert_msg(program_run(arguments) == 0, "%s: %s", arguments, program_err);
}

START_TEST(the_program_copies_columns)
{
    works(SMALL "--copy=2d");
    assert_says(program_out, "tiles are columns, by 2D copies");
    works(SMALL "--copy=rows --dry-run");
    assert_has(program_out, "tiles are columns, copied row by row");
    works(SMALL "--sweep=copy=whole,2d,rows");
    assert_shown(program_out, "3 runs, verified");
    works("compare " SMALL "--copy=2d");
    works(SMALL "--copy=rows --no-data --fix");
    works("-q -d sim:h200 -n 16M -t auto --copy=2d --no-data --gantt=none");
    works(SMALL "-o whole.npy");
    works(SMALL "-o columns.npy --copy=2d");
    ck_assert_int_eq(system("cmp whole.npy columns.npy"), 0);
    works("-q -d sim:h200 -i whole.npy -t 13 --tile-width=16 --copy=rows -o again.npy");
    works("-q -d sim:h200 -i whole.npy -t 13 -o whole-again.npy");
    ck_assert_int_eq(system("cmp again.npy whole-again.npy"), 0);
}
END_TEST

static const struct {
    const char *arguments, *words;
} refusals[] = {
    {"--scatter", "--copy=2d lays tiles side by side, as columns, but --scatter"},
    {"--memory=mapped", "but with --memory=mapped there are no copies"},
    {"--issue=batch", "but --issue=batch hands over tiles that are each one piece"},
    {"--issue=auto", "but --issue=auto hands over"},
    {"--ways=4", "but --ways=4 has the CPU work on tiles that are one piece"},
    {"-k scan", "has scan, which goes on from tile to tile"},
    {"-k transpose-naive", "which works on whole rows or columns of a matrix"},
    {"-k stride-copy", "has stride-copy, which reads its elements at a distance"},
    {"-k stencil", "has stencil, which works on whole rows"},
    {"--tile-width=17", "use --elements=65484 or 65552"},
    {"-t 3", "use --elements=64512 or 67584"},
    {"-n 100 --tile-width=64", "use --elements=256 or 512"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

START_TEST(what_does_not_go_is_refused)
{
    char line[160];
    snprintf(line, sizeof line, "-d sim:h200 -n 64k -t 4 --copy=2d %s", refusals[_i].arguments);
    ck_assert_int_eq(program_run(line), 2);
    assert_says(program_err, refusals[_i].words);
    ck_assert_str_eq(program_out, "");
}
END_TEST

Suite *columns_suite(void)
{
    Suite *suite = suite_create("columns");
    TCase *layout = tcase_create("layout"), *runs = tcase_create("runs"),
          *times = tcase_create("times"), *program = tcase_create("program");
    tcase_set_timeout(runs, 120);
    tcase_set_timeout(program, 120);
    tcase_add_loop_test(layout, an_element_is_in_its_row_and_column, 0, SHAPES);
    tcase_add_loop_test(layout, a_tile_is_its_rows, 0, SHAPES);
    tcase_add_loop_test(runs, results_are_those_of_one_piece, 0, CHAINS);
    tcase_add_test(runs, devices_take_columns);
    tcase_add_test(runs, mistakes_work_on_columns);
    tcase_add_test(runs, other_columns_are_wrong);
    tcase_add_test(times, rows_have_calls_of_their_own);
    tcase_add_test(times, a_share_lies_between_its_neighbours);
    tcase_add_test(times, copies_take_the_time_of_their_rows);
    tcase_add_test(times, rows_are_the_cause);
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_test(program, the_program_copies_columns);
    tcase_add_loop_test(program, what_does_not_go_is_refused, 0, REFUSALS);
    suite_add_tcase(suite, layout);
    suite_add_tcase(suite, runs);
    suite_add_tcase(suite, times);
    suite_add_tcase(suite, program);
    return suite;
}
