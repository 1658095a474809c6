/* kernels.c - the GPU's block slots: who places blocks, and how fast they run.
 *
 * Blocks that are resident together share memory and arithmetic, so each group's rate changes
 * whenever blocks are placed or end; its end is then posted anew. */
#include "sim/parts.h"

#include <math.h>
#include <stdlib.h>

/* Returns how many times a recorded launch fills the GPU with new blocks. Only where priorities
 * differ can others come in between. */
static uint32_t launch_waves(const struct simulation *sim, const struct op_recorded *seen)
{
    enum { WAVES_MOST = 8 }; /* that are looked at */
    const uint32_t waves = sim->level_count > 1 && seen->waves > 0 ? seen->waves : 1;
    return waves < WAVES_MOST ? waves : WAVES_MOST;
}

/* Returns how many blocks a launch has. */
static uint32_t launch_blocks(const struct simulation *sim, const struct op *op)
{
    const struct op_recorded *seen = plan_seen(sim->plan, op);
    if (seen != NULL)
        return launch_waves(sim, seen) * rule_measured_blocks(sim->machine, seen->fill);
    return op->kind == OP_KERNEL ? op->kernel.blocks : rule_memory_blocks(sim->machine, op);
}

/* Returns the lowest place that is free, so that those in use stay close together; NULL where
 * memory runs out. */
static struct block_group *free_group(struct gpu *gpu)
{
    for (uint32_t i = 0; i < gpu->group_end; i++) {
        if (gpu->groups[i].blocks == 0)
            return &gpu->groups[i];
    }
    if (gpu->group_end == gpu->group_capacity) {
        uint32_t capacity = gpu->group_capacity > 0 ? 2 * gpu->group_capacity : 16;
        struct block_group *groups = realloc(gpu->groups, capacity * sizeof *groups);
        if (groups == NULL)
            return NULL;
        gpu->groups = groups;
        gpu->group_capacity = capacity;
    }
    return &gpu->groups[gpu->group_end++];
}

static void leave_group(struct gpu *gpu, struct block_group *group)
{
    group->blocks = 0;
    while (gpu->group_end > 0 && gpu->groups[gpu->group_end - 1].blocks == 0)
        gpu->group_end--;
}

static struct link_bytes times(struct link_bytes bytes, double many)
{
    return (struct link_bytes){many * bytes.in, many * bytes.out, many * bytes.joint};
}

/* Sets what a launch does on the link. */
static void set_link_work(const struct simulation *sim, const struct op *op,
                          struct launch_work *work)
{
    const struct machine *machine = sim->machine;
    uint64_t in, out;
    op_link_bytes(op, &in, &out);
    const double part = work->sweeps.share;
    if (sim->plan->memory == MEMORY_MANAGED) { /* work goes on meanwhile, if there is some */
        work->link = (struct link_bytes){part * (double)in, part * (double)out,
                                         part * (double)(in + out)};
        work->begin = (struct link_begin){.lead_ns = (double)machine->fault_ns};
        return;
    }
    const struct kernel *kernel = sim->plan->chain[op->kernel.link];
    const struct link_bytes all =
        rule_link_bytes(machine, kernel, &sim->plan->params, (double)in, (double)out);
    const double apart = rule_link_apart(kernel, part * op->kernel.blocks, (double)in);
    const double lead_ns =
        rule_link_lead_ns(machine, apart * (double)in, apart * (double)out, times(all, apart));
    const bool taken = rule_link_is_taken(machine, kernel, op->kernel.blocks);
    work->link = times(all, part);
    if (taken)
        work->link.joint += part * 1e-9 * lead_ns * machine->joint_bytes_per_s;
    work->begin = (struct link_begin){
        .latency_ns = (double)rule_link_latency_ns(machine, (double)in, (double)out),
        .lead_ns = taken ? 0 : lead_ns,
        .read_ns = 1e9 * part * op->kernel.blocks * (double)in / machine->h2d_bytes_per_s,
        .round_ns = rule_link_round_ns(machine, (double)in),
    };
}

