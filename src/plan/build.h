/* build.h - turns settings into a plan. */
#ifndef PIPELINE_PLAN_BUILD_H
#define PIPELINE_PLAN_BUILD_H

#include "core/status.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "plan/settings.h"

/* Builds the plan of `settings` for `machine`: its residency gives the kernels' grids, its
 * priorities clamp those asked for, and its rates give the CPU's share when that is auto.
 * `plan` is overwritten; free it with plan_free(). With settings->mistake the plan has that
 * mistake in it; STATUS_USAGE where these settings leave no place for it. STATUS_FAILED,
 * STATUS_NO_MEMORY: `error` says why else there is no plan. The settings must pass
 * settings_check(). */
enum status plan_build(const struct settings *settings, const struct machine *machine,
                       struct plan *plan, struct error *error);

/* Returns a plan of these settings without its ops, streams and buffers: all that its limit
 * depends on. It owns no memory. */
struct plan plan_outline(const struct settings *settings, const struct machine *machine);

/* Returns how many of the tiles the CPU works on: none below 4-way; the share asked for,
 * rounded; or, when that is auto, as many as let CPU and GPU end soonest together at the
 * machine's rates, which is none where the CPU would take longer for one tile than the GPU for
 * all. */
uint32_t plan_cpu_tiles(const struct settings *settings, const struct machine *machine);

/* Gives each device's streams the priorities of the settings, dealt round-robin and kept within
 * what the machine has. STATUS_NO_MEMORY or STATUS_OK. A part of plan_build(). */
enum status plan_set_priorities(struct plan *plan, const struct settings *settings,
                                const struct machine *machine, struct error *error);

/* --- validate.c: whether a plan can be carried out --- */

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
