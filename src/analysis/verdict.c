/* verdict.c - the causes of a run, what each cost, and the fixes that were tried. */
#include "analysis/verdict.h"

#include "analysis/foreign.h"
#include "analysis/verdict_parts.h"
#include "analysis/whatif.h"
#include "core/units.h"
#include "plan/rules.h"
#include "sim/simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double NAMED_SHARE = 0.04;   /* a cause of less of the run's time is not named */
static const double LISTED_PERCENT = 0.5; /* nor is it listed as a part of the rest */
static const double FIX_GAIN = 0.01;      /* nor is a fix offered that gains less */
static const double ALIKE = 0.03;         /* predicted times that differ by less are alike */

/* A run that is being judged. */
struct judgement {
    const struct verdict_case *facts;
    struct verdict_account account; /* of the timeline's critical path */
    struct whatif whatif;
    int64_t time_ns, limit_ns;
    struct verdict items[VERDICT_COUNT]; /* by code */
    bool tried;                          /* whatif is set */
};

const char *evidence_name(enum evidence evidence)
{
    static const char *const names[EVIDENCE_COUNT] = {"unknown", "likely", "certain"};
    return names[evidence];
}

/* --- the causes that knobs stand for --- */

/* Returns the cause of a mistake that the plan has, by what is seen in the plan. */
static enum verdict_code mistake_code(const struct plan *plan)
{
    uint32_t seen[VERDICT_COUNT] = {0};
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        bool legacy =
            plan_stream_kind(plan, op->stream) == STREAM_LEGACY && op_on_device(op->kind);
        seen[VERDICT_PIN_IN_RUN] += op->kind == OP_ALLOC && op->tile < 0;
        seen[VERDICT_PINNED_ALLOC_IN_LOOP] += op->kind == OP_ALLOC && op->alloc.pinned;
        seen[VERDICT_ALLOC_IN_LOOP] += op->kind == OP_ALLOC;
        seen[VERDICT_BLOCKING_STREAM] += legacy && op->kind == OP_MEMSET;
        seen[VERDICT_LEGACY_STREAM] += legacy;
        seen[VERDICT_MEMSET_IN_LOOP] += op->kind == OP_MEMSET;
        seen[VERDICT_SLOW_CALLBACK] += op->kind == OP_CALLBACK && op->callback.sleep_ns > 0;
        seen[VERDICT_SYNC_IN_LOOP] += op->kind == OP_SYNC;
    }
    seen[VERDICT_LAUNCH_BLOCKING] = plan->launches_block;
    seen[VERDICT_LAZY_LOADING] = plan->loads_lazily;
    seen[VERDICT_PAGEABLE_MEMORY] = plan->memory == MEMORY_PAGEABLE;
    /* The first that is there: each is told apart from those behind it by more than them. */
    static const enum verdict_code order[] = {
        VERDICT_PIN_IN_RUN,      VERDICT_PINNED_ALLOC_IN_LOOP, VERDICT_ALLOC_IN_LOOP,
        VERDICT_BLOCKING_STREAM, VERDICT_LEGACY_STREAM,        VERDICT_MEMSET_IN_LOOP,
        VERDICT_SLOW_CALLBACK,   VERDICT_LAUNCH_BLOCKING,      VERDICT_LAZY_LOADING,
        VERDICT_SYNC_IN_LOOP,    VERDICT_PAGEABLE_MEMORY,
    };
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (seen[order[i]] > 0)
            return order[i];
    }
    return VERDICT_MISSING_WAIT;
}

/* Returns the cause of another order being better. */
static enum verdict_code order_code(const struct judgement *judgement)
{
    const struct machine *machine = judgement->facts->model;
    const struct settings *given = &judgement->whatif.given;
    if (machine->copy_engines == 1)
        return VERDICT_ONE_COPY_ENGINE;
    if (rule_checks_dependencies(machine) && given->order == ORDER_BREADTH)
        return VERDICT_LATE_SIGNAL;
    if (given->connections < given->streams)
        return given->connections == 1 ? VERDICT_ONE_QUEUE : VERDICT_FEW_QUEUES;
    return VERDICT_FULL_GPU;
}

