/* check_transpose.c - the transposes and stride-copy: twins, oracles, verification, refusals,
 * and the program that runs them. */
#include "check_kernels_util.h"
#include "fixtures.h"
#include "report/tune.h"
#include "run/host_ops.h"
#include "run/verify.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64 }; /* of the squares that transposes work on */

static const char *const names[] = {
    "transpose-copy",     "transpose-shared-copy", "transpose-naive",
    "transpose-diagonal", "transpose-coalesced",   "transpose-conflict-free",
    "transpose-fine",     "transpose-coarse",      "stride-copy",
};
enum { NAMES = sizeof names / sizeof *names };

/* ---- the definitions, from the input to the output ---- */

static bool is_whole(uint64_t y, uint64_t x, uint64_t rows, uint64_t columns)
{
    return y / SIDE < rows / SIDE && x / SIDE < columns / SIDE;
}

/* Where element (y, x) of the matrix goes. */
static uint64_t goes_to(const char *name, uint64_t y, uint64_t x, uint64_t rows,
                        uint64_t columns)
{
    const uint64_t corner_y = y / SIDE * SIDE, corner_x = x / SIDE * SIDE;
    const bool whole = is_whole(y, x, rows, columns);
    if (strstr(name, "copy") != NULL || (strcmp(name, "transpose-fine") == 0 && !whole))
        return y * columns + x;
    if (strcmp(name, "transpose-fine") == 0)
        return (corner_y + x % SIDE) * columns + corner_x + y % SIDE;
    if (strcmp(name, "transpose-coarse") == 0 && whole)
        return (corner_x + y % SIDE) * rows + corner_y + x % SIDE;
    return x * rows + y;
}

/* The twin's step from one pass to the next: of a matrix of one row, the second element that
 * goes out is at that column. */
static uint32_t step_of(uint32_t stride)
{
    const struct kernel_params params = {.stride = stride};
    return stride > 1 ? (uint32_t)table_code("stride-copy")->gather(1, stride, &params) : 1;
}

/* A pass per column, each so many columns further, around the end. */
static void define_passes(const float *in, float *out, uint64_t count, uint64_t stride)
{
    uint64_t to = 0, column = 0;
    for (uint64_t pass = 0; pass < stride; pass++) {
        for (uint64_t row = 0; row < count / stride; row++)
            out[to++] = in[row * stride + column];
        column += step_of((uint32_t)stride);
        if (column >= stride)
            column -= stride;
    }
}

static void define(const char *name, const float *in, float *out, uint64_t count,
                   const struct kernel_params *params)
{
    const uint64_t columns = params->columns, rows = count / columns;
    memcpy(out, in, count * sizeof *in);
    if (strcmp(name, "stride-copy") == 0) {
        define_passes(in, out, count, params->stride);
        return;
    }
    for (uint64_t y = 0; y < rows; y++)
        for (uint64_t x = 0; x < columns; x++)
            out[goes_to(name, y, x, rows, columns)] = in[y * columns + x];
}

static void run_twin(const char *name, const float *in, float *out, uint64_t count,
                     struct kernel_params params)
{
    const struct kernel_args args = {.in = {in}, .out = out, .count = count, .params = params};
    table_code(name)->host(&args);
}

/* Elements that tell their place. */
static float *numbered(uint64_t count)
{
    float *x = take_zeroed(count + 1, sizeof *x);
    for (uint64_t i = 0; i < count; i++)
        x[i] = (float)i;
    return x;
}

static void check_twin(const char *name, uint64_t count, uint64_t columns, uint32_t stride)
{
    const struct kernel_params params = {.intensity = 1, .columns = columns, .stride = stride};
    float *in = numbered(count), *out = take_zeroed(count + 1, sizeof *out);
    float *right = take_zeroed(count, sizeof *right);
    out[count] = TEST_GUARD;
    define(name, in, right, count, &params);
    run_twin(name, in, out, count, params);
    ck_assert_msg(memcmp(out, right, count * sizeof *out) == 0, "%s of %d by %d, stride %u",
                  name, (int)count, (int)columns, stride);
    ck_assert(out[count] == TEST_GUARD);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t from = table_code(name)->gather(i, count, &params);
        wrong += from >= count || (float)from != right[i];
    }
    ck_assert_uint_eq(wrong, 0);
    for (uint64_t i = 0; i < count; i++) /* each once */
        in[(uint64_t)out[i]] = -1;
    for (uint64_t i = 0; i < count; i++)
        wrong += in[i] != -1;
    ck_assert_uint_eq(wrong, 0);
    free(in);
    free(out);
    free(right);
}

