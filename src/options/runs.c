/* runs.c - defaults, config files, the command line and a sweep become runs. */
#include "core/names.h"
#include "options/table.h"
#include "plan/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Refuses "tiles=4", which is an option without its dashes. */
static enum status refuse_assignment(const char *word, const char *value, struct error *error)
{
    char name[SHOWN_MAX], shown[SHOWN_MAX], given[SHOWN_MAX], wanted[LABEL_MAX];
    snprintf(name, sizeof name, "%.*s", (int)(value - word), word);
    const char *option = option_find(name) != NULL ? name : option_nearest(name, false);
    snprintf(wanted, sizeof wanted, "--%s%s", option != NULL ? option : "",
             text_shown(value, given));
    return refuse_unknown(
        error, option != NULL ? wanted : NULL, "", "see `pipeline help all`, or give a file",
        "'%s' is neither a command nor a config file", text_shown(word, shown));
}

/* Refuses a word that is neither a command nor the name of a file. */
static enum status refuse_word(const char *word, struct error *error)
{
    struct nearest nearest = nearest_begin(word);
    for (const struct command_row *row = command_rows; row->name != NULL; row++)
        nearest_offer(&nearest, row->name);
    char shown[SHOWN_MAX];
    const struct command_row *command = command_find(word);
    if (command != NULL)
        return error_set(error, STATUS_USAGE,
                         "'%s' is a command, and there is one before it: allowed is one, at "
                         "the beginning",
                         command->name);
    const char *value = strchr(word, '=');
    if (value != NULL)
        return refuse_assignment(word, value, error);
    return refuse_unknown(error, nearest.best, "", "see `pipeline help all`, or give a file",
                          "'%s' is neither a command nor a config file",
                          text_shown(word, shown));
}

/* Takes the runs of one config file, which may be part of the program. */
static enum status read_config(const char *path, const struct draft *defaults,
                               struct arena *storage, struct drafts *drafts,
                               struct options *options, struct error *error)
{
    const char *text = NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        const struct embedded *embedded = config_find_embedded(path);
        size_t length = strlen(path);
        if (embedded == NULL && (length < 4 || strcmp(path + length - 4, ".ini") != 0))
            return refuse_word(path, error);
        if (embedded != NULL) {
            text = embedded->text;
            path = arena_text(storage, path);
            if (path == NULL)
                return error_set(error, STATUS_NO_MEMORY, "out of memory");
            options->embedded = options->embedded == NULL ? path : options->embedded;
        }
    }
    return config_read(path, text, defaults, drafts, storage, error);
}

/* Takes the runs of the config files, or of the lesson: [global] wins over a default, and a
 * section over [global]. Without config files there is one run, called "run". */
static enum status read_configs(const struct command_line *line, struct options *options,
                                struct drafts *drafts, struct error *error)
{
    struct draft defaults = {0};
    enum status status = options_set_defaults(SCOPE_RUN, &defaults.settings, error);
    if (status != STATUS_OK)
        return status;
    if (options->lesson != NULL)
        return config_read(options->lesson->name, options->lesson->text, &defaults, drafts,
                           line->storage, error);
    if (line->word_count == 0)
        return drafts_add(drafts, &defaults, "run", &defaults.named, error);
    for (int i = 0; i < line->word_count && status == STATUS_OK; i++)
        status = read_config(line->words[i], &defaults, line->storage, drafts, options, error);
    return status;
}

/* The command line wins over config files, in every run. */
static enum status apply_command_line(const struct command_line *line, struct drafts *drafts,
                                      struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < drafts->count && status == STATUS_OK; i++) {
        for (int j = 0; j < line->given_count && status == STATUS_OK; j++) {
            const struct option_row *row = line->given[j].row;
            if (row->scope != SCOPE_RUN)
                continue;
            status = draft_set(&drafts->items[i], &line->given[j], error);
            if (row != &option_rows[OPTION_NO_DATA]) /* the message tells of other runs */
                drafts->message = NULL;
        }
    }
    return status;
}

/* Refuses an option that is given and swept as well: nobody could tell which should win. */
static enum status check_sweep(const struct command_line *line, const struct sweep *sweep,
                               struct error *error)
{
    char label[LABEL_MAX];
    for (int axis = 0; axis < sweep->axis_count; axis++) {
        for (int j = 0; j < line->given_count; j++) {
            if (strcmp(line->given[j].row->name, sweep->axes[axis].option) == 0)
                return error_set(error, STATUS_USAGE,
                                 "%s is given, and --sweep=%s=... as well: allowed is one of "
                                 "them",
                                 assignment_label(&line->given[j], label),
                                 sweep->axes[axis].option);
        }
    }
    return STATUS_OK;
}

static enum status finish_drafts(struct drafts *drafts, const struct options *options,
                                 struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < drafts->count && status == STATUS_OK; i++) {
        const struct settings *settings = &drafts->items[i].settings;
        status = draft_finish(&drafts->items[i], error);
        if (status == STATUS_OK && device_is_real(settings->device))
            status = settings_check_profile(settings, options, error);
    }
    return status;
}

/* Refuses --machine where it would do nothing: it is easily taken for --device. */
static enum status check_machine(const struct drafts *drafts, const struct options *options,
                                 struct error *error)
{
    char shown[SHOWN_MAX];
    bool used = options->command == COMMAND_COMPARE || options->model != MODEL_NONE;
    for (int i = 0; i < drafts->count; i++) {
        const struct settings *settings = &drafts->items[i].settings;
        used |= settings_are_open(settings);
    }
    if (used || options->machine == NULL)
        return STATUS_OK;
    return error_set(
        error, STATUS_USAGE,
        "--machine=%s stands for the device in compare, and where --tiles, "
        "--streams, --issue or --model ask for the simulator: to run on a simulated "
        "machine, give --device=sim:NAME",
        text_shown(options->machine, shown));
}

static enum status take_runs(const struct drafts *drafts, struct options *options,
                             struct error *error)
{
    options->runs =
        arena_zeros(&options->storage, (size_t)drafts->count, sizeof options->runs[0]);
    if (options->runs == NULL)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    for (int i = 0; i < drafts->count; i++)
        options->runs[i] = drafts->items[i].settings;
    options->run_count = drafts->count;
    options->message = options->sweep.axis_count == 0 ? drafts->message : NULL;
    return STATUS_OK;
}

enum status runs_build(const struct command_line *line, struct options *options,
                       struct error *error)
{
    struct drafts drafts = {0};
    enum status status = check_sweep(line, &options->sweep, error);
    if (status == STATUS_OK)
        status = read_configs(line, options, &drafts, error);
    if (status == STATUS_OK)
        status = apply_command_line(line, &drafts, error);
    if (status == STATUS_OK)
        status = sweep_expand(&options->sweep, &drafts, error);
    if (status == STATUS_OK)
        status = finish_drafts(&drafts, options, error);
    if (status == STATUS_OK)
        status = check_machine(&drafts, options, error);
    if (status == STATUS_OK)
        status = outputs_check(line, &drafts, options, error);
    if (status == STATUS_OK)
        status = take_runs(&drafts, options, error);
    free(drafts.items);
    return status;
}
