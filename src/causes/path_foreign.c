/* path_foreign.c - what an op of a trace waited for, and that, back through a time: ops, and
 * the host's calls. */
#include "causes/judge.h"

#include "core/items.h"

static const struct span *span_at(const struct judge *judge, uint32_t index)
{
    return &judge->timeline->spans[index];
}

/* Returns the cause that an op at work is itself; VERDICT_REST for work that had to be done. */
static enum verdict_code work_cause(const struct judge *judge, const struct span *span)
{
    bool legacy = timeline_stream_kind(judge->timeline, span->stream) == STREAM_LEGACY;
    /* In one stream a memset holds up no other, and takes its turn as any op. */
    if (span->kind == OP_MEMSET && judge->timeline->streams == 1 &&
        judge->timeline->call_count > 0)
        return VERDICT_REST;
    return span->kind == OP_MEMSET && legacy ? VERDICT_BLOCKING_STREAM
                                             : verdict_marked(MARKED_WORK, span->kind);
}

/* Returns what it costs to hand an op over, or to go on from one to the next. */
static enum verdict_code hand_over(const struct judge *judge, const struct span *span)
{
    const enum verdict_code cause =
        span->kind == OP_MEMSET ? work_cause(judge, span) : VERDICT_REST;
    return cause != VERDICT_REST ? cause : VERDICT_SMALL_TILES;
}

/* Returns true if what comes behind such a piece is its consequence. */
static bool keeps_others(enum verdict_code cause)
{
    return (verdict_rows[cause].traits & KEEPS_HOST) != 0 || cause == VERDICT_SLOW_CALLBACK ||
           cause == VERDICT_BLOCKING_STREAM || cause == VERDICT_HOST_WORK ||
           cause == VERDICT_UNKNOWN;
}

/* Adds a piece; one without length counts for its link. */
static void add(struct foreign_pieces *pieces, int64_t start_ns, int64_t end_ns,
                enum verdict_code cause, enum verdict_code link, uint32_t span)
{
    struct foreign_piece *piece = ITEMS_ADD(pieces->items, pieces->count, pieces->room);
    pieces->full |= piece == NULL;
    if (piece == NULL)
        return;
    *piece = (struct foreign_piece){.start_ns = earlier(start_ns, end_ns),
                                    .end_ns = end_ns,
                                    .cause = cause,
                                    .link = link == VERDICT_REST && keeps_others(cause) ? cause
                                                                                        : link,
                                    .span = span};
}

/* Adds a call of the host's, or the part of it from `start_ns` to `end_ns`. */
static void add_call(const struct judge *judge, struct foreign_pieces *pieces, uint32_t index,
                     int64_t start_ns, int64_t end_ns, enum verdict_code cause, uint32_t span)
{
    add(pieces, start_ns, end_ns, cause, VERDICT_REST, span);
    if (!pieces->full)
        pieces->items[pieces->count - 1].added_ns = judge->timeline->calls[index].added_ns;
}

/* --- the host --- */

/* Returns true if a copy in, which the host waits for, is so small that it only waits for other
 * streams: it is in the default stream, as cudaMemcpyToSymbol() is. */
static bool holds_streams(const struct judge *judge, const struct span *span)
{
    enum { SMALL_BYTES = 4096 };
    return span->kind == OP_H2D && span->bytes <= SMALL_BYTES && judge->timeline->streams > 1 &&
           timeline_stream_kind(judge->timeline, span->stream) == STREAM_LEGACY;
}

