/* grid.h - runs CUDA kernels on the CPU, and finds their faults.
 *
 * The kernels are compiled as C++ against include/cuda_runtime.h. A block's threads are fibers:
 * each runs until it waits at a barrier, for other lanes of its warp, or for another block;
 * then another goes on. A block's shared memory is thread-local to the operating system's
 * thread that runs the block, so that several blocks can be live at once; only one of those
 * threads runs at a time, and which is drawn from a seed. So every run can be repeated.
 *
 * These faults are found, and told in words: a barrier that not all threads of a block reach,
 * or at two places; a warp's operation whose named lanes do not all come, or that reads a lane
 * not named; blocks that wait for what never happens, or for a block that there is no room for;
 * failed assertions; accesses to addresses that are no memory; and what the compiler's
 * sanitizer traps on. What watch.c finds comes on top, where the user's code was compiled for
 * it. Races that it can't see show by the results of one launch in several orders, wherever
 * some order of threads or blocks gives another result. Fences that are missing are not found:
 * memory here is always consistent. A thread that spins must do so on an atomic, a volatile
 * that is watched,
 * __ldcg() or __nanosleep(): on a plain load it hangs. */
#ifndef PIPELINE_CPU_GRID_H
#define PIPELINE_CPU_GRID_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The thread that goes next is the lowest that can go on, the highest, one of warps in a drawn
 * order, or any. Blocks begin in the same order. */
enum grid_next { NEXT_LOWEST, NEXT_HIGHEST, NEXT_WARPS, NEXT_ANY, NEXT_COUNT };

enum { GRID_LIVE_MAX = 2048, GRID_THREADS_MAX = 1024 };

/* Sets how launches run from here on: the order, how many blocks may be live at once (1 to
 * GRID_LIVE_MAX; cooperative launches have all), and the seed of random orders. Without it the
 * lowest go first, and 256 blocks may be live. */
void grid_set_order(enum grid_next next, uint32_t live, uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
