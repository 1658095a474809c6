/* view_loop.c - leaves of a run the loop that its timeline shows. */
#include "trace/view_parts.h"

#include "rework/rework.h"
#include "trace/recording.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>

/* Returns true if op `index` of a plan ran on the device in the loop. */
static bool is_in_loop(const struct timeline *timeline, const struct plan *plan,
                       const struct loop *loop, uint32_t index)
{
    const uint32_t span = plan->recorded->ops[index].span;
    return op_on_device(plan->ops[index].kind) && span < timeline->span_count &&
           timeline->spans[span].start_ns >= loop->from_ns &&
           timeline->spans[span].start_ns < loop->to_ns;
}

/* Has each thread begin when the part does: what it did before its first op there may be from
 * before. When calls were made that issue nothing is not known here: those before that op come
 * at the beginning. */
static void begin_threads(const struct timeline *timeline, struct plan *part)
{
    const struct op_recorded *ops = part->recorded->ops;
    const uint32_t first = ops[0].span;
    bool *begun = calloc(part->recorded->threads + (size_t)1, sizeof *begun);
    for (uint32_t i = 0; i < part->op_count && begun != NULL; i++) {
        struct op_recorded *op = &part->recorded->ops[i];
        if (begun[op->thread] || first >= timeline->span_count)
            continue;
        begun[op->thread] = op->span < timeline->span_count;
        op->host_ns = begun[op->thread]
                          ? earlier(op->host_ns, timeline->spans[op->span].issue_ns -
                                                     timeline->spans[first].issue_ns)
                          : 0;
    }
    free(begun);
}

/* Leaves in the plan the ops from the first that ran in the loop to the last, and what the host
 * did until it issued the next one behind that. */
static enum status keep_ops(const struct timeline *timeline, const struct loop *loop,
                            struct plan *plan, struct error *error)
{
    uint32_t first = UINT32_MAX, end = 0;
    struct plan part;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (!is_in_loop(timeline, plan, loop, i))
            continue;
        first = first < i ? first : i;
        end = i + 1;
    }
    while (end < plan->op_count && !op_on_device(plan->ops[end].kind))
        end++;
    if (first >= end || (first == 0 && end == plan->op_count))
        return STATUS_OK;
    enum status status = rework_part(plan, first, end - first, &part, error);
    if (status != STATUS_OK)
        return status;
    begin_threads(timeline, &part);
    plan_free(plan);
    *plan = part;
    return STATUS_OK;
}

/* Lets plan, waits and races name the spans by their places in what is left of `count`; those
 * that are gone are SPAN_NONE. */
static enum status rename_spans(uint32_t count, struct run_report *run, struct plan *plan,
                                struct error *error)
{
    uint32_t *places = malloc((count + (size_t)1) * sizeof *places);
    if (places == NULL)
        return error_no_memory(error, "for the loop of %" PRIu32 " spans", count);
    for (uint32_t i = 0; i <= count; i++)
        places[i] = SPAN_NONE;
    for (uint32_t i = 0; i < run->timeline.span_count; i++) {
        places[run->timeline.spans[i].op] = i;
        run->timeline.spans[i].op = i;
    }
    for (uint32_t i = 0; plan != NULL && i < plan->op_count; i++) {
        uint32_t *span = &plan->recorded->ops[i].span;
        *span = *span < count ? places[*span] : SPAN_NONE;
    }
    EACH (struct stream_wait, wait, run->timeline.waits, run->timeline.wait_count) {
        wait->op = places[wait->op];
        wait->target = wait->target < count ? places[wait->target] : SPAN_NONE;
    }
    for (size_t i = 0; i < run->hazard_count; i++) {
        uint32_t *sides[] = {&run->hazards[i].first, &run->hazards[i].second};
        for (int side = 0; side < 2; side++)
            *sides[side] = *sides[side] < count ? places[*sides[side]] : SPAN_NONE;
    }
    free(places);
    return STATUS_OK;
}

/* Returns how long the program ran before its loop: from its first call to CUDA, which a
 * recording begins with. */
static int64_t startup_ns(const struct timeline *timeline, const struct trace *trace)
{
    int64_t begin_ns = 0;
    if (trace->recording != NULL)
        begin_ns = earlier(0, trace->recording->begin_ns - trace->origin_ns);
    else if (timeline->call_count > 0)
        begin_ns = earlier(0, timeline->calls[0].start_ns);
    return trace->loop.from_ns - begin_ns;
}

int64_t trace_outside_ns(const struct trace *trace)
{
    const struct loop_startup *startup = &trace->loop.startup;
    const int64_t calls_ns =
        startup->loads_ns + startup->allocs_ns + startup->waits_ns + startup->calls_ns;
    return later(trace->startup_ns - calls_ns, 0);
}

/* Returns true if no op ran before or behind the loop. */
static bool is_whole(const struct timeline *timeline, const struct loop *loop)
{
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (op_on_device(span->kind) &&
            (span->start_ns < loop->from_ns || span->end_ns > loop->to_ns))
            return false;
    }
    return true;
}

enum status view_keep_loop(struct run_report *run, struct trace *trace, struct plan *plan,
                           struct error *error)
{
    const uint32_t count = run->timeline.span_count;
    enum status status = loop_find(&run->timeline, &trace->loop, error);
    trace->loop_sought = true;
    if (status != STATUS_OK || trace->loop.passes == 0)
        return status;
    trace->startup_ns = startup_ns(&run->timeline, trace);
    if (is_whole(&run->timeline, &trace->loop))
        return STATUS_OK;
    if (plan != NULL)
        status = keep_ops(&run->timeline, &trace->loop, plan, error);
    if (status != STATUS_OK)
        return status;
    trace->timeline = run->timeline;
    status = trace_keep_loop(trace, error);
    run->timeline = trace->timeline;
    trace->timeline = (struct timeline){0};
    run->streams = run->timeline.streams;
    run->median_ns = run->min_ns = run->max_ns = timeline_time_ns(&run->timeline);
    return status == STATUS_OK ? rename_spans(count, run, plan, error) : status;
}
