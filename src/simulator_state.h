/* simulator_state.h - what a simulation holds: private to the simulator's files.
 *
 *   simulator.c         streams, hardware queues, the host, the loop
 *   simulator_engines.c copies, callbacks, the CPU
 *   simulator_kernels.c kernels
 *   simulator_checks.c  what old GPUs check before an op that follows a kernel
 *   simulator_setup.c   taking memory and linking ops
 *   simulator_rules.c   the rules themselves */
#ifndef PIPELINE_SIMULATOR_STATE_H
#define PIPELINE_SIMULATOR_STATE_H

#include "event_queue.h"
#include "simulator.h"
#include "simulator_rules.h"

#include <stdbool.h>
#include <stdint.h>

#define NONE UINT32_MAX /* no op, no stream */

enum event_kind {
    EVENT_ISSUED, /* the host's call for op `subject` returns */
    EVENT_READY,  /* op `subject` may go to its engine */
    EVENT_FLOW,   /* the copy on engine `subject` moves its first byte */
    EVENT_COPIED, /* the copy on engine `subject` has moved its last, unless its rate changed
                     since */
    EVENT_TURNED, /* copy engine `subject` can take its next copy */
    EVENT_BLOCKS, /* block group `subject` ends, unless its rate changed since */
    EVENT_CALLED, /* callback `subject` returns */
    EVENT_CPU,    /* the CPU has done op `subject` */
};

/* Ops in line, linked through op_state.next_in_line. */
struct line {
    uint32_t first, last;
};

struct copy_engine {
    struct line line;
    uint32_t op; /* at work, or NONE */
    bool flowing, turning;
    bool draining; /* of a staged copy all but the last piece is over */
    double bytes_left, bytes_per_s;
    int64_t since_ns; /* when bytes_left was right */
    uint32_t stamp;   /* of the EVENT_COPIED that counts */
};

/* An engine that does one op at a time for a known time: callbacks' thread, the CPU. */
struct turn_engine {
    struct line line;
    uint32_t op;
};

struct hardware_queue {
    uint32_t front;  /* the first op not yet with its engine, issued or not; or NONE */
    uint32_t length; /* ops issued and still in the queue */
};

/* What is known of an op. They are as many as ops, so they are kept small. */
struct op_state {
    uint32_t next_in_stream;
    uint32_t next_in_line; /* of its hardware queue; once out of that, of its engine's line */
    uint32_t span;         /* the index of its span */
    union {
        struct {
            uint32_t to_place, running; /* blocks */
        } kernel;
        uint32_t record;       /* waits: the record they wait for */
        uint32_t first_waiter; /* records: a stream that waits for it, or NONE */
    };
    int16_t queue; /* rule_queue(): machines have 1024 queues at most */
    bool ready, ended;
};

struct stream_state {
    uint32_t head;        /* its first op that has not ended, issued or not; or NONE */
    uint32_t next_waiter; /* another stream that waits for the same as this one */
    uint32_t unchecked;   /* the kernel that its next op has to be checked against, or NONE */
    uint8_t last_kind;    /* of its latest op that ran on an engine */
};

/* Rule 5, per op; only machines with that rule have them. */
struct check_state {
    uint32_t run;          /* the first of the kernels issued back to back with this one */
    uint32_t run_left;     /* that first one: how many of them have not ended */
    uint32_t first_waiter; /* a stream that waits for this kernel, or NONE */
    bool placed;           /* all its blocks have started */
};

/* Blocks of one kernel that were placed together, and so end together. */
struct block_group {
    uint32_t op, blocks; /* no blocks: the place is free */
    struct kernel_cost cost;
    double left;        /* of their work: 1 when placed */
    double duration_ns; /* of all of it, at the present rate */
    int64_t since_ns;   /* when `left` was right */
    uint32_t stamp;     /* of the EVENT_BLOCKS that counts */
};

/* What `count` elements cost a kernel of the chain. */
struct link_cost {
    uint64_t count; /* 0: not known yet */
    struct kernel_cost cost;
};

struct simulation {
    const struct machine *machine;
    const struct plan *plan;
    struct timeline *timeline;
    struct simulator_hooks hooks;
    struct error *error;
    struct event_queue events;
    int64_t now;

