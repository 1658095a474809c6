/* cells.h - who touched which bytes last: what the search for hazards remembers of memory.
 *
 * Every buffer is cut where some op's range begins or ends. Bytes that one write touched as a
 * whole are one run of cells, however many cuts lie in it, until another access cuts it: so a
 * buffer that is worked on piece by piece and then as a whole, again and again, costs log n for
 * an access.
 *
 * Accesses are certain, or possible: a recorded kernel may touch what its arguments point to.
 * A possible write hides no certain one, so both are remembered apart, on two sides. Who comes
 * after a write on one side also comes after all that this one came after on the other: only
 * what touched the bytes since then is looked at there. */
#ifndef PIPELINE_PLAN_CELLS_H
#define PIPELINE_PLAN_CELLS_H

#include "core/arena.h"
#include "plan/op.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- cuts.c: the offsets at which memory is cut into cells --- */

/* Cell i is [offsets[i], offsets[i + 1]). Zero-initialise. */
struct cuts {
    uint64_t *offsets; /* ascending, each once, as soon as cuts_tidy() was called */
    size_t count, capacity;
    size_t sorted; /* so many ascend already, each once, from the first on */
    size_t
        latest; /* where the latest range began: the next mostly begins there, or behind it */
};

/* Adds both ends of a range. Returns false when memory runs out. */
bool cuts_add(struct cuts *cuts, const struct range *range);

/* Sorts the offsets and drops those that are there twice: call it behind the last cuts_add().
 */
void cuts_tidy(struct cuts *cuts);

/* Returns the first cell of a range that was added, and sets *end to the cell behind its last.
 * They are found at once where the range begins where the latest did, or at the next cut. */
size_t cuts_find(struct cuts *cuts, const struct range *range, size_t *end);

void cuts_free(struct cuts *cuts);

/* An op that touched a cell: the `place`-th of its stream, counted from 1. */
struct epoch {
    uint32_t op, stream, place;
};

enum { SIDE_POSSIBLE, SIDE_SURE, SIDE_COUNT };

struct memory_cell;
struct heads;
struct reader;
struct cell_side {
    struct memory_cell *cells; /* cell i is [cuts[i], cuts[i + 1]) */
    struct heads *heads; /* NULL where there is a single cell: most buffers of a program that
                            has a million */
    /* A tree of maxima: the leaf of a head is 1 more than the latest op that touched its run,
     * that of another cell 0. Only where there are two sides. */
    uint32_t *latest;
    uint32_t leaves; /* a power of 2 */
    /* A word for each run, behind the tree: its write comes after all ops before this one that
     * touched its bytes on the other side; 0: it raced with one. */
    uint32_t *since;
};

struct cut_buffer {
    struct cuts cuts;
    bool both; /* some access is possible: else there is no side for such, nor a tree */
    struct cell_side sides[SIDE_COUNT];
};

struct cells {
    struct cut_buffer *buffers;
    uint32_t buffer_count;
    struct reader *pool; /* entry 0 is not used */
    size_t pool_count, pool_capacity;
    uint32_t free_reader;
    struct arena arena; /* what has the buffers and their sides */
};

/* Takes note of an earlier access that an access is not ordered behind. `where` is what both
 * touch. */
struct cells_watcher {
    void (*on_race)(void *context, uint32_t before, const struct range *where, bool sure);
    void *context;
};

/* Cuts the buffers of `plan`. Returns false when memory runs out; cells_free() in any case. */
bool cells_init(struct cells *cells, const struct plan *plan);
void cells_free(struct cells *cells);

/* Takes up an access of the op that `by` says, which `sure` says to be certain: `clock` holds,
 * for each stream, the places that come before it. Returns false when memory runs out. */
bool cells_touch(struct cells *cells, const struct access *access, struct epoch by, bool sure,
                 const uint32_t *clock, const struct cells_watcher *watcher);

#endif
