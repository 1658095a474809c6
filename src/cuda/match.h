/* match.h - finds the op that each of CUPTI's records belongs to. */
#ifndef PIPELINE_CUDA_MATCH_H
#define PIPELINE_CUDA_MATCH_H

#include "cuda/cupti.h"
#include "cuda/run.h"

enum { MATCH_WHY = 96 };

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

/* Sets a span's times. They may come from another clock than its issue, off by a microsecond or
 * so, but nothing runs before it is issued. */
static inline void traced_span_set(struct span *span, int64_t start_ns, int64_t end_ns)
{
    span->start_ns = start_ns > span->issue_ns ? start_ns : span->issue_ns;
    span->end_ns = end_ns > span->start_ns ? end_ns : span->start_ns;
}

/* Sets the times of the timeline's copies, memsets and kernels from the records of a run that
 * was issued op by op; before it the first ops ran once, and have records, too. Returns false
 * where the records don't fit one to one; `why` then says how. */
bool match_streams(const struct traced_run *traced, struct cupti_trace *cupti,
                   const struct cupti_record *records, size_t count, char why[MATCH_WHY]);

/* Sets them from the records of one launch of traced->graph. `ids` may be NULL: CUPTI knows no
 * nodes. */
bool match_nodes(const struct traced_run *traced, struct cupti_graph *ids,
                 const struct cupti_record *records, size_t count, char why[MATCH_WHY]);

#endif
