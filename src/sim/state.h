/* state.h - what a simulation holds: private to the simulator's files, which have what they
 * call of one another in sim/parts.h. */
#ifndef PIPELINE_SIM_STATE_H
#define PIPELINE_SIM_STATE_H

#include "core/event_queue.h"
#include "plan/barriers.h"
#include "plan/rules_blocks.h"
#include "sim/simulator.h"

#include <stdbool.h>
#include <stdint.h>

#define NONE  WAITERS_NONE /* no op, no stream */
#define NEVER INT64_MIN

enum event_kind {
    EVENT_FLOW,     /* the copy on engine `subject` moves its first byte */
    EVENT_COPIED,   /* the copy on engine `subject` has moved its last byte */
    EVENT_TURNED,   /* copy engine `subject` can take its next copy */
    EVENT_ISSUED,   /* the call of thread `subject` returns */
    EVENT_READY,    /* op `subject` may go to its engine */
    EVENT_SLICE,    /* a process has had the device for a slice, or gets it */
    EVENT_BLOCKS,   /* block group `subject` ends, unless its rate changed since */
    EVENT_CALLED,   /* callback `subject` returns */
    EVENT_CPU,      /* the CPU has done op `subject` */
    EVENT_LAUNCHED, /* the host's call has launched the graph up to op `subject` */
    EVENT_CALL,     /* thread `subject` makes its next call */
};

/* Ops in line, linked through op_state.next_in_line. */
struct line {
    uint32_t first, last;
};

/* The copy engines of a device, as rule_copy_engine() numbers them, behind those of the devices
 * before it. On a machine with one engine, the first does the copies of both directions and the
 * second never has one. The third does the copies to other devices. The queues of kernels come
 * before those of copies. The timers are those of the first device's engines for copies in and
 * out, of the first thread, and of the other copy engines, which only recorded plans and plans
 * of several devices use. */
enum { COPIES_IN, COPIES_OUT, COPIES_PEER, COPY_ENGINES, QUEUE_KINDS = 1 + COPY_ENGINES };
enum { THREAD_TIMER = COPIES_PEER, TIMERS_LEAST };
enum { TIMERS_MOST = 1 + COPY_ENGINES * MACHINE_DEVICES_MAX };
static inline uint32_t copy_timer(uint32_t index)
{
    return index < THREAD_TIMER ? index : index + 1;
}

struct copy_engine {
    struct line line;
    uint32_t op;       /* at work, or NONE */
    uint32_t follower; /* goes before all others in line, or NONE */
    int64_t free_ns;   /* when it can take its next copy */
    bool flowing, turning;
    bool staged;      /* it goes through the staging buffer */
    bool piece;       /* all at once */
    uint32_t copies;  /* that the op is made of: rule_copies() */
    uint32_t to_copy; /* those that have not ended, the last one until the op does */
    uint8_t receiver; /* of a copy to another device */
    bool draining;    /* all bytes of a staged copy have flowed, and it is not over */
    double bytes_left, bytes_per_s;
    double most_bytes_per_s; /* that its rows, or the cores' caches, leave it */
    int64_t since_ns;        /* when bytes_left was right */
};

/* An engine that does one op at a time for a known time: the thread of callbacks, the CPU. */
struct turn_engine {
    struct line line;
    uint32_t op;      /* at work, or NONE */
    int64_t awake_ns; /* callbacks: when the thread was last woken, or will be */
    int64_t done_ns;  /* when its latest op ended */
};

struct hardware_queue {
    uint32_t engine; /* that takes ops out of it: its place in simulation.waiting */
    uint32_t front;  /* the first op not yet with its engine, issued or not; or NONE */
    uint32_t length; /* ops issued and still in the queue */
    struct event_queue blocked; /* threads that wait for room in it, by their ops */
    /* Calls begun, for ops that will be in it. When one ends, this and `length` change: side by
     * side they would be read as one word, which has to wait where only a half of it was
     * written just before. */
    uint32_t calls;
};

/* The state of an op. There is one for each op of a plan, so it is kept small. Its kind and its
 * stream stand here again: most of the simulation needs no more of an op, which is twice as
 * large. */
struct op_state {
    uint32_t next_in_stream;
    uint32_t next_in_line; /* of its hardware queue; once out of that, of its engine's line */
    union {                /* by the op's kind */
        struct {
            uint32_t to_place, running; /* blocks */
        } launch;
        uint32_t record; /* records and who waits for them: the index of the record's state;
                            NONE: the event was never recorded, and stands for nothing */
    };
    uint32_t span; /* the index of its span; records have none */
    uint32_t stream;
    int16_t queue; /* rule_queue(), behind the queues of the devices before its own: a machine
                      has 1024 for each kind of engine at most */
    uint8_t kind;  /* enum op_kind */
    bool ready : 1, ended : 1, issued : 1;
};

