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
 * Events, waits, syncs and allocations have no bytes, and so no edges. A function of the host
 * whose bytes are not known, as in every recorded plan, may use all that its stream works on:
 * it comes after all ops with bytes that were issued to its stream before it, and before all
 * that are issued there later.
 * What the host's own code reads and writes between its calls is not in a plan: who takes a
 * sync away must see to it that the host does not use the bytes of the copies before it, nor
 * fill those of the copies behind it.
 *
 * O((n + e) log n) for n ops and e edges. STATUS_NO_MEMORY; STATUS_FAILED where they are more
 * than NEEDED_MOST. Set only on STATUS_OK; free with needed_free(). */
enum { NEEDED_MOST = 1 << 27 };
enum status plan_needed(const struct plan *plan, struct needed *needed, struct error *error);
void needed_free(struct needed *needed);

#endif
