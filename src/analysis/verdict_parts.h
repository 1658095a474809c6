/* verdict_parts.h - the causes of the pieces of a critical path, which verdict.c charges:
 * private to the verdicts' files. */
#ifndef PIPELINE_ANALYSIS_VERDICT_PARTS_H
#define PIPELINE_ANALYSIS_VERDICT_PARTS_H

#include "analysis/pieces.h"
#include "analysis/verdict.h"

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