START_TEST(test_twins_and_oracles)
{
    static const uint64_t columns[] = {1, 31, 64, 65, 130};
    static const uint64_t rows[] = {1, 33, 63, 64, 135};
    const char *name = names[_i];
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1); /* threads take longer to start than these to end */
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            check_twin(name, columns[i] * rows[j], columns[i], (uint32_t)rows[j]);
            check_twin(name, columns[i] * rows[j] + 17, columns[i], (uint32_t)columns[i]);
        }
    check_twin(name, 5, 1000, 1000); /* not one row */
    omp_set_num_threads(threads);
    check_twin(name, 300007, 999, 37);
}
END_TEST

START_TEST(test_results_do_not_depend_on_threads)
{
    enum { COUNT = 300 * 257 };
    float *in = numbered(COUNT), *one = take_zeroed(COUNT, sizeof *one),
          *more = take_zeroed(COUNT, sizeof *more);
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    run_twin(names[_i], in, one, COUNT,
             (struct kernel_params){.intensity = 1, .columns = 257, .stride = 40});
    omp_set_num_threads(5);
    run_twin(names[_i], in, more, COUNT,
             (struct kernel_params){.intensity = 1, .columns = 257, .stride = 40});
    omp_set_num_threads(threads);
    ck_assert_mem_eq(one, more, COUNT * sizeof *one);
    free(in);
    free(one);
    free(more);
}
END_TEST

/* Every column once, and neighbours not one behind the other, where there is room to part them.
 */
START_TEST(test_steps_part_neighbours)
{
    static bool seen[65536];
    for (uint32_t stride = 2; stride <= 65536; stride += stride < 300 ? 1 : stride / 3) {
        const uint32_t step = step_of(stride);
        ck_assert_uint_lt(step, stride);
        if (stride >= 32) /* a sector's columns and more */
            ck_assert(step > 8 && step < stride - 8);
        memset(seen, 0, sizeof seen);
        for (uint64_t pass = 0; pass < stride; pass++) {
            ck_assert(!seen[pass * step % stride]);
            seen[pass * step % stride] = true;
        }
    }
}
END_TEST

/* The halves are not the transpose, but one after the other they are. */
START_TEST(test_halves_make_a_whole)
{
    enum { ROWS = 3 * SIDE, WIDTH = 5 * SIDE, COUNT = ROWS * WIDTH };
    const struct kernel_params params = {.intensity = 1, .columns = WIDTH, .stride = 1};
    float *in = numbered(COUNT), *half = take_zeroed(COUNT, sizeof *half),
          *both = take_zeroed(COUNT, sizeof *both), *right = take_zeroed(COUNT, sizeof *right);
    run_twin("transpose-naive", in, right, COUNT, params);
    ck_assert_mem_ne(right, in, COUNT * sizeof *in);
    run_twin("transpose-coarse", in, half, COUNT, params);
    ck_assert_mem_ne(half, right, COUNT * sizeof *in);
    run_twin("transpose-fine", in, half, COUNT, params);
    ck_assert_mem_ne(half, right, COUNT * sizeof *in);
    run_twin("transpose-coarse", half, both, COUNT, params);
    ck_assert_mem_eq(both, right, COUNT * sizeof *in);
    free(in);
    free(half);
    free(both);
    free(right);
}
END_TEST

/* ---- through a plan ---- */

enum { COLUMNS = SIDE + 16 };

/* A plan of 3 tiles with its arrays; the chain's result is there. */
struct run {
    struct plan plan;
    struct arrays arrays;
    struct error error;
};

