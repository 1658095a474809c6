/* own.h - kernels of users' own, from shared libraries (kernels/own_kernel.h). */
#ifndef PIPELINE_KERNELS_OWN_H
#define PIPELINE_KERNELS_OWN_H

#include "core/status.h"
#include "kernels/kernel.h"

/* Opens the library `path` and returns its kernel, which stays for as long as the process. A
 * path without a slash is one in the present folder. NULL, and a STATUS_USAGE error that begins
 * with the path, where it is no such library. Not for several threads at once. */
const struct kernel *kernel_own_open(const char *path, struct error *error);

#endif
