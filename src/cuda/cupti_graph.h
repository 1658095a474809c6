/* cupti_graph.h - which of a graph's nodes an activity record is of.
 *
 * A record names its node by an id. That is the id of the executable graph's node, which is a
 * clone of the captured one: CUPTI tells of each clone while the graph is instantiated, to whom
 * has subscribed. One at a time in a process, as for cuda/cupti_trace.h. */
#ifndef PIPELINE_CUDA_CUPTI_GRAPH_H
#define PIPELINE_CUDA_CUPTI_GRAPH_H

#include "cuda/cupti_trace.h"

struct cupti_graph;

/* Watches for clones from here on; before the graph is captured. NULL where CUPTI is too old,
 * another tool has subscribed, or there is no memory. `trace` must outlive it. */
struct cupti_graph *cupti_graph_open(struct cupti_trace *trace);

/* The id in the records of `node`, a cudaGraphNode_t of a captured graph; the executable graph
 * must have been instantiated since. False where it has none. */
bool cupti_graph_node_id(struct cupti_graph *graph, void *node, uint64_t *id);

/* Watches no longer. NULL is nothing. */
void cupti_graph_close(struct cupti_graph *graph);

#endif
