/* device.c - takes the values of --device apart. */
#include "plan/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 4 }; /* digits of a device's number */

const struct device_row device_rows[] = {
#define DEVICE(id, shown, otherwise, ...)                                                      \
    {.name = #id, .fallback = otherwise, .whole = #id ":" otherwise, __VA_ARGS__},
#include "plan/devices.def"
#undef DEVICE
    {.name = NULL},
};

const struct device_row *device_find(const char *value)
{
    const size_t length = strcspn(value, ":");
    for (const struct device_row *row = device_rows; row->name != NULL; row++) {
        if (strlen(row->name) == length && memcmp(row->name, value, length) == 0)
            return row;
    }
    return NULL;
}

const char *device_argument(const char *value)
{
    const char *colon = strchr(value, ':');
    return colon != NULL ? colon + 1 : "";
}

/* Returns the "*N" that ends the argument of a simulated device; NULL: there is none. Any other
 * '*' is a part of a file's name. */
static const char *times_of(const char *argument)
{
    const char *star = strrchr(argument, '*');
    const bool digits = star != NULL && star[1] != '\0';
    return digits && star[1 + strspn(star + 1, "0123456789")] == '\0' ? star : NULL;
}

size_t device_argument_length(const char *argument)
{
    const char *times = times_of(argument);
    return times != NULL ? (size_t)(times - argument) : strlen(argument);
}

uint32_t device_count(const char *value)
{
    const char *times = device_is_real(value) ? NULL : times_of(device_argument(value));
    if (times == NULL)
        return 1;
    const unsigned long long count = strtoull(times + 1, NULL, 10);
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

bool device_is_valid(const char *value)
{
    const struct device_row *row = device_find(value);
    if (row == NULL)
        return strcmp(value, "auto") == 0;
    const char *argument = device_argument(value);
    const size_t length = strlen(argument);
    if (strchr(value, ':') == NULL)
        return true;
    if (!row->numbered)
        return device_argument_length(argument) > 0 && device_count(value) > 0;
    return length > 0 && length <= DIGITS_MAX && strspn(argument, "0123456789") == length;
}

bool device_is_real(const char *value)
{
    const struct device_row *row = device_find(value);
    return row != NULL && row->real;
}

char *device_allowed(char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "auto");
    for (const struct device_row *row = device_rows; row->name != NULL; row++) {
        if (length < size)
            length += (size_t)snprintf(text + length, size - length, ", %s", row->allowed);
    }
    return text;
}
