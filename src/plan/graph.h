/* graph.h - a plan as one CUDA graph: which plans can be one, and its nodes. */
#ifndef PIPELINE_PLAN_GRAPH_H
#define PIPELINE_PLAN_GRAPH_H

#include "plan/plan.h"

/* Returns true if such an op is a node. Records and waits are edges; the CPU's ops are not the
 * device's. */
static inline bool op_is_node(enum op_kind kind)
{
    return op_on_device(kind) || kind == OP_CALLBACK;
}

/* Returns how many nodes the plan's graph has. Linear in ops. */
uint32_t plan_graph_nodes(const struct plan *plan);

/* Checks that the plan can be captured: STATUS_USAGE names the call, the stream or the memory
 * that can't be in a graph, or says that nothing is there for one. */
enum status plan_check_graph(const struct plan *plan, struct error *error);

#endif
