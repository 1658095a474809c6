/* check_launchers.c - every launcher of the table on the emulator, against its row's oracle. */
#include "check_launchers.h"

#include "cpu/grid.h"
#include "fixtures.h"
#include "kernels/kernel_file.h"
#include "run/arrays.h"
#include "run/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The launcher of `dgemm` calls cuBLAS, which the emulator does not emulate. */
const struct kernel_launcher dgemm_launcher = {.launch = NULL};

/* Inputs have other guard bytes than what is written: a copy of one guard to another shows. As
 * floats they are NaN, which shows in a sum. */
enum { GUARD_BYTES = 256, GUARD = 0xAB, GUARD_IN = 0xFF, ALIGNMENT = 256 };

/* Device memory with guard bytes before and right behind it. */
struct guarded {
    char *memory, *data;
    uint64_t bytes;
    unsigned char guard;
};

/* How many elements behind a boundary of 256 bytes the arrays begin. Among the places are some
 * where they are equally far from a line, from 16 bytes but not from a line, and from neither.
 */
struct place {
    uint32_t in[KERNEL_INPUTS_MAX], out;
    bool in_place; /* the output is the first input, where the kernel may work so */
};
static const struct place places[] = {
    {{0, 0}, 0, false},  {{1, 2}, 3, false},  {{1, 1}, 1, false},   {{31, 31}, 31, false},
    {{4, 8}, 0, false},  {{0, 12}, 4, false}, {{5, 33}, 29, false}, {{30, 2}, 6, false},
    {{0, 4}, 31, false}, {{2, 1}, 4, false},  {{7, 8}, 7, true},
};
enum { PLACES = sizeof places / sizeof *places };

/* One kernel, its data, and the memory it works on. */
struct bench {
    const struct kernel *kernel;
    struct plan plan;
    struct arrays arrays;
    const struct op *op; /* the plan's one launch, or the last of its repeats' */
    uint32_t threads;    /* threads of a block; 0 where nobody says */
    struct guarded in[KERNEL_INPUTS_MAX], out, scratch;
    bool in_place;
    char *first_out; /* the result of the first order */
    bool any_out;
    char *text; /* the fault, in words */
};

