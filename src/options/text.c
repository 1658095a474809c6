/* text.c - the parts of the options room's error lines: names near to a misspelt one, places,
 * labels, allowed values. */
#include "core/escape.h"
#include "core/names.h"
#include "options/table.h"
#include "plan/device.h"
#include "plan/mistake.h"

#include <stdarg.h>
#include <stdlib.h>
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

/* Returns true if the byte goes on with a UTF-8 character that began before it. */
static bool continues_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
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
    while (clipped && continues_character(*file))
        file++;
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

void list_add(char text[LABEL_MAX], const char *separator, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    if (length > 0)
        length += (size_t)snprintf(text + length, LABEL_MAX - length, "%s", separator);
    va_start(arguments, format);
    if (length < LABEL_MAX)
        vsnprintf(text + length, LABEL_MAX - length, format, arguments);
    va_end(arguments);
}

const char *option_values(const struct option_row *row, char text[LABEL_MAX])
{
    text[0] = '\0';
    switch (row->type) {
    case TYPE_NUMBER:
        snprintf(text, LABEL_MAX, "%llu to %llu%s", (unsigned long long)row->least,
                 (unsigned long long)row->most, row->automatic ? ", or auto" : "");
        return text;
    case TYPE_CHOICE:
        for (int i = 0; row->choices[i] != NULL; i++)
            list_add(text, ", ", "%s", row->choices[i]);
        return text;
    case TYPE_MISTAKE:
        for (int i = 0; mistake_rows[i].name != NULL; i++)
            list_add(text, ", ", "%s", mistake_rows[i].name);
        return text;
    case TYPE_SHARE:
        return strcpy(text, "0 to 1, or auto");
    case TYPE_CHAIN:
        snprintf(text, LABEL_MAX, "1 to %d kernels of `pipeline list kernels`", CHAIN_MAX);
        return text;
    case TYPE_PRIORITIES:
        snprintf(text, LABEL_MAX, "1 to %d whole numbers from -100 to 100, or none",
                 PRIORITIES_MAX);
        return text;
    case TYPE_DEVICE:
        return device_allowed(text, LABEL_MAX);
    case TYPE_FILE:
    case TYPE_FILES:
        return strcpy(text, "the name of a file");
    case TYPE_NAME:
        return strcpy(text, "NAME, NAME:N or N, with N from 1 on");
    case TYPE_FLAG:
        return strcpy(text, "yes, no, true, false, 1, 0, on, off");
    case TYPE_SWEEP:
        return strcpy(text, "OPTION=RANGE, like streams=1..8, tiles=1,2,4,...,256 or "
                            "order=depth,breadth");
    case TYPE_WINDOW:
        return strcpy(text, "A..B, times with their units, like 2ms..5ms, or shares of the "
                            "whole, like 25%..50%; either may be left out");
    case TYPE_STREAMS:
        snprintf(text, LABEL_MAX, "1 to %d numbers of streams", PART_STREAMS_MAX);
        return text;
    case TYPE_FAIL_ABOVE:
        return strcpy(text, "CODE:N%, with a cause of `pipeline list verdicts`, or any, and 0 "
                            "to 100");
    case TYPE_TALLY:
    case TYPE_COMMAND:
        break;
    }
    return strcpy(text, "nothing else");
}

const char *option_allowed(const struct option_row *row, char text[LABEL_MAX])
{
    char values[LABEL_MAX];
    const bool one = row->type == TYPE_FILE || row->type == TYPE_FILES ||
                     row->type == TYPE_NAME || row->type == TYPE_SWEEP ||
                     row->type == TYPE_TALLY || row->type == TYPE_WINDOW ||
                     row->type == TYPE_FAIL_ABOVE || row->type == TYPE_COMMAND;
    snprintf(text, LABEL_MAX, "allowed %s %.490s", one ? "is" : "are",
             option_values(row, values));
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

const char *kept_texts_add(struct kept_text **texts, const char *text)
{
    size_t bytes = strlen(text) + 1;
    struct kept_text *kept = malloc(sizeof *kept + bytes);
    if (kept == NULL)
        return NULL;
    memcpy(kept->text, text, bytes);
    kept->next = *texts;
    *texts = kept;
    return kept->text;
}

void kept_texts_free(struct kept_text *texts)
{
    while (texts != NULL) {
        struct kept_text *next = texts->next;
        free(texts);
        texts = next;
    }
}

enum status assignment_refuse(const struct assignment *given, const char *complaint,
                              struct error *error)
{
    char label[LABEL_MAX], allowed[LABEL_MAX];
    return error_set(error, STATUS_USAGE, "%s %s: %s", assignment_label(given, label),
                     complaint, option_allowed(given->row, allowed));
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
