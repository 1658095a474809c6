/* streams.c - streams and events. */
#include "cpu/api.h"

#include <stdlib.h>

static struct CUstream_st *streams; /* that the program made */
static struct CUstream_st
    legacy_streams[DEVICES_MOST]; /* each device's; number 0 may be one's */
static bool legacy_made[DEVICES_MOST];
static bool per_thread; /* what NULL stands for */

void pipeline_streams_per_thread(void)
{
    per_thread = true;
}

/* --- streams --- */

static void number_stream(struct CUstream_st *stream, const void *handle)
{
    stream->number = cpu_add_stream(stream->device, stream->kind, stream->priority, handle);
}

/* Returns a default stream of the current device's. */
static struct CUstream_st *default_stream(bool of_thread)
{
    const int device = calls_thread.device;
    if (!of_thread) {
        struct CUstream_st *legacy = &legacy_streams[device];
        if (!legacy_made[device]) {
            *legacy = (struct CUstream_st){.device = device, .kind = CPU_LEGACY};
            number_stream(legacy, cudaStreamLegacy);
            legacy_made[device] = true;
        }
        return legacy;
    }
    struct CUstream_st **own = &calls_thread.own[device];
    if (*own == NULL && (*own = calloc(1, sizeof **own)) != NULL) {
        **own = (struct CUstream_st){.device = device, .kind = CPU_PER_THREAD};
        number_stream(*own, cudaStreamPerThread);
    }
    return *own;
}

struct CUstream_st *stream_of(cudaStream_t handle)
{
    if (handle == NULL)
        return default_stream(per_thread);
    if (handle == cudaStreamLegacy || handle == cudaStreamPerThread)
        return default_stream(handle == cudaStreamPerThread);
    struct CUstream_st *stream = streams;
    while (stream != NULL && stream != handle)
        stream = stream->next;
    return stream;
}

