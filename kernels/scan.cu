/* scan.cu - prefix sums of ints modulo 2^32, each in one launch and one pass over memory.
 *
 * The array is cut into parts. A block takes a part, scans it, learns what all parts before it
 * come to, adds that and writes the part. How a block scans its part is what the rows differ
 * in:
 *
 * - scan, scan-exclusive: in registers, by shuffles;
 * - scan-naive: Hillis and Steele, "Data Parallel Algorithms" (1986), double-buffered;
 * - scan-efficient: Blelloch, "Prefix Sums and Their Applications" (1990);
 * - scan-conflict-free: the same, its array padded (Harris, Sengupta and Owens, "Parallel
 * Prefix Sum (Scan) with CUDA", GPU Gems 3, chapter 39).
 *
 * How a block learns what comes before its part is the decoupled look-back of Merrill and
 * Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016), in all of them:
 * chapter 39's three launches would read and write the array twice.
 *
 * The ints are worked on as unsigned: overflow then wraps around, as the result's definition
 * asks. */
#include "kernels/device_util.cuh"
#include "kernels/kernel_rows.h"
#include "kernels/scan_rows.h"

enum { FULL_WARP = 0xffffffff };

/* What a launch keeps between its blocks, at the head of kernel_args.scratch; behind it is a
 * word per part. */
struct alignas(KERNEL_SCRATCH_HEAD) scan_scratch {
    unsigned taken;    /* parts that blocks have asked for; 0 between launches */
    unsigned finished; /* blocks that will ask for none any more; 0 between launches */
    unsigned launches; /* before this one: tells its words from those of earlier launches */
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
    bool vectors; /* both arrays are aligned like a uint4 */
};

/* ---- from part to part ---- */

/* What a part tells those behind it, once it knows: its own sum, then the sum of all up to its
 * end. Value, launch and which of the two it is are one word, so that they are read together as
 * they were written. A word of any other launch says nothing: that spares setting all words to
 * zero in between. (A word would have to be left alone for 2^30 launches to be mistaken.) */
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

/* Waits for the word of part `number`. That part was taken earlier than the one of the thread
 * that waits, so its block is running, and it tells its own sum without waiting for anyone. */
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

/* The sum of all parts before part `number`, which is not the first. A warp looks back over as
 * many parts as it has threads at a time, until one of them knows all before it. */
static __device__ unsigned look_back(struct scan_scratch *scratch, uint64_t number,
                                     unsigned launch)
{
    const unsigned lane = threadIdx.x % WARP_THREADS;
    unsigned sum = 0, knowing = 0;
    for (uint64_t end = number; knowing == 0; end -= WARP_THREADS) {
        /* Before the first part there is nothing, and the first tells all. */
        const bool there = lane < end;
        const unsigned long long word =
            there ? word_await(scratch, end - 1 - lane, launch) : word_of(TELLS_ALL, launch, 0);
        knowing = __ballot_sync(FULL_WARP, word_tells(word, launch) == TELLS_ALL);
        /* The parts up to the nearest that knows, and that one. */
        const bool counts = (knowing & ((1u << lane) - 1)) == 0;
        sum += warp_sum(counts ? static_cast<unsigned>(word) : 0u);
    }
    return __shfl_sync(FULL_WARP, sum, 0);
}

/* What of all before the end is not to be carried out. */
static __device__ unsigned carry_left_out(const struct scan_work &work)
{
    return work.carry_own && work.carry_in != nullptr ? *work.carry_in : 0;
}

/* What comes before part `number`, and tells the others. Every thread of the block must call
 * it; the first one knows the part's sum, `total`. */
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

/* The next part's number. Blocks take parts in the order in which they come to ask, for which
 * of them the device starts first is not said: so no block waits for one that has not started.
 */
static __device__ uint64_t part_take(struct scan_scratch *scratch)
{
    __shared__ unsigned shared_number;
    if (threadIdx.x == 0)
        shared_number = atomicAdd(&scratch->taken, 1u);
    __syncthreads();
    return shared_number;
}

/* Every block's last call. The last of them all leaves the scratch as the next launch needs it.
 */
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

/* A `Part` keeps its elements between load() and store(); scan() returns their sum, to the
 * block's first thread at least. Its registers must let SM_BLOCKS blocks be on an SM. Before
 * load(), and between scan() and store(), there is a __syncthreads(). */
template <typename Part>
static __global__ void __launch_bounds__(KERNEL_THREADS, Part::SM_BLOCKS)
    scan_kernel(struct scan_work work)
{
    const uint64_t parts = (work.count + Part::ELEMENTS - 1) / Part::ELEMENTS;
    /* It changes when every block has finished. */
    const unsigned launch = __ldcg(&work.scratch->launches);
    uint64_t number;
    while ((number = part_take(work.scratch)) < parts) {
        Part part;
        part.load(work, number * Part::ELEMENTS);
        const unsigned total = part.scan();
        part.store(work, number * Part::ELEMENTS,
                   part_before(work, number, number == parts - 1, total, launch));
    }
    blocks_finish(work.scratch);
}

