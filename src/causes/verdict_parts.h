/* verdict_parts.h - private to the verdicts' files.
 *
 *   causes/verdict_check.c    timelines that can't be
 *   causes/verdict_cause.c    the causes of the pieces of a critical path
 *   causes/verdict_account.c  the path's losses, charged to those
 *   causes/verdict_charge.c   all that a run lost, dealt out among its causes
 *   causes/verdict_seen.c     what was seen of a cause, in words
 *   causes/verdict.c          the causes of a run, and their fixes */
#ifndef PIPELINE_ANALYSIS_VERDICT_PARTS_H
#define PIPELINE_ANALYSIS_VERDICT_PARTS_H

#include "analysis/pieces.h"
#include "causes/verdict.h"
#include "causes/whatif.h"

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

/* The cost and the span of each cause, as the critical path tells them. */
struct verdict_account {
    struct verdict items[VERDICT_COUNT];
    int64_t most_ns[VERDICT_COUNT]; /* of one piece */
};

/* Charges all that was lost. The costs add up to the timeline's time less the limit; those of a
 * run that was faster in parts than its machine's figures may be negative. O(n log n).
 * STATUS_FAILED only when memory runs out. */
enum status verdict_account_find(const struct verdict_case *facts,
                                 struct verdict_account *account, struct error *error);

/* A run that is being judged. */
struct verdict_judgement {
    const struct verdict_case *facts;
    struct verdict_account account; /* of the timeline's critical path */
    struct found found;
    int64_t time_ns, limit_ns;
    struct verdict items[VERDICT_COUNT]; /* by code */
    bool tried;                          /* found is set */
};

/* Charges what was lost by what the simulator tried; STATUS_FAILED only when memory runs out.
 * Or, where nothing can be tried, by the critical path alone. */
enum status verdict_charge_tried(struct verdict_judgement *judgement, struct error *error);
void verdict_charge_path(struct verdict_judgement *judgement);

/* Sets what was seen of a cause in a run of our own, and what that is worth. */
void verdict_see(const struct verdict_case *facts, struct verdict *verdict);

#endif
