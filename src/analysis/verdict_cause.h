/* verdict_cause.h - the cause of one piece of the critical path: private to the verdicts. */
#ifndef PIPELINE_ANALYSIS_VERDICT_CAUSE_H
#define PIPELINE_ANALYSIS_VERDICT_CAUSE_H

#include "analysis/pieces.h"
#include "analysis/verdict.h"

/* The cause of what a piece waited for; VERDICT_REST where that had to be: data, engines at
 * work, the host's first call. */
enum verdict_code verdict_link_cause(const struct verdict_case *facts,
                                     const struct piece *piece);

/* The cause that a piece is itself; VERDICT_REST for work that had to be done. */
enum verdict_code verdict_piece_cause(const struct verdict_case *facts,
                                      const struct piece *piece);

/* Of work of the engine that bounds the run: how much longer it took than at the machine's
 * rate, in ns, and why. 0 and VERDICT_REST for other work. */
int64_t verdict_slowness_ns(const struct verdict_case *facts, const struct piece *piece,
                            enum verdict_code *cause);

#endif
