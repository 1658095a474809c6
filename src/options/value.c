/* value.c - reads an option's value into its field, and shows the field as text. */
#include "options/table.h"
#include "plan/device.h"
#include "plan/mistake.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PRIORITY_LIMIT = 100 };

enum units_result option_read_number(const struct option_row *row, const char *text,
                                     uint64_t *number)
{
    if (!row->suffixes && text[strspn(text, "-.0123456789")] != '\0')
        return UNITS_NOT_A_NUMBER;
    /* A run counts elements and tiles; what counts bytes is the recorder's alone. */
    const size_t last = strlen(text);
    if (row->scope == SCOPE_RUN && last > 1 && strchr("bB", text[last - 1]) != NULL &&
        strchr("0123456789kKMGTi", text[last - 2]) != NULL)
        return UNITS_IN_BYTES;
    return units_read_count(text, number);
}

static enum status set_number(const struct assignment *given, void *field, struct error *error)
{
    const struct option_row *row = given->row;
    uint64_t number = 0;
    bool automatic = row->automatic && strcmp(given->text, "auto") == 0;
    enum units_result result =
        automatic ? UNITS_OK : option_read_number(row, given->text, &number);
    if (result != UNITS_OK)
        return assignment_refuse(given, units_complaint(result), error);
    if (number < row->least && !automatic)
        return assignment_refuse(given, "is too small", error);
    if (number > row->most)
        return assignment_refuse(given, "is too large", error);
    if (row->size == sizeof number) {
        memcpy(field, &number, sizeof number);
    } else {
        uint32_t small = (uint32_t)number; /* the row's limit fits its field */
        memcpy(field, &small, sizeof small);
    }
    return STATUS_OK;
}

static enum status set_share(const struct assignment *given, double *field, struct error *error)
{
    double share = -1; /* auto */
    if (strcmp(given->text, "auto") != 0) {
        enum units_result result = units_read_real(given->text, &share);
        if (result != UNITS_OK)
            return assignment_refuse(given, units_complaint(result), error);
        if (given->text[0] == '-')
            return assignment_refuse(given, "is negative", error);
        if (share > 1)
            return assignment_refuse(given, "is too large", error);
    }
    *field = share;
    return STATUS_OK;
}

static enum status set_choice(const struct assignment *given, void *field, struct error *error)
{
    for (unsigned i = 0; given->row->choices[i] != NULL; i++) {
        if (strcmp(given->row->choices[i], given->text) == 0) {
            memcpy(field, &i, sizeof i);
            return STATUS_OK;
        }
    }
    return assignment_refuse(given, "is unknown", error);
}

static enum status set_flag(const struct assignment *given, bool *field, struct error *error)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i], given->text) != 0)
            continue;
        *field = i % 2 == 1;
        return STATUS_OK;
    }
    return assignment_refuse(given, "is neither yes nor no", error);
}

/* --- lists and names --- */

static bool read_priority(const char *word, int *priority)
{
    char *end;
    if (word[0] != '-' && !isdigit((unsigned char)word[0]))
        return false;
    long value = strtol(word, &end, 10);
    if (end == word || *end != '\0' || value < -PRIORITY_LIMIT || value > PRIORITY_LIMIT)
        return false;
    *priority = (int)value;
    return true;
}

static enum status read_priorities(const struct assignment *given, char *list,
                                   struct settings *settings, struct error *error)
{
    int priorities[PRIORITIES_MAX] = {0}, count = 0;
    for (char *word; (word = list_next(&list)) != NULL; count++) {
        if (count == PRIORITIES_MAX)
            return assignment_refuse(given, "has too many priorities", error);
        if (!read_priority(word, &priorities[count]))
            return assignment_refuse(given, "is not a list of priorities", error);
    }
    memcpy(settings->priorities, priorities, (size_t)count * sizeof priorities[0]);
    settings->priority_count = count;
    return STATUS_OK;
}

