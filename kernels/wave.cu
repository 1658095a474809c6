/* wave.cu - `wave`: the lectures' chain of functions over two arrays, repeated, in one launch;
 * and `wave-launches`: the same in one launch for each repeat. */
#include "kernels/kernel_file.h"

/* One repeat of `wave` is v = f(x + WAVE_FEEDBACK * v, y), from v = 0: the first is the
 * lecture's f(x, y) itself. Repeating v = f(v, y) would not do: it settles on one value and
 * forgets x. */
#define WAVE_FEEDBACK 0.25f

#ifdef __cplusplus /* ---- the kernels and their launchers ---- */

#include "kernels/tiles.cuh"

static __device__ inline float wave_once(float x, float y)
{
    return sinf(cosf(sinf(sqrtf(powf(cosf(x * x + y * y), 2)))));
}

/* Returns what goes into a repeat in the place of x, after one with the result `v`. */
static __device__ inline float wave_fed(float x, float v)
{
    return x + WAVE_FEEDBACK * v;
}

static __device__ inline float wave_repeated(float x, float y, uint32_t repeats)
{
    float v = 0;
    for (uint32_t repeat = 0; repeat < repeats; repeat++)
        v = wave_once(wave_fed(x, v), y);
    return v;
}

/* A thread takes one element at a time, for the time goes into arithmetic and not into memory.
 * `out` may be `x`: each thread reads what it will write. */
static __global__ void __launch_bounds__(KERNEL_THREADS)
    wave_kernel(const float *x, const float *y, float *out, uint64_t count, uint32_t repeats)
{
    for (uint64_t i = grid_thread(); i < count; i += grid_threads())
        out[i] = wave_repeated(x[i], y[i], repeats);
}

static int wave_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(wave_kernel, args, stream, static_cast<const float *>(args->in[0]),
                         static_cast<const float *>(args->in[1]),
                         static_cast<float *>(args->out), args->count, args->params.intensity);
}

static __global__ void __launch_bounds__(KERNEL_THREADS)
    wave_tiles_kernel(struct tile_table table, uint32_t repeats)
{
    tiles_each<2, TILE_FOURS>(
        table, [&](const struct kernel_tile &tile, const struct tile_part &part) {
            const auto wave = [&](uint64_t, float x, float y) {
                return wave_repeated(x, y, repeats);
            };
            part.store(tile.out, part.map(wave, part.load(tile.in[0]), part.load(tile.in[1])));
        });
}

static int wave_launch_tiles(const struct kernel_args *args, const struct kernel_tile *tiles,
                             uint32_t tile_count, void *stream)
{
    return tiles_launch(wave_tiles_kernel, args, tiles, tile_count, stream,
                        args->params.intensity);
}

KERNEL_TILES_LAUNCHER(wave, wave_launch, wave_launch_tiles, wave_kernel, wave_tiles_kernel);

/* ---- wave-launches ---- */

/* One repeat. The value that `wave` keeps in a register between two repeats goes to memory here
 * and comes back; the first repeat finds none there. */
static __global__ void __launch_bounds__(KERNEL_THREADS)
    wave_repeat_kernel(const float *x, const float *y, float *out, uint64_t count, bool first)
{
    for (uint64_t i = grid_thread(); i < count; i += grid_threads()) {
        const float v = first ? 0 : out[i];
        out[i] = wave_once(wave_fed(x[i], v), y[i]);
    }
}

static int wave_launches_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(wave_repeat_kernel, args, stream,
                         static_cast<const float *>(args->in[0]),
                         static_cast<const float *>(args->in[1]),
                         static_cast<float *>(args->out), args->count, args->repeat == 0);
}

/* The last results go into x at once: nothing of them is left in registers then. */
static __global__ void __launch_bounds__(KERNEL_THREADS)
    wave_repeat_tiles_kernel(struct tile_table table, bool first)
{
    tiles_each<2, TILE_FOURS>(table, [&](const struct kernel_tile &tile,
                                         const struct tile_part &part) {
        const auto wave = [](uint64_t, float x, float y) { return wave_once(x, y); };
        const float4 v = first ? make_float4(0, 0, 0, 0) : part.load(tile.out);
        float4 x = part.load(tile.in[0]);
        x = {wave_fed(x.x, v.x), wave_fed(x.y, v.y), wave_fed(x.z, v.z), wave_fed(x.w, v.w)};
        part.store(tile.out, part.map(wave, x, part.load(tile.in[1])));
    });
}

static int wave_launches_launch_tiles(const struct kernel_args *args,
                                      const struct kernel_tile *tiles, uint32_t tile_count,
                                      void *stream)
{
    return tiles_launch(wave_repeat_tiles_kernel, args, tiles, tile_count, stream,
                        args->repeat == 0);
}

