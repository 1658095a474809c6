/* traced_run.h - one run with the host's times: when each op was issued, and when the host's
 * own work ran. When the device's work ran comes from CUPTI (cuda/trace_cupti.h) or from events
 * (cuda/trace_events.h). */
#ifndef PIPELINE_CUDA_TRACED_RUN_H
#define PIPELINE_CUDA_TRACED_RUN_H

#include "cuda/run.h"

/* A traced run, while it is made. */
struct traced_run {
    struct cuda_run *run;
    const struct plan *plan;
    struct timeline *timeline;
    struct interval *cpu_times;     /* by op id; NULL: the plan has no CPU ops */
    const struct cuda_graph *graph; /* the plan as a graph; NULL: issued op by op */
    cudaEvent_t
        *ends; /* by op id, an event to record behind the op; it or an entry may be NULL */
    int64_t begin_ns;  /* the host's clock at the first issue: the timeline's zero */
    int64_t issued_ns; /* from there to when the last call returned */
};

/* Runs the plan as the plain run does, but reads the clock between the calls and records the
 * events of traced->ends. Fills the timeline's issue times and the spans of CPU tiles,
 * callbacks and the host's own calls. */
enum status traced_run_make(struct traced_run *traced, struct run_times *times,
                            struct error *error);

/* Sets a span's times. They may come from another clock than its issue, off by a microsecond or
 * so, but nothing runs before it is issued. */
static inline void traced_span_set(struct span *span, int64_t start_ns, int64_t end_ns)
{
    span->start_ns = start_ns > span->issue_ns ? start_ns : span->issue_ns;
    span->end_ns = end_ns > span->start_ns ? end_ns : span->start_ns;
}

#endif
