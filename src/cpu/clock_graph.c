/* clock_graph.c - a launch of a graph, as ops in streams.
 *
 * A node follows the first of those before it that nothing else follows yet, in that one's
 * branch; else it begins a branch. The first branch is the stream of the launch, each other is
 * a stream of its own that no program sees; what leads from one branch to another is an event.
 */
#include "cpu/parts.h"

#include <stdlib.h>

/* Returns the plan's number of branch `index`, of graphs that are launched in a stream. */
static uint32_t branch_stream(uint32_t stream, uint32_t index)
{
    static uint32_t *branches; /* streams of this file's own, by device as they come */
    static size_t count, capacity;
    const int device = clock_now.streams[stream].device;
    uint32_t found = 0;
    if (index == 0)
        return stream;
    for (size_t i = 0; i < count; i++)
        if (clock_now.streams[branches[i]].device == device && ++found == index)
            return branches[i];
    return *CLOCK_ADD(branches, count, capacity) =
               cpu_add_stream(device, CPU_NONBLOCKING, 0, &clock_now);
}

/* Launches of a graph wait for the one before, in whatever stream it was. [CUDA Runtime API,
 * cudaGraphLaunch()] */
struct launched {
    const void *graph;
    uint32_t event, stream; /* recorded behind the latest launch, and its stream */
};

static struct launched *launched(const void *graph)
{
    static struct launched *all;
    static size_t count, capacity;
    for (size_t i = 0; i < count; i++)
        if (all[i].graph == graph)
            return &all[i];
    struct launched *added = CLOCK_ADD(all, count, capacity);
    *added = (struct launched){graph, clock_add_event(), CLOCK_NONE};
    return added;
}

struct branches {
    const struct cpu_graph *graph;
    uint32_t *branch; /* per node */
    uint32_t *event;  /* per node: recorded behind it, where another branch waits; else NONE */
    uint32_t *tail;   /* per branch: its latest node */
    uint32_t count;
};

/* Finds the branch of a node. Nodes come after those that lead to them. */
static void find_branch(struct branches *branches, uint32_t node)
{
    const struct cpu_graph *graph = branches->graph;
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct cpu_edge *edge = &graph->edges[i];
        if (edge->to == node && branches->tail[branches->branch[edge->from]] == edge->from) {
            branches->branch[node] = branches->branch[edge->from];
            branches->tail[branches->branch[node]] = node;
            return;
        }
    }
    branches->branch[node] = branches->count;
    branches->tail[branches->count++] = node;
}

/* Lets a node wait for those that lead to it from other branches. */
static void wait_for_others(const struct branches *branches, struct clock_call *call,
                            uint32_t node, uint32_t number)
{
    const struct cpu_graph *graph = branches->graph;
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct cpu_edge *edge = &graph->edges[i];
        if (edge->to == node && branches->branch[edge->from] != branches->branch[node])
            clock_append_wait(call, number, branches->event[edge->from]);
    }
}

static bool leads_elsewhere(const struct branches *branches, uint32_t node)
{
    const struct cpu_graph *graph = branches->graph;
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct cpu_edge *edge = &graph->edges[i];
        if (edge->from == node && branches->branch[edge->to] != branches->branch[node])
            return true;
    }
    return branches->branch[node] > 0 && branches->tail[branches->branch[node]] == node;
}

static void append_nodes(struct branches *branches, struct clock_call *call, uint32_t stream)
{
    const struct cpu_graph *graph = branches->graph;
    const uint32_t begin = clock_own_event(), launch = clock_stream_number(stream);
    struct launched *latest = launched(graph->handle);
    if (latest->stream != stream)
        clock_append_wait(call, launch, latest->event);
    clock_append_record(call, launch, begin);
    for (uint32_t i = 1; i < branches->count; i++)
        clock_append_wait(call, clock_stream_number(branch_stream(stream, i)), begin);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct cpu_node *node = &graph->nodes[i];
        const uint32_t number = clock_stream_number(branch_stream(stream, branches->branch[i]));
        wait_for_others(branches, call, i, number);
        if (!node->empty) {
            clock_now.streams[stream].last =
                clock_append_work(call, &node->op, number, node->id);
        }
        if (leads_elsewhere(branches, i))
            clock_append_record(call, number, branches->event[i] = clock_own_event());
    }
    for (uint32_t i = 1; i < branches->count; i++)
        clock_append_wait(call, launch, branches->event[branches->tail[i]]);
    latest->stream = stream;
    clock_append_record(call, launch, latest->event);
}

void cpu_made_graph(const struct cpu_graph *graph)
{
    tape_graph(graph);
}

/* A graph's further launches take this long, beside its nodes. [Measured on an H200, in the
 * experiment `graph`: configs/machines/h200.ini] */
enum { AGAIN_NS = 4000 };

bool cpu_issue_graph(const struct cpu_graph *graph, uint32_t stream)
{
    struct clock_call *call = &clock_now.calls[clock_now.call_count - 1];
    const size_t count = graph->node_count + (size_t)1;
    struct branches branches = {.graph = graph, .count = 0};
    branches.branch = clock_room(NULL, 3 * count * sizeof *branches.branch);
    branches.event = branches.branch + count;
    branches.tail = branches.event + count;
    for (uint32_t i = 0; i < graph->node_count; i++)
        find_branch(&branches, i);
    for (uint32_t i = 1; i < branches.count; i++)
        (void)branch_stream(stream, i); /* before ops name streams by numbers that it changes */
    call->told = true;
    call->op = (struct cpu_op){.kind = CPU_KERNEL, .stream = stream};
    call->graph = graph->handle;
    append_nodes(&branches, call, stream);
    clock_now.plan.recorded->ops[call->first_op].call_ns =
        (graph->again ? AGAIN_NS : clock_now.machine.graph_launch_ns) +
        (int64_t)graph->node_count * clock_now.machine.graph_launch_node_ns;
    free(branches.branch);
    const bool good = !clock_now.failed;
    clock_now.failed = false;
    return good;
}
