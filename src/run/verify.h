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

/* What a run's output was found to be. */
struct judgement {
    struct error
        wrong;      /* names the first wrong element; its status is STATUS_OK: there is none */
    bool unwritten; /* the wrong element is the poison, though by its value it is right: it
                       was never written, or the right result is the poison of this run, which
                       one more run, with another poison, tells apart */
};

/* Compares every element of the output of `plan`'s run with the oracles, and none of them may
 * be the poison that was there before. STATUS_FAILED: the output can't be judged, for want of
 * memory; a wrong result is no failure. */
enum status verify_judge(const struct plan *plan, const struct arrays *arrays,
                         struct judgement *judgement, struct error *error);

/* Does the same where a wrong result is a failure: STATUS_FAILED names the first wrong tile and
 * element (lowest index), what it should be (with the bound) and what it is. */
enum status verify_output(const struct plan *plan, const struct arrays *arrays,
                          struct error *error);

#endif
