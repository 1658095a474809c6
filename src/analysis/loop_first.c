/* loop_first.c - which of a loop's first passes are none of those that are judged: they load
 * code, or take longer than others do. */
#include "analysis/loop_kinds.h"
#include "core/compare.h"

static const double SLOW_FIRST = 1.25; /* times the median: a first pass that differs */

/* Returns true if the pass at a place took longer than others do. */
static bool is_slow(const struct loop_kinds *kinds, const struct loop_kind *kind,
                    int64_t usual_ns, uint32_t place)
{
    return loop_is_pass(kinds, kind, place) &&
           (double)loop_pass_ns(kinds, kind, place) > SLOW_FIRST * (double)usual_ns;
}

/* Returns when the last call ended that loaded code in the first half of a stretch, for so long
 * that a pass with it differs; INT64_MIN: none did. */
static int64_t loaded_ns(const struct loop_kinds *kinds, const struct loop_stretch *stretch,
                         int64_t usual_ns)
{
    const int64_t half_ns =
        loop_border_ns(kinds, stretch->first) + loop_stretch_ns(kinds, stretch) / 2;
    int64_t latest_ns = INT64_MIN;
    for (uint32_t i = 0; i < kinds->timeline->name_count; i++) {
        const struct host_call *load = kinds->loads[i];
        if (load != NULL && load->end_ns < half_ns &&
            (double)(load->end_ns - load->start_ns) > (SLOW_FIRST - 1) * (double)usual_ns)
            latest_ns = later(latest_ns, load->end_ns);
    }
    return latest_ns;
}

/* Leaves out the first passes up to the last that loads code, as long as more than `least` are
 * left. */
static void leave_loads(const struct loop_kinds *kinds, const struct loop_kind *kind,
                        int64_t usual_ns, uint32_t least, struct loop_stretch *stretch)
{
    const int64_t last_ns = loaded_ns(kinds, stretch, usual_ns);
    while (stretch->passes > least && loop_border_ns(kinds, stretch->first) < last_ns) {
        stretch->first += kind->ops;
        while (!loop_is_pass(kinds, kind, stretch->first))
            stretch->first++;
        stretch->passes--;
    }
}

/* Returns the first place in the first half of a stretch behind which no pass takes a large
 * part of its time: code that is compiled, say. Who is held up behind as large a
 * part of all passes, one by one no slower than others, is held up in the loop. */
static uint32_t behind_outliers(const struct loop_kinds *kinds, const struct loop_kind *kind,
                                const struct loop_stretch *stretch, int64_t usual_ns,
                                uint32_t *passes)
{
    static const double LARGE = 0.05;
    const double large_ns = LARGE * (double)loop_stretch_ns(kinds, stretch);
    const double begun = LARGE * (double)stretch->passes;
    uint32_t place = stretch->first, pass = 0, usual = 0;
    *passes = 0;
    for (uint32_t at = stretch->first; 2 * pass < stretch->passes && usual <= begun; at++) {
        if (!loop_is_pass(kinds, kind, at))
            continue;
        pass++;
        usual = is_slow(kinds, kind, usual_ns, at) ? 0 : usual + 1;
        if ((double)loop_pass_ns(kinds, kind, at) > large_ns && stretch->passes > 2 / LARGE) {
            place = at + kind->ops;
            *passes = pass;
        }
        at += kind->ops - 1;
    }
    return place;
}

void loop_leave_first(const struct loop_kinds *kinds, const struct loop_kind *kind,
                      int64_t usual_ns, const uint64_t *names, struct loop_stretch *stretch)
{
    const uint32_t half = stretch->passes / 2;
    const uint32_t least = half > LOOP_PASSES_MIN ? half : LOOP_PASSES_MIN;
    const int64_t last_ns = loop_border_ns(kinds, stretch->end);
    leave_loads(kinds, kind, usual_ns, least, stretch);
    int64_t held_ns = INT64_MIN;
    EACH (const struct span, span, kinds->timeline->spans, kinds->timeline->span_count) {
        if (span->start_ns < last_ns && loop_is_beside(kinds, span, kind, usual_ns, names))
            held_ns = later(held_ns, span->end_ns);
    }
    uint32_t passes;
    const uint32_t place = behind_outliers(kinds, kind, stretch, usual_ns, &passes);
    if (loop_border_ns(kinds, place) >= held_ns) {
        stretch->first = place;
        stretch->passes -= passes;
    }
    while (stretch->passes > least && loop_is_pass(kinds, kind, stretch->first) &&
           loop_border_ns(kinds, stretch->first) >= held_ns &&
           (is_slow(kinds, kind, usual_ns, stretch->first) ||
            is_slow(kinds, kind, usual_ns, stretch->first + kind->ops))) {
        stretch->first += kind->ops;
        stretch->passes--;
    }
}
