/* charge_run.c - deals out what a run of our own lost among its causes, by what the simulator
 * gains, and tries their fixes. */
#include "causes/judge.h"
#include "plan/build.h"
#include "plan/rules.h"
#include "sim/simulator.h"

#include <string.h>

/* --- costs --- */

/* Charges each knob's part, in ns of the judged run. */
static void charge_knobs(struct judge *judge, double scale)
{
    EACH (const struct knob_gain, gain, judge->found.knobs, judge->found.count)
        judge->charges.causes[gain->code].cost_ns += (int64_t)(scale * (double)gain->cost_ns);
}

/* Accounts for a plan as the simulator runs it; returns whether it could. timeline_free() in
 * any case. */
static bool account_simulated(struct judge *judge, const struct plan *plan,
                              uint32_t connections, struct timeline *timeline,
                              struct account *account)
{
    struct verdict_case simulated = *judge->facts;
    struct critical critical = {0};
    struct error *why = &judge->why;
    int64_t issued_ns;
    *timeline = (struct timeline){0};
    simulated.plan = plan;
    simulated.timeline = timeline;
    simulated.critical = &critical;
    if (simulator_run(simulated.model, connections, plan, NULL, timeline, &issued_ns, why) ==
            STATUS_OK &&
        critical_find(timeline, simulated.model, &critical, why) == STATUS_OK)
        verdict_account_find(&simulated, account, why);
    critical_free(&critical);
    return why->status == STATUS_OK;
}

/* Returns what of the time on the best settings' path no better way for the tiles saves, as a
 * cause of the run that is judged: that goes another way, where that costs more. */
static enum verdict_code way_code(const struct settings *given, enum verdict_code code)
{
    if (code == VERDICT_NARROW_ROWS && !given->pack)
        return given->copy == COPY_ROWS ? VERDICT_ROW_COPIES : code;
    bool there = code == VERDICT_PACKING         ? given->pack
                 : code == VERDICT_NARROW_ROWS   ? false
                 : code == VERDICT_MAPPED_MEMORY ? given->memory == MEMORY_MAPPED
                 : code == VERDICT_SMALL_TILES   ? !given->pack
                                                 : true;
    return there ? code : given->pack ? VERDICT_PACKING : VERDICT_SMALL_TILES;
}

static bool goes_another_way(const struct judge *judge)
{
    const struct settings *better = &judge->found.better.settings;
    return settings_tiles_are_given(better) || better->pack || better->issue == ISSUE_BATCH ||
           judge->facts->plan->has_halo;
}

static bool has_halo(const struct judge *judge)
{
    return judge->facts->plan->has_halo;
}

static bool shares_memory(const struct judge *judge)
{
    return judge->facts->limit->cause == LIMIT_HOST;
}

/* The best settings' path may show these causes of what they leave, each in some runs alone:
 * plain tiles can have any size, and the best one balances the first six against what few
 * tiles cost. */
static const struct remains {
    enum verdict_code code;
    bool (*of)(const struct judge *judge);
    bool tried; /* tiles could go otherwise, and nothing better was found */
} remains[] = {
    {VERDICT_LONG_EXCHANGE, goes_another_way, false},
    {VERDICT_PACKING, goes_another_way, true},
    {VERDICT_NARROW_ROWS, goes_another_way, false}, /* the rows are the data's */
    {VERDICT_SMALL_TILES, goes_another_way, true},
    {VERDICT_MAPPED_MEMORY, goes_another_way, true},
    {VERDICT_ONE_COPY_ENGINE, goes_another_way, true},
    {VERDICT_SLOW_READS, shares_memory, false},
    {VERDICT_SLOW_KERNELS, has_halo, false},
};

/* Charges up to *left_ns of what the best settings leave to what the way that tiles go, or an
 * exchange, costs even so: their own path shows it. */
static void charge_better_path(struct judge *judge, int64_t *left_ns)
{
    const struct settings *better = &judge->found.better.settings;
    struct account account;
    struct timeline timeline;
    struct plan plan;
    if (*left_ns <= 0 || !(goes_another_way(judge) || shares_memory(judge)) ||
        plan_build(better, judge->facts->model, &plan, &judge->why) != STATUS_OK)
        return;
    const bool known =
        account_simulated(judge, &plan, better->connections, &timeline, &account);
    for (size_t i = 0; i < sizeof remains / sizeof remains[0] && known; i++) {
        const struct remains *left = &remains[i];
        if (!left->of(judge))
            continue;
        int64_t cost_ns = earlier(later(0, account.causes[left->code].cost_ns), *left_ns);
        struct verdict *item =
            &judge->charges.causes[way_code(&judge->found.given.settings, left->code)];
        item->cost_ns += cost_ns;
        if (cost_ns > 0 && left->tried)
            item->no_time = judge_gains_little;
        *left_ns -= cost_ns;
    }
    timeline_free(&timeline);
    plan_free(&plan);
}

