/* ladder.cu - sums of ints modulo 2^32: the seven steps of M. Harris, "Optimizing Parallel
 * Reduction in CUDA", each faster than the one before; `reduce-atomic`, which comes before
 * them, and `reduce-shuffle`, which comes after them.
 *
 * In the lecture each launch leaves a sum per block, and launches follow until one is left.
 * Here a tile's sum takes one launch: a block adds its sum to a total by one atomic addition,
 * which any order of blocks leaves the same, since integers wrap around. All seven pay that
 * alike, so they compare as the lecture's do, and no grid is too large: there is no array of
 * block sums.
 *
 * The ints are read as unsigned, whose overflow C defines. Blocks may have any power of two of
 * threads from a warp's to KERNEL_THREADS_MAX; threads behind the last element add 0. */
#include "kernels/kernel_file.h"

#ifdef __cplusplus /* ---- the kernels and their launchers ---- */

#include "kernels/device_util.cuh"
#include "kernels/grid_sum.cuh"

/* The scratch that the blocks of a launch share, in kernel_args.scratch. Both fields are 0
 * between launches. */
struct ladder_scratch {
    unsigned finished; /* blocks that have added their sums */
    unsigned total;
};
static_assert(sizeof(struct ladder_scratch) <= KERNEL_SCRATCH_BYTES, "scratch too small");

/* Counts a block whose part is in the total; the last block to come moves the total to *out.
 * One thread of each block calls it. */
static __device__ void ladder_arrive(unsigned *out, struct ladder_scratch *scratch)
{
    __threadfence(); /* our part is in it before we are counted */
    if (atomicInc(&scratch->finished, gridDim.x - 1) != gridDim.x - 1)
        return;
    __threadfence(); /* the parts of all others are in it, too; the counter is 0 again */
    *out = atomicExch(&scratch->total, 0);
}

/* Adds a block's sum to the total, and ends the block. One thread of each block calls it. */
static __device__ void ladder_finish(unsigned sum, unsigned *out,
                                     struct ladder_scratch *scratch)
{
    atomicAdd(&scratch->total, sum);
    ladder_arrive(out, scratch);
}

/* ---- reduce-atomic: before the ladder ---- */

/* This is no reduction at all: every element is added to the one total, and all threads wait
 * for one another there. The ladder is the remedy. */
static __global__ void __launch_bounds__(KERNEL_THREADS)
    reduce_atomic_kernel(const unsigned *in, unsigned *out, struct ladder_scratch *scratch,
                         uint64_t count)
{
    for (uint64_t i = grid_thread(); i < count; i += grid_threads())
        atomicAdd(&scratch->total, in[i]);
    __threadfence(); /* each thread's additions are done before its block is counted */
    __syncthreads();
    if (threadIdx.x == 0)
        ladder_arrive(out, scratch);
}

static int reduce_atomic_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(reduce_atomic_kernel, args, stream,
                         static_cast<const unsigned *>(args->in[0]),
                         static_cast<unsigned *>(args->out),
                         static_cast<struct ladder_scratch *>(args->scratch), args->count);
}

KERNEL_LAUNCHER(reduce_atomic, reduce_atomic_launch, reduce_atomic_kernel);

/* ---- the ladder ---- */

static __device__ inline unsigned element_or_0(const unsigned *in, uint64_t i, uint64_t count)
{
    return i < count ? in[i] : 0;
}

