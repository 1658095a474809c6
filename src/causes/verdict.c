/* verdict.c - the causes of a run, what each cost, and the fixes that were tried. */
#include "causes/verdict.h"

#include "causes/foreign.h"
#include "causes/verdict_parts.h"
#include "causes/whatif.h"
#include "core/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LISTED_PERCENT = 0.5; /* a cause of less is no listed part of the rest */
static const double FIX_GAIN = 0.01;      /* a fix that gains less is not offered */
static const double ALIKE = 0.03;         /* predicted times that differ by less are alike */

const char *evidence_name(enum evidence evidence)
{
    static const char *const names[EVIDENCE_COUNT] = {"unknown", "likely", "certain"};
    return names[evidence];
}

/* --- fixes --- */

/* Joins the options of all knobs that are turned for `code`; all for VERDICT_COUNT. */
static void join_options(const struct verdict_judgement *judgement, enum verdict_code code,
                         struct settings *settings, char command[VERDICT_COMMAND])
{
    const struct found *found = &judgement->found;
    size_t used = 0;
    *settings = found->given.settings;
    command[0] = '\0';
    for (int i = 0; i < found->count && used + 1 < VERDICT_COMMAND; i++) {
        enum knob knob = (enum knob)found->knobs[i].knob;
        if (code != VERDICT_COUNT && found->knobs[i].code != code)
            continue;
        whatif_turn(knob, &found->better.settings, settings);
        if (code == VERDICT_COUNT && knob == KNOB_PREFETCH &&
            found->better.settings.memory != MEMORY_MANAGED)
            continue; /* other memory has nothing to prefetch */
        if (used > 0)
            command[used++] = ' ';
        whatif_option(knob, &found->given.settings, &found->better.settings, command + used,
                      VERDICT_COMMAND - used);
        used += strlen(command + used);
    }
}

/* Returns the time that a fix is predicted to bring: the simulated one, and of what the
 * measured run took beyond its simulation the part that no cause explains, the less the more
 * the fix changes. Where the run was faster than its simulation, the fixed one is taken to be
 * so, too. */
static int64_t predicted_ns(const struct verdict_judgement *judgement, int64_t fixed_ns)
{
    double given_ns = (double)judgement->found.given_ns, part = (double)fixed_ns / given_ns;
    double beyond_ns = (double)judgement->time_ns - given_ns;
    if (judgement->facts->timeline->timing == TIMING_VIRTUAL || given_ns <= 0)
        return fixed_ns;
    if (beyond_ns > 0)
        beyond_ns =
            (double)earlier(judgement->items[VERDICT_UNKNOWN].cost_ns, (int64_t)beyond_ns);
    return fixed_ns + (int64_t)(part * part * beyond_ns);
}

static bool worth_it(int64_t fixed_ns, int64_t than_ns)
{
    return (double)fixed_ns <= (1 - FIX_GAIN) * (double)than_ns;
}

/* Sets the fix of a cause that knobs stand for, if it is worth it alone. */
static enum status try_fix(const struct verdict_judgement *judgement, struct verdict *verdict,
                           struct error *error)
{
    const struct found *found = &judgement->found;
    struct settings settings;
    char command[VERDICT_COMMAND];
    int64_t fixed_ns = found->given_ns;
    int turns = 0;
    for (int i = 0; i < found->count; i++) {
        if (found->knobs[i].code != verdict->code)
            continue;
        fixed_ns = found->knobs[i].fixed_ns;
        turns++;
    }
    if (turns == 0)
        return STATUS_OK;
    join_options(judgement, verdict->code, &settings, command);
    struct error why = {0};
    if (turns > 1)
        whatif_time(&settings, judgement->facts->model, &fixed_ns, &why);
    if (why.status != STATUS_OK) /* a fix that can't be is none */
        return why.status == STATUS_NO_MEMORY ? error_pass(error, &why) : STATUS_OK;
    verdict->tried = true;
    if (!worth_it(fixed_ns, found->given_ns))
        return STATUS_OK;
    verdict->predicted_ns = predicted_ns(judgement, fixed_ns);
    memcpy(verdict->command, command, sizeof command);
    return STATUS_OK;
}

/* Takes a single fix for the best where it is as good: fewer turns may end up a little ahead.
 */
static void take_better_fix(struct verdicts *verdicts)
{
    for (int i = verdicts->named - 1; i >= 0;
         i--) { /* the first one wins where two are alike */
        const struct verdict *verdict = &verdicts->items[i];
        if (verdict->predicted_ns <= 0 || verdict->predicted_ns > verdicts->best_ns)
            continue;
        verdicts->best_ns = verdict->predicted_ns;
        memcpy(verdicts->best, verdict->command, sizeof verdicts->best);
    }
}

