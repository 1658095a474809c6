/* try_foreign.c - the knobs of a recorded program, as fields of a change of its calls, the
 * causes that they stand for, and changes tried in the simulator. */
#include "causes/knobs.h"

#include "analysis/analysis.h"
#include "plan/rules.h"
#include "sim/simulator.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

enum {
    PART_OPS = 32000,        /* of more, about that many in the middle stand for all */
    PART_FAR = 2 * PART_OPS, /* so many ops more are looked at for a wait that it ends with */
    SINGLE_TILES = 4,        /* of fewer it is taken that more streams come with more of them */
    PIECES_MOST = 16,
    MERGED_MOST = 64,
    WORK_THREADS = 4, /* so many the fix names */
};

/* --- knobs --- */

static const struct knob_field fields[] = {
#define CHANGE(name, cause, ...) CHANGE_TOO(name, __VA_ARGS__)
#define CHANGE_TOO(name, member, value)                                                        \
    {.knob = CHANGE_##name,                                                                    \
     .offset = offsetof(union choice, change.member),                                          \
     .size = sizeof(((union choice *)0)->change.member)},
#include "causes/knobs.def"
};

/* Those that take away all waits that no data asks for, too. */
static const bool drop_waits[CHANGE_COUNT] = {
    [CHANGE_STREAMS] = true, [CHANGE_ORDER] = true, [CHANGE_SIZES] = true};

_Static_assert((int)CHANGE_COUNT <= (int)KNOBS_MOST, "a search has room for all knobs");

static const struct knob_set knobs = {
    .count = CHANGE_COUNT,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .shared = CHANGE_WAITS,
    .shares = drop_waits,
};

/* Returns the cause of another order being better. */
static enum verdict_code order_cause(const struct machine *machine)
{
    return machine->copy_engines == 1          ? VERDICT_ONE_COPY_ENGINE
           : rule_checks_dependencies(machine) ? VERDICT_LATE_SIGNAL
                                               : VERDICT_FULL_GPU;
}

void change_detail(const struct rework *change, enum change_knob knob, char *text, size_t room)
{
    text[0] = '\0';
    if (knob == CHANGE_STREAMS)
        snprintf(text, room, "%" PRIu32 " streams", change->streams);
    else if (knob == CHANGE_QUEUES)
        snprintf(text, room, "%" PRIu32 " queues", change->queues);
    else if (knob == CHANGE_WORK && change->work_threads > 1)
        snprintf(text, room, "%" PRIu32 " threads that share it", change->work_threads);
    else if (knob == CHANGE_CALLBACKS)
        snprintf(text, room, "%" PRIu32 " threads that share their work",
                 change->function_threads);
    else if (knob == CHANGE_GRAPH)
        snprintf(text, room, "graphs of what repeats");
    else if (knob == CHANGE_SIZES && change->merged > 1)
        snprintf(text, room, "%" PRIu32 " tiles as one", change->merged);
    else if (knob == CHANGE_SIZES)
        snprintf(text, room, "each tile in %" PRIu32 " pieces", change->pieces);
    else if (knob == CHANGE_ORDER)
        snprintf(text, room, "%s",
                 change->order == REWORK_DEPTH ? "tile by tile" : "stage by stage");
}

/* --- trials --- */

/* A search for better changes. */
struct finder {
    struct search search;
    struct rework *best; /* the search's */
    struct rework_base base;
    const struct machine *machine;
    struct rework_looks looks;
    bool part;       /* a part of the plan stands for all */
    uint32_t unseen; /* bits of knobs that stay */
    bool bare;       /* trials are without what recording took */
};

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
    whole.unrecorded = finder->bare;
    return whole;
}

/* Returns what the host does before it issues the first op of the device. */
static int64_t first_host_ns(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (op_on_device(plan->ops[i].kind))
            return plan->recorded->ops[i].host_ns;
    }
    return 0;
}

/* Returns what the plan's host functions took in all. */
static int64_t functions_ns(const struct plan *plan)
{
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        sum_ns += plan->ops[i].kind == OP_CALLBACK ? plan->recorded->ops[i].work_ns : 0;
    return sum_ns;
}

