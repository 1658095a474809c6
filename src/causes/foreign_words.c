/* foreign_words.c - what the verdicts of a trace rest on, in words: each says what was seen,
 * with its count. */
#include "causes/foreign_parts.h"

#include "core/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void append(char seen[VERDICT_SEEN],
                                                         const char *format, ...)
{
    size_t used = strlen(seen);
    va_list list;
    va_start(list, format);
    vsnprintf(seen + used, VERDICT_SEEN - used, format, list);
    va_end(list);
}

/* Adds "8 kernels" to a list that may have begun; nothing where there are none. */
static void append_count(char seen[VERDICT_SEEN], uint32_t count, const char *one,
                         const char *many)
{
    char text[FOREIGN_COUNT];
    size_t used = strlen(seen);
    if (count > 0)
        append(seen, "%s%s", used == 0 || (used >= 2 && seen[used - 2] == ':') ? "" : ", ",
               foreign_counted(count, one, many, text));
}

/* --- source lines --- */

/* Adds " at fit.cu:88" behind `before`, where the line that makes call `index` is known. */
static void append_line(const struct foreign *foreign, uint32_t index, const char *before,
                        char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    const char *line = index < timeline->call_count
                           ? timeline_call_line(timeline, &timeline->calls[index])
                           : NULL;
    const char *slash = line != NULL ? strrchr(line, '/') : NULL;
    if (line != NULL)
        append(seen, "%s at %.64s", before, slash != NULL ? slash + 1 : line);
}

/* Adds the line that issued the longest op of `kinds`, a set of them; of copies, of those from
 * or to `memory`, unless that is HOST_MEMORY_UNKNOWN. */
static void append_longest(const struct foreign *foreign, unsigned kinds,
                           enum host_memory memory, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    const struct span *longest = NULL;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if ((kinds >> span->kind & 1) == 0 ||
            (memory != HOST_MEMORY_UNKNOWN && span->host_memory != memory))
            continue;
        if (longest == NULL ||
            span->end_ns - span->start_ns > longest->end_ns - longest->start_ns)
            longest = span;
    }
    if (longest != NULL)
        append_line(foreign, foreign_call_of(foreign, (uint32_t)(longest - timeline->spans)),
                    ", the longest issued", seen);
}

/* --- the default stream --- */

static void put_default_stream(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    uint32_t kernels = 0, copies = 0, others = 0, stream = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (timeline_stream_kind(timeline, span->stream) != STREAM_LEGACY)
            continue;
        stream = timeline_stream_id(timeline, span->stream);
        kernels += span->kind == OP_KERNEL;
        copies += op_is_copy(span->kind);
        others += span->kind != OP_KERNEL && !op_is_copy(span->kind);
    }
    bool likely = timeline->kinds_known != KINDS_RECORDED;
    append(seen, "stream %" PRIu32 " is the legacy default stream%s: ", stream,
           likely ? ", by its number" : "");
    append_count(seen, kernels, "kernel", "kernels");
    append_count(seen, copies, "copy", "copies");
    append_count(seen, others, "memset", "memsets");
    append(seen, " ran there%s%s", foreign->many_threads ? ", of several threads" : "",
           likely ? ", none beside work of other streams" : "");
}

/* --- the host's calls --- */

/* Writes "8 calls such as cudaStreamSynchronize before the last op was issued, 31 ms in all",
 * of the kind of call that took longest. */
static void put_calls(const struct foreign *foreign, enum host_call_kind kind,
                      char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    int64_t sum_ns = 0, longest_ns = -1;
    uint32_t count = 0, longest = SPAN_NONE;
    char calls[FOREIGN_COUNT], time[UNITS_TEXT];
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        if (host_call_kind(call->row) != kind || call->start_ns >= foreign->last_issue_ns)
            continue;
        count++;
        sum_ns += call->end_ns - call->start_ns;
        if (call->end_ns - call->start_ns > longest_ns) {
            longest_ns = call->end_ns - call->start_ns;
            longest = i;
        }
    }
    snprintf(seen, VERDICT_SEEN, "%s such as %s",
             foreign_counted(count, "call", "calls", calls),
             host_call_name(longest != SPAN_NONE ? timeline->calls[longest].row : 0));
    append_line(foreign, longest, "", seen);
    append(seen, " before the last op was issued, %s in all", units_time(sum_ns, time));
}

