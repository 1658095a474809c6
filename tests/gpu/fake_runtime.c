/* fake_runtime.c - a CUDA runtime, and CUPTI, of several devices without a GPU: it does what it
 * is told at once, on the host, and judges whether each call was made for the right device. It
 * is stricter than CUDA: nearly every call wants its own device to be the current one, for that
 * is what the program promises.
 *
 * Environment:
 *   FAKE_DEVICES=N      how many devices there are (2)
 *   FAKE_MODELS=A,B     their names (all "FAKE")
 *   FAKE_BYTES=A,B      how much memory each has free, in bytes (4 GiB)
 *   FAKE_PEERS=0        no device can reach another's memory
 *   FAKE_FAIL=N         call N fails: calls are counted, but for those that only read errors
 *   FAKE_LOSE=D:N       launch N on device D loses that device's context
 *   FAKE_TOLD=FILE      gets "CALLS NAME": how many calls there were, and the one that failed
 * What is left at the end, or a call for the wrong device, is said on standard error. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Copies as large as those that measure are not made: nobody looks at what they leave. */
enum { DEVICES_MOST = 16, BLOCKS_MOST = 4096, RECORD_BYTES = 512, LARGE_BYTES = 16 << 20 };

struct CUstream_st {
    int device;
    uint32_t id; /* devices use the same */
};

struct CUevent_st {
    int device;
    int64_t recorded_ns;
};

struct block {
    char *start;
    size_t bytes;
    int device;  /* -1: registered memory of the host */
    bool shared; /* that every device's context knows */
};

static struct {
    bool begun;
    int count, current;
    char models[DEVICES_MOST][64];
    size_t free_bytes[DEVICES_MOST];
    bool lost[DEVICES_MOST];
    bool peers[DEVICES_MOST][DEVICES_MOST]; /* whose memory each device may reach */
    uint32_t next_stream[DEVICES_MOST];
    long launches[DEVICES_MOST];
    struct block blocks[BLOCKS_MOST];
    int streams, events, pools;
    long calls, fails_at;
    const char *failed;
    int loses;
    long loses_at;
    cudaError_t error;
} at;

static struct {
    CUpti_TimestampCallbackFunc now;
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    bool enabled;
    char *records;
    size_t count, capacity;
} cupti;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- begin and end --- */

static void tell_end(void)
{
    const char *told = getenv("FAKE_TOLD");
    int blocks = 0;
    for (int i = 0; i < BLOCKS_MOST; i++)
        blocks += at.blocks[i].start != NULL;
    if (blocks + at.streams + at.events + at.pools > 0)
        fprintf(stderr, "fake: left: %d blocks, %d streams, %d events, %d pools\n", blocks,
                at.streams, at.events, at.pools);
    FILE *file = told != NULL ? fopen(told, "w") : NULL;
    if (file == NULL)
        return;
    fprintf(file, "%ld %s\n", at.calls, at.failed != NULL ? at.failed : "-");
    fclose(file);
}

/* Returns item `index` of a list, the last one if that has no more. */
static const char *item_of(const char *list, int index)
{
    for (const char *comma; index > 0 && (comma = strchr(list, ',')) != NULL; index--)
        list = comma + 1;
    return list;
}

static void begin(void)
{
    const char *count = getenv("FAKE_DEVICES"), *models = getenv("FAKE_MODELS");
    const char *bytes = getenv("FAKE_BYTES"), *fail = getenv("FAKE_FAIL");
    const char *lose = getenv("FAKE_LOSE");
    at.begun = true;
    at.count = count != NULL ? atoi(count) : 2;
    for (int i = 0; i < DEVICES_MOST; i++) {
        const char *model = item_of(models != NULL ? models : "FAKE", i);
        snprintf(at.models[i], sizeof at.models[i], "%.*s", (int)strcspn(model, ","), model);
        at.free_bytes[i] =
            bytes != NULL ? strtoull(item_of(bytes, i), NULL, 10) : (size_t)4 << 30;
    }
    at.fails_at = fail != NULL ? atol(fail) : 0;
    if (lose != NULL)
        sscanf(lose, "%d:%ld", &at.loses, &at.loses_at);
    atexit(tell_end);
}

