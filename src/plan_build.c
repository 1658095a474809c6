/* plan_build.c - turns settings into a plan.
 *
 * A tile goes through stages: 0 copies it in, 1 to L run the chain's L kernels, L + 1 copies it
 * out. A step is one stage of one tile. Three questions settle the whole plan:
 *   when is a step issued?        schedule_*: the ways and the order
 *   in which stream?              step_stream: the ways and the layout
 *   which steps must end first?   step_follows: data flow, and slots that are used again
 * Where a step follows one of another stream, an event joins them: recorded right behind the
 * earlier step, waited for right before the later one. Which steps need a record is known only
 * once all are placed, so the schedule runs twice: first to mark, then to write the ops. */
#include "plan_build.h"

#include <stdlib.h>

enum { SLOT_ALIGNMENT = 256, NO_EVENT = 0, MARKED = UINT32_MAX, FOLLOWS_MAX = 4 };
enum { CARRY_BYTES = 8 }; /* a place: room for a value of any type */

struct builder {
    const struct settings *settings;
    struct plan *plan;
    uint32_t resident_blocks;
    uint32_t gpu_tiles, stages;
    int inputs;                    /* arrays copied in */
    int last_input_link;           /* the last kernel that reads what was copied in */
    int first_output_link;         /* the first kernel that writes what is copied out */
    uint64_t stride[BUFFER_COUNT]; /* device buffers: bytes of a slot's part */
    uint64_t scratch[CHAIN_MAX];   /* where each kernel's scratch is in the slot's part */
    bool marking;
    uint32_t dropped;  /* waits left out, by mistake */
    uint32_t *events;  /* per step: NO_EVENT, MARKED, or its event's number plus 1 */
    uint32_t *places;  /* per step: its place in its stream, from 1 */
    uint32_t *known;   /* streams x streams: up to which place of the other each has waited */
    uint32_t *lengths; /* per stream: steps so far */
    struct error *error;
};

static size_t step_index(const struct builder *builder, uint32_t stage, uint32_t tile)
{
    return (size_t)tile * builder->stages + stage;
}

static uint32_t stage_out(const struct builder *builder)
{
    return builder->stages - 1;
}

static uint32_t step_stream(const struct builder *builder, uint32_t stage, uint32_t tile)
{
    const struct settings *settings = builder->settings;
    if (settings->ways == 1)
        return 0;
    if (settings->layout == LAYOUT_STAGE)
        return stage == 0 ? 0 : stage == stage_out(builder) ? 2 : 1;
    if (settings->ways == 2 && stage == 0)
        return 0;
    return tile % builder->plan->streams;
}

/* A step that must have ended. */
struct step {
    uint32_t stage, tile;
};

/* Whether a stage begins with what its kernel left of the tile before. */
static bool stage_carries(const struct builder *builder, uint32_t stage, uint32_t tile)
{
    return tile > 0 && stage > 0 && stage < stage_out(builder) &&
           builder->plan->chain[stage - 1]->shape == KERNEL_SCAN;
}

/* The steps that (stage, tile) must follow, beyond the order of its own stream. */
static int step_follows(const struct builder *builder, uint32_t stage, uint32_t tile,
                        struct step follows[FOLLOWS_MAX])
{
    int count = 0;
    uint32_t slots = builder->plan->slots;
    bool reused = tile >= slots; /* the slot held an earlier tile */
    /* 2-way: after H2D of everything, for which a scan's first tile has waited already. */
    bool after_all = stage == 1 && builder->settings->ways == 2;
    bool carries = stage_carries(builder, stage, tile);
    if (carries)
        follows[count++] = (struct step){stage, tile - 1};
    if (after_all && !carries)
        follows[count++] = (struct step){0, builder->gpu_tiles - 1};
    if (stage > 0 && !(after_all && carries))
        follows[count++] = (struct step){stage - 1, tile};
    if (stage == 0 && reused) /* don't overwrite what a kernel still reads */
        follows[count++] = (struct step){(uint32_t)builder->last_input_link + 1, tile - slots};
    if (stage == (uint32_t)builder->first_output_link + 1 &&
        reused) /* nor what still goes out */
        follows[count++] = (struct step){stage_out(builder), tile - slots};
    return count;
}

static struct range slot_range(const struct builder *builder, enum buffer buffer, uint32_t tile,
                               uint64_t bytes)
{
    uint64_t slot = tile % builder->plan->slots;
    return (struct range){buffer, slot * builder->stride[buffer], bytes};
}

