/* file.c - reads the text of machine files, and knows those that are part of the program. */
#include "core/escape.h"
#include "core/ini_text.h"
#include "core/names.h"
#include "machine/fields.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A machine file that is being read. */
struct machine_reader {
    struct ini_text ini;
    const char *where; /* what errors call the file */
    struct machine *machine;
    int seen_at[MACHINE_FIELDS_MAX]; /* the line of each key; 0: not given */
    struct error *error;
};

/* Sets the error to "WHERE:LINE: COMPLAINT". */
__attribute__((format(printf, 3, 4))) static enum status
complain(const struct machine_reader *reader, int line, const char *format, ...)
{
    char complaint[512];
    PRINT_REST(complaint, sizeof complaint, format);
    return error_set(reader->error, STATUS_USAGE, "%s:%d: %s", reader->where, line, complaint);
}

/* Reports show texts as they are, so that nothing may be in one that a terminal obeys. */
static enum status text_set(const struct machine_reader *reader,
                            const struct machine_field *field, struct machine *machine,
                            const char *value)
{
    int line = reader->ini.line;
    if (strlen(value) >= MACHINE_TEXT)
        return complain(reader, line, "%s is longer than %d characters", field->key,
                        MACHINE_TEXT - 1);
    char shown[6 * MACHINE_TEXT];
    if (strcmp(escape_text(shown, sizeof shown, value), value) != 0)
        return complain(reader, line, "%s=%.60s holds a control character, or is no UTF-8",
                        field->key, value);
    strcpy((char *)machine + field->offset, value);
    return STATUS_OK;
}

static enum status number_set(const struct machine_reader *reader,
                              const struct machine_field *field, void *record,
                              const char *value)
{
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    bool whole = field->type == FIELD_REAL || number == floor(number);
    bool unknown = number == 0 && field->zero_unknown;
    if (end == value || *end != '\0' || errno != 0 || !whole ||
        !(number >= field->least || unknown) || !(number <= field->most))
        return complain(
            reader, reader->ini.line, "%s=%.60s: must be %s%.15g to %.15g", field->key, value,
            field->type == FIELD_REAL ? "" : "whole numbers from ", field->least, field->most);
    machine_field_put(field, record, number);
    return STATUS_OK;
}

/* Puts the number of the word that `value` is. */
static enum status word_set(const struct machine_reader *reader,
                            const struct machine_field *field, void *record, const char *value)
{
    char words[MACHINE_TEXT] = "";
    for (int i = 0; i <= (int)field->most; i++) {
        if (strcmp(value, field->words[i]) == 0) {
            machine_field_put(field, record, i);
            return STATUS_OK;
        }
        text_add(words, sizeof words, ", ", "%s", field->words[i]);
    }
    return complain(reader, reader->ini.line, "%s=%.60s: must be %s", field->key, value, words);
}

/* Refuses a name that no section of that kind may have. Kernels of users' own have sections of
 * another kind, so that a misspelt [kernel NAME] is found out. */
static enum status name_check(const struct machine_reader *reader, const char *kind,
                              const char *name)
{
    const int line = reader->ini.line;
    const bool known = kernel_find(name) != NULL;
    if (strcmp(kind, "own") != 0)
        return known ? STATUS_OK
                     : complain(reader, line,
                                "[kernel %s]: there is no such kernel (one of your own has a "
                                "section [own NAME])",
                                name);
    if (known)
        return complain(reader, line,
                        "[own %s]: this is no kernel of your own: its section is [kernel %s]",
                        name, name);
    if (!kernel_is_name(name))
        return complain(reader, line, "[own %s]: a name is 1 to 31 letters, digits, - and _",
                        name);
    return STATUS_OK;
}

/* Finds the row for a [kernel NAME] or [own NAME] section, and makes it at its first key. */
static enum status kernel_row(const struct machine_reader *reader, const char *kind,
                              const char *name, struct machine_kernel **row)
{
    const enum status status = name_check(reader, kind, name);
    if (status != STATUS_OK)
        return status;
    struct machine *machine = reader->machine;
    *row = (struct machine_kernel *)machine_kernel_find(machine, name);
    if (*row != NULL)
        return STATUS_OK;
    if (machine->kernel_count == MACHINE_KERNELS_MAX)
        return complain(reader, reader->ini.line, "[%s %s]: too many kernels", kind, name);
    *row = &machine->kernels[machine->kernel_count++];
    snprintf((*row)->name, sizeof(*row)->name, "%s", name);
    return STATUS_OK;
}