static cudaError_t keep(cudaError_t result)
{
    if (result != cudaSuccess)
        at.error = result;
    return result;
}

/* Counts a call. Returns what it fails with, or cudaSuccess. */
static cudaError_t enter(const char *name)
{
    if (!at.begun)
        begin();
    if (++at.calls == at.fails_at) {
        at.failed = name;
        return keep(cudaErrorUnknown);
    }
    return cudaSuccess;
}

/* Does the same for a call that needs the current device's context. */
static cudaError_t enter_context(const char *name)
{
    const cudaError_t result = enter(name);
    return result != cudaSuccess ? result
                                 : keep(at.lost[at.current] ? cudaErrorIllegalAddress : 0);
}

static cudaError_t wrong(const char *name, const char *what)
{
    fprintf(stderr, "fake: %s: %s, and device %d is current\n", name, what, at.current);
    return keep(cudaErrorInvalidResourceHandle);
}

#define ENTER(call)                                                                            \
    do {                                                                                       \
        const cudaError_t entered = (call);                                                    \
        if (entered != cudaSuccess)                                                            \
            return entered;                                                                    \
    } while (0)

/* --- devices --- */

cudaError_t cudaGetDeviceCount(int *count)
{
    ENTER(enter("cudaGetDeviceCount"));
    *count = at.count;
    return keep(at.count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    ENTER(enter("cudaSetDevice"));
    if (device < 0 || device >= at.count)
        return keep(cudaErrorInvalidDevice);
    at.current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = at.current;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return enter("cudaSetDeviceFlags");
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    ENTER(enter("cudaGetDeviceProperties"));
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "%s", at.models[device]);
    properties->major = 9;
    properties->asyncEngineCount = 2;
    properties->multiProcessorCount = 4;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->maxBlocksPerMultiProcessor = 32;
    properties->totalGlobalMem = at.free_bytes[device];
    properties->concurrentKernels = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)attribute, (void)device;
    *value = 1000000;
    return enter("cudaDeviceGetAttribute");
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return enter("cudaDeviceGetStreamPriorityRange");
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return enter("cudaDriverGetVersion");
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return enter("cudaRuntimeGetVersion");
}

cudaError_t cudaDeviceSynchronize(void)
{
    return enter_context("cudaDeviceSynchronize");
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaErrorFake";
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorUnknown ? "it was told to fail" : "it failed";
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t last = at.error;
    at.error = cudaSuccess;
    return last;
}

cudaError_t cudaPeekAtLastError(void)
{
    return at.error;
}

cudaError_t cudaProfilerStart(void)
{
    return enter("cudaProfilerStart");
}

cudaError_t cudaProfilerStop(void)
{
    return enter("cudaProfilerStop");
}

/* --- memory --- */

static struct block *block_at(const void *address)
{
    const char *byte = address;
    for (int i = 0; i < BLOCKS_MOST; i++) {
        struct block *block = &at.blocks[i];
        if (block->start != NULL && byte >= block->start && byte < block->start + block->bytes)
            return block;
    }
    return NULL;
}

static bool add_block(struct block block)
{
    int i = 0;
    while (i < BLOCKS_MOST && at.blocks[i].start != NULL)
        i++;
    if (i == BLOCKS_MOST)
        return false;
    at.blocks[i] = block;
    return true;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *all)
{
    ENTER(enter_context("cudaMemGetInfo"));
    *available = *all = at.free_bytes[at.current];
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    ENTER(enter_context("cudaMalloc"));
    if (bytes > at.free_bytes[at.current])
        return keep(cudaErrorMemoryAllocation);
    char *start = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (start == NULL || !add_block((struct block){start, bytes, at.current, false}))
        return keep(cudaErrorMemoryAllocation);
    at.free_bytes[at.current] -= bytes;
    *memory = start;
    return cudaSuccess;
}