enum verdict_code foreign_call_cause(const struct judge *judge, uint32_t index)
{
    const struct host_call *call = &judge->timeline->calls[index];
    uint32_t span = judge->trace.issued[index];
    bool pageable = span != SPAN_NONE && op_is_copy(span_at(judge, span)->kind) &&
                    span_at(judge, span)->host_memory == HOST_MEMORY_PAGEABLE;
    const enum host_call_kind kind = host_call_kind(call->row);
    /* A graph is handed over the more slowly, the larger it is. */
    const bool slow =
        kind != CALL_GRAPH && call->end_ns - call->start_ns > judge->trace.slow_ns;
    enum verdict_code quick = slow                ? VERDICT_UNKNOWN
                              : span != SPAN_NONE ? hand_over(judge, span_at(judge, span))
                                                  : VERDICT_SMALL_TILES;
    /* A host that asks again and again waits. */
    uint32_t before = judge->trace.call_before[index];
    if (call->not_ready && before != SPAN_NONE && judge->timeline->calls[before].not_ready)
        return VERDICT_SYNC_IN_LOOP;
    const enum verdict_code known = verdict_marked(MARKED_HOST, kind);
    switch (kind) {
    case CALL_PIN:
        return judge->trace.pins_first             ? VERDICT_PIN_IN_RUN
               : traced_again(&judge->trace, kind) ? VERDICT_PINNED_ALLOC_IN_LOOP
                                                   : quick;
    case CALL_COPY_WAIT:
        if (span != SPAN_NONE && holds_streams(judge, span_at(judge, span)))
            return VERDICT_BLOCKING_STREAM;
        return pageable ? VERDICT_PAGEABLE_MEMORY : VERDICT_SYNC_IN_LOOP;
    case CALL_COPY:
        return pageable ? VERDICT_PAGEABLE_MEMORY : quick;
    case CALL_LAUNCH:
        if (judge->trace.launches_block)
            return VERDICT_LAUNCH_BLOCKING;
        return traced_loads_code(&judge->trace, index, span) ? VERDICT_LAZY_LOADING : quick;
    default:
        return known != VERDICT_REST && traced_again(&judge->trace, kind) ? known : quick;
    }
}

enum verdict_code foreign_outside_cause(const struct judge *judge, uint32_t before,
                                        uint32_t next, int64_t length_ns)
{
    const struct host_call *calls = judge->timeline->calls;
    const enum host_call_kind made =
        host_call_between(before != SPAN_NONE ? host_call_kind(calls[before].row) : CALL_OTHER,
                          host_call_kind(calls[next].row));
    if (length_ns <= judge->trace.work_ns)
        return VERDICT_SMALL_TILES;
    if (before == SPAN_NONE && judge->timeline->partial) /* calls before it are cut off */
        return VERDICT_UNKNOWN;
    return made >= CALL_MAKE && traced_again(&judge->trace, made)
               ? verdict_marked(MARKED_HOST, made)
               : VERDICT_HOST_WORK;
}

/* Goes back over the calls of the host before call `index`, whose op was then issued. */
static void walk_host(const struct judge *judge, uint32_t index, int64_t from_ns,
                      struct foreign_pieces *pieces)
{
    const struct host_call *calls = judge->timeline->calls;
    int64_t now_ns = calls[index].start_ns;
    uint32_t next = index;
    for (uint32_t i = judge->trace.call_before[index]; now_ns > from_ns - TRACED_JITTER_NS;
         i = judge->trace.call_before[i]) {
        int64_t until_ns = i != SPAN_NONE ? calls[i].end_ns : from_ns;
        if (until_ns < now_ns)
            add(pieces, until_ns, now_ns,
                foreign_outside_cause(judge, i, next, now_ns - until_ns), VERDICT_REST,
                SPAN_NONE);
        next = i;
        if (i == SPAN_NONE)
            break;
        now_ns = earlier(now_ns, calls[i].end_ns);
        const int64_t given_ns = foreign_giving_back_ns(judge, i);
        if (given_ns > 0)
            add(pieces, now_ns - given_ns, now_ns, VERDICT_ALLOC_IN_STREAM, VERDICT_REST,
                SPAN_NONE);
        now_ns -= given_ns;
        add_call(judge, pieces, i, calls[i].start_ns, now_ns, foreign_call_cause(judge, i),
                 SPAN_NONE);
        now_ns = earlier(now_ns, calls[i].start_ns);
    }
}

/* Returns what kept the host before it made call `index`: the last call before it that did more
 * than to hand something over. VERDICT_REST: none did, or it was long before. */
static enum verdict_code kept_before(const struct judge *judge, uint32_t index)
{
    enum { QUICK_CALLS = 16 };
    const struct host_call *calls = judge->timeline->calls;
    uint32_t later_call = index;
    for (int i = 0; i < QUICK_CALLS; i++) {
        uint32_t before = judge->trace.call_before[later_call];
        if (before == SPAN_NONE)
            return VERDICT_REST;
        const enum verdict_code outside = foreign_outside_cause(
            judge, before, later_call, calls[later_call].start_ns - calls[before].end_ns);
        if (outside != VERDICT_SMALL_TILES)
            return outside;
        const enum verdict_code cause = foreign_call_cause(judge, before);
        if (cause != VERDICT_SMALL_TILES)
            return cause;
        later_call = before;
    }
    return VERDICT_REST;
}

