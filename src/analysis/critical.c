/* critical.c - why each op started when it did.
 *
 * First comes what is certain: the host's issue, stream order, events. Then come the engines,
 * as far as a timeline shows them. An engine that does one op at a time holds an op by the one
 * before it. Kernels run side by side, so one was held by another only if it had long been free
 * to go when that one's end, or its last blocks, left room. */
#include "analysis/critical_finder.h"

#include "analysis/analysis.h"
#include "core/compare.h"
#include "plan/barriers.h"

#include <math.h>
#include <stdlib.h>

enum {
    LAUNCH_NS = 5000,  /* the least that a measured launch takes once nothing holds it */
    SHARED_FACTOR = 4, /* see copies_share_engine() */
};

/* --- the host, streams, events --- */

/* The state of a stream up to here: its latest op, and of the waits behind it the target that
 * ended last. */
struct stream_work {
    uint32_t work, target;
};

/* A graph that is handed over node by node: its nodes, and those up to here. */
struct hand_over {
    uint32_t nodes, so_far;
    bool by_node;
};

static struct hand_over find_hand_over(const struct finder *finder)
{
    struct hand_over found = {0};
    const struct timeline *timeline = finder->timeline;
    for (uint32_t i = 0; timeline->launched_ns > 0 && i < timeline->span_count; i++) {
        enum op_kind kind = (enum op_kind)timeline->spans[i].kind;
        found.nodes += op_is_node(kind);
        found.by_node |= finder->machine != NULL && rule_graph_by_node(finder->machine, kind);
    }
    return found;
}

/* Returns when the one call that launched a graph had handed over its nodes up to here. A call
 * that took another time than the machine's did so throughout. */
static int64_t handed_over_ns(const struct finder *finder, const struct hand_over *graph)
{
    const int64_t launched_ns = finder->timeline->launched_ns;
    if (!graph->by_node)
        return launched_ns;
    double part = (double)rule_graph_launch_ns(finder->machine, graph->so_far, true),
           all = (double)rule_graph_launch_ns(finder->machine, graph->nodes, true);
    return llround((double)launched_ns * (part / all));
}

/* Returns when the host's call for an op was over; the call's beginning where no more is known.
 * The CPU takes its ops up by itself. */
static int64_t issued_ns(const struct finder *finder, const struct span *span,
                         const struct hand_over *graph)
{
    const struct timeline *timeline = finder->timeline;
    int64_t issued = span->issue_ns;
    if (timeline->op_calls != NULL && timeline->launched_ns == 0)
        return earlier(timeline->op_calls[span->op].issued_ns, span->start_ns);
    if (timeline->launched_ns > 0 && span->kind != OP_CPU) /* one call for all */
        return earlier(handed_over_ns(finder, graph), span->start_ns);
    if (timeline->issue_ns != NULL && span->op < UINT32_MAX - 1 &&
        span->op + 1 < timeline->issue_count && span->kind != OP_CPU)
        issued = later(issued, timeline->issue_ns[span->op + 1]);
    return earlier(issued, span->start_ns);
}

static uint32_t target_of(const struct finder *finder, const struct span *wait)
{
    const struct span *target =
        timeline_span((struct timeline *)finder->timeline, wait->target);
    if (target == NULL || target->kind == OP_WAIT ||
        target->end_ns - finder->jitter_ns > wait->end_ns)
        return SPAN_NONE; /* nothing was recorded before the event */
    return (uint32_t)(target - finder->timeline->spans);
}

/* Returns the latest to end of the ops that op `index` waited for by events, as the trace lists
 * them; SPAN_NONE: none that is known. Sets *elsewhere_ns to when the last of other devices'
 * ops among these ended, and leaves it alone where there is none. */
