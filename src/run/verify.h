/* verify.h - judges every element of the result.
 *
 * The chain's oracles work in double precision, in chunks, with all cores (with one where the
 * chain has a scan), beside the real output: a few hundred KiB of memory whatever the arrays'
 * size. A kernel with a check of its own is judged by that. */
#ifndef PIPELINE_RUN_VERIFY_H
#define PIPELINE_RUN_VERIFY_H

#include "core/status.h"
#include "plan/plan.h"

/* Compares the output of `plan`'s run with the oracles. `host` holds the host buffers by enum
 * buffer. STATUS_FAILED names the first wrong tile and element (lowest index), what it should
 * be (with the bound) and what it is. */
enum status verify_output(const struct plan *plan, void *const host[BUFFER_FIRST_DEVICE],
                          struct error *error);

/* Does the same where a wrong result is no reason to stop: it is put into `wrong` (unless that
 * holds one already), and it is a failure only if the output can't be compared. */
enum status verify_compare(const struct plan *plan, void *const host[BUFFER_FIRST_DEVICE],
                           struct error *wrong, struct error *error);

#endif
