/* device.h - the values that --device can have: "auto", or the name of a device and, behind a
 * colon, its argument, which may name several: "sim:h200*4", "cuda:0,1", "cuda:all". */
#ifndef PIPELINE_PLAN_DEVICE_H
#define PIPELINE_PLAN_DEVICE_H

#include "machine/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_row {
    const char *name;     /* the part before the colon */
    const char *allowed;  /* the values that are allowed, for messages */
    const char *fallback; /* the argument where none is given */
    const char *whole;    /* the value with that argument: "sim:h200" */
    bool numbered;        /* the argument is numbers, or "all"; otherwise a name or a file */
    bool real;            /* its times are measured; otherwise simulated */
};

/* All devices, ended by a row without a name. */
extern const struct device_row device_rows[];

/* Returns the row of the device that a value names; NULL for "auto" and unknown names. */
const struct device_row *device_find(const char *value);

/* Returns the part of a value behind the colon; "" where there is no colon. */
const char *device_argument(const char *value);

/* Returns how many devices a value names: N of "sim:NAME*N", the numbers of "cuda:0,1", else 1.
 * A value may name 0, or more than there are; of "cuda:all", which is 0, nobody knows yet. */
uint32_t device_count(const char *value);

/* Returns true if a value names all devices of its kind, whose number its backend finds out. */
bool device_is_all(const char *value);

/* Reads the numbers of a list such as "0" or "2,0" in their order. Returns how many there are;
 * 0 where it is no such list, names one of them twice, or more than MACHINE_DEVICES_MAX. */
uint32_t device_numbers(const char *argument, int numbers[MACHINE_DEVICES_MAX]);

/* Returns the length of such a device's argument, without what says how many. */
size_t device_argument_length(const char *argument);

/* Returns what is wrong with the form of a value, as in "names a device twice"; NULL where
 * nothing is. Its backend finds out whether there is such a device. */
const char *device_complaint(const char *value);

/* Returns true if a value names a device whose times are measured. "auto" names none. */
bool device_is_real(const char *value);

/* Writes the values that are allowed, "auto, sim:NAME, ...", to a text of `size` bytes, and
 * returns it. */
char *device_allowed(char *text, size_t size);

#endif
