/* headway.h - how far the work that bounds a run had come, at every moment of its time.
 *
 * The work is what the limit counts: bytes over the link, kernels, or the CPU's tiles. Each op
 * does its share evenly while it runs, and the whole is scaled to the limit: headway is 0 at
 * the start and the limit at the end. Where it grew by less than the time that passed, the rest
 * was lost; and all that was lost is the run's time less the limit. */
#ifndef PIPELINE_ANALYSIS_HEADWAY_H
#define PIPELINE_ANALYSIS_HEADWAY_H

#include "analysis/limit.h"
#include "plan/timeline.h"

/* Returns how much of the work a span of the timeline does, in any unit. */
typedef double headway_weight(const void *context, const struct span *span);

struct headway {
    struct headway_point {
        int64_t time_ns;
        double done_ns;
    } * points; /* in order of time; straight lines between them */
    uint32_t count;
    int64_t time_ns, limit_ns;
    struct arena arena; /* what has the points */
};

/* Finds the headway of `timeline` for a limit of `limit_ns`. Where no span does any of the
 * work, its headway is taken to be even. O(n log n). STATUS_NO_MEMORY or STATUS_OK;
 * the arena is to be freed. */
enum status headway_find(const struct timeline *timeline, int64_t limit_ns,
                         headway_weight *weight, const void *context, struct headway *headway,
                         struct error *error);

/* Returns what was lost before `until_ns`, in whole ns: 0 at 0, the run's time less the limit
 * at its end. Differences of it add up, however a time is cut. `*at` is where the search goes
 * on, 0 at first; times must not fall from call to call. */
int64_t headway_lost_ns(const struct headway *headway, int64_t until_ns, uint32_t *at);

/* --- bound.c: the work that bounds a run, what its limit is the sum of, span by span --- */

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
 * with a struct bound. */
double bound_work(const void *bound, const struct span *span);

#endif
