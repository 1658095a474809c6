/* probe.c - measures what a device does: copies, memory, kernels. */
#include "cuda/probe.h"

#include "cuda/check.h"
#include "run/arrays.h"
#include "run/cpu_worker.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum {
    REPEATS = 9,           /* of which the fastest counts */
    COPY_BYTES = 16 << 20, /* one copy, and each host buffer */
    COPIES = 8,            /* a repeat moves 128 MiB each way, some 2.5 ms */
    SMALL_BYTES = 4 << 10, /* all latency */
    SMALL_COPIES = 64,
    SETS = 3,               /* of a kernel's buffers, taken in turn: none stays in the cache */
    LAUNCHES = 2 * SETS,    /* a repeat */
    KERNEL_MOST = 32 << 20, /* elements of a set */
    KERNEL_LEAST = 1 << 20, /* they still fill a GPU */
    TWIN_MOST = 64 << 20,   /* elements: beyond the CPU's caches */
    TWIN_LEAST = 64 << 10,
    NOT_ZERO = 0x5A, /* nothing is measured on zeros: hardware may do those faster */
};

/* Heavy kernels get fewer elements, so that one launch stays under some 10 ms. */
static const double KERNEL_FLOPS = 5e10, TWIN_FLOPS = 1e10;

/* What the measurements work with. Host buffers are page-locked. */
struct probe {
    void *host[2]; /* copied from, copied to */
    uint64_t mapped[2];
    bool registered[2];
    char *device;
    uint64_t device_bytes;
    cudaStream_t streams[2]; /* H2D and kernels, D2H */
    cudaEvent_t begin, ends[2];
};

static enum status take_host_memory(struct probe *probe, struct error *error)
{
    for (int i = 0; i < 2; i++) {
        probe->host[i] = host_map(COPY_BYTES, true, &probe->mapped[i]);
        if (probe->host[i] == NULL)
            return error_set(error, STATUS_FAILED, "no host memory to measure the device with");
        if (CUDA_CHECK(cudaHostRegister(probe->host[i], COPY_BYTES, cudaHostRegisterDefault),
                       error) != STATUS_OK)
            return STATUS_FAILED;
        probe->registered[i] = true;
    }
    arrays_generate(DTYPE_F32, 1, 0, 0, COPY_BYTES / sizeof(float), probe->host[0]);
    return STATUS_OK;
}

static enum status probe_open(struct probe *probe, uint64_t device_bytes, struct error *error)
{
    size_t available, all;
    enum status status = CUDA_CHECK(cudaMemGetInfo(&available, &all), error);
    if (status == STATUS_OK)
        status = take_host_memory(probe, error);
    if (status != STATUS_OK)
        return status;
    probe->device_bytes = device_bytes < available / 4 ? device_bytes : available / 4;
    if (probe->device_bytes < 2 * COPY_BYTES)
        return error_set(error, STATUS_FAILED, "too little device memory is free to measure");
    status = CUDA_CHECK(cudaMalloc((void **)&probe->device, probe->device_bytes), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaMemset(probe->device, NOT_ZERO, probe->device_bytes), error);
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

/* Undoes probe_open(), also a failed one. */
static void probe_close(struct probe *probe)
{
    CUDA_WARN(cudaDeviceSynchronize()); /* a measurement that failed may have left copies */
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

/* A piece of work to time: puts all of it into the probe's streams. */
struct work {
    enum status (*issue)(struct probe *probe, const struct work *work, struct error *error);
    bool in, out;   /* copies: which directions */
    uint64_t bytes; /* copies: of one */
    int count;      /* copies each way; launches */
    const struct kernel *kernel;
    struct kernel_args args[SETS];
};

static enum status issue_copies(struct probe *probe, const struct work *work,
                                struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < work->count && status == STATUS_OK; i++) {
        if (work->in)
            status = CUDA_CHECK(cudaMemcpyAsync(probe->device, probe->host[0], work->bytes,
                                                cudaMemcpyHostToDevice, probe->streams[0]),
                                error);
        if (work->out && status == STATUS_OK)
            status = CUDA_CHECK(cudaMemcpyAsync(probe->host[1], probe->device + COPY_BYTES,
                                                work->bytes, cudaMemcpyDeviceToHost,
                                                probe->streams[1]),
                                error);
    }
    return status;
}

static enum status issue_device_copies(struct probe *probe, const struct work *work,
                                       struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < work->count && status == STATUS_OK; i++)
        status =
            CUDA_CHECK(cudaMemcpyAsync(probe->device, probe->device + work->bytes, work->bytes,
                                       cudaMemcpyDeviceToDevice, probe->streams[0]),
                       error);
    return status;
}