/* A simulated run has the host's waits among its ops. */
static void put_waits(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    int64_t sum_ns = 0;
    uint32_t count = 0;
    char waits[FOREIGN_COUNT], time[UNITS_TEXT];
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->kind != OP_SYNC && span->kind != OP_SYNC_EVENT)
            continue;
        count++;
        sum_ns += span->end_ns - span->start_ns;
    }
    snprintf(seen, VERDICT_SEEN, "%s of the host, %s in all",
             foreign_counted(count, "wait", "waits", waits), units_time(sum_ns, time));
}

/* Writes "5200 calls of cudaStreamQuery that said not ready"; nothing where none did. */
static void put_polls(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    uint32_t count = 0, last = 0;
    char calls[FOREIGN_COUNT];
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        count += timeline->calls[i].not_ready;
        last = timeline->calls[i].not_ready ? i : last;
    }
    if (count > 0)
        snprintf(seen, VERDICT_SEEN, "%s of %s that said not ready",
                 foreign_counted(count, "call", "calls", calls),
                 host_call_name(timeline->calls[last].row));
}

static void put_sync(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    bool syncs = false;
    if (timeline->call_count == 0)
        return put_waits(foreign, seen);
    for (uint32_t i = 0; i < timeline->call_count && !syncs; i++)
        syncs = host_call_kind(timeline->calls[i].row) == CALL_SYNC &&
                timeline->calls[i].start_ns < foreign->last_issue_ns;
    if (!syncs)
        put_polls(foreign, seen);
    if (seen[0] == '\0')
        put_calls(foreign, syncs ? CALL_SYNC : CALL_COPY_WAIT, seen);
}

static void put_launches(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    uint32_t launches = 0, blocking = 0;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        uint32_t span = foreign->issued[i];
        if (span == SPAN_NONE || host_call_kind(timeline->calls[i].row) != CALL_LAUNCH)
            continue;
        launches++;
        blocking +=
            timeline->calls[i].end_ns >= timeline->spans[span].end_ns - FOREIGN_JITTER_NS;
    }
    snprintf(seen, VERDICT_SEEN,
             "%" PRIu32 " of %" PRIu32 " launches returned only when their kernel had ended",
             blocking, launches);
}

static void put_first_launch(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    int64_t longest_ns = 0;
    uint32_t kernel = SPAN_NONE, launch = SPAN_NONE;
    char longest[UNITS_TEXT], median[UNITS_TEXT], name[SPAN_NAME];
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        if (host_call_kind(call->row) != CALL_LAUNCH ||
            call->end_ns - call->start_ns <= longest_ns)
            continue;
        longest_ns = call->end_ns - call->start_ns;
        kernel = foreign->issued[i];
        launch = i;
    }
    snprintf(seen, VERDICT_SEEN, "the first launch of %.64s",
             kernel != SPAN_NONE ? timeline_span_name(timeline, &timeline->spans[kernel], name)
                                 : "a kernel");
    append_line(foreign, launch, ",", seen);
    append(seen, " took %s, half of all at most %s", units_time(longest_ns, longest),
           units_time(foreign->launch_ns, median));
}

/* --- ops --- */

static void put_pageable(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    uint32_t copies = 0, pageable = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        copies += op_is_copy(span->kind);
        pageable += op_is_copy(span->kind) && span->host_memory == HOST_MEMORY_PAGEABLE;
    }
    snprintf(seen, VERDICT_SEEN,
             "%" PRIu32 " of %" PRIu32 " copies are from or to pageable memory", pageable,
             copies);
    append_longest(foreign, 1U << OP_H2D | 1U << OP_D2H, HOST_MEMORY_PAGEABLE, seen);
}