/* Goes back over the time that an op was on its way since the host began to call for it. */
static void walk_issue(const struct judge *judge, uint32_t index, uint32_t call,
                       enum verdict_code late, struct foreign_pieces *pieces)
{
    const struct span *span = span_at(judge, index);
    const struct host_call *own = &judge->timeline->calls[call];
    int64_t returned_ns = earlier(own->end_ns, span->start_ns);
    int64_t way_ns = span->start_ns - returned_ns;
    enum verdict_code cause = foreign_call_cause(judge, call);
    /* A launch that waits for its kernel was no wait before that began. */
    if (cause == VERDICT_LAUNCH_BLOCKING || cause == VERDICT_SYNC_IN_LOOP)
        cause = VERDICT_SMALL_TILES;
    if (way_ns > 0)
        add(pieces, returned_ns, span->start_ns,
            way_ns > TRACED_LATE_NS ? late : VERDICT_SMALL_TILES, VERDICT_REST, index);
    add_call(judge, pieces, call, own->start_ns, returned_ns, cause, index);
}

/* --- ops --- */

/* Returns true if a kernel waited for the copy `from` until far more copies had come in than
 * kernels had begun: for other work than its own. */
static bool waits_for_more(const struct judge *judge, const struct span *from, uint32_t index)
{
    const struct span *span = span_at(judge, index);
    uint64_t in = judge->trace.analysis.engines[ENGINE_H2D].spans;
    uint64_t all = judge->trace.kernels;
    if (span->kind != OP_KERNEL || from->kind != OP_H2D || all == 0)
        return false;
    uint64_t copies = traced_copies_by(&judge->trace, span->start_ns + TRACED_JITTER_NS);
    uint64_t kernels = judge->trace.kernels_before[index] + UINT64_C(1);
    return copies > (kernels + 1) * ((in + all - 1) / all);
}

/* Returns why an op waited for the one before it in its stream; VERDICT_REST: it had to. */
static enum verdict_code stream_cause(struct judge *judge, const struct span *from,
                                      uint32_t index)
{
    const struct timeline *timeline = judge->timeline;
    const bool legacy = timeline_stream_kind(timeline, 0) == STREAM_LEGACY;
    const struct span *span = span_at(judge, index);
    if (from->kind == OP_CALLBACK)
        return VERDICT_SLOW_CALLBACK;
    if (from->engine == span->engine)
        return VERDICT_REST; /* the engine would have held it as well */
    if (timeline->streams == 1 && legacy && judge->trace.many_threads && !judge->trace.turns)
        return VERDICT_LEGACY_STREAM;
    /* However many pieces the default stream has, none would overlap. */
    if (timeline->streams == 1)
        return !legacy && judge->trace.analysis.engines[judge->trace.engine].spans <= 2
                   ? VERDICT_REST
               : judge->trace.in_graphs ? VERDICT_NEEDLESS_WAIT
                                        : VERDICT_ONE_STREAM;
    /* Without the host's calls the order of short ops tells nothing: the host may be late. */
    if (judge->trace.short_ops && timeline->issue_unknown)
        return VERDICT_UNKNOWN;
    if (waits_for_more(judge, from, index))
        return VERDICT_NEEDLESS_WAIT;
    /* A copy in is the first op of a piece of work, so it can only wait for room. */
    bool room = span->kind == OP_H2D && (from->kind == OP_D2H || from->kind == OP_KERNEL);
    judge->stream_waits += room;
    return room ? VERDICT_FEW_STREAMS : VERDICT_REST;
}

/* Returns why an op began right behind one of another stream and engine. Where memory was given
 * back in no stream in between, that was the default stream's, which has no op of it. */
static enum verdict_code unseen_cause(const struct judge *judge, const struct span *from,
                                      uint32_t index)
{
    const struct span *span = span_at(judge, index);
    const uint32_t before = judge->facts->critical->before[index];
    const bool freed = from->stream != span->stream && before != SPAN_NONE &&
                       timeline_stream_kind(judge->timeline, span->stream) == STREAM_BLOCKING &&
                       traced_call_between(&judge->trace, CALL_POOL,
                                           span_at(judge, before)->issue_ns, span->issue_ns);
    return freed ? VERDICT_LEGACY_STREAM : VERDICT_UNKNOWN;
}

/* Returns why an op waited by an event for `from`; VERDICT_REST: it may have had to. */
static enum verdict_code event_cause(struct judge *judge, const struct span *from,
                                     uint32_t index)
{
    if (span_at(judge, index)->kind == OP_H2D) { /* it can only wait for room */
        judge->stream_waits++;
        return VERDICT_FEW_STREAMS;
    }
    return waits_for_more(judge, from, index) ? VERDICT_NEEDLESS_WAIT : VERDICT_REST;
}

