/* host_call.c - the table of CUDA's calls that a trace's causes are read from. */
#include "plan/host_call.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum host_call_kind kind;
} rows[] = {
    {"another call", CALL_OTHER},
    {"a call that was captured", CALL_MAKE},
    {"cudaMemcpyAsync", CALL_COPY},
    {"cudaMemcpy2DAsync", CALL_COPY},
    {"cudaMemcpy3DAsync", CALL_COPY},
    {"cudaMemcpyToSymbolAsync", CALL_COPY},
    {"cudaMemcpyFromSymbolAsync", CALL_COPY},
    {"cuMemcpyAsync", CALL_COPY},
    {"cuMemcpyHtoDAsync", CALL_COPY},
    {"cuMemcpyDtoHAsync", CALL_COPY},
    {"cuMemcpyDtoDAsync", CALL_COPY},
    {"cudaMemcpy2DToArrayAsync", CALL_COPY},
    {"cudaMemcpy2DFromArrayAsync", CALL_COPY},
    {"cudaMemcpyPeerAsync", CALL_COPY},
    {"cudaMemcpy3DPeerAsync", CALL_COPY},
    {"cudaMemcpyBatchAsync", CALL_COPY},
    {"cudaMemcpy3DBatchAsync", CALL_COPY},
    {"cuMemcpyHtoAAsync", CALL_COPY},
    {"cuMemcpyAtoHAsync", CALL_COPY},
    {"cuMemcpy2DAsync", CALL_COPY},
    {"cuMemcpy3DAsync", CALL_COPY},
    {"cuMemcpyPeerAsync", CALL_COPY},
    {"cuMemcpy3DPeerAsync", CALL_COPY},
    {"cuMemcpyBatchAsync", CALL_COPY},
    {"cuMemcpy3DBatchAsync", CALL_COPY},
    {"cudaMemcpy", CALL_COPY_WAIT},
    {"cudaMemcpy2D", CALL_COPY_WAIT},
    {"cudaMemcpy3D", CALL_COPY_WAIT},
    {"cudaMemcpyToSymbol", CALL_COPY_WAIT},
    {"cudaMemcpyFromSymbol", CALL_COPY_WAIT},
    {"cuMemcpy", CALL_COPY_WAIT},
    {"cuMemcpyHtoD", CALL_COPY_WAIT},
    {"cuMemcpyDtoH", CALL_COPY_WAIT},
    {"cudaMemcpy2DToArray", CALL_COPY_WAIT},
    {"cudaMemcpy2DFromArray", CALL_COPY_WAIT},
    {"cudaMemcpy2DArrayToArray", CALL_COPY_WAIT},
    {"cudaMemcpyPeer", CALL_COPY_WAIT},
    {"cudaMemcpy3DPeer", CALL_COPY_WAIT},
    {"cuMemcpyDtoD", CALL_COPY_WAIT},
    {"cuMemcpyDtoA", CALL_COPY_WAIT},
    {"cuMemcpyAtoD", CALL_COPY_WAIT},
    {"cuMemcpyHtoA", CALL_COPY_WAIT},
    {"cuMemcpyAtoH", CALL_COPY_WAIT},
    {"cuMemcpyAtoA", CALL_COPY_WAIT},
    {"cuMemcpy2D", CALL_COPY_WAIT},
    {"cuMemcpy2DUnaligned", CALL_COPY_WAIT},
    {"cuMemcpy3D", CALL_COPY_WAIT},
    {"cuMemcpyPeer", CALL_COPY_WAIT},
    {"cuMemcpy3DPeer", CALL_COPY_WAIT},
    {"cudaLaunchKernel", CALL_LAUNCH},
    {"cudaLaunchKernelExC", CALL_LAUNCH},
    {"cudaLaunchCooperativeKernel", CALL_LAUNCH},
    {"cuLaunchKernel", CALL_LAUNCH},
    {"cuLaunchKernelEx", CALL_LAUNCH},
    {"cuLaunchCooperativeKernel", CALL_LAUNCH},
    {"cudaLaunchCooperativeKernelMultiDevice", CALL_LAUNCH},
    {"cuLaunchCooperativeKernelMultiDevice", CALL_LAUNCH},
    {"cudaGraphLaunch", CALL_GRAPH},
    {"cuGraphLaunch", CALL_GRAPH},
    {"cudaLaunchHostFunc", CALL_HOST_FUNC},
    {"cudaStreamAddCallback", CALL_HOST_FUNC},
    {"cuLaunchHostFunc", CALL_HOST_FUNC},
    {"cuStreamAddCallback", CALL_HOST_FUNC},
    {"cudaMemset", CALL_QUICK},
    {"cudaMemsetAsync", CALL_QUICK},
    {"cudaMemset2D", CALL_QUICK},
    {"cudaMemset2DAsync", CALL_QUICK},
    {"cudaMemset3D", CALL_QUICK},
    {"cudaMemset3DAsync", CALL_QUICK},
    {"cudaEventRecord", CALL_QUICK},
    {"cudaEventRecordWithFlags", CALL_QUICK},
    {"cudaEventQuery", CALL_QUICK},
    {"cudaStreamQuery", CALL_QUICK},
    {"cudaStreamWaitEvent", CALL_QUICK},
    {"cudaMallocAsync", CALL_POOL},
    {"cudaMallocFromPoolAsync", CALL_POOL},
    {"cudaFreeAsync", CALL_POOL},
    {"cudaMemPrefetchAsync", CALL_QUICK},
    {"cudaMemAdvise", CALL_QUICK},
    {"cuEventRecord", CALL_QUICK},
    {"cuEventRecordWithFlags", CALL_QUICK},
    {"cuEventQuery", CALL_QUICK},
    {"cuStreamQuery", CALL_QUICK},
    {"cuStreamWaitEvent", CALL_QUICK},
    {"cuMemsetD8", CALL_QUICK},
    {"cuMemsetD16", CALL_QUICK},
    {"cuMemsetD32", CALL_QUICK},
    {"cuMemsetD2D8", CALL_QUICK},
    {"cuMemsetD2D16", CALL_QUICK},
    {"cuMemsetD2D32", CALL_QUICK},
    {"cuMemsetD8Async", CALL_QUICK},
    {"cuMemsetD16Async", CALL_QUICK},
    {"cuMemsetD32Async", CALL_QUICK},
    {"cuMemsetD2D8Async", CALL_QUICK},
    {"cuMemsetD2D16Async", CALL_QUICK},
    {"cuMemsetD2D32Async", CALL_QUICK},
    {"cuMemAllocAsync", CALL_POOL},
    {"cuMemAllocFromPoolAsync", CALL_POOL},
    {"cuMemFreeAsync", CALL_POOL},
    {"cuMemPrefetchAsync", CALL_QUICK},
    {"cuMemAdvise", CALL_QUICK},
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
    {"cudaMallocArray", CALL_ALLOC},
    {"cudaMalloc3DArray", CALL_ALLOC},
    {"cudaMallocManaged", CALL_ALLOC},
    {"cudaFree", CALL_ALLOC},
    {"cudaFreeArray", CALL_ALLOC},
    {"cuMemAlloc", CALL_ALLOC},
    {"cuMemAllocPitch", CALL_ALLOC},
    {"cuMemAllocManaged", CALL_ALLOC},
    {"cuMemFree", CALL_ALLOC},
    {"memcpy", CALL_PACK}, /* no call of CUDA's: only files of ours tell of it */
    {"cudaMallocHost", CALL_PIN},
    {"cudaHostAlloc", CALL_PIN},
    {"cudaHostRegister", CALL_PIN},
    {"cudaHostUnregister", CALL_PIN},
    {"cudaFreeHost", CALL_PIN},
    {"cuMemAllocHost", CALL_PIN},
    {"cuMemHostAlloc", CALL_PIN},
    {"cuMemHostRegister", CALL_PIN},
    {"cuMemHostUnregister", CALL_PIN},
    {"cuMemFreeHost", CALL_PIN},
    {"cudaStreamCreate", CALL_STREAM},
    {"cudaStreamCreateWithFlags", CALL_STREAM},
    {"cudaStreamCreateWithPriority", CALL_STREAM},
    {"cudaStreamDestroy", CALL_STREAM},
    {"cudaEventCreate", CALL_STREAM},
    {"cudaEventCreateWithFlags", CALL_STREAM},
    {"cudaEventDestroy", CALL_STREAM},
    {"cudaStreamBeginCapture", CALL_MAKE},
    {"cudaStreamEndCapture", CALL_MAKE},
    {"cudaGraphCreate", CALL_MAKE},
    {"cudaGraphDestroy", CALL_MAKE},
    {"cudaGraphInstantiate", CALL_MAKE},
    {"cudaGraphInstantiateWithFlags", CALL_MAKE},
    {"cudaGraphInstantiateWithParams", CALL_MAKE},
    {"cudaGraphExecUpdate", CALL_MAKE},
    {"cudaGraphExecDestroy", CALL_MAKE},
    {"cudaGraphUpload", CALL_MAKE},
    {"cuStreamCreate", CALL_STREAM},
    {"cuStreamCreateWithPriority", CALL_STREAM},
    {"cuStreamDestroy", CALL_STREAM},
    {"cuEventCreate", CALL_STREAM},
    {"cuEventDestroy", CALL_STREAM},
    {"cuStreamBeginCapture", CALL_MAKE},
    {"cuStreamEndCapture", CALL_MAKE},
    {"cuGraphCreate", CALL_MAKE},
    {"cuGraphDestroy", CALL_MAKE},
    {"cuGraphInstantiate", CALL_MAKE},
    {"cuGraphInstantiateWithFlags", CALL_MAKE},
    {"cuGraphInstantiateWithParams", CALL_MAKE},
    {"cuGraphExecUpdate", CALL_MAKE},
    {"cuGraphExecDestroy", CALL_MAKE},
    {"cuGraphUpload", CALL_MAKE},
    {"cudaLibraryLoadData", CALL_LOAD},
    {"cudaLibraryUnload", CALL_LOAD},
    {"cuLibraryLoadData", CALL_LOAD},
    {"cuLibraryUnload", CALL_LOAD},
    {"cuModuleLoad", CALL_LOAD},
    {"cuModuleLoadData", CALL_LOAD},
    {"cuModuleLoadDataEx", CALL_LOAD},
    {"cuModuleLoadFatBinary", CALL_LOAD},
    {"cuModuleUnload", CALL_LOAD},
    /* Calls that a library makes for what its users make: a handle, a plan. */
    {"cuBLAS's own", CALL_HANDLE},
    {"cuFFT's own", CALL_HANDLE},
    {"cuSOLVER's own", CALL_HANDLE},
    {"cuSPARSE's own", CALL_HANDLE},
    {"cuDNN's own", CALL_HANDLE},
    {"cuRAND's own", CALL_HANDLE},
};
enum { ROW_CAPTURED = 1, ROWS = sizeof rows / sizeof rows[0] };

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

