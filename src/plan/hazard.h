/* hazard.h - whether ops of a plan may race. */
#ifndef PIPELINE_PLAN_HAZARD_H
#define PIPELINE_PLAN_HAZARD_H

#include "plan/plan.h"

/* Two ops that touch the same bytes, one of them writing, with no path between them. */
struct hazard {
    uint32_t first, second; /* op ids, first issued first */
    struct range where;     /* bytes that both touch */
    bool sure; /* they surely touch them; a recorded kernel only may, or may only read them */
};

/* Finds hazards in issue order, at most `max` of them, into `hazards`; *count is how many were
 * found (counting stops at `max`). Paths lead along streams, events, the legacy default stream
 * and the host's syncs, which come before all that it issues later, but not before the CPU's
 * ops; not along what calls synchronise implicitly: that differs from machine to machine. A
 * sync of one thread of a recorded program comes before what all of them issue later: how the
 * threads wait for each other is not recorded, so nothing is called a race that they may have
 * prevented. The same is true of a recorded copy that the host waited for.
 *
 * O(n log n) for n ops on few streams; on many, an op that waits costs their number.
 * STATUS_FAILED where the clocks of streams, and of events that are still to be waited for,
 * would take more than CLOCKS_BYTES_MOST (plan/clocks.h). */
enum status plan_hazards(const struct plan *plan, struct hazard *hazards, size_t max,
                         size_t *count, struct error *error);

/* Which pairs of ops that race are wanted: counts() is asked of each, and those that do not
 * count take no place in the list. */
struct hazard_filter {
    bool (*counts)(void *context, uint32_t first, uint32_t second);
    void *context;
};

/* Finds those that `filter` wants. */
enum status plan_hazards_wanted(const struct plan *plan, const struct hazard_filter *filter,
                                struct hazard *hazards, size_t max, size_t *count,
                                struct error *error);

#endif
