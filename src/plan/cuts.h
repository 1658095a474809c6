/* cuts.h - the offsets at which memory is cut into cells, which every op touches as a whole or
 * not at all. */
#ifndef PIPELINE_PLAN_CUTS_H
#define PIPELINE_PLAN_CUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cell i is [offsets[i], offsets[i + 1]). Zero-initialise. */
struct cuts {
    uint64_t *offsets; /* ascending, each once, as soon as cuts_tidy() was called */
    size_t count, capacity;
};

/* Adds an offset. Returns false when memory runs out. */
bool cuts_add(struct cuts *cuts, uint64_t offset);

/* Sorts the offsets and drops those that are there twice: call it behind the last cuts_add().
 */
void cuts_tidy(struct cuts *cuts);

/* Returns the index of the first offset that is not below `offset`, or `count`. The second one
 * is for offsets that are known to lie at `from` or behind, and mostly right there. */
size_t cuts_find(const struct cuts *cuts, uint64_t offset);
size_t cuts_find_from(const struct cuts *cuts, size_t from, uint64_t offset);

void cuts_free(struct cuts *cuts);

#endif
