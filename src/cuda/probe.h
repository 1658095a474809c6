/* probe.h - times work on the current device, and CPU twins; and the device's copies.
 *
 * Times of the device are between events, and the fastest of several repeats counts: a rate
 * that is measured here bounds what a run can do, and a disturbance only ever slows the device
 * down. */
#ifndef PIPELINE_CUDA_PROBE_H
#define PIPELINE_CUDA_PROBE_H

#include "core/status.h"
#include "cuda/device.h"
#include "kernels/kernel.h"
#include "kernels/kernel_code.h"
#include "machine/machine.h"
#include "plan/rules.h"

enum { PROBE_HOST_BYTES = 16 << 20 };

/* The memory, streams and events to measure with. What is NULL was not taken. */
struct probe {
    char *host[2]; /* page-locked, of `host_bytes` each: to copy from, to copy to */
    uint64_t mapped[2];
    bool registered[2];
    char *device;
    uint64_t host_bytes, device_bytes;
    cudaStream_t streams[2]; /* H2D and kernels, D2H */
    cudaEvent_t begin, ends[2];
};

/* Sets *bytes to `wanted`, or to a quarter of the free device memory if that is less. It is an
 * error if that is too little to measure with. */
enum status probe_room(uint64_t wanted, uint64_t *bytes, struct error *error);

/* Takes it all, with `host_bytes`, mostly PROBE_HOST_BYTES, of host memory each way, and
 * `device_bytes` of device memory. probe_close() in any case. */
enum status probe_open(struct probe *probe, uint64_t host_bytes, uint64_t device_bytes,
                       struct error *error);

/* Gives it all back, and returns `status`, what measuring ended with. If that is STATUS_OK, a
 * call that fails here is an error: what stays behind, as memory that is still page-locked,
 * would be in the way of the run. Behind an error it is a warning. */
enum status probe_close(struct probe *probe, enum status status, struct error *error);

/* Fills the device memory with generated elements, in the first stream: nothing is measured on
 * zeros, which hardware may do faster. */
enum status probe_fill(struct probe *probe, enum dtype dtype, struct error *error);

/* Puts all of some work into the probe's streams. */
typedef enum status probe_issue(struct probe *probe, const void *work, struct error *error);

/* Times `issue` `repeats` times: from when the device reaches the work to the later end of the
 * two streams. Sets the fastest, in ns. */
enum status probe_time(struct probe *probe, int repeats, probe_issue *issue, const void *work,
                       double *ns, struct error *error);

/* Returns the fastest of `repeats` calls of the kernel's CPU twin, in ns, with as many threads
 * as the worker of a 4-way run has. */
double probe_twin_ns(const struct kernel *kernel, const struct kernel_args *args, int repeats);

/* Sets the machine's copy rates, latencies and memory bandwidth: takes about 0.2 s, and 32 MiB
 * of host memory. The rest of `machine` is as it was. */
enum status probe_copies(struct machine *machine, struct error *error);

/* --- probe_host.c: copies of several devices at once --- */

/* Sets what all devices copy together, in bytes per second: into them, out of them, and both
 * ways at once. Takes some tenths of a second, and 256 MiB of host memory for each device. */
enum status probe_host(const struct cuda_devices *devices, struct host_rates *rates,
                       struct error *error);

/* --- probe_peers.c: how fast the devices of a run copy to each other --- */

/* Of one device's copies to another: bytes per second one way, and both ways together; and the
 * time from the one copy's end to the next one's first byte. */
struct peer_rates {
    double one_way, both_ways; /* 0: they can't reach each other's memory */
    int64_t latency_ns;
};

/* Measures each device and the one that follows it in their order, as tiles are handed on, and
 * sets the worst of these pairs' figures: all zero, if one of them can't be peers. Switches
 * peer access on. Takes some tenths of a second. */
enum status probe_peers(const struct cuda_devices *devices, struct peer_rates *rates,
                        struct error *error);

/* --- rates.c: the rates of kernels on the current device, and of their CPU twins --- */

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