/* Returns of how many launches like `op` the device holds the bytes while it runs: of all that
 * work on a batch, in each stream that has launches. */
static uint32_t launches_held(const struct simulation *sim, const struct op *op)
{
    const uint32_t tiles = op_tiles(op);
    const uint32_t in_batch = sim->plan->batch > tiles ? sim->plan->batch / tiles : 1;
    return in_batch * sim->launching / sim->gpu_count;
}

/* Returns the work of a kernel's launch in a built plan. Tiles differ by an element at most, so
 * it is mostly known from the latest launch with an odd, or an even, number of them. */
static const struct launch_work *kernel_work_of(struct simulation *sim, const struct op *op)
{
    struct launch_work *known = &sim->works[op->kernel.link][op->kernel.count % 2];
    const struct kernel *kernel = sim->plan->chain[op->kernel.link];
    if (known->count != op->kernel.count || known->blocks != op->kernel.blocks) {
        const bool linked = plan_kernels_move_bytes(sim->plan);
        known->cost = linked ? machine_kernel_cost(sim->machine, kernel, &sim->plan->params,
                                                   op->kernel.count)
                             : rule_launch_cost(sim->machine, kernel, &sim->plan->params,
                                                op->kernel.count, launches_held(sim, op));
        known->sweeps = rule_sweeps(op->kernel.count, kernel->sweep, op->kernel.blocks);
        known->count = op->kernel.count;
        known->blocks = op->kernel.blocks;
        known->measured_ns = NAN;
        known->alone_ns = rule_sweep_ns(sim->machine, known->cost, known->sweeps.share,
                                        known->blocks, DEALT_EVENLY);
    }
    if (plan_kernels_move_bytes(sim->plan))
        set_link_work(sim, op, known);
    return known;
}

/* Returns the work of a launch, in `room` where it is not kept. */
static const struct launch_work *launch_work(struct simulation *sim, const struct op *op,
                                             struct launch_work *room)
{
    const struct op_recorded *seen = plan_seen(sim->plan, op);
    if (seen == NULL && op->kind == OP_KERNEL)
        return kernel_work_of(sim, op);
    if (seen != NULL)
        *room = (struct launch_work){.measured_ns = (double)later(seen->work_ns, 1) /
                                                    launch_waves(sim, seen),
                                     .sweeps = {.least = 1}};
    else
        *room = (struct launch_work){
            .measured_ns = NAN,
            .cost = rule_memory_cost(sim->machine, op),
            .sweeps = {.least = 1, .share = 1.0 / launch_blocks(sim, op)},
        };
    return room;
}

/* Lets blocks join a group of their launch that has only just begun, and returns true if there
 * is one: all its blocks then count as having done the mean of what each has. Without this a
 * launch would be cut into more groups than the one before it, whose ends make room for it, and
 * the next launch into more again. */
static bool join_group(struct gpu *gpu, uint32_t op, uint32_t blocks, uint32_t sweeps,
                       int64_t since_ns)
{
    enum { JUST_BEGUN = 64 }; /* the group has done at most that part of its work: 1/64 */
    EACH (struct block_group, group, gpu->groups, gpu->group_end) {
        if (group->blocks == 0 || group->op != op || group->sweeps != sweeps)
            continue;
        double ahead =
            sweeps - group->left + (double)(since_ns - group->since_ns) / group->sweep_ns;
        if (ahead * JUST_BEGUN > sweeps)
            continue;
        group->left = sweeps - ahead * group->blocks / (group->blocks + blocks);
        group->blocks += blocks;
        group->since_ns = since_ns;
        group->sweep_ns = INFINITY;
        return true;
    }
    return false;
}

/* Sets what a group's sweeps take on the link beside their bytes, of a launch of which that
 * part of the blocks begins; 0: they take the places of its own. Blocks that take the places of
 * any others one by one read while those write. */
static void begin_on_link(const struct link_begin *begin, double part, bool in_place,
                          struct block_group *group)
{
    const double at_once = in_place ? 0 : part;
    if (part > 0)
        group->lead_ns = (begin->latency_ns + at_once * begin->lead_ns) / group->sweeps;
    if (group->sweeps > 1)
        group->read_ns = begin->round_ns;
    else if (part > 0)
        group->read_ns = begin->latency_ns + part * begin->read_ns;
}