static uint32_t listed_target(const struct timeline *timeline, uint32_t index,
                              int64_t *elsewhere_ns)
{
    const struct span *spans = timeline->spans;
    const struct stream_wait *waits = timeline->waits;
    uint32_t found = SPAN_NONE;
    BISECT(at, i, 0, timeline->wait_count, waits[i].op < spans[index].op);
    for (size_t i = at; i < timeline->wait_count && waits[i].op == spans[index].op; i++) {
        const struct span *op = timeline_span((struct timeline *)timeline, waits[i].target);
        const uint32_t target = op != NULL ? (uint32_t)(op - spans) : SPAN_NONE;
        if (waits[i].target == UINT32_MAX)
            *elsewhere_ns = later(*elsewhere_ns, waits[i].elsewhere_ns);
        if (op != NULL && (found == SPAN_NONE || op->end_ns > spans[found].end_ns))
            found = target;
    }
    return found;
}

/* Finds what held a sync, which waits for ops while it lasts. All of them began before its end,
 * and all ops that it held up began after it, so the way along holds passes it only once. */
static void hold_sync(struct finder *finder, uint32_t index)
{
    const struct span *spans = finder->timeline->spans, *sync = &spans[index];
    uint32_t target = target_of(finder, sync);
    if (target != SPAN_NONE && spans[target].start_ns < sync->end_ns &&
        spans[target].end_ns > sync->start_ns)
        finder->holds[index] =
            (struct hold){.by = HELD_BY_STREAM, .span = target, .free_ns = sync->start_ns};
}

/* The state of all streams up to here; SPAN_NONE where there is no such op yet. */
struct order_state {
    uint32_t *calls; /* of each thread, its latest call of its own, or the latest op that it
                        waited for in the call */
    struct legacy_walk legacy;
    struct hand_over graph;
    uint32_t all;     /* the op that ended last, in all streams */
    uint32_t barrier; /* the latest op that synchronises all streams */
};

/* The legacy default stream comes after all blocking streams, and they after it. */
static void hold_by_legacy(struct finder *finder, uint32_t index, struct order_state *order)
{
    const struct span *span = &finder->timeline->spans[index];
    enum stream_kind kind = timeline_stream_kind(finder->timeline, span->stream);
    const struct legacy_side *before = legacy_before(&order->legacy, kind);
    enum held_by by = finder->holds[index].by;
    if (before != NULL)
        finder_consider(finder, index, HELD_BY_LEGACY, before->last,
                        by == HELD_BY_ISSUE || by == HELD_BY_CALL);
    if (span->kind != OP_WAIT)
        legacy_pass(&order->legacy, kind, index, span->end_ns);
}

/* An op that synchronises comes after all issued before it, and all later ops after it. */
static void hold_by_barrier(struct finder *finder, uint32_t index, struct order_state *order)
{
    const struct span *spans = finder->timeline->spans, *span = &spans[index];
    if (finder->machine == NULL || !op_on_device(span->kind))
        return;
    bool barrier = rule_op_synchronises(finder->machine, span->kind);
    uint32_t other = barrier ? order->all : order->barrier;
    if (other != SPAN_NONE)
        finder_consider(finder, index, HELD_BY_BARRIER, other, false);
    if (barrier)
        order->barrier = index;
    if (order->all == SPAN_NONE || spans[order->all].end_ns < span->end_ns)
        order->all = index;
}

/* Returns the number of the thread that issued an op. */
static uint32_t thread_of(const struct timeline *timeline, const struct span *span)
{
    return timeline->op_calls != NULL ? timeline->op_calls[span->op].thread : 0;
}

/* Returns true if the call that issued an op is known to have waited for it. */
static bool call_waited(const struct timeline *timeline, const struct span *span)
{
    const struct op_call *calls = timeline->op_calls;
    return calls != NULL && calls[span->op].returned_ns > calls[span->op].issued_ns;
}

