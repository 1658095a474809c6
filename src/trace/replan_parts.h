/* replan_parts.h - what the files that make a plan of a recording share. */
#ifndef PIPELINE_TRACE_REPLAN_PARTS_H
#define PIPELINE_TRACE_REPLAN_PARTS_H

#include "core/arena.h"
#include "core/names.h"
#include "trace/replan.h"

/* Memory that the program has at the moment (replan_live.c). */
struct live {
    const struct recording *recording;
    struct change {
        int64_t time_ns;
        uint32_t memory; /* an index of recording->memory */
    } * taken, *freed;   /* in order; one that never comes is last */
    size_t next_taken, next_freed;
    void *tree; /* of tsearch(); no two overlap */
};

/* Its tables are of `arena`; live_free() frees the rest in any case. */
enum status live_init(struct live *live, const struct recording *recording, struct arena *arena,
                      struct error *error);
void live_free(struct live *live);

/* Goes on to `time`. Returns false when memory runs out. */
bool live_advance(struct live *live, int64_t time);

/* Returns the index of the memory that `address` lies in, or RECORDING_NONE. */
uint32_t live_find(const struct live *live, uint64_t address);

/* Returns the memory, page-locked or of the device, that a call, one of recording->calls, took
 * or gave back; RECORDING_NONE: none. *given_back says which. */
uint32_t live_change(const struct live *live, const struct recorded_call *call, bool pinned,
                     bool *given_back);

/* Until replan_resolve(), a range's buffer is an index of recording->memory, or one of these,
 * and its offset is the address; a kernel's ranges have no bytes. */
enum { BUFFER_UNKNOWN_HOST = INT32_MAX, BUFFER_UNKNOWN_DEVICE = INT32_MAX - 1 };

struct replan_thread {
    int64_t ended_ns; /* its latest call that made an op */
    uint32_t alloc;   /* that op, if it took memory; RECORDING_NONE */
    uint32_t memory;  /* which */
    bool began;
    /* Since that call: its time in calls that make what a loop could use again. */
    int64_t made_ns[CALL_MADE_KINDS];
    /* Its latest call's kind, when that ended, what recording that took, and what it took of
     * those between that and the call that made an op. */
    enum host_call_kind called;
    int64_t called_ns, call_cost_ns, cost_ns;
};

struct replan {
    const struct recording *recording;
    uint32_t device;
    struct plan *plan;
    struct plan_recorded *recorded;
    size_t seen_capacity, access_capacity, rows;
    struct live live;
    struct replan_thread *threads;
    int64_t begin_ns;
    bool begun;
    struct arena arena; /* what has these tables */
    uint32_t *streams;  /* per stream of the recording: the plan's; RECORDING_NONE */
    size_t kind_room, priority_room; /* of the plan's streams */
    bool legacy;                     /* the plan has its legacy default stream */
    uint32_t *names;                 /* per name of the recording, and two more: the plan's */
    int64_t *ends_ns;                /* of the device's ops, sorted */
    size_t end_count;
    struct names handles; /* of events that are recorded */
    uint32_t *records;    /* per handle: the op of its latest record; RECORDING_NONE: none;
                          EVENT_FOREIGN: of another device */
    struct graph_shape *shapes; /* of graphs that were launched so far */
    size_t shape_count, shape_room;
    bool graphs_move;         /* they are launched in several streams */
    struct graph_lane *lanes; /* streams that graphs' branches were put into */
    size_t lane_count, lane_room;
    const struct recorded_call *last_call; /* that an op was appended for */
    int64_t *calls_ns;          /* per row of the table of calls: half of them took no longer */
    bool pools;                 /* memory was taken of pools */
    bool turns;                 /* threads take turns: they are one */
    uint32_t loads, slow_loads; /* first launches of kernels; those whose call took long */
    struct replan_left left;
    struct error *error;
};
#define EVENT_FOREIGN (RECORDING_NONE - 1)

/* Whatever goes wrong is said once, in the error, which ends the work behind each call: until
 * then no function need say that it failed. */
static inline void replan_no_memory(const struct replan *replan)
{
    error_no_memory(replan->error, "for the plan of a recording of %zu calls",
                    replan->recording->call_count);
}

static inline bool replan_failed(const struct replan *replan)
{
    return replan->error->status != STATUS_OK;
}

/* --- replan_ops.c --- */

/* Returns true if a stream, an index of the recording's, is one of the device. */
bool replan_is_ours(const struct replan *replan, uint32_t stream);

/* Returns the plan's number of a stream of the device. */
uint32_t replan_find_stream(struct replan *replan, uint32_t stream);

/* Appends an op of `call`, at `seen`, which gets its thread and host_ns. */
void replan_append(struct replan *replan, const struct recorded_call *call, struct op op,
                   struct op_recorded seen);

/* Appends an op that ran: of a copy, `from` and `to` are left out. */
void replan_append_ran(struct replan *replan, const struct recorded_call *call,
                       const struct recorded_op *ran, uint32_t stream);

