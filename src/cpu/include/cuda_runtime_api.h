/* cuda_runtime_api.h - the calls of CUDA's runtime that programs may make on the CPU, as CUDA
 * 13 has them. A call that is not declared here is not there.
 *
 * In C++ each call has a last argument that programs don't give: it leaves the line for the
 * function, which does not look at the argument itself. In C no line is known. */
#ifndef __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_API_H__

#include "driver_types.h"
#include "pipeline_cpu.h"

#ifdef __cplusplus
extern "C" {
#define PIPELINE_ONLY                                                                          \
    enum pipeline_place pipeline_place = pipeline_here(__builtin_FILE(), __builtin_LINE())
#define PIPELINE_AT        , PIPELINE_ONLY
#define PIPELINE_OR(value) = value
#else
#define PIPELINE_ONLY void
#define PIPELINE_AT
#define PIPELINE_OR(value)
#endif

#define PIPELINE_CALL(name, parameters, does) cudaError_t name parameters;
#include "cuda_copies.def"
#include "cuda_devices.def"
#include "cuda_graphs.def"
#include "cuda_launches.def"
#include "cuda_memory.def"
#include "cuda_streams.def"
#undef PIPELINE_CALL

/* Calls that answer also when all others fail. */
cudaError_t cudaDeviceReset(PIPELINE_ONLY);
cudaError_t cudaGetLastError(PIPELINE_ONLY);
cudaError_t cudaPeekAtLastError(PIPELINE_ONLY);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* Of a variable of the device's that has `size` bytes in all. */
cudaError_t pipeline_symbol_copy(const char *call, const void *symbol, size_t size, void *with,
                                 size_t count, size_t offset, enum cudaMemcpyKind kind,
                                 cudaStream_t stream, int to_symbol, int waits);
cudaError_t pipeline_symbol(void **memory, const void *symbol, size_t size);

void pipeline_streams_per_thread(void);
/* nvcc --default-stream=per-thread defines this. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
__attribute__((constructor)) static void pipeline_choose_stream(void)
{
    pipeline_streams_per_thread();
}
#endif

static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *memory, size_t pitch, size_t x,
                                                        size_t y)
{
    struct cudaPitchedPtr made = {memory, pitch, x, y};
    return made;
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    struct cudaPos made = {x, y, z};
    return made;
}
static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
    struct cudaExtent made = {width, height, depth};
    return made;
}

#ifdef __cplusplus
}
#include "cuda_runtime_api.hpp"
#else
#endif

#endif
