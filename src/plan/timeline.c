/* timeline.c - spans: made from a plan, and completed. */
#include "plan/timeline.h"

#include "core/search.h"
#include "plan/legacy.h"

#include <stdlib.h>
#include <string.h>

void timeline_init(struct timeline *timeline)
{
    *timeline = (struct timeline){0};
}

void timeline_free(struct timeline *timeline)
{
    free(timeline->spans);
    free(timeline->issue_ns);
    free(timeline->op_calls);
    free(timeline->names);
    free(timeline->stream_ids);
    free(timeline->stream_kinds);
    free(timeline->texts);
    free(timeline->calls);
    free(timeline->lines);
    free(timeline->waits);
    timeline_init(timeline);
}

static enum span_alloc span_alloc_of(const struct op *op)
{
    if (op->alloc.action == ALLOC_PAIR)
        return op->alloc.pinned ? SPAN_PINNED_PAIR : SPAN_PAIR;
    if (op->alloc.action == ALLOC_TAKE)
        return op->alloc.ordered ? SPAN_ORDERED_TAKE : SPAN_TAKE;
    return op->alloc.ordered ? SPAN_ORDERED_GIVE : SPAN_GIVE;
}

/* Makes a span of what `op` says of it. Only a kernel that reaches the host's arrays moves
 * bytes over the link: elsewhere its ranges, which are far memory, need not be looked at. */
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
    if (op->kind == OP_PEER)
        span->to = (uint16_t)plan_range_device(plan, &op->peer.to);
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

/* Makes the spans, in one pass over the ops, which are far more memory than the spans. An event
 * stands for the op before its record in the record's stream: that is what a wait waits for. */
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

/* Returns how many kernels a timeline can name, whose spans name them by 16 bits: the names
 * behind them are those of nobody. */
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
    uint32_t *event_op = malloc((plan->events + (size_t)1) * sizeof *event_op);
    uint32_t *last_op = calloc(plan->streams + (size_t)1, sizeof *last_op);
    timeline->spans = malloc((ops + 1) * sizeof *timeline->spans);
    timeline->issue_ns = calloc(ops + 1, sizeof *timeline->issue_ns);
    timeline->names = calloc(names + (size_t)1, sizeof *timeline->names);
    if (plan->recorded != NULL)
        timeline->op_calls = calloc(ops + 1, sizeof *timeline->op_calls);
    bool calls = plan->recorded == NULL || timeline->op_calls != NULL;
    if (plan->stream_kinds != NULL)
        timeline->stream_kinds = malloc(plan->streams + (size_t)1);
    bool kinds = plan->stream_kinds == NULL || timeline->stream_kinds != NULL;
    enum status status = STATUS_OK;
    if (!event_op || !last_op || !timeline->spans || !timeline->issue_ns || !timeline->names ||
        !kinds || !calls) {
        timeline_free(timeline);
        status = error_set(error, STATUS_NO_MEMORY, "no memory for a timeline of %zu ops", ops);
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
        memset(event_op, 0xFF, (plan->events + (size_t)1) * sizeof *event_op);
        memset(last_op, 0xFF, (plan->streams + (size_t)1) * sizeof *last_op); /* no op yet */
        fill_spans(timeline, plan, event_op, last_op);
        timeline->copies_take_turns = plan->prefetches;
    }
    free(event_op);
    free(last_op);
    return status;
}

struct span *timeline_span(struct timeline *timeline, uint32_t op)
{
    struct bisect search = bisect_in(0, timeline->span_count);
    while (bisect_asks(&search))
        bisect_tell(&search, timeline->spans[search.at].op < op);
    bool found = search.at < timeline->span_count && timeline->spans[search.at].op == op;
    return found ? &timeline->spans[search.at] : NULL;
}

/* The op that ends last of some. */
struct last {
    uint32_t op; /* UINT32_MAX: none yet */
    int64_t end_ns;
};

/* Takes up one more op, which ended where `span` says. A wait stands for what it waited for. */
static void last_take(struct last *last, const struct span *span)
{
    if (last->op != UINT32_MAX && span->end_ns <= last->end_ns)
        return;
    last->end_ns = span->end_ns;
    if (span->kind != OP_WAIT)
        last->op = span->op;
    else if (span->end_ns > span->start_ns)
        last->op = span->target;
}

/* A pass over ops in issue order. It knows what the start of the next op is at least. */
struct order_pass {
    const struct plan *plan;
    struct last *streams;        /* of each stream */
    struct last device, minding; /* of all, and of those that mind the legacy default stream */
    struct legacy_walk legacy;
    int64_t *event_end; /* per event: end of what it stands for */
};

static bool pass_begin(struct order_pass *pass, const struct plan *plan)
{
    *pass = (struct order_pass){
        .plan = plan, .device = {UINT32_MAX, 0}, .minding = {UINT32_MAX, 0}};
    pass->streams = calloc(plan->streams + (size_t)1, sizeof *pass->streams);
    pass->event_end = calloc(plan->events + (size_t)1, sizeof *pass->event_end);
    for (uint32_t i = 0; pass->streams != NULL && i <= plan->streams; i++)
        pass->streams[i].op = UINT32_MAX;
    return pass->streams != NULL && pass->event_end != NULL;
}

static void pass_end(struct order_pass *pass)
{
    free(pass->streams);
    free(pass->event_end);
}

