/* capture.c - streams whose work becomes a graph.
 *
 * What calls answer while a stream is captured was tried on an H200: tests/cpu/graphs.txt. */
#include "cpu/api.h"

#include <stdlib.h>

struct capture {
    struct CUgraph_st *graph;
    struct CUstream_st *origin;
    enum cudaStreamCaptureMode mode;
    const struct calls_thread *thread; /* that began it */
    bool spoiled, ended;
    struct CUstream_st **streams; /* that take part, the origin first */
    size_t stream_count, stream_capacity;
    struct capture *next;
};
static struct capture *captures; /* that have not ended; those that have are kept for events */

static cudaError_t spoil(struct capture *capture, cudaError_t error)
{
    capture->spoiled = true;
    return error;
}

/* --- beginning and ending --- */

static bool join(struct capture *capture, struct CUstream_st *stream)
{
    if (!ITEMS_ROOM(capture->streams, capture->stream_count, capture->stream_capacity))
        return false;
    capture->streams[capture->stream_count++] = stream;
    stream->capture = capture;
    stream->ends.count = 0;
    return true;
}

cudaError_t capture_begin(struct CUstream_st *stream, enum cudaStreamCaptureMode mode)
{
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if (stream->kind == CPU_LEGACY)
        return cudaErrorStreamCaptureUnsupported;
    if (stream->capture != NULL)
        return cudaErrorIllegalState;
    if ((unsigned)mode > cudaStreamCaptureModeRelaxed)
        return cudaErrorInvalidValue;
    struct capture *capture = calloc(1, sizeof *capture);
    if (capture == NULL || (capture->graph = graph_make()) == NULL || !join(capture, stream)) {
        free(capture);
        return cudaErrorMemoryAllocation;
    }
    capture->origin = stream;
    capture->mode = mode;
    capture->thread = &calls_thread;
    capture->next = captures;
    captures = capture;
    return cudaSuccess;
}

static bool all_joined(const struct capture *capture)
{
    for (size_t i = 1; i < capture->stream_count; i++)
        if (!graph_joins(capture->graph, &capture->origin->ends, &capture->streams[i]->ends))
            return false;
    return true;
}

cudaError_t capture_end(struct CUstream_st *stream, cudaGraph_t *graph)
{
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if (graph == NULL || stream->capture == NULL)
        return graph == NULL ? cudaErrorInvalidValue : cudaErrorIllegalState;
    struct capture *capture = stream->capture;
    if (stream != capture->origin)
        return spoil(capture, cudaErrorStreamCaptureUnmatched);
    if (capture->thread != &calls_thread && capture->mode != cudaStreamCaptureModeRelaxed)
        return spoil(capture, cudaErrorStreamCaptureWrongThread);
    const cudaError_t error = capture->spoiled       ? cudaErrorStreamCaptureInvalidated
                              : !all_joined(capture) ? cudaErrorStreamCaptureUnjoined
                                                     : cudaSuccess;
    *graph = error == cudaSuccess ? capture->graph : NULL;
    if (error != cudaSuccess)
        graph_free(capture->graph);
    capture->graph = NULL;
    capture->ended = true;
    for (size_t i = 0; i < capture->stream_count; i++)
        capture->streams[i]->capture = NULL;
    struct capture **at = &captures;
    while (*at != capture)
        at = &(*at)->next;
    *at = capture->next;
    return error;
}