/* Charges up to `left_ns` of what the best settings still leave above the limit: to the array's
 * being short, to what their path shows, and to kernels that take longer than at full rate. An
 * exchange comes first: a larger array hides it, but it is what takes the time. */
static void charge_remains(struct judge *judge, int64_t left_ns)
{
    const struct found *found = &judge->found;
    if (has_halo(judge))
        charge_better_path(judge, &left_ns);
    int64_t short_ns = earlier(found->short_ns, left_ns);
    judge->charges.causes[VERDICT_SHORT_RUN].cost_ns += short_ns;
    left_ns -= short_ns;
    if (!has_halo(judge))
        charge_better_path(judge, &left_ns);
    if (judge->facts->limit->cause == LIMIT_COMPUTE && !has_halo(judge))
        judge->charges.causes[VERDICT_SLOW_KERNELS].cost_ns += left_ns;
}

/* Returns true if what a measured run took beyond its simulation may be charged to a cause: it
 * is one already, or the timeline shows it for certain. All else could as well be the
 * simulator's error. */
static bool may_exceed(const struct judge *judge, enum verdict_code code)
{
    return judge->charges.causes[code].cost_ns > 0 ||
           (verdict_rows[code].traits & MAY_EXCEED) != 0;
}

/* Returns for how long the CPU still worked behind the GPU's last end. */
static int64_t cpu_alone_ns(const struct timeline *timeline)
{
    int64_t cpu_ns = 0, gpu_ns = 0;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (span->kind == OP_CPU)
            cpu_ns = later(cpu_ns, span->end_ns);
        else if (op_on_device(span->kind))
            gpu_ns = later(gpu_ns, span->end_ns);
    }
    return later(0, cpu_ns - gpu_ns);
}

/* Charges what a measured run took beyond its simulation, up to `excess_ns`, to what cost more
 * on the measured path than on the simulated one. */
static void charge_excess(struct judge *judge, const struct account *path, int64_t excess_ns)
{
    const struct verdict_case *facts = judge->facts;
    struct timeline timeline;
    struct account account;
    int64_t more_ns[VERDICT_COUNT] = {0}, sum_ns = 0;
    const bool known = account_simulated(
        judge, facts->plan, judge->found.given.settings.connections, &timeline, &account);
    for (int code = 0; code < VERDICT_COPY_BOUND && known; code++) {
        if (!may_exceed(judge, (enum verdict_code)code))
            continue;
        more_ns[code] =
            later(0, path->causes[code].cost_ns - later(0, account.causes[code].cost_ns));
        sum_ns += more_ns[code];
    }
    if (known && may_exceed(judge, VERDICT_CPU_SHARE)) {
        /* The path has no name for that. */
        more_ns[VERDICT_CPU_SHARE] =
            later(0, cpu_alone_ns(facts->timeline) - cpu_alone_ns(&timeline));
        sum_ns += more_ns[VERDICT_CPU_SHARE];
    }
    double scale = sum_ns > excess_ns ? (double)excess_ns / (double)sum_ns : 1;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        judge->charges.causes[code].cost_ns += (int64_t)(scale * (double)more_ns[code]);
    timeline_free(&timeline);
}

static void charge_tried(struct judge *judge, const struct account *path)
{
    const struct found *found = &judge->found;
    int64_t above_ns = judge->time_ns - judge->limit_ns;
    int64_t gain_ns = found->given_ns - found->better_ns;
    int64_t remain_ns = later(0, found->better_ns - judge->limit_ns);
    int64_t model_ns = gain_ns + remain_ns;
    double scale = model_ns > above_ns ? (double)above_ns / (double)model_ns : 1;
    charge_knobs(judge, scale);
    charge_remains(judge, (int64_t)(scale * (double)remain_ns));
    int64_t excess_ns = above_ns - (int64_t)(scale * (double)model_ns);
    if (judge->facts->timeline->timing != TIMING_VIRTUAL && excess_ns > 0)
        charge_excess(judge, path, excess_ns);
}

