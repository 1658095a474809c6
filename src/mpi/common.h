/* common.h - memory that the ranks of one host have in common: what they hand each other then
 * lies there, and no message has to carry it. */
#ifndef PIPELINE_MPI_COMMON_H
#define PIPELINE_MPI_COMMON_H

#include "plan/ranks.h"
#include "run/arrays.h"

#include <stdbool.h>
#include <stdint.h>

/* Puts the buffers through which devices hand things on (BUFFER_HOST_CARRY and
 * BUFFER_HOST_EXCHANGE) into memory that the ranks of this host have in common, where all of
 * them can have it; what was in the buffers is lost. Where they can't, and with
 * PIPELINE_NO_COMMON=1 in any rank, the buffers stay each rank's own; *seen says of which ranks
 * it came true. Ranks come together; the arrays, of one plan in all of them, are given back by
 * arrays_free() as ever. */
void common_take(struct arrays *arrays, struct ranks_seen *seen);

/* Returns true if, since common_take(), what this rank hands on in a buffer lies before `rank`,
 * which may be this one. */
bool common_with(uint32_t rank);

#endif
