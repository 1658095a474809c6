/* legacy.h - the legacy default stream's rule, applied to ops in their order of issue.
 *
 * rule_legacy_orders() says which streams take turns with which; this walk says what that puts
 * before each op. Hazards, timelines, the critical path and all barriers follow it. */
#ifndef PIPELINE_PLAN_LEGACY_H
#define PIPELINE_PLAN_LEGACY_H

#include "plan/rules.h"

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

#endif
