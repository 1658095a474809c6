/* validate.h - whether a plan can be carried out. */
#ifndef PIPELINE_PLAN_VALIDATE_H
#define PIPELINE_PLAN_VALIDATE_H

#include "machine/machine.h"
#include "plan/plan.h"

/* Checks that every op refers to streams, events, kernels and bytes that are there, and that
 * each event is recorded before it is waited for: so a plan always ends. STATUS_FAILED names
 * the op. Of a recorded plan all that was seen is checked as well, and it may wait for an event
 * that was never recorded: such a wait is legal and has no effect. [CUDA Runtime API,
 * cudaStreamWaitEvent()] */
enum status plan_validate(const struct plan *plan, struct error *error);

/* Checks that the plan can be captured as one CUDA graph: STATUS_USAGE names the call, the
 * stream or the memory that can't be in a graph. */
enum status plan_check_graph(const struct plan *plan, struct error *error);

/* Returns how many nodes the plan's graph has. Linear in ops. */
uint32_t plan_graph_nodes(const struct plan *plan);

/* Returns true if the plan is one graph that `machine` is handed node by node: see
 * rule_graph_by_node(). Linear in ops. */
bool plan_graph_by_node(const struct plan *plan, const struct machine *machine);

/* Refuses a plan on managed memory for a machine whose host and kernels can't work on it at
 * once, or whose device has less than four times its arrays. Plans on other memory pass.
 * STATUS_USAGE. */
enum status managed_check(const struct plan *plan, const struct machine *machine,
                          struct error *error);

/* Refuses arrays of more than a quarter of `bytes` of the device's memory, of which the error
 * says that they `are` ("are free"). */
enum status managed_check_room(const struct plan *plan, uint64_t bytes, const char *are,
                               struct error *error);

#endif
