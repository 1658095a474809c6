/* mix.h - numbers that look random and are the same on every host: splitmix64 (Steele, Lea &
 * Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). */
#ifndef PIPELINE_CORE_MIX_H
#define PIPELINE_CORE_MIX_H

#include <stdint.h>

/* Maps 64 bits one to one to 64 bits, each of which depends on every bit of `z`: splitmix64's
 * finaliser. */
static inline uint64_t mix_bits(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Returns number `index` of the sequence `key`, without computing those before it. */
static inline uint64_t mix_at(uint64_t key, uint64_t index)
{
    return mix_bits(key + (index + 1) * UINT64_C(0x9E3779B97F4A7C15));
}

#endif
