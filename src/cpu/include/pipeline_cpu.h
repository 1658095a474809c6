/* pipeline_cpu.h - what the headers beside this one call of libpipeline-cpu.a: not for
 * programs. */
#ifndef PIPELINE_CPU_CALLS_H
#define PIPELINE_CPU_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A launch as the header's launch template hands it over. */
struct cpu_launch {
    const void *function; /* the kernel's address in the program */
    const char *name;     /* of the kernel, as the source has it */
    const char *file;     /* where the program launches it */
    int line;
    unsigned grid[3], block[3];
    size_t shared; /* bytes of dynamic shared memory */
    bool cooperative;
    int device;                      /* that runs it, which pipeline_launch() fills in */
    void (*thread)(void *arguments); /* does one thread's work; threadIdx and so on are set */
    void *arguments;                 /* a copy of the launch's own, which `release` frees */
    void (*release)(void *arguments);
    const uint64_t *words; /* arguments that may be addresses; freed with `arguments` */
    uint32_t word_count;
};

/* Launches a kernel into a stream (NULL: the default one), for the header's launch template,
 * and takes its arguments over. Returns CUDA's error code. */
struct CUstream_st;
int pipeline_launch(const struct cpu_launch *launch, struct CUstream_st *stream);

/* Makes the kernel at `function` known to calls that name kernels by their address alone, such
 * as nodes of graphs. `bind` sets the name, the thread and the arguments of a launch, as the
 * launch template does, from the addresses of the arguments. To be called again changes
 * nothing. */
void pipeline_know(const void *function, void (*bind)(const void *function, void **arguments,
                                                      struct cpu_launch *launch));

/* Returns the name of the kernel at `function`; it lasts. */
const char *pipeline_name(const void *function);

/* Where the calling thread's next call of CUDA stands in the source: a default argument of each
 * prototype in cuda_runtime_api.h calls this. It has a type of its own, so that no number which
 * a program gives is taken for it. */
enum pipeline_place { PIPELINE_LEFT };
enum pipeline_place pipeline_here(const char *file, int line);

/* --- for the threads of kernels: grid.cpp --- */

/* Waits for all threads of the block, and returns how many of them have a `vote`. */
unsigned pipeline_barrier(const char *operation, bool vote, const char *file, int line);

/* Waits for all threads of a cooperative launch. */
void pipeline_grid_barrier(const char *file, int line);

/* Leaves `mine` for the other lanes named in `mask`, waits for theirs, and gives all 32. */
const uint64_t *pipeline_exchange(const char *operation, unsigned mask, uint64_t mine,
                                  const char *file, int line);
/* Faults unless `lane` is one of those named in `mask`. */
void pipeline_check_lane(const char *operation, unsigned mask, unsigned lane, const char *file,
                         int line);
/* Waits until all lanes of the warp wait or have ended, and returns those that wait here. */
unsigned pipeline_active(const char *file, int line);

/* Lets another thread go on; atomics and all else that a thread may spin on call it, and say
 * whether they have changed memory, which one that only waits does not. */
void pipeline_pause(bool changed);
/* Lets all other threads go first, since this one waits for another. */
void pipeline_spin(void);

/* A fence: lets another thread go on, and takes races for meant until the next barrier. */
void pipeline_fence(void);

/* Returns cycles since the calling thread began. Each call goes on by a 64th, so that a loop
 * which waits for millions of them takes hundreds of rounds. */
long long pipeline_clock(void);

/* Ends the launch with a fault. */
void pipeline_fail(const char *what, const char *file, int line);

/* Returns the block's dynamic shared memory. */
void *pipeline_shared(void);

#ifdef __cplusplus
}
#endif

#endif
