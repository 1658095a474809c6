/* branch_host.c - the CPU twins and the oracles of `uniform` and `divergent`. */
#include "kernels/kernel_rows.h"
#include "kernels/map_rows.h"

#include <string.h>

/* Elements that stay in the L1 cache through all repeats, as in scale_host.c. Of every block
 * the same elements take the second branch. */
enum { BLOCK = 256 };
_Static_assert(BLOCK % 64 == 0, "two warps of `uniform` repeat");

/* The branches differ in a sign alone, so the CPU's vector units need none: each element has
 * its own term. Two roundings where the device's fused multiply-add has one, as in
 * scale_host.c. */
HOST_VECTOR_CLONES static void branch_block(float x[BLOCK], const float term[BLOCK],
                                            uint32_t repeats)
{
    for (; repeats > 0; repeats--)
        for (int i = 0; i < BLOCK; i++)
            x[i] = SCALE_FACTOR * x[i] + term[i];
}

static void branch_host(const struct kernel_args *args, const float term[BLOCK])
{
    const float *in = args->in[0];
    float *out = args->out;
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (uint64_t first = 0; first < args->count; first += BLOCK) {
        const uint64_t left = args->count - first;
        const size_t count = left < BLOCK ? (size_t)left : BLOCK;
        float x[BLOCK];
        memcpy(x, in + first, count * sizeof *x);
        memset(x + count, 0, (BLOCK - count) * sizeof *x);
        branch_block(x, term, args->params.intensity);
        memcpy(out + first, x, count * sizeof *x);
    }
}

static bool takes_second(bool diverges, uint64_t element)
{
    return diverges ? DIVERGENT_TAKES_SECOND(element) : UNIFORM_TAKES_SECOND(element);
}

static void branches_host(const struct kernel_args *args, bool diverges)
{
    float term[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        term[i] = takes_second(diverges, (uint64_t)i) ? -SCALE_TERM : SCALE_TERM;
    branch_host(args, term);
}

void uniform_host(const struct kernel_args *args)
{
    branches_host(args, false);
}

void divergent_host(const struct kernel_args *args)
{
    branches_host(args, true);
}

static void turn_round(struct oracle *oracle, bool diverges)
{
    for (size_t i = 0; i < oracle->count; i++)
        oracle->value[i] *= takes_second(diverges, oracle->first + i) ? -1 : 1;
}

/* The second branch is the first one in the mirror: a*x - b = -(a*(-x) + b). So what takes it
 * is turned round before `scale`'s oracle, and back behind it. */
static void branches_oracle(struct oracle *oracle, const void *second,
                            const struct kernel_params *params, bool diverges)
{
    turn_round(oracle, diverges);
    scale_oracle(oracle, second, params);
    turn_round(oracle, diverges);
}

void uniform_oracle(struct oracle *oracle, const void *second,
                    const struct kernel_params *params)
{
    branches_oracle(oracle, second, params, false);
}

void divergent_oracle(struct oracle *oracle, const void *second,
                      const struct kernel_params *params)
{
    branches_oracle(oracle, second, params, true);
}
