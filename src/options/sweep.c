/* sweep.c - the axes of a sweep, and one run for each of its points. */
#include "options/table.h"

#include <stdlib.h>
#include <string.h>

enum {
    SUFFIX_MAX = 256,
    SUFFIX_KEPT = 48, /* a longer one is cut, so that the section's name shows at all */
};

bool option_is_sweepable(const struct option_row *row)
{
    switch (row->type) {
    case TYPE_NUMBER:
    case TYPE_SHARE:
    case TYPE_CHOICE:
    case TYPE_FLAG:
    case TYPE_DEVICE:
    case TYPE_MISTAKE:
        return row->scope == SCOPE_RUN && row != &option_rows[OPTION_PROFILE];
    default:
        return false;
    }
}

/* Writes "must be one of elements, columns, ...". */
static void sweepable_names(char text[LABEL_MAX])
{
    text[0] = '\0';
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (option_is_sweepable(&option_rows[i]))
            text_add(text, LABEL_MAX, ", ", "%s%s", text[0] == '\0' ? "must be one of " : "",
                     option_rows[i].name);
    }
}

/* Finds the row that is to be swept. `name` is what stands before the second '='. */
static enum status find_axis(const struct assignment *given, const char *name,
                             const struct sweep *sweep, const struct option_row **row,
                             struct error *error)
{
    char label[LABEL_MAX], names[LABEL_MAX], shown[SHOWN_MAX];
    const struct option_row *found = option_find(name);
    assignment_label(given, label);
    text_shown(name, shown);
    sweepable_names(names);
    if (found == NULL)
        return refuse_unknown(error, option_nearest(name, true), "", names,
                              "%s: unknown option '%s'", label, shown);
    if (!option_is_sweepable(found))
        return error_set(error, STATUS_USAGE, "%s: %s can't be swept: %s", label, found->name,
                         names);
    for (int i = 0; i < sweep->axis_count; i++) {
        if (strcmp(sweep->axes[i].option, found->name) == 0)
            return error_set(error, STATUS_USAGE,
                             "%s: %s is swept already: give each option once", label,
                             found->name);
    }
    *row = found;
    return STATUS_OK;
}

enum status sweep_add(const struct assignment *given, struct options *options,
                      struct error *error)
{
    char label[LABEL_MAX], allowed[LABEL_MAX];
    struct sweep *sweep = &options->sweep;
    const char *equals = strchr(given->text, '=');
    if (equals == NULL || equals == given->text || equals[1] == '\0')
        return error_set(error, STATUS_USAGE, "%s %s", assignment_label(given, label),
                         option_allowed(given->row, allowed));
    if (sweep->axis_count == SWEEP_AXES_MAX)
        return error_set(error, STATUS_USAGE, "%s is one too many: at most %d",
                         assignment_label(given, label), SWEEP_AXES_MAX);
    char *name = strndup(given->text, (size_t)(equals - given->text));
    if (name == NULL)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    const struct option_row *row = NULL;
    enum status status = find_axis(given, name, sweep, &row, error);
    free(name);
    if (status == STATUS_OK)
        status = range_read(given, row, equals + 1, &options->storage,
                            &sweep->axes[sweep->axis_count], error);
    sweep->axis_count += status == STATUS_OK;
    return status;
}

/* --- the runs --- */

/* Writes " streams=4 tiles=8", with numbers as short as their option takes them. A character
 * that may not stand in a name becomes '?'. Returns false where something is lost. */
static bool point_suffix(const struct sweep *sweep, const int at[SWEEP_AXES_MAX],
                         char text[SUFFIX_MAX])
{
    int length = 0;
    text[0] = '\0';
    for (int i = 0; i < sweep->axis_count && length < SUFFIX_MAX; i++) {
        const struct sweep_axis *axis = &sweep->axes[i];
        const struct option_row *row = option_find(axis->option);
        const char *value = axis->values[at[i]];
        char count[UNITS_TEXT];
        if (row->type == TYPE_NUMBER && row->suffixes)
            value = units_count(strtoull(value, NULL, 10), count);
        length += snprintf(text + length, (size_t)(SUFFIX_MAX - length), " %s=%s", axis->option,
                           value);
    }
    bool whole = length <= SUFFIX_KEPT;
    for (char *byte = text; *byte != '\0'; byte++) {
        if (*byte >= ' ' && *byte <= '~')
            continue;
        *byte = '?';
        whole = false;
    }
    return whole;
}

/* Names a point "SECTION streams=4" or, where that is too long or not whole, "SECT~17
 * streams=4", cut and numbered. */
static void point_name(const char *section, const char *suffix, bool whole, int number,
                       char name[RUN_NAME_MAX])
{
    char mark[UNITS_TEXT];
    if (whole && snprintf(name, RUN_NAME_MAX, "%s%s", section, suffix) < RUN_NAME_MAX)
        return;
    snprintf(mark, sizeof mark, "~%d", number);
    int kept = whole ? (int)strlen(suffix) : SUFFIX_KEPT;
    int room = RUN_NAME_MAX - 1 - (int)strlen(mark) - kept;
    snprintf(name, RUN_NAME_MAX, "%.*s%s%.*s", room, section, mark, kept, suffix);
}

static enum status add_point(const struct sweep *sweep, const int at[SWEEP_AXES_MAX],
                             const struct draft *model, struct drafts *whole,
                             struct error *error)
{
    struct draft draft = *model;
    char suffix[SUFFIX_MAX], name[RUN_NAME_MAX];
    enum status status = STATUS_OK;
    for (int i = 0; i < sweep->axis_count && status == STATUS_OK; i++) {
        const struct sweep_axis *axis = &sweep->axes[i];
        struct assignment given = {
            option_find(axis->option), axis->values[at[i]], {.source = SOURCE_SWEEP}};
        status = draft_set(&draft, &given, error);
    }
    if (status != STATUS_OK)
        return status;
    bool fits = point_suffix(sweep, at, suffix);
    point_name(model->settings.name, suffix, fits, whole->count + 1, name);
    return drafts_add(whole, &draft, name, &model->named, error);
}

/* Refuses a sweep of more runs than there may be. */
static enum status check_size(const struct sweep *sweep, int sections, struct error *error)
{
    char values[LABEL_MAX] = "";
    int64_t runs = sections;
    for (int i = 0; i < sweep->axis_count; i++) {
        runs *= sweep->axes[i].count;
        text_add(values, LABEL_MAX, " and ", "%d values of %s", sweep->axes[i].count,
                 sweep->axes[i].option);
    }
    if (runs <= SWEEP_RUNS_MAX)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "--sweep: %d run%s with %s make %lld: at most %d runs in all", sections,
                     sections == 1 ? "" : "s", values, (long long)runs, SWEEP_RUNS_MAX);
}

enum status sweep_expand(const struct sweep *sweep, struct drafts *drafts, struct error *error)
{
    struct drafts whole = {0};
    if (sweep->axis_count == 0)
        return STATUS_OK;
    enum status status = check_size(sweep, drafts->count, error);
    int inner = sweep->axis_count > 1 ? sweep->axes[1].count : 1;
    int points = sweep->axes[0].count * inner;
    for (int i = 0; i < drafts->count && status == STATUS_OK; i++) {
        for (int p = 0; p < points && status == STATUS_OK; p++) {
            const int at[SWEEP_AXES_MAX] = {p / inner, p % inner};
            status = add_point(sweep, at, &drafts->items[i], &whole, error);
        }
    }
    if (status != STATUS_OK) {
        free(whole.items);
        return status;
    }
    free(drafts->items);
    *drafts = whole;
    return STATUS_OK;
}
