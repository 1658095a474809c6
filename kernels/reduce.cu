/* reduce.cu - reductions in one pass: `sum` and its like, and `reduce-shuffle`.
 *
 * Each thread sums elements of its own, a warp folds its threads' sums by shuffles, a block its
 * warps' through shared memory, and the block that began last folds the blocks'. */
#include "kernels/device_util.cuh"
#include "kernels/kernel_rows.h"
#include "kernels/reduction_rows.h"

/* What a launch keeps between its blocks, in kernel_args.scratch. A block tells its sum in two
 * words, each half of it the launch's number: they say themselves whether they have been
 * written, so their reader needs no fence and no counter, only them. That leaves one trip
 * through the L2 cache behind the last element, where "the last block to arrive folds" has
 * three, and at 16 MiB each trip is a tenth of the time. */
struct grid_scratch {
    unsigned begun;    /* blocks that have begun; 0 between launches */
    unsigned launches; /* before this one: tells its words from those of earlier launches */
    alignas(KERNEL_SCRATCH_HEAD) unsigned long long words[KERNEL_BLOCKS_MAX][2];
};
static_assert(sizeof(struct grid_scratch) == KERNEL_SCRATCH_BYTES, "kernels.h counts on it");

/* What a block's first thread learns before its first element, and needs only after its last.
 */
struct grid_turn {
    unsigned launch;
    bool folds; /* this block is the last to begin */
};

static __device__ struct grid_turn grid_begin(struct grid_scratch *scratch)
{
    struct grid_turn turn = {};
    if (threadIdx.x == 0) {
        turn.launch = __ldcg(&scratch->launches) + 1;
        /* The last one wraps the counter to 0, ready for the next launch. */
        turn.folds = atomicInc(&scratch->begun, gridDim.x - 1) == gridDim.x - 1;
    }
    return turn;
}

/* A sum as 64 bits, and back. */
static __device__ unsigned long long sum_bits(double sum)
{
    return __double_as_longlong(sum);
}

static __device__ unsigned long long sum_bits(unsigned long long sum)
{
    return sum;
}

static __device__ unsigned long long sum_bits(unsigned sum)
{
    return sum;
}

static __device__ void sum_of_bits(unsigned long long bits, double *sum)
{
    *sum = __longlong_as_double(bits);
}

static __device__ void sum_of_bits(unsigned long long bits, unsigned long long *sum)
{
    *sum = bits;
}

static __device__ void sum_of_bits(unsigned long long bits, unsigned *sum)
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

/* The block that waits began last, so the one that tells is running or has ended. Both words
 * are asked for at once, and each is believed by itself: nothing says that they come together.
 * They are volatile: of other loads, __ldcg() among them, ptxas takes it that a loop of nothing
 * else ends, and leaves it out. */
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

/* Sums `value` over the grid. True for one thread of it, whose `value` then is the sum. Which
 * block folds is left to chance, but not the order in which it adds: the same input on the same
 * grid gives the same bits. */
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
        scratch->launches = turn.launch; /* all have read it: all have told */
    return threadIdx.x == 0;
}

/* ---- sum, sum-double, sum-int, all, finite: as fast as memory can be read ---- */

/* The loads a thread has in flight before its first addition waits for one. */
enum { FOLD_LOADS = 8 };

/* Blocks of this size need half as many others to be waited for, and two on an SM leave each
 * thread the registers for its loads. */
enum { FOLD_THREADS = 2 * KERNEL_THREADS, FOLD_SM_BLOCKS = 2 };

/* A rule says what becomes of the elements: how they are loaded, a Vector at a time; what of()
 * makes of one and of a vector of them; in which type that is summed; and what result() makes
 * of the sum. A neutral() vector adds nothing to it. */

/* The sum of a vector's elements. Four floats are added in float, and from there on all in
 * double: at one conversion and one addition per four elements that is free even where double
 * precision is slow, and it makes the error independent of the number of elements
 * (sum_oracle_result() says how small it is). */
static __device__ float vector_sum(float4 x)
{
    return (x.x + x.y) + (x.z + x.w);
}

static __device__ double vector_sum(double2 x)
{
    return x.x + x.y;
}

static __device__ unsigned vector_sum(uint4 x)
{
    return (x.x + x.y) + (x.z + x.w);
}

template <typename ElementOf, typename VectorOf, typename TotalOf> struct plain_sum_rule {
    using Element = ElementOf;
    using Vector = VectorOf;
    using Total = TotalOf;
    using Result = ElementOf;
    static __device__ Vector neutral()
    {
        return {};
    }
    static __device__ Total of(Element x)
    {
        return x;
    }
    static __device__ Total of(Vector x)
    {
        return vector_sum(x);
    }
    static __device__ Result result(Total total)
    {
        return static_cast<Result>(total);
    }
};
using sum_rule = plain_sum_rule<float, float4, double>;
using sum_double_rule = plain_sum_rule<double, double2, double>;
/* The ints are read as unsigned: overflow then wraps around, as the result's definition asks.
 */
using sum_int_rule = plain_sum_rule<unsigned, uint4, unsigned>;

/* An AND is a sum that is 0: that of the elements that fail the Test, which is asked of bits.
 */
