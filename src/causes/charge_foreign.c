/* charge_foreign.c - the fixes of a recorded program, tried in the simulator, and what its
 * causes cost by what those gain. */
#include "analysis/analysis.h"
#include "causes/judge.h"

#include <inttypes.h>
#include <math.h>

/* A simulation that is farther from the run predicts nothing; one of a host that is late has to
 * be as near as the second: its calls are the run's own, and no other machine's copies. A cause
 * that no evidence names has to gain as much as the last; alone, where nothing but that gain
 * speaks for it. */
static const double BAND = 0.12, LATE_BAND = 0.05, UNSEEN_GAIN = 0.05;

/* By which part of its gain a fix is off, as one standard deviation: chosen by hand, so that
 * most of the twelve pairs of programs lie inside whose traces docs/profilers.md tells of. */
static const double GAIN_OFF = 0.25;

/* --- what evidence carries --- */

/* Returns the most that a cause can have cost by what was seen of it; 0: nothing was. */
static int64_t carries_ns(const struct judge *judge, enum verdict_code code)
{
    struct verdict cause = {.code = code};
    evidence_foreign(judge, &cause, 1);
    return cause.times > 0 ? cause.carries_ns : 0;
}

int64_t foreign_charge_seen(struct judge *judge, enum verdict_code code, int64_t cost_ns)
{
    int64_t *charged_ns = &judge->charges.causes[code].cost_ns;
    const int64_t room_ns = later(0, carries_ns(judge, code) - *charged_ns);
    const int64_t taken_ns = earlier(cost_ns, room_ns);
    *charged_ns += taken_ns;
    return taken_ns;
}

/* --- fixes --- */

/* Returns the knob of a cause that gains most alone; NULL: it has none. */
static const struct knob_gain *knob_of(const struct judge *judge, enum verdict_code code)
{
    const struct knob_gain *found = NULL;
    EACH (const struct knob_gain, gain, judge->found.knobs, judge->found.count) {
        if (gain->code == code && (found == NULL || gain->fixed_ns < found->fixed_ns))
            found = gain;
    }
    return found;
}

/* Returns true if all that ran in the legacy default stream were copies whose calls waited. */
static bool is_by_waiting_copies(const struct judge *judge)
{
    const struct timeline *timeline = judge->timeline;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (timeline_stream_kind(timeline, timeline->spans[i].stream) != STREAM_LEGACY)
            continue;
        uint32_t call = traced_call_of(&judge->trace, i);
        if (call == SPAN_NONE || host_call_kind(timeline->calls[call].row) != CALL_COPY_WAIT)
            return false;
    }
    return true;
}

/* Returns what a knob's cause is called where the program's calls tell more than its plan. */
static enum verdict_code called(const struct judge *judge, enum verdict_code code)
{
    bool legacy = timeline_stream_kind(judge->timeline, 0) == STREAM_LEGACY;
    if (code == VERDICT_LAUNCH_BOUND && pace_of(&judge->trace).tiles)
        return VERDICT_SMALL_TILES;
    if (code == VERDICT_ONE_STREAM && judge->trace.in_graphs)
        return VERDICT_NEEDLESS_WAIT;
    if (code == VERDICT_ONE_STREAM && legacy && judge->trace.many_threads)
        return VERDICT_LEGACY_STREAM;
    return code == VERDICT_LEGACY_STREAM && is_by_waiting_copies(judge) ? VERDICT_SYNC_IN_LOOP
                                                                        : code;
}

/* Gives all knobs their causes, and notes those of which nothing was seen. Where all have the
 * same, that cause's fix is all of them. */
static void call_knobs(struct judge *judge)
{
    struct found *found = &judge->found;
    bool same = true;
    for (int i = 0; i < found->count; i++) {
        found->knobs[i].code = called(judge, found->knobs[i].code);
        same &= found->knobs[i].code == found->knobs[0].code;
        if (carries_ns(judge, found->knobs[i].code) == 0)
            found->unseen |= 1U << found->knobs[i].knob;
    }
    for (int i = 0; i < found->count && same; i++) {
        found->knobs[i].fixed_ns = found->better_ns;
        found->knobs[i].bare_ns = found->bare_better_ns;
        found->knobs[i].look = found->better_look;
    }
}

static bool is_late(enum verdict_code code)
{
    return code == VERDICT_LAUNCH_BOUND || code == VERDICT_HOST_WORK;
}

