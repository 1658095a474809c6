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

#endif
