/* traced.c - facts of another program's run that are looked up again and again: its calls, its
 * ops by their ends, and what all memsets have in common. What launches do is in launched.c. */
#include "analysis/traced.h"

#include "core/compare.h"

#include <stdlib.h>
#include <string.h>

enum {
    MEMSETS_MIN = 4, /* fewer may lie alone by chance */
    FEW_OPS = 4,     /* with more on an engine, some could overlap */
};

uint32_t traced_ended_by(const struct traced *traced, int64_t time_ns)
{
    size_t ended = spans_ended_by(traced->by_end, traced->by_end_count, time_ns);
    return ended > 0 ? (uint32_t)(traced->by_end[ended - 1] - traced->timeline->spans)
                     : SPAN_NONE;
}

uint32_t traced_copies_by(const struct traced *traced, int64_t time_ns)
{
    size_t ended = spans_ended_by(traced->by_end, traced->by_end_count, time_ns);
    return ended > 0 ? traced->copies_in[ended - 1] : 0;
}

bool traced_again(const struct traced *traced, enum host_call_kind kind)
{
    const bool lasts = kind >= CALL_MAKE || kind == CALL_ALLOC || kind == CALL_PIN;
    return !lasts || traced->again[kind];
}

bool traced_call_between(const struct traced *traced, enum host_call_kind kind,
                         int64_t after_ns, int64_t before_ns)
{
    const struct timeline *timeline = traced->timeline;
    if (!traced->comes[kind])
        return false;
    BISECT(at, i, 0, timeline->call_count, timeline->calls[i].start_ns <= after_ns);
    for (size_t i = at; i < timeline->call_count && timeline->calls[i].start_ns < before_ns;
         i++) {
        if (host_call_kind(timeline->calls[i].row) == kind)
            return true;
    }
    return false;
}

/* --- counts --- */

struct tally traced_ops(const struct traced *traced, uint32_t kinds, bool pageable)
{
    struct tally tally = {.longest = SPAN_NONE};
    for (uint32_t i = 0; i < traced->timeline->span_count; i++) {
        const struct span *span = &traced->timeline->spans[i];
        if ((kinds >> span->kind & 1) &&
            (!pageable || span->host_memory == HOST_MEMORY_PAGEABLE))
            tally_add(&tally, i, span->end_ns - span->start_ns);
    }
    return tally;
}

struct tally traced_calls(const struct traced *traced, uint32_t kinds, int64_t before_ns)
{
    struct tally tally = {.longest = SPAN_NONE};
    for (uint32_t i = 0; i < traced->timeline->call_count; i++) {
        const struct host_call *call = &traced->timeline->calls[i];
        if ((kinds >> host_call_kind(call->row) & 1) && call->start_ns < before_ns)
            tally_add(&tally, i, call->end_ns - call->start_ns);
    }
    return tally;
}

uint32_t traced_ops_of(const struct traced *traced, enum op_kind kind)
{
    return traced_ops(traced, 1U << kind, false).count;
}

/* --- what all have in common --- */

static void find_ends(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (op_on_device(timeline->spans[i].kind))
            traced->by_end[traced->by_end_count++] = &timeline->spans[i];
    }
    qsort(traced->by_end, traced->by_end_count, sizeof *traced->by_end, span_compare_ends);
    uint32_t copies = 0, kernels = 0, ops = 0;
    for (uint32_t i = 0; i < traced->by_end_count; i++)
        traced->copies_in[i] = copies += traced->by_end[i]->kind == OP_H2D;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        traced->kernels_before[i] = kernels;
        traced->ops_before[i] = ops;
        kernels += timeline->spans[i].kind == OP_KERNEL;
        ops += op_on_device(timeline->spans[i].kind);
    }
    traced->kernels = kernels;
}

static void find_issued(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        traced->issued[i] = SPAN_NONE;
        traced->host_funcs += host_call_kind(timeline->calls[i].row) == CALL_HOST_FUNC;
    }
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        uint32_t call = traced_call_of(traced, i);
        if (call != SPAN_NONE)
            traced->issued[call] = i;
        traced->last_issue_ns = later(traced->last_issue_ns, timeline->spans[i].issue_ns);
    }
}

/* Counts how often calls of a kind come, one or several, before an op of a name. What comes
 * several times before the same, and still in the second half of all, is in a loop; what a
 * start-up takes and makes comes before one op after another. */
