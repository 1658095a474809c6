// reductions.cu - a tile's sum, or whether all of it holds, in one launch, as a program of --emit has it: what
// kernels/reduce.cu does, in the fewest lines; and the sums of ints of kernels/ladder.cu, each of which shows what
// costs, and what the next one does about it. These have the grids, the shared memory and the barriers of those
// kernels, so that they take the same time. A program's blocks have as many threads as it says, and what they tell one
// another by is a struct of its own.
//
// nvcc compiles this file as it stands; src/emit/fill.c says what its marks and macros are.
#include <cmath>
#include <cstddef>

#define NAME    sum
#define ELEMENT float
#define RESULT  float
#define PART    double
#define TERM    in[i]
#define VALUE   mine
const int THREADS = 256, BLOCKS = 64;

//// scratch
static struct scratch { // of a slot: how many blocks have ended, and what each found
    unsigned ended;
    PART part[BLOCKS];
//// -
} *d_found;

//// reduction
// Returns the sum of all threads' x to each of the block's threads.
static __device__ PART block_sum(PART x) {
    __shared__ PART part[THREADS];
    part[threadIdx.x] = x;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    __syncthreads();
    return part[0];
}

// Each block adds up its share; the last one to end adds up what all have found.
static __global__ void NAME(const ELEMENT *in, RESULT *out, scratch *found, size_t count) {
    __shared__ bool last;
    PART mine = 0;
    const size_t step = (size_t)gridDim.x * blockDim.x;
#pragma unroll 8 // so that several loads are under way at once
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step)
        mine += TERM;
    mine = block_sum(mine);
    if (threadIdx.x == 0) {
        found->part[blockIdx.x] = mine;
        __threadfence(); // the part is seen before the count
        last = atomicInc(&found->ended, gridDim.x - 1) == gridDim.x - 1; // then it is 0 again
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence(); // the count was seen before the parts
    mine = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x)
        mine += found->part[block];
    __syncthreads(); // all threads have read the block's sum
    mine = block_sum(mine);
    if (threadIdx.x == 0)
        *out = VALUE;
}

//// -
namespace ladder {

//// ladder_scratch
static struct scratch { // of a slot: how many blocks have ended, and their sum; 0 between launches
    unsigned ended, total;
//// -
} *d_found;

//// end_block
// Counts a block, which has added to the total; the last one to end takes that, and leaves 0.
static __device__ void end_block(unsigned *out, scratch *found) {
    __threadfence(); // what was added is seen before the count
    if (atomicInc(&found->ended, gridDim.x - 1) < gridDim.x - 1)
        return;
    __threadfence(); // the count, which is 0 again, was seen before the total
    *out = atomicExch(&found->total, 0);
}

//// reduce_divergent
// Step 1: neighbours are added first, then pairs, then fours.
// What costs: threads of one warp do different things, so that all warps are busy to the end,
// most of their threads for nothing; and dividing is slow. (blockDim.x is THREADS, but the
// compiler doesn't know that, and leaves the loop as it is.)
static __global__ void reduce_divergent(
        const unsigned *in, unsigned *out, scratch *found, size_t count) {
    __shared__ unsigned sums[THREADS];
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < count ? in[i] : 0;
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (threadIdx.x % (2 * stride) == 0)
            sums[threadIdx.x] += sums[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(&found->total, sums[0]);
        end_block(out, found);
    }
}

//// reduce_conflicts
// Step 2: the first threads do the additions of step 1: whole warps work, or rest.
// What costs: the words that a warp adds lie 2, 4, 8 and more apart, in ever fewer of the 32
// banks of shared memory, and a bank gives one word at a time.
static __global__ void reduce_conflicts(
        const unsigned *in, unsigned *out, scratch *found, size_t count) {
    __shared__ unsigned sums[THREADS];
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < count ? in[i] : 0;
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned at = 2 * stride * threadIdx.x;
        if (at < blockDim.x)
            sums[at] += sums[at + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(&found->total, sums[0]);
        end_block(out, found);
    }
}

//// reduce_sequential
// Step 3: the far half is added onto the near one: neighbours add neighbouring words, each in a
// bank of its own.
// What costs: half of the threads load an element, and never add anything.
static __global__ void reduce_sequential(
        const unsigned *in, unsigned *out, scratch *found, size_t count) {
    __shared__ unsigned sums[THREADS];
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < count ? in[i] : 0;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half >= 1; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(&found->total, sums[0]);
        end_block(out, found);
    }
}

//// reduce_first_add
// Step 4: a thread adds two elements as it loads them: half as many blocks, and all threads add.
// What costs: the block waits at each barrier, even when one warp is all that has work.
static __global__ void reduce_first_add(
        const unsigned *in, unsigned *out, scratch *found, size_t count) {
    __shared__ unsigned sums[THREADS];
    const size_t i = 2 * (size_t)blockIdx.x * blockDim.x + threadIdx.x, other = i + blockDim.x;
    sums[threadIdx.x] = (i < count ? in[i] : 0) + (other < count ? in[other] : 0);
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half >= 1; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(&found->total, sums[0]);
        end_block(out, found);
    }
}

