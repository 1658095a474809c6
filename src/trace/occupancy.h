/* occupancy.h - how much of a GPU's room a launch takes. */
#ifndef PIPELINE_TRACE_OCCUPANCY_H
#define PIPELINE_TRACE_OCCUPANCY_H

#include "trace/recording.h"

/* Returns the blocks of a launch that an SM holds at once, by the rules of CUDA's occupancy
 * calculator: each of threads, blocks, registers and shared memory allows for so many, and the
 * least counts. What is 0 is not known, and no bound. At least 1. */
uint32_t occupancy_blocks_per_sm(const struct recorded_device *device,
                                 const struct recorded_op *launch);

/* Returns the part of the blocks that the whole GPU holds at once which the launch has: above 0
 * and up to 1. */
double occupancy_fill(const struct recorded_device *device, const struct recorded_op *launch);

#endif
