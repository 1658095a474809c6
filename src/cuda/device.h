/* device.h - a real device: starts it and reads its properties.
 *
 * The device's context belongs to the process: it stays when a backend closes, and the next one
 * to open takes it up again. */
#ifndef PIPELINE_CUDA_DEVICE_H
#define PIPELINE_CUDA_DEVICE_H

#include "core/status.h"
#include "machine/machine.h"
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

/* Calls `each` for every device, with its name for --device and one line about it. */
void cuda_device_list(void (*each)(void *context, const char *device, const char *summary),
                      void *context);

#endif
