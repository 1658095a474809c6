/* graphs.h - less for the host to do: private to the files of rework. */
#ifndef PIPELINE_REWORK_GRAPHS_H
#define PIPELINE_REWORK_GRAPHS_H

#include "core/status.h"
#include "machine/machine.h"
#include "plan/plan.h"

/* Returns from which time on what passes between two calls of a recorded plan is the host's own
 * work, and sets *sum_ns to all of it; INT64_MAX and 0: no memory to tell. */
int64_t rework_work_least_ns(const struct plan *plan, int64_t *sum_ns);

/* Has another thread do that work. */
void rework_work_move(int64_t least_ns, struct plan *plan);

/* Has stretches that repeat issued by one launch of a graph each. STATUS_USAGE: there is none
 * for which that takes the host less. O(n log n). */
enum status rework_graphs_make(const struct machine *machine, int64_t least_ns,
                               struct plan *plan, struct error *error);

#endif
