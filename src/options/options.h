/* options.h - one table for the command line and config files.
 *
 * Every option is a row of one table (options/table.h): name, letter, type, default, limits,
 * help and the commands that take it. The command line and INI files
 * read values by the same function, so they accept the same and complain in the same words. */
#ifndef PIPELINE_OPTIONS_H
#define PIPELINE_OPTIONS_H

#include "core/arena.h"
#include "core/embedded.h"
#include "core/status.h"
#include "plan/settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum command {
    COMMAND_RUN,
    COMMAND_LIST,
    COMMAND_CALIBRATE,
    COMMAND_BENCH,
    COMMAND_COMPARE,
    COMMAND_VIEW,
    COMMAND_RECORD,
    COMMAND_TRY,
    COMMAND_LAB,
    COMMAND_KERNEL,
    COMMAND_LESSON,
    COMMAND_EXERCISE,
    COMMAND_HELP,
    COMMAND_VERSION,
};

/* The report formats beside `text`: a row for each, with the name that --format takes and the
 * function that writes it, which lies in a room below: a new format is a row here and a file in
 * src/writers/. */
#define REPORT_FORMATS(ROW)                                                                    \
    ROW(FORMAT_JSON, "json", write_json)                                                       \
    ROW(FORMAT_CSV, "csv", write_csv_report)

#define FORMAT_VALUE(value, name, write) value,
enum format { FORMAT_TEXT, REPORT_FORMATS(FORMAT_VALUE) FORMAT_COUNT };
#undef FORMAT_VALUE
enum gantt { GANTT_ENGINES, GANTT_STREAMS, GANTT_NONE };
enum picture_size { PICTURE_SLIDE, PICTURE_PAPER, PICTURE_FIGURE };
enum model { MODEL_NONE, MODEL_SIM };

enum {
    TIMELINE_FILES_MAX = 8,
    OPTION_PLACE_MAX = 160, /* "command line", "ways.ini:12" */
    SWEEP_AXES_MAX = 2,
    SWEEP_VALUES_MAX = 1024, /* of an axis */
    SWEEP_RUNS_MAX = 4096,
    PART_STREAMS_MAX = 64,
    FAIL_ABOVE_MAX = 16,
    FAIL_ABOVE_ANY = -1,
};

/* The source of a value. A later source wins over an earlier one. */
enum value_source {
    SOURCE_DEFAULT,
    SOURCE_GLOBAL,
    SOURCE_SECTION,
    SOURCE_COMMAND_LINE,
    SOURCE_SWEEP,
};

/* --sweep: each run of the config files (or the one run there is without any) is made for every
 * value of the first axis and, within that, for every value of the second. So run r of `runs`
 * is section r / points, and its place along the axes is (r % points) / counts[1] and r %
 * counts[1], where points = counts[0] * counts[1] and counts[1] is 1 where there is one axis. A
 * run is named "SECTION streams=4 tiles=8"; where that is longer than a name may be, it is cut
 * and numbered: "SECT~17 streams=4 tiles=8". */
struct sweep_axis {
    const char *option;  /* "streams" */
    const char **values; /* as that option takes them, no two alike: "1", "67108864", "depth",
                            "yes"; numbers have no suffix and ascend */
    int count;
};
struct sweep {
    struct sweep_axis axes[SWEEP_AXES_MAX];
    int axis_count; /* 0: no sweep */
};

/* --window, --stream and --device of `pipeline view`: the part of a timeline to look at. */
struct view_edge {
    bool given, share; /* a share of the whole time, else ns */
    double part;       /* 0 to 1 */
    int64_t ns;
};
struct view_part {
    struct view_edge from, to;
    uint32_t streams[PART_STREAMS_MAX]; /* by the numbers that the file gives them */
    int stream_count;                   /* 0: all */
    const char *device;                 /* a number, or a part of a name; NULL: all */
};

/* The options of `pipeline record`. */
struct record_part {
    const char *start, *stop; /* a kernel or an NVTX range; NULL: the program's begin or end */
    uint64_t limit_bytes;     /* of one recording */
    bool backtrace;
};

/* What `pipeline try` does beside compiling, running and reporting. */
struct try_part {
    uint32_t orders; /* how many others are tried */
    bool build;      /* the program is kept, and not run */
    bool no_watch;
};

/* --fail-above: a cause may cost at most that share of a run's time. */
struct fail_above {
    int code; /* enum verdict_code, or FAIL_ABOVE_ANY */
    double share;
};

