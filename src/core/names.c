/* names.c - names that were met before, and the known one with the least edit distance. */
#include "core/names.h"

#include "core/compare.h"
#include "core/items.h"

#include <ctype.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct names_item *x = a, *y = b;
    return x->length == y->length ? memcmp(x->text, y->text, x->length)
                                  : COMPARE(x->length, y->length);
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

/* --- misspelt names --- */

/* Longer words are nobody's misspelling. */
enum { WORD_MAX = 40 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* row[j] is the distance from what was read of `one` to the first j letters of `other`. */
static size_t edit_distance(const char *one, const char *other)
{
    size_t length = strlen(other), row[WORD_MAX + 1];
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; one[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t changed =
                diagonal + (tolower((unsigned char)one[i]) != tolower((unsigned char)other[j]));
            diagonal = row[j + 1];
            row[j + 1] = smallest(changed, row[j] + 1, row[j + 1] + 1);
        }
    }
    return row[length];
}

struct nearest nearest_begin(const char *wanted)
{
    enum { TOO_FAR = 4 };
    size_t length = strlen(wanted);
    size_t distance =
        smallest(length / 3 + 2, TOO_FAR, length); /* at `length` nothing of it is left */
    return (struct nearest){.wanted = wanted, .distance = length > WORD_MAX ? 0 : distance};
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    if (nearest->distance == 0 || strlen(name) > WORD_MAX)
        return;
    const char *part = strstr(name, nearest->wanted);
    const char *behind = part != NULL ? part + strlen(nearest->wanted) : NULL;
    const bool word = part != NULL && (part == name || part[-1] == '-') &&
                      (*behind == '\0' || *behind == '-');
    size_t distance = word ? 0 : edit_distance(nearest->wanted, name);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = name;
    }
}
