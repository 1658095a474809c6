/* critical_finder.h - what the search for a critical path holds: private to its files.
 *
 *   analysis/critical.c          the host, streams, events, engines; the path
 *   analysis/critical_machine.c  what is peculiar to some machines */
#ifndef PIPELINE_ANALYSIS_CRITICAL_FINDER_H
#define PIPELINE_ANALYSIS_CRITICAL_FINDER_H

#include "analysis/critical.h"
#include "plan/rules.h"

struct finder {
    const struct timeline *timeline;
    const struct machine *machine; /* NULL: not known */
    struct hold *holds;
    uint32_t *by_start, *by_end; /* of one engine at a time */
    uint32_t *running;           /* a stack: see reach_start() */
    int64_t *delays;             /* room for one per span */
    int64_t jitter_ns;           /* an end that much behind a start may still have let it go */
    int64_t launch_ns;           /* kernels: what a start may take with nothing to wait for */
};

static inline int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline bool span_precedes(const struct span *a, const struct span *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->op < b->op;
}

/* Takes `holder` for what held span `index` if it let go later than all known so far; with
 * `even`, also if it let go at the same time. */
void finder_consider(struct finder *finder, uint32_t index, enum held_by by, uint32_t holder,
                     bool even);

/* Looks for ops that were behind another stream's in their hardware queue (rule 4). What held
 * each op but its engine must be known. */
enum status finder_hold_by_queues(struct finder *finder, struct error *error);

/* Looks for ops that followed a kernel, and went only when later kernels had ended, too (rule
 * 5). All other holds must be known; `count` kernels are in by_end. */
void finder_hold_by_signals(struct finder *finder, uint32_t count);

#endif
