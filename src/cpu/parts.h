/* parts.h - calls since the device was last idle, and the plan that they make. Private to
 * clock.c, clock_ops.c, clock_graph.c and tape.c; whoever calls holds the lock that cpu_enter()
 * takes.
 *
 * A window is what was issued since all of it had last ended. When the program wants to know
 * something of the time, the window's plan is simulated from its beginning, as far as to the
 * answer; ops whose work has been done are not done again. The simulator is the same each time,
 * and what is issued later changes nothing that was before, so all answers fit together. When
 * all of it has ended, the window goes to the recording, and another begins. */
#ifndef PIPELINE_CPU_PARTS_H
#define PIPELINE_CPU_PARTS_H

#include "core/items.h"
#include "cpu/cpu.h"
#include "machine/machine.h"
#include "plan/occupancy.h"
#include "plan/plan.h"

#define CLOCK_NONE UINT32_MAX

/* One call of the program's. Times are ns since the program's begin. */
struct clock_call {
    uint64_t id;
    const char *name, *file;
    int line, result;
    uint32_t thread;
    uint32_t first_op, op_count; /* of the window's plan */
    int64_t host_ns;             /* that its thread was elsewhere before */
    int64_t own_ns;              /* how long it takes, where it has no op */
    int64_t start_ns, end_ns;    /* when the window is over */
    bool told;                   /* the recording has a line of what it did */
    struct cpu_op op;            /* that, where it has one */
    const void *graph;           /* that it launches; NULL: none */
};

/* One op of the window's plan. */
struct clock_op {
    uint32_t call;
    uint64_t node; /* of a graph; 0: none */
    struct cpu_op op;
    bool is_work;    /* the recording has it as an op that ran */
    bool done;       /* its work was begun */
    bool passed;     /* it has run, in another order than the simulated one */
    uint32_t record; /* of waits: the op that recorded the event */
    uint64_t *words; /* of launches: owned */
    uint32_t word_count, blocks, threads, shared, name;
    struct cpu_did did;
    struct clock_doing *doing; /* hazards.c; NULL: it is known what it touches */
    int64_t start_ns, end_ns;  /* when the window is over */
};

/* Memory that a call took or gave back. */
struct clock_memory {
    uint32_t call;
    bool taken;
    enum cpu_memory kind;
    uint64_t address, bytes;
    int device;
};

struct clock_stream {
    int device, priority;
    uint32_t place; /* among its device's */
    enum cpu_stream_kind kind;
    const void *handle;
    uint32_t last; /* its latest op in the window; CLOCK_NONE */
};

struct clock_event {
    uint32_t record;   /* the window's latest; CLOCK_NONE: none */
    int64_t passed_ns; /* of the latest record; -1: there was none, or it has not passed */
    bool timed;
};

struct clock_thread {
    int64_t ended_ns;   /* its latest call's, by the windows before */
    int64_t pending_ns; /* that it spent since its latest call that issued something */
    uint32_t last;      /* that call's op; CLOCK_NONE: none in this window */
};

struct clock {
    struct machine machine;
    struct sm_room room;
    int devices;
    uint32_t queues;  /* that the program's environment wants; 0: the machine's */
    struct plan plan; /* the window's */
    size_t seen_capacity, name_capacity;
    struct clock_op *ops; /* one for each of the plan's */
    size_t op_capacity;
    struct clock_call *calls;
    size_t call_count, call_capacity;
    struct clock_memory *memory;
    size_t memory_count, memory_capacity;
    struct clock_stream *streams;
    size_t stream_count, stream_capacity;
    uint32_t streams_each; /* that each device has room for, in the plan */
    struct clock_event *events;
    size_t event_count, event_capacity;
    uint32_t *own_events; /* that no program sees: `own_used` of them in this window */
    size_t own_count, own_capacity, own_used;
    struct clock_thread *threads;
    size_t thread_count, thread_capacity;
    int64_t base_ns; /* when the window begins */
    uint64_t next_call;
    bool failed; /* an op did; the program has not been told */
};
extern struct clock clock_now;

/* A thread's place among those of the clock, and what it is in the middle of. */
struct clock_own {
    bool known;
    uint32_t thread;
    unsigned depth;  /* of calls within calls */
    size_t call;     /* the outermost, in this window */
    int64_t left_ns; /* of the processor's time, when its latest call returned */
    int64_t host_ns; /* that its thread was elsewhere before the call that is about to be made;
                        -1: that is not known yet */
};
extern _Thread_local struct clock_own clock_own;

/* --- state.c, work.c --- */

/* Returns a variable of the environment; NULL: it is not set, or empty. */
const char *clock_variable(const char *name);

