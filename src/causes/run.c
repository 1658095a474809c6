/* run.c - a run of our own, from its facts to its verdicts: what each cause cost, and the
 * fixes that were tried. */
#include "causes/verdict.h"

#include "analysis/analysis.h"
#include "causes/foreign.h"
#include "causes/judge.h"
#include "causes/knobs.h"
#include "core/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- fixes --- */

/* Sets the fix of a cause that knobs stand for, if it is worth it alone. */
static enum status try_fix(const struct judge *judge, struct verdict *verdict,
                           struct error *error)
{
    struct fix fix;
    enum status status = whatif_fix(judge->facts, &judge->found, verdict->code, &fix, error);
    if (status == STATUS_OK && fix.time_ns != SEARCH_NO_TIME &&
        judge_offer(judge, fix.time_ns, verdict))
        memcpy(verdict->command, fix.command, sizeof fix.command);
    return status;
}

/* Sets how sure a fix's time is; where that can't be told, it is not known. */
static enum status look_at(const struct judge *judge, const struct fix *fix,
                           int64_t predicted_ns, struct prospect *prospect, struct error *error)
{
    struct outlook fixed;
    struct error why = {0};
    const enum status status =
        whatif_look(&fix->settings, judge->facts->model, fix->time_ns, &fixed, &why);
    if (status == STATUS_OK)
        judge_look(judge, &fixed, predicted_ns, prospect);
    return status == STATUS_NO_MEMORY ? error_pass(error, &why) : STATUS_OK;
}

/* Sets how sure the times with the fixes are that are listed. */
static enum status look_at_fixes(struct judge *judge, struct verdicts *verdicts,
                                 struct error *error)
{
    const struct found *found = &judge->found;
    struct fix fix;
    struct error why = {0};
    enum status status = whatif_look(&found->given.settings, judge->facts->model,
                                     found->given_ns, &judge->given, &why);
    if (status != STATUS_OK)
        return status == STATUS_NO_MEMORY ? error_pass(error, &why) : STATUS_OK;
    for (int i = 0; i < verdicts->count && status == STATUS_OK; i++) {
        struct verdict *cause = &verdicts->items[i];
        if (cause->predicted_ns == 0)
            continue;
        status = whatif_fix(judge->facts, found, cause->code, &fix, error);
        if (status == STATUS_OK)
            status = look_at(judge, &fix, cause->predicted_ns, &cause->prospect, error);
    }
    return status;
}

/* Sets the best settings that were found, if they are worth it. */
static enum status set_best(const struct judge *judge, struct verdicts *verdicts,
                            struct error *error)
{
    struct fix best;
    enum status status = whatif_best(judge->facts, &judge->found, &best, error);
    if (status != STATUS_OK || best.time_ns == SEARCH_NO_TIME)
        return status;
    const int64_t best_ns = judge_predicted_ns(judge, best.time_ns);
    if (!search_gains(best_ns, judge->time_ns, SEARCH_GAIN))
        return STATUS_OK;
    verdicts->best_ns = best_ns;
    memcpy(verdicts->best, best.command, sizeof best.command);
    return look_at(judge, &best, best_ns, &verdicts->best_prospect, error);
}

/* --- the verdicts --- */

/* Says where a time comes from that nothing explains, and what would tell more. */
static void see_unknown(const struct judge *judge, struct verdict *verdict)
{
    char time[UNITS_TEXT];
    int64_t least_ns = judge->found.better_ns;
    for (int i = 0; i < judge->found.count; i++)
        least_ns = earlier(least_ns, judge->found.knobs[i].fixed_ns);
    if (!judge->tried)
        snprintf(verdict->seen, sizeof verdict->seen,
                 judge->facts->model == NULL
                     ? "no machine file stands for this device, so no fix could be tried: name "
                       "one by --machine, or make one by pipeline calibrate"
                     : "there are too many ops to try fixes in a reasonable time");
    else if (judge->facts->timeline->timing == TIMING_VIRTUAL)
        snprintf(verdict->seen, sizeof verdict->seen,
                 "the best settings that were tried take %s", units_time(least_ns, time));
    else
        snprintf(verdict->seen, sizeof verdict->seen,
                 "the simulator gives this run %s: pipeline compare shows where they part",
                 units_time(judge->found.given_ns, time));
}

/* Tries the fix of each cause that cost something. */
static enum status try_fixes(struct judge *judge, struct error *error)
{
    enum status status = STATUS_OK;
    for (int code = 0; code < VERDICT_COPY_BOUND && status == STATUS_OK; code++) {
        if (judge->charges.causes[code].cost_ns > 0)
            status = try_fix(judge, &judge->charges.causes[code], error);
    }
    return status;
}

