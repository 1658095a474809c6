/* checks.h - rule 5: how GPUs before compute capability 3.5 find out that a kernel has ended.
 *
 * None of these functions does anything on a machine without the rule. */
#ifndef PIPELINE_SIM_CHECKS_H
#define PIPELINE_SIM_CHECKS_H

#include "sim/state.h"

/* Finds the kernels that are issued back to back. */
void checks_link(struct simulation *sim);

/* Returns true if `op`, the head of a stream with something unchecked, may go; if not, its
 * stream is woken when that may change. */
bool checks_pass(struct simulation *sim, uint32_t op);

/* Returns true if a kernel that wants to start is held back by one that still runs. */
bool checks_hold_kernel(const struct simulation *sim, uint32_t op);

/* Takes note that all blocks of a kernel have started, or that it has ended. */
void checks_kernel_placed(struct simulation *sim, uint32_t op);
void checks_kernel_ended(struct simulation *sim, uint32_t op);

#endif
