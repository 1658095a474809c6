/* fake_cupti.c - a libcupti.so.13 that keeps what the recorder registers, and tells of what a
 * test plays (fakes.h). */
#include "fakes.h"

#include <stdio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static struct fake_cupti state = {.lock = PTHREAD_MUTEX_INITIALIZER};

EXPORTED struct fake_cupti *fake_cupti(void)
{
    return &state;
}

static void pass(void)
{
    pthread_mutex_lock(&state.lock);
    pthread_mutex_unlock(&state.lock);
}

EXPORTED CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
                                    CUpti_CallbackFunc called, void *unused)
{
    (void)unused;
    if (state.holder != NULL || state.called != NULL)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    *subscriber = (CUpti_SubscriberHandle)&state;
    state.called = called;
    return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
                                       CUpti_CallbackFunc called, void *unused,
                                       CUpti_SubscriberParams *params)
{
    if (state.holder != NULL && params->oldSubscriberName != NULL)
        snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", state.holder);
    return cuptiSubscribe(subscriber, called, unused);
}

EXPORTED CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)subscriber;
    if (domain >= CUPTI_CB_DOMAIN_SIZE || id >= sizeof state.api[0])
        return CUPTI_ERROR_INVALID_PARAMETER;
    state.api[domain][id] = enable != 0;
    return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    (void)subscriber;
    state.called = NULL;
    return CUPTI_SUCCESS;
}

/* The names are those of CUPTI's headers. */
EXPORTED CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id,
                                          const char **name)
{
    static const char *const runtime[] = {
#define RUNTIME(name) [CUPTI_RUNTIME_TRACE_CBID_##name] = #name,
#define DRIVER(name)
#include "cupti_names.h"
    };
#undef RUNTIME
#undef DRIVER
    static const char *const driver[] = {
#define RUNTIME(name)
#define DRIVER(name) [CUPTI_DRIVER_TRACE_CBID_##name] = #name,
#include "cupti_names.h"
    };
    pass();
    *name = NULL;
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id < sizeof runtime / sizeof runtime[0])
        *name = runtime[id];
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < sizeof driver / sizeof driver[0])
        *name = driver[id];
    return *name != NULL ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

EXPORTED CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc now)
{
    state.now = now;
    return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete)
{
    state.request = request;
    state.complete = complete;
    return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
        return CUPTI_ERROR_INVALID_KIND;
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        atomic_store(&state.kernels, true);
    return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(
    CUpti_ActivityUnifiedMemoryCounterConfig *counters, uint32_t count)
{
    return counters != NULL && count > 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

/* Buffers are looked at when they are handed over. */
EXPORTED CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size,
                                               void *value)
{
    if (attribute != CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER || *size != 1)
        return CUPTI_ERROR_INVALID_PARAMETER;
    state.zeroed = *(const uint8_t *)value != 0;
    return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        atomic_store(&state.kernels, false);
    return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityFlushAll(uint32_t flags)
{
    (void)flags;
    pass();
    if (state.flush != NULL)
        state.flush();
    return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiActivityFlushPeriod(uint32_t period)
{
    (void)period;
    return CUPTI_SUCCESS;
}

/* Returns the bytes of a record; 0: there is no such kind. */
static size_t size_of(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        return sizeof(CUpti_ActivityUnifiedMemoryCounter2);
    default:
        return 0;
    }
}

EXPORTED CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                                CUpti_Activity **record)
{
    uint8_t *next = *record == NULL ? buffer : (uint8_t *)*record + size_of(*record);
    pass();
    if (next >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return size_of(*record) > 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

EXPORTED CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
                                                       size_t *dropped)
{
    (void)context, (void)stream;
    pass();
    *dropped = atomic_exchange(&state.dropped, 0);
    return CUPTI_SUCCESS;
}

/* A stream may have no number, as far as CUPTI tells. The legacy stream is 7, and a thread's
 * own one has the thread's number. */
EXPORTED CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
                                        uint32_t *number)
{
    (void)context;
    pthread_mutex_lock(state.driver_lock);
    pthread_mutex_unlock(state.driver_lock);
    if (state.asked_number != NULL)
        state.asked_number();
    *number = stream != NULL ? ((const struct fake_stream *)stream)->number
              : per_thread   ? (uint32_t)gettid()
                             : 7;
    return *number != FAKE_NO_NUMBER ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_STREAM;
}

EXPORTED CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *device)
{
    *device = ((const struct fake_context *)context)->device;
    return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    *id = ((const struct fake_node *)node)->id;
    return CUPTI_SUCCESS;
}

EXPORTED CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = 130000;
    return CUPTI_SUCCESS;
}
