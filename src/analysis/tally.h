/* tally.h - how many there are of something, and how long they take. */
#ifndef PIPELINE_ANALYSIS_TALLY_H
#define PIPELINE_ANALYSIS_TALLY_H

#include <stdbool.h>
#include <stdint.h>

/* How many ops or calls there are of a kind, how long they took, and the longest of them. */
struct tally {
    uint32_t count, longest; /* SPAN_NONE: there is none */
    int64_t sum_ns, longest_ns;
};

/* Counts one more, of which `index` tells. */
static inline void tally_add(struct tally *tally, uint32_t index, int64_t length_ns)
{
    const bool longer = tally->count++ == 0 || length_ns > tally->longest_ns;
    tally->sum_ns += length_ns;
    tally->longest = longer ? index : tally->longest;
    tally->longest_ns = longer ? length_ns : tally->longest_ns;
}

#endif
