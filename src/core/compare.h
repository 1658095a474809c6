/* compare.h - the order of two things, for qsort() and bsearch(). */
#ifndef PIPELINE_CORE_COMPARE_H
#define PIPELINE_CORE_COMPARE_H

/* Returns a number below 0, 0 or above 0: the order of two numbers, or of two pointers into an
 * array. Both are evaluated twice. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

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
#define COMPARE_1(member)                              COMPARE(x->member, y->member)
#define COMPARE_2(member, ...)                         COMPARE_1(member) ?: COMPARE_1(__VA_ARGS__)
#define COMPARE_3(member, ...)                         COMPARE_1(member) ?: COMPARE_2(__VA_ARGS__)
#define COMPARE_4(member, ...)                         COMPARE_1(member) ?: COMPARE_3(__VA_ARGS__)
#define COMPARE_5(member, ...)                         COMPARE_1(member) ?: COMPARE_4(__VA_ARGS__)
#define COMPARE_6(member, ...)                         COMPARE_1(member) ?: COMPARE_5(__VA_ARGS__)
#define COMPARE_7(member, ...)                         COMPARE_1(member) ?: COMPARE_6(__VA_ARGS__)

#endif
