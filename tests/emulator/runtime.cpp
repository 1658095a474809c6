/* runtime.cpp - CUDA's runtime as far as the project's launchers call it: a launch runs at
 * once. */
#include "check_launchers.h"
#include "cpu/cpu.h"
#include "cpu/grid.h"
#include "cuda_runtime.h"

#include <map>

static std::map<const void *, decltype(&pipeline::bind<>)> known;
static struct cpu_did did;
struct cpu_block emulator_blocks[3];

const char *emulator_fault(void)
{
    return did.fault[0] != '\0' ? did.fault : nullptr;
}

const struct cpu_did *emulator_did(void)
{
    return &did;
}

const struct cpu_block *cpu_block_at(uintptr_t address)
{
    for (const struct cpu_block &block : emulator_blocks)
        if (address - block.from < block.bytes)
            return &block;
    return nullptr;
}

bool cpu_block_gone(uintptr_t, const char **, int *)
{
    return false;
}

bool cpu_may_reach(const struct cpu_block *block, int device)
{
    return block->device == device;
}

int pipeline_launch(const struct cpu_launch *launch, struct CUstream_st *)
{
    cpu_did_free(&did);
    did = {};
    if (launch->block[0] * launch->block[1] * launch->block[2] > GRID_THREADS_MAX) {
        launch->release(launch->arguments);
        return cudaErrorInvalidConfiguration;
    }
    const bool right = grid_run(launch, &did);
    launch->release(launch->arguments);
    return right ? cudaSuccess : cudaErrorLaunchFailure;
}

void pipeline_know(const void *function, decltype(&pipeline::bind<>) bind)
{
    known[function] = bind;
}

enum pipeline_place pipeline_here(const char *, int)
{
    return PIPELINE_LEFT;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                void **arguments, enum pipeline_place)
{
    pipeline::configured made("", "", 0, config->gridDim, config->blockDim,
                              config->dynamicSmemBytes);
    known[kernel](kernel, arguments, &made.launch);
    made.launch.cooperative = config->numAttrs > 0;
    return (cudaError_t)pipeline_launch(&made.launch, nullptr);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *,
                                  enum pipeline_place)
{
    attributes->maxThreadsPerBlock = GRID_THREADS_MAX;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(enum pipeline_place)
{
    return cudaSuccess;
}
