/* range.c - writes out the range of a sweep: "1,2,4,...,64" or "depth,breadth". */
#include "options/table.h"
#include "plan/device.h"

#include <stdlib.h>
#include <string.h>

enum { COMPLAINT_MAX = 256 };

/* A range being written out. */
struct value_range {
    const struct assignment *given;
    const struct option_row *row;
    struct arena *storage;
    const char **values; /* room for SWEEP_VALUES_MAX */
    uint64_t *numbers;   /* the same as numbers, where the option takes one */
    int count;
    bool dots; /* "..." stands before the item that comes now */
    struct error *error;
};

/* Refuses the range: "--sweep=streams=8..1: COMPLAINT: allowed are ...". */
__attribute__((format(printf, 2, 3))) static enum status
range_refuse(const struct value_range *range, const char *format, ...)
{
    char label[LABEL_MAX], complaint[COMPLAINT_MAX];
    PRINT_REST(complaint, sizeof complaint, format);
    return error_set(range->error, STATUS_USAGE, "%s: %s",
                     assignment_label(range->given, label), complaint);
}

/* Reads one value in the words of its option, and writes it into `text` as the option shows
 * it. */
static enum status value_read(const struct value_range *range, const char *item,
                              char text[OPTION_TEXT])
{
    struct settings scratch = {0};
    struct assignment one = {range->row, item, {.source = SOURCE_SWEEP}};
    enum status status = options_set(&one, &scratch, range->error);
    if (status != STATUS_OK)
        return status;
    enum value_kind kind;
    const char *shown = option_show(range->row, &scratch, text, &kind);
    if (kind == VALUE_BOOL)
        shown = strcmp(shown, "true") == 0 ? "yes" : "no";
    if (shown == NULL) /* the value is "none" */
        shown = item;
    if (shown != text)
        snprintf(text, OPTION_TEXT, "%s", shown);
    return STATUS_OK;
}

static enum status range_append(struct value_range *range, const char *text)
{
    if (range->count == SWEEP_VALUES_MAX)
        return range_refuse(range, "too many values: at most %d", SWEEP_VALUES_MAX);
    range->values[range->count] = arena_text(range->storage, text);
    if (range->values[range->count] == NULL)
        return error_set(range->error, STATUS_NO_MEMORY, "out of memory");
    range->count++;
    return STATUS_OK;
}

/* --- words --- */

static enum status take_word(struct value_range *range, const char *item)
{
    char text[OPTION_TEXT];
    if (range->row->type == TYPE_SHARE && strstr(item, "..") != NULL)
        return range_refuse(range, "%s has no steps: allowed is a list, like 0,0.1,0.25,auto",
                            range->row->name);
    enum status status = value_read(range, item, text);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < range->count; i++) {
        if (strcmp(range->values[i], text) == 0)
            return range_refuse(range, "%s is in it twice: give each value once",
                                text_shown(text, (char[SHOWN_MAX]){""}));
    }
    return range_append(range, text);
}

/* --- numbers --- */

static enum status number_read(const struct value_range *range, const char *item,
                               uint64_t *number)
{
    char text[OPTION_TEXT], *end;
    enum status status = value_read(range, item, text);
    if (status != STATUS_OK)
        return status;
    *number = strtoull(text, &end, 10);
    if (*end != '\0')
        return range_refuse(range, "%s is no number to sweep over: allowed are numbers", text);
    return STATUS_OK;
}

/* Appends a number, which may come from the text or from a step, after checking it. */
static enum status number_append(struct value_range *range, uint64_t number)
{
    char item[UNITS_TEXT], text[OPTION_TEXT];
    uint64_t before = range->count > 0 ? range->numbers[range->count - 1] : 0;
    if (range->count > 0 && number == before)
        return range_refuse(range, "%llu is in it twice: give each value once",
                            (unsigned long long)number);
    if (range->count > 0 && number < before)
        return range_refuse(range, "it goes down, from %llu to %llu: values must go up",
                            (unsigned long long)before, (unsigned long long)number);
    snprintf(item, sizeof item, "%llu", (unsigned long long)number);
    enum status status = value_read(range, item, text);
    if (status == STATUS_OK)
        status = range_append(range, text);
    if (status == STATUS_OK)
        range->numbers[range->count - 1] = number;
    return status;
}

