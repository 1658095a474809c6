/* grid_parts.hpp - a launch as grid.cpp schedules it and threads.cpp waits in it. */
#ifndef PIPELINE_CPU_GRID_PARTS_H
#define PIPELINE_CPU_GRID_PARTS_H

#include "cpu/cpu.h"
#include "cpu/fiber.hpp"
#include "cpu/grid.h"
#include "cpu/include/vector_types.h"
#include "cpu/watch.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

enum { LANES = 32 };

enum state { READY, AT_BARRIER, IN_WARP, CONVERGING, SPINNING, ENDED };

/* A thread of the live block. */
struct thread {
    struct fiber *fiber; /* NULL: it has not begun, or has ended */
    uint3 index;
    enum state state;
    unsigned mask, pauses;
    uint64_t cycles; /* that its clock shows */
    struct watch_lane lane;
    /* A thread that waits for others says here where it does, and what it brings. */
    const char *file, *operation;
    int line;
    uint64_t mine, *lanes;
};

struct slot {
    bool busy;   /* its block is live */
    bool exists; /* its thread of the operating system's */
    std::condition_variable changed;
    struct fiber scheduler;
    std::vector<struct thread> threads;
    std::vector<uint64_t> exchanged; /* of each thread's warp, what it was told */
    std::vector<struct fiber *> idle;
    struct thread *current;
    std::vector<unsigned> rank_thread; /* by rank, who goes first: the thread */
    std::vector<unsigned> thread_rank;
    uint64_t ready[GRID_THREADS_MAX / 64]; /* a bit per rank */
    unsigned waiting, votes;               /* threads at the barrier */
    unsigned voted;                        /* at the one before */
    std::vector<char> shared;
    struct watch_block watch;
    uintptr_t trapped_at, trapped_on; /* the code, and the address that it meant */
    bool is_access;
};

struct launches {
    int process; /* that has the slots: they do not survive a fork */
    std::mutex mutex;
    std::condition_variable over;
    int turn;
    std::vector<struct slot *> slots;

    enum grid_next next;
    uint32_t live;
    uint64_t random;

    const struct cpu_launch *launch;
    unsigned threads, blocks, live_now;
    std::vector<unsigned> order; /* the order in which blocks begin */
    unsigned begun;              /* number of blocks that have begun */
    unsigned idle_rounds;
    uint64_t cycles;          /* the most that a thread's clock has shown */
    unsigned arrived, passed; /* at the barrier of the grid: blocks, and how often all have */
    bool failed;
    std::string fault;
};
extern struct launches *grid;
extern __thread uint3 threadIdx, blockIdx, blockDim, gridDim;
extern __thread struct slot *here; /* the slot of this thread; NULL: runs no kernel */

unsigned grid_draw(unsigned below);
void back_to_scheduler(void);
void set_ready(unsigned thread);
bool release_converged(void);
bool release_left(void);

/* Returns "file:line" of an address of the program's code, or "". */
std::string source_of(uintptr_t code);

/* Make a fault of the launch of what the block's threads wait for, of what the thread that runs
 * does, which never goes on, and of the signal that it got. */
void fail_waiting(void);
[[noreturn]] void fail_here(const char *what);
void fail_trapped(void);

#endif