static enum status add_group(struct simulation *sim, struct gpu *gpu, uint32_t op,
                             uint32_t blocks, const struct launch_work *work, uint32_t sweeps,
                             int64_t since_ns, double begins)
{
    if (blocks == 0 || join_group(gpu, op, blocks, sweeps, since_ns))
        return STATUS_OK;
    struct block_group *group = free_group(gpu);
    if (group == NULL)
        return error_no_memory(sim->error, "for the simulation");
    /* Every field stands here: where some don't, all of it is cleared first, which takes as
     * long as the rest of this function. */
    *group = (struct block_group){
        .op = op,
        .blocks = blocks,
        .cost = work->cost,
        .measured_ns = work->measured_ns,
        .all = work->blocks,
        .alone_ns = work->alone_ns,
        .share = work->sweeps.share,
        .link = work->link,
        .lead_ns = 0,
        .read_ns = 0,
        .sweeps = sweeps,
        .left = sweeps,
        .leftover = sweeps > work->sweeps.least && work->sweeps.least > 0,
        .sweep_ns = INFINITY,
        .since_ns = since_ns,
        .stamp = 0,
    };
    if (plan_kernels_move_bytes(sim->plan))
        begin_on_link(&work->begin, begins, gpu->blocks_ended_ns == sim->now, group);
    return STATUS_OK;
}

/* Adds the groups of `blocks` blocks, of a launch of `all` of which `placed` had been placed
 * before. Blocks that are placed together end together, but for those that make a sweep more:
 * these are the launch's first. Where a launch has more blocks than the GPU holds, those that
 * take others' places begin at once: the first blocks have paid the fixed cost of the launch,
 * and the neighbours' work hides a block's own beginning. */
static enum status add_groups(struct simulation *sim, struct gpu *gpu, uint32_t op,
                              uint32_t all, uint32_t placed, uint32_t blocks)
{
    struct launch_work room;
    const struct launch_work *work = launch_work(sim, op_at(sim, op), &room);
    const struct sweeps *sweeps = &work->sweeps;
    bool pays = placed == 0 || all <= sim->resident_blocks;
    int64_t since_ns = sim->now + (pays ? work->cost.fixed_ns : 0);
    const double begins = pays ? (double)blocks / all : 0;
    uint32_t more = sweeps->blocks_with_more > placed ? sweeps->blocks_with_more - placed : 0;
    more = more < blocks ? more : blocks;
    enum status status =
        add_group(sim, gpu, op, more, work, sweeps->least + 1, since_ns, begins);
    if (status == STATUS_OK)
        status = add_group(sim, gpu, op, blocks - more, work, sweeps->least, since_ns, begins);
    return status;
}

/* Returns how long a block's sweep takes for its bytes on the link, beside those of `all`
 * blocks that are at work there. */
static double link_sweep_ns(const struct simulation *sim, struct link_bytes own,
                            struct link_bytes all)
{
    if (own.joint > 0 && sim->plan->memory == MEMORY_MANAGED)
        return rule_fault_ns(sim->machine, all.joint); /* in turn, whosever they are */
    return rule_link_sweep_ns(sim->machine, own, all);
}

/* Returns how long the bytes of a group's sweep take on the link: at least as long as if its
 * launch had the link to itself. */
static double link_ns(const struct simulation *sim, const struct gpu *gpu,
                      const struct block_group *group)
{
    double shared = link_sweep_ns(sim, group->link, gpu->link);
    double alone =
        link_sweep_ns(sim, group->link, times(group->link, sim->ops[group->op].launch.running));
    return fmax(shared, alone + group->lead_ns);
}

