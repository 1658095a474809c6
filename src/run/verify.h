/* verify.h - judges every element of the result.
 *
 * The chain's oracles work in double precision, in chunks, with all cores (with one where the
 * chain has a scan), beside the real output: a few hundred KiB of memory whatever the arrays'
 * size. A kernel with a check of its own is judged by that. */
#ifndef PIPELINE_RUN_VERIFY_H
#define PIPELINE_RUN_VERIFY_H

#include "core/status.h"
#include "plan/plan.h"
#include "run/arrays.h"

#include <stdbool.h>

/* A judgement says whether a run's output is right, for a wrong result is not always a failure.
 */
struct judgement {
    struct error
        wrong; /* the first wrong element; its status is STATUS_OK where there is none */
    /* All values are right, but the element that `wrong` names holds the poison, bit by bit:
     * either nothing wrote it, or its right result is the poison. */
    bool unwritten;
};

/* Compares every element of the output of `plan`'s run with the oracles. After arrays_poison()
 * no element may hold the poison, and nothing between tiles that lie apart may have been
 * written. A wrong result is no failure. STATUS_NO_MEMORY: the output can't be judged. */
enum status verify_judge(const struct plan *plan, const struct arrays *arrays,
                         struct judgement *judgement, struct error *error);

/* Makes of what each process that shares a run found what all found, the first of them that is
 * wrong, and returns the status that all then have. */
typedef enum status judgement_agree(enum status status, struct judgement *judgement,
                                    struct error *error);

/* Poisons the output, runs the plan by `run` with its `context`, and judges what came out.
 * Where that is the poison it does all this once more: another poison, which the output does
 * not hold, tells a right result from one that was never written. Returns what `run` returned
 * where that is no STATUS_OK, else as verify_judge(). `agree` is NULL where one process has the
 * whole run. */
enum status verify_run(const struct plan *plan, struct arrays *arrays,
                       enum status (*run)(void *context, struct error *error), void *context,
                       judgement_agree *agree, struct judgement *judgement,
                       struct error *error);

/* Returns true if `actual`, of type `dtype`, can be the result where the exact one is `value`,
 * give or take `bound`: 0 for integers, infinite where nothing is claimed. A result beyond the
 * largest float may have become an infinity. */
bool verify_is_right(enum dtype dtype, double value, double bound, double actual);

/* Judges as verify_judge() does, but a wrong result is a failure: STATUS_FAILED names the first
 * wrong tile and element (lowest index), what it should be (with the bound) and what it is. */
enum status verify_output(const struct plan *plan, const struct arrays *arrays,
                          struct error *error);

#endif
