/* kernels.c - the table of kernels, and what can be read off a row. */
#include "kernels.h"

#include "kernel_rows.h"
#include "map_rows.h"
#include "nearest.h"
#include "reduction_rows.h"
#include "scan_rows.h"
#include "transpose_rows.h"

#include <string.h>

/* What all sums of ints have in common; how they come by theirs is the device's affair. */
#define SUM_OF_INTS                                                                            \
    .shape = KERNEL_REDUCE, .inputs = 1, .in = DTYPE_I32, .out = DTYPE_I32, .flops = 1,        \
    .host = reduce_shuffle_host, .oracle_fold = reduce_shuffle_oracle_fold,                    \
    .oracle_result = reduce_shuffle_oracle_result

/* The ladder's first steps: what a thread takes, it takes at once, and there is a thread for
 * everything. */
#define LADDER_STEP(each)                                                                      \
    SUM_OF_INTS, .per_thread = each, .sweep = each, .whole_grid = true, .any_threads = true

/* Maps of floats that move elements and change none, each thread its share at once. */
#define MOVES(id, each, twin, from)                                                            \
    .shape = KERNEL_MAP, .inputs = 1, .in = DTYPE_F32, .out = DTYPE_F32, .flops = 0,           \
    .per_thread = each, .sweep = each, .whole_grid = true, .launch = id##_launch,              \
    .preload = id##_preload, .host = twin, .gather = from, .oracle_map = gather_oracle

