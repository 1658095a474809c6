/* fuzz_machine_figure.c - changes one figure of a machine file, so that it is still such a
 * file.
 */
#include "fuzz.h"

#include <string.h>

/* These are limits of the reader's table, figures beyond them, and odd ones. */
static const char *const figures[FUZZ_FIGURES] = {
    "0",     "1",     "2",     "3",     "1e6",   "1e9", "1e12", "1e15",
    "1e18",  "256",   "1024",  "65536", "0.001", "0.5", "-1",   "1000",
    "-1000", "999.5", "1e300", "1e-9",  "2.0",   "3.4", "nan",  "\t\x1b[31m",
};

/* Returns the value behind the first '=' from `from` on, up to a comment or the line's end. */
static uint8_t *find_value(uint8_t *data, size_t size, size_t from, size_t *length)
{
    uint8_t *equals = from < size ? memchr(data + from, '=', size - from) : NULL;
    if (equals == NULL)
        return NULL;
    uint8_t *value = equals + 1;
    const uint8_t *end = data + size;
    *length = 0;
    while (value + *length < end && value[*length] != '\n' && value[*length] != ';')
        ++*length;
    while (*length > 0 && value[*length - 1] == ' ') /* a comment stands behind a blank */
        --*length;
    return value;
}

size_t fuzz_machine_figure(uint8_t *data, size_t size, size_t most, size_t from, size_t which)
{
    size_t length;
    uint8_t *value = find_value(data, size, from, &length);
    const char *figure = figures[which % FUZZ_FIGURES];
    size_t wanted = strlen(figure);
    if (value == NULL || size - length + wanted > most)
        return 0;
    memmove(value + wanted, value + length, (size_t)(data + size - value) - length);
    memcpy(value, figure, wanted);
    return size - length + wanted;
}
