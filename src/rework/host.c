/* host.c - changes of the host's part: what it waits for, and what its calls take. */
#include "core/arena.h"
#include "core/compare.h"
#include "plan/rules.h"
#include "plan/timeline.h"
#include "rework/parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORK_NS = 20000,     /* the host worked for long where that passed between two calls */
    TOUCHED_PER_NS = 64, /* bytes: the host reads or fills memory no faster than that */
};

/* --- what the host may need of the copies --- */

/* The copies, and the host's time between calls. */
struct host {
    struct rework_draft *draft;
    struct arena arena; /* what has these: */
    uint32_t *next;   /* per item: the next copy from or to the same bytes; REWORK_NONE: none */
    uint32_t *places; /* per item: its place among all, by thread and then in order */
    int64_t *longest_ns; /* a tree of maxima, by place, of the time before a call */
    uint32_t *open;      /* copies that no wait was behind yet */
    size_t open_count;
    uint32_t *last; /* per thread: the last item that waits */
    /* The copies out that no kept wait was behind: the latest, and whether all are in its
     * stream.
     */
    uint32_t out;
    bool out_alone;
};

/* Returns true if the host waits there and the program could leave that out: not a library. */
static bool waits(const struct rework_item *item)
{
    return (op_is_sync(item->op.kind) && !item->seen.library) ||
           (op_is_copy(item->op.kind) && item->seen.waits);
}

/* Puts the times between calls in a tree, each thread's together: in the upper half of
 * `longest_ns` they stand by place, and an entry k below is the greater of 2 k and 2 k + 1. */
static void list_stretches(struct host *host, uint32_t threads)
{
    const struct rework_draft *draft = host->draft;
    uint32_t *ends = host->last; /* per thread: the place behind its latest item so far */
    for (uint32_t i = 0; i < draft->count; i++)
        ends[draft->items[i].seen.thread + 1]++;
    for (uint32_t thread = 1; thread < threads; thread++)
        ends[thread] += ends[thread - 1];
    for (uint32_t i = 0; i < draft->count; i++) {
        host->places[i] = ends[draft->items[i].seen.thread]++;
        host->longest_ns[draft->count + host->places[i]] = draft->items[i].seen.host_ns;
    }
    for (size_t k = draft->count; k-- > 1;)
        host->longest_ns[k] = later(host->longest_ns[2 * k], host->longest_ns[2 * k + 1]);
    memset(ends, 0, (threads + (size_t)1) * sizeof *ends);
}

/* Returns the longest time that a thread spent outside of calls behind an item, up to a later
 * one of the same thread. */
static int64_t longest_stretch_ns(const struct host *host, uint32_t behind, uint32_t until)
{
    size_t from = host->draft->count + host->places[behind] + 1;
    size_t to = host->draft->count + host->places[until] + 1;
    int64_t longest_ns = 0;
    for (; from < to; from /= 2, to /= 2) {
        if (from % 2)
            longest_ns = later(longest_ns, host->longest_ns[from++]);
        if (to % 2)
            longest_ns = later(longest_ns, host->longest_ns[--to]);
    }
    return longest_ns;
}

static bool host_begin(struct host *host, struct rework_draft *draft)
{
    size_t items = draft->count + (size_t)1;
    size_t threads = draft->base->plan->recorded->threads + (size_t)1;
    *host = (struct host){.draft = draft, .out = REWORK_NONE, .out_alone = true};
    struct arena *arena = &host->arena;
    host->next = rework_next_copies(draft, arena);
    host->places = arena_zeros(arena, items, sizeof *host->places);
    host->longest_ns = arena_zeros(arena, 2 * items, sizeof *host->longest_ns);
    host->open = arena_zeros(arena, items, sizeof *host->open);
    host->last = arena_zeros(arena, threads, sizeof *host->last);
    const bool room = !arena->full;
    if (room)
        list_stretches(host, draft->base->plan->recorded->threads);
    for (uint32_t i = 0; i < draft->count && room; i++) {
        if (waits(&draft->items[i]))
            host->last[draft->items[i].seen.thread] = i;
    }
    return room;
}

/* Returns the item behind `item` on its thread; REWORK_NONE: none. */
static uint32_t next_of_thread(const struct rework_draft *draft, uint32_t item)
{
    for (uint32_t i = item + 1; i < draft->count; i++) {
        if (draft->items[i].seen.thread == draft->items[item].seen.thread)
            return i;
    }
    return REWORK_NONE;
}

static bool covers(const struct host *host, const struct rework_item *wait,
                   const struct rework_item *copy)
{
    if (wait->op.kind == OP_SYNC || op_is_copy(wait->op.kind))
        return wait->op.stream >= host->draft->base->plan->streams ||
               wait->op.stream == copy->op.stream;
    return wait->target == copy->origin ||
           (wait->target != REWORK_NONE && copy->origin < wait->target &&
            host->draft->base->plan->ops[wait->target].stream == copy->op.stream);
}

/* Returns true if the host had time enough, behind `wait`, to touch all bytes of `copy` before
 * a later copy uses them: between two calls, as the moments that pass between any two do not
 * add up to work. */
