/* view_loop.h - the loop of a run: what of its timeline and its plan is judged. */
#ifndef PIPELINE_TRACE_VIEW_LOOP_H
#define PIPELINE_TRACE_VIEW_LOOP_H

#include "report/report.h"
#include "trace/trace.h"

/* Finds the loop of a run that was read whole from `trace` and leaves nothing but that in its
 * timeline, and in `plan`, which is the run's or NULL: sets trace->loop. Where none is found
 * all stays. Races that were found stay, too; those outside of the loop name spans SPAN_NONE.
 * STATUS_NO_MEMORY, STATUS_FAILED: the run can then only be freed. */
enum status view_keep_loop(struct run_report *run, struct trace *trace, struct plan *plan,
                           struct error *error);

#endif
