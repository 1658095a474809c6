/* hazard.h - whether ops of a plan may race. */
#ifndef PIPELINE_PLAN_HAZARD_H
#define PIPELINE_PLAN_HAZARD_H

#include "plan/plan.h"

/* Two ops that touch the same bytes, one of them writing, with no path between them. */
struct hazard {
    uint32_t first, second; /* op ids, first issued first */
    struct range where;     /* bytes that both touch */
};

/* Finds hazards in issue order, at most `max` of them, into `hazards`; *count is how many were
 * found (counting stops at `max`). Paths lead along streams, events, the legacy default stream
 * and the host's syncs, which come before all that it issues later, but not before the CPU's
 * ops; not along what calls synchronise implicitly: that differs from machine to machine. O(n
 * log n) for n ops on few streams. */
enum status plan_hazards(const struct plan *plan, struct hazard *hazards, size_t max,
                         size_t *count, struct error *error);

#endif
