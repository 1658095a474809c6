/* anonymous.h - runs whose report leaves names out: --anonymous. */
#ifndef PIPELINE_APP_ANONYMOUS_H
#define PIPELINE_APP_ANONYMOUS_H

#include "app/job.h"

/* Leaves folders of files and names of hosts out of runs that are about to be reported, and of
 * their settings, by which nothing is opened any more. Hosts are numbered, in each run from 1.
 */
void anonymous_runs(struct job *jobs, struct report *report);

/* Leaves them out of a copy of a run's settings, which is shown before the run's files are
 * opened: `device` gets what is left of its device, if that is a file. */
void anonymous_settings(struct settings *settings, char device[TIMELINE_TEXT]);

#endif
