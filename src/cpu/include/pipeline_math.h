/* pipeline_math.h - functions of numbers beyond the C library's: for cuda_runtime.h. Those that
 * are fast and less exact on a GPU are the exact ones here. */
#ifndef PIPELINE_CPU_MATH_H
#define PIPELINE_CPU_MATH_H

#include <math.h>

using std::isfinite;
using std::isinf;
using std::isnan;

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

namespace pipeline
{

/* As CUDA converts: what is too large becomes the largest, and what is no number 0. */
template <typename To, typename From> To converted(From x)
{
    if (x != x)
        return 0;
    if (x >= (From)std::numeric_limits<To>::max())
        return std::numeric_limits<To>::max();
    if (x <= (From)std::numeric_limits<To>::min())
        return std::numeric_limits<To>::min();
    return (To)x;
}

} // namespace pipeline

template <typename A, typename B> constexpr std::common_type_t<A, B> min(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return (T)b < (T)a ? b : a;
}

template <typename A, typename B> constexpr std::common_type_t<A, B> max(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return (T)a < (T)b ? b : a;
}

#define PIPELINE_1(type, name, from, value)                                                    \
    inline type name(from x)                                                                   \
    {                                                                                          \
        return value;                                                                          \
    }
#define PIPELINE_2(type, name, from, value)                                                    \
    inline type name(from x, from y)                                                           \
    {                                                                                          \
        return value;                                                                          \
    }
#define PIPELINE_3(type, name, from, value)                                                    \
    inline type name(from x, from y, from z)                                                   \
    {                                                                                          \
        return value;                                                                          \
    }

