/* probe_copies.c - measures the copy rates and the memory of the current device. */
#include "cuda/probe_copies.h"

#include "cuda/probe.h"
#include "run/copy_line.h"

#include <math.h>

enum {
    REPEATS = 9,
    DEVICE_BYTES = 512 << 20, /* well beyond the caches */
    LARGE_BYTES = PROBE_HOST_BYTES,
    LARGE_COPIES = 8,      /* a repeat moves 128 MiB each way, some 2.5 ms */
    SMALL_BYTES = 4 << 10, /* all latency */
    SMALL_COPIES = 64,
};

/* Copies in a row: to the device, from it, both at once, or (neither) inside it. */
struct copies {
    bool in, out;
    uint64_t bytes; /* copied each time */
    int count;      /* each way */
};

static enum status issue_copies(struct probe *probe, const void *work, struct error *error)
{
    const struct copies *copies = work;
    const uint64_t bytes = copies->bytes;
    enum status status = STATUS_OK;
    for (int i = 0; i < copies->count && status == STATUS_OK; i++) {
        if (copies->in)
            status = CUDA_CHECK(cudaMemcpyAsync(probe->device, probe->host[0], bytes,
                                                cudaMemcpyHostToDevice, probe->streams[0]),
                                error);
        if (copies->out && status == STATUS_OK)
            status =
                CUDA_CHECK(cudaMemcpyAsync(probe->host[1], probe->device + LARGE_BYTES, bytes,
                                           cudaMemcpyDeviceToHost, probe->streams[1]),
                           error);
        if (!copies->in && !copies->out)
            status = CUDA_CHECK(cudaMemcpyAsync(probe->device, probe->device + bytes, bytes,
                                                cudaMemcpyDeviceToDevice, probe->streams[0]),
                                error);
    }
    return status;
}

/* Sets one copy's share of the fastest row, in ns. */
static enum status time_copy(struct probe *probe, struct copies copies, double *ns,
                             struct error *error)
{
    enum status status = probe_time(probe, REPEATS, issue_copies, &copies, ns, error);
    *ns /= copies.count;
    return status;
}

/* One direction: a line through a small copy, which is all latency, and a large one. */
static enum status measure_direction(struct probe *probe, bool in, double *bytes_per_s,
                                     int64_t *latency_ns, struct error *error)
{
    const struct copies small = {in, !in, SMALL_BYTES, SMALL_COPIES};
    const struct copies large = {in, !in, LARGE_BYTES, LARGE_COPIES};
    const double bytes[] = {SMALL_BYTES, LARGE_BYTES};
    double ns[2];
    enum status status = time_copy(probe, large, &ns[1], error);
    if (status == STATUS_OK)
        status = time_copy(probe, small, &ns[0], error);
    if (status != STATUS_OK)
        return status;
    ns[0] = fmax(ns[0], 1);
    ns[1] = fmax(ns[1], ns[0] + 1);
    struct copy_line line = copy_line_fit(bytes, ns, 2);
    *latency_ns = llround(fmax(0, line.latency_ns));
    *bytes_per_s = line.bytes_per_s;
    return STATUS_OK;
}

static enum status measure(struct probe *probe, struct machine *machine, struct error *error)
{
    const struct copies both = {true, true, LARGE_BYTES, LARGE_COPIES};
    const struct copies inside = {false, false, probe->device_bytes / 2, LARGE_COPIES};
    double both_ns, inside_ns;
    enum status status = measure_direction(probe, true, &machine->h2d_bytes_per_s,
                                           &machine->h2d_latency_ns, error);
    if (status == STATUS_OK)
        status = measure_direction(probe, false, &machine->d2h_bytes_per_s,
                                   &machine->d2h_latency_ns, error);
    if (status == STATUS_OK)
        status = time_copy(probe, both, &both_ns, error);
    if (status == STATUS_OK)
        status = time_copy(probe, inside, &inside_ns, error);
    if (status != STATUS_OK)
        return status;
    double latency = (double)(machine->h2d_latency_ns + machine->d2h_latency_ns) / 2;
    machine->joint_bytes_per_s = 1e9 * 2 * LARGE_BYTES / (both_ns - latency);
    /* Each byte of a copy inside the device is read and written. */
    machine->memory_bytes_per_s = 1e9 * 2 * (double)inside.bytes / inside_ns;
    return STATUS_OK;
}

enum status probe_copies(struct machine *machine, struct error *error)
{
    struct probe probe = {0};
    uint64_t bytes;
    enum status status = probe_room(DEVICE_BYTES, &bytes, error);
    if (status != STATUS_OK)
        return status;
    status = probe_open(&probe, bytes, error);
    if (status == STATUS_OK)
        status = measure(&probe, machine, error);
    probe_close(&probe);
    return status;
}