/* Returns which part of the run the simulation of it as it is was off by. */
static double off_by(const struct judge *judge)
{
    const double extent_ns = (double)timeline_extent_ns(judge->timeline);
    return fabs((double)judge->found.whole_ns - extent_ns) / fmax(1, extent_ns);
}

/* Sets how sure a time with a fix is. It may be off by as much as the run as it is was, and by
 * a part of what the fix gains: a program that is changed is other in more than that. */
static void look_at(const struct judge *judge, const struct outlook *look, int64_t predicted_ns,
                    struct prospect *prospect)
{
    struct outlook fixed = *look;
    const double gain = 1 - (double)predicted_ns / (double)judge->time_ns;
    interval_widen(&fixed, hypot(off_by(judge), GAIN_OFF * fmax(0, gain)));
    judge_look(judge, &fixed, predicted_ns, prospect);
}

/* Returns the run's time with a fix with which it takes `fixed_ns` in the simulator: never less
 * than its ops take, nor than it took without all that the cause's evidence carries, and for
 * each the way on to the next op. */
static int64_t predicted_ns(const struct judge *judge, const struct knob_gain *gain,
                            int64_t fixed_ns)
{
    struct verdict cause = {.code = gain->code};
    evidence_foreign(judge, &cause, 1);
    const int64_t carried_ns = earlier(cause.carries_ns, judge->time_ns);
    const int64_t least_ns = judge->time_ns - judge->recording_ns - carried_ns -
                             (int64_t)cause.times * TRACED_LATE_NS;
    return later(judge_predicted_ns(judge, fixed_ns), later(gain->least_ns, least_ns));
}

/* Returns true if a fix gains so little of what its cause costs that something else bounds it.
 */
static bool gains_little(int64_t gain_ns, int64_t cost_ns)
{
    enum { TENTH = 10 };
    return cost_ns / TENTH > gain_ns;
}

void foreign_put_fixes(struct judge *judge)
{
    for (int code = 0; code < VERDICT_COPY_BOUND && judge->tried; code++) {
        struct verdict *cause = &judge->charges.causes[code];
        const struct knob_gain *gain = knob_of(judge, cause->code);
        if (gain == NULL || (is_late(cause->code) && off_by(judge) > LATE_BAND) ||
            !judge_offer(judge, gain->fixed_ns, cause))
            continue;
        cause->predicted_ns = predicted_ns(judge, gain, gain->fixed_ns);
        look_at(judge, &gain->look, cause->predicted_ns, &cause->prospect);
        const bool little = gains_little(judge->time_ns - cause->predicted_ns, cause->cost_ns);
        if (little)
            cause->no_time = "alone it gains less than a tenth of its cost";
        if (little || !search_gains(cause->predicted_ns, judge->time_ns, SEARCH_GAIN))
            cause->predicted_ns = 0;
    }
}

void foreign_put_details(const struct judge *judge, struct verdicts *verdicts)
{
    const struct found *found = &judge->found;
    char detail[48];
    EACH (struct verdict, verdict, verdicts->items, judge->tried ? verdicts->count : 0) {
        const struct knob_gain *gain = knob_of(judge, verdict->code);
        if (gain == NULL && found->blind > 0 && (verdict_rows[verdict->code].traits & IS_ORDER))
            text_add(verdict->seen, sizeof verdict->seen, "",
                     "; no fix is tried, as it is not known which memory %" PRIu32 " %s used",
                     found->blind, found->blind == 1 ? "op" : "ops");
        if (gain == NULL)
            continue;
        change_detail(&found->better.change, (enum change_knob)gain->knob, detail,
                      sizeof detail);
        if (gain->knob == CHANGE_WORK && found->fills)
            text_add(verdict->seen, sizeof verdict->seen, "",
                     ", and takes no longer than to copy there; tried without: what it copies "
                     "from, page-locked where it lies (cudaHostRegister), needs no copy");
        else if (detail[0] != '\0')
            text_add(verdict->seen, sizeof verdict->seen, "; ", "tried with %s", detail);
    }
}

/* --- charges --- */

/* Returns true if a cause costs no more than its fix gains alone, or the run shows of it:
 * calls, and a host that is late. */
static bool is_bounded(enum verdict_code code)
{
    return (verdict_rows[code].traits & KEEPS_ISSUE) != 0 || code == VERDICT_LAUNCH_BOUND;
}

