/* loop.c - which of the kinds of passes is the loop's, and which of its passes are judged. */
#include "analysis/analysis.h"
#include "analysis/loop_kinds.h"

#include <stdlib.h>

enum { LOAD_NS = 200000 }; /* a launch's call before the loop that takes longer loads code */

static const double ALIKE = 0.9;       /* of the time of another: as long as it */
static const double SHORTER = 2.0 / 3; /* of as many passes are of about as many ops */
static const double HALF = 0.5; /* of all ops are a loop, and of a pass what it is made of
                                   beside variants */
static const double UNLIKE_MOST = 0.1; /* of the time: with more, one stretch is judged */

/* --- its passes --- */

/* Returns the next stretch of the kind's passes from `place` on; one without passes where there
 * is none. */
static struct loop_stretch next_stretch(const struct loop_kinds *kinds,
                                        const struct loop_kind *kind, uint32_t place)
{
    while (place + kind->ops <= kinds->count && !loop_is_pass(kinds, kind, place))
        place++;
    struct loop_stretch stretch = {.first = place, .end = place};
    for (; loop_is_pass(kinds, kind, stretch.end); stretch.end += kind->ops)
        stretch.passes++;
    return stretch;
}

/* Returns the longest stretch of the kind's passes, or all of them from the first to the last
 * where what lies between takes little. */
static struct loop_stretch find_stretch(const struct loop_kinds *kinds,
                                        const struct loop_kind *kind)
{
    struct loop_stretch longest = {0}, whole = {0};
    for (uint32_t place = 0;;) {
        const struct loop_stretch next = next_stretch(kinds, kind, place);
        if (next.passes == 0)
            break;
        if (longest.passes == 0 ||
            loop_stretch_ns(kinds, &next) > loop_stretch_ns(kinds, &longest))
            longest = next;
        if (whole.passes > 0)
            whole.unlike_ns +=
                loop_border_ns(kinds, next.first) - loop_border_ns(kinds, whole.end);
        else
            whole.first = next.first;
        whole.passes += next.passes;
        place = whole.end = next.end;
    }
    return (double)whole.unlike_ns <= UNLIKE_MOST * (double)loop_stretch_ns(kinds, &whole)
               ? whole
               : longest;
}

/* Returns how often something else lies between the passes of a stretch. */
static uint32_t count_unlike(const struct loop_kinds *kinds, const struct loop_kind *kind,
                             const struct loop_stretch *stretch)
{
    uint32_t unlike = 0, place = stretch->first;
    while (place < stretch->end) {
        const struct loop_stretch next = next_stretch(kinds, kind, place);
        unlike += next.first > place;
        place = next.end;
    }
    return unlike;
}

/* Returns true if the passes are most of what the program did. Of less, such as all the copies
 * before all the kernels, the rest is as much its work. */
static bool is_enough(const struct loop_kinds *kinds, const struct loop_kind *kind,
                      const struct loop_stretch *stretch)
{
    return stretch->passes >= LOOP_PASSES_MIN &&
           (double)kind->ops * (double)(kind->passes + 1) >= HALF * (double)kinds->count;
}

/* --- the kind of pass --- */

enum { RARELY = 4 }; /* times as many as passes stand between two variants there are of those */

/* The times of the passes in the second half of a stretch. The first ones do not count, as they
 * may stand behind a start-up and load code. */
struct usual {
    double sum_ns;
    bool even; /* those of more than twice the mean take no more than half of it: else they are
                  the ends of longer passes */
};

/* Adds up the times of the passes of more than `least_ns` in the second half of a stretch. */
static double add_times(const struct loop_kinds *kinds, const struct loop_kind *kind,
                        const struct loop_stretch *stretch, double least_ns)
{
    double sum_ns = 0;
    uint32_t pass = 0;
    for (uint32_t at = stretch->first; at + kind->ops <= stretch->end; at++) {
        if (!loop_is_pass(kinds, kind, at))
            continue;
        const double ns = (double)loop_pass_ns(kinds, kind, at);
        sum_ns += 2 * pass++ >= stretch->passes && ns > least_ns ? ns : 0;
        at += kind->ops - 1;
    }
    return sum_ns;
}

