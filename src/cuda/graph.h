/* graph.h - a prepared plan as one CUDA graph. */
#ifndef PIPELINE_CUDA_GRAPH_H
#define PIPELINE_CUDA_GRAPH_H

#include "cuda/prepare.h"

/* A node of a captured graph, and the op that made it. */
struct cuda_node {
    cudaGraphNode_t node;
    uint32_t op;
};

/* A captured graph. Zeroed where there is none. */
struct cuda_graph {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    struct cuda_node *nodes; /* every op's nodes, if they were to be kept */
    size_t node_count, node_capacity;
};

/* Captures the plan, instantiates the graph and uploads it to the device, all that a launch
 * needs; the caller frees it. `ends` gives, by op id, an event to be recorded behind the op;
 * it, or an entry of it, may be NULL. `keep` says to keep each op's nodes. */
enum status cuda_graph_create(const struct cuda_run *run, cudaEvent_t *ends, bool keep,
                              struct cuda_graph *graph, struct error *error);

/* Launches the graph of the run's plan, in one call. Sets *last to the plan's last op. */
cudaError_t cuda_graph_launch(const struct cuda_run *run, const struct cuda_graph *graph,
                              uint32_t *last);

/* Frees a graph, or nothing if it is zeroed. */
void cuda_graph_free(const struct cuda_run *run, struct cuda_graph *graph);

#endif
