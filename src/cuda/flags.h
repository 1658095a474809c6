/* flags.h - flags of the host's memory that streams raise and await, in their order: so they
 * tell other processes how far they are, and go on when those are (run/flags.h). */
#ifndef PIPELINE_CUDA_FLAGS_H
#define PIPELINE_CUDA_FLAGS_H

#include "cuda/prepare.h"

/* Page-locks the workload's flags, if it has any, and finds the driver's calls. STATUS_FAILED
 * where the driver has none. */
enum status cuda_flags_take(struct cuda_run *run, struct error *error);

/* Undoes that, or does nothing. No stream may be at work. */
void cuda_flags_free(struct cuda_run *run);

/* Returns the device's address of a flag; 0 for flag 0. */
uint64_t cuda_flag_at(const struct cuda_run *run, uint32_t flag);

/* Issue a record whose flag others await, too, and a wait for a flag. */
cudaError_t cuda_flag_raise(const struct cuda_issued *op);
cudaError_t cuda_flag_await(const struct cuda_issued *op);

#endif
