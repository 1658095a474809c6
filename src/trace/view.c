/* view.c - traces in, a report of foreign runs out. */
#include "trace/view.h"

#include "core/anonymous.h"
#include "core/items.h"
#include "core/version.h"
#include "report/reference.h"
#include "term/progress.h"
#include "trace/recording.h"
#include "trace/trace.h"
#include "trace/view_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VIEW_ANONYMOUS_NAME = 32 };

/* Leaves template arguments of kernels and folders of source files out of traces that were
 * read. What is made of them, plans, causes and files, has no more than they have. Returns what
 * the file is called then: `name`, which gets its number unless that is 0. */
static const char *view_anonymise(struct traces *traces, int number,
                                  char name[VIEW_ANONYMOUS_NAME])
{
    for (int i = 0; i < traces->count; i++) {
        struct timeline *timeline = &traces->items[i].timeline;
        for (uint32_t kernel = 0; kernel < timeline->name_count; kernel++)
            anonymous_cut_kernel((char *)timeline->names[kernel]);
        for (uint32_t line = 0; line < timeline->line_count; line++)
            timeline->lines[line] = anonymous_file(timeline->lines[line]);
    }
    const struct recording *recording = traces->recording;
    for (size_t i = 0; recording != NULL && i < recording->op_count; i++) {
        if (recording->ops[i].name < recording->name_count)
            anonymous_cut_kernel(recording->names[recording->ops[i].name]);
    }
    for (size_t i = 0; recording != NULL && i < recording->line_count; i++)
        anonymous_cut_file(recording->lines[i].text);
    for (size_t i = 0; recording != NULL && i < recording->race_count; i++)
        for (int side = 0; side < 2; side++)
            anonymous_cut_file(recording->races[i].sides[side].place);
    if (recording != NULL && recording->traced_by != NULL) /* Python's ranges are files */
        for (size_t i = 0; i < recording->range_count; i++)
            anonymous_cut_file(recording->ranges[i].name);
    strcpy(name, ANONYMOUS_PROGRAM);
    if (number > 0)
        snprintf(name, VIEW_ANONYMOUS_NAME, ANONYMOUS_PROGRAM " %d", number);
    return name;
}

/* The file's name without its folder and its endings, "x" of "x.pt.trace.json.gz"; the device,
 * or the run of ours, too where there are several. */
static void name_run(const char *path, const char *part, char name[RUN_NAME_MAX])
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
    static const char *const endings[] = {".gz", ".json", ".trace", ".pt"};
    int length = (int)strlen(base);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const int end = (int)strlen(endings[i]);
        if (length > end && strncmp(base + length - end, endings[i], (size_t)end) == 0)
            length -= end;
    }
    const char *dot = memrchr(base, '.', (size_t)length);
    if ((base[length] == '\0' || strcmp(base + length, ".gz") == 0) && dot != NULL &&
        dot > base)
        length = (int)(dot - base);
    if (part != NULL)
        snprintf(name, RUN_NAME_MAX, "%.*s: %.29s", length < 32 ? length : 32, base, part);
    else
        snprintf(name, RUN_NAME_MAX, "%.*s", length, base);
}

/* Makes room for `more` runs behind those that there are. */
static bool grow(struct view *view, int more)
{
    size_t count = (size_t)view->report.run_count + (size_t)more;
    struct run_report *runs = reallocarray(view->report.runs, count, sizeof *runs);
    if (runs != NULL)
        view->report.runs = runs;
    struct view_item *items = reallocarray(view->items, count, sizeof *items);
    if (items != NULL)
        view->items = items;
    return runs != NULL && items != NULL;
}

/* Takes up a plan that a run refers to. NULL: no memory. */
static struct plan *keep_plan(struct view *view)
{
    const bool room = ITEMS_ROOM(view->plans, view->plan_count, view->plan_room);
    struct plan *plan = room ? malloc(sizeof *plan) : NULL;
    if (plan == NULL)
        return NULL;
    *plan = (struct plan){0};
    return view->plans[view->plan_count++] = plan;
}

/* Makes and judges the plan that a recording shows, unless only a part of it is viewed, or a
 * profiler's trace has no calls: *made. */
