/* table.h - the table of options, shared by the files of the options room only.
 *
 * The declarations come file by file, and each file stands on those before it alone. On top of
 * them all are help.c, which prints the table, and parse.c, the command line. */
#ifndef PIPELINE_OPTIONS_TABLE_H
#define PIPELINE_OPTIONS_TABLE_H

#include "core/units.h"
#include "options/options.h"

#include <stddef.h>

/* --- table.c: data alone --- */

/* The rows of the table, in the order of the help and of settings_each(). */
enum option_id {
#define OPTION(id, ...) OPTION_##id,
#include "options/options.def"
#undef OPTION
    OPTION_COUNT
};

enum option_type {
    TYPE_NUMBER,     /* uint32_t, uint64_t or int, by the row's size */
    TYPE_SHARE,      /* double from 0 to 1, or auto, which is negative */
    TYPE_CHOICE,     /* an enum whose values are the places in `choices` */
    TYPE_FLAG,       /* bool */
    TYPE_TALLY,      /* int: how often the flag stands there */
    TYPE_CHAIN,      /* settings.chain */
    TYPE_PRIORITIES, /* settings.priorities */
    TYPE_DEVICE,     /* const char * */
    TYPE_FILE,       /* const char * */
    TYPE_NAME,       /* const char *: any text */
    TYPE_FILES,      /* options.timelines: may be repeated */
    TYPE_COMMAND,    /* options.command: --help, --version */
    TYPE_SWEEP,      /* options.sweep: may be given twice */
    TYPE_MISTAKE,    /* int: index in mistake_rows */
    TYPE_WINDOW,     /* options.part: its edges */
    TYPE_STREAMS,    /* options.part: its streams */
    TYPE_FAIL_ABOVE, /* options.fail_above: may be repeated */
};

enum option_scope {
    SCOPE_RUN,     /* of one run: a field of struct settings, and a key of config files */
    SCOPE_PROGRAM, /* of the whole: a field of struct options, on the command line only */
};

struct option_row {
    const char *name;
    char letter;             /* 0: none */
    const char *placeholder; /* the value as the help shows it; NULL: takes no value */
    enum option_type type;
    enum option_scope scope;
    size_t offset, size;  /* of the field */
    unsigned commands;    /* the commands that take it: a bit for each, 1u << COMMAND_... */
    const char *fallback; /* the default, as if it had been given; NULL: the field stays
                             zero */
    const char *absent;   /* the help's words for that; NULL where `fallback` says it */
    uint64_t least, most; /* limits of a number */
    bool suffixes;        /* a number may have k, M, G or T */
    bool automatic;       /* a number may be "auto", which is 0 */
    bool of_several;      /* it means nothing with one device */
    bool of_halo;         /* it means nothing without a stencil */
    const char *const *choices; /* ended by NULL */
    const char *help;
    const char *with; /* what there is to say of the options it goes with, besides what
                         plan/together.h has; NULL: nothing */
};
extern const struct option_row option_rows[OPTION_COUNT];

struct command_row {
    const char *name;
    enum command command;
    const char *usage, *summary;
};
extern const struct command_row command_rows[]; /* ended by a row with no name */
extern const char *const list_words[];          /* the words after `list`; ended by NULL */

/* The row called `name`, or NULL. option_find_typed() also takes an option as it is typed, by
 * its letter or with dashes. */
const struct option_row *option_find(const char *name);
const struct option_row *option_find_typed(const char *typed);
const struct command_row *command_find(const char *name);

/* Writes which options this one goes with, or not, as the table and the rows of what goes
 * together say, and returns `text`; NULL: with all. In help.c. */
enum { OPTION_WITH = 2048 };
const char *option_with(const struct option_row *row, char text[OPTION_WITH]);

/* Returns true if `command` takes the option. */
bool option_is_taken(const struct option_row *row, enum command command);

/* --- text.c: what error lines are made of --- */

