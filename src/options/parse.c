/* parse.c - the command line, and how it, the config files and the defaults become
 * runs. */
#include "options/table.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* getopt's code for row i's long option; letters are below it. */
enum { LONG_CODE = 256, WORD_CODE = 1 };

/* The command line, taken apart. */
struct command_line {
    struct assignment *given; /* the per-run options, in order */
    int given_count;
    const char **words; /* what is no option */
    int word_count;
    struct string **strings; /* what the settings point at */
    struct draft trial; /* each value is tried here at once, so that errors come in order */
};

static enum status fail_memory(struct error *error)
{
    return error_set(error, STATUS_FAILED, "out of memory");
}

/* getopt's view of the table. A leading '-' keeps words and options in order, ':' tells a
 * missing value from an unknown option. */
static void getopt_tables(struct option longs[OPTION_COUNT + 1], char shorts[])
{
    *shorts++ = '-';
    *shorts++ = ':';
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        bool takes_value = row->placeholder != NULL;
        longs[i] = (struct option){
            .name = row->name,
            .has_arg = takes_value ? required_argument : no_argument,
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

/* The row that getopt's code means, or NULL. */
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

/* Writes the long options that begin with `prefix` into `text`, and returns how many there are.
 */
static int list_candidates(const char *prefix, char text[LABEL_MAX])
{
    size_t length = 0;
    int count = 0;
    text[0] = '\0';
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (strncmp(option_rows[i].name, prefix, strlen(prefix)) != 0)
            continue;
        length += (size_t)snprintf(text + length, LABEL_MAX - length, "%s--%s",
                                   count == 0 ? "" : " or ", option_rows[i].name);
        count++;
    }
    return count;
}

/* `word` is "--name" or "--name=value", and there is no such name, or several begin so. */
static enum status refuse_long_option(const char *word, struct error *error)
{
    char shown[SHOWN_MAX], candidates[LABEL_MAX];
    text_shown(word, shown);
    char *name = strndup(word + 2, strcspn(word + 2, "="));
    if (name == NULL)
        return fail_memory(error);
    if (name[0] != '\0' && list_candidates(name, candidates) > 1) {
        error_set(error, STATUS_USAGE, "%s is ambiguous: it could be %s", shown, candidates);
    } else {
        const char *nearest = option_nearest(name, false);
        if (nearest != NULL)
            error_set(error, STATUS_USAGE, "unknown option %s: did you mean --%s?", shown,
                      nearest);
        else
            error_set(error, STATUS_USAGE,
                      "unknown option %s: allowed are those of `pipeline --help`", shown);
    }
    free(name);
    return STATUS_USAGE;
}

/* getopt returned '?' for `word`. */
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
    return error_set(error, STATUS_USAGE,
                     "unknown option -%s: allowed are those of `pipeline --help`",
                     text_shown(letter, shown));
}

static enum status refuse_missing_value(struct error *error)
{
    char allowed[LABEL_MAX];
    const struct option_row *row = row_of_code(optopt);
    return error_set(error, STATUS_USAGE, "--%s needs a value: %s", row->name,
                     option_allowed(row, allowed));
}

/* Takes one option. Options of the whole are set at once; those of a run are kept for each. */
static enum status take_option(struct command_line *line, const struct option_row *row,
                               const char *value, struct options *options, struct error *error)
{
    const char *kept = strings_copy(line->strings, value != NULL ? value : "yes");
    if (kept == NULL)
        return fail_memory(error);
    struct assignment given = {row, kept, {.source = SOURCE_COMMAND_LINE}};
    if (row->scope == SCOPE_PROGRAM)
        return options_set(&given, options, error);
    line->given[line->given_count++] = given;
    return draft_set(&line->trial, &given, error);
}

/* Walks over argv with getopt. --help and --version end the walk, whatever stands behind them.
 */