static void put_small(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    int64_t ops_ns = 0, calls_ns = 0;
    uint32_t ops = 0, calls = 0;
    char op[UNITS_TEXT], call[UNITS_TEXT];
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        ops += op_on_device(span->kind);
        ops_ns += op_on_device(span->kind) ? span->end_ns - span->start_ns : 0;
    }
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        if (foreign->issued[i] == SPAN_NONE)
            continue;
        calls++;
        calls_ns += timeline->calls[i].end_ns - timeline->calls[i].start_ns;
    }
    snprintf(seen, VERDICT_SEEN, "%" PRIu32 " ops of %s on average, calls of %s to issue them",
             ops, units_time(ops > 0 ? ops_ns / ops : 0, op),
             units_time(calls > 0 ? calls_ns / calls : 0, call));
}

static void put_few(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    append_count(seen, foreign_ops_of(foreign, OP_H2D), "copy in", "copies in");
    append_count(seen, foreign_ops_of(foreign, OP_KERNEL), "kernel", "kernels");
    append_count(seen, foreign_ops_of(foreign, OP_D2H), "copy out", "copies out");
    append(seen, " in all");
}

static void put_one_stream(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    snprintf(seen, VERDICT_SEEN, "all %" PRIu32 " ops are in stream %" PRIu32,
             foreign->timeline->span_count, timeline_stream_id(foreign->timeline, 0));
}

/* Says what recording would tell more. */
static void put_unknown(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    if (foreign->timeline->timing == TIMING_RECORDED && foreign->timeline->issue_unknown)
        snprintf(seen, VERDICT_SEEN,
                 "the recording does not say of all ops when they were issued");
    else if (foreign_put_work(foreign, seen))
        return;
    else if (foreign->timeline->timing == TIMING_RECORDED)
        snprintf(
            seen, VERDICT_SEEN,
            "no call to CUDA, no op and no wait for an event explains it; a recording does "
            "not show what else the program did");
    else if (foreign->timeline->timing != TIMING_NSYS)
        snprintf(seen, VERDICT_SEEN,
                 "no call and no op in the file explains it: the same run made again, not read "
                 "from its file, is judged with its plan and its machine");
    else if (foreign->timeline->issue_unknown)
        snprintf(seen, VERDICT_SEEN,
                 "the trace has no calls of the host: record with nsys profile -t cuda, export "
                 "with nsys export -t sqlite, and view that");
    else
        snprintf(seen, VERDICT_SEEN,
                 "no call and no op explains it: nsys profile -t cuda,osrt shows what the host "
                 "did, --cuda-event-trace=true what streams waited for");
}

