/* timeline_finish.c - completes spans: their starts where only ends are known, what waits and
 * syncs waited for, and the lanes that they lie in. */
#include "core/arena.h"
#include "core/compare.h"
#include "plan/timeline.h"

#include "core/event_queue.h"
#include "plan/barriers.h"

#include <stdlib.h>

/* --- the spans of an engine --- */

static bool is_on(const struct span *span, struct resource engine)
{
    return span->engine == engine.kind && span->device == engine.device;
}

COMPARE_POINTERS_BY(compare_by_start, struct span, start_ns, op);

size_t timeline_engine_spans(const struct timeline *timeline, struct resource engine,
                             struct span **spans)
{
    /* Engines work nearly in the order of issue, so that few spans have to move far. Beyond so
     * many moves for each, a sort of all is faster. */
    enum { FEW_MOVES = 8 };
    const size_t most = FEW_MOVES * (size_t)timeline->span_count;
    size_t count = 0, moves = 0;
    EACH (struct span, span, timeline->spans, timeline->span_count) {
        if (!is_on(span, engine))
            continue;
        size_t at = count++;
        for (; at > 0 && moves < most && compare_by_start(&spans[at - 1], &span) > 0; at--) {
            spans[at] = spans[at - 1];
            moves++;
        }
        spans[at] = span;
    }
    if (count > 0 && moves == most)
        qsort(spans, count, sizeof *spans, compare_by_start);
    return count;
}

/* --- in the order of issue --- */

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
    struct arena arena; /* what has these tables */
};

static bool pass_begin(struct order_pass *pass, const struct plan *plan)
{
    *pass = (struct order_pass){
        .plan = plan, .device = {UINT32_MAX, 0}, .minding = {UINT32_MAX, 0}};
    const size_t streams = plan->streams + (size_t)1;
    pass->streams = arena_zeros(&pass->arena, streams, sizeof *pass->streams);
    pass->event_end = arena_zeros(&pass->arena, plan->events, sizeof *pass->event_end);
    for (uint32_t i = 0; pass->streams != NULL && i <= plan->streams; i++)
        pass->streams[i].op = UINT32_MAX;
    return !pass->arena.full;
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
        status = error_no_memory(error, "to complete a timeline");
    uint32_t next = 0; /* an empty timeline has no spans at all */
    for (uint32_t i = 0; i < plan->op_count && status == STATUS_OK; i++) {
        const struct op *op = &plan->ops[i];
        plan_fetch_ahead(plan, i);
        if (next < timeline->span_count && timeline->spans[next].op == i)
            pass_span(&pass, &timeline->spans[next++], rebuild);
        else if (op->kind == OP_RECORD)
            pass.event_end[op->event.event] = pass_reached(&pass, op->stream);
    }
    arena_free(&pass.arena);
    return status;
}

/* Pushes each copy's start behind the end of the copy that its engine did before it. */
static enum status start_after_engine(struct timeline *timeline, struct resource engine,
                                      struct error *error)
{
    struct span **copies = malloc((timeline->span_count + (size_t)1) * sizeof *copies);
    if (copies == NULL)
        return error_no_memory(error, "to complete a timeline");
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

/* --- lanes --- */

/* Gives the spans of one engine, in order of start, the lowest lane that is free. Returns false
 * when memory runs out. Of the two queues, `busy` gives lanes by the time at which they are
 * free again, and `idle` by their number. */
static bool lanes_of_engine(struct span **spans, size_t count)
{
    struct event_queue busy = {0}, idle = {0};
    struct event lane;
    uint32_t lanes = 0;
    bool room = true;
    for (size_t i = 0; i < count && room; i++) {
        while (room && busy.count > 0 && busy.heap[0].time_ns <= spans[i]->start_ns) {
            event_queue_pop(&busy, &lane);
            room = event_queue_push(&idle, lane.subject, 0, lane.subject, 0);
        }
        spans[i]->lane = event_queue_pop(&idle, &lane) ? lane.subject : lanes++;
        room = room && event_queue_push(&busy, spans[i]->end_ns, 0, spans[i]->lane, 0);
    }
    event_queue_free(&busy);
    event_queue_free(&idle);
    return room;
}

/* A look over all spans. */
struct look {
    __extension__ __int128 ns, bytes; /* all added up */
    int64_t last_ns;                  /* the last end */
    /* Per engine, by resource_number(): the end of its latest span; and if it has two at once
     * in the order of issue, so that not all are in its first lane, as they mostly are. */
    int64_t ends_ns[RESOURCES_MOST];
    bool beside[RESOURCES_MOST];
};

/* Looks over the spans, and gives them the lanes that they have where engines take turns.
 * Waits, which do nothing, are left out of the sum: there may be very many at once. */
static struct look look_over(struct timeline *timeline)
{
    const uint32_t devices = timeline_devices(timeline);
    struct look look = {.ns = 0};
    EACH (struct span, span, timeline->spans, timeline->span_count) {
        look.ns += span->kind != OP_WAIT ? span->end_ns - span->start_ns : 0;
        look.bytes += span->bytes;
        look.last_ns = later(look.last_ns, span->end_ns);
        const uint32_t engine =
            devices > 1 ? resource_number(span_resource(span), devices) : span->engine;
        look.beside[engine] |= span->start_ns < look.ends_ns[engine];
        look.ends_ns[engine] = span->end_ns;
        span->lane = span->engine == ENGINE_NONE ? span->stream : 0;
    }
    for (uint32_t i = 0; i < timeline->call_count; i++)
        look.ns += timeline->calls[i].end_ns - timeline->calls[i].start_ns;
    look.ns += look.last_ns;
    return look;
}

static enum status set_lanes(struct timeline *timeline, const struct look *look,
                             struct error *error)
{
    struct span **spans = NULL;
    bool room = true;
    const uint32_t devices = timeline_devices(timeline);
    for (uint32_t i = 0; i < resource_count(devices) && room; i++) {
        const struct resource engine = resource_at(i, devices);
        if (!look->beside[i] || engine.kind == ENGINE_NONE)
            continue;
        if (spans == NULL)
            spans = malloc((timeline->span_count + (size_t)1) * sizeof *spans);
        room = spans != NULL &&
               lanes_of_engine(spans, timeline_engine_spans(timeline, engine, spans));
    }
    free(spans);
    return room ? STATUS_OK : error_no_memory(error, "to lay out a timeline");
}

/* Refuses what timeline.h says. */
static enum status check_sums(const struct look *look, struct error *error)
{
    if (look->ns >= MACHINE_NEVER_NS)
        return error_set(error, STATUS_USAGE,
                         "the ops and calls take more than 36 years together, which is more "
                         "than a timeline can hold");
    if (look->bytes > INT64_MAX)
        return error_set(error, STATUS_USAGE,
                         "the ops move more than 8 EiB together, which is more bytes than a "
                         "timeline can hold");
    return STATUS_OK;
}

enum status timeline_finish(struct timeline *timeline, const struct plan *plan,
                            struct error *error)
{
    enum status status =
        timeline->has_waits ? pass_ops(timeline, plan, false, error) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    struct look look = look_over(timeline);
    status = check_sums(&look, error);
    return status == STATUS_OK ? set_lanes(timeline, &look, error) : status;
}
