/* foreign.h - why another program's run took longer than its busiest engine was at work, as far
 * as its trace tells.
 *
 * There is no plan and no machine: no limit is known, and the time of the busiest engine stands
 * for it. Every time in which that engine had nothing to do is followed back: what the op that
 * ended it had waited for, and what that had waited for, through ops and the host's calls, as
 * far as the engine's idle time reaches. A cause needs evidence: a call of that name that the
 * host was in, a stream of that kind, memory of that kind. What has none is VERDICT_UNKNOWN,
 * and says what recording would tell. */
#ifndef PIPELINE_ANALYSIS_FOREIGN_H
#define PIPELINE_ANALYSIS_FOREIGN_H

#include "causes/verdict.h"

/* Finds the verdicts of a timeline that has no plan. It must have passed verdict_check(). The
 * costs add up to the run's time less the busiest engine's. O(n log n) where idle
 * times are followed back through few ops each. STATUS_FAILED only when memory runs out. */
enum status foreign_verdicts_find(const struct verdict_case *facts, struct verdicts *verdicts,
                                  struct error *error);

#endif
