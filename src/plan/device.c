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

bool device_is_all(const char *value)
{
    const struct device_row *row = device_find(value);
    return row != NULL && row->numbered && strcmp(device_argument(value), "all") == 0;
}

/* Returns how many items a list has: one more than commas. */
static uint32_t items_of(const char *list)
{
    uint32_t items = 1;
    for (; *list != '\0'; list++)
        items += *list == ',';
    return items;
}

uint32_t device_count(const char *value)
{
    const struct device_row *row = device_find(value);
    const char *argument = device_argument(value);
    if (device_is_all(value))
        return 0;
    if (row != NULL && row->numbered)
        return items_of(argument);
    const char *times = times_of(argument);
    if (times == NULL)
        return 1;
    const unsigned long long count = strtoull(times + 1, NULL, 10);
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static const char UNKNOWN[] = "is unknown";

/* Reads a list of numbers. Returns what is wrong with it, or NULL. */
static const char *read_numbers(const char *list, int numbers[MACHINE_DEVICES_MAX],
                                uint32_t *count)
{
    const bool several = strchr(list, ',') != NULL;
    for (*count = 0;; list++) {
        const size_t length = strspn(list, "0123456789"), item = strcspn(list, ",");
        if (item == 0 && several)
            return "has an empty item";
        if (length == 0 || length != item || length > DIGITS_MAX)
            return UNKNOWN;
        const int number = atoi(list);
        for (uint32_t i = 0; i < *count; i++) {
            if (numbers[i] == number)
                return "names a device twice";
        }
        if (*count == MACHINE_DEVICES_MAX)
            return "names more devices than a run can have";
        numbers[(*count)++] = number;
        list += item;
        if (*list == '\0')
            return NULL;
    }
}

uint32_t device_numbers(const char *argument, int numbers[MACHINE_DEVICES_MAX])
{
    uint32_t count;
    return read_numbers(argument, numbers, &count) == NULL ? count : 0;
}

const char *device_complaint(const char *value)
{
    const struct device_row *row = device_find(value);
    const char *argument = device_argument(value);
    int numbers[MACHINE_DEVICES_MAX];
    uint32_t count;
    if (row == NULL)
        return strcmp(value, "auto") == 0 ? NULL : UNKNOWN;
    if (strchr(value, ':') == NULL || device_is_all(value))
        return NULL;
    if (row->numbered)
        return read_numbers(argument, numbers, &count);
    const bool named = device_argument_length(argument) > 0 && device_count(value) > 0;
    return named ? NULL : UNKNOWN;
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
