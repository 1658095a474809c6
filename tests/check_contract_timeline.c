/* check_contract_timeline.c - see check_contract_timeline.h. */
#include "check_contract_timeline.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The run that is being checked, which contract_check_timeline() sets, so that a failed check
 * can show it. */
static struct {
    const struct plan *plan;
    struct timeline *timeline;
    bool measured, synced; /* synced: ops wait for others by way of the host */
    const char *shown;
} at;

static bool by_host(const struct span *span)
{
    return span->kind == OP_CALLBACK || span->kind == OP_CPU || op_is_call(span->kind);
}

/* How much two measured times may be off from one another: little on one clock, more where the
 * host's meets the device's. Simulated times are exact. */
static int64_t tolerance_ns(const struct span *a, const struct span *b)
{
    if (!at.measured)
        return 0;
    if (by_host(a) != by_host(b) || at.synced)
        return 50000;
    /* By CUPTI's times a graph's kernels that write the host's memory now and then overlap the
     * next ones of their stream: by 3.5 us on an H100 and by 14 us on an H200, of some 350. */
    return at.plan->issue == ISSUE_GRAPH && memory_is_reached(at.plan->memory) ? 20000 : 1000;
}

static void fail_pair(const struct span *first, const struct span *second, const char *rule)
{
    char one[OP_LABEL], other[OP_LABEL];
    ck_abort_msg("%s: %s: op %" PRIu32 " (%s) ran %" PRId64 " to %" PRId64 ", op %" PRIu32
                 " (%s) %" PRId64 " to %" PRId64,
                 at.shown, rule, first->op,
                 plan_op_label(at.plan, &at.plan->ops[first->op], one), first->start_ns,
                 first->end_ns, second->op,
                 plan_op_label(at.plan, &at.plan->ops[second->op], other), second->start_ns,
                 second->end_ns);
}

static void must_follow(const struct span *first, const struct span *second, const char *rule)
{
    if (second->start_ns < first->end_ns - tolerance_ns(first, second))
        fail_pair(first, second, rule);
}

static enum engine engine_of(enum op_kind kind)
{
    static const enum engine engines[OP_KIND_COUNT] = {
        [OP_H2D] = ENGINE_H2D,     [OP_KERNEL] = ENGINE_COMPUTE, [OP_D2H] = ENGINE_D2H,
        [OP_RECORD] = ENGINE_NONE, [OP_WAIT] = ENGINE_NONE,      [OP_CALLBACK] = ENGINE_HOST,
        [OP_CPU] = ENGINE_CPU,     [OP_D2D] = ENGINE_COMPUTE,    [OP_MEMSET] = ENGINE_COMPUTE,
        [OP_SYNC] = ENGINE_HOST,   [OP_ALLOC] = ENGINE_HOST,     [OP_SYNC_EVENT] = ENGINE_HOST,
        [OP_PACK] = ENGINE_HOST,
    };
    return engines[kind];
}

/* One span for every op but records, in op order, that says what the op is. */
static void check_spans(void)
{
    uint32_t next = 0;
    int64_t issued = 0, first = INT64_MAX;
    ck_assert_uint_eq(at.timeline->issue_count, at.plan->op_count);
    for (uint32_t i = 0; i < at.plan->op_count; i++) {
        const struct op *op = &at.plan->ops[i];
        int64_t issue_ns = at.timeline->issue_ns[i];
        first = issue_ns < first ? issue_ns : first;
        if (op->kind != OP_CPU && issue_ns < issued)
            ck_abort_msg("%s: op %" PRIu32 " was issued before the one before it", at.shown, i);
        issued = op->kind != OP_CPU ? issue_ns : issued;
        if (op->kind == OP_RECORD)
            continue;
        const struct span *span = &at.timeline->spans[next++];
        const bool moved = op->kind == OP_KERNEL && at.plan->prefetches; /* ahead of it */
        if (next > at.timeline->span_count || span->op != i || span->kind != op->kind ||
            span->engine != engine_of(op->kind) || span->stream != op->stream ||
            span->tile != op->tile || span->bytes != (moved ? 0 : op_bytes(op)) ||
            span->issue_ns != issue_ns)
            ck_abort_msg("%s: the span of op %" PRIu32 " does not say what the op is", at.shown,
                         i);
        if (span->issue_ns > span->start_ns || span->start_ns > span->end_ns)
            ck_abort_msg("%s: op %" PRIu32 " was issued at %" PRId64 " and ran %" PRId64
                         " to %" PRId64,
                         at.shown, i, span->issue_ns, span->start_ns, span->end_ns);
    }
    ck_assert_uint_eq(next, at.timeline->span_count);
    ck_assert_int_eq(first, 0);
}

