/* nodes.c - the calls of graphs: nodes by hand, and what is launched. */
#include "cpu/graphs.h"

#include <stdio.h>
#include <stdlib.h>

/* --- graphs --- */

static cudaError_t create(cudaGraph_t *graph, unsigned flags)
{
    if (graph == NULL || flags != 0)
        return cudaErrorInvalidValue;
    *graph = graph_make();
    return *graph != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t destroy(cudaGraph_t graph)
{
    if (graph != NULL)
        graph_free(graph);
    return need(graph != NULL);
}

static cudaError_t clone(cudaGraph_t *made, const struct CUgraph_st *graph)
{
    if (made == NULL || graph == NULL)
        return cudaErrorInvalidValue;
    *made = graph_copy(graph);
    return *made != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* --- nodes --- */

/* Where calls put the node that they add, in which graph, and behind which others. */
struct place {
    cudaGraphNode_t *node;
    cudaGraph_t graph;
    const cudaGraphNode_t *after;
    size_t count;
};
#define PLACE ((struct place){node, graph, after, count})

/* Adds a node; `made` is what making its op answered. */
static cudaError_t add(struct place at, enum cudaGraphNodeType type, cudaError_t made,
                       const struct cpu_op *op)
{
    const struct node_set after = {(struct CUgraphNode_st **)(uintptr_t)at.after, at.count};
    bool right = at.node != NULL && at.graph != NULL && (at.after != NULL || at.count == 0);
    for (size_t i = 0; right && i < at.count; i++)
        right = at.after[i] != NULL && at.after[i]->graph == at.graph;
    if (right && made == cudaSuccess)
        *at.node = graph_add(at.graph, type, &after, op);
    const bool added = right && made == cudaSuccess && *at.node != NULL;
    if (!added && made == cudaSuccess && op != NULL)
        op_release(op);
    return made != cudaSuccess ? made
           : !right            ? cudaErrorInvalidValue
           : added             ? cudaSuccess
                               : cudaErrorMemoryAllocation;
}

/* Makes the op of a kernel's node. */
static cudaError_t kernel_op(const struct cudaKernelNodeParams *with, struct cpu_op *op)
{
    struct cpu_launch launch;
    if (with == NULL || with->kernelParams == NULL)
        return cudaErrorInvalidValue;
    const cudaError_t error = kernel_bind(with->func, with->gridDim, with->blockDim,
                                          with->sharedMemBytes, with->kernelParams, &launch);
    return error != cudaSuccess ? error : kernel_make(&launch, op);
}

static void keep_kernel(struct CUgraphNode_st *node, const struct cudaKernelNodeParams *with)
{
    node->kernel = *with;
    node->kernel.kernelParams = NULL; /* the arguments were copied */
}

static cudaError_t add_kernel(struct place at, const struct cudaKernelNodeParams *with)
{
    struct cpu_op op;
    const cudaError_t made = kernel_op(with, &op);
    const cudaError_t error = add(at, cudaGraphNodeTypeKernel, made, &op);
    if (error == cudaSuccess)
        keep_kernel(*at.node, with);
    return error;
}

/* Copies and sets of nothing are empty. */
static cudaError_t add_bytes(struct place at, enum cudaGraphNodeType type, cudaError_t made,
                             struct cpu_op *op)
{
    op->waits = op->settles = false;
    return add(at, type, made, made == cudaSuccess && op->bytes == 0 ? NULL : op);
}

static cudaError_t add_copy(struct place at, const struct cudaMemcpy3DParms *with)
{
    struct cpu_op op = {0};
    struct copy_rows rows;
    cudaError_t made = copy_rows_3d(with, &rows);
    if (made == cudaSuccess)
        made = copy_make(&rows, with->kind, false, &op);
    return add_bytes(at, cudaGraphNodeTypeMemcpy, made, &op);
}

static cudaError_t copy_op(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                           struct cpu_op *op)
{
    const struct copy_rows rows = {
        .to = to, .from = from, .width = bytes, .height = 1, .depth = 1};
    *op = (struct cpu_op){0};
    return copy_make(&rows, kind, false, op);
}

static cudaError_t add_copy_1d(struct place at, void *to, const void *from, size_t bytes,
                               enum cudaMemcpyKind kind)
{
    struct cpu_op op;
    const cudaError_t made = copy_op(to, from, bytes, kind, &op);
    return add_bytes(at, cudaGraphNodeTypeMemcpy, made, &op);
}

static cudaError_t add_set(struct place at, const struct cudaMemsetParams *with)
{
    struct cpu_op op = {0};
    const cudaError_t made = with == NULL
                                 ? cudaErrorInvalidValue
                                 : set_make(with->dst, with->pitch, with->value,
                                            with->elementSize, with->width, with->height, &op);
    return add_bytes(at, cudaGraphNodeTypeMemset, made, &op);
}

static cudaError_t add_host(struct place at, const struct cudaHostNodeParams *with)
{
    struct cpu_op op;
    const cudaError_t made =
        with == NULL ? cudaErrorInvalidValue : function_make(with->fn, with->userData, &op);
    return add(at, cudaGraphNodeTypeHost, made, &op);
}

static cudaError_t add_child(struct place at, cudaGraph_t child)
{
    cudaGraph_t copy = NULL;
    cudaError_t error = clone(&copy, child);
    if (error == cudaSuccess)
        error = add(at, cudaGraphNodeTypeGraph, cudaSuccess, NULL);
    if (error == cudaSuccess)
        (*at.node)->child = copy;
    else if (copy != NULL)
        graph_free(copy);
    return error;
}

static cudaError_t add_edges(cudaGraph_t graph, const cudaGraphNode_t *from,
                             const cudaGraphNode_t *to, size_t count)
{
    if (graph == NULL || (count > 0 && (from == NULL || to == NULL)))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        if (from[i] == NULL || to[i] == NULL || from[i] == to[i] || from[i]->graph != graph ||
            to[i]->graph != graph || node_set_has(&to[i]->after, from[i]))
            return cudaErrorInvalidValue;
        struct CUgraphNode_st *before = from[i];
        if (!node_set_add(&to[i]->after, &(struct node_set){&before, 1}))
            return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

/* --- what there is to know --- */

static cudaError_t type_of(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    if (node == NULL || type == NULL)
        return cudaErrorInvalidValue;
    *type = node->type;
    return cudaSuccess;
}

static cudaError_t kernel_of(cudaGraphNode_t node, struct cudaKernelNodeParams *with)
{
    if (node == NULL || with == NULL || node->type != cudaGraphNodeTypeKernel)
        return cudaErrorInvalidValue;
    *with = node->kernel;
    return cudaSuccess;
}

/* Lists nodes, all or those that follow none: as many as there is room for, and how many
 * there are where no list is wanted. */
static cudaError_t list(const struct CUgraph_st *graph, cudaGraphNode_t *nodes, size_t *count,
                        bool roots)
{
    if (graph == NULL || count == NULL)
        return cudaErrorInvalidValue;
    size_t found = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (roots && graph->nodes.nodes[i]->after.count > 0)
            continue;
        if (nodes != NULL && found < *count)
            nodes[found] = graph->nodes.nodes[i];
        found++;
    }
    if (nodes != NULL)
        for (size_t i = found; i < *count; i++)
            nodes[i] = NULL;
    *count = found;
    return cudaSuccess;
}

static cudaError_t list_edges(const struct CUgraph_st *graph, cudaGraphNode_t *from,
                              cudaGraphNode_t *to, size_t *count)
{
    if (graph == NULL || count == NULL || (from == NULL) != (to == NULL))
        return cudaErrorInvalidValue;
    size_t found = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct CUgraphNode_st *node = graph->nodes.nodes[i];
        for (size_t j = 0; j < node->after.count; j++, found++)
            if (from != NULL && found < *count) {
                from[found] = node->after.nodes[j];
                to[found] = node;
            }
    }
    *count = found;
    return cudaSuccess;
}

static cudaError_t print(const struct CUgraph_st *graph, const char *path)
{
    static const char *const names[] = {"kernel", "copy", "set", "function", "graph", "empty"};
    FILE *file = graph != NULL && path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL)
        return graph != NULL && path != NULL ? cudaErrorOperatingSystem : cudaErrorInvalidValue;
    fputs("digraph dot {\n", file);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct CUgraphNode_st *node = graph->nodes.nodes[i];
        const bool kernel = node->type == cudaGraphNodeTypeKernel;
        fprintf(file, "\"%p\" [label=\"%s\"];\n", (const void *)node,
                kernel ? node->work->op.launch->name : names[node->type]);
        for (size_t j = 0; j < node->after.count; j++)
            fprintf(file, "\"%p\" -> \"%p\";\n", (const void *)node->after.nodes[j],
                    (const void *)node);
    }
    fputs("}\n", file);
    return fclose(file) == 0 ? cudaSuccess : cudaErrorOperatingSystem;
}

