/* account_foreign.c - charges the idle times of a trace's busiest engine to what its evidence
 * names. */
#include "causes/judge.h"

#include <stdlib.h>

/* Small tiles, and few, are no cause where they cost less of the run's time. */
static const double SMALL_SHARE = 0.08;

/* --- the host's calls --- */

/* Adds a time of the host's that is a cause, which call `index` tells of. */
static void keep(struct judge *judge, enum verdict_code code, uint32_t index, int64_t ns)
{
    if (ns > 0)
        tally_add(&judge->kept[code], index, ns);
}

/* Finds the calls that are causes, and adds what the host did between them for the same. */
static void find_kept(struct judge *judge)
{
    const struct timeline *timeline = judge->timeline;
    const struct host_call *calls = timeline->calls;
    for (int code = 0; code < VERDICT_COUNT; code++)
        judge->kept[code].longest = SPAN_NONE;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const uint32_t before = judge->trace.call_before[i];
        const int64_t given_ns = foreign_giving_back_ns(judge, i);
        if (calls[i].start_ns >= judge->trace.last_issue_ns)
            continue;
        keep(judge, foreign_call_cause(judge, i), i,
             calls[i].end_ns - calls[i].start_ns - given_ns);
        keep(judge, VERDICT_ALLOC_IN_STREAM, i, given_ns);
        if (before == SPAN_NONE || calls[before].end_ns >= calls[i].start_ns)
            continue;
        /* However short it is: all of it goes with the calls. */
        const enum verdict_code code = foreign_outside_cause(judge, before, i, INT64_MAX);
        judge->between_ns[code] =
            plus(judge->between_ns[code], calls[i].start_ns - calls[before].end_ns);
    }
    for (int code = 0; code < VERDICT_COUNT; code++)
        judge->kept[code].sum_ns = plus(judge->kept[code].sum_ns, judge->between_ns[code]);
    for (uint32_t i = 0; i < timeline->span_count && timeline->call_count == 0; i++) {
        const struct span *span = &timeline->spans[i];
        keep(judge, host_op_cause(judge, span), i, span->end_ns - span->start_ns);
    }
}

/* --- one idle time --- */

static bool is_cause(enum verdict_code code)
{
    return code != VERDICT_REST && code != VERDICT_SMALL_TILES;
}

/* Waiting for room in a stream is no cause where what held that room came late itself. Where
 * there are hardly any ops, one that begins right behind another is taken to need it. What
 * loaded code for a moment did not keep the ops behind it at work. */
static void settle_links(const struct judge *judge, struct foreign_pieces *pieces,
                         enum verdict_code none, int64_t idle_ns)
{
    bool weak = false;
    for (uint32_t i = pieces->count; i-- > 0;) {
        struct foreign_piece *piece = &pieces->items[i];
        const double part_ns = VERDICT_NAMED_SHARE * (double)idle_ns;
        if (piece->link == VERDICT_LAZY_LOADING &&
            (double)(piece->end_ns - piece->start_ns) < part_ns)
            piece->link = VERDICT_REST;
        if (judge->trace.few_ops && none == VERDICT_FEW_TILES &&
            piece->cause != VERDICT_UNKNOWN && piece->link == VERDICT_UNKNOWN)
            piece->link = VERDICT_REST;
        if (weak && piece->link == VERDICT_FEW_STREAMS)
            piece->link = VERDICT_REST;
        weak |= is_cause(piece->link) && piece->link != VERDICT_FEW_STREAMS;
    }
}

/* Returns what an idle time without any cause is charged to: filling and draining are short
 * ways, on which no engine has more than a few ops. */
static enum verdict_code way_of(const struct judge *judge, const struct foreign_pieces *pieces)
{
    enum { WAY_OPS = 2 };
    uint32_t ops[ENGINE_COUNT] = {0};
    EACH (const struct foreign_piece, piece, pieces->items, pieces->count) {
        if (piece->cause != VERDICT_REST || piece->span == SPAN_NONE)
            continue;
        enum engine engine = (enum engine)judge->timeline->spans[piece->span].engine;
        if (engine < ENGINE_WORKING && engine != ENGINE_COMPUTE && ++ops[engine] > WAY_OPS)
            return VERDICT_UNKNOWN;
    }
    return VERDICT_FEW_TILES;
}