/* The place that a value came from; `file` and `line` are set for SOURCE_GLOBAL and
 * SOURCE_SECTION. */
struct origin {
    enum value_source source;
    const char *file;
    int line;
};

/* One option given somewhere. `text` lives as long as the options do. */
struct assignment {
    const struct option_row *row;
    const char *text; /* "yes" for a flag on the command line */
    struct origin origin;
};

/* The option's name nearest to `name` by edit distance, or NULL if none is near. `keys_only`
 * leaves out options that may not stand in a config file. */
const char *option_nearest(const char *name, bool keys_only);

/* Texts for error lines. Each function writes into `text` and returns it. */
enum { SHOWN_MAX = 96, LABEL_MAX = 512, OPTION_TEXT = LABEL_MAX };
const char *text_shown(const char *raw, char text[SHOWN_MAX]); /* escaped, clipped */
const char *origin_place(const struct origin *origin, char text[OPTION_PLACE_MAX]);
const char *option_allowed(const struct option_row *row, char text[LABEL_MAX]);

/* The values alone: "1 to 16777216" where option_allowed() gives "must be 1 to 16777216".
 */
const char *option_values(const struct option_row *row, char text[LABEL_MAX]);

/* "--tiles=12", "ways.ini:7: tiles=12" or "--sweep: tiles=12". */
const char *assignment_label(const struct assignment *given, char text[LABEL_MAX]);

/* Refuses a value: "--tiles=0 is too small: must be 1 to 16777216". */
enum status assignment_refuse(const struct assignment *given, const char *complaint,
                              struct error *error);

/* Refuses what is unknown, which the format says: "FORMAT: did you mean NEAREST?SEE" or, where
 * `nearest` is NULL, "FORMAT: ALLOWED". */
__attribute__((format(printf, 5, 6))) enum status
refuse_unknown(struct error *error, const char *nearest, const char *see, const char *allowed,
               const char *format, ...);

/* Returns a word without the blanks around it; those behind it are cut off in place. */
char *word_trim(char *word);

/* Cuts the next word off a comma-separated list, without the blanks around it; NULL at its end.
 */
char *list_next(char **rest);

/* --- part.c: what `pipeline view` is to look at, and what is to fail --- */

/* Read given->text into options->part and options->fail_above. */
enum status part_set_window(const struct assignment *given, struct options *options,
                            struct error *error);
enum status part_set_streams(const struct assignment *given, struct options *options,
                             struct error *error);
enum status part_add_fail_above(const struct assignment *given, struct options *options,
                                struct error *error);

/* Returns the verdict called `name`, or -1. */
int verdict_code_find(const char *name);

/* --- chain.c: a chain of kernels --- */

/* Reads the names of kernels in `list`, which is cut up, into settings->chain. */
enum status chain_read(const struct assignment *given, char *list, struct settings *settings,
                       struct error *error);

/* --- value.c: reads and shows a row's value --- */

/* Reads given->text into the row's field of `target`: a struct settings or a struct options, by
 * the row's scope. Not for TYPE_SWEEP and TYPE_COMMAND, which options_parse() acts on. */
enum status options_set(const struct assignment *given, void *target, struct error *error);

/* Sets every field of `scope` in `target`, which is zeroed, to its default. STATUS_NO_MEMORY.
 */
enum status options_set_defaults(enum option_scope scope, void *target, struct error *error);

/* Reads a number as the row's option takes it: with a suffix only where the row allows it. */
enum units_result option_read_number(const struct option_row *row, const char *text,
                                     uint64_t *number);

/* The value of the row's field as text, in `text` or elsewhere; NULL when there is none. */
const char *option_show(const struct option_row *row, const void *target,
                        char text[OPTION_TEXT], enum value_kind *kind);

/* --- draft.c: a run while its settings are being gathered --- */

/* A run while its settings are being gathered, with the origin of each. */
struct draft {
    struct settings settings;
    struct origin origins[OPTION_COUNT];
    struct origin named; /* the place of its name */
};
struct drafts {
    struct draft *items;
    int count;
    size_t capacity;
    const char *message; /* of the only file's head; NULL: it has none */
};

