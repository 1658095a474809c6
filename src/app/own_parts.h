/* own_parts.h - what `pipeline kernel check` tries in one process. */
#ifndef PIPELINE_APP_OWN_PARTS_H
#define PIPELINE_APP_OWN_PARTS_H

#include "core/status.h"
#include "kernels/kernel.h"

#include <stdio.h>

/* Tries a part, "twin", "launcher" or "cost", on a device, and says on `out` how. STATUS_USAGE
 * where there is no such part, or the device can't try it; STATUS_FAILED where it is wrong. */
enum status own_part_try(const char *part, const char *device, const struct kernel *kernel,
                         FILE *out, struct error *error);

/* Opens a device and closes it again. The statuses of a backend's open(). */
enum status own_part_open(const char *device, struct error *error);

#endif
