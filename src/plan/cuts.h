/* cuts.h - the offsets at which memory is cut into cells, which every op touches as a whole or
 * not at all. */
#ifndef PIPELINE_PLAN_CUTS_H
#define PIPELINE_PLAN_CUTS_H

#include "plan/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cell i is [offsets[i], offsets[i + 1]). Zero-initialise. */
struct cuts {
    uint64_t *offsets; /* ascending, each once, as soon as cuts_tidy() was called */
    size_t count, capacity;
    size_t sorted; /* so many ascend already, each once, from the first on */
    size_t
        latest; /* where the latest range began: the next mostly begins there, or behind it */
};

/* Adds both ends of a range. Returns false when memory runs out. */
bool cuts_add(struct cuts *cuts, const struct range *range);

/* Sorts the offsets and drops those that are there twice: call it behind the last cuts_add().
 */
void cuts_tidy(struct cuts *cuts);

/* Returns the first cell of a range that was added, and sets *end to the cell behind its last.
 * They are found at once where the range begins where the latest did, or at the next cut. */
size_t cuts_find(struct cuts *cuts, const struct range *range, size_t *end);

void cuts_free(struct cuts *cuts);

#endif