/* A block of threads per square of the matrix. */
#define TRANSPOSE(id, twin, from)                                                              \
    MOVES(transpose_##id, TRANSPOSE_PER_THREAD, twin, from), .unit = transpose_unit

const struct kernel kernel_table[] = {
    {
        .name = "scale",
        .summary = "a*x + b: the light kernel; --intensity makes it as heavy as you like",
        .shape = KERNEL_MAP,
        .inputs = 1,
        .in = DTYPE_F32,
        .out = DTYPE_F32,
        .flops = 2,
        .repeats = true,
        .per_thread = 4,
        .sweep = 4, /* a float4 */
        .calibrated = true,
        .launch = scale_launch,
        .preload = scale_preload,
        .host = scale_host,
        .oracle_map = scale_oracle,
    },
    {
        .name = "wave",
        .summary = "sin(cos(sin(sqrt(pow(cos(x*x + y*y), 2))))) of two arrays",
        .shape = KERNEL_MAP,
        .inputs = 2,
        .in = DTYPE_F32,
        .out = DTYPE_F32,
        .flops = 100, /* an estimate of what the functions cost; calibration replaces it */
        .repeats = true,
        .per_thread = 4,
        .sweep = 1,
        .calibrated = true,
        .launch = wave_launch,
        .preload = wave_preload,
        .host = wave_host,
        .oracle_map = wave_oracle,
    },
    {
        .name = "wave-launches",
        .summary = "wave, but each of --intensity's repeats is a launch of its own",
        .shape = KERNEL_MAP,
        .inputs = 2,
        .in = DTYPE_F32,
        .out = DTYPE_F32,
        .flops = 100, /* as wave's */
        .repeats = true,
        .per_thread = 4,
        .sweep = 1,
        .launch_per_repeat = true,
        .rates_of = "wave",
        .launch = wave_launches_launch,
        .preload = wave_launches_preload,
        .host = wave_launches_host,
        .oracle_map = wave_oracle,
    },
    {
        .name = "uniform",
        .summary = "one of two branches of equal cost, the same for all threads of a warp",
        .shape = KERNEL_MAP,
        .inputs = 1,
        .in = DTYPE_F32,
        .out = DTYPE_F32,
        .flops = 2,
        .repeats = true,
        .per_thread = 4,
        .sweep = 1,
        .launch = uniform_launch,
        .preload = uniform_preload,
        .host = uniform_host,
        .oracle_map = uniform_oracle,
    },
    {
        .name = "divergent",
        .summary = "the same, but every warp takes both branches, one after the other",
        .shape = KERNEL_MAP,
        .inputs = 1,
        .in = DTYPE_F32,
        .out = DTYPE_F32,
        .flops = 4, /* half of a warp's lanes idle in each branch: two are done, four paid
                     (not by the CPU, which has no warps) */
        .repeats = true,
        .per_thread = 4,
        .sweep = 1,
        .launch = divergent_launch,
        .preload = divergent_preload,
        .host = divergent_host,
        .oracle_map = divergent_oracle,
    },
    {
        .name = "sum",
        .summary = "the sum of floats in one pass: the fastest reduction",
        .shape = KERNEL_REDUCE,
        .inputs = 1,
        .in = DTYPE_F32,
        .out = DTYPE_F32,
        .flops = 1,
        .per_thread = 32, /* eight float4, all in flight at once */
        .sweep = 32,
        .calibrated = true,
        .launch = sum_launch,
        .preload = sum_preload,
        .host = sum_host,
        .oracle_fold = sum_oracle_fold,
        .oracle_result = sum_oracle_result,
    },
    {
        .name = "reduce-shuffle",
        .summary = "the sum of ints modulo 2^32: warp shuffles, then the block",
        .shape = KERNEL_REDUCE,
        .inputs = 1,
        .in = DTYPE_I32,
        .out = DTYPE_I32,
        .flops = 1,
        .per_thread = 8,
        .sweep = 1,
        .calibrated = true,
        .launch = reduce_shuffle_launch,
        .preload = reduce_shuffle_preload,
        .host = reduce_shuffle_host,
        .oracle_fold = reduce_shuffle_oracle_fold,
        .oracle_result = reduce_shuffle_oracle_result,
    },
    {
        .name = "reduce-divergent",
        .summary = "int sum, step 1: interleaved pairs; warps diverge, by a slow remainder",
        LADDER_STEP(1),
        .launch = reduce_divergent_launch,
        .preload = reduce_divergent_preload,
    },
    {
        .name = "reduce-conflicts",
        .summary = "int sum, step 2: the same pairs by threads side by side: bank conflicts",
        LADDER_STEP(1),
        .launch = reduce_conflicts_launch,
        .preload = reduce_conflicts_preload,
    },
    {
        .name = "reduce-sequential",
        .summary = "int sum, step 3: the far half onto the near one: no bank conflicts",
        LADDER_STEP(1),
        .launch = reduce_sequential_launch,
        .preload = reduce_sequential_preload,
    },
    {
        .name = "reduce-first-add",
        .summary = "int sum, step 4: two elements per thread, added as they are loaded",
        LADDER_STEP(2),
        .launch = reduce_first_add_launch,
        .preload = reduce_first_add_preload,
    },
    {
        .name = "reduce-last-warp",
        .summary = "int sum, step 5: the last warp unrolled, without block barriers",
        LADDER_STEP(2),
        .launch = reduce_last_warp_launch,
        .preload = reduce_last_warp_preload,
    },
    {
        .name = "reduce-unrolled",
        .summary = "int sum, step 6: all unrolled, by a template on the block size",
        LADDER_STEP(2),
        .launch = reduce_unrolled_launch,
        .preload = reduce_unrolled_preload,
    },
    {
        .name = "reduce-many",
        .summary = "int sum, step 7: many elements per thread before the block adds up",
        SUM_OF_INTS,
        .per_thread = 8,
        .sweep = 2,
        .any_threads = true,
        .launch = reduce_many_launch,
        .preload = reduce_many_preload,
    },
    {
        .name = "reduce-atomic",
        .summary = "int sum by one atomic addition per element: don't",
        SUM_OF_INTS,
        .per_thread = 1,
        .sweep = 1,
        .launch = reduce_atomic_launch,
        .preload = reduce_atomic_preload,
    },
    {
        .name = "sum-int",
        .summary = "the sum of ints modulo 2^32 in one pass: as fast as sum",
        SUM_OF_INTS,
        .per_thread = 32, /* as sum's */
        .sweep = 32,
        .launch = sum_int_launch,
        .preload = sum_int_preload,
    },
    {
        .name = "sum-double",
        .summary = "the sum of doubles in one pass",
        .shape = KERNEL_REDUCE,
        .inputs = 1,
        .in = DTYPE_F64,
        .out = DTYPE_F64,
        .flops = 1,
        .per_thread = 16, /* eight double2 */
        .sweep = 16,
        .launch = sum_double_launch,
        .preload = sum_double_preload,
        .host = sum_double_host,
        .oracle_fold = sum_double_oracle_fold,
        .oracle_result = sum_double_oracle_result,
    },
    {
        .name = "all",
        .summary = "logical AND of ints: 1 if none is 0, else 0",
        .shape = KERNEL_REDUCE,
        .fold = KERNEL_FOLD_AND,
        .inputs = 1,
        .in = DTYPE_I32,
        .out = DTYPE_I32,
        .flops = 1, /* a comparison */
        .per_thread = 32,
        .sweep = 32,
        .launch = all_launch,
        .preload = all_preload,
        .host = all_host,
        .oracle_fold = all_oracle_fold,
        .oracle_result = all_oracle_result,
    },
    {
        .name = "finite",
        .summary = "1 if no float is infinite or NaN, else 0; told by the exponent's bits",
        .shape = KERNEL_REDUCE,
        .fold = KERNEL_FOLD_AND,
        .inputs = 1,
        .in = DTYPE_F32,
        .out = DTYPE_I32,
        .flops = 1, /* a comparison */
        .per_thread = 32,
        .sweep = 32,
        .launch = finite_launch,
        .preload = finite_preload,
        .host = finite_host,
        .oracle_fold = finite_oracle_fold,
        .oracle_result = finite_oracle_result,
    },
    {
        .name = "scan",
        .summary = "prefix sums of ints modulo 2^32, of the whole array: one pass, the fastest",
        .shape = KERNEL_SCAN,
        .inputs = 1,
        .in = DTYPE_I32,
        .out = DTYPE_I32,
        .flops = 2,
        .per_thread = 32, /* eight int4, all in flight at once */
        .sweep = 32,
        .launch = scan_launch,
        .preload = scan_preload,
        .host = scan_inclusive_host,
    },
    {
        .name = "scan-exclusive",
        .summary = "as scan, but each element gets the sum of those before it alone",
        .shape = KERNEL_SCAN,
        .inputs = 1,
        .in = DTYPE_I32,
        .out = DTYPE_I32,
        .flops = 2,
        .exclusive = true,
        .per_thread = 32,
        .sweep = 32,
        .launch = scan_exclusive_launch,
        .preload = scan_exclusive_preload,
        .host = scan_exclusive_host,
    },
    {
        .name = "scan-naive",
        .summary =
            "as scan; in a block after Hillis and Steele, double-buffered: n log n additions",
        .shape = KERNEL_SCAN,
        .inputs = 1,
        .in = DTYPE_I32,
        .out = DTYPE_I32,
        .flops = 8,
        .per_thread = 1,
        .sweep = 1,
        .launch = scan_naive_launch,
        .preload = scan_naive_preload,
        .host = scan_inclusive_host,
    },
    {
        .name = "scan-efficient",
        .summary =
            "as scan-exclusive; in a block after Blelloch, up and down a tree: 2 n additions",
        .shape = KERNEL_SCAN,
        .inputs = 1,
        .in = DTYPE_I32,
        .out = DTYPE_I32,
        .flops = 2,
        .exclusive = true,
        .per_thread = 2,
        .sweep = 2,
        .launch = scan_efficient_launch,
        .preload = scan_efficient_preload,
        .host = scan_exclusive_host,
    },
    {
        .name = "scan-conflict-free",
        .summary = "as scan-efficient, padded so that no two threads want one memory bank",
        .shape = KERNEL_SCAN,
        .inputs = 1,
        .in = DTYPE_I32,
        .out = DTYPE_I32,
        .flops = 2,
        .exclusive = true,
        .per_thread = 2,
        .sweep = 2,
        .launch = scan_conflict_free_launch,
        .preload = scan_conflict_free_preload,
        .host = scan_exclusive_host,
    },
    {.name = "transpose-copy",
     .summary = "a matrix copied square by square: what a transpose can reach",
     TRANSPOSE(copy, transpose_copy_host, copy_gather)},
    {.name = "transpose-shared-copy",
     .summary = "the copy by way of shared memory, with its barrier",
     TRANSPOSE(shared_copy, transpose_copy_host, copy_gather)},
    {.name = "transpose-naive",
     .summary = "each tile's matrix transposed: reads rows, writes columns",
     TRANSPOSE(naive, transpose_host, transpose_gather)},
    {.name = "transpose-coalesced",
     .summary = "the same through shared memory: writes rows; bank conflicts",
     TRANSPOSE(coalesced, transpose_host, transpose_gather)},
    {.name = "transpose-conflict-free",
     .summary = "the same, shared memory padded by a column: no conflicts",
     TRANSPOSE(conflict_free, transpose_host, transpose_gather)},
    {.name = "transpose-fine",
     .summary = "each square transposed in its place: half a transpose",
     TRANSPOSE(fine, transpose_fine_host, transpose_fine_gather)},
    {.name = "transpose-coarse",
     .summary = "squares change places, as they are: the other half",
     TRANSPOSE(coarse, transpose_coarse_host, transpose_coarse_gather)},
    {.name = "transpose-diagonal",
     .summary = "conflict-free, with squares taken along diagonals",
     TRANSPOSE(diagonal, transpose_host, transpose_gather)},
    {.name = "stride-copy",
     .summary = "a copy that reads --stride elements apart: what bandwidth is left",
     MOVES(stride_copy, STRIDE_PER_THREAD, stride_copy_host, stride_copy_gather)},
    {.name = NULL},
};

size_t dtype_bytes(enum dtype dtype)
{
    static const size_t bytes[DTYPE_COUNT] = {
        [DTYPE_F32] = sizeof(float),
        [DTYPE_I32] = sizeof(int32_t),
        [DTYPE_F64] = sizeof(double),
    };
    return bytes[dtype];
}

const char *dtype_name(enum dtype dtype)
{
    static const char *const names[DTYPE_COUNT] = {
        [DTYPE_F32] = "float32",
        [DTYPE_I32] = "int32",
        [DTYPE_F64] = "float64",
    };
    return names[dtype];
}

const struct kernel *kernel_find(const char *name)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        if (strcmp(kernel->name, name) == 0)
            return kernel;
    return NULL;
}