/* Returns when a stream reaches its next op, as far as streams have a say in it. */
static int64_t pass_reached(const struct order_pass *pass, uint32_t stream)
{
    const struct legacy_side *before =
        legacy_before(&pass->legacy, plan_stream_kind(pass->plan, stream));
    int64_t end_ns = pass->streams[stream].end_ns;
    return before != NULL ? later(end_ns, before->end_ns) : end_ns;
}

static void pass_take(struct order_pass *pass, const struct span *span)
{
    enum stream_kind kind = plan_stream_kind(pass->plan, span->stream);
    last_take(&pass->streams[span->stream], span);
    if (span->kind == OP_CPU)
        return;
    last_take(&pass->device, span);
    if (!rule_minds_legacy(kind))
        return;
    last_take(&pass->minding, span);
    legacy_pass(&pass->legacy, kind, span->op, span->end_ns);
}

/* Returns the op that a call of the host waited for: of those it waits for, the one that ended
 * last. */
static uint32_t pass_target(const struct order_pass *pass, const struct span *call)
{
    if (call->kind != OP_SYNC)
        return UINT32_MAX;
    if (call->stream == pass->plan->streams)
        return pass->device.op;
    enum stream_kind kind = plan_stream_kind(pass->plan, call->stream);
    return rule_sync_encompasses(kind, STREAM_BLOCKING) ? pass->minding.op
                                                        : pass->streams[call->stream].op;
}

/* Takes up one op. A wait lasts from when its stream reaches it until what it waits for is
 * over. With `rebuild`, copies, memsets and kernels start as soon as their stream lets them;
 * the times of the CPU's ops, of callbacks and of the host's own calls are the host's clock's
 * already. */
static void pass_span(struct order_pass *pass, struct span *span, bool rebuild)
{
    enum op_kind kind = (enum op_kind)span->kind;
    if (op_is_call(kind)) {
        if (kind != OP_SYNC_EVENT) /* fill_spans() has said it */
            span->target = pass_target(pass, span);
        return;
    }
    if (kind == OP_WAIT) {
        uint32_t event = pass->plan->ops[span->op].event.event;
        span->start_ns = later(span->issue_ns, pass_reached(pass, span->stream));
        span->end_ns = later(span->start_ns, pass->event_end[event]);
    } else if (rebuild && op_on_device(kind)) {
        /* An event's time has a resolution: an end is never before its op's start. */
        span->start_ns = later(span->issue_ns, pass_reached(pass, span->stream));
        span->end_ns = later(span->end_ns, span->start_ns);
    }
    pass_take(pass, span);
}

/* Ops are far more memory than spans: only those that are records and waits are looked at.
 */
static enum status pass_ops(struct timeline *timeline, const struct plan *plan, bool rebuild,
                            struct error *error)
{
    struct order_pass pass;
    enum status status = STATUS_OK;
    if (!pass_begin(&pass, plan))
        status = error_set(error, STATUS_NO_MEMORY, "no memory to complete a timeline");
    uint32_t next = 0; /* an empty timeline has no spans at all */
    for (uint32_t i = 0; i < plan->op_count && status == STATUS_OK; i++) {
        const struct op *op = &plan->ops[i];
        plan_fetch_ahead(plan, i);
        if (next < timeline->span_count && timeline->spans[next].op == i)
            pass_span(&pass, &timeline->spans[next++], rebuild);
        else if (op->kind == OP_RECORD)
            pass.event_end[op->event.event] = pass_reached(&pass, op->stream);
    }
    pass_end(&pass);
    return status;
}

int span_compare_ends(const void *a, const void *b)
{
    const struct span *x = *(struct span *const *)a, *y = *(struct span *const *)b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

size_t spans_ended_by(const struct span *const *by_end, size_t count, int64_t time_ns)
{
    struct bisect search = bisect_in(0, count);
    while (bisect_asks(&search))
        bisect_tell(&search, by_end[search.at]->end_ns <= time_ns);
    return search.at;
}

/* Pushes each copy's start behind the end of the copy that its engine did before it. */
static enum status start_after_engine(struct timeline *timeline, struct resource engine,
                                      struct error *error)
{
    struct span **copies = malloc((timeline->span_count + (size_t)1) * sizeof *copies);
    if (copies == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to complete a timeline");
    size_t count = timeline_engine_spans(timeline, engine, copies);
    qsort(copies, count, sizeof *copies, span_compare_ends);
    for (size_t i = 1; i < count; i++)
        copies[i]->start_ns = later(copies[i]->start_ns, copies[i - 1]->end_ns);
    free(copies);
    return STATUS_OK;
}

enum status timeline_rebuild_starts(struct timeline *timeline, const struct plan *plan,
                                    struct error *error)
{
    const uint32_t devices = timeline_devices(timeline);
    enum status status = pass_ops(timeline, plan, true, error);
    for (uint32_t i = 0; i < DEVICE_ENGINES * devices && status == STATUS_OK; i++) {
        const struct resource engine = resource_at(i, devices);
        if (engine.kind != ENGINE_COMPUTE)
            status = start_after_engine(timeline, engine, error);
    }
    return status;
}

enum status timeline_finish(struct timeline *timeline, const struct plan *plan,
                            struct error *error)
{
    enum status status =
        timeline->has_waits ? pass_ops(timeline, plan, false, error) : STATUS_OK;
    return status == STATUS_OK ? timeline_lay_out(timeline, error) : status;
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
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (!op_is_node(span->kind))
            continue;
        first_ns = earlier(first_ns, timeline->issue_unknown ? span->start_ns : span->issue_ns);
        last_ns = later(last_ns, span->end_ns);
    }
    return last_ns > first_ns ? last_ns - first_ns : 0;
}
