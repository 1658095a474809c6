/* foreign_tried.c - the fixes of a recorded program, tried in the simulator, and what its
 * causes cost by what those gain. */
#include "causes/foreign_parts.h"

#include <stdio.h>
#include <string.h>

/* A simulation that is farther from the run predicts nothing. A fix that gains less is not
 * offered; a cause that no evidence names has to gain more. Predicted times that differ by less
 * are alike. */
static const double BAND = 0.25, FIX_GAIN = 0.01, UNSEEN_GAIN = 0.05, ALIKE = 0.03;

/* --- turns --- */

/* Returns the turn of a cause that gains most alone; NULL: none. */
static const struct knob_gain *turn_of(const struct foreign *foreign, enum verdict_code code)
{
    const struct knob_gain *found = NULL;
    for (int i = 0; i < foreign->found.count; i++) {
        const struct knob_gain *turn = &foreign->found.knobs[i];
        if (turn->code == code && (found == NULL || turn->fixed_ns < found->fixed_ns))
            found = turn;
    }
    return found;
}

/* Returns true if all that ran in the legacy default stream were copies whose calls waited. */
static bool is_by_waiting_copies(const struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (timeline_stream_kind(timeline, timeline->spans[i].stream) != STREAM_LEGACY)
            continue;
        uint32_t call = foreign_call_of(foreign, i);
        if (call == SPAN_NONE || host_call_kind(timeline->calls[call].row) != CALL_COPY_WAIT)
            return false;
    }
    return true;
}

/* Returns what a turn's cause is called where the program's calls tell more than its plan. */
static enum verdict_code called(const struct foreign *foreign, enum verdict_code code)
{
    bool legacy = timeline_stream_kind(foreign->timeline, 0) == STREAM_LEGACY;
    if (code == VERDICT_ONE_STREAM && foreign->in_graphs)
        return VERDICT_NEEDLESS_WAIT;
    if (code == VERDICT_ONE_STREAM && legacy && foreign->many_threads)
        return VERDICT_LEGACY_STREAM;
    return code == VERDICT_LEGACY_STREAM && is_by_waiting_copies(foreign) ? VERDICT_SYNC_IN_LOOP
                                                                          : code;
}

/* Gives all turns their causes. Where all have the same, that cause's fix is all of them. */
static void call_turns(struct foreign *foreign)
{
    struct found *found = &foreign->found;
    bool same = true;
    for (int i = 0; i < found->count; i++) {
        found->knobs[i].code = called(foreign, found->knobs[i].code);
        same &= found->knobs[i].code == found->knobs[0].code;
    }
    for (int i = 0; i < found->count && same; i++)
        found->knobs[i].fixed_ns = found->better_ns;
}

/* Returns the run's time with what takes `fixed_ns` in the simulator: the part of its ops' time
 * that the simulator leaves of its own. */
static int64_t predicted_ns(const struct foreign *foreign, int64_t fixed_ns)
{
    const struct found *found = &foreign->found;
    double extent_ns = (double)timeline_extent_ns(foreign->timeline);
    double left = (double)fixed_ns / (double)found->given_ns;
    int64_t saved_ns = (int64_t)(extent_ns * (1 - left));
    return later(foreign->time_ns - saved_ns, foreign->limit_ns);
}

static bool gains(const struct foreign *foreign, const struct knob_gain *turn, double part)
{
    return turn != NULL &&
           (double)turn->fixed_ns <= (1 - part) * (double)foreign->found.given_ns;
}

void foreign_put_fix(const struct foreign *foreign, struct verdict *verdict)
{
    const struct knob_gain *turn = foreign->tried ? turn_of(foreign, verdict->code) : NULL;
    if (turn == NULL)
        return;
    verdict->tried = true;
    if (gains(foreign, turn, FIX_GAIN))
        verdict->predicted_ns = predicted_ns(foreign, turn->fixed_ns);
}

/* Returns true if the fix of a cause takes an order away, so that it can't be tried where it is
 * not known what ops work on. */
static bool is_of_order(enum verdict_code code)
{
    return code == VERDICT_LEGACY_STREAM || code == VERDICT_BLOCKING_STREAM ||
           code == VERDICT_ONE_STREAM || code == VERDICT_FEW_STREAMS ||
           code == VERDICT_MEMSET_IN_LOOP || code == VERDICT_NEEDLESS_WAIT;
}