const char *kernel_nearest(const char *name)
{
    struct nearest nearest = nearest_begin(name);
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        nearest_offer(&nearest, kernel->name);
    return nearest.best;
}

/* Elements that a full block takes at once. */
static uint64_t elements_per_block(const struct kernel *kernel)
{
    return (uint64_t)kernel->per_thread * KERNEL_THREADS;
}

size_t kernel_scratch_bytes(const struct kernel *kernel, uint64_t count)
{
    if (kernel->shape == KERNEL_REDUCE)
        return KERNEL_SCRATCH_BYTES;
    if (kernel->shape != KERNEL_SCAN)
        return 0;
    const uint64_t part = elements_per_block(kernel);
    return KERNEL_SCRATCH_HEAD + (count / part + (count % part != 0)) * sizeof(uint64_t);
}

uint32_t kernel_blocks(const struct kernel *kernel, uint64_t count, uint32_t resident_blocks)
{
    const uint64_t per_block = elements_per_block(kernel);
    uint64_t blocks = count / per_block + (count % per_block != 0);
    if (kernel->whole_grid)
        return blocks < KERNEL_GRID_MAX ? (uint32_t)blocks : KERNEL_GRID_MAX;
    if (blocks > resident_blocks)
        blocks = resident_blocks;
    if (blocks > KERNEL_BLOCKS_MAX)
        blocks = KERNEL_BLOCKS_MAX;
    return blocks > 0 ? (uint32_t)blocks : 1;
}

