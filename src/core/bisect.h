/* bisect.h - binary search, where the caller knows how items compare.
 *
 * Items are sorted so that all that lie before a place come first: those below a key, say. The
 * search asks of one item after another whether it lies before the place, about log2(n) times,
 * and ends at the first that does not:
 *
 *     struct bisect search = bisect_in(0, count);
 *     while (bisect_asks(&search))
 *         bisect_tell(&search, items[search.at].key < key);
 *
 * items[search.at] is then the first whose key is not below `key`; where search.at is `count`
 * there is none. With `<=` in the place of `<`, search.at is how many items have a key up to
 * `key`. bsearch() finds only what is equal, and any of several. */
#ifndef PIPELINE_CORE_BISECT_H
#define PIPELINE_CORE_BISECT_H

#include <stdbool.h>
#include <stddef.h>

struct bisect {
    size_t low, high; /* the place sought is one of low..high */
    size_t at;        /* the item that is asked about; in the end, the place */
};

/* Begins a search among the items `first` to `end` - 1; the place may be `end`, too. */
static inline struct bisect bisect_in(size_t first, size_t end)
{
    return (struct bisect){.low = first, .high = end};
}

/* Returns true if bisect_tell() is to be called about the item `at`; false at the end, when
 * `at` is the place. */
static inline bool bisect_asks(struct bisect *search)
{
    search->at = search->low + (search->high - search->low) / 2;
    return search->low < search->high;
}

/* Tells the search whether the item `at` lies before the place. */
static inline void bisect_tell(struct bisect *search, bool before)
{
    if (before)
        search->low = search->at + 1;
    else
        search->high = search->at;
}

#endif
