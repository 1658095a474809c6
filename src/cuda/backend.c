/* backend.c - real devices: opens, describes and lists them. */
#include "cuda/backend.h"

#include "core/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

enum { KERNELS_LOADED_MAX = 128 };

/* What the process knows of CUDA from one opened backend to the next; see the header. */
static struct {
    bool configured;
    uint32_t connections; /* started with; 0: the driver's own */
    bool launch_blocking; /* started so that launches wait for their kernels */
    const struct kernel *loaded[KERNELS_LOADED_MAX]; /* whose code is there */
    int loaded_count;

    int device;             /* that the rest is of */
    struct machine machine; /* with its copy rates */
    bool copies_measured;
    struct cuda_measured kernels[MACHINE_KERNELS_MAX];
    int kernel_count;
} process;

static enum status read_device(const char *argument, int *device, struct error *error)
{
    *device = 0;
    if (argument[0] == '\0')
        return STATUS_OK;
    char *end;
    long number = strtol(argument, &end, 10);
    if (!isdigit((unsigned char)argument[0]) || *end != '\0' || number > INT16_MAX)
        return error_set(error, STATUS_USAGE,
                         "--device=cuda:%s: what follows the colon must be a device's number, "
                         "as in cuda:0",
                         argument);
    *device = (int)number;
    return STATUS_OK;
}

static const char *connections_text(uint32_t connections, char text[UNITS_TEXT])
{
    if (connections == 0)
        return "the driver's own number";
    snprintf(text, UNITS_TEXT, "%" PRIu32, connections);
    return text;
}

static void cuda_configure(const struct settings *settings)
{
    char wanted[UNITS_TEXT];
    if (process.configured)
        return;
    process.configured = true;
    process.connections = settings->connections;
    process.launch_blocking = settings->mistake == MISTAKE_LAUNCH_BLOCKING;
    if (process.launch_blocking)
        setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    if (settings->mistake ==
        MISTAKE_LAZY_LOADING) /* its default, unless the user has another */
        setenv("CUDA_MODULE_LOADING", "LAZY", 1);
    if (settings->connections == 0)
        return;
    snprintf(wanted, sizeof wanted, "%" PRIu32, settings->connections);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", wanted, 1);
}

static enum status check_connections(uint32_t connections, struct error *error)
{
    char wanted[UNITS_TEXT], present[UNITS_TEXT];
    if (connections == process.connections)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "--connections: %s: CUDA was started with %s, and takes it only once in a "
                     "process: do these runs one at a time",
                     connections_text(connections, wanted),
                     connections_text(process.connections, present));
}

static enum status check_launch_blocking(const struct settings *settings, struct error *error)
{
    bool blocks = settings->mistake == MISTAKE_LAUNCH_BLOCKING;
    if (blocks == process.launch_blocking)
        return STATUS_OK;
    return error_set(
        error, STATUS_USAGE,
        "--mistake=%s: CUDA was started %s CUDA_LAUNCH_BLOCKING, and takes it only "
        "once in a process: do these runs one at a time",
        mistake_name(settings->mistake), process.launch_blocking ? "with" : "without");
}

bool cuda_kernel_is_loaded(const struct kernel *kernel)
{
    for (int i = 0; i < process.loaded_count; i++) {
        if (process.loaded[i] == kernel)
            return true;
    }
    return process.loaded_count == KERNELS_LOADED_MAX; /* who knows */
}

void cuda_kernel_loaded(const struct kernel *kernel)
{
    if (!cuda_kernel_is_loaded(kernel))
        process.loaded[process.loaded_count++] = kernel;
}

static uint32_t hardware_queues(void)
{
    enum { DEFAULT_QUEUES = 8 }; /* compute capability 3.5 and later (CUDA's documentation) */
    const char *set = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    int queues = set != NULL ? atoi(set) : 0;
    return queues > 0 ? (uint32_t)queues : DEFAULT_QUEUES;
}

static enum status count_devices(int *count, struct error *error)
{
    int driver = 0;
    cudaError_t result = cudaGetDeviceCount(count);
    if (result == cudaSuccess && *count > 0)
        return STATUS_OK;
    cudaGetLastError();
    if (result == cudaErrorInsufficientDriver &&
        (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0))
        return error_set(error, STATUS_NO_DEVICE,
                         "--device=cuda: there is none: no NVIDIA driver is installed");
    if (result == cudaSuccess)
        result = cudaErrorNoDevice;
    return error_set(error, STATUS_NO_DEVICE, "--device=cuda: there is none: %s: %s",
                     cudaGetErrorName(result), cudaGetErrorString(result));
}

/* Makes `device` current and creates its context. It spins while it waits: that takes a core,
 * but ends a run microseconds after its last op; the CPU's share leaves a core free for it. */