/* Sets the best settings that were found, if they are worth it: one turn, or all of them. */
static void set_best(const struct verdict_judgement *judgement, struct verdicts *verdicts)
{
    const struct found *found = &judgement->found;
    struct settings settings;
    const struct knob_gain *knobs[KNOB_COUNT];
    int count = whatif_best(found, knobs);
    int64_t fixed_ns = count == 1 ? knobs[0]->fixed_ns : found->better_ns;
    int64_t best_ns = predicted_ns(judgement, fixed_ns);
    if (count == 0 || !worth_it(best_ns, judgement->time_ns))
        return;
    verdicts->best_ns = best_ns;
    if (count > 1)
        join_options(judgement, VERDICT_COUNT, &settings, verdicts->best);
    else
        whatif_option((enum knob)knobs[0]->knob, &found->given.settings,
                      &found->better.settings, verdicts->best, sizeof verdicts->best);
    take_better_fix(verdicts);
}

/* --- the verdicts --- */

/* Returns the last of the knobs that stand for a cause; -1 for none. The later one is blamed
 * where either would do. */
static int last_knob(const struct verdict_judgement *judgement, enum verdict_code code)
{
    int last = -1;
    for (int i = 0; i < judgement->found.count; i++) {
        const struct knob_gain *gain = &judgement->found.knobs[i];
        if (gain->code == code && gain->knob > last)
            last = gain->knob;
    }
    return last;
}

/* Returns true if cause `x` comes before `y`: its fix gains more; or as much, and it is blamed
 * first; or there is no fix, and it cost more. */
static bool comes_before(const struct verdict_judgement *judgement, const struct verdict *x,
                         const struct verdict *y)
{
    bool one = x->predicted_ns > 0, other = y->predicted_ns > 0;
    if (one != other)
        return one;
    if (!one)
        return x->cost_ns > y->cost_ns;
    double apart = (double)(x->predicted_ns - y->predicted_ns);
    if (apart <= ALIKE * (double)y->predicted_ns && apart >= -ALIKE * (double)y->predicted_ns)
        return last_knob(judgement, x->code) > last_knob(judgement, y->code);
    return apart < 0;
}

/* Puts the named causes in order. They are few, and fixes that gain alike make no strict order,
 * so each moves up as long as it comes before the one above. */
static void sort_causes(const struct verdict_judgement *judgement, struct verdicts *verdicts)
{
    for (int i = 1; i < verdicts->count; i++) {
        struct verdict item = verdicts->items[i];
        int place = i;
        for (; place > 0 && comes_before(judgement, &item, &verdicts->items[place - 1]);
             place--)
            verdicts->items[place] = verdicts->items[place - 1];
        verdicts->items[place] = item;
    }
}

/* Returns true if a cause is worth a name: for what it cost, or for what mending it alone would
 * gain. */
static bool is_named(const struct verdicts *verdicts, const struct verdict *item)
{
    double least_ns = VERDICT_NAMED_SHARE * (double)verdicts->time_ns;
    int64_t gain_ns = item->predicted_ns > 0 ? verdicts->time_ns - item->predicted_ns : 0;
    return item->cost_ns > 0 &&
           ((double)item->cost_ns >= least_ns || (double)gain_ns >= least_ns);
}

/* Adds a cause that is too little to be named to the rest, which lists it if it is anything. */
static void add_to_rest(const struct verdicts *verdicts, const struct verdict *item,
                        struct verdict *rest)
{
    double percent = 100 * (double)item->cost_ns / (double)verdicts->time_ns;
    size_t used = strlen(rest->seen);
    rest->cost_ns += item->cost_ns;
    if (percent >= LISTED_PERCENT && used < sizeof rest->seen)
        snprintf(rest->seen + used, sizeof rest->seen - used, "%s%s %.1f%%",
                 used > 0 ? ", " : "", verdict_rows[item->code].name, percent);
}

/* Says where a time comes from that nothing explains, and what would tell more. */
static void see_unknown(const struct verdict_judgement *judgement, struct verdict *verdict)
{
    char time[UNITS_TEXT];
    int64_t least_ns = judgement->found.better_ns;
    for (int i = 0; i < judgement->found.count; i++)
        least_ns = earlier(least_ns, judgement->found.knobs[i].fixed_ns);
    if (!judgement->tried)
        snprintf(verdict->seen, sizeof verdict->seen,
                 judgement->facts->model == NULL
                     ? "no machine file stands for this device, so no fix could be tried: name "
                       "one by --machine, or make one by pipeline calibrate"
                     : "there are too many ops to try fixes in a reasonable time");
    else if (judgement->facts->timeline->timing == TIMING_VIRTUAL)
        snprintf(verdict->seen, sizeof verdict->seen,
                 "the best settings that were tried take %s", units_time(least_ns, time));
    else
        snprintf(verdict->seen, sizeof verdict->seen,
                 "the simulator gives this run %s: pipeline compare shows where they part",
                 units_time(judgement->found.given_ns, time));
}

