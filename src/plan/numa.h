/* numa.h - which NUMA node each device of a run is near, and where the host's buffers lie. */
#ifndef PIPELINE_PLAN_NUMA_H
#define PIPELINE_PLAN_NUMA_H

#include "machine/machine.h"

#include <stdbool.h>
#include <stdint.h>

/* A node of the host's memory. All zero: nothing is known of it. */
struct numa_place {
    bool known;
    uint16_t node;
};

/* What was seen of a run: a backend that knows fills it, and elsewhere it is all zero. */
struct numa_seen {
    struct numa_place buffers; /* known where nearly all of them lie on one node */
    struct numa_place devices[MACHINE_DEVICES_MAX];
};

/* Returns true if the buffers are known to lie on another node than the device is near. */
static inline bool numa_is_far(const struct numa_seen *seen, uint32_t device)
{
    return device < MACHINE_DEVICES_MAX && seen->buffers.known && seen->devices[device].known &&
           seen->buffers.node != seen->devices[device].node;
}

/* Returns the first of `devices` that the buffers are far from; `devices`: none. */
static inline uint32_t numa_first_far(const struct numa_seen *seen, uint32_t devices)
{
    uint32_t device = 0;
    while (device < devices && !numa_is_far(seen, device))
        device++;
    return device;
}

#endif
