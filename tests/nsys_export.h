/* nsys_export.h - runs of ours, written as Nsight Systems would have exported them: what a
 * trace of another program holds, with a cause that is known.
 *
 * Tables, columns and the meaning of numbers are those of NVIDIA's "Nsight Systems User Guide",
 * "SQLite Schema Reference" (TARGET_INFO_CUDA_STREAM.flag refers to ENUM_CUPTI_STREAM_TYPE,
 * whose numbers are CUPTI's CUpti_ActivityStreamFlag: 1 default, that is, blocking, 2
 * non-blocking, 3 the default stream itself; syncType to ENUM_CUPTI_SYNC_TYPE, those of
 * CUpti_ActivitySynchronizationType: 1 event, 2 a stream's wait for an event, 3 stream, 4
 * context; memory kinds to ENUM_CUDA_MEM_KIND: 0 pageable, 1 pinned, 2 device), and the columns
 * of the CSV those of its report cuda_gpu_trace. CUPTI calls the default stream of the first
 * context 7, and streams that a program makes 13, 14 and so on. */
#ifndef PIPELINE_TESTS_NSYS_EXPORT_H
#define PIPELINE_TESTS_NSYS_EXPORT_H

#include "plan/plan.h"
#include "plan/timeline.h"

#include <stdio.h>

enum {
    NSYS_DEFAULT_STREAM = 7,
    NSYS_FIRST_STREAM = 13,
    NSYS_EPOCH_NS = 731000000, /* when the first op was issued, as the profiler counts */
};

/* What a recording leaves out: older versions of the tool, other options. */
enum nsys_leaves {
    NSYS_ALL = 0,
    NSYS_NO_CALLS = 1 << 0,   /* no CUPTI_ACTIVITY_KIND_RUNTIME */
    NSYS_NO_STREAMS = 1 << 1, /* no TARGET_INFO_CUDA_STREAM nor _CONTEXT_INFO */
    NSYS_BACKWARDS = 1 << 3,  /* the rows of ops and calls in the other order */
    NSYS_NO_EVENTS = 1 << 2,  /* no CUPTI_ACTIVITY_KIND_CUDA_EVENT: --cuda-event-trace=false */
};

/* Writes the ops of `timeline`, which ran `plan` on `device`, as the CSV of `nsys stats -r
 * cuda_gpu_trace --format csv`. */
void nsys_export_csv(FILE *out, const struct plan *plan, const struct timeline *timeline,
                     const char *device);

/* Writes the statements that make the database of `nsys export -t sqlite`, less what `leaves`
 * says. */
void nsys_export_sql(FILE *out, const struct plan *plan, const struct timeline *timeline,
                     const char *device, unsigned leaves);

/* Writes the Chrome trace that PyTorch's profiler would have written with
 * enable_cuda_sync_events: its form is that of libkineto's output_json.cpp. It knows of no
 * kinds of streams. */
void nsys_export_chrome(FILE *out, const struct plan *plan, const struct timeline *timeline,
                        const char *device);

#endif
