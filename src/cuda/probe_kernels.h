/* probe_kernels.h - measures a kernel and its CPU twin, as the current device and host run
 * them. */
#ifndef PIPELINE_CUDA_PROBE_KERNELS_H
#define PIPELINE_CUDA_PROBE_KERNELS_H

#include "core/status.h"
#include "kernels/kernel.h"
#include "machine/machine.h"

/* One kernel's rates as measured, and on what. */
struct cuda_measured {
    struct kernel_params params;
    uint64_t tile; /* elements, where rates depend on a tile's shape; else 0 */
    bool cpu;      /* the CPU twin is measured, too */
    struct machine_kernel row;
};

/* Measures `kernel` on the current device, with measured->params, and where measured->cpu is
 * set also its CPU twin. Sets measured->row.
 *
 * Most kernels are measured on buffers larger than the device's caches, their twins on at most
 * `elements`; `machine` gives the device's shape. A kernel that is .rated (a matrix product,
 * whose speed depends on a tile's shape) is measured on a tile of measured->tile elements, or
 * on as much of it as there is room for, and only the rates of its arithmetic are set. */
enum status probe_kernel(const struct machine *machine, const struct kernel *kernel,
                         uint64_t elements, struct cuda_measured *measured,
                         struct error *error);

#endif
