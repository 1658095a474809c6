/* barriers.h - streams that wait for others, while a plan is run in the simulator's time.
 *
 * A barrier is an op that waits for all ops that were issued before it to the streams of its
 * domain, and that all that come to them later wait for. So barriers end in the order of issue,
 * and an op only waits for the last one before it: the cost is log n for an op. Every wait is
 * for something issued earlier, so barriers alone never make a deadlock. */
#ifndef PIPELINE_PLAN_BARRIERS_H
#define PIPELINE_PLAN_BARRIERS_H

#include "core/arena.h"
#include "plan/plan.h"
#include "plan/rules.h"

/* --- the legacy default stream's rule, applied to ops in their order of issue --- */

/* rule_legacy_orders() says which streams take turns with which; this walk says what that puts
 * before each op. Hazards, timelines, the critical path and all barriers follow it. */

/* The ops so far in streams of one kind. */
struct legacy_side {
    uint32_t count;
    uint32_t last;  /* the one that ended last; the first issued of those that ended together.
                       Of the legacy default stream itself, the latest issued */
    int64_t end_ns; /* the latest end */
};

/* Zero-initialise. */
struct legacy_walk {
    struct legacy_side sides[STREAM_KIND_COUNT];
};

/* Returns the kind of streams whose earlier ops an op in a stream of `kind` waits for, beside
 * those of its own stream; STREAM_NONBLOCKING: of none. */
static inline enum stream_kind legacy_partner(enum stream_kind kind)
{
    if (!rule_minds_legacy(kind))
        return STREAM_NONBLOCKING;
    return kind == STREAM_LEGACY ? STREAM_BLOCKING : STREAM_LEGACY;
}

/* Returns what the next op, of a stream of `kind`, waits for by this rule; NULL: nothing. */
static inline const struct legacy_side *legacy_before(const struct legacy_walk *walk,
                                                      enum stream_kind kind)
{
    enum stream_kind partner = legacy_partner(kind);
    const struct legacy_side *side = &walk->sides[partner];
    return partner != STREAM_NONBLOCKING && side->count > 0 ? side : NULL;
}

/* Takes up `op`, of a stream of `kind`, which ended at `end_ns`; 0 where no time is known. */
static inline void legacy_pass(struct legacy_walk *walk, enum stream_kind kind, uint32_t op,
                               int64_t end_ns)
{
    struct legacy_side *side = &walk->sides[kind];
    bool later = end_ns > side->end_ns;
    if (kind == STREAM_LEGACY || side->count == 0 || later)
        side->last = op;
    side->end_ns = later ? end_ns : side->end_ns;
    side->count++;
}

#define WAITERS_NONE UINT32_MAX

/* Lists of streams that wait for the same, each from a `first` that its owner keeps; and the
 * streams that were woken, a stack that the owner takes them from. */
struct waiters {
    uint32_t *next;  /* per stream: another that waits for the same, or WAITERS_NONE */
    uint32_t *woken; /* room for two per stream: as a list lets it go, and as its op ends */
    uint32_t woken_count;
};

/* Takes memory of `arena` for `streams` streams and the CPU's lane. */
void waiters_init(struct waiters *waiters, uint32_t streams, struct arena *arena);

/* Puts `stream` on the list from *first. */
static inline void waiters_add(struct waiters *waiters, uint32_t *first, uint32_t stream)
{
    waiters->next[stream] = *first;
    *first = stream;
}

/* Notes that the head of `stream` must be looked at. */
static inline void waiters_note(struct waiters *waiters, uint32_t stream)
{
    waiters->woken[waiters->woken_count++] = stream;
}

/* Wakes all that are on the list from *first, and empties it. */
static inline void waiters_wake(struct waiters *waiters, uint32_t *first)
{
    for (uint32_t stream = *first; stream != WAITERS_NONE; stream = waiters->next[stream])
        waiters_note(waiters, stream);
    *first = WAITERS_NONE;
}

struct barrier {
    uint32_t op;
    uint32_t before;       /* how many ops of the domain came before it */
    uint32_t first_waiter; /* a stream that waits for its end, or WAITERS_NONE */
};

/* The barriers of one domain. */
struct barriers {
    struct barrier *items; /* in the order of issue, in which they end */
    uint32_t count, ended; /* of `items` */
    uint32_t ops_ended;    /* of all ops of the domain */
    uint32_t first_waiter; /* the stream of the next barrier, waiting for ops; WAITERS_NONE */
};

/* Takes memory of `arena` for `room` barriers. Returns false when memory runs out. */
bool barriers_init(struct barriers *barriers, uint32_t room, struct arena *arena);

/* Appends op `op`, which `before` ops of the domain come before. */
void barriers_add(struct barriers *barriers, uint32_t op, uint32_t before);

/* Finds the barriers of the legacy default stream: its ops; their domain are the streams that
 * mind it. Takes their memory as barriers_init() does. */
bool barriers_of_legacy(struct barriers *barriers, const struct plan *plan,
                        struct arena *arena);

/* Returns the list in which the stream of `op`, an op of the domain that is its stream's head,
 * has to wait; NULL if the op may go. */
uint32_t *barriers_held(struct barriers *barriers, uint32_t op);

/* Takes note that an op of the domain has ended, and wakes who waited for that. */
void barriers_op_ended(struct barriers *barriers, uint32_t op, struct waiters *waiters);

#endif