struct way {
    enum grid_next next;
    uint32_t live;
    const char *name;
};
static const struct way ways[] = {
    {NEXT_LOWEST, 1, "lowest first"},
    {NEXT_HIGHEST, 2, "highest first, 2 blocks live"},
    {NEXT_WARPS, 3, "warps at random, 3 blocks live"},
    {NEXT_ANY, 8, "at random, 8 blocks live"},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void guarded_take(struct guarded *array, uint64_t bytes, uint64_t offset,
                         unsigned char guard)
{
    const uint64_t whole = 2 * GUARD_BYTES + offset + bytes;
    array->bytes = bytes;
    array->guard = guard;
    array->memory = aligned_alloc(ALIGNMENT, (whole / ALIGNMENT + 1) * ALIGNMENT);
    ck_assert_ptr_nonnull(array->memory);
    memset(array->memory, guard, (whole / ALIGNMENT + 1) * ALIGNMENT);
    array->data = array->memory + GUARD_BYTES + offset;
}

static bool guarded_is_whole(const struct guarded *array)
{
    for (int i = 0; i < GUARD_BYTES; i++)
        if ((unsigned char)array->data[-1 - i] != array->guard ||
            (unsigned char)array->data[array->bytes + (uint64_t)i] != array->guard)
            return false;
    return true;
}

/* Values that are easy to get wrong are strewn among the others. */
static void strew_specials(struct bench *bench, int input)
{
    static const double specials[] = {INFINITY, -0.0,      NAN,    1e-310, 1e-40, 0.0,
                                      1e30,     -INFINITY, 3.4e38, 1e300,  1.0,   -1.0};
    static const int32_t integers[] = {INT32_MIN, INT32_MAX, 0, -1, 1, 0x01010101};
    void *data = bench->arrays.host[BUFFER_HOST_IN0 + input];
    for (uint64_t i = 0, n = (uint64_t)input; i < bench->plan.elements; i += 1 + i / 2, n++) {
        const double special = specials[n % (sizeof specials / sizeof *specials)];
        if (bench->kernel->in == DTYPE_F32)
            ((float *)data)[i] = (float)special;
        else if (bench->kernel->in == DTYPE_F64)
            ((double *)data)[i] = special;
        else
            ((int32_t *)data)[i] = integers[n % (sizeof integers / sizeof *integers)];
    }
}

/* Allocates everything; the arrays lie as places[place] says. */
static void bench_take(struct bench *bench, uint64_t count, uint32_t intensity, uint32_t place)
{
    const struct kernel *kernel = bench->kernel;
    struct settings settings = test_settings("");
    struct machine machine = test_machine();
    struct error error = {0};
    settings.chain[settings.chain_length++] = kernel;
    settings.elements = count;
    settings.tiles = settings.streams = 1;
    settings.intensity = intensity;
    settings.seed = count + place;
    settings.columns = (const uint64_t[]){32, 7, 33, 1, 100, 64}[count % 6];
    settings.stride = (uint32_t)(1 + count % 40 + 7 * place);
    machine.sms = 132;
    bench->plan = (struct plan){0};
    bench->plan = test_built_on(&settings, &machine);
    test_must(arrays_create(&bench->arrays, &bench->plan, &settings, &error), &error);
    for (uint32_t i = 0; i < bench->plan.op_count; i++)
        if (bench->plan.ops[i].kind == OP_KERNEL)
            bench->op = &bench->plan.ops[i];
    const struct op_ranges *ranges = bench->op->kernel.ranges;
    for (int input = 0; input < kernel->inputs; input++)
        guarded_take(&bench->in[input], ranges->in[input].bytes,
                     places[place].in[input] * dtype_bytes(kernel->in), GUARD_IN);
    guarded_take(&bench->out, ranges->out.bytes, places[place].out * dtype_bytes(kernel->out),
                 GUARD);
    guarded_take(&bench->scratch, ranges->scratch.bytes, 0, GUARD);
    memset(bench->scratch.data, 0, bench->scratch.bytes);
    bench->in_place = places[place].in_place && kernel->shape != KERNEL_REDUCE &&
                      !kernel->gathers && !kernel->launch_per_repeat;
    bench->first_out = malloc(bench->out.bytes);
    ck_assert_ptr_nonnull(bench->first_out);
}

static void bench_free(struct bench *bench)
{
    for (int input = 0; input < KERNEL_INPUTS_MAX; input++)
        free(bench->in[input].memory);
    free(bench->out.memory);
    free(bench->scratch.memory);
    free(bench->first_out);
    arrays_free(&bench->arrays);
    plan_free(&bench->plan);
}

/* Launches the kernel as often as its work on a tile takes. */
static bool launch_repeats(const struct bench *bench, struct kernel_args *args,
                           char what[LAUNCHER_TEXT])
{
    for (; args->repeat < kernel_launches(bench->kernel, &args->params); args->repeat++) {
        const int result = kernel_launcher(bench->kernel)->launch(args, NULL);
        const char *fault = emulator_fault();
        if (result == 0 && fault == NULL)
            continue;
        snprintf(what, LAUNCHER_TEXT, "%s", fault == NULL ? "it was not launched" : fault);
        return false;
    }
    return true;
}

/* Launches on fresh inputs; the scratch stays as the launch before left it. Returns true if the
 * output and the scratch are all that was written. */
static bool launch_fresh(const struct bench *bench, struct kernel_args *args,
                         char what[LAUNCHER_TEXT])
{
    memset(bench->out.data, 0xFF, bench->out.bytes);
    for (int input = 0; input < bench->kernel->inputs; input++)
        args->in[input] =
            memcpy(bench->in[input].data, bench->arrays.host[BUFFER_HOST_IN0 + input],
                   bench->in[input].bytes);
    if (bench->in_place)
        args->in[0] = memcpy(bench->out.data, bench->in[0].data, bench->in[0].bytes);
    if (!launch_repeats(bench, args, what))
        return false;
    bool whole = guarded_is_whole(&bench->out) && guarded_is_whole(&bench->scratch);
    for (int input = 0; input < bench->kernel->inputs; input++)
        whole = whole && guarded_is_whole(&bench->in[input]) &&
                memcmp(bench->in[input].data, bench->arrays.host[BUFFER_HOST_IN0 + input],
                       bench->in[input].bytes) == 0;
    if (!whole)
        snprintf(what, LAUNCHER_TEXT, "it wrote outside its output and scratch");
    return whole;
}

/* Launches once and judges the result. */
static bool launch_once(const struct bench *bench, uint32_t blocks, char what[LAUNCHER_TEXT])
{
    struct error error = {0};
    struct kernel_args args = {.out = bench->out.data,
                               .scratch = bench->scratch.data,
                               .count = bench->plan.elements,
                               .blocks = blocks,
                               .threads = bench->threads,
                               .params = bench->plan.params};
    if (!launch_fresh(bench, &args, what))
        return false;
    memcpy(bench->arrays.host[BUFFER_HOST_OUT], bench->out.data, bench->out.bytes);
    const bool right = verify_output(&bench->plan, &bench->arrays, &error) == STATUS_OK;
    if (!right)
        snprintf(what, LAUNCHER_TEXT, "%s", error.text);
    return right;
}

/* Sums by floating-point atomics come in any order; all else must not depend on it. */
static bool may_differ(const struct kernel *kernel)
{
    return kernel->shape == KERNEL_REDUCE && kernel->out != DTYPE_I32 &&
           strstr(kernel->name, "atomic") != NULL;
}

/* Runs all orders, twice each, on one grid. */
static bool try_grid(struct bench *bench, uint32_t blocks, const char *data)
{
    char what[LAUNCHER_TEXT - 256];
    bench->any_out = false;
    for (int i = 0; i < 2 * WAYS; i++) {
        const struct way *way = &ways[i / 2];
        grid_set_order(way->next, way->live, (uint64_t)i + bench->plan.elements);
        char text[LAUNCHER_TEXT] = "";
        bool right = launch_once(bench, blocks, text);
        if (right && bench->any_out && !may_differ(bench->kernel) &&
            memcmp(bench->first_out, bench->out.data, bench->out.bytes) != 0) {
            snprintf(text, sizeof text, "another result than in the first order");
            right = false;
        }
        if (!right) {
            snprintf(what, sizeof what, "%s", text);
            snprintf(bench->text, LAUNCHER_TEXT,
                     "%s of %" PRIu64 " elements, intensity %" PRIu32 ", %s data, %" PRIu32
                     " blocks of %" PRIu32 " threads, %s: %s",
                     bench->kernel->name, bench->plan.elements, bench->plan.params.intensity,
                     data, blocks, bench->threads > 0 ? bench->threads : KERNEL_THREADS,
                     way->name, what);
            return false;
        }
        memcpy(bench->first_out, bench->out.data, bench->out.bytes);
        bench->any_out = true;
    }
    return true;
}

/* Runs all grids: the planned one, one block, few, and more than there is work for. */
static bool try_data(struct bench *bench, const char *data)
{
    const uint32_t grids[] = {bench->op->kernel.blocks, 1, 2, 7};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
        if ((i == 0 || grids[i] != grids[0]) && !try_grid(bench, grids[i], data))
            return false;
    return true;
}

bool launcher_is_right(const struct kernel *kernel, uint64_t count, char text[LAUNCHER_TEXT])
{
    bool right = true;
    for (uint32_t place = 0; place < 2 && right; place++) {
        struct bench bench = {.kernel = kernel, .text = text};
        bench_take(&bench, count, place == 0 ? 1 : 3, place);
        right = try_data(&bench, "random");
        for (int input = 0; input < kernel->inputs; input++)
            strew_specials(&bench, input);
        right = right && try_data(&bench, "special");
        bench_free(&bench);
    }
    return right;
}

static void launcher_must_be_right(const struct kernel *kernel, uint64_t count)
{
    char text[LAUNCHER_TEXT];
    ck_assert_msg(launcher_is_right(kernel, count, text), "%s", text);
}

/* Returns the step through a list of sizes: PIPELINE_TESTS=quick tries only every third. */
static size_t few_or_all(void)
{
    return test_cases(100) < 100 ? 3 : 1;
}

START_TEST(test_launcher)
{
    static const uint64_t counts[] = {1, 31, 32, 33, 1023, 1024, 1025, 4097};
    const struct kernel *kernel = &kernel_table[_i];
    uint64_t state = (uint64_t)_i + 1;
    if (kernel->rated)
        return; /* see dgemm_launcher */
    ck_assert_int_eq(kernel_launcher(kernel)->preload(), 0);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i += few_or_all())
        launcher_must_be_right(kernel, counts[i]);
    if (few_or_all() == 1)
        launcher_must_be_right(kernel, 2 + test_random_below(&state, 20000));
}
END_TEST

