/* check.c - holds a run against the rows of what goes together, and settles what follows from
 * other settings. Refuses settings that don't go together, in words, and says what would do
 * instead: a row has values that would, and of these the ones are told that do with all else
 * that was given. */
#include "options/table.h"
#include "plan/device.h"
#include "plan/rules.h"
#include "plan/together.h"

#include <stdio.h>
#include <string.h>

/* A run, as it was asked for and settled. */
struct judged {
    struct draft draft;       /* as it was asked for */
    bool asked;               /* false: where its settings come from is forgotten, and they are
                                 settled already */
    bool named;               /* they are options of a command line or a file: with dashes */
    struct settings settings; /* settled */
};

/* --- what goes together --- */

static uint32_t process_count = 1;

void options_set_processes(uint32_t count)
{
    process_count = count;
}

/* Returns true if both options were given in the same place, so that neither is meant to win
 * over the other. A sweep stands on the command line too, and beside a default of `one` it
 * would do nothing at all; but where `one` itself is swept, some of its values may leave
 * `other` without a meaning. */
static bool given_together(const struct origin *one, const struct origin *other)
{
    if (other->source == SOURCE_SWEEP)
        return one->source == SOURCE_DEFAULT || one->source == SOURCE_COMMAND_LINE;
    return one->source != SOURCE_DEFAULT && one->source == other->source;
}

/* Returns true where a row is about settings that follow from others unless they are given. */
static bool is_of_given(const struct together_row *row)
{
    return row->when == TOGETHER_BOTH_GIVEN || row->when == TOGETHER_OTHER_GIVEN;
}

/* Returns true where the row can be broken by such a run. */
static bool row_holds(const struct together_row *row, const struct judged *judged)
{
    const struct draft *draft = &judged->draft;
    if (row->when == TOGETHER_ONE_PROCESS)
        return process_count == 1;
    if (row->when == TOGETHER_ELEMENTS)
        return !judged->asked || draft->settings.input == NULL ||
               draft->settings.elements_given;
    if (row->when == TOGETHER_ALWAYS)
        return true;
    const struct origin *one = &draft->origins[option_find(row->option) - option_rows];
    const struct origin *other = &draft->origins[option_find(row->other) - option_rows];
    if (row->when == TOGETHER_OTHER_GIVEN)
        return judged->asked && other->source != SOURCE_DEFAULT;
    return judged->asked && given_together(one, other);
}

/* Returns true where the run, once judged_misfit() has settled it, breaks the row. */
static bool judged_breaks(const struct judged *judged, const struct together_row *row)
{
    return together_clash(row, &judged->settings) && row_holds(row, judged);
}

static const struct together_row *first_broken(const struct judged *judged, bool of_given)
{
    for (const struct together_row *row = together_rows; row->option != NULL; row++) {
        if (is_of_given(row) == of_given && judged_breaks(judged, row))
            return row;
    }
    return NULL;
}

/* Settles what follows from the draft, and returns the first row that it breaks; NULL: it goes
 * together. */
static const struct together_row *judged_misfit(struct judged *judged)
{
    struct settings *settings = &judged->settings;
    *settings = judged->draft.settings;
    if (!judged->asked)
        return first_broken(judged, false);
    settings->intensity = settings_intensity(settings); /* reports say how heavy kernels are */
    settings->devices = process_count > 1 ? process_count : device_count(settings->device);
    const struct together_row *broken = first_broken(judged, true);
    if (broken == NULL)
        settings_settle(settings);
    settings->devices = device_count(settings->device);
    return broken != NULL ? broken : first_broken(judged, false);
}

/* --- what would do instead --- */

/* What a remedy makes of the run, the best first. */
enum outcome { GOES_TOGETHER, BREAKS_LESS, BREAKS_OTHER, BREAKS_SAME };

/* Returns what the run is, tried with another value, that broke `broken` before. */
static enum outcome outcome_of(const struct judged *judged, const struct judged *tried,
                               const struct together_row *broken)
{
    enum outcome outcome = BREAKS_LESS;
    if (judged_breaks(tried, broken))
        return BREAKS_SAME;
    for (const struct together_row *row = together_rows; row->option != NULL; row++)
        if (judged_breaks(tried, row) && !judged_breaks(judged, row))
            outcome = BREAKS_OTHER;
    return outcome;
}

/* Returns true where the machine is part of the program, and is known not to have so many
 * devices, or that way to issue. What others have is found out when they are opened. */
