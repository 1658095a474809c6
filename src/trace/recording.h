/* recording.h - what `pipeline record` wrote of a program, read back whole and put in order
 * (docs/recording.md has the file's form). Private to the trace room. */
#ifndef PIPELINE_TRACE_RECORDING_H
#define PIPELINE_TRACE_RECORDING_H

#include "core/status.h"
#include "plan/occupancy.h"
#include "plan/recorded.h"
#include "plan/timeline.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORDING_NONE UINT32_MAX

struct recorded_device {
    uint32_t id;
    char *name;
    char *shown; /* as timelines call it: "NVIDIA H200 (0)" */
    uint32_t minor, sms;
    struct sm_room sm;
};

struct recorded_stream {
    uint32_t context, number;
    uint32_t device; /* an index of `devices`, the last of which is made up, with RECORDING_NONE
                        for its id, where a context's is not known */
    uint64_t handle; /* the program's; 0 where only ops and calls name the stream */
    int32_t priority; /* 0 default, negative is more urgent */
    uint8_t kind;     /* enum stream_kind; per-thread default streams are blocking ones;
                         STREAM_KIND_COUNT: not known */
};

enum recorded_memory_kind {
    RECORDED_DEVICE,
    RECORDED_POOL,
    RECORDED_MANAGED,
    RECORDED_PINNED,
    RECORDED_REGISTERED
};

/* Memory that the program took; by address, then by time. */
struct recorded_memory {
    uint64_t address, bytes;
    int64_t from_ns, until_ns; /* until_ns is INT64_MAX where it was never given back */
    uint32_t device;           /* an index of `devices`; RECORDING_NONE: the host's */
    uint8_t kind;              /* enum recorded_memory_kind */
};

/* The effect of a call, as far as plans are concerned. */
enum recorded_effect {
    EFFECT_NONE, /* nothing that is known */
    EFFECT_COPY,
    EFFECT_SET,
    EFFECT_LAUNCH,
    EFFECT_RECORD,
    EFFECT_WAIT,
    EFFECT_SYNC_DEVICE,
    EFFECT_SYNC_STREAM,
    EFFECT_SYNC_EVENT,
    EFFECT_FUNCTION,
    EFFECT_GRAPH
};
enum { EFFECT_KINDS = EFFECT_GRAPH + 1 };

/* These are the arguments of a copy or a memset. */
struct recorded_bytes {
    uint64_t to, from;                            /* addresses; memsets have no `from` */
    uint64_t to_pitch, from_pitch, width, height; /* height 1: in one piece */
    uint32_t hash; /* of samples of what it took from the host; 0: not known */
};

struct recorded_times {
    int64_t start_ns, end_ns;
};

/* One call of the program's, in order of start (ties: of id). */
struct recorded_call {
    uint64_t id;
    int64_t start_ns, end_ns;
    uint32_t thread;   /* numbered as threads first call, from 0 */
    uint32_t added_ns; /* of the time since the thread's call before: what recording took */
    int32_t result;    /* CUDA's error code; 0: none */
    uint16_t row;      /* of the table of calls (plan/host_call.h) */
    uint8_t effect;    /* enum recorded_effect */
    bool known;      /* EFFECT_LAUNCH: the arguments' layout is; EFFECT_FUNCTION: its times are;
                        EFFECT_RECORD: the event keeps the time */
    bool touched;    /* EFFECT_LAUNCH: its words are threes, an address, bytes, and a sum of 1
                        for reads, 2 for writes, 4 for atomics alone */
    uint32_t stream; /* an index of `streams`; RECORDING_NONE: none */
    uint32_t first_op, op_count; /* of `ops`: those that it issued */
    union {
        uint64_t bytes; /* EFFECT_NONE: that a profiler's trace says of the call alone */
        const struct recorded_bytes *copy; /* EFFECT_COPY, EFFECT_SET */
        struct {
            uint32_t first_word, word_count; /* of `words` */
        } launch;
        uint64_t event; /* the handle; EFFECT_RECORD, EFFECT_WAIT, EFFECT_SYNC_EVENT */
        const struct recorded_times *function; /* EFFECT_FUNCTION; NULL: not known */
        uint64_t exec;                         /* EFFECT_GRAPH */
    };
};