/* A grid may have as many blocks as a launch allows; most of them then find nothing to do. */
START_TEST(test_launcher_on_the_largest_grid)
{
    char text[LAUNCHER_TEXT];
    struct bench bench = {.kernel = &kernel_table[_i], .text = text};
    if (bench.kernel->rated)
        return;
    bench_take(&bench, 5000, 1, 1);
    grid_set_order(NEXT_ANY, 1, 1);
    ck_assert_msg(launch_once(&bench, KERNEL_BLOCKS_MAX, text), "%s: %s", bench.kernel->name,
                  text);
    bench_free(&bench);
}
END_TEST

/* Returns a count at which a vector, a line, or a block's part ends, or one off that. Parts are
 * counted from the array's beginning, or from that of the line in which the output begins. */
enum { EDGES = 15 };
static uint64_t edge(const struct kernel *kernel, const struct place *place, uint32_t i)
{
    const uint64_t part = (uint64_t)kernel->per_thread * KERNEL_THREADS,
                   first = part - place->out % KERNEL_LINE;
    return (const uint64_t[EDGES]){1,         2,        3,    4,         5,
                                   31,        32,       33,   first - 1, first,
                                   first + 1, part - 1, part, part + 1,  part + first + 1}[i];
}

/* Returns the step through all places and edges, which has no factor in common with either. */
static uint32_t edge_step(void)
{
    return few_or_all() == 1 ? 1 : 7;
}