static struct usual usual_of(const struct loop_kinds *kinds, const struct loop_kind *kind,
                             const struct loop_stretch *stretch)
{
    const double sum_ns = add_times(kinds, kind, stretch, -1);
    const double twice_ns = 4 * sum_ns / (double)stretch->passes;
    return (struct usual){.sum_ns = sum_ns,
                          .even = add_times(kinds, kind, stretch, twice_ns) <= HALF * sum_ns};
}

/* Returns the kind of pass of the loop: of those that take about as long in all as the one that
 * does for longest, one that has most passes, and of these the one that covers most ops. Only
 * kinds of `even` passes count where there are such. NULL: there is none. */
static const struct loop_kind *find_whole(const struct loop_kinds *kinds, bool even)
{
    const struct loop_kind *chosen = NULL;
    uint32_t passes[LOOP_KINDS_MOST] = {0}, most = 0;
    double sums_ns[LOOP_KINDS_MOST], longest_ns = 0;
    for (uint32_t i = 0; i < kinds->kind_count; i++) {
        const struct loop_kind *kind = &kinds->kinds[i];
        const struct loop_stretch stretch = find_stretch(kinds, kind);
        const struct usual usual = usual_of(kinds, kind, &stretch);
        if ((even && !usual.even) || !is_enough(kinds, kind, &stretch))
            continue;
        passes[i] = stretch.passes;
        sums_ns[i] = usual.sum_ns;
        longest_ns = usual.sum_ns > longest_ns ? usual.sum_ns : longest_ns;
    }
    for (uint32_t i = 0; i < kinds->kind_count; i++) {
        passes[i] = passes[i] > 0 && sums_ns[i] >= ALIKE * longest_ns ? passes[i] : 0;
        most = passes[i] > most ? passes[i] : most;
    }
    for (uint32_t i = 0; i < kinds->kind_count; i++) {
        if (passes[i] > 0 && (double)passes[i] >= SHORTER * (double)most &&
            (chosen == NULL || kinds->kinds[i].covered > chosen->covered))
            chosen = &kinds->kinds[i];
    }
    return chosen != NULL || !even ? chosen : find_whole(kinds, false);
}

/* Returns true if the rest of a kind of pass, beside what another kind covers, is as much as a
 * pass of that, and mostly of ops that it has, too: an evaluation among steps of training.
 * `names` has room for one of the other's passes. */
static bool has_variants(const struct loop_kinds *kinds, const struct loop_kind *whole,
                         const struct loop_kind *part, uint64_t *names)
{
    const uint32_t end = whole->place + whole->ops;
    uint32_t rest = 0, shared = 0;
    loop_sort_names(kinds, part, names);
    for (uint32_t i = whole->place; i < end;) {
        if (i + part->ops <= end && loop_is_pass(kinds, part, i)) {
            i += part->ops;
            continue;
        }
        rest++;
        shared += bsearch(&kinds->items[i++].name, names, part->ops, sizeof *names,
                          loop_compare_names) != NULL;
    }
    return rest >= part->ops && 2 * shared >= rest;
}

/* Returns the kind of pass, shorter than `whole`, of which that is made beside variants of it;
 * NULL: there is none, or what is made in each pass of `whole` is its own. `names` has room for
 * all ops. */
static const struct loop_kind *find_common(const struct loop_kinds *kinds,
                                           const struct loop_kind *whole, uint64_t *names)
{
    const struct loop_kind *chosen = NULL;
    const bool makes = loop_makes_anew(kinds, whole);
    EACH (const struct loop_kind, kind, kinds->kinds, kinds->kind_count) {
        const struct loop_item *first = &kinds->items[kind->place];
        /* All of a graph's launch is issued at once: there is no loop of the host's within. */
        const bool in_launch = first[kind->ops].issue_ns == first->issue_ns;
        const bool now_and_then = whole->passes <= RARELY * (whole->ops / kind->ops);
        if (kind->ops * LOOP_PASSES_MIN <= whole->ops && now_and_then &&
            (chosen == NULL || kind->covered > chosen->covered) &&
            (double)kind->covered >= HALF * (double)whole->covered && !in_launch && !makes &&
            has_variants(kinds, whole, kind, names))
            chosen = kind;
    }
    return chosen;
}

