/* cpu_worker.h - the host's cores at work: the fourth way, a thread that works on a plan's CPU
 * tiles; and copies that go together, those of a batch of tiles.
 *
 * The thread and its OpenMP team are made ready before the run and sleep between runs. The team
 * leaves a core to the thread that issues and one to the driver's. */
#ifndef PIPELINE_RUN_CPU_WORKER_H
#define PIPELINE_RUN_CPU_WORKER_H

#include "core/status.h"
#include "plan/plan.h"

#include <stdint.h>

struct cpu_worker;

/* The time in which something ran, by CLOCK_MONOTONIC in ns. */
struct interval {
    int64_t start_ns, end_ns;
};

/* Returns CLOCK_MONOTONIC in ns. */
int64_t clock_now_ns(void);

/* Returns the threads of the team: the process's cores less two, at least 1. */
int cpu_worker_threads(void);

/* Creates the worker for `plan`, whose host buffers start at `host`; both must outlive it.
 * *worker is NULL when the plan has no CPU ops. STATUS_FAILED when there is no thread;
 * STATUS_NO_MEMORY. */
enum status cpu_worker_create(struct cpu_worker **worker, const struct plan *plan,
                              void *const host[BUFFER_FIRST_DEVICE], struct error *error);

/* Wakes the worker: it runs every CPU op in plan order. `times`, which is by op id, gets the
 * time of each; it may be NULL. The calls below do nothing when `worker` is NULL. */
void cpu_worker_start(struct cpu_worker *worker, struct interval *times);

/* Makes a started worker leave out the tiles it has not begun. */
void cpu_worker_cancel(struct cpu_worker *worker);

/* Waits until a started worker is done. */
void cpu_worker_wait(struct cpu_worker *worker);

/* Ends the thread, which must not be at work. */
void cpu_worker_free(struct cpu_worker *worker);

/* --- copies within the host's memory --- */

/* Copies of bytes[i] bytes from from[i] to to[i]; none overlaps another. */
struct pieces {
    void **to;
    const void **from;
    size_t *bytes;
    size_t count;
};

/* Opens the calling thread's OpenMP team, so that no copy that is timed has to. */
void pieces_open_team(void);

/* Makes copies within the host's memory, with as many threads of that team as they are worth.
 * Each takes an equal part of all bytes, be they few large pieces or many small ones. */
void pieces_copy(const struct pieces *pieces);

#endif