static void charge_path(struct judge *judge, const struct account *path)
{
    int64_t sum_ns = 0, above_ns = judge->time_ns - judge->limit_ns;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        sum_ns += later(0, path->causes[code].cost_ns);
    double scale = sum_ns > above_ns ? (double)above_ns / (double)sum_ns : 1;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        judge->charges.causes[code].cost_ns +=
            (int64_t)(scale * (double)later(0, path->causes[code].cost_ns));
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
static void try_knobs(struct judge *judge)
{
    const struct verdict_case *facts = judge->facts;
    struct error why = {0};
    judge->tried = facts->settings != NULL && facts->model != NULL &&
                   whatif_find(facts, &judge->found, &why) == STATUS_OK;
    judge_note(judge, &why);
}

/* Charges the loss to its causes. */
void run_charge(struct judge *judge, struct verdicts *verdicts)
{
    const struct verdict_case *facts = judge->facts;
    struct account path;
    judge->time_ns =
        facts->untraced_ns > 0 ? facts->untraced_ns : timeline_time_ns(facts->timeline);
    judge->limit_ns = earlier(facts->limit->ns, judge->time_ns);
    try_knobs(judge);
    verdict_account_find(facts, &path, &judge->why);
    judge->charges = path; /* for the places; what each cost is dealt out anew */
    for (int code = 0; code < VERDICT_COUNT; code++)
        judge->charges.causes[code].cost_ns = 0;
    if (judge->tried)
        charge_tried(judge, &path);
    else
        charge_path(judge, &path);
    charge_unknown(judge);
    verdict_place_holds(judge->facts, &judge->charges, &judge->why);
    account_place_others(&judge->charges);
    *verdicts = (struct verdicts){.time_ns = judge->time_ns,
                                  .limit_ns = judge->limit_ns,
                                  .limit_known = true,
                                  .bound = facts->limit->cause,
                                  .modelled_ns = judge->tried ? judge->found.given_ns : 0};
}

/* --- fixes --- */

/* Returns how sure the simulated time of settings is; 0 where that can't be told. */
static struct outlook look_at(struct judge *judge, const struct settings *settings,
                              int64_t time_ns)
{
    struct outlook outlook;
    struct error why = {0};
    const enum status status =
        whatif_look(settings, judge->facts->model, time_ns, &outlook, &why);
    judge_note(judge, &why);
    return status == STATUS_OK ? outlook : (struct outlook){0};
}

static void look_at_fix(struct judge *judge, const struct fix *fix, int64_t predicted_ns,
                        struct prospect *prospect)
{
    const struct outlook fixed = look_at(judge, &fix->settings, fix->time_ns);
    judge_look(judge, &fixed, predicted_ns, prospect);
}

/* Sets the fix of a cause that knobs stand for, if it is worth it alone. */
static void put_fix(struct judge *judge, struct verdict *cause)
{
    struct fix fix;
    if (whatif_fix(judge->facts, &judge->found, cause->code, &fix, &judge->why) != STATUS_OK ||
        fix.time_ns == SEARCH_NO_TIME || !judge_offer(judge, fix.time_ns, cause))
        return;
    memcpy(cause->command, fix.command, sizeof fix.command);
    look_at_fix(judge, &fix, cause->predicted_ns, &cause->prospect);
}

void run_put_fixes(struct judge *judge)
{
    const struct found *found = &judge->found;
    if (judge->tried && found->count > 0)
        judge->given = look_at(judge, &found->given.settings, found->given_ns);
    for (int code = 0; code < VERDICT_COPY_BOUND && judge->tried; code++) {
        if (judge->charges.causes[code].cost_ns > 0)
            put_fix(judge, &judge->charges.causes[code]);
    }
}

void run_set_best(struct judge *judge, struct verdicts *verdicts)
{
    struct fix best = {.time_ns = SEARCH_NO_TIME};
    if (judge->tried)
        (void)whatif_best(judge->facts, &judge->found, &best, &judge->why);
    if (best.time_ns == SEARCH_NO_TIME)
        return;
    const int64_t best_ns = judge_predicted_ns(judge, best.time_ns);
    if (!search_gains(best_ns, judge->time_ns, SEARCH_GAIN))
        return;
    verdicts->best_ns = best_ns;
    memcpy(verdicts->best, best.command, sizeof best.command);
    look_at_fix(judge, &best, best_ns, &verdicts->best_prospect);
}
