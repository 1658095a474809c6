/* device.c - starts real devices, reads their properties, and lists them. */
#include "cuda/device.h"

#include "core/units.h"
#include "machine/fields.h"
#include "plan/device.h"
#include "plan/mistake.h"
#include "run/cpu_worker.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>

static uint32_t hardware_queues(void)
{
    enum { DEFAULT_QUEUES = 8 }; /* compute capability 3.5 and later (CUDA's documentation) */
    const char *set = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    int queues = set != NULL ? atoi(set) : 0;
    return queues > 0 ? (uint32_t)queues : DEFAULT_QUEUES;
}

/* A device that is there but can't be used, as one that is busy, is a failure. */
static enum status count_devices(int *count, struct error *error)
{
    int driver = 0;
    cudaError_t result = cudaGetDeviceCount(count);
    if (result == cudaSuccess && *count > 0)
        return STATUS_OK;
    cudaGetLastError();
    const bool no_driver =
        result == cudaErrorInsufficientDriver || result == cudaErrorStubLibrary;
    if (no_driver && (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0))
        return error_set(error, STATUS_NO_DEVICE,
                         "--device=cuda: there is none: no NVIDIA driver is installed");
    if (result == cudaSuccess)
        result = cudaErrorNoDevice;
    if (result != cudaErrorNoDevice)
        return cuda_check(result, "cudaGetDeviceCount", error);
    return error_set(error, STATUS_NO_DEVICE, "--device=cuda: there is none: %s: %s",
                     cudaGetErrorName(result), cudaGetErrorString(result));
}

/* Refuses a device that isn't there, and says which are. */
static enum status refuse_absent(const char *argument, int device, int count,
                                 struct error *error)
{
    char absent[32] = "";
    if (strchr(argument, ',') != NULL)
        snprintf(absent, sizeof absent, "no cuda:%d: ", device);
    if (count == 1)
        return error_set(error, STATUS_NO_DEVICE,
                         "--device=cuda:%s: %sthere is one CUDA device, cuda:0", argument,
                         absent);
    return error_set(error, STATUS_NO_DEVICE,
                     "--device=cuda:%s: %sthere are %d CUDA devices, cuda:0 to cuda:%d",
                     argument, absent, count, count - 1);
}

/* Sets the numbers of the devices that `argument` names. */
static enum status choose_devices(const char *argument, struct cuda_devices *devices,
                                  struct error *error)
{
    int count, numbers[MACHINE_DEVICES_MAX] = {0};
    const bool all = strcmp(argument, "all") == 0;
    devices->count = argument[0] == '\0' ? 1 : device_numbers(argument, numbers);
    if (devices->count == 0 && !all)
        return error_set(error, STATUS_USAGE,
                         "--device=cuda:%s: what follows the colon must be a device's number, "
                         "or several, as in cuda:0 and cuda:0,1",
                         argument);
    if (count_devices(&count, error) != STATUS_OK)
        return error->status;
    if (all && count > MACHINE_DEVICES_MAX)
        return error_set(
            error, STATUS_USAGE,
            "--device=cuda:all: there are %d CUDA devices: allowed are %d at once, "
            "by their numbers, as in cuda:0,1",
            count, MACHINE_DEVICES_MAX);
    if (all)
        devices->count = (uint32_t)count;
    for (uint32_t i = 0; i < devices->count; i++) {
        devices->items[i].number = all ? (int)i : numbers[i];
        if (devices->items[i].number >= count)
            return refuse_absent(argument, devices->items[i].number, count, error);
    }
    return STATUS_OK;
}

/* Makes `device` current and creates its context. The host spins while it waits for the device:
 * that takes a core, but ends a run microseconds after its last op, and the CPU's share of a
 * 4-way run leaves a core free for it. */
static enum status start_device(int device, struct error *error)
{
    if (CUDA_CHECK(cudaSetDevice(device), error) != STATUS_OK ||
        CUDA_CHECK(cudaSetDeviceFlags(cudaDeviceScheduleSpin), error) != STATUS_OK)
        return error->status;
    return CUDA_CHECK(cudaFree(0), error);
}

/* Returns the single-precision units of an SM, from the CUDA programming guide's table of
 * throughputs. */
static int cores_per_sm(const struct cudaDeviceProp *properties)
{
    bool data_centre = properties->minor == 0;
    if (properties->major == 3)
        return 192;
    if (properties->major == 7)
        return 64;
    return (properties->major == 6 || properties->major == 8) && data_centre ? 64 : 128;
}

/* Sets a figure that is not measured here to what machine files without it mean. */
static void set_usual(struct machine *machine, const char *key)
{
    const struct machine_field *field = machine_field_find(machine_fields, key);
    machine_field_put(field, machine, field->otherwise);
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
    machine->l2_bytes = (uint64_t)properties->l2CacheSize;
    machine->arithmetic_fill = machine->memory_fill = 1; /* not measured: 1 is the safe side */
    machine->idle_memory_share = machine->leftover_excess = 1;
    machine->concurrent_kernels = properties->concurrentKernels ? RESIDENT_GRIDS : 1;
    machine->queues = hardware_queues();
    machine->queues_max = QUEUES_MAX;
    machine->cpu_cores = (uint32_t)cpu_worker_threads();
    set_usual(machine, "cpu_team_ns");
    set_usual(machine, "cpu_core_share");
    char memory[UNITS_TEXT];
    snprintf(machine->summary, sizeof machine->summary, "%" PRIu32 " SMs, %s, sm_%d%d",
             machine->sms, units_bytes(machine->memory_bytes, memory), properties->major,
             properties->minor);
}

