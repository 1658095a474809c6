/* choice.c - settings that are left to the simulator, and the note that says what it chose. */
#include "app/job.h"

#include "causes/knobs.h"
#include "core/units.h"
#include "emit/emit.h"
#include "mpi/ranks.h"
#include "report/reference.h"
#include "report/tune.h"
#include "term/marks.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CHOICE_TEXT = 256 };

/* Notes "the ways to issue: streams 128 ms or more, batch 34.2 ms, pack 79 ms or more". */
static void note_ways(const struct job *job, const struct tuned *tuned)
{
    char text[CHOICE_TEXT] = "", time[UNITS_TEXT];
    for (int i = 0; i < WAY_COUNT; i++) {
        const struct tuned_trial *way = &tuned->ways[i];
        if (way->time_ns > 0)
            text_add(text, sizeof text, ", ", "%s %s%s", issue_ways[i].name,
                     units_time(way->time_ns, time), way->simulated ? "" : " or more");
    }
    note_print(job->options->quiet, "the ways to issue: %s", text);
}

/* Notes "tiles=24 streams=3, chosen of 32 in 5.1 ms by simulating h200". */
static void note_tuned(const struct job *job, const struct settings *asked,
                       const struct tuned *tuned)
{
    char chosen[CHOICE_TEXT] = "", took[UNITS_TEXT];
    if (asked->tiles == 0)
        text_add(chosen, CHOICE_TEXT, " ", "tiles=%" PRIu32, tuned->tiles);
    if (asked->streams == 0)
        text_add(chosen, CHOICE_TEXT, " ", "streams=%" PRIu32, tuned->streams);
    if (asked->order == ORDER_AUTO)
        text_add(chosen, CHOICE_TEXT, " ", "order=%s", order_names[job->settings.order]);
    if (asked->issue == ISSUE_AUTO) {
        text_add(chosen, CHOICE_TEXT, " ", "issue=%s", issue_names[job->settings.issue]);
        if (job->settings.memory != asked->memory)
            text_add(chosen, CHOICE_TEXT, " ", "memory=%s", memory_names[job->settings.memory]);
        if (job->settings.pack)
            text_add(chosen, CHOICE_TEXT, " ", "pack=yes");
        if (job->settings.batch != asked->batch) /* is for ways that have batches */
            text_add(chosen, CHOICE_TEXT, " ", "batch=auto");
    }
    if (job->settings.layout != asked->layout)
        text_add(chosen, CHOICE_TEXT, " ", "layout=%s", layout_names[job->settings.layout]);
    note_print(job->options->quiet, "%s, chosen of %" PRIu32 " in %s by simulating %s", chosen,
               tuned->candidates, units_time(tuned->took_ns, took), job->reference.name);
    if (asked->issue == ISSUE_AUTO)
        note_ways(job, tuned);
}

/* Writes what may be chosen, "tiles=32 streams=4 order=depth": where it differs from another
 * choice; NULL: all. */
static const char *put_choice(const struct settings *settings, const struct settings *other,
                              char text[CHOICE_TEXT])
{
    static const struct settings plain = {.memory = MEMORY_PINNED};
#define PUT(member, format, ...)                                                               \
    if (other == NULL || settings->member != other->member)                                    \
    text_add(text, CHOICE_TEXT, " ", format, __VA_ARGS__)
    text[0] = '\0';
    PUT(tiles, "tiles=%" PRIu32, settings->tiles);
    PUT(streams, "streams=%" PRIu32, settings->streams);
    PUT(order, "order=%s", order_names[settings->order]);
    PUT(layout, "layout=%s", layout_names[settings->layout]);
    PUT(issue, "issue=%s", issue_names[settings->issue]);
    if (other == NULL)
        other = &plain;
    PUT(memory, "memory=%s", memory_names[settings->memory]);
    PUT(pack, "pack=%s", settings->pack ? "yes" : "no");
    PUT(batch, "batch=%" PRIu32, settings->batch);
#undef PUT
    return text;
}

/* Sets how sure the time of settings is; returns whether that is known. */
static bool look_at(const struct settings *settings, const struct machine *machine,
                    struct outlook *outlook)
{
    struct error why = {0};
    int64_t time_ns;
    return whatif_time(settings, machine, &time_ns, &why) == STATUS_OK &&
           whatif_look(settings, machine, time_ns, outlook, &why) == STATUS_OK;
}

