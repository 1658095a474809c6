/* bisect.h - binary search, where the caller knows how items compare.
 *
 * Items are sorted so that all that lie before a place come first: those below a key, say. The
 * search asks of one item after another whether it lies before the place, about log2(n) times,
 * and ends at the first that does not:
 *
 *     const size_t at = BISECT(i, 0, count, items[i].key < key);
 *
 * items[at] is then the first whose key is not below `key`; where `at` is `count` there is
 * none. With `<=` in the place of `<`, `at` is how many items have a key up to `key`. bsearch()
 * finds only what is equal, and any of several. */
#ifndef PIPELINE_CORE_BISECT_H
#define PIPELINE_CORE_BISECT_H

#include <stddef.h>

/* Returns the first of the items `first` to `end` - 1 that does not lie before the place, or
 * `end`. `before` says whether item `i`, a size_t that it may name, does. */
#define BISECT(i, first, end, before)                                                          \
    ({                                                                                         \
        size_t low_ = (first), high_ = (end);                                                  \
        while (low_ < high_) {                                                                 \
            const size_t i = low_ + (high_ - low_) / 2;                                        \
            if (before)                                                                        \
                low_ = i + 1;                                                                  \
            else                                                                               \
                high_ = i;                                                                     \
        }                                                                                      \
        low_;                                                                                  \
    })

#endif
