/* replan_graph.c - a launch of a graph, as the ops of its nodes.
 *
 * A graph has no streams. Its nodes are dealt to branches: a node is followed
 * in its branch by one of those that come behind it, and the others begin branches. The first
 * branch is the stream that the graph was launched in, and each other one is a stream of its
 * own. It begins behind what came before the graph, and what comes behind the graph waits for
 * it. Further edges between branches are events. */
#include "trace/replan_parts.h"

#include "core/items.h"

#include <stdlib.h>
#include <string.h>

/* A node, in an order in which it comes behind those that it follows. */
struct shape_node {
    uint64_t node;
    uint32_t branch;
    uint32_t first_before,
        before_count; /* of `before`: nodes of other branches that it follows */
    uint8_t kind;     /* enum op_kind; OP_KIND_COUNT: does nothing */
    bool forks; /* is the first of its branch, and follows nothing: that waits for the stream */
    bool passes; /* is followed by nodes of other branches */
    bool ends;   /* nothing follows it, in a branch that is not the first */
};

struct graph_shape {
    uint64_t exec;
    struct shape_node *nodes; /* in their order */
    uint32_t *places;         /* of nodes by their id: their place in that order */
    uint32_t *before;
    uint32_t node_count, branches;
};

/* A branch of the graphs that are launched in a stream. */
struct graph_lane {
    uint32_t stream, branch, number;
};

static void shape_free(struct graph_shape *shape)
{
    free(shape->nodes);
    free(shape->places);
    free(shape->before);
}

void replan_graphs_free(struct replan *replan)
{
    for (size_t i = 0; i < replan->shape_count; i++)
        shape_free(&replan->shapes[i]);
    free(replan->shapes);
    free(replan->lanes);
}

/* --- the shape of a graph --- */

/* Nodes of one graph, by id, and the edges between them while they are put in order. */
struct sorter {
    const struct recorded_node *nodes;
    uint32_t count;
    const struct recorded_edge *edges;
    size_t edge_count;
    uint32_t *first_after; /* per node, and one more: of `after` */
    uint32_t *after;       /* nodes that follow it */
    uint32_t *missing;     /* per node: how many that it follows have no place yet */
    uint32_t *order;       /* nodes, in their order */
    uint32_t *branches;    /* per node */
};

static int compare_nodes(const void *key, const void *item)
{
    const uint64_t node = *(const uint64_t *)key;
    const struct recorded_node *other = item;
    return (node > other->node) - (node < other->node);
}

/* Returns the number of a node of the graph; RECORDING_NONE: it has none of that id. */
static uint32_t number_of(const struct sorter *sorter, uint64_t node)
{
    const struct recorded_node *found =
        bsearch(&node, sorter->nodes, sorter->count, sizeof *sorter->nodes, compare_nodes);
    return found != NULL ? (uint32_t)(found - sorter->nodes) : RECORDING_NONE;
}

static bool sorter_init(struct sorter *sorter)
{
    const size_t count = sorter->count + (size_t)1;
    sorter->first_after = calloc(count + 1, sizeof *sorter->first_after);
    sorter->after = calloc(sorter->edge_count + 1, sizeof *sorter->after);
    sorter->missing = calloc(count, sizeof *sorter->missing);
    sorter->order = calloc(count, sizeof *sorter->order);
    sorter->branches = malloc(count * sizeof *sorter->branches);
    if (!sorter->first_after || !sorter->after || !sorter->missing || !sorter->order ||
        !sorter->branches)
        return false;
    memset(sorter->branches, 0xff, count * sizeof *sorter->branches);
    /* Edges are counted two places ahead, so that filling the table leaves each node's first.
     */
    for (size_t i = 0; i < sorter->edge_count; i++) {
        uint32_t from = number_of(sorter, sorter->edges[i].from);
        if (from != RECORDING_NONE &&
            number_of(sorter, sorter->edges[i].to) != RECORDING_NONE &&
            from + 2 <= sorter->count)
            sorter->first_after[from + 2]++;
    }
    for (uint32_t i = 2; i <= sorter->count; i++)
        sorter->first_after[i] += sorter->first_after[i - 1];
    for (size_t i = 0; i < sorter->edge_count; i++) {
        uint32_t from = number_of(sorter, sorter->edges[i].from);
        uint32_t to = number_of(sorter, sorter->edges[i].to);
        if (from == RECORDING_NONE || to == RECORDING_NONE)
            continue;
        sorter->after[sorter->first_after[from + 1]++] = to;
        sorter->missing[to]++;
    }
    return true;
}

