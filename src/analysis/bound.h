/* bound.h - the work that bounds a run: what its limit is the sum of, span by span. */
#ifndef PIPELINE_ANALYSIS_BOUND_H
#define PIPELINE_ANALYSIS_BOUND_H

#include "analysis/limit.h"
#include "plan/plan.h"
#include "plan/timeline.h"

struct bound {
    const struct plan *plan;
    const struct machine *machine;
    const struct limit *limit;
    double in_ns, out_ns, peer_ns; /* per byte, where copies bind */
};

/* Finds what of a plan's copies binds where `limit` is its limit. */
void bound_find(const struct plan *plan, const struct machine *machine,
                const struct limit *limit, struct bound *bound);

/* Returns how much of the limit is a span's work, in ns at the machine's rate: a headway_weight
 * (analysis/headway.h) with a struct bound. */
double bound_work(const void *bound, const struct span *span);

#endif