static enum status issue_launches(struct probe *probe, const struct work *work,
                                  struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < work->count && status == STATUS_OK; i++)
        status = cuda_check((cudaError_t)kernel_launcher(work->kernel)
                                ->launch(&work->args[i % SETS], probe->streams[0]),
                            "the kernel's launch", error);
    return status;
}

/* Does the work once: from when the device reaches it to the later end of the two streams. */
static enum status time_once(struct probe *probe, const struct work *work, double *ns,
                             struct error *error)
{
    enum status status = CUDA_CHECK(cudaEventRecord(probe->begin, probe->streams[0]), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaStreamWaitEvent(probe->streams[1], probe->begin, 0), error);
    if (status == STATUS_OK)
        status = work->issue(probe, work, error);
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

/* The fastest of several repeats: what is measured here bounds what a run can do, and a
 * disturbance only ever slows it down. */
static enum status time_work(struct probe *probe, const struct work *work, double *ns,
                             struct error *error)
{
    double fastest = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        double once;
        enum status status = time_once(probe, work, &once, error);
        if (status != STATUS_OK)
            return status;
        fastest = fmin(fastest, once);
    }
    *ns = fastest;
    return STATUS_OK;
}

/* One copy's share of a row of them, in ns. */
static enum status time_copy(struct probe *probe, bool in, bool out, uint64_t bytes, int count,
                             double *ns, struct error *error)
{
    struct work work = {
        .issue = issue_copies, .in = in, .out = out, .bytes = bytes, .count = count};
    enum status status = time_work(probe, &work, ns, error);
    *ns /= count;
    return status;
}

/* One direction: a small copy is all latency, and a large one's rate is what is left of it. */
static enum status measure_direction(struct probe *probe, bool in, double *bytes_per_s,
                                     int64_t *latency_ns, struct error *error)
{
    double large, small;
    enum status status = time_copy(probe, in, !in, COPY_BYTES, COPIES, &large, error);
    if (status == STATUS_OK)
        status = time_copy(probe, in, !in, SMALL_BYTES, SMALL_COPIES, &small, error);
    if (status != STATUS_OK)
        return status;
    double rate = (COPY_BYTES - SMALL_BYTES) / fmax(large - small, 1);
    *latency_ns = llround(fmax(0, small - SMALL_BYTES / rate));
    *bytes_per_s = 1e9 * rate;
    return STATUS_OK;
}

static enum status measure_copies(struct probe *probe, struct machine *machine,
                                  struct error *error)
{
    double both, device;
    enum status status = measure_direction(probe, true, &machine->h2d_bytes_per_s,
                                           &machine->h2d_latency_ns, error);
    if (status == STATUS_OK)
        status = measure_direction(probe, false, &machine->d2h_bytes_per_s,
                                   &machine->d2h_latency_ns, error);
    if (status == STATUS_OK)
        status = time_copy(probe, true, true, COPY_BYTES, COPIES, &both, error);
    struct work work = {
        .issue = issue_device_copies, .bytes = probe->device_bytes / 2, .count = COPIES};
    if (status == STATUS_OK)
        status = time_work(probe, &work, &device, error);
    if (status != STATUS_OK)
        return status;
    double latency = (double)(machine->h2d_latency_ns + machine->d2h_latency_ns) / 2;
    machine->joint_bytes_per_s = 1e9 * 2 * COPY_BYTES / (both - latency);
    /* Each byte of a copy on the device is read and written. */
    machine->memory_bytes_per_s = 1e9 * 2 * (double)work.bytes * COPIES / device;
    return STATUS_OK;
}