void foreign_put_evidence(const struct foreign *foreign, struct verdict *verdict)
{
    bool kinds = foreign->timeline->kinds_known == KINDS_RECORDED;
    char text[FOREIGN_COUNT], time[UNITS_TEXT];
    verdict->evidence = EVIDENCE_CERTAIN;
    switch (verdict->code) {
    case VERDICT_LEGACY_STREAM:
    case VERDICT_BLOCKING_STREAM:
        verdict->evidence = kinds ? EVIDENCE_CERTAIN : EVIDENCE_LIKELY;
        put_default_stream(foreign, verdict->seen);
        break;
    case VERDICT_SYNC_IN_LOOP:
        put_sync(foreign, verdict->seen);
        break;
    case VERDICT_ALLOC_IN_LOOP:
        put_calls(foreign, CALL_ALLOC, verdict->seen);
        break;
    case VERDICT_PACKING:
        put_calls(foreign, CALL_PACK, verdict->seen);
        break;
    case VERDICT_PIN_IN_RUN:
    case VERDICT_PINNED_ALLOC_IN_LOOP:
        put_calls(foreign, CALL_PIN, verdict->seen);
        break;
    case VERDICT_LAUNCH_BLOCKING:
        put_launches(foreign, verdict->seen);
        break;
    case VERDICT_PAGEABLE_MEMORY:
        put_pageable(foreign, verdict->seen);
        break;
    case VERDICT_LAZY_LOADING:
        verdict->evidence = EVIDENCE_LIKELY;
        put_first_launch(foreign, verdict->seen);
        break;
    case VERDICT_SLOW_CALLBACK:
        verdict->evidence = EVIDENCE_LIKELY;
        snprintf(verdict->seen, VERDICT_SEEN, "%s put a host function into a stream%s",
                 foreign_counted(foreign->host_funcs, "call", "calls", text),
                 foreign_ops_of(foreign, OP_CALLBACK) > 0
                     ? ", and what is behind it there waits for it"
                     : "; a trace does not say when they run");
        break;
    case VERDICT_MEMSET_IN_LOOP:
        verdict->evidence = foreign->memsets_bar ? EVIDENCE_LIKELY : EVIDENCE_CERTAIN;
        snprintf(verdict->seen, VERDICT_SEEN, "%s%s",
                 foreign_counted(foreign_ops_of(foreign, OP_MEMSET), "memset", "memsets", text),
                 foreign->memsets_bar ? ", none of which ran beside another op" : "");
        append_longest(foreign, 1U << OP_MEMSET, HOST_MEMORY_UNKNOWN, verdict->seen);
        break;
    case VERDICT_DEVICE_COPIES:
        foreign_put_device_copies(foreign, verdict->seen);
        append_longest(foreign, 1U << OP_D2D, HOST_MEMORY_UNKNOWN, verdict->seen);
        break;
    case VERDICT_FEW_STREAMS:
        verdict->evidence = EVIDENCE_LIKELY;
        snprintf(verdict->seen, VERDICT_SEEN,
                 "%s waited for room: for the op before in the stream, or for an event",
                 foreign_counted(foreign->stream_waits, "copy in", "copies in", text));
        break;
    case VERDICT_NEEDLESS_WAIT:
        verdict->evidence = EVIDENCE_LIKELY;
        foreign_put_waits(foreign, verdict->seen);
        break;
    case VERDICT_FEW_BLOCKS:
        verdict->evidence = EVIDENCE_LIKELY;
        foreign_put_blocks(foreign, verdict->seen);
        break;
    case VERDICT_LARGE_COPY:
        if (!foreign_put_large(foreign, verdict->seen))
            verdict->evidence = EVIDENCE_LIKELY;
        break;
    case VERDICT_ONE_STREAM:
        put_one_stream(foreign, verdict->seen);
        break;
    case VERDICT_FEW_TILES:
        put_few(foreign, verdict->seen);
        break;
    case VERDICT_REST:
        if (foreign->cost_ns[VERDICT_FEW_TILES] == 0 && foreign->filling_ns > 0)
            snprintf(verdict->seen, VERDICT_SEEN, "filling and draining: %s",
                     units_time(foreign->filling_ns, time));
        if (foreign->data_ns > 0)
            append(verdict->seen, "%s%s are needed by the data: each result is the next input",
                   verdict->seen[0] != '\0' ? "; " : "", units_time(foreign->data_ns, time));
        if (foreign->slower_ns > 0)
            append(verdict->seen, "%scopies took %s longer than the limit has it",
                   verdict->seen[0] != '\0' ? "; " : "", units_time(foreign->slower_ns, time));
        break;
    case VERDICT_SMALL_TILES:
        put_small(foreign, verdict->seen);
        break;
    case VERDICT_UNKNOWN:
        verdict->evidence = EVIDENCE_UNKNOWN;
        put_unknown(foreign, verdict->seen);
        break;
    default:
        verdict->evidence = EVIDENCE_LIKELY;
        snprintf(verdict->seen, VERDICT_SEEN, "in the simulator, the fix gains");
    }
    foreign_put_detail(foreign, verdict);
}
