/* host_call.h - the calls that the host of another program made, as a trace names them. */
#ifndef PIPELINE_PLAN_HOST_CALL_H
#define PIPELINE_PLAN_HOST_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* The kinds of calls, as far as they matter for what comes later. */
enum host_call_kind {
    CALL_OTHER,     /* of which nothing is known */
    CALL_QUICK,     /* hands something over, and returns: events, memsets, memory by streams */
    CALL_COPY,      /* hands a copy over; of pageable memory it may stage it itself */
    CALL_COPY_WAIT, /* copies, and returns when that is done: no stream is given */
    CALL_LAUNCH,
    CALL_GRAPH,     /* launches a graph */
    CALL_HOST_FUNC, /* puts a function of the host's into a stream */
    CALL_SYNC,      /* waits for a stream, an event or the device */
    CALL_ALLOC,     /* takes or gives back memory of the device */
    CALL_PIN,       /* the same of page-locked memory of the host */
    CALL_PACK,      /* copies within the host's memory, by the thread that makes the calls */
    CALL_MAKE,      /* makes or gives back a stream, an event or a graph */
};

struct host_call {
    int64_t start_ns, end_ns;
    uint64_t thread;
    uint32_t line;  /* where the program's source makes it: one more than an index of the
                       timeline's lines; 0: not known */
    uint16_t row;   /* of the table of calls */
    bool not_ready; /* it asked whether work was done, and that was not */
};

/* Returns the row of the call that a trace calls `name`: "cudaMemcpyAsync_v3020". 0 stands for
 * all that the table does not have. */
uint16_t host_call_row(const char *name);

/* Returns how many rows the table has. */
uint16_t host_call_rows(void);

/* Returns a row's name without its version, "cudaMemcpyAsync", and its kind. */
const char *host_call_name(uint16_t row);
enum host_call_kind host_call_kind(uint16_t row);

/* Returns how long it may take from a call to the next one where the host only issues: more is
 * work of its own. A framework takes its time before each op, much the same before all of them,
 * so it is told by how long half of such gaps are at most; but none takes longer than
 * WORK_MOST_NS for an op. */
static inline int64_t host_work_least_ns(int64_t median_ns)
{
    enum { WORK_LEAST_NS = 20000, WORK_MOST_NS = 250000, WORK_TIMES = 16 };
    const int64_t least_ns = WORK_TIMES * median_ns;
    return least_ns < WORK_LEAST_NS  ? WORK_LEAST_NS
           : least_ns < WORK_MOST_NS ? least_ns
                                     : WORK_MOST_NS;
}

/* Returns true if calls of that kind tend to keep the host: they wait, take and give back
 * memory, or move the host's bytes. */
static inline bool host_call_holds(enum host_call_kind kind)
{
    return kind == CALL_SYNC || kind == CALL_COPY_WAIT || kind == CALL_ALLOC ||
           kind == CALL_PIN || kind == CALL_PACK;
}

#endif
