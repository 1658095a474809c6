/* timeline.c - spans: made from a plan, looked up, and named. */
#include "plan/timeline.h"

#include "core/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct host_call *timeline_call_of(const struct timeline *timeline,
                                         const struct span *span)
{
    if (timeline->issue_unknown || (timeline->begun && span->issue_ns == 0))
        return NULL;
    BISECT(at, i, 0, timeline->call_count, timeline->calls[i].start_ns < span->issue_ns);
    const bool found =
        at < timeline->call_count && timeline->calls[at].start_ns == span->issue_ns;
    return found ? &timeline->calls[at] : NULL;
}

void timeline_free(struct timeline *timeline)
{
    free(timeline->spans);
    free(timeline->issue_ns);
    arena_free(&timeline->arena);
    *timeline = (struct timeline){0};
}

static enum span_alloc span_alloc_of(const struct op *op)
{
    if (op->alloc.action == ALLOC_PAIR)
        return op->alloc.pinned ? SPAN_PINNED_PAIR : SPAN_PAIR;
    if (op->alloc.action == ALLOC_TAKE)
        return op->alloc.ordered ? SPAN_ORDERED_TAKE : SPAN_TAKE;
    return op->alloc.ordered ? SPAN_ORDERED_GIVE : SPAN_GIVE;
}

/* Makes a span from its `op`. Only a kernel that accesses the host's arrays moves bytes over
 * the link; otherwise its ranges, which are far memory, need not be read. */
static void span_fill(struct span *span, const struct plan *plan, const struct op *op)
{
    bool moves = op->kind != OP_KERNEL || plan_kernels_move_bytes(plan);
    *span = (struct span){.op = op->id, .kind = (uint8_t)op->kind, .stream = op->stream};
    span->engine = op_rows[op->kind].engine & SPAN_BITS;
    if (plan->devices > 1 && (engine_of_device(span->engine) || op->kind == OP_WAIT))
        span->device = plan_stream_home(plan, op->stream).device & SPAN_BITS;
    span->tile = op->tile;
    span->bytes = moves ? op_bytes(op) : 0;
    if (op->kind == OP_KERNEL)
        span->link = (uint16_t)op->kernel.link;
    if (op->kind == OP_ALLOC)
        span->link = (uint16_t)span_alloc_of(op);
    if (op->kind == OP_PEER && plan->recorded == NULL) /* that has one device of the two */
        span->to = (uint16_t)plan_range_device(plan, &op->move.to);
    if (op_is_call(op->kind))
        span->target = UINT32_MAX;
}

/* Adds to a span what was seen of its op. */
static void span_tell(struct span *span, const struct op_recorded *seen)
{
    if (span->kind == OP_KERNEL)
        span->link = (uint16_t)(seen->name < UINT16_MAX ? seen->name : UINT16_MAX);
    if (op_is_copy((enum op_kind)span->kind))
        span->host_memory = seen->pageable ? HOST_MEMORY_PAGEABLE : HOST_MEMORY_PINNED;
}

/* Makes the spans, in one pass over the ops, which take far more memory than the spans. An
 * event stands for the op before its record in the record's stream: that is what a wait waits
 * for. */
static void fill_spans(struct timeline *timeline, const struct plan *plan, uint32_t *event_op,
                       uint32_t *last_op)
{
    struct span *span = timeline->spans; /* records have none */
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        plan_fetch_ahead(plan, i);
        if (op->kind == OP_RECORD) {
            event_op[op->event.event] = last_op[op->stream];
            continue;
        }
        span_fill(span, plan, op);
        if (plan->recorded != NULL)
            span_tell(span, &plan->recorded->ops[i]);
        if (op->kind == OP_WAIT || op->kind == OP_SYNC_EVENT)
            span->target = event_op[op->event.event];
        else if (op_in_stream(op->kind))
            last_op[op->stream] = i;
        timeline->has_waits |= op_rows[op->kind].waits;
        span++;
    }
    timeline->span_count = (uint32_t)(span - timeline->spans);
}

/* Returns how many kernels a timeline can name: spans have 16 bits for that, and no span uses
 * the names beyond. */
