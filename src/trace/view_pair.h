/* view_pair.h - two files side by side: before a change, and after it. */
#ifndef PIPELINE_TRACE_VIEW_PAIR_H
#define PIPELINE_TRACE_VIEW_PAIR_H

#include "trace/view.h"

/* Adds what part of the trace a run is to its name, so that every picture says it. */
void view_name_part(const struct trace *trace, char name[RUN_NAME_MAX]);

/* Puts each run of the first file before its partner of the second, which begins at run
 * `second`; those without one are left out. STATUS_USAGE: no run has a partner, or in one that
 * has nothing ran; STATUS_NO_MEMORY. */
enum status view_compare_files(struct view *view, const struct options *options, int second,
                               struct error *error);

#endif
