/* rework_find.c - tries changes of a recorded plan in the simulator. */
#include "causes/rework_find.h"

#include "rework/parts.h"
#include "sim/simulator.h"

#include <stdlib.h>
#include <string.h>

enum {
    PART_OPS = 16000, /* of more, that many in the middle stand for all */
    STREAMS_GOOD = 4, /* enough for copies both ways, a kernel, and one to come */
    QUEUES_GOOD = 32, /* more have never been of use */
    FEW_TILES = 16,   /* of more tiles none is cut */
    SINGLE_TILES = 4, /* of fewer it is taken that more streams come with more of them */
    PIECES_MOST = 16,
    MERGED_MOST = 64,
};

/* A change is kept where it gains that part of the time, and goes back where it costs less; it
 * is made again where it would gain much alone. */
static const double GAIN = 0.01, KEEP = 0.005, ALONE = 0.02;

static const int64_t TIME_NONE = INT64_MAX;

struct finder {
    struct rework_base base;
    const struct machine *machine;
    struct rework best;
    int64_t best_ns, given_ns;
    struct rework_looks looks;
    struct error why;
};

/* --- causes --- */

static enum verdict_code code_of(const struct finder *finder, enum rework_part part)
{
    static const enum verdict_code codes[REWORK_PART_COUNT] = {
        [REWORK_GRAPH] = VERDICT_SMALL_TILES,
        [REWORK_PRIORITIES] = VERDICT_PRIORITY_INVERSION,
        [REWORK_WAITS] = VERDICT_NEEDLESS_WAIT,
        [REWORK_LOADS] = VERDICT_LAZY_LOADING,
        [REWORK_CALLBACKS] = VERDICT_SLOW_CALLBACK,
        [REWORK_BLOCKS] = VERDICT_FEW_BLOCKS,
        [REWORK_LARGE] = VERDICT_LARGE_COPY,
        [REWORK_DEVICE_COPIES] = VERDICT_DEVICE_COPIES,
        [REWORK_MEMSETS] = VERDICT_MEMSET_IN_LOOP,
        [REWORK_LAUNCHES] = VERDICT_LAUNCH_BLOCKING,
        [REWORK_ALLOCS] = VERDICT_ALLOC_IN_LOOP,
        [REWORK_PINNED_ALLOCS] = VERDICT_PINNED_ALLOC_IN_LOOP,
        [REWORK_SYNCS] = VERDICT_SYNC_IN_LOOP,
        [REWORK_PINS] = VERDICT_PAGEABLE_MEMORY,
    };
    switch (part) {
    case REWORK_ORDER:
        return finder->machine->copy_engines == 1          ? VERDICT_ONE_COPY_ENGINE
               : rule_checks_dependencies(finder->machine) ? VERDICT_LATE_SIGNAL
                                                           : VERDICT_FULL_GPU;
    case REWORK_STREAMS:
        return finder->looks.streams < 2 ? VERDICT_ONE_STREAM : VERDICT_FEW_STREAMS;
    case REWORK_QUEUES:
        return finder->machine->queues < 2 ? VERDICT_ONE_QUEUE : VERDICT_FEW_QUEUES;
    case REWORK_SIZES:
        return finder->best.merged > 1 ? VERDICT_SMALL_TILES : VERDICT_FEW_TILES;
    case REWORK_UNBLOCKS:
        return finder->looks.legacy_works ? VERDICT_LEGACY_STREAM : VERDICT_BLOCKING_STREAM;
    default:
        return codes[part];
    }
}

/* --- times --- */

int64_t rework_extent_ns(const struct timeline *timeline)
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

enum status rework_time(const struct plan *plan, const struct machine *machine, uint32_t queues,
                        int64_t *time_ns, struct error *error)
{
    struct timeline timeline;
    int64_t issued_ns;
    timeline_init(&timeline);
    enum status status =
        simulator_run(machine, queues, plan, NULL, &timeline, &issued_ns, error);
    if (status == STATUS_OK)
        *time_ns = rework_extent_ns(&timeline);
    timeline_free(&timeline);
    return status;
}

