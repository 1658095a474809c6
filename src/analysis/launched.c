/* launched.c - what a traced program's launches tell: what they issued, which of them load code
 * or return only when their kernels have ended, and when the device began late what it could
 * have begun. */
#include "analysis/traced.h"

#include "core/compare.h"

enum {
    TELLING_NS =
        4000,         /* a kernel as long ends well behind a launch that does not wait for it */
    BLOCKING_MIN = 2, /* of fewer launches that are so long none is said to block */
    GRAPH_NS = 100000, /* a graph's first op begins no later on an idle device: on an H200 one
                          of 60 nodes took 64 us */
};

uint32_t traced_call_of(const struct traced *traced, uint32_t index)
{
    const struct timeline *timeline = traced->timeline;
    const struct host_call *call = timeline_call_of(timeline, &timeline->spans[index]);
    return call != NULL ? (uint32_t)(call - timeline->calls) : SPAN_NONE;
}

static int64_t length_of(const struct host_call *call)
{
    return call->end_ns - call->start_ns;
}

/* Returns true if an op is the first launch of its kernel; SPAN_NONE is none. */
static bool is_first_launch(const struct traced *traced, uint32_t span)
{
    const struct span *op = span != SPAN_NONE ? &traced->timeline->spans[span] : NULL;
    return op != NULL && op->kind == OP_KERNEL && traced->first_launches[op->link] == span;
}

bool traced_loads_code(const struct traced *traced, uint32_t call, uint32_t span)
{
    int64_t length_ns = length_of(&traced->timeline->calls[call]);
    return !traced->launches_block && length_ns >= TRACED_LOAD_NS &&
           length_ns / TRACED_LOAD_LAUNCHES >= traced->launch_ns &&
           is_first_launch(traced, span);
}

/* Returns true if a call is the first launch of its kernel, and took far longer than others. */
static bool is_load(const struct traced *traced, uint32_t call)
{
    const int64_t length_ns = length_of(&traced->timeline->calls[call]);
    return is_first_launch(traced, traced->issued[call]) &&
           length_ns >= 2 * later(traced->launch_ns, TRACED_LAUNCH_NS);
}

/* Returns true if a call may keep the device from its work while it lasts. */
static bool holds(const struct host_call *call)
{
    const enum host_call_kind kind = host_call_kind(call->row);
    return (kind == CALL_ALLOC || kind == CALL_PIN || kind >= CALL_MAKE) &&
           length_of(call) > TRACED_LATE_NS;
}

static void add_hold(struct holds *holds, int64_t from_ns, int64_t until_ns)
{
    if (holds->count == 0 || holds->items[holds->count - 1].until_ns < until_ns)
        holds->items[holds->count++] = (struct hold_until){from_ns, until_ns};
}

/* Finds the calls that keep the device from its work. */
static void find_holds(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        if (is_load(traced, i)) {
            const int64_t until_ns = timeline->spans[traced->issued[i]].start_ns;
            add_hold(&traced->loads, call->start_ns, until_ns);
            add_hold(&traced->held, call->start_ns, until_ns);
        }
        if (holds(call))
            add_hold(&traced->held, call->start_ns, call->end_ns);
    }
}

/* Returns true if one of the calls that began before `before_ns` lasts beyond `after_ns`. */
static bool any_within(const struct holds *holds, int64_t after_ns, int64_t before_ns)
{
    BISECT(at, i, 0, holds->count, holds->items[i].from_ns < before_ns);
    return at > 0 && holds->items[at - 1].until_ns > after_ns;
}

bool traced_loads_within(const struct traced *traced, int64_t after_ns, int64_t before_ns)
{
    return any_within(&traced->loads, after_ns, before_ns);
}

int64_t traced_stall_ns(const struct traced *traced, uint32_t index, int64_t free_ns)
{
    const int64_t start_ns = traced->timeline->spans[index].start_ns;
    const size_t ended = spans_ended_by(traced->by_end, traced->by_end_count, start_ns);
    if (ended > 0)
        free_ns = later(free_ns, traced->by_end[ended - 1]->end_ns);
    const uint32_t call = traced_call_of(traced, index);
    const bool graph =
        call != SPAN_NONE && host_call_kind(traced->timeline->calls[call].row) == CALL_GRAPH;
    /* A device that begins so late for no reason is at work for another process: 64 recordings
     * were made on an H200, and the two of a pair of processes alone have such times. */
    const bool stalls = start_ns - free_ns >= (graph ? GRAPH_NS : TRACED_LATE_NS) &&
                        ended >= traced->ops_before[index] &&
                        !any_within(&traced->held, free_ns, start_ns);
    return stalls ? start_ns - free_ns : 0;
}

