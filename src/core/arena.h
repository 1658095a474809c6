/* arena.h - arrays that are taken one by one and given back all at once. */
#ifndef PIPELINE_CORE_ARENA_H
#define PIPELINE_CORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/* Begins as zeroes. */
struct arena {
    union arena_block *latest;
    bool full; /* memory ran out for one of the arrays, which is NULL */
};

/* Returns an array of `count` items of `bytes` each, which may be none, where all bits are
 * unset; or, for what no number is named by, all set. NULL: the arena is full. */
void *arena_zeros(struct arena *arena, size_t count, size_t bytes);
void *arena_ones(struct arena *arena, size_t count, size_t bytes);

/* Returns a copy of `text`; NULL: the arena is full. */
char *arena_text(struct arena *arena, const char *text);

void arena_free(struct arena *arena);

#endif
