/* host_util.h - the help that the CPU twins and the oracles share. */
#ifndef PIPELINE_HOST_UTIL_H
#define PIPELINE_HOST_UTIL_H

#include "kernels/kernel_code.h"

/* Half the distance between 1 and the next float: the relative error of a rounded result is at
 * most this. */
#define FLOAT_ROUNDING 0x1p-24

static inline bool host_is_parallel(const struct kernel_args *args)
{
    return kernel_is_for_team(&args->params, args->count);
}

/* Builds a function for the wider vector units of newer processors too; which one runs is
 * decided when the program is loaded. The results are the same, for no operation is fused or
 * reordered. Not every compiler can do it, and the address sanitizer is not ready that early in
 * a program. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                         \
    !defined(__SANITIZE_ADDRESS__)
#define HOST_VECTOR_CLONES                                                                     \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HOST_VECTOR_CLONES
#endif

/* Returns the first element of part `part` of `count` elements that are cut into `parts`. A
 * twin that works on a fixed number of parts has the same result whatever the number of
 * threads. */
static inline uint64_t part_first(uint64_t count, int part, int parts)
{
    return count / parts * (uint64_t)part + count % parts * (uint64_t)part / parts;
}

/* The parts that a reduction's twin works on, and the lanes of a part: sums of its own, so that
 * one addition need not wait for the one before. */
enum { SUM_PARTS = 256, SUM_LANES = 8 };

/* A loop that all cores share where there are many elements. */
#define TEAM_FOR _Pragma("omp parallel for schedule(static) if (host_is_parallel(args))") for

/* Defines a twin that adds up elements as `total`, and the function that adds up a part's. */
#define DEFINE_SUM_HOST(name, element, total, result)                                          \
    static total name##_part(const element *x, uint64_t count)                                 \
    {                                                                                          \
        total lanes[SUM_LANES] = {0}, sum = 0;                                                 \
        const uint64_t whole = count - count % SUM_LANES;                                      \
        for (uint64_t i = 0; i < whole; i += SUM_LANES)                                        \
            for (int lane = 0; lane < SUM_LANES; lane++)                                       \
                lanes[lane] += (total)x[i + lane];                                             \
        for (uint64_t i = whole; i < count; i++)                                               \
            sum += (total)x[i];                                                                \
        for (int lane = 0; lane < SUM_LANES; lane++)                                           \
            sum += lanes[lane];                                                                \
        return sum;                                                                            \
    }                                                                                          \
    static void name##_host(const struct kernel_args *args)                                    \
    {                                                                                          \
        const element *in = args->in[0];                                                       \
        total parts[SUM_PARTS], sum = 0;                                                       \
        TEAM_FOR(int part = 0; part < SUM_PARTS; part++)                                       \
        {                                                                                      \
            const uint64_t first = part_first(args->count, part, SUM_PARTS);                   \
            parts[part] =                                                                      \
                name##_part(in + first, part_first(args->count, part + 1, SUM_PARTS) - first); \
        }                                                                                      \
        for (int part = 0; part < SUM_PARTS; part++)                                           \
            sum += parts[part];                                                                \
        *(result *)args->out = (result)sum;                                                    \
    }

#endif
