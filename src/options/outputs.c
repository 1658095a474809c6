/* outputs.c - no file is written twice, and none that is read is overwritten. */
#include "core/items.h"
#include "machine/machine.h"
#include "options/table.h"
#include "plan/device.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file that is named somewhere. It is the same as another, whatever they are called, where
 * both have the same inode or, since a file to be written need not exist, the same name in the
 * same folder. */
struct file {
    const char *given;
    const struct draft *draft; /* the run that has it; NULL: the command has it */
    enum option_id option;     /* that names it; OPTION_COUNT: a word of the command line */
    bool exists, known;
    struct stat about; /* of the file, or of its folder */
    const char *name;  /* in that folder */
};

struct files {
    struct file *items;
    size_t count;
    struct arena *arena; /* full: what a file is, is not known */
};

static void files_add(struct files *files, const char *given, const struct draft *draft,
                      enum option_id option)
{
    struct file *file = &files->items[files->count++];
    const char *slash = strrchr(given, '/');
    *file = (struct file){.given = given, .draft = draft, .option = option};
    file->exists = file->known = stat(given, &file->about) == 0;
    if (file->exists)
        return;
    file->name = slash != NULL ? slash + 1 : given;
    char *folder = arena_text(files->arena, slash != NULL ? given : ".");
    if (folder != NULL && slash != NULL)
        folder[slash + 1 - given] = '\0';
    file->known = folder != NULL && stat(folder, &file->about) == 0;
}

static bool is_same(const struct file *one, const struct file *other)
{
    if (strcmp(one->given, other->given) == 0)
        return true;
    return one->known && other->known && one->exists == other->exists &&
           one->about.st_dev == other->about.st_dev &&
           one->about.st_ino == other->about.st_ino &&
           (one->exists || strcmp(one->name, other->name) == 0);
}

/* Names a file by the option that it was given to, or as it stands on the command line. */
static const char *file_label(const struct file *file, char label[LABEL_MAX])
{
    char shown[SHOWN_MAX];
    if (file->draft != NULL)
        return setting_label(&file->draft->settings, file->draft->origins, file->option, label);
    text_shown(file->given, shown);
    if (file->option == OPTION_COUNT)
        snprintf(label, LABEL_MAX, "%s", shown);
    else
        snprintf(label, LABEL_MAX, "--%s=%s", option_rows[file->option].name, shown);
    return label;
}

/* Adds the machine file that a run's device names, if it does, without how many devices. */
static void add_machine(const struct draft *draft, struct files *inputs)
{
    const char *argument = device_argument(draft->settings.device);
    char *machine = arena_text(inputs->arena, argument);
    if (machine == NULL)
        return;
    machine[device_argument_length(argument)] = '\0';
    if (machine_is_path(machine))
        files_add(inputs, machine, draft, OPTION_DEVICE);
}

/* Config files and traces, arrays, machine files, and the library that the environment names.
 */
static void list_inputs(const struct command_line *line, const struct drafts *drafts,
                        const struct options *options, struct files *inputs)
{
    for (int i = 0; i < line->word_count; i++)
        files_add(inputs, line->words[i], NULL, OPTION_COUNT);
    EACH (const struct draft, draft, drafts->items, drafts->count) {
        if (draft->settings.input != NULL)
            files_add(inputs, draft->settings.input, draft, OPTION_INPUT);
        add_machine(draft, inputs);
        for (int link = 0; link < draft->settings.chain_length; link++) {
            if (draft->settings.chain[link]->file != NULL)
                files_add(inputs, draft->settings.chain[link]->file, draft, OPTION_KERNEL);
        }
    }
    if (options->machine != NULL && machine_is_path(options->machine))
        files_add(inputs, options->machine, NULL, OPTION_MACHINE);
    const char *library = getenv("PIPELINE_OPENBLAS");
    if (library != NULL && library[0] != '\0')
        files_add(inputs, library, NULL, OPTION_COUNT);
}

/* Returns true if a file that exists is one of the scripts in the folder that PIPELINE_PLOTS
 * names: gnuplot may read it. */
