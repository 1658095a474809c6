/* timeline.h - what really happened: one span per op, and where the times came from. */
#ifndef PIPELINE_PLAN_TIMELINE_H
#define PIPELINE_PLAN_TIMELINE_H

#include "core/arena.h"
#include "core/status.h"
#include "machine/machine.h"
#include "plan/host_call.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* --- the processes that shared a run, each with a device of its own --- */

enum { RANK_HOST = 64 };

/* A rank's host, and what its clock says more than rank 0's; that is known to within
 * `error_ns`. */
struct rank_place {
    char host[RANK_HOST];
    int64_t offset_ns, error_ns;
    bool common; /* what it hands on, or is handed, lies before all ranks of its host */
};

/* A run's ranks are described here as they were seen; all is zero if the run had one process.
 */
struct ranks_seen {
    uint32_t count;
    bool clocks; /* they were compared: virtual time has none */
    struct rank_place places[MACHINE_DEVICES_MAX];
};

/* --- which NUMA node each device is near, and where the host's buffers lie --- */

/* A node of the host's memory. All zero: nothing is known of it. */
struct numa_place {
    bool known;
    uint16_t node;
};

/* A backend that knows where a run's memory lay fills this in; elsewhere it is all zero. */
struct numa_seen {
    struct numa_place buffers; /* known where nearly all of them lie on one node */
    struct numa_place devices[MACHINE_DEVICES_MAX];
};

/* Returns true if the buffers are known to lie on another node than the device is near. */
static inline bool numa_is_far(const struct numa_seen *seen, uint32_t device)
{
    return device < MACHINE_DEVICES_MAX && seen->buffers.known && seen->devices[device].known &&
           seen->buffers.node != seen->devices[device].node;
}

/* Returns the first of `devices` that the buffers are far from; `devices`: none. */
static inline uint32_t numa_first_far(const struct numa_seen *seen, uint32_t devices)
{
    uint32_t device = 0;
    while (device < devices && !numa_is_far(seen, device))
        device++;
    return device;
}

static inline int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Adds up two times, up to the longest that there is: those of a damaged trace may be too long
 * to be added. */
static inline int64_t plus(int64_t a, int64_t b)
{
    return b > 0 && a > INT64_MAX - b ? INT64_MAX : a + b;
}

enum timing {
    TIMING_VIRTUAL,  /* the simulator's clock */
    TIMING_CUPTI,    /* activity records */
    TIMING_EVENTS,   /* ends from CUDA events; starts rebuilt from engine order */
    TIMING_NSYS,     /* a trace of Nsight Systems */
    TIMING_RECORDED, /* a recording of `pipeline record` */
    TIMING_CHROME,   /* a Chrome trace, as PyTorch's profiler writes */
    TIMING_COUNT
};

/* The memory of the host that a copy of a trace is from or to, as far as the trace says. */
enum host_memory { HOST_MEMORY_UNKNOWN, HOST_MEMORY_PAGEABLE, HOST_MEMORY_PINNED };

/* A wait of a stream of a trace for an event: `op`, the stream's next, begins only when op
 * `target` has ended. UINT32_MAX stands for an op of another device's, which ended at
 * `elsewhere_ns`; else that is 0. */
struct stream_wait {
    uint32_t op, target;
    int64_t elsewhere_ns;
};

enum { SPAN_BITS = 15 }; /* that an engine and a device have */

/* What the span of an OP_ALLOC is about, and its names: in files, and of the first call that
 * does it. What is ordered is done in the order of a stream. */
enum span_alloc {
    SPAN_PAIR,
    SPAN_PINNED_PAIR,
    SPAN_TAKE,
    SPAN_GIVE,
    SPAN_ORDERED_TAKE,
    SPAN_ORDERED_GIVE,
    SPAN_ALLOC_COUNT
};
struct span_alloc_row {
    const char *name, *call;
};
extern const struct span_alloc_row span_alloc_rows[SPAN_ALLOC_COUNT];

/* One op as it ran. Times are ns from the run's first issue; of a recorded plan that was
 * simulated, from when its threads began. */
