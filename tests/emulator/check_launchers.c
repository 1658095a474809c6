/* check_launchers.c - every launcher of the table on the emulator, against its row's oracle. */
#include "check_launchers.h"

#include "emulator.h"
#include "fixtures.h"
#include "kernels/kernel_file.h"
#include "plan/build.h"
#include "run/arrays.h"
#include "run/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The launcher of `dgemm` calls cuBLAS, which the emulator does not emulate. */
const struct kernel_launcher dgemm_launcher = {.launch = NULL};

enum { GUARD_BYTES = 256, GUARD = 0xAB, ALIGNMENT = 256, MEMORY_MAX = 4 };

/* Device memory with guard bytes before and right behind it. */
struct guarded {
    char *memory, *data;
    uint64_t bytes;
};

/* One kernel, its data, and the memory it works on. */
struct bench {
    const struct kernel *kernel;
    struct plan plan;
    struct arrays arrays;
    const struct op *op; /* the plan's one launch, or the last of its repeats' */
    uint32_t threads;    /* threads of a block; 0 where nobody says */
    struct guarded in[KERNEL_INPUTS_MAX], out, scratch;
    char *first_out; /* the result of the first order */
    bool any_out;
    char *text; /* the fault, in words */
};

struct way {
    enum emulator_next next;
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

static void guarded_take(struct guarded *array, uint64_t bytes, uint64_t offset)
{
    const uint64_t whole = 2 * GUARD_BYTES + offset + bytes;
    array->bytes = bytes;
    array->memory = aligned_alloc(ALIGNMENT, (whole / ALIGNMENT + 1) * ALIGNMENT);
    ck_assert_ptr_nonnull(array->memory);
    memset(array->memory, GUARD, (whole / ALIGNMENT + 1) * ALIGNMENT);
    array->data = array->memory + GUARD_BYTES + offset;
}

static bool guarded_is_whole(const struct guarded *array)
{
    for (int i = 0; i < GUARD_BYTES; i++)
        if ((unsigned char)array->data[-1 - i] != GUARD ||
            (unsigned char)array->data[array->bytes + (uint64_t)i] != GUARD)
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

static void must(enum status status, const struct error *error)
{
    ck_assert_msg(status == STATUS_OK, "%s", error->text);
}

/* Allocates everything; inputs and output each lie `offset` elements off alignment. */
static void bench_take(struct bench *bench, uint64_t count, uint32_t intensity, uint64_t offset)
{
    struct settings settings = test_settings("");
    struct machine machine = test_machine();
    struct error error = {0};
    settings.chain[settings.chain_length++] = bench->kernel;
    settings.elements = count;
    settings.tiles = settings.streams = 1;
    settings.intensity = intensity;
    settings.seed = count + offset;
    settings.columns = (const uint64_t[]){32, 7, 33, 1, 100, 64}[count % 6];
    settings.stride = (uint32_t)(1 + count % 40 + 7 * offset);
    machine.sms = 132;
    plan_init(&bench->plan);
    must(plan_build(&settings, &machine, &bench->plan, &error), &error);
    must(arrays_create(&bench->arrays, &bench->plan, &settings, &error), &error);
    for (uint32_t i = 0; i < bench->plan.op_count; i++)
        if (bench->plan.ops[i].kind == OP_KERNEL)
            bench->op = &bench->plan.ops[i];
    const uint64_t in = dtype_bytes(bench->kernel->in), out = dtype_bytes(bench->kernel->out);
    for (int input = 0; input < bench->kernel->inputs; input++)
        guarded_take(&bench->in[input], bench->op->kernel.ranges->in[input].bytes,
                     offset * (1 + (uint64_t)input) % 4 * in);
    guarded_take(&bench->out, bench->op->kernel.ranges->out.bytes, offset * 3 % 4 * out);
    guarded_take(&bench->scratch, bench->op->kernel.ranges->scratch.bytes, 0);
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

/* Does the work once on fresh inputs; the scratch stays as the launch before left it. */
static bool launch_once(struct bench *bench, uint32_t blocks, char what[LAUNCHER_TEXT])
{
    struct error error = {0};
    struct kernel_args args = {.out = bench->out.data,
                               .scratch = bench->scratch.data,
                               .count = bench->plan.elements,
                               .blocks = blocks,
                               .threads = bench->threads,
                               .params = bench->plan.params};
    for (int input = 0; input < bench->kernel->inputs; input++) {
        args.in[input] = bench->in[input].data;
        memcpy(bench->in[input].data, bench->arrays.host[BUFFER_HOST_IN0 + input],
               bench->in[input].bytes);
    }
    memset(bench->out.data, 0xFF, bench->out.bytes);
    if (!launch_repeats(bench, &args, what))
        return false;
    memcpy(bench->arrays.host[BUFFER_HOST_OUT], bench->out.data, bench->out.bytes);
    if (verify_output(&bench->plan, &bench->arrays, &error) != STATUS_OK) {
        snprintf(what, LAUNCHER_TEXT, "%s", error.text);
        return false;
    }
    bool whole = guarded_is_whole(&bench->out) && guarded_is_whole(&bench->scratch);
    for (int input = 0; input < bench->kernel->inputs; input++)
        whole = whole && guarded_is_whole(&bench->in[input]) &&
                memcmp(bench->in[input].data, bench->arrays.host[BUFFER_HOST_IN0 + input],
                       bench->in[input].bytes) == 0;
    if (!whole)
        snprintf(what, LAUNCHER_TEXT, "it wrote outside its output and scratch");
    return whole;
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
        emulator_set_order(way->next, way->live, (uint64_t)i + bench->plan.elements);
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
    memset(bench->scratch.data, 0, bench->scratch.bytes);
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
        if ((i == 0 || grids[i] != grids[0]) && !try_grid(bench, grids[i], data))
            return false;
    return true;
}

bool launcher_is_right(const struct kernel *kernel, uint64_t count, char text[LAUNCHER_TEXT])
{
    bool right = true;
    for (uint64_t offset = 0; offset < 2 && right; offset++) {
        struct bench bench = {.kernel = kernel, .text = text};
        bench_take(&bench, count, offset == 0 ? 1 : 3, offset);
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
    memset(bench.scratch.data, 0, bench.scratch.bytes);
    emulator_set_order(NEXT_ANY, 1, 1);
    ck_assert_msg(launch_once(&bench, KERNEL_BLOCKS_MAX, text), "%s: %s", bench.kernel->name,
                  text);
    bench_free(&bench);
}
END_TEST

/* A scan carries out all that it began with and its tile's total, or that total alone. The
 * twin, which other tests hold to a plain loop, says which value is right. */
START_TEST(test_launcher_carries)
{
    const struct kernel *kernel = &kernel_table[_i];
    for (uint32_t blocks = 1; kernel->shape == KERNEL_SCAN && blocks <= 5; blocks += 2)
        for (int way = 0; way < 4; way++) {
            uint32_t begin = 0x87654321, carried = 0, expected = 0;
            struct bench bench = {.kernel = kernel};
            bench_take(&bench, 10007, 1, blocks);
            memset(bench.scratch.data, 0, bench.scratch.bytes);
            struct kernel_args args = {.in = {bench.arrays.host[BUFFER_HOST_IN0]},
                                       .out = bench.out.data,
                                       .scratch = bench.scratch.data,
                                       .carry_in = way / 2 ? &begin : NULL,
                                       .carry_out = &carried,
                                       .carry_own = way % 2,
                                       .count = bench.plan.elements,
                                       .blocks = blocks,
                                       .params = bench.plan.params};
            emulator_set_order(NEXT_ANY, 2, blocks);
            ck_assert_int_eq(kernel_launcher(kernel)->launch(&args, NULL), 0);
            ck_assert_ptr_null(emulator_fault());
            memcpy(bench.first_out, bench.out.data, bench.out.bytes);
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
            memset(bench.scratch.data, 0, bench.scratch.bytes);
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
        memset(bench.scratch.data, 0, bench.scratch.bytes);
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
    tcase_add_loop_test(launchers, test_launcher_on_the_largest_grid, 0, rows);
    tcase_add_loop_test(launchers, test_launcher_carries, 0, rows);
    suite_add_tcase(suite, launchers);

    TCase *sizes = tcase_create("block sizes");
    tcase_add_loop_test(sizes, test_launcher_at_block_sizes, 0, rows);
    tcase_add_loop_test(sizes, test_launcher_refuses_other_blocks, 0, rows);
    suite_add_tcase(suite, sizes);
    return suite;
}
