/* untiled.h - what is right of a kernel that has no CPU twin: what one launch on the whole
 * array gives, on the same device. */
#ifndef PIPELINE_APP_UNTILED_H
#define PIPELINE_APP_UNTILED_H

#include "app/job.h"

/* Refuses settings of which such a kernel's results could not be judged, or that ask a CPU to
 * do its work: `real` says that the device measures. STATUS_USAGE names the kernel and what
 * else would do. Nothing is refused where all kernels have twins. */
enum status untiled_check(const struct settings *settings, bool real, struct error *error);

/* Has the job's device do the chain's work with all elements as one tile, if a kernel of it has
 * no twin, and keeps the output in job->untiled, in one piece. Memory for the whole array is
 * taken on the host and on the device, and given back but for that output. Comes before the
 * job's own plan is prepared. */
enum status untiled_run(struct job *job, struct error *error);

#endif