/* Sets a field that is a list of names or numbers. The list is cut up in a copy. */
static enum status set_list(const struct assignment *given, struct settings *settings,
                            struct error *error)
{
    if (given->row->type == TYPE_PRIORITIES && strcmp(given->text, "none") == 0) {
        settings->priority_count = 0;
        return STATUS_OK;
    }
    char *copy = strdup(given->text);
    if (copy == NULL)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    enum status status = given->row->type == TYPE_CHAIN
                             ? chain_read(given, copy, settings, error)
                             : read_priorities(given, copy, settings, error);
    free(copy);
    return status;
}

static enum status set_mistake(const struct assignment *given, int *field, struct error *error)
{
    if (mistake_find(given->text, field))
        return STATUS_OK;
    char label[LABEL_MAX], allowed[LABEL_MAX];
    return refuse_unknown(
        error, mistake_nearest(given->text), " (see `pipeline list mistakes`)",
        option_allowed(given->row, allowed), "%s is unknown", assignment_label(given, label));
}

static enum status set_device(const struct assignment *given, const char **field,
                              struct error *error)
{
    const char *complaint = device_complaint(given->text);
    if (complaint != NULL) {
        char label[LABEL_MAX], allowed[LABEL_MAX], text[LABEL_MAX];
        const char *nearest = machine_nearest(given->text);
        snprintf(text, sizeof text, "sim:%s", nearest != NULL ? nearest : "");
        return refuse_unknown(error, nearest != NULL ? text : NULL,
                              " (see `pipeline list machines`)",
                              option_allowed(given->row, allowed), "%s %s",
                              assignment_label(given, label), complaint);
    }
    const struct device_row *row = device_find(given->text);
    bool alone = row != NULL && !row->real && strcmp(given->text, row->name) == 0;
    *field = alone ? row->whole : given->text;
    return STATUS_OK;
}

static enum status set_text(const struct assignment *given, const char **field,
                            struct error *error)
{
    if (given->text[0] == '\0')
        return assignment_refuse(given, "is empty", error);
    *field = given->text;
    return STATUS_OK;
}

/* A name, NAME:N or N. */
static enum status set_name(const struct assignment *given, const char **field,
                            struct error *error)
{
    const char *colon = strrchr(given->text, ':');
    const char *number = colon != NULL && colon > given->text ? colon + 1 : given->text;
    if (number[0] != '\0' && number[strspn(number, "0")] == '\0')
        return assignment_refuse(
            given, "counts from 0, and launches, ranges and passes count from 1", error);
    return set_text(given, field, error);
}

static enum status add_file(const struct assignment *given, struct options *options,
                            struct error *error)
{
    char label[LABEL_MAX];
    if (options->timeline_count == TIMELINE_FILES_MAX)
        return error_set(error, STATUS_USAGE, "%s is one too many: at most %d",
                         assignment_label(given, label), TIMELINE_FILES_MAX);
    enum status status = set_text(given, &options->timelines[options->timeline_count], error);
    options->timeline_count += status == STATUS_OK;
    return status;
}

enum status options_set(const struct assignment *given, void *target, struct error *error)
{
    const struct option_row *row = given->row;
    void *field = (char *)target + row->offset;
    switch (row->type) {
    case TYPE_NUMBER:
        return set_number(given, field, error);
    case TYPE_SHARE:
        return set_share(given, field, error);
    case TYPE_CHOICE:
        return set_choice(given, field, error);
    case TYPE_FLAG:
        return set_flag(given, field, error);
    case TYPE_TALLY:
        ++*(int *)field;
        return STATUS_OK;
    case TYPE_CHAIN:
    case TYPE_PRIORITIES:
        return set_list(given, target, error);
    case TYPE_MISTAKE:
        return set_mistake(given, field, error);
    case TYPE_DEVICE:
        return set_device(given, field, error);
    case TYPE_FILE:
        return set_text(given, field, error);
    case TYPE_NAME:
        return set_name(given, field, error);
    case TYPE_FILES:
        return add_file(given, target, error);
    case TYPE_WINDOW:
        return part_set_window(given, target, error);
    case TYPE_STREAMS:
        return part_set_streams(given, target, error);
    case TYPE_FAIL_ABOVE:
        return part_add_fail_above(given, target, error);
    case TYPE_COMMAND:
    case TYPE_SWEEP:
        break;
    }
    return STATUS_OK;
}