static enum status kernel_key(const struct machine_reader *reader, const char *kind,
                              const char *name)
{
    const struct ini_text *ini = &reader->ini;
    struct machine_kernel *row;
    enum status status = kernel_row(reader, kind, name, &row);
    if (status != STATUS_OK)
        return status;
    const struct machine_field *field = machine_field_find(machine_kernel_fields, ini->key);
    if (field == NULL)
        return complain(reader, ini->line, "%s is no key of [%s %s]", ini->key, kind, name);
    return number_set(reader, field, row, ini->value);
}

static bool is_format_key(const struct ini_text *ini)
{
    return strcmp(ini->section, "machine") == 0 && strcmp(ini->key, "format") == 0;
}

static enum status machine_key(struct machine_reader *reader)
{
    const struct ini_text *ini = &reader->ini;
    if (strncmp(ini->section, "kernel ", 7) == 0)
        return kernel_key(reader, "kernel", ini->section + 7);
    if (strncmp(ini->section, "own ", 4) == 0)
        return kernel_key(reader, "own", ini->section + 4);
    if (is_format_key(ini)) /* format_check() has seen to it */
        return STATUS_OK;
    const struct machine_field *field = machine_field_find(machine_fields, ini->key);
    if (field == NULL || strcmp(field->section, ini->section) != 0)
        return complain(reader, ini->line, "%s is no key of [%s]", ini->key, ini->section);
    int *seen_at = &reader->seen_at[field - machine_fields];
    if (*seen_at != 0)
        return complain(reader, ini->line, "%s is given twice in [%s]", ini->key, ini->section);
    *seen_at = ini->line;
    return field->type == FIELD_TEXT   ? text_set(reader, field, reader->machine, ini->value)
           : field->type == FIELD_WORD ? word_set(reader, field, reader->machine, ini->value)
                                       : number_set(reader, field, reader->machine, ini->value);
}

/* Refuses a file of a newer format, whatever else is in it, so that the complaint is not about
 * a key that only the newer program knows. A file that names no format is of the first. */
static enum status format_check(struct machine_reader *reader)
{
    static const struct machine_field format = {
        .key = "format", .type = FIELD_INT, .least = 1, .most = 1e6};
    struct ini_text *ini = &reader->ini;
    for (enum ini_part part; (part = ini_text_next(ini)) != INI_END;) {
        if (part != INI_KEY || !is_format_key(ini))
            continue;
        int version = 0;
        enum status status = number_set(reader, &format, &version, ini->value);
        if (status == STATUS_OK && version > MACHINE_FORMAT)
            status = complain(reader, ini->line,
                              "the file is of format %d, and this program reads machine files "
                              "up to format %d",
                              version, MACHINE_FORMAT);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status keys_read(struct machine_reader *reader)
{
    const struct ini_text *ini = &reader->ini;
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        switch (ini_text_next(&reader->ini)) {
        case INI_END:
            return STATUS_OK;
        case INI_SECTION:
            break;
        case INI_KEY:
            status = machine_key(reader);
            break;
        case INI_TOO_LONG:
            return complain(reader, ini->line, "the line is longer than %d characters",
                            INI_LINE_MAX);
        case INI_NEITHER:
            return complain(reader, ini->line, "is neither [section] nor key = value");
        }
    }
    return status;
}

static enum status missing_settle(const struct machine_reader *reader)
{
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        if (reader->seen_at[field - machine_fields] != 0)
            continue;
        if (field->required)
            return complain(reader, reader->ini.line > 0 ? reader->ini.line : 1,
                            "%s is missing from [%s]", field->key, field->section);
        if (field->type != FIELD_TEXT)
            machine_field_default(field, reader->machine);
    }
    return STATUS_OK;
}

/* Returns the line of `key`, or that of `other`, which does not go with it, where the file
 * leaves `key` out. */
static int line_of(const struct machine_reader *reader, const char *key, const char *other)
{
    int line = reader->seen_at[machine_field_find(machine_fields, key) - machine_fields];
    return line != 0 || other == NULL ? line : line_of(reader, other, NULL);
}

