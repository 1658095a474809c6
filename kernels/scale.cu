/* scale.cu - `scale`: a*x + b, repeated; and `uniform` and `divergent`: the same in one of two
 * branches, which depends on the element's index.
 *
 * A warp whose threads want both branches runs one after the other, with the other half of its
 * lanes idle. Both kernels do the same arithmetic; they differ in which elements take which
 * branch. */
#include "kernels/kernel_file.h"
#include "kernels/scale.h"

/* The element with index `i` of its tile takes the first branch, which is one repeat of `scale`
 * and mirrors x at a fixed point near 1/2, or the second, which does the same about -1/2. A
 * warp takes 32 elements in a row, wherever its tile begins. */
#define UNIFORM_TAKES_SECOND(i)   ((i) / 32 % 2 != 0)
#define DIVERGENT_TAKES_SECOND(i) ((i) % 2 != 0)

#ifdef __cplusplus /* ---- the kernels and their launchers ---- */

#include "kernels/tiles.cuh"

static __device__ inline float scale_once(float x)
{
    return fmaf(SCALE_FACTOR, x, SCALE_TERM);
}

/* The four are independent chains, which hide the latency of one multiply-add behind another.
 */
static __device__ inline float4 scale_repeated(float4 x, uint32_t repeats)
{
#pragma unroll 4
    for (uint32_t repeat = 0; repeat < repeats; repeat++)
        x = {scale_once(x.x), scale_once(x.y), scale_once(x.z), scale_once(x.w)};
    return x;
}

/* Works on a part of a tile. `out` may be `in`: each thread reads what it will write. */
static __device__ inline void scale_part(const struct kernel_tile &tile,
                                         const struct tile_part &part, uint32_t repeats)
{
    part.store(tile.out, scale_repeated(part.load(tile.in[0]), repeats));
}

static __global__ void __launch_bounds__(KERNEL_THREADS)
    scale_kernel(struct kernel_tile tile, uint32_t repeats)
{
    tile_each<1, TILE_FOURS>(tile, blockIdx.x, gridDim.x,
                             [&](const struct kernel_tile &, const struct tile_part &part) {
                                 scale_part(tile, part, repeats);
                             });
}

static int scale_launch(const struct kernel_args *args, void *stream)
{
    const struct kernel_tile tile = {
        .in = {args->in[0]}, .out = args->out, .count = args->count};
    return kernel_launch(scale_kernel, args, stream, tile, args->params.intensity);
}

static __global__ void __launch_bounds__(KERNEL_THREADS)
    scale_tiles_kernel(struct tile_table table, uint32_t repeats)
{
    tiles_each<1, TILE_FOURS>(
        table, [&](const struct kernel_tile &tile, const struct tile_part &part) {
            scale_part(tile, part, repeats);
        });
}

static int scale_launch_tiles(const struct kernel_args *args, const struct kernel_tile *tiles,
                              uint32_t tile_count, void *stream)
{
    return tiles_launch(scale_tiles_kernel, args, tiles, tile_count, stream,
                        args->params.intensity);
}

KERNEL_TILES_LAUNCHER(scale, scale_launch, scale_launch_tiles, scale_kernel,
                      scale_tiles_kernel);

/* ---- uniform, divergent ---- */

/* Returns the result for the element with index `i` of its tile. Each branch holds a loop of
 * its own, and no compiler joins the two: a branch around a single multiply-add would become a
 * choice of constants. */
template <bool DIVERGES>
static __device__ inline float branch_repeated(uint64_t i, float x, uint32_t repeats)
{
    if (DIVERGES ? DIVERGENT_TAKES_SECOND(i) : UNIFORM_TAKES_SECOND(i)) {
#pragma unroll 4
        for (uint32_t repeat = 0; repeat < repeats; repeat++)
            x = fmaf(SCALE_FACTOR, x, -SCALE_TERM);
    } else {
#pragma unroll 4
        for (uint32_t repeat = 0; repeat < repeats; repeat++)
            x = fmaf(SCALE_FACTOR, x, SCALE_TERM);
    }
    return x;
}

/* Threads go over the tile in strides of whole warps, so a thread's lane is its element's index
 * modulo 32. `out` may be `in`: each thread reads what it will write. */
template <bool DIVERGES>
static __global__ void __launch_bounds__(KERNEL_THREADS)
    branch_kernel(const float *in, float *out, uint64_t count, uint32_t repeats)
{
    for (uint64_t i = grid_thread(); i < count; i += grid_threads())
        out[i] = branch_repeated<DIVERGES>(i, in[i], repeats);
}

template <bool DIVERGES> static int branch_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(branch_kernel<DIVERGES>, args, stream,
                         static_cast<const float *>(args->in[0]),
                         static_cast<float *>(args->out), args->count, args->params.intensity);
}

/* A thread takes words, for with four elements side by side each would take both branches in
 * turn, and no warp would diverge. */
template <bool DIVERGES>
static __global__ void __launch_bounds__(KERNEL_THREADS)
    branch_tiles_kernel(struct tile_table table, uint32_t repeats)
{
    tiles_each<1, TILE_WORDS>(
        table, [&](const struct kernel_tile &tile, const struct tile_part &part) {
            const auto branch = [&](uint64_t i, float x) {
                return branch_repeated<DIVERGES>(i, x, repeats);
            };
            part.store(tile.out, part.map(branch, part.load(tile.in[0])));
        });
}

template <bool DIVERGES>
static int branch_launch_tiles(const struct kernel_args *args, const struct kernel_tile *tiles,
                               uint32_t tile_count, void *stream)
{
    return tiles_launch(branch_tiles_kernel<DIVERGES>, args, tiles, tile_count, stream,
                        args->params.intensity);
}