static enum status add_plan(struct view *view, const struct trace *trace,
                            struct run_report *run, struct plan **made, struct error *error)
{
    struct replan_left left;
    const struct recording *recording = trace->recording;
    if (recording == NULL || trace->part[0] != '\0' ||
        (recording->traced_by != NULL && recording->call_count == 0))
        return STATUS_OK;
    struct plan *plan = keep_plan(view);
    if (plan == NULL)
        return error_no_memory(error, "for the plan of a recording");
    *made = plan;
    enum status status = view_make_plan(trace, plan, &left, error);
    return status == STATUS_OK ? view_judge_plan(trace, plan, &left, run, error) : status;
}

/* Says which options do nothing where no run is a whole recording. */
static void put_unused(const struct view *view)
{
    const struct {
        const char *option;
        bool given;
    } options[] = {{"--fix", view->fix},
                   {"--machine", view->machine != NULL},
                   {"--calibrate", view->calibrated != NULL}};
    for (size_t i = 0; i < sizeof options / sizeof options[0] && !view->fixable; i++) {
        if (options[i].given)
            note_print(view->quiet,
                       "%s does nothing here: fixes are tried only of a whole recording of "
                       "`pipeline record`, or of a whole trace that has the calls to CUDA",
                       options[i].option);
    }
}

/* Puts behind a run of a recording the same with its best fixes, if any gains. */
static enum status add_fixed(struct view *view, int index, const struct machine *machine,
                             struct error *error)
{
    struct plan *plan = keep_plan(view);
    bool found;
    if (plan == NULL)
        return error_no_memory(error, "for the fixed run");
    const struct run_report *run = &view->report.runs[index];
    struct run_report *fixed = &view->report.runs[index + 1];
    enum status status = view_fix_run(run, machine, fixed, plan, &found, error);
    if (status != STATUS_OK || !found) {
        if (status == STATUS_OK)
            view_note_no_fix(run, view->items[index].settings.name, true, view->quiet);
        return status;
    }
    view->report.run_count++;
    view->fixed++;
    struct view_item *item = &view->items[index];
    item[1] = item[0];
    snprintf(item[1].settings.name, RUN_NAME_MAX, "%.*s fixed", RUN_NAME_MAX - 8,
             item->settings.name);
    return STATUS_OK;
}

/* Says why no cause is named of a recording in which nothing ran. */
static void put_nothing(uint64_t unseen, struct run_report *run)
{
    if (unseen > 0)
        snprintf(run->no_verdict, sizeof run->no_verdict,
                 "no cause is named: %" PRIu64 " calls issued copies, memsets and kernels, but "
                 "the recording has none of these as it ran",
                 unseen);
    else
        snprintf(run->no_verdict, sizeof run->no_verdict,
                 "no cause is named: the recording has no copy and no kernel");
}

/* Shows what the file says of a run; a limit that is `known` stands already, and no verdict
 * rests on one of the file's. */
static void show_results(struct view *view, int index, bool known)
{
    struct run_report *run = &view->report.runs[index];
    const struct trace *trace = &view->items[index].trace;
    if (!known)
        run->limit.ns = trace->limit_ns;
    if (view->alone && trace->speedup > 0)
        run->speedup = trace->speedup;
}

/* Calls a run by its file, and where that has several by its own name. */
static void name_whole(const struct view *view, const char *path, const struct trace *trace,
                       bool several, char name[RUN_NAME_MAX])
{
    if (trace->saved && view->alone && (several || strcmp(trace->name, "run") != 0))
        snprintf(name, RUN_NAME_MAX, "%s", trace->name);
    else
        name_run(path, several ? trace->name : NULL, name);
    view_name_part(trace, name);
}

/* Makes run `index` of `trace`, whose timeline moves. */
static enum status make_run(struct view *view, int index, struct trace *trace,
                            struct error *error)
{
    struct run_report *run = &view->report.runs[index];
    *run = (struct run_report){
        .timeline = trace->timeline,
        .streams = trace->timeline.streams,
        .verified = VERIFIED_NOT_ASKED,
        .speedup = NAN,
        .foreign = true,
        .trace = &view->items[index].trace,
    };
    trace->timeline = (struct timeline){0};
    view->items[index].trace = *trace;
    memcpy(run->device, run->timeline.device, sizeof run->timeline.device);
    run->median_ns = run->min_ns = run->max_ns = timeline_time_ns(&run->timeline);
    return analyse(&run->timeline, &run->analysis, error);
}