/* --- what is launched --- */

static void exec_free(struct CUgraphExec_st *exec)
{
    if (exec->copy != NULL)
        graph_free(exec->copy);
    free(exec->nodes);
    free(exec->edges);
    free(exec);
}

static cudaError_t instantiate(cudaGraphExec_t *made, cudaGraph_t graph)
{
    if (made == NULL || graph == NULL)
        return cudaErrorInvalidValue;
    struct CUgraphExec_st *exec = calloc(1, sizeof *exec);
    if (exec == NULL)
        return cudaErrorMemoryAllocation;
    cudaError_t error = clone(&exec->copy, graph);
    if (error == cudaSuccess)
        error = exec_build(exec);
    if (error != cudaSuccess) {
        exec_free(exec);
        return error;
    }
    cpu_made_graph(&exec->graph);
    *made = exec;
    return cudaSuccess;
}

static cudaError_t destroy_exec(cudaGraphExec_t exec)
{
    if (exec != NULL)
        exec_free(exec);
    return need(exec != NULL);
}

static cudaError_t launch(cudaGraphExec_t exec, cudaStream_t handle)
{
    struct CUstream_st *stream = stream_of(handle);
    if (exec == NULL || stream == NULL)
        return exec == NULL ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    if (stream->capture != NULL)
        return cudaErrorNotSupported; /* a graph within a capture is not there */
    const cudaError_t error = capture_forbids_legacy(stream);
    if (error != cudaSuccess)
        return error;
    const bool good = cpu_issue_graph(&exec->graph, stream->number);
    exec->graph.again = true;
    return good ? cudaSuccess : calls_failed();
}

