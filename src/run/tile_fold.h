/* tile_fold.h - folds the tiles' results as they come: what a callback op does on the host. */
#ifndef PIPELINE_RUN_TILE_FOLD_H
#define PIPELINE_RUN_TILE_FOLD_H

#include "plan/plan.h"

#include <stdbool.h>

/* The fold so far. A reduction's tiles are summed, in the order they are added, or ANDed, as
 * its row says; maps only count. */
struct tile_fold {
    const struct plan *plan;
    const void *out;  /* the host output: one value per tile for a reduction */
    uint32_t tiles;   /* added so far */
    double real;      /* floating-point results: summed in double precision */
    uint32_t integer; /* int32 results: summed modulo 2^32; or 1 if none is 0 */
};

/* Begins a fold over the output of `plan` at `out` (may be NULL: tiles are then only counted).
 */
struct tile_fold tile_fold_begin(const struct plan *plan, const void *out);

/* Adds tile `tile`, whose result must be in place. */
void tile_fold_add(struct tile_fold *fold, int32_t tile);

/* The fold of the tiles added so far: of none 0, or 1 where they are ANDed; 0 for a chain of
 * maps. */
double tile_fold_value(const struct tile_fold *fold);

#endif
