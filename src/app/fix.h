/* fix.h - --fix: beside each run, the same work with the best settings that the simulator
 * found.
 */
#ifndef PIPELINE_APP_FIX_H
#define PIPELINE_APP_FIX_H

#include "options/options.h"

/* Puts behind each run of `options` one that is called "NAME fixed", where the simulator knows
 * settings that gain a hundredth or more; notes where it doesn't, and where one process can't
 * run both. The runs' devices are opened for that, and closed again. STATUS_USAGE for a sweep,
 * STATUS_NO_MEMORY, else the statuses of job_open() and job_plan(). */
enum status fix_add_runs(struct options *options, struct error *error);

#endif