/* Returns true where kernels' code is loaded when they are first launched. */
bool clock_loads_lazily(void);

/* Returns the processor's time of the calling thread without what it took to watch it; and how
 * much of it went by since, where that is more than what lies between two calls in any case;
 * else 0. What went by since is no time of the program's either, if that is said. */
int64_t clock_processor_ns(void);
int64_t clock_host_ns(int64_t since_ns);
void clock_hide_ns(int64_t since_ns);

/* Ends the program, since something is wrong that no error of CUDA's says. */
__attribute__((format(printf, 1, 2))) _Noreturn void clock_die(const char *format, ...);

/* Move memory to where there is room for `bytes`, and copy it. They end the program where there
 * is none. */
void *clock_room(void *was, size_t bytes);
void *clock_copy(const void *of, size_t bytes);

/* The lock that cpu_enter() takes. */
void clock_lock(void);
void clock_lock_anew(void);
bool clock_try_lock(void);
void clock_unlock(void);

/* Does an op's work, unless that was begun, and sets how long it takes where only that tells.
 */
void clock_do_work(struct clock_op *op);

/* --- order.c --- */

/* Does the work of all that was issued, where another order than the simulated one is wanted.
 */
void order_run(void);

/* Counts one item more of a growing array (core/items.h), and returns where it is. */
#define CLOCK_ADD(items, count, capacity)                                                      \
    (ITEMS_ROOM(items, count, capacity) ? (void)0                                              \
                                        : clock_die("no memory for what the program does"),    \
     &(items)[(count)++])

/* --- clock_ops.c --- */

/* Appends what a call issues to the window's plan: of a graph's launch nodes, of which only the
 * first has the call's own time. Returns the op's place. */
uint32_t clock_append(struct clock_call *call, struct op op, struct op_recorded seen,
                      const struct cpu_op *from);

/* Appends the op that `op` stands for, in the plan's stream `stream`; of a graph's node or none
 * (0). */
uint32_t clock_append_work(struct clock_call *call, const struct cpu_op *op, uint32_t stream,
                           uint64_t node);

/* Append a record, a wait of a stream for the record at a place, a call that waits for a
 * device, a stream or an event, and one that does nothing, which tells the time. */
uint32_t clock_append_record(struct clock_call *call, uint32_t stream, uint32_t event);
uint32_t clock_append_wait(struct clock_call *call, uint32_t stream, uint32_t event);
uint32_t clock_append_sync(struct clock_call *call, const struct cpu_op *op);
uint32_t clock_append_look(struct clock_call *call);

/* Returns the plan's number of a stream. */
uint32_t clock_stream_number(uint32_t stream);

/* Return an event that no program sees; the second one, and nothing else in this window. */
uint32_t clock_add_event(void);
uint32_t clock_own_event(void);

/* Returns the program's number of a stream of the plan's. */
uint32_t clock_stream_at(uint32_t number);

/* --- hazards.c: streams by the program's numbers --- */

/* A call begins. */
void hazard_call(void);

/* Runs all that was issued, for a host that waits for it without a call. */
extern void (*hazard_waits)(void);

/* A stream records an event, or waits for its latest record. */
void hazard_record(uint32_t stream, uint32_t event);
void hazard_wait(uint32_t stream, uint32_t event);

/* The host has waited, or was told that there is nothing to wait for. */
void hazard_host_waits(enum cpu_op_kind kind, uint32_t subject);

/* An op is issued, of a graph's node or none (0). Returns what is kept of it until it has run;
 * NULL: nothing. hazard_begin() and hazard_end() are called around its work. */
struct clock_doing *hazard_op(const struct cpu_op *op, uint32_t stream,
                              const struct clock_call *call, uint64_t node);
void hazard_begin(struct clock_doing *doing);
void hazard_end(struct clock_doing *doing, const struct cpu_did *did);

/* --- tape.c --- */

void tape_begin(void);
void tape_stream(uint32_t number);
void tape_event(uint32_t event, unsigned flags);
void tape_graph(const struct cpu_graph *graph);

/* The call that is being made begins, or with NULL ends, a range of NVTX's. */
void tape_mark(const char *name);

/* Two that touch the same bytes, and that nothing orders: `call` is 0 for the host's own code,
 * `source` says where it does so. */
struct tape_side {
    uint64_t call, node;
    bool writes;
    const char *source;
};
void tape_race(const struct tape_side sides[2], uintptr_t from, uint64_t bytes);

/* Writes what the window had, whose times are set. */
void tape_window(void);

/* Writes the last line. */
void tape_end(void);

/* Before a fork, and in the child: the recording is the parent's. */
void tape_flush(void);
void tape_forget(void);

#endif