KERNEL_TILES_LAUNCHER(uniform, branch_launch<false>, branch_launch_tiles<false>,
                      branch_kernel<false>, branch_tiles_kernel<false>);
KERNEL_TILES_LAUNCHER(divergent, branch_launch<true>, branch_launch_tiles<true>,
                      branch_kernel<true>, branch_tiles_kernel<true>);

#else /* ---- the CPU twins and the oracles ---- */

#include "kernels/host_util.h"

#include <math.h>
#include <string.h>

/* The branches differ in a sign alone, so the CPU's vector units need no branch: each element
 * has its own term. Like scale_once() this rounds twice. */
HOST_VECTOR_CLONES static void branch_block(float x[BLOCK], const float term[BLOCK],
                                            uint32_t repeats)
{
    for (; repeats > 0; repeats--)
        for (int i = 0; i < BLOCK; i++)
            x[i] = SCALE_FACTOR * x[i] + term[i];
}

/* Works on the tile block by block: by scale_block() where `term` is NULL, else by
 * branch_block(). */
static void blocks_host(const struct kernel_args *args, const float *term)
{
    const float *in = args->in[0];
    float *out = args->out;
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (uint64_t first = 0; first < args->count; first += BLOCK) {
        const uint64_t left = args->count - first;
        const size_t count = left < BLOCK ? (size_t)left : BLOCK;
        float x[BLOCK];
        memcpy(x, in + first, count * sizeof *x);
        memset(x + count, 0, (BLOCK - count) * sizeof *x);
        if (term != NULL)
            branch_block(x, term, args->params.intensity);
        else if (can_leap(args, x))
            leap_block(x, args->params.intensity);
        else
            scale_block(x, args->params.intensity);
        memcpy(out + first, x, count * sizeof *x);
    }
}

static void scale_host(const struct kernel_args *args)
{
    blocks_host(args, NULL);
}

static bool takes_second(bool diverges, uint64_t element)
{
    return diverges ? DIVERGENT_TAKES_SECOND(element) : UNIFORM_TAKES_SECOND(element);
}

/* Every block begins at a multiple of two warps' elements, so the same elements of each take
 * the second branch. */
_Static_assert(BLOCK % 64 == 0, "`uniform` repeats every two warps");
static void branches_host(const struct kernel_args *args, bool diverges)
{
    float term[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        term[i] = takes_second(diverges, (uint64_t)i) ? -SCALE_TERM : SCALE_TERM;
    blocks_host(args, term);
}

/* The exact value has a closed form: with the fixed point p = b/(1-a), R repeats give
 * p + (x-p) a^R.
 *
 * The bound, with u = 2^-24: one repeat, fused or not, rounds the product and the sum, so it
 * errs by at most u(|a x| + |x'|) <= 2uM, where M is the largest magnitude on the way. Later
 * repeats shrink that error by |a| each, so all together they err by E <= 2uM(1 + |a| + |a|^2 +
 * ...) = sM with s = 2u(1-|a|^R)/(1-|a|), which is at most 2uR and never above 2^-7. As x keeps
 * its distance from p, M <= |x| + 2p + E, hence E <= s/(1-s) (|x| + 2p). An error
 * that x had before is |a|^R times as large after. */
static void scale_oracle(struct oracle *oracle, const void *second,
                         const struct kernel_params *params)
{
    (void)second;
    const double factor = SCALE_FACTOR;
    const double fixed = SCALE_TERM / (1 - factor);
    const double sign = params->intensity % 2 == 0 ? 1 : -1;
    const double grown = expm1(params->intensity * log(-factor)); /* |a|^R - 1 */
    const double shrink = 1 + grown;
    const double rounding = 2 * FLOAT_ROUNDING * -grown / (1 + factor);
    for (size_t i = 0; i < oracle->count; i++) {
        const double x = oracle->value[i], off = oracle->bound[i];
        if (isfinite(x)) {
            oracle->value[i] = fixed + (x - fixed) * sign * shrink;
            oracle->bound[i] =
                off * shrink + rounding / (1 - rounding) * (fabs(x) + off + 2 * fixed);
        } else { /* infinities change sign, NaN stays */
            oracle->value[i] = sign * x;
            oracle->bound[i] = 0;
        }
    }
}

static void turn_round(struct oracle *oracle, bool diverges)
{
    for (size_t i = 0; i < oracle->count; i++)
        oracle->value[i] *= takes_second(diverges, oracle->first + i) ? -1 : 1;
}

/* The second branch is the first one in the mirror: a*x - b = -(a*(-x) + b). So the elements
 * that take it are turned round before the oracle of `scale`, and back after it. */
static void branches_oracle(struct oracle *oracle, const void *second,
                            const struct kernel_params *params, bool diverges)
{
    turn_round(oracle, diverges);
    scale_oracle(oracle, second, params);
    turn_round(oracle, diverges);
}

const struct kernel_code scale_code = {.host = scale_host, .oracle_map = scale_oracle};

/* Defines the code of a row. */
#define BRANCHES_CODE(name, diverges)                                                          \
    static void name##_host(const struct kernel_args *args)                                    \
    {                                                                                          \
        branches_host(args, diverges);                                                         \
    }                                                                                          \
    static void name##_oracle(struct oracle *oracle, const void *second,                       \
                              const struct kernel_params *params)                              \
    {                                                                                          \
        branches_oracle(oracle, second, params, diverges);                                     \
    }                                                                                          \
    const struct kernel_code name##_code = {.host = name##_host, .oracle_map = name##_oracle}
BRANCHES_CODE(uniform, false);
BRANCHES_CODE(divergent, true);

#endif