uint16_t host_call_library(const char *file)
{
    enum { LIB = 3 }; /* of "libcublasLt.so.13" */
    uint16_t row = strncmp(file, "lib", LIB) == 0 ? 1 : ROWS;
    while (row < ROWS &&
           (rows[row].kind != CALL_HANDLE ||
            strncasecmp(file + LIB, rows[row].name, strcspn(rows[row].name, "'")) != 0))
        row++;
    return row < ROWS ? row : 0;
}

enum host_call_kind host_call_between(enum host_call_kind before, enum host_call_kind next)
{
    if (before == CALL_HANDLE || next == CALL_HANDLE)
        return CALL_HANDLE;
    if (before == CALL_MAKE && next == CALL_GRAPH)
        return CALL_MAKE;
    /* A pool gives what it has, and does not work on it. */
    return before == next && next >= CALL_MAKE && next != CALL_POOL ? next : CALL_OTHER;
}

bool host_call_lasts(uint16_t row)
{
    const enum host_call_kind kind = host_call_kind(row);
    return kind >= CALL_MAKE || kind == CALL_ALLOC || kind == CALL_PIN;
}

uint16_t host_call_captured(struct host_capture *capture, uint64_t thread, uint16_t row)
{
    const char *name = host_call_name(row);
    if (host_call_kind(row) != CALL_MAKE)
        return capture->on && capture->thread == thread ? ROW_CAPTURED : row;
    if (strstr(name, "BeginCapture") != NULL)
        *capture = (struct host_capture){true, thread};
    else if (strstr(name, "EndCapture") != NULL && capture->thread == thread)
        capture->on = false;
    return row;
}

uint16_t host_call_rows(void)
{
    return ROWS;
}

const char *host_call_name(uint16_t row)
{
    return rows[row < ROWS ? row : 0].name;
}

enum host_call_kind host_call_kind(uint16_t row)
{
    return rows[row < ROWS ? row : 0].kind;
}

void host_turns_add(struct host_turns *turns, int64_t start_ns, int64_t end_ns, uint64_t thread,
                    bool issues, uint32_t stream)
{
    turns->apart += turns->calls++ > 0 && turns->called != thread && turns->end_ns > start_ns;
    turns->called = thread;
    turns->end_ns = end_ns;
    if (!issues)
        return;
    const bool changes = turns->issued > 0 && turns->issued_by != thread;
    turns->issued++;
    turns->turns += changes;
    turns->apart += changes && turns->stream != stream;
    turns->issued_by = thread;
    turns->stream = stream;
}

bool host_turns_taken(const struct host_turns *turns)
{
    enum { MOST = 4 };
    return turns->turns > 0 && turns->turns <= turns->issued / MOST &&
           turns->apart <= turns->turns / MOST;
}
