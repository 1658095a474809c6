/* nearest.h - finds the name that a misspelt one was meant to be. */
#ifndef PIPELINE_CORE_NEAREST_H
#define PIPELINE_CORE_NEAREST_H

#include <stddef.h>

/* A search: begin, offer every name, then read `best`. */
struct nearest {
    const char *wanted;
    const char *best; /* NULL: none is near */
    size_t distance;  /* only a name nearer than this is taken */
};

/* Begins a search for `wanted`. A third of its letters may be wrong, and one more, but never
 * over three; two letters that are swapped count as two. */
struct nearest nearest_begin(const char *wanted);

/* Keeps `name` if it is nearer than the one that was kept. The distance is the number of
 * letters put in, taken out or changed (Levenshtein, 1966). */
void nearest_offer(struct nearest *nearest, const char *name);

#endif
