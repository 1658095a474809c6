/* cupti_graph.c - takes down the clone of each captured node. */
#include "cuda/cupti_graph.h"

#include "core/items.h"
#include "cuda/cupti_library.h"

#include <cupti.h>
#include <stdlib.h>

struct clone {
    uint64_t original; /* the id of the captured node */
    uint64_t id;       /* the id of its clone in the executable graph */
};

struct cupti_graph {
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*unsubscribe)(CUpti_SubscriberHandle);
    CUptiResult (*enable_callback)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                   CUpti_CallbackId);
    CUptiResult (*node_id)(CUgraphNode, uint64_t *);
    CUpti_SubscriberHandle subscriber;
    struct clone *clones;
    size_t count, capacity;
    bool sorted; /* the clones, by original */
    bool lost;   /* a clone could not be taken down */
};

static void keep_clone(struct cupti_graph *graph, struct clone clone)
{
    struct clone *clones =
        items_grow(graph->clones, graph->count, &graph->capacity, sizeof clone);
    if (clones == NULL) {
        graph->lost = true;
        return;
    }
    graph->clones = clones;
    graph->clones[graph->count++] = clone;
    graph->sorted = false;
}

/* CUPTI calls this on the thread that instantiates the graph. */
static void CUPTIAPI node_was_cloned(void *context, CUpti_CallbackDomain domain,
                                     CUpti_CallbackId callback, const void *data)
{
    struct cupti_graph *graph = context;
    struct clone clone;
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || callback != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
        return;
    const CUpti_GraphData *nodes = ((const CUpti_ResourceData *)data)->resourceDescriptor;
    if (graph->node_id(nodes->originalNode, &clone.original) == CUPTI_SUCCESS &&
        graph->node_id(nodes->node, &clone.id) == CUPTI_SUCCESS)
        keep_clone(graph, clone);
    else
        graph->lost = true;
}

static bool find_functions(struct cupti_graph *graph, void *library)
{
    const struct cupti_function functions[] = {
        {"cuptiSubscribe", &graph->subscribe},
        {"cuptiUnsubscribe", &graph->unsubscribe},
        {"cuptiEnableCallback", &graph->enable_callback},
        {"cuptiGetGraphNodeId", &graph->node_id},
    };
    return cupti_library_find(library, functions, sizeof functions / sizeof *functions);
}

struct cupti_graph *cupti_graph_open(struct cupti_trace *trace)
{
    struct cupti_graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL)
        return NULL;
    if (!find_functions(graph, cupti_trace_library(trace)) ||
        graph->subscribe(&graph->subscriber, node_was_cloned, graph) != CUPTI_SUCCESS) {
        free(graph);
        return NULL;
    }
    if (graph->enable_callback(1, graph->subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                               CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) == CUPTI_SUCCESS)
        return graph;
    cupti_graph_close(graph);
    return NULL;
}

static int compare_clones(const void *a, const void *b)
{
    const struct clone *x = a, *y = b;
    return (x->original > y->original) - (x->original < y->original);
}

bool cupti_graph_node_id(struct cupti_graph *graph, void *node, uint64_t *id)
{
    struct clone wanted = {0, 0};
    if (graph->lost || graph->node_id(node, &wanted.original) != CUPTI_SUCCESS)
        return false;
    if (!graph->sorted && graph->count > 0)
        qsort(graph->clones, graph->count, sizeof *graph->clones, compare_clones);
    graph->sorted = true;
    const struct clone *found = NULL;
    if (graph->count > 0)
        found = bsearch(&wanted, graph->clones, graph->count, sizeof wanted, compare_clones);
    *id = found != NULL ? found->id : wanted.original; /* not cloned: the node itself runs */
    return true;
}

void cupti_graph_close(struct cupti_graph *graph)
{
    if (graph == NULL)
        return;
    graph->unsubscribe(graph->subscriber);
    free(graph->clones);
    free(graph);
}
