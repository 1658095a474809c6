/* backends.h - the list of backends, and which runs on them one process can make. */
#ifndef PIPELINE_APP_BACKENDS_H
#define PIPELINE_APP_BACKENDS_H

#include "options/options.h"
#include "run/backend.h"

/* All backends, ended by NULL. The first is the simulator, which every program has. */
extern const struct backend_ops *const backends[];

/* Returns true if the backend of a value of --device measures: a real device. "auto" means one
 * where there is one. */
bool backends_measure(const char *device);

/* Checks that run number `run` of options->runs, which is on a real device, can be made in one
 * process with the runs before it. CUDA takes its number of hardware queues, and whether
 * launches wait, from the first run; and a kernel's code is loaded by the first run that has
 * it. STATUS_USAGE names the two settings that can't be together. */
enum status process_check(const struct options *options, int run, struct error *error);

#endif
