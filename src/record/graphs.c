/* graphs.c - an executable graph's nodes, by the ids that their ops have, and its edges: read
 * from the graph that it was made from, each node of which CUPTI tells the clone of. */
#include "core/compare.h"
#include "core/items.h"
#include "record/record.h"

#include <stdlib.h>

struct clone {
    uint64_t original, id;
};

/* The clones that the graph which is being made by this thread has got so far. */
static _Thread_local struct {
    struct clone *items;
    size_t count, room;
} clones;

void graphs_call_begins(void)
{
    if (clones.items == NULL)
        return;
    free(clones.items);
    clones.items = NULL;
    clones.count = clones.room = 0;
}

void graphs_cloned(const CUpti_GraphData *data)
{
    struct clone clone;
    if (record_api.node_id(data->originalNode, &clone.original) != CUPTI_SUCCESS ||
        record_api.node_id(data->node, &clone.id) != CUPTI_SUCCESS)
        return;
    struct clone *kept = ITEMS_ADD(clones.items, clones.count, clones.room);
    if (kept != NULL)
        *kept = clone;
    else
        record_lose(1);
}

COMPARE_BY(compare_clones, struct clone, original);

/* Returns the id that the ops of `node` have. */
static uint64_t id_of(CUgraphNode node)
{
    struct clone wanted = {0, 0};
    if (record_api.node_id(node, &wanted.original) != CUPTI_SUCCESS)
        return 0;
    const struct clone *found = NULL;
    if (clones.count > 0)
        found = bsearch(&wanted, clones.items, clones.count, sizeof wanted, compare_clones);
    return found != NULL ? found->id : wanted.original;
}

/* All that is asked of a node before its line is put together. */
struct about_node {
    CUgraphNodeType kind;
    bool known; /* which bytes it copies or sets, which words it is given */
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS set;
    uint32_t count;
    uint64_t id, words[ENTRY_WORDS_MAX];
};

/* Finds what a kernel's arguments are. Returns false where the driver does not tell. */
static bool ask_kernel(CUgraphNode node, struct about_node *about)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    if (record_api.node_kernel == NULL || record_api.node_kernel(node, &kernel) != CUDA_SUCCESS)
        return false;
    const void *symbol = kernel.func != NULL ? (const void *)kernel.func : kernel.kern;
    if (!layout_is_known(symbol))
        layout_learn(symbol, (CUfunction)(uintptr_t)symbol);
    about->count = layout_words(symbol, kernel.kernelParams, about->words);
    return true;
}

static bool is_plain(CUmemorytype kind)
{
    return kind == CU_MEMORYTYPE_HOST || kind == CU_MEMORYTYPE_DEVICE;
}

/* Returns true if a copy is of one contiguous piece, from an address to an address. */
static bool is_one_piece(const CUDA_MEMCPY3D *copy)
{
    const bool begins =
        copy->srcY == 0 && copy->srcZ == 0 && copy->dstY == 0 && copy->dstZ == 0;
    const bool rows = copy->Height > 1 || copy->Depth > 1;
    const bool slices = copy->Depth > 1;
    return is_plain(copy->srcMemoryType) && is_plain(copy->dstMemoryType) && begins &&
           (!rows ||
            (copy->srcPitch == copy->WidthInBytes && copy->dstPitch == copy->WidthInBytes)) &&
           (!slices || (copy->srcHeight == copy->Height && copy->dstHeight == copy->Height));
}

/* Returns true if a memset is of one contiguous piece. */
static bool is_one_set(const CUDA_MEMSET_NODE_PARAMS *set)
{
    return set->height <= 1 || set->pitch == set->elementSize * set->width;
}

static bool ask(CUgraphNode node, struct about_node *about)
{
    if (record_api.node_kind(node, &about->kind) != CUDA_SUCCESS)
        return false;
    about->id = id_of(node);
    if (about->kind == CU_GRAPH_NODE_TYPE_MEMCPY)
        about->known = record_api.node_copy != NULL &&
                       record_api.node_copy(node, &about->copy) == CUDA_SUCCESS &&
                       is_one_piece(&about->copy);
    else if (about->kind == CU_GRAPH_NODE_TYPE_MEMSET)
        about->known = record_api.node_set != NULL &&
                       record_api.node_set(node, &about->set) == CUDA_SUCCESS &&
                       is_one_set(&about->set);
    else if (about->kind == CU_GRAPH_NODE_TYPE_KERNEL)
        about->known = ask_kernel(node, about);
    return true;
}