/* Finds what each piece is charged to. One that is work takes the next thing that something
 * waited for, else the last before; `none` where there is neither. One that is a hand-over
 * takes what kept the host before it: without that the op would have been handed over long ago.
 */
static void find_near(struct foreign_pieces *pieces, enum verdict_code none)
{
    struct foreign_piece *items = pieces->items;
    enum verdict_code link = VERDICT_REST, kept = VERDICT_SMALL_TILES;
    for (uint32_t i = 0; i < pieces->count; i++) {
        items[i].near = items[i].cause == VERDICT_REST ? link : items[i].cause;
        link = is_cause(items[i].link) ? items[i].link : link;
    }
    link = none;
    for (uint32_t i = pieces->count; i-- > 0;) {
        link = is_cause(items[i].link) ? items[i].link : link;
        if (items[i].near == VERDICT_REST)
            items[i].near = link;
        if (items[i].cause == VERDICT_SMALL_TILES)
            items[i].near = is_cause(items[i].link) ? items[i].link : kept;
        else if (items[i].cause == VERDICT_REST)
            kept = VERDICT_SMALL_TILES; /* what held that op is another matter */
        else if (items[i].span == SPAN_NONE)
            kept = items[i].cause;
    }
}

/* Leaves what recording took of a time to the rest. Returns it: what it took of a call there,
 * and no more than *left_ns, of which it is taken, and the time have. */
static int64_t leave_recording(struct judge *judge, int64_t call_ns, int64_t time_ns,
                               int64_t *left_ns)
{
    const int64_t taken_ns = later(earlier(call_ns, earlier(time_ns, *left_ns)), 0);
    account_charge(&judge->charges, VERDICT_REST, taken_ns, (struct loss){0});
    judge->rest_ns[REST_RECORDING] += taken_ns;
    *left_ns -= taken_ns;
    return taken_ns;
}

/* Returns what recording took of the calls in an idle time. */
static int64_t added_in(const struct foreign_pieces *pieces, struct loss idle)
{
    int64_t now_ns = idle.end_ns, sum_ns = 0;
    for (uint32_t i = 0; i < pieces->count && now_ns > idle.start_ns; i++) {
        const struct foreign_piece *piece = &pieces->items[i];
        const int64_t start_ns = later(piece->start_ns, idle.start_ns);
        sum_ns += later(earlier(piece->added_ns, now_ns - start_ns), 0);
        now_ns = earlier(now_ns, start_ns);
    }
    return sum_ns;
}

/* Charges an idle time to what kept op `index` from starting or, with `whole`, from ending any
 * sooner, and what this does not reach and what has no cause to `none`. Recording took
 * `added_ns` of it: of the calls in it and, where that is more, of those before. */
static void charge_idle(struct judge *judge, struct loss idle, uint32_t index, bool whole,
                        enum verdict_code none, int64_t added_ns, struct foreign_pieces *pieces)
{
    struct account *charges = &judge->charges;
    int64_t now_ns = idle.end_ns;
    if (idle.start_ns >= idle.end_ns)
        return;
    foreign_walk(judge, index, whole, idle.start_ns, pieces);
    settle_links(judge, pieces, none, idle.end_ns - idle.start_ns);
    if (none == VERDICT_FEW_TILES)
        none = judge->timeline->partial ? VERDICT_UNKNOWN : way_of(judge, pieces);
    find_near(pieces, none);
    idle.start_ns += leave_recording(judge, added_ns - added_in(pieces, idle),
                                     idle.end_ns - idle.start_ns, &added_ns);
    for (uint32_t i = 0; i < pieces->count && now_ns > idle.start_ns; i++) {
        const struct foreign_piece *piece = &pieces->items[i];
        int64_t start_ns = later(piece->start_ns, idle.start_ns);
        if (start_ns >= now_ns)
            continue;
        now_ns -= leave_recording(judge, piece->added_ns, now_ns - start_ns, &added_ns);
        account_charge(charges, piece->near, now_ns - start_ns,
                       (struct loss){start_ns, now_ns, idle.span});
        if (piece->step && piece->near == VERDICT_SMALL_TILES)
            judge->rest_ns[REST_STEPS] += now_ns - start_ns;
        now_ns = start_ns;
    }
    account_charge(charges, none, now_ns - idle.start_ns,
                   (struct loss){idle.start_ns, now_ns, idle.span});
}

