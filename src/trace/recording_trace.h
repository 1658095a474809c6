/* recording_trace.h - a recording as timelines: private to the readers of traces. */
#ifndef PIPELINE_TRACE_RECORDING_TRACE_H
#define PIPELINE_TRACE_RECORDING_TRACE_H

#include "trace/trace.h"

/* Reads a recording into one timeline for each device that did something, and keeps it in
 * traces->recording. `path` is what errors call the file. */
enum status trace_recording_read(struct trace_input *input, const char *path,
                                 struct traces *traces, struct error *error);

struct recording; /* trace/recording.h */

/* Counts calls that CUDA took, and that have no op as it ran, though they issue one; and those
 * that it refused, and that have. Graphs are not counted. */
void recording_count_odd(const struct recording *recording, uint64_t *unseen,
                         uint64_t *refused);

/* Returns the index of the device that a timeline of the recording is called after;
 * RECORDING_NONE: none. */
uint32_t recording_device_of(const struct recording *recording, const char *name);

/* Lists what the spans of a whole timeline of `device` are, by span.op: an index of
 * recording->ops or, less op_count, of its calls, for functions of the host. Sets *count.
 * Returns a list to be freed; NULL: no memory. O(n log n). */
uint32_t *recording_list_spans(const struct recording *recording, uint32_t device,
                               size_t *count);

#endif
