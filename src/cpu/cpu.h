/* cpu.h - CUDA on the CPU: what `pipeline try` links a program with in place of CUDA's runtime.
 * Private to src/cpu, but for what cpu/include/ has.
 *
 * A program that includes cpu/include/cuda_runtime.h calls these functions as it would call
 * CUDA's. Ops do real work on the host's memory, in the order in which they begin on a
 * simulated machine: clock.c makes a plan of the calls, and the simulator calls each op's work
 * when it starts. So results, times and the recording come from one place.
 *
 *   cpu/include/    what programs include: the language of kernels, and the calls of the host
 *   cpu/grid.cpp    a launch: its blocks, and its threads as fibers (fiber.cpp)
 *   cpu/threads.cpp what a thread waits for, and its faults
 *   cpu/watch.c     each access of a launch; watched.c has ranges of them, sectors.c what warps
 *                  do at once, races.c races, and arithmetic.c what is computed
 *   cpu/calls.c     how calls begin and end, and errors
 *   cpu/devices.c   devices, attributes, occupancy
 *   cpu/blocks.c    the memory that CUDA knows; memory.c and copies.c have the calls
 *   cpu/streams.c   streams and events; launches.c has kernels and the host's functions
 *   cpu/graphs.c    graphs: captured by capture.c, made by hand and launched by nodes.c
 *   cpu/blas.c      cuBLAS, and nvtx.c NVTX
 *   cpu/clock.c     the time: the plan of the calls, simulated as far as it is asked for
 *   cpu/order.c     other orders that CUDA allows
 *   cpu/work.c      an op's work, and how long a launch takes by what it did
 *   cpu/hazards.c   what nothing orders: races of ops, and with the host's code, whose
 *                  accesses glances.c knows; hazards_told.c has them in words
 *   cpu/tape.c      the recording (docs/recording.md) */
#ifndef PIPELINE_CPU_H
#define PIPELINE_CPU_H

#include "cpu/include/pipeline_cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- launches: grid.cpp, watch.c --- */

/* Bytes [from, from + bytes) that a launch touched, of memory that is not the block's own. */
struct cpu_range {
    uintptr_t from;
    uint64_t bytes;
    bool reads, writes, atomic; /* atomic: by atomics alone */
};

enum { CPU_SECTOR = 32 }; /* bytes that the device's caches move at once */

/* This says what an op did; copies and sets have a fault alone. The owner zero-initialises it
 * and calls cpu_did_free(). */
struct cpu_did {
    struct cpu_range *ranges; /* in order of addresses, merged; of one kind each */
    size_t range_count;
    uint64_t read_bytes, written_bytes; /* that its threads asked for */
    /* Pieces of 32 bytes: that its warps asked for, that they read from beyond the cache of
     * their SM (L1), and that they wrote. L1 and shared memory hand out words in turns, each as
     * long as a sector takes. */
    uint64_t sectors, fresh_sectors, written_sectors, turns;
    double waits;    /* of a warp for the cache: its requests that its L1 can't answer */
    double barriers; /* of a block, and what a warp's lanes do together */
    double together;
    double clashes;                         /* atomics of warps at one place: the most */
    bool watched;                           /* all of these are known */
    uint64_t flops, flops_double, integers; /* in single and in double precision, and others;
                                               0: not counted */
    uint64_t cycles;                        /* at least, by the clock that its threads read */
    char fault[512]; /* "": none; else what went wrong, in words, with the source's line */
};
void cpu_did_free(struct cpu_did *did);

/* Runs all of a grid before it returns, on the calling thread or on threads of its own. Sets
 * *did. Returns false where it failed, which did->fault then says. */
bool grid_run(const struct cpu_launch *launch, struct cpu_did *did);

/* Unless it is NULL, watch.c calls this before each access of the host's threads to memory,
 * from the user's code at `where`; NULL: it reads a volatile or an atomic. */
extern void (*cpu_host_touched)(uintptr_t address, uint64_t bytes, bool writes,
                                const void *where);

/* A host's thread has been watched so often: each access, basic block and look at an access
 * takes time that is not the program's, and `more_ns` is other time of the kind. */
extern __thread struct cpu_watched {
    uint64_t accesses, blocks, looks;
    int64_t more_ns;
} cpu_watched;
extern double cpu_access_ns, cpu_block_ns, cpu_look_ns;

/* Returns how long one of many calls makes the program's code take longer, in ns. */
double cpu_added_ns(void (*call)(void));

/* A call gives memory back at once, whatever may still use it. */
void cpu_host_gives(uintptr_t address, uint64_t bytes);

/* --- time: clock.c --- */

enum cpu_memory {
    CPU_PAGEABLE, /* of the host, and not known to CUDA */
    CPU_PINNED,   /* of the host: cudaMallocHost() and its like */
    CPU_REGISTERED,
    CPU_DEVICE,
    CPU_POOL, /* of a device, in the order of a stream */
    CPU_MANAGED,
};

enum cpu_stream_kind { CPU_NONBLOCKING, CPU_BLOCKING, CPU_LEGACY, CPU_PER_THREAD };

enum cpu_op_kind {
    CPU_COPY,
    CPU_SET,
    CPU_KERNEL,
    CPU_RECORD,
    CPU_WAIT,
    CPU_FUNCTION,
    CPU_SYNC_DEVICE,
    CPU_SYNC_STREAM,
    CPU_SYNC_EVENT,
};

