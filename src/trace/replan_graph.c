/* replan_graph.c - a launch of a graph, as the ops of its nodes.
 *
 * A graph has no streams. Its nodes are dealt to branches: a node is followed
 * in its branch by one of those that come behind it, and the others begin branches. The first
 * branch is the stream that the graph was launched in, and each other one is a stream of its
 * own. It begins behind what came before the graph, and what comes behind the graph waits for
 * it. Further edges between branches are events. A graph that is launched anew waits for its
 * launch before, in whatever stream that was, as CUDA has it.
 *
 * A handle may have been several graphs, one after another, and a recording does not say which
 * of its nodes belonged to which. No edge leads from one graph to another, so a part of the
 * nodes that no op of a launch names, while they name another part, was not launched. Of a part
 * that has nothing but functions of the host this is not known: it is launched each time. */
#include "trace/replan_parts.h"

#include "core/items.h"

#include <stdlib.h>

/* A branch of the graphs that are launched in a stream. */
struct graph_lane {
    uint32_t stream, branch, number;
};

void replan_find_graphs(struct replan *replan)
{
    const struct recording *recording = replan->recording;
    const struct recorded_call *first = NULL;
    EACH (const struct recorded_call, call, recording->calls, recording->call_count) {
        if (call->effect != EFFECT_GRAPH)
            continue;
        first = first != NULL ? first : call;
        replan->graphs_move |= call->stream != first->stream;
    }
}

void replan_graphs_free(struct replan *replan)
{
    for (size_t i = 0; i < replan->shape_count; i++)
        arena_free(&replan->shapes[i].arena);
    free(replan->shapes);
    free(replan->lanes);
}

struct launch {
    struct replan *replan;
    const struct recorded_call *call;
    const struct graph_shape *shape;
    const struct recorded_op **ran; /* per node of the shape; NULL: nothing was recorded */
    bool *named; /* per branch that is the first of its part: ops name a node of that */
    bool any_named;
    uint32_t stream;   /* that it is launched in */
    uint32_t *streams; /* per branch: the plan's stream; RECORDING_NONE: it is not launched */
    uint32_t *records; /* per node: the op that records it */
    uint32_t begin;    /* the op that records what came before the graph */
};

/* Returns the stream of the branch of that number, which is 1 or more, of graphs that are
 * launched in `stream`: one for them all. RECORDING_NONE: no memory. */
static uint32_t lane_stream(struct replan *replan, uint32_t stream, uint32_t branch)
{
    for (size_t at = 0; at < replan->lane_count; at++) {
        if (replan->lanes[at].stream == stream && replan->lanes[at].branch == branch)
            return replan->lanes[at].number;
    }
    if (!ITEMS_ROOM(replan->lanes, replan->lane_count, replan->lane_room)) {
        replan_no_memory(replan);
        return RECORDING_NONE;
    }
    const uint32_t number =
        replan_add_stream(replan, STREAM_NONBLOCKING, replan->plan->priorities[stream]);
    if (number != RECORDING_NONE)
        replan->lanes[replan->lane_count++] = (struct graph_lane){stream, branch, number};
    return number;
}

/* Sets the stream of each branch that is launched: the first has the launch's own. */
static void launch_find_streams(struct launch *launch)
{
    const struct graph_shape *shape = launch->shape;
    uint32_t count = 0;
    for (uint32_t branch = 0; branch < shape->branches; branch++) {
        const uint32_t part = shape->parts[branch];
        launch->streams[branch] = RECORDING_NONE;
        if (launch->any_named && shape->works[part] && !launch->named[part])
            continue;
        launch->streams[branch] =
            count > 0 ? lane_stream(launch->replan, launch->stream, count) : launch->stream;
        count++;
    }
}

/* Appends what runs at a node. */
static void launch_append(struct launch *launch, uint32_t at, uint32_t stream)
{
    struct replan *replan = launch->replan;
    const struct shape_node *node = &launch->shape->nodes[at];
    const struct recorded_op *ran = launch->ran[at];
    const struct op op = {.kind = OP_CALLBACK, .stream = stream};
    if (ran != NULL)
        replan_append_ran(replan, launch->call, ran, stream);
    else if (node->kind == OP_CALLBACK)
        replan_append(replan, launch->call, op, (struct op_recorded){.span = UINT32_MAX});
    if (ran != NULL && node->seen->kind == ran->kind)
        replan_touch_made(replan, &node->seen->made, ran, 0);
}

