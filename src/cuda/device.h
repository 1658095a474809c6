/* device.h - a real device: starts it and reads its properties; and what CUDA takes from a
 * process only once.
 *
 * The device's context belongs to the process: it stays when a backend closes, and the next one
 * to open takes it up again. CUDA reads CUDA_DEVICE_MAX_CONNECTIONS and CUDA_LAUNCH_BLOCKING
 * when it starts, and it loads a kernel's code once. Both are remembered here, in global state,
 * for the process's later runs. */
#ifndef PIPELINE_CUDA_DEVICE_H
#define PIPELINE_CUDA_DEVICE_H

#include "core/status.h"
#include "kernels/kernel.h"
#include "machine/machine.h"
#include "plan/settings.h"
#include "plan/timeline.h"

struct cuda_device {
    int number;
    char driver[TIMELINE_TEXT / 2]; /* "driver 13.0, runtime 13.0" */
    struct machine machine;         /* the properties alone: rates are not known yet */
};

/* Makes the device that `argument` names ("" or a number) the current one and fills *device.
 * STATUS_NO_DEVICE when there is none, STATUS_USAGE when the name is wrong. */
enum status cuda_device_open(const char *argument, struct cuda_device *device,
                             struct error *error);

/* Sets the timeline's device and driver. */
void cuda_device_sign(const struct cuda_device *device, struct timeline *timeline);

/* Calls `each` for every device, with its name for --device and one line about it. */
void cuda_device_list(void (*each)(void *context, const char *device, const char *summary),
                      void *context);

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
