/* part.c - the part of a timeline that `pipeline view` is to look at, and the causes that are
 * to make a command fail. */
#include "causes/verdict.h"
#include "core/names.h"
#include "options/table.h"

#include <stdlib.h>
#include <string.h>

/* --- --window=A..B --- */

/* Reads "10%". */
static enum units_result read_share(const char *text, double *share)
{
    char number[UNITS_TEXT];
    size_t length = strlen(text);
    if (length < 2 || length > sizeof number || text[length - 1] != '%')
        return UNITS_NOT_A_NUMBER;
    snprintf(number, sizeof number, "%.*s", (int)length - 1, text);
    enum units_result result = units_read_real(number, share);
    if (result == UNITS_OK && (number[0] == '-' || *share > 100))
        return number[0] == '-' ? UNITS_NEGATIVE : UNITS_TOO_LARGE;
    *share /= 100;
    return result;
}

/* Reads "2ms" or "25%". */
static enum units_result read_edge(const char *text, struct view_edge *edge)
{
    const size_t length = strlen(text);
    *edge = (struct view_edge){.given = length > 0};
    edge->share = length > 0 && text[length - 1] == '%';
    if (edge->share)
        return read_share(text, &edge->part);
    return edge->given ? units_read_time(text, &edge->ns) : UNITS_OK;
}

enum status part_set_window(const struct assignment *given, struct options *options,
                            struct error *error)
{
    struct view_edge from, to;
    char first[SHOWN_MAX];
    const char *dots = strstr(given->text, "..");
    size_t length = dots != NULL ? (size_t)(dots - given->text) : 0;
    if (dots == NULL || length >= sizeof first)
        return assignment_refuse(given, "is no window", error);
    memcpy(first, given->text, length);
    first[length] = '\0';
    enum units_result result = read_edge(first, &from);
    if (result == UNITS_OK)
        result = read_edge(dots + 2, &to);
    if (result != UNITS_OK)
        return assignment_refuse(
            given, result == UNITS_NOT_A_NUMBER ? "is no window" : units_complaint(result),
            error);
    bool alike = from.given && to.given && from.share == to.share;
    if (alike && (from.share ? from.part >= to.part : from.ns >= to.ns))
        return assignment_refuse(given, "ends before it begins", error);
    options->part.from = from;
    options->part.to = to;
    return STATUS_OK;
}

/* --- --stream=N[,N...] --- */

enum status part_set_streams(const struct assignment *given, struct options *options,
                             struct error *error)
{
    struct view_part part = {0};
    enum status status = STATUS_OK;
    char *copy = strdup(given->text), *rest = copy;
    if (copy == NULL)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    for (char *word; status == STATUS_OK && (word = list_next(&rest)) != NULL;) {
        char *end;
        unsigned long number = strtoul(word, &end, 10);
        if (part.stream_count == PART_STREAMS_MAX)
            status = assignment_refuse(given, "names too many streams", error);
        else if (word[0] < '0' || word[0] > '9' || *end != '\0' || number >= UINT32_MAX)
            status = assignment_refuse(given, "is no list of streams", error);
        else
            part.streams[part.stream_count++] = (uint32_t)number;
    }
    free(copy);
    if (status != STATUS_OK)
        return status;
    memcpy(options->part.streams, part.streams, sizeof part.streams);
    options->part.stream_count = part.stream_count;
    return STATUS_OK;
}

/* --- --fail-above=CODE:SHARE --- */

int verdict_code_find(const char *name)
{
    for (int code = 0; code < VERDICT_COUNT; code++) {
        if (strcmp(verdict_rows[code].name, name) == 0)
            return code;
    }
    return -1;
}

/* A code that only sets the limit costs nothing, and one too small to be named is no cause. */
static int cause_find(const char *name)
{
    int code = verdict_code_find(name);
    return code < VERDICT_COPY_BOUND ? code : -1;
}

