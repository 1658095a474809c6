/* view_fix.c - a recorded program with its fixes. */
#include "trace/view_parts.h"

#include "causes/knobs.h"
#include "core/units.h"
#include "sim/simulator.h"
#include "term/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status view_judge_run(struct run_report *run, const struct machine *machine,
                           struct error *error)
{
    if (run->plan == NULL || machine == NULL)
        return report_judge(run, NULL, NULL, NULL, NULL, NULL, error);
    run->limit =
        limit_of_recorded(machine, run->plan, run->analysis.engines[ENGINE_COMPUTE].busy_ns);
    if (run->limit.ns == 0) { /* none of the ops counts: CUDA refused all of their calls */
        run->plan = NULL;
        return report_judge(run, NULL, NULL, NULL, NULL, NULL, error);
    }
    limit_correct(&run->limit, run->median_ns);
    const enum status status = report_judge(run, run->plan, NULL, NULL, NULL, machine, error);
    if (run->verdicts.misfit && run->timeline.timing != TIMING_RECORDED)
        run->limit.ns = 0; /* what the trace shows of the machine does not explain it */
    return status;
}

/* A run's time as simulated, from `first_ns` for `extent_ns`, and as predicted. */
struct stretch {
    int64_t first_ns, extent_ns, time_ns;
};

/* Returns when a moment of the simulated run is in the predicted one. */
static int64_t stretch_moment(const struct stretch *stretch, int64_t moment_ns)
{
    int64_t since_ns = later(earlier(moment_ns - stretch->first_ns, stretch->extent_ns), 0);
    return (int64_t)((double)since_ns / (double)stretch->extent_ns * (double)stretch->time_ns);
}

/* Makes the simulated run begin with its first op's issue, end with its last op, as the
 * recorded one does, and take `time_ns`, which is predicted for it. */
static void stretch_timeline(struct timeline *timeline, int64_t time_ns)
{
    struct stretch stretch = {
        .first_ns = INT64_MAX, .extent_ns = timeline_extent_ns(timeline), .time_ns = time_ns};
    if (stretch.extent_ns == 0)
        return;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (op_is_node(timeline->spans[i].kind))
            stretch.first_ns = earlier(stretch.first_ns, timeline->spans[i].issue_ns);
    }
    EACH (struct span, span, timeline->spans, timeline->span_count) {
        span->issue_ns = stretch_moment(&stretch, span->issue_ns);
        span->start_ns = stretch_moment(&stretch, span->start_ns);
        span->end_ns = stretch_moment(&stretch, span->end_ns);
    }
    for (uint32_t i = 0; i < timeline->issue_count; i++) {
        timeline->issue_ns[i] = stretch_moment(&stretch, timeline->issue_ns[i]);
        if (timeline->op_calls == NULL)
            continue;
        struct op_call *call = &timeline->op_calls[i];
        call->issued_ns = stretch_moment(&stretch, call->issued_ns);
        call->returned_ns = stretch_moment(&stretch, call->returned_ns);
    }
}

/* Numbers kernels' names as the recorded run does, so that both have one letter and one colour
 * for a kernel. Names that are nowhere in that stay behind them. */
static enum status number_names(const struct timeline *recorded, struct timeline *timeline,
                                struct error *error)
{
    const uint32_t own = timeline->name_count, room = recorded->name_count + own;
    const char **names = arena_zeros(&timeline->arena, room, sizeof *names);
    uint16_t *links = arena_zeros(&timeline->arena, own, sizeof *links);
    uint32_t count = 0;
    if (timeline->arena.full)
        return error_no_memory(error, "for the names of kernels");
    for (; count < recorded->name_count; count++)
        names[count] = recorded->names[count];
    for (uint32_t i = 0; i < own; i++) {
        uint32_t at = 0;
        while (at < count && strcmp(names[at], timeline->names[i]) != 0)
            at++;
        names[at] = timeline->names[i];
        count = at < count ? count : at + 1;
        links[i] = (uint16_t)(at < UINT16_MAX ? at : UINT16_MAX);
    }
    EACH (struct span, span, timeline->spans, timeline->span_count) {
        if (span->kind == OP_KERNEL && span->link < own)
            span->link = links[span->link];
    }
    timeline->names = names;
    timeline->name_count = count;
    return STATUS_OK;
}

/* Takes the host's own calls out of a run that is judged: a recording has none as spans, and a
 * run beside it would have a row more. */
