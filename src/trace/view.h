/* view.h - `pipeline view TRACE...`: draws, measures and explains what another program did. */
#ifndef PIPELINE_TRACE_VIEW_H
#define PIPELINE_TRACE_VIEW_H

#include "analysis/critical.h"
#include "options/options.h"
#include "plan/timeline.h"
#include "report/report.h"
#include "trace/trace.h"

struct view {
    struct report report;
    struct view_item {
        struct settings settings;  /* its name, and nothing else */
        struct trace trace;        /* less the timeline, which the run has */
        uint32_t looked;           /* of a rank: how many spans were compared with others' */
        int64_t waited_ns;         /* and how long these waited for it */
    } * items;                     /* of the runs */
    struct recording **recordings; /* that traces refer to: owned */
    size_t recording_count, recording_room;
    struct plan **plans; /* that runs of recordings refer to: owned */
    size_t plan_count, plan_room;
    bool streams_cut; /* only some streams are shown: no causes are looked for */
    bool alone;       /* one file: runs of ours keep their names */
    bool quiet;       /* no notes */
    bool anonymous;   /* names are left out, those of the files, too: they are counted */
    char late[160];   /* which rank others wait for, as the report says it */
    int files;
    const char *machine;              /* the value of --machine; NULL: it was not given */
    const struct machine *calibrated; /* the device that is here; NULL: it was not asked for */
    bool loops;                       /* of a trace with a loop nothing else is judged */
    bool draws;                       /* pictures are written, too */
    bool sheds;   /* nothing more is asked of a recording once the run is judged */
    bool fix;     /* recordings are shown with their best fixes, too */
    int fixed;    /* runs that are so */
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

/* --- view_facts.c: what a trace shows beside its busy times --- */

enum {
    ENGINE_SETS = 1 << DEVICE_ENGINES,
    GAPS_KEPT = 5, /* per engine: the longest */
};

/* A time in which an engine had nothing to do, between two ops. */
struct view_gap {
    int64_t start_ns, end_ns;
    uint32_t next; /* the span that ended it */
};

/* All ops of one name. */
struct view_name {
    const char *name; /* of the timeline, or "h2d", "d2h" */
    uint8_t engine;
    uint32_t ops;
    int64_t sum_ns;  /* of their lengths */
    int64_t path_ns; /* that they ran on the critical path */
};

struct view_facts {
    int64_t together_ns[ENGINE_SETS]; /* by the engines that were at work, as bits */
    int64_t sum_ns[DEVICE_ENGINES];   /* of the lengths of all ops, side by side or not */
    struct view_gap gaps[DEVICE_ENGINES][GAPS_KEPT]; /* longest first */
    uint32_t gap_counts[DEVICE_ENGINES];             /* all that there are */
    int64_t gap_sums_ns[DEVICE_ENGINES];
    struct view_name *names; /* longest sum first */
    uint32_t name_count;
    int64_t path_ns[DEVICE_ENGINES]; /* of the critical path: at work on each engine */
};

/* Finds them for `timeline` and its critical path. O(n log n). STATUS_NO_MEMORY or
 * STATUS_OK; free with view_facts_free(). */
enum status view_facts_find(const struct timeline *timeline, const struct critical *critical,
                            struct view_facts *facts, struct error *error);
void view_facts_free(struct view_facts *facts);

/* For how long just `count` engines were at work. */
int64_t view_facts_at_once_ns(const struct view_facts *facts, int count);

/* For how long all engines of the set `engines` (bits) were, whatever the others did. */
int64_t view_facts_together_ns(const struct view_facts *facts, unsigned engines);

#endif
