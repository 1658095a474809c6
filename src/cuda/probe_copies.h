/* probe_copies.h - measures the copy rates and the memory of the current device. */
#ifndef PIPELINE_CUDA_PROBE_COPIES_H
#define PIPELINE_CUDA_PROBE_COPIES_H

#include "core/status.h"
#include "machine/machine.h"

/* Sets the machine's copy rates, latencies and memory bandwidth: takes about 0.2 s, and 32 MiB
 * of host memory. The rest of `machine` is as it was. */
enum status probe_copies(struct machine *machine, struct error *error);

#endif