static bool is_touched(const struct host *host, uint32_t wait, uint32_t copy)
{
    uint32_t next = host->next[copy];
    const struct rework_item *items = host->draft->items;
    if (next == REWORK_NONE || next < wait)
        return false;
    if (items[next].seen.thread != items[wait].seen.thread)
        return true;
    int64_t spent_ns = longest_stretch_ns(host, wait, next);
    return spent_ns > 0 && (uint64_t)spent_ns >= op_bytes(&items[copy].op) / TOUCHED_PER_NS;
}

/* Returns the copy that the host must still wait for where `wait` is; REWORK_NONE: no copy.
 * Sets *whole where one is not enough. Copies that the wait was behind are no longer open. */
static uint32_t needed_copy(struct host *host, uint32_t wait, bool *whole)
{
    const struct rework_item *items = host->draft->items, *item = &items[wait];
    uint32_t found = REWORK_NONE, after = next_of_thread(host->draft, wait);
    size_t kept = 0;
    *whole = false;
    for (size_t i = 0; i < host->open_count; i++) {
        uint32_t copy = host->open[i];
        if (!covers(host, item, &items[copy])) {
            host->open[kept++] = copy;
            continue;
        }
        if (!is_touched(host, wait, copy))
            continue;
        *whole |= found != REWORK_NONE && items[found].op.stream != items[copy].op.stream;
        found = copy;
    }
    host->open_count = kept;
    bool works = after != REWORK_NONE && items[after].seen.host_ns >= WORK_NS;
    if (works && host->draft->base->managed) /* what kernels left there needs no copy */
        return wait;
    if (works && host->out != REWORK_NONE && covers(host, item, &items[host->out])) {
        *whole |= !host->out_alone || (found != REWORK_NONE &&
                                       items[found].op.stream != items[host->out].op.stream);
        found = found == REWORK_NONE || host->out > found ? host->out : found;
    }
    return found;
}

/* --- waits --- */

static void open_copy(struct host *host, uint32_t index)
{
    const struct rework_item *items = host->draft->items;
    host->open[host->open_count++] = index;
    if (items[index].op.kind != OP_D2H)
        return;
    host->out_alone = host->out == REWORK_NONE ||
                      (host->out_alone && items[host->out].op.stream == items[index].op.stream);
    host->out = index;
}

/* Takes a wait away, or leaves one for just the copy that the host needs. */
static void change_wait(struct host *host, uint32_t index)
{
    struct rework_item *item = &host->draft->items[index];
    bool whole, copies = op_is_copy(item->op.kind);
    uint32_t copy = needed_copy(host, index, &whole);
    if (copy == REWORK_NONE && copies) {
        item->seen.waits = false;
        return;
    }
    if (copy == REWORK_NONE) {
        rework_draft_drop(host->draft, index);
        return;
    }
    host->out = REWORK_NONE;
    host->out_alone = true;
    if (whole || copy == index)
        return;
    if (copies) /* what it waited for beside itself is needed, not itself */
        return;
    item->op.kind = OP_SYNC_EVENT;
    item->op.stream = host->draft->base->plan->streams;
    item->target = host->draft->items[copy].origin;
}

static void drop_syncs(struct rework_draft *draft)
{
    struct host host;
    const bool room = rework_draft_room(draft, host_begin(&host, draft));
    for (uint32_t i = 0; i < draft->count && room; i++) {
        const struct rework_item *item = &draft->items[i];
        if (op_is_copy(item->op.kind))
            open_copy(&host, i);
        if (waits(item) && host.last[item->seen.thread] != i)
            change_wait(&host, i);
    }
    arena_free(&host.arena);
    rework_draft_tidy(draft);
}

/* Says of the host's waits for events which op they wait for, as the events' records may go. */
static void find_targets(struct rework_draft *draft)
{
    size_t streams = draft->streams + (size_t)1, events = draft->events + (size_t)1;
    struct arena arena = {0};
    uint32_t *latest = arena_ones(&arena, streams, sizeof *latest);
    uint32_t *records = arena_ones(&arena, events, sizeof *records);
    const bool room = rework_draft_room(draft, !arena.full);
    for (size_t i = 0; i < draft->count && room; i++) {
        struct rework_item *item = &draft->items[i];
        if (item->op.kind == OP_RECORD)
            records[item->op.event.event] = latest[item->op.stream];
        if (op_is_node(item->op.kind) && item->op.stream < draft->streams)
            latest[item->op.stream] = item->origin;
        if (item->op.kind != OP_SYNC_EVENT)
            continue;
        item->target = records[item->op.event.event];
        if (item->target == REWORK_NONE)
            rework_draft_drop(draft, i);
    }
    arena_free(&arena);
    rework_draft_tidy(draft);
}

/* --- calls --- */

/* A library waits for its own sake; but of ops of which it is not known what they work on, some
 * may need the order. An event that keeps the time may be there for that. */
