/* view_fix.h - what a fix of a recorded program would bring: its machine, and its run as
 * simulated with the best fixes. */
#ifndef PIPELINE_TRACE_VIEW_FIX_H
#define PIPELINE_TRACE_VIEW_FIX_H

#include "report/report.h"
#include "trace/recording.h"

/* Finds the machine file that stands for device `device`, an index of the recording's:
 * `calibrated`, if that is not NULL, which must be of a device of that name; else `asked`, the
 * value of --machine, or NULL: the one of its name. *found is false where there is none,
 * which is an error only if one was asked for. It has the hardware queues that the program had.
 */
enum status view_find_machine(const struct machine *calibrated, const char *asked,
                              const struct recording *recording, uint32_t device,
                              struct machine *machine, bool *found, struct error *error);

/* Judges a run; with `machine`, which may be NULL, against its limit there, and with the fixes
 * of run->plan tried on it. */
enum status view_judge_run(struct run_report *run, const struct machine *machine,
                           struct error *error);

/* Makes a judged run as it would be with the best fixes that its verdicts have: as simulated,
 * all times in proportion to the one that the verdicts predict, so that there is one number for
 * a fix. It has a plan of its own that it refers to: free that with plan_free() behind the run.
 * *found is false where no fix gains a hundredth, or none can be predicted. */
enum status view_fix_run(const struct run_report *run, const struct machine *machine,
                         struct run_report *fixed, struct plan *plan, bool *found,
                         struct error *error);

/* Says in a note why there is no fixed run beside a judged one of the name `name`. */
void view_note_no_fix(const struct run_report *run, const char *name, bool machine_known,
                      bool quiet);

#endif