static enum status read_properties(struct cuda_device *device, struct error *error)
{
    struct machine *machine = &device->machine;
    struct cudaDeviceProp properties;
    int driver, runtime, clock_khz;
    if (CUDA_CHECK(cudaGetDeviceProperties(&properties, device->number), error) != STATUS_OK ||
        CUDA_CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device->number),
                   error) != STATUS_OK ||
        CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&machine->priority_least,
                                                    &machine->priority_greatest),
                   error) != STATUS_OK ||
        CUDA_CHECK(cudaDriverGetVersion(&driver), error) != STATUS_OK ||
        CUDA_CHECK(cudaRuntimeGetVersion(&runtime), error) != STATUS_OK)
        return error->status;
    describe_properties(machine, &properties);
    machine->flops_per_s =
        2e3 * clock_khz * cores_per_sm(&properties) * machine->sms; /* fused multiply-adds */
    snprintf(device->driver, sizeof device->driver, "driver %d.%d, runtime %d.%d",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    snprintf(device->bus_id, sizeof device->bus_id, "%04x:%02x:%02x.0",
             (unsigned)properties.pciDomainID, (unsigned)properties.pciBusID,
             (unsigned)properties.pciDeviceID);
    return STATUS_OK;
}

/* The last device to be started is the first, which is then the current one. */
enum status cuda_devices_open(const char *argument, struct cuda_devices *devices,
                              struct error *error)
{
    *devices = (struct cuda_devices){0};
    enum status status = choose_devices(argument, devices, error);
    for (uint32_t i = devices->count; i > 0 && status == STATUS_OK; i--) {
        struct cuda_device *device = &devices->items[i - 1];
        status = start_device(device->number, error);
        if (status == STATUS_OK)
            status = read_properties(device, error);
    }
    return status;
}

/* Asks the driver whether an MPS daemon serves this process. */
static enum status find_served(int device, bool *served, struct error *error)
{
    enum { MPS_ENABLED = 133 }; /* CU_DEVICE_ATTRIBUTE_MPS_ENABLED, from CUDA 12.2 on */
    int found = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*attribute)(int *value, int attribute, int device) = NULL;
    if (driver != NULL)
        *(void **)&attribute = dlsym(driver, "cuDeviceGetAttribute");
    if (attribute == NULL || attribute(&found, MPS_ENABLED, device) != 0)
        return error_set(error, STATUS_FAILED,
                         "--share: this driver does not say whether MPS serves a program "
                         "(from CUDA 12.2 on)");
    *served = found != 0;
    return STATUS_OK;
}

enum status cuda_sharing_check(const struct settings *settings, int device, struct error *error)
{
    bool served = false;
    if (settings->sharing == SHARING_NONE)
        return STATUS_OK;
    if (settings_devices(settings) > 1)
        return error_set(error, STATUS_USAGE,
                         "--share is about processes on one device, and this is one process: "
                         "mpirun -n N pipeline-mpi -d cuda:0 starts several");
    if (find_served(device, &served, error) != STATUS_OK)
        return error->status;
    if (settings->sharing == SHARING_MPS && !served)
        return error_set(error, STATUS_FAILED,
                         "--share=mps: no MPS daemon serves this program: scripts/mps.sh start "
                         "starts one, and prints what to set");
    if (settings->sharing == SHARING_SLICES && served)
        return error_set(error, STATUS_FAILED,
                         "--share=slices: an MPS daemon serves this program: unset "
                         "CUDA_MPS_PIPE_DIRECTORY, or stop the daemon");
    return STATUS_OK;
}

enum status cuda_devices_select(const struct cuda_devices *devices, uint32_t index,
                                struct error *error)
{
    return cuda_check(cuda_devices_enter(devices, index), "cudaSetDevice", error);
}

bool cuda_devices_reach(const struct cuda_devices *devices, uint32_t index, enum status *status,
                        struct error *error)
{
    if (*status == STATUS_OK && index < devices->count)
        *status = cuda_devices_select(devices, index, error);
    return *status == STATUS_OK && index < devices->count;
}

cudaError_t cuda_devices_wait(const struct cuda_devices *devices, uint32_t *failed)
{
    cudaError_t first = cudaSuccess;
    *failed = 0;
    for (uint32_t i = devices->count; i > 0; i--) {
        cudaError_t result = cuda_devices_enter(devices, i - 1);
        if (result == cudaSuccess)
            result = cudaDeviceSynchronize();
        if (result == cudaSuccess || first != cudaSuccess)
            continue;
        first = result;
        *failed = i - 1;
    }
    return first;
}

