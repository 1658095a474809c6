/* verify_pieces.h - pieces of the output, each compared with what the chain's oracles say of
 * its elements: private to verify*.c. */
#ifndef PIPELINE_RUN_VERIFY_PIECES_H
#define PIPELINE_RUN_VERIFY_PIECES_H

#include "kernels/kernel_code.h"
#include "run/verify.h"

enum {
    VERIFY_CHUNK = 1024, /* elements that an oracle sees at once: they stay in the cache */
    VERIFY_PIECE = 16 * VERIFY_CHUNK, /* elements of a piece at most: enough work for a core */
    VERIFY_BATCH = 256,               /* pieces that are worked on side by side */
};

/* The values, bounds and results of a chunk, for one thread. */
struct verify_workspace {
    double value[VERIFY_CHUNK], bound[VERIFY_CHUNK], actual[VERIFY_CHUNK];
};

/* A part of a tile, with its findings. */
struct verify_piece {
    uint32_t tile;
    bool ends_tile;
    bool passed; /* another process judges it: it counts for the scans' totals alone */
    uint64_t first, count; /* elements of the array */
    uint64_t tile_first;   /* the tile's first one */
    uint64_t right;        /* maps: elements that are right before the first wrong one */
    struct {
        double value, bound, actual;
    } wrong;               /* maps: the first wrong one */
    struct oracle_sum sum; /* reductions: the fold of its elements */
};

/* The arguments of verify_judge(), and the state of the chain's scans. */
struct verification {
    const struct plan *plan;
    const struct arrays *arrays;
    const struct kernel *last;
    uint32_t *totals; /* per link: a scan's total so far. NULL: no link is a scan */
};

/* The place where the next piece is cut off a plan's tiles. */
struct verify_cutter {
    uint32_t tile;
    uint64_t done; /* elements of that tile that are in earlier pieces */
};

/* Loads `count` values as doubles, which hold all values. */
void verify_load_values(const void *data, enum dtype dtype, size_t count, double *to);

/* Loads elements [first, first + count) of a host buffer as doubles. They lie in one piece: in
 * one tile, or one row of it, where tiles lie apart. */
void verify_load(const struct arrays *arrays, enum buffer buffer, enum dtype dtype,
                 uint64_t first, size_t count, double *to);

/* Returns the 32-bit integer that has these bits. */
static inline int32_t verify_signed(uint32_t bits)
{
    return bits <= INT32_MAX ? (int32_t)bits : -(int32_t)~bits - 1;
}

/* Returns by how much of its size a value may differ where the chain's kernels have no twins.
 */
double verify_tolerance(const struct plan *plan);

/* Returns how many of `left` elements from `first` on are the next chunk: they lie in one piece
 * of the arrays. */
size_t verify_chunk(const struct verification *verification, uint64_t first, uint64_t left);

/* Compares or folds the elements of `piece`. */
void verify_piece(const struct verification *verification, struct verify_piece *piece,
                  struct verify_workspace *work);

/* Cuts the next pieces, at most VERIFY_BATCH, off the tiles that this process has, or off all
 * where a scan's totals need those. Returns how many there were. */
int verify_cut(struct verify_cutter *cutter, const struct verification *verification,
               struct verify_piece *pieces);

#endif