uint32_t kernel_launches(const struct kernel *kernel, const struct kernel_params *params)
{
    return kernel->launch_per_repeat ? params->intensity : 1;
}

uint64_t kernel_chain_launches(const struct kernel *const chain[], int length,
                               const struct kernel_params *params)
{
    uint64_t launches = 0;
    for (int i = 0; i < length; i++)
        launches += kernel_launches(chain[i], params);
    return launches;
}

/* A launch that goes on with what the last one left reads that, too. */
double kernel_bytes_per_element(const struct kernel *kernel)
{
    const size_t read = (size_t)kernel->inputs * dtype_bytes(kernel->in) +
                        (kernel->launch_per_repeat ? dtype_bytes(kernel->out) : 0);
    const size_t written = kernel->shape == KERNEL_REDUCE ? 0 : dtype_bytes(kernel->out);
    return (double)(read + written);
}

double kernel_flops_per_element(const struct kernel *kernel, const struct kernel_params *params)
{
    const bool repeats = kernel->repeats && !kernel->launch_per_repeat;
    return kernel->flops * (repeats ? params->intensity : 1);
}

uint64_t chain_unit(const struct kernel *const chain[], int length,
                    const struct kernel_params *params)
{
    for (int i = 0; i < length; i++)
        if (chain[i]->unit != NULL)
            return chain[i]->unit(params);
    return 1;
}

int kernel_chain_misfit(const struct kernel *const chain[], int length)
{
    const bool first_reads_on = chain[0]->launch_per_repeat || chain[0]->gather != NULL;
    for (int i = 1; i < length; i++)
        if (chain[i - 1]->shape == KERNEL_REDUCE || chain[i - 1]->out != chain[i]->in ||
            chain[i]->launch_per_repeat || chain[i]->gather != NULL ||
            (first_reads_on && chain[i]->shape == KERNEL_REDUCE))
            return i;
    return -1;
}

bool kernel_chain_scans(const struct kernel *const chain[], int length)
{
    for (int i = 0; i < length; i++)
        if (chain[i]->shape == KERNEL_SCAN)
            return true;
    return false;
}
