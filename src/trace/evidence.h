/* evidence.h - what a trace says beside when its ops ran: the host's calls, the kinds of
 * streams. Private to the readers of traces. */
#ifndef PIPELINE_TRACE_EVIDENCE_H
#define PIPELINE_TRACE_EVIDENCE_H

#include "core/names.h"
#include "core/status.h"
#include "plan/timeline.h"

#include <stddef.h>

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

/* Copies those of `calls`, in order of start and counted from `first_ns`, that lie within the
 * time of `timeline`. A call that another one of its thread made is left out. */
enum status trace_calls_take(struct timeline *timeline, const struct host_call *calls,
                             size_t count, int64_t first_ns, struct error *error);

/* Sets the kinds of the timeline's streams, which are `streams`, one each, numbered by
 * `numbers`: by `known` where that has them all; else, where that is likely, by how the ops of
 * the default stream lie. */
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

#endif
