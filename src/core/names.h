/* names.h - what was met before: each key once, numbered from 0 in the order in which they
 * came.
 *
 * A key is any bytes: a name, the numbers that name a stream. Keys tend to come several times
 * in a row, which costs no search. */
#ifndef PIPELINE_CORE_NAMES_H
#define PIPELINE_CORE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names_item {
    const char *text; /* the key, with a NUL behind its `length` bytes */
    size_t length;
    uint32_t number;
};

/* Zero-initialise; free with names_free(). */
struct names {
    const struct names_item **items; /* by number */
    size_t count, capacity;
    const struct names_item *last; /* that was asked for */
    void *tree;                    /* of tsearch() */
};

/* Sets *number to that of the `length` bytes at `key`, which are copied if they are new. False:
 * no memory. O(log n). */
bool names_number(struct names *names, const void *key, size_t length, uint32_t *number);

/* Returns what has that key; NULL: nothing has. O(log n). */
const struct names_item *names_find(const struct names *names, const void *key, size_t length);

void names_free(struct names *names);

#endif
