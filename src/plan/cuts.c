/* cuts.c - a sorted table of offsets. */
#include "plan/cells.h"

#include "core/compare.h"

#include <stdlib.h>

COMPARE_NUMBERS(compare_offsets, uint64_t);

/* Returns the index of the first of `count` ascending offsets that is not below `offset`, or
 * `count`. It is found at once where it is `guess` or right behind that. */
static size_t find(const uint64_t *offsets, size_t count, size_t guess, uint64_t offset)
{
    if (guess < count && offsets[guess] < offset && ++guess == count)
        return count;
    if (guess < count && offsets[guess] == offset)
        return guess;
    BISECT(at, i, 0, count, offsets[i] < offset);
    return at;
}

void cuts_tidy(struct cuts *cuts)
{
    size_t kept = cuts->sorted;
    if (kept == cuts->count)
        return;
    qsort(cuts->offsets, cuts->count, sizeof *cuts->offsets, compare_offsets);
    kept = 1;
    for (size_t i = 1; i < cuts->count; i++) {
        if (cuts->offsets[i] != cuts->offsets[kept - 1])
            cuts->offsets[kept++] = cuts->offsets[i];
    }
    cuts->count = cuts->sorted = kept;
}

/* Makes room for one more. What is there twice goes first. */
static bool cuts_grow(struct cuts *cuts)
{
    enum { FIRST = 4 }; /* of most buffers it is a range or two, and they may be many */
    cuts_tidy(cuts);
    if (2 * cuts->count < cuts->capacity)
        return true;
    size_t capacity = cuts->capacity > 0 ? 2 * cuts->capacity : FIRST;
    uint64_t *offsets = realloc(cuts->offsets, capacity * sizeof *offsets);
    if (offsets == NULL)
        return false;
    cuts->offsets = offsets;
    cuts->capacity = capacity;
    return true;
}

/* Adds an offset, whose place among those that are sorted is known. */
static bool add(struct cuts *cuts, size_t place, uint64_t offset)
{
    if (place < cuts->sorted && cuts->offsets[place] == offset)
        return true;
    if (cuts->count == cuts->capacity && !cuts_grow(cuts))
        return false;
    cuts->sorted += place == cuts->count;
    cuts->offsets[cuts->count++] = offset;
    return true;
}

/* Arrays of the host are cut in order, and slots at the same places again and again: neither
 * leaves anything to sort. */
bool cuts_add(struct cuts *cuts, const struct range *range)
{
    uint64_t end = range->offset + range->bytes;
    size_t first = find(cuts->offsets, cuts->sorted, cuts->latest, range->offset);
    cuts->latest = first;
    return add(cuts, first, range->offset) &&
           add(cuts, find(cuts->offsets, cuts->sorted, first, end), end);
}

size_t cuts_find(struct cuts *cuts, const struct range *range, size_t *end)
{
    size_t first = find(cuts->offsets, cuts->count, cuts->latest, range->offset);
    *end = find(cuts->offsets, cuts->count, first, range->offset + range->bytes);
    cuts->latest = first;
    return first;
}

void cuts_free(struct cuts *cuts)
{
    free(cuts->offsets);
    *cuts = (struct cuts){0};
}
