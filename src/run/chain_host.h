/* chain_host.h - a chain of kernels on host memory, through the CPU twins: the CPU's share of a
 * 4-way run works so, on a real device and on a simulated one. */
#ifndef PIPELINE_RUN_CHAIN_HOST_H
#define PIPELINE_RUN_CHAIN_HOST_H

#include "kernels/kernel_code.h"

#include <stdbool.h>

/* Returns true if chain_host_run() needs scratch for this chain: it has maps before a
 * reduction. */
bool chain_host_needs_scratch(const struct kernel *const chain[], int length);

/* Runs `chain` over `count` elements. `in0` is the chain's input, `in1` the second input array
 * of kernels that read two (else NULL), both at the tile's first element; `resident` is the
 * whole resident input, or NULL. `out` takes `count` elements, or one value when the chain ends
 * in a reduction. `tile_scratch` holds `count` elements of any type; it may be NULL where
 * chain_host_needs_scratch() is false. Element types may change along the chain but not their
 * size. Uses the calling thread's OpenMP team. */
void chain_host_run(const struct kernel *const chain[], int length,
                    const struct kernel_params *params, const void *in0, const void *in1,
                    const void *resident, void *out, uint64_t count, void *tile_scratch);

#endif
