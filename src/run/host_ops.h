/* host_ops.h - ops done on the host's memory: by a simulated device, whose memory lies there,
 * too, and by the CPU, whose share of a 4-way run it is. */
#ifndef PIPELINE_RUN_HOST_OPS_H
#define PIPELINE_RUN_HOST_OPS_H

#include "kernels/kernel_code.h"
#include "plan/plan.h"

#include <stdbool.h>

/* --- ops --- */

/* The memory of a plan's buffers. */
struct host_bytes {
    const struct plan *plan;
    void *buffers[BUFFER_COUNT]; /* NULL: the plan, or the host, has no such */
    void *scratch; /* one of the CPU's tiles, between the maps and a reduction; or NULL */
};

/* Returns the address of a range; NULL of one without bytes. */
void *host_bytes_at(const struct host_bytes *memory, const struct range *range);

/* Make an op's copies, one or one for each of its tiles; run a launch by the CPU twin; and run
 * a chain over a tile, as the CPU does. */
void host_do_copies(const struct host_bytes *memory, const struct op *op,
                    const struct range *to, const struct range *from);
void host_do_kernel(const struct host_bytes *memory, const struct op *op);
void host_do_cpu(const struct host_bytes *memory, const struct op *op);

/* --- a chain's work, through the CPU twins --- */

/* Returns true if chain_host_run() needs scratch for this chain: it has maps before a
 * reduction. */
bool chain_host_needs_scratch(const struct kernel *const chain[], int length);

/* Runs `chain` over `count` elements. `in0` is the chain's input, `in1` the second input array
 * of kernels that read two (else NULL), both at the tile's first element; `resident` is the
 * whole resident input, or NULL. `out` takes `count` elements, or one value when the chain ends
 * in a reduction. `tile_scratch` holds `count` elements of any type; it may be NULL where
 * chain_host_needs_scratch() is false. Element types may change along the chain but not their
 * size. Uses the calling thread's OpenMP team. */
void chain_host_run(const struct kernel *const chain[], int length,
                    const struct kernel_params *params, const void *in0, const void *in1,
                    const void *resident, void *out, uint64_t count, void *tile_scratch);

/* --- the fold of the tiles' results, as they come in callback ops --- */

/* The fold so far. The tiles of a reduction are summed, in the order in which they are added,
 * or ANDed, as its row says; the tiles of a map are only counted. */
struct tile_fold {
    const struct plan *plan;
    const void *out;  /* the host output: one value per tile for a reduction */
    uint32_t tiles;   /* tiles added so far */
    double real;      /* floating-point results: summed in double precision */
    uint32_t integer; /* int32 results: summed modulo 2^32; or 1 if none is 0 */
};

/* Begins a fold over the output of `plan` at `out`; with NULL tiles are only counted. */
struct tile_fold tile_fold_begin(const struct plan *plan, const void *out);

/* Adds tile `tile`, whose result must be in place. */
void tile_fold_add(struct tile_fold *fold, int32_t tile);

/* Returns the fold of the tiles added so far. Without any it is 0, or 1 where tiles are ANDed;
 * for a chain of maps it is 0. */
double tile_fold_value(const struct tile_fold *fold);

/* --- ops that race ---
 *
 * Of a plan with hazards this is told when each op starts and ends, and says whether the op's
 * output can be right. It can't be where two ops that touch the same bytes, one of them
 * writing, run at the same time: the output of the reader, or of both writers, is then
 * undefined. Ops that do not overlap spoil nothing: their bytes come out in the order in which
 * they ran. */

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
