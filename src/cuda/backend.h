/* backend.h - what the files of the CUDA backend share; nobody else includes it.
 *
 *   cuda/backend.c  opening, describing and listing devices; the table of hooks
 *   cuda/probe.c, cuda/probe_product.c  the measurements behind the description
 *   cuda/prepare.c  device memory, streams, events: all that should not be in the timed run
 *   cuda/run.c      the run itself, with nothing in it but the CUDA calls (and, while a tool
 *                   listens, the ranges around them); the one for an outside profiler
 *   cuda/graph.c    the plan as one graph: captured, instantiated
 *   cuda/trace.c    the run with times, from CUPTI or from events
 *   cuda/trace_graph.c  likewise, of a graph's nodes
 *   cuda/cupti_trace.c, cuda/cupti_graph.c  CUPTI
 *
 * Global state, in cuda/backend.c: CUDA reads CUDA_DEVICE_MAX_CONNECTIONS and
 * CUDA_LAUNCH_BLOCKING once in a process, so what it was started with is remembered; and so are
 * the kernels that were loaded, and what was measured of the device, for the next run of a
 * comparison.
 *
 * Environment:
 *   PIPELINE_NO_CUPTI=1   traced runs take their times from events
 *   PIPELINE_NO_RATES=1   kernels' rates are not measured, which takes long under a checker;
 *                         limits then know those of memory and copies alone
 *   PIPELINE_NO_POISON=1  device buffers are left as allocated, so that a checker of
 * uninitialised memory sees what was never copied in */
#ifndef PIPELINE_CUDA_BACKEND_H
#define PIPELINE_CUDA_BACKEND_H

#include "cuda/check.h"
#include "cuda/cupti_graph.h"
#include "cuda/cupti_trace.h"
#include "plan/graph.h"
#include "run/backend.h"
#include "run/cpu_worker.h"
#include "term/marks.h"

#include <pthread.h>

struct cuda_run;

/* A host callback's op: what CUDA hands back to it, and when it ran. */
struct cuda_callback {
    struct cuda_run *run;
    int32_t tile;
    int64_t sleep_ns;
    const void *before, *total; /* of one that feeds the next tile: carry_feed()'s arguments */
    void *next;                 /* NULL: it is one that tells of its own tile's end */
    struct interval time;       /* of the latest run */
};

/* An op with everything looked up: what one CUDA call needs. */
struct cuda_issued {
    enum op_kind kind;
    cudaStream_t stream;
    union {
        struct {
            void *to;
            const void *from;
            size_t bytes;
        } copy;
        struct {
            int (*launch)(const struct kernel_args *args, void *stream);
            const struct kernel_args *args;
        } kernel;
        cudaEvent_t event;
        struct cuda_callback *callback;
        struct {
            void *at;
            int value;
            size_t bytes;
        } set;
        struct {
            size_t bytes;
            bool pinned;
        } alloc;
        bool device; /* a sync: of all streams */
    };
};

/* A node of a captured graph, and whose it is. */
struct cuda_node {
    cudaGraphNode_t node;
    uint32_t op;
};

/* A plan as one graph. Zeroed where there is none. */
struct cuda_graph {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    struct cuda_node *nodes; /* of all ops that are nodes, where they were to be kept */
    size_t node_count, node_capacity;
};

/* A prepared plan. Zeroed where nothing is prepared; what is NULL was not taken. */
struct cuda_run {
    struct workload workload;
    void *memory[BUFFER_COUNT];        /* host buffers: borrowed; device buffers: owned */
    void *mapped[BUFFER_FIRST_DEVICE]; /* mapped memory: the host buffers as kernels see them */
    bool registered[BUFFER_FIRST_DEVICE];
    cudaStream_t *streams;
    cudaEvent_t *events;
    uint32_t stream_count, event_count; /* created so far */
    struct cuda_issued *issued;         /* one per op of the plan */
    struct kernel_args *args;           /* of its kernels */
    void **contexts;                    /* per stream, of the kernel that has them; or NULL */
    struct cuda_callback *callbacks;
    pthread_mutex_t callback_lock; /* on_tile runs one at a time */
    bool muted;                    /* callbacks do not call on_tile: a run that is repeated */
    struct cpu_worker *worker;
    struct cuda_graph graph; /* with --issue=graph */
    bool lost; /* the context is unusable: clean-up frees what it can and is silent */
};

