/* trace_cupti.h - a traced run that takes the device's times from CUPTI's records. */
#ifndef PIPELINE_CUDA_TRACE_CUPTI_H
#define PIPELINE_CUDA_TRACE_CUPTI_H

#include "cuda/cupti_trace.h"
#include "cuda/traced_run.h"

/* A backend's use of CUPTI. Zero-initialise. */
struct cuda_tracer {
    struct cupti_trace *cupti; /* opened by the first traced run */
    const char *no_cupti;      /* why CUPTI is not used; NULL: not tried yet, or it is used */
    char mismatch[96]; /* the text that no_cupti points to where records did not match */
};

/* Has CUPTI record, and runs the first ops to warm it up. Returns false where it can't, for
 * the reason in tracer->no_cupti; it is then not tried again. */
bool trace_cupti_start(struct cuda_tracer *tracer, const struct cuda_run *run);

/* Runs once, CUPTI recording since trace_cupti_start(), and stops it. *complete says if its
 * records account for every op; if not, tracer->no_cupti says why. */
enum status trace_with_cupti(struct cuda_tracer *tracer, struct traced_run *traced,
                             struct run_times *times, bool *complete, struct error *error);

#endif