/* Managed memory is the device's here, which the host reaches as it does all of it. */
cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned flags)
{
    if (flags != cudaMemAttachGlobal)
        return wrong("cudaMallocManaged", "memory for one stream");
    ENTER(enter_context("cudaMallocManaged"));
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaFree(void *memory)
{
    ENTER(memory == NULL ? enter_context("cudaFree") : cudaSuccess);
    struct block *block = block_at(memory);
    if (memory == NULL)
        return cudaSuccess;
    if (block == NULL || block->device != at.current)
        return wrong("cudaFree", "memory of another device");
    at.free_bytes[at.current] += block->bytes;
    free(block->start);
    *block = (struct block){0};
    return enter_context("cudaFree");
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    *memory = malloc(bytes);
    return enter_context("cudaMallocHost");
}

cudaError_t cudaFreeHost(void *memory)
{
    free(memory);
    return enter_context("cudaFreeHost");
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags)
{
    ENTER(enter_context("cudaHostRegister"));
    const bool shared = (flags & cudaHostRegisterPortable) != 0;
    add_block((struct block){memory, bytes, -1, shared});
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
    struct block *block = block_at(memory);
    if (block == NULL)
        return wrong("cudaHostUnregister", "memory that is not registered");
    *block = (struct block){0};
    return enter_context("cudaHostUnregister");
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    (void)flags;
    *device = host;
    return enter_context("cudaHostGetDevicePointer");
}

/* Returns true if device `device` may touch the memory: its own, or any of the host's that is
 * not registered for another device alone. */
static bool reaches(const void *address, int device)
{
    const struct block *block = block_at(address);
    return address == NULL || block == NULL || block->device == device ||
           (block->device < 0 && (block->shared || device == at.current));
}

static cudaError_t copy(const char *name, void *to, const void *from, size_t bytes)
{
    ENTER(enter_context(name));
    if (!reaches(to, at.current) || !reaches(from, at.current))
        return wrong(name, "memory of another device");
    memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    (void)kind;
    return copy("cudaMemcpy", to, from, bytes);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    ENTER(enter_context("cudaMemset"));
    if (!reaches(memory, at.current))
        return wrong("cudaMemset", "memory of another device");
    if (bytes < LARGE_BYTES)
        memset(memory, value, bytes);
    return cudaSuccess;
}

/* --- CUPTI's records --- */

static void add_record(const void *record, size_t bytes)
{
    if (!cupti.enabled)
        return;
    if (cupti.count == cupti.capacity) {
        cupti.capacity = cupti.capacity > 0 ? 2 * cupti.capacity : 1024;
        cupti.records = realloc(cupti.records, cupti.capacity * RECORD_BYTES);
    }
    memcpy(cupti.records + cupti.count++ * RECORD_BYTES, record, bytes);
}

static void record_copy(cudaStream_t stream, enum cudaMemcpyKind kind, size_t bytes,
                        int64_t begin_ns)
{
    const CUpti_ActivityMemcpy5 record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
        .copyKind = kind == cudaMemcpyHostToDevice   ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                    : kind == cudaMemcpyDeviceToHost ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                                                     : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
        .bytes = bytes,
        .start = (uint64_t)begin_ns,
        .end = (uint64_t)now_ns(),
        .deviceId = (uint32_t)stream->device,
        .streamId = stream->id};
    add_record(&record, sizeof record);
}

static void record_peer(cudaStream_t stream, int to, size_t bytes, int64_t begin_ns)
{
    const CUpti_ActivityMemcpyPtoP4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                              .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                              .bytes = bytes,
                                              .start = (uint64_t)begin_ns,
                                              .end = (uint64_t)now_ns(),
                                              .deviceId = (uint32_t)stream->device,
                                              .srcDeviceId = (uint32_t)stream->device,
                                              .dstDeviceId = (uint32_t)to,
                                              .streamId = stream->id};
    add_record(&record, sizeof record);
}

static void record_kernel(cudaStream_t stream, int64_t begin_ns)
{
    const CUpti_ActivityKernel8 record = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                          .start = (uint64_t)begin_ns,
                                          .end = (uint64_t)now_ns(),
                                          .deviceId = (uint32_t)stream->device,
                                          .streamId = stream->id};
    add_record(&record, sizeof record);
}

/* --- streams and events --- */

