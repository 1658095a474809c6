/* grid_sum.cuh - the sum over all threads of a grid, in one launch: a warp folds its threads'
 * sums by shuffles, a block its warps' sums through shared memory, and the block that began
 * last folds the blocks' sums. */
#ifndef PIPELINE_GRID_SUM_CUH
#define PIPELINE_GRID_SUM_CUH

#include "kernels/device_util.cuh"

/* The scratch that the blocks of a launch share, in kernel_args.scratch. A block tells its sum
 * in two words, one half of each being the launch's number: the words themselves say whether
 * they have been written, so their reader needs no fence and no counter. That leaves one trip
 * through the L2 cache behind the last element, where "the last block to arrive folds" has
 * three, and at 16 MiB each trip is a tenth of the time. */
struct grid_scratch {
    unsigned begun;    /* blocks that have begun; 0 between launches */
    unsigned launches; /* launches before this one, which tell its words from older ones */
    alignas(KERNEL_SCRATCH_HEAD) unsigned long long words[KERNEL_BLOCKS_MAX][2];
};
static_assert(sizeof(struct grid_scratch) == KERNEL_SCRATCH_BYTES, "kernel.h counts on it");

/* A block's first thread learns this before its first element, and needs it only after its
 * last. */
struct grid_turn {
    unsigned launch;
    bool folds; /* this block is the last to begin */
};

static __device__ struct grid_turn grid_begin(struct grid_scratch *scratch)
{
    struct grid_turn turn = {};
    if (threadIdx.x == 0) {
        turn.launch = __ldcg(&scratch->launches) + 1;
        /* The last block wraps the counter to 0, ready for the next launch. */
        turn.folds = atomicInc(&scratch->begun, gridDim.x - 1) == gridDim.x - 1;
    }
    return turn;
}

/* These functions turn a sum into 64 bits, and back. */
static __device__ inline unsigned long long sum_bits(double sum)
{
    return __double_as_longlong(sum);
}

static __device__ inline unsigned long long sum_bits(unsigned long long sum)
{
    return sum;
}

static __device__ inline unsigned long long sum_bits(unsigned sum)
{
    return sum;
}

static __device__ inline void sum_of_bits(unsigned long long bits, double *sum)
{
    *sum = __longlong_as_double(bits);
}

static __device__ inline void sum_of_bits(unsigned long long bits, unsigned long long *sum)
{
    *sum = bits;
}

static __device__ inline void sum_of_bits(unsigned long long bits, unsigned *sum)
{
    *sum = static_cast<unsigned>(bits);
}

template <typename T>
static __device__ void sum_tell(struct grid_scratch *scratch, unsigned launch, T sum)
{
    volatile unsigned long long *words = scratch->words[blockIdx.x];
    const unsigned long long bits = sum_bits(sum);
    const unsigned long long head = static_cast<unsigned long long>(launch) << 32;
    words[0] = head | (bits & 0xffffffff);
    words[1] = head | bits >> 32;
}

/* Waits for the sum of a block. The block that waits began last, so the one that tells is
 * running or has ended. Both words are asked for at once, and each is believed by itself:
 * nothing says that they come together. They are volatile because ptxas assumes that a loop of
 * nothing but other loads (__ldcg() among them) ends, and leaves it out. */
template <typename T>
static __device__ T sum_await(struct grid_scratch *scratch, unsigned block, unsigned launch)
{
    const volatile unsigned long long *words = scratch->words[block];
    unsigned long long low = words[0], high = words[1];
    while (low >> 32 != launch || high >> 32 != launch) {
        __nanosleep(0);
        low = words[0];
        high = words[1];
    }
    T sum;
    sum_of_bits(high << 32 | (low & 0xffffffff), &sum);
    return sum;
}

/* Sums `value` over the grid. Returns true to one thread of it, whose `value` then is the sum.
 * Which block folds is left to chance, but not the order in which it adds: the same input on
 * the same grid gives the same bits. */
template <unsigned threads, typename T>
__device__ bool grid_sum(T &value, struct grid_scratch *scratch, struct grid_turn turn)
{
    __shared__ struct grid_turn shared_turn;
    value = block_sum<threads>(value);
    if (threadIdx.x == 0) {
        shared_turn = turn;
        sum_tell(scratch, turn.launch, value);
    }
    __syncthreads();
    if (!shared_turn.folds)
        return false;
    T sum = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += threads)
        sum += sum_await<T>(scratch, block, shared_turn.launch);
    value = block_sum<threads>(sum);
    if (threadIdx.x == 0)
        scratch->launches = turn.launch; /* all blocks have told, so all have read it */
    return threadIdx.x == 0;
}

#endif
