/* saved.c - makes timelines of the runs in files that this program wrote itself. */
#include "trace/saved.h"

#include "analysis/analysis.h"
#include "core/items.h"
#include "core/units.h"
#include "trace/build.h"
#include "trace/input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- rows --- */

static enum status check_row(const struct span *row, uint32_t devices, struct error *error)
{
    if (row->kind == OP_RECORD)
        return error_set(error, STATUS_USAGE, "no op of such a kind runs");
    if (row->end_ns < row->start_ns)
        return error_set(error, STATUS_USAGE, "op %" PRIu32 " ends before it starts", row->op);
    if (op_in_stream(row->kind) && row->stream == SAVED_NONE)
        return error_set(error, STATUS_USAGE, "op %" PRIu32 " is in no stream", row->op);
    if (row->device >= (devices > 1 ? devices : 1))
        return error_set(error, STATUS_USAGE,
                         "op %" PRIu32 " is on a device that its run lacks", row->op);
    return STATUS_OK;
}

/* Returns the device that a copy is to, by its name; its own where that tells no other. */
static uint32_t receiver_of(const struct span *row, const char *name, uint32_t devices)
{
    uint64_t to;
    const size_t head = strlen(TIMELINE_PEER_NAME);
    const bool told = strncmp(name, TIMELINE_PEER_NAME, head) == 0 &&
                      trace_read_whole(name + head, MACHINE_DEVICES_MAX - 1, &to);
    return told && to < devices ? (uint32_t)to : row->device;
}

/* Returns what an allocation's name says that it does; a pair where it says nothing known. */
static uint32_t alloc_of(const char *name)
{
    uint32_t what = SPAN_ALLOC_COUNT - 1;
    while (what > SPAN_PAIR && strcmp(name, span_alloc_rows[what].name) != 0)
        what--;
    return what;
}

enum status saved_add_row(struct saved_run *run, struct span span, const char *name,
                          struct error *error)
{
    struct timeline *timeline = &run->trace.timeline;
    uint32_t link = 0;
    enum status status = check_row(&span, timeline->devices, error);
    if (status != STATUS_OK)
        return status;
    if (span.kind == OP_ALLOC)
        link = alloc_of(name);
    if (span.kind == OP_PEER)
        link = receiver_of(&span, name, timeline->devices);
    if (timeline->span_count >= TRACE_SPANS_MAX)
        return error_set(error, STATUS_USAGE, "more ops than a timeline can have");
    const bool labelled = op_rows[span.kind].waits && *name != '\0';
    span.target = SAVED_NONE;
    if (!ITEMS_ROOM(timeline->spans, timeline->span_count, run->span_capacity) ||
        (span.kind == OP_KERNEL && !names_number(&run->kernels, name, strlen(name), &link)) ||
        (labelled && !names_number(&run->labels, name, strlen(name), &span.target)))
        return error_no_memory(error, "for the timeline");
    if (link > UINT16_MAX)
        return error_set(error, STATUS_USAGE, "more kernels than a timeline can have");
    span.link = (uint16_t)link;
    span.engine = op_rows[span.kind].engine & SPAN_BITS;
    if (!engine_of_device(op_rows[span.kind].engine) && span.kind != OP_WAIT)
        span.device = 0; /* the host's ops stand under the first */
    timeline->spans[timeline->span_count++] = span;
    return STATUS_OK;
}

/* --- the host's calls --- */

enum { LAST_CALL_NS = 2000 }; /* when the last call returned is not in the file */

