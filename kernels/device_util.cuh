/* device_util.cuh - the help that launchers share, and sums over a warp and a block. */
#ifndef PIPELINE_DEVICE_UTIL_CUH
#define PIPELINE_DEVICE_UTIL_CUH

#include "kernels/kernel_file.h"

#include <cuda_runtime.h>

/* Launches `kernel` on `blocks` blocks of `threads` threads. Unlike kernel<<<...>>>(...), which
 * leaves its error to cudaGetLastError(), this returns the launch's own, never one left behind
 * by an earlier call. */
template <typename... Parameters, typename... Arguments>
int kernel_launch_grid(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                       void *stream, Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.stream = static_cast<cudaStream_t>(stream);
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* Launches `kernel` on args->blocks blocks of KERNEL_THREADS threads. */
template <typename... Parameters, typename... Arguments>
int kernel_launch(void (*kernel)(Parameters...), const struct kernel_args *args, void *stream,
                  Arguments... arguments)
{
    return kernel_launch_grid(kernel, args->blocks, KERNEL_THREADS, stream, arguments...);
}

/* Makes the runtime load `kernel` now: asking for its attributes needs its code. */
template <typename... Parameters> int kernel_preload(void (*kernel)(Parameters...))
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, kernel);
}

/* The same for two kernels. Returns the first error. */
template <typename... Parameters, typename... Others>
int kernel_preload(void (*kernel)(Parameters...), void (*other)(Others...))
{
    const int result = kernel_preload(kernel);
    return result != cudaSuccess ? result : kernel_preload(other);
}

/* Defines the launcher of a row of kernels.def: `launch` and, for an elementwise kernel,
 * `launch_tiles` are its functions, and the last arguments the one or two kernels that the
 * runtime can load early. */
#define KERNEL_TILES_LAUNCHER(name, launch, launch_tiles, ...)                                 \
    static int name##_preload()                                                                \
    {                                                                                          \
        return kernel_preload(__VA_ARGS__);                                                    \
    }                                                                                          \
    const struct kernel_launcher name##_launcher = {                                           \
        launch, launch_tiles, name##_preload, nullptr, nullptr, "cudaLaunchKernelEx"}
#define KERNEL_LAUNCHER(name, launch, ...)                                                     \
    KERNEL_TILES_LAUNCHER(name, launch, nullptr, __VA_ARGS__)

/* Returns this thread's number in the grid. */
static __device__ inline uint64_t grid_thread()
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* Returns how many threads the grid has. */
static __device__ inline uint64_t grid_threads()
{
    return (uint64_t)gridDim.x * blockDim.x;
}

enum { WARP_THREADS = 32, BLOCK_WARPS = KERNEL_THREADS / WARP_THREADS };

/* Returns the sum of a warp's values to lane 0. Every thread of the warp must call it. */
template <typename T> __device__ T warp_sum(T value)
{
    for (int offset = WARP_THREADS / 2; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

/* Returns the sum of the values of a block of `threads` threads to thread 0. Every thread of
 * the block must call it, and there must be a __syncthreads() between two calls. */
template <unsigned threads, typename T> __device__ T block_sum(T value)
{
    constexpr unsigned count = threads / WARP_THREADS;
    __shared__ T warps[count];
    const unsigned lane = threadIdx.x % WARP_THREADS, warp = threadIdx.x / WARP_THREADS;
    value = warp_sum(value);
    if (lane == 0)
        warps[warp] = value;
    __syncthreads();
    if (warp == 0)
        value = warp_sum(lane < count ? warps[lane] : T(0));
    return value;
}

#endif
