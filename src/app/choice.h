/* choice.h - settings that are left to the simulator: tiles, streams, order, layout and
 * issue. */
#ifndef PIPELINE_APP_CHOICE_H
#define PIPELINE_APP_CHOICE_H

#include "app/job.h"

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

#endif