static bool is_dropped(const struct rework_draft *draft, const struct rework_item *item,
                       const struct rework *change)
{
    if (item->seen.library)
        return change->makes_early[CALL_HANDLE - CALL_MAKE] && draft->base->blind == 0;
    if (item->op.kind == OP_ALLOC)
        return item->op.alloc.pinned ? change->drops_pinned_allocs : change->drops_allocs;
    return ((item->op.kind == OP_RECORD && !item->seen.timed) || item->op.kind == OP_WAIT) &&
           rework_drops_waits(change);
}

/* Returns the stream that the host waits for, whose op or event it names; UINT32_MAX: none. */
static uint32_t stream_waited_for(const struct rework_draft *draft,
                                  const struct rework_item *item)
{
    enum { NEAR = 4096 };
    const struct op *ops = draft->base->plan->ops;
    if (item->op.kind != OP_SYNC_EVENT)
        return item->op.kind == OP_SYNC ? item->op.stream : UINT32_MAX;
    for (uint32_t i = item->origin; i > 0 && i + NEAR > item->origin; i--) {
        if (ops[i - 1].kind == OP_RECORD &&
            ops[i - 1].event.event == ops[item->origin].event.event)
            return ops[i - 1].stream;
    }
    return UINT32_MAX;
}

/* Gives streams of little work that the host waits for a priority above all others', where none
 * has one. */
static void raise_priorities(struct rework_draft *draft)
{
    enum { TIMES = 4 };
    const size_t streams = draft->streams + (size_t)1;
    double *work_ns = calloc(streams, sizeof *work_ns), all_ns = 0;
    int *priorities = calloc(streams, sizeof *priorities);
    const bool room = rework_draft_room(draft, work_ns != NULL && priorities != NULL);
    bool urgent = false;
    for (size_t i = 0; i < draft->count && room; i++) {
        const struct rework_item *item = &draft->items[i];
        if (op_is_launch(item->op.kind) && item->op.stream < draft->streams) {
            work_ns[item->op.stream] += (double)item->seen.work_ns;
            all_ns += (double)item->seen.work_ns;
        }
    }
    for (size_t i = 0; i < draft->count && room; i++) {
        const uint32_t stream = stream_waited_for(draft, &draft->items[i]);
        if (stream < draft->streams && TIMES * work_ns[stream] < all_ns)
            urgent = (priorities[stream] = -1) < 0;
    }
    free(work_ns);
    if (urgent && draft->priorities == NULL)
        draft->priorities = priorities;
    else
        free(priorities);
}

/* A graph that was launched before is launched in less time: as the machine has it. */
static void relaunch_graph(struct rework_draft *draft, size_t index)
{
    struct op_recorded *seen = &draft->items[index].seen;
    uint32_t nodes = 1;
    while (index + nodes < draft->count && draft->items[index + nodes].seen.in_graph)
        nodes++;
    if (nodes > 1 && seen->call_ns > 1)
        seen->call_ns =
            earlier(seen->call_ns,
                    rework_graph_launch_ns(draft->base->plan, draft->base->machine, nodes));
}

void rework_recording_leave(struct rework_draft *draft)
{
    for (size_t i = 0; i < draft->count; i++) {
        struct op_recorded *seen = &draft->items[i].seen;
        seen->host_ns -= seen->cost.host_ns;
        seen->call_ns -= seen->cost.call_ns;
        if (seen->by_node)
            relaunch_graph(draft, i);
        seen->by_node = false;
        seen->cost = (struct recorded_cost){0};
    }
}

static void change_calls(struct rework_draft *draft, const struct rework *change)
{
    for (size_t i = 0; i < draft->count; i++) {
        struct rework_item *item = &draft->items[i];
        if (change->pins)
            item->seen.pageable = false;
        if (change->unties_events)
            item->seen.timed = false;
        if (change->frees_launches && op_is_launch(item->op.kind))
            item->seen.waits = false;
        if (change->function_threads > 0 && item->op.kind == OP_CALLBACK &&
            item->seen.work_ns > draft->base->machine->callback_ns)
            item->seen.work_ns = draft->base->machine->callback_ns;
        for (int k = 0; k < CALL_MADE_KINDS; k++) {
            if (!change->makes_early[k] && !(k == CALL_LOAD - CALL_MAKE && change->loads_early))
                continue;
            item->seen.host_ns = later(item->seen.host_ns - item->seen.made_ns[k], 0);
            item->seen.made_ns[k] = 0;
        }
        if (change->makes_early[0])
            relaunch_graph(draft, i);
        if (is_dropped(draft, item, change))
            rework_draft_drop(draft, i);
    }
    draft->launches_block &= !change->frees_launches;
    draft->loads_lazily &= !change->loads_early;
    if (change->evens_priorities || change->streams > 0) {
        free(draft->priorities);
        draft->priorities = NULL;
    }
    rework_draft_tidy(draft);
}

void rework_host_change(struct rework_draft *draft, const struct rework *change)
{
    if (rework_drops_waits(change) || change->drops_syncs)
        find_targets(draft);
    change_calls(draft, change);
    /* Streams that are dealt out anew have none. */
    if (change->raises_priorities && change->streams == 0)
        raise_priorities(draft);
    if (change->drops_syncs)
        drop_syncs(draft);
}
