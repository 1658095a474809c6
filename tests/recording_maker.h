/* recording_maker.h - the recording that `pipeline record` would have made of a plan of ours,
 * had it run as it was simulated. */
#ifndef PIPELINE_TESTS_RECORDING_MAKER_H
#define PIPELINE_TESTS_RECORDING_MAKER_H

#include "plan/timeline.h"

#include <stdio.h>

/* What a maker draws by chance: ids, handles, and calls between those of the plan. */
struct recording_maker {
    uint64_t random;     /* not 0 */
    bool reuses_handles; /* an event's handle is used again once nobody waits for it */
    uint64_t *node_ids;  /* of a graph: per op of the plan, its node. To be freed */
};

/* Writes the recording of `plan`, which ran as `timeline` says, to `out`. */
void recording_make(FILE *out, struct recording_maker *maker, const struct plan *plan,
                    struct timeline *timeline);

/* Returns where a buffer of the plan begins in such a recording. */
uint64_t recording_address(enum buffer buffer);

#endif