/* Deals out what fixes gain together. What calls hide only beside another cause's fix is that
 * one's: without the calls alone no more would go than they gain alone, or than the run
 * shows. Returns what is no cause's then: it takes several fixes. */
static double share_gains(const struct found *found, const int64_t shown_ns[VERDICT_COUNT],
                          double costs_ns[KNOBS_MOST])
{
    double beyond_ns = 0, others_ns = 0;
    for (int i = 0; i < found->count; i++) {
        const struct knob_gain *gain = &found->knobs[i];
        const bool call = is_bounded(gain->code);
        const int64_t most_ns = later(found->given_ns - gain->fixed_ns, shown_ns[gain->code]);
        costs_ns[i] = (double)(call ? earlier(gain->cost_ns, most_ns) : gain->cost_ns);
        beyond_ns += (double)gain->cost_ns - costs_ns[i];
        others_ns += call ? 0 : costs_ns[i];
    }
    for (int i = 0; i < found->count && others_ns > 0; i++) {
        if (!is_bounded(found->knobs[i].code))
            costs_ns[i] *= (others_ns + beyond_ns) / others_ns;
    }
    return others_ns > 0 ? 0 : beyond_ns;
}

/* Charges what recording took, which is no cause's, and what fixes gain beside. Returns what is
 * left of the loss. */
static int64_t charge_knobs(struct judge *judge, const int64_t shown_ns[VERDICT_COUNT])
{
    const struct found *found = &judge->found;
    int64_t left_ns = judge->time_ns - judge->limit_ns;
    judge->rest_ns[REST_RECORDING] =
        account_leave(&judge->charges, judge->recording_ns, &left_ns);
    const double loss_ns = (double)left_ns;
    double sum_ns = 0,
           scale = (double)timeline_extent_ns(judge->timeline) / (double)found->given_ns;
    double costs_ns[KNOBS_MOST];
    const double beyond_ns = share_gains(found, shown_ns, costs_ns);
    if (found->given_ns > found->better_ns)
        scale *= fmin(1, (double)(found->bare_given_ns - found->bare_better_ns) /
                             (double)(found->given_ns - found->better_ns));
    for (int i = 0; i < found->count; i++)
        sum_ns += scale * costs_ns[i];
    if (sum_ns > loss_ns)
        scale *= loss_ns / sum_ns;
    for (int i = 0; i < found->count; i++) {
        const int64_t cost_ns = earlier((int64_t)(scale * costs_ns[i]), left_ns);
        left_ns -= foreign_charge_seen(judge, found->knobs[i].code, cost_ns);
    }
    judge->rest_ns[REST_SEVERAL] = earlier((int64_t)(scale * beyond_ns), left_ns);
    return left_ns;
}

/* Returns how much longer the copies of the busiest engine took than the limit has it, where
 * that is little: those both ways slow each other, and no change of the calls helps. Kernels
 * at work leave room that others could use, but fixes that bring those gained all they can. */
static int64_t find_slower(const struct judge *judge)
{
    static const double LITTLE = 0.15;
    const enum engine engine = judge->trace.engine;
    const int64_t more_ns = judge->trace.analysis.engines[engine].busy_ns - judge->limit_ns;
    const bool copies = engine == ENGINE_H2D || engine == ENGINE_D2H;
    const bool little = (double)more_ns < LITTLE * (double)judge->time_ns;
    return copies && !little ? 0 : later(0, more_ns);
}

/* Returns the dearest of what the trace shows and is not charged yet, and how dear it is;
 * VERDICT_COPY_BOUND: nothing. A host that is late costs what the device waits for it, of which
 * a fix saves a part: a graph has to be launched, and work that is done beside waited for. */
static enum verdict_code dearest_of(const struct judge *judge,
                                    const int64_t shown_ns[VERDICT_COUNT], int64_t *dear_ns)
{
    const struct verdict *causes = judge->charges.causes;
    enum verdict_code dearest = VERDICT_COPY_BOUND;
    *dear_ns = 0;
    for (int i = 0; i < VERDICT_COPY_BOUND; i++) {
        const enum verdict_code code = (enum verdict_code)i;
        const bool counts = (verdict_rows[code].traits & IS_SHOWN) ||
                            (judge->found.blind > 0 && (verdict_rows[code].traits & IS_ORDER));
        const int64_t more_ns = shown_ns[code] - causes[code].cost_ns;
        if (!counts || (causes[code].cost_ns > 0 && !is_late(code)) || more_ns <= *dear_ns)
            continue;
        dearest = code;
        *dear_ns = more_ns;
    }
    return dearest;
}

