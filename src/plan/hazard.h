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

/* --- needed.c: which orders of a plan its data asks for --- */

/* A plan's ops come one after another in streams, behind events and around the host's waits.
 * Most of that is how the program was written. Only where two ops touch the same bytes, and one
 * of them writes, is the order needed for the result: read after write, write after read, write
 * after write, in the order of the plan. All else is an order that a fix may remove. */

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