//// last_warp
// Returns the sum of the first 64 words. Threads of a warp need no barrier of the block, but since
// Volta they don't go in step by themselves: each step waits for the warp, twice.
static __device__ unsigned last_warp(unsigned *sums) {
    unsigned sum = sums[threadIdx.x] + sums[threadIdx.x + 32];
    __syncwarp();
#pragma unroll
    for (unsigned half = 16; half > 0; half /= 2) {
        sums[threadIdx.x] = sum;
        __syncwarp(); // all have written
        sum += sums[threadIdx.x ^ half];
        __syncwarp(); // all have read
    }
    return sum;
}

//// reduce_last_warp
// Step 5: the last 64 words are the first warp's alone, without loop and barriers; the others end.
// What costs: the loop that is left, with its counter and its tests.
static __global__ void reduce_last_warp(
        const unsigned *in, unsigned *out, scratch *found, size_t count) {
    __shared__ unsigned sums[THREADS];
    const size_t i = 2 * (size_t)blockIdx.x * blockDim.x + threadIdx.x, other = i + blockDim.x;
    sums[threadIdx.x] = (i < count ? in[i] : 0) + (other < count ? in[other] : 0);
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half >= 64; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x >= 32)
        return;
    const unsigned sum = last_warp(sums);
    if (threadIdx.x == 0) {
        atomicAdd(&found->total, sum);
        end_block(out, found);
    }
}

//// unrolled_sum
// Returns the sum of the block's x to its first warp. THREADS is a constant: no loop is left.
static __device__ unsigned block_sum(unsigned x) {
    __shared__ unsigned sums[THREADS];
    sums[threadIdx.x] = x;
    __syncthreads();
#pragma unroll
    for (unsigned half = THREADS / 2; half >= 64; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return threadIdx.x < 32 ? last_warp(sums) : 0;
}

//// reduce_unrolled
// Step 6: step 5, unrolled.
// What costs: each thread has two elements, and then the block adds up: most of its time goes
// into that.
static __global__ void reduce_unrolled(
        const unsigned *in, unsigned *out, scratch *found, size_t count) {
    const size_t i = 2 * (size_t)blockIdx.x * blockDim.x + threadIdx.x, other = i + blockDim.x;
    const unsigned sum = block_sum((i < count ? in[i] : 0) + (other < count ? in[other] : 0));
    if (threadIdx.x == 0) {
        atomicAdd(&found->total, sum);
        end_block(out, found);
    }
}

//// reduce_many
// Step 7: BLOCKS fill the GPU once, and go over all elements in strides: most additions need
// no other thread.
// What costs: the memory, which gives the elements; all else is hidden behind that.
static __global__ void reduce_many(
        const unsigned *in, unsigned *out, scratch *found, size_t count) {
    const size_t stride = 2 * (size_t)gridDim.x * THREADS;
    unsigned sum = 0;
    for (size_t i = 2 * (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride)
        sum += in[i] + (i + THREADS < count ? in[i + THREADS] : 0);
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        atomicAdd(&found->total, sum);
        end_block(out, found);
    }
}

//// reduce_atomic
// No reduction at all: every element is added to the one total.
// What costs: additions to one word come one after another, and all threads wait for that.
static __global__ void reduce_atomic(
        const unsigned *in, unsigned *out, scratch *found, size_t count) {
    const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (size_t i = first; i < count; i += (size_t)gridDim.x * blockDim.x)
        atomicAdd(&found->total, in[i]);
    __threadfence(); // each thread's additions are done before its block is counted
    __syncthreads();
    if (threadIdx.x == 0)
        end_block(out, found);
}

//// -
}
namespace shuffle {

//// shuffle_scratch
static struct scratch { // of a slot: blocks that have begun, launches before, and what each tells
    unsigned begun, launches;
    unsigned long long told[BLOCKS];
//// -
} *d_found;

//// reduce_shuffle
// Returns the sum of the warp's x to its first thread. Registers are handed over: no memory,
// and no barrier.
static __device__ unsigned warp_sum(unsigned x) {
    for (int offset = 16; offset > 0; offset /= 2)
        x += __shfl_down_sync(~0u, x, offset);
    return x;
}

// Returns the sum of the block's x to its first thread, with one barrier: all warps' sums, and
// then that of those.
static __device__ unsigned block_sum(unsigned x) {
    __shared__ unsigned sums[THREADS / 32];
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32)
        x = warp_sum(threadIdx.x < THREADS / 32 ? sums[threadIdx.x] : 0);
    return x;
}

// A block tells its sum in one word with the launch's number, so that it is read as it was told.
// The block that began last adds up what all tell; it waits only for blocks that are under way.
// What costs: the memory, as in reduce-many. After its last element a block makes one trip to the
// L2 cache; adding to a total and counting would take three.
static __global__ void reduce_shuffle(
        const unsigned *in, unsigned *out, scratch *found, size_t count) {
    __shared__ bool last;
    volatile unsigned long long *told = found->told;
    const unsigned launch = found->launches + 1;
    unsigned sum = 0, turn = 0;
    if (threadIdx.x == 0)
        turn = atomicInc(&found->begun, gridDim.x - 1); // behind the last one it is 0 again
    const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 4 // so that several loads are under way at once
    for (size_t i = first; i < count; i += (size_t)gridDim.x * blockDim.x)
        sum += in[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        told[blockIdx.x] = (unsigned long long)launch << 32 | sum;
        last = turn == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    sum = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
        unsigned long long word;
        do word = told[block]; while (word >> 32 != launch); // until that block tells
        sum += (unsigned)word;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        *out = sum;
        found->launches = launch; // all blocks have told, so all have read it
    }
}

//// -
}
