/* state.h - what a simulation holds: private to the simulator's files.
 *
 *   sim/simulator.c         streams, hardware queues, the host, the loop
 *   sim/engines.c copies, callbacks, the CPU
 *   sim/kernels.c kernels
 *   sim/checks.c  what old GPUs check before an op that follows a kernel
 *   sim/sync.c    ops that others wait for in all streams, and the host's own calls
 *   sim/graph.c   a plan that is launched as one graph
 *   sim/stuck.c   what holds ops that never end
 *   sim/setup.c   taking memory and linking ops
 *   plan/rules.c   the rules themselves */
#ifndef PIPELINE_SIM_STATE_H
#define PIPELINE_SIM_STATE_H

#include "core/event_queue.h"
#include "plan/rules.h"
#include "sim/simulator.h"

#include <stdbool.h>
#include <stdint.h>

#define NONE  UINT32_MAX /* no op, no stream */
#define NEVER INT64_MIN

enum event_kind {
    EVENT_ISSUED,   /* the host's call for op `subject` returns */
    EVENT_READY,    /* op `subject` may go to its engine */
    EVENT_FLOW,     /* the copy on engine `subject` moves its first byte */
    EVENT_COPIED,   /* the copy on engine `subject` has moved its last, unless its rate changed
                       since */
    EVENT_TURNED,   /* copy engine `subject` can take its next copy */
    EVENT_BLOCKS,   /* block group `subject` ends, unless its rate changed since */
    EVENT_CALLED,   /* callback `subject` returns */
    EVENT_CPU,      /* the CPU has done op `subject` */
    EVENT_LAUNCHED, /* the host's call that launches the graph returns */
};

/* Ops in line, linked through op_state.next_in_line. */
struct line {
    uint32_t first, last;
};

struct copy_engine {
    struct line line;
    uint32_t op;       /* at work, or NONE */
    uint32_t follower; /* goes before all others in line, or NONE */
    int64_t free_ns;   /* when it can take its next copy */
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
    union {
        struct {
            uint32_t to_place, running; /* blocks */
        } kernel;
        uint32_t record;       /* waits: the record they wait for */
        uint32_t first_waiter; /* records: a stream that waits for it, or NONE; then */
        int64_t passed_ns;     /* when its stream came to it */
        uint32_t before; /* calls: how many ops of the streams they wait for came before */
    };
    uint32_t span; /* the index of its span */
    int16_t queue; /* rule_queue(): machines have 1024 queues at most */
    bool ready, ended;
};

struct stream_state {
    uint32_t head;        /* its first op that has not ended, issued or not; or NONE */
    uint32_t next_waiter; /* another stream that waits for the same as this one */
    uint32_t unchecked;   /* the kernel that its next op has to be checked against, or NONE */
    uint8_t last_kind;    /* engine_kind() of its latest op on an engine */
    int64_t last_end_ns;  /* when that ended, or NEVER */
    int64_t signal_ns;    /* since then: when the latest of what it waited for did, or NEVER */
};

/* Rule 5, per op; only machines with that rule have them. */
struct check_state {
    uint32_t run;          /* the first of the kernels issued back to back with this one */
    uint32_t run_left;     /* that first one: how many of them have not ended */
    uint32_t first_waiter; /* a stream that waits for this kernel, or NONE */
    bool placed;           /* all its blocks have started */
};

/* Rules 7 and 10: an op that waits for all that came before it in some streams, and that all
 * that comes later to them waits for. */
struct barrier {
    uint32_t op;
    uint32_t before;       /* how many ops of those streams came before it */
    uint32_t first_waiter; /* a stream that waits for its end, or NONE */
};

/* Those streams: all, or those that mind the legacy default stream. */
enum { DOMAIN_ALL, DOMAIN_LEGACY, DOMAIN_COUNT };
struct domain {
    struct barrier *barriers; /* in the order of issue, in which they end */
    uint32_t count, ended;    /* of them */
    uint32_t ops_ended;       /* of all ops of those streams */
    uint32_t first_waiter;    /* the stream of the next barrier, waiting for ops, or NONE */
};