static enum status command_line_read(int argc, char *const argv[], struct command_line *line,
                                     struct options *options, struct error *error)
{
    struct option longs[OPTION_COUNT + 1];
    char shorts[2 * OPTION_COUNT + 3];
    getopt_tables(longs, shorts);
    optind = 0; /* glibc: begin anew */
    opterr = 0;
    for (int code; (code = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        if (code == WORD_CODE) {
            line->words[line->word_count++] = optarg;
            continue;
        }
        if (code == '?')
            return refuse_option(argv[optind - 1], error);
        if (code == ':')
            return refuse_missing_value(error);
        const struct option_row *row = row_of_code(code);
        if (row->type == TYPE_COMMAND) {
            options->command =
                row == &option_rows[OPTION_HELP] ? COMMAND_HELP : COMMAND_VERSION;
            return STATUS_OK;
        }
        enum status status = take_option(line, row, optarg, options, error);
        if (status != STATUS_OK)
            return status;
    }
    while (optind > 0 && optind < argc) /* behind "--" */
        line->words[line->word_count++] = argv[optind++];
    return STATUS_OK;
}

/* Takes the command off the front of the words, if it is there. */
static enum status take_command(struct command_line *line, struct options *options,
                                struct error *error)
{
    const struct command_row *row = command_rows;
    while (row->name != NULL && line->word_count > 0 && strcmp(row->name, line->words[0]) != 0)
        row++;
    if (row->name == NULL || line->word_count == 0)
        return STATUS_OK;
    if (!row->available)
        return error_set(error, STATUS_USAGE,
                         "%s is not yet in this version (allowed are run, list, calibrate, "
                         "bench, compare and view)",
                         row->name);
    options->command = row->command;
    line->words++;
    line->word_count--;
    return STATUS_OK;
}

/* pipeline list [WHAT] */
static enum status take_list_word(const struct command_line *line, struct options *options,
                                  struct error *error)
{
    static const char allowed[] = "allowed are kernels, machines, devices, mistakes, lessons";
    char shown[SHOWN_MAX];
    if (line->word_count == 0)
        return STATUS_OK;
    if (line->word_count > 1)
        return error_set(error, STATUS_USAGE, "list %s is one word too many: allowed is one",
                         text_shown(line->words[1], shown));
    for (int i = 0; list_words[i] != NULL; i++) {
        if (strcmp(list_words[i], line->words[0]) == 0)
            options->list_what = list_words[i];
    }
    if (options->list_what != NULL)
        return STATUS_OK;
    text_shown(line->words[0], shown);
    const char *nearest = word_nearest(line->words[0], list_words);
    if (nearest != NULL)
        return error_set(error, STATUS_USAGE, "list %s is unknown: did you mean %s? (%s)",
                         shown, nearest, allowed);
    return error_set(error, STATUS_USAGE, "list %s is unknown: %s", shown, allowed);
}

/* A word that is neither a command nor the name of a file. */
static enum status refuse_word(const char *word, struct error *error)
{
    const char *commands[16];
    int count = 0;
    for (const struct command_row *row = command_rows; row->name != NULL; row++)
        commands[count++] = row->name;
    commands[count] = NULL;
    char shown[SHOWN_MAX];
    text_shown(word, shown);
    const char *nearest = word_nearest(word, commands);
    if (nearest != NULL)
        return error_set(error, STATUS_USAGE,
                         "'%s' is neither a command nor a config file: did you mean %s?", shown,
                         nearest);
    return error_set(error, STATUS_USAGE,
                     "'%s' is neither a command nor a config file: allowed are those of "
                     "`pipeline --help`, and files",
                     shown);
}

static bool is_ini_name(const char *word)
{
    size_t length = strlen(word);
    return length >= 4 && strcmp(word + length - 4, ".ini") == 0;
}

/* Default < [global] < section: without config files, one run called "run". */
static enum status read_configs(struct command_line *line, struct drafts *drafts,
                                struct error *error)
{
    struct draft defaults = {0};
    options_set_defaults(SCOPE_RUN, &defaults.settings);
    if (line->word_count == 0)
        return drafts_add(drafts, &defaults, "run", &defaults.named, error);
    for (int i = 0; i < line->word_count; i++) {
        const char *path = line->words[i];
        if (!is_ini_name(path) && access(path, F_OK) != 0 && errno == ENOENT)
            return refuse_word(path, error);
        enum status status = config_read(path, &defaults, drafts, line->strings, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* ... < command line, which changes every run ... */
static enum status apply_command_line(const struct command_line *line, struct drafts *drafts,
                                      struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < drafts->count && status == STATUS_OK; i++) {
        for (int j = 0; j < line->given_count && status == STATUS_OK; j++)
            status = draft_set(&drafts->items[i], &line->given[j], error);
    }
    return status;
}

/* ... < sweep. Which of the two would win over the other, one could only guess. */
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
        if (status == STATUS_OK && strncmp(settings->device, "cuda", 4) == 0)
            status = settings_check_profile(settings, options, error);
    }
    return status;
}

/* --machine alone would do nothing, and is easily taken for --device. */
static enum status check_machine(const struct drafts *drafts, const struct options *options,
                                 struct error *error)
{
    char shown[SHOWN_MAX];
    bool used = options->command != COMMAND_RUN || options->model != MODEL_NONE;
    for (int i = 0; i < drafts->count; i++) {
        const struct settings *settings = &drafts->items[i].settings;
        used |= settings->tiles == 0 || settings->streams == 0;
    }
    if (used || options->machine == NULL)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "--machine=%s stands for the device in compare, and where --tiles, "
                     "--streams or --model ask for the simulator: to run on a simulated "
                     "machine, give --device=sim:NAME",
                     text_shown(options->machine, shown));
}

static enum status take_runs(const struct drafts *drafts, struct options *options,
                             struct error *error)
{
    options->runs = calloc((size_t)drafts->count, sizeof options->runs[0]);
    if (options->runs == NULL)
        return fail_memory(error);
    for (int i = 0; i < drafts->count; i++)
        options->runs[i] = drafts->items[i].settings;
    options->run_count = drafts->count;
    return STATUS_OK;
}