/* A thread of the host. */
struct host_thread {
    uint32_t next;   /* the op whose call it makes now, or next; NONE: it is done */
    uint32_t called; /* the op whose call waits until the host's part in it, or all of it, is
                        over; or NONE */
    bool waited;     /* its own call, which it makes now, had to wait for the device */
    uint32_t next_blocked; /* another that waits for the same, or NONE */
    int64_t begin_ns;      /* when its present call began */
    int64_t held_until_ns; /* by a callback: a call that begins before that takes longer */
};

struct record_state {
    int64_t passed_ns;     /* when its stream came to it, or NEVER */
    uint32_t first_waiter; /* a stream that waits for it, or NONE */
    uint32_t stream;       /* its own */
};

/* How far a stream has come in the simulation. */
struct lane_state {
    uint32_t head;         /* its first op that has not ended, issued or not; or NONE */
    uint32_t first_caller; /* a thread whose own call waits for ops of the stream, or NONE */
    uint32_t unchecked;    /* the kernel that its next op has to be checked against, or NONE */
    uint8_t device;        /* whose block slots its kernels take: a place in simulation.gpus */
    uint8_t process;       /* that issues to it */
    int16_t queue;         /* of the latest op of its that was linked and has one, or -1 */
    bool launches;         /* it has launches */
    uint8_t last_kind;     /* kind_facts.engine_kind of its latest op on an engine */
    int64_t last_end_ns;   /* when that op ended, or NEVER */
    int64_t signal_ns;     /* the latest end since then of what it waited for, or NEVER */
};

/* Rule 5, per op; only machines with that rule have these. */
struct check_state {
    uint32_t run;          /* the first of the kernels issued back to back with this one */
    uint32_t run_left;     /* that first one: how many of them have not ended */
    uint32_t first_waiter; /* a stream that waits for this kernel, or NONE */
    bool placed;           /* all its blocks have started */
};

/* Rules 7 and 10: the streams whose ops a barrier holds up: all, or those that mind the legacy
 * default stream. */
enum { DOMAIN_ALL, DOMAIN_LEGACY, DOMAIN_COUNT };

/* Blocks of one kernel that were placed together, and so end together. */
struct block_group {
    uint32_t op, blocks;     /* no blocks: the place is free */
    uint32_t all;            /* blocks that the whole launch has */
    struct kernel_cost cost; /* of the whole launch */
    double measured_ns;      /* a recorded launch's sweep, whatever runs beside; NAN: none */
    double alone_ns;         /* a sweep, while all of these are resident, and no others */
    double share;            /* the part of it that a block does in a sweep */
    struct link_bytes link;  /* of a block in a sweep, on mapped memory; else 0 */
    double lead_ns,
        read_ns;      /* that a sweep takes beside its bytes on the link; before its work */
    uint32_t sweeps;  /* of a block, in all */
    double left;      /* sweeps still to do */
    bool leftover;    /* its blocks make one sweep more than others of their launch */
    double sweep_ns;  /* at the present rate */
    int64_t since_ns; /* when `left` was right; until then the blocks do not work yet */
    uint32_t stamp;   /* of the EVENT_BLOCKS that counts */
};

/* A launch on mapped memory takes these times, in ns, beside that of its bytes at its share of
 * the link's rates. */
struct link_begin {
    double latency_ns; /* rule_link_latency_ns() */
    double lead_ns;    /* rule_link_lead_ns(), of what rule_link_apart() says */
    double read_ns;    /* that sweep's bytes in, before there is anything to work on */
    double round_ns;   /* rule_link_round_ns(), in each sweep of several */
};

/* The work of a launch. */
struct launch_work {
    uint64_t count; /* 0: not known yet */
    uint32_t blocks;
    double measured_ns; /* recorded launches: how long all its blocks take; else NAN */
    double alone_ns;    /* of kernels in built plans: as in struct block_group */
    struct kernel_cost cost;
    struct link_bytes link; /* these two are 0 where the host's memory is not mapped */
    struct link_begin begin;
    struct sweeps sweeps;
};

/* The loop asks these of every op, and they are the same for all of a kind: so the rules are
 * asked once. */
struct kind_facts {
    bool is_launch, is_call;
    uint8_t engine_kind; /* what an engine knows an op by: launches of all kinds run on one */
    uint8_t copy_engine; /* of copies: rule_copy_engine() */
    int64_t issue_ns, launch_ns;
    int64_t same_engine_ns; /* behind an op on the same engine */
    int64_t begin_ns;       /* of prefetches, in their own stream */
    int64_t latency_ns;     /* of copies */
    double bytes_per_s[2];  /* of copies: with the other direction idle, and busy */
};

