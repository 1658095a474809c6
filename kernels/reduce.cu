/* reduce.cu - reductions in one pass: `sum` of floats and `reduce-shuffle` of ints.
 *
 * Each thread sums elements of its own, a warp folds its threads' sums by shuffles, a block its
 * warps' through shared memory, and the block that finishes last folds the blocks'. */
#include "device_util.cuh"
#include "kernel_rows.h"

/* What a launch keeps between its blocks, in kernel_args.scratch. */
template <typename T> struct grid_scratch {
    unsigned finished; /* blocks that have written their sum; 0 between launches */
    alignas(256) T sums[KERNEL_BLOCKS_MAX];
};
static_assert(sizeof(struct grid_scratch<double>) <= KERNEL_SCRATCH_BYTES, "scratch too small");
static_assert(sizeof(struct grid_scratch<unsigned>) <= KERNEL_SCRATCH_BYTES,
              "scratch too small");

/* Whether this block is the last of the grid to arrive here; what thread 0 of each block wrote
 * before, this one's threads may then read. */
static __device__ bool grid_is_last_block(unsigned *finished)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence(); /* our sum is seen before our arrival is */
        /* The last arrival wraps the counter to 0, ready for the next launch. */
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
        __threadfence(); /* and all others' sums after theirs */
    }
    __syncthreads();
    return last;
}

/* Sums `value` over the grid into *out. Which block is last is left to chance, but not the
 * order in which it adds: the same input on the same grid gives the same bits. */
template <typename T, typename Out>
__device__ void grid_sum(T value, Out *out, struct grid_scratch<T> *scratch)
{
    value = block_sum(value);
    if (threadIdx.x == 0)
        scratch->sums[blockIdx.x] = value;
    if (!grid_is_last_block(&scratch->finished))
        return;
    T sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += KERNEL_THREADS)
        sum += __ldcg(&scratch->sums[i]); /* from L2, where all blocks' writes meet */
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *out = static_cast<Out>(sum);
}

/* ---- sum ---- */

/* The loads a thread has in flight before its first addition waits for one. */
enum { SUM_LOADS = 4 };

static __device__ float vector_sum(float4 x)
{
    return (x.x + x.y) + (x.z + x.w);
}

/* Four elements are added in float, and from there on everything in double: at one conversion
 * and one addition per four elements that is free even where double precision is slow, and it
 * makes the error independent of the number of elements (sum_oracle_result() says how small it
 * is).
 *
 * Only the middle of the array can be read as float4: `head` elements come before it, fewer
 * than four, and as few may follow. The first threads of the grid take them. */
static __device__ double sum_of_thread(const float *in, uint64_t count, uint64_t head)
{
    const uint64_t vectors = (count - head) / 4;
    const float4 *middle = reinterpret_cast<const float4 *>(in + head);
    double sum = 0;
#pragma unroll 1
    for (uint64_t i = grid_thread(); i < vectors; i += SUM_LOADS * grid_threads()) {
        float4 loaded[SUM_LOADS] = {};
#pragma unroll
        for (int load = 0; load < SUM_LOADS; load++)
            if (i + load * grid_threads() < vectors)
                loaded[load] = middle[i + load * grid_threads()];
#pragma unroll
        for (int load = 0; load < SUM_LOADS; load++)
            sum += vector_sum(loaded[load]);
    }
    const uint64_t tail = head + 4 * vectors + grid_thread();
    if (grid_thread() < head)
        sum += in[grid_thread()];
    if (tail < count)
        sum += in[tail];
    return sum;
}

static __global__ void __launch_bounds__(KERNEL_THREADS)
    sum_kernel(const float *in, float *out, struct grid_scratch<double> *scratch,
               uint64_t count, uint64_t head)
{
    grid_sum(sum_of_thread(in, count, head), out, scratch);
}

/* Elements of `in` before the first that is aligned like a float4. */
static uint64_t sum_head(const float *in, uint64_t count)
{
    const uintptr_t past = reinterpret_cast<uintptr_t>(in) % alignof(float4);
    const uint64_t head = past == 0 ? 0 : (alignof(float4) - past) / sizeof *in;
    return head < count ? head : count;
}

int sum_launch(const struct kernel_args *args, void *stream)
{
    const float *in = static_cast<const float *>(args->in[0]);
    return kernel_launch(sum_kernel, args, stream, in, static_cast<float *>(args->out),
                         static_cast<struct grid_scratch<double> *>(args->scratch), args->count,
                         sum_head(in, args->count));
}

int sum_preload(void)
{
    return kernel_preload(sum_kernel);
}

/* ---- reduce-shuffle ---- */

/* The ints are read as unsigned: overflow then wraps around, as the result's definition asks.
 */
static __global__ void __launch_bounds__(KERNEL_THREADS)
    reduce_shuffle_kernel(const unsigned *in, unsigned *out,
                          struct grid_scratch<unsigned> *scratch, uint64_t count)
{
    unsigned sum = 0;
#pragma unroll 4
    for (uint64_t i = grid_thread(); i < count; i += grid_threads())
        sum += in[i];
    grid_sum(sum, out, scratch);
}

int reduce_shuffle_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(
        reduce_shuffle_kernel, args, stream, static_cast<const unsigned *>(args->in[0]),
        static_cast<unsigned *>(args->out),
        static_cast<struct grid_scratch<unsigned> *>(args->scratch), args->count);
}

int reduce_shuffle_preload(void)
{
    return kernel_preload(reduce_shuffle_kernel);
}
