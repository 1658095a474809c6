/* timeline_check.c - timelines that can't be. */
#include "analysis/timeline_check.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MEASURED_NS = 1000 }; /* measured times may be off against each other by that much */

static enum status refuse(const struct timeline *timeline, const struct span *span,
                          const char *what, struct error *error)
{
    char name[SPAN_NAME];
    return error_set(error, STATUS_FAILED, "no verdict: op %" PRIu32 " (%s) %s", span->op,
                     timeline_span_name(timeline, span, name), what);
}

static enum status check_span(const struct timeline *timeline, const struct span *span,
                              const struct plan *plan, struct error *error)
{
    if (span->kind >= OP_KIND_COUNT || span->engine >= ENGINE_COUNT)
        return error_set(error, STATUS_FAILED, "no verdict: op %" PRIu32 " is of no kind",
                         span->op);
    if (span->end_ns < span->start_ns)
        return refuse(timeline, span, "ends before it starts", error);
    if (span->start_ns < 0)
        return refuse(timeline, span, "starts before the run", error);
    if (plan == NULL)
        return STATUS_OK;
    if (span->op >= plan->op_count)
        return error_set(error, STATUS_FAILED,
                         "no verdict: the plan has %" PRIu32 " ops, and none numbered %" PRIu32,
                         plan->op_count, span->op);
    const struct op *op = &plan->ops[span->op];
    if (span->kind != op->kind || span->stream != op->stream || span->tile != op->tile)
        return refuse(timeline, span, "is not what the plan has in its place", error);
    return STATUS_OK;
}

static enum status check_engine(const struct timeline *timeline, struct resource engine,
                                struct span **spans, struct error *error)
{
    int64_t leeway_ns = timeline->timing == TIMING_VIRTUAL ? 0 : MEASURED_NS;
    size_t count = timeline_engine_spans(timeline, engine, spans);
    for (size_t i = 1; i < count; i++) {
        const struct span *before = spans[i - 1], *span = spans[i];
        char name[SPAN_NAME];
        if (span->start_ns + leeway_ns >= before->end_ns)
            continue;
        return error_set(error, STATUS_FAILED,
                         "no verdict: op %" PRIu32 " (%s) starts while op %" PRIu32
                         " is on the same copy engine",
                         span->op, timeline_span_name(timeline, span, name), before->op);
    }
    return STATUS_OK;
}

enum status timeline_check(const struct timeline *timeline, const struct plan *plan,
                           struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < timeline->span_count && status == STATUS_OK; i++)
        status = check_span(timeline, &timeline->spans[i], plan, error);
    if (status != STATUS_OK)
        return status;
    struct span **spans = malloc((timeline->span_count + (size_t)1) * sizeof *spans);
    if (spans == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to check %" PRIu32 " spans",
                         timeline->span_count);
    for (uint32_t i = 0; i < timeline_devices(timeline) && status == STATUS_OK; i++) {
        status = check_engine(timeline, (struct resource){ENGINE_H2D, i, 0}, spans, error);
        if (status == STATUS_OK)
            status = check_engine(timeline, (struct resource){ENGINE_D2H, i, 0}, spans, error);
        if (status == STATUS_OK)
            status = check_engine(timeline, (struct resource){ENGINE_PEER, i, 0}, spans, error);
    }
    free(spans);
    return status;
}