static void hold_by_order(struct finder *finder, uint32_t index, struct stream_work *stream,
                          struct order_state *order)
{
    const struct span *spans = finder->timeline->spans, *span = &spans[index];
    struct hold *hold = &finder->holds[index];
    *hold = (struct hold){.by = HELD_BY_NOTHING, .span = SPAN_NONE};
    order->graph.so_far += op_is_node(span->kind);
    int64_t issued = issued_ns(finder, span, &order->graph);
    uint32_t *call = &order->calls[thread_of(finder->timeline, span)];
    bool called = *call != SPAN_NONE && span->kind != OP_CPU;
    if (!finder->timeline->issue_unknown && issued > 0)
        *hold = (struct hold){.by = called ? HELD_BY_CALL : HELD_BY_ISSUE,
                              .span = called ? *call : SPAN_NONE,
                              .free_ns = issued};
    if (op_is_call(span->kind)) {
        *call = index;
        if (op_is_sync(span->kind))
            hold_sync(finder, index);
        return;
    }
    if (call_waited(finder->timeline, span))
        *call = index;
    finder->before[index] = stream->work;
    if (stream->work != SPAN_NONE)
        finder_consider(finder, index, HELD_BY_STREAM, stream->work, true);
    int64_t elsewhere_ns = INT64_MIN;
    const uint32_t waited = stream->target != SPAN_NONE
                                ? stream->target
                                : listed_target(finder->timeline, index, &elsewhere_ns);
    if (waited != SPAN_NONE)
        finder_consider(finder, index, HELD_BY_EVENT, waited,
                        hold->by == HELD_BY_ISSUE || hold->by == HELD_BY_CALL);
    if (elsewhere_ns > hold->free_ns && elsewhere_ns - finder->jitter_ns <= span->start_ns)
        *hold = (struct hold){.by = HELD_BY_DEVICE,
                              .span = SPAN_NONE,
                              .free_ns = earlier(elsewhere_ns, span->start_ns)};
    hold_by_legacy(finder, index, order);
    hold_by_barrier(finder, index, order);
    if (span->kind != OP_WAIT) {
        *stream = (struct stream_work){index, SPAN_NONE};
        return;
    }
    uint32_t target = target_of(finder, span);
    if (target != SPAN_NONE &&
        (stream->target == SPAN_NONE || spans[target].end_ns > spans[stream->target].end_ns))
        stream->target = target;
}

static enum status hold_all_by_order(struct finder *finder, struct error *error)
{
    const struct timeline *timeline = finder->timeline;
    size_t streams = 0, threads = 1;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (thread_of(timeline, &timeline->spans[i]) >= threads)
            threads = thread_of(timeline, &timeline->spans[i]) + (size_t)1;
        if (timeline->spans[i].stream >= streams)
            streams = timeline->spans[i].stream + (size_t)1;
    }
    /* SPAN_NONE is all ones. */
    struct stream_work *states = arena_ones(&finder->arena, streams, sizeof *states);
    uint32_t *calls = arena_ones(&finder->arena, threads, sizeof *calls);
    if (finder->arena.full)
        return error_no_memory(error, "for the critical path of %zu streams", streams);
    struct order_state order = {.calls = calls,
                                .graph = find_hand_over(finder),
                                .all = SPAN_NONE,
                                .barrier = SPAN_NONE};
    for (uint32_t i = 0; i < timeline->span_count; i++)
        hold_by_order(finder, i, &states[timeline->spans[i].stream], &order);
    for (uint32_t i = 0; i < timeline->span_count; i++)
        finder->holds[i].ready_ns = finder->holds[i].free_ns;
    return STATUS_OK;
}

/* --- engines --- */

static void hold_by_turn(struct finder *finder, unsigned engines, uint32_t device)
{
    uint32_t count = finder_sort(finder, engines, device);
    struct engine_pass pass = {0};
    for (uint32_t i = 0; i < count; i++) {
        finder_reach(finder, &pass, finder->by_start[i]);
        if (pass.latest != SPAN_NONE)
            finder_consider(finder, finder->by_start[i], HELD_BY_ENGINE, pass.latest, false);
    }
}

/* The thread of callbacks held one if it was at work when it could have been told of it: see
 * rule_callback_told_ns(). One behind another in its stream is called at once. */