static cudaError_t make(cudaStream_t *made, unsigned flags, int priority)
{
    enum { GREATEST = -5 };
    if (made == NULL || flags > cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    struct CUstream_st *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return cudaErrorMemoryAllocation;
    *stream = (struct CUstream_st){.device = calls_thread.device,
                                   .flags = flags,
                                   .priority = priority > 0          ? 0
                                               : priority < GREATEST ? GREATEST
                                                                     : priority,
                                   .kind = flags == cudaStreamNonBlocking ? CPU_NONBLOCKING
                                                                          : CPU_BLOCKING,
                                   .next = streams};
    number_stream(stream, stream);
    *made = streams = stream;
    return cudaSuccess;
}

/* What is left to do in it is done. */
static cudaError_t destroy(cudaStream_t handle)
{
    struct CUstream_st **at = &streams;
    while (*at != NULL && *at != handle)
        at = &(*at)->next;
    if (*at == NULL)
        return cudaErrorInvalidResourceHandle;
    struct CUstream_st *gone = *at;
    *at = gone->next;
    if (capture_forbids_in(gone) == cudaSuccess) /* else the capture has it yet */
        free(gone);
    return cudaSuccess;
}

/* What is asked of a stream, of which one pointer is not NULL. */
static cudaError_t ask(cudaStream_t handle, int *priority, unsigned *flags,
                       unsigned long long *id, int *device)
{
    const struct CUstream_st *stream = stream_of(handle);
    if (priority == NULL && flags == NULL && id == NULL && device == NULL)
        return cudaErrorInvalidValue;
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if (priority != NULL)
        *priority = stream->priority;
    if (flags != NULL)
        *flags = stream->flags;
    if (id != NULL)
        *id = stream->number;
    if (device != NULL)
        *device = stream->device;
    return cudaSuccess;
}

/* --- issuing and waiting --- */

cudaError_t stream_issue(struct CUstream_st *stream, struct cpu_op op)
{
    if (stream->capture != NULL)
        return capture_take(stream, op);
    const cudaError_t error = capture_forbids_legacy(stream);
    if (error != cudaSuccess) {
        op_release(&op);
        return error;
    }
    op.stream = stream->number;
    return cpu_issue(&op) ? cudaSuccess : calls_failed();
}

cudaError_t call_waits(enum cpu_op_kind kind, uint32_t subject)
{
    const struct cpu_op op = {
        .kind = kind, .stream = subject, .event = kind == CPU_SYNC_EVENT ? subject : 0};
    if (!cpu_issue(&op))
        return calls_failed();
    blocks_left(kind, subject);
    return cudaSuccess;
}

cudaError_t device_wait(int device)
{
    cudaError_t error = capture_forbids_device(device);
    if (error == cudaSuccess)
        error = call_waits(CPU_SYNC_DEVICE, (uint32_t)device);
    if (error == cudaSuccess)
        graphs_idle();
    return error;
}

static cudaError_t wait_for(cudaStream_t handle)
{
    struct CUstream_st *stream = stream_of(handle);
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    const cudaError_t error = capture_forbids_in(stream);
    return error != cudaSuccess ? error : call_waits(CPU_SYNC_STREAM, stream->number);
}

static cudaError_t query(cudaStream_t handle)
{
    struct CUstream_st *stream = stream_of(handle);
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    const cudaError_t error = capture_forbids_in(stream);
    return error != cudaSuccess                 ? error
           : cpu_stream_is_idle(stream->number) ? cudaSuccess
                                                : cudaErrorNotReady;
}

/* --- captures --- */

static cudaError_t exchange(enum cudaStreamCaptureMode *mode)
{
    if (mode == NULL || (unsigned)*mode > cudaStreamCaptureModeRelaxed)
        return cudaErrorInvalidValue;
    const enum cudaStreamCaptureMode was = calls_thread.capture_mode;
    calls_thread.capture_mode = *mode;
    *mode = was;
    return cudaSuccess;
}

/* --- events --- */

static struct CUevent_st *events;

static struct CUevent_st *event_of(cudaEvent_t handle)
{
    struct CUevent_st *event = events;
    while (event != NULL && event != handle)
        event = event->next;
    return event;
}

static cudaError_t make_event(cudaEvent_t *made, unsigned flags)
{
    if (made == NULL || flags > 7)
        return cudaErrorInvalidValue;
    struct CUevent_st *event = calloc(1, sizeof *event);
    if (event == NULL)
        return cudaErrorMemoryAllocation;
    *event = (struct CUevent_st){.number = cpu_add_event(flags),
                                 .device = calls_thread.device,
                                 .flags = flags,
                                 .next = events};
    *made = events = event;
    return cudaSuccess;
}

static cudaError_t destroy_event(cudaEvent_t handle)
{
    struct CUevent_st **at = &events;
    while (*at != NULL && *at != handle)
        at = &(*at)->next;
    if (*at == NULL)
        return cudaErrorInvalidResourceHandle;
    struct CUevent_st *gone = *at;
    *at = gone->next;
    free(gone->ends.nodes);
    free(gone);
    return cudaSuccess;
}

static cudaError_t record(cudaEvent_t handle, cudaStream_t in, unsigned flags)
{
    struct CUevent_st *event = event_of(handle);
    struct CUstream_st *stream = stream_of(in);
    if (event == NULL || stream == NULL || event->device != stream->device)
        return cudaErrorInvalidResourceHandle;
    if (flags != cudaEventRecordDefault)
        return cudaErrorNotSupported; /* nodes of graphs that record are not there */
    if (stream->capture != NULL)
        return capture_record(stream, event);
    event->capture = NULL;
    event->recorded = true;
    return stream_issue(stream, (struct cpu_op){.kind = CPU_RECORD, .event = event->number});
}

static cudaError_t wait_event(cudaStream_t handle, cudaEvent_t for_event, unsigned flags)
{
    struct CUstream_st *stream = stream_of(handle);
    struct CUevent_st *event = event_of(for_event);
    if (stream == NULL || event == NULL)
        return cudaErrorInvalidResourceHandle;
    if (flags != cudaEventWaitDefault)
        return flags == cudaEventWaitExternal ? cudaErrorNotSupported : cudaErrorInvalidValue;
    if (stream->capture != NULL || event->capture != NULL)
        return capture_wait(stream, event);
    if (!event->recorded)
        return cudaSuccess;
    return stream_issue(stream, (struct cpu_op){.kind = CPU_WAIT, .event = event->number});
}

/* Asks for an event, or waits for it. */
static cudaError_t look_at(cudaEvent_t handle, bool waits)
{
    const struct CUevent_st *event = event_of(handle);
    if (event == NULL)
        return cudaErrorInvalidResourceHandle;
    const cudaError_t error = capture_forbids_event(event);
    if (error != cudaSuccess || !event->recorded)
        return error;
    if (waits)
        return call_waits(CPU_SYNC_EVENT, event->number);
    return cpu_event_is_over(event->number) ? cudaSuccess : cudaErrorNotReady;
}

static cudaError_t elapsed(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    const struct CUevent_st *start = event_of(from), *end = event_of(to);
    if (ms == NULL)
        return cudaErrorInvalidValue;
    if (start == NULL || end == NULL || !start->recorded || !end->recorded ||
        (start->flags | end->flags) & cudaEventDisableTiming)
        return cudaErrorInvalidResourceHandle;
    if (!cpu_event_is_over(start->number) || !cpu_event_is_over(end->number))
        return cudaErrorNotReady;
    *ms = (float)((double)(cpu_event_ns(end->number) - cpu_event_ns(start->number)) / 1e6);
    return cudaSuccess;
}

#include "cpu/include/cuda_streams.def"
