/* items.c - an array that grows by one item at a time. It stands alone because the recorder
 * links it without the rest of the house. */
#include "core/items.h"

#include <stdlib.h>
#include <string.h>

bool items_grow(void *array, size_t *capacity, size_t item_bytes)
{
    enum { FIRST = 64 };
    void *items, *grown;
    size_t wanted = *capacity > 0 ? 2 * *capacity : FIRST;
    memcpy(&items, array, sizeof items); /* a pointer to items of any type lies there */
    grown = realloc(items, wanted * item_bytes);
    if (grown == NULL)
        return false;
    memcpy(array, &grown, sizeof grown); /* from here on it is the caller's */
    *capacity = wanted;
    /* cppcheck-suppress memleak */
    return true;
}
