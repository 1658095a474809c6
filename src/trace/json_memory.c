/* json_memory.c - jansson, where memory runs out. */
#include "trace/json_memory.h"

#include "core/items.h"

#include <setjmp.h>
#include <stdlib.h>

/* What a text that is being decoded has taken, to be given back where it is given up. */
static _Thread_local struct load {
    void **blocks;
    size_t count, room;
    jmp_buf give_up;
} * load;
static _Thread_local bool failed;

static void *take(size_t bytes)
{
    void *memory = malloc(bytes);
    failed |= memory == NULL;
    return memory;
}

static void *load_take(size_t bytes)
{
    void **blocks = items_grow(load->blocks, load->count, &load->room, sizeof *blocks);
    void *memory = blocks != NULL ? malloc(bytes) : NULL;
    if (blocks != NULL)
        load->blocks = blocks;
    if (memory == NULL)
        longjmp(load->give_up, 1);
    load->blocks[load->count++] = memory;
    return memory;
}

/* Gives back a block, most often one of the latest. */
static void load_give(void *memory)
{
    size_t i = load->count;
    while (i > 0 && load->blocks[i - 1] != memory)
        i--;
    if (i > 0)
        load->blocks[i - 1] = load->blocks[--load->count];
    free(memory);
}

json_t *json_memory_load(const char *text, size_t length, size_t flags, json_error_t *why,
                         bool *starved)
{
    struct load own = {0};
    json_malloc_t malloc_before;
    json_free_t free_before;
    json_t *volatile value = NULL;
    json_get_alloc_funcs(&malloc_before, &free_before);
    json_set_alloc_funcs(load_take, load_give);
    load = &own;
    *starved = setjmp(own.give_up) != 0;
    if (!*starved)
        value = json_loadb(text, length, flags, why);
    while (*starved && own.count > 0)
        free(own.blocks[--own.count]);
    free(own.blocks);
    load = NULL;
    json_set_alloc_funcs(malloc_before, free_before);
    return value;
}

void json_memory_watch(void)
{
    failed = false;
    json_set_alloc_funcs(take, free);
}

bool json_memory_failed(void)
{
    return failed;
}
