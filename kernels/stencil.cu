/* stencil.cu - `stencil`: one step of a star stencil on rows of params.columns elements.
 *
 * An element becomes half of itself and a share of its 4 * halo neighbours: `halo` above,
 * below, left and right of it. All neighbours have the same weight, a power of two, and
 * together at most the other half: so values stay in the range of the first ones, however many
 * steps are made. What lies beside a row counts as zero. What lies above and below is read from
 * memory: the input begins `halo` rows before the output's first one and ends as many behind
 * its last. Whoever launches sets the rows outside the array to zero.
 *
 * A product with a power of two is exact, so it does not matter whether a compiler joins it
 * with the addition behind it: GPU and CPU give the same bits. With a halo of 0 there are no
 * neighbours, and the output is half of the input. */
#include "kernels/kernel_file.h"

/* Returns the weight of a neighbour: the largest power of two of which 4 * halo are no more
 * than a half. */
static float stencil_weight(uint32_t halo)
{
    float weight = 0.125f;
    for (uint32_t room = 1; room < halo; room *= 2)
        weight /= 2;
    return weight;
}

#ifdef __cplusplus /* ---- the kernel and its launcher ---- */

#include "kernels/device_util.cuh"

enum { PER_THREAD = 4 }; /* elements of a thread, as in the row */

struct star {
    const float *first; /* the input's element at the place of the output's first one */
    float *out;
    uint64_t count;
    unsigned columns, halo;
    float weight;
};

/* Adds up an element's neighbours, the nearest first. */
static __device__ inline float neighbours(const struct star &s, const float *x, unsigned column)
{
    float sum = 0;
    for (unsigned k = 1; k <= s.halo; k++) {
        const uint64_t rows = static_cast<uint64_t>(k) * s.columns;
        const float left = column >= k ? x[-static_cast<int64_t>(k)] : 0.0f;
        const float right = s.columns - column > k ? x[k] : 0.0f;
        sum += (*(x - rows) + x[rows]) + (left + right);
    }
    return sum;
}

/* Threads side by side have elements side by side, and a thread's own are a block's width
 * apart. It divides once to find its column, and later only where its row has ended. Rows above
 * and below were mostly read by other blocks a short while ago, and are still in the cache. */
static __global__ void __launch_bounds__(KERNEL_THREADS) stencil_kernel(struct star s)
{
    uint64_t at = static_cast<uint64_t>(blockIdx.x) * PER_THREAD * KERNEL_THREADS + threadIdx.x;
    unsigned column = static_cast<unsigned>(at % s.columns);
    for (unsigned i = 0; i < PER_THREAD && at < s.count; i++) {
        const float *x = s.first + at;
        s.out[at] = 0.5f * *x + s.weight * neighbours(s, x, column);
        at += KERNEL_THREADS;
        column += KERNEL_THREADS;
        if (column >= s.columns)
            column %= s.columns;
    }
}

static int stencil_launch(const struct kernel_args *args, void *stream)
{
    const uint64_t per_block = PER_THREAD * KERNEL_THREADS;
    const uint64_t blocks = args->count / per_block + (args->count % per_block != 0);
    struct star s = {};
    if (blocks > KERNEL_GRID_MAX)
        return cudaErrorInvalidConfiguration;
    s.columns = static_cast<unsigned>(args->params.columns);
    s.halo = args->params.halo;
    s.first =
        static_cast<const float *>(args->in[0]) + static_cast<uint64_t>(s.halo) * s.columns;
    s.out = static_cast<float *>(args->out);
    s.count = args->count;
    s.weight = stencil_weight(s.halo);
    return kernel_launch_grid(stencil_kernel, static_cast<unsigned>(blocks), KERNEL_THREADS,
                              stream, s);
}

KERNEL_LAUNCHER(stencil, stencil_launch, stencil_kernel);

#else /* ---- the CPU twin and the check of whole arrays ---- */

#include "kernels/host_util.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PART = 1 << 14, /* elements that a thread of the twin takes at a time */
    CHUNK = 256,    /* elements of a row whose sums stay in the cache */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Makes elements [column, column + count), at most CHUNK, of a row of `columns`. `x` and `out`
 * point at the first of them. The additions are in the kernel's order. */
HOST_VECTOR_CLONES static void stencil_chunk(const float *x, float *out, uint64_t column,
                                             uint64_t count, uint64_t columns, uint32_t halo)
{
    float sum[CHUNK] = {0}, beside[CHUNK];
    const float weight = stencil_weight(halo);
    for (uint32_t k = 1; k <= halo; k++) {
        const float *above = x - k * columns, *below = x + k * columns;
        if (column >= k && columns - column >= count + k) {
#pragma omp simd
            for (uint64_t i = 0; i < count; i++)
                beside[i] = x[(int64_t)i - k] + x[i + k];
        } else {
            for (uint64_t i = 0; i < count; i++)
                beside[i] = (column + i >= k ? x[(int64_t)i - k] : 0.0f) +
                            (columns - column - i > k ? x[i + k] : 0.0f);
        }
#pragma omp simd
        for (uint64_t i = 0; i < count; i++)
            sum[i] += (above[i] + below[i]) + beside[i];
    }
    for (uint64_t i = 0; i < count; i++)
        out[i] = 0.5f * x[i] + weight * sum[i];
}