/* Returns the cause that a turned knob stands for. */
static enum verdict_code knob_code(const struct judgement *judgement, enum knob knob)
{
    const struct settings *given = &judgement->whatif.given;
    const struct settings *better = &judgement->whatif.better;
    switch (knob) {
    case KNOB_ORDER:
        return order_code(judgement);
    case KNOB_ISSUE:
        return better->issue == ISSUE_GRAPH ? VERDICT_SMALL_TILES : VERDICT_GRAPH_LAUNCH;
    case KNOB_PRIORITIES:
        return VERDICT_PRIORITY_INVERSION;
    case KNOB_CALLBACKS:
        return VERDICT_SLOW_CALLBACK;
    case KNOB_CARRY:
        return given->carry == CARRY_SYNC ? VERDICT_SYNC_IN_LOOP : VERDICT_SLOW_CALLBACK;
    case KNOB_QUEUES:
        return given->connections == 1 ? VERDICT_ONE_QUEUE : VERDICT_FEW_QUEUES;
    case KNOB_STREAMS:
        if (better->streams < given->streams)
            return given->connections < given->streams ? VERDICT_FEW_QUEUES : VERDICT_FULL_GPU;
        return judgement->facts->plan->streams == 1 ? VERDICT_ONE_STREAM : VERDICT_FEW_STREAMS;
    case KNOB_LAYOUT:
        return VERDICT_FEW_STREAMS;
    case KNOB_TILES:
        return better->tiles > given->tiles ? VERDICT_FEW_TILES : VERDICT_SMALL_TILES;
    case KNOB_BLOCKS:
        return VERDICT_FEW_BLOCKS;
    case KNOB_SHARE:
        return VERDICT_CPU_SHARE;
    case KNOB_WAYS:
        return given->ways == 1 ? VERDICT_ONE_STREAM : VERDICT_NEEDLESS_WAIT;
    case KNOB_MEMORY:
        return given->memory == MEMORY_MAPPED ? VERDICT_MAPPED_MEMORY : VERDICT_PAGEABLE_MEMORY;
    case KNOB_MISTAKE:
        return mistake_code(judgement->facts->plan);
    case KNOB_COUNT:
        break;
    }
    return VERDICT_UNKNOWN;
}

/* --- costs --- */

/* Charges each turn's part, in ns of the judged run. */
static void charge_turns(struct judgement *judgement, double scale)
{
    const struct whatif *whatif = &judgement->whatif;
    for (int i = 0; i < whatif->count; i++) {
        struct verdict *item = &judgement->items[knob_code(judgement, whatif->turns[i].knob)];
        item->cost_ns += (int64_t)(scale * (double)whatif->turns[i].cost_ns);
    }
}

/* Charges up to `left_ns` of what the best settings still leave above the limit: to the array's
 * being short, and to kernels that take longer than at full rate. */
static void charge_remains(struct judgement *judgement, int64_t left_ns)
{
    const struct whatif *whatif = &judgement->whatif;
    int64_t short_ns = earlier(whatif->short_ns, left_ns);
    judgement->items[VERDICT_SHORT_RUN].cost_ns += short_ns;
    left_ns -= short_ns;
    if (judgement->facts->limit->cause == LIMIT_COMPUTE)
        judgement->items[VERDICT_SLOW_KERNELS].cost_ns += left_ns;
}

/* Returns true if what a measured run took beyond its simulation may be charged to a cause: it
 * is one already, or the timeline shows it for certain. All else could as well be the
 * simulator's error. */
static bool may_exceed(const struct judgement *judgement, enum verdict_code code)
{
    return judgement->items[code].cost_ns > 0 || code == VERDICT_LAZY_LOADING;
}

/* Charges what a measured run took beyond its simulation, up to `excess_ns`, to what cost more
 * on the measured path than on the simulated one. */
static enum status charge_excess(struct judgement *judgement, int64_t excess_ns,
                                 struct error *error)
{
    const struct verdict_case *facts = judgement->facts;
    struct timeline timeline;
    struct critical critical = {0};
    struct verdict_account account;
    int64_t issued_ns, more_ns[VERDICT_COUNT] = {0}, sum_ns = 0;
    timeline_init(&timeline);
    enum status status = simulator_run(facts->model, judgement->whatif.given.connections,
                                       facts->plan, NULL, &timeline, &issued_ns, error);
    if (status == STATUS_OK)
        status = critical_find(&timeline, facts->model, &critical, error);
    struct verdict_case simulated = *facts;
    simulated.timeline = &timeline;
    simulated.critical = &critical;
    if (status == STATUS_OK)
        status = verdict_account_find(&simulated, &account, error);
    for (int code = 0; code < VERDICT_COPY_BOUND && status == STATUS_OK; code++) {
        if (!may_exceed(judgement, (enum verdict_code)code))
            continue;
        more_ns[code] = later(0, judgement->account.items[code].cost_ns -
                                     later(0, account.items[code].cost_ns));
        sum_ns += more_ns[code];
    }
    double scale = sum_ns > excess_ns ? (double)excess_ns / (double)sum_ns : 1;
    for (int code = 0; code < VERDICT_COPY_BOUND && status == STATUS_OK; code++)
        judgement->items[code].cost_ns += (int64_t)(scale * (double)more_ns[code]);
    critical_free(&critical);
    timeline_free(&timeline);
    return status;
}

