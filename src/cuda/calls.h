/* calls.h - the CUDA calls of a plan's ops: which function each is, with all its arguments. */
#ifndef PIPELINE_CUDA_CALLS_H
#define PIPELINE_CUDA_CALLS_H

#include "cuda/prepare.h"

/* STATUS_USAGE where a plan goes in batches and the driver, or the CUDA Toolkit that this
 * program was built with, is older than 12.8. */
enum status cuda_calls_check(const struct plan *plan, struct error *error);

/* Turns the plan's ops into run->issued and what that refers to. The run has its memory,
 * streams, events and contexts. cuda_calls_free() in any case; callbacks are freed by whoever
 * knows that the device is idle. */
enum status cuda_calls_look_up(struct cuda_run *run, struct error *error);
void cuda_calls_free(struct cuda_run *run);

/* Issues a batch of copies in `stream`, which must not be the legacy default stream. */
cudaError_t cuda_issue_batch(const struct pieces *pieces, cudaStream_t stream);

#endif
