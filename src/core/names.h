/* names.h - names that are known: those that were met before, numbered, and the one that a
 * misspelt one was meant to be.
 *
 * Each key that was met has its number, from 0 in the order in which they came. A key is any
 * bytes: a name, the numbers that name a stream. Keys tend to come several times in a row,
 * which costs no search. */
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

/* A search for the name that a misspelt one was meant to be: begin, offer every name, then read
 * `best`. */
struct nearest {
    const char *wanted;
    const char *best; /* NULL: none is near */
    size_t distance;  /* only a name nearer than this is taken */
};

/* Begins a search for `wanted`. A third of its letters may be wrong, and one more, but never
 * over three, nor all; two letters that are swapped count as two. */
struct nearest nearest_begin(const char *wanted);

/* Keeps `name` if it is nearer than the one that was kept. The distance is 0 where `wanted` is
 * a word of it, or several, between hyphens; else the number of letters put in, taken out or
 * changed, whatever their case (Levenshtein, 1966). */
void nearest_offer(struct nearest *nearest, const char *name);

#endif
