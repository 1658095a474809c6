/* traced.h - another program's run: what is looked up again and again in its timeline. */
#ifndef PIPELINE_ANALYSIS_TRACED_H
#define PIPELINE_ANALYSIS_TRACED_H

#include "analysis/analysis.h"
#include "analysis/critical.h"
#include "core/arena.h"
#include "plan/host_call.h"
#include "plan/plan.h"

enum {
    TRACED_LATE_NS = 20000, /* what takes longer is no mere hand-over from op to op */
    TRACED_JITTER_NS = 1000,
    TRACED_LOAD_NS = 50000,   /* a launch's call that loads code takes as long, at least, */
    TRACED_LAUNCH_NS = 8000,  /* a launch's call, where there is no other to tell */
    TRACED_LOAD_LAUNCHES = 8, /* and as many times as long as other launches' calls */
};

/* Until when calls keep the device from its work: of each that does so for longer than all
 * before it, when it began and until when. */
struct holds {
    struct hold_until {
        int64_t from_ns, until_ns;
    } * items; /* room for two of each call */
    size_t count;
};

struct traced {
    const struct timeline *timeline;
    struct arena arena; /* what has the tables below */
    void *room;         /* for two numbers of each call, while it is made; then NULL */
    struct analysis analysis;
    enum engine engine; /* the busiest, if pageable memory were page-locked, */
    int64_t busy_ns,
        most_ns; /* and for how long it would then be at work; and the busiest is */
    const struct span **by_end; /* all ops of the device, in order of their ends */
    uint32_t by_end_count;
    uint32_t *copies_in;      /* of these, by place: the copies in up to it */
    uint32_t *kernels_before; /* by op: the kernels that began before it, */
    uint32_t *ops_before;     /* and all ops of the device that did */
    uint32_t kernels;
    int64_t *slower_ns;       /* by op: how much longer a copy of pageable memory took, while
                                 nothing else ran, than of page-locked memory */
    double pinned_rate[2];    /* of copies of that, in and out, in bytes a ns; 0: not known */
    uint32_t *issued;         /* by call: the op that it issued; SPAN_NONE: none */
    uint32_t *call_before;    /* by call: the one before it on its thread; SPAN_NONE: none */
    int64_t *added_ns;        /* by op: how much later it began since it was recorded; */
    int64_t *later_ns;        /* by call: how much later it ended; */
    int64_t added_all_ns;     /* and all of it */
    uint32_t *first_launches; /* by the kernel's name: the first that ran */
    struct holds loads, held; /* of loads of code, and of any call */
    int64_t launch_ns;        /* the median of the launches' calls */
    int64_t slow_ns;          /* a call that hands something over, and takes longer, did more */
    int64_t once_ns; /* a time between two calls that is longer than all others of the host's
                        own work together: it comes once, in no loop; 0: none */
    int64_t work_ns; /* what passes between two calls and takes longer is the host's own work */
    int64_t last_issue_ns; /* of all ops */
    struct tally stalls;   /* ops that an idle device began late, as traced_stall_ns() has it */
    uint32_t launches,
        waited;              /* of kernels; and those that returned only when these had ended */
    bool launches_block;     /* most do so */
    bool launches_may_block; /* the same, of kernels too short to tell */
    bool pins_first;         /* memory is page-locked before the first op, and never later */
    bool memsets_bar;        /* no memset runs beside another op, though others do */
    bool in_graphs;          /* most ops were issued by the call that issued the one before */
    bool many_threads;       /* several threads issued ops, */
    bool turns;              /* of which one goes on where another one stops: one chain */
    bool comes[CALL_KINDS];  /* calls of a kind come, */
    bool again[CALL_KINDS];  /* and again and again before the same op */
    uint32_t host_funcs;     /* calls that put a function into a stream */
    bool short_ops; /* those of the busiest engine last no longer than a hand-over may */
    bool few_ops;   /* so few that nothing could overlap much */
};

/* Looks all that up, with what held the ops. Where no copies of page-locked memory tell their
 * rate, the device's machine file does, if there is any (NULL: none). Returns false when memory
 * runs out; traced_end() in any case. */
