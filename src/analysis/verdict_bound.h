/* verdict_bound.h - the work that bounds a run, and how much of it each op does: private to the
 * verdicts. */
#ifndef PIPELINE_ANALYSIS_VERDICT_BOUND_H
#define PIPELINE_ANALYSIS_VERDICT_BOUND_H

#include "analysis/verdict.h"

struct verdict_bound {
    const struct verdict_case *facts;
    struct limit limit;
    enum engine engine;            /* of a trace: the busiest */
    double in_ns, out_ns;          /* of a byte, where copies bind: in the middle of the run */
    int32_t first_tile, last_tile; /* that went in first, and came out last */
};

/* Finds what bounds the run: by its limit; of a trace, which has none, the busiest engine's
 * time stands for it. STATUS_FAILED only when memory runs out. */
enum status verdict_bound_find(const struct verdict_case *facts, struct verdict_bound *bound,
                               struct error *error);

/* How much of the limit is a span's work, in ns at the machine's rate: a headway_weight with a
 * struct verdict_bound. Before the first tile is in, and behind the last one's kernels, nothing
 * else can be done than its copies, so those count whatever binds. */
double verdict_bound_work(const void *bound, const struct span *span);

#endif