void foreign_put_detail(const struct foreign *foreign, struct verdict *verdict)
{
    const struct knob_gain *turn = foreign->tried ? turn_of(foreign, verdict->code) : NULL;
    char detail[48], text[FOREIGN_COUNT];
    size_t used = strlen(verdict->seen);
    if (foreign->tried && foreign->found.blind > 0 && is_of_order(verdict->code))
        snprintf(verdict->seen + used, sizeof verdict->seen - used,
                 "; no fix is tried, as it is not known which memory %s used",
                 foreign_counted(foreign->found.blind, "op", "ops", text));
    if (turn == NULL)
        return;
    change_detail(&foreign->found.better.change, (enum change_knob)turn->knob, detail,
                  sizeof detail);
    if (detail[0] != '\0')
        snprintf(verdict->seen + used, sizeof verdict->seen - used, "%stried with %s",
                 used > 0 ? "; " : "", detail);
}

/* --- charges --- */

/* Returns true if what a trace shows of a cause counts though taking it away gains nothing in
 * the simulator: it is a call that took that long, or memory of that kind. */
static bool is_certain(enum verdict_code code)
{
    static const enum verdict_code codes[] = {
        VERDICT_PAGEABLE_MEMORY, VERDICT_SYNC_IN_LOOP,         VERDICT_ALLOC_IN_LOOP,
        VERDICT_PIN_IN_RUN,      VERDICT_PINNED_ALLOC_IN_LOOP, VERDICT_LAUNCH_BLOCKING,
        VERDICT_LAZY_LOADING,    VERDICT_SLOW_CALLBACK,        VERDICT_FEW_TILES,
        VERDICT_SHORT_RUN,       VERDICT_DEVICE_COPIES,        VERDICT_PACKING};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i] == code)
            return true;
    }
    return false;
}

/* Charges what fixes gain. Returns what is left of the loss. */
static int64_t charge_turns(struct foreign *foreign)
{
    const struct found *found = &foreign->found;
    double loss_ns = (double)(foreign->time_ns - foreign->limit_ns), sum_ns = 0;
    double scale = (double)timeline_extent_ns(foreign->timeline) / (double)found->given_ns;
    for (int i = 0; i < found->count; i++)
        sum_ns += scale * (double)found->knobs[i].cost_ns;
    if (sum_ns > loss_ns)
        scale *= loss_ns / sum_ns;
    int64_t left_ns = foreign->time_ns - foreign->limit_ns;
    for (int i = 0; i < found->count; i++) {
        int64_t cost_ns = earlier((int64_t)(scale * (double)found->knobs[i].cost_ns), left_ns);
        foreign->cost_ns[found->knobs[i].code] += cost_ns;
        left_ns -= cost_ns;
    }
    return left_ns;
}

/* Returns how much longer the copies of the busiest engine took than the limit has it, where
 * that is little: those both ways slow each other, and no change of the calls mends it. */
static int64_t find_slower(const struct foreign *foreign)
{
    static const double LITTLE = 0.15;
    bool copies = foreign->engine == ENGINE_H2D || foreign->engine == ENGINE_D2H;
    int64_t more_ns = foreign->analysis.engines[foreign->engine].busy_ns - foreign->limit_ns;
    bool little = (double)more_ns < LITTLE * (double)foreign->time_ns;
    return copies && more_ns > 0 && little ? more_ns : 0;
}

/* Charges what is left to what the trace shows beside, the dearest first; then it is unknown,
 * or the rest. */
static void charge_left(struct foreign *foreign, int64_t old_ns[VERDICT_COUNT], int64_t left_ns)
{
    /* The host need not wait for what is the next op's input, but that op has to. */
    const int64_t chain_ns = foreign_chain_ns(foreign);
    const int64_t beside_ns = later(0, foreign->time_ns - chain_ns);
    if (turn_of(foreign, VERDICT_SYNC_IN_LOOP) == NULL)
        old_ns[VERDICT_SYNC_IN_LOOP] = earlier(old_ns[VERDICT_SYNC_IN_LOOP], beside_ns);
    for (int round = 0; round < VERDICT_COPY_BOUND; round++) {
        int dearest = VERDICT_COPY_BOUND;
        for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
            bool counts = is_certain((enum verdict_code)code) ||
                          (foreign->found.blind > 0 && is_of_order((enum verdict_code)code));
            if (counts && foreign->cost_ns[code] == 0 &&
                old_ns[code] > (dearest < VERDICT_COPY_BOUND ? old_ns[dearest] : 0))
                dearest = code;
        }
        if (dearest == VERDICT_COPY_BOUND || left_ns == 0)
            break;
        foreign->cost_ns[dearest] = earlier(old_ns[dearest], left_ns);
        left_ns -= foreign->cost_ns[dearest];
    }
    foreign->data_ns = later(0, earlier(chain_ns - foreign->limit_ns, left_ns));
    foreign->cost_ns[VERDICT_REST] += foreign->data_ns;
    left_ns -= foreign->data_ns;
    int64_t slower_ns = earlier(find_slower(foreign), left_ns);
    foreign->slower_ns = slower_ns;
    foreign->cost_ns[VERDICT_REST] += slower_ns;
    left_ns -= slower_ns;
    bool much = (double)left_ns >= VERDICT_NAMED_SHARE * (double)foreign->time_ns;
    foreign->cost_ns[much ? VERDICT_UNKNOWN : VERDICT_REST] += left_ns;
}

