/* view.c - traces in, a report of foreign runs out. */
#include "trace/view.h"

#include "core/version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file's name without its folder and its ending; the device, or the run of ours, too where
 * there are several. */
static void name_run(const char *path, const char *part, char name[RUN_NAME_MAX])
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    int length = dot != NULL && dot > base ? (int)(dot - base) : (int)strlen(base);
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
    struct settings *settings = reallocarray(view->settings, count, sizeof *settings);
    if (settings != NULL)
        view->settings = settings;
    struct trace *traces = reallocarray(view->traces, count, sizeof *traces);
    if (traces != NULL)
        view->traces = traces;
    return runs != NULL && settings != NULL && traces != NULL;
}

/* Makes a run of `trace`, whose timeline moves. */
static enum status add_run(struct view *view, const char *path, struct trace *trace,
                           bool several, struct error *error)
{
    int index = view->report.run_count++;
    struct run_report *run = &view->report.runs[index];
    char *name = view->settings[index].name;
    view->settings[index] = (struct settings){0};
    if (trace->own && view->alone && (several || strcmp(trace->name, "run") != 0))
        snprintf(name, RUN_NAME_MAX, "%s", trace->name);
    else
        name_run(path, several ? trace->name : NULL, name);
    *run = (struct run_report){
        .timeline = trace->timeline,
        .streams = trace->timeline.streams,
        .verified = VERIFIED_NOT_ASKED,
        .speedup = NAN,
        .foreign = true,
        .pageable = trace->in.pageable + trace->out.pageable > 0,
        .trace = &view->traces[index],
    };
    timeline_init(&trace->timeline);
    view->traces[index] = *trace;
    memcpy(run->device, run->timeline.device, sizeof run->timeline.device);
    run->median_ns = run->min_ns = run->max_ns = timeline_time_ns(&run->timeline);
    enum status status = analyse(&run->timeline, &run->analysis, error);
    if (status == STATUS_OK)
        status = critical_find(&run->timeline, NULL, &run->critical, error);
    if (status == STATUS_OK)
        status = report_judge(run, NULL, NULL, error);
    run->limit.ns = view->traces[index].limit_ns; /* for show: no verdict rests on it */
    if (view->alone && view->traces[index].speedup > 0)
        run->speedup = view->traces[index].speedup;
    return status;
}

static enum status add_file(struct view *view, const char *path, struct error *error)
{
    struct traces traces = {0};
    struct trace nothing = {.timeline = {.timing = TIMING_NSYS,
                                         .device = "a GPU",
                                         .driver = "traced by Nsight Systems",
                                         .resolution_ns = 1}};
    enum status status = traces_read(path, &traces, error);
    if (status != STATUS_OK)
        return status;
    int runs = traces.count > 0 ? traces.count : 1;
    if (!grow(view, runs))
        status = error_set(error, STATUS_FAILED, "no memory for %d more runs", runs);
    if (status == STATUS_OK && traces.count == 0)
        status = add_run(view, path, &nothing, false, error);
    for (int i = 0; i < traces.count && status == STATUS_OK; i++)
        status = add_run(view, path, &traces.items[i], traces.count > 1, error);
    traces_free(&traces);
    return status;
}

enum status view_read(const struct options *options, struct view *view, struct error *error)
{
    enum status status = STATUS_OK;
    *view =
        (struct view){.report.version = PIPELINE_VERSION, .alone = options->word_count == 1};
    for (int i = 0; i < options->word_count && status == STATUS_OK; i++)
        status = add_file(view, options->words[i], error);
    for (int i = 0; i < view->report.run_count; i++) { /* now that they move no more */
        view->report.runs[i].settings = &view->settings[i];
        view->report.runs[i].trace = &view->traces[i];
    }
    return status;
}

void view_free(struct view *view)
{
    report_free(&view->report);
    free(view->report.runs);
    free(view->settings);
    free(view->traces);
    *view = (struct view){0};
}
