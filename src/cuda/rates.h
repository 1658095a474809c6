/* rates.h - the rates of kernels on the current device, and of their CPU twins. */
#ifndef PIPELINE_CUDA_RATES_H
#define PIPELINE_CUDA_RATES_H

#include "core/status.h"
#include "kernels/kernel.h"
#include "machine/machine.h"

/* One kernel's rates as measured, and on what. */
struct cuda_measured {
    const struct kernel *kernel;
    struct kernel_params params;
    uint64_t tile; /* elements, where rates depend on a tile's shape; else 0 */
    bool cpu;      /* the CPU twin is measured, too */
    struct machine_kernel row;
};

/* Measures measured->kernel, and where measured->cpu is set its CPU twin; sets measured->row.
 * Most kernels are measured on buffers larger than the device's caches, their twins on at most
 * `elements`. A matrix product is measured on measured->tile elements, or on as many as there
 * is room for, and only the rates of its arithmetic are set. */
enum status cuda_rates_measure(const struct machine *machine, uint64_t elements,
                               struct cuda_measured *measured, struct error *error);

#endif