/* --- the passes that are judged --- */

/* Returns the median of the passes' times. `times` has room for all. */
static int64_t usual_pass_ns(const struct loop_kinds *kinds, const struct loop_kind *kind,
                             const struct loop_stretch *stretch, int64_t *times)
{
    uint32_t count = 0;
    for (uint32_t at = stretch->first; at + kind->ops <= stretch->end;) {
        const bool same = loop_is_pass(kinds, kind, at);
        if (same)
            times[count++] = loop_pass_ns(kinds, kind, at);
        at += same ? kind->ops : 1;
    }
    qsort(times, count, sizeof *times, compare_i64);
    return times[count / 2];
}

/* Returns when the stretch begins: with all, or such that its first pass takes no longer than
 * others do, whatever the host did before it. */
static int64_t begin_ns(const struct loop_kinds *kinds, const struct loop_kind *kind,
                        int64_t usual_ns, const struct loop_stretch *stretch)
{
    const int64_t usual_begin_ns = loop_border_ns(kinds, stretch->first + kind->ops) - usual_ns;
    if (stretch->first == 0)
        return loop_border_ns(kinds, 0);
    return earlier(kinds->items[stretch->first].start_ns,
                   later(loop_border_ns(kinds, stretch->first), usual_begin_ns));
}

/* --- the loop --- */

/* Adds up what the loop's thread did before it. */
static void find_startup(const struct loop_kinds *kinds, struct loop *loop)
{
    const struct timeline *timeline = kinds->timeline;
    struct loop_startup *startup = &loop->startup;
    EACH (const struct host_call, call, timeline->calls, timeline->call_count) {
        if (call->start_ns >= loop->from_ns)
            break;
        if (call->thread != kinds->thread)
            continue;
        const int64_t length_ns = earlier(call->end_ns, loop->from_ns) - call->start_ns;
        const enum host_call_kind kind = host_call_kind(call->row);
        if ((kind == CALL_LAUNCH || kind == CALL_OTHER) && length_ns > LOAD_NS)
            startup->loads_ns += length_ns;
        else if (kind == CALL_ALLOC || kind == CALL_PIN)
            startup->allocs_ns += length_ns;
        else if (kind == CALL_SYNC || kind == CALL_COPY_WAIT)
            startup->waits_ns += length_ns;
        else
            startup->calls_ns += length_ns;
    }
}

/* Returns true if a pass has ops such as each of these. `names` are those of a pass's ops. */
static bool are_of_pass(const struct loop_kinds *kinds, const struct loop_kind *kind,
                        const uint64_t *names, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        if (bsearch(&kinds->items[i].name, names, kind->ops, sizeof *names,
                    loop_compare_names) == NULL)
            return false;
    }
    return true;
}

/* Takes up what is left of passes at the beginning and the end of all, where nothing else came
 * before and behind the stretch, which begins where it was found unless the first passes were
 * left out: a loop whose passes overlap shows no border there. That are the ops of one pass, or
 * few of all. `names` are those of a pass's ops. */
static void take_parts(const struct loop_kinds *kinds, const struct loop_kind *kind,
                       uint32_t found, const uint64_t *names, struct loop_stretch *stretch)
{
    const uint32_t before = stretch->first, behind = kinds->count - stretch->end;
    const bool few = (double)(found + behind) <= UNLIKE_MOST * (double)(stretch->end - before);
    if (found + behind > kind->ops || !(few || found + behind == kind->ops) ||
        !are_of_pass(kinds, kind, names, 0, found) ||
        !are_of_pass(kinds, kind, names, stretch->end, kinds->count))
        return;
    stretch->end = kinds->count;
    if (before > found)
        return;
    stretch->passes += before + behind == kind->ops;
    stretch->first = 0;
}

