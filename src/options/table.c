/* table.c - the table: every command and option there is, by name. It is data alone, on which
 * all other files of this room stand; the rows of options are in options.def. */
#include "options/table.h"

#include <string.h>

#define FORMAT_NAME(value, name, write)        name,
#define FORMAT_PLACEHOLDER(value, name, write) "|" name
static const char *const format_names[] = {"text", REPORT_FORMATS(FORMAT_NAME) NULL};
static const char *const size_names[] = {"slide", "paper", "figure", NULL};
static const char *const gantt_names[] = {"engines", "streams", "none", NULL};
static const char device_values[] = "auto"
#define DEVICE(id, shown, ...) "|" shown
#include "plan/devices.def"
#undef DEVICE
    ;
static const char *const model_names[] = {"none", "sim", NULL};

const char *const list_words[] = {"kernels",  "machines", "devices", "mistakes",
                                  "verdicts", "lessons",  NULL};

const struct command_row command_rows[] = {
    {"run", COMMAND_RUN, "[run] [options] [CONFIG.ini ...]",
     "the main job; `run` may be left out"},
    {"list", COMMAND_LIST, "list [kernels|machines|devices|mistakes|verdicts|lessons]",
     "what there is to choose from"},
    {"calibrate", COMMAND_CALIBRATE, "calibrate [--device=cuda:0] [--kernel=./FILE.so]",
     "measure this GPU, and print its machine file"},
    {"bench", COMMAND_BENCH, "bench [--quick] [NAME ...]",
     "kernels and pipelines against their peers and limits"},
    {"compare", COMMAND_COMPARE, "compare [options] [CONFIG.ini ...]",
     "the same plans on the device and on its machine file"},
    {"view", COMMAND_VIEW, "view [options] TRACE ...",
     "draw and explain what `pipeline record`, a profiler or --timeline wrote"},
    {"record", COMMAND_RECORD, "record [options] [--] PROGRAM [ARG ...]",
     "run a CUDA program, as it is, and record what it does: a recording for `pipeline "
     "view`"},
    {"try", COMMAND_TRY, "try [options] PROGRAM.cu [FILE|-lX|-DX|-IX ...] [-- ARG ...]",
     "compile a CUDA program for the CPU, run it in simulated time and explain what it does, "
     "without a GPU"},
    {"lab", COMMAND_LAB, "lab [-o FILE]", "write a page with the simulator in it: lab.html"},
    {"kernel", COMMAND_KERNEL, "kernel new FILE.cu | kernel check LIBRARY [PART]",
     "write the source of a kernel of your own, or try one that was built"},
    {"lesson", COMMAND_LESSON, "lesson N|NAME [options]", "a lesson: `pipeline list lessons`"},
    {"exercise", COMMAND_EXERCISE, "exercise [N [-o FILE.cu]] | exercise check N FILE.cu",
     "list exercises, write the program that one begins with, or grade a student's"},
    {"help", COMMAND_HELP, "help [all|OPTION|COMMAND|CAUSE]",
     "this, all options, or one option, command or cause of a loss at length"},
    {.name = NULL},
};

/* Sets of commands. */
enum {
    BENCH = 1u << COMMAND_BENCH,
    CALIBRATE = 1u << COMMAND_CALIBRATE,
    VIEW = 1u << COMMAND_VIEW,
    LESSON = 1u << COMMAND_LESSON,
    EXERCISE = 1u << COMMAND_EXERCISE,
    RECORD = 1u << COMMAND_RECORD,
    TRY = 1u << COMMAND_TRY,
    VIEWED = VIEW | TRY, /* whose report is on a recording */
    LAB = 1u << COMMAND_LAB,
    KERNEL = 1u << COMMAND_KERNEL,
    RUNS = 1u << COMMAND_RUN | 1u << COMMAND_LESSON | 1u << COMMAND_COMPARE,
    ALL_COMMANDS = ~0,
};

/* The place of a row's field, and the commands that take the option. */
#define RUN_FIELD(member, commands_that_take_it)                                               \
    .scope = SCOPE_RUN, .offset = offsetof(struct settings, member),                           \
    .size = sizeof((struct settings *)NULL)->member, .commands = commands_that_take_it
#define PROGRAM_FIELD(member, commands_that_take_it)                                           \
    .scope = SCOPE_PROGRAM, .offset = offsetof(struct options, member),                        \
    .size = sizeof((struct options *)NULL)->member, .commands = commands_that_take_it

const struct option_row option_rows[OPTION_COUNT] = {
#define OPTION(id, ...) [OPTION_##id] = {__VA_ARGS__},
#include "options/options.def"
#undef OPTION
};

const struct option_row *option_find(const char *name)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(option_rows[i].name, name) == 0)
            return &option_rows[i];
    }
    return NULL;
}

const struct option_row *option_find_typed(const char *typed)
{
    const char *name = typed + strspn(typed, "-");
    for (int i = 0; i < OPTION_COUNT && name[0] != '\0' && name[1] == '\0'; i++) {
        if (option_rows[i].letter == name[0])
            return &option_rows[i];
    }
    return option_find(name);
}

const struct command_row *command_find(const char *name)
{
    for (const struct command_row *row = command_rows; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

bool option_is_taken(const struct option_row *row, enum command command)
{
    return (row->commands >> command & 1) != 0;
}