static enum status build_runs(struct command_line *line, struct options *options,
                              struct error *error)
{
    struct drafts drafts = {0};
    enum status status = check_sweep(line, &options->sweep, error);
    if (status == STATUS_OK)
        status = read_configs(line, &drafts, error);
    if (status == STATUS_OK)
        status = apply_command_line(line, &drafts, error);
    if (status == STATUS_OK)
        status = sweep_expand(&options->sweep, &drafts, error);
    if (status == STATUS_OK)
        status = finish_drafts(&drafts, options, error);
    if (status == STATUS_OK)
        status = check_machine(&drafts, options, error);
    if (status == STATUS_OK)
        status = outputs_check(&drafts, options, error);
    if (status == STATUS_OK)
        status = take_runs(&drafts, options, error);
    free(drafts.items);
    return status;
}

/* Nothing is run, so nothing can be set or swept. */
static enum status check_view(const struct command_line *line, const struct options *options,
                              struct error *error)
{
    char label[LABEL_MAX];
    const char *given = NULL;
    if (line->given_count > 0)
        given = assignment_label(&line->given[0], label);
    else if (options->sweep.axis_count > 0)
        given = "--sweep";
    else if (options->dry_run)
        given = "--dry-run";
    else if (options->quick)
        given = "--quick";
    else if (options->machine != NULL)
        given = "--machine";
    else if (options->model != MODEL_NONE)
        given = "--model";
    if (given != NULL)
        return error_set(
            error, STATUS_USAGE,
            "%s is about running, and view shows what has run: allowed with it are "
            "--format, --timeline, --gantt, --size, --quiet, --verbose and "
            "--no-color",
            given);
    if (line->word_count == 0)
        return error_set(error, STATUS_USAGE,
                         "view needs a TRACE: what `nsys stats -r cuda_gpu_trace --format csv` "
                         "printed, or `nsys export --type=sqlite` wrote");
    return STATUS_OK;
}

static enum status take_words(const struct command_line *line, struct options *options,
                              struct error *error)
{
    options->words = calloc((size_t)line->word_count + 1, sizeof options->words[0]);
    if (options->words == NULL)
        return fail_memory(error);
    for (int i = 0; i < line->word_count; i++) {
        options->words[i] = strings_copy(line->strings, line->words[i]);
        if (options->words[i] == NULL)
            return fail_memory(error);
    }
    options->word_count = line->word_count;
    return STATUS_OK;
}

/* pipeline view TRACE ... */
static enum status take_traces(const struct command_line *line, struct options *options,
                               struct error *error)
{
    static const struct drafts none;
    enum status status = check_view(line, options, error);
    if (status == STATUS_OK)
        status = take_words(line, options, error);
    return status == STATUS_OK ? outputs_check(&none, options, error) : status;
}

/* pipeline bench [NAME ...]: its words are no config files. */
static enum status take_bench(struct command_line *line, struct options *options,
                              struct error *error)
{
    enum status status = bench_check(line->given, line->given_count, options, error);
    if (status == STATUS_OK)
        status = take_words(line, options, error);
    line->word_count = 0;
    return status == STATUS_OK ? build_runs(line, options, error) : status;
}

static enum status parse(int argc, char *const argv[], struct command_line *line,
                         struct options *options, struct error *error)
{
    options_set_defaults(SCOPE_PROGRAM, options);
    enum status status = command_line_read(argc, argv, line, options, error);
    if (status != STATUS_OK || options->command == COMMAND_HELP ||
        options->command == COMMAND_VERSION)
        return status;
    status = take_command(line, options, error);
    if (status != STATUS_OK)
        return status;
    if (options->command == COMMAND_LIST)
        return take_list_word(line, options, error);
    if (options->command == COMMAND_VIEW)
        return take_traces(line, options, error);
    if (options->command == COMMAND_BENCH)
        return take_bench(line, options, error);
    if (options->quick)
        return error_set(error, STATUS_USAGE, "--quick is about `pipeline bench` alone");
    if (options->command == COMMAND_CALIBRATE)
        status = calibrate_check(line->given, line->given_count,
                                 line->word_count > 0 ? line->words[0] : NULL, options, error);
    return status == STATUS_OK ? build_runs(line, options, error) : status;
}

enum status options_parse(int argc, char *const argv[], struct options *options,
                          struct error *error)
{
    struct options parsed = {.command = COMMAND_RUN};
    /* As many as there are letters: one argument may hold several options, as -qv does. */
    size_t most = 1;
    for (int i = 0; i < argc; i++)
        most += strlen(argv[i]) + 1;
    struct assignment *given = calloc(most, sizeof given[0]);
    const char **words = calloc(most, sizeof words[0]);
    enum status status = STATUS_FAILED;
    if (given == NULL || words == NULL) {
        fail_memory(error);
        goto free_lists;
    }
    struct command_line line = {.given = given, .words = words, .strings = &parsed.storage};
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
