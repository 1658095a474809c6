/* items.c - an array that grows by one item at a time. */
#include "core/items.h"

#include <stdlib.h>

void *items_grow(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
    enum { FIRST = 64 };
    if (count < *capacity)
        return items;
    size_t wanted = *capacity > 0 ? 2 * *capacity : FIRST;
    void *grown = realloc(items, wanted * item_bytes);
    if (grown != NULL)
        *capacity = wanted;
    return grown;
}