static const char *cause_nearest(const char *name)
{
    struct nearest nearest = nearest_begin(name);
    nearest_offer(&nearest, "any");
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        nearest_offer(&nearest, verdict_rows[code].name);
    return nearest.best;
}

enum status part_add_fail_above(const struct assignment *given, struct options *options,
                                struct error *error)
{
    struct fail_above limit = {0};
    char name[SHOWN_MAX], label[LABEL_MAX], allowed[LABEL_MAX], shown[SHOWN_MAX];
    const char *colon = strrchr(given->text, ':');
    snprintf(name, sizeof name, "%.*s",
             colon != NULL ? (int)(colon - given->text) : (int)strlen(given->text),
             given->text);
    limit.code = strcmp(name, "any") == 0 ? FAIL_ABOVE_ANY : cause_find(name);
    if (limit.code < 0 && strcmp(name, "any") != 0)
        return refuse_unknown(error, cause_nearest(name), " (see `pipeline list verdicts`)",
                              option_allowed(given->row, allowed), "%s: there is no cause '%s'",
                              assignment_label(given, label), text_shown(name, shown));
    enum units_result result =
        colon != NULL ? read_share(colon + 1, &limit.share) : UNITS_NOT_A_NUMBER;
    if (result != UNITS_OK)
        return assignment_refuse(
            given, result == UNITS_NOT_A_NUMBER ? "has no share" : units_complaint(result),
            error);
    if (options->fail_above_count == FAIL_ABOVE_MAX)
        return assignment_refuse(given, "is one too many", error);
    options->fail_above[options->fail_above_count++] = limit;
    return STATUS_OK;
}

/* --- all of them together --- */

/* Makes the files of --before and --after the words. */
static enum status take_pair(struct command_line *line, const struct options *options,
                             struct error *error)
{
    char shown[SHOWN_MAX];
    if (options->before == NULL || options->after == NULL)
        return error_set(
            error, STATUS_USAGE, "--%s=%s needs --%s=FILE as well",
            options->before != NULL ? "before" : "after",
            text_shown(options->before != NULL ? options->before : options->after, shown),
            options->before != NULL ? "after" : "before");
    if (options->fix)
        return error_set(error, STATUS_USAGE,
                         "--fix puts a fixed run beside each recording, and --before and "
                         "--after two recordings beside each other: leave one of them out");
    if (line->word_count > 0)
        return error_set(error, STATUS_USAGE,
                         "%s stands beside --before and --after, which name all that is read: "
                         "leave it out",
                         text_shown(line->words[0], shown));
    line->words[line->word_count++] = options->before;
    line->words[line->word_count++] = options->after;
    return STATUS_OK;
}

/* Fixes change a whole program, and what they come to is a report. */
static enum status check_fix(const struct options *options, struct error *error)
{
    bool window = options->part.from.given || options->part.to.given;
    if (!options->fix)
        return STATUS_OK;
    if (window || options->part.stream_count > 0)
        return error_set(
            error, STATUS_USAGE,
            "--fix needs the whole recording, and --%s shows a part of it: allowed "
            "is one of them",
            window ? "window" : "stream");
    if (options->dry_run)
        return error_set(error, STATUS_USAGE,
                         "--dry-run prints the plan as it was recorded, and --fix shows a run: "
                         "give one of them");
    return STATUS_OK;
}

enum status part_check(struct command_line *line, const struct options *options,
                       struct error *error)
{
    if (check_fix(options, error) != STATUS_OK)
        return error->status;
    if (options->part.stream_count == 0 || options->fail_above_count == 0)
        return options->before != NULL || options->after != NULL
                   ? take_pair(line, options, error)
                   : STATUS_OK;
    /* Causes are found where all that ran is seen. */
    return error_set(error, STATUS_USAGE,
                     "--fail-above needs causes, and --stream shows too little to name any: "
                     "give one of them");
}
