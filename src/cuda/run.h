/* run.h - runs a prepared plan, op by op or as one graph, with nothing between the CUDA calls.
 */
#ifndef PIPELINE_CUDA_RUN_H
#define PIPELINE_CUDA_RUN_H

#include "cuda/prepare.h"
#include "plan/op.h"
#include "run/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- cupti.c --- */

/* Records when the device's work really ran, and by which ids records name a graph's
 * nodes.
 *
 * CUPTI is NVIDIA's library for profilers; its activity records come from the driver. It is
 * opened at run time, so that the program needs it neither to be built nor to run. Only one
 * tool may trace a process: under a profiler cupti_trace_open() or cupti_trace_start() fails.
 * CUPTI's callbacks carry no context, so the open trace is global, and there is one at a time.
 */

struct cupti_trace;

/* One copy, memset or kernel. Times by CLOCK_MONOTONIC, in ns. */
struct cupti_record {
    uint64_t stream;   /* CUPTI's number of the stream, see cupti_trace_stream() */
    enum op_kind kind; /* one that runs on the device; OP_KIND_COUNT: a copy of another kind */
    uint64_t bytes;    /* copied or set; 0 for a kernel */
    int64_t start_ns, end_ns;
    uint64_t node; /* the id of the graph's node that it ran for; 0: no graph's */
};

/* Opens CUPTI. On failure returns NULL and the reason in *why, a constant. */
struct cupti_trace *cupti_trace_open(const char **why);

/* Starts recording, with no records. */
bool cupti_trace_start(struct cupti_trace *trace);

/* Forgets the records so far, *forgotten of them, and goes on recording; all work must be
 * complete. */
bool cupti_trace_clear(struct cupti_trace *trace, size_t *forgotten);

/* Stops recording; all work must be complete. False when records were lost. The records are by
 * stream and, within it, in the order they ran; they stay until the next start. */
bool cupti_trace_stop(struct cupti_trace *trace, const struct cupti_record **records,
                      size_t *count);

/* Sets *number to CUPTI's number of a cudaStream_t of the current context: of its device, in
 * the upper half, and of the stream, which another device's may share. Returns false where it
 * has none. */
bool cupti_trace_stream(struct cupti_trace *trace, void *stream, uint64_t *number);

/* Has CUPTI leave the process until the next start, where it can. Once it has traced, graphs
 * are launched more slowly as long as it stays: on an H200 one of 1024 kernels in 411 us, in 17
 * where it had left. All work must be complete; no stream has a number after this. `trace`
 * may be NULL. */
void cupti_trace_detach(struct cupti_trace *trace);

void cupti_trace_close(struct cupti_trace *trace);

struct cupti_graph;

/* Subscribes, which must come before the graph is captured. Returns NULL where CUPTI is too
 * old, another tool has subscribed, or there is no memory. `trace` must outlive it. */
struct cupti_graph *cupti_graph_open(struct cupti_trace *trace);

/* Sets *id to the id by which records name `node`, a cudaGraphNode_t of a captured graph that
 * has been instantiated since. Returns false where it has none. */
bool cupti_graph_node_id(struct cupti_graph *graph, void *node, uint64_t *id);

/* Ends the subscription; `graph` may be NULL. */
void cupti_graph_close(struct cupti_graph *graph);

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

/* --- trial.c --- */

/* A launcher's work on its own, for run/trial.c: right on the stream that it is
 * given, and there alone. */

/* Launches the work on a copy of the image in the current device's memory, captured into a
 * graph, which shows what was launched where: STATUS_FAILED where the launcher fails, makes a
 * call that waits or takes memory, launches nothing on its stream, or has work done before the
 * stream comes to it; else the graph is launched. Where streams can't be captured the work is
 * launched at once.
 */
enum status cuda_trial(const struct kernel *kernel, const struct trial_work *work, char *image,
                       uint64_t bytes, struct error *error);

#endif
