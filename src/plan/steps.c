/* steps.c - which steps a plan has, in which stream each goes, and which it follows. */
#include "plan/steps.h"

/* Returns how many streams a device has for `in_flight` batches. Without copies, a stream per
 * stage is a single stream. */
static uint32_t count_streams(const struct steps *steps, uint32_t in_flight)
{
    if (steps->ways == 1)
        return 1;
    if (!steps->by_stage)
        return in_flight;
    return steps->stage[0].kind == STAGE_IN ? 3 : 1;
}

static void add_stage(struct steps *steps, enum stage_kind kind, uint32_t link, uint32_t device)
{
    steps->stage[steps->stages++] =
        (struct stage){.kind = kind, .link = link, .device = device, .frees = STAGE_NONE};
}

/* Lists the stages of a batch. Each device passes on what its last kernel leaves, in its own
 * streams; what goes through the host is copied in by the next device. */
static void list_stages(struct steps *steps)
{
    const struct plan *plan = steps->plan;
    const uint32_t links = (uint32_t)plan->chain_length;
    const bool copies = !plan_kernels_move_bytes(plan);
    if (copies)
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
    if (copies)
        add_stage(steps, STAGE_OUT, links - 1, plan_link_device(plan, links - 1));
    steps->stage[steps->stages] = (struct stage){.kind = STAGE_ONCE, .frees = STAGE_NONE};
}

void steps_begin(struct steps *steps, const struct settings *settings, struct plan *plan)
{
    const bool alone = plan_kernels_move_bytes(plan); /* kernels, without copies */
    const uint32_t devices = plan_devices(plan), batches = plan_batches(plan);
    const uint32_t most = plan->by_link ? batches : (batches + devices - 1) / devices;
    *steps = (struct steps){.plan = plan,
                            .batches = batches,
                            .devices = devices,
                            .ways = alone && settings->ways < 3 ? 3 : settings->ways,
                            .by_stage = settings->layout == LAYOUT_STAGE};
    list_stages(steps);
    steps->wave = settings->order == ORDER_BREADTH
                      ? settings->streams * (plan->by_link ? 1 : devices)
                      : 1;
    uint32_t in_flight = settings->streams;
    if (in_flight > most) /* of a device; 0: all is the CPU's */
        in_flight = most > 0 ? most : 1;
    /* Serial and 2-way keep everything that a device works on there at once. */
    const uint32_t slots = steps->ways <= 2 ? most : in_flight;
    plan->slots = devices * slots;
    steps->slots = plan->by_link ? slots : plan->slots;
    steps->tile_streams = count_streams(steps, in_flight);
    plan->streams = devices * steps->tile_streams;
}

/* --- what each stage does --- */

/* Returns the stream of a stage among those of its device. */
static int64_t stream_of(const struct steps *steps, uint32_t stage, int32_t kernel_stream)
{
    static const int64_t by_kind[] = {
        [STAGE_IN] = 0,   [STAGE_FROM_HOST] = 0, [STAGE_KERNEL] = 1,
        [STAGE_PEER] = 2, [STAGE_TO_HOST] = 2,   [STAGE_OUT] = 2};
    const enum stage_kind kind = steps->stage[stage].kind;
    if (steps->ways == 1)
        return 0;
    if (kind == STAGE_KERNEL && kernel_stream >= 0)
        return kernel_stream;
    if (steps->tile_streams == 1 || (steps->ways == 2 && stage == 0))
        return 0;
    return steps->by_stage ? by_kind[kind] : STREAM_DEALT;
}

/* Sets what stages overwrite if each device has a part of the chain. Maps read the device's
 * input once; a chain that ends in a reduction works in place, and passes on what it worked on.
 */