    struct op_state *ops;
    struct stream_state *streams; /* the CPU's lane too */
    struct check_state *checks;   /* NULL: the machine has no such rule */
    uint32_t first_unplaced; /* with checks: no kernel before this op has blocks to place */
    uint32_t *to_advance;    /* a stack of streams whose head must be looked at */
    uint32_t to_advance_count;

    uint32_t queues;
    struct hardware_queue *hardware_queues;
    struct copy_engine copies[2];
    struct turn_engine callbacks, cpu;
    struct line *levels; /* kernels ready to place blocks, per priority: most urgent first */
    int level_count, most_urgent;
    struct link_cost costs[CHAIN_MAX]; /* of each kernel's latest launch: tiles are alike */
    struct block_group *groups;
    uint32_t group_end; /* those in use are before it, with free places between them */
    uint32_t group_capacity;
    uint32_t stamps; /* wraps; no event waits for that long */
    uint32_t resident_blocks, blocks_in_use, kernels_running;
    bool rates_hold; /* nothing was placed and nothing has ended since they were set */

    uint32_t issued;       /* ops issued so far */
    bool host_blocked;     /* the call for op `issued` waits for room in its queue */
    uint32_t called;       /* the copy whose call waits until the host's part in it is over */
    int64_t call_ended_ns; /* when the latest call returned */
};

static inline const struct op *op_at(const struct simulation *sim, uint32_t op)
{
    return &sim->plan->ops[op];
}

static inline struct span *span_at(const struct simulation *sim, uint32_t op)
{
    return &sim->timeline->spans[sim->ops[op].span];
}

/* Posts an event `delay_ns` from now. */
enum status simulation_post(struct simulation *sim, int64_t delay_ns, enum event_kind kind,
                            uint32_t subject, uint32_t stamp);

/* Takes memory and links the ops; simulation_free() in any case. */
enum status simulation_set_up(struct simulation *sim);
void simulation_free(struct simulation *sim);

/* Marks `op` as ended, as far as its stream goes: the next op is the stream's head. */
void simulation_step_stream(struct simulation *sim, uint32_t op);

/* Hands an op that is ready, and at the front of its queue, to its engine. */
enum status engine_accept(struct simulation *sim, uint32_t op);

/* What the engines do when their events come. */
enum status engine_copy_flows(struct simulation *sim, int index);
enum status engine_copy_ends(struct simulation *sim, int index, uint32_t stamp);
enum status engine_copy_turned(struct simulation *sim, int index);
enum status engine_blocks_end(struct simulation *sim, uint32_t group, uint32_t stamp);

/* An op's work is over: its span ends now and its stream goes on. */
enum status engine_end_op(struct simulation *sim, uint32_t op);

/* The call for `op` returns now, if it still waits. */
enum status simulation_call_returns(struct simulation *sim, uint32_t op);

/* Streams that wait for the same: a list of them, from *first. */
void waiters_add(struct simulation *sim, uint32_t *first, uint32_t stream);
void waiters_wake(struct simulation *sim, uint32_t *first);

/* Rule 5 (simulator_checks.c); none of these does anything on a machine without it.
 *
 * Finds the kernels that are issued back to back. */
void checks_link(struct simulation *sim);
/* Whether `op`, the head of a stream with something unchecked, may go; if not, its stream is
 * woken when that may change. */
bool checks_pass(struct simulation *sim, uint32_t op);
/* Whether a kernel that wants to start is held back by one that still runs. */
bool checks_hold_kernel(const struct simulation *sim, uint32_t op);
/* All blocks of a kernel have started; a kernel has ended. */
void checks_kernel_placed(struct simulation *sim, uint32_t op);
void checks_kernel_ended(struct simulation *sim, uint32_t op);

/* A line of ops. */
void line_push(struct simulation *sim, struct line *line, uint32_t op);
uint32_t line_pop(struct simulation *sim, struct line *line);

/* A kernel that is ready: it enters the line of its priority. */
enum status engine_kernel_arrives(struct simulation *sim, uint32_t op);
enum status engine_turn_ends(struct simulation *sim, struct turn_engine *engine);

#endif