static enum status drop_calls(struct run_report *run, const struct machine *machine,
                              struct error *error)
{
    struct timeline *timeline = &run->timeline;
    struct losses *lost = &run->verdicts.lost;
    uint32_t *moved = malloc((timeline->span_count + (size_t)1) * sizeof *moved), kept = 0;
    if (moved == NULL)
        return error_no_memory(error, "for the fixed run");
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        moved[i] = op_is_call(timeline->spans[i].kind) ? SPAN_NONE : kept;
        timeline->spans[kept] = timeline->spans[i];
        kept += moved[i] != SPAN_NONE;
    }
    timeline->span_count = kept;
    for (uint32_t i = 0; i < lost->count; i++)
        lost->items[i].at.span = moved[lost->items[i].at.span];
    free(moved);
    critical_free(&run->critical);
    run->critical = (struct critical){0};
    return critical_find(timeline, machine, &run->critical, error);
}

/* A run that was judged as a trace has the busiest engine's time for a limit. This one has a
 * plan, so the rest is given what that engine took longer than the plan's limit. */
static void set_limit(struct run_report *run, const struct plan *plan,
                      const struct machine *machine)
{
    struct verdicts *verdicts = &run->verdicts;
    char more[UNITS_TEXT];
    struct limit limit =
        limit_of_recorded(machine, plan, run->analysis.engines[ENGINE_COMPUTE].busy_ns);
    const int64_t more_ns = verdicts->limit_ns - limit.ns;
    if (verdicts->count == 0 || limit.ns == 0 || more_ns < 0)
        return;
    struct verdict *rest = &verdicts->items[verdicts->count - 1];
    rest->cost_ns += more_ns;
    if (more_ns > 0)
        text_add(rest->seen, sizeof rest->seen, "; ", "%s took %s longer than the limit has it",
                 limit.cause == LIMIT_COMPUTE ? "kernels" : "copies",
                 units_time(more_ns, more));
    run->limit = limit;
    verdicts->limit_ns = limit.ns;
    verdicts->limit_known = true;
    verdicts->bound = limit.cause;
}

static enum status simulate(const struct plan *plan, const struct machine *machine,
                            const struct verdicts *verdicts, struct run_report *run,
                            struct error *error)
{
    struct timeline *timeline = &run->timeline;
    enum status status = simulator_run(machine, verdicts->change.queues, plan, NULL, timeline,
                                       &run->issue_ns, error);
    if (status != STATUS_OK)
        return status;
    stretch_timeline(timeline, verdicts->best_ns);
    timeline->timing = TIMING_VIRTUAL;
    timeline->resolution_ns = 1;
    snprintf(timeline->device, sizeof timeline->device, "%s", machine->summary);
    memcpy(run->device, timeline->device, sizeof timeline->device);
    run->streams = timeline->streams;
    run->median_ns = run->min_ns = run->max_ns = timeline_time_ns(timeline);
    status = analyse(timeline, &run->analysis, error);
    if (status == STATUS_OK)
        status = critical_find(timeline, machine, &run->critical, error);
    if (status == STATUS_OK)
        status = report_judge(run, NULL, NULL, NULL, NULL, NULL, error);
    if (status != STATUS_OK)
        return status;
    set_limit(run, plan, machine);
    return drop_calls(run, machine, error);
}

enum status view_fix_run(const struct run_report *run, const struct machine *machine,
                         struct run_report *fixed, struct plan *plan, bool *found,
                         struct error *error)
{
    const struct rework *change = &run->verdicts.change;
    struct rework_base base;
    *found = false;
    if (!run->verdicts.has_change || run->verdicts.best_ns == 0)
        return STATUS_OK;
    enum status status = rework_begin(&base, run->plan, machine, error);
    if (status == STATUS_OK) {
        status = rework_apply(&base, change, plan, error);
        rework_end(&base);
    }
    if (status != STATUS_OK)
        return status;
    *fixed = (struct run_report){
        .verified = VERIFIED_NOT_ASKED, .speedup = (double)NAN, .foreign = true};
    fixed->timeline = (struct timeline){0};
    status = simulate(plan, machine, &run->verdicts, fixed, error);
    if (status == STATUS_OK && fixed->median_ns > 0)
        fixed->speedup = (double)run->median_ns / (double)fixed->median_ns;
    if (status == STATUS_OK)
        status = number_names(&run->timeline, &fixed->timeline, error);
    *found = status == STATUS_OK;
    if (status == STATUS_OK)
        return STATUS_OK;
    struct report one = {.runs = fixed, .run_count = 1};
    report_free(&one);
    plan_free(plan);
    return status;
}

void view_note_no_fix(const struct run_report *run, const char *name, bool machine_known,
                      bool quiet)
{
    if (!machine_known)
        note_print(quiet,
                   "--fix: no machine file stands for the device of %s: name one by --machine",
                   name);
    else if (run->verdicts.modelled_ns == 0 || run->verdicts.too_far)
        note_print(quiet, "--fix: no fix can be predicted for %s", name);
    else
        note_print(quiet, "--fix: no fix that gains was found for %s", name);
}