static bool machine_lacks(const struct settings *settings)
{
    struct machine machine;
    char name[MACHINE_TEXT];
    if (settings->device == NULL || device_find(settings->device) == NULL ||
        device_is_real(settings->device))
        return false;
    const char *argument = device_argument(settings->device);
    const size_t length = device_argument_length(argument);
    snprintf(name, sizeof name, "%.*s", (int)length, argument);
    if (machine_built_in(&machine, length > 0 ? name : device_find("sim")->fallback,
                         &(struct error){0}) != STATUS_OK)
        return false;
    return (settings->sharing == SHARING_NONE && settings->devices > machine.devices) ||
           !rule_takes_issue(&machine, settings->issue);
}

/* Returns what the run would be with another value. */
static enum outcome try_value(const struct judged *judged, const struct together_row *broken,
                              const struct option_row *option, const char *value)
{
    const struct assignment given = {option, value, {.source = SOURCE_COMMAND_LINE}};
    struct judged tried = *judged;
    struct error unheard = {0};
    if (draft_set(&tried.draft, &given, &unheard) != STATUS_OK)
        return BREAKS_SAME;
    /* A value that it has already is no remedy: ranks share no device where they have several.
     */
    if (option->type == TYPE_CHOICE &&
        memcmp((const char *)&tried.draft.settings + option->offset,
               (const char *)&judged->draft.settings + option->offset, option->size) == 0)
        return BREAKS_SAME;
    if (option == &option_rows[OPTION_ELEMENTS])
        tried.draft.settings.elements_given = true;
    if (option == &option_rows[OPTION_DEVICE])
        tried.draft.settings.devices = device_count(tried.draft.settings.device);
    const bool fits = judged_misfit(&tried) == NULL;
    if (machine_lacks(&tried.settings) && !machine_lacks(&judged->settings))
        return BREAKS_SAME;
    return fits ? GOES_TOGETHER : outcome_of(judged, &tried, broken);
}

/* Writes an option before its first value: "--memory=", or "--sweep=memory=" where it is swept,
 * for then the sweep has to change. A file has no dashes, and of a run whose settings come from
 * nobody knows where the same is said. Of kernels and devices there
 * are more than a row can name. */
static void add_option(const struct judged *judged, const struct option_row *option,
                       char text[LABEL_MAX])
{
    const bool swept = judged->draft.origins[option - option_rows].source == SOURCE_SWEEP;
    const char *dashes = !judged->named ? "" : swept ? "--sweep=" : "--";
    const bool open = option->type == TYPE_CHAIN || option->type == TYPE_DEVICE;
    text_add(text, LABEL_MAX, ", or ", open ? "a %s%s such as " : "%s%s=", dashes,
             option->name);
}

/* Appends those values of "memory=pinned|pageable" that would do. */
static void add_values(const struct judged *judged, const struct together_row *broken,
                       char *word, enum outcome outcome, char text[LABEL_MAX])
{
    char *values = strchr(word, '=');
    *values++ = '\0';
    const struct option_row *option = option_find(word);
    const char *last = NULL;
    int count = 0;
    for (char *value; (value = strsep(&values, "|")) != NULL;) {
        if (try_value(judged, broken, option, value) != outcome)
            continue;
        if (count++ == 0)
            add_option(judged, option, text);
        else
            text_add(text, LABEL_MAX, count > 2 ? ", " : "", "%s", last);
        last = value;
    }
    if (last != NULL)
        text_add(text, LABEL_MAX, count > 1 ? " or " : "", "%s", last);
}

/* Appends what would do of a list such as "memory=pinned|pageable issue=streams". */
static void add_words(const struct judged *judged, const struct together_row *broken,
                      const char *words, enum outcome outcome, char text[LABEL_MAX])
{
    char list[TOGETHER_TEXT], *rest = list;
    snprintf(list, sizeof list, "%s", words);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (word[0] != '\0')
            add_values(judged, broken, word, outcome, text);
}

/* Writes what may be given instead, of what a row allows: ": use --memory=pinned or
 * registered". Each of these alone makes the run go together. Where none does, for there are
 * several flaws, each takes this one away and, if that can be, adds no other. */
static const char *remedy_of(const struct judged *judged, const struct together_row *row,
                             char text[LABEL_MAX])
{
    char computed[TOGETHER_TEXT] = "", found[LABEL_MAX] = "";
    if (row->nearest != NULL)
        row->nearest(&judged->settings, computed);
    together_add_devices(&judged->settings, row->devices, computed);
    for (int outcome = GOES_TOGETHER; outcome < BREAKS_SAME && found[0] == '\0'; outcome++) {
        add_words(judged, row, computed, (enum outcome)outcome, found);
        if (row->allowed != NULL)
            add_words(judged, row, row->allowed, (enum outcome)outcome, found);
    }
    snprintf(text, LABEL_MAX, found[0] != '\0' ? ": use %.500s" : "%s", found);
    return text;
}

