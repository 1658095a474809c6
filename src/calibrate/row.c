/* row.c - builds the small plan of a row. */
#include "calibrate/rig.h"

#include "plan/build.h"

#include <string.h>

enum {
    COLUMNS = 1024, /* of matrices; these two are what runs have unless they say otherwise */
    STRIDE = 1,
    GATE_ELEMENTS = 8 << 20, /* one block does them in some ms: time to issue a thousand ops */
    GATE_EVENT = 0,
};

/* A plan while it is built; the first failure is kept and ends it. */
struct row_builder {
    const struct row *row;
    struct plan *plan;
    uint32_t device;                           /* that this step is for */
    uint64_t host_offset[MACHINE_DEVICES_MAX]; /* by device, in its part */
    uint64_t device_offset, cpu_offset, slot_offset;
    uint32_t event; /* recorded and waited for by this step; the gate has the first */
    struct error *error;
    enum status status;
};

const struct kernel *row_kernel(const struct row *row)
{
    return row->kernel != NULL ? row->kernel : kernel_find("scale");
}

uint32_t row_devices(const struct row *row)
{
    return row->devices > 1 ? row->devices : 1;
}

bool row_needs_arrays(const struct row *row)
{
    return row->mapped || strpbrk(row->steps, (const char[]){ROW_COPY_IN, ROW_COPY_OUT, ROW_CPU,
                                                             ROW_PACK, ROW_PEER, 0}) != NULL;
}

/* Returns how many copies an op is. */
static uint32_t copies_of(const struct row *row)
{
    return row->batch > 0 ? row->batch : 1;
}

/* Returns the bytes of each array on the device. */
static uint64_t device_bytes(const struct row *row)
{
    uint64_t launch = row->elements * dtype_bytes(row_kernel(row)->in);
    return launch > ROW_ARRAY_BYTES ? launch : ROW_ARRAY_BYTES;
}

static void plan_shape(struct row_builder *builder)
{
    const struct row *row = builder->row;
    struct plan *plan = builder->plan;
    const struct kernel *kernel = row_kernel(row);
    const uint32_t devices = row_devices(row);
    *plan = (struct plan){0};
    plan->devices = devices;
    plan->streams = row->streams > 0 ? row->streams : 1;
    plan->streams *= devices * (row->apart ? 2 : 1);
    plan->events = row->count + 2;
    plan->tiles = row->count * copies_of(row) * devices;
    plan->cpu_tiles = strchr(row->steps, ROW_CPU) != NULL ? row->count : 0;
    plan->slots = devices;
    plan->memory = row->pageable ? MEMORY_PAGEABLE
                   : row->mapped ? MEMORY_MAPPED
                                 : MEMORY_PINNED;
    plan->loads_lazily = row->lazy;
    plan->issue = row->graph ? ISSUE_GRAPH : row->batch > 0 ? ISSUE_BATCH : ISSUE_STREAMS;
    const uint64_t large =
        strchr(row->steps, ROW_PACK) != NULL ? ROW_PACK_BYTES : ROW_ARRAY_BYTES;
    uint64_t host = row_needs_arrays(row) ? devices * large : ROW_SMALL_BYTES;
    plan->elements = host / dtype_bytes(kernel->in);
    plan->chain[0] = kernel;
    /* The gate's kernel. It is left out where the CPU works, which would run the whole chain.
     */
    plan->chain[1] = kernel_find("scale");
    plan->chain_length = plan->cpu_tiles > 0 ? 1 : 2;
    plan->params = (struct kernel_params){.intensity = row->intensity > 0 ? row->intensity : 1,
                                          .columns = COLUMNS,
                                          .stride = STRIDE};
    uint64_t device = devices * device_bytes(row);
    plan->buffer_bytes[BUFFER_HOST_IN0] = plan->buffer_bytes[BUFFER_HOST_OUT] = host;
    plan->buffer_bytes[BUFFER_HOST_IN1] = kernel->inputs == 2 ? host : 0;
    plan->buffer_bytes[BUFFER_DEVICE_IN0] = plan->buffer_bytes[BUFFER_DEVICE_OUT] = device;
    plan->buffer_bytes[BUFFER_DEVICE_IN1] = kernel->inputs == 2 ? device : 0;
    plan->buffer_bytes[BUFFER_DEVICE_SCRATCH] = kernel_scratch_bytes(kernel, row->elements);
}

static void put(struct row_builder *builder, const struct op *op)
{
    if (builder->status == STATUS_OK)
        builder->status = plan_append(builder->plan, op, builder->error);
}