static bool is_aligned(const void *pointer)
{
    return reinterpret_cast<uintptr_t>(pointer) % alignof(uint4) == 0;
}

template <typename Part> static int launch(const struct kernel_args *args, void *stream)
{
    struct scan_work work = {};
    work.in = static_cast<const unsigned *>(args->in[0]);
    work.out = static_cast<unsigned *>(args->out);
    work.count = args->count;
    work.carry_in = static_cast<const unsigned *>(args->carry_in);
    work.carry_out = static_cast<unsigned *>(args->carry_out);
    work.carry_own = args->carry_own;
    work.scratch = static_cast<struct scan_scratch *>(args->scratch);
    work.vectors = is_aligned(args->in[0]) && is_aligned(args->out);
    return kernel_launch(scan_kernel<Part>, args, stream, work);
}

#define SCAN_LAUNCHER(name, part)                                                              \
    int name##_launch(const struct kernel_args *args, void *stream)                            \
    {                                                                                          \
        return launch<part>(args, stream);                                                     \
    }                                                                                          \
    int name##_preload(void)                                                                   \
    {                                                                                          \
        return kernel_preload(scan_kernel<part>);                                              \
    }

/* ---- scan, scan-exclusive ---- */

/* Replaces value by the sum of the values of lanes up to its own. */
static __device__ unsigned warp_scan(unsigned value)
{
    const unsigned lane = threadIdx.x % WARP_THREADS;
    for (unsigned offset = 1; offset < WARP_THREADS; offset *= 2) {
        const unsigned other = __shfl_up_sync(FULL_WARP, value, offset);
        value += lane >= offset ? other : 0;
    }
    return value;
}

static __device__ unsigned vector_sum(uint4 x)
{
    return x.x + x.y + x.z + x.w;
}

/* A warp has ROWS rows of an int4 per thread, one behind the other, so that what a warp loads
 * or stores at once is one piece of memory. */
template <bool exclusive> struct register_part {
    enum {
        SM_BLOCKS = 4, /* with fewer, too few loads are in flight; with more, registers spill */
        ROWS = 8,
        VECTOR = 4,
        ROW_ELEMENTS = WARP_THREADS * VECTOR,
        WARP_ELEMENTS = ROWS * ROW_ELEMENTS,
        ELEMENTS = BLOCK_WARPS * WARP_ELEMENTS,
    };
    uint4 rows[ROWS];
    unsigned before[ROWS]; /* the sum of the part's elements before this thread's in the row */

    /* Where this thread's elements of a row are. */
    static __device__ uint64_t place(uint64_t first, int row)
    {
        return first + threadIdx.x / WARP_THREADS * WARP_ELEMENTS + row * ROW_ELEMENTS +
               threadIdx.x % WARP_THREADS * VECTOR;
    }

    /* Whether the part is read and written in vectors, not one by one. */
    static __device__ bool in_vectors(const struct scan_work &work, uint64_t first)
    {
        return work.vectors && work.count - first >= ELEMENTS;
    }

    __device__ void load(const struct scan_work &work, uint64_t first)
    {
        if (in_vectors(work, first)) {
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                rows[row] = *reinterpret_cast<const uint4 *>(work.in + place(first, row));
            return;
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const uint64_t at = place(first, row);
            rows[row].x = at < work.count ? work.in[at] : 0;
            rows[row].y = at + 1 < work.count ? work.in[at + 1] : 0;
            rows[row].z = at + 2 < work.count ? work.in[at + 2] : 0;
            rows[row].w = at + 3 < work.count ? work.in[at + 3] : 0;
        }
    }

    __device__ unsigned scan()
    {
        __shared__ unsigned warps[BLOCK_WARPS];
        unsigned sum = 0; /* of the warp's rows so far */
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const unsigned own = vector_sum(rows[row]), with = warp_scan(own);
            before[row] = sum + with - own;
            sum += __shfl_sync(FULL_WARP, with, WARP_THREADS - 1);
        }
        if (threadIdx.x % WARP_THREADS == 0)
            warps[threadIdx.x / WARP_THREADS] = sum;
        __syncthreads();
        unsigned earlier = 0, total = 0;
#pragma unroll
        for (unsigned warp = 0; warp < BLOCK_WARPS; warp++) {
            earlier += warp < threadIdx.x / WARP_THREADS ? warps[warp] : 0;
            total += warps[warp];
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            before[row] += earlier;
        return total;
    }

    /* A row's results, from `sum` before it on. */
    static __device__ uint4 results(uint4 x, unsigned sum)
    {
        const unsigned x0 = sum + x.x, x1 = x0 + x.y, x2 = x1 + x.z;
        return exclusive ? make_uint4(sum, x0, x1, x2) : make_uint4(x0, x1, x2, x2 + x.w);
    }

    __device__ void store(const struct scan_work &work, uint64_t first, unsigned sum)
    {
        const bool vectors = in_vectors(work, first);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const uint4 x = results(rows[row], sum + before[row]);
            const uint64_t at = place(first, row);
            if (vectors) {
                /* Nobody reads it soon: what is to come has more use for the cache. */
                __stcs(reinterpret_cast<uint4 *>(work.out + at), x);
                continue;
            }
            if (at < work.count)
                work.out[at] = x.x;
            if (at + 1 < work.count)
                work.out[at + 1] = x.y;
            if (at + 2 < work.count)
                work.out[at + 2] = x.z;
            if (at + 3 < work.count)
                work.out[at + 3] = x.w;
        }
    }
};

