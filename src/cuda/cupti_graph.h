/* cupti_graph.h - the ids by which activity records name a graph's nodes.
 *
 * A record's id is that of the executable graph's node, which is a clone of the captured one.
 * CUPTI reports each clone to its subscriber while the graph is instantiated. A process has one
 * subscriber at a time. */
#ifndef PIPELINE_CUDA_CUPTI_GRAPH_H
#define PIPELINE_CUDA_CUPTI_GRAPH_H

#include "cuda/cupti_trace.h"

struct cupti_graph;

/* Subscribes, which must come before the graph is captured. Returns NULL where CUPTI is too
 * old, another tool has subscribed, or there is no memory. `trace` must outlive it. */
struct cupti_graph *cupti_graph_open(struct cupti_trace *trace);

/* Sets *id to the id by which records name `node`, a cudaGraphNode_t of a captured graph that
 * has been instantiated since. Returns false where it has none. */
bool cupti_graph_node_id(struct cupti_graph *graph, void *node, uint64_t *id);

/* Ends the subscription; `graph` may be NULL. */
void cupti_graph_close(struct cupti_graph *graph);

#endif
