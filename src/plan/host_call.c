/* host_call.c - the table of CUDA's calls that a trace's causes are read from. */
#include "plan/host_call.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *name;
    enum host_call_kind kind;
} rows[] = {
    {"another call", CALL_OTHER},
    {"cudaMemcpyAsync", CALL_COPY},
    {"cudaMemcpy2DAsync", CALL_COPY},
    {"cudaMemcpy3DAsync", CALL_COPY},
    {"cudaMemcpyToSymbolAsync", CALL_COPY},
    {"cudaMemcpyFromSymbolAsync", CALL_COPY},
    {"cuMemcpyAsync", CALL_COPY},
    {"cuMemcpyHtoDAsync", CALL_COPY},
    {"cuMemcpyDtoHAsync", CALL_COPY},
    {"cuMemcpyDtoDAsync", CALL_COPY},
    {"cudaMemcpy", CALL_COPY_WAIT},
    {"cudaMemcpy2D", CALL_COPY_WAIT},
    {"cudaMemcpy3D", CALL_COPY_WAIT},
    {"cudaMemcpyToSymbol", CALL_COPY_WAIT},
    {"cudaMemcpyFromSymbol", CALL_COPY_WAIT},
    {"cuMemcpy", CALL_COPY_WAIT},
    {"cuMemcpyHtoD", CALL_COPY_WAIT},
    {"cuMemcpyDtoH", CALL_COPY_WAIT},
    {"cudaLaunchKernel", CALL_LAUNCH},
    {"cudaLaunchKernelExC", CALL_LAUNCH},
    {"cudaLaunchCooperativeKernel", CALL_LAUNCH},
    {"cuLaunchKernel", CALL_LAUNCH},
    {"cuLaunchKernelEx", CALL_LAUNCH},
    {"cuLaunchCooperativeKernel", CALL_LAUNCH},
    {"cudaGraphLaunch", CALL_GRAPH},
    {"cuGraphLaunch", CALL_GRAPH},
    {"cudaLaunchHostFunc", CALL_HOST_FUNC},
    {"cudaStreamAddCallback", CALL_HOST_FUNC},
    {"cuLaunchHostFunc", CALL_HOST_FUNC},
    {"cuStreamAddCallback", CALL_HOST_FUNC},
    {"cudaMemset", CALL_QUICK},
    {"cudaMemsetAsync", CALL_QUICK},
    {"cudaEventRecord", CALL_QUICK},
    {"cudaEventRecordWithFlags", CALL_QUICK},
    {"cudaEventQuery", CALL_QUICK},
    {"cudaStreamQuery", CALL_QUICK},
    {"cudaStreamWaitEvent", CALL_QUICK},
    {"cuEventRecord", CALL_QUICK},
    {"cuStreamWaitEvent", CALL_QUICK},
    {"cuMemsetD8Async", CALL_QUICK},
    {"cuMemsetD32Async", CALL_QUICK},
    {"cudaStreamSynchronize", CALL_SYNC},
    {"cudaDeviceSynchronize", CALL_SYNC},
    {"cudaThreadSynchronize", CALL_SYNC},
    {"cudaEventSynchronize", CALL_SYNC},
    {"cuStreamSynchronize", CALL_SYNC},
    {"cuCtxSynchronize", CALL_SYNC},
    {"cuEventSynchronize", CALL_SYNC},
    {"cudaMalloc", CALL_ALLOC},
    {"cudaMallocPitch", CALL_ALLOC},
    {"cudaMalloc3D", CALL_ALLOC},
    {"cudaMallocManaged", CALL_ALLOC},
    {"cudaFree", CALL_ALLOC},
    {"cuMemAlloc", CALL_ALLOC},
    {"cuMemFree", CALL_ALLOC},
    {"cudaMallocHost", CALL_PIN},
    {"cudaHostAlloc", CALL_PIN},
    {"cudaHostRegister", CALL_PIN},
    {"cudaHostUnregister", CALL_PIN},
    {"cudaFreeHost", CALL_PIN},
    {"cuMemAllocHost", CALL_PIN},
    {"cuMemHostAlloc", CALL_PIN},
    {"cuMemHostRegister", CALL_PIN},
    {"cuMemFreeHost", CALL_PIN},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Returns true if nothing but a version, or the stream that stands for none, follows a name:
 * "_v3020", "_ptsz", "_v7000_ptsz". */
static bool is_version(const char *rest)
{
    return *rest == '\0' || strncmp(rest, "_v", 2) == 0 || strncmp(rest, "_pt", 3) == 0;
}

uint16_t host_call_row(const char *name)
{
    for (uint16_t row = 1; row < ROWS; row++) {
        size_t length = strlen(rows[row].name);
        if (strncmp(name, rows[row].name, length) == 0 && is_version(name + length))
            return row;
    }
    return 0;
}

const char *host_call_name(uint16_t row)
{
    return rows[row < ROWS ? row : 0].name;
}

enum host_call_kind host_call_kind(uint16_t row)
{
    return rows[row < ROWS ? row : 0].kind;
}