static bool chain_reduces(const struct plan *plan)
{
    return plan_last_kernel(plan)->shape == KERNEL_REDUCE;
}

static struct range host_input(const struct plan *plan, int input, uint32_t tile)
{
    uint64_t first, count, size = dtype_bytes(plan->chain[0]->in);
    plan_tile(plan, tile, &first, &count);
    enum buffer buffer = input == 0 ? BUFFER_HOST_IN0 : BUFFER_HOST_IN1;
    return (struct range){buffer, first * size, count * size};
}

static struct range host_output(const struct plan *plan, uint32_t tile)
{
    uint64_t first, count, size = dtype_bytes(plan_last_kernel(plan)->out);
    plan_tile(plan, tile, &first, &count);
    if (chain_reduces(plan))
        return (struct range){BUFFER_HOST_OUT, tile * size, size};
    return (struct range){BUFFER_HOST_OUT, first * size, count * size};
}

/* The place of what link `link` carries out of tile `tile`. */
static struct range carry_range(const struct plan *plan, uint32_t link, uint32_t tile)
{
    uint64_t offset = ((uint64_t)link * plan->tiles + tile) * CARRY_BYTES;
    return (struct range){BUFFER_DEVICE_CARRY, offset, dtype_bytes(plan->chain[link]->out)};
}

/* Where a kernel keeps what it needs beside its elements. */
static void place_scratch_and_carry(const struct builder *builder, uint32_t tile, struct op *op)
{
    const struct plan *plan = builder->plan;
    const struct kernel *kernel = plan->chain[op->kernel.link];
    uint64_t bytes = kernel_scratch_bytes(kernel, op->kernel.count);
    if (bytes > 0) {
        op->kernel.scratch = slot_range(builder, BUFFER_DEVICE_SCRATCH, tile, bytes);
        op->kernel.scratch.offset += builder->scratch[op->kernel.link];
    }
    if (kernel->shape != KERNEL_SCAN)
        return;
    if (tile > 0)
        op->kernel.carry_in = carry_range(plan, op->kernel.link, tile - 1);
    op->kernel.carry_out = carry_range(plan, op->kernel.link, tile);
}

static enum status write_copies_in(struct builder *builder, uint32_t stream, uint32_t tile)
{
    enum status status = STATUS_OK;
    for (int input = 0; input < builder->inputs && status == STATUS_OK; input++) {
        struct op op = {.kind = OP_H2D, .stream = stream, .tile = (int32_t)tile};
        op.copy.host = host_input(builder->plan, input, tile);
        enum buffer buffer = input == 0 ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_IN1;
        op.copy.device = slot_range(builder, buffer, tile, op.copy.host.bytes);
        status = plan_append(builder->plan, &op, builder->error);
    }
    return status;
}

/* All launches of a tile's kernel, one behind the other in its stream. A launch per repeat goes
 * on in the output with what the last one left there. */
static enum status append_launches(struct builder *builder, struct op *op)
{
    const struct kernel *kernel = builder->plan->chain[op->kernel.link];
    const uint32_t launches = kernel_launches(kernel, &builder->plan->params);
    enum status status = STATUS_OK;
    for (uint32_t repeat = 0; repeat < launches && status == STATUS_OK; repeat++) {
        op->kernel.repeat = repeat;
        status = plan_append(builder->plan, op, builder->error);
    }
    return status;
}

/* A chain of maps and scans reads the input buffer once and then works in place on the output
 * buffer: so its first kernel, and it alone, may gather. One that ends in a reduction works in
 * place on the input buffer; only the value goes to the output. */
static enum status write_kernel(struct builder *builder, uint32_t stream, uint32_t tile,
                                uint32_t link)
{
    struct plan *plan = builder->plan;
    const struct kernel *kernel = plan->chain[link];
    struct op op = {.kind = OP_KERNEL, .stream = stream, .tile = (int32_t)tile};
    uint64_t first, count;
    plan_tile(plan, tile, &first, &count);
    op.kernel.link = link;
    op.kernel.count = count;
    op.kernel.blocks = kernel_blocks(kernel, count, builder->resident_blocks);
    bool reduces = kernel->shape == KERNEL_REDUCE;
    enum buffer work = chain_reduces(plan) ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_OUT;
    op.kernel.in[0] = slot_range(builder, link == 0 ? BUFFER_DEVICE_IN0 : work, tile,
                                 count * dtype_bytes(kernel->in));
    if (kernel->inputs == 2)
        op.kernel.in[1] =
            slot_range(builder, BUFFER_DEVICE_IN1, tile, count * dtype_bytes(kernel->in));
    op.kernel.out = slot_range(builder, reduces ? BUFFER_DEVICE_OUT : work, tile,
                               (reduces ? 1 : count) * dtype_bytes(kernel->out));
    place_scratch_and_carry(builder, tile, &op);
    return append_launches(builder, &op);
}

