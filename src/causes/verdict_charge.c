/* verdict_charge.c - deals out what a run lost among its causes. */
#include "causes/verdict_parts.h"
#include "plan/build.h"
#include "plan/rules.h"
#include "sim/simulator.h"

/* --- costs --- */

/* Charges each knob's part, in ns of the judged run. */
static void charge_knobs(struct verdict_judgement *judgement, double scale)
{
    for (int i = 0; i < judgement->found.count; i++) {
        const struct knob_gain *gain = &judgement->found.knobs[i];
        judgement->items[gain->code].cost_ns += (int64_t)(scale * (double)gain->cost_ns);
    }
}

/* Accounts for a plan as the simulator runs it. timeline_free() in any case. */
static enum status account_simulated(const struct verdict_judgement *judgement,
                                     const struct plan *plan, uint32_t connections,
                                     struct timeline *timeline, struct verdict_account *account,
                                     struct error *error)
{
    struct verdict_case simulated = *judgement->facts;
    struct critical critical = {0};
    int64_t issued_ns;
    timeline_init(timeline);
    enum status status =
        simulator_run(simulated.model, connections, plan, NULL, timeline, &issued_ns, error);
    if (status == STATUS_OK)
        status = critical_find(timeline, simulated.model, &critical, error);
    simulated.plan = plan;
    simulated.timeline = timeline;
    simulated.critical = &critical;
    if (status == STATUS_OK)
        status = verdict_account_find(&simulated, account, error);
    critical_free(&critical);
    return status;
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

static bool goes_another_way(const struct verdict_judgement *judgement)
{
    const struct settings *better = &judgement->found.better.settings;
    return settings_tiles_are_given(better) || better->pack || better->issue == ISSUE_BATCH ||
           judgement->facts->plan->has_halo;
}

static bool has_halo(const struct verdict_judgement *judgement)
{
    return judgement->facts->plan->has_halo;
}

static bool shares_memory(const struct verdict_judgement *judgement)
{
    return judgement->facts->limit->cause == LIMIT_HOST;
}

/* The best settings' path may show these causes of what they leave, each in some runs alone:
 * plain tiles can have any size, and the best one balances the first six against what few
 * tiles cost. */
static const struct remains {
    enum verdict_code code;
    bool (*of)(const struct verdict_judgement *judgement);
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
static enum status charge_better_path(struct verdict_judgement *judgement, int64_t *left_ns,
                                      struct error *error)
{
    const struct settings *better = &judgement->found.better.settings;
    struct verdict_account account;
    struct timeline timeline;
    struct plan plan;
    if (*left_ns <= 0 || !(goes_another_way(judgement) || shares_memory(judgement)))
        return STATUS_OK;
    enum status status = plan_build(better, judgement->facts->model, &plan, error);
    if (status != STATUS_OK)
        return status;
    status =
        account_simulated(judgement, &plan, better->connections, &timeline, &account, error);
    for (size_t i = 0; i < sizeof remains / sizeof remains[0] && status == STATUS_OK; i++) {
        const struct remains *left = &remains[i];
        if (!left->of(judgement))
            continue;
        int64_t cost_ns = earlier(later(0, account.items[left->code].cost_ns), *left_ns);
        struct verdict *item =
            &judgement->items[way_code(&judgement->found.given.settings, left->code)];
        item->cost_ns += cost_ns;
        item->tried |= cost_ns > 0 && left->tried;
        *left_ns -= cost_ns;
    }
    timeline_free(&timeline);
    plan_free(&plan);
    return status;
}

/* Charges up to `left_ns` of what the best settings still leave above the limit: to the array's
 * being short, to what their path shows, and to kernels that take longer than at full rate. An
 * exchange comes first: a larger array hides it, but it is what takes the time. */
static enum status charge_remains(struct verdict_judgement *judgement, int64_t left_ns,
                                  struct error *error)
{
    const struct found *found = &judgement->found;
    enum status status = STATUS_OK;
    if (has_halo(judgement))
        status = charge_better_path(judgement, &left_ns, error);
    int64_t short_ns = earlier(found->short_ns, left_ns);
    judgement->items[VERDICT_SHORT_RUN].cost_ns += short_ns;
    left_ns -= short_ns;
    if (!has_halo(judgement))
        status = charge_better_path(judgement, &left_ns, error);
    if (judgement->facts->limit->cause == LIMIT_COMPUTE && !has_halo(judgement))
        judgement->items[VERDICT_SLOW_KERNELS].cost_ns += left_ns;
    return status;
}

/* Returns true if what a measured run took beyond its simulation may be charged to a cause: it
 * is one already, or the timeline shows it for certain. All else could as well be the
 * simulator's error. */
static bool may_exceed(const struct verdict_judgement *judgement, enum verdict_code code)
{
    return judgement->items[code].cost_ns > 0 || code == VERDICT_LAZY_LOADING ||
           code == VERDICT_FAR_MEMORY;
}

/* Returns for how long the CPU still worked behind the GPU's last end. */
static int64_t cpu_alone_ns(const struct timeline *timeline)
{
    int64_t cpu_ns = 0, gpu_ns = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->kind == OP_CPU)
            cpu_ns = later(cpu_ns, span->end_ns);
        else if (op_on_device(span->kind))
            gpu_ns = later(gpu_ns, span->end_ns);
    }
    return later(0, cpu_ns - gpu_ns);
}