/* Leaves what is too little to be named to the rest. */
static void charge_small(struct foreign *foreign)
{
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        const struct knob_gain *turn = turn_of(foreign, (enum verdict_code)code);
        double least = foreign->seen[code] ? VERDICT_NAMED_SHARE : UNSEEN_GAIN;
        if ((double)foreign->cost_ns[code] >= least * (double)foreign->time_ns ||
            (foreign->cost_ns[code] > 0 && gains(foreign, turn, least)))
            continue;
        foreign->cost_ns[VERDICT_REST] += foreign->cost_ns[code];
        foreign->cost_ns[code] = 0;
    }
}

enum status foreign_try(struct foreign *foreign, struct error *error)
{
    const struct verdict_case *facts = foreign->facts;
    struct error why = {0};
    int64_t old_ns[VERDICT_COUNT];
    enum status status = rework_find(facts->plan, facts->model, &foreign->found, &why);
    if (status == STATUS_NO_MEMORY)
        return error_pass(error, &why);
    int64_t extent_ns = timeline_extent_ns(foreign->timeline);
    double apart_ns = (double)(foreign->found.whole_ns - extent_ns);
    foreign->simulated = status == STATUS_OK && foreign->found.given_ns > 0;
    foreign->tried = foreign->simulated && apart_ns <= BAND * (double)extent_ns &&
                     apart_ns >= -BAND * (double)extent_ns;
    if (!foreign->tried)
        return STATUS_OK;
    for (int code = 0; code < VERDICT_COUNT; code++) {
        old_ns[code] = foreign->cost_ns[code];
        foreign->seen[code] = old_ns[code] > 0;
        foreign->cost_ns[code] = 0;
    }
    call_turns(foreign);
    charge_left(foreign, old_ns, charge_turns(foreign));
    charge_small(foreign);
    return STATUS_OK;
}

/* --- order --- */

static bool comes_before(const struct foreign *foreign, const struct verdict *x,
                         const struct verdict *y)
{
    bool one = x->predicted_ns > 0, other = y->predicted_ns > 0;
    if (one != other)
        return one;
    if (!one)
        return x->cost_ns > y->cost_ns;
    double apart = (double)(x->predicted_ns - y->predicted_ns);
    double alike = ALIKE * (double)y->predicted_ns;
    if (apart > alike || apart < -alike)
        return apart < 0;
    return turn_of(foreign, x->code)->knob > turn_of(foreign, y->code)->knob;
}

/* Sets the best of all: one fix, which is then the first, or several together. */
static void set_best(const struct foreign *foreign, struct verdicts *verdicts)
{
    const struct found *found = &foreign->found;
    int64_t best_ns = predicted_ns(foreign, found->better_ns);
    int64_t first_ns = verdicts->count > 0 ? verdicts->items[0].predicted_ns : 0;
    size_t used = 0;
    if ((double)best_ns > (1 - FIX_GAIN) * (double)foreign->time_ns)
        return;
    verdicts->best_ns = best_ns;
    if (first_ns > 0 && (double)best_ns > (1 - FIX_GAIN) * (double)first_ns) {
        verdicts->best_ns = first_ns;
        return;
    }
    for (int i = 0; i < found->count && used < sizeof verdicts->best; i++) {
        bool named = false;
        for (int k = 0; k < i; k++)
            named |= found->knobs[k].code == found->knobs[i].code;
        if (!named)
            used +=
                (size_t)snprintf(verdicts->best + used, sizeof verdicts->best - used, "%s%s",
                                 i > 0 ? " + " : "", verdict_rows[found->knobs[i].code].name);
    }
}

/* Keeps what all fixes together change, where that is worth it. */
static void set_mended(const struct foreign *foreign, struct verdicts *verdicts)
{
    const struct found *found = &foreign->found;
    verdicts->mends = (double)found->better_ns <= (1 - FIX_GAIN) * (double)found->given_ns;
    if (verdicts->mends)
        verdicts->mended = found->whole;
}

void foreign_rank(const struct foreign *foreign, struct verdicts *verdicts)
{
    for (int i = 1; i < verdicts->count; i++) {
        struct verdict item = verdicts->items[i];
        int place = i;
        for (; place > 0 && comes_before(foreign, &item, &verdicts->items[place - 1]); place--)
            verdicts->items[place] = verdicts->items[place - 1];
        verdicts->items[place] = item;
    }
    set_best(foreign, verdicts);
    set_mended(foreign, verdicts);
}