/* Says why run `index` gets no verdict; returns false where it gets one. */
static bool refuses_verdict(struct view *view, int index)
{
    struct run_report *run = &view->report.runs[index];
    if (run->timeline.timing == TIMING_RECORDED && run->timeline.span_count == 0) {
        put_nothing(view->items[index].trace.unseen, run);
    } else if (view->streams_cut) {
        snprintf(run->no_verdict, sizeof run->no_verdict,
                 "no cause is named: --stream shows some streams, and the others may be why "
                 "these waited");
    } else if (run->timeline.devices > 1) {
        snprintf(run->no_verdict, sizeof run->no_verdict,
                 "no cause is named: in files causes are looked for on one device, and this "
                 "run had several");
        show_results(view, index, false);
    }
    return run->no_verdict[0] != '\0';
}

/* Finds the causes of run `index`: of a recording with its plan, and with the machine that
 * stands for its device, if any does: *known. */
static enum status judge_run(struct view *view, int index, struct machine *machine, bool *known,
                             struct error *error)
{
    struct run_report *run = &view->report.runs[index];
    struct trace *trace = &view->items[index].trace;
    struct plan *plan = NULL;
    enum status status = add_plan(view, trace, run, &plan, error);
    if (status == STATUS_OK && run->plan != NULL)
        status = view_find_machine(view->calibrated, view->machine, trace->recording,
                                   trace->device, machine, known, error);
    if (view->sheds && trace->recording != NULL)
        recording_shed(view->recordings[view->recording_count - 1]);
    if (status == STATUS_OK && view->loops && !trace->saved && trace->part[0] == '\0')
        status = view_keep_loop(run, trace, plan, error);
    if (status == STATUS_OK)
        status = analyse(&run->timeline, &run->analysis, error);
    if (status == STATUS_OK)
        status = critical_find(&run->timeline, NULL, &run->critical, error);
    if (*known && view->machine == NULL && view->calibrated == NULL &&
        !reference_is_model(machine->summary, run->timeline.device))
        note_print(
            view->quiet,
            "no machine file stands for %s: what its trace does not show of the machine is "
            "taken to be as an %s has it; name a machine by --machine",
            run->timeline.device, machine->summary);
    if (status == STATUS_OK)
        status = view_judge_run(run, *known ? machine : NULL, error);
    show_results(view, index, *known);
    view->fixable |= run->plan != NULL;
    return status;
}

/* Adds a run of `trace`, and with --fix the same with its best fixes. */
static enum status add_run(struct view *view, const char *path, struct trace *trace,
                           bool several, struct error *error)
{
    const int index = view->report.run_count++;
    struct run_report *run = &view->report.runs[index];
    struct machine machine;
    bool known = false;
    view->items[index] = (struct view_item){.looked = 0};
    name_whole(view, path, trace, several, view->items[index].settings.name);
    enum status status = make_run(view, index, trace, error);
    if (status != STATUS_OK || refuses_verdict(view, index))
        return status;
    status = judge_run(view, index, &machine, &known, error);
    if (status != STATUS_OK || !view->fix || run->plan == NULL)
        return status;
    if (known)
        return add_fixed(view, index, &machine, error);
    view_note_no_fix(run, view->items[index].settings.name, false, view->quiet);
    return STATUS_OK;
}

/* Says what a recording lacks, and what it wants to be told. */
static void put_notes(const struct view *view, const char *path,
                      const struct recording *recording)
{
    if (recording->end == RECORDING_CUT)
        note_print(
            view->quiet,
            "%s has no end: the program crashed or was killed, or the file was cut; this "
            "is what there is",
            path);
    if (recording->end == RECORDING_LIMIT)
        note_print(view->quiet,
                   "%s ends before its program did: it has as many bytes as --limit allows",
                   path);
    if (recording->lost > 0)
        note_print(view->quiet, "%s lacks %" PRIu64 " records", path, recording->lost);
    for (size_t i = 0; i < recording->note_count; i++)
        note_print(view->quiet, "%s: %s", path, recording->notes[i]);
}

