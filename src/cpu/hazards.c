/* hazards.c - ops, and the host's own code, that touch the same bytes and that nothing orders.
 *
 * What is done on the simulated machine happens in one of the orders that CUDA allows; a race
 * is there whatever that order was. So each op has a vector clock, as plan/clocks.h has them
 * for a plan that is known as a whole: what has surely ended before it starts. Here lanes are
 * added as streams are, the host's code between two calls is an op of lane 0, and what a kernel
 * touches is known when it has run. Two of which neither has the other in its clock race where
 * they touch the same bytes and one writes; that both are atomic is no race.
 *
 * An op is kept until the host has waited for it. What the host's code touches is looked at as
 * it does so, and kept only where a kernel or function that has yet to run may touch it. A look
 * is a glance where the same code has just touched memory nearby: then it is known that nothing
 * races with it there, until something is issued, runs, or is waited for. */
#include "cpu/hazards.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOUCHES_MOST = 4096,
    KEPT_MOST = 4096,
    NEARBY = 64 << 10, /* bytes that are looked at together */
};

struct lane {
    struct past now;
    uint32_t own;
};

static struct {
    struct lane *lanes; /* the host's, then the streams' */
    size_t lane_count, lane_capacity;
    struct past *events;
    size_t event_count, event_capacity;
    struct clock_doing **kept;
    size_t kept_count, kept_capacity, open_count;
    struct clock_doing *host, *function; /* what runs now; NULL: none that is kept */
    uint32_t calls;                      /* of the host's */
    bool everything;                     /* a function has yet to run */
    bool watches;                        /* there are pages that the host may not touch */
} now;

static atomic_bool function_runs;
static unsigned char pages[1 << 16]; /* by address: the host may touch what an op does */

/* --- clocks --- */

static struct lane *lane_at(uint32_t lane)
{
    while (now.lane_count <= lane)
        *CLOCK_ADD(now.lanes, now.lane_count, now.lane_capacity) = (struct lane){{NULL, 0}, 0};
    return &now.lanes[lane];
}

/* Joins all that lane `other` has done so far. */
static void join_lane(struct past *past, uint32_t other)
{
    const struct lane *lane = lane_at(other);
    past_join(past, &lane->now);
    past_join_place(past, other, lane->own);
}

static struct past *host_past(void)
{
    return &lane_at(0)->now;
}

/* Takes up what the next op of a stream comes after. */
static struct past *enter(uint32_t stream)
{
    const struct clock_stream *streams = clock_now.streams, *self = &streams[stream];
    (void)lane_at((uint32_t)clock_now.stream_count);
    struct past *past = &lane_at(stream + 1)->now;
    past_join(past, host_past());
    past_join_place(past, 0, now.calls - 1);
    for (uint32_t i = 0; i < clock_now.stream_count && self->kind != CPU_NONBLOCKING; i++)
        if (streams[i].device == self->device && streams[i].kind != CPU_NONBLOCKING &&
            (streams[i].kind == CPU_LEGACY) != (self->kind == CPU_LEGACY))
            join_lane(past, i + 1);
    past_join_place(past, stream + 1, lane_at(stream + 1)->own);
    return past;
}

/* --- touches --- */

/* Tells of what races with a touch, and narrows the memory around it, of which *nearby is a
 * touch, to where nothing does of which nothing was told. */
static void check_touch(const struct clock_doing *doing, const struct past *past,
                        const struct touch *touch, struct touch *nearby)
{
    for (size_t i = 0; i < now.kept_count; i++) {
        const struct clock_doing *other = now.kept[i];
        const struct touch *found;
        if (!touch_may_race(doing, other) || past_covers(past, other) ||
            past_covers(&other->past, doing))
            continue;
        if ((found = touch_find(other, nearby)) != NULL && found->end <= touch->from) {
            nearby->from = touch->from;
            found = touch_find(other, nearby);
        }
        if (found != NULL && found->from >= touch->end) {
            nearby->end = found->from;
        } else if (found != NULL && hazard_tell(other, found, doing, touch)) {
            *nearby = *touch;
        }
    }
}