/* Ops of a stream run in order; one behind a wait runs after what its event stands for. */
static void check_streams(void)
{
    const struct span **last = calloc(at.plan->streams + (size_t)1, sizeof *last);
    const struct span **event = calloc(at.plan->events + (size_t)1, sizeof *event);
    const struct span **waited = calloc(at.plan->streams + (size_t)1, sizeof *waited);
    ck_assert(last != NULL && event != NULL && waited != NULL);
    for (uint32_t i = 0; i < at.plan->op_count; i++) {
        const struct op *op = &at.plan->ops[i];
        if (op->kind == OP_RECORD) {
            event[op->event.event] = last[op->stream];
            continue;
        }
        const struct span *span = timeline_span(at.timeline, i);
        if (op_is_call(op->kind))
            continue;
        if (op->kind == OP_WAIT) {
            const struct span *target = event[op->event.event];
            const struct span *before = waited[op->stream];
            if (target != NULL && span->end_ns < target->end_ns)
                fail_pair(target, span, "a wait ended early");
            /* A stream that waits several times in a row goes on after the latest target. */
            if (target != NULL && (before == NULL || before->end_ns < target->end_ns))
                waited[op->stream] = target;
            continue;
        }
        if (last[op->stream] != NULL)
            must_follow(last[op->stream], span, "a stream is out of order");
        if (waited[op->stream] != NULL)
            must_follow(waited[op->stream], span, "an event was not waited for");
        waited[op->stream] = NULL;
        last[op->stream] = span;
    }
    free(last);
    free(event);
    free(waited);
}

static int compare_starts(const void *a, const void *b)
{
    const struct span *x = *(const struct span *const *)a, *y = *(const struct span *const *)b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* A copy engine does one copy at a time. Small measured copies are left out: a driver may move
 * those by other means. */
static void check_copies(enum engine one, enum engine other)
{
    enum { REAL_COPY = 256 << 10 };
    const struct span **copies = calloc(at.timeline->span_count + (size_t)1, sizeof *copies);
    ck_assert(copies != NULL);
    size_t count = 0;
    for (uint32_t i = 0; i < at.timeline->span_count; i++) {
        const struct span *span = &at.timeline->spans[i];
        bool counts = !at.measured || span->bytes >= REAL_COPY;
        if ((span->engine == one || span->engine == other) && counts)
            copies[count++] = span;
    }
    qsort(copies, count, sizeof *copies, compare_starts);
    for (size_t i = 1; i < count; i++)
        must_follow(copies[i - 1], copies[i], "copies of one engine overlap");
    free(copies);
}

static bool overlaps(const struct range *a, const struct range *b)
{
    return a->buffer == b->buffer && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

/* Returns true if an action is not done when its call begins: it is in the order of a stream,
 * or waits for the device. */
static bool is_done_later(const struct op *op)
{
    return op->kind == OP_ALLOC && (op->alloc.ordered || op->alloc.action == ALLOC_GIVE);
}

static bool conflict(const struct op *one, const struct op *other)
{
    struct access first[OP_ACCESS_MAX], second[OP_ACCESS_MAX];
    int count = op_accesses(one, first), others = op_accesses(other, second);
    if (is_done_later(one) || is_done_later(other))
        return false;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < others; j++) {
            if ((first[i].writes || second[j].writes) &&
                overlaps(&first[i].range, &second[j].range))
                return true;
        }
    }
    return false;
}

/* Two ops that touch the same bytes, one of them writing, must run in the order of the plan:
 * only then does data flow from copy to kernel to copy, and a slot is used again only when it
 * is free.
 */
static void check_data_flow(void)
{
    for (uint32_t i = 0; i < at.timeline->span_count; i++) {
        const struct span *first = &at.timeline->spans[i];
        for (uint32_t j = i + 1; j < at.timeline->span_count; j++) {
            const struct span *second = &at.timeline->spans[j];
            if (conflict(&at.plan->ops[first->op], &at.plan->ops[second->op]))
                must_follow(first, second, "data is used out of order");
        }
    }
}

static int compare_lanes(const void *a, const void *b)
{
    const struct span *x = *(const struct span *const *)a, *y = *(const struct span *const *)b;
    if (x->engine != y->engine)
        return x->engine < y->engine ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return compare_starts(a, b);
}

/* Spans of one lane never overlap, to the nanosecond: viewers rely on it. */
static void check_lanes(void)
{
    const struct span **spans = calloc(at.timeline->span_count + (size_t)1, sizeof *spans);
    ck_assert(spans != NULL);
    for (uint32_t i = 0; i < at.timeline->span_count; i++)
        spans[i] = &at.timeline->spans[i];
    qsort(spans, at.timeline->span_count, sizeof *spans, compare_lanes);
    for (uint32_t i = 1; i < at.timeline->span_count; i++) {
        const struct span *before = spans[i - 1], *span = spans[i];
        if (span->engine == before->engine && span->lane == before->lane &&
            span->start_ns < before->end_ns)
            fail_pair(before, span, "two spans share a lane");
    }
    free(spans);
}

void contract_check_timeline(const struct plan *plan, struct timeline *timeline,
                             int copy_engines, bool measured, const char *shown)
{
    at.plan = plan;
    at.timeline = timeline;
    at.measured = measured;
    at.synced = false;
    for (uint32_t i = 0; i < plan->op_count; i++)
        at.synced |= plan->ops[i].kind == OP_SYNC;
    at.shown = shown;
    ck_assert_int_eq(strcmp(timeline_source(timeline), "measured") == 0, measured);
    ck_assert(timeline->device[0] != '\0');
    ck_assert_int_ge(timeline->resolution_ns, 1);
    ck_assert_uint_eq(timeline->streams, plan->streams);
    check_spans();
    check_streams();
    if (copy_engines == 1) {
        check_copies(ENGINE_H2D, ENGINE_D2H);
    } else {
        check_copies(ENGINE_H2D, ENGINE_H2D);
        check_copies(ENGINE_D2H, ENGINE_D2H);
    }
    check_data_flow();
    check_lanes();
}
