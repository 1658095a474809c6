/* rework.c - makes one change of a recorded plan after another. */
#include "rework/rework.h"

#include "plan/timeline.h"
#include "rework/parts.h"

enum status rework_begin(struct rework_base *base, const struct plan *plan,
                         const struct machine *machine, struct error *error)
{
    struct rework_draft draft = {0};
    *base = (struct rework_base){.plan = plan, .machine = machine};
    for (uint32_t i = 0; i < plan->op_count; i++)
        base->blind +=
            op_on_device(plan->ops[i].kind) && plan->recorded->ops[i].access_count == 0;
    for (uint32_t i = 0; i < plan->recorded->buffer_count; i++)
        base->managed |= plan->recorded->buffers[i].managed;
    base->work_least_ns = rework_work_least_ns(plan, &base->work_ns);
    base->filling_ns =
        earlier(rework_filling_ns(plan, machine, base->work_least_ns), base->work_ns);
    enum status status = clocks_table_make(&base->clocks, plan, CLOCKS_RUN, error);
    if (status == STATUS_OK)
        status = plan_needed(plan, &base->needed, error);
    if (status == STATUS_OK) {
        rework_draft_begin(&draft, base, 0, base->plan->op_count);
        rework_tiles_find(&draft);
        base->tiles = draft.tiles;
        status = error_pass(error, &draft.why);
    }
    rework_draft_free(&draft);
    if (status != STATUS_OK)
        rework_end(base);
    return status;
}

void rework_end(struct rework_base *base)
{
    clocks_table_free(&base->clocks);
    needed_free(&base->needed);
    *base = (struct rework_base){0};
}

/* Makes all changes but those of order and events. */
static void change_draft(struct rework_draft *draft, const struct rework *change)
{
    bool tiles = change->unblocks || change->streams > 0 || change->order != REWORK_AS_ISSUED;
    rework_host_change(draft, change);
    rework_work_change(draft, change);
    if (change->drops_memsets)
        rework_memsets_drop(draft);
    if (change->drops_device_copies)
        rework_device_copies_drop(draft);
    if (change->cuts_copies)
        rework_copies_cut(draft);
    if (tiles)
        rework_tiles_find(draft);
    if (change->unblocks)
        rework_streams_unblock(draft);
    if (change->streams > 0)
        rework_shape_deal(draft, change);
}

/* Puts the draft in order, with the events that its data asks for. */
static void order_draft(struct rework_draft *draft, const struct rework *change)
{
    struct needed needed = {0};
    struct plan plan;
    rework_draft_plan(draft, &plan);
    if (draft->why.status == STATUS_OK)
        (void)plan_needed(&plan, &needed, &draft->why);
    plan_free(&plan);
    for (uint32_t i = 0; i < draft->count; i++)
        draft->items[i].place = i;
    if (change->order != REWORK_AS_ISSUED)
        rework_shape_order(draft, change);
    rework_events_add(draft, &needed, change->streams == 0);
    needed_free(&needed);
}

/* Returns true if a change takes away an order that data may have asked for. */
static bool takes_order(const struct rework *change)
{
    return change->unblocks || change->drops_repeats || change->drops_memsets ||
           change->drops_device_copies || change->drops_syncs || change->streams > 0 ||
           change->order != REWORK_AS_ISSUED;
}

enum status rework_apply(const struct rework_base *base, const struct rework *change,
                         struct plan *fixed, struct error *error)
{
    struct rework_draft draft;
    if (base->blind > 0 && takes_order(change))
        return error_set(error, STATUS_USAGE,
                         "of %u ops it is not known what they work on: they may need the order "
                         "that the fix takes away",
                         base->blind);
    rework_draft_begin(&draft, base, 0, base->plan->op_count);
    if (change->unrecorded)
        rework_recording_leave(&draft);
    change_draft(&draft, change);
    order_draft(&draft, change);
    rework_draft_plan(&draft, fixed);
    enum status status = error_pass(error, &draft.why);
    rework_draft_free(&draft);
    if (status != STATUS_OK)
        return status;
    if (change->work_threads > 0)
        rework_work_move(base->work_least_ns, fixed);
    if (change->graphs)
        status = rework_graphs_make(base->machine, base->work_least_ns, fixed, error);
    if (status != STATUS_OK)
        plan_free(fixed);
    return status;
}

enum status rework_part(const struct plan *plan, uint32_t first, uint32_t count,
                        struct plan *part, struct error *error)
{
    const struct rework_base base = {.plan = plan};
    struct rework_draft draft;
    rework_draft_begin(&draft, &base, first, count);
    draft.loads_lazily &= first == 0;
    rework_draft_plan(&draft, part);
    const enum status status = error_pass(error, &draft.why);
    rework_draft_free(&draft);
    return status;
}
