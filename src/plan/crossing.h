/* crossing.h - what the portions of a plan hand one another: that a stream of one device waits
 * for an event which one of another device records, and the bytes of the host's memory that
 * come with it. Where each device has a process, these are messages. */
#ifndef PIPELINE_PLAN_CROSSING_H
#define PIPELINE_PLAN_CROSSING_H

#include "core/status.h"
#include "plan/plan.h"

#include <stddef.h>
#include <stdint.h>

/* A device waits for another's event, once for all of its streams. */
struct crossing {
    uint32_t from, to; /* the devices */
    uint32_t record;   /* the op that records the event, by its id in the whole plan */
    uint32_t flag;     /* from 1; those of one record have one */
};

/* Bytes of a host buffer that op `record` of a crossing, or one before it in its stream, left
 * for the other device. */
struct parcel {
    uint32_t crossing;
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

#endif
