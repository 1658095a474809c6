/* items.h - an array that grows by one item at a time, and a loop over any array.
 *
 * A growing array is a pointer, a count and a capacity, wherever they stand, that begin as
 * zeroes. All three are evaluated several times by the macros. */
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

/* Begins a loop over `count` items, the first of which is at `items`: `item` points to each in
 * turn. Without items, `items` may be NULL, to which C adds not even 0.
 *
 *     EACH (const struct op, op, plan->ops, plan->op_count)
 *         bytes += op->copy.bytes;
 */
#define EACH(type, item, items, count)                                                         \
    for (type *item = (items), *const item##_end_ = (count) > 0 ? item + (count) : item;       \
         item != item##_end_; item++)

#endif
