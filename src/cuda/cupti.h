/* cupti.h - records when the device's work really ran, and by which ids records name a graph's
 * nodes.
 *
 * CUPTI is NVIDIA's library for profilers; its activity records come from the driver. It is
 * opened at run time, so that the program needs it neither to be built nor to run. Only one
 * tool may trace a process: under a profiler cupti_trace_open() or cupti_trace_start() fails.
 * CUPTI's callbacks carry no context, so the open trace is global, and there is one at a time.
 */
#ifndef PIPELINE_CUDA_CUPTI_H
#define PIPELINE_CUDA_CUPTI_H

#include "plan/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
