/* host_call.c - the table of CUDA's calls that a trace's causes are read from. */
#include "plan/host_call.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Most calls of the runtime have one of the driver's beside them that does the same, and most
 * copies and memsets one that returns at once. */
#define ROW(name, kind)                                                                        \
    {                                                                                          \
        (name), (kind)                                                                         \
    }
#define BOTH(name, kind)            ROW("cuda" name, kind), ROW("cu" name, kind)
#define EITHER(name, kind, at_once) ROW(name, kind), ROW(name "Async", at_once)
#define COPY(name)                  EITHER(name, CALL_COPY_WAIT, CALL_COPY)
#define COPY_BOTH(name)             COPY("cuda" name), COPY("cu" name)
#define SET(name)                   EITHER(name, CALL_QUICK, CALL_QUICK)

static const struct {
    const char *name;
    enum host_call_kind kind;
} rows[] = {
    {"another call", CALL_OTHER},
    {"a call that was captured", CALL_MAKE},
    COPY_BOTH("Memcpy"),
    COPY_BOTH("Memcpy2D"),
    COPY_BOTH("Memcpy3D"),
    COPY_BOTH("MemcpyPeer"),
    COPY_BOTH("Memcpy3DPeer"),
    COPY("cudaMemcpyToSymbol"),
    COPY("cudaMemcpyFromSymbol"),
    COPY("cudaMemcpy2DToArray"),
    COPY("cudaMemcpy2DFromArray"),
    COPY("cuMemcpyHtoD"),
    COPY("cuMemcpyDtoH"),
    COPY("cuMemcpyDtoD"),
    COPY("cuMemcpyHtoA"),
    COPY("cuMemcpyAtoH"),
    BOTH("MemcpyBatchAsync", CALL_COPY),
    BOTH("Memcpy3DBatchAsync", CALL_COPY),
    {"cudaMemcpy2DArrayToArray", CALL_COPY_WAIT},
    {"cuMemcpyDtoA", CALL_COPY_WAIT},
    {"cuMemcpyAtoD", CALL_COPY_WAIT},
    {"cuMemcpyAtoA", CALL_COPY_WAIT},
    {"cuMemcpy2DUnaligned", CALL_COPY_WAIT},
    BOTH("LaunchKernel", CALL_LAUNCH),
    {"cudaLaunchKernelExC", CALL_LAUNCH},
    {"cuLaunchKernelEx", CALL_LAUNCH},
    BOTH("LaunchCooperativeKernel", CALL_LAUNCH),
    BOTH("LaunchCooperativeKernelMultiDevice", CALL_LAUNCH),
    BOTH("GraphLaunch", CALL_GRAPH),
    BOTH("LaunchHostFunc", CALL_HOST_FUNC),
    BOTH("StreamAddCallback", CALL_HOST_FUNC),
    SET("cudaMemset"),
    SET("cudaMemset2D"),
    SET("cudaMemset3D"),
    SET("cuMemsetD8"),
    SET("cuMemsetD16"),
    SET("cuMemsetD32"),
    SET("cuMemsetD2D8"),
    SET("cuMemsetD2D16"),
    SET("cuMemsetD2D32"),
    BOTH("EventRecord", CALL_QUICK),
    BOTH("EventRecordWithFlags", CALL_QUICK),
    BOTH("EventQuery", CALL_QUICK),
    BOTH("StreamQuery", CALL_QUICK),
    BOTH("StreamWaitEvent", CALL_QUICK),
    BOTH("MemPrefetchAsync", CALL_QUICK),
    BOTH("MemAdvise", CALL_QUICK),
    {"cudaMallocAsync", CALL_POOL},
    {"cudaMallocFromPoolAsync", CALL_POOL},
    {"cudaFreeAsync", CALL_POOL},
    {"cuMemAllocAsync", CALL_POOL},
    {"cuMemAllocFromPoolAsync", CALL_POOL},
    {"cuMemFreeAsync", CALL_POOL},
    BOTH("StreamSynchronize", CALL_SYNC),
    BOTH("EventSynchronize", CALL_SYNC),
    {"cudaDeviceSynchronize", CALL_SYNC},
    {"cudaThreadSynchronize", CALL_SYNC},
    {"cuCtxSynchronize", CALL_SYNC},
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
    BOTH("StreamCreate", CALL_STREAM),
    BOTH("StreamCreateWithPriority", CALL_STREAM),
    BOTH("StreamDestroy", CALL_STREAM),
    BOTH("EventCreate", CALL_STREAM),
    BOTH("EventDestroy", CALL_STREAM),
    {"cudaStreamCreateWithFlags", CALL_STREAM},
    {"cudaEventCreateWithFlags", CALL_STREAM},
    BOTH("StreamBeginCapture", CALL_MAKE),
    BOTH("StreamEndCapture", CALL_MAKE),
    BOTH("GraphCreate", CALL_MAKE),
    BOTH("GraphDestroy", CALL_MAKE),
    BOTH("GraphInstantiate", CALL_MAKE),
    BOTH("GraphInstantiateWithFlags", CALL_MAKE),
    BOTH("GraphInstantiateWithParams", CALL_MAKE),
    BOTH("GraphExecUpdate", CALL_MAKE),
    BOTH("GraphExecDestroy", CALL_MAKE),
    BOTH("GraphUpload", CALL_MAKE),
    BOTH("LibraryLoadData", CALL_LOAD),
    BOTH("LibraryUnload", CALL_LOAD),
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
