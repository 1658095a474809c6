/* occupancy.h - how many blocks of a launch an SM has room for.
 *
 * CUDA's occupancy rules, for compute capability 5.0 and later: NVIDIA, "CUDA C++ Programming
 * Guide", "Compute Capabilities", and the Occupancy Calculator of Nsight Compute. Registers are
 * given to warps in units of 256, an SM has four parts with a quarter of the registers each,
 * shared memory is given in units of 128 bytes (256 before 8.0), and from 8.0 on each block
 * takes 1 KiB more of it. */
#ifndef PIPELINE_PLAN_OCCUPANCY_H
#define PIPELINE_PLAN_OCCUPANCY_H

#include "machine/machine.h"

#include <stdint.h>

/* What an SM has; 0 stands for what is not known, which then limits nothing. */
struct sm_room {
    uint32_t major; /* of the compute capability */
    uint32_t threads, blocks, registers, shared;
};

/* What a block of a launch takes: threads, registers of each, bytes of shared memory. */
struct block_need {
    uint32_t threads, registers, shared;
};

/* Returns what an SM of a machine has, as its compute capability tells. */
struct sm_room occupancy_room(const struct machine *machine);

/* Returns how many blocks an SM holds: at least 1. */
uint32_t occupancy_blocks_per_sm(const struct sm_room *room, const struct block_need *need);

/* Returns the part of the room of `sms` SMs that a launch of `blocks` blocks takes, up to 1. */
double occupancy_fill(const struct sm_room *room, uint32_t sms, uint32_t blocks,
                      const struct block_need *need);

#endif