/* The whole command line: the command, its runs and words, and the form of its results. */
struct options {
    enum command command;
    const char *list_what; /* COMMAND_LIST: "kernels", ...; NULL: all */
    const char *topic;     /* COMMAND_HELP: the option or command to explain; NULL: none */
    const struct embedded *lesson; /* COMMAND_LESSON: its name and its text */
    const char *message; /* what a config file's head says that its runs show; NULL: nothing, or
                            the command line changes them */
    const char *embedded;  /* the first config file that was not found, and was taken from those
                              that are part of the program; NULL: none */
    struct settings *runs; /* one per run, at least one for COMMAND_RUN; none for others */
    int run_count;
    enum format format;
    const char *timelines[TIMELINE_FILES_MAX]; /* files to write */
    int timeline_count;
    const char *emit; /* the plan as a program is written there, "-" to standard output, and
                         nothing runs; NULL: no */
    enum gantt gantt;
    enum picture_size size;
    struct sweep sweep;
    const char *machine; /* stands for the device; NULL: the file of the device's name */
    enum model model;    /* predictions asked for */
    const char **words;  /* COMMAND_VIEW: the traces to show, at least one, or those of `before`
                            and `after`; COMMAND_BENCH: what to measure, none for all;
                            COMMAND_RECORD: the program and its arguments, ended by NULL;
                            COMMAND_TRY: sources, libraries and flags, ended by NULL;
                            COMMAND_EXERCISE: none, one, or "check", one and a file;
                            COMMAND_KERNEL: "new" and a file, or "check", a library and,
                            maybe, the part to try */
    int word_count;
    const char *output; /* COMMAND_RECORD: the recording; NULL: a file of the program's name.
                           COMMAND_TRY: likewise, NULL: it is not kept; or, with
                           attempt.build, the program.
                           COMMAND_LAB: the page; NULL: lab.html.
                           COMMAND_EXERCISE: the program; NULL: standard output */
    struct record_part record; /* COMMAND_RECORD */
    struct try_part attempt;   /* COMMAND_TRY */
    const char **arguments;    /* COMMAND_TRY: of the program */
    int argument_count;
    struct view_part part;      /* COMMAND_VIEW */
    const char *before, *after; /* COMMAND_VIEW: two files to compare, or NULL both */
    struct fail_above fail_above[FAIL_ABOVE_MAX];
    int fail_above_count;
    bool answer;       /* COMMAND_EXERCISE: the solution */
    bool quick;        /* COMMAND_BENCH: smaller and fewer */
    bool all;          /* COMMAND_VIEW: not the loop alone. COMMAND_LESSON: tables and causes */
    bool fix;          /* beside each run, one with better settings */
    bool calibrate;    /* COMMAND_VIEW: fixes are tried on the device that is here.
                          COMMAND_COMPARE: the host is measured, whatever the device */
    bool no_calibrate; /* no host is measured */
    bool anonymous;    /* what is written leaves names out: core/anonymous.h */
    bool dry_run, quiet, no_color;
    int verbose;
    struct arena storage; /* has the runs, the words and all texts; options_free() */
};

/* Opens a kernel's library, as kernel_own_open() does (kernels/own.h). Comes before
 * options_parse(); unless it was called, or with NULL, --kernel takes no library. */
typedef const struct kernel *kernel_opener(const char *path, struct error *error);
void options_open_kernels(kernel_opener *opener);

/* Says how many processes share each run, each with a device of its own. Comes before
 * options_parse(); 1 unless it was called. */
void options_set_processes(uint32_t count);

/* Reads the command line and the config files it names. Sets *options only on STATUS_OK; on
 * failure the error is STATUS_USAGE and names the option or file:line, the value and what is
 * allowed. Nothing is printed. Frees what it had taken. */
enum status options_parse(int argc, char *const argv[], struct options *options,
                          struct error *error);

void options_free(struct options *options);

/* Makes the runs of `text`, a config file that errors call `name`, as the command line
 * `pipeline --no-data FILE` does, from defaults and with all checks. Sets *options only on
 * STATUS_OK; options_free() frees it. `name` and `text` are to live as long. */
enum status options_read_text(const char *name, const char *text, struct options *options,
                              struct error *error);

/* Sets every setting of a run to its default. STATUS_NO_MEMORY. */
enum status settings_set_defaults(struct settings *settings, struct error *error);

/* Checks what only several settings together can get wrong, such as more tiles than elements.
 * options_parse() has done it; do it again after changing `elements`. */
enum status settings_check(const struct settings *settings, struct error *error);

/* Types options such as "--tiles=64 --pack", each of them of a run, behind those that
 * `settings` came from, and checks them all: settles and checks as options_parse() does. */
enum status settings_type(struct settings *settings, const char *words, struct error *error);

/* Refuses what processes that share a run can't do, each with a device of its own or, with
 * --share, all with one. */
enum status settings_check_ranks(const struct settings *settings, struct error *error);

/* Refuses --profile (STATUS_USAGE) where a file of its timeline was asked for, or where the run
 * is to be compared: nothing of ours observes such a run, so that on a real device it has no
 * timeline. options_parse() has done it where --device names a real device; do it again where
 * "auto" turns out to be one. */
enum status settings_check_profile(const struct settings *settings,
                                   const struct options *options, struct error *error);

/* Prints usage and the options, made from the table itself: all, or those to begin with. */
void options_print_help(FILE *out, bool all);

/* Prints all that the table knows of options->topic, the name of a command or of an option. */
void options_print_topic(FILE *out, const char *topic);

/* Prints `text` and a newline from column `indent` on, in lines of at most 79 columns broken at
 * blanks. The cursor is in `column`; where there is no room left of `indent`, a new line is
 * begun. */
void options_print_wrapped(FILE *out, int column, int indent, const char *text);

/* Calls `each` once for every option of a run, in table order, with its name and its value as
 * text. `kind` says how JSON should print it. What means nothing with one device, or without
 * a stencil, is left out there; settings_each_of() is told whether to. */
enum value_kind { VALUE_TEXT, VALUE_INTEGER, VALUE_REAL, VALUE_BOOL, VALUE_NULL };
typedef void settings_visitor(void *context, const char *name, const char *value,
                              enum value_kind kind);
void settings_each(const struct settings *settings, settings_visitor *each, void *context);
struct settings_shown {
    bool several, halo; /* what means something with several devices alone, with a stencil */
};
void settings_each_of(const struct settings *settings, struct settings_shown shown,
                      settings_visitor *each, void *context);

#endif
