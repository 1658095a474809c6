/* probe_host.c - bare copies of all devices at once.
 *
 * The host's memory is larger than its caches, where copies would find what an earlier one
 * left. Times are the host's: events know one device's clock alone. The fastest of several
 * repeats counts, for a disturbance only ever slows a copy down. */
#include "cuda/probe.h"

#include "run/arrays.h"
#include "run/cpu_worker.h"

#include <math.h>

enum {
    REPEATS = 5,
    PASSES = 4, /* through the host's memory, in a repeat */
    COPY_BYTES = 16 << 20,
    COPIES = 8,
    HOST_BYTES = COPIES * COPY_BYTES,
};

/* Each device has a probe of its own, so that all can copy at once; its memory is both what is
 * copied in and what is copied out. */
struct lanes {
    const struct cuda_devices *devices;
    struct probe items[MACHINE_DEVICES_MAX];
};

/* Issues one copy each way, as far as wanted, in each device's streams. */
static enum status issue_copies(const struct lanes *lanes, int copy, const bool ways[2],
                                struct error *error)
{
    const size_t at = (size_t)copy * COPY_BYTES;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; cuda_devices_reach(lanes->devices, i, &status, error); i++) {
        const struct probe *lane = &lanes->items[i];
        if (ways[0])
            status = CUDA_CHECK(cudaMemcpyAsync(lane->device, lane->host[0] + at, COPY_BYTES,
                                                cudaMemcpyHostToDevice, lane->streams[0]),
                                error);
        if (ways[1] && status == STATUS_OK)
            status = CUDA_CHECK(cudaMemcpyAsync(lane->host[1] + at, lane->device + COPY_BYTES,
                                                COPY_BYTES, cudaMemcpyDeviceToHost,
                                                lane->streams[1]),
                                error);
    }
    return status;
}

/* Sets the bytes per second of all devices' copies, of one repeat. */
static enum status time_once(const struct lanes *lanes, const bool ways[2], double *rate,
                             struct error *error)
{
    enum status status = STATUS_OK;
    const int64_t begin = clock_now_ns();
    for (int i = 0; i < PASSES * COPIES && status == STATUS_OK; i++)
        status = issue_copies(lanes, i % COPIES, ways, error);
    if (status == STATUS_OK)
        status = cuda_devices_settle(lanes->devices, error);
    const double bytes = (double)(ways[0] + ways[1]) * PASSES * HOST_BYTES;
    *rate = 1e9 * lanes->devices->count * bytes / fmax(1, (double)(clock_now_ns() - begin));
    return status;
}

static enum status time_all(const struct lanes *lanes, struct host_rates *rates,
                            struct error *error)
{
    static const bool ways[][2] = {{true, false}, {false, true}, {true, true}};
    double *found[] = {&rates->in, &rates->out, &rates->joint};
    enum status status = STATUS_OK;
    *rates = (struct host_rates){0};
    for (int i = 0; i < 3 * REPEATS && status == STATUS_OK; i++) {
        double rate;
        status = time_once(lanes, ways[i % 3], &rate, error);
        if (status == STATUS_OK)
            *found[i % 3] = fmax(*found[i % 3], rate);
    }
    return status;
}

enum status probe_host(const struct cuda_devices *devices, struct host_rates *rates,
                       struct error *error)
{
    struct lanes lanes = {.devices = devices};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; cuda_devices_reach(devices, i, &status, error); i++)
        status = probe_open(&lanes.items[i], HOST_BYTES, 2 * COPY_BYTES, error);
    if (status == STATUS_OK)
        status = time_all(&lanes, rates, error);
    for (uint32_t i = devices->count; i > 0; i--) { /* the first is current in the end */
        cuda_check_first(cuda_devices_enter(devices, i - 1), "cudaSetDevice", &status, error);
        status = probe_close(&lanes.items[i - 1], status, error);
    }
    return status;
}