/* Returns how long a sweep of a group takes beside all that is resident. */
static double modelled_sweep_ns(const struct simulation *sim, const struct gpu *gpu,
                                const struct block_group *group)
{
    bool only_first = group->leftover && group->blocks == gpu->blocks_in_use;
    enum dealt dealt = gpu->kernels_running > 1 ? DEALT_BESIDE
                       : only_first             ? DEALT_FIRST
                                                : DEALT_EVENLY;
    const bool mapped = group->link.joint > 0;
    if (dealt == DEALT_EVENLY && gpu->blocks_in_use == group->all && !mapped)
        return group->alone_ns; /* as mostly */
    struct kernel_cost cost = group->cost;
    if (mapped && group->sweeps == 1) /* it waits for the link's latency alone */
        cost.memory_fill = 0;
    double sweep = rule_sweep_ns(sim->machine, cost, group->share, gpu->blocks_in_use, dealt);
    return mapped ? fmax(sweep + group->read_ns, link_ns(sim, gpu, group)) : sweep;
}

/* Events know a group by this number: its place among its GPU's, and above that the GPU's. */
enum { GROUP_BITS = 28 };
static uint32_t group_number(const struct simulation *sim, const struct gpu *gpu,
                             uint32_t index)
{
    return (uint32_t)(gpu - sim->gpus) << GROUP_BITS | index;
}

/* Brings a group up to now and lets it go on at the rate that holds from here. */
static enum status set_rate(struct simulation *sim, struct gpu *gpu, uint32_t index)
{
    struct block_group *group = &gpu->groups[index];
    double sweep =
        isnan(group->measured_ns) ? modelled_sweep_ns(sim, gpu, group) : group->measured_ns;
    if (sim->sliced && !slices_holds(sim, gpu))
        sweep = INFINITY;
    if (sweep == group->sweep_ns && !isinf(sweep))
        return STATUS_OK;
    if (sim->now > group->since_ns) {
        group->left -= (double)(sim->now - group->since_ns) / group->sweep_ns;
        group->since_ns = sim->now;
    }
    group->sweep_ns = sweep;
    group->stamp = ++sim->stamps;
    if (isinf(sweep))
        return STATUS_OK; /* its process has to wait for its turn */
    /* Rounded up, so that kernels far below a nanosecond still take their time together; but
     * not for what is left of the doubles' own rounding. */
    int64_t left_ns = machine_ceil_ns(group->left * sweep - 1e-6);
    int64_t rest = group->since_ns - sim->now + left_ns;
    return simulation_post(sim, rest > 1 ? rest : 1, EVENT_BLOCKS,
                           group_number(sim, gpu, index), group->stamp);
}

/* Returns how many bytes all resident blocks together move over the link in a sweep. */
static struct link_bytes link_of_all(const struct gpu *gpu)
{
    struct link_bytes all = {0, 0, 0};
    for (uint32_t i = 0; i < gpu->group_end; i++) {
        const struct link_bytes own = times(gpu->groups[i].link, gpu->groups[i].blocks);
        all = (struct link_bytes){all.in + own.in, all.out + own.out, all.joint + own.joint};
    }
    return all;
}

static enum status set_rates(struct simulation *sim, struct gpu *gpu)
{
    enum status status = STATUS_OK;
    if (gpu->rates_hold)
        return status;
    gpu->rates_hold = true;
    if (plan_kernels_move_bytes(sim->plan))
        gpu->link = link_of_all(gpu);
    for (uint32_t i = 0; i < gpu->group_end && status == STATUS_OK; i++) {
        if (gpu->groups[i].blocks > 0)
            status = set_rate(sim, gpu, i);
    }
    return status;
}

/* Returns true if a kernel may start, that is, place its first block. */
static bool may_start(const struct simulation *sim, const struct gpu *gpu, uint32_t op)
{
    return rule_kernel_may_start(sim->machine, gpu->kernels_running) &&
           !checks_hold_kernel(sim, op);
}

/* Places as many blocks as fit of the kernel at the front of `line`. Sets *goes_on where the
 * line's next kernel may place some, too. */
