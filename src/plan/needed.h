/* needed.h - which orders of a plan its data asks for.
 *
 * A plan's ops come one after another in streams, behind events and around the host's waits.
 * Most of that is how the program was written. Only where two ops touch the same bytes, and one
 * of them writes, is the order needed for the result: read after write, write after read, write
 * after write, in the order of the plan. All else is an order that a fix may remove. */
#ifndef PIPELINE_PLAN_NEEDED_H
#define PIPELINE_PLAN_NEEDED_H

#include "plan/plan.h"

/* The earlier ops that op `i` must come after: before[first[i]] up to before[first[i + 1] - 1],
 * in ascending order. Of those that follow from others some are left out, not all. */
struct needed {
    size_t *first;    /* one per op, and one more */
    uint32_t *before; /* ops of the plan */
    size_t count;     /* of `before` */
};

/* Finds them. Ranges are those of plan_recorded.accesses, or of op_accesses() where the plan
 * was built; accesses that are only possible count like certain ones, so two kernels that name
 * the same bytes keep their order.
 *
 * Events, waits, syncs and allocations have no bytes, and so no edges. An op whose bytes are
 * not known, as every function of the host of a recorded plan and every op of its graphs, may
 * use what was done before it: it comes after all that streams and events put before it, and
 * before all that they put behind it. That the default stream or a wait of the
 * host's puts other ops there is no order of data. What the host's own code reads and writes
 * between its calls is not in a plan: who takes a sync away must see to it that the host does
 * not use the bytes of the copies before it, nor fill those of the copies behind it.
 *
 * O((n + e) log n) for n ops and e edges, and where there are ops of unknown bytes n times the
 * streams. STATUS_NO_MEMORY; STATUS_FAILED where edges are more than NEEDED_MOST, or streams
 * and events too many for plan_hazards(), too. Set only on STATUS_OK; free with needed_free().
 */
enum { NEEDED_MOST = 1 << 27 };
enum status plan_needed(const struct plan *plan, struct needed *needed, struct error *error);
void needed_free(struct needed *needed);

#endif
