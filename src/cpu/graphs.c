/* graphs.c - graphs: their nodes, and what is launched of them. */
#include "cpu/graphs.h"

#include <stdlib.h>

/* --- work, which a graph, its copies and what is launched of it share --- */

static struct work **idle; /* that nobody has any more, but a launch may be under way with */
static size_t idle_count, idle_capacity;

static struct work *work_make(const struct cpu_op *op)
{
    struct work *work = malloc(sizeof *work);
    if (work != NULL)
        *work = (struct work){*op, 1};
    return work;
}

static void work_drop(struct work *work)
{
    if (work == NULL || --work->users > 0)
        return;
    if (ITEMS_ROOM(idle, idle_count, idle_capacity)) /* else it is lost */
        idle[idle_count++] = work;
}

void graphs_idle(void)
{
    if (cpu_devices() > 1)
        return; /* another device may be busy yet */
    for (; idle_count > 0; idle_count--) {
        op_release(&idle[idle_count - 1]->op);
        free(idle[idle_count - 1]);
    }
}

static struct work *work_share(struct work *work)
{
    if (work != NULL)
        work->users++;
    return work;
}

/* --- nodes --- */

bool node_set_add(struct node_set *set, const struct node_set *more)
{
    struct CUgraphNode_st **nodes =
        realloc(set->nodes, (set->count + more->count + 1) * sizeof *nodes);
    if (nodes == NULL)
        return false;
    set->nodes = nodes;
    for (size_t i = 0; i < more->count; i++)
        if (!node_set_has(set, more->nodes[i]))
            set->nodes[set->count++] = more->nodes[i];
    return true;
}

bool node_set_has(const struct node_set *set, const struct CUgraphNode_st *node)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->nodes[i] == node)
            return true;
    return false;
}

struct CUgraph_st *graph_make(void)
{
    return calloc(1, sizeof(struct CUgraph_st));
}

static void node_free(struct CUgraphNode_st *node)
{
    if (node == NULL)
        return;
    work_drop(node->work);
    if (node->child != NULL)
        graph_free(node->child);
    free(node->after.nodes);
    free(node);
}

void graph_free(struct CUgraph_st *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++)
        node_free(graph->nodes.nodes[i]);
    free(graph->nodes.nodes);
    free(graph);
}

struct CUgraphNode_st *graph_add(struct CUgraph_st *graph, enum cudaGraphNodeType type,
                                 const struct node_set *after, const struct cpu_op *op)
{
    struct CUgraphNode_st *node = calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    *node = (struct CUgraphNode_st){.graph = graph, .type = type};
    if (node_set_add(&node->after, after) &&
        node_set_add(&graph->nodes, &(struct node_set){&node, 1}) &&
        (op == NULL || (node->work = work_make(op)) != NULL))
        return node;
    if (node_set_has(&graph->nodes, node))
        graph->nodes.count--;
    node_free(node);
    return NULL;
}

void node_set_work(struct CUgraphNode_st *node, const struct cpu_op *op)
{
    struct work *work = work_make(op);
    if (work != NULL) {
        work_drop(node->work);
        node->work = work;
    }
}

/* Marks what comes before the nodes of a set, and those themselves. */
static void mark_before(const struct node_set *ends)
{
    for (size_t i = 0; i < ends->count; i++)
        if (ends->nodes[i]->mark == NODE_NEW) {
            ends->nodes[i]->mark = NODE_DONE;
            mark_before(&ends->nodes[i]->after);
        }
}

static void unmark(const struct CUgraph_st *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++)
        graph->nodes.nodes[i]->mark = NODE_NEW;
}

bool graph_joins(const struct CUgraph_st *graph, const struct node_set *ends,
                 const struct node_set *nodes)
{
    bool all = true;
    unmark(graph);
    mark_before(ends);
    for (size_t i = 0; i < nodes->count; i++)
        all = all && nodes->nodes[i]->mark == NODE_DONE;
    return all;
}

/* --- copies --- */

