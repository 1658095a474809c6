/* process_check.h - refuses runs that need different settings of one process. */
#ifndef PIPELINE_APP_PROCESS_CHECK_H
#define PIPELINE_APP_PROCESS_CHECK_H

#include "core/status.h"
#include "options/options.h"

/* Checks that run number `run` of options->runs, which is on a real device, can be made in one
 * process with the runs before it. CUDA takes its number of hardware queues, and whether
 * launches wait, from the first run; and a kernel's code is loaded by the first run that has
 * it. STATUS_USAGE names the two settings that can't be together. */
enum status process_check(const struct options *options, int run, struct error *error);

#endif
