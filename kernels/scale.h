/* scale.h - one repeat of `scale`, and what its twin on the CPU does to a block of elements:
 * repeat by repeat or, where nobody measures it, many at a time. With that the default run on a
 * simulated device took 1.5 s of CPU time instead of 2.9 s. [Two cores, 2026-11-29] */
#ifndef PIPELINE_KERNELS_SCALE_H
#define PIPELINE_KERNELS_SCALE_H

/* One repeat of `scale` is x = SCALE_FACTOR * x + SCALE_TERM. Each repeat mirrors x at a fixed
 * point near 1/2 and draws it nearer by 2^-16 of its distance. So nothing overflows however
 * often it is repeated, nothing settles within 65536 repeats, and different inputs stay
 * different. */
#define SCALE_FACTOR (-(1.0f - 0x1p-16f))
#define SCALE_TERM   1.0f

#ifndef __cplusplus

#include "kernels/host_util.h"

#include <string.h>

/* A block of elements stays in the L1 cache through all repeats, PASS of which are done in one
 * pass over it. Each element's repeats depend on one another, but the elements of a block do
 * not, so the vector units are kept busy across the block. Its size is a constant (the last
 * block is filled up with zeros), because compilers then vectorise the loops without being told
 * to. */
enum { BLOCK = 256, PASS = 4 };

/* This rounds twice where the device's fused multiply-add rounds once: fmaf() without the
 * instruction is a slow library call. The oracle's bound allows for both. */
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

/* ---- many repeats at a time ----
 *
 * Two repeats, the first from above the fixed point, take x nearer to it by a step that stays
 * the same as long as both products are rounded alike. From -1 to 2 that is so in cells: after
 * one repeat all values are multiples of a unit, 2^-23 where the two lie outside of 0 to 1,
 * else 2^-24. A product rounds its distance from a multiple of 2^16 units; the lower one is
 * rounded again in the sum, to even in a window about the middle of a cell. So up to the next
 * boundary any number of repeats is one addition, to the bit. How far that is, is estimated,
 * and then checked: the first two steps and the last are the same, or else two repeats are
 * made. [Compared with scale_block(), for all 3 * 2^23 values that one repeat can give] */
enum { LEAP_LANES = 16, LEAP_PASSES = 4, LEAPS_LEAST = 256, LEAPS_MOST = 1 << 22 };
#define TO_WHOLE 0x1.8p23f /* added and taken away, it leaves the nearest whole number */

static inline float scale_twice(float x)
{
    return scale_once(scale_once(x));
}

static inline float smaller(float a, float b)
{
    return a < b ? a : b;
}

/* Returns how far `v` is above a whole number, less a half. */
static inline float above_whole(float v)
{
    return v - 0.5f - ((v - 0.5f + TO_WHOLE) - TO_WHOLE);
}

/* Returns how many `cells` x, above the fixed point, and `lower`, its next value, can go before
 * anything is rounded in another way. */
static inline float cells_left(float x, float lower, float cells)
{
    const float v = -lower * cells;
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits &= UINT32_C(0x7F800000);
    float power; /* of two, below v: the window's size changes there */
    memcpy(&power, &bits, sizeof power);
    const float middle = v - 0.5f, window = power * 0x1p-8f;
    const float left =
        smaller(above_whole(x * cells - 0.5f),
                smaller(above_whole(middle + window), above_whole(middle - window)));
    return smaller(left + 0.5f, v - (x > 1 ? power : -2 * power));
}

/* Does what scale_block() does, with values from -1 to 2. Those that are done are sorted out
 * now and then. */
HOST_VECTOR_CLONES static void leap_block(float x[BLOCK], uint32_t repeats)
{
    float at[BLOCK], pairs[BLOCK], odd[BLOCK];
    int place[BLOCK], count = BLOCK;
    for (int i = 0; i < BLOCK; i++) {
        const float once = scale_once(x[i]), twice = scale_once(once);
        const float left = (float)repeats - (once < 0.5f ? 2.0f : 1.0f);
        at[i] = once < 0.5f ? twice : once;
        pairs[i] = (float)(int)(left * 0.5f);
        odd[i] = left - 2 * pairs[i];
        place[i] = i;
    }
    for (int pass = 1; count > 0; pass++) {
        for (int i = 0; i < (count + LEAP_LANES - 1) / LEAP_LANES * LEAP_LANES; i++) {
            const float from = at[i], lower = scale_once(from), next = scale_once(lower);
            const float step = next - from, cells = from > 1 ? 0x1p7f : 0x1p8f;
            const float room = cells_left(from, lower, cells) / ((from - next) * cells);
            const float whole = (smaller(room, pairs[i]) + 0.499f + TO_WHOLE) - TO_WHOLE;
            const float leap = whole > 1 ? whole : 1;
            const float last = from + (leap - 1) * step, end = scale_twice(last);
            const int same = (end - last == step) & (scale_twice(next) - next == step);
            const float to = same ? end : next, made = same ? leap : 1;
            at[i] = pairs[i] > 0 ? to : from;
            pairs[i] -= pairs[i] > 0 ? made : 0;
        }
        if (pass % LEAP_PASSES != 0)
            continue;
        int going = 0;
        for (int i = 0; i < count; i++) {
            x[place[i]] = at[i];
            at[going] = at[i];
            place[going] = place[i];
            pairs[going] = pairs[i];
            going += pairs[i] > 0;
        }
        count = going;
    }
    for (int i = 0; i < BLOCK; i++) {
        const float once = scale_once(x[i]);
        x[i] = odd[i] > 0 ? once : x[i];
    }
}

/* Returns true where leap_block() may stand for scale_block(), and is faster. */
static bool can_leap(const struct kernel_args *args, const float x[BLOCK])
{
    int within = args->untimed && args->params.intensity >= LEAPS_LEAST &&
                 args->params.intensity <= LEAPS_MOST;
    for (int i = 0; i < BLOCK && within; i++)
        within = x[i] >= -1 && x[i] <= 2;
    return within;
}

#endif
#endif