static void find_rounds(struct traced *traced)
{
    enum { AGAIN = 3 };
    const struct timeline *timeline = traced->timeline;
    const size_t names = OP_KIND_COUNT + (size_t)timeline->name_count;
    uint32_t *rounds = arena_zeros(&traced->arena, CALL_KINDS * names, sizeof *rounds);
    uint32_t last[CALL_KINDS];       /* since the last op, the last call of each kind */
    memset(last, 0xff, sizeof last); /* SPAN_NONE */
    for (uint32_t i = 0; i < timeline->call_count && rounds != NULL; i++) {
        const enum host_call_kind kind = host_call_kind(timeline->calls[i].row);
        const uint32_t op = traced->issued[i];
        const struct span *span = op != SPAN_NONE ? &timeline->spans[op] : NULL;
        const bool named =
            span != NULL && span->kind == OP_KERNEL && span->link < timeline->name_count;
        traced->comes[kind] = true;
        last[kind] = i;
        for (int k = 0; k < CALL_KINDS && span != NULL; k++) {
            uint32_t *count =
                &rounds[(size_t)k * names + (named ? OP_KIND_COUNT + span->link : span->kind)];
            *count += last[k] != SPAN_NONE;
            traced->again[k] |= last[k] != SPAN_NONE && *count >= AGAIN &&
                                2 * (uint64_t)last[k] >= timeline->call_count;
            last[k] = SPAN_NONE;
        }
    }
}

/* Finds whether graphs, and whether several threads, issued the ops. */
static void find_issuers(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    const struct host_call *first = NULL;
    uint32_t together = 0;
    for (uint32_t i = 1; i < timeline->span_count && !timeline->issue_unknown; i++)
        together += timeline->spans[i].issue_ns == timeline->spans[i - 1].issue_ns &&
                    !(timeline->begun && timeline->spans[i].issue_ns == 0);
    traced->in_graphs = together > timeline->span_count / 2;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        if (traced->issued[i] == SPAN_NONE)
            continue;
        first = first != NULL ? first : call;
        traced->many_threads |= call->thread != first->thread;
    }
}

/* Finds whether memory is page-locked only before the first op is issued. */
static void find_pins(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    int64_t first_ns = INT64_MAX;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (op_on_device(timeline->spans[i].kind))
            first_ns = earlier(first_ns, timeline->spans[i].issue_ns);
    }
    for (uint32_t i = timeline->call_count; i-- > 0;) {
        if (host_call_kind(timeline->calls[i].row) != CALL_PIN)
            continue;
        traced->pins_first = timeline->calls[i].start_ns < first_ns;
        break; /* the last one tells */
    }
}

/* Finds whether no memset ran beside another op, though ops of several streams did. */
static void find_memsets(struct traced *traced)
{
    const struct timeline *timeline = traced->timeline;
    int64_t ends[2] = {INT64_MIN, INT64_MIN};
    uint32_t memsets = 0, last_stream = UINT32_MAX;
    bool beside = false, others_beside = false;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        int side = span->kind == OP_MEMSET;
        if (!op_on_device(span->kind))
            continue;
        memsets += (uint32_t)side;
        beside |= span->start_ns < ends[!side];
        others_beside |= side == 0 && last_stream != span->stream && span->start_ns < ends[0];
        ends[side] = later(ends[side], span->end_ns);
        last_stream = side == 0 ? span->stream : last_stream;
    }
    bool ahead = !timeline->issue_unknown || others_beside;
    traced->memsets_bar = memsets >= MEMSETS_MIN && !beside && ahead;
}

/* Finds the rates at which page-locked memory is copied: those of the trace's own large copies.
 */
static void find_rates(struct traced *traced, const struct machine *machine)
{
    enum { LARGE = 1 << 20 };
    const struct timeline *timeline = traced->timeline;
    double bytes[2] = {0}, ns[2] = {0};
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        const bool out = span->kind == OP_D2H;
        if (!op_is_copy(span->kind) || span->host_memory != HOST_MEMORY_PINNED ||
            span->bytes < LARGE)
            continue;
        bytes[out] += (double)span->bytes;
        ns[out] += (double)(span->end_ns - span->start_ns);
    }
    for (int out = 0; out < 2; out++)
        traced->pinned_rate[out] =
            ns[out] > 0 ? bytes[out] / ns[out]
            : machine == NULL
                ? 0
                : (out ? machine->d2h_bytes_per_s : machine->h2d_bytes_per_s) / 1e9;
}

/* Returns true for a copy of pageable memory whose rate, if it were page-locked, is known. */
static bool is_rated(const struct traced *traced, const struct span *copy)
{
    return op_is_copy(copy->kind) && copy->host_memory == HOST_MEMORY_PAGEABLE &&
           traced->pinned_rate[copy->kind == OP_D2H] > 0;
}

/* Returns how much longer such a copy took: no more than nothing else ran. */
static int64_t slower_ns(const struct traced *traced, const struct span *copy, int64_t alone_ns)
{
    enum { BEGIN_NS = 2000 }; /* what a copy takes beside its bytes, at most */
    const double bytes_ns = (double)copy->bytes / traced->pinned_rate[copy->kind == OP_D2H];
    const int64_t took_ns = copy->end_ns - copy->start_ns - BEGIN_NS;
    return later(0, earlier(alone_ns, took_ns - (int64_t)bytes_ns));
}

