/* graph.c - the nodes of a plan's graph, and the plans that can be none. */
#include "plan/graph.h"

#include <inttypes.h>

uint32_t plan_graph_nodes(const struct plan *plan)
{
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        nodes += op_is_node(plan->ops[i].kind);
    return nodes;
}

/* The CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture", prohibits to
 * synchronise a stream that is captured, and any use of the legacy stream, which can't be
 * captured itself. Taking memory is no op of a stream. Leaving out pageable memory is our
 * choice: the host has a part in each of its copies, and a graph is launched by one call. */
enum status plan_check_graph(const struct plan *plan, struct error *error)
{
    char label[OP_LABEL];
    if (plan->memory == MEMORY_PAGEABLE)
        return error_set(error, STATUS_USAGE,
                         "--issue=graph: with --memory=pageable the host has a part in every "
                         "copy, and a graph is launched by one call: allowed are pinned, "
                         "registered and mapped");
    if (plan->launches_block || plan->loads_lazily)
        return error_set(
            error, STATUS_USAGE,
            "--issue=graph: a graph's kernels are loaded before it is launched, by "
            "one call that waits for none of them: launch-blocking and lazy-loading "
            "need --issue=streams");
    for (uint32_t i = 0; i < plan->streams; i++) {
        if (plan_stream_kind(plan, i) == STREAM_LEGACY)
            return error_set(error, STATUS_USAGE,
                             "--issue=graph: stream %" PRIu32 " is the legacy default stream, "
                             "which can't be captured",
                             i);
    }
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (op_is_call(plan->ops[i].kind))
            return error_set(error, STATUS_USAGE,
                             "--issue=graph: op %" PRIu32 " (%s) is a call of the host's own, "
                             "which can't be captured",
                             i, plan_op_label(plan, &plan->ops[i], label));
    }
    return STATUS_OK;
}
