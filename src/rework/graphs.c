/* graphs.c - less for the host to do: stretches that it issues again and again become graphs,
 * and its own work is another thread's.
 *
 * A stretch ends where the host waits, takes memory, copies pageable memory or works for
 * itself: no graph can hold that. What it captures once must be the same each time, so a
 * stretch has to come several times, with the same kernels on as many blocks. One that grows
 * with the data, as an index by a mask does, is none. */
#include "analysis/analysis.h"
#include "core/arena.h"
#include "core/compare.h"
#include "plan/host_call.h"
#include "plan/rules.h"
#include "rework/parts.h"

#include <stdlib.h>

/* Returns what of the time before a call was not for calls that make something. */
static int64_t own_ns(const struct op_recorded *seen)
{
    int64_t left_ns = seen->host_ns;
    for (int kind = 0; kind < CALL_MADE_KINDS; kind++)
        left_ns -= seen->made_ns[kind];
    return later(left_ns, 0);
}

int64_t rework_work_least_ns(const struct plan *plan, int64_t *sum_ns)
{
    const struct op_recorded *seen = plan->recorded->ops;
    int64_t *times = malloc((plan->op_count + (size_t)1) * sizeof *times), since_ns = 0;
    size_t count = 0;
    *sum_ns = 0;
    if (times == NULL)
        return INT64_MAX;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        since_ns += own_ns(&seen[i]);
        if (!op_on_device(plan->ops[i].kind) && !op_is_call(plan->ops[i].kind))
            continue; /* events: what passes before the next op counts */
        times[count++] = since_ns;
        since_ns = 0;
    }
    const int64_t least_ns = host_work_least_ns(half_ns(times, count));
    int64_t longest_ns = 0;
    uint32_t first = 0; /* of the device: times are from it on */
    while (first < plan->op_count && !op_on_device(plan->ops[first].kind))
        first++;
    for (uint32_t i = first + 1; i < plan->op_count; i++) {
        *sum_ns += own_ns(&seen[i]) >= least_ns ? own_ns(&seen[i]) : 0;
        longest_ns = later(longest_ns, own_ns(&seen[i]));
    }
    *sum_ns = longest_ns <= *sum_ns / 2 ? *sum_ns : 0; /* it was elsewhere, once */
    free(times);
    return least_ns;
}

int64_t rework_filling_ns(const struct plan *plan, const struct machine *machine,
                          int64_t least_ns)
{
    /* The driver stages pageable memory by the same copy; a thread may read it from the other
     * end of the host. */
    static const double SLOWER = 2;
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op_recorded *seen = &plan->recorded->ops[i];
        const double copy_ns =
            1e9 * (double)op_bytes(&plan->ops[i]) / machine->pageable_h2d_bytes_per_s;
        if (plan->ops[i].kind == OP_H2D && !seen->pageable && own_ns(seen) >= least_ns &&
            (double)own_ns(seen) <= SLOWER * copy_ns)
            sum_ns += own_ns(seen);
    }
    return sum_ns;
}

void rework_work_move(int64_t least_ns, struct plan *plan)
{
    EACH (struct op_recorded, seen, plan->recorded->ops, plan->op_count) {
        const int64_t ns = own_ns(seen);
        seen->host_ns -= ns >= least_ns ? ns : 0;
    }
}

/* --- stretches --- */

/* Ops [first, end) of the plan. */
struct stretch {
    uint32_t first, end;
    uint64_t names, shape; /* hashes: of what is launched, and of how large it is, too */
    bool repeats;
};

struct stretches {
    struct stretch *items;
    size_t count;
};

