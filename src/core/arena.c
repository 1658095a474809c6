/* arena.c - a list of blocks, each an array behind what links it to the one before. */
#include "core/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

union arena_block {
    union arena_block *before;
    max_align_t any; /* an array of any type may lie behind it */
};

void *arena_zeros(struct arena *arena, size_t count, size_t bytes)
{
    const bool fits = count <= (SIZE_MAX - sizeof *arena->latest) / bytes;
    union arena_block *block = fits ? calloc(1, sizeof *block + count * bytes) : NULL;
    arena->full |= block == NULL;
    if (block == NULL)
        return NULL;
    block->before = arena->latest;
    arena->latest = block;
    return block + 1;
}

void *arena_ones(struct arena *arena, size_t count, size_t bytes)
{
    void *array = arena_zeros(arena, count, bytes);
    return array != NULL ? memset(array, 0xff, count * bytes) : NULL;
}

char *arena_text(struct arena *arena, const char *text)
{
    char *copy = arena_zeros(arena, strlen(text) + 1, 1);
    return copy != NULL ? strcpy(copy, text) : NULL;
}

void arena_free(struct arena *arena)
{
    while (arena->latest != NULL) {
        union arena_block *block = arena->latest;
        arena->latest = block->before;
        free(block);
    }
    *arena = (struct arena){0};
}