START_TEST(test_launcher_off_alignment)
{
    const struct kernel *kernel = &kernel_table[_i];
    for (uint32_t i = 0; !kernel->rated && i < PLACES * EDGES; i += edge_step()) {
        char text[LAUNCHER_TEXT];
        struct bench bench = {.kernel = kernel};
        const uint32_t place = i / EDGES;
        bench_take(&bench, edge(kernel, &places[place], i % EDGES), 1, place);
        for (uint32_t grid = 0; grid < 2; grid++) {
            const struct way *way = &ways[(i + grid) % WAYS];
            grid_set_order(way->next, way->live, i);
            ck_assert_msg(launch_once(&bench, grid == 0 ? bench.op->kernel.blocks : 2, text),
                          "%s of %" PRIu64 " elements at place %" PRIu32 ", %s: %s",
                          kernel->name, bench.plan.elements, place, way->name, text);
        }
        bench_free(&bench);
    }
}
END_TEST

/* A scan carries out all that it began with and its tile's total, or that total alone. The
 * twin, which other tests hold to a plain loop, says which value is right. */
START_TEST(test_launcher_carries)
{
    const struct kernel *kernel = &kernel_table[_i];
    const bool scans = kernel->shape == KERNEL_SCAN;
    for (uint32_t i = 0; scans && i < PLACES * EDGES; i += edge_step()) {
        char text[LAUNCHER_TEXT] = "";
        uint32_t begin = 0x87654321, carried = 0, expected = 0;
        struct bench bench = {.kernel = kernel};
        bench_take(&bench, edge(kernel, &places[i / EDGES], i % EDGES), 1, i / EDGES);
        struct kernel_args args = {.out = bench.out.data,
                                   .scratch = bench.scratch.data,
                                   .carry_in = i / 2 % 2 ? &begin : NULL,
                                   .carry_out = &carried,
                                   .carry_own = i % 2,
                                   .count = bench.plan.elements,
                                   .blocks = 1 + i % 3,
                                   .params = bench.plan.params};
        grid_set_order(NEXT_ANY, 2, i);
        ck_assert_msg(launch_fresh(&bench, &args, text), "%s", text);
        args.in[0] = bench.arrays.host[BUFFER_HOST_IN0];
        args.out = bench.first_out;
        args.carry_out = &expected;
        kernel_code(kernel)->host(&args);
        ck_assert_mem_eq(bench.first_out, bench.out.data, bench.out.bytes);
        ck_assert_uint_eq(carried, expected);
        bench_free(&bench);
    }
}
END_TEST

