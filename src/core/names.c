/* names.c - what was met before, numbered. */
#include "core/names.h"

#include "core/items.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct names_item *x = a, *y = b;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return memcmp(x->text, y->text, x->length);
}

/* Keeps a copy of a key that is new. NULL: no memory. */
static const struct names_item *add(struct names *names, const struct names_item *key)
{
    struct names_item *name = ITEMS_ROOM(names->items, names->count, names->capacity)
                                  ? malloc(sizeof *name + key->length + 1)
                                  : NULL;
    if (name == NULL)
        return NULL;
    char *text = (char *)(name + 1);
    memcpy(text, key->text, key->length);
    text[key->length] = '\0';
    *name = (struct names_item){text, key->length, (uint32_t)names->count};
    if (tsearch(name, &names->tree, compare) == NULL) {
        free(name);
        return NULL;
    }
    return names->items[names->count++] = name;
}

const struct names_item *names_find(const struct names *names, const void *key, size_t length)
{
    const struct names_item wanted = {.text = key, .length = length};
    const struct names_item **found = tfind(&wanted, &names->tree, compare);
    return found != NULL ? *found : NULL;
}

bool names_number(struct names *names, const void *key, size_t length, uint32_t *number)
{
    const struct names_item wanted = {.text = key, .length = length};
    if (names->last == NULL || compare(names->last, &wanted) != 0) {
        const struct names_item *name = names_find(names, key, length);
        if (name == NULL)
            name = add(names, &wanted);
        if (name == NULL)
            return false;
        names->last = name;
    }
    *number = names->last->number;
    return true;
}

void names_free(struct names *names)
{
    tdestroy(names->tree, free);
    free(names->items);
    *names = (struct names){0};
}
