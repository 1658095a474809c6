/* view_pair.c - two files side by side: each run of the one with its partner of the other. */
#include "trace/view_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void view_name_part(const struct trace *trace, char name[RUN_NAME_MAX])
{
    char part[RUN_NAME_MAX / 2];
    const char *whole = strstr(trace->part, " of ");
    if (trace->part[0] == '\0')
        return;
    int length = whole != NULL ? (int)(whole - trace->part) : (int)strlen(trace->part);
    int wanted = snprintf(part, sizeof part, " (%.*s)", length < 27 ? length : 27, trace->part);
    size_t used = strlen(name), most = (size_t)(RUN_NAME_MAX - 1 - wanted);
    strcpy(name + (used < most ? used : most), part);
}

/* Returns the run of the second file, which begins at `second`, that `run` is to be compared
 * with: the only one, or the one of the same name; -1: none. */
static int partner_of(const struct view *view, int run, int second)
{
    if (second == 1 && view->report.run_count == 2)
        return 1;
    for (int i = second; i < view->report.run_count; i++) {
        if (strcmp(view->items[i].trace.name, view->items[run].trace.name) == 0)
            return i;
    }
    return -1;
}

static void name_side(struct view_item *item, const char *side, bool several)
{
    char *name = item->settings.name;
    if (several)
        snprintf(name, RUN_NAME_MAX, "%s: %.48s", side, item->trace.name);
    else
        snprintf(name, RUN_NAME_MAX, "%s", side);
    view_name_part(&item->trace, name);
}

/* Puts each run of the first file before its partner of the second; those without one are left
 * out. */
static enum status pair_runs(struct view *view, int second, struct error *error)
{
    struct view pairs = *view;
    int count = 0, all = view->report.run_count;
    size_t room = 2 * (size_t)all + 1;
    pairs.report.runs = calloc(room, sizeof *pairs.report.runs);
    pairs.items = calloc(room, sizeof *pairs.items);
    bool *taken = calloc(room, sizeof *taken);
    bool there = pairs.report.runs && pairs.items && taken;
    for (int i = 0; i < second && there; i++) {
        int sides[] = {i, partner_of(view, i, second)};
        if (sides[1] < 0 || taken[sides[1]])
            continue;
        for (int side = 0; side < 2; side++, count++) {
            pairs.report.runs[count] = view->report.runs[sides[side]];
            pairs.items[count].trace = view->items[sides[side]].trace;
            name_side(&pairs.items[count], side == 0 ? "before" : "after", all > 2);
            pairs.report.runs[count].speedup = (double)view->report.runs[i].median_ns /
                                               (double)view->report.runs[sides[side]].median_ns;
            taken[sides[side]] = true;
        }
    }
    for (int i = 0; i < all && there; i++) {
        struct report one = {.runs = &view->report.runs[i], .run_count = 1};
        if (!taken[i])
            report_free(&one);
    }
    free(taken);
    pairs.report.run_count = count;
    pairs.report.paired = true;
    struct view *unused = there ? view : &pairs;
    free(unused->report.runs);
    free(unused->items);
    if (there)
        *view = pairs;
    return there ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "no memory to compare");
}

enum status view_compare_files(struct view *view, const struct options *options, int second,
                               struct error *error)
{
    enum status status = pair_runs(view, second, error);
    if (status == STATUS_OK && view->report.run_count == 0)
        status =
            error_set(error, STATUS_USAGE,
                      "--before=%.96s and --after=%.96s have no run of one name to compare",
                      options->before, options->after);
    for (int i = 0; i < view->report.run_count && status == STATUS_OK; i++) {
        const bool before = i % 2 == 0;
        if (view->report.runs[i].median_ns == 0)
            status = error_set(
                error, STATUS_USAGE, "--%s=%.96s: nothing ran there that could be compared",
                before ? "before" : "after", before ? options->before : options->after);
    }
    return status;
}
