/* device.h - the values that --device can have: "auto", or the name of a device and, behind a
 * colon, its argument. */
#ifndef PIPELINE_PLAN_DEVICE_H
#define PIPELINE_PLAN_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_row {
    const char *name;     /* the part before the colon */
    const char *allowed;  /* the values that are allowed, for messages */
    const char *fallback; /* the argument where none is given */
    const char *whole;    /* the value with that argument: "sim:h200" */
    bool numbered;        /* the argument is a number; otherwise a name or a file */
    bool real;            /* its times are measured; otherwise simulated */
};

/* All devices, ended by a row without a name. */
extern const struct device_row device_rows[];

/* Returns the row of the device that a value names; NULL for "auto" and unknown names. */
const struct device_row *device_find(const char *value);

/* Returns the part of a value behind the colon; "" where there is no colon. */
const char *device_argument(const char *value);

/* Returns how many devices a value names: N of "sim:NAME*N", else 1. A value may name 0, or
 * more than there are. */
uint32_t device_count(const char *value);

/* Returns the length of such a device's argument, without what says how many. */
size_t device_argument_length(const char *argument);

/* Returns true if a value has the form that it should have; its backend finds out whether there
 * is such a device. */
bool device_is_valid(const char *value);

/* Returns true if a value names a device whose times are measured. "auto" names none. */
bool device_is_real(const char *value);

/* Writes the values that are allowed, "auto, sim:NAME, ...", to a text of `size` bytes, and
 * returns it. */
char *device_allowed(char *text, size_t size);

#endif