/* Finds that of each copy that no other such was under way before, and of all of each engine.
 */
static void find_slower(struct traced *traced, int64_t sums_ns[ENGINE_COUNT])
{
    const struct timeline *timeline = traced->timeline;
    const struct span *copy = NULL;
    int64_t alone_ns = 0, ended_ns = 0; /* of the copy; and all ops beside it */
    for (uint32_t i = 0; i <= timeline->span_count; i++) {
        const struct span *next = i < timeline->span_count ? &timeline->spans[i] : NULL;
        const int64_t now_ns = next != NULL ? next->start_ns : INT64_MAX;
        if (next != NULL && !op_on_device(next->kind))
            continue;
        if (copy != NULL)
            alone_ns += later(0, earlier(now_ns, copy->end_ns) - ended_ns);
        if (copy != NULL && now_ns >= copy->end_ns) {
            const int64_t ns = slower_ns(traced, copy, alone_ns);
            traced->slower_ns[copy - timeline->spans] = ns;
            sums_ns[copy->engine] += ns;
            ended_ns = later(ended_ns, copy->end_ns);
            copy = NULL;
        }
        const bool begins = copy == NULL && next != NULL && is_rated(traced, next);
        if (next != NULL)
            ended_ns = later(ended_ns, begins ? next->start_ns : next->end_ns);
        alone_ns = begins ? 0 : alone_ns;
        copy = begins ? next : copy;
    }
}

/* Finds the engine that was at work for longest, if any was, and how long and how many ops are.
 */
static void find_busiest(struct traced *traced)
{
    const struct engine_use *engines = traced->analysis.engines, *busiest = NULL;
    int64_t slower_ns[ENGINE_COUNT] = {0};
    find_slower(traced, slower_ns);
    traced->few_ops = engines[ENGINE_COMPUTE].spans > 0 &&
                      engines[ENGINE_H2D].spans + engines[ENGINE_D2H].spans > 0;
    for (int i = 0; i < ENGINE_WORKING; i++) {
        traced->few_ops &= engines[i].spans <= FEW_OPS;
        traced->most_ns = later(traced->most_ns, engines[i].busy_ns);
        if (engines[i].busy_ns - slower_ns[i] <= traced->busy_ns)
            continue;
        busiest = &engines[i];
        traced->engine = (enum engine)i;
        traced->busy_ns = busiest->busy_ns - slower_ns[i];
    }
    traced->short_ops = busiest != NULL && busiest->busy_ns / busiest->spans <= TRACED_LATE_NS;
}

bool traced_begin(struct traced *traced, const struct timeline *timeline,
                  const struct critical *critical, const struct machine *machine)
{
    size_t calls = timeline->call_count + (size_t)1, ops = timeline->span_count + (size_t)1;
    *traced = (struct traced){.timeline = timeline, .engine = ENGINE_NONE};
    struct arena *arena = &traced->arena, scratch = {0};
    traced->by_end = arena_zeros(arena, ops, sizeof *traced->by_end);
    traced->copies_in = arena_zeros(arena, ops, sizeof *traced->copies_in);
    traced->kernels_before = arena_zeros(arena, ops, sizeof *traced->kernels_before);
    traced->ops_before = arena_zeros(arena, ops, sizeof *traced->ops_before);
    traced->slower_ns = arena_zeros(arena, ops, sizeof *traced->slower_ns);
    traced->issued = arena_zeros(arena, calls, sizeof *traced->issued);
    traced->call_before = arena_ones(arena, calls, sizeof *traced->call_before);
    traced->loads.items = arena_zeros(arena, 2 * calls, sizeof *traced->loads.items);
    traced->held.items = arena_zeros(arena, 2 * calls, sizeof *traced->held.items);
    traced->room = arena_zeros(&scratch, 2 * calls, sizeof(int64_t));
    traced->added_ns = arena_zeros(arena, ops, sizeof *traced->added_ns);
    traced->later_ns = arena_zeros(arena, calls, sizeof *traced->later_ns);
    if (arena->full || scratch.full ||
        analyse(timeline, &traced->analysis, NULL) != STATUS_OK) {
        arena_free(&scratch);
        return false;
    }
    find_rates(traced, machine);
    find_busiest(traced);
    find_ends(traced);
    find_issued(traced);
    find_issuers(traced);
    find_memsets(traced);
    find_pins(traced);
    pace_find_turns(traced);
    pace_find_threads(traced);
    pace_find_work(traced);
    pace_find_added(traced, critical);
    find_rounds(traced);
    launched_find(traced);
    arena_free(&scratch);
    traced->room = NULL;
    return !arena->full;
}

void traced_end(struct traced *traced)
{
    arena_free(&traced->arena);
}
