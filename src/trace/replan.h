/* replan.h - the plan that a recording shows: what the program asked of one device, op by op in
 * the order of its calls.
 *
 * It has an op for each copy, memset and kernel that ran, as it ran, and for each call that
 * records an event, waits for one, synchronises, hands a host function over, or takes or gives
 * back memory; memory that is given back right where it was taken is one op. A launch of a
 * graph becomes the ops of its nodes, in streams and with events of their own. Calls that
 * failed, or that were captured into a graph, make none. All other calls, and what the program
 * did beside calling CUDA, are op_recorded.host_ns of the op that came next.
 *
 * Buffers are the memory that the program took, each time anew, and memory of the host and the
 * device that copies name without that, as one where they overlap. Copies and memsets touch
 * what they name: a copy of rows touches its rows or, where they are more than REPLAN_ROWS, all
 * from its first to its last byte, which is then not sure. Ops of graphs, and copies of arrays
 * and symbols, have no accesses: nobody knows their addresses.
 *
 * A kernel touches the memory that its arguments point into, and is taken to write it, for
 * whether it reads or writes is not known. How far it reaches is a guess, too:
 * - To the end of the copy or memset that begins where the argument points: the latest before
 *   the launch, or else the next.
 * - If further copies or memsets begin behind that, and there is no argument of any kernel that
 *   points to them, they are this one's, too: it reaches to the next argument of a kernel, or
 * to the end of the memory that the program took.
 * - Where no copy begins there: likewise.
 * Kernels that get the same pointer each time, and choose their part of a large array by a
 * number, so seem to work on all of it, one after another. */
#ifndef PIPELINE_TRACE_REPLAN_H
#define PIPELINE_TRACE_REPLAN_H

#include "plan/plan.h"
#include "trace/recording.h"

enum { REPLAN_ROWS = 512 };

/* That which a recording has and the plan lacks. */
struct replan_left {
    uint64_t stray_ops;  /* ops whose call was not recorded */
    uint32_t waited_ops; /* those before the last wait for an event of another device, or for
                            one that was never recorded */
};

/* Makes the plan of what device `device`, an index of recording->devices, did; `span` is an
 * index of recording->ops or, less op_count, of its calls, for functions of the host. Sets
 * *left, which may be NULL. Free with plan_free(). Set only on STATUS_OK; STATUS_NO_MEMORY, or
 * STATUS_FAILED where the ops are too many. O(n log n). */
enum status recording_plan(const struct recording *recording, uint32_t device,
                           struct plan *plan, struct replan_left *left, struct error *error);

#endif
