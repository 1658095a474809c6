/* sweep_head.c - what the runs of a sweep share: where they ran, and their settings. */
#include "core/units.h"
#include "writers/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SETTING_TEXT = 160 };

/* Settings that a reader needs to make the same sweep again. */
static const char *const told[] = {
    "kernel", "elements", "input", "intensity", "columns",    "stride",
    "blocks", "ways",     "order", "layout",    "streams",    "tiles",
    "memory", "scatter",  "alloc", "callbacks", "carry",      "connections",
    "issue",  "batch",    "pack",  "spread",    "exchange",   "halo",
    "steps",  "hide",     "seed",  "copy",      "tile-width", NULL};

struct search {
    const char *name;
    char *text;
};

static void take_setting(void *context, const char *name, const char *value,
                         enum value_kind kind)
{
    struct search *search = context;
    if (strcmp(search->name, name) != 0 || kind == VALUE_NULL ||
        (kind == VALUE_BOOL && strcmp(value, "false") == 0))
        return;
    writer_fit(search->text, SETTING_TEXT, value, SETTING_TEXT / 4);
}

/* Returns true if a setting says nothing about these runs, as the columns of a kernel that
 * works on no matrix, or a stride of 1. */
static bool is_idle(const struct settings *settings, const char *name)
{
    const struct kernel *matrix = chain_unit_kernel(settings->chain, settings->chain_length);
    const char *unit = matrix != NULL ? matrix->unit_name : "";
    const bool several = settings_devices(settings) > 1, halo = settings_has_halo(settings);
    const bool whole = settings->copy == COPY_WHOLE;
    return (whole && (strcmp(name, "copy") == 0 || strcmp(name, "tile-width") == 0)) ||
           (strcmp(name, "columns") == 0 && strcmp(unit, "rows") != 0) ||
           (strcmp(name, "rows") == 0 && strcmp(unit, "columns") != 0) ||
           (strcmp(name, "inner") == 0 && strcmp(unit, "columns") != 0) ||
           (strcmp(name, "stride") == 0 && settings->stride == 1) ||
           (strcmp(name, "blocks") == 0 && settings->blocks == 0) ||
           (strcmp(name, "carry") == 0 && settings->carry == CARRY_DEVICE) ||
           (strcmp(name, "alloc") == 0 && settings->alloc == ALLOC_ONCE) ||
           (strcmp(name, "spread") == 0 && (!several || halo)) ||
           (strcmp(name, "exchange") == 0 && !settings_by_link(settings)) ||
           (strcmp(name, "halo") == 0 && !halo) || (strcmp(name, "steps") == 0 && !halo) ||
           (strcmp(name, "hide") == 0 && !(halo && several)) ||
           (strcmp(name, "issue") == 0 && settings->issue == ISSUE_STREAMS) ||
           (strcmp(name, "batch") == 0 && settings_batch(settings) == 1);
}

/* Writes the setting as it was used; an empty text where there is none, or it is off. */
static void setting_text(const struct run_report *run, const char *name,
                         char text[SETTING_TEXT])
{
    struct search search = {name, text};
    text[0] = '\0';
    if (is_idle(run->settings, name))
        return;
    settings_each(run->settings, take_setting, &search);
    if (strcmp(name, "elements") == 0)
        units_count(run->elements, text);
}

static bool is_swept(const struct sweep *sweep, const char *name)
{
    bool first = strcmp(sweep->axes[0].option, name) == 0;
    return first || (sweep->axis_count > 1 && strcmp(sweep->axes[1].option, name) == 0);
}

/* Returns true if `count` runs from `runs` on agree on a setting, which is then in `text`. */
static bool is_shared(const struct run_report *runs, int count, const char *name,
                      char text[SETTING_TEXT])
{
    char other[SETTING_TEXT];
    setting_text(&runs[0], name, text);
    for (int i = 1; i < count; i++) {
        setting_text(&runs[i], name, other);
        if (strcmp(text, other) != 0)
            return false;
    }
    return true;
}

void sweep_put_words(const struct sweep_table *table, int *used, int indent, const char *words)
{
    int length = writer_columns(words);
    if (*used > indent && *used + 1 + length > table->style->width) {
        fprintf(table->out, "\n%*s", indent, "");
        *used = indent;
    }
    *used += length + fprintf(table->out, "%s", *used > indent ? " " : "");
    fputs(words, table->out);
}

