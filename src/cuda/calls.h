/* calls.h - the CUDA calls of a plan's ops: which function each is, with all its arguments. */
#ifndef PIPELINE_CUDA_CALLS_H
#define PIPELINE_CUDA_CALLS_H

#include "cuda/prepare.h"

/* Turns the plan's ops into run->issued and what that refers to. The run has its memory,
 * streams, events and contexts. cuda_calls_free() in any case; callbacks are freed by whoever
 * knows that the device is idle. */
enum status cuda_calls_look_up(struct cuda_run *run, struct error *error);
void cuda_calls_free(struct cuda_run *run);

#endif
