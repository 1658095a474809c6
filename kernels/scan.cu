/* scan.cu - prefix sums of ints modulo 2^32, each in one launch and one pass over memory.
 *
 * The array is cut into parts. A block takes a part, scans it, learns the sum of all parts
 * before it, adds that and writes the part. The kernels differ in how a block scans its part:
 *
 * - scan, scan-exclusive: in registers, by shuffles;
 * - scan-naive: Hillis and Steele, "Data Parallel Algorithms" (1986), double-buffered;
 * - scan-efficient: Blelloch, "Prefix Sums and Their Applications" (1990);
 * - scan-conflict-free: the same, its array padded (Harris, Sengupta and Owens, "Parallel
 *   Prefix Sum (Scan) with CUDA", GPU Gems 3, chapter 39).
 *
 * All of them learn by look-back (look_back.cuh) what comes before a part: chapter 39's three
 * launches would read and write the array twice.
 *
 * The ints are worked on as unsigned: overflow then wraps around, as the result's definition
 * asks. */
#include "kernels/kernel_file.h"

#ifdef __cplusplus /* ---- the kernels and their launchers ---- */

#include "kernels/device_util.cuh"
#include "kernels/look_back.cuh"

/* A `Part` keeps its elements between load() and store(); scan() returns their sum, to the
 * block's first thread at least. A thread may use as many registers as let SM_BLOCKS blocks be
 * on an SM. There is a __syncthreads() before load(), and one between scan() and store(). The
 * first part begins before the arrays where the output does not begin with a line: the index of
 * an element before them wraps round, and so is no more below `count` than that of one behind
 * them. */
template <typename Part>
static __global__ void __launch_bounds__(KERNEL_THREADS, Part::SM_BLOCKS)
    scan_kernel(struct scan_work work)
{
    const uint64_t parts = (work.skew + work.count + Part::ELEMENTS - 1) / Part::ELEMENTS;
    /* The number changes when every block has finished. */
    const unsigned launch = __ldcg(&work.scratch->launches);
    uint64_t number;
    while ((number = part_take(work.scratch)) < parts) {
        const uint64_t first = number * Part::ELEMENTS - work.skew;
        Part part;
        part.load(work, first);
        const unsigned total = part.scan();
        part.store(work, first, part_before(work, number, number == parts - 1, total, launch));
    }
    blocks_finish(work.scratch);
}

/* Returns how many elements `array` is behind the last boundary of a line. */
static unsigned line_skew(const void *array)
{
    return static_cast<unsigned>(reinterpret_cast<uintptr_t>(array) / sizeof(unsigned) %
                                 KERNEL_LINE);
}

template <typename Part> static int scan_launch(const struct kernel_args *args, void *stream)
{
    struct scan_work work = {};
    work.in = static_cast<const unsigned *>(args->in[0]);
    work.out = static_cast<unsigned *>(args->out);
    work.count = args->count;
    work.carry_in = static_cast<const unsigned *>(args->carry_in);
    work.carry_out = static_cast<unsigned *>(args->carry_out);
    work.carry_own = args->carry_own;
    work.scratch = static_cast<struct scan_scratch *>(args->scratch);
    work.skew = line_skew(work.out);
    work.alike = line_skew(work.in) % 4 == work.skew % 4;
    return kernel_launch(scan_kernel<Part>, args, stream, work);
}

/* ---- scan, scan-exclusive ---- */