/* Rules 6, 7 and 10; only plans with something of the kind have one. */
struct sync_state {
    struct domain domains[DOMAIN_COUNT];
    uint32_t call; /* the host's own call that waits for the device, or NONE */
};

/* Bytes that a block moves over the link in a sweep, or all blocks together. */
struct link_bytes {
    double in, out;
};

/* Blocks of one kernel that were placed together, and so end together. */
struct block_group {
    uint32_t op, blocks;     /* no blocks: the place is free */
    struct kernel_cost cost; /* of the whole launch */
    double share;            /* of it that a block does in a sweep */
    struct link_bytes link;  /* mapped memory: likewise */
    uint32_t sweeps;         /* of a block, in all */
    double left;             /* of them */
    bool leftover;           /* they make one more than others of their launch */
    double sweep_ns;         /* at the present rate */
    int64_t since_ns;        /* when `left` was right; until then they do not work yet */
    uint32_t stamp;          /* of the EVENT_BLOCKS that counts */
};

/* What the work of a launch is: of a kernel of the chain, the latest one's. */
struct launch_work {
    uint64_t count; /* 0: not known yet */
    uint32_t blocks;
    struct kernel_cost cost;
    struct link_bytes link; /* 0 where the host's memory is not mapped */
    struct sweeps sweeps;
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
    struct sync_state *sync;      /* NULL: the plan has nothing that such a rule is for */
    bool needs_sync;
    uint32_t first_unplaced; /* with checks: no kernel before this op has blocks to place */
    uint32_t *to_advance;    /* a stack of streams whose head must be looked at */
    uint32_t to_advance_count;

    uint32_t queues;
    struct hardware_queue *hardware_queues;
    uint32_t waiting[3]; /* of each engine's queues those that hold something */
    struct copy_engine copies[2];
    struct turn_engine callbacks, cpu;
    struct line *levels; /* kernels ready to place blocks, per priority: most urgent first */
    int level_count, most_urgent;
    struct launch_work works[CHAIN_MAX]; /* of each kernel: tiles are alike */
    struct block_group *groups;
    uint32_t group_end; /* those in use are before it, with free places between them */
    uint32_t group_capacity;
    uint32_t stamps; /* wraps; no event waits for that long */
    uint32_t resident_blocks, blocks_in_use, kernels_running;
    struct link_bytes link; /* of all blocks that are resident, while rates are set */
    bool rates_hold;        /* nothing was placed and nothing has ended since they were set */

    uint32_t issued;   /* ops issued so far */
    bool host_blocked; /* the call for op `issued` waits for room in its queue */
    uint32_t called; /* the copy or kernel whose call waits until the host's part in it, or all,
                        is over */
    const struct kernel *loaded[CHAIN_MAX]; /* whose code is there; used with loads_lazily */
    uint32_t kernels_loaded;

    int64_t call_ended_ns; /* when the latest call returned */
    int64_t node_free_ns;  /* of a graph: when the device can take up its next node */
};

static inline const struct op *op_at(const struct simulation *sim, uint32_t op)
{
    return &sim->plan->ops[op];
}

static inline struct span *span_at(const struct simulation *sim, uint32_t op)
{
    return &sim->timeline->spans[sim->ops[op].span];
}

/* Whether copies go through the host's staging buffer. */
static inline bool copies_are_staged(const struct simulation *sim)
{
    return sim->plan->memory == MEMORY_PAGEABLE;
}

/* Launches all run on one engine. */
static inline uint8_t engine_kind(enum op_kind kind)
{
    return op_is_launch(kind) ? OP_KERNEL : (uint8_t)kind;
}

/* How many blocks a launch has. */
static inline uint32_t launch_blocks(const struct simulation *sim, const struct op *op)
{
    return op->kind == OP_KERNEL ? op->kernel.blocks : rule_memory_blocks(sim->machine, op);
}

/* Posts an event `delay_ns` from now. */
enum status simulation_post(struct simulation *sim, int64_t delay_ns, enum event_kind kind,
                            uint32_t subject, uint32_t stamp);

