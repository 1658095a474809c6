/* trace.h - the run with a timeline: by CUPTI's records where there is CUPTI, else by an event
 * behind every copy and kernel.
 *
 * Environment:
 *   PIPELINE_NO_CUPTI=1   traced runs take their times from events */
#ifndef PIPELINE_CUDA_TRACE_H
#define PIPELINE_CUDA_TRACE_H

#include "cuda/device.h"
#include "cuda/trace_cupti.h"

/* Runs the plan once and fills `timeline`, which is initialised, with when each op ran on
 * `device`. */
enum status cuda_run_traced(struct cuda_tracer *tracer, const struct cuda_device *device,
                            struct cuda_run *run, struct timeline *timeline,
                            struct run_times *times, struct error *error);

#endif
