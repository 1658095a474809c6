/* ranks.h - the processes that shared a run, each with a device of its own: where they were,
 * and how well their clocks agree. */
#ifndef PIPELINE_PLAN_RANKS_H
#define PIPELINE_PLAN_RANKS_H

#include "machine/machine.h"

#include <stdbool.h>
#include <stdint.h>

enum { RANK_HOST = 64 };

/* A rank's host, and what its clock says more than rank 0's; that is known to within
 * `error_ns`. */
struct rank_place {
    char host[RANK_HOST];
    int64_t offset_ns, error_ns;
    bool common; /* what it hands on, or is handed, lies before all ranks of its host */
};

/* What was seen of a run's ranks. All zero: the run had one process. */
struct ranks_seen {
    uint32_t count;
    bool clocks; /* they were compared: virtual time has none */
    struct rank_place places[MACHINE_DEVICES_MAX];
};

#endif
