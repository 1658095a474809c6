/* items.c - an array that grows by one item at a time. */
#include "core/items.h"

#include <stdlib.h>
#include <string.h>

bool items_grow(void *array, size_t *capacity, size_t item_bytes)
{
    enum { FIRST = 64 };
    void *items;
    size_t wanted = *capacity > 0 ? 2 * *capacity : FIRST;
    memcpy(&items, array, sizeof items); /* a pointer to items of any type lies there */
    items = realloc(items, wanted * item_bytes);
    if (items == NULL)
        return false;
    memcpy(array, &items, sizeof items);
    *capacity = wanted;
    return true;
}
