/* scale.cu - `scale`: a*x + b, repeated. */
#include "kernels/device_util.cuh"
#include "kernels/kernel_rows.h"

static __device__ inline float scale_once(float x)
{
    return fmaf(SCALE_FACTOR, x, SCALE_TERM);
}

/* Up to four elements from `first` on; what lies behind the end is 0. */
static __device__ inline float4 load_some(const float *in, uint64_t first, uint64_t count)
{
    return {in[first], first + 1 < count ? in[first + 1] : 0,
            first + 2 < count ? in[first + 2] : 0, first + 3 < count ? in[first + 3] : 0};
}

static __device__ inline void store_some(float *out, float4 x, uint64_t first, uint64_t count)
{
    out[first] = x.x;
    if (first + 1 < count)
        out[first + 1] = x.y;
    if (first + 2 < count)
        out[first + 2] = x.z;
    if (first + 3 < count)
        out[first + 3] = x.w;
}

/* A thread takes four elements at a time: whole float4 where memory is aligned for them. They
 * are also four independent chains of repeats, which hide the latency of one multiply-add
 * behind another; that is why the last one to three elements are done in the same loop: in one
 * of their own they would make all wait for one chain. `out` may be `in`: each thread reads
 * what it will write. */
static __global__ void __launch_bounds__(KERNEL_THREADS)
    scale_kernel(const float *in, float *out, uint64_t count, uint32_t repeats, bool aligned)
{
    for (uint64_t i = 4 * grid_thread(); i < count; i += 4 * grid_threads()) {
        const bool whole = aligned && i + 4 <= count;
        float4 x = whole ? *reinterpret_cast<const float4 *>(in + i) : load_some(in, i, count);
#pragma unroll 4
        for (uint32_t repeat = 0; repeat < repeats; repeat++)
            x = {scale_once(x.x), scale_once(x.y), scale_once(x.z), scale_once(x.w)};
        if (whole)
            *reinterpret_cast<float4 *>(out + i) = x;
        else
            store_some(out, x, i, count);
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
                         static_cast<float *>(args->out), args->count, args->params.intensity,
                         aligned);
}

int scale_preload(void)
{
    return kernel_preload(scale_kernel);
}
