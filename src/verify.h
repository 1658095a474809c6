/* verify.h - is every element of the result right?
 *
 * The chain's oracles work in double precision, in chunks, with all cores, beside the real
 * output: a few hundred KiB of memory whatever the arrays' size. */
#ifndef PIPELINE_VERIFY_H
#define PIPELINE_VERIFY_H

#include "plan.h"
#include "status.h"

/* Compares the output of `plan`'s run with the oracles. `host` holds the host buffers by enum
 * buffer. STATUS_FAILED names the first wrong tile and element (lowest index), what it should
 * be (with the bound) and what it is. */
enum status verify_output(const struct plan *plan, void *const host[BUFFER_FIRST_DEVICE],
                          struct error *error);

#endif
