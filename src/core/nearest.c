/* nearest.c - edit distance, and the name with the least of it. */
#include "core/nearest.h"

#include <string.h>

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
            size_t changed = diagonal + (one[i] != other[j]);
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
    size_t distance = edit_distance(nearest->wanted, name);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = name;
    }
}
