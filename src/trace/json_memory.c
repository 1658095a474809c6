/* json_memory.c - jansson, where memory runs out. */
#include "trace/json_memory.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/* All that the latest load has taken: it goes as a whole, so that a load that is given up needs
 * to know nothing of jansson's own state. */
static struct block {
    struct block *next;
    max_align_t bytes[];
} * blocks;
static jmp_buf give_up;
static atomic_bool failed;

static void *take(size_t bytes)
{
    struct block *block = malloc(sizeof *block + bytes);
    if (block == NULL)
        longjmp(give_up, 1);
    block->next = blocks;
    blocks = block;
    return block->bytes;
}

static void keep(void *memory)
{
    (void)memory;
}

void json_memory_free(void)
{
    while (blocks != NULL) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

json_t *json_memory_load(const char *text, size_t length, size_t flags, json_error_t *why,
                         bool *starved)
{
    json_malloc_t malloc_before;
    json_free_t free_before;
    json_t *volatile value = NULL;
    json_memory_free();
    json_get_alloc_funcs(&malloc_before, &free_before);
    json_set_alloc_funcs(take, keep);
    *starved = setjmp(give_up) != 0;
    if (!*starved)
        value = json_loadb(text, length, flags, why);
    json_set_alloc_funcs(malloc_before, free_before);
    if (*starved)
        json_memory_free();
    return value;
}

static void *watch(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL)
        failed = true;
    return memory;
}

void json_memory_watch(void)
{
    failed = false;
    json_set_alloc_funcs(watch, free);
}

bool json_memory_failed(void)
{
    return failed;
}
