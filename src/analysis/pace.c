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
    uint32_t thread;
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

/* --- what recording adds --- */

/* A call, by when it ended. */
struct ended {
    int64_t end_ns;
    uint32_t call;
};

COMPARE_BY(compare_ended, struct ended, end_ns, call);

/* When something came that was waited for, and when it would have come without the recorder. */
struct moment {
    int64_t ns, bare_ns;
};

static void moment_add(struct moment *moment, int64_t ns, int64_t added_ns)
{
    moment->ns = later(moment->ns, ns);
    moment->bare_ns = later(moment->bare_ns, ns - added_ns);
}

/* Adds the end of an op, if that came before `by_ns`, and with it the way on from there. */
static void moment_add_end(struct moment *moment, const struct traced *traced, uint32_t span,
                           int64_t by_ns, int64_t way_ns)
{
    const int64_t end_ns = span != SPAN_NONE ? traced->timeline->spans[span].end_ns : INT64_MAX;
    if (end_ns <= by_ns)
        moment_add(moment, earlier(plus(end_ns, way_ns), by_ns), traced->added_ns[span]);
}

/* The shortest ways to an op's start, by its engine: from when it was handed over to a device
 * that had nothing to do, 0 where it never had, and from when the op before it ended, which a
 * host that is late with each leaves unknown: as an H200 has it at most. */
struct ways {
    int64_t over_ns[ENGINE_COUNT], on_ns[ENGINE_COUNT];
};

/* Returns when the host had handed an op over that call `call` issued: a launch waits for
 * nothing and tells the device of its kernel last. */
static int64_t given_ns(const struct traced *traced, uint32_t span, uint32_t call)
{
    const struct host_call *made = &traced->timeline->calls[call];
    const bool launches =
        op_is_launch(traced->timeline->spans[span].kind) && !traced->launches_block;
    return launches ? made->end_ns : made->start_ns;
}

static struct ways find_ways(const struct traced *traced)
{
    enum { STEP_NS = 1250 }; /* as machine files have it that do not say (machine/fields.c) */
    const struct timeline *timeline = traced->timeline;
    int64_t ends_ns[ENGINE_COUNT];
    struct ways ways;
    for (int i = 0; i < ENGINE_COUNT; i++) {
        ends_ns[i] = INT64_MIN;
        ways.over_ns[i] = INT64_MAX;
        ways.on_ns[i] = STEP_NS;
    }
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        const uint32_t call = traced_call_of(traced, i);
        int64_t *over_ns = &ways.over_ns[span->engine], *on_ns = &ways.on_ns[span->engine];
        int64_t *end_ns = &ends_ns[span->engine];
        const int64_t handed_ns = call != SPAN_NONE ? given_ns(traced, i, call) : INT64_MIN;
        if (handed_ns > *end_ns)
            *over_ns = earlier(*over_ns, later(span->start_ns - handed_ns, 0));
        if (*end_ns > INT64_MIN && span->start_ns >= *end_ns)
            *on_ns = earlier(*on_ns, span->start_ns - *end_ns);
        *end_ns = later(*end_ns, span->end_ns);
    }
    for (int i = 0; i < ENGINE_COUNT; i++)
        ways.over_ns[i] = ways.over_ns[i] < INT64_MAX ? ways.over_ns[i] : 0;
    return ways;
}

/* Returns how much later a call was over that waited for nothing. */
static int64_t called_later_ns(const struct traced *traced, uint32_t call)
{
    const uint32_t before = traced->call_before[call];
    return traced->timeline->calls[call].added_ns +
           (before != SPAN_NONE ? traced->later_ns[before] : 0);
}

/* Returns how much later a call ended: one that waited for the device only as much as that was
 * later itself. */
static int64_t ended_later_ns(const struct traced *traced, uint32_t index)
{
    const struct host_call *call = &traced->timeline->calls[index];
    const size_t ended =
        host_call_holds(host_call_kind(call->row))
            ? spans_ended_by(traced->by_end, traced->by_end_count, call->end_ns)
            : 0;
    struct moment free = {INT64_MIN, INT64_MIN};
    moment_add(&free, call->start_ns, called_later_ns(traced, index));
    if (ended > 0)
        moment_add_end(&free, traced,
                       (uint32_t)(traced->by_end[ended - 1] - traced->timeline->spans),
                       call->end_ns, 0);
    return free.ns - free.bare_ns;
}