/* Tries the fix of each cause that cost something. */
static enum status try_fixes(struct verdict_judgement *judgement, struct error *error)
{
    enum status status = STATUS_OK;
    for (int code = 0; code < VERDICT_COPY_BOUND && status == STATUS_OK; code++) {
        if (judgement->items[code].cost_ns > 0)
            status = try_fix(judgement, &judgement->items[code], error);
    }
    return status;
}

/* Gives what no cause explains to the one that is called unknown. */
static void charge_unknown(struct verdict_judgement *judgement)
{
    struct verdict *unknown = &judgement->items[VERDICT_UNKNOWN];
    unknown->cost_ns += judgement->time_ns - judgement->limit_ns;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        unknown->cost_ns -= code != VERDICT_UNKNOWN ? judgement->items[code].cost_ns : 0;
}

static void name_causes(struct verdict_judgement *judgement, struct verdicts *verdicts)
{
    static const enum verdict_code bounds[] = {
        [LIMIT_COPIES] = VERDICT_COPY_BOUND,   [LIMIT_COMPUTE] = VERDICT_KERNEL_BOUND,
        [LIMIT_CPU] = VERDICT_CPU_BOUND,       [LIMIT_HOST] = VERDICT_HOST_BOUND,
        [LIMIT_SWITCH] = VERDICT_SWITCH_BOUND, [LIMIT_PEER] = VERDICT_PEER_BOUND};
    struct verdict rest = judgement->items[VERDICT_REST];
    rest.cost_ns = 0;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        struct verdict *item = &judgement->items[code];
        if (code == VERDICT_MISSING_WAIT ||
            !is_named(verdicts, item)) { /* a race stands first */
            add_to_rest(verdicts, item, &rest);
            continue;
        }
        verdict_see(judgement->facts, item);
        if (code == VERDICT_UNKNOWN)
            see_unknown(judgement, item);
        verdicts->items[verdicts->count++] = *item;
    }
    sort_causes(judgement, verdicts);
    if (judgement->facts->races) {
        for (int i = verdicts->count++; i > 0; i--)
            verdicts->items[i] = verdicts->items[i - 1];
        verdicts->items[0] = (struct verdict){.code = VERDICT_MISSING_WAIT, .span = SPAN_NONE};
        verdict_see(judgement->facts, &verdicts->items[0]);
    }
    verdicts->named = verdicts->count;
    verdicts->items[verdicts->count++] =
        (struct verdict){.code = bounds[verdicts->bound], .span = SPAN_NONE};
    verdicts->items[verdicts->count++] = rest;
}

enum status verdicts_find(const struct verdict_case *facts, struct verdicts *verdicts,
                          struct error *error)
{
    struct verdict_judgement judgement = {.facts = facts};
    struct verdicts result = {.limit_known = true};
    bool own = facts->plan != NULL && facts->plan->recorded == NULL;
    enum status status = verdict_check(facts->timeline, own ? facts->plan : NULL, error);
    if (status == STATUS_OK && !own)
        return foreign_verdicts_find(facts, verdicts, error);
    if (status == STATUS_OK)
        status = verdict_account_find(facts, &judgement.account, error);
    if (status != STATUS_OK)
        return status;
    result.limit_ns = facts->limit->ns;
    result.bound = facts->limit->cause;
    result.time_ns =
        facts->untraced_ns > 0 ? facts->untraced_ns : timeline_time_ns(facts->timeline);
    result.limit_ns = earlier(result.limit_ns, result.time_ns);
    judgement.time_ns = result.time_ns;
    judgement.limit_ns = result.limit_ns;
    for (int code = 0; code < VERDICT_COUNT; code++) {
        judgement.items[code] = judgement.account.items[code];
        judgement.items[code].cost_ns = 0;
    }
    struct error why = {0}; /* a run that can't be simulated is judged by its path */
    judgement.tried =
        facts->settings != NULL && facts->model != NULL &&
        whatif_find(facts->settings, facts->model, &judgement.found, &why) == STATUS_OK;
    if (why.status == STATUS_NO_MEMORY)
        return error_pass(error, &why);
    if (judgement.tried)
        whatif_name_causes(facts, &judgement.found);
    if (judgement.tried)
        status = verdict_charge_tried(&judgement, error);
    else
        verdict_charge_path(&judgement);
    charge_unknown(&judgement);
    if (status == STATUS_OK && judgement.tried)
        status = try_fixes(&judgement, error);
    if (status != STATUS_OK)
        return status;
    name_causes(&judgement, &result);
    if (judgement.tried) {
        result.modelled_ns = judgement.found.given_ns;
        set_best(&judgement, &result);
    }
    *verdicts = result;
    return STATUS_OK;
}
