/* recording_place.c - what has which id. */
#include "trace/recording_place.h"

#include <inttypes.h>
#include <stdlib.h>

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->id != y->id ? (x->id < y->id ? -1 : 1)
                          : (x->line > y->line) - (x->line < y->line);
}

enum status places_order(const struct draft *draft, struct place *places, size_t count,
                         const char *what)
{
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 1; i < count; i++) {
        if (places[i].id == places[i - 1].id)
            return draft_refuse(draft, places[i].line,
                                "%s %" PRIu64 " is there already, in line %" PRIu64, what,
                                places[i].id, places[i - 1].line);
    }
    return STATUS_OK;
}

/* Returns the index of what has `id`; RECORDING_NONE: nothing has. Lines tend to come in the
 * order of what they refer to: *near is where to look first. */
uint32_t place_find(const struct place *places, size_t count, uint64_t id, size_t *near)
{
    size_t low = 0, high = count;
    for (size_t i = *near; i < count && i < *near + 2; i++) {
        if (places[i].id == id) {
            *near = i;
            return places[i].index;
        }
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || places[low].id != id)
        return RECORDING_NONE;
    *near = low;
    return places[low].index;
}

struct place *places_create(size_t count)
{
    return malloc((count + 1) * sizeof(struct place));
}