/* Takes memory and links the ops; simulation_free() in any case. */
enum status simulation_set_up(struct simulation *sim);
void simulation_free(struct simulation *sim);

/* Nothing is left to happen, but `stuck` has not ended: names what holds it, and what that. */
enum status simulation_refuse_stuck(const struct simulation *sim, uint32_t stuck);

/* Marks `op` as ended, as far as its stream goes: the next op is the stream's head. */
void simulation_step_stream(struct simulation *sim, uint32_t op);

/* Hands an op that is ready, and at the front of its queue, to its engine. */
enum status engine_accept(struct simulation *sim, uint32_t op);

/* What the engines do when their events come. */
enum status engine_copy_flows(struct simulation *sim, int index);
enum status engine_copy_ends(struct simulation *sim, int index, uint32_t stamp);
enum status engine_copy_turned(struct simulation *sim, int index);
enum status engine_blocks_end(struct simulation *sim, uint32_t group, uint32_t stamp);

/* An op begins to run: its span starts now. */
enum status engine_start_op(struct simulation *sim, uint32_t op);

/* An op's work is over: its span ends now and its stream goes on. */
enum status engine_end_op(struct simulation *sim, uint32_t op);

/* The call for `op` returns now, if it still waits. */
enum status simulation_call_returns(struct simulation *sim, uint32_t op);

/* Streams that wait for the same: a list of them, from *first. */
void waiters_add(struct simulation *sim, uint32_t *first, uint32_t stream);
void waiters_wake(struct simulation *sim, uint32_t *first);

/* Rule 5 (sim/checks.c); none of these does anything on a machine without it.
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

/* Rules 6, 7 and 10 (sim/sync.c). What comes after sync_free() is for a simulation with a
 * `sync` only.
 *
 * Whether `op` wants more than its stream's order and the engines give: asked of every op, so
 * what is known of most kinds is asked first. */
static inline bool sync_is_needed(const struct simulation *sim, const struct op *op)
{
    bool memory = op->kind == OP_MEMSET || op->kind == OP_D2D;
    return sim->plan->stream_kinds != NULL || op_is_call(op->kind) ||
           (memory && rule_op_synchronises(sim->machine, op->kind));
}
/* Takes `sync` and finds the barriers; gives it back. */
enum status sync_link(struct simulation *sim);
void sync_free(struct simulation *sim);
/* Whether `op`, the head of its stream, may go; if not, its stream is woken when it may. */
bool sync_passes(struct simulation *sim, uint32_t op);
/* An op of a stream has ended. */
void sync_op_ended(struct simulation *sim, uint32_t op);
/* The host begins a call of its own; goes on with it if what it waits for is done; has done it.
 */
enum status sync_call_begins(struct simulation *sim, uint32_t op);
enum status sync_call_goes_on(struct simulation *sim);
void sync_call_ends(struct simulation *sim, uint32_t op);

/* A plan that is launched as one graph (sim/graph.c). The host
 * begins its one call; it has returned. */
enum status graph_begin(struct simulation *sim);
enum status graph_launched(struct simulation *sim);
/* When a node whose dependencies are met, and that is ready at `ready_ns` as far as they have a
 * say, may start: the device takes it up now, or behind those that it took up before. */
int64_t graph_ready_ns(struct simulation *sim, int64_t ready_ns);

/* Passes the records and finished waits at the head of a stream, up to the first op that needs
 * an engine or the first wait that is not over. `woken`: by something that it waited for; else
 * by the host's call. */
enum status simulation_advance(struct simulation *sim, uint32_t stream, bool woken);

/* A line of ops. */
void line_push(struct simulation *sim, struct line *line, uint32_t op);
uint32_t line_pop(struct simulation *sim, struct line *line);

/* A kernel that is ready: it enters the line of its priority. */
enum status engine_kernel_arrives(struct simulation *sim, uint32_t op);
enum status engine_turn_ends(struct simulation *sim, struct turn_engine *engine);

#endif
