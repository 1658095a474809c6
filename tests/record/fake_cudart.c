/* fake_cudart.c - a libcudart.so.13 of what the recorder measures its own cost with: calls that
 * take a known time, of which the player tells CUPTI. */
#include "fakes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))

/* Where this is set it is told of each call, before and behind it. */
EXPORTED void (*fake_runtime_called)(unsigned id, const void *params, bool begins);

static struct fake_stream stream = {.number = 99};
static struct fake_function kernel = {.result = CUDA_SUCCESS};
static char memory[64];

EXPORTED void fake_spin(long ns)
{
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < ns);
}

static bool is_context(const char *how)
{
    const char *said = getenv("PLAYER_CONTEXT");
    return said != NULL && strcmp(said, how) == 0;
}

/* A context may be `lost` so that calls fail. */
static cudaError_t called(unsigned id, const void *params)
{
    if (fake_runtime_called != NULL)
        fake_runtime_called(id, params, true);
    fake_spin(FAKE_CALL_NS);
    if (fake_runtime_called != NULL)
        fake_runtime_called(id, params, false);
    return is_context("lost") ? cudaErrorLaunchFailure : cudaSuccess;
}

/* To load code, or to take memory, would wait for a device that is busy. */
static cudaError_t make(void *place, void *made)
{
    if (is_context("busy"))
        abort();
    memcpy(place, &made, sizeof made);
    return cudaSuccess;
}

EXPORTED cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                         enum cudaJitOption *jit, void **jit_values,
                                         unsigned jits, enum cudaLibraryOption *options,
                                         void **values, unsigned count)
{
    static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba};
    (void)jit, (void)jit_values, (void)jits, (void)options, (void)values, (void)count;
    return memcmp(code, fatbin, sizeof fatbin) == 0 ? make(library, memory)
                                                    : cudaErrorInvalidKernelImage;
}

EXPORTED cudaError_t cudaLibraryGetKernel(cudaKernel_t *made, cudaLibrary_t library,
                                          const char *name)
{
    (void)library, (void)name;
    return make(made, &kernel);
}

EXPORTED cudaError_t cudaStreamCreateWithFlags(cudaStream_t *made, unsigned flags)
{
    stream.flags = flags;
    return make(made, &stream);
}

EXPORTED cudaError_t cudaMalloc(void **made, size_t bytes)
{
    return bytes <= sizeof memory ? make(made, memory) : cudaErrorMemoryAllocation;
}

EXPORTED cudaError_t cudaHostAlloc(void **made, size_t bytes, unsigned flags)
{
    (void)flags;
    return bytes <= sizeof memory ? make(made, memory) : cudaErrorMemoryAllocation;
}

EXPORTED cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
                                      size_t shared, cudaStream_t into)
{
    const cudaLaunchKernel_v7000_params told = {function, grid, block, args, shared, into};
    return called(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &told);
}

EXPORTED cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                     enum cudaMemcpyKind kind, cudaStream_t into)
{
    const cudaMemcpyAsync_v3020_params told = {to, from, bytes, kind, into};
    return called(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, &told);
}

EXPORTED cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t into)
{
    const cudaMemsetAsync_v3020_params told = {to, value, bytes, into};
    return called(CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, &told);
}

EXPORTED cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t into)
{
    const cudaEventRecord_v3020_params told = {event, into};
    return called(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, &told);
}

EXPORTED cudaError_t cudaStreamWaitEvent(cudaStream_t waits, cudaEvent_t event, unsigned flags)
{
    const cudaStreamWaitEvent_v3020_params told = {waits, event, flags};
    return called(CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020, &told);
}
