/* parse.c - the command line: which command, and its options. */
#include "core/items.h"
#include "core/names.h"
#include "options/table.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* getopt's codes: LONG_CODE + i is the long option of row i; letters are below. */
enum { LONG_CODE = 256, WORD_CODE = 1 };

/* Writes the table as getopt wants it. A leading '-' keeps words and options in order, ':'
 * tells a missing value from an unknown option. */
static void getopt_tables(struct option longs[OPTION_COUNT + 1], char shorts[])
{
    *shorts++ = '-';
    *shorts++ = ':';
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        bool takes_value = row->placeholder != NULL;
        longs[i] = (struct option){
            .name = row->name,
            .has_arg = takes_value               ? required_argument
                       : row->scope == SCOPE_RUN ? optional_argument
                                                 : no_argument,
            .val = LONG_CODE + i,
        };
        if (row->letter == 0)
            continue;
        *shorts++ = row->letter;
        if (takes_value)
            *shorts++ = ':';
    }
    *shorts = '\0';
    longs[OPTION_COUNT] = (struct option){0};
}

/* Returns the row that getopt's code means, or NULL. */
static const struct option_row *row_of_code(int code)
{
    if (code >= LONG_CODE && code < LONG_CODE + OPTION_COUNT)
        return &option_rows[code - LONG_CODE];
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (option_rows[i].letter != 0 && option_rows[i].letter == code)
            return &option_rows[i];
    }
    return NULL;
}

/* Refuses `word`, "--name" or "--name=value": no name begins like that, or several do. */
static enum status refuse_long_option(const char *word, struct error *error)
{
    char shown[SHOWN_MAX], candidates[LABEL_MAX] = "", name[LABEL_MAX];
    int count = 0;
    text_shown(word, shown);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (int i = 0; i < OPTION_COUNT && name[0] != '\0'; i++) {
        if (strncmp(option_rows[i].name, name, strlen(name)) != 0)
            continue;
        text_add(candidates, LABEL_MAX, " or ", "--%s", option_rows[i].name);
        count++;
    }
    if (count > 1)
        return error_set(error, STATUS_USAGE, "%s is ambiguous: it could be %s", shown,
                         candidates);
    const char *nearest = option_nearest(name, false);
    snprintf(name, sizeof name, "--%s", nearest != NULL ? nearest : "");
    return refuse_unknown(error, nearest != NULL ? name : NULL, "", "see `pipeline help all`",
                          "unknown option %s", shown);
}

/* Refuses `word`, for which getopt returned '?'. */
static enum status refuse_option(const char *word, struct error *error)
{
    char shown[SHOWN_MAX];
    if (optopt == 0)
        return refuse_long_option(word, error);
    const struct option_row *row = row_of_code(optopt);
    if (row != NULL) /* known, so it is the value that is wrong */
        return error_set(error, STATUS_USAGE, "%s: --%s takes no value",
                         text_shown(word, shown), row->name);
    char letter[2] = {(char)optopt, '\0'};
    return error_set(error, STATUS_USAGE, "unknown option -%s: see `pipeline help all`",
                     text_shown(letter, shown));
}

/* Returns the field of an option that is not a run's setting with this command, or NULL. */
static const char **other_field(const struct option_row *row, enum command command,
                                struct options *options)
{
    if (row == &option_rows[OPTION_DEVICE] &&
        (command == COMMAND_VIEW || command == COMMAND_TRY))
        return &options->part.device; /* of a trace, not a device to run on */
    return row == &option_rows[OPTION_OUTPUT] &&
                   (command == COMMAND_RECORD || command == COMMAND_TRY ||
                    command == COMMAND_LAB || command == COMMAND_EXERCISE)
               ? &options->output
               : NULL;
}

/* Takes one option. One for the whole command is set at once, one for a run later, in each run.
 */
static enum status take_option(struct command_line *line, const struct option_row *row,
                               const char *value, struct options *options, struct error *error)
{
    const char *kept = arena_text(line->storage, value != NULL ? value : "yes");
    if (kept == NULL)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    struct assignment given = {row, kept, {.source = SOURCE_COMMAND_LINE}};
    line->given[line->given_count++] = given;
    if (row->type == TYPE_SWEEP)
        return sweep_add(&given, options, error);
    const char **elsewhere = other_field(row, line->ahead, options);
    if (elsewhere != NULL) {
        *elsewhere = kept;
        return kept[0] != '\0' ? STATUS_OK : assignment_refuse(&given, "is empty", error);
    }
    return row->scope == SCOPE_PROGRAM ? options_set(&given, options, error)
                                       : draft_set(&line->trial, &given, error);
}