/* One kernel's speeds as measured, and what on. */
struct cuda_measured {
    struct kernel_params params;
    uint64_t tile; /* elements, where speeds depend on a tile's shape; else 0 */
    bool cpu;      /* the CPU twin's too */
    struct machine_kernel row;
};

struct backend {
    int device;
    char driver[TIMELINE_TEXT / 2]; /* "driver 13.0, runtime 13.0" */
    struct machine machine;         /* its properties and, once described, its rates */
    struct cuda_run run;
    struct cupti_trace *cupti; /* opened by the first traced run */
    const char *no_cupti;      /* why there is none; NULL: not tried, or there is one */
    char mismatch[96];         /* what that may point to */
};

/* Whether the process has loaded the kernel's code, and that it has, or is about to. */
bool cuda_kernel_is_loaded(const struct kernel *kernel);
void cuda_kernel_loaded(const struct kernel *kernel);

/* Runs a callback's op; the driver calls it. */
void CUDART_CB cuda_callback_main(void *callback);

/* Waits for everything that was issued and for the CPU. `result` is what the issue of op `at`
 * gave, the last that was issued; the first failure is reported with that op. */
enum status cuda_run_settle(struct cuda_run *run, cudaError_t result, uint32_t at,
                            struct error *error);

/* Captures the plan, instantiates it and has the device know it, all that a launch needs; the
 * caller frees it. `ends`: events by op id to be recorded behind ops, NULL or with NULLs;
 * `keep`: each op's nodes are to be kept. cuda_graph_free() warns of what fails, unless
 * `silent`; of a zeroed graph it frees nothing. */
enum status cuda_graph_create(const struct cuda_run *run, cudaEvent_t *ends, bool keep,
                              struct cuda_graph *graph, struct error *error);
void cuda_graph_free(struct cuda_graph *graph, bool silent);

/* Launches a created graph of the run's plan, in one call. Sets *last to the last op. */
cudaError_t cuda_graph_launch(const struct cuda_run *run, const struct cuda_graph *graph,
                              uint32_t *last);

/* A graph for one traced run: its own, for what times it may be in it. Zeroed where the plan is
 * issued op by op. */
struct cuda_traced_graph {
    struct cuda_graph graph;
    struct cupti_graph *ids; /* what CUPTI calls its nodes; NULL: it does not tell */
};

/* Captures the plan if it is to be a graph, with `ends` as above, and for records of `cupti`,
 * which is recording; each may be NULL. cuda_traced_graph_free() in any case. */
enum status cuda_traced_graph_create(struct cuda_traced_graph *graph,
                                     const struct cuda_run *run, cudaEvent_t *ends,
                                     struct cupti_trace *cupti, struct error *error);
void cuda_traced_graph_free(struct cuda_traced_graph *graph, const struct cuda_run *run);

/* Sets the times of the timeline's copies, memsets and kernels from the records of one launch.
 * `begin_ns`: the timeline's zero. False where they don't fit one to one; `why`, of `room`
 * bytes, then says how. */
bool cuda_traced_graph_match(const struct cuda_traced_graph *graph, const struct cuda_run *run,
                             const struct cupti_record *records, size_t count,
                             struct timeline *timeline, int64_t begin_ns, char *why,
                             size_t room);

/* Two clocks meet here, to within a microsecond or so: nothing runs before it is issued. */
static inline void cuda_set_times(struct span *span, int64_t start_ns, int64_t end_ns)
{
    span->start_ns = start_ns > span->issue_ns ? start_ns : span->issue_ns;
    span->end_ns = end_ns > span->start_ns ? end_ns : span->start_ns;
}

/* The plan's first kernel, if it has one, and the copies of its tile that come before it; else,
 * or where the run itself has to load kernels, the first copies. They only touch memory
 * that the run writes before it reads. Fills `ops` with their ids and returns how many they
 * are. */
enum { CUDA_FIRST_OPS = KERNEL_INPUTS_MAX + 1 };
int cuda_first_ops(const struct cuda_run *run, uint32_t ops[CUDA_FIRST_OPS]);

/* Runs those, one after another; what they leave on the host is spoiled again. Returns how many
 * that were, or -1. It comes right before a timed run: after the pause that arrays_settle()
 * makes, the host's first calls would take some 90 us more than the next ones. */
