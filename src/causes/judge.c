/* judge.c - the table of causes, what fixes are predicted to gain, and the order of verdicts.
 */
#include "causes/judge.h"

#include "plan/host_call.h"

static const double ALIKE = 0.03; /* predicted times that differ by less are alike */

/* --- the table --- */

const struct verdict_row verdict_rows[VERDICT_COUNT] = {
#define SEEN(worth, words) .evidence = EVIDENCE_##worth, .seen = (words)
#define KEPT_BY(call)                                                                          \
    .traits = KEEPS_HOST | KEEPS_ISSUE | IS_SHOWN, .marks[MARKED_HOST] = 1 << (call)
/* The last one is what to call, and behind it what else is known. */
#define ROW(code, label, run, foreign, says, does, ...)                                        \
    [VERDICT_##code] = {.name = label, .text = says, .fix = does, .cuda = __VA_ARGS__},
#include "causes/verdicts.def"
#undef ROW
#undef SEEN
#undef KEPT_BY
};

enum verdict_code verdict_marked(enum verdict_mark mark, unsigned bit)
{
    int code = 0;
    while (code < VERDICT_REST && !(verdict_rows[code].marks[mark] >> bit & 1))
        code++;
    return (enum verdict_code)code;
}

const char *evidence_name(enum evidence evidence)
{
    static const char *const names[EVIDENCE_COUNT] = {"unknown", "likely", "certain"};
    return names[evidence];
}

/* --- fixes --- */

/* A run of our own is predicted the simulated time, and of what the measured run took beyond
 * its simulation the part that no cause explains, the less the more the fix changes. Where the
 * run was faster than its simulation, the fixed one is taken to be so, too. */
static int64_t run_predicted_ns(const struct judge *judge, int64_t simulated_ns,
                                int64_t fixed_ns)
{
    const double given_ns = (double)simulated_ns;
    double beyond_ns = (double)judge->time_ns - given_ns;
    if (judge->facts->timeline->timing == TIMING_VIRTUAL || given_ns <= 0)
        return fixed_ns;
    const double part = (double)fixed_ns / given_ns;
    if (beyond_ns > 0)
        beyond_ns =
            (double)earlier(judge->charges.causes[VERDICT_UNKNOWN].cost_ns, (int64_t)beyond_ns);
    return fixed_ns + (int64_t)(part * part * beyond_ns);
}

/* A recorded program is predicted that part of its ops' time which the fix leaves of their time
 * in the simulator. */
static int64_t foreign_predicted_ns(const struct judge *judge, int64_t given_ns,
                                    int64_t fixed_ns)
{
    /* A loop's time is that of whole passes, in which the host comes before the first op. */
    const struct timeline *timeline = judge->facts->timeline;
    double extent_ns =
        (double)(timeline->partial ? judge->time_ns : timeline_extent_ns(timeline));
    double left = (double)fixed_ns / (double)given_ns;
    int64_t saved_ns = (int64_t)(extent_ns * (1 - left));
    return later(judge->time_ns - saved_ns, judge->limit_ns);
}

/* Returns the same of either, where the run as it is takes `given_ns` in the simulator. */
static int64_t predicted_of(const struct judge *judge, int64_t given_ns, int64_t fixed_ns)
{
    return judge->foreign ? foreign_predicted_ns(judge, given_ns, fixed_ns)
                          : run_predicted_ns(judge, given_ns, fixed_ns);
}

void judge_note(struct judge *judge, const struct error *why)
{
    if (why->status == STATUS_NO_MEMORY)
        (void)error_pass(&judge->why, why);
}

int64_t judge_predicted_ns(const struct judge *judge, int64_t fixed_ns)
{
    return predicted_of(judge, judge->found.given_ns, fixed_ns);
}

void judge_look(const struct judge *judge, const struct outlook *fixed, int64_t predicted_ns,
                struct prospect *prospect)
{
    const struct outlook *given = &judge->given;
    const bool virtual = judge->facts->timeline->timing == TIMING_VIRTUAL;
    struct outlook before = *given, after = {.time_ns = predicted_ns};
    *prospect = (struct prospect){0};
    if (given->time_ns == 0 || fixed->time_ns == 0)
        return;
    /* A time that is bounded moves as it would without. */
    const int64_t beyond_ns =
        predicted_ns - predicted_of(judge, given->time_ns, fixed->time_ns);
    for (int i = 0; i < OUTLOOK_GROUPS; i++) {
        const bool rest = i == OUTLOOK_REST; /* which moves each of both by itself */
        after.slower_ns[i] =
            beyond_ns + predicted_of(judge, rest ? given->time_ns : given->slower_ns[i],
                                     fixed->slower_ns[i]);
        after.faster_ns[i] =
            beyond_ns + predicted_of(judge, rest ? given->time_ns : given->faster_ns[i],
                                     fixed->faster_ns[i]);
        if (!virtual) /* it was measured */
            before.slower_ns[i] = before.faster_ns[i] = before.time_ns = judge->time_ns;
    }
    prospect->range = interval_of(&after);
    prospect->unsure = interval_gain(&before, &after).low_ns <= 0;
}

const char judge_gains_little[] = "alone it gains less than 1%";

bool judge_offer(const struct judge *judge, int64_t fixed_ns, struct verdict *cause)
{
    cause->no_time = judge_gains_little;
    if (!search_gains(fixed_ns, judge->found.given_ns, SEARCH_GAIN))
        return false;
    cause->predicted_ns = judge_predicted_ns(judge, fixed_ns);
    return true;
}

/* --- their order --- */

/* Returns the last of the knobs that stand for a cause; KNOB_NONE: none does. The later one is
 * blamed where either would do. */
static int last_knob(const struct found *found, enum verdict_code code)
{
    int last = KNOB_NONE;
    for (int i = 0; i < found->count; i++) {
        if (found->knobs[i].code == code && found->knobs[i].knob > last)
            last = found->knobs[i].knob;
    }
    return last;
}

/* Returns true if another program's cause without a prediction cost more than twice what the
 * fix of one with it gains. */
static bool costs_far_more(const struct judge *judge, const struct verdict *bare,
                           const struct verdict *fixed)
{
    return judge->foreign && bare->cost_ns > 2 * (judge->time_ns - fixed->predicted_ns);
}

/* Returns true if the fix of `x` presumes nothing of the program, that of `y` does, and gains
 * less than twice as much; unless it cost far more. */
static bool is_safer(const struct judge *judge, const struct verdict *x,
                     const struct verdict *y)
{
    return (verdict_rows[x->code].traits & PRESUMES) == 0 &&
           (verdict_rows[y->code].traits & PRESUMES) != 0 && 4 * x->cost_ns > y->cost_ns &&
           2 * (judge->time_ns - x->predicted_ns) > judge->time_ns - y->predicted_ns;
}

/* Returns true if cause `x` comes before `y`: its fix gains for sure, or more; or as much, and
 * it is blamed first; or there is no fix, and it cost more. */
static bool comes_before(const struct judge *judge, const struct verdict *x,
                         const struct verdict *y)
{
    bool one = x->predicted_ns > 0, other = y->predicted_ns > 0;
    if (one != other)
        return one != costs_far_more(judge, one ? y : x, one ? x : y);
    if (!one)
        return x->cost_ns > y->cost_ns;
    if (x->prospect.unsure != y->prospect.unsure)
        return y->prospect.unsure;
    if (is_safer(judge, x, y) || is_safer(judge, y, x))
        return is_safer(judge, x, y);
    double apart = (double)(x->predicted_ns - y->predicted_ns);
    if (apart <= ALIKE * (double)y->predicted_ns && apart >= -ALIKE * (double)y->predicted_ns)
        return last_knob(&judge->found, x->code) > last_knob(&judge->found, y->code);
    return apart < 0;
}

void judge_rank(const struct judge *judge, struct verdicts *verdicts)
{
    /* Causes are few, and fixes that gain alike make no strict order, so each moves up as long
     * as it comes before the one above. */
    for (int i = 1; i < verdicts->count; i++) {
        struct verdict item = verdicts->items[i];
        int place = i;
        const struct verdict *items = verdicts->items;
        for (; place > 0 && comes_before(judge, &item, &items[place - 1]); place--)
            verdicts->items[place] = verdicts->items[place - 1];
        verdicts->items[place] = item;
    }
}