enum status cuda_probe_copies(struct machine *machine, struct error *error)
{
    enum { DEVICE_BYTES = 512 << 20 }; /* well beyond the caches */
    struct probe probe = {0};
    enum status status = probe_open(&probe, DEVICE_BYTES, error);
    if (status == STATUS_OK)
        status = measure_copies(&probe, machine, error);
    probe_close(&probe);
    return status;
}

/* Kernels. */

/* Bytes of one set: the inputs and an array for the output. */
static uint64_t set_bytes(const struct kernel *kernel, uint64_t count)
{
    return count *
           ((uint64_t)kernel->inputs * dtype_bytes(kernel->in) + dtype_bytes(kernel->out));
}

/* Lays out the sets in device memory and fills it all with generated elements. */
static enum status lay_out(struct probe *probe, struct work *work, uint64_t count,
                           struct error *error)
{
    const struct kernel *kernel = work->kernel;
    arrays_generate(kernel->in, 1, 0, 0, COPY_BYTES / dtype_bytes(kernel->in), probe->host[0]);
    enum status status = STATUS_OK;
    for (uint64_t at = 0; at < probe->device_bytes && status == STATUS_OK; at += COPY_BYTES) {
        uint64_t left = probe->device_bytes - at;
        status = CUDA_CHECK(cudaMemcpyAsync(probe->device + at, probe->host[0],
                                            left < COPY_BYTES ? left : COPY_BYTES,
                                            cudaMemcpyHostToDevice, probe->streams[0]),
                            error);
    }
    char *scratch = probe->device + SETS * set_bytes(kernel, count);
    if (status == STATUS_OK)
        status = CUDA_CHECK(
            cudaMemsetAsync(scratch, 0, kernel_scratch_bytes(kernel, count), probe->streams[0]),
            error);
    for (int i = 0; i < SETS; i++) {
        char *set = probe->device + (uint64_t)i * set_bytes(kernel, count);
        struct kernel_args *args = &work->args[i];
        for (int input = 0; input < kernel->inputs; input++) {
            args->in[input] = set;
            set += count * dtype_bytes(kernel->in);
        }
        args->out = set;
        args->repeat = kernel->launch_per_repeat; /* not the first, which reads less */
        args->scratch = scratch;
    }
    return status;
}

/* Elements that keep `flops_most` at `intensity`, between `least` and `most`. */
static uint64_t elements_for(const struct kernel *kernel, uint32_t intensity, double flops_most,
                             uint64_t least, uint64_t most)
{
    double count = flops_most / fmax(1, kernel->flops * intensity);
    if (most < least || count > (double)most)
        return most;
    return count > (double)least ? (uint64_t)count : least;
}

/* One element's share of a launch at `intensity`, in ns. */
static enum status time_kernel(struct probe *probe, struct work *work,
                               const struct machine *machine, uint64_t room,
                               const struct kernel_params *params, uint32_t intensity,
                               double *ns, struct error *error)
{
    uint64_t count = elements_for(work->kernel, intensity, KERNEL_FLOPS, KERNEL_LEAST, room);
    for (int i = 0; i < SETS; i++) {
        work->args[i].params = *params;
        work->args[i].params.intensity = intensity;
        work->args[i].count = count;
        work->args[i].blocks =
            kernel_blocks(work->kernel, count, machine_resident_blocks(machine));
    }
    work->count = LAUNCHES;
    enum status status = time_work(probe, work, ns, error);
    *ns /= (double)count * LAUNCHES;
    return status;
}

/* Rates from an element's `light` ns at intensity 1 and `heavy` ns at the one asked for. */
static void set_rates(const struct kernel *kernel, uint32_t intensity, double light,
                      double heavy, double *bytes_per_s, double *flops_per_s)
{
    *bytes_per_s = 1e9 * kernel_bytes_per_element(kernel) / light;
    *flops_per_s = 1e9 * kernel->flops * intensity / heavy;
}