/* Returns what is really changed: sizes need streams, as many as there are, or more where
 * hardly any tile is there to be in them. Pieces are issued one by one, as a loop does. */
static struct rework effective(const struct finder *finder, const struct rework *change)
{
    struct rework whole = *change;
    uint32_t streams = finder->looks.streams > 0 ? finder->looks.streams : 1;
    if (change->streams == 0 && (change->pieces > 1 || change->merged > 1)) {
        bool single = finder->base.tiles < SINGLE_TILES && change->pieces > 1;
        whole.streams = single && streams < STREAMS_GOOD ? STREAMS_GOOD : streams;
    }
    if (whole.pieces > 1 && whole.order == REWORK_AS_ISSUED)
        whole.order = REWORK_DEPTH;
    return whole;
}

/* Returns the time of a trial, TIME_NONE where it can't be. */
static int64_t try_change(struct finder *finder, const struct rework *change)
{
    int64_t time_ns = TIME_NONE;
    struct plan fixed;
    struct error why = {0};
    if (finder->why.status != STATUS_OK)
        return TIME_NONE;
    struct rework whole = effective(finder, change);
    enum status status = rework_apply(&finder->base, &whole, &fixed, &why);
    if (status == STATUS_OK) {
        status = rework_time(&fixed, finder->machine, change->queues, &time_ns, &why);
        plan_free(&fixed);
    }
    if (status == STATUS_NO_MEMORY)
        finder->why = why;
    return status == STATUS_OK ? time_ns : TIME_NONE;
}

static bool gains(int64_t time_ns, int64_t than_ns, double part)
{
    return time_ns != TIME_NONE &&
           (than_ns == TIME_NONE || (double)time_ns < (1 - part) * (double)than_ns);
}

static bool take(struct finder *finder, const struct rework *change, double part)
{
    int64_t time_ns = try_change(finder, change);
    if (!gains(time_ns, finder->best_ns, part))
        return false;
    finder->best = *change;
    finder->best_ns = time_ns;
    return true;
}

/* --- the search --- */

static struct rework put_right(const struct finder *finder)
{
    uint32_t most =
        finder->machine->queues_max < QUEUES_GOOD ? finder->machine->queues_max : QUEUES_GOOD;
    bool seen = finder->base.blind == 0;
    return (struct rework){
        .pins = true,
        .unblocks = seen,
        .drops_memsets = seen,
        .drops_device_copies = seen,
        .spreads_blocks = finder->looks.few_blocks,
        .cuts_copies = true,
        .drops_syncs = seen,
        .drops_allocs = true,
        .drops_pinned_allocs = true,
        .frees_launches = true,
        .shortens_callbacks = true,
        .loads_early = true,
        .drops_waits = seen,
        .evens_priorities = true,
        .queues = finder->machine->queues < most ? most : 0,
    };
}

static void search_streams(struct finder *finder)
{
    static const uint32_t streams[] = {2, 3, 4, 8};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        struct rework change = finder->best;
        change.streams = streams[i];
        if (finder->base.tiles > 1)
            (void)take(finder, &change, GAIN);
    }
}

static void search_sizes(struct finder *finder)
{
    bool more = !finder->looks.loops;
    for (uint32_t pieces = 2; pieces <= PIECES_MOST && finder->base.tiles <= FEW_TILES && more;
         pieces *= 2) {
        struct rework change = finder->best;
        change.pieces = pieces;
        more = take(finder, &change, GAIN);
    }
    more = finder->looks.small && finder->best.pieces < 2;
    for (uint32_t merged = 2; merged <= MERGED_MOST && more; merged *= 2) {
        struct rework change = finder->best;
        change.merged = merged;
        more = take(finder, &change, GAIN);
    }
}

static void search_rest(struct finder *finder)
{
    struct rework change;
    bool matters = finder->looks.chained || finder->machine->copy_engines == 1 ||
                   rule_checks_dependencies(finder->machine);
    for (int order = REWORK_DEPTH; order <= REWORK_BREADTH && matters; order++) {
        change = finder->best;
        change.order = (enum rework_order)order;
        (void)take(finder, &change, GAIN);
    }
    change = finder->best;
    change.graphs = true;
    if (finder->looks.small)
        (void)take(finder, &change, GAIN);
}