/* Returns what the host does beside that takes a trial longer than its ops: times are from the
 * first op on, before which it now does the work of all tiles that are made one; and work that
 * other threads do, such as that of host functions, takes these as long. */
static int64_t with_host_ns(const struct finder *finder, const struct rework *whole,
                            const struct plan *fixed, int64_t time_ns)
{
    if (whole->merged > 1)
        time_ns += later(0, first_host_ns(fixed) - first_host_ns(finder->base.plan));
    if (whole->work_threads > 0)
        time_ns = later(time_ns,
                        (finder->base.work_ns - finder->base.filling_ns) / whole->work_threads);
    if (whole->function_threads > 0)
        time_ns = later(time_ns, functions_ns(finder->base.plan) / whole->function_threads);
    return time_ns;
}

/* Sets the time of a trial: a search's `time` with a struct finder. */
static enum status time_of(const void *context, const union choice *choice, int64_t *time_ns,
                           struct error *error)
{
    const struct finder *finder = context;
    const struct rework whole = effective(finder, &choice->change);
    struct plan fixed;
    enum status status = rework_apply(&finder->base, &whole, &fixed, error);
    if (status != STATUS_OK)
        return status;
    status = simulator_time(finder->machine, whole.queues, &fixed, time_ns, error);
    if (status == STATUS_OK)
        *time_ns = with_host_ns(finder, &whole, &fixed, *time_ns);
    plan_free(&fixed);
    return status;
}

/* --- the search --- */

static bool may_turn(const struct finder *finder, enum change_knob knob)
{
    return (finder->unseen >> knob & 1) == 0;
}

static struct rework put_right(const struct finder *finder)
{
    const struct rework_looks *looks = &finder->looks;
    const struct machine *machine = finder->machine;
    uint32_t most = machine->queues_max < QUEUES_GOOD ? machine->queues_max : QUEUES_GOOD;
    const uint32_t queues = machine->queues < most ? most : 0;
    const bool seen = finder->base.blind == 0;
    struct rework right = {
#define CHANGE(name, cause, member, value) .member = value,
#define CHANGE_TOO(name, member, value)    .member = value,
#include "causes/knobs.def"
    };
    right.makes_early[CALL_LOAD - CALL_MAKE] = looks->makes[CALL_LOAD - CALL_MAKE];
    return right;
}

/* Tries the best change so far with another value of a member; returns whether it is better. */
#define TAKE(member, value) SEARCH_TAKE(&finder->search, change.member, value, SEARCH_GAIN)

static void search_streams(struct finder *finder)
{
    static const uint32_t streams[] = {2, 3, 4, 8};
    const bool may = finder->base.tiles > 1 && may_turn(finder, CHANGE_STREAMS);
    for (size_t i = 0; i < sizeof streams / sizeof streams[0] && may; i++)
        (void)TAKE(streams, streams[i]);
}

static void search_sizes(struct finder *finder)
{
    const bool sizes = may_turn(finder, CHANGE_SIZES);
    bool more = sizes && !finder->looks.loops && finder->base.tiles <= FEW_TILES;
    for (uint32_t pieces = 2; pieces <= PIECES_MOST && more; pieces *= 2)
        more = TAKE(pieces, pieces);
    more = sizes && finder->looks.small && finder->looks.tiled && finder->best->pieces < 2;
    for (uint32_t merged = 2; merged <= MERGED_MOST && more; merged *= 2)
        more = TAKE(merged, merged);
}

static void search_rest(struct finder *finder)
{
    bool matters = may_turn(finder, CHANGE_ORDER) &&
                   (finder->looks.chained || finder->machine->copy_engines == 1 ||
                    rule_checks_dependencies(finder->machine));
    for (enum rework_order order = REWORK_DEPTH; order <= REWORK_BREADTH && matters; order++)
        (void)TAKE(order, order);
    /* Threads of the host's that touch managed memory wait for its pages. */
    bool works =
        !finder->base.managed && may_turn(finder, CHANGE_WORK) &&
        (double)finder->base.work_ns >= VERDICT_NAMED_SHARE * (double)finder->search.given_ns;
    for (uint32_t threads = 1; threads <= WORK_THREADS && works; threads *= WORK_THREADS)
        (void)TAKE(work_threads, threads);
    if (finder->looks.small && may_turn(finder, CHANGE_GRAPH))
        (void)TAKE(graphs, true);
}

