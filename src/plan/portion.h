/* portion.h - what one device of several does, as a plan of its own: the work of a process that
 * shares a run with others. */
#ifndef PIPELINE_PLAN_PORTION_H
#define PIPELINE_PLAN_PORTION_H

#include "core/status.h"
#include "plan/crossing.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the plan of the ops that device `device` of `plan` does, in their order. Its tiles are
 * those of the whole array, and ops keep their numbers of tiles; streams, slots and bytes of
 * device buffers are the device's alone, from 0. Records and waits that are another device's
 * affair, too, have the flag of their crossing (plan/crossing.h), which `crossings` lists for
 * the whole plan; NULL: there must be none. STATUS_USAGE where an op needs another device
 * otherwise, or is the host's. The caller frees *portion, which is empty on failure. */
enum status plan_portion(const struct plan *plan, uint32_t device,
                         const struct crossings *crossings, struct plan *portion,
                         struct error *error);

/* Returns true if the op is in the device's portion. The portion's ops are those of the plan,
 * in order, of which this is true. */
static inline bool plan_portion_has(const struct plan *plan, const struct op *op,
                                    uint32_t device)
{
    return op->stream < plan->streams && plan_stream_home(plan, op->stream).device == device;
}

#endif