cudaError_t capture_status(const struct CUstream_st *stream,
                           enum cudaStreamCaptureStatus *status)
{
    if (stream == NULL || status == NULL)
        return stream == NULL ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
    *status = stream->capture == NULL    ? cudaStreamCaptureStatusNone
              : stream->capture->spoiled ? cudaStreamCaptureStatusInvalidated
                                         : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

/* --- what is taken up --- */

cudaError_t capture_take(struct CUstream_st *stream, struct cpu_op op)
{
    static const enum cudaGraphNodeType types[] = {[CPU_COPY] = cudaGraphNodeTypeMemcpy,
                                                   [CPU_SET] = cudaGraphNodeTypeMemset,
                                                   [CPU_KERNEL] = cudaGraphNodeTypeKernel,
                                                   [CPU_FUNCTION] = cudaGraphNodeTypeHost};
    struct CUgraphNode_st *node = NULL;
    cudaError_t error =
        stream->capture->spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    op.waits = op.settles = false;
    if (error == cudaSuccess) {
        node = graph_add(stream->capture->graph, types[op.kind], &stream->ends, &op);
        stream->ends.count = 0;
        if (node == NULL || !node_set_add(&stream->ends, &(struct node_set){&node, 1}))
            error = spoil(stream->capture, cudaErrorMemoryAllocation);
    }
    if (node == NULL)
        op_release(&op);
    return error;
}

cudaError_t capture_record(struct CUstream_st *stream, struct CUevent_st *event)
{
    if (stream->capture->spoiled)
        return cudaErrorStreamCaptureInvalidated;
    event->capture = stream->capture;
    event->ends.count = 0;
    return node_set_add(&event->ends, &stream->ends)
               ? cudaSuccess
               : spoil(stream->capture, cudaErrorMemoryAllocation);
}

cudaError_t capture_wait(struct CUstream_st *stream, const struct CUevent_st *event)
{
    struct capture *capture = event->capture;
    if (stream->capture != NULL && stream->capture->spoiled)
        return cudaErrorStreamCaptureInvalidated;
    if (capture == NULL || capture->ended)
        return stream->capture != NULL ? spoil(stream->capture, cudaErrorStreamCaptureIsolation)
                                       : cudaErrorCapturedEvent;
    if (stream->capture != NULL && stream->capture != capture) {
        (void)spoil(stream->capture, cudaErrorStreamCaptureMerge);
        return spoil(capture, cudaErrorStreamCaptureMerge);
    }
    if (stream->kind == CPU_LEGACY)
        return spoil(capture, cudaErrorStreamCaptureImplicit);
    const bool joined = stream->capture != NULL || join(capture, stream);
    return joined && node_set_add(&stream->ends, &event->ends)
               ? cudaSuccess
               : spoil(capture, cudaErrorMemoryAllocation);
}

/* --- what is forbidden --- */

cudaError_t capture_forbids(void)
{
    cudaError_t error = cudaSuccess;
    for (struct capture *capture = captures; capture != NULL; capture = capture->next) {
        const bool own = capture->thread == &calls_thread;
        const bool global = capture->mode == cudaStreamCaptureModeGlobal &&
                            calls_thread.capture_mode == cudaStreamCaptureModeGlobal;
        const bool local = own && capture->mode != cudaStreamCaptureModeRelaxed &&
                           calls_thread.capture_mode != cudaStreamCaptureModeRelaxed;
        if (global || local)
            error = spoil(capture, cudaErrorStreamCaptureUnsupported);
    }
    return error;
}

cudaError_t capture_forbids_in(struct CUstream_st *stream)
{
    return stream->capture != NULL ? spoil(stream->capture, cudaErrorStreamCaptureUnsupported)
                                   : capture_forbids_legacy(stream);
}

cudaError_t capture_forbids_device(int device)
{
    cudaError_t error = cudaSuccess;
    for (struct capture *capture = captures; capture != NULL; capture = capture->next)
        if (capture->origin->device == device)
            error = spoil(capture, cudaErrorStreamCaptureUnsupported);
    return error;
}

cudaError_t capture_forbids_legacy(const struct CUstream_st *stream)
{
    cudaError_t error = cudaSuccess;
    for (struct capture *capture = captures; capture != NULL && stream->kind == CPU_LEGACY;
         capture = capture->next)
        for (size_t i = 0; i < capture->stream_count; i++)
            if (capture->streams[i]->kind != CPU_NONBLOCKING &&
                capture->streams[i]->device == stream->device)
                error = spoil(capture, cudaErrorStreamCaptureImplicit);
    return error;
}

cudaError_t capture_forbids_event(const struct CUevent_st *event)
{
    if (event->capture == NULL)
        return cudaSuccess;
    return event->capture->ended ? cudaErrorCapturedEvent
                                 : spoil(event->capture, cudaErrorCapturedEvent);
}