/* Charges all times in which the busiest engine has nothing to do. Before its first op and
 * behind its last one, work that others have to do is what filling and draining cost. */
static bool charge_all(struct judge *judge)
{
    const struct timeline *timeline = judge->timeline;
    const struct resource engine = {judge->trace.engine, 0, 0};
    struct span **spans = malloc((timeline->span_count + (size_t)1) * sizeof *spans);
    struct foreign_pieces pieces = {0};
    int64_t reached_ns = 0, added_ns = 0;
    const size_t count = spans != NULL ? timeline_engine_spans(timeline, engine, spans) : 0;
    uint32_t index = SPAN_NONE;
    for (size_t i = 0; i < count; i++) {
        index = (uint32_t)(spans[i] - timeline->spans);
        charge_idle(judge, (struct loss){reached_ns, spans[i]->start_ns, index}, index, false,
                    i == 0 ? VERDICT_FEW_TILES : VERDICT_UNKNOWN,
                    later(judge->trace.added_ns[index] - added_ns, 0), &pieces);
        account_charge(&judge->charges, VERDICT_PAGEABLE_MEMORY, judge->trace.slower_ns[index],
                       (struct loss){spans[i]->start_ns, spans[i]->end_ns, index});
        reached_ns = later(reached_ns, spans[i]->end_ns);
        added_ns = later(added_ns, judge->trace.added_ns[index]);
    }
    const uint32_t last = traced_ended_by(&judge->trace, INT64_MAX);
    if (last != SPAN_NONE) {
        const int64_t end_ns = timeline->spans[last].end_ns;
        charge_idle(judge, (struct loss){reached_ns, end_ns, index}, last, true,
                    VERDICT_FEW_TILES, 0, &pieces);
        reached_ns = later(reached_ns, end_ns);
    }
    /* Behind all ops: callbacks, waits. */
    judge->charges.causes[VERDICT_REST].cost_ns +=
        later(0, judge->trace.analysis.time_ns - reached_ns);
    free(pieces.items);
    free(spans);
    return spans != NULL && !pieces.full;
}

/* --- the verdicts --- */

/* Returns true if copies of pageable memory take much of the run's time; with `unrated` only
 * those that nothing tells the rate of if it were page-locked: a cause whose cost is not known.
 */
static bool is_mostly_pageable(const struct judge *judge, bool unrated)
{
    static const double MOSTLY = 0.5;
    const struct timeline *timeline = judge->timeline;
    double sum_ns = 0;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (op_is_copy(span->kind) && span->host_memory == HOST_MEMORY_PAGEABLE &&
            (!unrated || judge->trace.pinned_rate[span->kind == OP_D2H] == 0))
            sum_ns += (double)(span->end_ns - span->start_ns);
    }
    return sum_ns > MOSTLY * (double)judge->trace.analysis.time_ns;
}

/* Returns what keeps the host from being ahead with issuing, so that it is late with every op:
 * a wait in each launch or copy, or something that cost as much as being late did. */
static enum verdict_code keeps_late(const struct judge *judge)
{
    const struct verdict *causes = judge->charges.causes;
    if (judge->trace.launches_block)
        return VERDICT_LAUNCH_BLOCKING;
    if (is_mostly_pageable(judge, false))
        return VERDICT_PAGEABLE_MEMORY;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        if ((verdict_rows[code].traits & KEEPS_ISSUE) &&
            causes[code].cost_ns > causes[VERDICT_SMALL_TILES].cost_ns / 2)
            return (enum verdict_code)code;
    }
    return VERDICT_SMALL_TILES;
}

/* Returns what the host's handing over is called where nothing keeps it from that. */
static enum verdict_code late_cause(const struct judge *judge)
{
    const struct pace pace = pace_of(&judge->trace);
    bool known = !judge->timeline->issue_unknown && !judge->trace.launches_may_block;
    if (!known || (!judge->trace.short_ops && !pace_is_late(&pace)))
        return VERDICT_UNKNOWN;
    return pace.tiles               ? VERDICT_SMALL_TILES
           : judge->trace.in_graphs ? VERDICT_REST /* as fast as it launches them */
                                    : VERDICT_LAUNCH_BOUND;
}