static void settle_by_link(struct steps *steps, const struct placement *placement)
{
    uint32_t first[MACHINE_DEVICES_MAX] = {0}, behind[MACHINE_DEVICES_MAX] = {0}; /* kernels */
    uint32_t last_use[MACHINE_DEVICES_MAX]; /* of what a device takes in */
    const uint32_t links = (uint32_t)steps->plan->chain_length;
    for (uint32_t link = 0; link < links; link++) {
        const uint32_t device = plan_link_device(steps->plan, link);
        behind[device] = steps->kernel_stage[link] + 1;
        if (plan_link_is_first(steps->plan, link))
            first[device] = steps->kernel_stage[link];
    }
    for (uint32_t device = 0; device < steps->devices; device++)
        last_use[device] = placement->reduces ? behind[device] - (device + 1 == steps->devices)
                                              : first[device];
    if (!placement->reduces)
        last_use[0] = steps->kernel_stage[placement->last_input_link];
    for (uint32_t i = 0; i < steps->stages; i++) {
        struct stage *stage = &steps->stage[i];
        if (stage->kind == STAGE_IN || stage->kind == STAGE_FROM_HOST)
            stage->frees = last_use[stage->device];
        else if (stage->kind == STAGE_PEER)
            stage->frees = last_use[stage->device + 1];
        else if (stage->kind == STAGE_TO_HOST) /* the slot of the host's memory */
            stage->frees = i + 1;
        else if (stage->kind == STAGE_KERNEL &&
                 (placement->reduces ? stage->link + 1 == links : i == first[stage->device]))
            stage->frees = behind[stage->device];
    }
}

/* Sets what stages overwrite if each batch stays on its device, and where memory is allocated
 * within the run: in stream order as soon as it is needed, by the host at once. */
static void settle_by_tiles(struct steps *steps, const struct placement *placement)
{
    const struct plan *plan = steps->plan;
    const uint32_t out = steps->stages - 1, first_kernel = steps->kernel_stage[0];
    const uint32_t first_output = steps->kernel_stage[placement->first_output_link];
    const uint32_t last_input =
        placement->in_place ? out : steps->kernel_stage[placement->last_input_link];
    const bool ordered = plan->alloc != ALLOC_LOOP;
    if (placement->mapped) { /* only kernels use a slot: the last frees it for the first */
        steps->stage[first_kernel].frees = steps->kernel_stage[plan->chain_length - 1];
        return;
    }
    steps->stage[0].frees = last_input; /* what is still being sent out, or read by kernels */
    if (!placement->in_place)
        steps->stage[first_output].frees = out;
    if (plan->alloc == ALLOC_ONCE)
        return;
    steps->stage[0].takes_inputs = true;
    steps->stage[ordered ? last_input : out].gives_inputs = true;
    steps->stage[ordered ? first_output : 0].takes_output = !placement->in_place;
    steps->stage[out].gives_output = !placement->in_place;
}

void steps_settle(struct steps *steps, const struct placement *placement, int32_t kernel_stream)
{
    const struct plan *plan = steps->plan;
    for (uint32_t i = 0; i < steps->stages; i++) {
        struct stage *stage = &steps->stage[i];
        const struct kernel *kernel = plan->chain[stage->link];
        stage->stream = stream_of(steps, i, kernel_stream);
        stage->carries = stage->kind == STAGE_KERNEL && kernel->shape == KERNEL_SCAN;
        stage->by_host = stage->carries && placement->carry_by_host;
        stage->joins = kernel_is_elementwise(kernel);
        stage->launches = kernel_launches(kernel, &plan->params);
    }
    if (plan->by_link)
        settle_by_link(steps, placement);
    else
        settle_by_tiles(steps, placement);
    if (plan->buffer_bytes[BUFFER_HOST_RESIDENT] > 0 && steps->batches > 0)
        steps->uploads = steps->devices;
}

/* --- steps --- */

size_t steps_number(const struct steps *steps)
{
    return (size_t)steps->stages * steps->batches + steps->devices;
}

/* Returns the device that a step is for. */
static uint32_t device_of(const struct steps *steps, struct step step)
{
    return steps->stage[step.stage].device + (step.stage == steps->stages
                                                  ? step.batch
                                                  : plan_batch_device(steps->plan, step.batch));
}

struct step_place steps_place(const struct steps *steps, struct step step)
{
    const struct stage *stage = &steps->stage[step.stage];
    const uint32_t number =
        stage->stream != STREAM_DEALT
            ? (uint32_t)stage->stream
            : plan_batch_number(steps->plan, step.batch) % steps->tile_streams;
    const enum relation alike =
        steps->ways == 2 && step.stage == 0 ? RELATION_LAST : RELATION_OWN;
    return (struct step_place){.index = (size_t)step.stage * steps->batches + step.batch,
                               .stage = step.stage,
                               .stream = device_of(steps, step) * steps->tile_streams + number,
                               .event = stage->kind == STAGE_ONCE ? RELATION_ONCE : alike,
                               .copies_in =
                                   stage->kind == STAGE_IN || stage->kind == STAGE_ONCE};
}

/* Returns the last batch of the device that `batch` is on. */
static uint32_t last_beside(const struct steps *steps, uint32_t batch)
{
    const uint32_t last = steps->batches - 1;
    return last - (last - batch) % steps->devices;
}

