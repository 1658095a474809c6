/* build.h - makes timelines of a trace's rows: private to the readers of traces.
 *
 * Rows come in any order; each goes to its device's timeline, which is put in order at the end.
 */
#ifndef PIPELINE_TRACE_BUILD_H
#define PIPELINE_TRACE_BUILD_H

#include "core/names.h"
#include "trace/trace.h"

enum { TRACE_DEVICES_MAX = 256, TRACE_SPANS_MAX = INT32_MAX };

/* One span as a reader finds it. */
struct trace_row {
    const char *device; /* "NVIDIA H200 (0)"; empty where the trace does not say */
    enum op_kind kind;  /* one that runs; copies of other kinds than these are kernels */
    const char *name;   /* of OP_KERNEL: the kernel's, "[CUDA memcpy Peer-to-Peer]" */
    uint32_t context, stream;
    uint64_t bytes;
    enum host_memory memory;  /* of the host's side of a copy */
    int64_t issue_ns;         /* negative where it is not known */
    int64_t start_ns, end_ns; /* neither is negative, and the end is no earlier */
};

/* The number that CUPTI gives the default stream of a context. */
enum { TRACE_DEFAULT_STREAM = 7 };

/* A stream whose kind a trace says. */
struct trace_stream {
    uint32_t context, stream;
    uint8_t kind; /* enum stream_kind */
};

/* An event of a process that was recorded in a stream, or that a stream waits for. */
struct trace_event {
    int64_t process, event, issue_ns;
    uint32_t context, stream;
    bool waits;
};

/* Facts that hold for all rows of a trace. */
struct trace_facts {
    enum timing timing;
    char driver[TIMELINE_TEXT]; /* as timelines say it */
    int64_t resolution_ns;
    uint64_t bytes_unit;
    struct host_call *calls;      /* of all threads; NULL: not known */
    const char **lines;           /* that calls refer to; what they point to stays theirs */
    struct trace_event *events;   /* put in order while they are read */
    struct trace_stream *streams; /* those whose kinds the trace says */
    size_t call_count, line_count, event_count, stream_count;
};

/* A builder holds what was read so far, and owns it until trace_build_finish() or
 * trace_build_free(). */
struct trace_builder {
    struct trace_facts facts;
    struct trace_part *parts; /* one per device */
    struct arena arena;       /* has the devices' names */
    size_t count, capacity;
    size_t last; /* the part that the last row went to */
};

/* Adds a copy of `row` to a builder that began with zeroes. STATUS_NO_MEMORY;
 * STATUS_USAGE where the row does not fit: the reason without its place. */
enum status trace_build_add(struct trace_builder *builder, const struct trace_row *row,
                            struct error *error);

/* `driver` of what Nsight Systems exported. */
#define TRACE_NSYS_DRIVER "traced by Nsight Systems"

/* Makes `traces` of all that was added, and of the builder's facts, devices by name. A
 * row whose call is not known, or behind its start, counts as issued when it began; where that
 * is one row in ten of a device or more, none of its issue times counts. The builder is empty
 * then, also after a failure. */
enum status trace_build_finish(struct trace_builder *builder, struct traces *traces,
                               struct error *error);
void trace_build_free(struct trace_builder *builder);

/* Gives a timeline the names of its kernels, copied into one piece of memory. */
enum status trace_names_take(const struct names *names, struct timeline *timeline,
                             struct error *error);

/* --- evidence.c: what a trace says beside when its ops ran --- */

/* Copies those of `calls`, in order of start and counted from `first_ns`, that lie within the
 * time of `timeline`. A call that another one of its thread made is left out. */
enum status trace_calls_take(struct timeline *timeline, const struct host_call *calls,
                             size_t count, int64_t first_ns, struct error *error);

/* Sets the kinds of the timeline's streams, which are `streams`, one each, numbered by
 * `numbers`: by `known` what that has; the others, where that is likely, by how the ops of the
 * default stream lie. */
enum status trace_kinds_take(struct timeline *timeline, const struct names *numbers,
                             const struct trace_stream *streams,
                             const struct trace_stream *known, size_t known_count,
                             struct error *error);

/* Finds what the streams' waits for events stand for: the op before the event's last record, in
 * that one's stream. `events` are put in order; times count from `first_ns`. */
enum status trace_waits_take(struct timeline *timeline, const struct names *numbers,
                             struct trace_event *events, size_t count, int64_t first_ns,
                             struct error *error);

/* Puts the timeline's waits in their order. */
void trace_waits_sort(struct timeline *timeline);

/* --- of names and kinds --- */

/* Sets trace->in and trace->out to what the spans of its timeline are. */
void trace_count_copies(struct trace *trace);

/* Returns the kind of a row named `name`: OP_H2D, OP_D2H, OP_D2D, OP_MEMSET, or OP_KERNEL for
 * all else. Copies are called "[CUDA memcpy Host-to-Device]", in older versions "[CUDA memcpy
 * HtoD]". */
enum op_kind trace_kind(const char *name);

/* Returns the part of a kernel's name that tells kernels apart at a glance, and its length:
 * "scale<float>" of "void scale<float>(const float *, float *)". */
const char *trace_short_name(const char *name, size_t *length);

#endif
