/* cut.h - a part of a trace: some of its time, some of its streams. */
#ifndef PIPELINE_TRACE_CUT_H
#define PIPELINE_TRACE_CUT_H

#include "options/options.h"
#include "trace/trace.h"

/* Leaves the devices, the streams and the time that `part` asks for. An op that crosses an edge
 * of the window is cut there, its bytes in proportion; times then count from the window's
 * beginning. Sets trace->part to what was kept, in words; what the file said of the whole, its
 * limit and speed-up, is then forgotten. STATUS_USAGE: the file `path` has no such device or
 * stream, and the error lists those that it has; or the window begins behind the end of all, or
 * ends before it begins. STATUS_NO_MEMORY: the traces can then only be freed. */
enum status traces_cut(struct traces *traces, const struct view_part *part, const char *path,
                       struct error *error);

/* Leaves the loop of a trace, trace->loop, which must have been found, and sets trace->end_ns.
 * STATUS_NO_MEMORY: the trace can then only be freed. */
enum status trace_keep_loop(struct trace *trace, struct error *error);

#endif
