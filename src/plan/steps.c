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
    return steps->plan->memory == MEMORY_MAPPED ? 1 : 3;
}

void steps_begin(struct steps *steps, const struct settings *settings, struct plan *plan,
                 const struct placement *placement)
{
    const bool mapped = plan->memory == MEMORY_MAPPED;
    const uint32_t devices = plan_devices(plan), batches = plan_batches(plan);
    const uint32_t most = (batches + devices - 1) / devices; /* of a device */
    *steps = (struct steps){.settings = settings,
                            .plan = plan,
                            .placement = placement,
                            .batches = batches,
                            .devices = devices,
                            .stages = (uint32_t)plan->chain_length + 2,
                            .kernel_stream = -1,
                            .ways = mapped && settings->ways < 3 ? 3 : settings->ways};
    uint32_t in_flight = settings->streams;
    if (in_flight > most)
        in_flight = most > 0 ? most : 1; /* 0: all is the CPU's */
    /* Serial and 2-way hold all that a device works on there at once. */
    plan->slots = devices * (steps->ways <= 2 ? most : in_flight);
    steps->tile_streams = count_streams(steps, in_flight);
    plan->streams = devices * steps->tile_streams;
}

static bool is_kernel(const struct steps *steps, uint32_t stage)
{
    return stage > 0 && stage < steps_out(steps);
}

bool steps_have_stage(const struct steps *steps, uint32_t stage)
{
    return !steps->placement->mapped || is_kernel(steps, stage);
}

bool steps_have_upload(const struct steps *steps)
{
    return steps->plan->buffer_bytes[BUFFER_HOST_RESIDENT] > 0 && steps->batches > 0;
}

/* Returns the stream of a step among those of its device. */
static uint32_t stream_on_device(const struct steps *steps, struct step step)
{
    const bool by_stage = steps->settings->layout == LAYOUT_STAGE;
    if (steps->ways == 1 || step.batch >= steps->batches)
        return 0;
    if (by_stage && steps->placement->mapped)
        return 0;
    if (is_kernel(steps, step.stage) && steps->kernel_stream >= 0)
        return (uint32_t)steps->kernel_stream;
    if (by_stage)
        return step.stage == 0 ? 0 : is_kernel(steps, step.stage) ? 1 : 2;
    if (steps->ways == 2 && step.stage == 0)
        return 0;
    return plan_batch_number(steps->plan, step.batch) % steps->tile_streams;
}

uint32_t steps_stream(const struct steps *steps, struct step step)
{
    const uint32_t first = steps_device(steps, step) * steps->tile_streams;
    return first + stream_on_device(steps, step);
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
           steps->plan->chain[step.stage - 1]->shape == KERNEL_SCAN;
}

/* Returns the stage of the slot's batch before that works on what `stage` overwrites, and so
 * must have ended; `none` where `stage` overwrites nothing. */
static uint32_t last_use(const struct steps *steps, uint32_t stage, uint32_t none)
{
    const struct placement *placement = steps->placement;
    const uint32_t out = steps_out(steps);
    if (placement->mapped) /* kernels alone use a slot: the last one frees it for the first */
        return stage == 1 ? out - 1 : none;
    if (stage == 0) /* what the batch before still sends out, or its kernels still read */
        return placement->in_place ? out : (uint32_t)placement->last_input_link + 1;
    if (stage == (uint32_t)placement->first_output_link + 1 && !placement->in_place)
        return out;
    return none;
}

int steps_follow(const struct steps *steps, struct step step,
                 struct step follows[STEP_FOLLOWS_MAX])
{
    enum { NONE = UINT32_MAX };
    const uint32_t stage = step.stage, batch = step.batch, slots = steps->plan->slots;
    int count = 0;
    /* 2-way kernels come after H2D of all that their device gets, for which a scan's first
     * batch has waited already. */
    bool after_all = stage == 1 && steps->ways == 2;
    bool carries = step_carries(steps, step);
    bool waited = carries && batch >= steps->devices; /* a batch before it on its device */
    if (carries)
        follows[count++] = (struct step){stage, batch - 1};
    if (after_all && !waited)
        follows[count++] = (struct step){0, last_beside(steps, batch)};
    if (stage > 0 && steps_have_stage(steps, stage - 1) && !(after_all && waited))
        follows[count++] = (struct step){stage - 1, batch};
    uint32_t used = batch >= slots ? last_use(steps, stage, NONE) : NONE;
    if (used != NONE)
        follows[count++] = (struct step){used, batch - slots};
    if (stage == 1 && steps_have_upload(steps)) /* last: mostly another wait covers it */
        follows[count++] = steps_upload(steps, steps_device(steps, step));
    return count;
}