/* Returns the command that the first word names. What an option means may depend on it. */
static enum command find_command(int argc, char *const argv[])
{
    struct option longs[OPTION_COUNT + 1];
    char shorts[2 * OPTION_COUNT + 3];
    const struct command_row *row = NULL;
    int code;
    getopt_tables(longs, shorts);
    optind = 0; /* glibc: start again */
    opterr = 0;
    while ((code = getopt_long(argc, argv, shorts, longs, NULL)) != -1 && code != WORD_CODE)
        continue;
    if (code == WORD_CODE)
        row = command_find(optarg);
    else if (optind < argc) /* after "--" */
        row = command_find(argv[optind]);
    return row != NULL ? row->command : COMMAND_RUN;
}

/* Returns true if no option's name begins as "--name" or "--name=value" does. */
static bool is_no_option(const char *word)
{
    const size_t length = strcspn(word + 2, "=");
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (strncmp(option_rows[i].name, word + 2, length) == 0)
            return false;
    }
    return true;
}

/* Returns true if `word` is for the compiler of `pipeline try`: it is "-lm", "--use_fast_math"
 * or the like, and has no letter of an option's, and no name. */
static bool is_for_compiler(const char *word, enum command command)
{
    if (command != COMMAND_TRY || word[0] != '-' || word[1] == '\0')
        return false;
    if (word[1] == '-')
        return is_no_option(word);
    const struct option_row *row = row_of_code((unsigned char)word[1]);
    return row == NULL || !option_is_taken(row, command);
}

/* Walks over argv with getopt. --help and --version end the walk, and the rest is ignored. The
 * program to be recorded ends it, too, and the rest is that program's. */
static enum status command_line_read(int argc, char *const argv[], struct command_line *line,
                                     struct options *options, struct error *error)
{
    struct option longs[OPTION_COUNT + 1];
    char shorts[2 * OPTION_COUNT + 3], allowed[LABEL_MAX];
    line->ahead = find_command(argc, argv);
    getopt_tables(longs, shorts);
    optind = 0;
    opterr = 0;
    for (int code;;) {
        while (optind > 0 && optind < argc && is_for_compiler(argv[optind], line->ahead))
            line->words[line->word_count++] = argv[optind++];
        code = getopt_long(argc, argv, shorts, longs, NULL);
        if (code == -1)
            break;
        if (code == WORD_CODE) {
            line->words[line->word_count++] = optarg;
            if (line->ahead == COMMAND_RECORD && line->word_count > 1)
                break;
            continue;
        }
        if (code == '?')
            return refuse_option(argv[optind - 1], error);
        const struct option_row *row = row_of_code(code == ':' ? optopt : code);
        if (code == ':')
            return error_set(error, STATUS_USAGE, "--%s needs a value: %s", row->name,
                             option_allowed(row, allowed));
        if (row->type == TYPE_COMMAND) {
            options->command =
                row == &option_rows[OPTION_HELP] ? COMMAND_HELP : COMMAND_VERSION;
            return STATUS_OK;
        }
        enum status status = take_option(line, row, optarg, options, error);
        if (status != STATUS_OK)
            return status;
    }
    line->own_count = line->word_count;
    while (optind > 0 && optind < argc) /* the words after "--", or after the program */
        line->words[line->word_count++] = argv[optind++];
    return STATUS_OK;
}

/* Takes the command off the front of the words, if it is there. */
static void take_command(struct command_line *line, struct options *options)
{
    const struct command_row *row = line->word_count > 0 ? command_find(line->words[0]) : NULL;
    if (row == NULL)
        return;
    options->command = row->command;
    line->words++;
    line->word_count--;
}

/* Refuses the first option that the command does not take. */
static enum status check_command(const struct command_line *line, const struct options *options,
                                 struct error *error)
{
    char label[LABEL_MAX], takers[LABEL_MAX] = "", wanted[LABEL_MAX] = "";
    const struct command_row *command = command_rows;
    while (command->command != options->command)
        command++;
    EACH (const struct assignment, given, line->given, line->given_count) {
        if (option_is_taken(given->row, options->command))
            continue;
        assignment_label(given, label);
        for (const struct command_row *taker = command_rows; taker->name != NULL; taker++) {
            if (option_is_taken(given->row, taker->command))
                text_add(takers, LABEL_MAX, ", ", "`pipeline %s`", taker->name);
        }
        struct nearest nearest = nearest_begin(given->row->name);
        for (int other = 0; other < OPTION_COUNT; other++) {
            if (option_is_taken(&option_rows[other], options->command))
                nearest_offer(&nearest, option_rows[other].name);
        }
        if (nearest.best != NULL)
            snprintf(wanted, sizeof wanted, "; did you mean --%s?", nearest.best);
        return error_set(error, STATUS_USAGE, "%s is not for `pipeline %s`: it is for %s%s",
                         label, command->name, takers, wanted);
    }
    if ((options->command == COMMAND_CALIBRATE || options->command == COMMAND_LAB) &&
        line->word_count > 0)
        return error_set(error, STATUS_USAGE,
                         "%s is not for `pipeline %s`, which takes no words",
                         text_shown(line->words[0], (char[SHOWN_MAX]){""}), command->name);
    return STATUS_OK;
}

