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

/* One device's part: what it copies in, and what it copies out. What is NULL was not taken. */
struct lane {
    char *host[2];
    uint64_t mapped[2];
    bool registered[2];
    char *device[2];
    cudaStream_t streams[2];
};

struct lanes {
    const struct cuda_devices *devices;
    struct lane items[MACHINE_DEVICES_MAX];
};

/* Takes what one device needs; it is the current one. */
static enum status open_lane(struct lane *lane, struct error *error)
{
    enum { NOT_ZERO = 0x5A };
    for (int i = 0; i < 2; i++) {
        lane->host[i] = host_map(HOST_BYTES, true, &lane->mapped[i]);
        if (lane->host[i] == NULL)
            return error_set(error, STATUS_NO_MEMORY, "no host memory to measure with");
        if (i == 0) /* zeros may be copied faster */
            arrays_generate(DTYPE_F32, 1, 0, 0, HOST_BYTES / sizeof(float), lane->host[i]);
        if (CUDA_CHECK(cudaHostRegister(lane->host[i], HOST_BYTES, cudaHostRegisterPortable),
                       error) != STATUS_OK)
            return STATUS_FAILED;
        lane->registered[i] = true;
        if (CUDA_CHECK(cudaMalloc((void **)&lane->device[i], COPY_BYTES), error) != STATUS_OK ||
            CUDA_CHECK(cudaMemset(lane->device[i], NOT_ZERO, COPY_BYTES), error) != STATUS_OK ||
            CUDA_CHECK(cudaStreamCreateWithFlags(&lane->streams[i], cudaStreamNonBlocking),
                       error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

/* Gives back what one device has, which is current. Memory that stays page-locked stays. */
static void close_lane(struct lane *lane, enum status *status, struct error *error)
{
    cuda_check_first(cudaDeviceSynchronize(), "cudaDeviceSynchronize", status, error);
    for (int i = 0; i < 2; i++) {
        cudaError_t result = cudaSuccess;
        if (lane->streams[i] != NULL)
            cuda_check_first(cudaStreamDestroy(lane->streams[i]), "cudaStreamDestroy", status,
                             error);
        if (lane->device[i] != NULL)
            cuda_check_first(cudaFree(lane->device[i]), "cudaFree", status, error);
        if (lane->registered[i])
            result = cudaHostUnregister(lane->host[i]);
        cuda_check_first(result, "cudaHostUnregister", status, error);
        if (lane->host[i] != NULL && result == cudaSuccess)
            host_unmap(lane->host[i], lane->mapped[i]);
    }
}

/* Issues one copy each way, as far as wanted, in each device's streams. */
static enum status issue_copies(const struct lanes *lanes, int copy, const bool ways[2],
                                struct error *error)
{
    const size_t at = (size_t)copy * COPY_BYTES;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < lanes->devices->count && status == STATUS_OK; i++) {
        const struct lane *lane = &lanes->items[i];
        status = cuda_devices_select(lanes->devices, i, error);
        if (ways[0] && status == STATUS_OK)
            status = CUDA_CHECK(cudaMemcpyAsync(lane->device[0], lane->host[0] + at, COPY_BYTES,
                                                cudaMemcpyHostToDevice, lane->streams[0]),
                                error);
        if (ways[1] && status == STATUS_OK)
            status = CUDA_CHECK(cudaMemcpyAsync(lane->host[1] + at, lane->device[1], COPY_BYTES,
                                                cudaMemcpyDeviceToHost, lane->streams[1]),
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
    for (uint32_t i = 0; i < devices->count && status == STATUS_OK; i++) {
        status = cuda_devices_select(devices, i, error);
        if (status == STATUS_OK)
            status = open_lane(&lanes.items[i], error);
    }
    if (status == STATUS_OK)
        status = time_all(&lanes, rates, error);
    for (uint32_t i = devices->count; i > 0; i--) { /* the first is current in the end */
        cuda_check_first(cuda_devices_enter(devices, i - 1), "cudaSetDevice", &status, error);
        close_lane(&lanes.items[i - 1], &status, error);
    }
    return status;
}