static enum status measure_kernel(struct probe *probe, const struct machine *machine,
                                  const struct kernel *kernel,
                                  const struct kernel_params *params,
                                  struct machine_kernel *row, struct error *error)
{
    struct work work = {.issue = issue_launches, .kernel = kernel};
    uint64_t scratch = kernel_scratch_bytes(kernel, KERNEL_MOST);
    uint64_t room = (probe->device_bytes - scratch) / SETS / set_bytes(kernel, 1);
    uint64_t count = (room < KERNEL_MOST ? room : KERNEL_MOST) & ~(uint64_t)1023;
    double light = 1, heavy = 1;
    enum status status = cuda_check((cudaError_t)kernel_launcher(kernel)->preload(),
                                    "loading the kernel", error);
    if (status == STATUS_OK)
        status = lay_out(probe, &work, count, error);
    if (status == STATUS_OK)
        status = time_kernel(probe, &work, machine, count, params, 1, &light, error);
    heavy = light;
    if (status == STATUS_OK && params->intensity > 1)
        status =
            time_kernel(probe, &work, machine, count, params, params->intensity, &heavy, error);
    if (status == STATUS_OK)
        set_rates(kernel, params->intensity, light, heavy, &row->bytes_per_s,
                  &row->flops_per_s);
    return status;
}

/* One element's share of the CPU twin's fastest time at `intensity`, in ns. */
static double time_twin(const struct kernel *kernel, struct kernel_args *args, uint64_t room,
                        uint32_t intensity)
{
    double fastest = INFINITY;
    args->params.intensity = intensity;
    args->count = elements_for(kernel, intensity, TWIN_FLOPS, TWIN_LEAST, room);
    for (int i = 0; i < REPEATS; i++) {
        int64_t begin = clock_now_ns();
        kernel_code(kernel)->host(args);
        fastest = fmin(fastest, (double)(clock_now_ns() - begin));
    }
    return fmax(fastest, 1) / (double)args->count;
}

/* Measures the twin with as many threads as the worker has. What it takes for the arrays is no
 * more than the run's own, and is given back before those are taken. */
static enum status measure_twin(const struct kernel *kernel, const struct kernel_params *params,
                                uint64_t elements, struct machine_kernel *row,
                                struct error *error)
{
    uint64_t room = elements < TWIN_MOST ? elements : TWIN_MOST, mapped;
    uint64_t in_bytes = room * dtype_bytes(kernel->in);
    char *memory = host_map(set_bytes(kernel, room), true, &mapped);
    if (memory == NULL)
        return error_set(error, STATUS_FAILED, "no host memory to measure the CPU with");
    struct kernel_args args = {.out = memory + (uint64_t)kernel->inputs * in_bytes,
                               .repeat = kernel->launch_per_repeat,
                               .params = *params};
    for (int input = 0; input < kernel->inputs; input++) {
        args.in[input] = memory + (uint64_t)input * in_bytes;
        arrays_generate(kernel->in, 1, input, 0, room, memory + (uint64_t)input * in_bytes);
    }
    int threads = omp_get_max_threads();
    omp_set_num_threads(cpu_worker_threads());
    double light = time_twin(kernel, &args, room, 1);
    const uint32_t intensity = params->intensity;
    double heavy = intensity > 1 ? time_twin(kernel, &args, room, intensity) : light;
    omp_set_num_threads(threads);
    set_rates(kernel, intensity, light, heavy, &row->cpu_bytes_per_s, &row->cpu_flops_per_s);
    host_unmap(memory, mapped);
    return STATUS_OK;
}

enum status cuda_probe_kernel(const struct machine *machine, const struct kernel *kernel,
                              uint64_t elements, struct cuda_measured *measured,
                              struct error *error)
{
    struct kernel_params told = measured->params;
    if (kernel->launch_per_repeat)
        told.intensity = 1; /* that of a launch */
    measured->row = (struct machine_kernel){0};
    snprintf(measured->row.name, sizeof measured->row.name, "%s", kernel->name);
    if (kernel->rated)
        return cuda_probe_product(kernel, measured, error);
    struct probe probe = {0};
    uint64_t device_bytes =
        SETS * set_bytes(kernel, KERNEL_MOST) + kernel_scratch_bytes(kernel, KERNEL_MOST);
    enum status status = probe_open(&probe, device_bytes, error);
    if (status == STATUS_OK)
        status = measure_kernel(&probe, machine, kernel, &told, &measured->row, error);
    probe_close(&probe);
    if (status == STATUS_OK && measured->cpu)
        status = measure_twin(kernel, &told, elements, &measured->row, error);
    return status;
}
