/* cuda_runtime_api.hpp - what C++ has beside the C of cuda_runtime_api.h, which includes this:
 * calls by the types of pointers, of kernels and of the device's variables, and older forms of
 * calls. */
#ifndef PIPELINE_CPU_CUDA_RUNTIME_API_HPP
#define PIPELINE_CPU_CUDA_RUNTIME_API_HPP

/* These may be named as deleters, so that they have no last argument of ours: where they are
 * called, macros leave the line. */
#define PIPELINE_GIVES(call, type)                                                             \
    static inline cudaError_t pipeline_##call(type what, enum pipeline_place)                  \
    {                                                                                          \
        return call(what);                                                                     \
    }
PIPELINE_GIVES(cudaFree, void *)
PIPELINE_GIVES(cudaFreeHost, void *)
PIPELINE_GIVES(cudaStreamDestroy, cudaStream_t)
PIPELINE_GIVES(cudaEventDestroy, cudaEvent_t)
PIPELINE_GIVES(cudaGraphDestroy, cudaGraph_t)
PIPELINE_GIVES(cudaGraphExecDestroy, cudaGraphExec_t)
#undef PIPELINE_GIVES
#define PIPELINE_LEAVE_LINE(call, ...)                                                         \
    pipeline_##call(__VA_ARGS__, pipeline_here(__FILE__, __LINE__))
#define cudaFree(...)             PIPELINE_LEAVE_LINE(cudaFree, __VA_ARGS__)
#define cudaFreeHost(...)         PIPELINE_LEAVE_LINE(cudaFreeHost, __VA_ARGS__)
#define cudaStreamDestroy(...)    PIPELINE_LEAVE_LINE(cudaStreamDestroy, __VA_ARGS__)
#define cudaEventDestroy(...)     PIPELINE_LEAVE_LINE(cudaEventDestroy, __VA_ARGS__)
#define cudaGraphDestroy(...)     PIPELINE_LEAVE_LINE(cudaGraphDestroy, __VA_ARGS__)
#define cudaGraphExecDestroy(...) PIPELINE_LEAVE_LINE(cudaGraphExecDestroy, __VA_ARGS__)

static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags PIPELINE_AT)
{
    return cudaEventCreateWithFlags(event, flags, pipeline_place);
}

/* --- memory by the type that it is for --- */
template <typename T> cudaError_t cudaMalloc(T **memory, size_t size PIPELINE_AT)
{
    return cudaMalloc((void **)memory, size, pipeline_place);
}
template <typename T>
cudaError_t cudaMallocHost(T **memory, size_t size, unsigned flags = 0 PIPELINE_AT)
{
    return flags == 0 ? cudaMallocHost((void **)memory, size, pipeline_place)
                      : cudaHostAlloc((void **)memory, size, flags, pipeline_place);
}
template <typename T>
cudaError_t cudaHostAlloc(T **memory, size_t size, unsigned flags PIPELINE_AT)
{
    return cudaHostAlloc((void **)memory, size, flags, pipeline_place);
}
template <typename T>
cudaError_t cudaMallocManaged(T **memory, size_t size,
                              unsigned flags = cudaMemAttachGlobal PIPELINE_AT)
{
    return cudaMallocManaged((void **)memory, size, flags, pipeline_place);
}
template <typename T>
cudaError_t cudaMallocPitch(T **memory, size_t *pitch, size_t width, size_t height PIPELINE_AT)
{
    return cudaMallocPitch((void **)memory, pitch, width, height, pipeline_place);
}
template <typename T>
cudaError_t cudaMallocAsync(T **memory, size_t size, cudaStream_t stream PIPELINE_AT)
{
    return cudaMallocAsync((void **)memory, size, stream, pipeline_place);
}
template <typename T>
cudaError_t cudaMallocAsync(T **memory, size_t size, cudaMemPool_t pool,
                            cudaStream_t stream PIPELINE_AT)
{
    return cudaMallocFromPoolAsync((void **)memory, size, pool, stream, pipeline_place);
}
template <typename T>
cudaError_t cudaMallocFromPoolAsync(T **memory, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream PIPELINE_AT)
{
    return cudaMallocFromPoolAsync((void **)memory, size, pool, stream, pipeline_place);
}
template <typename T>
cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned flags PIPELINE_AT)
{
    return cudaHostGetDevicePointer((void **)device, host, flags, pipeline_place);
}
template <typename T>
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *memory, size_t length = 0,
                                     unsigned flags = cudaMemAttachSingle PIPELINE_AT)
{
    return cudaStreamAttachMemAsync(stream, (void *)memory, length, flags, pipeline_place);
}
/* As CUDA 12 has them: where memory goes is a device's number. */
static inline struct cudaMemLocation pipeline_location(int device)
{
    struct cudaMemLocation location = {};
    location.type =
        device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    location.id = device == cudaCpuDeviceId ? 0 : device;
    return location;
}
static inline cudaError_t cudaMemPrefetchAsync(const void *memory, size_t count, int device,
                                               cudaStream_t stream = 0 PIPELINE_AT)
{
    return cudaMemPrefetchAsync(memory, count, pipeline_location(device), 0, stream,
                                pipeline_place);
}
static inline cudaError_t cudaMemAdvise(const void *memory, size_t count,
                                        enum cudaMemoryAdvise advice, int device PIPELINE_AT)
{
    return cudaMemAdvise(memory, count, advice, pipeline_location(device), pipeline_place);
}

