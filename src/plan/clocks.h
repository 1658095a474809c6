/* clocks.h - what has surely ended before an op starts.
 *
 * Ops are walked in the order of issue with a vector clock for each stream, and one for the
 * CPU's lane: clock[t] is how many ops of lane t have surely ended before the next op of this
 * one starts. An event keeps the clock of its latest record for those that wait for it. What
 * the host has waited for is a clock, too, and so is what the legacy default stream and the
 * blocking streams have of one another; a stream takes those up at its next op. Waits refer to
 * events that were recorded earlier, so one pass sees every path. [FastTrack; Flanagan &
 * Freund, PLDI 2009]
 *
 * Who walks enters each op, looks at its clock, which may be joined with others, and leaves it:
 *
 *     uint32_t *clock = clocks_enter(&clocks, op);
 *     ...
 *     status = clocks_leave(&clocks, op, seen, error);
 */
#ifndef PIPELINE_PLAN_CLOCKS_H
#define PIPELINE_PLAN_CLOCKS_H

#include "core/arena.h"
#include "plan/plan.h"

/* What puts ops in order; each value has those before it, too. */
enum clocks_order {
    CLOCKS_EVENTS, /* streams and events */
    CLOCKS_CALLS,  /* the legacy default stream, and calls for which the host waits: all that
                      the program itself makes sure of */
    CLOCKS_RUN     /* launches that block because CUDA_LAUNCH_BLOCKING is set: all that was in
                      order in the recorded run. That variable is for debugging, and a program
                      must be right without it. [Guide 12.3, 3.2.8.1] */
};

/* The most that clocks may take: those of 16,000 streams, or of 4096 and of 65,000 events that
 * are still to be waited for. */
#define CLOCKS_BYTES_MOST (UINT64_C(1) << 30)

struct clocks {
    const struct plan *plan;
    enum clocks_order by;
    uint32_t lanes; /* streams, and the CPU's lane, which is the last */
    uint32_t *now;  /* lanes x lanes: the clock of each lane, before the next ones */
    uint32_t *own;  /* per lane: its ops so far; in its clock when it enters an op */
    bool *knows;    /* per clock from `now` on: it may be of others than its own lane, too */
    uint32_t *host; /* what is over for all that the host issues from here on, in any thread */
    uint32_t *done; /* per kind of stream: all that such streams have done, or waited for;
                       NULL: there is no legacy default stream, so nobody asks */
    uint32_t **events; /* per event: the clock of its latest record; NULL: nobody needs it */
    bool *last_uses;   /* per op: of a record, none waits for it; of a wait, none does later */
    struct taken_up *seen; /* per stream: which changes of `host` and `done` it has taken up */
    uint32_t host_changes; /* whoever changes `host` adds 1 */
    uint32_t done_changes[STREAM_KIND_COUNT];
    struct arena arena; /* what has these, but each event's clock */
    uint64_t bytes;     /* of all clocks */
};

/* Begins a walk over `plan`, whose streams, events and kinds of streams it reads. Its ops say
 * until when an event's clock is needed; of a plan without ops, whose ops come from elsewhere,
 * all are kept. STATUS_FAILED where clocks would take more than CLOCKS_BYTES_MOST;
 * STATUS_NO_MEMORY; clocks_end() in any case. */
enum status clocks_begin(struct clocks *clocks, const struct plan *plan, enum clocks_order by,
                         struct error *error);
void clocks_end(struct clocks *clocks);

/* Takes up all that `op` comes after, and returns the clock of its lane as it starts; NULL
 * where it has none: the host waits, or takes memory and gives it back at once. It is changed
 * by clocks_leave(). */
uint32_t *clocks_enter(struct clocks *clocks, const struct op *op);

/* Notes that `op` is issued: what later ops may come after. `seen` is what was seen of it; NULL
 * in a built plan. The statuses of clocks_begin(). */
enum status clocks_leave(struct clocks *clocks, const struct op *op,
                         const struct op_recorded *seen, struct error *error);

/* Makes `clock`, a lane's or the host's, cover what `from` covers, too. */
void clocks_join(const struct clocks *clocks, uint32_t *clock, const uint32_t *from);

/* Returns the first lane that the clock of `lane` may say anything of, and sets *end behind the
 * last: few of many streams know of others, and what is not looked at takes no memory. */
static inline uint32_t clocks_known(const struct clocks *clocks, uint32_t lane, uint32_t *end)
{
    *end = clocks->knows[lane] ? clocks->lanes : lane + 1;
    return clocks->knows[lane] ? 0 : lane;
}

/* Copies the clock of `lane` to where there are only zeroes. */
void clocks_copy(const struct clocks *clocks, uint32_t lane, uint32_t *zeroes);

/* Returns the lane of an op: its stream, or the CPU's lane. */
static inline uint32_t clocks_lane(const struct op *op)
{
    return op->kind == OP_ALLOC && op->alloc.ordered ? op->alloc.stream : op->stream;
}

/* Returns true if an op counts in its lane: all but records and waits do, which hand on what
 * came before them. */
static inline bool clocks_counts(const struct op *op)
{
    return op->kind != OP_RECORD && op->kind != OP_WAIT;
}

/* --- of a whole plan --- */

/* What has surely ended before each op starts. */
struct clocks_table {
    uint32_t lanes;
    uint32_t *starts; /* per op: the clock of its lane as it starts */
    uint32_t *places; /* per op: which of its lane's it is, from 1; 0: no work */
    uint32_t *lane;   /* per op */
    struct arena arena;
};

/* Makes it for the orders that `by` says. STATUS_FAILED where ops and streams are too many,
 * STATUS_NO_MEMORY; clocks_table_free() in any case. */
enum status clocks_table_make(struct clocks_table *table, const struct plan *plan,
                              enum clocks_order by, struct error *error);
void clocks_table_free(struct clocks_table *table);

/* Returns true if op `before` has surely ended before `op` starts. */
static inline bool clocks_table_orders(const struct clocks_table *table, uint32_t before,
                                       uint32_t op)
{
    return table->starts[(size_t)op * table->lanes + table->lane[before]] >=
           table->places[before];
}

#endif
