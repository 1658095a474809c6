/* recorded.h - what the plan of a recorded program has beyond that of a built one.
 *
 * A built plan follows from settings: its chain, its tiles and the machine say all of its ops.
 * A recorded one was seen: its kernels have a name and took a time, its buffers are the memory
 * that the program took, and its threads had other things to do between their calls. Both are
 * plans: hazards, the simulator and the critical path take either. */
#ifndef PIPELINE_PLAN_RECORDED_H
#define PIPELINE_PLAN_RECORDED_H

#include "plan/host_call.h"
#include "plan/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The recorder took this part of the times of an op; 0 where that is not known. */
struct recorded_cost {
    uint32_t host_ns, call_ns;
};

/* The facts that were seen of an op, beside those that every op has. */
struct op_recorded {
    int64_t host_ns; /* time that its thread spent elsewhere before the call began */
    int64_t call_ns; /* what calls of that name took where they wait for nothing; 0: as the
                        machine has it */
    int64_t
        work_ns; /* of launches, callbacks and copies between devices: how long they took; of
                    allocations: how long the calls took, beside waiting for the device */
    double fill; /* of launches: the part of the GPU's room that its blocks take, up to 1 */
    size_t first_access;               /* of `accesses`: what it touches */
    uint32_t made_ns[CALL_MADE_KINDS]; /* of host_ns: for calls that make what a loop could use
                                          again; up to 4 s each */
    struct recorded_cost cost;         /* of these times, beside made_ns */
    union {
        uint32_t waves;  /* kernels: how many times their blocks take all of it; 0: not once */
        uint32_t took;   /* copies in: a hash of samples of what they brought; 0: not known */
        uint32_t new_ns; /* copies out to pageable memory, of programs that are tried: how much
                            longer the host takes, since its pages are new; up to 4 s */
    };
    uint32_t access_count;
    uint32_t name;      /* of kernels: an index of `names` */
    uint32_t thread;    /* which made the call: below `threads` */
    uint32_t span;      /* of the timeline that was recorded with it; UINT32_MAX: none */
    uint16_t follow_ns; /* nodes of a graph: from the end of the one before to the start */
    bool in_graph : 1;  /* the call of the op before issued it, too: a launch of a graph */
    bool by_node : 1; /* a graph's launch, which takes as much longer as it has nodes: CUPTI had
                        each launched by itself */
    bool pageable : 1; /* copies: from or to pageable memory of the host */
    bool waits : 1;   /* the call returned only when the op had ended, as cudaMemcpy()'s does */
    bool timed : 1;   /* records: the event keeps the time */
    bool library : 1; /* waits of the host, and copies in: a library's own, for what it makes */
    bool repeats : 1; /* copies in: they bring again what the one before brought there */
    bool sure : 1;    /* its accesses are certain: copies and memsets; a kernel's mostly are
                         possible */
};

/* Memory that the program took; ranges refer to it by its index. */
struct recorded_buffer {
    uint64_t address, bytes;
    bool host, managed;
};

/* These facts are of the whole program, as no single op shows them. */
struct recorded_facts {
    uint32_t events, timed_events; /* that were made; and that keep the time */
    uint32_t prefetches;           /* calls that prefetch managed memory */
    uint32_t faults;               /* moves of managed pages that nobody asked for, */
    uint64_t fault_bytes;          /* their bytes, */
    int64_t faults_ns;             /* and how long they took */
    bool reaches_peers;            /* a device may reach another's memory */
    bool keeps_pools;              /* a pool keeps the memory that is given back to it */
    bool by_node;                  /* a profiler launched each node of a graph by itself */
};

struct plan_recorded {
    struct op_recorded *ops; /* one per op of the plan */
    struct access *accesses; /* by op; ranges' `buffer` is an index of `buffers` */
    size_t access_count;
    struct recorded_buffer *buffers;
    uint32_t buffer_count;
    char **names; /* of kernels; each is owned */
    uint32_t name_count;
    uint32_t threads;
    struct recorded_facts facts;
};

#endif
