/* chain.h - ops of a recorded plan that have to follow each other. */
#ifndef PIPELINE_ANALYSIS_CHAIN_H
#define PIPELINE_ANALYSIS_CHAIN_H

#include "machine/machine.h"
#include "plan/plan.h"
#include "plan/timeline.h"

/* Returns how long the ops took that have to follow each other, as each reads what the one
 * before it wrote; 0 where that is not known. O(n log n) of a recorded plan. */
int64_t chain_ns(const struct plan *plan, const struct timeline *timeline);

/* Returns the least that the ops of a recorded plan take on a machine, whatever the host does:
 * those of any stream, and those that have to follow each other, one after another. Copies that
 * are staged count as if they were not. O(n log n). */
int64_t chain_least_ns(const struct plan *plan, const struct machine *machine);

/* Returns what the kernels of a recorded plan take at least if no multiprocessor does the work
 * of several blocks in less time than one after the other. Those of a launch are taken to have
 * one each, as far as there are so many. */
int64_t chain_shared_ns(const struct plan *plan, const struct machine *machine);

#endif
