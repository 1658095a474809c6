/* cuda_runtime_api.h - the calls of CUDA's runtime that programs may make on the CPU, as CUDA
 * 13 has them. A call that is not declared here is not there.
 *
 * In C++ each call has a last argument that programs don't give: it leaves the line for the
 * function, which does not look at the argument itself. In C no line is known. */
#ifndef PIPELINE_CPU_CUDA_RUNTIME_API_H
#define PIPELINE_CPU_CUDA_RUNTIME_API_H

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

/* --- devices --- */
cudaError_t cudaDeviceReset(PIPELINE_ONLY);
cudaError_t cudaDeviceSynchronize(PIPELINE_ONLY);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value PIPELINE_AT);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit PIPELINE_AT);
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config PIPELINE_AT);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config PIPELINE_AT);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest PIPELINE_AT);
cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device PIPELINE_AT);
cudaError_t cudaGetLastError(PIPELINE_ONLY);
cudaError_t cudaPeekAtLastError(PIPELINE_ONLY);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int *count PIPELINE_AT);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device PIPELINE_AT);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device PIPELINE_AT);
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int from,
                                      int to PIPELINE_AT);
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *properties PIPELINE_AT);
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags PIPELINE_AT);
cudaError_t cudaSetDevice(int device PIPELINE_AT);
cudaError_t cudaGetDevice(int *device PIPELINE_AT);
cudaError_t cudaSetDeviceFlags(unsigned flags PIPELINE_AT);
cudaError_t cudaGetDeviceFlags(unsigned *flags PIPELINE_AT);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer PIPELINE_AT);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags PIPELINE_AT);
cudaError_t cudaDeviceDisablePeerAccess(int peer PIPELINE_AT);
cudaError_t cudaDriverGetVersion(int *version PIPELINE_AT);
cudaError_t cudaRuntimeGetVersion(int *version PIPELINE_AT);
cudaError_t cudaProfilerStart(PIPELINE_ONLY);
cudaError_t cudaProfilerStop(PIPELINE_ONLY);

/* --- kernels, by their addresses --- */
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream PIPELINE_AT);
cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block,
                                        void **arguments, size_t shared,
                                        cudaStream_t stream PIPELINE_AT);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                void **arguments PIPELINE_AT);
cudaError_t cudaFuncSetCacheConfig(const void *kernel, enum cudaFuncCache config PIPELINE_AT);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes,
                                  const void *kernel PIPELINE_AT);
cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute,
                                 int value PIPELINE_AT);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel,
                                                          int threads,
                                                          size_t shared PIPELINE_AT);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
                                                                   const void *kernel,
                                                                   int threads, size_t shared,
                                                                   unsigned flags PIPELINE_AT);

/* --- streams and events --- */
cudaError_t cudaStreamCreate(cudaStream_t *stream PIPELINE_AT);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags PIPELINE_AT);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags,
                                         int priority PIPELINE_AT);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority PIPELINE_AT);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags PIPELINE_AT);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id PIPELINE_AT);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device PIPELINE_AT);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                  void *user_data, unsigned flags PIPELINE_AT);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                               void *user_data PIPELINE_AT);
cudaError_t cudaStreamSynchronize(cudaStream_t stream PIPELINE_AT);
cudaError_t cudaStreamQuery(cudaStream_t stream PIPELINE_AT);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *memory,
                                     size_t length PIPELINE_OR(0),
                                     unsigned flags PIPELINE_OR(cudaMemAttachSingle)
                                         PIPELINE_AT);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags PIPELINE_AT);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream PIPELINE_OR(0),
                                     unsigned flags PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaEventQuery(cudaEvent_t event PIPELINE_AT);
cudaError_t cudaEventSynchronize(cudaEvent_t event PIPELINE_AT);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end PIPELINE_AT);

/* --- memory --- */
cudaError_t cudaMalloc(void **memory, size_t size PIPELINE_AT);
cudaError_t cudaMallocHost(void **memory, size_t size PIPELINE_AT);
cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned flags PIPELINE_AT);
cudaError_t cudaMallocManaged(void **memory, size_t size,
                              unsigned flags PIPELINE_OR(cudaMemAttachGlobal) PIPELINE_AT);
cudaError_t cudaMallocPitch(void **memory, size_t *pitch, size_t width,
                            size_t height PIPELINE_AT);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent PIPELINE_AT);
