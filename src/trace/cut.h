/* cut.h - a part of a trace: some of its time, some of its streams. */
#ifndef PIPELINE_TRACE_CUT_H
#define PIPELINE_TRACE_CUT_H

#include "options/options.h"
#include "trace/trace.h"

/* Returns true if `part` leaves a device of the trace in: it is the trace's number in its file,
 * or behind its name as in "NVIDIA H200 (1)", or a part of the name whatever its case. */
bool trace_is_device(const struct trace *trace, int number, const struct view_part *part);

/* Returns true if the trace has one of the streams, or all are wanted. */
bool trace_has_streams(const struct trace *trace, const struct view_part *part);

/* Leaves what `part` asks for. An op that crosses an edge of the window is cut there, its bytes
 * in proportion; times then count from the window's beginning. Sets trace->part to what was
 * kept, in words; what the file said of the whole, its limit and speed-up, is then forgotten.
 * STATUS_USAGE: the window begins behind the end of all, or ends before it begins; the trace is
 * as it was. STATUS_FAILED: memory ran out, and the trace can only be freed. */
enum status trace_cut(struct trace *trace, const struct view_part *part, struct error *error);

#endif
