/* bench_cuda_clocks.c - the GPU's clocks, from NVML. That library is opened at run time: it
 * comes with the driver, and the program runs without one. */
#include "bench/bench.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>

/* The numbers come from NVML's API reference: nvmlClockType_t, and 0 for success. */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, NVML_OK = 0 };

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*find)(const char *bus, void **device);
    int (*clock)(void *device, int type, unsigned *mhz);
};

static bool nvml_load(void *library, struct nvml *nvml)
{
    *(void **)&nvml->init = dlsym(library, "nvmlInit_v2");
    *(void **)&nvml->shutdown = dlsym(library, "nvmlShutdown");
    *(void **)&nvml->find = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&nvml->clock = dlsym(library, "nvmlDeviceGetClockInfo");
    return nvml->init && nvml->shutdown && nvml->find && nvml->clock;
}

static void read_clocks(const struct nvml *nvml, char text[64])
{
    char bus[32];
    void *device;
    unsigned sm, memory;
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, 0) == cudaSuccess &&
        nvml->find(bus, &device) == NVML_OK && nvml->clock(device, CLOCK_SM, &sm) == NVML_OK &&
        nvml->clock(device, CLOCK_MEMORY, &memory) == NVML_OK)
        snprintf(text, 64, "SM %u MHz, memory %u MHz", sm, memory);
}

void bench_cuda_clocks(char text[64])
{
    struct nvml nvml;
    text[0] = '\0';
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        return;
    if (nvml_load(library, &nvml) && nvml.init() == NVML_OK) {
        read_clocks(&nvml, text);
        nvml.shutdown();
    }
    dlclose(library);
}