static void hold_by_thread(struct finder *finder)
{
    const struct machine *machine = finder->machine;
    const struct span *spans = finder->timeline->spans;
    uint32_t count = finder_sort(finder, 1U << ENGINE_HOST, 0);
    int64_t told_ns = machine != NULL ? rule_callback_told_ns(machine, 0) : 0;
    struct engine_pass pass = {0};
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = finder->by_start[i];
        const struct hold *hold = &finder->holds[index];
        finder_reach(finder, &pass, index);
        bool behind = hold->by == HELD_BY_STREAM && spans[hold->span].kind == OP_CALLBACK;
        if (pass.latest != SPAN_NONE &&
            spans[pass.latest].end_ns > hold->free_ns + (behind ? 0 : told_ns))
            finder_consider(finder, index, HELD_BY_ENGINE, pass.latest, false);
    }
}

/* Returns true if one engine does the copies of both directions. Where no machine says so, the
 * timeline does: such copies never overlap, and one that was free to go while one of the other
 * direction ran began right behind it, that is, close to its end against the time that it had
 * waited. With an engine each, such ends have nothing to do with the start: they lie anywhere
 * in the time that a start takes. */
static bool copies_share_engine(struct finder *finder, uint32_t device)
{
    const struct span *spans = finder->timeline->spans;
    if (finder->timeline->copies_take_turns)
        return true;
    if (finder->machine != NULL)
        return finder->machine->copy_engines == 1;
    uint32_t count = finder_sort(finder, 1U << ENGINE_H2D | 1U << ENGINE_D2H, device);
    double behind_end = 0, waited = 0;
    for (uint32_t i = 1; i < count; i++) {
        const struct span *before = &spans[finder->by_start[i - 1]];
        const struct span *span = &spans[finder->by_start[i]];
        int64_t free_ns = finder->holds[finder->by_start[i]].free_ns;
        if (before->engine == span->engine)
            continue;
        if (before->end_ns - finder->jitter_ns > span->start_ns)
            return false;
        if (before->end_ns > free_ns) {
            behind_end += (double)(span->start_ns - before->end_ns);
            waited += (double)(span->start_ns - free_ns);
        }
    }
    return !finder->timeline->issue_unknown && waited > 0 &&
           SHARED_FACTOR * behind_end <= waited;
}

/* Returns how long a kernel may take from being free to its start: twice the median of those
 * that began with no other kernel at work since they were free. */
static int64_t launch_time(struct finder *finder, uint32_t count)
{
    const struct span *spans = finder->timeline->spans;
    struct engine_pass pass = {0};
    size_t alone = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = finder->by_start[i];
        const struct hold *hold = &finder->holds[index];
        finder_reach(finder, &pass, index);
        if (hold->by == HELD_BY_NOTHING || pass.beside != SPAN_NONE ||
            (pass.latest != SPAN_NONE && spans[pass.latest].end_ns > hold->free_ns))
            continue;
        finder->delays[alone++] = spans[index].start_ns - hold->free_ns;
    }
    qsort(finder->delays, alone, sizeof *finder->delays, compare_i64);
    int64_t median = alone > 0 ? finder->delays[alone / 2] : 0;
    bool virtual = finder->timeline->timing == TIMING_VIRTUAL;
    return later(virtual ? 0 : LAUNCH_NS, 2 * earlier(median, INT64_MAX / 2));
}