/* Charges by what the simulator tried. */
static enum status charge_tried(struct judgement *judgement, struct error *error)
{
    const struct whatif *whatif = &judgement->whatif;
    int64_t above_ns = judgement->time_ns - judgement->limit_ns;
    int64_t gain_ns = whatif->given_ns - whatif->better_ns;
    int64_t remain_ns = later(0, whatif->better_ns - judgement->limit_ns);
    int64_t model_ns = gain_ns + remain_ns;
    double scale = model_ns > above_ns ? (double)above_ns / (double)model_ns : 1;
    charge_turns(judgement, scale);
    charge_remains(judgement, (int64_t)(scale * (double)remain_ns));
    int64_t excess_ns = above_ns - (int64_t)(scale * (double)model_ns);
    if (judgement->facts->timeline->timing == TIMING_VIRTUAL || excess_ns <= 0)
        return STATUS_OK;
    return charge_excess(judgement, excess_ns, error);
}

/* Charges by the critical path alone, where nothing can be tried. */
static void charge_path(struct judgement *judgement)
{
    int64_t sum_ns = 0, above_ns = judgement->time_ns - judgement->limit_ns;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        sum_ns += later(0, judgement->account.items[code].cost_ns);
    double scale = sum_ns > above_ns ? (double)above_ns / (double)sum_ns : 1;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        judgement->items[code].cost_ns +=
            (int64_t)(scale * (double)later(0, judgement->account.items[code].cost_ns));
}

/* --- fixes --- */

/* Joins the options of all knobs that are turned for `code`; all for VERDICT_COUNT. */
static void join_options(const struct judgement *judgement, enum verdict_code code,
                         struct settings *settings, char command[VERDICT_COMMAND])
{
    const struct whatif *whatif = &judgement->whatif;
    size_t used = 0;
    *settings = whatif->given;
    command[0] = '\0';
    for (int i = 0; i < whatif->count && used + 1 < VERDICT_COMMAND; i++) {
        enum knob knob = whatif->turns[i].knob;
        if (code != VERDICT_COUNT && knob_code(judgement, knob) != code)
            continue;
        whatif_turn(knob, &whatif->better, settings);
        if (used > 0)
            command[used++] = ' ';
        whatif_option(knob, &whatif->better, command + used, VERDICT_COMMAND - used);
        used += strlen(command + used);
    }
}

/* Returns the time that a fix is predicted to bring: the simulated one; where a measured run
 * was faster than that already, as much less than it as the simulated one is less than the
 * simulated run. */
static int64_t predicted_ns(const struct judgement *judgement, int64_t fixed_ns)
{
    int64_t given_ns = judgement->whatif.given_ns;
    if ((double)fixed_ns <= (1 - FIX_GAIN) * (double)judgement->time_ns || given_ns <= 0)
        return fixed_ns;
    return machine_round_ns((double)judgement->time_ns * (double)fixed_ns / (double)given_ns);
}

static bool worth_it(int64_t fixed_ns, int64_t than_ns)
{
    return (double)fixed_ns <= (1 - FIX_GAIN) * (double)than_ns;
}

/* Sets the fix of a cause that knobs stand for, if it is worth it alone. */
static void try_fix(const struct judgement *judgement, struct verdict *verdict)
{
    const struct whatif *whatif = &judgement->whatif;
    struct settings settings;
    char command[VERDICT_COMMAND];
    int64_t fixed_ns = whatif->given_ns;
    int turns = 0;
    for (int i = 0; i < whatif->count; i++) {
        if (knob_code(judgement, whatif->turns[i].knob) != verdict->code)
            continue;
        fixed_ns = whatif->turns[i].fixed_ns;
        turns++;
    }
    if (turns == 0)
        return;
    join_options(judgement, verdict->code, &settings, command);
    if (turns > 1 &&
        whatif_time(&settings, judgement->facts->model, &fixed_ns, NULL) != STATUS_OK)
        return;
    if (!worth_it(fixed_ns, whatif->given_ns))
        return;
    verdict->predicted_ns = predicted_ns(judgement, fixed_ns);
    memcpy(verdict->command, command, sizeof command);
}