SCAN_LAUNCHER(scan, register_part<false>)
SCAN_LAUNCHER(scan_exclusive, register_part<true>)

/* ---- scan-naive ---- */

/* An element per thread. In each step each element adds the one `offset` before it, from one
 * buffer to the other: in place, some would be read after they were changed. */
struct naive_part {
    enum { SM_BLOCKS = 8, ELEMENTS = KERNEL_THREADS };
    unsigned value;

    __device__ void load(const struct scan_work &work, uint64_t first)
    {
        const uint64_t at = first + threadIdx.x;
        value = at < work.count ? work.in[at] : 0;
    }

    __device__ unsigned scan()
    {
        __shared__ unsigned buffers[2][ELEMENTS];
        const unsigned thread = threadIdx.x;
        int from = 0;
        buffers[from][thread] = value;
        for (unsigned offset = 1; offset < ELEMENTS; offset *= 2) {
            __syncthreads();
            if (thread >= offset)
                value += buffers[from][thread - offset];
            from = 1 - from;
            buffers[from][thread] = value;
        }
        __syncthreads();
        return buffers[from][ELEMENTS - 1];
    }

    __device__ void store(const struct scan_work &work, uint64_t first, unsigned sum)
    {
        const uint64_t at = first + threadIdx.x;
        if (at < work.count)
            work.out[at] = sum + value;
    }
};

SCAN_LAUNCHER(scan_naive, naive_part)

/* ---- scan-efficient, scan-conflict-free ---- */

/* Two elements per thread, in shared memory as the leaves of a tree that is kept in place: the
 * sum of a node's leaves is where its last leaf was. Up the tree each node gets its sum, and
 * down again what comes before it: the left child what comes before its parent, the right one
 * that and the left one's sum.
 *
 * At a stride of 2^k the threads of a warp meet in few of the memory's 32 banks and take turns.
 * An unused place behind every 32 moves them apart. */
template <bool padded> struct tree_part {
    enum { SM_BLOCKS = 6, ELEMENTS = 2 * KERNEL_THREADS, BANKS = 32 };
    unsigned values[2]; /* this thread's elements are KERNEL_THREADS apart */

    static __device__ unsigned slot(unsigned leaf)
    {
        return padded ? leaf + leaf / BANKS : leaf;
    }

    __device__ void load(const struct scan_work &work, uint64_t first)
    {
        for (int i = 0; i < 2; i++) {
            const uint64_t at = first + i * KERNEL_THREADS + threadIdx.x;
            values[i] = at < work.count ? work.in[at] : 0;
        }
    }

    static __device__ void up(unsigned *tree)
    {
        for (unsigned half = 1; half < ELEMENTS; half *= 2) {
            __syncthreads();
            const unsigned right = (threadIdx.x + 1) * 2 * half - 1;
            if (right < ELEMENTS)
                tree[slot(right)] += tree[slot(right - half)];
        }
    }

    static __device__ void down(unsigned *tree)
    {
        for (unsigned half = ELEMENTS / 2; half > 0; half /= 2) {
            __syncthreads();
            const unsigned right = (threadIdx.x + 1) * 2 * half - 1;
            if (right < ELEMENTS) {
                const unsigned left_sum = tree[slot(right - half)];
                tree[slot(right - half)] = tree[slot(right)];
                tree[slot(right)] += left_sum;
            }
        }
    }

    __device__ unsigned scan()
    {
        __shared__ unsigned tree[ELEMENTS + ELEMENTS / BANKS];
        const unsigned thread = threadIdx.x;
        tree[slot(thread)] = values[0];
        tree[slot(thread + KERNEL_THREADS)] = values[1];
        up(tree);
        unsigned total = 0;
        if (thread == 0) { /* it has come to the root itself */
            total = tree[slot(ELEMENTS - 1)];
            tree[slot(ELEMENTS - 1)] = 0; /* nothing comes before the whole */
        }
        down(tree);
        __syncthreads();
        values[0] = tree[slot(thread)];
        values[1] = tree[slot(thread + KERNEL_THREADS)];
        return total;
    }

    __device__ void store(const struct scan_work &work, uint64_t first, unsigned sum)
    {
        for (int i = 0; i < 2; i++) {
            const uint64_t at = first + i * KERNEL_THREADS + threadIdx.x;
            if (at < work.count)
                work.out[at] = sum + values[i];
        }
    }
};

SCAN_LAUNCHER(scan_efficient, tree_part<false>)
SCAN_LAUNCHER(scan_conflict_free, tree_part<true>)
