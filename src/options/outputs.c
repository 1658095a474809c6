/* outputs.c - no file is written twice, nor a trace that is read overwritten. */
#include "options/table.h"

#include <stdlib.h>
#include <string.h>

/* A file to be written, by its true name. */
struct target {
    char *path;
    const struct draft *draft; /* the run whose output it is; NULL for a timeline or a trace */
    bool is_trace;
    const char *given;
};

/* Returns the path without links and detours, to be freed; the file itself need not exist. NULL
 * if its folder doesn't exist, or for lack of memory. */
static char *path_canonical(const char *path)
{
    char *whole = realpath(path, NULL);
    if (whole != NULL)
        return whole;
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    char *directory = slash == NULL ? strdup(".") : strndup(path, (size_t)(base - path));
    char *real = directory == NULL ? NULL : realpath(directory, NULL);
    if (real != NULL && asprintf(&whole, "%s/%s", real, base) < 0)
        whole = NULL;
    free(real);
    free(directory);
    return whole;
}

static bool is_same_target(const struct target *one, const struct target *other)
{
    if (strcmp(one->given, other->given) == 0)
        return true;
    return one->path != NULL && other->path != NULL && strcmp(one->path, other->path) == 0;
}

/* Says why one file can't be both. Outputs and traces come before timelines, so `first` is no
 * timeline where `second` is something else. */
static enum status refuse_targets(const struct target *first, const struct target *second,
                                  struct error *error)
{
    char label[LABEL_MAX], shown[SHOWN_MAX];
    if (first->is_trace)
        return error_set(error, STATUS_USAGE,
                         "--timeline=%s is the trace that is read: allowed is another file",
                         text_shown(second->given, shown));
    if (first->draft == NULL)
        return error_set(error, STATUS_USAGE,
                         "--timeline=%s is given twice: allowed is each file once",
                         text_shown(second->given, shown));
    setting_label(&first->draft->settings, first->draft->origins, OPTION_OUTPUT, label);
    if (second->draft == NULL)
        return error_set(error, STATUS_USAGE,
                         "--timeline=%s is the same file as %s: allowed is each file once",
                         text_shown(second->given, shown), label);
    return error_set(error, STATUS_USAGE,
                     "%s would be written by two runs, '%s' and '%s': allowed is an output of "
                     "its own for each",
                     label, first->draft->settings.name, second->draft->settings.name);
}

static enum status compare_targets(const struct target *targets, size_t count,
                                   struct error *error)
{
    for (size_t second = 1; second < count; second++) {
        for (size_t first = 0; first < second; first++) {
            if (!targets[second].is_trace && is_same_target(&targets[first], &targets[second]))
                return refuse_targets(&targets[first], &targets[second], error);
        }
    }
    return STATUS_OK;
}

enum status outputs_check(const struct drafts *drafts, const struct options *options,
                          struct error *error)
{
    size_t count = 0, inputs = (size_t)drafts->count + (size_t)options->word_count;
    struct target *targets = calloc(inputs + TIMELINE_FILES_MAX, sizeof targets[0]);
    if (targets == NULL)
        return error_set(error, STATUS_FAILED, "out of memory");
    for (int i = 0; i < drafts->count; i++) {
        const struct draft *draft = &drafts->items[i];
        if (draft->settings.output != NULL)
            targets[count++] = (struct target){.draft = draft, .given = draft->settings.output};
    }
    for (int i = 0; i < options->word_count; i++)
        targets[count++] = (struct target){.is_trace = true, .given = options->words[i]};
    for (int i = 0; i < options->timeline_count; i++)
        targets[count++] = (struct target){.given = options->timelines[i]};
    for (size_t i = 0; i < count; i++)
        targets[i].path = path_canonical(targets[i].given);
    enum status status = compare_targets(targets, count, error);
    for (size_t i = 0; i < count; i++)
        free(targets[i].path);
    free(targets);
    return status;
}