/* --- refusing --- */

/* Writes what was given for the option called `name`, as messages name it. */
static const char *label(const struct judged *judged, const char *name, char text[LABEL_MAX])
{
    const struct origin *origins = judged->named ? judged->draft.origins : NULL;
    return setting_label(&judged->settings, origins,
                         (enum option_id)(option_find(name) - option_rows), text);
}

/* Refuses what breaks a row: "ONE SAYS OTHER REST: use REMEDY". */
static enum status refuse(const struct judged *judged, const struct together_row *row,
                          struct error *error)
{
    char one[LABEL_MAX], other[LABEL_MAX] = "", detail[TOGETHER_TEXT] = "", remedy[LABEL_MAX];
    if (row->other != NULL)
        label(judged, row->other, other);
    if (row->detail != NULL)
        row->detail(&judged->settings, detail);
    return error_set(error, STATUS_USAGE, "%s %s%s%s%s%s%s", label(judged, row->option, one),
                     row->says, row->other != NULL ? " " : "", other, row->rest, detail,
                     remedy_of(judged, row, remedy));
}

enum status settings_check(const struct settings *settings, struct error *error)
{
    if (settings_misfit(settings) == NULL)
        return STATUS_OK;
    struct judged judged = {.draft.settings = *settings};
    const struct together_row *row = judged_misfit(&judged);
    return row == NULL ? STATUS_OK : refuse(&judged, row, error);
}

enum status settings_type(struct settings *settings, const char *words, struct error *error)
{
    enum status status = STATUS_OK;
    for (const char *end; *words != '\0' && status == STATUS_OK; words = end + (*end == ' ')) {
        char word[LABEL_MAX], *value = word;
        end = words + strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)(end - words), words);
        const char *name = strsep(&value, "=");
        const struct assignment given = {.row = option_find_typed(name),
                                         .text = value != NULL ? value : "yes",
                                         .origin = {.source = SOURCE_COMMAND_LINE}};
        status = options_set(&given, settings, error);
    }
    settings_settle(settings);
    return status == STATUS_OK ? settings_check(settings, error) : status;
}

enum status settings_check_ranks(const struct settings *settings, struct error *error)
{
    struct judged judged = {.draft.settings = *settings, .settings = *settings, .named = true};
    char other[LABEL_MAX], remedy[LABEL_MAX];
    for (int i = 0; i < OPTION_COUNT; i++) /* where the settings come from is forgotten */
        judged.draft.origins[i].source = SOURCE_COMMAND_LINE;
    for (const struct together_row *row = together_rows; row->option != NULL; row++) {
        if (row->of_ranks ? row->other_trait->has(settings)
                          : strcmp(row->option, "share") == 0 && together_clash(row, settings))
            return error_set(error, STATUS_USAGE, "%s%s%s", label(&judged, row->other, other),
                             row->rest, remedy_of(&judged, row, remedy));
    }
    return STATUS_OK;
}

enum status draft_finish(struct draft *draft, struct error *error)
{
    draft->settings.elements_given = draft->origins[OPTION_ELEMENTS].source != SOURCE_DEFAULT;
    draft->settings.layout_given = draft->origins[OPTION_LAYOUT].source != SOURCE_DEFAULT &&
                                   draft->settings.layout != LAYOUT_AUTO;
    draft->settings.order_given = draft->origins[OPTION_ORDER].source != SOURCE_DEFAULT;
    draft->settings.streams_given = draft->origins[OPTION_STREAMS].source != SOURCE_DEFAULT;
    draft->settings.memory_given = draft->origins[OPTION_MEMORY].source != SOURCE_DEFAULT;
    struct judged judged = {.draft = *draft, .asked = true, .named = true};
    const struct together_row *row = judged_misfit(&judged);
    draft->settings = judged.settings;
    return row == NULL ? STATUS_OK : refuse(&judged, row, error);
}

enum status settings_check_profile(const struct settings *settings,
                                   const struct options *options, struct error *error)
{
    if (!settings->profile)
        return STATUS_OK;
    bool compares = options->command == COMMAND_COMPARE;
    if (!compares && options->timeline_count == 0)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "--profile makes a run without instrumentation of our own, so there is no "
                     "timeline to %s",
                     compares ? "compare: leave it out"
                              : "write: allowed is one of --profile and --timeline, or both on "
                                "a device sim:NAME");
}
