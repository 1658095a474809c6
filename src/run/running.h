/* running.h - which ops run at the same time, and which of them spoil another's output.
 *
 * This is for plans with hazards: it is told when each op starts and ends, and says whether the
 * op's output can be right. It can't be where two ops that touch the same bytes, one of them
 * writing, run at the same time: the output of the reader, or of both writers, is then
 * undefined. Ops that do not overlap spoil nothing: their bytes come out in the order in which
 * they ran. */
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
    bool spoiled; /* an op that has ended meanwhile spoiled its output */
};

/* The ops that run now: at most one per engine, and kernels side by side. Zero-initialise. */
struct running {
    struct running_op *ops;
    size_t count, capacity;
};

void running_free(struct running *running);

/* Tells that `op`, which has to outlive its run, starts at `start_ns`. Returns false when
 * memory runs out. */
bool running_start(struct running *running, const struct op *op, int64_t start_ns);

/* Tells that `op`, which has started, ends at `end_ns`. Returns true if its output is spoiled.
 * An op that ends when another starts does not overlap it, whichever is told first. */
bool running_end(struct running *running, const struct op *op, int64_t end_ns);

#endif