/* Returns ranges for an op, or NULL where there was a failure, now or before. */
static struct op_ranges *take_ranges(struct row_builder *builder)
{
    if (builder->status != STATUS_OK)
        return NULL;
    struct op_ranges *ranges = plan_take_ranges(builder->plan, builder->error);
    if (ranges == NULL)
        builder->status = STATUS_NO_MEMORY;
    return ranges;
}

/* Returns the offset of the next `bytes` of a large array; behind its end they begin again. */
static uint64_t next_part(uint64_t *offset, uint64_t bytes, uint64_t array)
{
    enum { ALIGNMENT = 256 };
    uint64_t step = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t at = *offset + step <= array ? *offset : 0;
    *offset = at + step;
    return at;
}

static void put_copy(struct row_builder *builder, enum op_kind kind, uint32_t stream)
{
    bool in = kind == OP_H2D;
    const uint32_t copies = copies_of(builder->row);
    uint64_t bytes = copies * builder->row->bytes;
    uint64_t at = next_part(&builder->host_offset[builder->device], bytes, ROW_ARRAY_BYTES);
    const uint64_t host = at + builder->device * (uint64_t)ROW_ARRAY_BYTES;
    const uint64_t device =
        at + plan_device_part(builder->plan, BUFFER_DEVICE_IN0, builder->device).offset;
    put(builder,
        &(struct op){
            .kind = kind,
            .stream = stream,
            .tiles = copies & OP_TILES_MOST,
            .copy = {.host = {in ? BUFFER_HOST_IN0 : BUFFER_HOST_OUT, host, bytes},
                     .device = {in ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_OUT, device, bytes}}});
}

static void put_kernel(struct row_builder *builder, uint32_t stream, uint32_t link,
                       uint64_t count, uint32_t blocks)
{
    const struct kernel *kernel = builder->plan->chain[link];
    uint64_t in = count * dtype_bytes(kernel->in);
    uint64_t out = kernel->shape == KERNEL_REDUCE ? dtype_bytes(kernel->out)
                                                  : count * dtype_bytes(kernel->out);
    const bool mapped = builder->row->mapped;
    const enum buffer in0 = mapped ? BUFFER_HOST_IN0 : BUFFER_DEVICE_IN0,
                      in1 = mapped ? BUFFER_HOST_IN1 : BUFFER_DEVICE_IN1,
                      to = mapped ? BUFFER_HOST_OUT : BUFFER_DEVICE_OUT;
    uint64_t at = next_part(&builder->device_offset, in > out ? in : out,
                            builder->plan->buffer_bytes[to]);
    struct op op = {
        .kind = OP_KERNEL,
        .stream = stream,
        .kernel = {
            .link = link, .count = count, .blocks = blocks, .ranges = take_ranges(builder)}};
    if (op.kernel.ranges == NULL)
        return;
    op.kernel.ranges->in[0] = (struct range){in0, at, in};
    op.kernel.ranges->out = (struct range){to, at, out};
    if (kernel->inputs == 2)
        op.kernel.ranges->in[1] = (struct range){in1, at, in};
    uint64_t scratch = kernel_scratch_bytes(kernel, count);
    if (scratch > 0)
        op.kernel.ranges->scratch = (struct range){BUFFER_DEVICE_SCRATCH, 0, scratch};
    put(builder, &op);
}

static void put_cpu(struct row_builder *builder)
{
    const struct kernel *kernel = builder->plan->chain[0];
    uint64_t count = builder->row->elements, bytes = count * dtype_bytes(kernel->in);
    uint64_t out = (kernel->shape == KERNEL_REDUCE ? 1 : count) * dtype_bytes(kernel->out);
    uint64_t at = next_part(&builder->cpu_offset, bytes > out ? bytes : out, ROW_ARRAY_BYTES);
    struct op op = {.kind = OP_CPU,
                    .stream = builder->plan->streams,
                    .cpu = {.count = count, .ranges = take_ranges(builder)}};
    if (op.cpu.ranges == NULL)
        return;
    op.cpu.ranges->in[0] = (struct range){BUFFER_HOST_IN0, at, bytes};
    if (kernel->inputs == 2)
        op.cpu.ranges->in[1] = (struct range){BUFFER_HOST_IN1, at, bytes};
    op.cpu.ranges->out = (struct range){BUFFER_HOST_OUT, at, out};
    put(builder, &op);
}

