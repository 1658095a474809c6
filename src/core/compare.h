/* compare.h - the order of two things, for qsort() and bsearch(), and what is found by it. */
#ifndef PIPELINE_CORE_COMPARE_H
#define PIPELINE_CORE_COMPARE_H

#include <stddef.h>

/* Returns a number below 0, 0 or above 0: the order of two numbers, or of two pointers into an
 * array. Both are evaluated twice. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Returns the order by a first thing and, where that is the same, by a second one. The first is
 * evaluated twice. */
#define COMPARE_ELSE(first, second) ((first) != 0 ? (first) : (second))

/* Defines a function `name` that compares two items of an array of `type` by up to seven of
 * their members: by the first that differs.
 *
 *     COMPARE_BY(compare_edges, struct edge, exec, from, to);
 */
#define COMPARE_BY(name, type, ...)                                                            \
    static int name(const void *a, const void *b)                                              \
    {                                                                                          \
        const type *x = a, *y = b;                                                             \
        return COMPARE_MEMBERS(__VA_ARGS__);                                                   \
    }                                                                                          \
    _Static_assert(sizeof(type) > 0, "") /* which the semicolon behind it ends */

/* Defines such a function for an array of pointers to `type`, by members of what they point to.
 */
#define COMPARE_POINTERS_BY(name, type, ...)                                                   \
    static int name(const void *a, const void *b)                                              \
    {                                                                                          \
        const type *x = *(const type *const *)a, *y = *(const type *const *)b;                 \
        return COMPARE_MEMBERS(__VA_ARGS__);                                                   \
    }                                                                                          \
    _Static_assert(sizeof(type) > 0, "")

/* Defines such a function for an array of numbers of `type`. */
#define COMPARE_NUMBERS(name, type)                                                            \
    static int name(const void *a, const void *b)                                              \
    {                                                                                          \
        const type *x = a, *y = b;                                                             \
        return COMPARE(*x, *y);                                                                \
    }                                                                                          \
    _Static_assert(sizeof(type) > 0, "")

/* Compares members of *x and *y. */
#define COMPARE_MEMBERS(...)                                                                   \
    COMPARE_PICK(__VA_ARGS__, COMPARE_7, COMPARE_6, COMPARE_5, COMPARE_4, COMPARE_3,           \
                 COMPARE_2, COMPARE_1, )                                                       \
    (__VA_ARGS__)
#define COMPARE_PICK(a, b, c, d, e, f, g, picked, ...) picked

#define COMPARE_1(member)     COMPARE(x->member, y->member)
#define COMPARE_2(first, ...) COMPARE_ELSE(COMPARE_1(first), COMPARE_1(__VA_ARGS__))
#define COMPARE_3(first, ...) COMPARE_ELSE(COMPARE_1(first), COMPARE_2(__VA_ARGS__))
#define COMPARE_4(first, ...) COMPARE_ELSE(COMPARE_1(first), COMPARE_3(__VA_ARGS__))
#define COMPARE_5(first, ...) COMPARE_ELSE(COMPARE_1(first), COMPARE_4(__VA_ARGS__))
#define COMPARE_6(first, ...) COMPARE_ELSE(COMPARE_1(first), COMPARE_5(__VA_ARGS__))
#define COMPARE_7(first, ...) COMPARE_ELSE(COMPARE_1(first), COMPARE_6(__VA_ARGS__))

/* Declares `at`: the first of the items `first` to `end` - 1 that does not lie before a place,
 * or `end`. Items are sorted so that all that lie before it come first: those below a key, say.
 * `before` says whether item `i`, a size_t that it may name, does; it is asked of about log2(n)
 * items.
 *
 *     BISECT(at, i, 0, count, items[i].key < key);
 *
 * items[at] is then the first whose key is not below `key`. With `<=` in the place of `<`, `at`
 * is how many items have a key up to `key`. bsearch() finds only what is equal, and any of
 * several. */
#define BISECT(at, i, first, end, before)                                                      \
    size_t at = (first);                                                                       \
    for (size_t high_ = (end); at < high_;) {                                                  \
        const size_t i = at + (high_ - at) / 2;                                                \
        if (before)                                                                            \
            at = i + 1;                                                                        \
        else                                                                                   \
            high_ = i;                                                                         \
    }                                                                                          \
    _Static_assert(sizeof(at) > 0, "") /* which the semicolon behind it ends */

#endif
