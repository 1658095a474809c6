/* fields.h - the keys of machine files: private to what reads and writes them. */
#ifndef PIPELINE_MACHINE_FIELDS_H
#define PIPELINE_MACHINE_FIELDS_H

#include "machine/machine.h"

#include <stdbool.h>
#include <stddef.h>

enum field_type { FIELD_TEXT, FIELD_INT, FIELD_U32, FIELD_U64, FIELD_NS, FIELD_REAL };

/* A key: where it goes and what is allowed. */
struct field {
    const char *section, *key;
    enum field_type type;
    size_t offset;
    double least, most;
    bool required;
};

/* Of struct machine, in the order of files, section by section; and of struct machine_kernel.
 * Both end with a row without a key. */
extern const struct field machine_fields[];
extern const struct field machine_kernel_fields[];

/* The row for `key`, or NULL. */
const struct field *machine_field_find(const struct field *fields, const char *key);

/* Puts a number into the field's place in `record`, rounded where the field is whole; and reads
 * it from there. Not for texts. */
void machine_field_put(const struct field *field, void *record, double number);
double machine_field_get(const struct field *field, const void *record);

#endif