static bool is_plot_script(const struct file *file)
{
    const char *name = getenv("PIPELINE_PLOTS");
    DIR *folder = name != NULL && file->exists ? opendir(name) : NULL;
    bool found = false;
    for (struct dirent *entry; folder != NULL && !found && (entry = readdir(folder)) != NULL;) {
        const char *ending = strrchr(entry->d_name, '.');
        struct stat about;
        found = ending != NULL && (strcmp(ending, ".gp") == 0 || strcmp(ending, ".awk") == 0) &&
                fstatat(dirfd(folder), entry->d_name, &about, 0) == 0 &&
                about.st_dev == file->about.st_dev && about.st_ino == file->about.st_ino;
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

static void list_outputs(const struct drafts *drafts, const struct options *options,
                         struct files *outputs)
{
    for (int i = 0; i < drafts->count; i++) {
        if (drafts->items[i].settings.output != NULL)
            files_add(outputs, drafts->items[i].settings.output, &drafts->items[i],
                      OPTION_OUTPUT);
    }
    for (int i = 0; i < options->timeline_count; i++)
        files_add(outputs, options->timelines[i], NULL, OPTION_TIMELINE);
    if (options->emit != NULL && strcmp(options->emit, "-") != 0)
        files_add(outputs, options->emit, NULL, OPTION_EMIT);
    if (options->output != NULL)
        files_add(outputs, options->output, NULL, OPTION_OUTPUT);
}

/* Says why one file can't be both outputs. Runs' outputs come before timelines. */
static enum status refuse_outputs(const struct file *first, const struct file *second,
                                  struct error *error)
{
    char label[LABEL_MAX], other[LABEL_MAX];
    file_label(first, label);
    file_label(second, other);
    if (first->draft == NULL)
        return error_set(error, STATUS_USAGE, "%s is given twice: give each file once", other);
    if (second->draft == NULL)
        return error_set(error, STATUS_USAGE, "%s is the same file as %s: give each file once",
                         other, label);
    return error_set(error, STATUS_USAGE,
                     "%s would be written by two runs, '%s' and '%s': allowed is an output of "
                     "its own for each",
                     label, first->draft->settings.name, second->draft->settings.name);
}

/* Returns true if a file has nothing in it that --emit did not write: it is empty, or the
 * comment at its head tells the command that made it, as emit/head.c has it. */
static bool is_program(const char *name)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    FILE *file = fopen(name, "r");
    bool found = false;
    while (file != NULL && !found && (length = getline(&line, &room, file)) > 0 &&
           strncmp(line, "//", 2) == 0)
        found = strncmp(line, "// By pipeline ", 15) == 0;
    found |= file != NULL && length < 0 && ftell(file) == 0;
    free(line);
    if (file != NULL)
        fclose(file);
    return found;
}

/* A device or a pipe may be read and written: nothing in it is overwritten. */
static enum status check_output(const struct file *output, const struct files *outputs,
                                const struct files *inputs, struct error *error)
{
    char label[LABEL_MAX], other[LABEL_MAX];
    for (const struct file *first = outputs->items; first < output; first++) {
        if (is_same(first, output))
            return refuse_outputs(first, output, error);
    }
    if (output->exists && !S_ISREG(output->about.st_mode))
        return STATUS_OK;
    for (size_t i = 0; i < inputs->count; i++) {
        if (is_same(&inputs->items[i], output))
            return error_set(error, STATUS_USAGE,
                             "%s is the same file as %s, which is read: give another file",
                             file_label(output, label), file_label(&inputs->items[i], other));
    }
    if (is_plot_script(output))
        return error_set(error, STATUS_USAGE,
                         "%s is a script in the folder that PIPELINE_PLOTS names, and is read: "
                         "give another file",
                         file_label(output, label));
    /* A kernel's source and an emitted program have names of one kind, and are easily mixed up.
     */
    if (output->option == OPTION_EMIT && output->exists && !is_program(output->given))
        return error_set(error, STATUS_USAGE,
                         "%s is there already, and is no program that --emit wrote: allowed is "
                         "another file",
                         file_label(output, label));
    return STATUS_OK;
}

enum status outputs_check(const struct command_line *line, const struct drafts *drafts,
                          const struct options *options, struct error *error)
{
    enum status status = STATUS_OK;
    const size_t runs = (size_t)drafts->count, words = (size_t)line->word_count;
    struct arena arena = {0};
    struct files inputs = {.arena = &arena}, outputs = {.arena = &arena};
    /* A run has an input, a machine file, and a library for each kernel of its chain. */
    inputs.items =
        arena_zeros(&arena, words + (2 + CHAIN_MAX) * runs + 2, sizeof *inputs.items);
    outputs.items = arena_zeros(&arena, runs + TIMELINE_FILES_MAX + 2, sizeof *outputs.items);
    if (!arena.full) {
        list_inputs(line, drafts, options, &inputs);
        list_outputs(drafts, options, &outputs);
    }
    if (arena.full)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < outputs.count && status == STATUS_OK; i++)
        status = check_output(&outputs.items[i], &outputs, &inputs, error);
    arena_free(&arena);
    return status;
}
