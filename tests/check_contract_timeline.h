/* check_contract_timeline.h - holds a timeline against the plan that was run. */
#ifndef PIPELINE_TESTS_CHECK_CONTRACT_TIMELINE_H
#define PIPELINE_TESTS_CHECK_CONTRACT_TIMELINE_H

#include "plan/timeline.h"

#include <stdbool.h>

/* Fails the running test unless `timeline` has a span for every op of `plan` that says what the
 * op is, and the times of all of them are such as the plan allows: issued before started,
 * streams in order, events waited for, data used in order, one copy at a time per engine, no
 * two spans on one lane. Times that were `measured` may be off a little. `shown` is what
 * messages call the case. */
void contract_check_timeline(const struct plan *plan, struct timeline *timeline,
                             int copy_engines, bool measured, const char *shown);

#endif
