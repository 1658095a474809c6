/* run.h - runs a prepared plan, op by op or as one graph, with nothing between the CUDA calls.
 */
#ifndef PIPELINE_CUDA_RUN_H
#define PIPELINE_CUDA_RUN_H

#include "cuda/cupti.h"
#include "cuda/prepare.h"

/* Runs the plan, as `graph` if that has been captured (it may be zeroed), else op by op. While
 * a tool listens there are NVTX ranges around the calls. */
enum status cuda_run_plain(struct cuda_run *run, const struct cuda_graph *graph,
                           struct run_times *times, struct error *error);

/* Runs the plan once for an outside profiler, which is told where the run begins and ends. */
enum status cuda_run_profiled(struct cuda_run *run, const struct cuda_graph *graph,
                              struct run_times *times, struct error *error);

/* Waits for everything that was issued and for the CPU. `result` is what the issue of op `at`,
 * the last that was issued, returned; the first failure is reported with that op. `call` names
 * the function if it is another than the one that issues the op; else it is NULL. */
enum status cuda_run_settle(struct cuda_run *run, cudaError_t result, uint32_t at,
                            const char *call, struct error *error);

/* The ops that warm a run up: the plan's first kernel on each device, if it has one, and the
 * copies of its tile before it. Without a kernel, or where the run itself has to load kernels,
 * they are the first copies. Memory that is taken
 * for the tile is taken before them, and given back after. They only touch memory that the run
 * writes before it reads. Fills `ops` with their ids and returns how many they are. */
enum {
    CUDA_FIRST_ON_ONE = 2 * (KERNEL_INPUTS_MAX + 1),
    CUDA_FIRST_OPS = MACHINE_DEVICES_MAX * CUDA_FIRST_ON_ONE
};
int cuda_first_ops(const struct cuda_run *run, uint32_t ops[CUDA_FIRST_OPS]);

/* Runs those ops, one after another, and spoils what they leave on the host. Sets *count to how
 * many of them the device ran; an error names the one that failed. It comes right before a
 * timed run: after the pause that arrays_settle() makes, the host's first calls would take some
 * 90 us more than later ones. */
enum status cuda_run_first_ops(struct cuda_run *run, int *count, struct error *error);

/* --- match.c: the op that each of CUPTI's records belongs to --- */

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

/* --- trace.c: the run with a timeline --- */

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