/* Fills in the kind of a copy, to and from where it goes, and its bytes. */
static void fill_copy(const CUDA_MEMCPY3D *copy, struct field fields[4])
{
    bool from_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    bool to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    uint64_t rows = copy->Height > 0 ? copy->Height : 1;
    uint64_t pieces = copy->Depth > 0 ? copy->Depth : 1;
    fields[0] = FIELD(from_host && to_host ? "h2h"
                      : from_host          ? "h2d"
                      : to_host            ? "d2h"
                                           : "d2d");
    fields[1] = FIELD((to_host ? (uint64_t)(uintptr_t)copy->dstHost : copy->dstDevice) +
                      copy->dstXInBytes);
    fields[2] = FIELD((from_host ? (uint64_t)(uintptr_t)copy->srcHost : copy->srcDevice) +
                      copy->srcXInBytes);
    fields[3] = FIELD(copy->WidthInBytes * rows * pieces);
}

static const char *kind_name(CUgraphNodeType kind)
{
    static const char *const names[] = {
        [CU_GRAPH_NODE_TYPE_MEMCPY] = "copy", /* of which the bytes are not known */
        [CU_GRAPH_NODE_TYPE_MEMSET] = "memset", [CU_GRAPH_NODE_TYPE_KERNEL] = "kernel",
        [CU_GRAPH_NODE_TYPE_HOST] = "function", [CU_GRAPH_NODE_TYPE_GRAPH] = "graph",
    };
    const bool named = (size_t)kind < sizeof names / sizeof names[0] && names[kind] != NULL;
    return named ? names[kind] : "empty";
}

static void put_node(CUgraphExec exec, CUgraphNode node)
{
    struct about_node about = {.known = false};
    if (!ask(node, &about))
        return;
    struct field fields[6] = {FIELD((uint64_t)(uintptr_t)exec), FIELD(about.id),
                              FIELD(kind_name(about.kind))};
    size_t count = 3;
    if (about.kind == CU_GRAPH_NODE_TYPE_MEMCPY && about.known) {
        fill_copy(&about.copy, &fields[2]);
        count = 6;
    } else if (about.kind == CU_GRAPH_NODE_TYPE_MEMSET && about.known) {
        fields[count++] = FIELD(about.set.dst);
        fields[count++] = FIELD(about.set.elementSize * about.set.width *
                                (about.set.height > 0 ? about.set.height : 1));
    } else if (about.kind == CU_GRAPH_NODE_TYPE_KERNEL && about.known) {
        fields[count++] = field_words(about.words, about.count);
    }
    file_line("node", fields, count);
}

static void put_edges(CUgraphExec exec, CUgraph graph)
{
    size_t count = 0;
    if (record_api.graph_edges(graph, NULL, NULL, NULL, &count) != CUDA_SUCCESS || count == 0)
        return;
    CUgraphNode *from = calloc(count, sizeof *from), *to = calloc(count, sizeof *to);
    CUgraphEdgeData *data = calloc(count, sizeof *data);
    if (from != NULL && to != NULL && data != NULL &&
        record_api.graph_edges(graph, from, to, data, &count) == CUDA_SUCCESS) {
        for (size_t i = 0; i < count; i++)
            FILE_LINE("edge", (uint64_t)(uintptr_t)exec, id_of(from[i]), id_of(to[i]));
    } else {
        record_lose(count);
    }
    free(from);
    free(to);
    free(data);
}

void graphs_made(CUgraphExec exec, CUgraph graph)
{
    size_t count = 0;
    if (record_api.graph_nodes == NULL || record_api.graph_edges == NULL ||
        record_api.node_kind == NULL ||
        record_api.graph_nodes(graph, NULL, &count) != CUDA_SUCCESS || count == 0)
        return;
    CUgraphNode *nodes = calloc(count, sizeof *nodes);
    if (nodes == NULL || record_api.graph_nodes(graph, nodes, &count) != CUDA_SUCCESS) {
        free(nodes);
        record_lose(count);
        return;
    }
    if (clones.count > 0)
        qsort(clones.items, clones.count, sizeof *clones.items, compare_clones);
    for (size_t i = 0; i < count; i++)
        put_node(exec, nodes[i]);
    put_edges(exec, graph);
    graphs_call_begins();
    free(nodes);
}