/* --- variables of the device's --- */
template <typename T>
cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t count,
                               size_t offset = 0,
                               enum cudaMemcpyKind kind = cudaMemcpyHostToDevice PIPELINE_AT)
{
    (void)pipeline_place;
    return pipeline_symbol_copy("cudaMemcpyToSymbol", (const void *)&symbol, sizeof symbol,
                                (void *)from, count, offset, kind, 0, 1, 1);
}
template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t count,
                                    size_t offset, enum cudaMemcpyKind kind,
                                    cudaStream_t stream = 0 PIPELINE_AT)
{
    (void)pipeline_place;
    return pipeline_symbol_copy("cudaMemcpyToSymbolAsync", (const void *)&symbol, sizeof symbol,
                                (void *)from, count, offset, kind, stream, 1, 0);
}
template <typename T>
cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t count, size_t offset = 0,
                                 enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost PIPELINE_AT)
{
    (void)pipeline_place;
    return pipeline_symbol_copy("cudaMemcpyFromSymbol", (const void *)&symbol, sizeof symbol,
                                to, count, offset, kind, 0, 0, 1);
}
template <typename T>
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind,
                                      cudaStream_t stream = 0 PIPELINE_AT)
{
    (void)pipeline_place;
    return pipeline_symbol_copy("cudaMemcpyFromSymbolAsync", (const void *)&symbol,
                                sizeof symbol, to, count, offset, kind, stream, 0, 0);
}
template <typename T>
cudaError_t cudaGetSymbolAddress(void **memory, const T &symbol PIPELINE_AT)
{
    (void)pipeline_place;
    return pipeline_symbol(memory, (const void *)&symbol, sizeof symbol);
}
template <typename T> cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol)
{
    *size = sizeof symbol;
    return cudaSuccess;
}

/* --- kernels --- */
template <typename T>
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, T *kernel PIPELINE_AT)
{
    return cudaFuncGetAttributes(attributes, (const void *)kernel, pipeline_place);
}
template <typename T>
cudaError_t cudaFuncSetAttribute(T *kernel, enum cudaFuncAttribute attribute,
                                 int value PIPELINE_AT)
{
    return cudaFuncSetAttribute((const void *)kernel, attribute, value, pipeline_place);
}
template <typename T>
cudaError_t cudaFuncSetCacheConfig(T *kernel, enum cudaFuncCache config PIPELINE_AT)
{
    return cudaFuncSetCacheConfig((const void *)kernel, config, pipeline_place);
}
template <typename T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T kernel, int threads,
                                                          size_t shared PIPELINE_AT)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)kernel, threads,
                                                         shared, pipeline_place);
}
/* Of two sizes that let as many threads run, the larger one is chosen. */
template <typename Shared, typename T>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, T kernel,
                                                           Shared shared,
                                                           int limit = 0 PIPELINE_AT)
{
    struct cudaFuncAttributes about;
    int device = 0, processors = 0, most = 0;
    cudaError_t error = cudaFuncGetAttributes(&about, (const void *)kernel, pipeline_place);
    if (error == cudaSuccess)
        error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (limit <= 0 || limit > about.maxThreadsPerBlock)
        limit = about.maxThreadsPerBlock;
    for (int threads = limit - limit % 32; threads > 0 && error == cudaSuccess; threads -= 32) {
        int blocks = 0;
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)kernel,
                                                              threads, shared(threads));
        if (blocks * threads > most) {
            most = blocks * threads;
            *block = threads;
            *grid = blocks * processors;
        }
    }
    return error;
}
template <typename T>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, T kernel,
                                               size_t shared = 0, int limit = 0 PIPELINE_AT)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        grid, block, kernel, [=](int) { return shared; }, limit, pipeline_place);
}

/* --- graphs as CUDA 11 and 12 have them --- */
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               cudaGraphNode_t *, char *, size_t PIPELINE_AT)
{
    return cudaGraphInstantiate(exec, graph, 0ULL, pipeline_place);
}
static inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph,
                                                   const cudaGraphNode_t *from,
                                                   const cudaGraphNode_t *to,
                                                   size_t count PIPELINE_AT)
{
    return cudaGraphAddDependencies(graph, from, to, (const cudaGraphEdgeData *)0, count,
                                    pipeline_place);
}
static inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from,
                                            cudaGraphNode_t *to, size_t *count PIPELINE_AT)
{
    return cudaGraphGetEdges(graph, from, to, (cudaGraphEdgeData *)0, count, pipeline_place);
}

#endif
