/* graphs.h - a graph as graphs.c keeps it, for nodes.c. */
#ifndef PIPELINE_CPU_GRAPHS_H
#define PIPELINE_CPU_GRAPHS_H

#include "cpu/api.h"

/* What nodes do: a graph's, its copies', and those of what is launched. */
struct work {
    struct cpu_op op;
    unsigned users;
};

struct CUgraphNode_st {
    struct CUgraph_st *graph;
    enum cudaGraphNodeType type;
    struct work *work; /* NULL: it is empty, or a graph */
    struct CUgraph_st *child;
    struct node_set after;
    struct cudaKernelNodeParams kernel;            /* without its arguments */
    struct CUgraphNode_st *origin;                 /* that it is a copy of */
    struct CUgraphNode_st *copy;                   /* its latest */
    const struct CUgraphNode_st *inside;           /* the node that its graph is the child of */
    enum { NODE_NEW, NODE_BEGUN, NODE_DONE } mark; /* of a walk */
    uint32_t place;                                /* in what is launched */
};

struct CUgraph_st {
    struct node_set nodes;
};

struct CUgraphExec_st {
    struct CUgraph_st *copy; /* of the graph that it was made from */
    struct cpu_graph graph;
    struct cpu_node *nodes; /* the graph's own */
    struct cpu_edge *edges;
};

bool node_set_has(const struct node_set *set, const struct CUgraphNode_st *node);
void node_set_work(struct CUgraphNode_st *node, const struct cpu_op *op);
struct CUgraph_st *graph_copy(const struct CUgraph_st *graph);

/* Sets what is launched from the exec's copy of its graph, or of one of its nodes. */
cudaError_t exec_build(struct CUgraphExec_st *exec);
void exec_refresh(struct CUgraphExec_st *exec, const struct CUgraphNode_st *node);

#endif