/* Charges what is left to what the trace shows beside, the dearest first. */
static void charge_shown(struct judge *judge, const int64_t shown_ns[VERDICT_COUNT],
                         int64_t *left_ns)
{
    int64_t dear_ns = *left_ns;
    while (*left_ns > 0 && dear_ns > 0) {
        const enum verdict_code dearest = dearest_of(judge, shown_ns, &dear_ns);
        if (dear_ns > 0)
            dear_ns = foreign_charge_seen(judge, dearest, earlier(dear_ns, *left_ns));
        *left_ns -= dear_ns;
    }
}

/* Charges what is left to what the trace shows beside, the dearest first; then to waits for
 * what the host reads back to issue on by it; then it is unknown, or the rest. */
static void charge_left(struct judge *judge, int64_t old_ns[VERDICT_COUNT], int64_t left_ns)
{
    struct account *charges = &judge->charges;
    struct verdict *causes = charges->causes;
    int64_t *rest_ns = judge->rest_ns;
    /* The host need not wait for what is the next op's input, but that op has to. */
    const int64_t data_ns = chain_ns(judge->facts->plan, judge->timeline);
    if (knob_of(judge, VERDICT_SYNC_IN_LOOP) == NULL)
        old_ns[VERDICT_SYNC_IN_LOOP] =
            earlier(old_ns[VERDICT_SYNC_IN_LOOP], later(0, judge->time_ns - data_ns));
    rest_ns[REST_ONCE] = account_leave(charges, rest_ns[REST_ONCE], &left_ns);
    charge_shown(judge, old_ns, &left_ns);
    rest_ns[REST_SEVERAL] = account_leave(charges, rest_ns[REST_SEVERAL], &left_ns);
    rest_ns[REST_DATA] = account_leave(charges, later(0, data_ns - judge->limit_ns), &left_ns);
    rest_ns[REST_STEPS] = account_leave(charges, rest_ns[REST_STEPS], &left_ns);
    rest_ns[judge->trace.engine == ENGINE_COMPUTE ? REST_KERNELS : REST_COPIES] =
        account_leave(charges, find_slower(judge), &left_ns);
    const int64_t read_ns =
        later(0, facts_readback_ns(judge) - causes[VERDICT_SYNC_IN_LOOP].cost_ns);
    left_ns -= foreign_charge_seen(judge, VERDICT_SYNC_IN_LOOP, earlier(read_ns, left_ns));
    /* The simulator has only what was recorded: a part of the time that it has, too, is known,
     * though no fix gains it. */
    const int64_t beyond_ns = timeline_extent_ns(judge->timeline) - judge->found.given_ns;
    int64_t unknown_ns = earlier(left_ns, later(old_ns[judge->suspect], beyond_ns));
    if ((double)unknown_ns < VERDICT_NAMED_SHARE * (double)judge->time_ns)
        unknown_ns = 0;
    left_ns -= unknown_ns;
    causes[VERDICT_UNKNOWN].cost_ns +=
        unknown_ns - foreign_charge_seen(judge, judge->suspect, unknown_ns);
    rest_ns[REST_PAGES] = judge->suspect == VERDICT_REST ? unknown_ns : 0;
    rest_ns[REST_FILLING] = account_leave(charges, rest_ns[REST_FILLING], &left_ns);
    rest_ns[REST_SAME] = account_leave(charges, left_ns, &left_ns);
}

/* Charges a host that is late, where graphs gain little, to its waits, if most are for a few
 * bytes that it reads back: it issues on by these, and can't be ahead of the device. */
static void charge_readbacks(struct judge *judge)
{
    const struct found *found = &judge->found;
    const struct knob_gain *gain = knob_of(judge, VERDICT_LAUNCH_BOUND);
    struct verdict *launches = &judge->charges.causes[VERDICT_LAUNCH_BOUND];
    if ((gain == NULL || !search_gains(gain->fixed_ns, found->given_ns, SEARCH_GAIN) ||
         gains_little(found->given_ns - gain->fixed_ns, launches->cost_ns)) &&
        facts_reads_back(judge))
        launches->cost_ns -=
            foreign_charge_seen(judge, VERDICT_SYNC_IN_LOOP, launches->cost_ns);
}