/* Gives what no cause explains to the one that is called unknown. */
static void charge_unknown(struct judge *judge)
{
    struct verdict *unknown = &judge->charges.causes[VERDICT_UNKNOWN];
    unknown->cost_ns += judge->time_ns - judge->limit_ns;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        unknown->cost_ns -= code != VERDICT_UNKNOWN ? judge->charges.causes[code].cost_ns : 0;
}

/* Finds the best settings, where they can be tried: a run that can't be simulated is judged by
 * its path alone. */
static enum status try_knobs(struct judge *judge, struct error *error)
{
    const struct verdict_case *facts = judge->facts;
    struct error why = {0};
    judge->tried = facts->settings != NULL && facts->model != NULL &&
                   whatif_find(facts->settings, facts->model, &judge->found, &why) == STATUS_OK;
    if (judge->tried)
        whatif_name_causes(facts, &judge->found);
    return why.status == STATUS_NO_MEMORY ? error_pass(error, &why) : STATUS_OK;
}

/* Charges the loss to its causes. */
static enum status charge_all(struct judge *judge, struct error *error)
{
    struct account path;
    enum status status = verdict_account_find(judge->facts, &path, error);
    if (status != STATUS_OK)
        return status;
    judge->charges = path; /* for the places; what each cost is dealt out anew */
    for (int code = 0; code < VERDICT_COUNT; code++)
        judge->charges.causes[code].cost_ns = 0;
    if (judge->tried)
        status = verdict_charge_tried(judge, &path, error);
    else
        verdict_charge_path(judge, &path);
    charge_unknown(judge);
    if (status == STATUS_OK)
        status = verdict_place_holds(judge->facts, &judge->charges, error);
    account_place_others(&judge->charges);
    return status;
}

static enum status name_causes(struct judge *judge, struct verdicts *verdicts,
                               struct error *error)
{
    enum status status = STATUS_OK;
    judge_list(judge, verdicts);
    evidence_run(judge->facts, verdicts->items, verdicts->count);
    for (int i = 0; i < verdicts->count; i++) {
        if (verdicts->items[i].code == VERDICT_UNKNOWN)
            see_unknown(judge, &verdicts->items[i]);
    }
    if (judge->tried && judge->found.count > 0)
        status = look_at_fixes(judge, verdicts, error);
    judge_rank(judge, true, verdicts);
    if (judge->tried && status == STATUS_OK) {
        verdicts->modelled_ns = judge->found.given_ns;
        status = set_best(judge, verdicts, error);
    }
    judge_complete(judge, verdicts);
    return status;
}

static enum status judge_with(struct judge *judge, struct verdicts *verdicts,
                              struct error *error)
{
    const struct verdict_case *facts = judge->facts;
    struct verdicts result = {.limit_known = true, .bound = facts->limit->cause};
    judge->time_ns =
        facts->untraced_ns > 0 ? facts->untraced_ns : timeline_time_ns(facts->timeline);
    judge->limit_ns = earlier(facts->limit->ns, judge->time_ns);
    result.time_ns = judge->time_ns;
    result.limit_ns = judge->limit_ns;
    enum status status = try_knobs(judge, error);
    if (status == STATUS_OK)
        status = charge_all(judge, error);
    if (status == STATUS_OK && judge->tried)
        status = try_fixes(judge, error);
    if (status == STATUS_OK)
        status = name_causes(judge, &result, error);
    if (status == STATUS_OK)
        *verdicts = result;
    return status;
}

/* A judge is too large for a stack that a user has made small. */
static enum status judge_run(const struct verdict_case *facts, struct verdicts *verdicts,
                             struct error *error)
{
    struct judge *judge = calloc(1, sizeof *judge);
    if (judge == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to judge a run");
    judge->facts = facts;
    const enum status status = judge_with(judge, verdicts, error);
    free(judge);
    return status;
}

enum status verdicts_find(const struct verdict_case *facts, struct verdicts *verdicts,
                          struct error *error)
{
    bool ours = facts->plan != NULL && facts->plan->recorded == NULL;
    enum status status = timeline_check(facts->timeline, ours ? facts->plan : NULL, error);
    if (status != STATUS_OK)
        return status;
    return ours ? judge_run(facts, verdicts, error)
                : foreign_verdicts_find(facts, verdicts, error);
}