/* Moves what a cause was charged beyond what its evidence carries to another one. */
static void bound(struct judge *judge, enum verdict_code code, enum verdict_code to)
{
    struct verdict *causes = judge->charges.causes;
    const int64_t cost_ns = causes[code].cost_ns;
    if (cost_ns == 0 || code == to)
        return;
    causes[code].cost_ns = 0;
    causes[to].cost_ns += cost_ns - foreign_charge_seen(judge, code, cost_ns);
}

/* Charges causes no more than their evidence carries: what is beyond that of what kept the host
 * would have been handed over as late without it, and of others nothing tells why. */
static void bound_all(struct judge *judge, enum verdict_code late)
{
    for (int code = 0; code < VERDICT_UNKNOWN; code++) {
        const bool kept =
            (verdict_rows[code].traits & KEEPS_ISSUE) != 0 || code == VERDICT_HOST_WORK;
        bound(judge, (enum verdict_code)code, kept ? late : VERDICT_UNKNOWN);
    }
    bound(judge, late, VERDICT_UNKNOWN);
}

/* Leaves the device's own way from op to op to the rest: no host is late where the next op was
 * there already. Fewer and larger tiles would have fewer of those ways; and without the host's
 * calls it isn't known what was there. */
static void leave_steps(struct judge *judge, enum verdict_code late)
{
    struct account *charges = &judge->charges;
    const bool counts = late != VERDICT_SMALL_TILES && !judge->timeline->issue_unknown;
    judge->rest_ns[REST_STEPS] = account_leave(charges, counts ? judge->rest_ns[REST_STEPS] : 0,
                                               &charges->causes[VERDICT_SMALL_TILES].cost_ns);
}

/* Returns what calls took that made what stays. */
static int64_t made_once_ns(const struct judge *judge)
{
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < judge->timeline->call_count; i++) {
        const struct host_call *call = &judge->timeline->calls[i];
        if (!traced_again(&judge->trace, host_call_kind(call->row)) &&
            foreign_call_cause(judge, i) != VERDICT_PIN_IN_RUN)
            sum_ns = plus(sum_ns, call->end_ns - call->start_ns);
    }
    return sum_ns;
}

/* Small tiles are seen only with the host's calls, without which it may have waited, and only
 * where ops are short. Few tiles are few only where an engine has few ops. */
static void settle(struct judge *judge)
{
    struct verdict *causes = judge->charges.causes;
    const int64_t time_ns = judge->time_ns;
    bool few = judge->trace.analysis.engines[judge->trace.engine].spans <= FEW_TILES;
    double small = SMALL_SHARE * (double)time_ns;
    const enum verdict_code late = late_cause(judge);
    leave_steps(judge, late);
    const enum verdict_code keeps = keeps_late(judge);
    if (late != VERDICT_LAUNCH_BOUND && (double)causes[VERDICT_SMALL_TILES].cost_ns < small)
        account_move(&judge->charges, VERDICT_SMALL_TILES, VERDICT_REST);
    else
        account_move(&judge->charges, VERDICT_SMALL_TILES,
                     keeps == VERDICT_SMALL_TILES ? late : keeps);
    /* No loop has a time in which the host was elsewhere, once. */
    judge->rest_ns[REST_ONCE] = account_leave(&judge->charges, judge->trace.once_ns,
                                              &causes[VERDICT_HOST_WORK].cost_ns);
    bound_all(judge, late);
    judge->rest_ns[REST_ONCE] +=
        account_leave(&judge->charges, made_once_ns(judge), &causes[VERDICT_UNKNOWN].cost_ns);
    judge->suspect = facts_suspect(judge);
    const int64_t rest_ns = causes[VERDICT_REST].cost_ns;
    account_move(&judge->charges, VERDICT_UNKNOWN, judge->suspect);
    if (facts_moves_pages(judge)) /* the host's threads wait for pages as well */
        account_move(&judge->charges, VERDICT_HOST_WORK, judge->suspect);
    if (judge->suspect == VERDICT_PAGE_FAULTS)
        account_move(&judge->charges, VERDICT_FEW_TILES, judge->suspect);
    judge->rest_ns[REST_PAGES] = causes[VERDICT_REST].cost_ns - rest_ns;
    bound(judge, judge->suspect, VERDICT_UNKNOWN);
    if (!few || (double)causes[VERDICT_FEW_TILES].cost_ns < small)
        judge->rest_ns[REST_FILLING] =
            account_leave(&judge->charges, INT64_MAX, &causes[VERDICT_FEW_TILES].cost_ns);
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        if (!judge_is_dear(judge, (enum verdict_code)code, VERDICT_NAMED_SHARE, false))
            account_move(&judge->charges, (enum verdict_code)code, VERDICT_REST);
    }
}