/* Leaves what is too little to be named to the rest. */
static void charge_small(struct judge *judge)
{
    for (int i = 0; i < VERDICT_COPY_BOUND; i++) {
        const enum verdict_code code = (enum verdict_code)i;
        const struct knob_gain *gain = knob_of(judge, code);
        const double least = judge->seen[code] ? VERDICT_NAMED_SHARE : UNSEEN_GAIN;
        const bool gains =
            gain != NULL && search_gains(gain->bare_ns, judge->found.bare_given_ns, least);
        if (!judge_is_dear(judge, code, least, gains) || (!gains && evidence_is_gain(code)))
            account_move(&judge->charges, code, VERDICT_REST);
    }
}

void foreign_try(struct judge *judge)
{
    const struct verdict_case *facts = judge->facts;
    struct verdict *causes = judge->charges.causes;
    struct error why = {0};
    int64_t old_ns[VERDICT_COUNT];
    judge->found.unseen = facts_unseen_knobs(judge);
    uint32_t unseen;
    for (int code = 0; code < VERDICT_COUNT; code++) {
        old_ns[code] = causes[code].cost_ns;
        judge->seen[code] = old_ns[code] > 0;
    }
    old_ns[VERDICT_REST] = judge->rest_ns[REST_PAGES]; /* the suspect is this part alone */
    do {
        unseen = judge->found.unseen;
        const enum status status = rework_find(facts->plan, facts->model, &judge->found, &why);
        judge_note(judge, &why);
        judge->simulated = status == STATUS_OK && judge->found.given_ns > 0;
        judge->tried =
            judge->simulated &&
            off_by(judge) <= (judge->timeline->timing == TIMING_RECORDED ? BAND : LATE_BAND);
        if (!judge->tried)
            return;
        judge->given = judge->found.given_look;
        call_knobs(judge);
    } while (judge->found.unseen != unseen);
    for (int code = 0; code < VERDICT_COUNT; code++)
        causes[code].cost_ns = 0;
    const double bare = (double)judge->found.bare_given_ns / (double)judge->found.given_ns;
    judge->recording_ns = (int64_t)((1 - bare) * (double)timeline_extent_ns(judge->timeline));
    charge_left(judge, old_ns, charge_knobs(judge, old_ns));
    charge_readbacks(judge);
    charge_small(judge);
}

/* --- the best of all --- */

/* One fix is the best of all, which is then the first, or several together. */
static void set_best(const struct judge *judge, struct verdicts *verdicts)
{
    const struct found *found = &judge->found;
    int64_t best_ns = later(judge_predicted_ns(judge, found->bare_better_ns), found->least_ns);
    int64_t first_ns = verdicts->count > 0 ? verdicts->items[0].predicted_ns : 0;
    if (found->count == 0 || !search_gains(best_ns, judge->time_ns, SEARCH_GAIN))
        return;
    verdicts->best_ns = best_ns;
    look_at(judge, &found->better_look, best_ns, &verdicts->best_prospect);
    if (first_ns > 0 && !search_gains(best_ns, first_ns, SEARCH_GAIN)) {
        verdicts->best_ns = first_ns;
        verdicts->best_prospect = verdicts->items[0].prospect;
        return;
    }
    for (int i = 0, first; i < found->count; i++) {
        for (first = 0; found->knobs[first].code != found->knobs[i].code;)
            first++;
        if (first == i)
            text_add(verdicts->best, sizeof verdicts->best, " + ", "%s",
                     verdict_rows[found->knobs[i].code].name);
    }
}

/* Takes what recording took out of the times with a fix. Causes are charged and put in order as
 * the run was recorded, so this comes last. */
static void leave_recording(const struct judge *judge, struct verdicts *verdicts)
{
    EACH (struct verdict, verdict, verdicts->items, verdicts->count) {
        const struct knob_gain *gain = knob_of(judge, verdict->code);
        if (gain == NULL || verdict->predicted_ns == 0)
            continue;
        verdict->predicted_ns = predicted_ns(judge, gain, gain->bare_ns);
        look_at(judge, &gain->look, verdict->predicted_ns, &verdict->prospect);
    }
}

void foreign_set_best(const struct judge *judge, struct verdicts *verdicts)
{
    const struct found *found = &judge->found;
    if (!judge->tried)
        return;
    leave_recording(judge, verdicts);
    if (facts_withhold(judge, verdicts))
        return;
    set_best(judge, verdicts);
    verdicts->has_change = search_gains(found->better_ns, found->given_ns, SEARCH_GAIN);
    verdicts->change = found->whole;
}