KERNEL_TILES_LAUNCHER(wave_launches, wave_launches_launch, wave_launches_launch_tiles,
                      wave_repeat_kernel, wave_repeat_tiles_kernel);

#else /* ---- the CPU twins and the oracles ---- */

#include "kernels/host_util.h"

#include <float.h>
#include <math.h>

static float wave_once(float x, float y)
{
    return sinf(cosf(sinf(sqrtf(powf(cosf(x * x + y * y), 2)))));
}

static void wave_host(const struct kernel_args *args)
{
    const float *x = args->in[0], *y = args->in[1];
    float *out = args->out;
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (uint64_t i = 0; i < args->count; i++) {
        float v = 0;
        for (uint32_t repeat = 0; repeat < args->params.intensity; repeat++)
            v = wave_once(x[i] + WAVE_FEEDBACK * v, y[i]);
        out[i] = v;
    }
}

static void wave_launches_host(const struct kernel_args *args)
{
    const float *x = args->in[0], *y = args->in[1];
    float *out = args->out;
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (uint64_t i = 0; i < args->count; i++) {
        const float v = args->repeat == 0 ? 0 : out[i];
        out[i] = wave_once(x[i] + WAVE_FEEDBACK * v, y[i]);
    }
}

/* A value in double precision, and how far a right float may be from it. */
struct bounded {
    double value, bound;
};

/* These bounds say how an error spreads through f(x, y) and what f adds to it, with u = 2^-24
 * and g(t) = sin(cos(sin t)). CUDA's sinf and cosf are at most 2 ulp off the rounded result and
 * powf 4 (CUDA C++ Programming Guide, "Maximum ULP Error"), so 2.5 and 4.5 off the exact one;
 * sqrtf is right to 0.5; the C library's functions are better. One ulp of a result r is at most
 * 2u|r|, and at most u below 1.
 *
 *   s = x*x + y*y            x off by e: off by e(2|x| + e); three roundings, together 2us
 *   t = sqrt(pow(cos(s), 2)) |cos(s)|, whose slope is at most 1, and which stays in [0, 1]. The
 *                            square root halves powf's relative error, so cosf, powf and sqrtf
 *                            add 2.5u + 4.5u + u: at most WAVE_INNER. Near cos(s) = 0 too, for
 *                            these errors are relative.
 *   g(t)                     slope at most WAVE_SLOPE on [0, 1]; its three functions add 2.5u
 *                            each, the first two damped by what follows: at most WAVE_OUTER.
 *
 * No two results are farther apart than the width of g's range, which is sin(cos(sin 1)) to
 * sin(1). Where s is so large that its last digit decides, that width is all that can be said;
 * it still catches a tile that was never written. An s past FLT_MAX is infinite in float, and
 * its cosine NaN. */
#define WAVE_INNER (10 * FLOAT_ROUNDING)
#define WAVE_SLOPE 0.336
#define WAVE_OUTER (8 * FLOAT_ROUNDING)
#define WAVE_WIDTH 0.2234

static struct bounded wave_oracle_once(struct bounded x, double y)
{
    const double s = x.value * x.value + y * y;
    if (!(s <= FLT_MAX))
        return (struct bounded){NAN, 0};
    double off = x.bound * (2 * fabs(x.value) + x.bound);
    off += 2 * FLOAT_ROUNDING * (s + off);
    off = fmin(off, 1) + WAVE_INNER;
    off = WAVE_SLOPE * off + WAVE_OUTER;
    return (struct bounded){sin(cos(sin(fabs(cos(s))))), fmin(off, WAVE_WIDTH)};
}

static void wave_oracle(struct oracle *oracle, const void *second,
                        const struct kernel_params *params)
{
    const float *y = second;
    for (size_t i = 0; i < oracle->count; i++) {
        const double x = oracle->value[i], off = oracle->bound[i];
        struct bounded v = {0, 0};
        for (uint32_t repeat = 0; repeat < params->intensity; repeat++) {
            struct bounded sum = {x + WAVE_FEEDBACK * v.value, off + WAVE_FEEDBACK * v.bound};
            sum.bound += FLOAT_ROUNDING * (fabs(sum.value) + sum.bound);
            v = wave_oracle_once(sum, y[i]);
        }
        oracle->value[i] = v.value;
        oracle->bound[i] = v.bound;
    }
}

const struct kernel_code wave_code = {.host = wave_host, .oracle_map = wave_oracle};
const struct kernel_code wave_launches_code = {.host = wave_launches_host,
                                               .oracle_map = wave_oracle};

#endif
