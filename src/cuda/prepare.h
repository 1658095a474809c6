/* prepare.h - a plan made ready to run on the current device: memory, streams, events, loaded
 * kernels, and every op's call looked up. All that should not be in the timed run is done here.
 *
 * Environment:
 *   PIPELINE_NO_POISON=1  device buffers are left as allocated, so that a checker of
 *                         uninitialised memory sees what was never copied in */
#ifndef PIPELINE_CUDA_PREPARE_H
#define PIPELINE_CUDA_PREPARE_H

#include "cuda/issue.h"
#include "run/backend.h"

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
    struct kernel_args *args;           /* one per kernel op */
    void **contexts; /* one per stream, from the kernel's context_create(); or NULL */
    struct cuda_callback *callbacks; /* one per callback op */
    struct cuda_listener listener;
    struct cpu_worker *worker;
    bool lost; /* the context is unusable: clean-up frees what it can and is silent */
};

/* Prepares `workload`, which must outlive the run. On failure nothing stays taken. */
enum status cuda_run_prepare(struct cuda_run *run, const struct workload *workload,
                             struct error *error);

/* Gives everything back; does nothing to a zeroed run. */
void cuda_run_release(struct cuda_run *run);

/* Names the streams for a tool that listens: "pipeline stream 3", or, with one stream per
 * stage, "pipeline h2d". */
void cuda_run_name_streams(const struct cuda_run *run);

#endif
