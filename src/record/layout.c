/* layout.c - a kernel's arguments: the driver says how large each is, once per kernel. */
#include "record/record.h"

#include <stdlib.h>
#include <string.h>

enum { PARAMS_MOST = 512, WORDS_MOST = 4096, TABLE_FIRST = 256 };

/* A word of a kernel's arguments that is large enough for an address. */
struct word {
    uint16_t param, offset; /* the param's number, and bytes into it */
};

struct layout {
    const void *symbol;
    atomic_uint generation; /* in which it was true */
    bool known;
    uint32_t count;
    struct word words[];
};

static atomic_uint generation = 1; /* how often kernels were unloaded, and 1 */

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

/* Returns what is known of a symbol now, or NULL. */
static const struct layout *find(const void *symbol)
{
    const struct table *table = atomic_load_explicit(&current, memory_order_acquire);
    if (table == NULL)
        return NULL;
    struct layout *layout =
        atomic_load_explicit(&table->places[place_of(table, symbol)], memory_order_acquire);
    return layout != NULL && atomic_load(&layout->generation) == atomic_load(&generation)
               ? layout
               : NULL;
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

/* Finds the words of a function's arguments; known is false where the driver does not tell, or
 * there are too many. */
static uint32_t fill(CUfunction function, struct word words[WORDS_MOST], bool *known)
{
    uint32_t count = 0;
    *known = false;
    for (size_t param = 0; param < PARAMS_MOST; param++) {
        size_t offset = 0, size = 0;
        CUresult result = param_of(function, param, &offset, &size);
        if (result != CUDA_SUCCESS) {
            *known = result == CUDA_ERROR_INVALID_VALUE;
            return count;
        }
        for (size_t at = 0; at + 8 <= size; at += 8) {
            if (count == WORDS_MOST)
                return 0;
            words[count++] = (struct word){(uint16_t)param, (uint16_t)at};
        }
    }
    return 0;
}

/* Puts a layout into the table. The one that was there before stays: somebody may be reading
 * it; and it is used on where it is the same. */
static void keep(struct layout *layout)
{
    const unsigned now = atomic_load(&layout->generation);
    record_lock(&lock);
    struct table *table = with_room();
    _Atomic(struct layout *) *place =
        table != NULL ? &table->places[place_of(table, layout->symbol)] : NULL;
    struct layout *old = place != NULL ? atomic_load(place) : NULL;
    if (old != NULL && old->known == layout->known && old->count == layout->count &&
        memcmp(old->words, layout->words, layout->count * sizeof layout->words[0]) == 0) {
        atomic_store(&old->generation, now);
    } else if (place != NULL) {
        table->used += old == NULL;
        atomic_store_explicit(place, layout, memory_order_release);
        layout = NULL;
    }
    record_unlock(&lock);
    free(layout);
}

void layout_learn(const void *symbol, CUfunction function)
{
    struct layout *layout = malloc(sizeof *layout + WORDS_MOST * sizeof(struct word));
    if (layout == NULL)
        return;
    atomic_init(&layout->generation, atomic_load(&generation));
    layout->symbol = symbol;
    layout->count = fill(function, layout->words, &layout->known);
    struct layout *shorter =
        realloc(layout, sizeof *layout + layout->count * sizeof(struct word));
    keep(shorter != NULL ? shorter : layout);
}

bool layout_is_known(const void *symbol)
{
    return find(symbol) != NULL;
}

void layout_forget_all(void)
{
    atomic_fetch_add(&generation, 1);
}

uint32_t layout_words(const void *symbol, void *const *arguments,
                      uint64_t words[ENTRY_WORDS_MAX])
{
    const struct layout *layout = find(symbol);
    uint32_t count = 0;
    if (layout == NULL || !layout->known || (arguments == NULL && layout->count > 0))
        return ENTRY_NO_WORDS;
    const struct span span = tables_addresses();
    for (uint32_t i = 0; i < layout->count; i++) {
        uint64_t word;
        memcpy(&word, (const char *)arguments[layout->words[i].param] + layout->words[i].offset,
               sizeof word);
        if (word < span.begin || word >= span.end)
            continue;
        if (count == ENTRY_WORDS_MAX)
            return ENTRY_NO_WORDS; /* some are no better than none: they would be taken for all
                                    */
        words[count++] = word;
    }
    return count;
}
