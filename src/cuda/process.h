/* process.h - what CUDA takes from a process only once.
 *
 * CUDA reads CUDA_DEVICE_MAX_CONNECTIONS and CUDA_LAUNCH_BLOCKING when it starts, and it loads
 * a kernel's code once. Both are remembered here, in global state, for the process's later
 * runs. */
#ifndef PIPELINE_CUDA_PROCESS_H
#define PIPELINE_CUDA_PROCESS_H

#include "core/status.h"
#include "kernels/kernel.h"
#include "plan/settings.h"

#include <stdbool.h>

/* Sets the environment that CUDA will start with, from the first run's settings. Later calls do
 * nothing. */
void cuda_process_configure(const struct settings *settings);

/* STATUS_USAGE if `settings` ask for another start than the process had. */
enum status cuda_process_check(const struct settings *settings, struct error *error);

/* Returns true if the process has loaded the kernel's code, or may have. */
bool cuda_kernel_is_loaded(const struct kernel *kernel);

/* Remembers that the kernel's code is loaded, or is about to be. */
void cuda_kernel_loaded(const struct kernel *kernel);

#endif