static enum status start_device(int device, struct error *error)
{
    int count;
    if (count_devices(&count, error) != STATUS_OK)
        return error->status;
    if (device >= count && count == 1)
        return error_set(error, STATUS_NO_DEVICE,
                         "--device=cuda:%d: there is one CUDA device, cuda:0", device);
    if (device >= count)
        return error_set(error, STATUS_NO_DEVICE,
                         "--device=cuda:%d: there are %d CUDA devices, cuda:0 to cuda:%d",
                         device, count, count - 1);
    enum status status = CUDA_CHECK(cudaSetDevice(device), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaSetDeviceFlags(cudaDeviceScheduleSpin), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaFree(0), error);
    return status;
}

/* Single-precision units per SM, from the CUDA programming guide's table of throughputs. */
static int cores_per_sm(const struct cudaDeviceProp *properties)
{
    bool data_centre = properties->minor == 0;
    switch (properties->major) {
    case 3:
        return 192;
    case 6:
    case 8:
        return data_centre ? 64 : 128;
    case 7:
        return 64;
    default:
        return 128;
    }
}

static void describe_properties(struct machine *machine,
                                const struct cudaDeviceProp *properties)
{
    enum { RESIDENT_GRIDS = 128, QUEUES_MAX = 32 }; /* programming guide, technical limits */
    snprintf(machine->name, sizeof machine->name, "%.*s", MACHINE_TEXT - 1, properties->name);
    snprintf(machine->architecture, sizeof machine->architecture, "sm_%d%d", properties->major,
             properties->minor);
    machine->compute_capability = properties->major + 0.1 * properties->minor;
    machine->copy_engines = properties->asyncEngineCount >= 2 ? 2 : 1;
    machine->sms = (uint32_t)properties->multiProcessorCount;
    machine->threads_per_sm = (uint32_t)properties->maxThreadsPerMultiProcessor;
    machine->blocks_per_sm = (uint32_t)properties->maxBlocksPerMultiProcessor;
    machine->memory_bytes = properties->totalGlobalMem;
    machine->arithmetic_fill = machine->memory_fill = 1; /* not measured: the safe side */
    machine->leftover_excess = 1;
    machine->concurrent_kernels = properties->concurrentKernels ? RESIDENT_GRIDS : 1;
    machine->queues = hardware_queues();
    machine->queues_max = QUEUES_MAX;
    machine->cpu_cores = (uint32_t)cpu_worker_threads();
    char memory[UNITS_TEXT];
    snprintf(machine->summary, sizeof machine->summary, "%" PRIu32 " SMs, %s, sm_%d%d",
             machine->sms, units_bytes(machine->memory_bytes, memory), properties->major,
             properties->minor);
}

static enum status read_properties(struct backend *backend, struct error *error)
{
    struct machine *machine = &backend->machine;
    struct cudaDeviceProp properties;
    int driver, runtime, clock_khz;
    enum status status =
        CUDA_CHECK(cudaGetDeviceProperties(&properties, backend->device), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(
            cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, backend->device), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&machine->priority_least,
                                                             &machine->priority_greatest),
                            error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaDriverGetVersion(&driver), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaRuntimeGetVersion(&runtime), error);
    if (status != STATUS_OK)
        return status;
    describe_properties(machine, &properties);
    machine->flops_per_s =
        2e3 * clock_khz * cores_per_sm(&properties) * machine->sms; /* fused multiply-adds */
    snprintf(backend->driver, sizeof backend->driver, "driver %d.%d, runtime %d.%d",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return STATUS_OK;
}

static enum status cuda_open(const char *argument, const struct settings *settings,
                             struct backend **out, struct error *error)
{
    int device;
    cuda_configure(settings);
    enum status status = read_device(argument, &device, error);
    if (status == STATUS_OK)
        status = check_connections(settings->connections, error);
    if (status == STATUS_OK)
        status = check_launch_blocking(settings, error);
    if (status == STATUS_OK)
        status = start_device(device, error);
    if (status != STATUS_OK)
        return status;
    struct backend *backend = calloc(1, sizeof *backend);
    if (backend == NULL)
        return error_set(error, STATUS_FAILED, "no memory to open a device");
    backend->device = device;
    status = read_properties(backend, error);
    if (status == STATUS_OK)
        *out = backend;
    else
        free(backend);
    return status;
}

static bool is_same(const struct kernel_params *one, const struct kernel_params *other)
{
    return one->intensity == other->intensity && one->columns == other->columns &&
           one->stride == other->stride && one->rows == other->rows &&
           one->inner == other->inner;
}

/* Whether what was measured holds for what is wanted. */
static bool is_known(const struct cuda_measured *known, const struct kernel *kernel,
                     const struct cuda_measured *wanted)
{
    return strcmp(known->row.name, kernel->name) == 0 &&
           is_same(&known->params, &wanted->params) && known->tile == wanted->tile &&
           (known->cpu || !wanted->cpu);
}

