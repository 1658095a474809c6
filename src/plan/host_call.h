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
    /* From here on: what they make could be made once, before a loop. */
    CALL_MAKE,   /* makes or gives back a graph, or is captured into one */
    CALL_HANDLE, /* is made by a library for itself, such as cuBLAS for a handle */
    CALL_STREAM, /* makes or gives back a stream or an event */
    CALL_POOL,   /* takes or gives back memory in stream order */
    CALL_LOAD,   /* loads or unloads code */
    CALL_KINDS
};

/* The kinds of calls that make what could be made once, counted from CALL_MAKE. */
enum { CALL_MADE_KINDS = CALL_KINDS - CALL_MAKE };

struct host_call {
    int64_t start_ns, end_ns;
    uint32_t thread;
    uint32_t line;     /* where the program's source makes it: one more than an index of the
                          timeline's lines; 0: not known */
    uint32_t added_ns; /* what recording took of it, and of the time before it */
    uint16_t row;      /* of the table of calls */
    bool not_ready;    /* it asked whether work was done, and that was not */
};

/* An NVTX range of a thread: what the program calls a part of its work. */
struct host_range {
    int64_t start_ns, end_ns;
    uint32_t thread;
    char *name;
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

/* Returns the row of the calls that a library makes for itself, by its file: "libcublas.so.13";
 * 0: none is known. */
uint16_t host_call_library(const char *file);

/* Returns what the time between two calls of a thread, one behind the other, goes into: the
 * kind of calls for what they make, or CALL_OTHER. A library works on its own around its calls,
 * and a program on a graph up to the launch that it is made for: what it gives up on the way,
 * as by cudaGraphDestroy(), need not be told. */
enum host_call_kind host_call_between(enum host_call_kind before, enum host_call_kind next);

/* Returns true if calls of that row make something that lasts, or give it back. */
bool host_call_lasts(uint16_t row);

/* The capture that calls are in, one after another, in order. */
struct host_capture {
    bool on;
    uint64_t thread;
};

/* Returns the row that a call of `thread` counts as: `row`, or where it is captured into a
 * graph, which it then makes, that of such calls. */
uint16_t host_call_captured(struct host_capture *capture, uint64_t thread, uint16_t row);

/* Threads of which one goes on in a stream where another one stops, as those of a framework
 * that computes gradients, are one chain of calls: what one does takes the others' time, too.
 * Those that work beside each other make their calls in between each other's, and those that
 * only keep each other out have streams of their own. */
struct host_turns {
    uint64_t called, issued_by; /* the threads of the last call, and of the last op */
    int64_t end_ns;             /* of the last call */
    uint32_t stream;            /* of the last op */
    uint32_t calls, issued, turns, apart;
};

/* Counts one more call, in order of start, of turns that began with zeroes. `issues` says that
 * it issued an op, to `stream`. */
void host_turns_add(struct host_turns *turns, int64_t start_ns, int64_t end_ns, uint64_t thread,
                    bool issues, uint32_t stream);

/* Returns true if the threads that made those calls take turns. */
bool host_turns_taken(const struct host_turns *turns);

/* Returns true if calls of that kind tend to keep the host: they wait, take and give back
 * memory, or move the host's bytes. */
static inline bool host_call_holds(enum host_call_kind kind)
{
    return kind == CALL_SYNC || kind == CALL_COPY_WAIT || kind == CALL_ALLOC ||
           kind == CALL_PIN || kind == CALL_PACK;
}

#endif