struct span {
    uint32_t op;
    uint8_t kind;       /* enum op_kind */
    uint8_t engine : 4; /* enum engine */
    uint8_t device : 4; /* of the run's, from 0; what the host executes has 0 */
    union {
        uint16_t link; /* kernels: which of the timeline's names, that is, of the chain; of
                          memory that the host takes: enum span_alloc */
        uint16_t host_memory; /* copies of a trace: enum host_memory */
        uint16_t to; /* copies to another device: which; their own: a file does not tell */
    };
    uint32_t lane; /* row within the engine; spans of one lane never overlap. Waits: stream */
    uint32_t stream;
    int32_t tile;
    /* Waits, syncs: the op waited for, of a sync the last to end; UINT32_MAX: none, the event
     * stood for nothing. */
    uint32_t target;
    uint64_t bytes; /* op_bytes() */
    int64_t issue_ns, start_ns, end_ns;
};

enum { TIMELINE_TEXT = 128 };

/* The call that issued an op of a recorded plan, as it was simulated. */
struct op_call {
    int64_t issued_ns;   /* the op was issued: engines knew of it */
    int64_t returned_ns; /* later, where the call waited for it */
    uint32_t thread;
};

struct timeline {
    enum timing timing;
    char device[TIMELINE_TEXT]; /* "NVIDIA H200", or the machine's name when simulated */
    char driver[TIMELINE_TEXT]; /* "driver 13.0, runtime 13.0"; empty when simulated */
    int64_t resolution_ns;
    struct arena arena; /* has what is owned here, but `spans` and `issue_ns` */
    const char **names; /* of kernels, by link: owned; what they point to is a plan's, or lies
                           in the arena, too */
    uint32_t name_count;
    uint32_t devices;        /* as in the plan: 0 stands for 1 */
    enum sharing sharing;    /* likewise: these are processes on one device */
    struct ranks_seen ranks; /* the processes that shared the run; none where there was one */
    struct numa_seen numa;   /* where devices and buffers are, of a real device that tells */
    uint32_t streams;        /* as in the plan */
    uint8_t *stream_kinds; /* as in the plan: enum stream_kind; NULL: all non-blocking. Owned */
    uint32_t *stream_ids;  /* what to call each stream; NULL: by its number. Owned */
    int64_t
        launched_ns;    /* of a graph: when the one call that issued all ops returned; else 0 */
    bool issue_unknown; /* a trace without the host's calls: issue_ns stands for nothing */
    bool partial;       /* of a trace: what ran before, behind or beside it was left out */
    bool more_ran;      /* other ops than these may have held these: lost, or not looked at */
    bool begun;         /* of a part: what was issued before it has 0 for its issue, too */
    bool tried; /* of a recording: the program ran on the CPU, in the time of a simulated
                   machine */
    bool copies_take_turns; /* both directions' are prefetches, which one engine does */
    bool has_waits;         /* or syncs, for timeline_finish() to fill in */
    bool legacy_likely; /* of a trace: how its ops lie tells the default stream, nothing else */
    struct host_call *calls; /* of a trace, in order of start; NULL: not known. Owned */
    uint32_t call_count;
    const char **lines; /* of the program's source, "/home/me/fit.cu:88", which calls refer to;
                           NULL: none. Owned, what they point to is not */
    uint32_t line_count;
    const struct host_range *ranges; /* of another program, in order of start; NULL: none. A
                                        recording's are not owned */
    size_t range_count;
    int64_t ranges_from_ns;    /* what is taken from their times here */
    struct stream_wait *waits; /* of a trace, by op; NULL: not known. Owned */
    uint32_t wait_count;
    struct span *spans; /* one per op that has one, in op order */
    uint32_t span_count;
    int64_t
        *issue_ns; /* when each op of the plan was issued, by op id; `issue_count` of them */
    uint32_t issue_count;
    struct op_call *op_calls; /* as many; NULL: a built plan, in which each call returns as the
                                 next begins. Owned */
};

/* Frees what a timeline owns, and leaves it with nothing. */
void timeline_free(struct timeline *timeline);

/* Returns where the program's source makes a call, as "/home/me/fit.cu:88"; NULL: not known. */
static inline const char *timeline_call_line(const struct timeline *timeline,
                                             const struct host_call *call)
{
    return call->line > 0 && call->line <= timeline->line_count
               ? timeline->lines[call->line - 1]
               : NULL;
}

/* Returns the call of a trace that issued an op; NULL: not known. O(log n). */
const struct host_call *timeline_call_of(const struct timeline *timeline,
                                         const struct span *span);