cudaError_t cudaFree(void *memory);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaHostRegister(void *memory, size_t size, unsigned flags PIPELINE_AT);
cudaError_t cudaHostUnregister(void *memory PIPELINE_AT);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags PIPELINE_AT);
cudaError_t cudaHostGetFlags(unsigned *flags, void *host PIPELINE_AT);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total PIPELINE_AT);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *pointer PIPELINE_AT);
cudaError_t cudaMemPrefetchAsync(const void *memory, size_t count,
                                 struct cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaMemAdvise(const void *memory, size_t count, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location PIPELINE_AT);
cudaError_t cudaMallocAsync(void **memory, size_t size, cudaStream_t stream PIPELINE_AT);
cudaError_t cudaMallocFromPoolAsync(void **memory, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream PIPELINE_AT);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream PIPELINE_AT);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device PIPELINE_AT);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device PIPELINE_AT);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool PIPELINE_AT);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool,
                              const struct cudaMemPoolProps *properties PIPELINE_AT);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool PIPELINE_AT);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep PIPELINE_AT);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                    void *value PIPELINE_AT);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                    void *value PIPELINE_AT);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list,
                                 size_t count PIPELINE_AT);
cudaError_t cudaGetSymbolAddress(void **memory, const void *symbol PIPELINE_AT);

/* --- copies and sets --- */
cudaError_t cudaMemcpy(void *to, const void *from, size_t count,
                       enum cudaMemcpyKind kind PIPELINE_AT);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                           size_t count PIPELINE_AT);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t count, cudaStream_t stream PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind PIPELINE_AT);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *what PIPELINE_AT);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *what,
                              cudaStream_t stream PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes,
                                 size_t count, struct cudaMemcpyAttributes *attributes,
                                 size_t *attribute_indexes, size_t attribute_count,
                                 cudaStream_t stream PIPELINE_AT);
cudaError_t cudaMemset(void *memory, int value, size_t count PIPELINE_AT);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t count,
                            cudaStream_t stream PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaMemset2D(void *memory, size_t pitch, int value, size_t width,
                         size_t height PIPELINE_AT);
cudaError_t cudaMemset2DAsync(void *memory, size_t pitch, int value, size_t width,
                              size_t height, cudaStream_t stream PIPELINE_OR(0) PIPELINE_AT);
/* Of a variable of the device's that has `size` bytes in all. */
cudaError_t pipeline_symbol_copy(const char *call, const void *symbol, size_t size, void *with,
                                 size_t count, size_t offset, enum cudaMemcpyKind kind,
                                 cudaStream_t stream, int to_symbol, int waits);
cudaError_t pipeline_symbol(void **memory, const void *symbol, size_t size);

/* --- graphs --- */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   enum cudaStreamCaptureMode mode PIPELINE_AT);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph PIPELINE_AT);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  enum cudaStreamCaptureStatus *status PIPELINE_AT);
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode PIPELINE_AT);
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags PIPELINE_AT);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph PIPELINE_AT);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                   const cudaGraphNode_t *after, size_t count,
                                   const struct cudaKernelNodeParams *with PIPELINE_AT);
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                   const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemcpy3DParms *with PIPELINE_AT);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
                                     const cudaGraphNode_t *after, size_t count, void *to,
                                     const void *from, size_t bytes,
                                     enum cudaMemcpyKind kind PIPELINE_AT);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                   const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemsetParams *with PIPELINE_AT);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                 const cudaGraphNode_t *after, size_t count,
                                 const struct cudaHostNodeParams *with PIPELINE_AT);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                  const cudaGraphNode_t *after, size_t count PIPELINE_AT);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                       const cudaGraphNode_t *after, size_t count,
                                       cudaGraph_t child PIPELINE_AT);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                     size_t count PIPELINE_AT);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node,
                                 enum cudaGraphNodeType *type PIPELINE_AT);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                         struct cudaKernelNodeParams *with PIPELINE_AT);
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaKernelNodeParams *with PIPELINE_AT);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                              size_t *count PIPELINE_AT);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                                  size_t *count PIPELINE_AT);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *data, size_t *count PIPELINE_AT);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags PIPELINE_OR(0) PIPELINE_AT);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream PIPELINE_AT);
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream PIPELINE_AT);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *info PIPELINE_AT);
cudaError_t
cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                 const struct cudaKernelNodeParams *with PIPELINE_AT);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node,
                                               void *to, const void *from, size_t bytes,
                                               enum cudaMemcpyKind kind PIPELINE_AT);
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path,
                                   unsigned flags PIPELINE_AT);

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
cudaError_t cudaEventCreate(cudaEvent_t *event);
#endif

#endif