/* Sets what a loop's window and passes tell. Returns false if nothing ran in it. */
static bool measure(const struct loop_kinds *kinds, struct loop *loop)
{
    uint32_t ops = 0;
    EACH (const struct span, span, kinds->timeline->spans, kinds->timeline->span_count) {
        loop->first += op_on_device(span->kind) && span->start_ns < loop->from_ns;
        ops += op_on_device(span->kind) && span->start_ns >= loop->from_ns &&
               span->start_ns < loop->to_ns;
    }
    loop->pass_ns = (loop->to_ns - loop->from_ns) / loop->passes;
    loop->ops = (ops + loop->passes / 2) / loop->passes;
    find_startup(kinds, loop);
    return loop->from_ns < loop->to_ns && loop->ops > 0;
}

/* Returns true if as many passes of another kind stand before or behind a stretch: all the
 * copies before all the kernels, say, which are one piece of work. What takes little beside the
 * stretch, such as to make the data that it works on, is start-up. */
static bool has_other_phase(const struct loop_kinds *kinds, const struct loop_stretch *stretch)
{
    enum { ABOUT = 2 };
    for (uint32_t i = 0; i < kinds->kind_count; i++) {
        const struct loop_stretch other = find_stretch(kinds, &kinds->kinds[i]);
        const double least_ns = UNLIKE_MOST * (double)loop_stretch_ns(kinds, stretch);
        if ((double)loop_stretch_ns(kinds, &other) >= least_ns &&
            (other.end <= stretch->first || other.first >= stretch->end) &&
            other.passes + ABOUT >= stretch->passes && stretch->passes + ABOUT >= other.passes)
            return true;
    }
    return false;
}

/* Sets the loop of one kind of pass. Returns false if it is none: passes in which the host only
 * waits have no ops, and those whose ops the clocks or other streams mix have no time. `room`
 * has room for a number for each op. */
static bool settle(const struct loop_kinds *kinds, const struct loop_kind *kind, void *room,
                   struct loop *loop)
{
    struct loop_stretch stretch = find_stretch(kinds, kind);
    if (!is_enough(kinds, kind, &stretch) || has_other_phase(kinds, &stretch))
        return false;
    const int64_t usual_ns = usual_pass_ns(kinds, kind, &stretch, room);
    const uint32_t found = stretch.first;
    loop_sort_names(kinds, kind, room);
    loop_leave_first(kinds, kind, usual_ns, room, &stretch);
    const uint32_t unlike = count_unlike(kinds, kind, &stretch);
    take_parts(kinds, kind, found, room, &stretch);
    *loop = (struct loop){.passes = stretch.passes,
                          .unlike = unlike,
                          .from_ns = begin_ns(kinds, kind, usual_ns, &stretch),
                          .to_ns = loop_border_ns(kinds, stretch.end),
                          .pass_ns = usual_ns};
    loop_widen(kinds, kind, room, loop);
    return measure(kinds, loop);
}

/* Finds the loop among all kinds of passes. Returns false when memory runs out. */
static bool find(struct loop_kinds *kinds, struct loop *loop)
{
    if (!loop_steps_find(kinds->timeline, loop))
        return false;
    if (loop->passes > 0 && measure(kinds, loop))
        return true;
    *loop = (struct loop){.passes = 0};
    const struct loop_kind *whole = find_whole(kinds, true);
    uint64_t *room = arena_zeros(&kinds->arena, kinds->count, sizeof *room);
    if (whole == NULL || room == NULL)
        return whole == NULL;
    const struct loop_kind *common = find_common(kinds, whole, room);
    if ((common == NULL || !settle(kinds, common, room, loop)) &&
        !settle(kinds, whole, room, loop))
        *loop = (struct loop){.passes = 0};
    return true;
}

/* Names tell most; but passes in which a library takes now one kernel of a template, now
 * another, are only alike by the templates. */
enum status loop_find(const struct timeline *timeline, struct loop *loop, struct error *error)
{
    struct loop result = {0};
    bool done = true;
    for (int by_template = 0; by_template <= 1 && done && result.passes == 0; by_template++) {
        struct loop_kinds kinds;
        done = loop_kinds_find(&kinds, timeline, by_template);
        if (done && kinds.count > 0)
            done = find(&kinds, &result);
        arena_free(&kinds.arena);
    }
    if (!done)
        return error_no_memory(error, "to look for a loop in %u ops", timeline->span_count);
    *loop = result;
    return STATUS_OK;
}
