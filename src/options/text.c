/* text.c - the parts of the options room's error lines: names near to a misspelt one, places,
 * labels, allowed values. */
#include "core/escape.h"
#include "core/names.h"
#include "options/table.h"
#include "plan/device.h"
#include "plan/mistake.h"

#include <string.h>

const char *option_nearest(const char *name, bool keys_only)
{
    struct nearest nearest = nearest_begin(name);
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!keys_only || option_rows[i].scope == SCOPE_RUN)
            nearest_offer(&nearest, option_rows[i].name);
    }
    return nearest.best;
}

const char *text_shown(const char *raw, char text[SHOWN_MAX])
{
    return escape_fit(text, SHOWN_MAX, raw, SHOWN_MAX, "...");
}

const char *origin_place(const struct origin *origin, char text[OPTION_PLACE_MAX])
{
    if (origin->source == SOURCE_DEFAULT) {
        strcpy(text, "the default");
        return text;
    }
    if (origin->source == SOURCE_COMMAND_LINE || origin->source == SOURCE_SWEEP) {
        strcpy(text, origin->source == SOURCE_SWEEP ? "--sweep" : "command line");
        return text;
    }
    char shown[SHOWN_MAX];
    /* The end of a long path says more than its beginning. */
    const char *file = origin->file;
    size_t length = strlen(file), room = SHOWN_MAX - 5;
    bool clipped = length > room;
    if (clipped)
        file += length - room;
    while (clipped && ((unsigned char)*file & 0xc0) == 0x80)
        file++; /* the rest of a character that began before */
    snprintf(text, OPTION_PLACE_MAX, "%s%s:%d", clipped ? "..." : "", text_shown(file, shown),
             origin->line);
    return text;
}

const char *assignment_label(const struct assignment *given, char text[LABEL_MAX])
{
    char place[OPTION_PLACE_MAX], value[SHOWN_MAX];
    text_shown(given->text, value);
    if (given->origin.source == SOURCE_COMMAND_LINE && given->row->placeholder == NULL)
        snprintf(text, LABEL_MAX, "--%s", given->row->name);
    else if (given->origin.source == SOURCE_COMMAND_LINE)
        snprintf(text, LABEL_MAX, "--%s=%s", given->row->name, value);
    else
        snprintf(text, LABEL_MAX, "%s: %s=%s", origin_place(&given->origin, place),
                 given->row->name, value);
    return text;
}

/* The types whose options all allow the same have it here, so that no option says it again: 1
 * to `most` of `values`, or what `values` says. */
static const struct {
    const char *values;
    int most;
} allowed_of[] = {
    [TYPE_SHARE] = {.values = "0 to 1, or auto"},
    [TYPE_CHAIN] = {.values = "kernels of `pipeline list kernels`", .most = CHAIN_MAX},
    [TYPE_PRIORITIES] = {.values = "whole numbers from -100 to 100, or none",
                         .most = PRIORITIES_MAX},
    [TYPE_FILE] = {.values = "the name of a file"},
    [TYPE_FILES] = {.values = "the name of a file"},
    [TYPE_NAME] = {.values = "NAME, NAME:N or N, with N from 1 on"},
    [TYPE_FLAG] = {.values = "yes, no, true, false, 1, 0, on, off"},
    [TYPE_SWEEP] = {.values = "OPTION=RANGE, such as streams=1..8, tiles=1,2,4,...,256 or "
                              "order=depth,breadth"},
    [TYPE_WINDOW] = {.values =
                         "A..B, times with their units, like 2ms..5ms, or shares of the whole, "
                         "like 25%..50%; either may be left out"},
    [TYPE_STREAMS] = {.values = "numbers of streams", .most = PART_STREAMS_MAX},
    [TYPE_FAIL_ABOVE] =
        {.values = "CODE:N%, with a cause of `pipeline list verdicts`, or any, and 0 to "
                   "100"},
    [TYPE_TALLY] = {.values = "without a value"},
    [TYPE_COMMAND] = {.values = "without a value"},
};

const char *option_values(const struct option_row *row, char text[LABEL_MAX])
{
    text[0] = '\0';
    if (row->type == TYPE_NUMBER)
        snprintf(text, LABEL_MAX, "%llu to %llu%s", (unsigned long long)row->least,
                 (unsigned long long)row->most, row->automatic ? ", or auto" : "");
    else if (row->type == TYPE_DEVICE)
        return device_allowed(text, LABEL_MAX);
    else if (allowed_of[row->type].most > 0)
        snprintf(text, LABEL_MAX, "1 to %d %s", allowed_of[row->type].most,
                 allowed_of[row->type].values);
    else if (allowed_of[row->type].values != NULL)
        snprintf(text, LABEL_MAX, "%s", allowed_of[row->type].values);
    for (int i = 0; row->type == TYPE_CHOICE && row->choices[i] != NULL; i++)
        text_add(text, LABEL_MAX, ", ", "%s", row->choices[i]);
    for (int i = 0; row->type == TYPE_MISTAKE && mistake_rows[i].name != NULL; i++)
        text_add(text, LABEL_MAX, ", ", "%s", mistake_rows[i].name);
    return text;
}

const char *option_allowed(const struct option_row *row, char text[LABEL_MAX])
{
    char values[LABEL_MAX];
    snprintf(text, LABEL_MAX, "must be %.490s", option_values(row, values));
    return text;
}

enum status refuse_unknown(struct error *error, const char *nearest, const char *see,
                           const char *allowed, const char *format, ...)
{
    char text[LABEL_MAX];
    PRINT_REST(text, sizeof text, format);
    if (nearest != NULL)
        return error_set(error, STATUS_USAGE, "%s: did you mean %s?%s", text, nearest, see);
    return error_set(error, STATUS_USAGE, "%s: %s", text, allowed);
}

enum status assignment_refuse(const struct assignment *given, const char *complaint,
                              struct error *error)
{
    char label[LABEL_MAX], allowed[LABEL_MAX], value[SHOWN_MAX], swept[LABEL_MAX] = "";
    const struct option_row *row = given->row;
    const bool several = strstr(given->text, "..") != NULL || strchr(given->text, ',') != NULL;
    if (several && row->scope == SCOPE_RUN &&
        (row->type == TYPE_NUMBER || row->type == TYPE_CHOICE))
        snprintf(swept, sizeof swept, "; a run for each value: --sweep=%s=%s", row->name,
                 text_shown(given->text, value));
    return error_set(error, STATUS_USAGE, "%s %s: %s%s", assignment_label(given, label),
                     complaint, option_allowed(row, allowed), swept);
}

char *word_trim(char *word)
{
    word += strspn(word, " \t");
    size_t length = strlen(word);
    while (length > 0 && (word[length - 1] == ' ' || word[length - 1] == '\t'))
        length--;
    word[length] = '\0';
    return word;
}

char *list_next(char **rest)
{
    char *word = strsep(rest, ",");
    return word != NULL ? word_trim(word) : NULL;
}
