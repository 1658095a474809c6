/* graphs.c - the costs of a graph: its launch costs the host, its nodes host and device. */
#include "calibrate/parts.h"

#include <math.h>

enum {
    NODES = 512,
    STREAMS = 32, /* branches: enough that the nodes' own times hide behind one another */
};

/* Returns true if the device knows graphs: a simulated machine says so, and every real one of
 * today's CUDA does. */
static bool knows_graphs(const struct rig *rig)
{
    return rig->ops->measures || rig->device->graph_launch_ns > 0;
}

enum status calibrate_graphs(struct rig *rig)
{
    struct row row = {.steps = "k",
                      .count = NODES,
                      .streams = STREAMS,
                      .elements = 1024,
                      .blocks = 1,
                      .graph = true};
    struct measured step, issue, launch;
    if (!knows_graphs(rig)) {
        rig_known(rig, "graph_launch_ns", 0, "not measured: this machine knows no graphs");
        rig_known(rig, "graph_launch_node_ns", 0, "likewise");
        rig_known(rig, "graph_node_ns", 0, "likewise");
        return STATUS_OK;
    }
    enum status status = rig_step(rig, &row, &step, &issue);
    if (status == STATUS_OK)
        status = rig_issue(rig, &row, &launch);
    if (status != STATUS_OK)
        return status;
    double node_ns = fmax(0, issue.ns);
    rig_found(rig, "graph_launch_ns", fmax(1, launch.ns - NODES * node_ns), launch,
              "a graph of 512 small kernels, less their parts");
    rig_found(rig, "graph_launch_node_ns", node_ns, issue,
              "such graphs: what a node more costs the host");
    rig_found(rig, "graph_node_ns", fmax(0, step.ns - node_ns), step,
              "likewise in 32 branches: and the device, at most");
    return STATUS_OK;
}
