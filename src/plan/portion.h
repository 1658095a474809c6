/* portion.h - what one device of several does, as a plan of its own: the work of a process that
 * shares a run with others. */
#ifndef PIPELINE_PLAN_PORTION_H
#define PIPELINE_PLAN_PORTION_H

#include "core/status.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the plan of the ops that device `device` of `plan` does, in their order. Its tiles are
 * those of the whole array, and ops keep their numbers of tiles; streams, slots and bytes of
 * device buffers are the device's alone, from 0. STATUS_USAGE where an op needs another device,
 * or is the host's. The caller frees *portion, which is empty on failure. */
enum status plan_portion(const struct plan *plan, uint32_t device, struct plan *portion,
                         struct error *error);

/* Returns true if the op is in the device's portion. The portion's ops are those of the plan,
 * in order, of which this is true. */
static inline bool plan_portion_has(const struct plan *plan, const struct op *op,
                                    uint32_t device)
{
    return op->stream < plan->streams && plan_stream_home(plan, op->stream).device == device;
}

/* Returns true if the tile is one of the device's, where tiles are dealt over devices. */
static inline bool plan_portion_has_tile(const struct plan *plan, uint32_t tile,
                                         uint32_t device)
{
    return plan_batch_device(plan, plan_batch_of(plan, tile)) == device;
}

#endif