/* A row that heeds the block's size takes every size, here with counts that fill no block of
 * any. */
START_TEST(test_launcher_at_block_sizes)
{
    static const uint64_t counts[] = {1, 31, 33, 1023, 1025, 8191, 10007};
    const struct kernel *kernel = &kernel_table[_i];
    for (uint32_t threads = 32; kernel->any_threads && threads <= KERNEL_THREADS_MAX;
         threads *= 2)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i += few_or_all()) {
            char text[LAUNCHER_TEXT];
            struct bench bench = {.kernel = kernel, .threads = threads, .text = text};
            bench_take(&bench, counts[i], 1, i % 2);
            const uint32_t grids[] = {bench.op->kernel.blocks, 3};
            const int some =
                kernel->whole_grid ? 1 : 2; /* a whole-grid kernel takes no block but its own */
            for (int grid = 0; grid < some; grid++)
                ck_assert_msg(try_grid(&bench, grids[grid], "random"), "%s", text);
            bench_free(&bench);
        }
}
END_TEST

/* A row refuses blocks of other sizes. */
START_TEST(test_launcher_refuses_other_blocks)
{
    static const uint32_t sizes[] = {1, 16, 31, 48, 96, 1025, 1536, 2048, UINT32_MAX};
    const struct kernel *kernel = &kernel_table[_i];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && kernel->any_threads; i++) {
        char text[LAUNCHER_TEXT] = "";
        struct bench bench = {.kernel = kernel, .threads = sizes[i], .text = text};
        bench_take(&bench, 5000, 1, 0);
        ck_assert_msg(!launch_once(&bench, 3, text) && strcmp(text, "it was not launched") == 0,
                      "%s in blocks of %" PRIu32 " threads: %s", kernel->name, sizes[i], text);
        bench_free(&bench);
    }
}
END_TEST

Suite *launchers_suite(void)
{
    Suite *suite = suite_create("launchers");
    TCase *launchers = tcase_create("launchers");
    int rows = 0;
    while (kernel_table[rows].name != NULL)
        rows++;
    tcase_add_loop_test(launchers, test_launcher, 0, rows);
    tcase_add_loop_test(launchers, test_launcher_off_alignment, 0, rows);
    tcase_add_loop_test(launchers, test_launcher_on_the_largest_grid, 0, rows);
    tcase_add_loop_test(launchers, test_launcher_carries, 0, rows);
    suite_add_tcase(suite, launchers);

    TCase *sizes = tcase_create("block sizes");
    tcase_add_loop_test(sizes, test_launcher_at_block_sizes, 0, rows);
    tcase_add_loop_test(sizes, test_launcher_refuses_other_blocks, 0, rows);
    suite_add_tcase(suite, sizes);
    return suite;
}
