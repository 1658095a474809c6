/* trace_graph.c - finds the op of a graph that each of CUPTI's records belongs to. */
#include "cuda/trace_graph.h"

#include <stdlib.h>

struct known_node {
    uint64_t id; /* in the records */
    uint32_t op;
    bool seen; /* a record of it was found */
};

static int compare_nodes(const void *a, const void *b)
{
    const struct known_node *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Lists the nodes of copies, memsets and kernels, sorted by id; callbacks have no records.
 * Returns NULL where there is no memory or a node has no id. */
static struct known_node *know_nodes(const struct cuda_run *run, const struct cuda_graph *graph,
                                     struct cupti_graph *ids, size_t *count)
{
    struct known_node *known = malloc((graph->node_count + 1) * sizeof *known);
    *count = 0;
    for (size_t i = 0; known != NULL && i < graph->node_count; i++) {
        const struct cuda_node *node = &graph->nodes[i];
        if (!op_on_device(run->workload.plan->ops[node->op].kind))
            continue;
        known[*count] = (struct known_node){0, node->op, false};
        if (!cupti_graph_node_id(ids, node->node, &known[*count].id)) {
            free(known);
            return NULL;
        }
        ++*count;
    }
    if (known != NULL)
        qsort(known, *count, sizeof *known, compare_nodes);
    return known;
}

/* Widens the span of the node's op by a record's time: a library's launch of several kernels
 * lasts from the first one's start to the last one's end. Returns false where they don't fit.
 */
static bool take_record(struct timeline *timeline, struct known_node *node,
                        const struct cupti_record *record, int64_t begin_ns)
{
    struct span *span = timeline_span(timeline, node->op);
    bool copy = span != NULL && span->kind != OP_KERNEL;
    if (span == NULL || node->seen || (copy && record->kind != span->kind) ||
        (copy && record->bytes != span->bytes))
        return false;
    int64_t start_ns = record->start_ns - begin_ns, end_ns = record->end_ns - begin_ns;
    bool first = span->end_ns == 0;
    if (!first && span->start_ns < start_ns)
        start_ns = span->start_ns;
    if (!first && span->end_ns > end_ns)
        end_ns = span->end_ns;
    node->seen = true;
    traced_span_set(span, start_ns, end_ns);
    return true;
}

enum status cuda_traced_graph_create(struct cuda_traced_graph *graph,
                                     const struct cuda_run *run, struct cupti_trace *cupti,
                                     struct error *error)
{
    graph->ids = cupti_graph_open(cupti);
    return cuda_graph_create(run, NULL, graph->ids != NULL, &graph->graph, error);
}

void cuda_traced_graph_free(struct cuda_traced_graph *graph, const struct cuda_run *run)
{
    cuda_graph_free(&graph->graph, run->lost);
    cupti_graph_close(graph->ids);
    graph->ids = NULL;
}

bool cuda_traced_graph_match(const struct cuda_traced_graph *graph,
                             const struct traced_run *traced,
                             const struct cupti_record *records, size_t count, char *why,
                             size_t room)
{
    size_t nodes, matched = 0;
    snprintf(why, room, "it does not tell of graphs' nodes");
    if (graph->ids == NULL)
        return false;
    struct known_node *known = know_nodes(traced->run, &graph->graph, graph->ids, &nodes);
    if (known == NULL)
        return false;
    bool fits = true;
    for (size_t i = 0; i < count && fits; i++) {
        const struct known_node wanted = {.id = records[i].node};
        if (wanted.id == 0)
            continue; /* no node's: from the ops that warmed CUPTI up before the graph */
        struct known_node *node = bsearch(&wanted, known, nodes, sizeof wanted, compare_nodes);
        fits =
            node != NULL && take_record(traced->timeline, node, &records[i], traced->begin_ns);
        matched += fits;
    }
    free(known);
    snprintf(why, room, "its records did not match: %zu of the graph's %zu nodes are known",
             matched, nodes);
    return fits && matched == nodes;
}