int cuda_run_first_ops(const struct cuda_run *run);

/* The hooks, as in run/backend.h. cuda_run_traced() is run() with a timeline,
 * cuda_run_profiled() that under --profile. */
enum status cuda_prepare(struct backend *backend, const struct workload *workload,
                         struct error *error);
void cuda_release(struct backend *backend);
enum status cuda_run_plain(struct backend *backend, struct run_times *times,
                           struct error *error);
enum status cuda_run_traced(struct backend *backend, struct timeline *timeline,
                            struct run_times *times, struct error *error);
enum status cuda_run_profiled(struct backend *backend, struct timeline *timeline,
                              struct run_times *times, struct error *error);

/* Names the streams for a tool that listens: "pipeline stream 3", or, with one stream per
 * stage, "pipeline h2d". */
void cuda_name_streams(const struct cuda_run *run);

/* Measures the copy rates, latencies and memory bandwidth of the current device, about 0.2 s,
 * with 32 MiB of host memory. The rest of `machine` is as it was. */
enum status cuda_probe_copies(struct machine *machine, struct error *error);

/* Measures `kernel` on the current device, with measured->params, on buffers larger than its
 * caches; where measured->cpu is set also its CPU twin, on at most `elements`. Sets
 * measured->row. A kernel that is .rated is left to cuda_probe_product(), which
 * measures it on a tile of measured->tile elements, or on as much of it as there is room for;
 * it sets the rates of its arithmetic alone, for that is what counts. */
enum status cuda_probe_kernel(const struct machine *machine, const struct kernel *kernel,
                              uint64_t elements, struct cuda_measured *measured,
                              struct error *error);
enum status cuda_probe_product(const struct kernel *kernel, struct cuda_measured *measured,
                               struct error *error);

/* Takes memory, which nothing uses, and gives it back. */
cudaError_t cuda_issue_alloc(const struct cuda_issued *op);

/* Issues one op, in one call (an allocation's in two). CPU ops are the worker's. */
static inline cudaError_t cuda_issue(const struct cuda_issued *op)
{
    switch (op->kind) {
    case OP_H2D:
        return cudaMemcpyAsync(op->copy.to, op->copy.from, op->copy.bytes,
                               cudaMemcpyHostToDevice, op->stream);
    case OP_D2H:
        return cudaMemcpyAsync(op->copy.to, op->copy.from, op->copy.bytes,
                               cudaMemcpyDeviceToHost, op->stream);
    case OP_KERNEL:
        return (cudaError_t)op->kernel.launch(op->kernel.args, op->stream);
    case OP_RECORD:
        return cudaEventRecord(op->event, op->stream);
    case OP_WAIT:
        return cudaStreamWaitEvent(op->stream, op->event, 0);
    case OP_CALLBACK:
        return cudaLaunchHostFunc(op->stream, cuda_callback_main, op->callback);
    case OP_D2D:
        return cudaMemcpyAsync(op->copy.to, op->copy.from, op->copy.bytes,
                               cudaMemcpyDeviceToDevice, op->stream);
    case OP_MEMSET:
        return cudaMemsetAsync(op->set.at, op->set.value, op->set.bytes, op->stream);
    case OP_SYNC:
        return op->device ? cudaDeviceSynchronize() : cudaStreamSynchronize(op->stream);
    case OP_ALLOC:
        return cuda_issue_alloc(op);
    case OP_CPU:
    case OP_KIND_COUNT:
        break;
    }
    return cudaSuccess;
}

/* Issues op `i` of the plan. `marked`: inside a range of its own. Where `marked` is a constant
 * false this is cuda_issue(). */
static inline cudaError_t cuda_issue_op(const struct cuda_run *run, uint32_t i, bool marked)
{
    const struct plan *plan = run->workload.plan;
    const struct op *op = &plan->ops[i];
    /* The CPU's ops are issued all at once; its worker marks the work itself. */
    if (!marked || op->kind == OP_CPU)
        return cuda_issue(&run->issued[i]);
    marks_issue_begin(op, op->kind == OP_KERNEL ? plan->chain[op->kernel.link] : NULL);
    cudaError_t result = cuda_issue(&run->issued[i]);
    marks_end();
    return result;
}

#endif