template <typename Test> struct and_rule {
    using Element = unsigned;
    using Vector = uint4;
    using Total = unsigned long long;
    using Result = int;
    static __device__ Vector neutral()
    {
        return {Test::GOOD, Test::GOOD, Test::GOOD, Test::GOOD};
    }
    static __device__ Total of(Element x)
    {
        return Test::fails(x);
    }
    static __device__ Total of(Vector x)
    {
        return (Test::fails(x.x) + Test::fails(x.y)) + (Test::fails(x.z) + Test::fails(x.w));
    }
    static __device__ Result result(Total total)
    {
        return total == 0;
    }
};

struct test_nonzero {
    static constexpr unsigned GOOD = 1;
    static __device__ unsigned fails(unsigned bits)
    {
        return bits == 0;
    }
};

/* NaN and the infinities have all bits of the exponent set. Arithmetic would find them, too,
 * but not where a compiler may assume that there are none. */
struct test_finite {
    static constexpr unsigned GOOD = 0;
    static __device__ unsigned fails(unsigned bits)
    {
        return (bits & FLOAT_EXPONENT_BITS) == FLOAT_EXPONENT_BITS;
    }
};

/* Only the middle of the array can be read as vectors: `head` elements come before it, fewer
 * than a vector has, and as few may follow. The first threads of the grid take them. */
template <typename Rule>
static __device__ typename Rule::Total fold_of_thread(const typename Rule::Element *in,
                                                      uint64_t count, uint64_t head)
{
    constexpr uint64_t width = sizeof(typename Rule::Vector) / sizeof *in;
    const uint64_t vectors = (count - head) / width;
    const auto *middle = reinterpret_cast<const typename Rule::Vector *>(in + head);
    typename Rule::Total total = 0;
#pragma unroll 1
    for (uint64_t i = grid_thread(); i < vectors; i += FOLD_LOADS * grid_threads()) {
        typename Rule::Vector loaded[FOLD_LOADS];
#pragma unroll
        for (int load = 0; load < FOLD_LOADS; load++) {
            loaded[load] = Rule::neutral();
            if (i + load * grid_threads() < vectors)
                loaded[load] = middle[i + load * grid_threads()];
        }
#pragma unroll
        for (int load = 0; load < FOLD_LOADS; load++)
            total += Rule::of(loaded[load]);
    }
    const uint64_t tail = head + width * vectors + grid_thread();
    if (grid_thread() < head)
        total += Rule::of(in[grid_thread()]);
    if (tail < count)
        total += Rule::of(in[tail]);
    return total;
}

template <typename Rule>
static __global__ void __launch_bounds__(FOLD_THREADS, FOLD_SM_BLOCKS)
    fold_kernel(const typename Rule::Element *in, typename Rule::Result *out,
                struct grid_scratch *scratch, uint64_t count, uint64_t head)
{
    const struct grid_turn turn = grid_begin(scratch);
    typename Rule::Total total = fold_of_thread<Rule>(in, count, head);
    if (grid_sum<FOLD_THREADS>(total, scratch, turn))
        *out = Rule::result(total);
}

/* Elements of `in` before the first that is aligned like a vector. */
template <typename Rule>
static uint64_t fold_head(const typename Rule::Element *in, uint64_t count)
{
    constexpr uintptr_t alignment = alignof(typename Rule::Vector);
    const uintptr_t past = reinterpret_cast<uintptr_t>(in) % alignment;
    const uint64_t head = past == 0 ? 0 : (alignment - past) / sizeof *in;
    return head < count ? head : count;
}

template <typename Rule> static int fold_launch(const struct kernel_args *args, void *stream)
{
    const auto *in = static_cast<const typename Rule::Element *>(args->in[0]);
    return kernel_launch_grid(fold_kernel<Rule>, (args->blocks + 1) / 2, FOLD_THREADS, stream,
                              in, static_cast<typename Rule::Result *>(args->out),
                              static_cast<struct grid_scratch *>(args->scratch), args->count,
                              fold_head<Rule>(in, args->count));
}

#define FOLD_LAUNCHER(name, ...)                                                               \
    int name##_launch(const struct kernel_args *args, void *stream)                            \
    {                                                                                          \
        return fold_launch<__VA_ARGS__>(args, stream);                                         \
    }                                                                                          \
    int name##_preload(void)                                                                   \
    {                                                                                          \
        return kernel_preload(fold_kernel<__VA_ARGS__>);                                       \
    }
FOLD_LAUNCHER(sum, sum_rule)
FOLD_LAUNCHER(sum_double, sum_double_rule)
FOLD_LAUNCHER(sum_int, sum_int_rule)
FOLD_LAUNCHER(all, and_rule<test_nonzero>)
FOLD_LAUNCHER(finite, and_rule<test_finite>)

/* ---- reduce-shuffle ---- */

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

int reduce_shuffle_launch(const struct kernel_args *args, void *stream)
{
    return kernel_launch(reduce_shuffle_kernel, args, stream,
                         static_cast<const unsigned *>(args->in[0]),
                         static_cast<unsigned *>(args->out),
                         static_cast<struct grid_scratch *>(args->scratch), args->count);
}

int reduce_shuffle_preload(void)
{
    return kernel_preload(reduce_shuffle_kernel);
}