static enum verdict_code held_cause(struct judge *judge, uint32_t index)
{
    const struct hold *hold = &judge->facts->critical->holds[index];
    if (hold->by == HELD_BY_DEVICE)
        return VERDICT_OTHER_DEVICE;
    if (hold->span == SPAN_NONE)
        return VERDICT_REST;
    const struct span *from = span_at(judge, hold->span), *span = span_at(judge, index);
    switch (hold->by) {
    case HELD_BY_STREAM:
        return stream_cause(judge, from, index);
    case HELD_BY_EVENT:
        return event_cause(judge, from, index);
    case HELD_BY_LEGACY:
        return verdict_legacy_cause(judge->timeline, from, span);
    case HELD_BY_ENGINE:
        return from->engine != span->engine &&
                       unseen_cause(judge, from, index) == VERDICT_LEGACY_STREAM
                   ? VERDICT_LEGACY_STREAM
                   : VERDICT_REST;
    case HELD_BY_CALL:
        return host_op_cause(judge, span->kind == OP_PACK ? span : from);
    default:
        return VERDICT_REST;
    }
}

/* The latest thing that an op waited for, and the causes that it stands for. */
struct wait {
    uint32_t span, call;          /* an op, or a call of the host; SPAN_NONE: none */
    int64_t free_ns;              /* when that let it go */
    enum verdict_code link, late; /* why it waited; why it took from then to its start */
};

/* Finds what a late op waited for that is in no record of its own. */
static void find_late(const struct judge *judge, uint32_t index, struct wait *wait)
{
    enum {
        STALLS_MIN = 4,     /* fewer may have come by chance */
        LOADED_NS = 250000, /* what code that is loaded held begins in this time */
    };
    const struct timeline *timeline = judge->timeline;
    const struct span *span = span_at(judge, index);
    uint32_t last = traced_ended_by(&judge->trace, span->start_ns + TRACED_JITTER_NS);
    uint32_t in_stream = judge->facts->critical->before[index];
    const struct span *before = last != SPAN_NONE ? span_at(judge, last) : NULL;
    bool close = before != NULL && last != index && before->end_ns > wait->free_ns &&
                 before->start_ns < span->start_ns &&
                 span->start_ns - before->end_ns <= TRACED_LATE_NS;
    bool called = in_stream != SPAN_NONE && !timeline->issue_unknown &&
                  traced_call_between(&judge->trace, CALL_HOST_FUNC,
                                      span_at(judge, in_stream)->issue_ns, span->issue_ns);
    /* Without calls: a copy of pageable memory keeps the host until it is done. */
    bool staged = close && timeline->issue_unknown && op_is_copy(before->kind) &&
                  before->host_memory == HOST_MEMORY_PAGEABLE;
    bool bars = close && judge->trace.memsets_bar &&
                (before->kind == OP_MEMSET || span->kind == OP_MEMSET);
    bool loads =
        !timeline->issue_unknown &&
        traced_loads_within(&judge->trace, later(wait->free_ns, span->start_ns - LOADED_NS),
                            span->start_ns);
    wait->link = VERDICT_REST; /* it waited for more than that */
    bool stalls = judge->trace.stalls.count >= STALLS_MIN &&
                  traced_stall_ns(&judge->trace, index, wait->free_ns) > 0;
    wait->late = staged   ? VERDICT_PAGEABLE_MEMORY
                 : loads  ? VERDICT_LAZY_LOADING
                 : called ? VERDICT_SLOW_CALLBACK
                 : stalls ? VERDICT_TIME_SLICES
                          : VERDICT_UNKNOWN;
    /* It began right behind another op: that, or what waited for that, held it. */
    if (bars || (close && wait->late == VERDICT_UNKNOWN))
        *wait = (struct wait){.span = last,
                              .call = SPAN_NONE,
                              .free_ns = earlier(before->end_ns, span->start_ns),
                              .link = bars ? VERDICT_MEMSET_IN_LOOP
                                           : unseen_cause(judge, before, index),
                              .late = VERDICT_SMALL_TILES};
}

/* Returns true if an op that something else let go at `free_ns` began only as its call was
 * about to return, which was later: the host had not handed it over before. */