static void sorter_free(struct sorter *sorter)
{
    free(sorter->first_after);
    free(sorter->after);
    free(sorter->missing);
    free(sorter->order);
    free(sorter->branches);
}

/* Puts the nodes in order. Those of a circle, which no graph of CUDA's has, get no place.
 * Returns how many have one. */
static uint32_t sorter_sort(struct sorter *sorter)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sorter->count; i++) {
        if (sorter->missing[i] == 0)
            sorter->order[count++] = i;
    }
    for (uint32_t at = 0; at < count; at++) {
        const uint32_t node = sorter->order[at];
        for (uint32_t k = sorter->first_after[node]; k < sorter->first_after[node + 1]; k++) {
            if (--sorter->missing[sorter->after[k]] == 0)
                sorter->order[count++] = sorter->after[k];
        }
    }
    return count;
}

/* Deals the nodes to branches. Returns how many those are. */
static uint32_t sorter_deal(struct sorter *sorter, uint32_t count)
{
    uint32_t branches = 0;
    for (uint32_t at = 0; at < count; at++) {
        const uint32_t node = sorter->order[at];
        if (sorter->branches[node] == RECORDING_NONE) /* no branch goes on with it */
            sorter->branches[node] = branches++;
        for (uint32_t k = sorter->first_after[node]; k < sorter->first_after[node + 1]; k++) {
            if (sorter->branches[sorter->after[k]] != RECORDING_NONE)
                continue;
            sorter->branches[sorter->after[k]] = sorter->branches[node];
            break;
        }
    }
    return branches;
}

/* Fills the shape from nodes that are in order and dealt. */
static bool shape_fill(struct graph_shape *shape, const struct sorter *sorter)
{
    uint32_t *places = shape->places = malloc((sorter->count + (size_t)1) * sizeof *places);
    uint32_t *fill = calloc(sorter->count + (size_t)1, sizeof *fill);
    shape->nodes = calloc(sorter->count + (size_t)1, sizeof *shape->nodes);
    shape->before = malloc((sorter->edge_count + 1) * sizeof *shape->before);
    if (!places || !fill || !shape->nodes || !shape->before) {
        free(fill);
        return false;
    }
    memset(places, 0xff, sorter->count * sizeof *places);
    for (uint32_t at = 0; at < shape->node_count; at++) {
        const uint32_t node = sorter->order[at];
        places[node] = at;
        shape->nodes[at] = (struct shape_node){.node = sorter->nodes[node].node,
                                               .branch = sorter->branches[node],
                                               .kind = sorter->nodes[node].kind,
                                               .ends = sorter->branches[node] > 0,
                                               .forks = sorter->branches[node] > 0};
    }
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t at = 0; at < shape->node_count; at++) {
            const uint32_t node = sorter->order[at];
            for (uint32_t k = sorter->first_after[node]; k < sorter->first_after[node + 1];
                 k++) {
                const uint32_t to = places[sorter->after[k]];
                if (to == RECORDING_NONE)
                    continue;
                struct shape_node *later_node = &shape->nodes[to];
                shape->nodes[at].ends = later_node->forks = false;
                if (later_node->branch == shape->nodes[at].branch)
                    continue;
                shape->nodes[at].passes = true;
                if (pass == 0)
                    later_node->before_count++;
                else
                    shape->before[later_node->first_before + fill[to]++] = at;
            }
        }
        for (uint32_t at = 1; at < shape->node_count; at++)
            shape->nodes[at].first_before =
                shape->nodes[at - 1].first_before + shape->nodes[at - 1].before_count;
    }
    free(fill);
    return true;
}

