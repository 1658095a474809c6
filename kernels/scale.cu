/* scale.cu - `scale`: a*x + b, repeated. */
#include "device_util.cuh"
#include "kernel_rows.h"

static __device__ inline float scale_once(float x)
{
    return fmaf(SCALE_FACTOR, x, SCALE_TERM);
}

/* The first `vectors` float4 are read and written whole; what is left behind them goes element
 * by element. A float4 is also four independent chains of repeats, which hide the latency of
 * one multiply-add behind another. `out` may be `in`: each thread reads what it will write. */
static __global__ void __launch_bounds__(KERNEL_THREADS)
    scale_kernel(const float *in, float *out, uint64_t vectors, uint64_t count,
                 uint32_t repeats)
{
    for (uint64_t i = grid_thread(); i < vectors; i += grid_threads()) {
        float4 x = reinterpret_cast<const float4 *>(in)[i];
#pragma unroll 4
        for (uint32_t repeat = 0; repeat < repeats; repeat++)
            x = {scale_once(x.x), scale_once(x.y), scale_once(x.z), scale_once(x.w)};
        reinterpret_cast<float4 *>(out)[i] = x;
    }
    for (uint64_t i = 4 * vectors + grid_thread(); i < count; i += grid_threads()) {
        float x = in[i];
        for (uint32_t repeat = 0; repeat < repeats; repeat++)
            x = scale_once(x);
        out[i] = x;
    }
}

static bool is_vector_aligned(const void *pointer)
{
    return reinterpret_cast<uintptr_t>(pointer) % alignof(float4) == 0;
}

int scale_launch(const struct kernel_args *args, void *stream)
{
    const bool aligned = is_vector_aligned(args->in[0]) && is_vector_aligned(args->out);
    return kernel_launch(scale_kernel, args, stream, static_cast<const float *>(args->in[0]),
                         static_cast<float *>(args->out), aligned ? args->count / 4 : 0,
                         args->count, args->params.intensity);
}

int scale_preload(void)
{
    return kernel_preload(scale_kernel);
}
