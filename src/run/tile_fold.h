/* tile_fold.h - folds the tiles' results as they come, in the callback ops on the host. */
#ifndef PIPELINE_RUN_TILE_FOLD_H
#define PIPELINE_RUN_TILE_FOLD_H

#include "plan/plan.h"

#include <stdbool.h>

/* The fold so far. The tiles of a reduction are summed, in the order in which they are added,
 * or ANDed, as its row says; the tiles of a map are only counted. */
struct tile_fold {
    const struct plan *plan;
    const void *out;  /* the host output: one value per tile for a reduction */
    uint32_t tiles;   /* tiles added so far */
    double real;      /* floating-point results: summed in double precision */
    uint32_t integer; /* int32 results: summed modulo 2^32; or 1 if none is 0 */
};

/* Begins a fold over the output of `plan` at `out` (may be NULL: tiles are then only counted).
 */
struct tile_fold tile_fold_begin(const struct plan *plan, const void *out);

/* Adds tile `tile`, whose result must be in place. */
void tile_fold_add(struct tile_fold *fold, int32_t tile);

/* Returns the fold of the tiles added so far. Without any it is 0, or 1 where tiles are ANDed;
 * for a chain of maps it is 0. */
double tile_fold_value(const struct tile_fold *fold);

#endif