/* The step from one value to the next: times `factor` or, where that is 0, plus `step`. */
struct stride {
    uint64_t step, factor;
};

/* Sets *number to the number after it; returns false if that is beyond `last`. */
static bool stride_next(const struct stride *stride, uint64_t last, uint64_t *number)
{
    if (stride->factor != 0 ? *number > last / stride->factor : stride->step > last - *number)
        return false;
    *number = stride->factor != 0 ? *number * stride->factor : *number + stride->step;
    return true;
}

/* Cuts "+S" or "*F" off `item` and reads it. */
static enum status stride_read(const struct value_range *range, char *item,
                               struct stride *stride)
{
    char shown[SHOWN_MAX];
    char *sign = strpbrk(item, "+*");
    *stride = (struct stride){.step = 1};
    if (sign == NULL)
        return STATUS_OK;
    bool factor = *sign == '*';
    uint64_t number;
    enum units_result result = option_read_number(range->row, sign + 1, &number);
    text_shown(sign, shown);
    *sign = '\0';
    if (result != UNITS_OK)
        return range_refuse(range, "'%s' %s: must be A..B, A..B+STEP or A..B*FACTOR", shown,
                            units_complaint(result));
    if (factor && number < 2)
        return range_refuse(range, "'%s' leads nowhere: use a factor of 2 or more", shown);
    if (number == 0)
        return range_refuse(range, "'%s' leads nowhere: use a step of 1 or more", shown);
    *stride = (struct stride){.step = factor ? 0 : number, .factor = factor ? number : 0};
    return STATUS_OK;
}

/* Takes "A..B", "A..B+STEP" or "A..B*FACTOR"; `dots` points into `item`, which is cut up. */
static enum status take_span(struct value_range *range, char *item, char *dots)
{
    char *end = dots + strlen("..");
    struct stride stride;
    uint64_t number, last;
    *dots = '\0';
    if (item[0] == '\0' || end[strspn(end, "+*")] == '\0' || end[0] == '+' || end[0] == '*')
        return range_refuse(range, "'..' stands between two numbers: must be A..B, "
                                   "A..B+STEP or A..B*FACTOR");
    enum status status = stride_read(range, end, &stride);
    if (status == STATUS_OK)
        status = number_read(range, item, &number);
    if (status == STATUS_OK)
        status = number_read(range, end, &last);
    if (status != STATUS_OK)
        return status;
    if (number > last)
        return range_refuse(range, "%s..%s goes down: values must go up", item, end);
    if (number == 0 && stride.factor != 0)
        return range_refuse(range, "0 times anything is 0: it must begin at 1 or more");
    do
        status = number_append(range, number);
    while (status == STATUS_OK && stride_next(&stride, last, &number));
    return status;
}

/* Finds what the values before "..." have in common: two values, as in 2,4,...,10, give a step;
 * the last three of more give a step or else a factor. Returns false if they have neither. */
static bool stride_guess(const struct value_range *range, struct stride *stride)
{
    const uint64_t *tail = range->numbers + range->count;
    uint64_t step = tail[-1] - tail[-2];
    *stride = (struct stride){.step = step};
    if (range->count == 2 || tail[-2] - tail[-3] == step)
        return true;
    uint64_t before = tail[-3], factor = before != 0 ? tail[-2] / before : 0;
    *stride = (struct stride){.factor = factor};
    return factor > 1 && tail[-2] % before == 0 && tail[-1] % tail[-2] == 0 &&
           tail[-1] / tail[-2] == factor;
}