/* In float by the name with an f, and in double. */
#define PIPELINE_BOTH_1(name, value)                                                           \
    PIPELINE_1(double, name, double, value) PIPELINE_1(float, name##f, float, (float)(value))
PIPELINE_BOTH_1(rsqrt, 1 / std::sqrt(x))
PIPELINE_BOTH_1(rcbrt, 1 / std::cbrt(x))
PIPELINE_BOTH_1(sinpi, std::sin(std::fmod((double)x, 2.0) * M_PI))
PIPELINE_BOTH_1(cospi, std::cos(std::fmod((double)x, 2.0) * M_PI))
PIPELINE_BOTH_1(normcdf, std::erfc((double)x * -M_SQRT1_2) / 2)
PIPELINE_BOTH_1(erfcx, std::exp((double)x *x) * std::erfc((double)x))
#undef PIPELINE_BOTH_1
PIPELINE_1(float, rsqrt, float, rsqrtf(x))
PIPELINE_2(double, rhypot, double, 1 / hypot(x, y))
PIPELINE_2(float, rhypotf, float, 1 / hypotf(x, y))
PIPELINE_3(double, norm3d, double, std::hypot(x, y, z))
PIPELINE_3(float, norm3df, float, std::hypot(x, y, z))
PIPELINE_3(double, rnorm3d, double, 1 / std::hypot(x, y, z))
PIPELINE_3(float, rnorm3df, float, 1 / std::hypot(x, y, z))
inline void sincospi(double x, double *sine, double *cosine)
{
    *sine = sinpi(x);
    *cosine = cospi(x);
}
inline void sincospif(float x, float *sine, float *cosine)
{
    *sine = sinpif(x);
    *cosine = cospif(x);
}

PIPELINE_1(float, __expf, float, expf(x))
PIPELINE_1(float, __exp10f, float, powf(10, x))
PIPELINE_1(float, __logf, float, logf(x))
PIPELINE_1(float, __log2f, float, log2f(x))
PIPELINE_1(float, __log10f, float, log10f(x))
PIPELINE_1(float, __sinf, float, sinf(x))
PIPELINE_1(float, __cosf, float, cosf(x))
PIPELINE_1(float, __tanf, float, tanf(x))
PIPELINE_1(float, __saturatef, float, x > 0 ? (x < 1 ? x : 1) : 0)
PIPELINE_2(float, __powf, float, powf(x, y))
PIPELINE_2(float, __fdividef, float, x / y)
PIPELINE_2(float, fdividef, float, x / y)
inline void __sincosf(float x, float *sine, float *cosine)
{
    *sine = sinf(x);
    *cosine = cosf(x);
}

PIPELINE_2(float, __fadd_rn, float, x + y)
PIPELINE_2(float, __fsub_rn, float, x - y)
PIPELINE_2(float, __fmul_rn, float, x *y)
PIPELINE_2(float, __fdiv_rn, float, x / y)
PIPELINE_3(float, __fmaf_rn, float, fmaf(x, y, z))
PIPELINE_1(float, __frcp_rn, float, 1 / x)
PIPELINE_1(float, __fsqrt_rn, float, sqrtf(x))
PIPELINE_1(float, __frsqrt_rn, float, 1 / sqrtf(x))
PIPELINE_2(double, __dadd_rn, double, x + y)
PIPELINE_2(double, __dsub_rn, double, x - y)
PIPELINE_2(double, __dmul_rn, double, x *y)
PIPELINE_2(double, __ddiv_rn, double, x / y)
PIPELINE_3(double, __fma_rn, double, fma(x, y, z))
PIPELINE_1(double, __drcp_rn, double, 1 / x)
PIPELINE_1(double, __dsqrt_rn, double, sqrt(x))

/* Conversions: to nearest, towards zero, down and up. */
#define PIPELINE_ROUNDED(name, to, from)                                                       \
    PIPELINE_1(to, name##_rn, from, pipeline::converted<to>(std::nearbyint(x)))                \
    PIPELINE_1(to, name##_rz, from, pipeline::converted<to>(std::trunc(x)))                    \
    PIPELINE_1(to, name##_rd, from, pipeline::converted<to>(std::floor(x)))                    \
    PIPELINE_1(to, name##_ru, from, pipeline::converted<to>(std::ceil(x)))
PIPELINE_ROUNDED(__float2int, int, float)
PIPELINE_ROUNDED(__float2uint, unsigned, float)
PIPELINE_ROUNDED(__float2ll, long long, float)
PIPELINE_ROUNDED(__float2ull, unsigned long long, float)
PIPELINE_ROUNDED(__double2int, int, double)
PIPELINE_ROUNDED(__double2uint, unsigned, double)
PIPELINE_ROUNDED(__double2ll, long long, double)
PIPELINE_ROUNDED(__double2ull, unsigned long long, double)
#undef PIPELINE_ROUNDED
PIPELINE_1(float, __int2float_rn, int, (float)x)
PIPELINE_1(float, __uint2float_rn, unsigned, (float)x)
PIPELINE_1(float, __ll2float_rn, long long, (float)x)
PIPELINE_1(float, __ull2float_rn, unsigned long long, (float)x)
PIPELINE_1(double, __int2double_rn, int, x)
PIPELINE_1(double, __uint2double_rn, unsigned, x)
PIPELINE_1(double, __ll2double_rn, long long, (double)x)
PIPELINE_1(float, __double2float_rn, double, (float)x)

/* Bits. */
#define PIPELINE_BITS(name, to, from)                                                          \
    inline to name(from x)                                                                     \
    {                                                                                          \
        to bits;                                                                               \
        memcpy(&bits, &x, sizeof bits);                                                        \
        return bits;                                                                           \
    }
PIPELINE_BITS(__float_as_uint, unsigned, float)
PIPELINE_BITS(__float_as_int, int, float)
PIPELINE_BITS(__uint_as_float, float, unsigned)
PIPELINE_BITS(__int_as_float, float, int)
PIPELINE_BITS(__double_as_longlong, long long, double)
PIPELINE_BITS(__longlong_as_double, double, long long)
#undef PIPELINE_BITS
PIPELINE_1(int, __double2hiint, double, (int)(__double_as_longlong(x) >> 32))
PIPELINE_1(int, __double2loint, double, (int)__double_as_longlong(x))
PIPELINE_2(double, __hiloint2double, int,
           __longlong_as_double((long long)((unsigned long long)(unsigned)x << 32 |
                                            (unsigned)y)))

PIPELINE_1(int, __popc, unsigned, __builtin_popcount(x))
PIPELINE_1(int, __popcll, unsigned long long, __builtin_popcountll(x))
PIPELINE_1(int, __ffs, int, __builtin_ffs(x))
PIPELINE_1(int, __ffsll, long long, __builtin_ffsll(x))
PIPELINE_1(int, __clz, int, x == 0 ? 32 : __builtin_clz((unsigned)x))
PIPELINE_1(int, __clzll, long long, x == 0 ? 64 : __builtin_clzll((unsigned long long)x))
inline unsigned __brev(unsigned x)
{
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; bit++)
        reversed |= (x >> bit & 1) << (31 - bit);
    return reversed;
}
PIPELINE_1(unsigned long long, __brevll, unsigned long long,
           (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32)))
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    const unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned picked = 0;
    for (int i = 0; i < 4; i++)
        picked |= (unsigned)(both >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return picked;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)((((unsigned long long)high << 32 | low) << (by & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}

PIPELINE_2(int, __mulhi, int, (int)((long long)x *y >> 32))
PIPELINE_2(unsigned, __umulhi, unsigned, (unsigned)((unsigned long long)x *y >> 32))
PIPELINE_2(long long, __mul64hi, long long, (long long)((__extension__(__int128) x) * y >> 64))
PIPELINE_2(unsigned long long, __umul64hi, unsigned long long,
           (unsigned long long)((__extension__(unsigned __int128) x) * y >> 64))
PIPELINE_2(int, __mul24, int, (int)((unsigned)(x << 8 >> 8) * (unsigned)(y << 8 >> 8)))
PIPELINE_2(unsigned, __umul24, unsigned, (x & 0xffffff) * (y & 0xffffff))
PIPELINE_2(int, __hadd, int, (int)(((long long)x + y) >> 1))
PIPELINE_2(int, __rhadd, int, (int)(((long long)x + y + 1) >> 1))
PIPELINE_3(unsigned, __sad, int, z + (unsigned)(x < y ? y - x : x - y))
PIPELINE_3(unsigned, __usad, unsigned, z + (x < y ? y - x : x - y))
inline int __dp4a(int x, int y, int sum)
{
    for (int i = 0; i < 4; i++)
        sum += (signed char)(x >> 8 * i) * (signed char)(y >> 8 * i);
    return sum;
}
#undef PIPELINE_1
#undef PIPELINE_2
#undef PIPELINE_3

#endif