static size_t first_node(const struct recording *recording, uint64_t exec)
{
    size_t low = 0, high = recording->node_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (recording->nodes[middle].exec < exec)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t first_edge(const struct recording *recording, uint64_t exec)
{
    size_t low = 0, high = recording->edge_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (recording->edges[middle].exec < exec)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool shape_make(struct graph_shape *shape, const struct recording *recording,
                       uint64_t exec)
{
    const size_t node = first_node(recording, exec), edge = first_edge(recording, exec);
    struct sorter sorter = {.nodes = recording->nodes + node, .edges = recording->edges + edge};
    while (node + sorter.count < recording->node_count &&
           sorter.nodes[sorter.count].exec == exec)
        sorter.count++;
    while (edge + sorter.edge_count < recording->edge_count &&
           sorter.edges[sorter.edge_count].exec == exec)
        sorter.edge_count++;
    *shape = (struct graph_shape){.exec = exec};
    bool room = sorter_init(&sorter);
    if (room) {
        shape->node_count = sorter_sort(&sorter);
        shape->branches = sorter_deal(&sorter, shape->node_count);
        room = shape_fill(shape, &sorter);
    }
    sorter_free(&sorter);
    if (!room)
        shape_free(shape);
    return room;
}

/* Returns the shape of a graph, which is found out at its first launch; NULL: no memory. */
static const struct graph_shape *shape_of(struct replan *replan, uint64_t exec)
{
    for (size_t i = replan->shape_count; i > 0; i--) {
        if (replan->shapes[i - 1].exec == exec)
            return &replan->shapes[i - 1];
    }
    struct graph_shape *shapes =
        items_grow(replan->shapes, replan->shape_count, &replan->shape_room, sizeof *shapes);
    if (shapes == NULL)
        return NULL;
    replan->shapes = shapes;
    if (!shape_make(&shapes[replan->shape_count], replan->recording, exec))
        return NULL;
    return &shapes[replan->shape_count++];
}

/* --- a launch --- */

struct launch {
    struct replan *replan;
    const struct recorded_call *call;
    const struct graph_shape *shape;
    const struct recorded_op **ran; /* per node of the shape; NULL: nothing was recorded */
    uint32_t *streams;              /* per branch: the plan's stream */
    uint32_t *records;              /* per node: the op that records it */
    uint32_t begin;                 /* the op that records what came before the graph */
};

/* Sets the stream of each branch. Those of graphs that are launched in one stream, one after
 * another, are the same. */
static bool launch_find_streams(struct launch *launch, uint32_t stream)
{
    struct replan *replan = launch->replan;
    launch->streams[0] = stream;
    for (uint32_t branch = 1; branch < launch->shape->branches; branch++) {
        size_t at = 0;
        while (at < replan->lane_count &&
               (replan->lanes[at].stream != stream || replan->lanes[at].branch != branch))
            at++;
        if (at == replan->lane_count) {
            struct graph_lane *lanes = items_grow(replan->lanes, replan->lane_count,
                                                  &replan->lane_room, sizeof *lanes);
            if (lanes == NULL)
                return false;
            replan->lanes = lanes;
            uint32_t number =
                replan_add_stream(replan, STREAM_NONBLOCKING, replan->plan->priorities[stream]);
            if (number == RECORDING_NONE)
                return false;
            lanes[replan->lane_count++] = (struct graph_lane){stream, branch, number};
        }
        launch->streams[branch] = replan->lanes[at].number;
    }
    return true;
}

/* Appends what runs at a node. */
static enum status launch_append(struct launch *launch, uint32_t at)
{
    const struct shape_node *node = &launch->shape->nodes[at];
    const uint32_t stream = launch->streams[node->branch];
    const struct op op = {.kind = OP_CALLBACK, .stream = stream};
    if (launch->ran[at] != NULL) {
        launch->replan->left.blind_ops++;
        return replan_append_ran(launch->replan, launch->call, launch->ran[at], stream);
    }
    if (node->kind == OP_CALLBACK)
        return replan_append(launch->replan, launch->call, op,
                             (struct op_recorded){.span = UINT32_MAX});
    launch->replan->left.unseen_ops += node->kind < OP_KIND_COUNT;
    return STATUS_OK;
}

static enum status launch_wait(struct launch *launch, uint32_t stream, uint32_t record)
{
    return replan_append_wait(launch->replan, launch->call, stream, record);
}

static enum status launch_record(struct launch *launch, uint32_t stream, uint32_t *record)
{
    *record = launch->replan->plan->op_count;
    return replan_append_record(launch->replan, launch->call, stream);
}

static enum status launch_node(struct launch *launch, uint32_t at)
{
    const struct shape_node *node = &launch->shape->nodes[at];
    const uint32_t stream = launch->streams[node->branch];
    enum status status = node->forks ? launch_wait(launch, stream, launch->begin) : STATUS_OK;
    for (uint32_t i = 0; i < node->before_count && status == STATUS_OK; i++)
        status = launch_wait(launch, stream,
                             launch->records[launch->shape->before[node->first_before + i]]);
    if (status == STATUS_OK)
        status = launch_append(launch, at);
    if (status == STATUS_OK && (node->passes || node->ends))
        status = launch_record(launch, stream, &launch->records[at]);
    return status;
}

/* Appends a launch: what begins branches, nodes, and what joins the branches. */
static enum status launch_nodes(struct launch *launch)
{
    const struct graph_shape *shape = launch->shape;
    enum status status = STATUS_OK;
    bool forks = false;
    for (uint32_t i = 0; i < shape->node_count; i++)
        forks |= shape->nodes[i].forks;
    if (forks)
        status = launch_record(launch, launch->streams[0], &launch->begin);
    for (uint32_t i = 0; i < shape->node_count && status == STATUS_OK; i++)
        status = launch_node(launch, i);
    for (uint32_t i = 0; i < shape->node_count && status == STATUS_OK; i++) {
        if (shape->nodes[i].ends)
            status = launch_wait(launch, launch->streams[0], launch->records[i]);
    }
    return status;
}

/* Sets what ran at each node. Ops of nodes that the recording does not know, as those of graphs
 * within the graph, are appended at once, in the order in which they began. */
static enum status launch_find_ops(struct launch *launch)
{
    struct replan *replan = launch->replan;
    const struct recording *recording = replan->recording;
    const struct graph_shape *shape = launch->shape;
    const size_t first = first_node(recording, shape->exec);
    struct sorter sorter = {.nodes = recording->nodes + first};
    while (first + sorter.count < recording->node_count &&
           sorter.nodes[sorter.count].exec == shape->exec)
        sorter.count++;
    for (uint32_t i = 0; i < launch->call->op_count; i++) {
        const struct recorded_op *ran = &recording->ops[(size_t)launch->call->first_op + i];
        const uint32_t number = number_of(&sorter, ran->node);
        const uint32_t place = number != RECORDING_NONE ? shape->places[number] : number;
        enum status status = STATUS_OK;
        if (ran->h2h || !replan_is_ours(replan, ran->stream))
            continue;
        if (place != RECORDING_NONE && launch->ran[place] == NULL) {
            launch->ran[place] = ran;
        } else {
            replan->left.blind_ops++;
            status = replan_append_ran(replan, launch->call, ran, launch->streams[0]);
        }
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status replan_graph(struct replan *replan, const struct recorded_call *call,
                         uint32_t stream)
{
    const struct graph_shape *shape = shape_of(replan, call->exec);
    if (shape == NULL)
        return replan_no_memory(replan);
    struct launch launch = {.replan = replan, .call = call, .shape = shape};
    launch.ran = calloc(shape->node_count + (size_t)1, sizeof *launch.ran);
    launch.streams = calloc(shape->branches + (size_t)1, sizeof *launch.streams);
    launch.records = calloc(shape->node_count + (size_t)1, sizeof *launch.records);
    enum status status = STATUS_OK;
    if (!launch.ran || !launch.streams || !launch.records ||
        !launch_find_streams(&launch, stream))
        status = replan_no_memory(replan);
    if (status == STATUS_OK)
        status = launch_find_ops(&launch);
    if (status == STATUS_OK)
        status = launch_nodes(&launch);
    free(launch.ran);
    free(launch.streams);
    free(launch.records);
    return status;
}