static void check_all(const struct clock_doing *doing)
{
    for (size_t i = 0; i < doing->count; i++) {
        struct touch nearby = doing->touches[i];
        check_touch(doing, &doing->past, &doing->touches[i], &nearby);
    }
}

static void on_host_touch(uintptr_t address, uint64_t bytes, bool writes, const void *where);

/* Lets the host's accesses to a range be looked at. */
static void watch_pages(uintptr_t from, uintptr_t end)
{
    now.watches = true;
    cpu_host_touched = on_host_touch;
    if (end - from >= (uintptr_t)sizeof pages << 12) {
        memset(pages, 1, sizeof pages);
        return;
    }
    for (uintptr_t page = from >> 12; page <= (end - 1) >> 12; page++)
        pages[page % sizeof pages] = 1;
}

static bool is_hosts(const struct cpu_block *block)
{
    return block == NULL || (block->kind != CPU_DEVICE && block->kind != CPU_POOL);
}

static void add_touch(struct clock_doing *doing, struct touch touch)
{
    *CLOCK_ADD(doing->touches, doing->count, doing->capacity) = touch;
    if (!doing->is_host && !doing->is_function && is_hosts(cpu_block_at(touch.from)))
        watch_pages(touch.from, touch.end);
}

static void add_rows(struct clock_doing *doing, uintptr_t from, uint64_t pitch,
                     const struct cpu_op *op, bool writes)
{
    const uint64_t rows = op->height > 0 ? op->height : 1;
    const uint64_t width = op->height > 0 ? op->width : op->bytes;
    for (uint64_t row = 0; row < rows; row++, from += pitch)
        add_touch(doing, (struct touch){from, from + width, NULL, !writes, writes, false});
}

static int compare(const void *a, const void *b)
{
    const struct touch *left = a, *right = b;
    return (left->from > right->from) - (left->from < right->from);
}

/* --- what is kept --- */

static struct clock_doing *host_doing(void)
{
    return now.function != NULL ? now.function : now.host;
}

static void log_touch(struct clock_doing *doing, const struct touch *touch)
{
    if (doing->count < TOUCHES_MOST)
        *CLOCK_ADD(doing->touches, doing->count, doing->capacity) = *touch;
}

/* Keeps what the host's code, or a function of its, has touched. */
static void log_host(const struct touch *touch)
{
    log_touch(host_doing(), touch);
}

static void drop(struct clock_doing *doing)
{
    if (now.host == doing) /* whose code may still go on */
        now.host = NULL;
    free(doing->past.places);
    free(doing->touches);
    free(doing);
}

/* Drops what all that comes yet is behind. Ops that have yet to run were issued before. */
static void drop_old(void)
{
    size_t count = 0;
    for (size_t i = 0; i < now.kept_count; i++) {
        struct clock_doing *doing = now.kept[i];
        const bool over =
            now.open_count == 0 && (doing->is_host || past_covers(host_past(), doing));
        const bool much = now.kept_count > KEPT_MOST && i < KEPT_MOST / 2;
        if (doing->open || (!over && !much))
            now.kept[count++] = doing;
        else
            drop(doing);
    }
    now.kept_count = count;
    if (count == 0 && now.watches) {
        memset(pages, 0, sizeof pages);
        now.watches = now.everything = false;
    }
}

static struct clock_doing *keep(uint32_t lane, uint32_t place, const struct past *past)
{
    const struct clock_doing begun = {.lane = lane, .place = place};
    struct clock_doing *doing = clock_copy(&begun, sizeof begun);
    past_join(&doing->past, past);
    return *CLOCK_ADD(now.kept, now.kept_count, now.kept_capacity) = doing;
}

static void name_call(struct clock_doing *doing, const struct clock_call *call)
{
    doing->id = call->id;
    doing->call = call->name;
    doing->file = call->file;
    doing->line = call->line;
}

