/* probe.c - times work on the current device, and CPU twins. */
#include "cuda/probe.h"

#include "run/arrays.h"
#include "run/cpu_worker.h"

#include <math.h>
#include <omp.h>

enum { NOT_ZERO = 0x5A };

static enum status take_host_memory(struct probe *probe, struct error *error)
{
    for (int i = 0; i < 2; i++) {
        probe->host[i] = host_map(PROBE_HOST_BYTES, true, &probe->mapped[i]);
        if (probe->host[i] == NULL)
            return error_set(error, STATUS_FAILED, "no host memory to measure the device with");
        if (CUDA_CHECK(
                cudaHostRegister(probe->host[i], PROBE_HOST_BYTES, cudaHostRegisterDefault),
                error) != STATUS_OK)
            return STATUS_FAILED;
        probe->registered[i] = true;
    }
    arrays_generate(DTYPE_F32, 1, 0, 0, PROBE_HOST_BYTES / sizeof(float), probe->host[0]);
    return STATUS_OK;
}

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

enum status probe_open(struct probe *probe, uint64_t device_bytes, struct error *error)
{
    *probe = (struct probe){.device_bytes = device_bytes};
    enum status status = take_host_memory(probe, error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaMalloc((void **)&probe->device, device_bytes), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaMemset(probe->device, NOT_ZERO, device_bytes), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventCreate(&probe->begin), error);
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        status = CUDA_CHECK(
            cudaStreamCreateWithFlags(&probe->streams[i], cudaStreamNonBlocking), error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaEventCreate(&probe->ends[i]), error);
    }
    return status;
}

void probe_close(struct probe *probe)
{
    CUDA_WARN(cudaDeviceSynchronize()); /* a measurement that failed may have left work */
    for (int i = 0; i < 2; i++) {
        if (probe->ends[i] != NULL)
            CUDA_WARN(cudaEventDestroy(probe->ends[i]));
        if (probe->streams[i] != NULL)
            CUDA_WARN(cudaStreamDestroy(probe->streams[i]));
        if (probe->registered[i])
            CUDA_WARN(cudaHostUnregister(probe->host[i]));
        if (probe->host[i] != NULL)
            host_unmap(probe->host[i], probe->mapped[i]);
    }
    if (probe->begin != NULL)
        CUDA_WARN(cudaEventDestroy(probe->begin));
    if (probe->device != NULL)
        CUDA_WARN(cudaFree(probe->device));
}

enum status probe_fill(struct probe *probe, enum dtype dtype, struct error *error)
{
    enum status status = STATUS_OK;
    arrays_generate(dtype, 1, 0, 0, PROBE_HOST_BYTES / dtype_bytes(dtype), probe->host[0]);
    for (uint64_t at = 0; at < probe->device_bytes && status == STATUS_OK;
         at += PROBE_HOST_BYTES) {
        uint64_t left = probe->device_bytes - at;
        status = CUDA_CHECK(cudaMemcpyAsync(probe->device + at, probe->host[0],
                                            left < PROBE_HOST_BYTES ? left : PROBE_HOST_BYTES,
                                            cudaMemcpyHostToDevice, probe->streams[0]),
                            error);
    }
    return status;
}

static enum status time_once(struct probe *probe,
                             enum status (*issue)(struct probe *probe, const void *work,
                                                  struct error *error),
                             const void *work, double *ns, struct error *error)
{
    enum status status = CUDA_CHECK(cudaEventRecord(probe->begin, probe->streams[0]), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaStreamWaitEvent(probe->streams[1], probe->begin, 0), error);
    if (status == STATUS_OK)
        status = issue(probe, work, error);
    *ns = 0;
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status = CUDA_CHECK(cudaEventRecord(probe->ends[i], probe->streams[i]), error);
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        float ms = 0;
        status = CUDA_CHECK(cudaEventSynchronize(probe->ends[i]), error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaEventElapsedTime(&ms, probe->begin, probe->ends[i]), error);
        *ns = fmax(*ns, 1e6 * (double)ms);
    }
    return status;
}

enum status probe_time(struct probe *probe, int repeats,
                       enum status (*issue)(struct probe *probe, const void *work,
                                            struct error *error),
                       const void *work, double *ns, struct error *error)
{
    enum status status = STATUS_OK;
    double once;
    *ns = INFINITY;
    for (int i = 0; i < repeats && status == STATUS_OK; i++) {
        status = time_once(probe, issue, work, &once, error);
        *ns = fmin(*ns, once);
    }
    return status;
}

enum status probe_issue_launches(struct probe *probe, const void *work, struct error *error)
{
    const struct probe_launches *launches = work;
    enum status status = STATUS_OK;
    for (int i = 0; i < launches->count && status == STATUS_OK; i++)
        status =
            cuda_check((cudaError_t)kernel_launcher(launches->kernel)
                           ->launch(&launches->args[i % launches->sets], probe->streams[0]),
                       "the kernel's launch", error);
    return status;
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