/* Returns this thread's element. Neighbouring threads read neighbouring elements. */
static __device__ inline unsigned load_one(const unsigned *in, uint64_t count)
{
    return element_or_0(in, (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, count);
}

/* Returns the sum of this thread's two elements, which are a block's width apart: neighbouring
 * threads still read neighbouring elements. */
static __device__ inline unsigned load_two(const unsigned *in, uint64_t count)
{
    const uint64_t i = 2 * (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    return element_or_0(in, i, count) + element_or_0(in, i + blockDim.x, count);
}

/* ---- 1: reduce-divergent ---- */

/* Neighbours are added first, then pairs, then fours. A remainder, slow by itself, decides
 * which threads work, and it does so differently within every warp: all warps stay busy to the
 * end, ever more of their lanes for nothing. */
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

/* The first threads of the block do the same additions: whole warps work, or rest. But the
 * words that a warp's threads add are 2, 4, 8, ... words apart, in ever fewer banks of shared
 * memory. */
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

/* Neighbouring threads add neighbouring words, so no bank is asked twice. But half of the
 * threads never add anything. */
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

/* A thread does its first addition as it loads: there are half as many blocks, and all of their
 * threads add. */
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

/* Returns the sum of the first warp's values and, in a larger block, of the 32 behind them, to
 * each of the warp's threads. Only that warp calls it, behind a __syncthreads().
 *
 * The lectures had no barrier here, only volatile memory, and relied on the threads of a warp
 * going in step. Since Volta each thread has its own program counter, so each step calls
 * __syncwarp() after its writes, and again after its reads, which the next writes must not
 * overtake. */
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

/* When 64 sums are left only one warp works, and it needs neither the block's barrier nor the
 * loop. */
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

/* Returns the sum of a block's values, to the threads of its first warp. The compiler knows how
 * many values there are, so no loop is left. All threads call it, once. */
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

/* ---- launchers of the ladder ---- */

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

/* Launches on a grid with `each` elements per thread. */
static int launch_whole(ladder_kernel *kernel, const struct kernel_args *args, unsigned each,
                        void *stream)
{
    const uint64_t per_block = (uint64_t)each * ladder_threads(args);
    return launch_on(kernel, args, args->count / per_block + (args->count % per_block != 0),
                     stream);
}

/* Returns the instance for the block size that is asked for, or NULL. There is one for each of
 * 32, 64, ..., 1024 threads. */
static ladder_kernel *instance_for(ladder_kernel *const (&instances)[6],
                                   const struct kernel_args *args)
{
    for (unsigned i = 0; i < 6; i++)
        if (ladder_threads(args) == static_cast<unsigned>(WARP_THREADS) << i)
            return instances[i];
    return nullptr;
}

/* Defines the launcher of a step whose threads take `each` elements. */
#define LADDER_LAUNCHER(name, each)                                                            \
    static int reduce_##name##_launch(const struct kernel_args *args, void *stream)            \
    {                                                                                          \
        return launch_whole(reduce_##name##_kernel, args, each, stream);                       \
    }                                                                                          \
    KERNEL_LAUNCHER(reduce_##name, reduce_##name##_launch, reduce_##name##_kernel)
LADDER_LAUNCHER(divergent, 1);
LADDER_LAUNCHER(conflicts, 1);
LADDER_LAUNCHER(sequential, 1);
LADDER_LAUNCHER(first_add, 2);
LADDER_LAUNCHER(last_warp, 2);

static int reduce_unrolled_launch(const struct kernel_args *args, void *stream)
{
    static ladder_kernel *const instances[] = {
        reduce_unrolled_kernel<32>,  reduce_unrolled_kernel<64>,  reduce_unrolled_kernel<128>,
        reduce_unrolled_kernel<256>, reduce_unrolled_kernel<512>, reduce_unrolled_kernel<1024>};
    return launch_whole(instance_for(instances, args), args, 2, stream);
}

KERNEL_LAUNCHER(reduce_unrolled, reduce_unrolled_launch,
                reduce_unrolled_kernel<KERNEL_THREADS>);

static int reduce_many_launch(const struct kernel_args *args, void *stream)
{
    static ladder_kernel *const instances[] = {
        reduce_many_kernel<32>,  reduce_many_kernel<64>,  reduce_many_kernel<128>,
        reduce_many_kernel<256>, reduce_many_kernel<512>, reduce_many_kernel<1024>};
    return launch_on(instance_for(instances, args), args, args->blocks, stream);
}

KERNEL_LAUNCHER(reduce_many, reduce_many_launch, reduce_many_kernel<KERNEL_THREADS>);

/* ---- reduce-shuffle: after the ladder ---- */

static __global__ void __launch_bounds__(KERNEL_THREADS)
    reduce_shuffle_kernel(const unsigned *in, unsigned *out, struct grid_scratch *scratch,
                          uint64_t count)
{
    const struct grid_turn turn = grid_begin(scratch);
    unsigned sum = 0;
#pragma unroll 4
    for (uint64_t i = grid_thread(); i < count; i += grid_threads())
        sum += in[i];
    if (grid_sum<KERNEL_THREADS>(sum, scratch, turn))
        *out = sum;
}

static int reduce_shuffle_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(reduce_shuffle_kernel, args, stream,
                         static_cast<const unsigned *>(args->in[0]),
                         static_cast<unsigned *>(args->out),
                         static_cast<struct grid_scratch *>(args->scratch), args->count);
}

KERNEL_LAUNCHER(reduce_shuffle, reduce_shuffle_launch, reduce_shuffle_kernel);

#else /* ---- the CPU twins and the oracles ---- */

#include "kernels/host_util.h"

/* The elements are unsigned, for signed overflow is undefined in C. */
DEFINE_SUM_HOST(sum_of_ints, uint32_t, uint32_t, uint32_t)

static void sum_of_ints_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++)
        sum->integer += (uint64_t)(int64_t)oracle->value[i];
    sum->count += oracle->count;
}

static double sum_of_ints_oracle_result(const struct oracle_sum *sum, double *bound)
{
    const uint32_t low = (uint32_t)sum->integer;
    *bound = 0;
    return low <= INT32_MAX ? low : (double)low - 0x1p32;
}

const struct kernel_code sum_of_ints_code = {.host = sum_of_ints_host,
                                             .oracle_fold = sum_of_ints_oracle_fold,
                                             .oracle_result = sum_of_ints_oracle_result};

#endif
