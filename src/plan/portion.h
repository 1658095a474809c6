/* portion.h - what one device of several does, as a plan of its own: the work of a process that
 * shares a run with others; and what the portions hand one another. */
#ifndef PIPELINE_PLAN_PORTION_H
#define PIPELINE_PLAN_PORTION_H

#include "core/status.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A crossing is that a stream of one device waits for an event which one of another device
 * records, and the bytes of the host's memory that come with it. Where each device has a
 * process, these are messages. */

/* A device waits for another's event, once for all of its streams. */
struct crossing {
    uint32_t from, to; /* the devices */
    uint32_t record;   /* the op that records the event, by its id in the whole plan */
    uint32_t flag;     /* from 1; those of one record have one */
    uint32_t latest;   /* its latest parcel, from 1; 0: it has none */
};

/* Bytes of a host buffer that op `record` of a crossing, or one before it in its stream, left
 * for the other device. */
struct parcel {
    uint32_t crossing;
    uint32_t before; /* the crossing's parcel before this one, as `latest` */
    struct range range;
};

struct crossings {
    struct crossing *all;   /* in the order of their first waits */
    struct parcel *parcels; /* in the order of their first readers */
    uint32_t *flags; /* by op of the whole plan: the flag that it raises or awaits, or 0 */
    uint32_t count, parcel_count;
    size_t capacity, parcel_capacity;
};

/* Finds the crossings of a plan. STATUS_USAGE where a device reads what another one wrote to
 * the host's memory, and its stream has not waited for that one's. The caller frees *crossings,
 * which is empty on failure. */
enum status crossings_find(const struct plan *plan, struct crossings *crossings,
                           struct error *error);

void crossings_free(struct crossings *crossings);

/* Makes the plan of the ops that device `device` of `plan` does, in their order. Its tiles are
 * those of the whole array, and ops keep their numbers of tiles; streams, slots and bytes of
 * device buffers are the device's alone, from 0. Records and waits that are another device's
 * affair, too, have the flag of their crossing, which `crossings` lists for
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
