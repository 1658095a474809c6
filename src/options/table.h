/* table.h - the table of options, shared by the files of the options room only.
 *
 * options/options.c holds the table, options/value.c reads and shows a row's values,
 * options/parse.c and options/config.c are the two ways in, options/range.c and options/sweep.c
 * make many runs of one, options/check.c judges what they gave together, and options/help.c
 * prints the table.
 */
#ifndef PIPELINE_OPTIONS_TABLE_H
#define PIPELINE_OPTIONS_TABLE_H

#include "core/units.h"
#include "options/options.h"

#include <stddef.h>

/* The rows, in the order of the help and of settings_each(). */
enum option_id {
    OPTION_ELEMENTS,
    OPTION_INPUT,
    OPTION_OUTPUT,
    OPTION_KERNEL,
    OPTION_INTENSITY,
    OPTION_COLUMNS,
    OPTION_STRIDE,
    OPTION_ROWS,
    OPTION_INNER,
    OPTION_BLOCKS,
    OPTION_TILES,
    OPTION_STREAMS,
    OPTION_ORDER,
    OPTION_LAYOUT,
    OPTION_WAYS,
    OPTION_CPU_SHARE,
    OPTION_MEMORY,
    OPTION_PRIORITIES,
    OPTION_CALLBACKS,
    OPTION_CARRY,
    OPTION_CONNECTIONS,
    OPTION_MISTAKE,
    OPTION_DEVICE,
    OPTION_RUNS,
    OPTION_WARMUP,
    OPTION_ISSUE,
    OPTION_PROFILE,
    OPTION_NO_DATA,
    OPTION_SEED,
    OPTION_FORMAT,
    OPTION_TIMELINE,
    OPTION_GANTT,
    OPTION_SIZE,
    OPTION_SWEEP,
    OPTION_MACHINE,
    OPTION_MODEL,
    OPTION_QUICK,
    OPTION_DRY_RUN,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_NO_COLOR,
    OPTION_VERSION,
    OPTION_HELP,
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
    TYPE_FILES,      /* options.timelines: may be repeated */
    TYPE_COMMAND,    /* options.command: --help, --version */
    TYPE_SWEEP,      /* options.sweep: may be given twice */
    TYPE_MISTAKE,    /* enum mistake */
};

enum option_scope {
    SCOPE_RUN,     /* of one run: a field of struct settings, and a key of config files */
    SCOPE_PROGRAM, /* of the whole: a field of struct options, on the command line only */
};

struct option_row {
    const char *name;
    char letter;             /* 0: none */
    const char *placeholder; /* what the value looks like in the help; NULL: takes no value */
    enum option_type type;
    enum option_scope scope;
    size_t offset, size;  /* of the field */
    const char *fallback; /* the default, as if it had been given; NULL: the field stays zero */
    const char *absent;   /* and what the help then calls that */
    uint64_t least, most; /* limits of a number */
    bool suffixes;        /* a number may have k, M, G or T */
    bool automatic;       /* a number may be "auto", which is 0 */
    const char *const *choices; /* ended by NULL */
    const char *later;          /* a value that a later version brings; flags: "yes" */
    const char *instead;        /* what to do until then */
    const char *help;
};
extern const struct option_row option_rows[OPTION_COUNT];

struct command_row {
    const char *name;
    enum command command;
    bool available; /* or in a later version */
    const char *usage, *summary;
};
extern const struct command_row command_rows[]; /* ended by a row with no name */
extern const char *const list_words[];          /* what `pipeline list` lists; ended by NULL */

/* Where a value came from; `file` and `line` for SOURCE_GLOBAL and SOURCE_SECTION. */
struct origin {
    enum source source;
    const char *file;
    int line;
};

/* One option given somewhere. `text` lives as long as the options do. */
struct assignment {
    const struct option_row *row;
    const char *text; /* "yes" for a flag on the command line */
    struct origin origin;
};

/* A run while its settings are being gathered: with the origin of each. */
struct draft {
    struct settings settings;
    struct origin origins[OPTION_COUNT];
    struct origin named; /* where its name stands */
};
struct drafts {
    struct draft *items;
    int count, capacity;
};

/* Strings that live as long as the options. */
struct string {
    struct string *next;
    char text[];
};
const char *strings_copy(struct string **strings, const char *text); /* NULL: no memory */
void strings_free(struct string *strings);