static void hold_kernel(struct finder *finder, uint32_t index, const struct engine_pass *pass)
{
    const struct timeline *timeline = finder->timeline;
    const struct span *span = &timeline->spans[index];
    struct hold *hold = &finder->holds[index];
    /* Times begin at 0, so an end below 0 stands for none. */
    int64_t ended = pass->latest != SPAN_NONE ? timeline->spans[pass->latest].end_ns : -1;
    int64_t since_ns = span->start_ns - ended;
    bool virtual = timeline->timing == TIMING_VIRTUAL; /* room is taken when it is made */
    if (span->start_ns - hold->free_ns <= finder->launch_ns && !(virtual && since_ns == 0))
        return; /* it was on its way: whatever ended meanwhile let nothing go */
    if (ended > hold->free_ns && since_ns <= (virtual ? 0 : finder->launch_ns))
        finder_consider(finder, index, HELD_BY_ENGINE, pass->latest, false);
    else if (pass->beside != SPAN_NONE && !timeline->issue_unknown)
        *hold = (struct hold){.by = HELD_BY_ENGINE,
                              .span = pass->beside,
                              .free_ns = span->start_ns,
                              .ready_ns = hold->ready_ns};
}

static void hold_by_room(struct finder *finder, uint32_t device)
{
    uint32_t count = finder_sort(finder, 1U << ENGINE_COMPUTE, device);
    finder->launch_ns = launch_time(finder, count);
    struct engine_pass pass = {0};
    for (uint32_t i = 0; i < count; i++) {
        finder_reach(finder, &pass, finder->by_start[i]);
        hold_kernel(finder, finder->by_start[i], &pass);
    }
}

/* The CPU's ops are all in one stream, so stream order says what held them. */
static void hold_all_by_engine(struct finder *finder)
{
    hold_by_thread(finder);
    for (uint32_t device = 0; device < timeline_devices(finder->timeline); device++) {
        hold_by_room(finder, device);
        if (copies_share_engine(finder, device)) {
            hold_by_turn(finder, 1U << ENGINE_H2D | 1U << ENGINE_D2H, device);
        } else {
            hold_by_turn(finder, 1U << ENGINE_H2D, device);
            hold_by_turn(finder, 1U << ENGINE_D2H, device);
        }
        if (finder->timeline->devices > 1)
            hold_by_turn(finder, 1U << ENGINE_PEER, device);
    }
}

/* --- the path --- */

/* Where the times of a file contradict each other, holds can lead in a circle: it is cut where
 * it closes. */
static void follow(const struct timeline *timeline, struct critical *critical)
{
    uint32_t last = SPAN_NONE, count = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (timeline->spans[i].kind != OP_WAIT &&
            (last == SPAN_NONE || timeline->spans[i].end_ns > timeline->spans[last].end_ns))
            last = i;
    }
    for (uint32_t i = last; i != SPAN_NONE; i = critical->holds[i].span) {
        critical->on_path[i] = true;
        critical->path[count++] = i;
        uint32_t next = critical->holds[i].span;
        if (next != SPAN_NONE && critical->on_path[next])
            critical->holds[i] = (struct hold){.by = HELD_BY_NOTHING, .span = SPAN_NONE};
    }
    critical->path_count = count;
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = critical->path[i];
        critical->path[i] = critical->path[count - 1 - i];
        critical->path[count - 1 - i] = other;
    }
}

enum status critical_find(const struct timeline *timeline, const struct machine *machine,
                          struct critical *critical, struct error *error)
{
    struct critical result = {0};
    struct finder finder;
    enum status status = STATUS_OK;
    if (!finder_begin(&finder, timeline, &result))
        status =
            error_no_memory(error, "for the critical path of %u spans", timeline->span_count);
    finder.machine = machine;
    if (status == STATUS_OK)
        status = hold_all_by_order(&finder, error);
    if (status == STATUS_OK && machine != NULL && timeline->launched_ns == 0)
        status = finder_hold_by_queues(&finder, error);
    if (status == STATUS_OK) {
        hold_all_by_engine(&finder);
        const bool checks = machine != NULL && rule_checks_dependencies(machine);
        for (uint32_t i = 0; checks && i < timeline_devices(timeline); i++)
            finder_hold_by_signals(&finder, i);
        follow(timeline, &result);
        *critical = result;
    } else {
        critical_free(&result);
    }
    arena_free(&finder.arena);
    return status;
}

void critical_free(struct critical *critical)
{
    arena_free(&critical->arena);
    *critical = (struct critical){0};
}
