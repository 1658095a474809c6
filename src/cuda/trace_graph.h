/* trace_graph.h - finds the op of a graph that each of CUPTI's records belongs to. */
#ifndef PIPELINE_CUDA_TRACE_GRAPH_H
#define PIPELINE_CUDA_TRACE_GRAPH_H

#include "cuda/cupti_graph.h"
#include "cuda/traced_run.h"

/* The graph of one traced run: a capture of its own, whose nodes CUPTI names. */
struct cuda_traced_graph {
    struct cuda_graph graph;
    struct cupti_graph *ids; /* CUPTI's ids of the nodes; NULL: CUPTI does not tell them */
};

/* Captures the run's plan while `cupti` records. cuda_traced_graph_free() in any case. */
enum status cuda_traced_graph_create(struct cuda_traced_graph *graph,
                                     const struct cuda_run *run, struct cupti_trace *cupti,
                                     struct error *error);
void cuda_traced_graph_free(struct cuda_traced_graph *graph, const struct cuda_run *run);

/* Sets the times of the timeline's copies, memsets and kernels from the records of one launch.
 * Returns false where they don't fit one to one; `why`, of `room` bytes, then says how. */
bool cuda_traced_graph_match(const struct cuda_traced_graph *graph,
                             const struct traced_run *traced,
                             const struct cupti_record *records, size_t count, char *why,
                             size_t room);

#endif
