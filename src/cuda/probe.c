/* probe.c - times work on the current device, its copies, and CPU twins. */
#include "cuda/probe.h"

#include "run/arrays.h"
#include "run/cpu_worker.h"

#include <math.h>
#include <omp.h>

enum status probe_room(uint64_t wanted, uint64_t *bytes, struct error *error)
{
    size_t available, all;
    if (CUDA_CHECK(cudaMemGetInfo(&available, &all), error) != STATUS_OK)
        return STATUS_FAILED;
    *bytes = wanted < available / 4 ? wanted : available / 4;
    if (*bytes < 2 * PROBE_HOST_BYTES)
        return error_set(error, STATUS_FAILED, "too little device memory is free to measure");
    return STATUS_OK;
}

enum status probe_open(struct probe *probe, uint64_t host_bytes, uint64_t device_bytes,
                       struct error *error)
{
    enum { NOT_ZERO = 0x5A }; /* zeros may be copied faster */
    *probe = (struct probe){.host_bytes = host_bytes, .device_bytes = device_bytes};
    for (int i = 0; i < 2; i++) {
        probe->host[i] = host_map(host_bytes, true, &probe->mapped[i]);
        if (probe->host[i] == NULL)
            return error_set(error, STATUS_NO_MEMORY,
                             "no host memory to measure the device with");
        if (CUDA_CHECK(cudaHostRegister(probe->host[i], host_bytes, cudaHostRegisterPortable),
                       error) != STATUS_OK)
            return STATUS_FAILED;
        probe->registered[i] = true;
    }
    arrays_generate(DTYPE_F32, 1, 0, 0, host_bytes / sizeof(float), probe->host[0]);
    if (CUDA_CHECK(cudaMalloc((void **)&probe->device, device_bytes), error) != STATUS_OK ||
        CUDA_CHECK(cudaMemset(probe->device, NOT_ZERO, device_bytes), error) != STATUS_OK ||
        CUDA_CHECK(cudaEventCreate(&probe->begin), error) != STATUS_OK)
        return error->status;
    for (int i = 0; i < 2; i++) {
        if (CUDA_CHECK(cudaStreamCreateWithFlags(&probe->streams[i], cudaStreamNonBlocking),
                       error) != STATUS_OK ||
            CUDA_CHECK(cudaEventCreate(&probe->ends[i]), error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

enum status probe_close(struct probe *probe, enum status status, struct error *error)
{
    /* A measurement that failed may have left work. */
    cuda_check_first(cudaDeviceSynchronize(), "cudaDeviceSynchronize", &status, error);
    for (int i = 0; i < 2; i++) {
        cudaError_t result = cudaSuccess;
        if (probe->ends[i] != NULL)
            cuda_check_first(cudaEventDestroy(probe->ends[i]), "cudaEventDestroy", &status,
                             error);
        if (probe->streams[i] != NULL)
            cuda_check_first(cudaStreamDestroy(probe->streams[i]), "cudaStreamDestroy", &status,
                             error);
        if (probe->registered[i])
            result = cudaHostUnregister(probe->host[i]);
        cuda_check_first(result, "cudaHostUnregister", &status, error);
        if (probe->host[i] != NULL && result == cudaSuccess)
            host_unmap(probe->host[i], probe->mapped[i]);
    }
    if (probe->begin != NULL)
        cuda_check_first(cudaEventDestroy(probe->begin), "cudaEventDestroy", &status, error);
    if (probe->device != NULL)
        cuda_check_first(cudaFree(probe->device), "cudaFree", &status, error);
    return status;
}

enum status probe_fill(struct probe *probe, enum dtype dtype, struct error *error)
{
    enum status status = STATUS_OK;
    const uint64_t bytes = probe->host_bytes;
    arrays_generate(dtype, 1, 0, 0, bytes / dtype_bytes(dtype), probe->host[0]);
    for (uint64_t at = 0; at < probe->device_bytes && status == STATUS_OK; at += bytes) {
        uint64_t left = probe->device_bytes - at;
        status = CUDA_CHECK(cudaMemcpyAsync(probe->device + at, probe->host[0],
                                            left < bytes ? left : bytes, cudaMemcpyHostToDevice,
                                            probe->streams[0]),
                            error);
    }
    return status;
}

static enum status time_once(struct probe *probe, probe_issue *issue, const void *work,
                             double *ns, struct error *error)
{
    if (CUDA_CHECK(cudaEventRecord(probe->begin, probe->streams[0]), error) != STATUS_OK ||
        CUDA_CHECK(cudaStreamWaitEvent(probe->streams[1], probe->begin, 0), error) !=
            STATUS_OK ||
        issue(probe, work, error) != STATUS_OK ||
        CUDA_CHECK(cudaEventRecord(probe->ends[0], probe->streams[0]), error) != STATUS_OK ||
        CUDA_CHECK(cudaEventRecord(probe->ends[1], probe->streams[1]), error) != STATUS_OK)
        return error->status;
    *ns = 0;
    for (int i = 0; i < 2; i++) {
        float ms = 0;
        if (CUDA_CHECK(cudaEventSynchronize(probe->ends[i]), error) != STATUS_OK ||
            CUDA_CHECK(cudaEventElapsedTime(&ms, probe->begin, probe->ends[i]), error) !=
                STATUS_OK)
            return error->status;
        *ns = fmax(*ns, 1e6 * (double)ms);
    }
    return STATUS_OK;
}

enum status probe_time(struct probe *probe, int repeats, probe_issue *issue, const void *work,
                       double *ns, struct error *error)
{
    double once;
    *ns = INFINITY;
    for (int i = 0; i < repeats; i++) {
        if (time_once(probe, issue, work, &once, error) != STATUS_OK)
            return error->status;
        *ns = fmin(*ns, once);
    }
    return STATUS_OK;
}

double probe_twin_ns(const struct kernel *kernel, const struct kernel_args *args, int repeats)
{
    const int threads = omp_get_max_threads();
    double fastest = INFINITY;
    omp_set_num_threads(cpu_worker_threads());
    for (int i = 0; i < repeats; i++) {
        int64_t begin = clock_now_ns();
        kernel_code(kernel)->host(args);
        fastest = fmin(fastest, (double)(clock_now_ns() - begin));
    }
    omp_set_num_threads(threads);
    return fmax(fastest, 1);
}

/* --- the copy rates and the memory --- */

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
    if (time_copy(probe, large, &ns[1], error) != STATUS_OK ||
        time_copy(probe, small, &ns[0], error) != STATUS_OK)
        return error->status;
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
    if (measure_direction(probe, true, &machine->h2d_bytes_per_s, &machine->h2d_latency_ns,
                          error) != STATUS_OK ||
        measure_direction(probe, false, &machine->d2h_bytes_per_s, &machine->d2h_latency_ns,
                          error) != STATUS_OK ||
        time_copy(probe, both, &both_ns, error) != STATUS_OK ||
        time_copy(probe, inside, &inside_ns, error) != STATUS_OK)
        return error->status;
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
    if (probe_room(DEVICE_BYTES, &bytes, error) != STATUS_OK)
        return error->status;
    enum status status = probe_open(&probe, PROBE_HOST_BYTES, bytes, error);
    if (status == STATUS_OK)
        status = measure(&probe, machine, error);
    return probe_close(&probe, status, error);
}
