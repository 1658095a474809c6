/* job.h - one run: all that it holds while it lasts, and its stages. */
#ifndef PIPELINE_APP_JOB_H
#define PIPELINE_APP_JOB_H

#include "calibrate/calibrate.h"
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
    struct machine reference;   /* stands for the device, where it is simulated beside it */
    const struct machine *file; /* what `reference` was before the host was measured; NULL: it
                                   was not */
    struct plan plan;
    struct arrays arrays;
    struct arrays untiled; /* its output alone: untiled.c */
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

/* Makes the model of the job's reference, which has become another or is known at last. */
void job_set_model(struct job *job);

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

/* --- beside.c: other settings on a job's device, before the job's own plan is prepared --- */

struct beside {
    /* The caller sets these. */
    struct settings settings;
    uint32_t runs;
    bool untold; /* what is right is not known: results are not judged, and nothing warms up */
    /* beside_run() sets these. */
    bool ran;             /* the device could do it: an error came after that */
    struct arrays arrays; /* the host arrays, with the last output. Owned by the caller, also
                             after an error; none with settings.no_data */
    int64_t median_ns;
};

/* Prepares the settings' plan on the job's open device, warms up where that measures, and runs
 * it `runs` times, each verified; then gives back all but the arrays. A simulated device runs
 * once. STATUS_USAGE where the device can't run it, STATUS_NO_MEMORY, STATUS_FAILED. */
enum status beside_run(struct job *job, struct beside *beside, struct error *error);

/* --- choice.c: settings that are left to the simulator --- */

/* Chooses tiles, streams, order, layout and issue where they are auto, on the machine that
 * stands for the opened device, and notes what was chosen and what else was tried: from here on
 * job->settings say what is used. Returns what tune_settings() does. */
enum status choice_make(struct job *job, struct error *error);

/* Measures what was chosen, what would be usual and what the simulator found nearly as good, on
 * a real device, notes what came out, and sets job->settings to the fastest; *changed: they are
 * others now, so that the job needs another plan. Does nothing where choice_weigh() does
 * nothing. STATUS_FAILED: one went wrong. */
enum status choice_try(struct job *job, bool *changed, struct error *error);

/* Runs the settings that would be usual in place of those that were chosen, on the same device,
 * as often as the job's own, and gives the report their median time. Does nothing where nothing
 * was chosen, the choice is what is usual, those settings can't be run, or the run shows a
 * mistake or is for a profiler or for ranks. STATUS_FAILED: they went wrong. */
enum status choice_weigh(struct job *job, struct run_report *report, struct error *error);

/* --- untiled.c: what is right of a kernel that has no CPU twin --- */

/* Refuses settings of which such a kernel's results could not be judged, or that ask a CPU to
 * do its work: `real` says that the device measures. STATUS_USAGE names the kernel and what
 * else would do. Nothing is refused where all kernels have twins. */
enum status untiled_check(const struct settings *settings, bool real, struct error *error);

/* Has the job's device do the chain's work with all elements as one tile, if a kernel of it has
 * no twin, and keeps the output in job->untiled, in one piece. Memory for the whole array is
 * taken on the host and on the device, and given back but for that output. Comes before the
 * job's own plan is prepared. */
enum status untiled_run(struct job *job, struct error *error);

/* --- measured.c: what is calibrated on the device that is here --- */

/* Measures the CUDA device that is here, for `pipeline view --calibrate`. Sets *found on
 * STATUS_OK: to be freed. STATUS_USAGE: --machine was given as well; else as
 * calibrate_device(). */
enum status measured_device(const struct options *options, struct calibration **found,
                            struct error *error);

/* Measures what calls cost the host of the job's device, which is open, and whatever else of
 * what a host decides the job's predictions rest on, once for all runs of a device; the job's
 * reference gets it, and `file` is set to what that was before. It does so for real devices
 * that have a machine file, unless --no-calibrate is given, and with `compare --calibrate` for
 * any device. STATUS_USAGE where that was asked for, and there is nothing that a measured call
 * could stand in the place of; else as calibrate_host_of(). */
enum status measured_host(struct job *job, struct error *error);

#endif
