/* steps.c - which steps a plan has, in which stream each goes, and which it follows. */
#include "plan/steps.h"

/* Returns how many streams a device has for `in_flight` batches. A stream per stage is one
 * stream where there are no copies. */
static uint32_t count_streams(const struct steps *steps, uint32_t in_flight)
{
    if (steps->ways == 1)
        return 1;
    if (steps->settings->layout == LAYOUT_TILE)
        return in_flight;
    return plan_kernels_move_bytes(steps->plan) ? 1 : 3;
}

static void add_stage(struct steps *steps, enum stage_kind kind, uint32_t link, uint32_t device)
{
    steps->stage[steps->stages++] = (struct stage){kind, link, device};
}

/* Lists the stages of a batch. Each device hands on what its last kernel leaves, in streams of
 * its own; what comes by the host the next one copies in. */
static void list_stages(struct steps *steps)
{
    const struct plan *plan = steps->plan;
    const uint32_t links = (uint32_t)plan->chain_length;
    add_stage(steps, STAGE_IN, 0, 0);
    for (uint32_t link = 0; link < links; link++) {
        const uint32_t device = plan_link_device(plan, link);
        if (link > 0 && plan_link_is_first(plan, link)) {
            add_stage(steps, plan->by_host ? STAGE_TO_HOST : STAGE_PEER, link - 1, device - 1);
            if (plan->by_host)
                add_stage(steps, STAGE_FROM_HOST, link - 1, device);
        }
        steps->kernel_stage[link] = steps->stages;
        add_stage(steps, STAGE_KERNEL, link, device);
    }
    add_stage(steps, STAGE_OUT, links - 1, plan_link_device(plan, links - 1));
}

void steps_begin(struct steps *steps, const struct settings *settings, struct plan *plan,
                 const struct placement *placement)
{
    const bool alone = plan_kernels_move_bytes(plan); /* kernels, without copies */
    const uint32_t devices = plan_devices(plan), batches = plan_batches(plan);
    const uint32_t most = plan->by_link ? batches : (batches + devices - 1) / devices;
    *steps = (struct steps){.settings = settings,
                            .plan = plan,
                            .placement = placement,
                            .batches = batches,
                            .devices = devices,
                            .kernel_stream = -1,
                            .ways = alone && settings->ways < 3 ? 3 : settings->ways};
    list_stages(steps);
    uint32_t in_flight = settings->streams;
    if (in_flight > most) /* of a device; 0: all is the CPU's */
        in_flight = most > 0 ? most : 1;
    /* Serial and 2-way hold all that a device works on there at once. */
    plan->slots = devices * (steps->ways <= 2 ? most : in_flight);
    steps->tile_streams = count_streams(steps, in_flight);
    plan->streams = devices * steps->tile_streams;
}

static bool is_kernel(const struct steps *steps, uint32_t stage)
{
    return steps->stage[stage].kind == STAGE_KERNEL;
}

bool steps_have_stage(const struct steps *steps, uint32_t stage)
{
    return !plan_kernels_move_bytes(steps->plan) || is_kernel(steps, stage);
}

bool steps_have_upload(const struct steps *steps)
{
    return steps->plan->buffer_bytes[BUFFER_HOST_RESIDENT] > 0 && steps->batches > 0;
}

/* Returns the stream of a stage among those of its device, where each kind has its own. */
static uint32_t stage_stream(enum stage_kind kind)
{
    if (kind == STAGE_IN || kind == STAGE_FROM_HOST)
        return 0;
    return kind == STAGE_KERNEL ? 1 : 2;
}

int64_t steps_stage_stream(const struct steps *steps, uint32_t stage)
{
    const bool by_stage = steps->settings->layout == LAYOUT_STAGE;
    if (steps->ways == 1 || (by_stage && plan_kernels_move_bytes(steps->plan)))
        return 0;
    if (is_kernel(steps, stage) && steps->kernel_stream >= 0)
        return steps->kernel_stream;
    if (by_stage)
        return stage_stream(steps->stage[stage].kind);
    const bool single = steps->tile_streams == 1 || (steps->ways == 2 && stage == 0);
    return single ? 0 : STREAM_DEALT;
}

/* Returns the stream of a step among those of its device. */
static uint32_t stream_on_device(const struct steps *steps, struct step step)
{
    if (step.batch >= steps->batches)
        return 0;
    const int64_t stream = steps_stage_stream(steps, step.stage);
    return stream != STREAM_DEALT
               ? (uint32_t)stream
               : plan_batch_number(steps->plan, step.batch) % steps->tile_streams;
}

uint32_t steps_stream(const struct steps *steps, struct step step)
{
    const uint32_t first = steps_device(steps, step) * steps->tile_streams;
    return first + stream_on_device(steps, step);
}

uint32_t steps_wave(const struct steps *steps)
{
    const uint32_t devices = steps->plan->by_link ? 1 : steps->devices;
    return steps->settings->order == ORDER_BREADTH ? devices * steps->settings->streams : 1;
}