static enum status write_copy_out(struct builder *builder, uint32_t stream, uint32_t tile)
{
    struct op op = {.kind = OP_D2H, .stream = stream, .tile = (int32_t)tile};
    op.copy.host = host_output(builder->plan, tile);
    op.copy.device = slot_range(builder, BUFFER_DEVICE_OUT, tile, op.copy.host.bytes);
    enum status status = plan_append(builder->plan, &op, builder->error);
    if (status != STATUS_OK || !builder->settings->callbacks)
        return status;
    struct op callback = {.kind = OP_CALLBACK, .stream = stream, .tile = (int32_t)tile};
    callback.callback.result = op.copy.host;
    return plan_append(builder->plan, &callback, builder->error);
}

static enum status write_event(struct builder *builder, enum op_kind kind, uint32_t stream,
                               uint32_t tile, uint32_t event)
{
    struct op op = {.kind = kind, .stream = stream, .tile = (int32_t)tile};
    op.event.event = event;
    return plan_append(builder->plan, &op, builder->error);
}

/* Whether a wait for a step of `stage` is the one that the mistake leaves out. Only kernels
 * follow copies in. */
static bool drops_wait(const struct builder *builder, uint32_t stage)
{
    return builder->settings->mistake == MISTAKE_MISSING_WAIT && stage == 0;
}

/* Makes `stream` wait for the step, unless its own order or an earlier wait sees to it. */
static enum status join(struct builder *builder, uint32_t stream, uint32_t tile,
                        struct step step)
{
    size_t index = step_index(builder, step.stage, step.tile);
    uint32_t other = step_stream(builder, step.stage, step.tile);
    uint32_t *known = &builder->known[(size_t)stream * builder->plan->streams + other];
    if (other == stream || *known >= builder->places[index])
        return STATUS_OK;
    *known = builder->places[index];
    if (builder->marking) {
        builder->events[index] = MARKED;
        return STATUS_OK;
    }
    if (drops_wait(builder, step.stage)) {
        builder->dropped++;
        return STATUS_OK;
    }
    return write_event(builder, OP_WAIT, stream, tile, builder->events[index] - 1);
}

static enum status issue_step(struct builder *builder, uint32_t stage, uint32_t tile)
{
    uint32_t stream = step_stream(builder, stage, tile);
    struct step follows[FOLLOWS_MAX];
    int count = step_follows(builder, stage, tile, follows);
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = join(builder, stream, tile, follows[i]);
    size_t index = step_index(builder, stage, tile);
    builder->places[index] = ++builder->lengths[stream];
    if (builder->marking || status != STATUS_OK)
        return status;

    if (stage == 0)
        status = write_copies_in(builder, stream, tile);
    else if (stage == stage_out(builder))
        status = write_copy_out(builder, stream, tile);
    else
        status = write_kernel(builder, stream, tile, stage - 1);
    if (status == STATUS_OK && builder->events[index] == MARKED) {
        status = write_event(builder, OP_RECORD, stream, tile, builder->plan->events);
        builder->events[index] = ++builder->plan->events;
    }
    return status;
}

/* Stages [first, stages) of tiles [begin, end), a stage of every tile before the next stage. */
static enum status schedule_by_stage(struct builder *builder, uint32_t first, uint32_t begin,
                                     uint32_t end)
{
    enum status status = STATUS_OK;
    for (uint32_t stage = first; stage < builder->stages; stage++) {
        for (uint32_t tile = begin; tile < end && status == STATUS_OK; tile++)
            status = issue_step(builder, stage, tile);
    }
    return status;
}

/* Stages [first, stages) of every tile in the order asked for: breadth-first is by stage in
 * waves of as many tiles as may be in flight, depth-first the same in waves of one. */
