/* pace.c - how the device follows a host that issues: whose threads take turns, what of its
 * time is work of its own, and how often it is late. */
#include "analysis/traced.h"
#include "core/compare.h"

#include <stdlib.h>

/* --- the host's time --- */

void pace_find_turns(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    struct host_turns turns = {0};
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        const uint32_t op = traced->issued[i];
        host_turns_add(&turns, call->start_ns, call->end_ns, call->thread, op != SPAN_NONE,
                       op != SPAN_NONE ? timeline->spans[op].stream : 0);
    }
    traced->turns = host_turns_taken(&turns);
}

/* A call and the thread that made it. */
struct made {
    uint64_t thread;
    uint32_t call;
};

COMPARE_BY(compare_made, struct made, thread, call);

void pace_find_threads(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    struct made *made = traced->room;
    _Static_assert(sizeof *made <= 2 * sizeof(int64_t), "there is room for each");
    for (uint32_t i = 0; i < timeline->call_count; i++)
        made[i] = (struct made){.thread = timeline->calls[i].thread, .call = i};
    qsort(made, timeline->call_count, sizeof *made, compare_made);
    uint32_t count = 0;
    for (uint32_t i = 0, end; i < timeline->call_count; i = end) {
        bool issues = false;
        for (end = i; end < timeline->call_count && made[end].thread == made[i].thread; end++)
            issues |= traced->issued[made[end].call] != SPAN_NONE;
        for (uint32_t k = i; k < end && issues; k++)
            made[count++] = (struct made){traced->turns ? 0 : made[k].thread, made[k].call};
    }
    qsort(made, count, sizeof *made, compare_made);
    for (uint32_t i = 1; i < count; i++) {
        if (made[i - 1].thread == made[i].thread)
            traced->call_before[made[i].call] = made[i - 1].call;
    }
}

/* Returns how long the host was in no call before call `index`, since the one before it that
 * issued something or held the host: what it asks for in between is a framework's. */
static int64_t elsewhere_ns(const struct traced *traced, uint32_t index)
{
    const struct host_call *calls = traced->timeline->calls;
    int64_t sum_ns = 0;
    for (uint32_t before = traced->call_before[index]; before != SPAN_NONE;
         index = before, before = traced->call_before[index]) {
        sum_ns = plus(sum_ns, later(calls[index].start_ns - calls[before].end_ns, 0));
        if (traced->issued[before] != SPAN_NONE ||
            host_call_holds(host_call_kind(calls[before].row)))
            break;
    }
    return sum_ns;
}

/* Finds a time between two calls that no other is like. Of few calls any may be one. */
static void find_once(struct traced *traced)
{
    enum { CALLS_LEAST = 64 };
    const struct host_call *calls = traced->timeline->calls;
    int64_t sum_ns = 0, longest_ns = 0;
    for (uint32_t i = 0; i < traced->timeline->call_count; i++) {
        const uint32_t before = traced->call_before[i];
        const int64_t gap_ns =
            before != SPAN_NONE ? calls[i].start_ns - calls[before].end_ns : 0;
        sum_ns = plus(sum_ns, gap_ns > traced->work_ns ? gap_ns : 0);
        longest_ns = later(longest_ns, gap_ns);
    }
    if (longest_ns > sum_ns / 2 && traced->timeline->call_count >= CALLS_LEAST)
        traced->once_ns = longest_ns > traced->work_ns ? longest_ns : 0;
}

void pace_find_work(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    int64_t *gaps = traced->room;
    size_t count = 0;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        if (traced->call_before[i] != SPAN_NONE &&
            (traced->issued[i] != SPAN_NONE ||
             host_call_holds(host_call_kind(timeline->calls[i].row))))
            gaps[count++] = elsewhere_ns(traced, i);
    }
    traced->work_ns = host_work_least_ns(half_ns(gaps, count));
    find_once(traced);
}

/* --- the device's --- */

/* Returns when the host had handed an op over, which may be that of call *call or of one behind
 * it, and moves on to that call. A launch waits for nothing and tells the device of its kernel
 * last; of other calls, which may wait for their op, and of all but the first op of a graph,
 * only the beginning says something. */
static int64_t handed_over_ns(const struct traced *traced, uint32_t index, uint32_t *call)
{
    const struct timeline *timeline = traced->timeline;
    const struct span *span = &timeline->spans[index];
    while (*call < timeline->call_count &&
           (traced->issued[*call] == SPAN_NONE || traced->issued[*call] < index))
        ++*call;
    const bool launches = *call < timeline->call_count && traced->issued[*call] == index &&
                          op_is_launch(span->kind) && !traced->launches_block;
    return launches ? timeline->calls[*call].end_ns : span->issue_ns;
}

struct pace pace_of(const struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    struct pace pace = {0};
    int64_t first_ns = 0, end_ns = INT64_MIN;
    uint64_t copies = 0;
    uint32_t call = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (!op_on_device(span->kind))
            continue;
        const bool known =
            !timeline->issue_unknown && !(timeline->begun && span->issue_ns == 0);
        first_ns = pace.ops == 0 ? span->start_ns : earlier(first_ns, span->start_ns);
        pace.ops++;
        copies += op_is_copy(span->kind);
        pace.late += known && handed_over_ns(traced, i, &call) >= end_ns;
        pace.work_ns = plus(pace.work_ns, span->end_ns - span->start_ns);
        pace.span_ns = later(pace.span_ns, span->start_ns - first_ns);
        end_ns = later(end_ns, span->end_ns);
    }
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *made = &timeline->calls[i];
        pace.calls += traced->issued[i] != SPAN_NONE;
        if (traced->issued[i] != SPAN_NONE)
            pace.calls_ns = plus(pace.calls_ns, made->end_ns - made->start_ns);
    }
    pace.tiles = 3 * copies >= pace.ops && pace.calls_ns >= pace.span_ns / 2;
    return pace;
}