/* Puts a copy from the next part of an array to the next of a few slots, as runs have them. */
static void put_pack(struct row_builder *builder)
{
    enum { SLOTS = 3 };
    const uint64_t bytes = builder->row->bytes;
    const uint64_t at = next_part(&builder->cpu_offset, bytes, ROW_PACK_BYTES),
                   slot = next_part(&builder->slot_offset, bytes, SLOTS * bytes);
    put(builder, &(struct op){.kind = OP_PACK,
                              .stream = builder->plan->streams,
                              .move = {.from = {BUFFER_HOST_IN0, at, bytes},
                                       .to = {BUFFER_HOST_OUT, slot, bytes}}});
}

/* Puts a copy from this step's device to the other of the pair, if it is to send. */
static void put_peer(struct row_builder *builder, uint32_t stream)
{
    const struct row *row = builder->row;
    const struct plan *plan = builder->plan;
    const bool back = builder->device == row->sender + 1 && row->both_ways;
    if (builder->device != row->sender && !back)
        return;
    const uint32_t to = back ? row->sender : row->sender + 1;
    const uint64_t at =
        next_part(&builder->host_offset[builder->device], row->bytes, ROW_ARRAY_BYTES);
    const uint64_t source = plan_device_part(plan, BUFFER_DEVICE_IN0, builder->device).offset;
    const uint64_t target = plan_device_part(plan, BUFFER_DEVICE_OUT, to).offset;
    put(builder, &(struct op){.kind = OP_PEER,
                              .stream = stream,
                              .move = {.from = {BUFFER_DEVICE_IN0, source + at, row->bytes},
                                       .to = {BUFFER_DEVICE_OUT, target + at, row->bytes}}});
}

/* Puts an op of a step, in the stream of that number among its device's. */
static void put_op(struct row_builder *builder, enum row_op step, uint32_t number)
{
    const struct row *row = builder->row;
    const uint32_t each = builder->plan->streams / row_devices(row);
    const uint32_t stream = builder->device * each + number;
    if (step == ROW_COPY_IN)
        put_copy(builder, OP_H2D, stream);
    else if (step == ROW_COPY_OUT)
        put_copy(builder, OP_D2H, stream + (row->apart ? each / 2 : 0));
    else if (step == ROW_KERNEL)
        put_kernel(builder, stream, 0, row->elements, row->blocks);
    else if (step == ROW_RECORD || step == ROW_WAIT)
        put(builder, &(struct op){.kind = step == ROW_RECORD ? OP_RECORD : OP_WAIT,
                                  .stream = stream,
                                  .event.event = builder->event});
    else if (step == ROW_CALLBACK)
        put(builder, &(struct op){.kind = OP_CALLBACK, .stream = stream});
    else if (step == ROW_CPU)
        put_cpu(builder);
    else if (step == ROW_SYNC)
        put(builder,
            &(struct op){.kind = OP_SYNC, .stream = builder->plan->streams, .tile = -1});
    else if (step == ROW_PACK)
        put_pack(builder);
    else if (step == ROW_PEER)
        put_peer(builder, stream);
    else /* ROW_ALLOC, ROW_PINNED */
        put(builder,
            &(struct op){.kind = OP_ALLOC,
                         .stream = builder->plan->streams,
                         .tile = -1,
                         .alloc = {.bytes = row->bytes, .pinned = step == ROW_PINNED}});
}

/* Puts a gate before the row: it holds every stream until one long block is done. */
static void put_gate(struct row_builder *builder)
{
    put_kernel(builder, 0, 1, GATE_ELEMENTS, 1);
    put(builder, &(struct op){.kind = OP_RECORD, .event.event = GATE_EVENT});
    for (uint32_t stream = 1; stream < builder->plan->streams; stream++)
        put(builder,
            &(struct op){.kind = OP_WAIT, .stream = stream, .event.event = GATE_EVENT});
}

/* Puts a step on each device. */
static void put_step(struct row_builder *builder, uint32_t number)
{
    const uint32_t devices = row_devices(builder->row);
    for (builder->device = 0; builder->device < devices; builder->device++) {
        for (const char *step = builder->row->steps; *step != '\0'; step++)
            put_op(builder, (enum row_op) * step, number);
    }
}

enum status row_plan(const struct row *row, struct plan *plan, struct error *error)
{
    struct row_builder builder = {.row = row, .plan = plan, .error = error};
    plan_shape(&builder);
    uint32_t streams = row->streams > 0 ? row->streams : 1;
    if (row->gate)
        put_gate(&builder);
    for (uint32_t i = 0; i < row->count; i++) {
        builder.event = i + 1;
        put_step(&builder, i % streams);
    }
    return builder.status == STATUS_OK ? plan_validate(plan, error) : builder.status;
}
