/* run.h - runs a prepared plan, op by op or as one graph, with nothing between the CUDA calls.
 */
#ifndef PIPELINE_CUDA_RUN_H
#define PIPELINE_CUDA_RUN_H

#include "cuda/graph.h"

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

#endif
