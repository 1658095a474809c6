/* process_check.h - what CUDA settles once in a process, so that not every run can have it. */
#ifndef PIPELINE_APP_PROCESS_CHECK_H
#define PIPELINE_APP_PROCESS_CHECK_H

#include "core/status.h"
#include "options/options.h"

/* Whether run number `run` of options->runs, which is one on a real device, can be made in one
 * process with those before it: CUDA starts with the settings of the first, for its hardware
 * queues and for launches that wait; and a kernel is loaded by the first run that has it.
 * STATUS_USAGE says what can't be together. */
enum status process_check(const struct options *options, int run, struct error *error);

#endif