static void stencil_host(const struct kernel_args *args)
{
    const uint64_t columns = args->params.columns;
    const uint32_t halo = args->params.halo;
    const float *first = (const float *)args->in[0] + halo * columns;
    float *out = args->out;
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (uint64_t part = 0; part < args->count; part += PART) {
        const uint64_t end = smaller(part + PART, args->count);
        for (uint64_t at = part, count; at < end; at += count) {
            const uint64_t column = at % columns;
            count = smaller(smaller(columns - column, end - at), CHUNK);
            stencil_chunk(first + at, out + at, column, count, columns, halo);
        }
    }
}

/* ---- the check: all steps again, on the whole array, in double precision ---- */

/* An array in rows; the last one may be shorter. */
struct grid {
    uint64_t count, columns;
    uint32_t halo;
    double weight;
};

static uint64_t grid_rows(const struct grid *grid)
{
    return grid->count / grid->columns + (grid->count % grid->columns != 0);
}

/* Returns the elements of a row, 0 behind the last. */
static uint64_t grid_width(const struct grid *grid, uint64_t row)
{
    return row < grid_rows(grid) ? smaller(grid->columns, grid->count - row * grid->columns)
                                 : 0;
}

static void row_add(double *sum, const double *x, uint64_t count)
{
#pragma omp simd
    for (uint64_t i = 0; i < count; i++)
        sum[i] += x[i];
}

HOST_VECTOR_CLONES static void grid_row_step(const struct grid *grid, const double *in,
                                             double *out, uint64_t row)
{
    const uint64_t width = grid_width(grid, row), columns = grid->columns;
    const double *x = in + row * columns;
    double *sum = out + row * columns;
    memset(sum, 0, width * sizeof *sum);
    for (uint64_t k = 1; k <= grid->halo; k++) {
        if (row >= k)
            row_add(sum, x - k * columns, width);
        if (grid_width(grid, row + k) > 0)
            row_add(sum, x + k * columns, smaller(width, grid_width(grid, row + k)));
        if (width > k) {
            row_add(sum + k, x, width - k);
            row_add(sum, x + k, width - k);
        }
    }
    for (uint64_t i = 0; i < width; i++)
        sum[i] = 0.5 * x[i] + grid->weight * sum[i];
}

static void grid_step(const struct grid *grid, const double *in, double *out)
{
    const uint64_t rows = grid_rows(grid);
#pragma omp parallel for schedule(static)
    for (uint64_t row = 0; row < rows; row++)
        grid_row_step(grid, in, out, row);
}

/* Returns the largest magnitude of the elements, without those that are no numbers, and makes
 * doubles of them. */
static double grid_load(const struct grid *grid, const float *from, double *to)
{
    double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (uint64_t i = 0; i < grid->count; i++) {
        to[i] = from[i];
        most = fabs(to[i]) > most ? fabs(to[i]) : most;
    }
    return most;
}

/* Returns how far a right result may be from the exact one. With u = 2^-24, n = 4 * halo
 * neighbours of weight w, n w <= 1/2, and M the largest magnitude: n additions err by u times
 * their partial sums, none beyond n M, which is n u n M, and by w of that in the result: at
 * most n u M / 2. The last addition errs by at most u M. No step makes the errors of earlier
 * ones larger, for all weights together are at most 1. That is (2 halo + 1) u M for each step,
 * and a little for the products of errors; and the smallest float for each operation that
 * underflows. Nothing is claimed where a sum could overflow. */
static double grid_bound(const struct grid *grid, uint32_t steps, double most)
{
    const double neighbours = 4.0 * grid->halo;
    if (!(fmax(neighbours, 1) * most < (double)FLT_MAX))
        return INFINITY;
    return 1.01 * steps *
           ((neighbours / 2 + 1) * FLOAT_ROUNDING * most +
            (neighbours + 2) * (double)FLT_TRUE_MIN);
}

static bool is_right(double value, double bound, double actual)
{
    return isinf(bound) || (isnan(value) ? isnan(actual) : fabs(actual - value) <= bound);
}

/* Compares the output; sets *fault to the first wrong element. */
static enum kernel_verdict grid_judge(const struct grid *grid, const double *right,
                                      double bound, const float *out,
                                      struct kernel_fault *fault)
{
    uint64_t first = grid->count;
#pragma omp parallel for schedule(static) reduction(min : first)
    for (uint64_t i = 0; i < grid->count; i++)
        if (i < first && !is_right(right[i], bound, (double)out[i]))
            first = i;
    if (first == grid->count)
        return KERNEL_RIGHT;
    *fault = (struct kernel_fault){first, right[first], bound, (double)out[first]};
    return KERNEL_WRONG;
}

static enum kernel_verdict stencil_check(const struct kernel_args *whole,
                                         struct kernel_fault *fault)
{
    const struct grid grid = {whole->count, whole->params.columns, whole->params.halo,
                              (double)stencil_weight(whole->params.halo)};
    const uint32_t steps = whole->params.steps > 1 ? whole->params.steps : 1;
    double *now = malloc(grid.count * sizeof *now), *next = malloc(grid.count * sizeof *next);
    enum kernel_verdict verdict = KERNEL_NO_MEMORY;
    if (now != NULL && next != NULL) {
        const double most = grid_load(&grid, whole->in[0], now);
        for (uint32_t step = 0; step < steps; step++) {
            double *before = now;
            grid_step(&grid, now, next);
            now = next;
            next = before;
        }
        verdict = grid_judge(&grid, now, grid_bound(&grid, steps, most), whole->out, fault);
    }
    free(now);
    free(next);
    return verdict;
}

const struct kernel_code stencil_code = {.host = stencil_host, .check = stencil_check};

#endif
