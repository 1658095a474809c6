// scans.cu - scans of a tile, as a program of --emit has them: how a block scans its part of a tile, and how it learns
// what comes before that. They are those of kernels/scan.cu in the fewest lines, for a program's blocks and parts have
// one size, and what its tiles carry is a struct of its own.
//
// nvcc compiles this file as it stands; src/emit/fill.c says what its marks and macros are.
#include <cstddef>

// The sum of all tiles before, and what a tile leaves for the next. EXCLUSIVE: without the element itself. PADDED: a
// place more behind every 32.
#define NAME      scan
#define SUMS      unsigned
#define BEFORE    sums[0]
#define LEAVE     sums[1] = sum + all;
#define EXCLUSIVE 0
#define PADDED    0
const int THREADS = 256, ITEMS = 33, PART_ITEMS = ITEMS * THREADS;
struct scratch {
    unsigned taken, ended, launch;
    unsigned long long told[100];
};

//// part_by_warps
// Returns the sum of x of all threads of the warp up to this one.
static __device__ unsigned warp_scan(unsigned x) {
    for (unsigned offset = 1; offset < 32; offset *= 2) {
        const unsigned other = __shfl_up_sync(~0u, x, offset);
        x += threadIdx.x % 32 >= offset ? other : 0;
    }
    return x;
}

// Scans x[PART_ITEMS], of which each thread has ITEMS: an odd number, so that threads of a warp
// reach different banks of the memory. Returns the sum of all.
static __device__ unsigned scan_part(unsigned *x) {
    __shared__ unsigned sums[THREADS / 32];
    unsigned *own = x + threadIdx.x * ITEMS, sum = 0, all = 0;
    for (int i = 0; i < ITEMS; i++) sum += own[i];
    const unsigned with = warp_scan(sum);
    if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = with;
    __syncthreads();
    unsigned before = with - sum;
    for (unsigned warp = 0; warp < THREADS / 32; warp++) {
        before += warp < threadIdx.x / 32 ? sums[warp] : 0;
        all += sums[warp];
    }
    for (int i = 0; i < ITEMS; i++) {
#if EXCLUSIVE
        const unsigned element = own[i];
        own[i] = before;
        before += element;
#else
        before += own[i];
        own[i] = before;
#endif
    }
    return all;
}

//// -
namespace naive {

//// part_naive
// Scans x[PART_ITEMS]: in each step each adds the one `offset` before it, from one array to the
// other. Returns the sum of all.
static __device__ unsigned scan_part(unsigned *x) {
    __shared__ unsigned other[PART_ITEMS];
    unsigned *from = x, *to = other;
    for (unsigned offset = 1; offset < PART_ITEMS; offset *= 2) {
        to[threadIdx.x] = from[threadIdx.x];
        if (threadIdx.x >= offset)
            to[threadIdx.x] += from[threadIdx.x - offset];
        unsigned *next = from; // after 8 steps, it is x again
        from = to;
        to = next;
        __syncthreads();
    }
    return x[PART_ITEMS - 1];
}

//// -
}
namespace tree {
#define RIGHT x[right]
#define LEFT  x[right - half]
#define LAST  x[PART_ITEMS - 1]

//// part_by_tree
#if PADDED
// An unused place behind every 32 moves threads that would meet in one bank apart.
static __device__ unsigned slot(unsigned leaf) { return leaf + leaf / 32; }

#endif
// Scans x[PART_ITEMS] up and down a tree: nodes get the sum of their leaves, then of all leaves
// before them. Returns the sum of all.
static __device__ unsigned scan_part(unsigned *x) {
#if PADDED
    __shared__ unsigned tree[PART_ITEMS + PART_ITEMS / 32];
    for (int i = threadIdx.x; i < PART_ITEMS; i += THREADS)
        tree[slot(i)] = x[i];
    __syncthreads();
#endif
    for (unsigned half = 1; half < PART_ITEMS; half *= 2) {
        const unsigned right = (threadIdx.x + 1) * 2 * half - 1;
        if (right < PART_ITEMS)
            RIGHT += LEFT;
        __syncthreads();
    }
    const unsigned all = LAST;
    __syncthreads();
    if (threadIdx.x == 0) // nothing comes before the whole
        LAST = 0;
    for (unsigned half = PART_ITEMS / 2; half > 0; half /= 2) {
        __syncthreads();
        const unsigned right = (threadIdx.x + 1) * 2 * half - 1;
        if (right < PART_ITEMS) {
            const unsigned left = LEFT;
            LEFT = RIGHT;
            RIGHT += left;
        }
    }
    __syncthreads();
#if PADDED
    for (int i = threadIdx.x; i < PART_ITEMS; i += THREADS)
        x[i] = tree[slot(i)];
#endif
    return all;
}

//// -
}