/* Returns the sum of the values of all lanes up to the thread's own. */
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

    /* Returns the index of this thread's first element of a row. */
    static __device__ uint64_t place(uint64_t first, int row)
    {
        return first + threadIdx.x / WARP_THREADS * WARP_ELEMENTS + row * ROW_ELEMENTS +
               threadIdx.x % WARP_THREADS * VECTOR;
    }

    /* Returns true if the array has all of `elements` from `first` on. */
    static __device__ bool has(const struct scan_work &work, uint64_t first, unsigned elements)
    {
        return first < work.count && work.count - first >= elements;
    }

    /* Returns the element at `at`; 0 stands for one that the array does not have. */
    static __device__ unsigned element(const struct scan_work &work, uint64_t at)
    {
        return at < work.count ? work.in[at] : 0;
    }

    __device__ void load(const struct scan_work &work, uint64_t first)
    {
        if (work.alike && has(work, first, ELEMENTS)) {
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                rows[row] = *reinterpret_cast<const uint4 *>(work.in + place(first, row));
            return;
        }
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const uint64_t at = place(first, row);
            if (work.alike && has(work, at, VECTOR))
                rows[row] = *reinterpret_cast<const uint4 *>(work.in + at);
            else
                rows[row] = make_uint4(element(work, at), element(work, at + 1),
                                       element(work, at + 2), element(work, at + 3));
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

    /* Returns the results for a thread's elements of a row, `sum` being all before them. */
    static __device__ uint4 results(uint4 x, unsigned sum)
    {
        const unsigned x0 = sum + x.x, x1 = x0 + x.y, x2 = x1 + x.z;
        return exclusive ? make_uint4(sum, x0, x1, x2) : make_uint4(x0, x1, x2, x2 + x.w);
    }

    __device__ void store(const struct scan_work &work, uint64_t first, unsigned sum)
    {
        const bool all = has(work, first, ELEMENTS);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const uint4 x = results(rows[row], sum + before[row]);
            const uint64_t at = place(first, row);
            if (all || has(work, at, VECTOR)) {
                /* Nobody reads it soon, and the parts to come have more use for the cache. */
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

KERNEL_LAUNCHER(scan, scan_launch<register_part<false>>, scan_kernel<register_part<false>>);
KERNEL_LAUNCHER(scan_exclusive, scan_launch<register_part<true>>,
                scan_kernel<register_part<true>>);

/* ---- scan-naive ---- */

/* Each thread has one element. In each step each element adds the one `offset` before it, from
 * one buffer to the other: in place, some would be read after they were changed. */
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

KERNEL_LAUNCHER(scan_naive, scan_launch<naive_part>, scan_kernel<naive_part>);

/* ---- scan-efficient, scan-conflict-free ---- */

/* Each thread has two elements, which lie in shared memory as the leaves of a tree that is kept
 * in place: the sum of a node's leaves is where its last leaf was. On the way up each node gets
 * its sum, and on the way down the sum of all leaves before it: for the left child that is its
 * parent's, and for the right child its parent's and the left child's sum.
 *
 * At a stride of 2^k the threads of a warp meet in few of the memory's 32 banks and take turns.
 * An unused place behind every 32 elements moves them apart. */
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
        if (thread == 0) { /* it has added up the root itself */
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

KERNEL_LAUNCHER(scan_efficient, scan_launch<tree_part<false>>, scan_kernel<tree_part<false>>);
KERNEL_LAUNCHER(scan_conflict_free, scan_launch<tree_part<true>>, scan_kernel<tree_part<true>>);

#else /* ---- the CPU twins and the oracles ---- */

#include "kernels/host_util.h"

/* The parts that are summed side by side and then scanned side by side. */
enum { PARTS = 64 };

/* The sums are unsigned, and so modulo 2^32: signed overflow would be undefined. */
static uint32_t part_sum(const uint32_t *x, uint64_t count)
{
    uint32_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

/* Scans one part behind `before`; returns the total. `out` may be `x`. */
static uint32_t part_scan(const uint32_t *x, uint32_t *out, uint64_t count, uint32_t before,
                          bool exclusive)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t with = before + x[i];
        out[i] = exclusive ? before : with;
        before = with;
    }
    return before;
}

/* Sets what comes before each part, from `before` on; returns the total. */
static uint32_t parts_before(const uint32_t *x, uint64_t count, uint32_t before,
                             uint32_t parts[PARTS])
{
#pragma omp parallel for schedule(static)
    for (int part = 0; part < PARTS; part++) {
        const uint64_t first = part_first(count, part, PARTS);
        parts[part] = part_sum(x + first, part_first(count, part + 1, PARTS) - first);
    }
    for (int part = 0; part < PARTS; part++) {
        const uint32_t sum = parts[part];
        parts[part] = before;
        before += sum;
    }
    return before;
}

static void scan_host(const struct kernel_args *args, bool exclusive)
{
    const uint32_t *in = args->in[0];
    uint32_t *out = args->out;
    const uint32_t before = args->carry_in == NULL ? 0 : *(const uint32_t *)args->carry_in;
    uint32_t total, parts[PARTS];
    if (!host_is_parallel(args)) {
        total = part_scan(in, out, args->count, before, exclusive);
    } else {
        total = parts_before(in, args->count, before, parts);
#pragma omp parallel for schedule(static)
        for (int part = 0; part < PARTS; part++) {
            const uint64_t first = part_first(args->count, part, PARTS);
            part_scan(in + first, out + first, part_first(args->count, part + 1, PARTS) - first,
                      parts[part], exclusive);
        }
    }
    if (args->carry_out != NULL)
        *(uint32_t *)args->carry_out = args->carry_own ? total - before : total;
}

static void scan_inclusive_host(const struct kernel_args *args)
{
    scan_host(args, false);
}

static void scan_exclusive_host(const struct kernel_args *args)
{
    scan_host(args, true);
}

const struct kernel_code scan_inclusive_code = {.host = scan_inclusive_host};
const struct kernel_code scan_exclusive_code = {.host = scan_exclusive_host};

#endif
