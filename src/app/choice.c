/* choice.c - settings that are left to the simulator, and the note that says what it chose. */
#include "app/choice.h"

#include "app/beside.h"
#include "core/units.h"
#include "mpi/ranks.h"
#include "report/reference.h"
#include "report/tune.h"
#include "term/marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CHOICE_TEXT = 256 };

/* Appends `name`=`value` to the text of what was chosen. */
static void add_chosen(char text[CHOICE_TEXT], const char *name, const char *value)
{
    const size_t length = strlen(text);
    snprintf(text + length, CHOICE_TEXT - length, "%s%s=%s", length > 0 ? " " : "", name,
             value);
}

static void add_chosen_number(char text[CHOICE_TEXT], const char *name, uint32_t value)
{
    char digits[16];
    snprintf(digits, sizeof digits, "%" PRIu32, value);
    add_chosen(text, name, digits);
}

/* Notes "the ways to issue: streams 128 ms or more, batch 34.2 ms, pack 79 ms or more". */
static void note_ways(const struct job *job, const struct tuned *tuned)
{
    char text[CHOICE_TEXT] = "", time[UNITS_TEXT];
    for (int i = 0; i < WAY_COUNT; i++) {
        const struct tuned_trial *way = &tuned->ways[i];
        const size_t length = strlen(text);
        if (way->time_ns > 0)
            snprintf(text + length, sizeof text - length, "%s%s %s%s", length > 0 ? ", " : "",
                     tuned_way_names[i], units_time(way->time_ns, time),
                     way->simulated ? "" : " or more");
    }
    note_print(job->options->quiet, "the ways to issue: %s", text);
}

/* Notes "tiles=24 streams=3, chosen of 32 in 5.1 ms by simulating h200". */
static void note_tuned(const struct job *job, const struct settings *asked,
                       const struct tuned *tuned)
{
    char chosen[CHOICE_TEXT] = "", took[UNITS_TEXT];
    if (asked->tiles == 0)
        add_chosen_number(chosen, "tiles", tuned->tiles);
    if (asked->streams == 0)
        add_chosen_number(chosen, "streams", tuned->streams);
    if (asked->order == ORDER_AUTO)
        add_chosen(chosen, "order", order_names[job->settings.order]);
    if (asked->issue == ISSUE_AUTO) {
        add_chosen(chosen, "issue", issue_names[job->settings.issue]);
        if (job->settings.memory != asked->memory)
            add_chosen(chosen, "memory", memory_names[job->settings.memory]);
        if (job->settings.pack)
            add_chosen(chosen, "pack", "yes");
    }
    if (job->settings.layout != asked->layout)
        add_chosen(chosen, "layout", layout_names[job->settings.layout]);
    note_print(job->options->quiet, "%s, chosen of %" PRIu32 " in %s by simulating %s", chosen,
               tuned->candidates, units_time(tuned->took_ns, took), job->reference.name);
    if (asked->issue == ISSUE_AUTO)
        note_ways(job, tuned);
}

/* Keeps what the run would be if what was left open had been left out. */
static enum status set_usual(struct job *job, const struct settings *asked, struct error *error)
{
    struct settings usual;
    const enum status status = settings_set_defaults(&usual, error);
    if (status != STATUS_OK)
        return status;
    job->usual = *asked;
    if (asked->tiles == 0)
        job->usual.tiles = settings_tiles_near(asked, usual.tiles);
    if (asked->streams == 0)
        job->usual.streams = usual.streams;
    if (asked->order == ORDER_AUTO)
        job->usual.order = usual.order;
    if (asked->layout == LAYOUT_AUTO)
        job->usual.layout = usual.layout;
    if (asked->issue == ISSUE_AUTO)
        job->usual.issue = usual.issue;
    return STATUS_OK;
}

enum status choice_make(struct job *job, struct error *error)
{
    if (!settings_are_open(&job->settings))
        return STATUS_OK;
    const struct settings asked = job->settings;
    struct machine machine = job->reference;
    struct tuned tuned;
    reference_learn(&machine, &job->machine);
    reference_restrict(&machine, &job->machine, job->ops, job->backend);
    enum status status = tune_settings(&job->settings, &machine, &tuned, error);
    if (status == STATUS_OK) {
        note_tuned(job, &asked, &tuned);
        status = set_usual(job, &asked, error);
    }
    return status;
}

/* Returns true if the choice is what a run without any would have had. */
static bool is_usual(const struct settings *chosen, const struct settings *usual)
{
    return chosen->tiles == usual->tiles && chosen->streams == usual->streams &&
           chosen->order == usual->order && chosen->layout == usual->layout &&
           chosen->issue == usual->issue && chosen->memory == usual->memory &&
           chosen->pack == usual->pack && chosen->batch == usual->batch;
}

enum status choice_weigh(struct job *job, struct run_report *report, struct error *error)
{
    struct error why = {0};
    struct beside beside = {.settings = job->usual, .runs = job->settings.runs};
    if (job->usual.tiles == 0 || is_usual(&job->asked, &job->usual) || job->settings.profile ||
        job->settings.mistake != MISTAKE_NONE || ranks_count() > 1)
        return STATUS_OK;
    beside.settings.no_data |= !job->ops->measures;
    marks_begin("run with the usual settings");
    const enum status status = beside_run(job, &beside, &why);
    marks_end();
    arrays_free(&beside.arrays);
    /* A device that can't run the usual settings leaves nothing to weigh. A run that went
     * wrong, and memory that ran out, are told. */
    if (status == STATUS_NO_MEMORY || (status == STATUS_FAILED && beside.ran))
        return error_set(error, status, "with the usual settings: %.400s", why.text);
    if (status == STATUS_OK) {
        report->usual = &job->usual;
        report->usual_ns = beside.median_ns;
    }
    return STATUS_OK;
}
