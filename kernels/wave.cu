/* wave.cu - `wave`: the lectures' chain of functions over two arrays, repeated; in one launch,
 * or as `wave-launches` in one for each repeat. */
#include "kernels/device_util.cuh"
#include "kernels/kernel_rows.h"
#include "kernels/map_rows.h"

static __device__ inline float wave_once(float x, float y)
{
    return sinf(cosf(sinf(sqrtf(powf(cosf(x * x + y * y), 2)))));
}

/* One element at a time: the arithmetic, not the memory, is what takes the time. `out` may be
 * `x`: each thread reads what it will write. */
static __global__ void __launch_bounds__(KERNEL_THREADS)
    wave_kernel(const float *x, const float *y, float *out, uint64_t count, uint32_t repeats)
{
    for (uint64_t i = grid_thread(); i < count; i += grid_threads()) {
        const float xi = x[i], yi = y[i];
        float v = 0;
        for (uint32_t repeat = 0; repeat < repeats; repeat++)
            v = wave_once(xi + WAVE_FEEDBACK * v, yi);
        out[i] = v;
    }
}

int wave_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(wave_kernel, args, stream, static_cast<const float *>(args->in[0]),
                         static_cast<const float *>(args->in[1]),
                         static_cast<float *>(args->out), args->count, args->params.intensity);
}

int wave_preload(void)
{
    return kernel_preload(wave_kernel);
}

/* ---- wave-launches ---- */

/* One repeat. What `wave` keeps in a register between two of them, here goes to memory and
 * comes back; the first one finds nothing there. */
static __global__ void __launch_bounds__(KERNEL_THREADS)
    wave_repeat_kernel(const float *x, const float *y, float *out, uint64_t count, bool first)
{
    for (uint64_t i = grid_thread(); i < count; i += grid_threads()) {
        const float v = first ? 0 : out[i];
        out[i] = wave_once(x[i] + WAVE_FEEDBACK * v, y[i]);
    }
}

int wave_launches_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(wave_repeat_kernel, args, stream,
                         static_cast<const float *>(args->in[0]),
                         static_cast<const float *>(args->in[1]),
                         static_cast<float *>(args->out), args->count, args->repeat == 0);
}

int wave_launches_preload(void)
{
    return kernel_preload(wave_repeat_kernel);
}
