/* look_back.cuh - how the blocks of a scan learn what comes before their parts of the array:
 * the decoupled look-back of Merrill and Garland, "Single-pass Parallel Prefix Scan with
 * Decoupled Look-back" (2016). */
#ifndef PIPELINE_LOOK_BACK_CUH
#define PIPELINE_LOOK_BACK_CUH

#include "kernels/device_util.cuh"

enum { FULL_WARP = 0xffffffff };

/* The head of kernel_args.scratch: the blocks of a launch share it, and a word per part follows
 * it. */
struct alignas(KERNEL_SCRATCH_HEAD) scan_scratch {
    unsigned taken;    /* parts that blocks have asked for; 0 between launches */
    unsigned finished; /* blocks that will ask for no more; 0 between launches */
    unsigned launches; /* launches before this one, which tell its words from older ones */
};
static_assert(sizeof(struct scan_scratch) == KERNEL_SCRATCH_HEAD,
              "kernel_scratch_bytes() counts on it");

struct scan_work {
    const unsigned *in;
    unsigned *out; /* may be `in`: a block reads all of its part before it writes any of it */
    uint64_t count;
    const unsigned *carry_in; /* both may be NULL */
    unsigned *carry_out;
    bool carry_own; /* carry_out is without carry_in */
    struct scan_scratch *scratch;
    unsigned skew; /* elements that `out` is behind the last boundary of a line: parts are as if
                      it began there, so that their stores fill whole lines */
    bool alike;    /* `in` is as far as `out` from the last boundary of 16 bytes: it is read in
                      vectors, as `out` is written */
};

/* A part tells those behind it its own sum and, once it knows it, the sum of everything up to
 * its end. The value, the launch's number and which of the two sums it is are one word, so that
 * they are read together as they were written. A word of another launch says nothing, so the
 * words need not be set to zero between launches. (Only a word that was left alone for 2^30
 * launches could be mistaken.) */
enum { TELLS_NOTHING, TELLS_OWN_SUM, TELLS_ALL };

static __device__ unsigned long long word_of(unsigned tells, unsigned launch, unsigned value)
{
    return (static_cast<unsigned long long>(launch << 2 | tells) << 32) | value;
}

static __device__ unsigned word_tells(unsigned long long word, unsigned launch)
{
    const unsigned head = static_cast<unsigned>(word >> 32);
    return head >> 2 == (launch & 0x3fffffff) ? head & 3 : unsigned(TELLS_NOTHING);
}

static __device__ unsigned long long *word_place(struct scan_scratch *scratch, uint64_t number)
{
    return reinterpret_cast<unsigned long long *>(scratch + 1) + number;
}

/* Waits for the word of part `number`. That part was taken before the part of the waiting
 * thread, so its block is running, and it tells its own sum without waiting for anyone. */
static __device__ unsigned long long word_await(struct scan_scratch *scratch, uint64_t number,
                                                unsigned launch)
{
    const volatile unsigned long long *word = word_place(scratch, number);
    unsigned long long told = *word;
    while (word_tells(told, launch) == TELLS_NOTHING) {
        __nanosleep(20);
        told = *word;
    }
    return told;
}

/* Returns the sum of all parts before part `number`, which is not the first. A warp looks back
 * over as many parts as it has threads at a time, until one of them knows everything before it.
 */
static __device__ unsigned look_back(struct scan_scratch *scratch, uint64_t number,
                                     unsigned launch)
{
    const unsigned lane = threadIdx.x % WARP_THREADS;
    unsigned sum = 0, knowing = 0;
    for (uint64_t end = number; knowing == 0; end -= WARP_THREADS) {
        /* There is nothing before the first part, and the first part tells all. */
        const bool there = lane < end;
        const unsigned long long word =
            there ? word_await(scratch, end - 1 - lane, launch) : word_of(TELLS_ALL, launch, 0);
        knowing = __ballot_sync(FULL_WARP, word_tells(word, launch) == TELLS_ALL);
        /* The nearest part that knows counts, and those between it and this one. */
        const bool counts = (knowing & ((1u << lane) - 1)) == 0;
        sum += warp_sum(counts ? static_cast<unsigned>(word) : 0u);
    }
    return __shfl_sync(FULL_WARP, sum, 0);
}

/* Returns the part of the total that is not carried out: the total that was carried in, if the
 * tile's own is asked for. */
static __device__ unsigned carry_left_out(const struct scan_work &work)
{
    return work.carry_own && work.carry_in != nullptr ? *work.carry_in : 0;
}

/* Returns the sum of everything before part `number`, and tells the other parts. Every thread
 * of the block must call it; the first one knows the part's sum, `total`. */
static __device__ unsigned part_before(const struct scan_work &work, uint64_t number,
                                       bool is_last, unsigned total, unsigned launch)
{
    __shared__ unsigned shared_before;
    if (threadIdx.x < WARP_THREADS) {
        unsigned long long *word = word_place(work.scratch, number);
        unsigned before = 0;
        if (number > 0) {
            if (threadIdx.x == 0)
                atomicExch(word, word_of(TELLS_OWN_SUM, launch, total));
            before = look_back(work.scratch, number, launch);
        } else if (work.carry_in != nullptr) {
            before = *work.carry_in;
        }
        if (threadIdx.x == 0) {
            atomicExch(word, word_of(TELLS_ALL, launch, before + total));
            if (is_last && work.carry_out != nullptr)
                *work.carry_out = before + total - carry_left_out(work);
            shared_before = before;
        }
    }
    __syncthreads();
    return shared_before;
}

/* Returns the number of the next part. Blocks take parts in the order in which they ask,
 * because the device may start them in any order: so no block waits for one that has not
 * started. */
static __device__ uint64_t part_take(struct scan_scratch *scratch)
{
    __shared__ unsigned shared_number;
    if (threadIdx.x == 0)
        shared_number = atomicAdd(&scratch->taken, 1u);
    __syncthreads();
    return shared_number;
}

/* Is every block's last call. The last block of all leaves the scratch as the next launch needs
 * it. */
static __device__ void blocks_finish(struct scan_scratch *scratch)
{
    if (threadIdx.x != 0)
        return;
    __threadfence();
    if (atomicInc(&scratch->finished, gridDim.x - 1) == gridDim.x - 1) {
        scratch->taken = 0;
        scratch->launches++;
    }
}

#endif