/* Returns the name of the call that issues an op; NULL: the host makes none. */
static const char *call_name(const struct timeline *timeline, const struct span *span)
{
    static const char *const names[OP_KIND_COUNT] = {
        [OP_H2D] = "cudaMemcpyAsync",
        [OP_D2H] = "cudaMemcpyAsync",
        [OP_D2D] = "cudaMemcpyAsync",
        [OP_PEER] = "cudaMemcpyPeerAsync",
        [OP_KERNEL] = "cudaLaunchKernel",
        [OP_MEMSET] = "cudaMemsetAsync",
        [OP_CALLBACK] = "cudaLaunchHostFunc",
        [OP_WAIT] = "cudaStreamWaitEvent",
        [OP_SYNC] = "cudaDeviceSynchronize",
        [OP_SYNC_EVENT] = "cudaEventSynchronize",
        [OP_PACK] = "memcpy",
    };
    if (span->kind == OP_SYNC && span->stream < timeline->streams)
        return "cudaStreamSynchronize";
    return span->kind == OP_ALLOC ? span_alloc_rows[span->link].call : names[span->kind];
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

static enum status set_calls(struct timeline *timeline, struct error *error)
{
    size_t room = timeline->span_count + (size_t)1;
    if (timeline->issue_unknown || timeline->span_count == 0)
        return STATUS_OK;
    timeline->calls = arena_zeros(&timeline->arena, room, sizeof *timeline->calls);
    if (timeline->arena.full)
        return error_no_memory(error, "for the timeline");
    if (timeline->launched_ns > 0)
        timeline->calls[timeline->call_count++] = (struct host_call){
            .end_ns = timeline->launched_ns, .row = host_call_row("cudaGraphLaunch")};
    for (uint32_t i = 0; i < timeline->span_count && timeline->launched_ns == 0; i++)
        add_call(timeline, &timeline->spans[i]);
    return STATUS_OK;
}

/* --- timelines --- */

/* Says of each copy, and of all of them, which memory of the host they went from or to. */
static void set_memory(struct trace *trace, enum host_memory memory)
{
    EACH (struct span, span, trace->timeline.spans, trace->timeline.span_count) {
        if (op_is_copy(span->kind))
            span->host_memory = (uint16_t)memory;
    }
    trace_count_copies(trace);
}

/* Refuses a run whose rows add up to less, or more, than its file says. */
static enum status check_busy(const struct saved_run *run, struct error *error)
{
    struct analysis analysis;
    if (!run->busy_known)
        return STATUS_OK;
    enum status status = analyse(&run->trace.timeline, &analysis, error);
    for (int i = 0; i < ENGINE_WORKING && status == STATUS_OK; i++) {
        char found[UNITS_TEXT], told[UNITS_TEXT];
        int64_t busy_ns = analysis.engines[i].busy_ns;
        if (busy_ns != run->busy_ns[i])
            status = error_set(error, STATUS_USAGE,
                               "%s was at work for %s, but the rows of the run add up to %s: "
                               "cut short?",
                               engine_rows[i].label, units_time(run->busy_ns[i], told),
                               units_time(busy_ns, found));
    }
    return status;
}

enum status saved_finish(struct saved_run *run, struct trace *trace, struct error *error)
{
    const struct plan no_plan = {0};
    struct timeline *timeline = &run->trace.timeline;
    enum status status = saved_set_streams(run, error);
    if (status == STATUS_OK)
        status = saved_set_targets(run, error);
    if (status != STATUS_OK)
        return status;
    trace_names_take(&run->kernels, timeline);
    run->trace.saved = true;
    run->trace.bytes_unit = 1;
    set_memory(&run->trace, run->memory);
    status = timeline->arena.full ? error_no_memory(error, "for the timeline")
                                  : timeline_finish(timeline, &no_plan, error);
    timeline->legacy_likely = !run->settled;
    if (status == STATUS_OK)
        status = set_calls(timeline, error);
    if (status == STATUS_OK)
        status = check_busy(run, error);
    if (status != STATUS_OK)
        return status;
    *trace = run->trace;
    *timeline = (struct timeline){0};
    return STATUS_OK;
}

void saved_run_free(struct saved_run *run)
{
    timeline_free(&run->trace.timeline);
    names_free(&run->kernels);
    names_free(&run->labels);
    free(run->kinds);
}