/* --- for the clock --- */

void hazard_call(void)
{
    (void)lane_at(0);
    glances_end();
    now.calls++;
    now.host = NULL;
}

void hazard_record(uint32_t stream, uint32_t event)
{
    while (now.event_count <= event)
        *CLOCK_ADD(now.events, now.event_count, now.event_capacity) = (struct past){NULL, 0};
    memset(now.events[event].places, 0, now.events[event].count * sizeof(uint32_t));
    past_join(&now.events[event], enter(stream));
}

void hazard_wait(uint32_t stream, uint32_t event)
{
    if (event < now.event_count)
        past_join(enter(stream), &now.events[event]);
}

void hazard_host_waits(enum cpu_op_kind kind, uint32_t subject)
{
    const struct clock_stream *streams = clock_now.streams;
    (void)lane_at((uint32_t)clock_now.stream_count);
    glances_end();
    if (kind == CPU_SYNC_EVENT && subject < now.event_count)
        past_join(host_past(), &now.events[subject]);
    else if (kind == CPU_SYNC_STREAM && streams[subject].kind == CPU_LEGACY)
        past_join(host_past(), enter(subject));
    else if (kind == CPU_SYNC_STREAM)
        join_lane(host_past(), subject + 1);
    for (uint32_t i = 0; kind == CPU_SYNC_DEVICE && i < clock_now.stream_count; i++)
        if (streams[i].device == (int)subject)
            join_lane(host_past(), i + 1);
    drop_old();
}

struct clock_doing *hazard_op(const struct cpu_op *op, uint32_t stream,
                              const struct clock_call *call, uint64_t node)
{
    const struct past *past = enter(stream);
    glances_end();
    struct clock_doing *doing = keep(stream + 1, ++lane_at(stream + 1)->own, past);
    name_call(doing, call);
    doing->node = node;
    doing->is_function = op->kind == CPU_FUNCTION;
    doing->open = op->kind == CPU_KERNEL || op->kind == CPU_FUNCTION;
    now.open_count += doing->open;
    if (op->kind == CPU_KERNEL) {
        doing->kernel = op->launch->name;
        if (op->launch->file != NULL) {
            doing->file = op->launch->file;
            doing->line = op->launch->line;
        }
        for (uint32_t i = 0; i < op->launch->word_count; i++) {
            const struct cpu_block *block = cpu_block_at(op->launch->words[i]);
            if (block != NULL && is_hosts(block))
                watch_pages(block->from, block->from + block->bytes);
        }
    } else if (op->kind == CPU_FUNCTION) {
        now.watches = now.everything = true;
        cpu_host_touched = on_host_touch;
    } else {
        if (op->kind == CPU_COPY)
            add_rows(doing, op->from, op->from_pitch, op, false);
        add_rows(doing, op->to, op->to_pitch, op, true);
        qsort(doing->touches, doing->count, sizeof *doing->touches, compare);
        check_all(doing);
    }
    const bool opens = doing->open;
    if (now.kept_count > KEPT_MOST)
        drop_old();
    return opens ? doing : NULL;
}

/* An op that has run comes before all that the host does from now on. */
static void host_comes_after(const struct clock_doing *doing)
{
    past_join(host_past(), &doing->past);
    past_join_place(host_past(), doing->lane, doing->place);
}

void hazard_begin(struct clock_doing *doing)
{
    glances_end();
    now.function = doing != NULL && doing->is_function ? doing : NULL;
    atomic_store(&function_runs, now.function != NULL);
}

void hazard_end(struct clock_doing *doing, const struct cpu_did *did)
{
    glances_end();
    now.function = NULL;
    atomic_store(&function_runs, false);
    if (doing == NULL)
        return;
    for (size_t i = 0; i < did->range_count; i++) {
        const struct cpu_range *range = &did->ranges[i];
        add_touch(doing, (struct touch){range->from, range->from + range->bytes, NULL,
                                        range->reads, range->writes, range->atomic});
    }
    doing->open = false;
    now.open_count--;
    /* A function may tell any thread of the host's that it has run. */
    if (doing->is_function)
        host_comes_after(doing);
    else
        check_all(doing);
    drop_old();
}