/* The block slots of a device. */
struct gpu {
    struct line *levels; /* kernels ready to place blocks, per priority: most urgent first */
    struct block_group *groups;
    uint32_t group_end; /* those in use are before it, with free places between them */
    uint32_t group_capacity;
    uint32_t blocks_in_use, kernels_running;
    uint32_t kernels_due;    /* that come next in their streams, and have yet to be accepted */
    int64_t blocks_ended_ns; /* when the last blocks made room for others */
    struct link_bytes link;  /* of all blocks that are resident, while rates are set */
    bool rates_hold;         /* nothing was placed and nothing has ended since they were set */
};

/* Whose kernels may run where processes take turns. */
struct slices {
    uint32_t holder, next; /* places in simulation.gpus */
    bool changing;         /* from the one to the other: nobody's run */
    bool posted;           /* an EVENT_SLICE is to come */
    uint32_t stamp;        /* of the one that counts */
    int64_t since_ns;      /* when the holder got the device */
};

struct simulation {
    const struct machine *machine;
    const struct plan *plan;
    struct timeline *timeline;
    struct simulator_hooks hooks;
    struct error *error;
    struct arena arena; /* has all tables but those that grow */
    struct event_queue events;
    struct event timers[TIMERS_MOST]; /* of each copy engine, and of the first thread; see
                                         simulation_set_timer() */
    uint32_t timer_count;
    int64_t now;
    struct kind_facts kinds[OP_KIND_COUNT];

    struct op_state *ops;
    uint32_t ended; /* how many ops have */
    struct record_state *records;
    struct lane_state *lanes;   /* per stream; the CPU's lane is the last */
    uint32_t launching;         /* streams that have launches */
    struct check_state *checks; /* NULL: the machine has no such rule */
    bool needs_domains;         /* the plan has ops that more than their streams wait for */
    struct barriers *domains;   /* DOMAIN_COUNT of them; NULL: not needed */
    uint32_t first_unplaced;    /* with checks: no kernel before this op has blocks to place */
    struct waiters waiters;     /* those woken are streams whose head must be looked at */

    uint32_t devices;             /* with engines of their own */
    uint32_t gpu_count;           /* places for blocks: a device's, or a process's turn on it */
    uint32_t processes;           /* that issue, each with a thread */
    uint32_t queues, queue_count; /* of an engine of a device; of all */
    struct hardware_queue *hardware_queues;
    /* How many of each engine's queues hold something. */
    uint32_t waiting[QUEUE_KINDS * MACHINE_DEVICES_MAX];
    struct copy_engine copies[COPY_ENGINES * MACHINE_DEVICES_MAX];
    struct turn_engine callbacks[MACHINE_DEVICES_MAX], cpu; /* callbacks: of each process */
    struct gpu gpus[MACHINE_DEVICES_MAX];
    bool sliced; /* processes take turns: */
    struct slices slices;
    int level_count, most_urgent;
    struct launch_work works[CHAIN_MAX][2]; /* of each kernel: see kernel_work_of() */
    uint32_t stamps;                        /* wraps; no event waits for that long */
    uint32_t resident_blocks;               /* that a device holds at once */

    struct host_thread *threads;
    uint32_t thread_count;
    bool calls_wait;          /* some calls may: rule_call_waits() tells of each */
    uint32_t *next_in_thread; /* per op, NONE: none; NULL: one thread makes all calls */
    uint32_t first_caller;    /* a thread whose own call waits for several streams, or NONE */
    uint32_t first_woken;     /* a thread whose own call may have its wait behind it, or NONE */
    /* No op of the domain and the process before it has yet to end. */
    uint32_t first_unended[DOMAIN_COUNT][MACHINE_DEVICES_MAX];
    bool took; /* memory was taken in stream order: the first such call is over */
    const struct kernel *loaded[CHAIN_MAX]; /* whose code is there; used with loads_lazily */
    uint32_t kernels_loaded;
    bool *names_loaded; /* the same of a recorded plan, by name */

    int64_t call_ended_ns; /* the latest return of any call */
    int64_t node_free_ns;  /* graphs: when the device can take up its next node */
    uint32_t launched;     /* graphs: ops from the first on that the call has handed over */
    uint32_t nodes;        /* graphs: nodes that it has handed over once it comes to that */
    bool by_node;          /* graphs: plan_graph_by_node() */
};

#endif
