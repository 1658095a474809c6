/* fake_cuda.c - a libcuda.so.1 of the few functions that the recorder asks the driver for. */
#include "fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

EXPORTED pthread_mutex_t *fake_driver_lock(void)
{
    return &lock;
}

/* What the driver does in each call, so that it shows who holds which lock around it. */
static void pass(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

EXPORTED CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                       CUdevice device)
{
    (void)device;
    pass();
    *value = (int)attribute;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGet(CUdevice *device, int number)
{
    pass();
    *device = number;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
    pass();
    snprintf(name, (size_t)room, "Fake \"GPU\" %d", device);
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    pass();
    *flags = ((const struct fake_stream *)stream)->flags;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    pass();
    *priority = ((const struct fake_stream *)stream)->priority;
    return CUDA_SUCCESS;
}

/* A thread's own stream is in a capture where this says so: no handle points to it. */
EXPORTED atomic_bool fake_thread_captures;
EXPORTED CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    bool captures = false;
    if (stream == CU_STREAM_PER_THREAD)
        captures = atomic_load(&fake_thread_captures);
    else if (stream != NULL && stream != CU_STREAM_LEGACY)
        captures = atomic_load(&((struct fake_stream *)stream)->capturing);
    *status = captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

/* Memory at low addresses, where no program has any, is the device's. */
EXPORTED CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                                        CUdeviceptr address)
{
    const unsigned kind = CU_MEMORYTYPE_DEVICE;
    pass();
    if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || address >= FAKE_DEVICE_END)
        return CUDA_ERROR_INVALID_VALUE;
    *(unsigned *)value = kind;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset,
                                     size_t *size)
{
    const struct fake_function *of = (const struct fake_function *)function;
    pass();
    if (of->result != CUDA_SUCCESS)
        return of->result;
    if (index >= of->count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = 8 * index;
    *size = of->sizes[index];
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset,
                                       size_t *size)
{
    (void)kernel, (void)index, (void)offset, (void)size;
    return CUDA_ERROR_NOT_FOUND;
}

EXPORTED CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    const struct fake_graph *of = (const struct fake_graph *)graph;
    *count = of->nodes;
    for (size_t i = 0; nodes != NULL && i < of->nodes; i++)
        nodes[i] = of->node[i];
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                                     CUgraphEdgeData *data, size_t *count)
{
    const struct fake_graph *of = (const struct fake_graph *)graph;
    (void)data;
    *count = of->edges;
    for (size_t i = 0; from != NULL && i < of->edges; i++) {
        from[i] = of->from[i];
        to[i] = of->to[i];
    }
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *kind)
{
    *kind = ((const struct fake_node *)node)->kind;
    return CUDA_SUCCESS;
}

#undef cuGraphMemcpyNodeGetParams
EXPORTED CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *copy)
{
    *copy = ((const struct fake_node *)node)->copy;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *set)
{
    *set = ((const struct fake_node *)node)->set;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                                CUDA_KERNEL_NODE_PARAMS *kernel)
{
    *kernel = ((const struct fake_node *)node)->kernel;
    return CUDA_SUCCESS;
}

/* --- what the recorder's own cost is measured with --- */

/* The primary context is `gone`, or its device `busy`, where PLAYER_CONTEXT says so. */
static bool is_context(const char *how)
{
    const char *said = getenv("PLAYER_CONTEXT");
    return said != NULL && strcmp(said, how) == 0;
}

static struct fake_context primary = {.number = 1};

EXPORTED CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = device == 0 && !is_context("gone");
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

EXPORTED CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    (void)device;
    *context = (CUcontext)&primary;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    return context == (CUcontext)&primary ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

EXPORTED CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    *context = (CUcontext)&primary;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = (CUevent)&primary;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxRecordEvent(CUcontext context, CUevent event)
{
    (void)context, (void)event;
    return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventQuery(CUevent event)
{
    (void)event;
    return is_context("busy") ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