/* Appends the numbers that "..." stands for, and the one behind it. */
static enum status take_continuation(struct value_range *range, uint64_t last)
{
    struct stride stride;
    range->dots = false;
    if (!stride_guess(range, &stride))
        return range_refuse(range, "the values before '...' have no step and no factor in "
                                   "common: must be like 2,4,6,...,32 or 1,2,4,...,64");
    uint64_t number = range->numbers[range->count - 1];
    enum status status = STATUS_OK;
    if (number >= last)
        return number_append(range, last);
    while (status == STATUS_OK && number < last) {
        uint64_t before = number;
        if (!stride_next(&stride, last, &number))
            return range_refuse(range,
                                "'...' passes %llu by, after %llu: it must end on "
                                "a value of its own",
                                (unsigned long long)last, (unsigned long long)before);
        status = number_append(range, number);
    }
    return status;
}

static enum status take_number(struct value_range *range, char *item)
{
    char *dots = strstr(item, "..");
    uint64_t number;
    if (strcmp(item, "...") == 0) {
        if (range->count < 2 || range->dots)
            return range_refuse(range, "'...' needs two values before it, and one behind: "
                                       "must be like 1,2,4,...,64");
        range->dots = true;
        return STATUS_OK;
    }
    if (strstr(item, "...") != NULL)
        return range_refuse(range, "'%s': must be A..B, of two dots, or 1,2,4,...,64",
                            text_shown(item, (char[SHOWN_MAX]){""}));
    if (dots != NULL && range->dots)
        return range_refuse(range,
                            "'...' needs one value behind it: must be like 1,2,4,...,64");
    if (dots != NULL)
        return take_span(range, item, dots);
    enum status status = number_read(range, item, &number);
    if (status != STATUS_OK)
        return status;
    return range->dots ? take_continuation(range, number) : number_append(range, number);
}

/* --- devices --- */

static bool is_number(const char *item)
{
    const size_t digits = strspn(item, "0123456789");
    return digits > 0 && (item[digits] == ',' || item[digits] == '\0');
}

/* Cuts the next device off. No device is called by a number alone, so a number behind a comma
 * goes on with the list before it: "cuda:0,cuda:0,1" is one device, then two. */
static char *device_next(char **rest)
{
    char *word = *rest, *comma = word;
    if (word == NULL)
        return NULL;
    const struct device_row *row = device_find(word);
    const bool lists = row != NULL && row->numbered;
    while ((comma = strchr(comma, ',')) != NULL && lists && is_number(comma + 1))
        comma++;
    *rest = comma != NULL ? comma + 1 : NULL;
    if (comma != NULL)
        *comma = '\0';
    return word_trim(word);
}

/* --- the whole range --- */

/* Takes the items of a range one after another; `text` is cut up. */
static enum status take_items(struct value_range *range, char *text)
{
    enum status status = STATUS_OK;
    bool numbers = range->row->type == TYPE_NUMBER;
    char *(*next)(char **rest) = range->row->type == TYPE_DEVICE ? device_next : list_next;
    for (char *item; status == STATUS_OK && (item = next(&text)) != NULL;) {
        if (item[0] == '\0')
            status = range_refuse(range, "a value is empty: %s",
                                  option_allowed(range->row, (char[LABEL_MAX]){""}));
        else
            status = numbers ? take_number(range, item) : take_word(range, item);
    }
    if (status == STATUS_OK && range->dots)
        status = range_refuse(range, "'...' has no end: must be like 1,2,4,...,64");
    return status;
}

enum status range_read(const struct assignment *given, const struct option_row *row,
                       const char *text, struct arena *storage, struct sweep_axis *axis,
                       struct error *error)
{
    struct value_range range = {.given = given, .row = row, .storage = storage, .error = error};
    char *copy = arena_text(storage, text);
    range.values = arena_zeros(storage, SWEEP_VALUES_MAX, sizeof range.values[0]);
    range.numbers = arena_zeros(storage, SWEEP_VALUES_MAX, sizeof range.numbers[0]);
    if (storage->full)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    const enum status status = take_items(&range, copy);
    if (status == STATUS_OK)
        *axis = (struct sweep_axis){row->name, range.values, range.count};
    return status;
}
