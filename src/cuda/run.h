/* run.h - runs a prepared plan with nothing between the CUDA calls. */
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
 * the last that was issued, returned; the first failure is reported with that op. */
enum status cuda_run_settle(struct cuda_run *run, cudaError_t result, uint32_t at,
                            struct error *error);

/* The ops that warm a run up: the plan's first kernel, if it has one, and the copies of its
 * tile before it. Without a kernel, or where the run itself has to load kernels, they are the
 * first copies. They only touch memory that the run writes before it reads. Fills `ops` with
 * their ids and returns how many they are. */
enum { CUDA_FIRST_OPS = KERNEL_INPUTS_MAX + 1 };
int cuda_first_ops(const struct cuda_run *run, uint32_t ops[CUDA_FIRST_OPS]);

/* Runs those ops, one after another, and spoils what they leave on the host. Returns how many
 * they were, or -1 if one failed. It comes right before a timed run: after the pause that
 * arrays_settle() makes, the host's first calls would take some 90 us more than later ones. */
int cuda_run_first_ops(const struct cuda_run *run);

#endif