static void run_take(struct run *run, const char *chain, uint64_t elements)
{
    struct settings settings = test_settings(chain);
    struct machine machine = test_machine();
    settings.elements = elements;
    settings.tiles = 3;
    settings.columns = COLUMNS;
    settings.stride = 7;
    run->error = (struct error){0};
    run->plan = test_built_on(&settings, &machine);
    run->arrays.host[BUFFER_HOST_IN0] = random_floats(elements, 1);
    run->arrays.host[BUFFER_HOST_IN1] = random_floats(elements, 1);
    run->arrays.host[BUFFER_HOST_OUT] = take_zeroed(elements, sizeof(float));
    for (uint32_t tile = 0; tile < 3; tile++) {
        uint64_t first, count;
        plan_tile(&run->plan, tile, &first, &count);
        chain_host_run(run->plan.chain, run->plan.chain_length, &run->plan.params,
                       (float *)run->arrays.host[BUFFER_HOST_IN0] + first,
                       (float *)run->arrays.host[BUFFER_HOST_IN1] + first, NULL,
                       (float *)run->arrays.host[BUFFER_HOST_OUT] + first, count, NULL);
    }
}

static void run_free(struct run *run)
{
    plan_free(&run->plan);
    for (int b = 0; b < BUFFER_FIRST_DEVICE; b++)
        free(run->arrays.host[b]);
}

static bool is_verified(struct run *run)
{
    run->error = (struct error){0};
    return verify_output(&run->plan, &run->arrays, &run->error) == STATUS_OK;
}

START_TEST(test_results_are_verified)
{
    enum { TILE = COLUMNS * 425 };
    char chain[64];
    struct run run = {0};
    snprintf(chain, sizeof chain, "%s%s", names[_i / 2], _i % 2 ? ",scale,wave" : "");
    run_take(&run, chain, 3 * TILE);
    ck_assert_msg(is_verified(&run), "%s", run.error.text);
    float *out = run.arrays.host[BUFFER_HOST_OUT];
    out[TILE + 77] += 0.5f;
    ck_assert(!is_verified(&run));
    snprintf(chain, sizeof chain, "tile 1, element 77 (%d of the array)", TILE + 77);
    ck_assert_msg(strstr(run.error.text, chain) != NULL, "%s", run.error.text);
    run_free(&run);
}
END_TEST

/* The result of one transpose or copy must not pass for another's, nor a tile's for its
 * neighbour's. */
START_TEST(test_other_results_are_refused)
{
    enum { TILE = COLUMNS * SIDE };
    static const char *const others[] = {"transpose-copy", "transpose-naive", "transpose-fine",
                                         "transpose-coarse", "stride-copy"};
    for (int i = 0; i < 5; i++) {
        struct run run = {0};
        run_take(&run, others[i], 3 * TILE);
        ck_assert_msg(is_verified(&run), "%s", run.error.text);
        for (int j = 0; j < 5; j++) {
            run.plan.chain[0] = table_row(others[j]);
            ck_assert_int_eq(is_verified(&run), i == j);
        }
        run.plan.chain[0] = table_row(others[i]);
        float *out = run.arrays.host[BUFFER_HOST_OUT];
        memcpy(out, out + TILE, TILE * sizeof *out);
        ck_assert(!is_verified(&run));
        run_free(&run);
    }
}
END_TEST

/* Elsewhere maps work in place; what gathers never does. */
START_TEST(test_plans_never_gather_in_place)
{
    struct run run = {0};
    run_take(&run, _i % 2 ? "stride-copy,scale,wave" : "transpose-naive", 3 * COLUMNS);
    for (uint32_t i = 0; i < run.plan.op_count; i++) {
        const struct op *op = &run.plan.ops[i];
        if (op->kind == OP_KERNEL && op->kernel.link == 0)
            ck_assert_int_ne(op->kernel.ranges->in[0].buffer, op->kernel.ranges->out.buffer);
    }
    run_free(&run);
}
END_TEST

/* ---- chains and tiles that do not fit ---- */

START_TEST(test_chain_misfits)
{
    const struct kernel *scale = table_row("scale"), *sum = table_row("sum"),
                        *naive = table_row("transpose-naive"),
                        *stride = table_row("stride-copy");
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){naive}, 1), -1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){naive, scale}, 2), -1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){scale, naive}, 2), 1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){naive, stride}, 2), 1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){stride, sum}, 2), 1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){naive, scale, sum}, 3), 2);
}
END_TEST