/* Turns back, one after another, what need not have been changed; `costs` gets what turning
 * back each of the others alone would cost. */
static void turn_back(struct finder *finder, int64_t costs[REWORK_PART_COUNT])
{
    const struct rework none = {0};
    for (int part = 0; part < REWORK_PART_COUNT; part++) {
        struct rework change = finder->best;
        costs[part] = 0;
        if (!rework_is_turned((enum rework_part)part, &finder->best))
            continue;
        rework_turn_part((enum rework_part)part, &none, &change);
        int64_t time_ns = try_change(finder, &change);
        if (time_ns != TIME_NONE && !gains(finder->best_ns, time_ns, KEEP)) {
            finder->best = change;
            finder->best_ns = time_ns;
            continue;
        }
        costs[part] = time_ns == TIME_NONE ? finder->best_ns : time_ns - finder->best_ns;
    }
}

/* Turns again what would have gained much alone, where it costs nothing: where either of two is
 * enough, both are causes. */
static void turn_alternatives(struct finder *finder, const struct rework *all)
{
    for (int part = 0; part < REWORK_PART_COUNT; part++) {
        struct rework alone = {0}, both = finder->best;
        if (!rework_is_turned((enum rework_part)part, all) ||
            rework_is_turned((enum rework_part)part, &finder->best))
            continue;
        rework_turn_part((enum rework_part)part, all, &alone);
        rework_turn_part((enum rework_part)part, all, &both);
        if (!gains(try_change(finder, &alone), finder->given_ns, ALONE))
            continue;
        int64_t both_ns = try_change(finder, &both);
        if (both_ns == TIME_NONE || gains(finder->best_ns, both_ns, KEEP))
            continue;
        finder->best = both;
        finder->best_ns = both_ns;
    }
}

/* --- shares --- */

/* Returns true if a part takes away all waits that no data asks for, too. */
static bool mends(enum rework_part part)
{
    return part == REWORK_STREAMS || part == REWORK_ORDER || part == REWORK_SIZES;
}

/* Has `change` take those waits away first, if that is a cause of its own, and returns the time
 * then: what a part gains beyond that is its own. */
static int64_t without_waits(struct finder *finder, enum rework_part part, int64_t before_ns,
                             struct rework *change)
{
    bool waits = mends(part) && finder->best.drops_waits && !change->drops_waits;
    if (!waits)
        return before_ns;
    change->drops_waits = true;
    int64_t time_ns = try_change(finder, change);
    return time_ns == TIME_NONE ? before_ns : time_ns;
}

static void add_gains(struct finder *finder, const struct rework_found *found, bool reverse,
                      int64_t sums[REWORK_PART_COUNT])
{
    struct rework change = {0};
    int64_t before_ns = found->given_ns;
    for (int i = 0; i < found->count; i++) {
        int k = reverse ? found->count - 1 - i : i;
        int64_t waits_ns = without_waits(finder, found->turns[k].part, before_ns, &change);
        for (int w = 0; w < found->count; w++)
            sums[w] += found->turns[w].part == REWORK_WAITS && waits_ns < before_ns
                           ? before_ns - later(waits_ns, found->better_ns)
                           : 0;
        before_ns = earlier(before_ns, later(waits_ns, found->better_ns));
        rework_turn_part(found->turns[k].part, &found->better, &change);
        int64_t time_ns = i + 1 < found->count ? try_change(finder, &change) : found->better_ns;
        if (time_ns == TIME_NONE || time_ns > before_ns)
            time_ns = before_ns;
        time_ns = later(time_ns, found->better_ns);
        sums[k] += before_ns - time_ns;
        before_ns = time_ns;
    }
}