/* The kernel's speeds, measured now unless they are known. NULL on failure. */
static const struct machine_kernel *measured_kernel(const struct machine *machine,
                                                    const struct settings *settings,
                                                    const struct kernel *kernel,
                                                    struct error *error)
{
    enum { TILES_MAYBE = 32 }; /* where they are still to be chosen */
    const uint32_t tiles = settings->tiles > 0 ? settings->tiles : TILES_MAYBE;
    const struct cuda_measured wanted = {
        .params = settings_params(settings),
        .tile = kernel->rated ? settings->elements / tiles : 0,
        .cpu = settings->ways == 4,
    };
    for (int i = 0; i < process.kernel_count; i++) {
        if (is_known(&process.kernels[i], kernel, &wanted))
            return &process.kernels[i].row;
    }
    if (process.kernel_count == MACHINE_KERNELS_MAX)
        process.kernel_count = 0; /* a long sweep: forget and measure again */
    struct cuda_measured *measured = &process.kernels[process.kernel_count];
    *measured = wanted;
    cuda_kernel_loaded(kernel);
    if (cuda_probe_kernel(machine, kernel, settings->elements, measured, error) != STATUS_OK)
        return NULL;
    process.kernel_count++;
    return &measured->row;
}

/* Takes the copy rates from what is known of the device, measured now if nothing is. */
static enum status know_copies(struct backend *backend, struct error *error)
{
    if (process.copies_measured && process.device == backend->device) {
        backend->machine = process.machine;
        return STATUS_OK;
    }
    process.copies_measured = false;
    process.kernel_count = 0;
    enum status status = cuda_probe_copies(&backend->machine, error);
    if (status != STATUS_OK)
        return status;
    process.device = backend->device;
    process.machine = backend->machine;
    process.copies_measured = true;
    return STATUS_OK;
}

static enum status cuda_describe(struct backend *backend, const struct settings *settings,
                                 struct machine *machine, struct error *error)
{
    enum status status = know_copies(backend, error);
    if (status != STATUS_OK)
        return status;
    struct machine described = backend->machine;
    const bool loads = settings->mistake != MISTAKE_LAZY_LOADING; /* before the timed run */
    const int measured =
        loads && getenv("PIPELINE_NO_RATES") == NULL ? settings->chain_length : 0;
    for (int i = 0; i < measured; i++) {
        const struct kernel *kernel = settings->chain[i];
        if (machine_kernel_find(&described, kernel->name) != NULL)
            continue; /* twice in the chain */
        const struct machine_kernel *row =
            measured_kernel(&backend->machine, settings, kernel, error);
        if (row == NULL)
            return error->status;
        described.kernels[described.kernel_count++] = *row;
    }
    *machine = described;
    return STATUS_OK;
}

static enum status cuda_run_hook(struct backend *backend, struct timeline *timeline,
                                 struct run_times *times, struct error *error)
{
    const struct settings *settings = backend->run.workload.settings;
    arrays_settle();
    if (timeline == NULL || settings->profile)
        cuda_run_first_ops(&backend->run); /* if it fails, so will the run, and report it */
    if (timeline == NULL)
        return cuda_run_plain(backend, times, error);
    if (settings->profile)
        return cuda_run_profiled(backend, timeline, times, error);
    return cuda_run_traced(backend, timeline, times, error);
}

/* The context stays: it belongs to the process, and another open takes it up again. */
static void cuda_close(struct backend *backend)
{
    if (backend == NULL)
        return;
    cuda_release(backend);
    cupti_trace_close(backend->cupti);
    free(backend);
}

static void cuda_list(void (*each)(void *context, const char *device, const char *summary),
                      void *context)
{
    int count;
    struct error none = {0};
    if (count_devices(&count, &none) != STATUS_OK)
        return;
    for (int device = 0; device < count; device++) {
        struct cudaDeviceProp properties;
        if (cudaGetDeviceProperties(&properties, device) != cudaSuccess)
            continue;
        struct machine machine = {0};
        char name[32], summary[2 * MACHINE_TEXT + 2];
        describe_properties(&machine, &properties);
        snprintf(name, sizeof name, "cuda:%d", device);
        snprintf(summary, sizeof summary, "%s, %s", machine.name, machine.summary);
        each(context, name, summary);
    }
}

extern const struct backend_ops backend_cuda_ops;

const struct backend_ops backend_cuda_ops = {
    .name = "cuda",
    .summary = "NVIDIA GPUs, through the CUDA runtime",
    .configure = cuda_configure,
    .open = cuda_open,
    .describe = cuda_describe,
    .prepare = cuda_prepare,
    .run = cuda_run_hook,
    .release = cuda_release,
    .close = cuda_close,
    .list = cuda_list,
    .measures = true,
};
