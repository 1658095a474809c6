/* build.h - what timelines are made with: private to the readers of traces. */
#ifndef PIPELINE_TRACE_BUILD_H
#define PIPELINE_TRACE_BUILD_H

#include "core/names.h"
#include "trace/recording.h"
#include "trace/trace.h"

enum { TRACE_DEVICES_MAX = 256, TRACE_SPANS_MAX = INT32_MAX };

/* The number that CUPTI gives the default stream of a context. */
enum { TRACE_DEFAULT_STREAM = 7 };

/* A timeline is made of this, which has what one device did. */
struct trace_part {
    struct recording *recording;
    uint32_t device;         /* of it */
    const uint32_t *numbers; /* of all its streams, each in the timeline of its device */
    uint32_t *streams;       /* of the recording, by number */
    struct span *spans;
    struct names names;
    size_t stream_count, stream_capacity, count, capacity;
    uint32_t uncalled; /* ops of which no call is known: they count as issued when they began */
    uint32_t early;    /* ops that start before their call */
};

/* `driver` of what Nsight Systems exported. */
#define TRACE_NSYS_DRIVER "traced by Nsight Systems"

/* These fill a timeline, out of its arena: where that is full, it can only be freed.
 *
 * Gives it the names of its kernels, copied. */
void trace_names_take(const struct names *names, struct timeline *timeline);

/* --- evidence.c: what a trace says beside when its ops ran --- */

/* Copies those of `calls`, in order of start and counted from `first_ns`, that lie within the
 * time of `timeline`. A call that another one of its thread made is left out. */
void trace_calls_take(struct timeline *timeline, const struct host_call *calls, size_t count,
                      int64_t first_ns);

/* Sets the kinds of the timeline's streams, those of `part`: what the recording says, and of
 * others, where that is likely, how the ops of the default stream lie. A profiler's recording
 * has the likely ones then, too. */
void trace_kinds_take(struct timeline *timeline, const struct trace_part *part);

/* Finds what the streams' waits for events stand for: the op before the event's last record, in
 * that one's stream. `events` are calls that record or wait, in order of event, then of start;
 * times count from `first_ns`. */
void trace_waits_take(struct timeline *timeline, const struct trace_part *part,
                      const struct recorded_call *const *events, size_t count,
                      int64_t first_ns);

/* With `add`, adds to traces->unread what was not read of a file, or that it lacks. */
void traces_add_unread(struct traces *traces, const char *path, bool add, const char *format,
                       ...);

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