enum status cuda_devices_settle(const struct cuda_devices *devices, struct error *error)
{
    uint32_t failed;
    return cuda_check(cuda_devices_wait(devices, &failed), "cudaDeviceSynchronize", error);
}

const char *cuda_devices_name(const struct cuda_devices *devices, uint32_t index,
                              char text[CUDA_DEVICE_NAME])
{
    text[0] = '\0';
    if (devices->count > 1)
        snprintf(text, CUDA_DEVICE_NAME, " on cuda:%d", devices->items[index].number);
    return text;
}

static bool are_alike(const struct cuda_devices *devices)
{
    const char *first = devices->items[0].machine.name;
    for (uint32_t i = 1; i < devices->count; i++) {
        if (strcmp(devices->items[i].machine.name, first) != 0)
            return false;
    }
    return true;
}

void cuda_devices_model(const struct cuda_devices *devices, char *text, size_t size)
{
    const uint32_t named = are_alike(devices) ? 1 : devices->count;
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < named; i++) {
        snprintf(text + length, size - length, "%s%s", i > 0 ? " + " : "",
                 devices->items[i].machine.name);
        length = strlen(text);
    }
}

void cuda_devices_bus_ids(const struct cuda_devices *devices,
                          const char *bus_ids[MACHINE_DEVICES_MAX])
{
    for (uint32_t i = 0; i < devices->count; i++)
        bus_ids[i] = devices->items[i].bus_id;
}

void cuda_devices_sign(const struct cuda_devices *devices, struct timeline *timeline)
{
    cuda_devices_model(devices, timeline->device, sizeof timeline->device);
    snprintf(timeline->driver, sizeof timeline->driver, "%s", devices->items[0].driver);
}

void cuda_device_list(void (*each)(void *context, const char *device, const char *summary),
                      void *context)
{
    int count;
    struct error none = {0};
    if (count_devices(&count, &none) == STATUS_FAILED)
        each(context, "cuda", none.text);
    if (none.status != STATUS_OK)
        return;
    for (int device = 0; device < count; device++) {
        struct cudaDeviceProp properties;
        struct machine machine = {0};
        struct error why = {0};
        char name[32], summary[2 * MACHINE_TEXT + 2];
        snprintf(name, sizeof name, "cuda:%d", device);
        if (CUDA_CHECK(cudaGetDeviceProperties(&properties, device), &why) != STATUS_OK) {
            each(context, name, why.text);
            continue;
        }
        describe_properties(&machine, &properties);
        snprintf(summary, sizeof summary, "%s, %s", machine.name, machine.summary);
        each(context, name, summary);
    }
}

/* --- what CUDA takes from a process only once --- */

enum { KERNELS_LOADED_MAX = 128 };

static struct {
    bool configured;
    uint32_t connections; /* that CUDA was started with; 0: the driver's own number */
    bool launch_blocking; /* CUDA was started so that launches wait for their kernels */
    const struct kernel *loaded[KERNELS_LOADED_MAX];
    int loaded_count;
} process;

static const char *connections_text(uint32_t connections, char text[UNITS_TEXT])
{
    if (connections == 0)
        return "the driver's own number";
    snprintf(text, UNITS_TEXT, "%" PRIu32, connections);
    return text;
}

void cuda_process_configure(const struct settings *settings)
{
    if (process.configured)
        return;
    process.configured = true;
    process.connections = settings->connections;
    process.launch_blocking = mistake_rows[settings->mistake].launches_block;
    if (process.launch_blocking)
        setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    if (mistake_rows[settings->mistake].loads_lazily) /* the default, but the user may differ */
        setenv("CUDA_MODULE_LOADING", "LAZY", 1);
    char wanted[UNITS_TEXT];
    if (settings->connections > 0)
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", connections_text(settings->connections, wanted),
               1);
}

enum status cuda_process_check(const struct settings *settings, struct error *error)
{
    char wanted[UNITS_TEXT], present[UNITS_TEXT];
    bool blocks = mistake_rows[settings->mistake].launches_block;
    if (settings->connections != process.connections)
        return error_set(error, STATUS_USAGE,
                         "--connections: %s: CUDA was started with %s, and takes it only once "
                         "in a process: do these runs one at a time",
                         connections_text(settings->connections, wanted),
                         connections_text(process.connections, present));
    if (blocks != process.launch_blocking)
        return error_set(
            error, STATUS_USAGE,
            "--mistake=%s: CUDA was started %s CUDA_LAUNCH_BLOCKING, and takes it only "
            "once in a process: do these runs one at a time",
            mistake_name(settings->mistake), process.launch_blocking ? "with" : "without");
    return STATUS_OK;
}

bool cuda_kernel_is_loaded(const struct kernel *kernel)
{
    for (int i = 0; i < process.loaded_count; i++) {
        if (process.loaded[i] == kernel)
            return true;
    }
    /* Once the list is full, a kernel that is not in it may have been loaded all the same. */
    return process.loaded_count == KERNELS_LOADED_MAX;
}

void cuda_kernel_loaded(const struct kernel *kernel)
{
    if (!cuda_kernel_is_loaded(kernel))
        process.loaded[process.loaded_count++] = kernel;
}