static struct follow follow(const struct steps *steps, enum relation relation, uint32_t stage,
                            uint32_t batch)
{
    return (struct follow){relation, steps_place(steps, (struct step){stage, batch})};
}

int steps_follow(const struct steps *steps, struct step step,
                 struct follow follows[STEP_FOLLOWS_MAX])
{
    const struct stage *stage = &steps->stage[step.stage];
    const uint32_t batch = step.batch;
    const bool begins = step.stage == steps->kernel_stage[0];
    int count = 0;
    if (stage->kind == STAGE_ONCE)
        return 0;
    /* 2-way kernels come after all H2D of their device, for which a scan's first batch has
     * already waited. */
    bool after_all = begins && steps->ways == 2;
    bool carries = stage->carries && batch > 0;
    bool waited = carries && batch >= steps->devices; /* a batch before it on its device */
    if (carries)
        follows[count++] = follow(steps, RELATION_AHEAD, step.stage, batch - 1);
    if (after_all && !waited)
        follows[count++] = follow(steps, RELATION_LAST, 0, last_beside(steps, batch));
    if (step.stage > 0 && !(after_all && waited))
        follows[count++] = follow(steps, RELATION_OWN, step.stage - 1, batch);
    if (batch >= steps->slots && stage->frees != STAGE_NONE)
        follows[count++] = follow(steps, RELATION_BEFORE, stage->frees, batch - steps->slots);
    if (begins && steps->uploads > 0) /* last: mostly another wait covers it */
        follows[count++] = follow(steps, RELATION_ONCE, steps->stages, device_of(steps, step));
    return count;
}

/* --- the loops that a plan is unrolled from, and what their stages are seen to do --- */

static void add_loop(struct plan_loops *loops, uint32_t first, uint32_t end, uint32_t wave)
{
    loops->loops[loops->loop_count++] = (struct loop){first, end, wave};
}

void loops_begin(struct plan_loops *loops, const struct steps *steps)
{
    const uint32_t end = steps->stages;
    loops->stage_count = end;
    loops->step = (struct step){end, 0};
    loops->place = 0;
    for (uint32_t stage = 0; stage < end; stage++)
        loops->stages[stage].what = steps->stage[stage];
    if (steps->ways == 1) {
        for (uint32_t stage = 0; stage < end; stage++)
            add_loop(loops, stage, stage + 1, 1);
        return;
    }
    if (steps->ways == 2)
        add_loop(loops, 0, 1, 1);
    add_loop(loops, steps->ways == 2 ? 1 : 0, end, steps->wave);
}

void loops_step(struct plan_loops *loops, struct step step)
{
    if (step.stage == loops->step.stage && step.batch == loops->step.batch)
        return;
    loops->step = step;
    loops->place = 0;
}

static bool is_same(const struct loop_item *a, const struct loop_item *b)
{
    return a->kind == b->kind && a->relation == b->relation &&
           a->event_stage == b->event_stage && a->carries == b->carries &&
           a->action == b->action && a->buffer == b->buffer;
}

/* Returns where a new item belongs whose step has come to `place`: right there, but behind the
 * waits of other batches. No batch has all waits: they stand by their relation. */
static int new_place(const struct loop_stage *stage, int place, const struct loop_item *item)
{
    while (place < stage->item_count && stage->items[place].kind == OP_WAIT &&
           (item->kind != OP_WAIT || stage->items[place].relation < item->relation))
        place++;
    return place;
}

void loops_note(struct plan_loops *loops, struct loop_item item)
{
    struct loop_stage *stage = &loops->stages[loops->step.stage];
    const uint32_t batch = loops->step.batch;
    int place = loops->place > 0 ? loops->place - 1 : 0; /* several ops may be one item */
    while (place < stage->item_count && !is_same(&stage->items[place], &item))
        place++;
    if (place < stage->item_count) {
        struct loop_item *known = &stage->items[place];
        loops->broken |= known->to != batch && known->to != batch + 1;
        known->to = batch + 1;
        loops->place = place + 1;
        return;
    }
    if (stage->item_count == LOOP_ITEMS_MOST) {
        loops->broken = true;
        return;
    }
    item.from = batch;
    item.to = batch + 1;
    place = new_place(stage, loops->place, &item);
    for (int i = stage->item_count++; i > place; i--)
        stage->items[i] = stage->items[i - 1];
    stage->items[place] = item;
    loops->place = place + 1;
}