/* The kind of a stream; plan.streams, which stands for none, is non-blocking. */
static inline enum stream_kind timeline_stream_kind(const struct timeline *timeline,
                                                    uint32_t stream)
{
    if (timeline->stream_kinds == NULL || stream >= timeline->streams)
        return STREAM_NONBLOCKING;
    return (enum stream_kind)timeline->stream_kinds[stream];
}

/* Empties `timeline` and makes one span for every op of `plan` but records: everything is
 * filled except times, which are 0, and lanes. The names of a recorded plan's kernels stay the
 * plan's, which must outlive the timeline. */
enum status timeline_begin(struct timeline *timeline, const struct plan *plan,
                           struct error *error);

/* The span of op `op`, or NULL (records have none). */
struct span *timeline_span(struct timeline *timeline, uint32_t op);

/* Finds starts where only ends are known (events). Each is the latest of its issue, its
 * stream's previous end, what its stream waited for (by events, or by the legacy default
 * stream), and, for copies, the end of the copy before it on its engine in the order the ends
 * came. */
enum status timeline_rebuild_starts(struct timeline *timeline, const struct plan *plan,
                                    struct error *error);

/* Gives waits their times from the ops around them, syncs what they waited for, and every span
 * its lane; call it last. STATUS_USAGE where the time, or that of all ops and of all the host's
 * calls added up, reaches MACHINE_NEVER_NS, or the bytes are more than an int64_t holds: so
 * nobody who adds up a part of them has to look. */
enum status timeline_finish(struct timeline *timeline, const struct plan *plan,
                            struct error *error);

/* Returns true if a span began before another (ties: its op comes first). */
static inline bool span_precedes(const struct span *a, const struct span *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->op < b->op;
}

/* Compares pointers to spans by their ends, then by their ops, for qsort(). */
int span_compare_ends(const void *a, const void *b);

/* Returns how many of `count` spans, which are in order of their ends, had ended by `time_ns`:
 * the last of them to end is by_end[result - 1]. */
size_t spans_ended_by(const struct span *const *by_end, size_t count, int64_t time_ns);

/* Returns what executed the op of a span. */
static inline struct resource span_resource(const struct span *span)
{
    return (struct resource){(enum engine)span->engine, span->device, span->lane};
}

/* Returns the device and the number of a stream, as plan_stream_home() does. */
static inline struct stream_home timeline_stream_home(const struct timeline *timeline,
                                                      uint32_t stream)
{
    return stream_home(stream, timeline->streams, timeline->devices);
}

static inline uint32_t timeline_devices(const struct timeline *timeline)
{
    return timeline->devices > 1 ? timeline->devices : 1;
}

/* Returns how many devices have an engine of that kind: one, where it is the host's. */
static inline uint32_t timeline_engines(const struct timeline *timeline, enum engine kind)
{
    return engine_of_device(kind) ? timeline_devices(timeline) : 1;
}

/* Fills `spans`, which has room for all, with those of an engine, whatever the index, in order
 * of start (ties: of op) and returns how many they are. */
size_t timeline_engine_spans(const struct timeline *timeline, struct resource engine,
                             struct span **spans);

/* First issue to last end, in ns. */
int64_t timeline_time_ns(const struct timeline *timeline);

/* First issue of an op to last end of one, in ns: the host's own calls before the first op, and
 * behind the last one, do not count. Where it is not known when ops were issued, from the first
 * start. */
int64_t timeline_extent_ns(const struct timeline *timeline);

/* "simulated" or "measured"; "virtual", "cupti", "events", "nsys", "recorded" or "chrome". */
const char *timeline_source(const struct timeline *timeline);
const char *timeline_timing(const struct timeline *timeline);

/* Returns what to call `stream`: its number, or in a timeline read from a trace its id. */
uint32_t timeline_stream_id(const struct timeline *timeline, uint32_t stream);

/* What timelines as files call a copy to another device, with that one's number behind. */
#define TIMELINE_PEER_NAME "to device "

/* The span's name: "h2d", "scale", "d2h", "callback", "cpu"; for a wait or a sync, what it
 * waited for: "scale 3". `text` has room for SPAN_NAME; the result may be a constant. */
enum { SPAN_NAME = 64 };
const char *timeline_span_name(const struct timeline *timeline, const struct span *span,
                               char text[SPAN_NAME]);

#endif