static enum status place_front(struct simulation *sim, struct gpu *gpu, struct line *line,
                               bool *goes_on)
{
    uint32_t op = line->first;
    struct op_state *state = &sim->ops[op];
    uint32_t placed =
        rule_blocks_placed(state->launch.to_place, sim->resident_blocks, gpu->blocks_in_use);
    *goes_on = false;
    if (placed == 0)
        return STATUS_OK;
    const uint32_t all = launch_blocks(sim, op_at(sim, op));
    const bool starts = state->launch.running == 0 && state->launch.to_place == all;
    if (starts && !may_start(sim, gpu, op))
        return STATUS_OK;
    if (starts) {
        gpu->kernels_running++;
        enum status status = simulation_start_op(sim, op);
        if (status != STATUS_OK)
            return status;
    }
    uint32_t before = all - state->launch.to_place;
    state->launch.to_place -= placed;
    state->launch.running += placed;
    gpu->blocks_in_use += placed;
    gpu->rates_hold = false;
    *goes_on = state->launch.to_place == 0;
    if (*goes_on) {
        line_pop(sim, line);
        checks_kernel_placed(sim, op);
    }
    return add_groups(sim, gpu, op, all, before, placed);
}

/* Places blocks of the kernel at the front of the most urgent level that has one. A kernel
 * leaves its line when fully placed; until then no kernel behind it or less urgent places any,
 * for there is no room. But a kernel that may not start beside so many others holds up its line
 * alone. [RTSS17 X1, R1-R3] */
static enum status place_blocks(struct simulation *sim, struct gpu *gpu)
{
    enum status status = STATUS_OK;
    const bool holds = !sim->sliced || slices_holds(sim, gpu);
    for (int level = 0; level < sim->level_count && holds; level++) {
        bool goes_on = true;
        while (gpu->levels[level].first != NONE && goes_on && status == STATUS_OK)
            status = place_front(sim, gpu, &gpu->levels[level], &goes_on);
    }
    if (status == STATUS_OK)
        status = set_rates(sim, gpu);
    return status == STATUS_OK && sim->sliced ? slices_look(sim) : status;
}

enum status kernels_turn(struct simulation *sim, uint32_t stamp)
{
    if (stamp != sim->slices.stamp)
        return STATUS_OK;
    enum status status = slices_turn(sim);
    struct gpu *gpu = &sim->gpus[sim->slices.holder]; /* stops, or goes on */
    gpu->rates_hold = false;
    return status == STATUS_OK ? place_blocks(sim, gpu) : status;
}

enum status kernels_accept(struct simulation *sim, uint32_t op)
{
    const struct op *kernel = op_at(sim, op);
    int priority = sim->plan->priorities != NULL ? sim->plan->priorities[kernel->stream] : 0;
    sim->ops[op].launch.to_place = launch_blocks(sim, kernel);
    sim->ops[op].launch.running = 0;
    struct gpu *gpu = &sim->gpus[sim->lanes[kernel->stream].device];
    gpu->kernels_due -= sim->sliced;
    struct line *line = &gpu->levels[priority - sim->most_urgent];
    bool waits = line->first != NONE; /* behind one that could not be placed */
    line_push(sim, line, op);
    return waits ? STATUS_OK : place_blocks(sim, gpu);
}

enum status kernels_end_blocks(struct simulation *sim, uint32_t number, uint32_t stamp)
{
    struct gpu *gpu = &sim->gpus[number >> GROUP_BITS];
    const uint32_t index = number & ((1U << GROUP_BITS) - 1);
    struct block_group *group = &gpu->groups[index];
    if (index >= gpu->group_end || group->blocks == 0 || stamp != group->stamp)
        return STATUS_OK; /* its rate changed after this event was posted */
    uint32_t op = group->op;
    struct op_state *state = &sim->ops[op];
    state->launch.running -= group->blocks;
    gpu->blocks_in_use -= group->blocks;
    gpu->blocks_ended_ns = sim->now;
    gpu->rates_hold = false;
    leave_group(gpu, group);
    enum status status = STATUS_OK;
    if (state->launch.running == 0 && state->launch.to_place == 0) {
        gpu->kernels_running--;
        status = simulation_end_op(sim, op);
        if (status == STATUS_OK)
            status = host_return_call(sim, op);
    }
    return status == STATUS_OK ? place_blocks(sim, gpu) : status;
}
