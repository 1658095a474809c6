/* blind.h - what ops of unknown bytes come before and after in a plan.
 *
 * An op of unknown bytes may use whatever was done before it, and leave what comes later needs:
 * so it keeps its place between all ops that streams and events put before it or behind it. */
#ifndef PIPELINE_PLAN_BLIND_H
#define PIPELINE_PLAN_BLIND_H

#include "plan/clocks.h"

/* Ops of a stream that work, in their order. */
struct blind_stream {
    uint32_t *ops;    /* lies in the walk's memory */
    uint32_t *blinds; /* per op: how many ops there are up to the latest blind one; 0: none */
    uint32_t count;
};

struct blind_walk {
    const struct plan *plan;
    bool any; /* false: the plan has no such op, and nothing else is set */
    uint32_t *ops, *blinds;
    struct blind_stream *streams;
    struct clocks clocks;
    uint32_t *covered; /* streams x streams: per stream the ops of each that its latest blind op
                          comes after */
};

/* Returns true if an op works in a stream, on bytes that nobody knows. */
bool plan_is_blind(const struct plan *plan, const struct op *op);

/* Prepares a walk over all ops of `plan`. STATUS_NO_MEMORY, or STATUS_FAILED where streams are
 * too many; blind_free() in any case. */
enum status blind_init(struct blind_walk *walk, const struct plan *plan, struct error *error);
void blind_free(struct blind_walk *walk);

/* Takes up the next op of the plan; calls `found` with each earlier op that it comes after
 * because one of both is blind. STATUS_NO_MEMORY, or STATUS_FAILED where streams, and events to
 * be waited for, are too many. */
enum status blind_take(struct blind_walk *walk, const struct op *op,
                       void (*found)(void *context, uint32_t op), void *context,
                       struct error *error);

#endif
