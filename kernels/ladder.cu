/* ladder.cu - the seven steps of M. Harris, "Optimizing Parallel Reduction in CUDA", as sums of
 * ints modulo 2^32: the same sum, each step faster than the one before.
 *
 * In the lecture each launch leaves a sum per block, and launches follow until one is left.
 * Here a tile's sum takes one launch: a block adds its sum to a total by one atomic addition,
 * which any order of blocks leaves the same, since integers wrap around. All seven pay that
 * alike, so they compare as the lecture's do, and no grid is too large: there is no array of
 * block sums.
 *
 * The ints are read as unsigned, whose overflow C defines. Blocks may have any power of two of
 * threads from a warp's to KERNEL_THREADS_MAX; threads behind the last element add 0. */
#include "kernels/device_util.cuh"
#include "kernels/kernel_rows.h"
#include "kernels/reduction_rows.h"

/* What a launch keeps between its blocks, in kernel_args.scratch. Both are 0 between launches.
 */
struct ladder_scratch {
    unsigned finished; /* blocks that have added theirs */
    unsigned total;
};
static_assert(sizeof(struct ladder_scratch) <= KERNEL_SCRATCH_BYTES, "scratch too small");

/* Counts a block whose part is in the total; the last one to come moves that to *out. For one
 * thread of each block. */
static __device__ void ladder_arrive(unsigned *out, struct ladder_scratch *scratch)
{
    __threadfence(); /* our part is in it before we are counted */
    if (atomicInc(&scratch->finished, gridDim.x - 1) != gridDim.x - 1)
        return;
    __threadfence(); /* and all others' are, too; the counter is 0 again */
    *out = atomicExch(&scratch->total, 0);
}

/* Adds a block's sum to the total, and ends the block. For one thread of each. */
static __device__ void ladder_finish(unsigned sum, unsigned *out,
                                     struct ladder_scratch *scratch)
{
    atomicAdd(&scratch->total, sum);
    ladder_arrive(out, scratch);
}

/* ---- reduce-atomic: before the ladder ---- */

/* No reduction at all: every element is added to the one total, and all wait for one another
 * there. The ladder is what to do instead. */
static __global__ void __launch_bounds__(KERNEL_THREADS)
    reduce_atomic_kernel(const unsigned *in, unsigned *out, struct ladder_scratch *scratch,
                         uint64_t count)
{
    for (uint64_t i = grid_thread(); i < count; i += grid_threads())
        atomicAdd(&scratch->total, in[i]);
    __threadfence(); /* each thread's own, before its block is counted */
    __syncthreads();
    if (threadIdx.x == 0)
        ladder_arrive(out, scratch);
}

int reduce_atomic_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(reduce_atomic_kernel, args, stream,
                         static_cast<const unsigned *>(args->in[0]),
                         static_cast<unsigned *>(args->out),
                         static_cast<struct ladder_scratch *>(args->scratch), args->count);
}

int reduce_atomic_preload(void)
{
    return kernel_preload(reduce_atomic_kernel);
}

static __device__ inline unsigned element_or_0(const unsigned *in, uint64_t i, uint64_t count)
{
    return i < count ? in[i] : 0;
}

/* This thread's element, and this thread's sum of two, a block's width apart: neighbours read
 * neighbours in both. */
static __device__ inline unsigned load_one(const unsigned *in, uint64_t count)
{
    return element_or_0(in, (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, count);
}

static __device__ inline unsigned load_two(const unsigned *in, uint64_t count)
{
    const uint64_t i = 2 * (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    return element_or_0(in, i, count) + element_or_0(in, i + blockDim.x, count);
}

/* ---- 1: reduce-divergent ---- */

/* Neighbours are added first, then pairs, then fours. Which threads work is asked by a
 * remainder, slow by itself, and the answer differs within every warp: all warps stay busy to
 * the end, ever more of their lanes for nothing. */
static __global__ void __launch_bounds__(KERNEL_THREADS_MAX)
    reduce_divergent_kernel(const unsigned *in, unsigned *out, struct ladder_scratch *scratch,
                            uint64_t count)
{
    __shared__ unsigned sums[KERNEL_THREADS_MAX];
    const unsigned thread = threadIdx.x;
    sums[thread] = load_one(in, count);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (thread % (2 * stride) == 0)
            sums[thread] += sums[thread + stride];
        __syncthreads();
    }
    if (thread == 0)
        ladder_finish(sums[0], out, scratch);
}

/* ---- 2: reduce-conflicts ---- */

/* The same additions by the first threads of the block: whole warps work, or rest. But what a
 * warp's threads add lies 2, 4, 8, ... words apart, in ever fewer banks of shared memory. */
static __global__ void __launch_bounds__(KERNEL_THREADS_MAX)
    reduce_conflicts_kernel(const unsigned *in, unsigned *out, struct ladder_scratch *scratch,
                            uint64_t count)
{
    __shared__ unsigned sums[KERNEL_THREADS_MAX];
    const unsigned thread = threadIdx.x;
    sums[thread] = load_one(in, count);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned at = 2 * stride * thread;
        if (at < blockDim.x)
            sums[at] += sums[at + stride];
        __syncthreads();
    }
    if (thread == 0)
        ladder_finish(sums[0], out, scratch);
}

