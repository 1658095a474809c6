/* layout.c - a kernel's arguments: the driver says how large each is, once per kernel. */
#include "record/record.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS_MOST = 64, TABLE_FIRST = 256 };

/* The words of a kernel's arguments that are large enough for an address. */
struct layout {
    const void *symbol; /* NULL: the place is free */
    bool known;
    uint16_t count;
    struct {
        uint16_t param, offset; /* the param's number, and bytes into it */
    } words[ENTRY_WORDS_MAX];
};

/* Layouts by symbol, in a table that is only ever replaced as a whole: readers take no lock. */
struct table {
    size_t room, used;
    _Atomic(struct layout *) places[];
};
static _Atomic(struct table *) current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t place_of(const struct table *table, const void *symbol)
{
    uint64_t hash = (uint64_t)(uintptr_t)symbol * UINT64_C(0x9E3779B97F4A7C15);
    size_t place = (size_t)(hash >> 32) % table->room;
    struct layout *layout;
    while ((layout = atomic_load_explicit(&table->places[place], memory_order_acquire)) !=
               NULL &&
           layout->symbol != symbol)
        place = (place + 1) % table->room;
    return place;
}

static const struct layout *find(const void *symbol)
{
    const struct table *table = atomic_load_explicit(&current, memory_order_acquire);
    if (table == NULL)
        return NULL;
    return atomic_load_explicit(&table->places[place_of(table, symbol)], memory_order_acquire);
}

/* Keeps the table at most half full. The old one stays: somebody may be reading it. */
static struct table *with_room(void)
{
    struct table *table = atomic_load(&current);
    if (table != NULL && 2 * (table->used + 1) <= table->room)
        return table;
    size_t room = table != NULL ? 2 * table->room : TABLE_FIRST;
    struct table *larger = calloc(1, sizeof *larger + room * sizeof larger->places[0]);
    if (larger == NULL)
        return NULL;
    larger->room = room;
    for (size_t i = 0; table != NULL && i < table->room; i++) {
        struct layout *layout = atomic_load(&table->places[i]);
        if (layout != NULL)
            atomic_store(&larger->places[place_of(larger, layout->symbol)], layout);
    }
    larger->used = table != NULL ? table->used : 0;
    atomic_store_explicit(&current, larger, memory_order_release);
    return larger;
}

/* Returns the result for the `index`-th argument of a CUfunction, which may be a CUkernel. */
static CUresult param_of(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (record_api.function_param != NULL)
        result = record_api.function_param(function, index, offset, size);
    if (result == CUDA_ERROR_INVALID_HANDLE && record_api.kernel_param != NULL)
        result = record_api.kernel_param((CUkernel)function, index, offset, size);
    return result;
}

static void fill(struct layout *layout, CUfunction function)
{
    for (size_t param = 0; param < PARAMS_MOST; param++) {
        size_t offset = 0, size = 0;
        CUresult result = param_of(function, param, &offset, &size);
        if (result != CUDA_SUCCESS) {
            layout->known = result == CUDA_ERROR_INVALID_VALUE;
            break;
        }
        for (size_t at = 0; at + 8 <= size && layout->count < ENTRY_WORDS_MAX; at += 8) {
            layout->words[layout->count].param = (uint16_t)param;
            layout->words[layout->count++].offset = (uint16_t)at;
        }
    }
}

void layout_learn(const void *symbol, CUfunction function)
{
    pthread_mutex_lock(&lock);
    struct table *table = find(symbol) == NULL ? with_room() : NULL;
    struct layout *layout = table != NULL ? calloc(1, sizeof *layout) : NULL;
    if (layout != NULL) {
        layout->symbol = symbol;
        fill(layout, function);
        table->used++;
        atomic_store_explicit(&table->places[place_of(table, symbol)], layout,
                              memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

bool layout_is_known(const void *symbol)
{
    return find(symbol) != NULL;
}

uint32_t layout_words(const void *symbol, void *const *arguments,
                      uint64_t words[ENTRY_WORDS_MAX])
{
    const struct layout *layout = find(symbol);
    uint32_t count = 0;
    if (layout == NULL || !layout->known || (arguments == NULL && layout->count > 0))
        return ENTRY_NO_WORDS;
    for (uint16_t i = 0; i < layout->count; i++) {
        uint64_t word;
        memcpy(&word, (const char *)arguments[layout->words[i].param] + layout->words[i].offset,
               sizeof word);
        if (tables_may_be_address(word))
            words[count++] = word;
    }
    return count;
}
