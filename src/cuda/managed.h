/* managed.h - managed memory: taken, brought home before a run, and its pages' moves in one. */
#ifndef PIPELINE_CUDA_MANAGED_H
#define PIPELINE_CUDA_MANAGED_H

#include "cuda/prepare.h"

/* Takes managed memory for the host's arrays of a plan that is to have it, with the inputs;
 * run->host and run->mapped are there from then on. STATUS_FAILED where the device can't work
 * on it beside the host, or has less than four times as much free. */
enum status cuda_managed_take(struct cuda_run *run, struct error *error);

/* Gives it back. Does nothing where there is none. */
void cuda_managed_free(struct cuda_run *run);

/* Brings all pages home before a run, and the output with its poison into them; and after it,
 * with the results, which the arrays then have. Both wait, and do nothing where plans have
 * other memory. */
enum status cuda_managed_begin(const struct cuda_run *run, struct error *error);
enum status cuda_managed_end(const struct cuda_run *run, struct error *error);

/* Issues a prefetch: of an op that copies in to its device, else to the host. */
cudaError_t cuda_managed_prefetch(const struct cuda_issued *op);

#endif
