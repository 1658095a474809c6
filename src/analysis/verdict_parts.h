/* verdict_parts.h - what verdicts are made of: private to the verdicts' files.
 *
 *   analysis/verdict_bound.c  the work that bounds a run, and how much of it each op does
 *   analysis/verdict_cause.c  the cause of a piece of the critical path
 *   analysis/verdict.c        charges what was lost to causes
 *
 * Each file calls only files above it. */
#ifndef PIPELINE_ANALYSIS_VERDICT_PARTS_H
#define PIPELINE_ANALYSIS_VERDICT_PARTS_H

#include "analysis/pieces.h"
#include "analysis/verdict.h"

struct verdict_bound {
    const struct verdict_case *facts;
    struct limit limit;
    enum engine engine;            /* a trace's busiest */
    double in_ns, out_ns;          /* per byte, where copies bind, in the middle of the run */
    int32_t first_tile, last_tile; /* the tile that went in first, and that came out last */
};

/* Finds what bounds the run: its limit says it; a trace has none, and the busiest engine's time
 * stands for it. STATUS_FAILED only when memory runs out. */
enum status verdict_bound_find(const struct verdict_case *facts, struct verdict_bound *bound,
                               struct error *error);

/* Returns how much of the limit is a span's work, in ns at the machine's rate: a headway_weight
 * with a struct verdict_bound. Before the first tile is in, and behind the last one's kernels,
 * its copies are all that can be done, so they count whatever binds. */
double verdict_bound_work(const void *bound, const struct span *span);

/* Returns the cause of what a piece waited for; VERDICT_REST where the wait had to be: for
 * data, for engines at work, for the host's first call. */
enum verdict_code verdict_link_cause(const struct verdict_case *facts,
                                     const struct path_piece *piece);

/* Returns the cause that a piece is itself; VERDICT_REST for work that had to be done. */
enum verdict_code verdict_piece_cause(const struct verdict_case *facts,
                                      const struct path_piece *piece);

/* Returns how much longer work of the engine that bounds the run took than at the machine's
 * rate, in ns, and sets why; 0 and VERDICT_REST for other work. */
int64_t verdict_slowness_ns(const struct verdict_case *facts, const struct path_piece *piece,
                            enum verdict_code *cause);

#endif
