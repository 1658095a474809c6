/* describe.h - the devices of a run as one machine, and what the process has measured of them,
 * for the next run of a comparison.
 *
 * Environment:
 *   PIPELINE_NO_RATES=1  kernels' rates are not measured, which takes long under a checker;
 *                        limits then know those of memory and copies alone */
#ifndef PIPELINE_CUDA_DESCRIBE_H
#define PIPELINE_CUDA_DESCRIBE_H

#include "cuda/device.h"
#include "plan/settings.h"

/* Sets *machine to a device with its copy rates, and the rates of the kernels (and with 4 ways
 * of their CPU twins) in the chain of `settings`: measured now, unless the process knows them.
 * Of several devices each is measured alone, and then what the host's memory gives all of them
 * at once. Tiles are dealt evenly, so a run waits for the slowest: each figure is that of the
 * device with which it is worst. */
enum status cuda_describe(const struct cuda_devices *devices, const struct settings *settings,
                          struct machine *machine, struct error *error);

#endif