/* Gives the knobs that are turned the causes that they stand for. */
static void name_causes(const struct finder *finder, struct found *found)
{
    const struct machine *machine = finder->machine;
    const struct rework_looks *looks = &finder->looks;
    const struct rework *better = finder->best;
    const enum verdict_code codes[CHANGE_COUNT] = {
#define CHANGE(name, cause, ...) [CHANGE_##name] = cause,
#define CHANGE_TOO(name, ...)
#include "causes/knobs.def"
    };
    for (int i = 0; i < found->count; i++)
        found->knobs[i].code = codes[found->knobs[i].knob];
}

static void search(struct finder *finder, struct found *found)
{
    struct search *search = &finder->search;
    union choice right = {.change = put_right(finder)};
    for (int knob = 0; knob < CHANGE_COUNT; knob++) {
        if (!may_turn(finder, (enum change_knob)knob))
            knob_turn(&knobs, knob, &found->given, &right);
    }
    search->given_ns = search->best_ns = found->given_ns;
    int64_t right_ns = search_try(search, &right);
    if (right_ns != SEARCH_NO_TIME) {
        search->best = right;
        search->best_ns = right_ns;
    }
    search_streams(finder);
    search_sizes(finder);
    search_rest(finder);
    search_settle(search);
    found->better = search->best;
    found->better_ns = search->best_ns;
    search_deal(search, found);
    name_causes(finder, found);
    found->whole = effective(finder, &found->better.change);
}

/* Returns what the ops take at least with a change; of a part of a plan that says nothing. Sets
 * *shared_ns to what they take if blocks that share multiprocessors slow each other. */
static int64_t least_of(const struct finder *finder, const struct rework *change,
                        int64_t *shared_ns)
{
    const struct rework whole = effective(finder, change);
    struct plan fixed;
    struct error refused = {0};
    *shared_ns = 0;
    if (rework_apply(&finder->base, &whole, &fixed, &refused) != STATUS_OK)
        return 0;
    *shared_ns = chain_shared_ns(&fixed, finder->machine);
    const int64_t least_ns = finder->part ? 0 : chain_least_ns(&fixed, finder->machine);
    plan_free(&fixed);
    return least_ns;
}

/* Returns the time of a trial without what recording took, where it is `ns` with that. */
static int64_t bare_of(struct finder *finder, const struct rework *change, int64_t ns)
{
    const union choice choice = {.change = *change};
    return finder->bare ? earlier(search_try(&finder->search, &choice), ns) : ns;
}

/* Sets the time of a trial on another machine: an interval_time with a struct trial. */
struct trial {
    const struct finder *finder;
    union choice choice;
};

static enum status trial_time(const void *context, const struct machine *machine,
                              int64_t *time_ns, struct error *error)
{
    const struct trial *trial = context;
    struct finder moved = *trial->finder;
    moved.machine = moved.base.machine = machine;
    return time_of(&moved, &trial->choice, time_ns, error);
}

/* Sets how sure the time of a trial is. Changes that can't be made on a moved machine leave it
 * unknown. */
static void look_at(struct finder *finder, const union choice *choice, struct outlook *look)
{
    const struct trial trial = {finder, *choice};
    struct error why = {0};
    int64_t time_ns;
    *look = (struct outlook){0};
    enum status status = trial_time(&trial, finder->machine, &time_ns, &why);
    if (status == STATUS_OK)
        status = interval_look(finder->machine, time_ns, trial_time, &trial, look, &why);
    if (status == STATUS_NO_MEMORY)
        finder->search.why = why;
}

/* Sets how sure the times are of the fixes that may be offered. */
static void find_looks(struct finder *finder, struct found *found)
{
    if (search_gains(found->better_ns, found->given_ns, SEARCH_GAIN)) {
        look_at(finder, &found->given, &found->given_look);
        look_at(finder, &found->better, &found->better_look);
    }
    for (int i = 0; i < found->count; i++) {
        struct knob_gain *gain = &found->knobs[i];
        union choice alone = found->given;
        knob_turn(&knobs, gain->knob, &found->better, &alone);
        if (found->count == 1)
            gain->look = found->better_look;
        else if (search_gains(gain->fixed_ns, found->given_ns, SEARCH_GAIN))
            look_at(finder, &alone, &gain->look);
    }
}

