/* view_plan.h - what the plan of a recording tells of a run: its races. */
#ifndef PIPELINE_TRACE_VIEW_PLAN_H
#define PIPELINE_TRACE_VIEW_PLAN_H

#include "report/report.h"
#include "trace/replan.h"

/* Makes the plan of a run that was read from a recording of `device`, an index of its devices,
 * and is whole: run->timeline is there. The caller frees *plan. */
enum status view_make_plan(const struct recording *recording, uint32_t device,
                           const struct run_report *run, struct plan *plan,
                           struct replan_left *left, struct error *error);

/* Sets run->plan and its hazards; `plan` must stay.
 *
 * A race is certain where a copy or memset was issued while another one, in another stream,
 * touched the same bytes, one of them writing, and no stream, event, or wait of the host orders
 * them. Had the other ended before, then the program might have known that in a way that no
 * recording shows. It is possible, and only that, where one of both is a kernel to which just
 * these bytes were given, as copies name them, or that touches them by view_touch.h; and where
 * the recording lacks what could have ordered them. It is likely where the copy brings what the
 * kernel was given, or fetches what it leaves. Two kernels are never called a race: they may
 * only read. */
enum status view_judge_plan(const struct recording *recording, const struct plan *plan,
                            const struct replan_left *left, struct run_report *run,
                            struct error *error);

#endif
