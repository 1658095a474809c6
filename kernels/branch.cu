/* branch.cu - `uniform` and `divergent`: one of two branches per element, by its index.
 *
 * A warp whose threads want both branches runs one after the other, with the other half of its
 * lanes idle. Both kernels do the same arithmetic; only who takes which branch differs. */
#include "kernels/device_util.cuh"
#include "kernels/kernel_rows.h"
#include "kernels/map_rows.h"

/* The branches hold a loop each, which no compiler makes one of: a branch around a single
 * multiply-add it would turn into a choice of constants. Threads go over the tile in strides of
 * whole warps, so a thread's lane is its element's index modulo 32. `out` may be `in`: each
 * thread reads what it will write. */
template <bool DIVERGES>
static __global__ void __launch_bounds__(KERNEL_THREADS)
    branch_kernel(const float *in, float *out, uint64_t count, uint32_t repeats)
{
    for (uint64_t i = grid_thread(); i < count; i += grid_threads()) {
        float x = in[i];
        if (DIVERGES ? DIVERGENT_TAKES_SECOND(i) : UNIFORM_TAKES_SECOND(i)) {
#pragma unroll 4
            for (uint32_t repeat = 0; repeat < repeats; repeat++)
                x = fmaf(SCALE_FACTOR, x, -SCALE_TERM);
        } else {
#pragma unroll 4
            for (uint32_t repeat = 0; repeat < repeats; repeat++)
                x = fmaf(SCALE_FACTOR, x, SCALE_TERM);
        }
        out[i] = x;
    }
}

template <bool DIVERGES> static int branch_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(branch_kernel<DIVERGES>, args, stream,
                         static_cast<const float *>(args->in[0]),
                         static_cast<float *>(args->out), args->count, args->params.intensity);
}

int uniform_launch(const struct kernel_args *args, void *stream)
{
    return branch_launch<false>(args, stream);
}

int uniform_preload(void)
{
    return kernel_preload(branch_kernel<false>);
}

int divergent_launch(const struct kernel_args *args, void *stream)
{
    return branch_launch<true>(args, stream);
}

int divergent_preload(void)
{
    return kernel_preload(branch_kernel<true>);
}
