/* chain.c - reads a chain of kernels, and says why one kernel can't follow another. */
#include "options/table.h"

#include <string.h>

static enum status refuse_kernel(const struct assignment *given, const char *name,
                                 struct error *error)
{
    char label[LABEL_MAX], shown[SHOWN_MAX];
    return refuse_unknown(error, kernel_nearest(name), " (see `pipeline list kernels`)",
                          "see `pipeline list kernels`", "%s: unknown kernel '%s'",
                          assignment_label(given, label), text_shown(name, shown));
}

/* Says why kernel number `misfit` of the chain can't follow the one before it or, where it is
 * that one which stands in the way, the first. */
static enum status refuse_chain(const struct assignment *given,
                                const struct kernel *const chain[], int misfit,
                                struct error *error)
{
    char label[LABEL_MAX], why[LABEL_MAX];
    const struct kernel *first = chain[0], *before = chain[misfit - 1], *after = chain[misfit];
    const bool ends = after->shape == KERNEL_REDUCE;
    if (before->shape == KERNEL_REDUCE) {
        snprintf(why, sizeof why, "%s leaves one value per tile, so nothing can follow it",
                 before->name);
    } else if (before->alone || after->alone) {
        const char *alone = before->alone ? before->name : after->name;
        snprintf(why, sizeof why, "%s can't be chained: allowed is %s alone", alone, alone);
    } else if (after->launch_per_repeat) {
        snprintf(why, sizeof why,
                 "each of %s's launches reads the tile that was copied in, so nothing may come "
                 "before it",
                 after->name);
    } else if (first->launch_per_repeat && ends) {
        before = first;
        snprintf(
            why, sizeof why,
            "a chain that ends in %s overwrites the tile that was copied in, which each of "
            "%s's launches reads",
            after->name, first->name);
    } else if (after->gathers) {
        snprintf(why, sizeof why,
                 "kernels behind the first work in place, and %s moves elements", after->name);
    } else if (first->gathers && ends) {
        before = first;
        snprintf(why, sizeof why,
                 "maps before a reduction work in place, and %s moves elements", first->name);
    } else if (before->out == after->in) {
        const struct kernel *makes = after->shape == KERNEL_MAP ? after : first;
        snprintf(why, sizeof why,
                 "kernels behind the first, and maps before a reduction, work in place, and %s "
                 "makes %s of %s",
                 makes->name, dtype_name(makes->out), dtype_name(makes->in));
    } else {
        snprintf(why, sizeof why, "%s leaves %s, %s takes %s", before->name,
                 dtype_name(before->out), after->name, dtype_name(after->in));
    }
    return error_set(error, STATUS_USAGE, "%s: %s can't follow %s: %s",
                     assignment_label(given, label), after->name, before->name, why);
}

static kernel_opener *open_kernel;

void options_open_kernels(kernel_opener *opener)
{
    open_kernel = opener;
}

/* Returns true for the name of a file. */
static bool is_library(const char *name)
{
    const size_t length = strlen(name), ending = strlen(".so");
    return strchr(name, '/') != NULL ||
           (length > ending && strcmp(name + length - ending, ".so") == 0);
}

static enum status find_kernel(const struct assignment *given, const char *name,
                               const struct kernel **kernel, struct error *error)
{
    char label[LABEL_MAX];
    struct error why = {0};
    *kernel = kernel_find(name);
    if (*kernel == NULL && !is_library(name))
        return refuse_kernel(given, name, error);
    if (*kernel == NULL && open_kernel == NULL)
        return assignment_refuse(given, "names a library, which can't be opened here", error);
    if (*kernel == NULL)
        *kernel = open_kernel(name, &why);
    return *kernel != NULL ? STATUS_OK
                           : error_set(error, why.status, "%s: %.500s",
                                       assignment_label(given, label), why.text);
}

enum status chain_read(const struct assignment *given, char *list, struct settings *settings,
                       struct error *error)
{
    const struct kernel *chain[CHAIN_MAX] = {NULL};
    int length = 0;
    for (char *name; (name = list_next(&list)) != NULL; length++) {
        if (length == CHAIN_MAX)
            return assignment_refuse(given, "names too many kernels", error);
        const enum status status = find_kernel(given, name, &chain[length], error);
        if (status != STATUS_OK)
            return status;
    }
    int misfit = kernel_chain_misfit(chain, length);
    if (misfit > 0)
        return refuse_chain(given, chain, misfit, error);
    memcpy(settings->chain, chain, (size_t)length * sizeof chain[0]);
    settings->chain_length = length;
    return STATUS_OK;
}