bool traced_begin(struct traced *traced, const struct timeline *timeline,
                  const struct critical *critical, const struct machine *machine);
void traced_end(struct traced *traced);

/* For traced_begin(), when it knows which call issued which op: finds the first launches of
 * kernels, what launches have in common, and when the device was elsewhere. */
void launched_find(struct traced *traced);

/* Returns the call that issued span `index`; SPAN_NONE where it is not known. */
uint32_t traced_call_of(const struct traced *traced, uint32_t index);

/* Returns the op of the device that ended last by `time_ns`; SPAN_NONE: none had. */
uint32_t traced_ended_by(const struct traced *traced, int64_t time_ns);

/* Returns how many copies in had ended by `time_ns`. */
uint32_t traced_copies_by(const struct traced *traced, int64_t time_ns);

/* Returns true if the host made a call of that kind between two others. */
bool traced_call_between(const struct traced *traced, enum host_call_kind kind,
                         int64_t after_ns, int64_t before_ns);

/* Returns true if calls of a kind that makes or takes what could be made or taken once came
 * several times before the same op, and still in the second half of all, or the kind is
 * another: what a start-up makes and takes is in no loop. */
bool traced_again(const struct traced *traced, enum host_call_kind kind);

/* Returns true if a call that launched kernel `span` took so long, at its first launch, that it
 * must have loaded code. */
bool traced_loads_code(const struct traced *traced, uint32_t call, uint32_t span);

/* Returns true if a first launch of a kernel, which took far longer than others, was under way
 * in that time: what it loads, the device waits for; and if most kernels' first launches are
 * such.
 */
bool traced_loads_within(const struct traced *traced, int64_t after_ns, int64_t before_ns);
bool traced_keeps_loading(const struct traced *traced);

/* Counts those launches, each up to the start of its kernel. */
struct tally traced_loads(const struct traced *traced);

/* Returns how long the device did nothing for the program before it began op `index`, which
 * nothing of the program held from `free_ns` on: it was at work elsewhere. 0: not long, or a
 * call may have held it. */
int64_t traced_stall_ns(const struct traced *traced, uint32_t index, int64_t free_ns);

/* Counts the ops of a set of kinds, with `pageable` only copies of pageable memory; the
 * calls of a set of kinds that began before `before_ns`; and the ops of one kind. */
struct tally traced_ops(const struct traced *traced, uint32_t kinds, bool pageable);
struct tally traced_calls(const struct traced *traced, uint32_t kinds, int64_t before_ns);
uint32_t traced_ops_of(const struct traced *traced, enum op_kind kind);

/* --- pace.c: how the device follows a host that issues what it does --- */

/* For traced_begin(), in this order, when it knows which call issued which op.
 *
 * Finds whether threads take turns in one stream (host_call.h).
 *
 * Finds the call before each on its thread; threads that take turns are one.
 *
 * Finds from which time on what passes from call to call is work of the host's own, where else
 * it only issues. */
void pace_find_turns(struct traced *traced);
void pace_find_threads(struct traced *traced);
void pace_find_work(struct traced *traced);

/* Finds how much later ops began for their being recorded. */
void pace_find_added(struct traced *traced, const struct critical *critical);

/* How the device followed, as it would have if nothing had been recorded, as far as what that
 * took is known. */
struct pace {
    uint32_t ops;
    uint32_t
        late; /* those that the host had not handed over when the device had nothing left */
    uint32_t calls;   /* that issued them, */
    int64_t calls_ns; /* and what these took */
    int64_t work_ns;  /* of all ops */
    int64_t span_ns;  /* from the first one's start to the last one's */
    bool tiles; /* ops are tiles, copied one by one and worked on, and the calls for that take
                   the host's time: fewer and larger ones would do */
};

/* O(n log n). */
struct pace pace_of(const struct traced *traced);

static inline bool pace_is_late(const struct pace *pace)
{
    return 2 * (uint64_t)pace->late >= pace->ops;
}

#endif