/* One op as it ran on the device; those of a call lie together, in order of start. */
struct recorded_op {
    int64_t start_ns, end_ns;
    uint64_t bytes; /* of copies and memsets */
    uint64_t node;  /* of a graph; 0: none */
    uint32_t call;  /* an index of `calls`; RECORDING_NONE: not recorded */
    uint32_t stream;
    uint32_t name;          /* kernels: an index of `names` */
    uint32_t blocks;        /* kernels; UINT32_MAX: or more, which all fill any GPU */
    struct block_need need; /* kernels: what each of them takes */
    uint8_t kind;           /* enum op_kind; OP_KERNEL for `h2h`, too */
    uint8_t from, to;       /* enum host_memory of a copy's host side */
    bool h2h;               /* a copy from host to host: no kernel */
    bool moves;             /* pages of managed memory that no call asked for */
    bool staged;            /* a copy in or out whose host side is a device's memory, too */
};

struct recorded_node {
    uint64_t exec, node;
    uint8_t kind; /* enum op_kind; OP_KIND_COUNT: an empty one, or of another kind */
    struct recorded_call made; /* what is known of it, as of a call that would do the same */
};
struct recorded_edge {
    uint64_t exec, from, to;
};
/* Where the program's source makes a call: "main.cu:17". */
struct recorded_line {
    uint32_t call; /* an index of `calls` */
    char *text;
};

/* Two that touch the same bytes, one of them writing, and that nothing orders: of what ran, it
 * is known. */
struct recorded_race {
    uint64_t address, bytes;
    struct recorded_racer {
        uint32_t call; /* an index of `calls`; RECORDING_NONE: the host's own code */
        bool writes;
        uint64_t node; /* of a graph; 0: none */
        char *place;   /* where the source does it; "": not known */
    } sides[2];
};

/* The recorder's own callbacks took that long in all, in so many calls that were looked at; and
 * how long such a call of the recorder's takes while it is recorded, and alone: 0 where that
 * was not measured. */
struct recording_cost {
    uint64_t calls;
    int64_t sum_ns, recorded_ns, alone_ns;
};

enum recording_end { RECORDING_CUT, RECORDING_EXIT, RECORDING_LIMIT, RECORDING_STOP };

/* All of it. Everything in it is owned by it. */
struct recording {
    struct arena arena; /* has the texts, and what was read in another order than it has here */
    enum timing timing; /* what wrote it: this program's own recorder, or a profiler */
    const char *traced_by; /* that profiler, as timelines say it; NULL: none. Not owned */
    int64_t resolution_ns; /* the finest step of its times; 0 is 1 */
    uint64_t bytes_unit;   /* and of its bytes */
    char *program;
    uint32_t driver;      /* 13000 */
    uint32_t connections; /* 0: not set */
    uint32_t rank, ranks; /* of a job of so many; 0 ranks: not told */
    bool launch_blocking, lazy;
    bool simulated; /* it ran on the CPU, in the time of a simulated machine */
    enum recording_end end;
    uint64_t lost;                             /* records that are missing */
    size_t doubled;                            /* calls whose id an earlier one has */
    struct recording_cost costs[EFFECT_KINDS]; /* by what calls do; those that wait have the
                                                  first of their kinds */
    bool costs_known;
    int64_t begin_ns;
    struct recorded_facts facts; /* but for prefetches and queues */
    struct recorded_device *devices;
    struct recorded_stream *streams;
    struct recorded_memory *memory;
    struct recorded_call *calls;
    struct recorded_op *ops;
    struct recorded_node *nodes; /* by exec, then by node */
    struct recorded_edge *edges; /* by exec */
    struct host_range *ranges;
    struct recorded_line *lines; /* by call */
    struct recorded_race *races;
    uint64_t *words; /* of launches and nodes: arguments that may be addresses */
    char **names;    /* of kernels */
    char **notes;
    size_t device_count, stream_count, memory_count, call_count, op_count, node_count,
        edge_count, range_count, line_count, race_count, word_count, name_count, note_count;
    uint32_t threads;
};

struct trace_input; /* trace/input.h */

/* Reads a recording up to its end, or up to where it was cut, which is no error: `end` says so.
 * STATUS_USAGE names `path`:line and what is wrong. Set only on STATUS_OK; free with
 * recording_free(). */
enum status recording_read(struct trace_input *input, const char *path,
                           struct recording *recording, struct error *error);
void recording_free(struct recording *recording);

/* Frees the calls and ops, most of a recording: once its plans are made only pictures look at
 * them. */
void recording_shed(struct recording *recording);

struct traces;

/* Makes a timeline of each device on which something ran. The recording, which must lie on the
 * heap, is owned by *traces then; after a failure, STATUS_NO_MEMORY, or STATUS_USAGE with the
 * reason without its place, it is freed. */
enum status recording_traces(struct recording *recording, struct traces *traces,
                             struct error *error);

/* Counts calls that CUDA took, and that have no op as it ran, though they issue one; and those
 * that it refused, and that have. Graphs are not counted. */
void recording_count_odd(const struct recording *recording, uint64_t *unseen,
                         uint64_t *refused);

#endif