/* Charges what a measured run took beyond its simulation, up to `excess_ns`, to what cost more
 * on the measured path than on the simulated one. */
static enum status charge_excess(struct verdict_judgement *judgement, int64_t excess_ns,
                                 struct error *error)
{
    const struct verdict_case *facts = judgement->facts;
    struct timeline timeline;
    struct verdict_account account;
    int64_t more_ns[VERDICT_COUNT] = {0}, sum_ns = 0;
    enum status status =
        account_simulated(judgement, facts->plan, judgement->found.given.settings.connections,
                          &timeline, &account, error);
    for (int code = 0; code < VERDICT_COPY_BOUND && status == STATUS_OK; code++) {
        if (!may_exceed(judgement, (enum verdict_code)code))
            continue;
        more_ns[code] = later(0, judgement->account.items[code].cost_ns -
                                     later(0, account.items[code].cost_ns));
        sum_ns += more_ns[code];
    }
    if (status == STATUS_OK && may_exceed(judgement, VERDICT_CPU_SHARE)) {
        /* The path has no name for that. */
        more_ns[VERDICT_CPU_SHARE] =
            later(0, cpu_alone_ns(facts->timeline) - cpu_alone_ns(&timeline));
        sum_ns += more_ns[VERDICT_CPU_SHARE];
    }
    double scale = sum_ns > excess_ns ? (double)excess_ns / (double)sum_ns : 1;
    for (int code = 0; code < VERDICT_COPY_BOUND && status == STATUS_OK; code++)
        judgement->items[code].cost_ns += (int64_t)(scale * (double)more_ns[code]);
    timeline_free(&timeline);
    return status;
}

enum status verdict_charge_tried(struct verdict_judgement *judgement, struct error *error)
{
    const struct found *found = &judgement->found;
    int64_t above_ns = judgement->time_ns - judgement->limit_ns;
    int64_t gain_ns = found->given_ns - found->better_ns;
    int64_t remain_ns = later(0, found->better_ns - judgement->limit_ns);
    int64_t model_ns = gain_ns + remain_ns;
    double scale = model_ns > above_ns ? (double)above_ns / (double)model_ns : 1;
    charge_knobs(judgement, scale);
    enum status status = charge_remains(judgement, (int64_t)(scale * (double)remain_ns), error);
    if (status != STATUS_OK)
        return status;
    int64_t excess_ns = above_ns - (int64_t)(scale * (double)model_ns);
    if (judgement->facts->timeline->timing == TIMING_VIRTUAL || excess_ns <= 0)
        return STATUS_OK;
    return charge_excess(judgement, excess_ns, error);
}

void verdict_charge_path(struct verdict_judgement *judgement)
{
    int64_t sum_ns = 0, above_ns = judgement->time_ns - judgement->limit_ns;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        sum_ns += later(0, judgement->account.items[code].cost_ns);
    double scale = sum_ns > above_ns ? (double)above_ns / (double)sum_ns : 1;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++)
        judgement->items[code].cost_ns +=
            (int64_t)(scale * (double)later(0, judgement->account.items[code].cost_ns));
}
