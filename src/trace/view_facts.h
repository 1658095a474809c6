/* view_facts.h - what a trace shows beside its busy times: overlap, gaps, names, the path. */
#ifndef PIPELINE_TRACE_VIEW_FACTS_H
#define PIPELINE_TRACE_VIEW_FACTS_H

#include "analysis/critical.h"
#include "plan/timeline.h"

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