/* Sets what all fixes bring together, where that is more than the best alone. */
static void try_together(const struct judgement *judgement, struct verdicts *verdicts)
{
    const struct whatif *whatif = &judgement->whatif;
    struct settings settings;
    int64_t best_ns = judgement->time_ns;
    for (int i = 0; i < verdicts->named; i++) {
        if (verdicts->items[i].predicted_ns > 0)
            best_ns = earlier(best_ns, verdicts->items[i].predicted_ns);
    }
    int64_t together_ns = predicted_ns(judgement, whatif->better_ns);
    if (whatif->count < 2 || !worth_it(together_ns, best_ns))
        return;
    join_options(judgement, VERDICT_COUNT, &settings, verdicts->together);
    verdicts->together_ns = together_ns;
}

/* --- the verdicts --- */

/* Returns the last of the knobs that stand for a cause; -1 for none. The later one is blamed
 * where either would do. */
static int last_knob(const struct judgement *judgement, enum verdict_code code)
{
    int last = -1;
    for (int i = 0; i < judgement->whatif.count; i++) {
        int knob = (int)judgement->whatif.turns[i].knob;
        if (knob_code(judgement, (enum knob)knob) == code && knob > last)
            last = knob;
    }
    return last;
}

/* Returns true if cause `x` comes before `y`: its fix gains more; or as much, and it is blamed
 * first; or there is no fix, and it cost more. */
static bool comes_before(const struct judgement *judgement, const struct verdict *x,
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
static void sort_causes(const struct judgement *judgement, struct verdicts *verdicts)
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
    double least_ns = NAMED_SHARE * (double)verdicts->time_ns;
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
static void see_unknown(const struct judgement *judgement, struct verdict *verdict)
{
    char time[UNITS_TEXT];
    if (!judgement->tried)
        snprintf(verdict->seen, sizeof verdict->seen,
                 "no machine file stands for this device, so no fix could be tried: name one "
                 "by --machine, or make one by pipeline calibrate");
    else if (judgement->facts->timeline->timing == TIMING_VIRTUAL)
        snprintf(verdict->seen, sizeof verdict->seen,
                 "the best settings that were tried take %s",
                 units_time(judgement->whatif.better_ns, time));
    else
        snprintf(verdict->seen, sizeof verdict->seen,
                 "the simulator gives this run %s: pipeline compare shows where they part",
                 units_time(judgement->whatif.given_ns, time));
}

static void name_causes(struct judgement *judgement, struct verdicts *verdicts)
{
    static const enum verdict_code bounds[] = {[LIMIT_COPIES] = VERDICT_COPY_BOUND,
                                               [LIMIT_COMPUTE] = VERDICT_KERNEL_BOUND,
                                               [LIMIT_CPU] = VERDICT_CPU_BOUND};
    struct verdict *unknown = &judgement->items[VERDICT_UNKNOWN];
    struct verdict rest = judgement->items[VERDICT_REST];
    rest.cost_ns = 0;
    unknown->cost_ns += judgement->time_ns - judgement->limit_ns;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        unknown->cost_ns -= code != VERDICT_UNKNOWN ? judgement->items[code].cost_ns : 0;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        struct verdict *item = &judgement->items[code];
        if (judgement->tried && item->cost_ns > 0)
            try_fix(judgement, item);
        if (!is_named(verdicts, item)) {
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
    struct judgement judgement = {.facts = facts};
    struct verdicts result = {.limit_known = true};
    enum status status = verdict_check(facts->timeline, facts->plan, error);
    if (status == STATUS_OK && facts->plan == NULL)
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
    judgement.tried =
        facts->settings != NULL && facts->model != NULL &&
        whatif_find(facts->settings, facts->model, &judgement.whatif, NULL) == STATUS_OK;
    if (judgement.tried)
        status = charge_tried(&judgement, error);
    else
        charge_path(&judgement);
    if (status != STATUS_OK)
        return status;
    name_causes(&judgement, &result);
    if (judgement.tried) {
        result.modelled_ns = judgement.whatif.given_ns;
        try_together(&judgement, &result);
    }
    *verdicts = result;
    return STATUS_OK;
}
