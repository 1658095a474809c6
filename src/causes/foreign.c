/* foreign.c - charges the idle times of a trace's busiest engine to what its evidence names. */
#include "causes/foreign_parts.h"

#include <stdlib.h>

/* A cause of less of the run's time is not named; of small tiles and of few it takes more. */
static const double SMALL_SHARE = 0.08;

enum { FEW_TILES = 16 }; /* with more ops on an engine, tiles are not few */

static void charge(struct foreign *foreign, enum verdict_code code, int64_t cost_ns,
                   uint32_t span)
{
    foreign->cost_ns[code] += cost_ns;
    if (cost_ns <= foreign->dearest_ns[code])
        return;
    foreign->dearest_ns[code] = cost_ns;
    foreign->span[code] = span;
}

/* --- one idle time --- */

static bool is_cause(enum verdict_code code)
{
    return code != VERDICT_REST && code != VERDICT_SMALL_TILES;
}

/* Waiting for room in a stream is no cause where what held that room came late itself. Where
 * there are hardly any ops, one that begins right behind another is taken to need it. */
static void settle_links(const struct foreign *foreign, struct foreign_pieces *pieces,
                         enum verdict_code none)
{
    bool weak = false;
    for (uint32_t i = pieces->count; i-- > 0;) {
        struct foreign_piece *piece = &pieces->items[i];
        if (foreign->few_ops && none == VERDICT_FEW_TILES && piece->cause != VERDICT_UNKNOWN &&
            piece->link == VERDICT_UNKNOWN)
            piece->link = VERDICT_REST;
        if (weak && piece->link == VERDICT_FEW_STREAMS)
            piece->link = VERDICT_REST;
        weak |= is_cause(piece->link) && piece->link != VERDICT_FEW_STREAMS;
    }
}

/* Returns what an idle time without any cause is charged to: filling and draining are short
 * ways, on which no engine has more than a few ops. */
