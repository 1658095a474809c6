/* timeline_words.c - what a timeline, its streams and its spans are called. */
#include "plan/timeline.h"

#include <inttypes.h>
#include <stdio.h>

const char *timeline_source(const struct timeline *timeline)
{
    return timeline->timing == TIMING_VIRTUAL ? "simulated" : "measured";
}

const char *timeline_timing(const struct timeline *timeline)
{
    static const char *const names[TIMING_COUNT] = {[TIMING_VIRTUAL] = "virtual",
                                                    [TIMING_CUPTI] = "cupti",
                                                    [TIMING_EVENTS] = "events",
                                                    [TIMING_NSYS] = "nsys",
                                                    [TIMING_RECORDED] = "recorded"};
    return names[timeline->timing];
}

uint32_t timeline_stream_id(const struct timeline *timeline, uint32_t stream)
{
    return timeline->stream_ids != NULL && stream < timeline->streams
               ? timeline->stream_ids[stream]
               : stream;
}

const struct span_alloc_row span_alloc_rows[SPAN_ALLOC_COUNT] = {
    [SPAN_PAIR] = {"alloc", "cudaMalloc"},
    [SPAN_PINNED_PAIR] = {"pinned alloc", "cudaMallocHost"},
    [SPAN_TAKE] = {"take", "cudaMalloc"},
    [SPAN_GIVE] = {"give", "cudaFree"},
    [SPAN_ORDERED_TAKE] = {"ordered take", "cudaMallocAsync"},
    [SPAN_ORDERED_GIVE] = {"ordered give", "cudaFreeAsync"},
};

static const char *own_name(const struct timeline *timeline, const struct span *span)
{
    if (span->kind == OP_KERNEL && span->link < timeline->name_count)
        return timeline->names[span->link];
    if (span->kind == OP_ALLOC)
        return span_alloc_rows[span->link].name;
    return op_kind_name(span->kind);
}

const char *timeline_span_name(const struct timeline *timeline, const struct span *span,
                               char text[SPAN_NAME])
{
    if (!op_rows[span->kind].waits)
        return own_name(timeline, span);
    const struct span *target = timeline_span((struct timeline *)timeline, span->target);
    if (target == NULL)
        return op_kind_name(span->kind);
    if (target->tile >= 0)
        snprintf(text, SPAN_NAME, "%s %" PRId32, own_name(timeline, target), target->tile);
    else
        snprintf(text, SPAN_NAME, "%s", own_name(timeline, target));
    return text;
}
