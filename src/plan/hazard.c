/* hazard.c - finds ops that race: the same bytes, one writing, and no path between them.
 *
 * Ops are walked in issue order (plan/clocks.h). Memory remembers who wrote it last and who has
 * read it since, as (stream, place in stream): plan/cells.h; an access is ordered after those
 * if its stream's clock covers them. */
#include "plan/hazard.h"

#include "plan/cells.h"
#include "plan/clocks.h"

#include <inttypes.h>

struct hazard_finder {
    const struct plan *plan;
    struct clocks clocks;
    struct cells cells;
    uint32_t present;                   /* the op that is taken up */
    const struct hazard_filter *filter; /* NULL: all pairs count */
    struct hazard *hazards;
    size_t max, count;
};

static enum status no_memory(const struct plan *plan, struct error *error)
{
    return error_no_memory(error, "to look for hazards in %" PRIu32 " ops", plan->op_count);
}

/* One pair of ops is one hazard, however many cells they share. */
static void on_race(void *context, uint32_t before, const struct range *where, bool sure)
{
    struct hazard_finder *finder = context;
    const struct hazard_filter *filter = finder->filter;
    if (finder->count == finder->max ||
        (filter != NULL && !filter->counts(filter->context, before, finder->present)))
        return;
    for (size_t i = finder->count; i > 0; i--) {
        if (finder->hazards[i - 1].second != finder->present)
            break;
        if (finder->hazards[i - 1].first == before)
            return;
    }
    finder->hazards[finder->count++] = (struct hazard){before, finder->present, *where, sure};
}

/* Has an op touch what it reads and writes, as it starts. */
static bool finder_touch(struct hazard_finder *finder, const struct op *op,
                         const uint32_t *clock)
{
    struct access room[OP_ACCESS_MAX];
    uint32_t count;
    const uint32_t lane = clocks_lane(op);
    const struct access *access = plan_accesses(finder->plan, op, room, &count);
    const struct op_recorded *seen = plan_seen(finder->plan, op);
    const struct epoch by = {op->id, lane, clock[lane] + 1};
    const struct cells_watcher watcher = {on_race, finder};
    finder->present = op->id;
    for (uint32_t i = 0; i < count; i++) {
        if (!cells_touch(&finder->cells, &access[i], by, seen == NULL || seen->sure, clock,
                         &watcher))
            return false;
    }
    return true;
}

static enum status finder_step(struct hazard_finder *finder, const struct op *op,
                               struct error *error)
{
    const uint32_t *clock = clocks_enter(&finder->clocks, op);
    if (clock != NULL && clocks_counts(op) && !finder_touch(finder, op, clock))
        return no_memory(finder->plan, error);
    return clocks_leave(&finder->clocks, op, plan_seen(finder->plan, op), error);
}

enum status plan_hazards(const struct plan *plan, struct hazard *hazards, size_t max,
                         size_t *count, struct error *error)
{
    return plan_hazards_wanted(plan, NULL, hazards, max, count, error);
}

enum status plan_hazards_wanted(const struct plan *plan, const struct hazard_filter *filter,
                                struct hazard *hazards, size_t max, size_t *count,
                                struct error *error)
{
    struct hazard_finder finder = {
        .plan = plan, .filter = filter, .hazards = hazards, .max = max};
    enum status status = clocks_begin(&finder.clocks, plan, CLOCKS_CALLS, error);
    if (status == STATUS_OK && !cells_init(&finder.cells, plan))
        status = no_memory(plan, error);
    for (uint32_t i = 0; status == STATUS_OK && i < plan->op_count && finder.count < max; i++)
        status = finder_step(&finder, &plan->ops[i], error);
    cells_free(&finder.cells);
    clocks_end(&finder.clocks);
    if (status == STATUS_OK)
        *count = finder.count;
    return status;
}