static enum status schedule_in_waves(struct builder *builder, uint32_t first)
{
    uint32_t wave = 1;
    if (builder->settings->order == ORDER_BREADTH)
        wave = builder->settings->streams;
    enum status status = STATUS_OK;
    for (uint32_t begin = 0; begin < builder->gpu_tiles && status == STATUS_OK; begin += wave) {
        uint32_t end = begin + wave < builder->gpu_tiles ? begin + wave : builder->gpu_tiles;
        status = schedule_by_stage(builder, first, begin, end);
    }
    return status;
}

static enum status schedule(struct builder *builder)
{
    size_t streams = builder->plan->streams;
    for (size_t i = 0; i < streams * streams; i++)
        builder->known[i] = 0;
    for (size_t i = 0; i < streams; i++)
        builder->lengths[i] = 0;
    if (builder->settings->ways == 1)
        return schedule_by_stage(builder, 0, 0, builder->gpu_tiles);
    enum status status = STATUS_OK;
    if (builder->settings->ways > 2)
        return schedule_in_waves(builder, 0);
    for (uint32_t tile = 0; tile < builder->gpu_tiles && status == STATUS_OK; tile++)
        status = issue_step(builder, 0, tile);
    return status == STATUS_OK ? schedule_in_waves(builder, 1) : status;
}

static enum status write_cpu_tiles(struct builder *builder)
{
    struct plan *plan = builder->plan;
    enum status status = STATUS_OK;
    for (uint32_t tile = builder->gpu_tiles; tile < plan->tiles && status == STATUS_OK;
         tile++) {
        struct op op = {.kind = OP_CPU, .stream = plan->streams, .tile = (int32_t)tile};
        uint64_t first;
        plan_tile(plan, tile, &first, &op.cpu.count);
        for (int input = 0; input < builder->inputs; input++)
            op.cpu.in[input] = host_input(plan, input, tile);
        op.cpu.out = host_output(plan, tile);
        status = plan_append(plan, &op, builder->error);
    }
    return status;
}

static uint64_t slot_aligned(uint64_t bytes)
{
    return (bytes + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
}

/* Each kernel has scratch of its own, where it finds what it left. Returns a slot's bytes. */
static uint64_t lay_out_scratch(struct builder *builder, uint64_t count)
{
    uint64_t bytes = 0;
    for (int link = 0; link < builder->plan->chain_length; link++) {
        builder->scratch[link] = bytes;
        bytes += slot_aligned(kernel_scratch_bytes(builder->plan->chain[link], count));
    }
    return bytes;
}

static void size_buffers(struct builder *builder)
{
    struct plan *plan = builder->plan;
    uint64_t in = dtype_bytes(plan->chain[0]->in),
             out = dtype_bytes(plan_last_kernel(plan)->out);
    uint64_t tile = (plan->elements + plan->tiles - 1) / plan->tiles;
    bool reduces = chain_reduces(plan);
    builder->stride[BUFFER_DEVICE_IN0] = tile * in;
    builder->stride[BUFFER_DEVICE_IN1] = builder->inputs == 2 ? tile * in : 0;
    builder->stride[BUFFER_DEVICE_OUT] = reduces ? out : tile * out;
    builder->stride[BUFFER_DEVICE_SCRATCH] = lay_out_scratch(builder, tile);
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT; b++) {
        builder->stride[b] = slot_aligned(builder->stride[b]);
        plan->buffer_bytes[b] = plan->slots * builder->stride[b];
    }
    if (kernel_chain_scans(plan->chain, plan->chain_length))
        plan->buffer_bytes[BUFFER_DEVICE_CARRY] =
            (uint64_t)plan->chain_length * plan->tiles * CARRY_BYTES;
    plan->buffer_bytes[BUFFER_HOST_IN0] = plan->elements * in;
    plan->buffer_bytes[BUFFER_HOST_IN1] = builder->inputs == 2 ? plan->elements * in : 0;
    plan->buffer_bytes[BUFFER_HOST_OUT] = reduces ? plan->tiles * out : plan->elements * out;
}