//// scan_tile
// A part tells those behind it its own sum and, once it knows that, the sum of all up to its
// end. The sum, which of the two it is, and the launch's number are one word, read as it was
// written. A word of another launch says nothing.
static __device__ unsigned long long word_of(unsigned launch, bool whole, unsigned sum) {
    return (launch + 1ull) << 33 | (unsigned long long)whole << 32 | sum;
}

// Returns the sum of all parts before `part`. A warp looks back over 32 parts at a time, until
// it meets one that knows all up to its end.
static __device__ unsigned look_back(scratch *blocks, unsigned part) {
    const volatile unsigned long long *told = blocks->told;
    const unsigned launch = blocks->launch, lane = threadIdx.x % 32;
    unsigned sum = 0, whole = 0;
    for (size_t end = part; whole == 0; end -= 32) {
        unsigned long long word = word_of(launch, true, 0); // nothing is before part 0
        if (lane < end)
            do word = told[end - 1 - lane]; while (word >> 33 != launch + 1ull);
        whole = __ballot_sync(~0u, word >> 32 & 1);
        const bool counts = (whole & ((1u << lane) - 1)) == 0; // the nearest whole one, and nearer
        unsigned found = counts ? (unsigned)word : 0;
        for (int offset = 16; offset > 0; offset /= 2)
            found += __shfl_xor_sync(~0u, found, offset);
        sum += found;
    }
    return sum;
}

// Each block takes a part, scans it, learns what comes before it, and adds that.
static __global__ void NAME(const unsigned *in, unsigned *out, SUMS *sums, scratch *blocks, size_t count) {
    __shared__ unsigned x[PART_ITEMS], taken, before;
    for (;;) {
        if (threadIdx.x == 0) // in turn: the parts before it are under way or done
            taken = atomicAdd(&blocks->taken, 1);
        __syncthreads();
        const unsigned part = taken;
        const size_t first = (size_t)part * PART_ITEMS, own = first + threadIdx.x;
        if (first >= count)
            break;
#pragma unroll // so that several loads are under way at once
        for (int i = 0; i < PART_ITEMS; i += THREADS)
            x[threadIdx.x + i] = own + i < count ? in[own + i] : 0;
        __syncthreads();
        const unsigned all = scan_part(x);
        if (threadIdx.x < 32) {
            volatile unsigned long long *told = &blocks->told[part];
            if (threadIdx.x == 0 && part > 0)
                *told = word_of(blocks->launch, false, all);
            const unsigned sum = part > 0 ? look_back(blocks, part) : BEFORE;
            if (threadIdx.x == 0) {
                *told = word_of(blocks->launch, true, sum + all);
                before = sum;
                if (first + PART_ITEMS >= count)
                    LEAVE // of the whole tile
            }
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < PART_ITEMS; i += THREADS)
            if (own + i < count)
                out[own + i] = before + x[threadIdx.x + i];
    }
    __threadfence(); // all that this block has read and told comes before its end
    if (threadIdx.x == 0 && atomicInc(&blocks->ended, gridDim.x - 1) == gridDim.x - 1) {
        blocks->taken = 0; // the last one leaves all so for the next launch; `ended` is 0 again
        blocks->launch++;
    }
}

