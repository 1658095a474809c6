/* probe_host.h - what the host's memory gives the copies of several devices at once. */
#ifndef PIPELINE_CUDA_PROBE_HOST_H
#define PIPELINE_CUDA_PROBE_HOST_H

#include "cuda/device.h"
#include "plan/rules.h"

/* Sets what all devices copy together, in bytes per second: into them, out of them, and both
 * ways at once. Takes some tenths of a second, and 256 MiB of host memory for each device. */
enum status probe_host(const struct cuda_devices *devices, struct host_rates *rates,
                       struct error *error);

#endif