/* Takes the file's recording, if it is one: runs that stay refer to it. */
static bool keep_recording(struct view *view, struct traces *traces)
{
    if (traces->recording == NULL)
        return true;
    struct recording **kept =
        ITEMS_ADD(view->recordings, view->recording_count, view->recording_room);
    if (kept == NULL)
        return false;
    *kept = traces->recording;
    traces->recording = NULL;
    return true;
}

static enum status add_file(struct view *view, const struct view_part *part, const char *path,
                            struct error *error)
{
    struct traces traces = {0};
    char name[VIEW_ANONYMOUS_NAME];
    const char *called = path;
    struct trace nothing = {
        .timeline = {.timing = TIMING_NSYS, .device = "a GPU", .resolution_ns = 1}};
    enum status status = traces_read(path, &traces, error);
    if (status != STATUS_OK)
        return status;
    view->files++;
    if (view->anonymous)
        called = view_anonymise(&traces, view->alone ? 0 : view->files, name);
    if (traces.unread[0] != '\0')
        note_print(view->quiet, "%s", traces.unread);
    if (traces.recording != NULL) {
        nothing.timeline.timing = traces.recording->timing;
        recording_count_odd(traces.recording, &nothing.unseen, &nothing.refused);
        put_notes(view, path, traces.recording);
    }
    bool several = traces.count > 1;
    status = traces_cut(&traces, part, path, error);
    int runs = traces.count > 0 ? traces.count : 1;
    int room = view->fix ? 2 * runs : runs;
    if (status == STATUS_OK && !(grow(view, room) && keep_recording(view, &traces)))
        status = error_no_memory(error, "for %d more runs", runs);
    if (status == STATUS_OK && traces.count == 0)
        status = add_run(view, called, &nothing, false, error);
    for (int i = 0; i < traces.count && status == STATUS_OK; i++) {
        view->sheds = !view->draws && i + 1 == traces.count;
        status = add_run(view, called, &traces.items[i], several, error);
    }
    traces_free(&traces);
    return status;
}

enum status view_read(const struct options *options, const struct machine *calibrated,
                      struct view *view, struct error *error)
{
    enum status status = STATUS_OK;
    *view = (struct view){.report.version = PIPELINE_VERSION,
                          .alone = options->word_count == 1,
                          .draws = options->timeline_count > 0,
                          .quiet = options->quiet,
                          .anonymous = options->anonymous,
                          .machine = options->machine,
                          .calibrated = calibrated,
                          .loops = !options->all && !options->dry_run,
                          .fix = options->fix,
                          .streams_cut = options->part.stream_count > 0};
    int second = 0; /* where the runs of the second file begin */
    for (int i = 0; i < options->word_count && status == STATUS_OK; i++) {
        second = i == 1 ? view->report.run_count : second;
        status = add_file(view, &options->part, options->words[i], error);
    }
    view->report.paired = view->fixed > 0 && 2 * view->fixed == view->report.run_count;
    if (status == STATUS_OK && options->before != NULL)
        status = view_compare_files(view, options, second, error);
    else if (status == STATUS_OK && !view_join_ranks(view) && view->files == 2 &&
             view->report.run_count == 2)
        status = view_weigh_pairs(view, error);
    if (status == STATUS_OK)
        put_unused(view);
    for (int i = 0; i < view->report.run_count; i++) { /* now that they move no more */
        view->report.runs[i].settings = &view->items[i].settings;
        view->report.runs[i].trace = &view->items[i].trace;
    }
    return status;
}

void view_free(struct view *view)
{
    report_free(&view->report);
    free(view->report.runs);
    free(view->items);
    for (size_t i = 0; i < view->recording_count; i++) {
        recording_free(view->recordings[i]);
        free(view->recordings[i]);
    }
    free(view->recordings);
    for (size_t i = 0; i < view->plan_count; i++) {
        plan_free(view->plans[i]);
        free(view->plans[i]);
    }
    free(view->plans);
    *view = (struct view){0};
}