static uint32_t kernel_names(const struct plan *plan)
{
    uint32_t names =
        plan->recorded != NULL ? plan->recorded->name_count : (uint32_t)plan->chain_length;
    return names < UINT16_MAX ? names : UINT16_MAX;
}

enum status timeline_begin(struct timeline *timeline, const struct plan *plan,
                           struct error *error)
{
    timeline_free(timeline);
    size_t ops = plan->op_count;
    uint32_t names = kernel_names(plan);
    struct arena arena = {0}, *own = &timeline->arena;
    uint32_t *event_op = arena_ones(&arena, plan->events, sizeof *event_op);
    uint32_t *last_op = arena_ones(&arena, plan->streams + (size_t)1, sizeof *last_op);
    timeline->spans = malloc((ops + 1) * sizeof *timeline->spans);
    timeline->issue_ns = calloc(ops + 1, sizeof *timeline->issue_ns);
    timeline->names = arena_zeros(own, names, sizeof *timeline->names);
    if (plan->recorded != NULL)
        timeline->op_calls = arena_zeros(own, ops, sizeof *timeline->op_calls);
    if (plan->stream_kinds != NULL)
        timeline->stream_kinds = arena_zeros(own, plan->streams, 1);
    enum status status = STATUS_OK;
    if (arena.full || own->full || !timeline->spans || !timeline->issue_ns) {
        timeline_free(timeline);
        status = error_no_memory(error, "for a timeline of %zu ops", ops);
    } else {
        timeline->issue_count = plan->op_count;
        timeline->devices = plan->devices;
        timeline->sharing = plan->sharing;
        timeline->streams = plan->streams;
        if (plan->stream_kinds != NULL)
            memcpy(timeline->stream_kinds, plan->stream_kinds, plan->streams);
        timeline->name_count = names;
        for (uint32_t i = 0; i < names; i++)
            timeline->names[i] =
                plan->recorded != NULL ? plan->recorded->names[i] : plan->chain[i]->name;
        for (size_t i = 0; i < ops && plan->recorded != NULL; i++)
            timeline->op_calls[i].thread = plan->recorded->ops[i].thread;
        fill_spans(timeline, plan, event_op, last_op);
        timeline->copies_take_turns = plan->prefetches;
    }
    arena_free(&arena);
    return status;
}

struct span *timeline_span(struct timeline *timeline, uint32_t op)
{
    BISECT(at, i, 0, timeline->span_count, timeline->spans[i].op < op);
    bool found = at < timeline->span_count && timeline->spans[at].op == op;
    return found ? &timeline->spans[at] : NULL;
}

int span_compare_ends(const void *a, const void *b)
{
    const struct span *x = *(struct span *const *)a, *y = *(struct span *const *)b;
    return COMPARE_MEMBERS(end_ns, op);
}

size_t spans_ended_by(const struct span *const *by_end, size_t count, int64_t time_ns)
{
    BISECT(at, i, 0, count, by_end[i]->end_ns <= time_ns);
    return at;
}

int64_t timeline_time_ns(const struct timeline *timeline)
{
    int64_t last = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++)
        last = later(last, timeline->spans[i].end_ns);
    return last;
}

int64_t timeline_extent_ns(const struct timeline *timeline)
{
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (!op_is_node(span->kind))
            continue;
        first_ns = earlier(first_ns, timeline->issue_unknown ? span->start_ns : span->issue_ns);
        last_ns = later(last_ns, span->end_ns);
    }
    return last_ns > first_ns ? last_ns - first_ns : 0;
}

/* --- words --- */

const char *timeline_source(const struct timeline *timeline)
{
    const bool simulated = timeline->timing == TIMING_VIRTUAL || timeline->tried;
    return simulated ? "simulated" : "measured";
}

const char *timeline_timing(const struct timeline *timeline)
{
    static const char *const names[TIMING_COUNT] = {
        [TIMING_VIRTUAL] = "virtual",   [TIMING_CUPTI] = "cupti",
        [TIMING_EVENTS] = "events",     [TIMING_NSYS] = "nsys",
        [TIMING_RECORDED] = "recorded", [TIMING_CHROME] = "chrome"};
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