/* Finds what the ops take at least with what was found, and tries that once more without what
 * recording took, if that is known: causes are those of the run that was recorded, but no fix
 * has that time. */
static void find_bare(struct finder *finder, struct found *found)
{
    const struct plan *plan = finder->base.plan;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op_recorded *seen = &plan->recorded->ops[i];
        finder->bare |= seen->cost.host_ns > 0 || seen->cost.call_ns > 0 || seen->by_node;
    }
    for (int i = 0; i < found->count; i++) {
        union choice alone = found->given;
        knob_turn(&knobs, found->knobs[i].knob, &found->better, &alone);
        found->knobs[i].least_ns = least_of(finder, &alone.change, &found->knobs[i].shared_ns);
        found->knobs[i].bare_ns = bare_of(finder, &alone.change, found->knobs[i].fixed_ns);
    }
    found->least_ns = least_of(finder, &found->better.change, &found->shared_ns);
    found->bare_given_ns = bare_of(finder, &found->given.change, found->given_ns);
    found->bare_better_ns = bare_of(finder, &found->better.change, found->better_ns);
    found->whole.unrecorded = finder->bare;
}

/* Returns the first wait of the host's from `end` on, and behind `waits` others from `op` on,
 * if one is before `far`, or `end`. */
static uint32_t wait_from(const struct plan *plan, uint32_t op, uint32_t end, uint32_t far,
                          int waits)
{
    for (uint32_t i = op; i < far && i < plan->op_count; i++) {
        if (plan->ops[i].kind == OP_SYNC && waits-- <= 0 && i >= end)
            return i;
    }
    return end;
}

/* Makes the part of a plan of very many ops that stands for all. It goes from wait to wait,
 * over three more: a part that is cut anywhere has more of one half of a pass than of the
 * other, and what does not come three times is no graph. Times are from the first op on, so the
 * one before the wait comes with it, for what the host then does to count. */
static enum status take_part(const struct plan *plan, struct plan *part, struct error *error)
{
    const uint32_t more = plan->op_count - PART_OPS, middle = more / 2;
    uint32_t first = wait_from(plan, middle, middle, middle + more / 4, 0);
    const uint32_t end = first + PART_OPS;
    const uint32_t last = wait_from(plan, first, end, end + PART_FAR, 4);
    while (first > 0 && !op_on_device(plan->ops[first].kind))
        first--;
    return rework_part(plan, first, last + 1 - first, part, error);
}

enum status rework_find(const struct plan *plan, const struct machine *machine,
                        struct found *found, struct error *error)
{
    struct finder finder = {
        .search = {.knobs = &knobs, .time = time_of, .context = &finder},
        .best = &finder.search.best.change,
        .machine = machine,
        .unseen = found->unseen,
    };
    struct found result = {.unseen = found->unseen};
    struct plan part = {0};
    enum status status = STATUS_OK;
    if (plan->op_count > 2 * PART_OPS)
        status = take_part(plan, &part, error);
    const struct plan *tried = part.op_count > 0 ? &part : plan;
    if (status == STATUS_OK)
        status = rework_begin(&finder.base, tried, machine, error);
    if (status == STATUS_OK)
        status = simulator_time(machine, 0, tried, &result.given_ns, error);
    result.whole_ns = result.given_ns;
    if (status == STATUS_OK && tried != plan)
        status = simulator_time(machine, 0, plan, &result.whole_ns, error);
    if (status == STATUS_OK)
        status = rework_look(&finder.base, &finder.looks, error);
    if (status == STATUS_OK) {
        finder.part = tried != plan;
        search(&finder, &result);
        find_looks(&finder, &result);
        find_bare(&finder, &result);
        if (finder.search.why.status != STATUS_OK)
            status = error_pass(error, &finder.search.why);
    }
    result.blind = finder.base.blind;
    result.fills = 2 * finder.base.filling_ns > finder.base.work_ns;
    if (status == STATUS_OK)
        *found = result;
    rework_end(&finder.base);
    plan_free(&part);
    return status;
}
