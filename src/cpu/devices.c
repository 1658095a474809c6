/* devices.c - devices, their attributes and occupancy. */
#include "cpu/api.h"
#include "plan/occupancy.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reaches[DEVICES_MOST][DEVICES_MOST];
static unsigned device_flags[DEVICES_MOST];

/* --- devices --- */

bool device_exists(int device)
{
    return device >= 0 && device < cpu_devices() && device < DEVICES_MOST;
}

static cudaError_t need_device(int device)
{
    return device_exists(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

static cudaError_t set_int(int *to, int value)
{
    if (to != NULL)
        *to = value;
    return need(to != NULL);
}

static cudaError_t choose(int device)
{
    if (device_exists(device))
        calls_thread.device = device;
    return need_device(device);
}

static cudaError_t reset(void)
{
    const cudaError_t error = device_wait(calls_thread.device);
    block_give_all(calls_thread.device);
    return error;
}

cudaError_t cudaDeviceReset(void)
{
    calls_forgive();
    (void)call_begin(__func__);
    return call_end(reset());
}

static cudaError_t set_flags(unsigned flags)
{
    device_flags[calls_thread.device] = flags;
    return need((flags & ~(unsigned)cudaDeviceMask) == 0);
}

/* --- what a device is --- */

static void describe(struct cudaDeviceProp *p, int device)
{
    const struct machine *machine = cpu_machine();
    const struct sm_room *room = cpu_room();
    const int capability = machine_capability(machine), major = capability / 10;
    const size_t reserved = major >= 8 ? 1024 : 0;
    const int bus_bits = 6144; /* two transfers of it a clock make the machine's bandwidth */
    const double bus_khz = machine->memory_bytes_per_s / (2e3 * bus_bits / 8);
    *p = (struct cudaDeviceProp){.totalGlobalMem = (size_t)machine->memory_bytes,
                                 .sharedMemPerBlock = SHARED_BYTES,
                                 .sharedMemPerBlockOptin =
                                     major >= 7 ? room->shared - reserved : SHARED_BYTES,
                                 .sharedMemPerMultiprocessor = room->shared,
                                 .reservedSharedMemPerBlock = reserved,
                                 .regsPerBlock = (int)room->registers,
                                 .regsPerMultiprocessor = (int)room->registers,
                                 .warpSize = 32,
                                 .memPitch = INT_MAX,
                                 .maxThreadsPerBlock = 1024,
                                 .maxThreadsDim = {1024, 1024, 64},
                                 .maxGridSize = {INT_MAX, 65535, 65535},
                                 .totalConstMem = 64 << 10,
                                 .major = major,
                                 .minor = capability % 10,
                                 .textureAlignment = 512,
                                 .texturePitchAlignment = 32,
                                 .surfaceAlignment = 512,
                                 .multiProcessorCount = (int)machine->sms,
                                 .canMapHostMemory = 1,
                                 .concurrentKernels = 1,
                                 .ECCEnabled = 1,
                                 .pciBusID = device + 1,
                                 .asyncEngineCount = machine->copy_engines,
                                 .deviceOverlap = machine->copy_engines > 0,
                                 .clockRate = CPU_CLOCK_KHZ,
                                 .memoryBusWidth = bus_bits,
                                 .memoryClockRate = (int)bus_khz,
                                 .singleToDoublePrecisionPerfRatio = 2,
                                 .unifiedAddressing = 1,
                                 .l2CacheSize = (int)machine->l2_bytes,
                                 .maxThreadsPerMultiProcessor = (int)machine->threads_per_sm,
                                 .maxBlocksPerMultiProcessor = (int)machine->blocks_per_sm,
                                 .streamPrioritiesSupported = 1,
                                 .globalL1CacheSupported = 1,
                                 .localL1CacheSupported = 1,
                                 .managedMemory = 1,
                                 .multiGpuBoardGroupID = device,
                                 .concurrentManagedAccess = 1,
                                 .computePreemptionSupported = 1,
                                 .canUseHostPointerForRegisteredMem = 1,
                                 .cooperativeLaunch = 1,
                                 .hostRegisterSupported = 1,
                                 .memoryPoolsSupported = 1,
                                 .clusterLaunch = major >= 9};
    snprintf(p->name, sizeof p->name, "%s", machine_title(machine));
    snprintf(p->uuid.bytes, sizeof p->uuid.bytes, "pipeline %d", device);
}

static cudaError_t properties(struct cudaDeviceProp *p, int device)
{
    if (p != NULL && device_exists(device))
        describe(p, device);
    return p == NULL ? cudaErrorInvalidValue : need_device(device);
}

static cudaError_t attribute_of(int *value, enum cudaDeviceAttr attribute, int device)
{
    struct cudaDeviceProp all, *const p = &all;
    const cudaError_t error = value == NULL ? cudaErrorInvalidValue : properties(p, device);
    if (error != cudaSuccess)
        return error;
    switch (attribute) {
#define ATTRIBUTE(name, number, is)                                                            \
    case name:                                                                                 \
        *value = (int)(is);                                                                    \
        return cudaSuccess;
#include "cpu/include/cuda_attributes.def"
#undef ATTRIBUTE
    }
    return cudaErrorInvalidValue;
}

static cudaError_t bus_id(char *id, int length, int device)
{
    if (id == NULL || length < 13)
        return cudaErrorInvalidValue;
    snprintf(id, (size_t)length, "0000:%02X:00.0", device + 1);
    return need_device(device);
}

static cudaError_t priorities(int *least, int *greatest)
{
    if (least != NULL)
        *least = 0;
    return greatest != NULL ? set_int(greatest, -5) : cudaSuccess;
}

static size_t limits[] = {1024, 8650752, 8 << 20, 2, 2048, 64, 0};

static cudaError_t limit_of(size_t *value, enum cudaLimit limit, bool sets, size_t to)
{
    if ((unsigned)limit >= sizeof limits / sizeof *limits || (!sets && value == NULL))
        return cudaErrorInvalidValue;
    if (sets)
        limits[limit] = to;
    else
        *value = limits[limit];
    return cudaSuccess;
}

/* --- peers --- */

bool device_reaches(int device, int other)
{
    return device == other ||
           (device_exists(device) && device_exists(other) && reaches[device][other]);
}

static cudaError_t can_reach(int *can, int device, int peer)
{
    if (!device_exists(device) || !device_exists(peer))
        return cudaErrorInvalidDevice;
    return set_int(can, device != peer);
}

static cudaError_t reach(int peer, bool on, unsigned flags)
{
    if (!device_exists(peer))
        return cudaErrorInvalidDevice;
    bool *now = &reaches[calls_thread.device][peer];
    if (flags != 0)
        return cudaErrorInvalidValue;
    if (!on && !*now)
        return cudaErrorPeerAccessNotEnabled;
    if (peer == calls_thread.device)
        return cudaErrorPeerAccessUnsupported;
    if (on && *now)
        return cudaErrorPeerAccessAlreadyEnabled;
    *now = on;
    if (on)
        cpu_reaches(calls_thread.device, peer);
    return cudaSuccess;
}

static cudaError_t between(int *value, enum cudaDeviceP2PAttr attribute, int from, int to)
{
    if (!device_exists(from) || !device_exists(to))
        return cudaErrorInvalidDevice;
    return from == to ? cudaErrorInvalidDevice
                      : set_int(value, attribute != cudaDevP2PAttrPerformanceRank);
}

/* --- kernels --- */

/* What was asked for a kernel's dynamic shared memory, if anything was: by its name without
 * a template's arguments, since launches have no more. */
static struct {
    char name[64];
    int shared;
} * asked;
static size_t asked_count, asked_capacity;

static int *shared_asked(const char *kernel)
{
    const size_t length = strcspn(kernel, "<");
    size_t from = length;
    while (from > 0 && (isalnum((unsigned char)kernel[from - 1]) || kernel[from - 1] == '_'))
        from--;
    for (size_t i = 0; i < asked_count; i++)
        if (strlen(asked[i].name) == length - from &&
            strncmp(asked[i].name, kernel + from, length - from) == 0)
            return &asked[i].shared;
    if (!ITEMS_ROOM(asked, asked_count, asked_capacity))
        return NULL;
    snprintf(asked[asked_count].name, sizeof asked->name, "%.*s", (int)(length - from),
             kernel + from);
    asked[asked_count].shared = SHARED_BYTES;
    return &asked[asked_count++].shared;
}

static cudaError_t ask(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
    struct cudaDeviceProp p;
    describe(&p, calls_thread.device);
    if (kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
        return need(value >= -1 && value <= 100);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        (size_t)value > p.sharedMemPerBlockOptin)
        return cudaErrorInvalidValue;
    int *shared = shared_asked(pipeline_name(kernel));
    if (shared == NULL)
        return cudaErrorMemoryAllocation;
    *shared = value;
    return cudaSuccess;
}

static cudaError_t about(struct cudaFuncAttributes *attributes, const void *kernel)
{
    if (attributes == NULL || kernel == NULL)
        return attributes == NULL ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction;
    const int version = machine_capability(cpu_machine());
    const int *shared = shared_asked(pipeline_name(kernel));
    *attributes = (struct cudaFuncAttributes){
        .maxThreadsPerBlock = 1024,
        .numRegs = CPU_REGISTERS,
        .ptxVersion = version,
        .binaryVersion = version,
        .maxDynamicSharedSizeBytes = shared != NULL ? *shared : SHARED_BYTES,
        .preferredShmemCarveout = cudaSharedmemCarveoutDefault};
    return cudaSuccess;
}

static cudaError_t fit(int *blocks, const void *kernel, int threads, size_t shared)
{
    struct cudaDeviceProp p;
    describe(&p, calls_thread.device);
    if (blocks == NULL || threads <= 0)
        return cudaErrorInvalidValue;
    if (kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    const struct block_need need = {(uint32_t)threads, CPU_REGISTERS, (uint32_t)shared};
    *blocks = threads > p.maxThreadsPerBlock || shared > p.sharedMemPerBlockOptin
                  ? 0
                  : (int)occupancy_blocks_per_sm(cpu_room(), &need);
    return cudaSuccess;
}

/* That a launch which asks for too much is an invalid value is what CUDA 13 says; CUDA 12
 * calls it an invalid configuration. [Tried on an H200: tests/cpu/calls.txt] */
cudaError_t launch_check(const struct cpu_launch *launch)
{
    struct cudaDeviceProp p;
    describe(&p, calls_thread.device);
    uint64_t threads = 1, blocks = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] == 0 || launch->grid[i] > (unsigned)p.maxGridSize[i] ||
            launch->block[i] == 0 || launch->block[i] > (unsigned)p.maxThreadsDim[i])
            return cudaErrorInvalidValue;
        threads *= launch->block[i];
        blocks *= launch->grid[i];
    }
    const int *shared = shared_asked(launch->name);
    if (threads > (uint64_t)p.maxThreadsPerBlock ||
        launch->shared >
            (size_t)(shared != NULL && *shared > SHARED_BYTES ? *shared : SHARED_BYTES))
        return cudaErrorInvalidValue;
    int fits = 0;
    if (launch->cooperative &&
        (fit(&fits, launch->function, (int)threads, launch->shared) != cudaSuccess ||
         blocks > (uint64_t)fits * (uint64_t)p.multiProcessorCount))
        return cudaErrorCooperativeLaunchTooLarge;
    return cudaSuccess;
}

#include "cpu/include/cuda_devices.def"