void foreign_put_pageable_first(const struct judge *judge, struct verdicts *verdicts)
{
    if (judge->tried || !is_mostly_pageable(judge, true))
        return;
    int place = 0;
    while (place < verdicts->count && verdicts->items[place].code != VERDICT_PAGEABLE_MEMORY)
        place++;
    if (place == verdicts->count)
        verdicts->items[verdicts->count++] = judge->charges.causes[VERDICT_PAGEABLE_MEMORY];
    const struct verdict pageable = verdicts->items[place];
    for (; place > 0 && pageable.cost_ns > 0; place--)
        verdicts->items[place] = verdicts->items[place - 1];
    verdicts->items[place] = pageable;
}

/* Settles the charges, of a recorded program with its limit and its fixes. Those of a machine
 * that does not fit the run say nothing of it: the trace alone does then. */
static void settle_all(struct judge *judge, struct verdicts *verdicts)
{
    const struct limit *limit = judge->facts->limit;
    settle(judge);
    verdicts->recording_ns = judge->recording_ns;
    if (judge->facts->plan == NULL || judge->facts->model == NULL || limit == NULL)
        return;
    judge->limit_ns = earlier(limit->ns, judge->time_ns);
    const bool faster = limit->claimed_ns > 0 || limit->ns > judge->time_ns;
    if (!faster)
        foreign_try(judge);
    if (judge->simulated) {
        int64_t beyond_ns = judge->found.whole_ns - timeline_extent_ns(judge->timeline);
        verdicts->modelled_ns = judge->time_ns + beyond_ns;
        verdicts->too_far = !judge->tried;
    }
    verdicts->limit_known = judge->tried;
    verdicts->misfit = !judge->tried;
    verdicts->data_ns = judge->rest_ns[REST_DATA];
    verdicts->stays_ns = judge->rest_ns[REST_SAME];
    verdicts->recording_ns = judge->recording_ns;
    if (judge->tried) {
        verdicts->bound = limit->cause;
        verdicts->limit_ns = judge->limit_ns;
    } else {
        judge->limit_ns = 0;
    }
}

void foreign_charge(struct judge *judge, struct verdicts *verdicts)
{
    const struct verdict_case *facts = judge->facts;
    struct traced *trace = &judge->trace;
    account_begin(&judge->charges, facts->timeline);
    bool done = traced_begin(trace, facts->timeline, facts->critical, facts->rates);
    const bool any = done && trace->engine != ENGINE_NONE;
    /* Pages that move, and ops that are not here, keep ops as another process would. */
    if (done && (facts->timeline->more_ran || facts_moves_pages(judge)))
        trace->stalls.count = 0;
    if (any)
        find_kept(judge);
    if (any)
        done = charge_all(judge);
    if (!done)
        (void)error_no_memory(&judge->why, "to judge %u spans", facts->timeline->span_count);
    judge->time_ns = trace->analysis.time_ns;
    judge->recording_ns = trace->added_all_ns;
    *verdicts = (struct verdicts){.time_ns = judge->time_ns,
                                  .limit_ns = trace->busy_ns,
                                  .page_locked = trace->busy_ns < trace->most_ns,
                                  .bound = trace->engine == ENGINE_COMPUTE ? LIMIT_COMPUTE
                                           : trace->engine == ENGINE_CPU   ? LIMIT_CPU
                                                                           : LIMIT_COPIES};
    if (any && done)
        settle_all(judge, verdicts);
    else
        judge->charges.causes[VERDICT_REST].cost_ns = judge->time_ns;
}
