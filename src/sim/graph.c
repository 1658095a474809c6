/* graph.c - a plan that is launched as one graph.
 *
 * The host makes one call; all ops are issued at its end, and from then on only their
 * dependencies and the engines have a say. plan/rules.h says what is assumed of it. */
#include "plan/graph.h"
#include "sim/state.h"

enum status simulator_check(const struct machine *machine, const struct plan *plan,
                            struct error *error)
{
    if (plan->issue != ISSUE_GRAPH)
        return STATUS_OK;
    if (machine->graph_launch_ns == 0)
        return error_set(error, STATUS_USAGE,
                         "--issue=graph: the machine %s knows no graphs, or its file does not "
                         "say what one costs (graph_launch_ns)",
                         machine->name);
    return plan_check_graph(plan, error);
}

/* The CPU takes up its ops by itself, before the call. */
enum status graph_begin(struct simulation *sim)
{
    int64_t call_ns = rule_graph_launch_ns(sim->machine, plan_graph_nodes(sim->plan));
    sim->issued = sim->plan->op_count;
    enum status status = simulation_post(sim, call_ns, EVENT_LAUNCHED, 0, 0);
    return status == STATUS_OK ? simulation_advance(sim, sim->plan->streams, false) : status;
}

enum status graph_launched(struct simulation *sim)
{
    enum status status = STATUS_OK;
    sim->call_ended_ns = sim->node_free_ns = sim->now;
    sim->timeline->launched_ns = sim->now;
    for (uint32_t i = 0; i < sim->plan->streams && status == STATUS_OK; i++)
        status = simulation_advance(sim, i, false);
    return status;
}

int64_t graph_ready_ns(struct simulation *sim, int64_t ready_ns)
{
    int64_t begins = sim->node_free_ns > sim->now ? sim->node_free_ns : sim->now;
    sim->node_free_ns = begins + rule_graph_node_ns(sim->machine);
    return ready_ns > sim->node_free_ns ? ready_ns : sim->node_free_ns;
}