START_TEST(test_tiles_of_whole_rows)
{
    static const struct {
        uint64_t elements, columns;
        uint32_t tiles, nearest;
    } cases[] = {
        {1 << 20, 512, 8, 8},    {1 << 20, 512, 6, 4}, {1 << 20, 512, 7, 8},
        {1 << 20, 512, 1, 1},    {30 * 7, 7, 31, 30},  {30 * 7, 7, 8, 6},
        {30 * 7, 7, 4000, 30},   {13 * 7, 7, 8, 13},   {13 * 7, 7, 7, 1},
        {1ull << 40, 1, 12, 12}, {1000, 7, 10, 10}, /* none would do */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct settings settings = test_settings("transpose-fine,scale");
        settings.elements = cases[i].elements;
        settings.columns = cases[i].columns;
        const bool divides = cases[i].elements % cases[i].columns == 0;
        ck_assert_int_eq(settings_tiles_fit(&settings, cases[i].tiles),
                         divides && cases[i].nearest == cases[i].tiles);
        ck_assert_uint_eq(settings_tiles_near(&settings, cases[i].tiles), cases[i].nearest);
        settings.chain[0] = table_row("stride-copy"); /* needs no rows */
        ck_assert(settings_tiles_fit(&settings, cases[i].tiles));
    }
}
END_TEST

START_TEST(test_auto_chooses_whole_rows)
{
    struct settings settings = test_settings("transpose-naive");
    struct tuned tuned;
    struct error error = {0};
    struct machine machine = test_machine_named("h200");
    settings.columns = 3;
    settings.elements = 3 * 1000003 * 7; /* 1, 7, 1000003 or 7000021 tiles */
    settings.tiles = settings.streams = 0;
    ck_assert_int_eq(tune_settings(&settings, &machine, NULL, &tuned, &error), STATUS_OK);
    ck_assert_uint_eq(settings.tiles, 7);
}
END_TEST

/* ---- the program ---- */

/* Verified by the program itself. */
START_TEST(test_program_runs_them)
{
    char line[256];
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line,
                 "-q --device=sim:h200 --runs=1 -k %s -n 256k -t 8 --columns=512 --stride=33 "
                 "--order=%s --layout=%s",
                 names[_i], i % 2 ? "breadth" : "depth", i / 2 ? "stage" : "tile");
        ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
    }
    snprintf(line, sizeof line,
             "-q --device=sim:h200 --runs=1 -k %s,scale -n 256k -t 8 --columns=512 --ways=4 "
             "--cpu-share=0.5",
             names[_i]);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
}
END_TEST

START_TEST(test_program_refuses_partial_rows)
{
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"-k transpose-naive -n 1M -t 6 --columns=512",
         "--tiles=6 does not divide the array's rows of --columns=512 into tiles of as many "
         "each, as transpose-naive needs (there are 2048 rows): use --tiles=4 or 8\n"},
        {"-k transpose-fine,scale -n 210 -t 31 --columns=7",
         "use --tiles=30, or --elements=217 or 434\n"},
        {"-k transpose-copy -n 1000 -t 1 --columns=512",
         "--elements=1000 is no whole number of rows of --columns=512, as transpose-copy "
         "needs: "
         "use --elements=512 or 1024\n"},
        {"-k transpose-copy -n 1000 -t 4",
         "columns=1024 (the default), as transpose-copy needs: use --elements=4096 or 8192\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(program_run(cases[i].line), 2);
        assert_has(program_err, cases[i].words);
    }
}
END_TEST

Suite *transpose_suite(void)
{
    Suite *suite = suite_create("transpose");
    TCase *twins = tcase_create("twins"), *plans = tcase_create("plans"),
          *program = tcase_create("program");
    tcase_add_loop_test(twins, test_twins_and_oracles, 0, NAMES);
    tcase_add_loop_test(twins, test_results_do_not_depend_on_threads, 0, NAMES);
    tcase_add_test(twins, test_steps_part_neighbours);
    tcase_add_test(twins, test_halves_make_a_whole);
    suite_add_tcase(suite, twins);
    tcase_add_loop_test(plans, test_results_are_verified, 0, 2 * NAMES);
    tcase_add_test(plans, test_other_results_are_refused);
    tcase_add_loop_test(plans, test_plans_never_gather_in_place, 0, 2);
    tcase_add_test(plans, test_chain_misfits);
    tcase_add_test(plans, test_tiles_of_whole_rows);
    tcase_add_test(plans, test_auto_chooses_whole_rows);
    suite_add_tcase(suite, plans);
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(program, test_program_runs_them, 0, NAMES);
    tcase_add_test(program, test_program_refuses_partial_rows);
    suite_add_tcase(suite, program);
    return suite;
}
