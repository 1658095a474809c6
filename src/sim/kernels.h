/* kernels.h - kernels, and copies and memsets within the device, which run as blocks, too. */
#ifndef PIPELINE_SIM_KERNELS_H
#define PIPELINE_SIM_KERNELS_H

#include "sim/state.h"

/* Hands over a launch that is ready, and at the front of its hardware queue: it enters the line
 * of its priority. */
enum status kernels_accept(struct simulation *sim, uint32_t op);

/* The blocks of a group end, unless `stamp` has been overtaken. */
enum status kernels_end_blocks(struct simulation *sim, uint32_t group, uint32_t stamp);

#endif