/* Refuses kernels that `pipeline calibrate` would ignore: it always measures those of the
 * table, and can measure one of the user's own as well. */
static enum status check_calibrated(const struct command_line *line, enum command command,
                                    struct error *error)
{
    const struct settings *settings = &line->trial.settings;
    char label[LABEL_MAX];
    if (command != COMMAND_CALIBRATE ||
        line->trial.origins[OPTION_KERNEL].source == SOURCE_DEFAULT)
        return STATUS_OK;
    setting_label(settings, line->trial.origins, OPTION_KERNEL, label);
    if (settings->chain_length > 1)
        return error_set(error, STATUS_USAGE,
                         "%s: `pipeline calibrate` measures one kernel of your own: allowed is "
                         "./FILE.so",
                         label);
    if (settings->chain[0]->file == NULL)
        return error_set(error, STATUS_USAGE,
                         "%s: `pipeline calibrate` measures all kernels of `pipeline list "
                         "kernels` in any case: allowed is one of your own, ./FILE.so",
                         label);
    return STATUS_OK;
}

/* The words after `pipeline help` are names, even if they begin with dashes. */
static enum status parse_help(int argc, char *const argv[], struct command_line *line,
                              struct options *options, struct error *error)
{
    options->command = COMMAND_HELP;
    for (int i = 2; i < argc; i++)
        line->words[line->word_count++] = argv[i];
    return words_take(line, options, error);
}

static enum status parse(int argc, char *const argv[], struct command_line *line,
                         struct options *options, struct error *error)
{
    enum status status = options_set_defaults(SCOPE_PROGRAM, options, error);
    if (status != STATUS_OK)
        return status;
    if (argc > 1 && strcmp(argv[1], "help") == 0)
        return parse_help(argc, argv, line, options, error);
    status = command_line_read(argc, argv, line, options, error);
    if (status != STATUS_OK || options->command == COMMAND_HELP ||
        options->command == COMMAND_VERSION)
        return status;
    take_command(line, options);
    status = check_command(line, options, error);
    if (status == STATUS_OK)
        status = check_calibrated(line, options->command, error);
    if (status == STATUS_OK && options->dry_run && options->format == FORMAT_CSV)
        status = error_set(error, STATUS_USAGE,
                           "--dry-run --format=csv: a plan is no table of runs: allowed with "
                           "--dry-run are text and json");
    if (status != STATUS_OK)
        return status;
    return words_take(line, options, error);
}

enum status options_parse(int argc, char *const argv[], struct options *options,
                          struct error *error)
{
    struct options parsed = {.command = COMMAND_RUN};
    /* There may be as many as there are letters: -qv is two options in one argument. */
    size_t most = 1;
    for (int i = 0; i < argc; i++)
        most += strlen(argv[i]) + 1;
    struct assignment *given = calloc(most, sizeof given[0]);
    const char **words = calloc(most, sizeof words[0]);
    enum status status = STATUS_FAILED;
    if (given == NULL || words == NULL) {
        error_set(error, STATUS_NO_MEMORY, "out of memory");
        goto free_lists;
    }
    struct command_line line = {.given = given, .words = words, .storage = &parsed.storage};
    status = parse(argc, argv, &line, &parsed, error);
    if (status == STATUS_OK)
        *options = parsed;
    else
        options_free(&parsed);
free_lists:
    free(words);
    free(given);
    return status;
}

enum status options_read_text(const char *name, const char *text, struct options *options,
                              struct error *error)
{
    struct options read = {0};
    const struct embedded config = {.name = name, .text = text};
    struct assignment given = {.row = option_find("no-data"),
                               .text = "yes",
                               .origin = {.source = SOURCE_COMMAND_LINE}};
    const struct command_line line = {
        .given = &given, .given_count = 1, .storage = &read.storage};
    enum status status = options_set_defaults(SCOPE_PROGRAM, &read, error);
    read.command = COMMAND_LESSON; /* whose config is not a file either */
    read.lesson = &config;
    if (status == STATUS_OK)
        status = runs_build(&line, &read, error);
    read.lesson = NULL;
    if (status == STATUS_OK)
        *options = read;
    else
        options_free(&read);
    return status;
}

void options_free(struct options *options)
{
    arena_free(&options->storage);
    *options = (struct options){0};
}
