/* emulator.h - runs CUDA kernels on the CPU, to find their faults without a GPU.
 *
 * The kernels are compiled as C++ against the cuda_runtime.h beside this file. A block's
 * threads are fibers: each runs until it waits at a barrier, for other lanes of its warp, or
 * for another block; then another goes on. A block's shared memory is thread-local to the
 * operating system's thread that runs the block, so that several blocks can be live at once;
 * only one of those threads runs at a time, and which is drawn from a seed. So every run can be
 * repeated.
 *
 * These faults are found, and told by emulator_fault(): a barrier that not all threads of a
 * block reach, or at two places; a warp's operation whose named lanes do not all come, or that
 * reads a lane not named; blocks that wait for what never happens, or for a block that there is
 * no room for; misaligned vectors, indices outside arrays of known size and other undefined
 * behaviour that the compiler's sanitizer sees. Races are found by comparing the results of one
 * launch in several orders, wherever some order of threads or blocks gives another result.
 * These are not found: races between two accesses of one thread with nothing between them that
 * lets another go on, and fences that are missing: memory here is always consistent. A thread
 * that spins must do so on an atomic, __ldcg() or __nanosleep(): on a plain load it hangs. */
#ifndef PIPELINE_TESTS_EMULATOR_H
#define PIPELINE_TESTS_EMULATOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The thread that goes next is the lowest that can go on, the highest, one of warps in a drawn
 * order, or any. Blocks begin in the same order. */
enum emulator_next { NEXT_LOWEST, NEXT_HIGHEST, NEXT_WARPS, NEXT_ANY, NEXT_COUNT };

enum { EMULATOR_LIVE_MAX = 64, EMULATOR_THREADS_MAX = 1024 };

/* Sets how launches run from here on: the order, how many blocks are live at once (1 to
 * EMULATOR_LIVE_MAX), and the seed of random orders. */
void emulator_set_order(enum emulator_next next, uint32_t live, uint64_t seed);

/* Returns the fault of the last launch in words, valid until the next launch, or NULL if none
 * was found. A launch with a fault returns an error other than cudaSuccess, and is left where
 * it was. */
const char *emulator_fault(void);

#ifdef __cplusplus
}
#endif

#endif