/* Returns how much later an op began: what it waited for came later, each by so much, and the
 * rest of the time before it was its own way. */
static int64_t began_later_ns(const struct traced *traced, const struct critical *critical,
                              const struct ways *ways, uint32_t index, uint32_t on_engine)
{
    const struct span *span = &traced->timeline->spans[index];
    const int64_t start_ns = span->start_ns, on_ns = ways->on_ns[span->engine];
    const uint32_t call = traced_call_of(traced, index);
    struct moment free = {INT64_MIN, INT64_MIN};
    if (call != SPAN_NONE)
        moment_add(
            &free,
            earlier(plus(given_ns(traced, index, call), ways->over_ns[span->engine]), start_ns),
            called_later_ns(traced, call));
    moment_add_end(&free, traced, critical->before[index], start_ns, on_ns);
    moment_add_end(&free, traced, critical->holds[index].span, start_ns, on_ns);
    moment_add_end(&free, traced, on_engine, start_ns, on_ns);
    return free.ns != INT64_MIN ? later(0, free.ns - free.bare_ns) : 0;
}

void pace_find_added(struct traced *traced, const struct critical *critical)
{
    const struct timeline *timeline = traced->timeline;
    const struct ways ways = find_ways(traced);
    struct ended *ended = traced->room;
    uint32_t latest[ENGINE_COUNT], next = 0;
    int64_t end_ns = 0;
    bool any = false;
    _Static_assert(sizeof *ended <= 2 * sizeof(int64_t), "there is room for each");
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        ended[i] = (struct ended){timeline->calls[i].end_ns, i};
        any |= timeline->calls[i].added_ns > 0;
    }
    if (!any)
        return;
    qsort(ended, timeline->call_count, sizeof *ended, compare_ended);
    for (int i = 0; i < ENGINE_COUNT; i++)
        latest[i] = SPAN_NONE;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        for (; next < timeline->call_count && ended[next].end_ns <= span->start_ns; next++)
            traced->later_ns[ended[next].call] = ended_later_ns(traced, ended[next].call);
        uint32_t *on_engine = &latest[span->engine];
        traced->added_ns[i] = began_later_ns(traced, critical, &ways, i, *on_engine);
        if (*on_engine == SPAN_NONE || timeline->spans[*on_engine].end_ns <= span->end_ns)
            *on_engine = i;
        if (op_on_device(span->kind) && span->end_ns >= end_ns) {
            end_ns = span->end_ns;
            traced->added_all_ns = traced->added_ns[i];
        }
    }
}

/* --- the device's --- */

/* Returns when the host would have handed an op over without the recorder. Of a graph's ops but
 * the first only the beginning says something. */
static int64_t handed_over_ns(const struct traced *traced, uint32_t index)
{
    const uint32_t call = traced_call_of(traced, index);
    const int64_t issue_ns = traced->timeline->spans[index].issue_ns;
    if (call == SPAN_NONE)
        return issue_ns - traced->added_ns[index];
    return (traced->issued[call] == index ? given_ns(traced, index, call) : issue_ns) -
           called_later_ns(traced, call);
}

struct pace pace_of(const struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    struct pace pace = {0};
    int64_t first_ns = 0, end_ns = INT64_MIN;
    uint64_t copies = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (!op_on_device(span->kind))
            continue;
        const bool known =
            !timeline->issue_unknown && !(timeline->begun && span->issue_ns == 0);
        const int64_t start_ns = span->start_ns - traced->added_ns[i];
        const int64_t length_ns = span->end_ns - span->start_ns;
        first_ns = pace.ops == 0 ? start_ns : earlier(first_ns, start_ns);
        pace.ops++;
        copies += op_is_copy(span->kind);
        pace.late += known && handed_over_ns(traced, i) >= end_ns;
        pace.work_ns = plus(pace.work_ns, length_ns);
        pace.span_ns = later(pace.span_ns, start_ns - first_ns);
        end_ns = later(end_ns, plus(start_ns, length_ns));
    }
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *made = &timeline->calls[i];
        pace.calls += traced->issued[i] != SPAN_NONE;
        if (traced->issued[i] != SPAN_NONE)
            pace.calls_ns =
                plus(pace.calls_ns, later(0, made->end_ns - made->start_ns - made->added_ns));
    }
    pace.tiles = 3 * copies >= pace.ops && pace.calls_ns >= pace.span_ns / 2;
    return pace;
}