struct CUgraph_st *graph_copy(const struct CUgraph_st *graph)
{
    struct CUgraph_st *copy = graph_make();
    for (size_t i = 0; copy != NULL && i < graph->nodes.count; i++) {
        struct CUgraphNode_st *node = graph->nodes.nodes[i];
        struct CUgraphNode_st *made =
            graph_add(copy, node->type, &(struct node_set){NULL, 0}, NULL);
        if (made == NULL ||
            (node->child != NULL && (made->child = graph_copy(node->child)) == NULL)) {
            graph_free(copy);
            return NULL;
        }
        made->work = work_share(node->work);
        made->kernel = node->kernel;
        made->origin = node;
        node->copy = made;
    }
    for (size_t i = 0; copy != NULL && i < graph->nodes.count; i++) {
        const struct CUgraphNode_st *node = graph->nodes.nodes[i];
        for (size_t j = 0; j < node->after.count; j++)
            (void)node_set_add(&node->copy->after,
                               &(struct node_set){&node->after.nodes[j]->copy, 1});
    }
    return copy;
}

/* --- what is launched --- */

struct flat {
    struct CUgraphExec_st *exec;
    size_t edge_capacity, node_capacity;
    const struct cpu_node *before; /* what was launched until now: a node keeps its id */
    uint32_t before_count;
    cudaError_t error;
};

static uint32_t flat_node(struct flat *flat, struct CUgraphNode_st *node)
{
    static uint64_t latest_id;
    struct cpu_graph *graph = &flat->exec->graph;
    if (!ITEMS_ROOM(flat->exec->nodes, graph->node_count, flat->node_capacity)) {
        flat->error = cudaErrorMemoryAllocation;
        return 0;
    }
    graph->nodes = flat->exec->nodes;
    struct cpu_node *made = &flat->exec->nodes[graph->node_count];
    const uint32_t place = graph->node_count;
    *made = (struct cpu_node){.id = place < flat->before_count ? flat->before[place].id
                                                               : ++latest_id,
                              .empty = node->work == NULL};
    if (node->work != NULL)
        made->op = node->work->op;
    return graph->node_count++;
}

static void flat_edge(struct flat *flat, uint32_t from, uint32_t to)
{
    struct cpu_graph *graph = &flat->exec->graph;
    if (!ITEMS_ROOM(flat->exec->edges, graph->edge_count, flat->edge_capacity)) {
        flat->error = cudaErrorMemoryAllocation;
        return;
    }
    graph->edges = flat->exec->edges;
    flat->exec->edges[graph->edge_count++] = (struct cpu_edge){from, to};
}

/* Appends a graph's nodes, each behind those before it. A child's first nodes follow what the
 * child follows, and an empty node stands behind its last. */
static void flatten(struct flat *flat, const struct CUgraph_st *graph,
                    const struct CUgraphNode_st *parent);

static void flatten_node(struct flat *flat, struct CUgraphNode_st *node,
                         const struct CUgraphNode_st *parent)
{
    if (node->mark == NODE_BEGUN)
        flat->error = cudaErrorInvalidValue; /* it comes before itself */
    if (node->mark != NODE_NEW)
        return;
    node->mark = NODE_BEGUN;
    for (size_t i = 0; i < node->after.count; i++)
        flatten_node(flat, node->after.nodes[i], parent);
    if (node->child != NULL) {
        node->inside = parent;
        flatten(flat, node->child, node);
    }
    node->place = flat_node(flat, node);
    node->mark = NODE_DONE;
    for (size_t i = 0; i < node->after.count; i++)
        flat_edge(flat, node->after.nodes[i]->place, node->place);
    for (size_t i = 0; node->child != NULL && i < node->child->nodes.count; i++)
        flat_edge(flat, node->child->nodes.nodes[i]->place, node->place);
    for (const struct CUgraphNode_st *outer = parent; node->after.count == 0 && outer != NULL;
         outer = outer->after.count == 0 ? outer->inside : NULL)
        for (size_t i = 0; i < outer->after.count; i++)
            flat_edge(flat, outer->after.nodes[i]->place, node->place);
}

static void flatten(struct flat *flat, const struct CUgraph_st *graph,
                    const struct CUgraphNode_st *parent)
{
    unmark(graph);
    for (size_t i = 0; i < graph->nodes.count; i++)
        flatten_node(flat, graph->nodes.nodes[i], parent);
}

cudaError_t exec_build(struct CUgraphExec_st *exec)
{
    struct cpu_node *before = exec->nodes;
    struct flat flat = {.exec = exec, .before = before, .before_count = exec->graph.node_count};
    free(exec->edges);
    exec->nodes = NULL;
    exec->edges = NULL;
    exec->graph = (struct cpu_graph){.handle = exec};
    flatten(&flat, exec->copy, NULL);
    free(before);
    return flat.error;
}

void exec_refresh(struct CUgraphExec_st *exec, const struct CUgraphNode_st *node)
{
    exec->nodes[node->place].op = node->work->op;
}
