/* rates.h - what the process has measured of a device, for the next run of a comparison.
 *
 * Environment:
 *   PIPELINE_NO_RATES=1  kernels' rates are not measured, which takes long under a checker;
 *                        limits then know those of memory and copies alone */
#ifndef PIPELINE_CUDA_RATES_H
#define PIPELINE_CUDA_RATES_H

#include "cuda/device.h"
#include "plan/settings.h"

/* Sets *machine to the device with its copy rates, and the rates of the kernels (and with 4
 * ways of their CPU twins) in the chain of `settings`: measured now, unless the process knows
 * them. */
enum status cuda_rates_describe(const struct cuda_device *device,
                                const struct settings *settings, struct machine *machine,
                                struct error *error);

#endif