/* Notes which settings may be as good as those that were chosen. On a device they are run. */
static void note_alike(const struct job *job, const struct machine *machine)
{
    const struct finalists *finalists = &job->tuned->finalists;
    const struct settings *first = NULL;
    struct outlook chosen, other;
    char text[CHOICE_TEXT], more[32] = "";
    int count = 0;
    if (job->options->quiet || job->ops->measures || !look_at(&job->settings, machine, &chosen))
        return;
    EACH (const struct finalist, finalist, finalists->all, finalists->count) {
        if (finalists_are_alike(&finalist->settings, &job->settings) ||
            !look_at(&finalist->settings, machine, &other) ||
            interval_gain(&other, &chosen).low_ns > 0)
            continue;
        first = first == NULL ? &finalist->settings : first;
        count++;
    }
    if (count > 1)
        snprintf(more, sizeof more, ", and %d more", count - 1);
    if (count > 0)
        note_print(false, "as good, as far as the simulator can tell: %s%s",
                   put_choice(first, &job->settings, text), more);
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
    job->tuned = calloc(1, sizeof *job->tuned);
    if (job->tuned == NULL)
        return error_no_memory(error, "to choose settings");
    reference_learn(&machine, &job->machine);
    reference_restrict(&machine, &job->machine, job->ops, job->backend);
    /* Where a program is asked for, only plans are chosen that can be written as one. */
    tune_accept *accept = job->options->emit != NULL ? check_program : NULL;
    enum status status = tune_settings(&job->settings, &machine, accept, job->tuned, error);
    if (status == STATUS_OK) {
        note_tuned(job, &asked, job->tuned);
        note_alike(job, &machine);
        status = set_usual(job, &asked, error);
    }
    return status;
}

/* Returns true if there is a choice, and runs beside the job's are of use. */
static bool is_open(const struct job *job)
{
    return job->usual.tiles > 0 && !job->settings.profile &&
           job->settings.mistake == MISTAKE_NONE && ranks_count() == 1;
}

static enum status measure(void *context, const struct settings *settings, uint32_t runs,
                           int64_t *median, struct error *error)
{
    struct beside beside = {.settings = *settings, .runs = runs};
    const enum status status = beside_run(context, &beside, error);
    arrays_free(&beside.arrays);
    *median = beside.median_ns;
    /* Settings that could not be prepared need more than the device has; others may fit. */
    if (status == STATUS_FAILED && !beside.ran)
        error->status = STATUS_USAGE;
    return status == STATUS_OK ? STATUS_OK : error->status;
}

/* Notes "of 12 settings run on the device the fastest are taken: tiles=32 streams=4 order=depth
 * layout=tile issue=streams, 1.86 ms; those that the simulator chose took 2.07 ms". */
static void note_tried(const struct job *job, const struct tried *tried, bool changed)
{
    char text[CHOICE_TEXT], fastest[UNITS_TEXT], chosen[UNITS_TEXT];
    units_time(tried->time_ns, fastest);
    if (!changed) {
        note_print(job->options->quiet,
                   "of %d settings run on the device none was clearly faster than these: %s",
                   tried->count, fastest);
        return;
    }
    put_choice(&tried->settings, NULL, text);
    if (tried->chosen_ns == 0)
        note_print(
            job->options->quiet,
            "of %d settings run on the device the fastest are taken: %s, %s; it can't run "
            "those that the simulator chose",
            tried->count, text, fastest);
    else
        note_print(job->options->quiet,
                   "of %d settings run on the device the fastest are taken: %s, %s; those that "
                   "the simulator chose took %s",
                   tried->count, text, fastest, units_time(tried->chosen_ns, chosen));
}

enum status choice_try(struct job *job, bool *changed, struct error *error)
{
    struct error why = {0};
    struct tried tried;
    *changed = false;
    if (!is_open(job) || !job->ops->measures || job->tuned->finalists.count == 0)
        return STATUS_OK;
    marks_begin("run the settings that may be the fastest");
    const enum status status = finalists_try(&job->tuned->finalists, &job->asked, &job->usual,
                                             measure, job, &tried, &why);
    marks_end();
    if (status != STATUS_OK)
        return error_set(error, status, "with settings that may be the fastest: %.400s",
                         why.text);
    if (tried.count == 0)
        return STATUS_OK;
    *changed = !finalists_are_alike(&tried.settings, &job->asked);
    note_tried(job, &tried, *changed);
    if (*changed)
        job->settings = tried.settings;
    return STATUS_OK;
}

enum status choice_weigh(struct job *job, struct run_report *report, struct error *error)
{
    struct error why = {0};
    struct beside beside = {.settings = job->usual, .runs = job->settings.runs};
    if (!is_open(job) || finalists_are_alike(&job->asked, &job->usual))
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