/* Returns false if the architecture's name tells of another compute capability: "sm_90" is 9.0.
 * Names of another form tell of none. */
static bool architecture_fits(const struct machine *machine)
{
    char *end = NULL;
    if (strncmp(machine->architecture, "sm_", 3) != 0)
        return true;
    long number = strtol(machine->architecture + 3, &end, 10);
    return *end != '\0' || number == machine_capability(machine);
}

/* Refuses figures that contradict each other. */
static enum status rates_check(const struct machine_reader *reader)
{
    const struct machine *machine = reader->machine;
    double fastest = fmax(machine->h2d_bytes_per_s, machine->d2h_bytes_per_s);
    if (machine->joint_bytes_per_s < fastest)
        return complain(reader, line_of(reader, "joint_bytes_per_s", NULL),
                        "joint_bytes_per_s=%g is below one direction alone (%g)",
                        machine->joint_bytes_per_s, fastest);
    if (machine->pageable_h2d_bytes_per_s > machine->h2d_bytes_per_s)
        return complain(reader, line_of(reader, "pageable_h2d_bytes_per_s", NULL),
                        "pageable_h2d_bytes_per_s=%g is above h2d_bytes_per_s=%g",
                        machine->pageable_h2d_bytes_per_s, machine->h2d_bytes_per_s);
    if (machine->pageable_d2h_bytes_per_s > machine->d2h_bytes_per_s)
        return complain(reader, line_of(reader, "pageable_d2h_bytes_per_s", NULL),
                        "pageable_d2h_bytes_per_s=%g is above d2h_bytes_per_s=%g",
                        machine->pageable_d2h_bytes_per_s, machine->d2h_bytes_per_s);
    return STATUS_OK;
}

static enum status figures_check(const struct machine_reader *reader)
{
    const struct machine *machine = reader->machine;
    if (!architecture_fits(machine))
        return complain(reader, line_of(reader, "compute_capability", NULL),
                        "compute_capability=%g does not go with architecture=%s",
                        machine->compute_capability, machine->architecture);
    if (machine->queues > machine->queues_max)
        return complain(reader, line_of(reader, "queues", "queues_max"),
                        "queues=%u is above queues_max=%u", machine->queues,
                        machine->queues_max);
    if (machine->priority_greatest > machine->priority_least)
        return complain(
            reader, line_of(reader, "priority_greatest", "priority_least"),
            "priority_greatest=%d is above priority_least=%d (lower is more urgent)",
            machine->priority_greatest, machine->priority_least);
    return rates_check(reader);
}

enum status machine_parse(struct machine *machine, const char *text, const char *where,
                          struct error *error)
{
    struct machine read = {0};
    struct error local = {0};
    struct machine_reader reader = {.where = where, .machine = &read, .error = &local};
    ini_text_begin(&reader.ini, text);
    enum status status = format_check(&reader);
    ini_text_begin(&reader.ini, text);
    if (status == STATUS_OK)
        status = keys_read(&reader);
    if (status == STATUS_OK)
        status = missing_settle(&reader);
    if (status == STATUS_OK)
        status = figures_check(&reader);
    if (status != STATUS_OK)
        return error_pass(error, &local);
    *machine = read;
    return STATUS_OK;
}

const char *machine_nearest(const char *name)
{
    struct nearest nearest = nearest_begin(name);
    for (const struct embedded *text = machine_texts; text->name != NULL; text++)
        nearest_offer(&nearest, text->name);
    return nearest.best;
}

bool machine_is_path(const char *name)
{
    const size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 4 && strcmp(name + length - 4, ".ini") == 0);
}

enum status machine_built_in(struct machine *machine, const char *name, struct error *error)
{
    const char *text = embedded_find(machine_texts, name);
    const char *nearest = text == NULL ? machine_nearest(name) : NULL;
    if (nearest != NULL)
        return error_set(error, STATUS_USAGE,
                         "there is no machine '%s': did you mean %s? (see `pipeline list "
                         "machines`)",
                         name, nearest);
    if (text == NULL)
        return error_set(error, STATUS_USAGE,
                         "there is no machine '%s': see `pipeline list "
                         "machines`, or a path to a machine file (./mine.ini)",
                         name);
    enum status status = machine_parse(machine, text, name, error);
    if (status == STATUS_OK)
        snprintf(machine->name, sizeof machine->name, "%s", name);
    return status;
}