static enum verdict_code way_of(const struct foreign *foreign,
                                const struct foreign_pieces *pieces)
{
    enum { WAY_OPS = 2 };
    uint32_t ops[ENGINE_COUNT] = {0};
    for (uint32_t i = 0; i < pieces->count; i++) {
        const struct foreign_piece *piece = &pieces->items[i];
        if (piece->cause != VERDICT_REST || piece->span == SPAN_NONE)
            continue;
        enum engine engine = (enum engine)foreign->timeline->spans[piece->span].engine;
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

/* Charges the time from `from_ns` to `until_ns` to its pieces, and what they don't reach and
 * what has no cause to `none`. */
static void charge_idle(struct foreign *foreign, struct foreign_pieces *pieces, int64_t from_ns,
                        int64_t until_ns, enum verdict_code none)
{
    int64_t now_ns = until_ns;
    settle_links(foreign, pieces, none);
    if (none == VERDICT_FEW_TILES)
        none = foreign->timeline->partial ? VERDICT_UNKNOWN : way_of(foreign, pieces);
    find_near(pieces, none);
    for (uint32_t i = 0; i < pieces->count && now_ns > from_ns; i++) {
        const struct foreign_piece *piece = &pieces->items[i];
        int64_t start_ns = later(piece->start_ns, from_ns);
        if (start_ns >= now_ns)
            continue;
        charge(foreign, piece->near, now_ns - start_ns, piece->span);
        now_ns = start_ns;
    }
    if (now_ns > from_ns)
        charge(foreign, none, now_ns - from_ns, SPAN_NONE);
}

/* Charges all times in which the busiest engine has nothing to do. Before its first op and
 * behind its last one, work that others have to do is what filling and draining cost. */
static bool charge_all(struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    const struct resource engine = {foreign->engine, 0, 0};
    struct span **spans = malloc((timeline->span_count + (size_t)1) * sizeof *spans);
    struct foreign_pieces pieces = {0};
    bool done = spans != NULL;
    int64_t reached_ns = 0;
    size_t count = done ? timeline_engine_spans(timeline, engine, spans) : 0;
    for (size_t i = 0; i < count && done; i++) {
        int64_t start_ns = spans[i]->start_ns;
        if (start_ns > reached_ns) {
            done = foreign_walk(foreign, (uint32_t)(spans[i] - timeline->spans), false,
                                reached_ns, &pieces);
            if (done)
                charge_idle(foreign, &pieces, reached_ns, start_ns,
                            i == 0 ? VERDICT_FEW_TILES : VERDICT_UNKNOWN);
        }
        reached_ns = later(reached_ns, spans[i]->end_ns);
    }
    uint32_t last = done ? foreign_ended_by(foreign, INT64_MAX) : SPAN_NONE;
    if (last != SPAN_NONE && timeline->spans[last].end_ns > reached_ns) {
        done = foreign_walk(foreign, last, true, reached_ns, &pieces);
        if (done)
            charge_idle(foreign, &pieces, reached_ns, timeline->spans[last].end_ns,
                        VERDICT_FEW_TILES);
        reached_ns = timeline->spans[last].end_ns;
    }
    if (done && foreign->analysis.time_ns > reached_ns) /* behind all ops: callbacks, waits */
        charge(foreign, VERDICT_REST, foreign->analysis.time_ns - reached_ns, SPAN_NONE);
    free(pieces.items);
    free(spans);
    return done;
}

/* --- the verdicts --- */

static int compare_costs(const void *a, const void *b)
{
    const struct verdict *x = a, *y = b;
    if (x->cost_ns != y->cost_ns)
        return x->cost_ns > y->cost_ns ? -1 : 1;
    return (int)x->code - (int)y->code;
}

/* Moves what was charged to `from` to `to`. */
static void move_charge(struct foreign *foreign, enum verdict_code from, enum verdict_code to)
{
    if (foreign->cost_ns[from] == 0)
        return;
    foreign->cost_ns[to] += foreign->cost_ns[from];
    if (foreign->dearest_ns[from] > foreign->dearest_ns[to]) {
        foreign->dearest_ns[to] = foreign->dearest_ns[from];
        foreign->span[to] = foreign->span[from];
    }
    foreign->cost_ns[from] = 0;
}

/* Returns true if copies of pageable memory take much of the run's time. They are slow then,
 * too, by as much as only a machine would tell: a cause whose cost is not known. */
static bool is_mostly_pageable(const struct foreign *foreign)
{
    static const double MOSTLY = 0.5;
    const struct timeline *timeline = foreign->timeline;
    double sum_ns = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (op_is_copy(span->kind) && span->host_memory == HOST_MEMORY_PAGEABLE)
            sum_ns += (double)(span->end_ns - span->start_ns);
    }
    return sum_ns > MOSTLY * (double)foreign->analysis.time_ns;
}

/* Returns what keeps the host from being ahead with issuing, so that it is late with every op:
 * a wait in each launch or copy, or something that cost as much as being late did. */
static enum verdict_code keeps_late(const struct foreign *foreign)
{
    static const enum verdict_code waits[] = {VERDICT_SYNC_IN_LOOP, VERDICT_ALLOC_IN_LOOP,
                                              VERDICT_PINNED_ALLOC_IN_LOOP, VERDICT_PACKING};
    if (foreign->launches_block)
        return VERDICT_LAUNCH_BLOCKING;
    if (is_mostly_pageable(foreign))
        return VERDICT_PAGEABLE_MEMORY;
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        if (foreign->cost_ns[waits[i]] > foreign->cost_ns[VERDICT_SMALL_TILES] / 2)
            return waits[i];
    }
    bool known = !foreign->timeline->issue_unknown && !foreign->launches_may_block;
    return known && foreign->short_ops ? VERDICT_SMALL_TILES : VERDICT_UNKNOWN;
}

/* Small tiles are seen only with the host's calls, without which it may have waited, and only
 * where ops are short. Few tiles are few only where an engine has few ops. */
static void settle(struct foreign *foreign, int64_t time_ns)
{
    bool few = foreign->analysis.engines[foreign->engine].spans <= FEW_TILES;
    double small = SMALL_SHARE * (double)time_ns;
    if ((double)foreign->cost_ns[VERDICT_SMALL_TILES] < small)
        move_charge(foreign, VERDICT_SMALL_TILES, VERDICT_REST);
    else if (keeps_late(foreign) != VERDICT_SMALL_TILES)
        move_charge(foreign, VERDICT_SMALL_TILES, keeps_late(foreign));
    foreign->filling_ns = foreign->cost_ns[VERDICT_FEW_TILES];
    if (!few || (double)foreign->cost_ns[VERDICT_FEW_TILES] < small)
        move_charge(foreign, VERDICT_FEW_TILES, VERDICT_REST);
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        if ((double)foreign->cost_ns[code] < VERDICT_NAMED_SHARE * (double)time_ns)
            move_charge(foreign, (enum verdict_code)code, VERDICT_REST);
    }
}

static void put_verdict(const struct foreign *foreign, enum verdict_code code,
                        struct verdicts *verdicts)
{
    verdicts->items[verdicts->count++] = (struct verdict){
        .code = code, .cost_ns = foreign->cost_ns[code], .span = foreign->span[code]};
    foreign_put_fix(foreign, &verdicts->items[verdicts->count - 1]);
}

