/* verdict.h - why a run took longer than its limit, in named causes with the time each cost.
 *
 * From the timeline, the plan and the machine, never from what was asked for: the critical path
 * is cut into pieces (analysis/pieces.h); of each piece is known how much of it was lost,
 * measured by the work that bounds the run (analysis/headway.h); and what was lost is charged
 * to the piece's cause, or, where the piece is work that had to be done, to the nearest thing
 * on the path that kept the bounding engine from working meanwhile: the next that had to be
 * waited for, else the one before. Charges are whole nanoseconds and add up to the span less
 * the limit. After Yang and Miller, "Critical Path Analysis for the Execution of Parallel and
 * Distributed Programs" (ICDCS 1988), and, for charging waits to their causes, Böhme, Geimer,
 * Wolf and Arnold, "Identifying the Root Causes of Wait States in Large-Scale Parallel
 * Applications" (ICPP 2010). */
#ifndef PIPELINE_ANALYSIS_VERDICT_H
#define PIPELINE_ANALYSIS_VERDICT_H

#include "analysis/critical.h"
#include "analysis/limit.h"
#include "plan/plan.h"

enum verdict_code {
    /* What was done wrong, or could be done better. */
    VERDICT_MISSING_WAIT,
    VERDICT_PAGEABLE_MEMORY,
    VERDICT_LEGACY_STREAM,
    VERDICT_BLOCKING_STREAM,
    VERDICT_MEMSET_IN_LOOP,
    VERDICT_SYNC_IN_LOOP,
    VERDICT_ALLOC_IN_LOOP,
    VERDICT_PINNED_ALLOC_IN_LOOP,
    VERDICT_PIN_IN_RUN,
    VERDICT_LAUNCH_BLOCKING,
    VERDICT_SLOW_CALLBACK,
    VERDICT_LAZY_LOADING,
    VERDICT_ONE_STREAM,
    VERDICT_FEW_STREAMS,
    VERDICT_NEEDLESS_WAIT,
    VERDICT_ONE_COPY_ENGINE,
    VERDICT_ONE_QUEUE,
    VERDICT_FEW_QUEUES,
    VERDICT_LATE_SIGNAL,
    VERDICT_SMALL_TILES,
    VERDICT_FEW_BLOCKS,
    VERDICT_SLOW_COPIES,
    VERDICT_SLOW_KERNELS,
    VERDICT_DEVICE_COPIES,
    VERDICT_PROFILER,
    /* What bounds the run, and what is left. */
    VERDICT_COPY_BOUND,
    VERDICT_KERNEL_BOUND,
    VERDICT_LINK_BOUND,
    VERDICT_CPU_BOUND,
    VERDICT_REST,
    VERDICT_COUNT
};

/* What is said of a cause: fixed texts. */
struct verdict_row {
    const char *name; /* "sync-in-loop", as in the JSON report */
    const char *text; /* what happened, in one line */
    const char *fix;  /* what to do: a command, or a line of CUDA */
};
extern const struct verdict_row verdict_rows[VERDICT_COUNT];

/* One cause, with what it cost. */
struct verdict {
    enum verdict_code code;
    int64_t cost_ns; /* of what was lost; negative where a run is faster than its limit */
    uint32_t pieces; /* of the critical path that it was charged for */
    uint32_t span;   /* the one that lost most: its span; SPAN_NONE: the host's, or none */
};

/* All that was found, in the order in which it is shown: first the causes that cost enough to
 * be named, dearest first (a race before all others); then what bounds the run, of no cost;
 * last the rest, with what each too little to be named had cost. The costs of all add up to
 * time_ns - limit_ns. */
struct verdicts {
    struct verdict items[VERDICT_COUNT];
    int count;
    int named; /* how many of the first are named causes */
    int64_t time_ns, limit_ns;
    bool limit_known; /* false: a trace's, where the busiest engine's time stands for it */
    enum limit_cause bound;
};

/* What verdicts are found from. */
struct verdict_case {
    const struct timeline *timeline;
    const struct critical *critical;
    const struct plan *plan; /* NULL, as are the next two: a trace of another program */
    const struct machine *machine;
    const struct limit *limit;
    bool races;          /* the plan has hazards */
    bool pageable;       /* a trace that says that copies were of pageable memory */
    int64_t untraced_ns; /* the span without a profiler inside; 0: not known */
};

/* Whether a timeline can be: STATUS_FAILED names a span that ends before it starts or starts
 * before it was issued, two spans at once on one copy engine, or an op that the plan does not
 * have, or has as something else. `plan` may be NULL. */
enum status verdict_check(const struct timeline *timeline, const struct plan *plan,
                          struct error *error);

/* Finds all verdicts. O(n log n). STATUS_FAILED where verdict_check() is, or memory runs out.
 * `verdicts` needs no freeing. */
enum status verdicts_find(const struct verdict_case *facts, struct verdicts *verdicts,
                          struct error *error);

#endif
