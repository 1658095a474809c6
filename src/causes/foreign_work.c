/* foreign_work.c - what is seen of work that could be less, or lie better, in words. */
#include "causes/foreign_parts.h"

#include "core/units.h"

#include <inttypes.h>
#include <stdio.h>

const char *foreign_counted(uint32_t count, const char *one, const char *many,
                            char text[FOREIGN_COUNT])
{
    snprintf(text, FOREIGN_COUNT, "%" PRIu32 " %s", count, count == 1 ? one : many);
    return text;
}

uint32_t foreign_ops_of(const struct foreign *foreign, enum op_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < foreign->timeline->span_count; i++)
        count += foreign->timeline->spans[i].kind == kind;
    return count;
}

void foreign_put_device_copies(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    int64_t sum_ns = 0;
    char text[FOREIGN_COUNT], time[UNITS_TEXT];
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        sum_ns += span->kind == OP_D2D ? span->end_ns - span->start_ns : 0;
    }
    snprintf(seen, VERDICT_SEEN, "%s within the device, %s in all",
             foreign_counted(foreign_ops_of(foreign, OP_D2D), "copy", "copies", text),
             units_time(sum_ns, time));
}

void foreign_put_blocks(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct plan *plan = foreign->facts->plan;
    const uint32_t sms = foreign->facts->model->sms;
    uint32_t kernels = 0;
    uint64_t blocks = 0;
    double sum_ns = 0;
    char text[FOREIGN_COUNT], time[UNITS_TEXT];
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind != OP_KERNEL || op->kernel.blocks >= sms)
            continue;
        kernels++;
        blocks += op->kernel.blocks;
        sum_ns += (double)plan->recorded->ops[i].work_ns;
    }
    uint64_t mean = kernels > 0 ? (blocks + kernels / 2) / kernels : 0;
    snprintf(seen, VERDICT_SEEN,
             "%s of %" PRIu64 " blocks and %s on average; the GPU has %" PRIu32
             " SMs, each of which takes a block or more",
             foreign_counted(kernels, "kernel", "kernels", text), mean,
             units_time(kernels > 0 ? (int64_t)(sum_ns / kernels) : 0, time), sms);
}

bool foreign_put_large(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    const struct span *large = NULL;
    uint32_t waited = 0;
    int64_t longest_ns = 0;
    char bytes[UNITS_TEXT], text[FOREIGN_COUNT], time[UNITS_TEXT], wait[UNITS_TEXT];
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (op_is_copy(span->kind) && (large == NULL || span->bytes > large->bytes))
            large = span;
    }
    for (uint32_t i = 0; i < timeline->span_count && large != NULL; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->kind != large->kind || span->stream == large->stream ||
            span->issue_ns >= large->end_ns || span->start_ns < large->end_ns)
            continue;
        waited++;
        longest_ns = later(longest_ns, span->start_ns - later(span->issue_ns, large->start_ns));
    }
    if (large == NULL)
        return false;
    snprintf(seen, VERDICT_SEEN,
             "a copy of %s in stream %" PRIu32
             " took %s; behind it %s of other streams waited, "
             "up to %s",
             units_bytes(large->bytes, bytes), timeline_stream_id(timeline, large->stream),
             units_time(large->end_ns - large->start_ns, time),
             foreign_counted(waited, "smaller one", "smaller ones", text),
             units_time(longest_ns, wait));
    return waited > 0;
}

void foreign_put_waits(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    char text[FOREIGN_COUNT];
    const struct plan *plan = foreign->facts->plan;
    uint32_t waits = 0;
    for (uint32_t i = 0; plan != NULL && i < plan->op_count; i++)
        waits += plan->ops[i].kind == OP_WAIT;
    if (foreign->in_graphs)
        snprintf(
            seen, VERDICT_SEEN,
            "%s, most of them nodes of graphs, in %s: each runs only behind the one before",
            foreign_counted(foreign->timeline->span_count, "op", "ops", text),
            foreign->timeline->streams == 1 ? "one line" : "few lines");
    else if (!foreign->tried || foreign->seen[VERDICT_NEEDLESS_WAIT])
        snprintf(seen, VERDICT_SEEN,
                 "far more copies in had ended than kernels had begun when one was let go");
    else
        snprintf(seen, VERDICT_SEEN,
                 "streams wait %s for events, more than their data asks for",
                 foreign_counted(waits, "time", "times", text));
}

bool foreign_put_work(const struct foreign *foreign, char seen[VERDICT_SEEN])
{
    static const double MOST = 0.8, MUCH = 0.4;
    const struct timeline *timeline = foreign->timeline;
    const int64_t busy_ns = foreign->analysis.engines[foreign->engine].busy_ns;
    int64_t alone_ns = foreign->time_ns;
    char busy[UNITS_TEXT], limit[UNITS_TEXT];
    for (uint32_t i = 0; i < timeline->call_count; i++)
        alone_ns -= timeline->calls[i].end_ns - timeline->calls[i].start_ns;
    if (timeline->timing != TIMING_RECORDED || foreign->limit_ns == 0)
        return false;
    if ((double)busy_ns >= MOST * (double)foreign->time_ns)
        snprintf(
            seen, VERDICT_SEEN,
            "%s were at work for %s, longer than the limit of %s: they slow each other, or "
            "leave room that is not used",
            foreign->engine == ENGINE_COMPUTE ? "kernels" : "copies", units_time(busy_ns, busy),
            units_time(foreign->limit_ns, limit));
    else if (!foreign->many_threads && (double)alone_ns >= MUCH * (double)foreign->time_ns)
        snprintf(seen, VERDICT_SEEN,
                 "the host was in no call to CUDA for %s: it had work of its own, or waited",
                 units_time(alone_ns, busy));
    else
        return false;
    return true;
}