/* Returns the last batch of the device that `batch` is on. */
static uint32_t last_beside(const struct steps *steps, uint32_t batch)
{
    const uint32_t last = steps->batches - 1;
    return last - (last - batch) % steps->devices;
}

/* Returns true if a step begins with what its kernel left of the batch before. */
static bool step_carries(const struct steps *steps, struct step step)
{
    return step.batch > 0 && is_kernel(steps, step.stage) &&
           steps->plan->chain[steps->stage[step.stage].link]->shape == KERNEL_SCAN;
}

/* Returns the stage in which a device's batch leaves it: by links, that behind its last kernel.
 */
static uint32_t leaving(const struct steps *steps, uint32_t device)
{
    uint32_t link = (uint32_t)steps->plan->chain_length - 1;
    while (plan_link_device(steps->plan, link) > device)
        link--;
    return steps->kernel_stage[link] + 1;
}

/* Returns the last stage that works on what a device takes in, by links. Maps read it once; a
 * chain that ends in a reduction works in place, and hands on what it worked on. */
static uint32_t last_input_use(const struct steps *steps, uint32_t device)
{
    const struct placement *placement = steps->placement;
    uint32_t link = (uint32_t)placement->last_input_link;
    if (placement->reduces)
        return leaving(steps, device) - (device + 1 == steps->devices ? 1 : 0);
    if (device == 0)
        return steps->kernel_stage[link];
    for (link = 0; plan_link_device(steps->plan, link) < device;)
        link++;
    return steps->kernel_stage[link];
}

/* Returns the stage that last_use() asks for where each device has a part of the chain. */
static uint32_t last_use_by_link(const struct steps *steps, uint32_t number, uint32_t none)
{
    const struct stage *stage = &steps->stage[number];
    const uint32_t links = (uint32_t)steps->plan->chain_length;
    switch (stage->kind) {
    case STAGE_IN:
    case STAGE_FROM_HOST:
        return last_input_use(steps, stage->device);
    case STAGE_PEER:
        return last_input_use(steps, stage->device + 1);
    case STAGE_TO_HOST: /* the slot of the host's memory */
        return number + 1;
    case STAGE_KERNEL:
        if (steps->placement->reduces ? stage->link + 1 == links
                                      : plan_link_is_first(steps->plan, stage->link))
            return leaving(steps, stage->device);
        break;
    case STAGE_OUT:
        break;
    }
    return none;
}

/* Returns the stage of the slot's batch before that works on what `stage` overwrites, and so
 * must have ended; `none` where `stage` overwrites nothing. */
static uint32_t last_use(const struct steps *steps, uint32_t stage, uint32_t none)
{
    const struct placement *placement = steps->placement;
    const uint32_t out = steps_out(steps);
    if (steps->plan->by_link)
        return last_use_by_link(steps, stage, none);
    if (placement->mapped) /* kernels alone use a slot: the last one frees it for the first */
        return stage == 1 ? out - 1 : none;
    if (stage == 0) /* what the batch before still sends out, or its kernels still read */
        return steps_last_input(steps);
    if (stage == steps_first_output(steps) && !placement->in_place)
        return out;
    return none;
}

int steps_follow(const struct steps *steps, struct step step,
                 struct follow follows[STEP_FOLLOWS_MAX])
{
    enum { NONE = UINT32_MAX };
    const uint32_t stage = step.stage, batch = step.batch;
    const uint32_t slots = steps->plan->slots / (steps->plan->by_link ? steps->devices : 1);
    int count = 0;
    /* 2-way kernels come after H2D of all that their device gets, for which a scan's first
     * batch has waited already. */
    bool after_all = stage == 1 && steps->ways == 2;
    bool carries = step_carries(steps, step);
    bool waited = carries && batch >= steps->devices; /* a batch before it on its device */
    if (carries)
        follows[count++] = (struct follow){RELATION_AHEAD, {stage, batch - 1}};
    if (after_all && !waited)
        follows[count++] = (struct follow){RELATION_LAST, {0, last_beside(steps, batch)}};
    if (stage > 0 && steps_have_stage(steps, stage - 1) && !(after_all && waited))
        follows[count++] = (struct follow){RELATION_OWN, {stage - 1, batch}};
    uint32_t used = batch >= slots ? last_use(steps, stage, NONE) : NONE;
    if (used != NONE)
        follows[count++] = (struct follow){RELATION_BEFORE, {used, batch - slots}};
    if (stage == 1 && steps_have_upload(steps)) /* last: mostly another wait covers it */
        follows[count++] =
            (struct follow){RELATION_ONCE, steps_upload(steps, steps_device(steps, step))};
    return count;
}

enum relation steps_event(const struct steps *steps, struct step step)
{
    if (step.batch >= steps->batches)
        return RELATION_ONCE;
    return steps->ways == 2 && step.stage == 0 ? RELATION_LAST : RELATION_OWN;
}