/* --- changes --- */

/* Returns the exec's copy of a node of the graph that it was made from. */
static struct CUgraphNode_st *copy_in(const struct CUgraphExec_st *exec,
                                      const struct CUgraphNode_st *node)
{
    for (size_t i = 0; exec != NULL && node != NULL && i < exec->copy->nodes.count; i++)
        if (exec->copy->nodes.nodes[i]->origin == node)
            return exec->copy->nodes.nodes[i];
    return NULL;
}

static cudaError_t change_kernel(struct CUgraphNode_st *node,
                                 const struct cudaKernelNodeParams *with)
{
    struct cpu_op op;
    if (node == NULL || node->type != cudaGraphNodeTypeKernel)
        return cudaErrorInvalidValue;
    const cudaError_t error = kernel_op(with, &op);
    if (error == cudaSuccess) {
        node_set_work(node, &op);
        keep_kernel(node, with);
    }
    return error;
}

static cudaError_t change_kernel_in(cudaGraphExec_t exec, cudaGraphNode_t node,
                                    const struct cudaKernelNodeParams *with)
{
    struct CUgraphNode_st *copy = copy_in(exec, node);
    const cudaError_t error = change_kernel(copy, with);
    if (error == cudaSuccess)
        exec_refresh(exec, copy);
    return error;
}

static cudaError_t change_copy_in(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                  const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    struct cpu_op op;
    struct CUgraphNode_st *copy = copy_in(exec, node);
    if (copy == NULL || copy->type != cudaGraphNodeTypeMemcpy || bytes == 0)
        return cudaErrorInvalidValue;
    const cudaError_t error = copy_op(to, from, bytes, kind, &op);
    if (error != cudaSuccess)
        return error;
    op.waits = op.settles = false;
    node_set_work(copy, &op);
    exec_refresh(exec, copy);
    return cudaSuccess;
}

/* A graph of the same form takes the place of the one that the exec was made from. */
static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph,
                          cudaGraphExecUpdateResultInfo *info)
{
    if (exec == NULL || graph == NULL || info == NULL)
        return cudaErrorInvalidValue;
    const struct node_set *was = &exec->copy->nodes, *is = &graph->nodes;
    *info = (cudaGraphExecUpdateResultInfo){.result = cudaGraphExecUpdateSuccess};
    if (was->count != is->count)
        info->result = cudaGraphExecUpdateErrorTopologyChanged;
    for (size_t i = 0; i < is->count && info->result == cudaGraphExecUpdateSuccess; i++) {
        info->errorNode = is->nodes[i];
        if (was->nodes[i]->type != is->nodes[i]->type)
            info->result = cudaGraphExecUpdateErrorNodeTypeChanged;
        else if (was->nodes[i]->after.count != is->nodes[i]->after.count)
            info->result = cudaGraphExecUpdateErrorTopologyChanged;
    }
    if (info->result != cudaGraphExecUpdateSuccess)
        return cudaErrorGraphExecUpdateFailure;
    info->errorNode = NULL;
    cudaGraph_t copy;
    const cudaError_t error = clone(&copy, graph);
    if (error != cudaSuccess)
        return error;
    for (size_t i = 0; i < was->count; i++) /* it goes on by the nodes that it was made from */
        copy->nodes.nodes[i]->origin = was->nodes[i]->origin;
    graph_free(exec->copy);
    exec->copy = copy;
    return exec_build(exec);
}

#include "cpu/include/cuda_graphs.def"
