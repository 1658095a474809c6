/* cuts.c - a sorted table of offsets. */
#include "plan/cuts.h"

#include <stdlib.h>

static int compare_offsets(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Host arrays are cut in order already. */
void cuts_tidy(struct cuts *cuts)
{
    bool sorted = true;
    for (size_t i = 1; i < cuts->count && sorted; i++)
        sorted = cuts->offsets[i - 1] <= cuts->offsets[i];
    if (!sorted)
        qsort(cuts->offsets, cuts->count, sizeof *cuts->offsets, compare_offsets);
    size_t kept = 0;
    for (size_t i = 0; i < cuts->count; i++) {
        if (kept == 0 || cuts->offsets[i] != cuts->offsets[kept - 1])
            cuts->offsets[kept++] = cuts->offsets[i];
    }
    cuts->count = kept;
}

/* Memory is cut at the same places again and again: a full table is tidied before it grows. */
bool cuts_add(struct cuts *cuts, uint64_t offset)
{
    enum { FIRST = 64 };
    if (cuts->count == cuts->capacity) {
        cuts_tidy(cuts);
        if (2 * cuts->count >= cuts->capacity) {
            size_t capacity = cuts->capacity > 0 ? 2 * cuts->capacity : FIRST;
            uint64_t *offsets = realloc(cuts->offsets, capacity * sizeof *offsets);
            if (offsets == NULL)
                return false;
            cuts->offsets = offsets;
            cuts->capacity = capacity;
        }
    }
    cuts->offsets[cuts->count++] = offset;
    return true;
}

size_t cuts_find_from(const struct cuts *cuts, size_t from, uint64_t offset)
{
    size_t low = from, high = cuts->count;
    if (low < high && cuts->offsets[low] == offset)
        return low;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cuts->offsets[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t cuts_find(const struct cuts *cuts, uint64_t offset)
{
    return cuts_find_from(cuts, 0, offset);
}

void cuts_free(struct cuts *cuts)
{
    free(cuts->offsets);
    *cuts = (struct cuts){0};
}
