/* chain_host.h - a chain's work on the host: through the CPU twins, as the CPU's share of a
 * 4-way run is done, and the fold of the tiles' results as they come in callback ops. */
#ifndef PIPELINE_RUN_CHAIN_HOST_H
#define PIPELINE_RUN_CHAIN_HOST_H

#include "kernels/kernel_code.h"
#include "plan/plan.h"

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

/* The fold so far. The tiles of a reduction are summed, in the order in which they are added,
 * or ANDed, as its row says; the tiles of a map are only counted. */
struct tile_fold {
    const struct plan *plan;
    const void *out;  /* the host output: one value per tile for a reduction */
    uint32_t tiles;   /* tiles added so far */
    double real;      /* floating-point results: summed in double precision */
    uint32_t integer; /* int32 results: summed modulo 2^32; or 1 if none is 0 */
};

/* Begins a fold over the output of `plan` at `out`; with NULL tiles are only counted. */
struct tile_fold tile_fold_begin(const struct plan *plan, const void *out);

/* Adds tile `tile`, whose result must be in place. */
void tile_fold_add(struct tile_fold *fold, int32_t tile);

/* Returns the fold of the tiles added so far. Without any it is 0, or 1 where tiles are ANDed;
 * for a chain of maps it is 0. */
double tile_fold_value(const struct tile_fold *fold);

#endif
