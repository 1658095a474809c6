/* reduce.cu - the reductions that are as fast as memory can be read: `sum`, `sum-double`,
 * `sum-int`, `all` and `finite`. */
#include "kernels/kernel_file.h"

/* The bits of a float's exponent, which are all set in an infinity or a NaN and in nothing
 * else. */
#define FLOAT_EXPONENT_BITS UINT32_C(0x7F800000)

#ifdef __cplusplus /* ---- the kernels and their launchers ---- */

#include "kernels/device_util.cuh"
#include "kernels/grid_sum.cuh"

/* A thread has this many loads in flight before its first addition waits for one. */
enum { FOLD_LOADS = 8 };

/* With blocks of twice the usual size, half as many have to be waited for. Two of them on an SM
 * leave each thread enough registers for its loads. */
enum { FOLD_THREADS = 2 * KERNEL_THREADS, FOLD_SM_BLOCKS = 2 };

/* A rule describes a reduction: elements are loaded a Vector at a time, of() gives the value of
 * an element and that of a vector, the values are summed in type Total, and result() turns
 * their sum into the result. A neutral() vector adds nothing to the sum. */

/* Returns the sum of a vector's elements. Four floats are added in float, and everything from
 * there on in double: at one conversion and one addition per four elements that is free even
 * where double precision is slow, and it makes the error independent of the number of elements
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

/* An AND is 1 if no element fails the Test, which looks at an element's bits: so the elements
 * that fail are counted. */
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

/* Returns the sum of this thread's share. Only the middle of the array can be read as vectors:
 * `head` elements come before it, fewer than a vector has, and as few may follow it. The first
 * threads of the grid take those. */
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

/* Returns the number of elements of `in` before the first one that is aligned like a vector. */
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

KERNEL_LAUNCHER(sum, fold_launch<sum_rule>, fold_kernel<sum_rule>);
KERNEL_LAUNCHER(sum_double, fold_launch<sum_double_rule>, fold_kernel<sum_double_rule>);
KERNEL_LAUNCHER(sum_int, fold_launch<sum_int_rule>, fold_kernel<sum_int_rule>);
KERNEL_LAUNCHER(all, fold_launch<and_rule<test_nonzero>>, fold_kernel<and_rule<test_nonzero>>);
KERNEL_LAUNCHER(finite, fold_launch<and_rule<test_finite>>, fold_kernel<and_rule<test_finite>>);

#else /* ---- the CPU twins and the oracles ---- */

#include "kernels/host_util.h"

#include <float.h>
#include <math.h>
#include <string.h>

DEFINE_SUM_HOST(sum, float, double, float)
DEFINE_SUM_HOST(sum_double, double, double, double)

/* An infinite or NaN element decides the sum by itself; `magnitude` is that of all others. */
static void sum_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++) {
        const double x = oracle->value[i];
        sum->value += x;
        sum->magnitude += isfinite(x) ? fabs(x) + oracle->bound[i] : 0;
        sum->bound += oracle->bound[i];
    }
    sum->count += oracle->count;
}

/* Returns how often an element is rounded to float on its way: the device adds four elements in
 * float, two additions deep, goes on in double, and rounds the sum once; the twin rounds only
 * the sum. Each rounding changes what it rounds by at most u = 2^-24 of it, so the sum errs by
 * at most ((1+u)^3 - 1) sum|x| (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2).
 * The roundings in double, the oracle's too, are at most 2 * 2^-53 = 2^-28 u per element. */
static double sum_roundings(uint64_t count)
{
    return 3 + (double)count * 0x1p-28;
}

/* The order of additions decides whether a partial sum passes FLT_MAX. Where one could, nothing
 * is claimed: the bound is infinite. */
static double sum_oracle_result(const struct oracle_sum *sum, double *bound)
{
    const double growth = expm1(sum_roundings(sum->count) * FLOAT_ROUNDING);
    if (isnan(sum->value))
        *bound = 0;
    else if (sum->magnitude * (1 + growth) > FLT_MAX)
        *bound = INFINITY;
    else if (isinf(sum->value))
        *bound = 0;
    else
        *bound = sum->bound + growth * sum->magnitude;
    return sum->value;
}

/* n doubles are summed in n - 1 additions, and in whichever order that is done, no element
 * passes through more than those: the sum errs by at most ((1+u)^n - 1) sum|x| with u = 2^-53
 * (Higham, 4.2). There is no wider type to judge it by. So that error is allowed for three
 * times: for the sum, for the oracle's own sum, and for the oracle's sum|x| with this bound.
 *
 * Where a partial sum could pass DBL_MAX, the oracle's may have passed it too, and nothing is
 * claimed. */
static double sum_double_oracle_result(const struct oracle_sum *sum, double *bound)
{
    const double growth = expm1(3 * (double)sum->count * 0x1p-53);
    if (!(sum->magnitude * (1 + growth) <= DBL_MAX))
        *bound = INFINITY;
    else if (!isfinite(sum->value))
        *bound = 0;
    else
        *bound = sum->bound + growth * sum->magnitude;
    return sum->value;
}

/* ---- all, finite: the elements that fail are counted ---- */

static void all_host(const struct kernel_args *args)
{
    const int32_t *in = args->in[0];
    uint64_t zeros = 0;
#pragma omp parallel for reduction(+ : zeros) schedule(static) if (host_is_parallel(args))
    for (uint64_t i = 0; i < args->count; i++)
        zeros += in[i] == 0;
    *(int32_t *)args->out = zeros == 0;
}

static void all_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++)
        sum->integer += oracle->value[i] == 0;
    sum->count += oracle->count;
}

static double all_oracle_result(const struct oracle_sum *sum, double *bound)
{
    *bound = 0;
    return sum->integer == 0;
}

static void finite_host(const struct kernel_args *args)
{
    const float *in = args->in[0];
    uint64_t failing = 0;
#pragma omp parallel for reduction(+ : failing) schedule(static) if (host_is_parallel(args))
    for (uint64_t i = 0; i < args->count; i++) {
        uint32_t bits;
        memcpy(&bits, &in[i], sizeof bits);
        failing += (bits & FLOAT_EXPONENT_BITS) == FLOAT_EXPONENT_BITS;
    }
    *(int32_t *)args->out = failing == 0;
}

/* After a map an element may be so near FLT_MAX that rounding decides whether it passes it.
 * Such elements are counted in `bound`, and with one of them either result is right. */
static void finite_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++) {
        const double size = fabs(oracle->value[i]), off = oracle->bound[i];
        const bool fails = !(size - off <= FLT_MAX);
        sum->integer += fails;
        sum->bound += !fails && size + off > FLT_MAX;
    }
    sum->count += oracle->count;
}

static double finite_oracle_result(const struct oracle_sum *sum, double *bound)
{
    const bool either = sum->integer == 0 && sum->bound > 0;
    *bound = either ? 0.5 : 0;
    return either ? 0.5 : sum->integer == 0;
}

const struct kernel_code sum_code = {
    .host = sum_host, .oracle_fold = sum_oracle_fold, .oracle_result = sum_oracle_result};
const struct kernel_code sum_double_code = {.host = sum_double_host,
                                            .oracle_fold = sum_oracle_fold,
                                            .oracle_result = sum_double_oracle_result};
const struct kernel_code all_code = {
    .host = all_host, .oracle_fold = all_oracle_fold, .oracle_result = all_oracle_result};
const struct kernel_code finite_code = {.host = finite_host,
                                        .oracle_fold = finite_oracle_fold,
                                        .oracle_result = finite_oracle_result};

#endif
