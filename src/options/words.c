/* words.c - the words of the command line, behind the command that they are for. */
#include "causes/verdict.h"
#include "core/names.h"
#include "options/lesson.h"
#include "options/table.h"

#include <string.h>

/* Refuses a second word behind a command that takes one. */
static enum status check_one_word(const struct command_line *line, const char *command,
                                  struct error *error)
{
    char shown[SHOWN_MAX];
    if (line->word_count <= 1)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE, "`%s` takes one word; '%s' is one too many", command,
                     text_shown(line->words[1], shown));
}

/* pipeline list [WHAT] */
static enum status take_list_word(const struct command_line *line, struct options *options,
                                  struct error *error)
{
    char shown[SHOWN_MAX], allowed[LABEL_MAX] = "must be ";
    if (line->word_count != 1)
        return check_one_word(line, "list", error);
    struct nearest nearest = nearest_begin(line->words[0]);
    for (int i = 0; list_words[i] != NULL; i++) {
        text_add(allowed, LABEL_MAX, i > 0 ? ", " : "", "%s", list_words[i]);
        nearest_offer(&nearest, list_words[i]);
        if (strcmp(list_words[i], line->words[0]) == 0)
            options->list_what = list_words[i];
    }
    char see[sizeof allowed + 4];
    snprintf(see, sizeof see, " (%s)", allowed);
    return options->list_what != NULL
               ? STATUS_OK
               : refuse_unknown(error, nearest.best, see, allowed, "list %s is unknown",
                                text_shown(line->words[0], shown));
}

/* Returns the name of the command, option or cause that a word names, or of an option that has
 * a value of that name, as --order has "breadth", and lists these options; NULL: none has. */
static const char *topic_of(const char *word, char options[LABEL_MAX])
{
    const struct option_row *option = option_find_typed(word);
    const int cause = verdict_code_find(word);
    if (command_find(word) != NULL || option != NULL)
        return option != NULL ? option->name : command_find(word)->name;
    for (int i = 0; i < OPTION_COUNT && cause < 0; i++) {
        const char *const *choice = option_rows[i].choices;
        for (; choice != NULL && *choice != NULL; choice++)
            if (strcmp(*choice, word) == 0) {
                option = &option_rows[i];
                text_add(options, LABEL_MAX, ", ", "%s", option->name);
            }
    }
    return cause >= 0 ? verdict_rows[cause].name : option != NULL ? option->name : NULL;
}

/* pipeline help [all|OPTION|VALUE|COMMAND|CAUSE] */
static enum status take_topic(const struct command_line *line, struct options *options,
                              struct error *error)
{
    char shown[SHOWN_MAX], word[SHOWN_MAX], found[LABEL_MAX] = "";
    if (line->word_count > 1 && command_find(line->words[0]) != NULL)
        return error_set(error, STATUS_USAGE,
                         "help %s %s is one word too many: `pipeline help %s` is about the "
                         "command; did you mean `pipeline %s %s`?",
                         line->words[0], text_shown(line->words[1], shown), line->words[0],
                         line->words[0], shown);
    if (line->word_count != 1)
        return check_one_word(line, "help", error);
    options->all = strcmp(line->words[0], "all") == 0;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(line->words[0], "="), line->words[0]);
    options->topic = options->all ? NULL : topic_of(word, found);
    if (strchr(found, ',') != NULL)
        return error_set(error, STATUS_USAGE,
                         "help %s: several options have that value, among them %s",
                         line->words[0], found);
    if (options->all || options->topic != NULL)
        return STATUS_OK;
    if (lesson_find(word) != NULL)
        return error_set(error, STATUS_USAGE, "help %s: that is a lesson: `pipeline lesson %s`",
                         word, word);
    struct nearest nearest = nearest_begin(word + strspn(word, "-"));
    for (const struct command_row *row = command_rows; row->name != NULL; row++)
        nearest_offer(&nearest, row->name);
    for (int i = 0; i < OPTION_COUNT; i++)
        nearest_offer(&nearest, option_rows[i].name);
    for (int i = 0; i < VERDICT_COUNT; i++)
        nearest_offer(&nearest, verdict_rows[i].name);
    return refuse_unknown(error, nearest.best, "", "see `pipeline help all`",
                          "help %s: there is no such command, option or cause (words: "
                          "docs/glossary.md)",
                          text_shown(line->words[0], shown));
}

/* pipeline lesson N|NAME */
static enum status take_lesson(struct command_line *line, struct options *options,
                               struct error *error)
{
    char shown[SHOWN_MAX];
    if (line->word_count == 0)
        return error_set(error, STATUS_USAGE,
                         "lesson needs a number or a name: `pipeline list lessons` lists them");
    if (line->word_count > 1)
        return check_one_word(line, "lesson", error);
    options->lesson = lesson_find(line->words[0]);
    if (options->lesson != NULL) {
        line->word_count = 0;
        return runs_build(line, options, error);
    }
    return refuse_unknown(error, lesson_nearest(line->words[0]),
                          " (`pipeline list lessons` lists them)",
                          "`pipeline list lessons` lists them", "there is no lesson %s",
                          text_shown(line->words[0], shown));
}

/* Copies `count` words, ended by NULL. */
static enum status copy_words(struct arena *storage, const char *const *words, int count,
                              const char ***copied, struct error *error)
{
    *copied = arena_zeros(storage, (size_t)count + 1, sizeof **copied);
    for (int i = 0; i < count && *copied != NULL; i++)
        (*copied)[i] = arena_text(storage, words[i]);
    return storage->full ? error_set(error, STATUS_NO_MEMORY, "out of memory") : STATUS_OK;
}

static enum status take_words(const struct command_line *line, struct options *options,
                              struct error *error)
{
    options->word_count = line->word_count;
    return copy_words(line->storage, line->words, line->word_count, &options->words, error);
}