static void share_out(struct finder *finder, struct rework_found *found)
{
    int64_t sums[REWORK_PART_COUNT] = {0}, left_ns = found->given_ns - found->better_ns;
    for (int i = 0; i < found->count; i++) {
        struct rework change = {0};
        struct rework_turn *one = &found->turns[i];
        int64_t before_ns = without_waits(finder, one->part, found->given_ns, &change);
        rework_turn_part(one->part, &found->better, &change);
        int64_t time_ns = found->count > 1 ? try_change(finder, &change) : found->better_ns;
        one->fixed_ns = time_ns == TIME_NONE || time_ns > before_ns
                            ? found->given_ns
                            : found->given_ns - (before_ns - time_ns);
    }
    add_gains(finder, found, false, sums);
    add_gains(finder, found, true, sums);
    for (int i = 0; i < found->count; i++) {
        found->turns[i].cost_ns = sums[i] / 2;
        left_ns -= sums[i] / 2;
    }
    if (found->count > 0) /* the halves of odd numbers */
        found->turns[0].cost_ns += left_ns;
}

static void keep_turns(struct finder *finder, const int64_t costs[REWORK_PART_COUNT],
                       struct rework_found *found)
{
    for (int part = 0; part < REWORK_PART_COUNT; part++) {
        if (!rework_is_turned((enum rework_part)part, &finder->best))
            continue;
        int place = found->count++;
        for (; place > 0 && costs[found->turns[place - 1].part] < costs[part]; place--)
            found->turns[place] = found->turns[place - 1];
        found->turns[place] = (struct rework_turn){
            .part = (enum rework_part)part,
            .code = code_of(finder, (enum rework_part)part),
        };
    }
    found->better = finder->best;
    found->better_ns = finder->best_ns;
}

/* --- the plan as it is --- */

/* Makes a plan of the ops in the middle of a plan that has very many. */
static enum status take_part(const struct plan *plan, struct plan *part, struct error *error)
{
    const struct rework_base base = {.plan = plan};
    struct rework_draft draft;
    enum status status = rework_draft_begin(&draft, &base, error);
    if (status == STATUS_OK) {
        size_t first = (draft.count - PART_OPS) / 2;
        memmove(draft.items, draft.items + first, PART_OPS * sizeof *draft.items);
        draft.count = PART_OPS;
        draft.loads_lazily = false;
        status = rework_draft_plan(&draft, part, error);
    }
    rework_draft_free(&draft);
    return status;
}

static void search(struct finder *finder, struct rework_found *found)
{
    int64_t costs[REWORK_PART_COUNT];
    finder->best_ns = finder->given_ns;
    struct rework right = put_right(finder);
    int64_t right_ns = try_change(finder, &right);
    if (right_ns != TIME_NONE) {
        finder->best = right;
        finder->best_ns = right_ns;
    }
    search_streams(finder);
    search_sizes(finder);
    search_rest(finder);
    const struct rework all = finder->best;
    turn_back(finder, costs);
    turn_alternatives(finder, &all);
    keep_turns(finder, costs, found);
    found->whole = effective(finder, &found->better);
    if (found->better_ns >= found->given_ns) {
        found->count = 0;
        found->better = found->whole = (struct rework){0};
        found->better_ns = found->given_ns;
    }
    share_out(finder, found);
}

enum status rework_find(const struct plan *plan, const struct machine *machine,
                        struct rework_found *found, struct error *error)
{
    struct finder finder = {.machine = machine};
    struct rework_found result = {0};
    struct plan part;
    enum status status = STATUS_OK;
    plan_init(&part);
    if (plan->op_count > 2 * PART_OPS)
        status = take_part(plan, &part, error);
    const struct plan *tried = part.op_count > 0 ? &part : plan;
    if (status == STATUS_OK)
        status = rework_begin(&finder.base, tried, machine, error);
    if (status == STATUS_OK)
        status = rework_time(tried, machine, 0, &result.given_ns, error);
    result.whole_ns = result.given_ns;
    if (status == STATUS_OK && tried != plan)
        status = rework_time(plan, machine, 0, &result.whole_ns, error);
    if (status == STATUS_OK)
        status = rework_look(&finder.base, &finder.looks, error);
    if (status == STATUS_OK) {
        finder.given_ns = result.given_ns;
        search(&finder, &result);
        if (finder.why.status != STATUS_OK)
            status = error_pass(error, &finder.why);
    }
    result.blind = finder.base.blind;
    if (status == STATUS_OK)
        *found = result;
    rework_end(&finder.base);
    plan_free(&part);
    return status;
}