struct tally traced_loads(const struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    struct tally loads = {.longest = SPAN_NONE};
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        if (is_load(traced, i))
            tally_add(&loads, i,
                      later(call->end_ns, timeline->spans[traced->issued[i]].start_ns) -
                          call->start_ns);
    }
    return loads;
}

bool traced_keeps_loading(const struct traced *traced)
{
    enum { LOADS = 8 };
    const uint32_t loads = traced_loads(traced).count;
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < traced->timeline->call_count; i++)
        kernels += is_first_launch(traced, traced->issued[i]);
    return loads >= LOADS && 2 * loads >= kernels;
}

/* Finds the first launch of each kernel. */
static void find_first_launches(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    size_t links = 1;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (span->kind == OP_KERNEL && span->link >= links)
            links = span->link + (size_t)1;
    }
    traced->first_launches = arena_zeros(&traced->arena, links, sizeof(uint32_t));
    for (uint32_t i = timeline->span_count; i-- > 0 && traced->first_launches != NULL;) {
        if (timeline->spans[i].kind == OP_KERNEL)
            traced->first_launches[timeline->spans[i].link] = i;
    }
}

/* Finds whether launches return only when their kernels have ended: all but a few of those that
 * are long enough to tell do. */
static void find_launches(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    int64_t *lengths = traced->room;
    size_t count = 0, again = 0;
    uint32_t telling = 0, blocking = 0, behind = 0;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        uint32_t span = traced->issued[i];
        if (host_call_kind(call->row) != CALL_LAUNCH || span == SPAN_NONE ||
            timeline->spans[span].kind !=
                OP_KERNEL) /* a recording may tie a launch to a copy */
            continue;
        const struct span *kernel = &timeline->spans[span];
        /* First launches may load code: where there are enough others, those tell. */
        lengths[count++] = length_of(call);
        if (!is_first_launch(traced, span)) {
            lengths[count - 1] = lengths[again];
            lengths[again++] = length_of(call);
        }
        int64_t kernel_ns = kernel->end_ns - kernel->start_ns;
        const bool waits = call->end_ns >= kernel->end_ns - TRACED_JITTER_NS;
        traced->launches++;
        traced->waited += waits;
        behind += call->end_ns >= kernel->end_ns - earlier(TRACED_JITTER_NS, kernel_ns / 2);
        if (kernel_ns < TELLING_NS)
            continue;
        telling++;
        blocking += waits;
    }
    traced->launch_ns = half_ns(lengths, again >= TRACED_LOAD_LAUNCHES ? again : count);
    if (count == 1)
        traced->launch_ns = earlier(traced->launch_ns, TRACED_LAUNCH_NS);
    traced->slow_ns = later(TRACED_LATE_NS, TRACED_LOAD_LAUNCHES * traced->launch_ns);
    traced->launches_block = telling >= BLOCKING_MIN && 10 * blocking >= 9 * telling;
    traced->launches_may_block =
        !traced->launches_block && count >= BLOCKING_MIN && 10 * (size_t)behind >= 9 * count;
}

/* Finds the ops that the device began late though it was idle. Where functions of the host's
 * are in streams, these may have held them; of several streams of a trace that records no wait,
 * one may have waited for another. */
static void find_stalls(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    traced->stalls = (struct tally){.longest = SPAN_NONE};
    bool called = traced->host_funcs > 0;
    bool waits = timeline->timing == TIMING_RECORDED || timeline->streams < 2 ||
                 timeline->wait_count > 0;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        called |= span->kind == OP_CALLBACK;
        waits |= span->kind == OP_WAIT;
    }
    for (uint32_t i = 0; i < timeline->span_count && waits && !called; i++) {
        const uint32_t call =
            op_on_device(timeline->spans[i].kind) ? traced_call_of(traced, i) : SPAN_NONE;
        if (call == SPAN_NONE)
            continue;
        const int64_t stall_ns = traced_stall_ns(traced, i, timeline->calls[call].end_ns);
        if (stall_ns > 0)
            tally_add(&traced->stalls, i, stall_ns);
    }
}

void launched_find(struct traced *traced)
{
    find_first_launches(traced);
    if (traced->first_launches == NULL)
        return;
    find_launches(traced);
    find_holds(traced);
    find_stalls(traced);
}
