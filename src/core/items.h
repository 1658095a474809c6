/* items.h - an array that grows by one item at a time. */
#ifndef PIPELINE_CORE_ITEMS_H
#define PIPELINE_CORE_ITEMS_H

#include <stddef.h>

/* Returns `items` with room for at least one more than `count`, moved if need be, and sets
 * *capacity to the items there is room for. Returns NULL when memory runs out; `items` are then
 * as they were. */
void *items_grow(void *items, size_t count, size_t *capacity, size_t item_bytes);

#endif
