/* transpose_rows.h - what the transposes and `stride-copy` give their rows of the table. Seen
 * only inside kernels/ and by their tests; kernel_rows.h says why the launchers are weak.
 *
 * A tile is a matrix of params.columns elements to a row, and is transposed on its own. What a
 * tile has behind its last whole row - nothing, where options were checked - is copied as it
 * is. */
#ifndef PIPELINE_TRANSPOSE_ROWS_H
#define PIPELINE_TRANSPOSE_ROWS_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The side of the squares that a matrix is cut into, one for each block of threads: a multiple
 * of a warp's 32. The lectures' is 32, with 4 elements for each of 256 threads. Twice that
 * writes rows of 256 bytes and has 16 reads of a thread on their way: an H200's memory wants
 * more of them than a GPU's of that time. */
enum { SQUARE = 64, TRANSPOSE_PER_THREAD = SQUARE * SQUARE / KERNEL_THREADS };

#define TRANSPOSE_LAUNCHER(name)                                                               \
    int transpose_##name##_launch(const struct kernel_args *args, void *stream)                \
        __attribute__((weak));                                                                 \
    int transpose_##name##_preload(void) __attribute__((weak))
TRANSPOSE_LAUNCHER(copy);
TRANSPOSE_LAUNCHER(shared_copy);
TRANSPOSE_LAUNCHER(naive);
TRANSPOSE_LAUNCHER(coalesced);
TRANSPOSE_LAUNCHER(conflict_free);
TRANSPOSE_LAUNCHER(fine);
TRANSPOSE_LAUNCHER(coarse);
TRANSPOSE_LAUNCHER(diagonal);
#undef TRANSPOSE_LAUNCHER

/* The twins: of both copies, of the true transposes, and of the two that are none. */
void transpose_copy_host(const struct kernel_args *args);
void transpose_host(const struct kernel_args *args);
void transpose_fine_host(const struct kernel_args *args);
void transpose_coarse_host(const struct kernel_args *args);

/* struct kernel's `gather`: where each element comes from. */
uint64_t copy_gather(uint64_t place, uint64_t count, const struct kernel_params *params);
uint64_t transpose_gather(uint64_t place, uint64_t count, const struct kernel_params *params);
uint64_t transpose_fine_gather(uint64_t place, uint64_t count,
                               const struct kernel_params *params);
uint64_t transpose_coarse_gather(uint64_t place, uint64_t count,
                                 const struct kernel_params *params);

/* Elements of a row. */
uint64_t transpose_unit(const struct kernel_params *params);

/* `oracle_map` of all of them: once they are where they belong, elements stay what they are. */
void gather_oracle(struct oracle *oracle, const void *second,
                   const struct kernel_params *params);

/* stride-copy: a tile is taken as rows of params.stride elements, and what is behind the last
 * whole row is copied as it is. A pass reads an element of each row, all `stride` apart, and
 * writes them one behind the other; there is a pass for each column. So every element is moved
 * once, whatever the stride and the tile.
 *
 * Passes read the same sectors of memory as their neighbours do. If those came next, many would
 * still be in the cache: so from one pass to the next it is stride_copy_step() columns further,
 * around the row's end. Neighbours are then so far apart in time that a tile a few times as
 * large as the cache is read from memory at every stride. */
enum { STRIDE_PER_THREAD = 8 };

/* Has no divisor in common with `stride`. 1 for strides 1 and 2. */
uint32_t stride_copy_step(uint32_t stride);

int stride_copy_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int stride_copy_preload(void) __attribute__((weak));
void stride_copy_host(const struct kernel_args *args);
uint64_t stride_copy_gather(uint64_t place, uint64_t count, const struct kernel_params *params);

#ifdef __cplusplus
}
#endif

#endif