static const char *show_chain(const struct settings *settings, char text[OPTION_TEXT])
{
    text[0] = '\0';
    for (int i = 0; i < settings->chain_length; i++)
        text_add(text, LABEL_MAX, ",", "%s",
                 settings->chain[i]->file != NULL ? settings->chain[i]->file
                                                  : settings->chain[i]->name);
    return text;
}

static const char *show_priorities(const struct settings *settings, char text[OPTION_TEXT])
{
    text[0] = '\0';
    for (int i = 0; i < settings->priority_count; i++)
        text_add(text, LABEL_MAX, ",", "%d", settings->priorities[i]);
    return settings->priority_count > 0 ? text : NULL;
}

static const char *show_number(const struct option_row *row, const void *field,
                               char text[OPTION_TEXT])
{
    uint64_t number = 0;
    if (row->size == sizeof number) {
        memcpy(&number, field, sizeof number);
    } else {
        uint32_t small;
        memcpy(&small, field, sizeof small);
        number = small;
    }
    if (number < row->least) /* never given, and without a default */
        return row->automatic ? "auto" : NULL;
    snprintf(text, OPTION_TEXT, "%llu", (unsigned long long)number);
    return text;
}

static const char *show_choice(const struct option_row *row, const void *field)
{
    unsigned choice;
    memcpy(&choice, field, sizeof choice);
    return row->choices[choice];
}

/* Returns the value, and sets its kind where that is not VALUE_TEXT. */
static const char *show_value(const struct option_row *row, const void *target,
                              char text[OPTION_TEXT], enum value_kind *kind)
{
    const void *field = (const char *)target + row->offset;
    switch (row->type) {
    case TYPE_NUMBER: {
        const char *number = show_number(row, field, text);
        *kind = number == text ? VALUE_INTEGER : VALUE_TEXT;
        return number;
    }
    case TYPE_SHARE:
        if (*(const double *)field < 0)
            return "auto";
        *kind = VALUE_REAL;
        snprintf(text, OPTION_TEXT, "%.15g", *(const double *)field);
        return text;
    case TYPE_CHOICE:
        return show_choice(row, field);
    case TYPE_FLAG:
        *kind = VALUE_BOOL;
        return *(const bool *)field ? "true" : "false";
    case TYPE_CHAIN:
        return show_chain(target, text);
    case TYPE_PRIORITIES:
        return show_priorities(target, text);
    case TYPE_MISTAKE:
        return *(const int *)field != 0 ? mistake_name(*(const int *)field) : NULL;
    case TYPE_DEVICE:
    case TYPE_FILE:
    case TYPE_NAME:
        return *(const char *const *)field;
    default: /* of no run */
        return NULL;
    }
}

const char *option_show(const struct option_row *row, const void *target,
                        char text[OPTION_TEXT], enum value_kind *kind)
{
    *kind = VALUE_TEXT;
    const char *value = show_value(row, target, text, kind);
    if (value == NULL)
        *kind = VALUE_NULL;
    return value;
}

enum status options_set_defaults(enum option_scope scope, void *target, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < OPTION_COUNT && status == STATUS_OK; i++) {
        struct assignment given = {.row = &option_rows[i], .text = option_rows[i].fallback};
        if (given.row->scope == scope && given.text != NULL)
            status = options_set(&given, target, error);
    }
    return status;
}

void settings_each_of(const struct settings *settings, struct settings_shown shown,
                      settings_visitor *each, void *context)
{
    EACH (const struct option_row, row, option_rows, OPTION_COUNT) {
        if (row->scope != SCOPE_RUN || (row->of_several && !shown.several) ||
            (row->of_halo && !shown.halo))
            continue;
        char text[OPTION_TEXT];
        enum value_kind kind;
        const char *value = option_show(row, settings, text, &kind);
        each(context, row->name, value, kind);
    }
}

void settings_each(const struct settings *settings, settings_visitor *each, void *context)
{
    const struct settings_shown shown = {settings_devices(settings) > 1,
                                         settings_has_halo(settings)};
    settings_each_of(settings, shown, each, context);
}