/* Puts pageable memory before all else where most of the run is copies of it: the trace tells
 * what the host's waits for them cost, not by how much they are slower than others would be. */
static void put_pageable_first(const struct foreign *foreign, struct verdicts *verdicts)
{
    if (!is_mostly_pageable(foreign))
        return;
    int place = 0;
    while (place < verdicts->count && verdicts->items[place].code != VERDICT_PAGEABLE_MEMORY)
        place++;
    if (place == verdicts->count) {
        put_verdict(foreign, VERDICT_PAGEABLE_MEMORY, verdicts);
        foreign_put_evidence(foreign, &verdicts->items[place]);
    }
    const struct verdict pageable = verdicts->items[place];
    for (; place > 0; place--)
        verdicts->items[place] = verdicts->items[place - 1];
    verdicts->items[0] = pageable;
}

static void name_causes(struct foreign *foreign, struct verdicts *verdicts)
{
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        if (foreign->cost_ns[code] == 0)
            continue;
        put_verdict(foreign, (enum verdict_code)code, verdicts);
        foreign_put_evidence(foreign, &verdicts->items[verdicts->count - 1]);
    }
    qsort(verdicts->items, (size_t)verdicts->count, sizeof *verdicts->items, compare_costs);
    if (foreign->tried)
        foreign_rank(foreign, verdicts);
    else
        put_pageable_first(foreign, verdicts);
    verdicts->named = verdicts->count;
    put_verdict(foreign,
                verdicts->bound == LIMIT_COPIES    ? VERDICT_COPY_BOUND
                : verdicts->bound == LIMIT_COMPUTE ? VERDICT_KERNEL_BOUND
                                                   : VERDICT_CPU_BOUND,
                verdicts);
    put_verdict(foreign, VERDICT_REST, verdicts);
    foreign_put_evidence(foreign, &verdicts->items[verdicts->count - 1]);
}

/* Settles the charges, of a recorded program with its limit and its fixes. Those of a machine
 * that does not fit the run say nothing of it: the trace alone does then. */
static enum status judge(struct foreign *foreign, struct verdicts *verdicts,
                         struct error *error)
{
    const struct limit *limit = foreign->facts->limit;
    settle(foreign, foreign->time_ns);
    if (foreign->facts->plan == NULL || foreign->facts->model == NULL || limit == NULL)
        return STATUS_OK;
    foreign->limit_ns = earlier(limit->ns, foreign->time_ns);
    bool faster = limit->claimed_ns > 0 || limit->ns > foreign->time_ns;
    enum status status = faster ? STATUS_OK : foreign_try(foreign, error);
    if (foreign->simulated) {
        int64_t beyond_ns = foreign->found.whole_ns - timeline_extent_ns(foreign->timeline);
        verdicts->modelled_ns = foreign->time_ns + beyond_ns;
        verdicts->too_far = !foreign->tried;
    }
    verdicts->limit_known = foreign->tried;
    verdicts->misfit = !foreign->tried;
    verdicts->data_ns = foreign->data_ns;
    if (foreign->tried) {
        verdicts->bound = limit->cause;
        verdicts->limit_ns = foreign->limit_ns;
    } else {
        foreign->limit_ns = 0;
    }
    return status;
}

enum status foreign_verdicts_find(const struct verdict_case *facts, struct verdicts *verdicts,
                                  struct error *error)
{
    struct foreign foreign;
    struct verdicts result = {0};
    bool done = foreign_begin(&foreign, facts);
    bool any = done && foreign.engine != ENGINE_NONE;
    if (any)
        done = charge_all(&foreign);
    enum status status = done
                             ? STATUS_OK
                             : error_set(error, STATUS_NO_MEMORY, "no memory to judge %u spans",
                                         facts->timeline->span_count);
    if (status == STATUS_OK) {
        result.time_ns = foreign.time_ns = foreign.analysis.time_ns;
        result.limit_ns = any ? foreign.analysis.engines[foreign.engine].busy_ns : 0;
        result.bound = foreign.engine == ENGINE_COMPUTE ? LIMIT_COMPUTE
                       : foreign.engine == ENGINE_CPU   ? LIMIT_CPU
                                                        : LIMIT_COPIES;
        if (any)
            status = judge(&foreign, &result, error);
        else
            foreign.cost_ns[VERDICT_REST] = foreign.time_ns;
    }
    if (status == STATUS_OK) {
        name_causes(&foreign, &result);
        *verdicts = result;
    }
    foreign_end(&foreign);
    return status;
}
