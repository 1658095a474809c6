/* saved_calls.c - the host's calls of a run in a file of ours, as a trace of another program
 * would have them: the same causes are then found in both. */
#include "trace/evidence.h"
#include "trace/saved.h"

#include <stdlib.h>

enum { LAST_CALL_NS = 2000 }; /* when the last call returned is not in the file */

/* Returns the name of the call that issues an op; NULL: the host makes none. */
static const char *call_name(const struct timeline *timeline, const struct span *span)
{
    switch ((enum op_kind)span->kind) {
    case OP_H2D:
    case OP_D2H:
    case OP_D2D:
        return "cudaMemcpyAsync";
    case OP_PEER:
        return "cudaMemcpyPeerAsync";
    case OP_KERNEL:
        return "cudaLaunchKernel";
    case OP_MEMSET:
        return "cudaMemsetAsync";
    case OP_CALLBACK:
        return "cudaLaunchHostFunc";
    case OP_WAIT:
        return "cudaStreamWaitEvent";
    case OP_SYNC:
        return span->stream < timeline->streams ? "cudaStreamSynchronize"
                                                : "cudaDeviceSynchronize";
    case OP_SYNC_EVENT:
        return "cudaEventSynchronize";
    case OP_PACK:
        return "memcpy";
    case OP_ALLOC:
        return span_alloc_rows[span->link].call;
    default:
        return NULL;
    }
}

/* Adds the call of a span, which begins when the host issues it. The one before ends there: the
 * host issues op after op. */
static void add_call(struct timeline *timeline, const struct span *span)
{
    const char *name = call_name(timeline, span);
    struct host_call *calls = timeline->calls;
    if (name == NULL)
        return;
    if (timeline->call_count > 0) {
        struct host_call *before = &calls[timeline->call_count - 1];
        before->end_ns = later(before->start_ns, span->issue_ns);
    }
    int64_t end_ns = op_is_call(span->kind) ? span->end_ns : span->issue_ns + LAST_CALL_NS;
    calls[timeline->call_count++] = (struct host_call){
        .start_ns = span->issue_ns, .end_ns = end_ns, .row = host_call_row(name)};
}

static void add_wait(struct timeline *timeline, const struct span *span)
{
    if (span->kind == OP_WAIT && timeline_span(timeline, span->target) != NULL)
        timeline->waits[timeline->wait_count++] = (struct stream_wait){
            .stream = span->stream, .target = span->target, .issue_ns = span->issue_ns};
}

enum status saved_set_calls(const struct saved_facts *facts, struct timeline *timeline,
                            struct error *error)
{
    size_t room = timeline->span_count + (size_t)1;
    enum host_memory memory = !facts->memory_known ? HOST_MEMORY_UNKNOWN
                              : facts->pageable    ? HOST_MEMORY_PAGEABLE
                                                   : HOST_MEMORY_PINNED;
    timeline->kinds_known = facts->settled ? KINDS_RECORDED : KINDS_UNKNOWN;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (op_is_copy(timeline->spans[i].kind))
            timeline->spans[i].host_memory = (uint16_t)memory;
    }
    if (timeline->issue_unknown || timeline->span_count == 0)
        return STATUS_OK;
    timeline->calls = calloc(room, sizeof *timeline->calls);
    timeline->waits = calloc(room, sizeof *timeline->waits);
    if (timeline->calls == NULL || timeline->waits == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for the timeline");
    if (timeline->launched_ns > 0)
        timeline->calls[timeline->call_count++] = (struct host_call){
            .end_ns = timeline->launched_ns, .row = host_call_row("cudaGraphLaunch")};
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (timeline->launched_ns == 0)
            add_call(timeline, &timeline->spans[i]);
        add_wait(timeline, &timeline->spans[i]);
    }
    trace_waits_sort(timeline);
    return STATUS_OK;
}
