/* probe.h - measures what the current device does: copies, memory, kernels.
 *
 * Each figure is the fastest of several repeats, timed by events on the device. */
#ifndef PIPELINE_CUDA_PROBE_H
#define PIPELINE_CUDA_PROBE_H

#include "core/status.h"
#include "kernels/kernel_code.h"
#include "machine/machine.h"

/* One kernel's rates as measured, and on what. */
struct cuda_measured {
    struct kernel_params params;
    uint64_t tile; /* elements, where rates depend on a tile's shape; else 0 */
    bool cpu;      /* the CPU twin is measured, too */
    struct machine_kernel row;
};

/* Measures the copy rates, latencies and memory bandwidth of the current device, about 0.2 s,
 * with 32 MiB of host memory. The rest of `machine` is as it was. */
enum status cuda_probe_copies(struct machine *machine, struct error *error);

/* Measures `kernel` on the current device, with measured->params, on buffers larger than its
 * caches; where measured->cpu is set also its CPU twin, on at most `elements`. Sets
 * measured->row. A kernel that is .rated is left to cuda_probe_product(), which
 * measures it on a tile of measured->tile elements, or on as much of it as there is room for;
 * it sets the rates of its arithmetic alone, for that is what counts. */
enum status cuda_probe_kernel(const struct machine *machine, const struct kernel *kernel,
                              uint64_t elements, struct cuda_measured *measured,
                              struct error *error);
enum status cuda_probe_product(const struct kernel *kernel, struct cuda_measured *measured,
                               struct error *error);

#endif