/* Appends a record of an event of its own in `stream`, and returns the op; and a wait for such
 * an op. */
uint32_t replan_append_record(struct replan *replan, const struct recorded_call *call,
                              uint32_t stream, bool timed);
void replan_append_wait(struct replan *replan, const struct recorded_call *call,
                        uint32_t stream, uint32_t record);

/* Adds a stream to the plan. Returns its number; RECORDING_NONE: no memory. */
uint32_t replan_add_stream(struct replan *replan, enum stream_kind kind, int32_t priority);

/* Numbers events, behind the last op. Those that nobody waits for are one: records of it mean
 * nothing. */
void replan_number_events(struct replan *replan);

/* Gives ops of no stream the number of streams, which stands for none of them. */
void replan_number_streams(struct plan *plan);

/* --- replan_host.c --- */

/* Finds what calls take, by their names, and whether threads take turns. */
void replan_find_host(struct replan *replan);

/* Returns what the call of an op that it issued takes; 0: as the machine has it. An op that the
 * `same` call issued as the one before takes the host nothing more. */
int64_t replan_call_ns(const struct replan *replan, const struct recorded_call *call,
                       const struct op *op, const struct op_recorded *seen, bool same);

/* Notes what recording a call took, before replan_note_made(); and moves what was noted to the
 * op that comes now, as the next function does. */
void replan_note_cost(struct replan *replan, const struct recorded_call *call);
void replan_take_cost(struct replan *replan, const struct recorded_call *call,
                      struct op_recorded *seen);

/* Notes what a call took that makes what a loop could use again; and moves what was noted since
 * its thread's last op to the op that comes now, which has its thread and host_ns. */
void replan_note_made(struct replan *replan, const struct recorded_call *call);
/* Notes that a call that waits, of which an op was just appended, took so long behind the last
 * op that ended in it: memory of pools is given back then. */
void replan_note_given(struct replan *replan, const struct recorded_call *call,
                       int64_t behind_ns);
void replan_take_made(struct replan *replan, struct op_recorded *seen);

/* Returns the plan's number of a call's thread. */
static inline uint32_t replan_thread_of(const struct replan *replan,
                                        const struct recorded_call *call)
{
    return replan->turns ? 0 : call->thread;
}

/* --- replan_graph.c --- */

/* Appends the ops of a graph's launch in `stream`. */
void replan_graph(struct replan *replan, const struct recorded_call *call, uint32_t stream);

/* Finds whether graphs are launched in several streams. */
void replan_find_graphs(struct replan *replan);
void replan_graphs_free(struct replan *replan);

/* --- replan_shape.c: the nodes of a recorded graph in an order, dealt to branches --- */

/* A node, in an order in which it comes behind those that it follows. */
struct shape_node {
    const struct recorded_node *seen;
    uint32_t branch;
    uint32_t first_before,
        before_count; /* of `before`: nodes of other branches that it follows */
    uint8_t kind;     /* enum op_kind; OP_KIND_COUNT: does nothing */
    bool forks; /* is the first of its branch, and follows nothing: that waits for the stream */
    bool passes; /* is followed by nodes of other branches */
    bool ends;   /* nothing follows it, in a branch that is not the first */
};

struct graph_shape {
    uint64_t exec;
    struct shape_node *nodes; /* in their order */
    uint32_t *places;         /* of nodes by their id: their place in that order */
    uint32_t *before;
    uint32_t node_count, branches;
    uint32_t *parts; /* per branch: the first branch of its part; no edge leads to another */
    bool *works;     /* per branch that is the first of a part: ops run at nodes of that */
    const struct recorded_node *seen; /* by their ids: not owned */
    uint32_t seen_count;
    bool launched;      /* before, in a plan whose graphs are launched in several streams: */
    uint32_t stream;    /* in which, */
    uint32_t record;    /* and the op that records what it does */
    struct arena arena; /* what has all of this but `seen` */
};

/* Returns the shape of a graph, which is found out at its first launch; NULL: no memory. */
struct graph_shape *graph_shape_of(struct replan *replan, uint64_t exec);

/* Returns the place of the node of that id; RECORDING_NONE: it has none. */
uint32_t graph_shape_place(const struct graph_shape *shape, uint64_t node);

/* --- replan_memory.c --- */

/* Adds what the latest op touches, as its call says, of which `done` bytes were moved before
 * it. */
void replan_touch_made(struct replan *replan, const struct recorded_call *call,
                       const struct recorded_op *ran, uint64_t done);

/* Makes buffers of the memory that ops touch, and ranges of what kernels point to. */
void replan_resolve(struct replan *replan);

/* --- replan_facts.c --- */

/* Notes what was seen of all of the program. */
void replan_note_facts(struct replan *replan);

/* Marks the copies that bring what the copy before brought, by the samples of its bytes. Ops
 * have their buffers. */
void replan_mark_repeats(struct replan *replan);

/* --- replan_work.c --- */

/* Sets the work of launches that ran beside others, or waited for their room. */
void replan_share_time(struct replan *replan);

#endif
