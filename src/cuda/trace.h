/* trace.h - the run with a timeline: by CUPTI's records where there is CUPTI, else by an event
 * behind every copy and kernel.
 *
 * Environment:
 *   PIPELINE_NO_CUPTI=1   traced runs take their times from events */
#ifndef PIPELINE_CUDA_TRACE_H
#define PIPELINE_CUDA_TRACE_H

#include "cuda/match.h"

/* A backend's use of CUPTI. Zero-initialise. */
struct cuda_tracer {
    struct cupti_trace *cupti; /* opened by the first traced run */
    const char *no_cupti;      /* why CUPTI is not used; NULL: not tried yet, or it is used */
    char mismatch[MATCH_WHY]; /* the text that no_cupti points to where records did not match */
};

/* Runs the plan once and fills `timeline`, which is initialised, with when each op ran. */
enum status cuda_run_traced(struct cuda_tracer *tracer, struct cuda_run *run,
                            struct timeline *timeline, struct run_times *times,
                            struct error *error);

#endif