/* options_set() on a draft, which remembers the origin. */
enum status draft_set(struct draft *draft, const struct assignment *given, struct error *error);

/* Adds a copy of `model` called `name`. The name must be new, printable and not too long. */
enum status drafts_add(struct drafts *drafts, const struct draft *model, const char *name,
                       const struct origin *named, struct error *error);

/* A setting in words: "--tiles=32", "tiles=32 (ways.ini:3)", "tiles=32 (the default)"; without
 * origins "tiles=32". */
const char *setting_label(const struct settings *settings, const struct origin *origins,
                          enum option_id id, char text[LABEL_MAX]);

/* --- check.c: what several settings together can get wrong --- */

/* Settles what follows from other settings (one stream in 1-way) and checks them together. */
enum status draft_finish(struct draft *draft, struct error *error);

/* --- range.c: the values that a sweep gives one option --- */

/* A range is the text behind "--sweep=OPTION=": values, and ways to write many:
 *
 *     1,2,4   1..8   8..64+8   1..1024*2   1,2,4,...,1024   depth,breadth
 *
 * range_read() expands one into the values of `row`, each checked by options_set() and as
 * option_show() shows it: an array in `storage`, as its texts are. `given` is the option as it
 * stands on the command line, for errors. */
enum status range_read(const struct assignment *given, const struct option_row *row,
                       const char *text, struct arena *storage, struct sweep_axis *axis,
                       struct error *error);

/* --- sweep.c: many runs of one --- */

/* Returns true if the option can be swept: its values are single words, not files or lists, and
 * a run with it is not meant to be the only one. */
bool option_is_sweepable(const struct option_row *row);

/* Adds the axis that `given` asks for to options->sweep. */
enum status sweep_add(const struct assignment *given, struct options *options,
                      struct error *error);

/* Replaces each draft by one for every point of the sweep. */
enum status sweep_expand(const struct sweep *sweep, struct drafts *drafts, struct error *error);

/* --- config.c: config files --- */

/* Adds the runs of one config file, each starting from `defaults`: of the file at `path` or,
 * unless it is NULL, of `text`, which errors then call by `path`. */
enum status config_read(const char *path, const char *text, const struct draft *defaults,
                        struct drafts *drafts, struct arena *storage, struct error *error);

/* The config that is part of the program and stands at `path` in the sources: "ways.ini",
 * "configs/ways.ini", "configs/lessons/01-serial.ini"; NULL: there is none. */
const struct embedded *config_find_embedded(const char *path);

/* --- runs.c: defaults, files, the command line and a sweep become runs --- */

/* The command line, taken apart. */
struct command_line {
    struct assignment *given; /* the options, in order */
    int given_count;
    const char **words; /* the arguments that are no options */
    int word_count;
    int own_count;         /* those in front of "--" */
    struct arena *storage; /* has the texts that settings point at */
    enum command ahead;    /* the command that the words will name */
    struct draft trial;    /* each value is tried here at once, so that errors come in order */
};

/* Makes options->runs of the config files that the words name and of the options given. */
enum status runs_build(const struct command_line *line, struct options *options,
                       struct error *error);

/* --- outputs.c: files that would be overwritten --- */

/* Refuses runs and timelines that would write one file twice, or over a file that is read: one
 * that a word of `line` names, an array or a machine file. */
enum status outputs_check(const struct command_line *line, const struct drafts *drafts,
                          const struct options *options, struct error *error);

/* Checks what the options of `pipeline view` ask for together, and makes the files of --before
 * and --after its words. */
enum status part_check(struct command_line *line, const struct options *options,
                       struct error *error);

/* --- words.c: what stands behind the command --- */

/* Takes the words of `line` as options->command means them, and makes its runs, if any. */
enum status words_take(struct command_line *line, struct options *options, struct error *error);

#endif
