/* fields.h - the keys of machine files: what may stand there, and what stands in for one. */
#ifndef PIPELINE_MACHINE_FIELDS_H
#define PIPELINE_MACHINE_FIELDS_H

#include "machine/machine.h"

#include <stdbool.h>
#include <stddef.h>

enum field_type {
    FIELD_TEXT,
    FIELD_WORD, /* an int, for which files have one of some words */
    FIELD_INT,
    FIELD_U32,
    FIELD_U64,
    FIELD_NS,
    FIELD_REAL
};

/* A key: where its value goes, what is allowed, and what stands in where a file lacks it. */
struct machine_field {
    const char *section, *key;
    enum field_type type;
    size_t offset; /* of the value in its record */
    double least, most;
    bool required; /* a file without it is refused */
    /* A file without the key means `otherwise`, or that many times the value of the key `like`,
     * which stands further up in the table. A text is then empty. */
    double otherwise;
    const char *like;
    bool zero_unknown;        /* 0 is allowed as well, and means "not known" */
    const char *const *words; /* of a FIELD_WORD: what files have for 0, 1, ..., `most` */
};

/* The fields of struct machine, in the order of files, section by section; and those of struct
 * machine_kernel. Both tables end with a row without a key. */
enum { MACHINE_FIELDS_MAX = 120 }; /* rows of the first table */
extern const struct machine_field machine_fields[];
extern const struct machine_field machine_kernel_fields[];

/* Returns the row for `key`, or NULL. */
const struct machine_field *machine_field_find(const struct machine_field *fields,
                                               const char *key);

/* Puts a number into the field's place in `record`, rounded where the field is whole; and reads
 * it from there. A text is left alone, and reads as NaN. */
void machine_field_put(const struct machine_field *field, void *record, double number);
double machine_field_get(const struct machine_field *field, const void *record);

/* Gives the field the value that a file without it means. Those that it is like must have their
 * values already. */
void machine_field_default(const struct machine_field *field, struct machine *machine);

#endif
