/* cupti_trace.h - when the device's work really ran, as the driver's activity records say.
 *
 * CUPTI is opened at run time, so the program needs it neither to be built nor to run. Only one
 * tool may trace a process: under a profiler cupti_trace_open() or cupti_trace_start() fails.
 *
 * CUPTI's callbacks carry no context, so the open trace is global to this file: one at a time.
 */
#ifndef PIPELINE_CUDA_CUPTI_TRACE_H
#define PIPELINE_CUDA_CUPTI_TRACE_H

#include "plan/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cupti_trace;

/* One copy, memset or kernel. Times by CLOCK_MONOTONIC, in ns. */
struct cupti_record {
    uint32_t stream;   /* CUPTI's number of it: cupti_trace_stream() */
    enum op_kind kind; /* what op_on_device(); OP_KIND_COUNT: a copy of another kind */
    uint64_t bytes;    /* of a copy or a memset */
    int64_t start_ns, end_ns;
    uint64_t node; /* of a graph's launch: the id of the node; else 0 */
};

/* Opens CUPTI. On failure returns NULL and the reason in *why, a constant. */
struct cupti_trace *cupti_trace_open(const char **why);

/* Starts recording, with no records. */
bool cupti_trace_start(struct cupti_trace *trace);

/* Forgets the records so far and goes on recording; all work must be complete. *forgotten is
 * how many there were. */
bool cupti_trace_clear(struct cupti_trace *trace, size_t *forgotten);

/* Stops recording; all work must be complete. False when records were lost. The records are by
 * stream and, within it, in the order they ran; they stay until the next start. */
bool cupti_trace_stop(struct cupti_trace *trace, const struct cupti_record **records,
                      size_t *count);

/* CUPTI's number of a cudaStream_t of the current context. */
bool cupti_trace_stream(struct cupti_trace *trace, void *stream, uint32_t *number);

/* CUPTI itself, as dlopen() gave it; for other functions of it. */
void *cupti_trace_library(const struct cupti_trace *trace);

void cupti_trace_close(struct cupti_trace *trace);

#endif