void cpu_touched(uint32_t stream, uint64_t address, uint64_t bytes)
{
    const struct cpu_op op = {.kind = CPU_SET, .stream = stream, .to = address, .bytes = bytes};
    (void)hazard_op(&op, stream, &clock_now.calls[clock_own.call], 0);
}

/* --- the host's code --- */

void (*hazard_waits)(void);

/* The host reads what another is to write, until it does: all that was issued runs, and what
 * has written there has ended before what the host does then. */
static void host_polls(const struct touch *touch)
{
    if (now.open_count > 0 && now.function == NULL && clock_own.depth == 0)
        hazard_waits();
    for (size_t i = 0; i < now.kept_count; i++) {
        const struct clock_doing *other = now.kept[i];
        if (other->is_host || other->open || touch_find(other, touch) == NULL)
            continue;
        host_comes_after(other);
    }
}

/* Looks at a touch, and at what lies nearby, which the same code may touch next. */
static void host_looks(const struct touch *touch, struct glance *glance)
{
    struct clock_doing *doing = host_doing();
    const struct clock_doing brief = {
        .place = now.calls, .past = *host_past(), .is_host = true};
    const uintptr_t pieces = -(uintptr_t)NEARBY;
    struct touch nearby = *touch;
    nearby.from = touch->from & pieces;
    nearby.end = (touch->end + NEARBY - 1) & pieces;
    check_touch(doing != NULL ? doing : &brief, doing != NULL ? &doing->past : &brief.past,
                touch, &nearby);
    if (doing == NULL && now.open_count > 0) {
        doing = now.host = keep(0, now.calls, host_past());
        doing->is_host = true;
    }
    glance_begin(glance, touch, &nearby,
                 now.open_count > 0 && doing->count < TOUCHES_MOST ? log_host : NULL);
}

/* Looks at what has just been looked at. */
static struct touch known;
static void look_again(void)
{
    on_host_touch(known.from, known.end - known.from, known.writes, known.code);
}

/* Touches of other threads are not looked at while a function runs, since the function may wait
 * for them and holds the lock. Nor is what a call does itself, such as to free a launch's
 * arguments: it is not yet known then what the call waits for. */
static void on_host_touch(uintptr_t address, uint64_t bytes, bool writes, const void *where)
{
    const struct touch touch = {address, address + bytes, where, !writes, writes, false};
    if (clock_own.depth > 0 && !atomic_load(&function_runs))
        return;
    uintptr_t page = address >> 12;
    while (!now.everything && !pages[page % sizeof pages])
        if (++page > (address + bytes - 1) >> 12)
            return;
    struct glance *glance = where != NULL ? glance_at(where) : NULL;
    if (glance != NULL && glance_knows(glance, &touch)) {
        cpu_watched.looks++;
        return;
    }
    const int64_t since_ns = clock_processor_ns();
    while (!clock_try_lock()) {
        if (atomic_load(&function_runs))
            return;
        sched_yield();
    }
    if (where == NULL)
        host_polls(&touch);
    else
        host_looks(&touch, glance != NULL ? glance : glance_add(where));
    clock_unlock();
    if (cpu_look_ns == 0 && where != NULL) {
        known = touch;
        cpu_look_ns = cpu_added_ns(look_again);
    }
    clock_hide_ns(since_ns);
}

void cpu_host_gives(uintptr_t address, uint64_t bytes)
{
    const struct touch touch = {address, address + bytes, NULL, false, true, false};
    struct clock_doing *doing = keep(0, now.calls, host_past());
    doing->is_host = true;
    name_call(doing, &clock_now.calls[clock_own.call]);
    log_touch(doing, &touch);
    check_all(doing);
}