/* ---- 3: reduce-sequential ---- */

/* Adds the far half of a block's sums onto the near half until `left` are left. */
static __device__ inline void fold_halves(unsigned *sums, unsigned left)
{
    for (unsigned half = blockDim.x / 2; half >= left; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
}

/* Neighbouring threads add neighbouring words: no bank is asked twice. Half of the threads
 * never add anything at all. */
static __global__ void __launch_bounds__(KERNEL_THREADS_MAX)
    reduce_sequential_kernel(const unsigned *in, unsigned *out, struct ladder_scratch *scratch,
                             uint64_t count)
{
    __shared__ unsigned sums[KERNEL_THREADS_MAX];
    sums[threadIdx.x] = load_one(in, count);
    __syncthreads();
    fold_halves(sums, 1);
    if (threadIdx.x == 0)
        ladder_finish(sums[0], out, scratch);
}

/* ---- 4: reduce-first-add ---- */

/* A thread's first addition is done as it loads: half as many blocks, whose threads all add. */
static __global__ void __launch_bounds__(KERNEL_THREADS_MAX)
    reduce_first_add_kernel(const unsigned *in, unsigned *out, struct ladder_scratch *scratch,
                            uint64_t count)
{
    __shared__ unsigned sums[KERNEL_THREADS_MAX];
    sums[threadIdx.x] = load_two(in, count);
    __syncthreads();
    fold_halves(sums, 1);
    if (threadIdx.x == 0)
        ladder_finish(sums[0], out, scratch);
}

/* ---- 5: reduce-last-warp ---- */

/* The sum of the first warp's values and, in a larger block, of the 32 behind them, in each of
 * the warp's threads; for that warp alone, behind a __syncthreads().
 *
 * The lectures had no barrier here, only volatile memory, and relied on a warp's threads going
 * in step. Since Volta each has its own program counter, so each step says __syncwarp(): after
 * its writes, and after its reads, which the next writes must not overtake. */
static __device__ inline unsigned fold_last_warp(unsigned *sums, bool larger)
{
    const unsigned lane = threadIdx.x;
    unsigned sum = sums[lane] + (larger ? sums[lane + WARP_THREADS] : 0);
    __syncwarp();
#pragma unroll
    for (unsigned half = WARP_THREADS / 2; half > 0; half /= 2) {
        sums[lane] = sum;
        __syncwarp();
        sum += sums[lane ^ half];
        __syncwarp();
    }
    return sum;
}

/* From 64 sums on only one warp works, and needs neither the block's barrier nor the loop. */
static __global__ void __launch_bounds__(KERNEL_THREADS_MAX)
    reduce_last_warp_kernel(const unsigned *in, unsigned *out, struct ladder_scratch *scratch,
                            uint64_t count)
{
    __shared__ unsigned sums[KERNEL_THREADS_MAX];
    sums[threadIdx.x] = load_two(in, count);
    __syncthreads();
    fold_halves(sums, 2 * WARP_THREADS);
    if (threadIdx.x >= WARP_THREADS)
        return;
    const unsigned sum = fold_last_warp(sums, blockDim.x > WARP_THREADS);
    if (threadIdx.x == 0)
        ladder_finish(sum, out, scratch);
}

/* ---- 6: reduce-unrolled ---- */

/* The sum of a block's values, in its first warp's threads; the compiler knows how many there
 * are, so no loop is left. Called once, by all threads. */
template <unsigned THREADS> static __device__ inline unsigned fold_unrolled(unsigned sum)
{
    __shared__ unsigned sums[THREADS];
    sums[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll
    for (unsigned half = THREADS / 2; half >= 2 * WARP_THREADS; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return threadIdx.x < WARP_THREADS ? fold_last_warp(sums, THREADS > WARP_THREADS) : 0;
}

template <unsigned THREADS>
static __global__ void __launch_bounds__(THREADS)
    reduce_unrolled_kernel(const unsigned *in, unsigned *out, struct ladder_scratch *scratch,
                           uint64_t count)
{
    const unsigned sum = fold_unrolled<THREADS>(load_two(in, count));
    if (threadIdx.x == 0)
        ladder_finish(sum, out, scratch);
}

/* ---- 7: reduce-many ---- */

/* A grid that fits the GPU goes over the array in strides: most additions need no other thread,
 * and blocks are few. */
template <unsigned THREADS>
static __global__ void __launch_bounds__(THREADS)
    reduce_many_kernel(const unsigned *in, unsigned *out, struct ladder_scratch *scratch,
                       uint64_t count)
{
    const uint64_t stride = 2 * (uint64_t)gridDim.x * THREADS;
    unsigned sum = 0;
    for (uint64_t i = 2 * (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride)
        sum += in[i] + element_or_0(in, i + THREADS, count);
    sum = fold_unrolled<THREADS>(sum);
    if (threadIdx.x == 0)
        ladder_finish(sum, out, scratch);
}

/* ---- launchers ---- */

using ladder_kernel = void(const unsigned *in, unsigned *out, struct ladder_scratch *scratch,
                           uint64_t count);

static unsigned ladder_threads(const struct kernel_args *args)
{
    return args->threads > 0 ? args->threads : static_cast<unsigned>(KERNEL_THREADS);
}

static int launch_on(ladder_kernel *kernel, const struct kernel_args *args, uint64_t blocks,
                     void *stream)
{
    const unsigned threads = ladder_threads(args);
    if (kernel == nullptr || (threads & (threads - 1)) != 0 || threads < WARP_THREADS)
        return cudaErrorInvalidValue;
    if (blocks < 1 || blocks > KERNEL_GRID_MAX)
        return cudaErrorInvalidConfiguration;
    return kernel_launch_grid(kernel, static_cast<unsigned>(blocks), threads, stream,
                              static_cast<const unsigned *>(args->in[0]),
                              static_cast<unsigned *>(args->out),
                              static_cast<struct ladder_scratch *>(args->scratch), args->count);
}

/* Launches on a grid of `each` elements per thread. */
static int launch_whole(ladder_kernel *kernel, const struct kernel_args *args, unsigned each,
                        void *stream)
{
    const uint64_t per_block = (uint64_t)each * ladder_threads(args);
    return launch_on(kernel, args, args->count / per_block + (args->count % per_block != 0),
                     stream);
}

/* Of the instances for blocks of 32, 64, ..., 1024 threads the one that is asked for, or NULL.
 */
static ladder_kernel *instance_for(ladder_kernel *const (&instances)[6],
                                   const struct kernel_args *args)
{
    for (unsigned i = 0; i < 6; i++)
        if (ladder_threads(args) == static_cast<unsigned>(WARP_THREADS) << i)
            return instances[i];
    return nullptr;
}

#define LADDER_LAUNCHER(name, each)                                                            \
    int reduce_##name##_launch(const struct kernel_args *args, void *stream)                   \
    {                                                                                          \
        return launch_whole(reduce_##name##_kernel, args, each, stream);                       \
    }                                                                                          \
    int reduce_##name##_preload(void)                                                          \
    {                                                                                          \
        return kernel_preload(reduce_##name##_kernel);                                         \
    }
LADDER_LAUNCHER(divergent, 1)
LADDER_LAUNCHER(conflicts, 1)
LADDER_LAUNCHER(sequential, 1)
LADDER_LAUNCHER(first_add, 2)
LADDER_LAUNCHER(last_warp, 2)

int reduce_unrolled_launch(const struct kernel_args *args, void *stream)
{
    static ladder_kernel *const instances[] = {
        reduce_unrolled_kernel<32>,  reduce_unrolled_kernel<64>,  reduce_unrolled_kernel<128>,
        reduce_unrolled_kernel<256>, reduce_unrolled_kernel<512>, reduce_unrolled_kernel<1024>};
    return launch_whole(instance_for(instances, args), args, 2, stream);
}

int reduce_unrolled_preload(void)
{
    return kernel_preload(reduce_unrolled_kernel<KERNEL_THREADS>);
}

int reduce_many_launch(const struct kernel_args *args, void *stream)
{
    static ladder_kernel *const instances[] = {
        reduce_many_kernel<32>,  reduce_many_kernel<64>,  reduce_many_kernel<128>,
        reduce_many_kernel<256>, reduce_many_kernel<512>, reduce_many_kernel<1024>};
    return launch_on(instance_for(instances, args), args, args->blocks, stream);
}

int reduce_many_preload(void)
{
    return kernel_preload(reduce_many_kernel<KERNEL_THREADS>);
}
