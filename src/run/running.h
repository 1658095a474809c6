/* running.h - which ops run at a time, and which of them spoil what another reads or writes.
 *
 * For plans with hazards: told when each op starts and ends, it says of every op whether its
 * output can be right. Two ops that touch the same bytes, one writing, and run at the same
 * time, do not: what the reader leaves is no longer defined, nor what two writers leave. Ops
 * that do not overlap are no matter of this room: their bytes come out as their order has it.
 */
#ifndef PIPELINE_RUN_RUNNING_H
#define PIPELINE_RUN_RUNNING_H

#include "plan/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An op that has started and not ended. */
struct running_op {
    const struct op *op;
    int64_t start_ns;
    bool spoiled; /* by one that has ended meanwhile */
};

/* Those that run now: as many as there are engines, and kernels side by side. Zero-initialise.
 */
struct running {
    struct running_op *ops;
    size_t count, capacity;
};

void running_free(struct running *running);

/* Forgets those that run: before a new run. */
void running_clear(struct running *running);

/* `op`, which has to outlive its run, starts at `start_ns`. False when memory runs out. */
bool running_start(struct running *running, const struct op *op, int64_t start_ns);

/* `op`, which has started, ends at `end_ns`. Whether what it leaves is spoiled. Touching ends
 * are no overlap, in whatever order starts and ends at one time are told. */
bool running_end(struct running *running, const struct op *op, int64_t end_ns);

/* Whether `reader` reads a byte that `writer` writes; whether both write one. */
bool op_reads_output(const struct op *reader, const struct op *writer);
bool op_writes_output(const struct op *one, const struct op *other);

#endif
