/* rework.c - makes one change of a recorded plan after another. */
#include "analysis/rework.h"

#include "analysis/rework_parts.h"

#include <stdlib.h>

enum status rework_begin(struct rework_base *base, const struct plan *plan,
                         const struct machine *machine, struct error *error)
{
    struct rework_draft draft = {0};
    *base = (struct rework_base){.plan = plan, .machine = machine};
    base->clocks = calloc(1, sizeof *base->clocks);
    if (base->clocks == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to try fixes");
    enum status status = rework_clocks_find(plan, base->clocks, error);
    if (status == STATUS_OK)
        status = rework_draft_begin(&draft, base, error);
    if (status == STATUS_OK)
        status = rework_tiles_find(&draft, error);
    if (status == STATUS_OK)
        base->tiles = draft.tiles;
    rework_draft_free(&draft);
    if (status != STATUS_OK)
        rework_end(base);
    return status;
}

void rework_end(struct rework_base *base)
{
    if (base->clocks != NULL)
        rework_clocks_free(base->clocks);
    free(base->clocks);
    *base = (struct rework_base){0};
}

/* Makes all changes but those of order and events. */
static enum status change_draft(struct rework_draft *draft, const struct rework *change,
                                struct error *error)
{
    bool tiles = change->unblocks || change->streams > 0 || change->order != REWORK_AS_ISSUED;
    enum status status = rework_host_change(draft, change, error);
    if (status == STATUS_OK && change->drops_memsets)
        rework_memsets_drop(draft);
    if (status == STATUS_OK && tiles)
        status = rework_tiles_find(draft, error);
    if (status == STATUS_OK && change->unblocks)
        status = rework_streams_unblock(draft, error);
    if (status == STATUS_OK && change->streams > 0)
        status = rework_shape_deal(draft, change, error);
    return status;
}

/* Puts the draft in order, with the events that its data asks for. */
static enum status order_draft(struct rework_draft *draft, const struct rework *change,
                               struct error *error)
{
    struct needed needed = {0};
    struct plan plan;
    enum status status = rework_draft_plan(draft, &plan, error);
    if (status != STATUS_OK)
        return status;
    status = plan_needed(&plan, &needed, error);
    plan_free(&plan);
    for (uint32_t i = 0; i < draft->count; i++)
        draft->items[i].place = i;
    if (status == STATUS_OK && change->order != REWORK_AS_ISSUED)
        status = rework_shape_order(draft, change, error);
    if (status == STATUS_OK)
        status = rework_events_add(draft, &needed, error);
    needed_free(&needed);
    return status;
}

enum status rework_apply(const struct rework_base *base, const struct rework *change,
                         struct plan *fixed, struct error *error)
{
    struct rework_draft draft;
    enum status status = rework_draft_begin(&draft, base, error);
    if (status == STATUS_OK)
        status = change_draft(&draft, change, error);
    if (status == STATUS_OK)
        status = order_draft(&draft, change, error);
    if (status == STATUS_OK)
        status = rework_draft_plan(&draft, fixed, error);
    rework_draft_free(&draft);
    return status;
}
