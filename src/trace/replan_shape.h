/* replan_shape.h - the nodes of a recorded graph in an order, dealt to branches. */
#ifndef PIPELINE_TRACE_REPLAN_SHAPE_H
#define PIPELINE_TRACE_REPLAN_SHAPE_H

#include "core/arena.h"
#include "trace/replan_parts.h"

/* A node, in an order in which it comes behind those that it follows. */
struct shape_node {
    const struct recorded_node *seen;
    uint32_t branch;
    uint32_t first_before,
        before_count; /* of `before`: nodes of other branches that it follows */
    uint8_t kind;     /* enum op_kind; OP_KIND_COUNT: does nothing */
    bool forks; /* is the first of its branch, and follows nothing: that waits for the stream */
    bool passes; /* is followed by nodes of other branches */
    bool ends;   /* nothing follows it, in a branch that is not the first */
};

struct graph_shape {
    uint64_t exec;
    struct shape_node *nodes; /* in their order */
    uint32_t *places;         /* of nodes by their id: their place in that order */
    uint32_t *before;
    uint32_t node_count, branches;
    uint32_t *parts; /* per branch: the first branch of its part; no edge leads to another */
    bool *works;     /* per branch that is the first of a part: ops run at nodes of that */
    const struct recorded_node *seen; /* by their ids: not owned */
    uint32_t seen_count;
    struct arena arena; /* what has all that is not */
};

/* Returns the shape of a graph, which is found out at its first launch; NULL: no memory. */
const struct graph_shape *graph_shape_of(struct replan *replan, uint64_t exec);

/* Returns the place of the node of that id; RECORDING_NONE: it has none. */
uint32_t graph_shape_place(const struct graph_shape *shape, uint64_t node);

#endif
