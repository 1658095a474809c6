/* build_parts.h - a plan that is being built: private to the builder's files.
 *
 *   plan/build_ops.c   the ops that a step is made of
 *   plan/build_halo.c  the plan of a stencil, whose rows stay on the devices for many steps
 *   plan/build.c       when each step is issued, in which stream, and what it waits for */
#ifndef PIPELINE_PLAN_BUILD_PARTS_H
#define PIPELINE_PLAN_BUILD_PARTS_H

#include "core/arena.h"
#include "plan/mistake.h"
#include "plan/steps.h"

struct builder {
    const struct settings *settings;
    const struct machine *machine;
    struct plan *plan;
    uint32_t ops_most; /* that a plan of these settings may have */
    struct steps steps;
    struct placement placement;
    struct plan_mistake mistake;
    bool marking;       /* the schedule's first run, which writes no ops */
    uint32_t *events;   /* per step: none, to be recorded, or its event's number plus 1 */
    uint32_t *places;   /* per step: its place in its stream, from 1 */
    uint32_t *known;    /* streams x streams: place in the other up to which each has waited */
    uint32_t *lengths;  /* per stream: steps so far */
    struct arena arena; /* what has these */
    uint64_t marked;    /* steps of the schedule's first run */
    uint32_t others;    /* of a halo's plan: ops that are no tile's, at most */
    /* The first error, which says how the whole ends: whoever appends ops goes on as if nothing
     * were wrong, and nothing more is appended. Whatever may be long looks at it. */
    struct error *error;
};

bool build_failed(const struct builder *builder);

/* Counts the steps of the schedule's present run. */
uint64_t build_steps_so_far(const struct builder *builder);

/* Appends an op. An error, STATUS_USAGE, where there are too many of them. */
void build_append(struct builder *builder, const struct op *op);

/* Appends a record of the event of a step of `stage`, or a wait for it, and notes that in the
 * plan's loops; `relation`: what that step is to those who wait. */
void build_append_event(struct builder *builder, const struct op *op, enum relation relation,
                        uint32_t stage);

/* Returns how many blocks a launch of the chain's link on so many elements has, and notes the
 * most that one has. */
uint32_t build_blocks(const struct builder *builder, uint32_t link, uint64_t count);

/* Returns an op for all of those tiles, with no more of it settled. */
struct op build_op(enum op_kind kind, uint32_t stream, struct tiles tiles);

/* Appends the ops that a stage of those tiles is made of, in `stream`. */
void build_stage(struct builder *builder, const struct stage *stage, struct tiles tiles,
                 uint32_t stream);

/* Appends that memory on the device is taken right before a stage of those tiles, or given back
 * behind it, in the order of `stream` or by the host; nothing where the stage does not do so.
 */
void build_memory(struct builder *builder, enum alloc_action action, const struct stage *stage,
                  struct tiles tiles, uint32_t stream);

/* Append that the host packs a batch's inputs, and unpacks its result, if it does so. */
void build_packs(struct builder *builder, uint32_t batch);
void build_unpacks(struct builder *builder, uint32_t batch);

/* Appends the ops of the tiles that the CPU works on. */
void build_cpu_tiles(struct builder *builder);

/* Writes a plan with a halo, of which the facts are set: its streams, buffers and ops. The
 * builder's steps, placement and mistake have no part in it. */
void build_halo(struct builder *builder);

#endif