static bool no_graph_holds(const struct plan *plan, uint32_t i)
{
    const struct op_recorded *seen = &plan->recorded->ops[i];
    return op_is_call(plan->ops[i].kind) || seen->pageable || seen->waits;
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Returns the name of an op that is a kernel, else 0; and how large it is. */
static uint64_t name_of(const struct plan *plan, uint32_t i)
{
    return plan->ops[i].kind == OP_KERNEL ? plan->recorded->ops[i].name : 0;
}

static uint64_t size_of(const struct plan *plan, uint32_t i)
{
    const struct op *op = &plan->ops[i];
    return op->kind == OP_KERNEL    ? op->kernel.blocks
           : op_on_device(op->kind) ? op_bytes(op)
                                    : 0;
}

static struct stretch stretch_of(const struct plan *plan, uint32_t first, uint32_t end)
{
    struct stretch stretch = {.first = first, .end = end};
    for (uint32_t i = first; i < end; i++) {
        stretch.names = mixed(mixed(stretch.names, plan->ops[i].kind), name_of(plan, i));
        stretch.shape = mixed(mixed(stretch.shape, stretch.names), size_of(plan, i));
    }
    return stretch;
}

/* What a pass of a loop begins with: the launches of one name, or the ops of one kind, of which
 * there are fewest, a pass each. A graph is a pass, or as many as are worth one. */
struct marker {
    uint32_t of;    /* UINT32_MAX: none comes several times */
    uint32_t apart; /* at least: half of what they are on average */
    uint32_t passes;
};
enum { WORTH = 100, TIMES = 3 };

static uint32_t kind_of(const struct plan *plan, uint32_t i)
{
    const struct plan_recorded *recorded = plan->recorded;
    return plan->ops[i].kind == OP_KERNEL ? recorded->ops[i].name
                                          : recorded->name_count + plan->ops[i].kind;
}

/* Counts the ops of each kind on the device, `counts`, and finds the marker. */
static struct marker find_marker(const struct plan *plan, uint32_t *counts)
{
    enum { PASS_MOST = 4096 };
    const uint32_t kinds = plan->recorded->name_count + OP_KIND_COUNT;
    struct marker marker = {UINT32_MAX, WORTH, 0};
    uint32_t fewest = UINT32_MAX;
    for (uint32_t i = 0; i < plan->op_count; i++)
        counts[kind_of(plan, i)] += op_on_device(plan->ops[i].kind);
    for (uint32_t kind = 0; kind < kinds; kind++) {
        if (counts[kind] < TIMES || counts[kind] < plan->op_count / PASS_MOST ||
            counts[kind] >= fewest)
            continue;
        fewest = counts[kind];
        marker = (struct marker){kind, plan->op_count / fewest / 2, fewest};
    }
    marker.apart = marker.apart < WORTH ? WORTH : marker.apart;
    return marker;
}

/* How often the host works for itself at each place of a pass. */
struct pauses {
    struct arena arena;
    uint32_t *at;
    uint32_t places;
    struct marker marker;
};

/* Returns the place of op `i` in its pass, which began at `*begin`; UINT32_MAX: in none. */
static uint32_t place_in_pass(const struct plan *plan, const struct marker *marker, uint32_t i,
                              uint32_t *begin)
{
    *begin = kind_of(plan, i) == marker->of ? i : *begin;
    return *begin != UINT32_MAX ? i - *begin : UINT32_MAX;
}

static bool count_pauses(const struct plan *plan, int64_t least_ns, struct pauses *pauses)
{
    const uint32_t kinds = plan->recorded->name_count + OP_KIND_COUNT;
    uint32_t *counts = arena_zeros(&pauses->arena, kinds, sizeof *counts);
    if (counts == NULL)
        return false;
    pauses->marker = find_marker(plan, counts);
    pauses->places = 4 * pauses->marker.apart;
    pauses->at = arena_zeros(&pauses->arena, pauses->places, sizeof *pauses->at);
    for (uint32_t i = 0, begin = UINT32_MAX; i < plan->op_count && pauses->at != NULL; i++) {
        const uint32_t place = place_in_pass(plan, &pauses->marker, i, &begin);
        if (plan->recorded->ops[i].host_ns >= least_ns && place < pauses->places)
            pauses->at[place]++;
    }
    return pauses->at != NULL;
}

/* Returns true if the host works for itself at that place of most passes. */
static bool is_usual(const struct pauses *pauses, uint32_t place)
{
    return place < pauses->places && 2 * pauses->at[place] >= pauses->marker.passes;
}

/* Lists the stretches between what no graph holds. Where the host works for itself in most
 * passes, that is between them, too; a pause now and then is not: there is none where nothing
 * is called. */
static bool list_stretches(const struct plan *plan, int64_t least_ns,
                           struct stretches *stretches)
{
    struct pauses pauses = {.places = 0};
    const bool room = count_pauses(plan, least_ns, &pauses);
    const struct marker marker = pauses.marker;
    for (uint32_t first = 0, end, begin = UINT32_MAX; first < plan->op_count && room;
         first = end) {
        for (end = first; end < plan->op_count; end++) {
            const uint32_t place = place_in_pass(plan, &marker, end, &begin);
            if (no_graph_holds(plan, end) ||
                (end > first && plan->recorded->ops[end].host_ns >= least_ns &&
                 is_usual(&pauses, place)) ||
                (end - first >= marker.apart && kind_of(plan, end) == marker.of))
                break;
        }
        if (end > first)
            stretches->items[stretches->count++] = stretch_of(plan, first, end);
        else
            end = first + 1;
    }
    arena_free(&pauses.arena);
    return room;
}

COMPARE_BY(compare_stretches, struct stretch, names, shape);

/* Marks stretches that come several times, and more often than others of the same launches. */
static void find_repeats(struct stretches *stretches)
{
    struct stretch *items = stretches->items;
    qsort(items, stretches->count, sizeof *items, compare_stretches);
    for (size_t first = 0, next, all = 0, names = 0; first < stretches->count; first = next) {
        if (first == 0 || items[first].names != items[first - 1].names) {
            for (all = first; all < stretches->count && items[all].names == items[first].names;)
                all++;
            names = all - first;
        }
        for (next = first; next < all && items[next].shape == items[first].shape;)
            next++;
        for (size_t i = first; i < next; i++)
            items[i].repeats = next - first >= TIMES && 2 * (next - first) > names;
    }
}

/* Returns how many ops, from the first one on or with `back` from the last one back, both
 * stretches have alike. */
static uint32_t count_alike(const struct plan *plan, const struct stretch *one,
                            const struct stretch *other, bool back)
{
    uint32_t count = 0, i = back ? one->end - 1 : one->first,
             k = back ? other->end - 1 : other->first;
    while (i >= one->first && i < one->end && k >= other->first && k < other->end &&
           plan->ops[i].kind == plan->ops[k].kind && name_of(plan, i) == name_of(plan, k) &&
           size_of(plan, i) == size_of(plan, k)) {
        i += back ? UINT32_MAX : 1;
        k += back ? UINT32_MAX : 1;
        count++;
    }
    return count;
}

COMPARE_BY(compare_places, struct stretch, first, end);

/* A pass that is cut, as where the loop begins and ends, or that does more now and then, has
 * parts of what repeats near it, where passes of several shapes may take turns. Adds those that
 * are worth a graph: what it ends with, then what it has from any op on. */
static void find_parts(const struct plan *plan, struct stretches *stretches)
{
    enum { NEAR = 8 };
    struct stretch *items = stretches->items;
    const size_t count = stretches->count;
    qsort(items, count, sizeof *items, compare_places);
    for (size_t i = 0; i < count; i++) {
        struct stretch part = {.first = items[i].first, .end = items[i].end, .repeats = true};
        bool back = true;
        while (!items[i].repeats && part.end - part.first >= WORTH) {
            uint32_t same = 0;
            for (size_t k = i > NEAR ? i - NEAR : 0; k < count && k < i + NEAR; k++) {
                const uint32_t more =
                    items[k].repeats ? count_alike(plan, &part, &items[k], back) : 0;
                same = more > same ? more : same;
            }
            struct stretch found = part;
            found.first = back ? part.end - same : part.first;
            found.end = found.first + same;
            if (same >= WORTH)
                items[stretches->count++] = found;
            if (back)
                part.end -= same >= WORTH ? same : 0;
            else
                part.first += same >= WORTH ? same : 1;
            back = false;
        }
    }
}

/* --- graphs --- */

/* Under PyTorch's profiler a launch took 0.7 to 1.9 us for each node on an H200, and kernels of
 * graphs of 50 to 165 were 420 ns apart, those of graphs of 700 to 2000 100 ns. */
enum { BY_NODE_NS = 1300, MANY_NODES = 512, FOLLOW_NS = 420, FOLLOW_MANY_NS = 100 };

int64_t rework_graph_launch_ns(const struct plan *plan, const struct machine *machine,
                               uint32_t nodes)
{
    return rule_graph_launch_ns(machine, nodes, false) +
           (plan->recorded->facts.by_node ? (int64_t)nodes * BY_NODE_NS : 0);
}

/* Makes one launch of a stretch, if that takes the host less than its calls. The time before
 * the first of them stays, and so does what the host now and then works for itself between two:
 * it does that before the launch then. */
static bool make_graph(const struct machine *machine, const struct stretch *stretch,
                       int64_t least_ns, struct plan *plan)
{
    struct op_recorded *seen = plan->recorded->ops;
    int64_t calls_ns = 0, launch_ns = 0, stays_ns = seen[stretch->first].host_ns;
    uint32_t kernels = 0;
    for (uint32_t i = stretch->first; i < stretch->end; i++) {
        const enum op_kind kind = plan->ops[i].kind;
        const bool stays = i == stretch->first || seen[i].host_ns >= least_ns;
        stays_ns += stays && i > stretch->first ? seen[i].host_ns : 0;
        calls_ns += (stays ? 0 : seen[i].host_ns) +
                    (seen[i].call_ns > 0 ? seen[i].call_ns : rule_issue_ns(machine, kind));
        kernels += kind == OP_KERNEL;
        if (rule_graph_by_node(machine, kind))
            launch_ns += machine->graph_copies_node_ns;
    }
    launch_ns += rework_graph_launch_ns(plan, machine, kernels);
    if (kernels == 0 || launch_ns >= calls_ns)
        return false;
    for (uint32_t i = stretch->first; i < stretch->end; i++) {
        seen[i].host_ns = i == stretch->first ? stays_ns : 0;
        seen[i].call_ns = i == stretch->first ? launch_ns : 1;
        seen[i].in_graph = i != stretch->first;
        if (plan->recorded->facts.by_node)
            seen[i].follow_ns = kernels < MANY_NODES ? FOLLOW_NS : FOLLOW_MANY_NS;
    }
    return true;
}

enum status rework_graphs_make(const struct machine *machine, int64_t least_ns,
                               struct plan *plan, struct error *error)
{
    struct stretches stretches = {
        .items = malloc((plan->op_count + (size_t)1) * sizeof *stretches.items)};
    const bool can = plan->recorded->threads == 1 && rule_takes_issue(machine, ISSUE_GRAPH);
    bool any = false;
    if (stretches.items == NULL || !list_stretches(plan, least_ns, &stretches)) {
        free(stretches.items);
        return error_no_memory(error, "to try fixes");
    }
    find_repeats(&stretches);
    find_parts(plan, &stretches);
    for (size_t i = 0; i < stretches.count && can; i++)
        any |= stretches.items[i].repeats &&
               make_graph(machine, &stretches.items[i], least_ns, plan);
    free(stretches.items);
    return any ? STATUS_OK
               : error_set(error, STATUS_USAGE, "no stretch that repeats could be a graph");
}