static uint32_t launch_record(struct launch *launch, uint32_t stream)
{
    return replan_append_record(launch->replan, launch->call, stream, false);
}

static void launch_node(struct launch *launch, uint32_t at)
{
    struct replan *replan = launch->replan;
    const struct shape_node *node = &launch->shape->nodes[at];
    const uint32_t stream = launch->streams[node->branch];
    if (node->forks && stream != launch->stream)
        replan_append_wait(replan, launch->call, stream, launch->begin);
    for (uint32_t i = 0; i < node->before_count; i++)
        replan_append_wait(replan, launch->call, stream,
                           launch->records[launch->shape->before[node->first_before + i]]);
    launch_append(launch, at, stream);
    if (node->passes || (node->ends && stream != launch->stream))
        launch->records[at] = launch_record(launch, stream);
}

/* Returns true if a node is in a branch that has a stream of its own beside the launch's. */
static bool is_beside(const struct launch *launch, const struct shape_node *node)
{
    const uint32_t stream = launch->streams[node->branch];
    return stream != RECORDING_NONE && stream != launch->stream;
}

/* Appends a launch: what begins branches, nodes, and what joins the branches. */
static void launch_nodes(struct launch *launch)
{
    const struct graph_shape *shape = launch->shape;
    bool forks = false;
    for (uint32_t i = 0; i < shape->node_count; i++)
        forks |= shape->nodes[i].forks && is_beside(launch, &shape->nodes[i]);
    if (forks)
        launch->begin = launch_record(launch, launch->stream);
    for (uint32_t i = 0; i < shape->node_count; i++) {
        if (launch->streams[shape->nodes[i].branch] != RECORDING_NONE)
            launch_node(launch, i);
    }
    for (uint32_t i = 0; i < shape->node_count; i++) {
        if (shape->nodes[i].ends && is_beside(launch, &shape->nodes[i]))
            replan_append_wait(launch->replan, launch->call, launch->stream,
                               launch->records[i]);
    }
}

/* Sets what ran at each node. Ops of nodes that the recording does not know, as those of graphs
 * within the graph, are appended at once, in the order in which they began. */
static void launch_find_ops(struct launch *launch)
{
    struct replan *replan = launch->replan;
    const struct recording *recording = replan->recording;
    for (uint32_t i = 0; i < launch->call->op_count; i++) {
        const struct recorded_op *ran = &recording->ops[(size_t)launch->call->first_op + i];
        const uint32_t place = graph_shape_place(launch->shape, ran->node);
        if (place != RECORDING_NONE)
            launch->any_named =
                launch->named[launch->shape->parts[launch->shape->nodes[place].branch]] = true;
        if (ran->h2h || !replan_is_ours(replan, ran->stream))
            continue;
        if (place != RECORDING_NONE && launch->ran[place] == NULL)
            launch->ran[place] = ran;
        else
            replan_append_ran(replan, launch->call, ran, launch->stream);
    }
}

void replan_graph(struct replan *replan, const struct recorded_call *call, uint32_t stream)
{
    struct graph_shape *shape = graph_shape_of(replan, call->exec);
    if (shape == NULL) {
        replan_no_memory(replan);
        return;
    }
    if (shape->launched && shape->stream != stream)
        replan_append_wait(replan, call, stream, shape->record);
    struct launch launch = {.replan = replan, .call = call, .shape = shape, .stream = stream};
    struct arena arena = {0};
    launch.named = arena_zeros(&arena, shape->branches, sizeof *launch.named);
    launch.ran = arena_zeros(&arena, shape->node_count, sizeof *launch.ran);
    launch.streams = arena_zeros(&arena, shape->branches, sizeof *launch.streams);
    launch.records = arena_zeros(&arena, shape->node_count, sizeof *launch.records);
    if (arena.full) {
        replan_no_memory(replan);
    } else {
        launch_find_ops(&launch);
        launch_find_streams(&launch);
        launch_nodes(&launch);
    }
    if (replan->graphs_move) {
        shape->launched = true;
        shape->stream = stream;
        shape->record = launch_record(&launch, stream);
    }
    arena_free(&arena);
}