/* What a call of the host's issues. Strings are not copied: they must last. */
struct cpu_op {
    enum cpu_op_kind kind;
    uint32_t stream; /* by its number; of CPU_SYNC_DEVICE: the device */
    uint32_t event;  /* records, waits, CPU_SYNC_EVENT: by its number */
    bool waits;      /* the call returns only when the op has ended, as cudaMemcpy()'s does */
    bool settles;    /* so CUDA says: the host may use the memory when the call has returned */

    /* Copies and sets. `from_device` and `to_device` are -1 for the host's memory. */
    enum cpu_memory from_kind, to_kind;
    int from_device, to_device;
    bool staged; /* between devices, none of which may reach the other's memory */
    uint64_t from, to, bytes;
    uint64_t from_pitch, to_pitch, width, height; /* of rows: else 0 */

    const struct cpu_launch *launch; /* kernels; lasts until the work is done */

    /* Is called once, when the op starts on the simulated machine; a kernel's sets *did. May be
     * NULL. `release` is called when the work is done, or never will be. */
    void (*work)(void *context, struct cpu_did *did);
    void (*release)(void *context);
    void *context;
};

/* The calling thread is about to make a call: what its header does until cpu_enter() is no time
 * of the program's own. Need not be told. */
void cpu_come(void);

/* Begin and end a call of the calling thread's: in between it may issue one op, wait, or take
 * memory. Calls within calls count as part of the outer one. `name` and `file` must last.
 * cpu_leave() returns `result`, which the recording has; it is CUDA's error code. */
void cpu_enter(const char *name, const char *file, int line);
int cpu_leave(int result);

/* Returns true in a child that was forked after a call. */
bool cpu_is_forked(void);

/* Issues an op; where it waits, returns when it has ended on the simulated machine. Any other
 * call of CUDA's that waits, as cudaFree() does, waits by cpu_issue() of CPU_SYNC_DEVICE.
 * Returns false where an op has failed since the last call: its fault has been printed. */
bool cpu_issue(const struct cpu_op *op);

/* A node of a graph, by an id that is unique in the program; its work may be called for each
 * launch of the graph, and its `release` never is: the graph's owner frees it. */
struct cpu_node {
    uint64_t id;
    struct cpu_op op; /* a copy, set, kernel or function; its stream is ignored */
    bool empty;       /* it does nothing */
};
struct cpu_edge {
    uint32_t from, to; /* indexes of nodes */
};
struct cpu_graph {
    const void *handle; /* of the executable graph */
    const struct cpu_node *nodes;
    const struct cpu_edge *edges;
    uint32_t node_count, edge_count;
    bool again; /* it has been launched before */
};

/* Tells of an executable graph that a call made, for the recording; and launches it. */
void cpu_made_graph(const struct cpu_graph *graph);
bool cpu_issue_graph(const struct cpu_graph *graph, uint32_t stream);

/* Add a stream, which the recording names by `handle`, or an event, and return its number. */
uint32_t cpu_add_stream(int device, enum cpu_stream_kind kind, int priority,
                        const void *handle);
uint32_t cpu_add_event(unsigned flags);

/* Returns the device of a stream. */
int cpu_stream_device(uint32_t stream);

/* Return true where all that was issued to a stream has ended by now, or what an event's latest
 * record stands for has; true where there is none. */
bool cpu_stream_is_idle(uint32_t stream);
bool cpu_event_is_over(uint32_t event);

/* Returns when an event's latest record passed, in ns of the simulated machine; -1: not yet. */
int64_t cpu_event_ns(uint32_t event);

/* Memory that a call took, or gives back, for the recording. `device` is -1 for the host's. */
void cpu_took(enum cpu_memory kind, uint64_t address, uint64_t bytes, int device);
void cpu_gave_back(uint64_t address);

/* A call takes memory, or gives it back, in the order of a stream. */
void cpu_touched(uint32_t stream, uint64_t address, uint64_t bytes);

/* That a device was given access to another's memory, and how many bytes a pool keeps when work
 * ends, for the recording. */
void cpu_reaches(int device, int other);
void cpu_pool_keeps(const void *pool, uint64_t bytes);

/* The simulated machine, what each of its SMs has room for, and how many such devices there
 * are. */
struct machine;
struct sm_room;
const struct machine *cpu_machine(void);
const struct sm_room *cpu_room(void);
int cpu_devices(void);

/* A thread of a kernel takes so many registers here, since no compiler for a GPU has seen it:
 * as many as let an SM of most devices be full. */
enum { CPU_REGISTERS = 32 };

enum { CPU_CLOCK_KHZ = 1980000 }; /* of the clock that kernels read */

/* NVTX ranges of the calling thread's, for the recording. */
void cpu_range_push(const char *name);
void cpu_range_pop(void);

/* --- memory.c --- */

/* Memory that CUDA knows. */
struct cpu_block {
    uintptr_t from;
    uint64_t bytes;
    enum cpu_memory kind;
    int device;
    bool own; /* the program's, such as a variable of a device's */
};

/* Returns the block that an address lies in; NULL: none. Valid until memory is given back. */
const struct cpu_block *cpu_block_at(uintptr_t address);

/* Returns true if an address lay in a block that was given back, and sets where the program did
 * so; *file is NULL where that is not known. */
bool cpu_block_gone(uintptr_t address, const char **file, int *line);

/* Returns true where kernels of a device may read and write a block. */
bool cpu_may_reach(const struct cpu_block *block, int device);

#ifdef __cplusplus
}
#endif

#endif
