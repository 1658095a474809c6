/* items.h - an array that grows by one item at a time.
 *
 * An array is a pointer, a count and a capacity, wherever they stand, that begin as zeroes. All
 * three are evaluated several times by the macros. */
#ifndef PIPELINE_CORE_ITEMS_H
#define PIPELINE_CORE_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for one item behind the `count` first, and moves the array if need be. False: no
 * memory, and the array is as it was. */
#define ITEMS_ROOM(items, count, capacity)                                                     \
    ((count) < (capacity) || items_grow(&(items), &(capacity), sizeof *(items)))

/* Counts one item more, and returns where it is to be written; NULL: no memory. */
#define ITEMS_ADD(items, count, capacity)                                                      \
    (ITEMS_ROOM(items, count, capacity) ? &(items)[(count)++] : NULL)

/* Moves the array whose pointer lies at `array` to where there is room for more items, and sets
 * *capacity to how many. False: no memory, and the array is as it was. */
bool items_grow(void *array, size_t *capacity, size_t item_bytes);

#endif