static void study_chain(struct builder *builder)
{
    const struct plan *plan = builder->plan;
    builder->inputs = 1;
    bool reduces = chain_reduces(plan);
    builder->last_input_link = reduces ? plan->chain_length - 1 : 0;
    builder->first_output_link = reduces ? plan->chain_length - 1 : 0;
    for (int link = 0; link < plan->chain_length; link++) {
        if (plan->chain[link]->inputs < 2)
            continue;
        builder->inputs = 2;
        if (link > builder->last_input_link)
            builder->last_input_link = link;
    }
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Streams and slots. Serial and 2-way hold the whole array on the device at once. */
static void shape_plan(struct builder *builder)
{
    const struct settings *settings = builder->settings;
    struct plan *plan = builder->plan;
    uint32_t in_flight = smaller(settings->streams, builder->gpu_tiles);
    if (in_flight == 0) /* everything is the CPU's */
        in_flight = 1;
    plan->slots = settings->ways <= 2 ? builder->gpu_tiles : in_flight;
    if (settings->ways == 1)
        plan->streams = 1;
    else
        plan->streams = settings->layout == LAYOUT_STAGE ? 3 : in_flight;
}

static enum status set_priorities(struct builder *builder, const struct machine *machine)
{
    const struct settings *settings = builder->settings;
    struct plan *plan = builder->plan;
    if (settings->priority_count == 0)
        return STATUS_OK;
    plan->priorities = calloc(plan->streams, sizeof *plan->priorities);
    if (plan->priorities == NULL)
        return error_set(builder->error, STATUS_FAILED, "no memory for a plan");
    for (uint32_t stream = 0; stream < plan->streams; stream++) {
        int priority = settings->priorities[stream % (uint32_t)settings->priority_count];
        if (priority > machine->priority_least)
            priority = machine->priority_least;
        if (priority < machine->priority_greatest)
            priority = machine->priority_greatest;
        plan->priorities[stream] = priority;
    }
    return STATUS_OK;
}

static enum status take_tables(struct builder *builder)
{
    size_t steps = (size_t)builder->gpu_tiles * builder->stages + 1;
    size_t streams = builder->plan->streams;
    builder->events = calloc(steps, sizeof *builder->events);
    builder->places = calloc(steps, sizeof *builder->places);
    builder->known = calloc(streams * streams, sizeof *builder->known);
    builder->lengths = calloc(streams, sizeof *builder->lengths);
    if (builder->events && builder->places && builder->known && builder->lengths)
        return STATUS_OK;
    return error_set(builder->error, STATUS_FAILED, "no memory for a plan of %zu steps", steps);
}

static void free_tables(struct builder *builder)
{
    free(builder->events);
    free(builder->places);
    free(builder->known);
    free(builder->lengths);
}

static enum status write_ops(struct builder *builder)
{
    enum status status = take_tables(builder);
    if (status == STATUS_OK) {
        builder->marking = true;
        status = schedule(builder);
    }
    /* The CPU starts first: handing it its tiles costs the host next to nothing. */
    if (status == STATUS_OK)
        status = write_cpu_tiles(builder);
    if (status == STATUS_OK) {
        builder->marking = false;
        status = schedule(builder);
    }
    free_tables(builder);
    return status;
}

/* A mistake that could not be made would teach the wrong thing. */
static enum status check_mistake(const struct builder *builder)
{
    if (builder->settings->mistake != MISTAKE_MISSING_WAIT || builder->dropped > 0)
        return STATUS_OK;
    return error_set(
        builder->error, STATUS_USAGE,
        "--mistake=%s: with these settings no kernel waits for a copy in another "
        "stream, so there is no wait to leave out: use --layout=stage with ways 2, "
        "3 or 4, or --ways=2 with several streams and no scan",
        mistake_name(builder->settings->mistake));
}

enum status plan_build(const struct settings *settings, const struct machine *machine,
                       struct plan *plan, struct error *error)
{
    plan_init(plan);
    struct builder builder = {.settings = settings, .plan = plan, .error = error};
    builder.resident_blocks = machine_resident_blocks(machine);
    plan->elements = settings->elements;
    plan->tiles = settings->tiles;
    plan->params = settings_params(settings);
    plan->chain_length = settings->chain_length;
    for (int i = 0; i < settings->chain_length; i++)
        plan->chain[i] = settings->chain[i];
    plan->cpu_tiles = plan_cpu_tiles(settings, machine);
    builder.gpu_tiles = plan->tiles - plan->cpu_tiles;
    builder.stages = (uint32_t)plan->chain_length + 2;
    shape_plan(&builder);
    study_chain(&builder);
    size_buffers(&builder);
    enum status status = set_priorities(&builder, machine);
    if (status == STATUS_OK)
        status = write_ops(&builder);
    if (status == STATUS_OK)
        status = check_mistake(&builder);
    if (status == STATUS_OK)
        status = plan_validate(plan, error);
    if (status != STATUS_OK)
        plan_free(plan);
    return status;
}