/* pipeline view TRACE ... */
static enum status take_traces(struct command_line *line, struct options *options,
                               struct error *error)
{
    static const struct drafts none;
    enum status status = part_check(line, options, error);
    if (status == STATUS_OK && line->word_count == 0)
        status =
            error_set(error, STATUS_USAGE,
                      "view needs a TRACE: what `pipeline record`, PyTorch's profiler, `nsys "
                      "export --type=sqlite` or --timeline=x.csv wrote, or `nsys stats -r "
                      "cuda_gpu_trace --format csv` printed");
    if (status == STATUS_OK)
        status = take_words(line, options, error);
    return status == STATUS_OK ? outputs_check(line, &none, options, error) : status;
}

/* pipeline record PROGRAM [ARG ...] */
static enum status take_program(struct command_line *line, struct options *options,
                                struct error *error)
{
    static const struct drafts none;
    if (line->word_count == 0)
        return error_set(error, STATUS_USAGE,
                         "record needs a PROGRAM: `pipeline record ./program its arguments`");
    enum status status = outputs_check(line, &none, options, error);
    return status == STATUS_OK ? take_words(line, options, error) : status;
}

/* pipeline try PROGRAM.cu [FILE ...] [-- ARG ...] */
static enum status take_sources(struct command_line *line, struct options *options,
                                struct error *error)
{
    static const struct drafts none;
    const int own = line->own_count - 1; /* without the command */
    if (own < 1)
        return error_set(error, STATUS_USAGE,
                         "try needs a PROGRAM.cu: `pipeline try program.cu -- its arguments`");
    if (options->attempt.build && options->output == NULL)
        return error_set(error, STATUS_USAGE,
                         "--build needs the name of the program: --output=FILE");
    if (options->attempt.build && line->word_count > own)
        return error_set(error, STATUS_USAGE,
                         "--build runs nothing: leave the words behind -- out");
    options->argument_count = line->word_count - own;
    enum status status = copy_words(line->storage, line->words + own, options->argument_count,
                                    &options->arguments, error);
    line->word_count = own;
    if (status == STATUS_OK)
        status = part_check(line, options, error);
    if (status == STATUS_OK)
        status = take_words(line, options, error);
    return status == STATUS_OK ? outputs_check(line, &none, options, error) : status;
}

/* pipeline bench [NAME ...], and whatever else has words that are no config files. */
static enum status take_names(struct command_line *line, struct options *options,
                              struct error *error)
{
    enum status status = take_words(line, options, error);
    line->word_count = 0;
    return status == STATUS_OK ? runs_build(line, options, error) : status;
}

/* pipeline kernel new FILE, pipeline kernel check LIBRARY [PART] */
static enum status take_kernel(struct command_line *line, struct options *options,
                               struct error *error)
{
    static const char *const parts[] = {"twin", "launcher", "cost"};
    char shown[SHOWN_MAX];
    const int count = line->word_count;
    const bool makes = count > 0 && strcmp(line->words[0], "new") == 0;
    if (!makes && (count == 0 || strcmp(line->words[0], "check") != 0))
        return error_set(error, STATUS_USAGE,
                         "kernel%s%s: allowed are `pipeline kernel new FILE.cu` and `pipeline "
                         "kernel check LIBRARY`",
                         count > 0 ? " " : "",
                         count > 0 ? text_shown(line->words[0], shown) : "");
    if (count == 1)
        return error_set(error, STATUS_USAGE, "kernel %s needs the name of a %s",
                         line->words[0], makes ? "file to write" : "library");
    if (count > (makes ? 2 : 3))
        return error_set(error, STATUS_USAGE, "kernel %s: %s is one word too many",
                         line->words[0], text_shown(line->words[makes ? 2 : 3], shown));
    bool known = count < 3;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        known |= count == 3 && strcmp(line->words[2], parts[i]) == 0;
    if (!known)
        return error_set(error, STATUS_USAGE,
                         "kernel check has no part %s: allowed are twin, launcher, cost",
                         text_shown(line->words[2], shown));
    return take_names(line, options, error);
}

/* pipeline exercise [N], pipeline exercise check N FILE */
static enum status take_exercise(struct command_line *line, struct options *options,
                                 struct error *error)
{
    static const struct drafts none;
    const int count = line->word_count;
    const bool checks = count > 0 && strcmp(line->words[0], "check") == 0;
    if (checks ? count != 3 || options->output != NULL : count > 1)
        return error_set(error, STATUS_USAGE,
                         "exercise%s: allowed are `pipeline exercise`, `pipeline exercise N "
                         "--output=FILE` and `pipeline exercise check N FILE.cu`",
                         checks ? " check" : "");
    enum status status = outputs_check(line, &none, options, error);
    return status == STATUS_OK ? take_words(line, options, error) : status;
}

enum status words_take(struct command_line *line, struct options *options, struct error *error)
{
    switch (options->command) {
    case COMMAND_HELP:
        return take_topic(line, options, error);
    case COMMAND_LIST:
        return take_list_word(line, options, error);
    case COMMAND_LESSON:
        return take_lesson(line, options, error);
    case COMMAND_VIEW:
        return take_traces(line, options, error);
    case COMMAND_RECORD:
        return take_program(line, options, error);
    case COMMAND_TRY:
        return take_sources(line, options, error);
    case COMMAND_LAB: {
        static const struct drafts none;
        return outputs_check(line, &none, options, error);
    }
    case COMMAND_EXERCISE:
        return take_exercise(line, options, error);
    case COMMAND_KERNEL:
        return take_kernel(line, options, error);
    case COMMAND_BENCH:
        return take_names(line, options, error);
    default:
        return runs_build(line, options, error);
    }
}
