/* reduce_host.c - the CPU twins and the oracles of the reductions. */
#include "kernels/kernel_rows.h"
#include "kernels/reduction_rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The twins work on a fixed number of parts: their results depend neither on the number of
 * threads nor on who is first. */
enum { PARTS = 256 };

/* The first element of part `part` of `count` elements. */
static uint64_t part_first(uint64_t count, int part)
{
    return count / PARTS * (uint64_t)part + count % PARTS * (uint64_t)part / PARTS;
}

/* The sum of a part's elements, by LANES sums of its own, so that one addition need not wait
 * for the one before. */
enum { LANES = 8 };
#define DEFINE_SUM_OF_PART(name, element, total)                                               \
    static total name(const element *x, uint64_t count)                                        \
    {                                                                                          \
        total lanes[LANES] = {0}, sum = 0;                                                     \
        const uint64_t whole = count - count % LANES;                                          \
        for (uint64_t i = 0; i < whole; i += LANES)                                            \
            for (int lane = 0; lane < LANES; lane++)                                           \
                lanes[lane] += (total)x[i + lane];                                             \
        for (uint64_t i = whole; i < count; i++)                                               \
            sum += (total)x[i];                                                                \
        for (int lane = 0; lane < LANES; lane++)                                               \
            sum += lanes[lane];                                                                \
        return sum;                                                                            \
    }
DEFINE_SUM_OF_PART(sum_part, float, double)
DEFINE_SUM_OF_PART(sum_double_part, double, double)
/* Signed overflow is undefined in C; unsigned arithmetic is modulo 2^32, in any order. */
DEFINE_SUM_OF_PART(reduce_shuffle_part, uint32_t, uint32_t)

void sum_host(const struct kernel_args *args)
{
    const float *in = args->in[0];
    double parts[PARTS];
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (int part = 0; part < PARTS; part++) {
        const uint64_t first = part_first(args->count, part);
        parts[part] = sum_part(in + first, part_first(args->count, part + 1) - first);
    }
    double sum = 0;
    for (int part = 0; part < PARTS; part++)
        sum += parts[part];
    *(float *)args->out = (float)sum;
}

/* An infinite or NaN element decides the sum by itself; `magnitude` is that of the others. */
void sum_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++) {
        const double x = oracle->value[i];
        sum->value += x;
        sum->magnitude += isfinite(x) ? fabs(x) + oracle->bound[i] : 0;
        sum->bound += oracle->bound[i];
    }
    sum->count += oracle->count;
}

/* How often an element is rounded to float on its way: the device adds four elements in float,
 * two additions deep, goes on in double, and rounds the sum once; the twin only rounds the sum.
 * Each rounding changes what it rounds by at most u = 2^-24 of it, so the sum errs by at most
 * ((1+u)^3 - 1) sum|x| (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2).
 * The roundings in double, the oracle's too, are at most 2 * 2^-53 = 2^-28 u per element. */
static double sum_roundings(uint64_t count)
{
    return 3 + (double)count * 0x1p-28;
}

/* Where a partial sum could pass FLT_MAX, the order of additions decides whether it does: then
 * nothing is claimed, and the bound is infinite. */
double sum_oracle_result(const struct oracle_sum *sum, double *bound)
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

void sum_double_host(const struct kernel_args *args)
{
    const double *in = args->in[0];
    double parts[PARTS];
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (int part = 0; part < PARTS; part++) {
        const uint64_t first = part_first(args->count, part);
        parts[part] = sum_double_part(in + first, part_first(args->count, part + 1) - first);
    }
    double sum = 0;
    for (int part = 0; part < PARTS; part++)
        sum += parts[part];
    *(double *)args->out = sum;
}

void sum_double_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle)
{
    sum_oracle_fold(sum, oracle);
}

/* n doubles are summed in n - 1 additions, and in whichever order that is done, no element
 * passes through more than those: the sum errs by at most ((1+u)^n - 1) sum|x| with u = 2^-53
 * (Higham, 4.2). There is no wider type to judge it by, so that is allowed for twice: the
 * oracle's own sum is as far off; and a third time, for its sum|x| and this bound.
 *
 * Where a partial sum could pass DBL_MAX, the oracle's may have, too: nothing is claimed. */
double sum_double_oracle_result(const struct oracle_sum *sum, double *bound)
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

void reduce_shuffle_host(const struct kernel_args *args)
{
    const uint32_t *in = args->in[0];
    uint32_t sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static) if (host_is_parallel(args))
    for (int part = 0; part < PARTS; part++) {
        const uint64_t first = part_first(args->count, part);
        sum += reduce_shuffle_part(in + first, part_first(args->count, part + 1) - first);
    }
    *(uint32_t *)args->out = sum;
}

void reduce_shuffle_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++)
        sum->integer += (uint64_t)(int64_t)oracle->value[i];
    sum->count += oracle->count;
}

double reduce_shuffle_oracle_result(const struct oracle_sum *sum, double *bound)
{
    const uint32_t low = (uint32_t)sum->integer;
    *bound = 0;
    return low <= INT32_MAX ? low : (double)low - 0x1p32;
}

/* ---- all and finite: an AND is 1 where nothing fails ---- */

void all_host(const struct kernel_args *args)
{
    const int32_t *in = args->in[0];
    uint64_t zeros = 0;
#pragma omp parallel for reduction(+ : zeros) schedule(static) if (host_is_parallel(args))
    for (uint64_t i = 0; i < args->count; i++)
        zeros += in[i] == 0;
    *(int32_t *)args->out = zeros == 0;
}

void all_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++)
        sum->integer += oracle->value[i] == 0;
    sum->count += oracle->count;
}

double all_oracle_result(const struct oracle_sum *sum, double *bound)
{
    *bound = 0;
    return sum->integer == 0;
}

void finite_host(const struct kernel_args *args)
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

/* Behind maps an element may be so near FLT_MAX that rounding decides whether it passes it:
 * those are counted in `bound`. */
void finite_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++) {
        const double size = fabs(oracle->value[i]), off = oracle->bound[i];
        const bool fails = !(size - off <= FLT_MAX);
        sum->integer += fails;
        sum->bound += !fails && size + off > FLT_MAX;
    }
    sum->count += oracle->count;
}

double finite_oracle_result(const struct oracle_sum *sum, double *bound)
{
    *bound = sum->integer == 0 && sum->bound > 0 ? INFINITY : 0;
    return sum->integer == 0;
}