static cudaError_t check_stream(const char *name, cudaStream_t stream)
{
    ENTER(enter_context(name));
    return stream->device == at.current ? cudaSuccess
                                        : wrong(name, "a stream of another device");
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    enum { FIRST_ID = 7 };
    (void)flags, (void)priority;
    ENTER(enter_context("cudaStreamCreateWithPriority"));
    *stream = calloc(1, sizeof **stream);
    (*stream)->device = at.current;
    (*stream)->id = FIRST_ID + at.next_stream[at.current]++;
    at.streams++;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    at.streams--;
    free(stream);
    return enter_context("cudaStreamDestroy");
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return enter_context("cudaStreamSynchronize");
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    ENTER(enter_context("cudaEventCreateWithFlags"));
    *event = calloc(1, sizeof **event);
    (*event)->device = at.current;
    at.events++;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    at.events--;
    free(event);
    return enter("cudaEventDestroy");
}

/* A pool keeps nothing, and its memory comes and goes at once. */
struct CUmemPoolHandle_st {
    int device;
};

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    ENTER(enter_context("cudaMemPoolCreate"));
    if (properties->location.id != at.current)
        return wrong("cudaMemPoolCreate", "a pool of another device");
    *pool = calloc(1, sizeof **pool);
    if (*pool == NULL)
        return keep(cudaErrorMemoryAllocation);
    (*pool)->device = at.current;
    at.pools++;
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    free(pool);
    at.pools--;
    return enter("cudaMemPoolDestroy");
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                    void *value)
{
    (void)pool;
    (void)attribute;
    (void)value;
    return enter("cudaMemPoolSetAttribute");
}

cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream)
{
    ENTER(check_stream("cudaMallocAsync", stream));
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    if (pool->device != at.current)
        return wrong("cudaMallocFromPoolAsync", "a pool of another device");
    return cudaMallocAsync(memory, bytes, stream);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    ENTER(check_stream("cudaFreeAsync", stream));
    return cudaFree(memory);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ENTER(check_stream("cudaEventRecord", stream));
    if (event->device != at.current)
        return wrong("cudaEventRecord", "an event of another device");
    event->recorded_ns = now_ns();
    return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    (void)flags;
    return cudaEventRecord(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    return enter("cudaEventSynchronize");
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    ENTER(enter("cudaEventElapsedTime"));
    if (from->device != to->device)
        return wrong("cudaEventElapsedTime", "events of two devices");
    *ms = (float)(1e-6 * (double)(to->recorded_ns - from->recorded_ns)) + 1e-6F;
    return cudaSuccess;
}

/* An event may be another device's, but it must have been recorded. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    ENTER(check_stream("cudaStreamWaitEvent", stream));
    return event->recorded_ns != 0 ? cudaSuccess
                                   : wrong("cudaStreamWaitEvent", "nothing was recorded");
}

/* The driver's calls by which streams of several processes wait for one another. */
static CUresult write_value(CUstream stream, CUdeviceptr where, cuuint32_t value,
                            unsigned flags)
{
    (void)flags;
    const cudaError_t result = check_stream("cuStreamWriteValue32", stream);
    if (result == cudaSuccess)
        __atomic_store_n((uint32_t *)(uintptr_t)where, value, __ATOMIC_RELEASE);
    return (CUresult)result;
}

static CUresult wait_value(CUstream stream, CUdeviceptr where, cuuint32_t value, unsigned flags)
{
    (void)flags;
    const cudaError_t result = check_stream("cuStreamWaitValue32", stream);
    while (result == cudaSuccess &&
           __atomic_load_n((uint32_t *)(uintptr_t)where, __ATOMIC_ACQUIRE) < value)
        sched_yield();
    return (CUresult)result;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function,
                                             unsigned version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    (void)version;
    (void)flags;
    ENTER(enter("cudaGetDriverEntryPointByVersion"));
    *function = strcmp(name, "cuStreamWriteValue32") == 0  ? __extension__(void *) write_value
                : strcmp(name, "cuStreamWaitValue32") == 0 ? __extension__(void *) wait_value
                                                           : NULL;
    *found =
        *function != NULL ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    ENTER(check_stream("cudaLaunchHostFunc", stream));
    function(data);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    const int64_t begin_ns = now_ns();
    const void *device = kind == cudaMemcpyHostToDevice ? to : from;
    ENTER(check_stream("cudaMemcpyAsync", stream));
    if (block_at(device) == NULL)
        return keep(cudaErrorInvalidValue);
    if (!reaches(to, stream->device) || !reaches(from, stream->device))
        return wrong("cudaMemcpyAsync", "memory of another device");
    if (bytes < LARGE_BYTES)
        memmove(to, from, bytes);
    record_copy(stream, kind, bytes, begin_ns);
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    const char *name = "cudaMemcpy2DAsync";
    const int64_t begin_ns = now_ns();
    const void *device = kind == cudaMemcpyHostToDevice ? to : from;
    ENTER(check_stream(name, stream));
    if (block_at(device) == NULL || width > to_pitch || width > from_pitch)
        return keep(cudaErrorInvalidValue);
    if (!reaches(to, stream->device) || !reaches(from, stream->device))
        return wrong(name, "memory of another device");
    for (size_t row = 0; row < height; row++)
        memmove((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    record_copy(stream, kind, width * height, begin_ns);
    return cudaSuccess;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void *memory, size_t bytes, struct cudaMemLocation where,
                                 unsigned flags, cudaStream_t stream)
{
    const bool right =
        flags == 0 && (where.type == cudaMemLocationTypeHost ||
                       (where.type == cudaMemLocationTypeDevice && where.id == stream->device));
#else
cudaError_t cudaMemPrefetchAsync(const void *memory, size_t bytes, int where,
                                 cudaStream_t stream)
{
    const bool right = where == cudaCpuDeviceId || where == stream->device;
#endif
    ENTER(check_stream("cudaMemPrefetchAsync", stream));
    const struct block *block = block_at(memory);
    if (block == NULL || (const char *)memory + bytes > block->start + block->bytes)
        return wrong("cudaMemPrefetchAsync", "memory that is not managed");
    return right ? cudaSuccess
                 : wrong("cudaMemPrefetchAsync", "another place than the stream's");
}

/* --- peers --- */

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    const char *peers = getenv("FAKE_PEERS");
    *can = device != peer && (peers == NULL || atoi(peers) != 0);
    return enter("cudaDeviceCanAccessPeer");
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)flags;
    ENTER(enter_context("cudaDeviceEnablePeerAccess"));
    if (at.peers[at.current][peer])
        return keep(cudaErrorPeerAccessAlreadyEnabled);
    at.peers[at.current][peer] = true;
    return cudaSuccess;
}

/* Without peer access such a copy would work, by the host: here it does not. */
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    const char *name = "cudaMemcpyPeerAsync";
    const int64_t begin_ns = now_ns();
    ENTER(check_stream(name, stream));
    const struct block *target = block_at(to), *source = block_at(from);
    if (target == NULL || target->device != to_device || source == NULL ||
        source->device != from_device)
        return wrong(name, "memory of another device");
    if (!at.peers[from_device][to_device] || !at.peers[to_device][from_device])
        return wrong(name, "devices that are no peers");
    if (stream->device != from_device)
        return wrong(name, "a stream that is not the sender's");
    if (bytes < LARGE_BYTES)
        memmove(to, from, bytes);
    record_peer(stream, to_device, bytes, begin_ns);
    return cudaSuccess;
}

cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes,
                                 size_t count, struct cudaMemcpyAttributes *attributes,
                                 size_t *first, size_t attribute_count, cudaStream_t stream)
{
    (void)attributes, (void)first, (void)attribute_count;
    ENTER(check_stream("cudaMemcpyBatchAsync", stream));
    for (size_t i = 0; i < count; i++) {
        const int64_t begin_ns = now_ns();
        const struct block *target = block_at(to[i]);
        if (!reaches(to[i], stream->device) || !reaches(from[i], stream->device))
            return wrong("cudaMemcpyBatchAsync", "memory of another device");
        memmove(to[i], from[i], bytes[i]);
        const bool in = target != NULL && target->device >= 0;
        record_copy(stream, in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, bytes[i],
                    begin_ns);
    }
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    const int64_t begin_ns = now_ns();
    ENTER(check_stream("cudaMemsetAsync", stream));
    if (!reaches(memory, stream->device))
        return wrong("cudaMemsetAsync", "memory of another device");
    memset(memory, value, bytes);
    const CUpti_ActivityMemset4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                          .bytes = bytes,
                                          .start = (uint64_t)begin_ns,
                                          .end = (uint64_t)now_ns(),
                                          .deviceId = (uint32_t)stream->device,
                                          .streamId = stream->id};
    add_record(&record, sizeof record);
    return cudaSuccess;
}

