/* nvtx.c - NVTX's ranges. One that is started, and may end in another thread, is one of the
 * thread that starts it. */
#include "cpu/cpu.h"
#include "cpu/include/nvtx3/nvToolsExt.h"

#include <stddef.h>

static _Thread_local int depth;

int nvtxRangePushA(const char *name)
{
    cpu_range_push(name != NULL ? name : "");
    return depth++;
}

/* A text that was registered is its own handle. */
static const char *message_of(const nvtxEventAttributes_t *attributes)
{
    const bool text =
        attributes != NULL && (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII ||
                               attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED);
    return text ? attributes->message.ascii : NULL;
}

int nvtxRangePushEx(const nvtxEventAttributes_t *attributes)
{
    return nvtxRangePushA(message_of(attributes));
}

int nvtxRangePop(void)
{
    if (depth == 0)
        return -2; /* NVTX's: no push was matched */
    cpu_range_pop();
    return --depth;
}

nvtxRangeId_t nvtxRangeStartA(const char *name)
{
    return (nvtxRangeId_t)nvtxRangePushA(name) + 1;
}

nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *attributes)
{
    return nvtxRangeStartA(message_of(attributes));
}

void nvtxRangeEnd(nvtxRangeId_t id)
{
    (void)id;
    (void)nvtxRangePop();
}

int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    (void)domain;
    return nvtxRangePushEx(attributes);
}

int nvtxDomainRangePop(nvtxDomainHandle_t domain)
{
    (void)domain;
    return nvtxRangePop();
}

nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
    return (nvtxDomainHandle_t)(uintptr_t)name;
}

nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return (nvtxStringHandle_t)(uintptr_t)text;
}

/* What the recording has no place for. */
#define NVTX_NOTHING(name, parameters)                                                         \
    void name parameters                                                                       \
    {                                                                                          \
        (void)a;                                                                               \
    }
NVTX_NOTHING(nvtxMarkA, (const char *a))
NVTX_NOTHING(nvtxMarkEx, (const nvtxEventAttributes_t *a))
NVTX_NOTHING(nvtxDomainDestroy, (nvtxDomainHandle_t a))
#undef NVTX_NOTHING
#define NVTX_NO_NAME(call, type)                                                               \
    void call(type of, const char *name)                                                       \
    {                                                                                          \
        (void)of;                                                                              \
        (void)name;                                                                            \
    }
NVTX_NO_NAME(nvtxNameCategoryA, uint32_t)
NVTX_NO_NAME(nvtxNameOsThreadA, uint32_t)
NVTX_NO_NAME(nvtxNameCudaDeviceA, int)
NVTX_NO_NAME(nvtxNameCudaStreamA, struct CUstream_st *)