void sweep_put_settings(const struct sweep_table *table, const struct run_report *runs,
                        int count, bool apart, int used, int indent)
{
    char text[SETTING_TEXT], all[SETTING_TEXT], words[2 * SETTING_TEXT];
    for (int i = 0; told[i] != NULL; i++) {
        if (is_swept(table->sweep, told[i]) || !is_shared(runs, count, told[i], text) ||
            text[0] == '\0')
            continue;
        if (apart && is_shared(table->report->runs, table->report->run_count, told[i], all))
            continue;
        snprintf(words, sizeof words, "%s=%s", told[i], text);
        sweep_put_words(table, &used, indent, words);
    }
}

/* "simulated, NVIDIA H200": of the device only what all runs have in common. */
static void put_device(const struct sweep_table *table)
{
    const struct run_report *runs = table->report->runs;
    char text[3 * (TIMELINE_TEXT + 16)], devices[DEVICES_TEXT];
    bool source = true, device = true, driver = runs[0].timeline.driver[0] != '\0';
    for (int i = 1; i < table->report->run_count; i++) {
        source &= timeline_source(&runs[i].timeline) == timeline_source(&runs[0].timeline);
        device &= strcmp(report_device(&runs[i]), report_device(&runs[0])) == 0 &&
                  timeline_devices(&runs[i].timeline) == timeline_devices(&runs[0].timeline);
        driver &= strcmp(runs[i].timeline.driver, runs[0].timeline.driver) == 0;
    }
    fputs(source ? timeline_source(&runs[0].timeline) : "measured and simulated", table->out);
    writer_devices(&runs[0], devices);
    if (device)
        fprintf(table->out, ", %s", devices);
    if (driver)
        fprintf(table->out, ", %s", escape_text(text, sizeof text, runs[0].timeline.driver));
    putc('\n', table->out);
}

void sweep_put_head(const struct sweep_table *table)
{
    writer_put_title(table->out, table->report);
    put_device(table);
    sweep_put_settings(table, table->report->runs, table->report->run_count, false, 0, 0);
    putc('\n', table->out);
}

/* --- the best of the runs --- */

bool sweep_is_wrong(const struct run_report *run)
{
    return run->verified == VERIFIED_NO;
}

/* The time of one element decides, so that the smallest array is not the best; among runs that
 * do not work on the same things or in the same place, how near each came to its own limit. */
static double cost_of(const struct run_report *run, bool alike)
{
    double share = run->limit.ns > 0 ? (double)run->median_ns / (double)run->limit.ns : 0;
    return alike ? (double)run->median_ns / (double)(run->elements > 0 ? run->elements : 1)
                 : share;
}

/* Returns true if a run is no worse than the best by 1 %, or by what repeats differ: which of
 * such runs is the fastest is chance, or does not matter. */
static bool is_as_good(const struct run_report *run, const struct run_report *best, bool alike)
{
    double leeway = fmax(0.01, fmax(run->noise, best->noise)); /* fmax() passes over NaN */
    return !sweep_is_wrong(run) && cost_of(run, alike) <= (1 + leeway) * cost_of(best, alike);
}

struct sweep_leaders sweep_find_leaders(const struct run_report *runs, int count)
{
    struct sweep_leaders leaders = {.best = -1, .alike = true};
    for (int i = 1; i < count && leaders.alike; i++)
        leaders.alike = report_is_comparable(&runs[0], &runs[i]);
    for (int i = 0; i < count; i++) {
        if (sweep_is_wrong(&runs[i]))
            continue;
        leaders.right++;
        if (leaders.best < 0 ||
            cost_of(&runs[i], leaders.alike) < cost_of(&runs[leaders.best], leaders.alike))
            leaders.best = i;
    }
    for (int i = 0; i < count && leaders.best >= 0; i++)
        leaders.others +=
            i != leaders.best && is_as_good(&runs[i], &runs[leaders.best], leaders.alike);
    return leaders;
}

bool sweep_is_marked(const struct run_report *runs, const struct sweep_leaders *leaders,
                     int index)
{
    bool none =
        leaders->best < 0 || (leaders->others > 0 && leaders->others + 1 == leaders->right);
    return !none && is_as_good(&runs[index], &runs[leaders->best], leaders->alike);
}
