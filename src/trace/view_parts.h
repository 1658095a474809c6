/* view_parts.h - what the files of `pipeline view` call of one another: private to them. */
#ifndef PIPELINE_TRACE_VIEW_PARTS_H
#define PIPELINE_TRACE_VIEW_PARTS_H

#include "trace/replan.h"
#include "trace/view.h"

/* --- view_loop.c: the loop of a run, what of its timeline and its plan is judged --- */

/* Finds the loop of a run that was read whole from `trace` and leaves nothing but that in its
 * timeline, and in `plan`, which is the run's or NULL: sets trace->loop. Where none is found
 * all stays. Races that were found stay, too; those outside of the loop name spans SPAN_NONE.
 * STATUS_NO_MEMORY, STATUS_FAILED: the run can then only be freed. */
enum status view_keep_loop(struct run_report *run, struct trace *trace, struct plan *plan,
                           struct error *error);

/* --- view_pair.c: two files side by side, before a change and after it --- */

/* Adds what part of the trace a run is to its name, so that every picture says it. */
void view_name_part(const struct trace *trace, char name[RUN_NAME_MAX]);

/* Puts each run of the first file before its partner of the second, which begins at run
 * `second`; those without one are left out. STATUS_USAGE: no run has a partner, or in one that
 * has nothing ran; STATUS_NO_MEMORY. */
enum status view_compare_files(struct view *view, const struct options *options, int second,
                               struct error *error);

/* Finds how often each run and its partner, the next, did the work that both do, and sets their
 * speed-ups; NAN where they have too little in common. STATUS_NO_MEMORY. */
enum status view_weigh_pairs(struct view *view, struct error *error);

/* --- view_ranks.c: a file for each rank of one job --- */

/* Where each run is another rank of one job, has them count from one clock, names them by their
 * ranks, and finds which of them the others wait for; else returns false. */
bool view_join_ranks(struct view *view);

/* --- view_plan.c: what the plan of a recording tells of a run, its races --- */

/* Makes the plan of a trace that was made of a recording and is whole. The caller frees *plan.
 */
enum status view_make_plan(const struct trace *trace, struct plan *plan,
                           struct replan_left *left, struct error *error);

/* Sets run->plan and its hazards; `plan` must stay.
 *
 * Races that the recording tells are certain. Where it tells none, one is certain where a copy
 * or memset was issued while another one, in another stream,
 * touched the same bytes, one of them writing, and no stream, event, or wait of the host orders
 * them. Had the other ended before, then the program might have known that in a way that no
 * recording shows. It is possible, and only that, where one of both is a kernel to which just
 * these bytes were given, as copies name them, or that touches them by view_find_touches(); and
 * where the recording lacks what could have ordered them. It is likely where the copy brings
 * what the kernel was given, or fetches what it leaves. Two kernels are never called a race:
 * they may only read. */
enum status view_judge_plan(const struct trace *trace, const struct plan *plan,
                            const struct replan_left *left, struct run_report *run,
                            struct error *error);

/* --- view_touch.c: what launches of a recorded program touch, as far as pointers tell --- */

/* A touch is what is guessed of one access of a kernel, since no recording shows it. Pointers
 * at the same place among a kernel's arguments belong together. */
struct touch {
    uint64_t bytes;        /* from its pointer on that it touches: a step, if it */
    bool steps;            /* steps evenly through one buffer from launch to launch */
    bool brought, fetched; /* copies or memsets write just these bytes; copies read them */
    bool written;          /* what the kernel leaves there is what copies out fetch */
};

/* Fills `touches`, which are zeroed, one for each access of a recorded plan. O(n log n).
 * STATUS_NO_MEMORY. */
enum status view_find_touches(const struct plan *plan, struct touch *touches,
                              struct error *error);

/* --- view_fix.c: what a fix of a recorded program would bring, its machine and its run as
 * simulated with the best fixes --- */

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
