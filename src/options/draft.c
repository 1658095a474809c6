/* draft.c - a run while its settings are being gathered: how it gets its values, and in which
 * words a setting is named in an error line. It stands apart because the command line, config
 * files and sweeps fill drafts alike. */
#include "core/items.h"
#include "options/table.h"

#include <string.h>

enum status draft_set(struct draft *draft, const struct assignment *given, struct error *error)
{
    enum status status = options_set(given, &draft->settings, error);
    if (status == STATUS_OK)
        draft->origins[given->row - option_rows] = given->origin;
    return status;
}

enum status settings_set_defaults(struct settings *settings, struct error *error)
{
    *settings = (struct settings){0};
    return options_set_defaults(SCOPE_RUN, settings, error);
}

static bool is_run_name(const char *name)
{
    for (const char *byte = name; *byte != '\0'; byte++) {
        if (*byte < ' ' || *byte > '~')
            return false;
    }
    return name[0] != '\0' && strlen(name) < RUN_NAME_MAX;
}

enum status drafts_add(struct drafts *drafts, const struct draft *model, const char *name,
                       const struct origin *named, struct error *error)
{
    char place[OPTION_PLACE_MAX], first[OPTION_PLACE_MAX], shown[SHOWN_MAX];
    origin_place(named, place);
    if (!is_run_name(name))
        return error_set(error, STATUS_USAGE,
                         "%s: '%s' can't name a run: allowed are 1 to %d printable ASCII "
                         "characters",
                         place, text_shown(name, shown), RUN_NAME_MAX - 1);
    for (int i = 0; i < drafts->count; i++) {
        if (strcmp(drafts->items[i].settings.name, name) == 0)
            return error_set(error, STATUS_USAGE,
                             "%s: a run called '%s' is already at %s: allowed is one of a name",
                             place, name, origin_place(&drafts->items[i].named, first));
    }
    if (drafts->count == SWEEP_RUNS_MAX)
        return error_set(error, STATUS_USAGE, "%s: allowed are %d runs in one command", place,
                         SWEEP_RUNS_MAX);
    if (!ITEMS_ROOM(drafts->items, (size_t)drafts->count, drafts->capacity))
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    struct draft *draft = &drafts->items[drafts->count++];
    *draft = *model;
    draft->named = *named;
    strcpy(draft->settings.name, name);
    return STATUS_OK;
}

const char *setting_label(const struct settings *settings, const struct origin *origins,
                          enum option_id id, char text[LABEL_MAX])
{
    char place[OPTION_PLACE_MAX], full[OPTION_TEXT], value[SHOWN_MAX];
    enum value_kind kind;
    const char *raw = option_show(&option_rows[id], settings, full, &kind);
    const char *name = option_rows[id].name;
    text_shown(raw != NULL ? raw : "none", value);
    if (origins == NULL)
        snprintf(text, LABEL_MAX, "%s=%s", name, value);
    else if (origins[id].source != SOURCE_COMMAND_LINE)
        snprintf(text, LABEL_MAX, "%s=%s (%s)", name, value, origin_place(&origins[id], place));
    else if (kind == VALUE_BOOL)
        snprintf(text, LABEL_MAX, "--%s", name);
    else
        snprintf(text, LABEL_MAX, "--%s=%s", name, value);
    return text;
}