/* --- launches --- */

/* Judges a launch that touches `count` addresses, does `work` and records it. */
int fake_launch(cudaStream_t stream, const void *const addresses[], int count,
                void (*work)(const void *argument), const void *argument)
{
    const int64_t begin_ns = now_ns();
    ENTER(check_stream("cudaLaunchKernel", stream));
    for (int i = 0; i < count; i++) {
        if (!reaches(addresses[i], stream->device))
            return wrong("cudaLaunchKernel", "memory of another device");
    }
    if (++at.launches[at.current] == at.loses_at && at.current == at.loses)
        at.lost[at.current] = true;
    work(argument);
    record_kernel(stream, begin_ns);
    return cudaSuccess;
}

int fake_preload(void)
{
    return (int)enter_context("cudaFuncGetAttributes");
}

/* --- graphs, which runs on several devices have none of --- */

#define NO_GRAPH(name, ...)                                                                    \
    cudaError_t name(__VA_ARGS__)                                                              \
    {                                                                                          \
        return keep(cudaErrorNotSupported);                                                    \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
NO_GRAPH(cudaGraphDestroy, cudaGraph_t graph)
NO_GRAPH(cudaGraphExecDestroy, cudaGraphExec_t exec)
NO_GRAPH(cudaGraphGetNodes, cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
NO_GRAPH(cudaGraphInstantiate, cudaGraphExec_t *exec, cudaGraph_t graph,
         unsigned long long flags)
NO_GRAPH(cudaGraphLaunch, cudaGraphExec_t exec, cudaStream_t stream)
NO_GRAPH(cudaGraphUpload, cudaGraphExec_t exec, cudaStream_t stream)
NO_GRAPH(cudaGraphNodeGetDependencies, cudaGraphNode_t node, cudaGraphNode_t *nodes,
         cudaGraphEdgeData *edges, size_t *count)
NO_GRAPH(cudaStreamBeginCapture, cudaStream_t stream, enum cudaStreamCaptureMode mode)
NO_GRAPH(cudaStreamEndCapture, cudaStream_t stream, cudaGraph_t *graph)
NO_GRAPH(cudaStreamGetCaptureInfo, cudaStream_t stream, enum cudaStreamCaptureStatus *status,
         unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes,
         const cudaGraphEdgeData **edges, size_t *count)

/* --- CUPTI --- */

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc now)
{
    cupti.now = now;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    cupti.request = request;
    cupti.complete = complete;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    cupti.enabled = true;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    cupti.enabled = false;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize(void)
{
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    for (size_t told = 0; told < cupti.count;) {
        uint8_t *buffer;
        size_t size, most;
        cupti.request(&buffer, &size, &most);
        size_t records = size / RECORD_BYTES, left = cupti.count - told;
        records = records < left ? records : left;
        memcpy(buffer, cupti.records + told * RECORD_BYTES, records * RECORD_BYTES);
        cupti.complete(NULL, 0, buffer, size, records * RECORD_BYTES);
        told += records;
    }
    cupti.count = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *next = *record == NULL ? buffer : (uint8_t *)*record + RECORD_BYTES;
    if (next >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *count)
{
    *count = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
                               uint32_t *id)
{
    if (stream->device != at.current)
        wrong("cuptiGetStreamIdEx", "a stream of another device");
    *id = stream->id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    *id = (uint32_t)at.current;
    return CUPTI_SUCCESS;
}
