/* scale_host.c - the CPU twin and the oracle of `scale`. */
#include "kernels/kernel_rows.h"

#include <math.h>
#include <string.h>

/* Elements that stay in the L1 cache through all repeats, and repeats per pass over them: each
 * element's repeats depend on one another, the elements of a block do not, so the vector units
 * are kept busy across the block. Its size is a constant, the last one filled up with zeros,
 * for then compilers vectorise the loops without being told to. */
enum { BLOCK = 256, PASS = 4 };

/* Two roundings where the device's fused multiply-add has one: fmaf() without the instruction
 * is a slow library call. The bound allows for both. */
static inline float scale_once(float x)
{
    return SCALE_FACTOR * x + SCALE_TERM;
}

HOST_VECTOR_CLONES static void scale_block(float x[BLOCK], uint32_t repeats)
{
    for (; repeats >= PASS; repeats -= PASS)
        for (int i = 0; i < BLOCK; i++)
            x[i] = scale_once(scale_once(scale_once(scale_once(x[i]))));
    for (; repeats > 0; repeats--)
        for (int i = 0; i < BLOCK; i++)
            x[i] = scale_once(x[i]);
}

void scale_host(const struct kernel_args *args)
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
        scale_block(x, args->params.intensity);
        memcpy(out + first, x, count * sizeof *x);
    }
}

/* The closed form: with the fixed point p = b/(1-a), R repeats give p + (x-p) a^R.
 *
 * The bound, with u = 2^-24: one repeat, fused or not, rounds the product and the sum, so it
 * errs by at most u(|a x| + |x'|) <= 2uM, where M is the largest magnitude on the way. Later
 * repeats shrink that error by |a| each, so all together they err by E <= 2uM(1 + |a| + |a|^2 +
 * ...) = sM with s = 2u(1-|a|^R)/(1-|a|), which is at most 2uR and never above 2^-7. As x keeps
 * its distance from p, M <= |x| + 2p + E, hence E <= s/(1-s) (|x| + 2p). What x was off before,
 * it is off by |a|^R times that after. */
void scale_oracle(struct oracle *oracle, const void *second, const struct kernel_params *params)
{
    (void)second;
    const double factor = SCALE_FACTOR;
    const double fixed = SCALE_TERM / (1 - factor);
    const double sign = params->intensity % 2 == 0 ? 1 : -1;
    const double grown = expm1(params->intensity * log(-factor)); /* |a|^R - 1 */
    const double shrink = 1 + grown;
    const double rounding = 2 * FLOAT_ROUNDING * -grown / (1 + factor);
    for (size_t i = 0; i < oracle->count; i++) {
        const double x = oracle->value[i], off = oracle->bound[i];
        if (isfinite(x)) {
            oracle->value[i] = fixed + (x - fixed) * sign * shrink;
            oracle->bound[i] =
                off * shrink + rounding / (1 - rounding) * (fabs(x) + off + 2 * fixed);
        } else { /* infinities change sign, NaN stays */
            oracle->value[i] = sign * x;
            oracle->bound[i] = 0;
        }
    }
}