static bool is_handed_late(const struct judge *judge, uint32_t index, uint32_t call,
                           int64_t free_ns)
{
    const struct host_call *own = &judge->timeline->calls[call];
    const int64_t start_ns = span_at(judge, index)->start_ns;
    return earlier(own->end_ns, start_ns) > free_ns + TRACED_JITTER_NS &&
           start_ns >= own->end_ns - (own->end_ns - own->start_ns) / 4;
}

/* Returns the call of the host that op `index` waited for; SPAN_NONE: something on the device
 * was later. A launch that loads code holds its kernel until it returns, others hand it over.
 */
static uint32_t host_of(const struct judge *judge, uint32_t index)
{
    const struct hold *hold = &judge->facts->critical->holds[index];
    uint32_t call = traced_call_of(&judge->trace, index);
    if (call == SPAN_NONE || hold->by == HELD_BY_ISSUE || hold->by == HELD_BY_NOTHING)
        return call;
    bool loads = span_at(judge, index)->kind == OP_KERNEL &&
                 traced_loads_code(&judge->trace, call, index) &&
                 judge->timeline->calls[call].end_ns > hold->free_ns;
    return loads || is_handed_late(judge, index, call, hold->free_ns) ? call : SPAN_NONE;
}

/* Returns what held op `index`. */
static struct wait wait_of(struct judge *judge, uint32_t index)
{
    const struct hold *hold = &judge->facts->critical->holds[index];
    const struct span *span = span_at(judge, index);
    const uint32_t call = host_of(judge, index);
    struct wait wait = {hold->span, call, earlier(hold->free_ns, span->start_ns), VERDICT_REST,
                        VERDICT_SMALL_TILES};
    if (call != SPAN_NONE) {
        wait.span = SPAN_NONE;
        wait.free_ns = earlier(judge->timeline->calls[call].end_ns, span->start_ns);
    } else {
        wait.link = held_cause(judge, index);
    }
    if (span->start_ns - wait.free_ns > TRACED_LATE_NS)
        find_late(judge, index, &wait);
    else if (span->kind == OP_MEMSET)
        wait.late = hand_over(judge, span);
    else if (wait.span != SPAN_NONE)
        wait.late = hand_over(judge, span_at(judge, wait.span));
    return wait;
}

/* Returns true if the way can go on from `work`, the last op of the device that it passed, to
 * `next`: whatever held an op began before it. The times of a file can contradict each other,
 * and lead in a circle. A call may have begun at any time, but never waited for a later call.
 */
static bool leads_back(const struct judge *judge, uint32_t next, uint32_t work)
{
    return next == SPAN_NONE || work == SPAN_NONE || op_is_call(span_at(judge, next)->kind) ||
           span_precedes(span_at(judge, next), span_at(judge, work));
}

/* Adds why op `index` began only when it did, before the time that is looked at: it kept the
 * busiest engine waiting then. */
static void add_before(struct judge *judge, uint32_t index, struct foreign_pieces *pieces)
{
    const struct span *span = span_at(judge, index);
    const struct wait wait = wait_of(judge, index);
    add(pieces, span->start_ns, span->start_ns, VERDICT_REST,
        wait.call != SPAN_NONE ? kept_before(judge, wait.call) : wait.link, SPAN_NONE);
}

void foreign_walk(struct judge *judge, uint32_t index, bool whole, int64_t from_ns,
                  struct foreign_pieces *pieces)
{
    uint32_t work = SPAN_NONE;
    pieces->count = 0;
    for (; leads_back(judge, index, work) && index != SPAN_NONE && !pieces->full;
         whole = true) {
        const struct span *span = span_at(judge, index);
        work = op_is_call(span->kind) ? work : index;
        if (whole)
            add(pieces, span->start_ns, span->end_ns, work_cause(judge, span), VERDICT_REST,
                index);
        if (span->start_ns <= from_ns) {
            if (span->engine != judge->trace.engine)
                add_before(judge, index, pieces);
            return;
        }
        const struct wait wait = wait_of(judge, index);
        if (wait.call != SPAN_NONE) {
            walk_issue(judge, index, wait.call, wait.late, pieces);
            walk_host(judge, wait.call, from_ns, pieces);
            return;
        }
        add(pieces, wait.free_ns, span->start_ns, wait.late, wait.link, index);
        if (!pieces->full)
            pieces->items[pieces->count - 1].step = true;
        if (wait.link == VERDICT_OTHER_DEVICE)
            add(pieces, from_ns, wait.free_ns, wait.link, VERDICT_REST, index);
        index = wait.span;
    }
}