/* The row called `name`, or NULL. */
const struct option_row *option_find(const char *name);

/* The option's name nearest to `name` by edit distance, or NULL if none is near. `keys_only`
 * leaves out what may not stand in a config file. */
const char *option_nearest(const char *name, bool keys_only);

/* The same in a list ended by NULL. */
const char *word_nearest(const char *word, const char *const words[]);

/* Texts for error lines. Each writes into `text` and returns it. */
enum { SHOWN_MAX = 96, LABEL_MAX = 512, OPTION_TEXT = 512 };
const char *text_shown(const char *raw, char text[SHOWN_MAX]); /* one line, clipped */
const char *origin_place(const struct origin *origin, char text[OPTION_PLACE_MAX]);
const char *option_allowed(const struct option_row *row, char text[LABEL_MAX]);

/* "--tiles=12", "ways.ini:7: tiles=12" or "--sweep: tiles=12". */
const char *assignment_label(const struct assignment *given, char text[LABEL_MAX]);

/* A setting in words: "--tiles=32", "tiles=32 (ways.ini:3)", "tiles=32 (the default)"; without
 * origins "tiles=32". */
const char *setting_label(const struct settings *settings, const struct origin *origins,
                          enum option_id id, char text[LABEL_MAX]);

/* Checks that tiles are whole rows or columns where the kernels work on such. */
enum status options_check_units(const struct settings *settings, const struct origin *origins,
                                struct error *error);

/* Reads given->text into the row's field of `target`: a struct settings or a struct options, by
 * the row's scope. */
enum status options_set(const struct assignment *given, void *target, struct error *error);

/* Reads a number as the row's option takes it: with a suffix only where the row allows it. */
enum units_result option_read_number(const struct option_row *row, const char *text,
                                     uint64_t *number);

/* Cuts the next word off a comma-separated list, without the blanks around it; NULL at its end.
 */
char *list_next(char **rest);

/* Sets every field of `scope` in `target`, which is zeroed, to its default. */
void options_set_defaults(enum option_scope scope, void *target);

/* The value of the row's field as text, in `text` or elsewhere; NULL when there is none. */
const char *option_show(const struct option_row *row, const void *target,
                        char text[OPTION_TEXT], enum value_kind *kind);

/* options_set() on a draft, which remembers the origin. */
enum status draft_set(struct draft *draft, const struct assignment *given, struct error *error);

/* Adds a copy of `model` called `name`. The name must be new, printable and not too long. */
enum status drafts_add(struct drafts *drafts, const struct draft *model, const char *name,
                       const struct origin *named, struct error *error);

/* Adds the runs of one config file, each starting from `defaults`. */
enum status config_read(const char *path, const struct draft *defaults, struct drafts *drafts,
                        struct string **strings, struct error *error);

/* --sweep. A range is what stands behind "--sweep=OPTION=": values, and ways to write many:
 *
 *     1,2,4   1..8   8..64+8   1..1024*2   1,2,4,...,1024   depth,breadth
 *
 * range_read() expands one into the values of `row`, each checked by options_set() and as
 * option_show() shows it: an array to be freed, of texts in `strings`. `given` is the option as
 * it stands on the command line, for errors. */
enum status range_read(const struct assignment *given, const struct option_row *row,
                       const char *text, struct string **strings, struct sweep_axis *axis,
                       struct error *error);

/* Adds the axis that `given` asks for to options->sweep. */
enum status sweep_add(const struct assignment *given, struct options *options,
                      struct error *error);

/* Puts in the place of each draft one for every point of the sweep. */
enum status sweep_expand(const struct sweep *sweep, struct drafts *drafts, struct error *error);

/* Settles what follows from other settings (one stream in 1-way) and checks them together. */
enum status draft_finish(struct draft *draft, struct error *error);

/* Refuses what `pipeline calibrate` would ignore: all of `given` but --device and
 * --connections, `word` (a config file; NULL: none), and what options say of reports, files and
 * many runs. */
enum status calibrate_check(const struct assignment *given, int given_count, const char *word,
                            const struct options *options, struct error *error);

/* The same of `pipeline bench`. */
enum status bench_check(const struct assignment *given, int given_count,
                        const struct options *options, struct error *error);

/* Refuses runs and timelines that would write one file twice, or over a trace that is read. */
enum status outputs_check(const struct drafts *drafts, const struct options *options,
                          struct error *error);

#endif
