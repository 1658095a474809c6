/* view.h - `pipeline view TRACE...`: draws, measures and explains what another program did. */
#ifndef PIPELINE_TRACE_VIEW_H
#define PIPELINE_TRACE_VIEW_H

#include "options/options.h"
#include "report/report.h"
#include "trace/trace.h"

struct view {
    struct report report;
    struct view_item {
        struct settings settings;  /* its name, and nothing else */
        struct trace trace;        /* less the timeline, which the run has */
    } * items;                     /* of the runs */
    struct recording **recordings; /* that traces refer to: owned */
    size_t recording_count, recording_room;
    struct plan **plans; /* that runs of recordings refer to: owned */
    size_t plan_count, plan_room;
    bool streams_cut; /* only some streams are shown: no causes are looked for */
    bool alone;       /* one file: runs of ours keep their names */
    bool quiet;       /* no notes */
    bool anonymous;   /* names are left out, those of the files, too: they are counted */
    int files;
    const char *machine;              /* the value of --machine; NULL: it was not given */
    const struct machine *calibrated; /* the device that is here; NULL: it was not asked for */
    bool loops;                       /* of a trace with a loop nothing else is judged */
    bool fix;                         /* recordings are shown with their best fixes, too */
    int fixed;                        /* runs that are so */
    bool fixable; /* a run is a whole recording, whose fixes are tried on a machine */
};

/* Reads options->traces into a report of foreign runs, one per file and device in the order
 * given, each analysed and named after its file. Fixes of recordings are tried on `calibrated`,
 * the machine of the device that is here, unless it is NULL: it must be the device that was
 * recorded (STATUS_USAGE). A trace in which nothing ran makes a run
 * without spans. To be given back with view_free(), also after a failure. */
enum status view_read(const struct options *options, const struct machine *calibrated,
                      struct view *view, struct error *error);
void view_free(struct view *view);

#endif
