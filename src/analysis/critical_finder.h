/* critical_finder.h - what the search for a critical path holds: private to its files.
 *
 *   analysis/critical_finder.c  spans in order of time, and what held one latest; what is
 *                               peculiar to some machines
 *   analysis/critical.c         the host, streams, events, engines; the path */
#ifndef PIPELINE_ANALYSIS_CRITICAL_FINDER_H
#define PIPELINE_ANALYSIS_CRITICAL_FINDER_H

#include "analysis/critical.h"
#include "core/arena.h"

struct finder {
    const struct timeline *timeline;
    const struct machine *machine; /* NULL: not known */
    struct hold *holds;
    uint32_t *before;
    uint32_t *by_start, *by_end; /* spans of one engine at a time */
    uint32_t *running;           /* a stack: see finder_reach() */
    const struct span **sorted;  /* room for all spans */
    int64_t *delays;             /* room for one per span */
    struct arena arena;          /* what has these */
    int64_t jitter_ns;           /* an end that much behind a start may still have let it go */
    int64_t launch_ns; /* what the start of a kernel may take with nothing to wait for */
};

/* Takes memory for `timeline` and for `result`, which the caller frees in any case, and the
 * finder's arena as well. Returns false when memory runs out. */
bool finder_begin(struct finder *finder, const struct timeline *timeline,
                  struct critical *result);

/* Takes `holder` for what held span `index` if it let go later than all known so far; with
 * `even`, also if it let go at the same time. */
void finder_consider(struct finder *finder, uint32_t index, enum held_by by, uint32_t holder,
                     bool even);

/* Fills by_start and by_end with the spans of the engines in `engines` (bits) of a device, and
 * returns how many they are. `sorted` has those of by_end then, too. */
uint32_t finder_sort(struct finder *finder, unsigned engines, uint32_t device);

/* An engine on its way through its spans in order of start. Zero-initialise. */
struct engine_pass {
    uint32_t ended;         /* how many of by_end are over */
    uint32_t running_count; /* of the stack `running`; below its top some may be over */
    uint32_t latest;        /* what ended last before the present span began, or SPAN_NONE */
    uint32_t beside;        /* what began last and still runs then, or SPAN_NONE */
};

/* Goes to the start of span `index`, which is the next in order of start. */
void finder_reach(const struct finder *finder, struct engine_pass *pass, uint32_t index);

/* Looks for ops that were behind another stream's in their hardware queue (rule 4). What held
 * each op but its engine must be known. */
enum status finder_hold_by_queues(struct finder *finder, struct error *error);

/* Looks for ops that followed a kernel, and went only when later kernels had ended, too (rule
 * 5). All other holds must be known. */
void finder_hold_by_signals(struct finder *finder, uint32_t device);

#endif
