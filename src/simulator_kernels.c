/* simulator_kernels.c - the GPU's block slots: who places blocks, and how fast they run.
 *
 * Blocks that are resident together share memory and arithmetic, so each group's rate changes
 * whenever blocks are placed or end; its end is then posted anew. */
#include "simulator_state.h"

#include <math.h>
#include <stdlib.h>

static struct block_group *free_group(struct simulation *sim)
{
    for (uint32_t i = 0; i < sim->group_count; i++) {
        if (sim->groups[i].blocks == 0)
            return &sim->groups[i];
    }
    uint32_t count = sim->group_count > 0 ? 2 * sim->group_count : 16;
    struct block_group *groups = realloc(sim->groups, count * sizeof *groups);
    if (groups == NULL)
        return NULL;
    for (uint32_t i = sim->group_count; i < count; i++)
        groups[i] = (struct block_group){0};
    struct block_group *first = &groups[sim->group_count];
    sim->groups = groups;
    sim->group_count = count;
    return first;
}

static enum status add_group(struct simulation *sim, uint32_t op, uint32_t blocks)
{
    struct block_group *group = free_group(sim);
    if (group == NULL)
        return error_set(sim->error, STATUS_FAILED, "no memory for the simulation");
    const struct op *kernel = op_at(sim, op);
    *group = (struct block_group){
        .op = op,
        .blocks = blocks,
        .cost = machine_kernel_cost(sim->machine, sim->plan->chain[kernel->kernel.link],
                                    &sim->plan->params, kernel->kernel.count),
        .left = 1,
        .duration_ns = INFINITY,
        .since_ns = sim->now,
    };
    return STATUS_OK;
}

/* Brings a group up to now and lets it go on at the rate that holds from here. */
static enum status set_rate(struct simulation *sim, uint32_t index)
{
    struct block_group *group = &sim->groups[index];
    double duration = rule_block_ns(sim->machine, group->cost,
                                    op_at(sim, group->op)->kernel.blocks, sim->blocks_in_use);
    if (duration == group->duration_ns)
        return STATUS_OK;
    group->left -= (double)(sim->now - group->since_ns) / group->duration_ns;
    group->since_ns = sim->now;
    group->duration_ns = duration;
    group->stamp = ++sim->stamps;
    int64_t rest = llround(group->left * duration);
    return simulation_post(sim, rest > 1 ? rest : 1, EVENT_BLOCKS, index, group->stamp);
}

static enum status set_rates(struct simulation *sim)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < sim->group_count && status == STATUS_OK; i++) {
        if (sim->groups[i].blocks > 0)
            status = set_rate(sim, i);
    }
    return status;
}

/* Places what fits of the kernel at the front of `line`. *full: nothing more can be placed now.
 */
static enum status place_front(struct simulation *sim, struct line *line, bool *full)
{
    uint32_t op = line->first;
    struct kernel_state *kernel = &sim->kernels[op];
    bool starts = kernel->running == 0 && kernel->to_place == op_at(sim, op)->kernel.blocks;
    *full = true;
    if (starts && !rule_kernel_may_start(sim->machine, sim->kernels_running))
        return STATUS_OK;
    uint32_t placed =
        rule_blocks_placed(kernel->to_place, sim->resident_blocks, sim->blocks_in_use);
    if (placed == 0)
        return STATUS_OK;
    if (starts) {
        span_at(sim, op)->start_ns = sim->now;
        sim->kernels_running++;
    }
    kernel->to_place -= placed;
    kernel->running += placed;
    sim->blocks_in_use += placed;
    *full = kernel->to_place > 0;
    if (!*full)
        line_pop(sim, line);
    return add_group(sim, op, placed);
}

/* Places blocks of the kernel at the front of the most urgent level that has one. A kernel
 * leaves when fully placed; until then nothing behind it or less urgent places any. [RTSS17 X1,
 * R1-R3] */
static enum status place_blocks(struct simulation *sim)
{
    enum status status = STATUS_OK;
    bool full = false;
    for (int level = 0; level < sim->level_count && !full; level++) {
        while (sim->levels[level].first != NONE && !full && status == STATUS_OK)
            status = place_front(sim, &sim->levels[level], &full);
    }
    return status == STATUS_OK ? set_rates(sim) : status;
}

enum status engine_kernel_arrives(struct simulation *sim, uint32_t op)
{
    const struct op *kernel = op_at(sim, op);
    int priority = sim->plan->priorities != NULL ? sim->plan->priorities[kernel->stream] : 0;
    sim->kernels[op] = (struct kernel_state){.to_place = kernel->kernel.blocks};
    line_push(sim, &sim->levels[priority - sim->most_urgent], op);
    return place_blocks(sim);
}

enum status engine_blocks_end(struct simulation *sim, uint32_t index, uint64_t stamp)
{
    struct block_group *group = &sim->groups[index];
    if (group->blocks == 0 || stamp != group->stamp)
        return STATUS_OK; /* its rate changed after this event was posted */
    uint32_t op = group->op;
    struct kernel_state *kernel = &sim->kernels[op];
    kernel->running -= group->blocks;
    sim->blocks_in_use -= group->blocks;
    group->blocks = 0;
    enum status status = STATUS_OK;
    if (kernel->running == 0 && kernel->to_place == 0) {
        sim->kernels_running--;
        status = engine_end_op(sim, op);
    }
    return status == STATUS_OK ? place_blocks(sim) : status;
}
