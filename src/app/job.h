/* job.h - one run: all that it holds while it lasts, and its way from settings to results. */
#ifndef PIPELINE_APP_JOB_H
#define PIPELINE_APP_JOB_H

#include "options/options.h"
#include "report/report.h"
#include "run/arrays.h"
#include "run/backend.h"
#include "run/tile_fold.h"
#include "term/output_file.h"
#include "term/progress.h"

/* Begin with zeroes but for `options` and `settings`. */
struct job {
    const struct options *options;
    struct settings settings; /* as used */
    const struct backend_ops *ops;
    struct backend *backend;
    struct machine machine;
    struct machine reference; /* stands for the device, where it is simulated beside it */
    struct plan plan;
    struct arrays arrays;
    struct workload workload;
    struct tile_fold fold;
    struct error wrong; /* a wrong result that was made on purpose: settings.mistake */
    char device[TIMELINE_TEXT];
};

/* Sets the number of elements where an input file says it, and checks the settings again.
 * Comes before job_run(): done for all runs first, nothing has run when one of them can't. */
enum status job_count_elements(struct job *job, struct error *error);

/* Runs job->settings: opens the device, builds the plan, runs it as often as asked for,
 * verifies every element each time, analyses the traced run into `report`, and writes `output`
 * where it is open. A wrong result ends it, unless it was asked for by settings.mistake: then
 * it is kept in job->wrong, and `output` is not written. With --dry-run prints the plan
 * instead. With --profile a real device, after its warm-up, makes the one run for the profiler:
 * `report` then has no timeline. Every stage is a range (term/marks.h). After it, also where it
 * failed, job_end(). */
enum status job_run(struct job *job, struct output_file *output, struct run_report *report,
                    struct error *error);

/* Gives everything back but job->settings, which the report refers to. */
void job_end(struct job *job);

#endif
