/* timeline_check.h - whether a timeline can be. */
#ifndef PIPELINE_ANALYSIS_TIMELINE_CHECK_H
#define PIPELINE_ANALYSIS_TIMELINE_CHECK_H

#include "plan/plan.h"
#include "plan/timeline.h"

/* Checks that a timeline can be: STATUS_FAILED names a span that ends before it starts or
 * starts before the run, two spans at once on one copy engine, or an op that the plan does not
 * have, or has as something else. `plan` may be NULL. */
enum status timeline_check(const struct timeline *timeline, const struct plan *plan,
                           struct error *error);

#endif
