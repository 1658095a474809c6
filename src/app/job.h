/* job.h - one run: all that it holds while it lasts, and its stages. */
#ifndef PIPELINE_APP_JOB_H
#define PIPELINE_APP_JOB_H

#include "options/options.h"
#include "report/report.h"
#include "report/tune.h"
#include "run/arrays.h"
#include "run/backend.h"
#include "run/host_ops.h"
#include "term/output_file.h"
#include "term/progress.h"

/* Begin with zeroes but for `options` and `settings`. */
struct job {
    const struct options *options;
    struct settings settings; /* as used */
    const struct backend_ops *ops;
    struct backend *backend;
    struct machine machine;
    struct machine model; /* the reference with the device's own rates: fixes are tried on it */
    bool model_known;
    struct settings typed; /* with what is auto not chosen yet */
    struct settings usual; /* what chosen settings would else be; 0 tiles: none were chosen */
    struct tuned *tuned;   /* how they were chosen; NULL: none were */
    struct settings asked; /* the settings before the plan changed any: fixes begin there */
    struct machine reference; /* stands for the device, where it is simulated beside it */
    /* compare --calibrate: the machine file, and the reference: the same with what calls cost
     * the device's host as measured. Else NULL. */
    const struct machine *file, *calibrated;
    struct plan plan;
    struct arrays arrays;
    struct arrays untiled; /* its output alone: app/untiled.h */
    struct workload workload;
    struct tile_fold fold;
    struct error wrong; /* a wrong result that was made on purpose: settings.mistake */
    char device[TIMELINE_TEXT];
};

/* Sets the number of elements where an input file says it, and checks the settings again. Call
 * it for all runs before the first stage of any, so that nothing has run when one can't. */
enum status job_count_elements(struct job *job, struct error *error);

/* The stages of a run, in their order; each comes only where the one before it succeeded, and
 * each is a range of its own for profilers (term/marks.h). */

/* Opens the device that the settings name and describes it as a machine. */
enum status job_open(struct job *job, struct error *error);

/* Builds the plan, and chooses what settings were left to the simulator.
 * `report` gets the plan's hazards; a plan that has any is refused unless settings.mistake
 * asked for them. */
enum status job_plan(struct job *job, struct run_report *report, struct error *error);

/* Takes memory on the host and on the device. Where settings were chosen, `report` gets what
 * those that are usual take, which are run first. */
enum status job_prepare(struct job *job, struct run_report *report, struct error *error);

/* Runs the plan as often as asked for and verifies every element each time. `report` gets the
 * times and the timeline; with --profile a real device, after its warm-up, makes the one run
 * for the profiler, and there is no timeline. A wrong result is an error, unless it was asked
 * for by settings.mistake: then it is kept in job->wrong. */
enum status job_run(struct job *job, struct run_report *report, struct error *error);

/* Explains the timeline: limit, busy times, critical path, verdicts, latency. */
enum status job_analyse(struct job *job, struct run_report *report, struct error *error);

/* Simulates the plan on the machine that stands for the device, as --model and
 * `pipeline compare` ask. */
enum status job_compare(struct job *job, struct run_report *report, struct error *error);

/* Writes the result into `file`, unless that is not open or the result is not verified. */
enum status job_write_output(struct job *job, const struct run_report *report,
                             struct output_file *file, struct error *error);

/* Gives everything back but job->settings and job->usual, which the report refers to. Safe
 * after any stage, also one that failed. */
void job_end(struct job *job);

#endif
