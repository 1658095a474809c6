/* slots.c - takes the memory of tiles while the plan runs.
 *
 * Its addresses are known only while the plan runs. So each slot keeps the places of the
 * arguments that are addresses in it, found before the run; taking the memory fills them in,
 * and the calls of the tile cost no more than where the memory was there before. */
#include "cuda/prepare.h"

#include <inttypes.h>

enum status cuda_slots_check(const struct plan *plan, const struct cuda_devices *devices,
                             struct error *error)
{
    int pools = 1;
    if (plan->alloc != ALLOC_ASYNC && plan->alloc != ALLOC_POOL)
        return STATUS_OK;
    if (CUDA_CHECK(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported,
                                          devices->items[0].number),
                   error) != STATUS_OK)
        return STATUS_FAILED;
    if (pools)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "--alloc=%s takes memory in stream order, and the device has no memory "
                     "pools: allowed are once and loop",
                     alloc_names[plan->alloc]);
}

/* --- the places of addresses --- */

/* The slots that are taken, while the plan's ops are gone through in order of issue. */
struct walk {
    struct cuda_run *run;
    struct cuda_place *places;               /* the next is the first of them */
    struct cuda_slot **held[DEVICE_BUFFERS]; /* by place in the buffer */
    uint64_t bytes[DEVICE_BUFFERS];          /* of a slot */
    uint32_t slots;                          /* so far */
};

/* An argument that may be an address in such memory, and the range that it stands for. */
struct argument {
    const void **at;
    const struct range *range;
};

enum { ARGUMENTS_MOST = KERNEL_INPUTS_MAX + 1 };

/* Sets the addresses among an op's arguments. Scratch, carries and what every tile needs whole
 * are taken once. */
static int arguments_of(const struct op *op, struct cuda_issued *issued,
                        struct argument arguments[ARGUMENTS_MOST])
{
    int count = 0;
    if (op->kind == OP_H2D)
        arguments[count++] =
            (struct argument){(const void **)&issued->copy.to, &op->copy.device};
    else if (op->kind == OP_D2H)
        arguments[count++] = (struct argument){&issued->copy.from, &op->copy.device};
    if (op->kind != OP_KERNEL)
        return count;
    /* The arguments are the run's own, and it alone changes them. */
    struct kernel_args *args = (struct kernel_args *)issued->kernel.args;
    for (int i = 0; i < KERNEL_INPUTS_MAX; i++)
        arguments[count++] = (struct argument){&args->in[i], &op->kernel.ranges->in[i]};
    arguments[count++] = (struct argument){(const void **)&args->out, &op->kernel.ranges->out};
    return count;
}

/* Returns where the slot that a range lies in is held; NULL where its buffer is taken once. */
static struct cuda_slot **holder(const struct walk *walk, const struct range *range)
{
    if (range->bytes == 0 || range->buffer < BUFFER_FIRST_DEVICE ||
        walk->held[range->buffer - BUFFER_FIRST_DEVICE] == NULL)
        return NULL;
    const int buffer = range->buffer - BUFFER_FIRST_DEVICE;
    return &walk->held[buffer][range->offset / walk->bytes[buffer]];
}

static bool note_action(struct walk *walk, const struct op *op, struct cuda_issued *issued)
{
    struct cuda_run *run = walk->run;
    const int buffer = op->alloc.range.buffer - BUFFER_FIRST_DEVICE;
    const uint64_t all = run->workload.plan->buffer_bytes[op->alloc.range.buffer];
    if (walk->held[buffer] == NULL) {
        walk->bytes[buffer] = op->alloc.bytes;
        walk->held[buffer] =
            arena_zeros(&run->arena, all / op->alloc.bytes + 1, sizeof **walk->held);
    }
    if (walk->held[buffer] == NULL)
        return false;
    struct cuda_slot **held = holder(walk, &op->alloc.range);
    if (op->alloc.action == ALLOC_TAKE) {
        *held = &run->slots[walk->slots++];
        **held = (struct cuda_slot){.bytes = op->alloc.bytes, .pool = run->pool};
    }
    issued->slot = *held;
    return true;
}

static void note_uses(struct walk *walk, const struct op *op, struct cuda_issued *issued)
{
    struct argument arguments[ARGUMENTS_MOST];
    const int count = arguments_of(op, issued, arguments);
    for (int i = 0; i < count; i++) {
        struct cuda_slot **held = holder(walk, arguments[i].range);
        if (held == NULL)
            continue;
        struct cuda_place *place = walk->places++;
        const int buffer = arguments[i].range->buffer - BUFFER_FIRST_DEVICE;
        *place = (struct cuda_place){
            arguments[i].at, arguments[i].range->offset % walk->bytes[buffer], (*held)->places};
        (*held)->places = place;
    }
}

static enum status take_pool(struct cuda_run *run, struct error *error)
{
    const struct cudaMemPoolProps props = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = run->devices->items[0].number},
    };
    uint64_t keep = UINT64_MAX;
    if (run->workload.plan->alloc != ALLOC_POOL)
        return STATUS_OK;
    if (CUDA_CHECK(cudaMemPoolCreate(&run->pool, &props), error) != STATUS_OK)
        return STATUS_FAILED;
    return CUDA_CHECK(
        cudaMemPoolSetAttribute(run->pool, cudaMemPoolAttrReleaseThreshold, &keep), error);
}

enum status cuda_slots_look_up(struct cuda_run *run, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    struct walk walk = {.run = run};
    if (plan->alloc == ALLOC_ONCE)
        return STATUS_OK;
    if (take_pool(run, error) != STATUS_OK)
        return STATUS_FAILED;
    size_t places = 0;
    EACH (const struct op, op, plan->ops, plan->op_count) {
        run->slot_count += op->kind == OP_ALLOC && op->alloc.action == ALLOC_TAKE;
        places += op->kind == OP_KERNEL ? ARGUMENTS_MOST : op_is_copy(op->kind);
    }
    run->slots = arena_zeros(&run->arena, run->slot_count, sizeof *run->slots);
    walk.places = arena_zeros(&run->arena, places, sizeof *walk.places);
    bool room = !run->arena.full;
    for (uint32_t i = 0; i < plan->op_count && room; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind == OP_ALLOC && op->alloc.action != ALLOC_PAIR)
            room = note_action(&walk, op, &run->issued[i]);
        else
            note_uses(&walk, op, &run->issued[i]);
    }
    return room ? STATUS_OK
                : error_no_memory(error, "for the slots of %" PRIu32 " ops", plan->op_count);
}

/* --- taking and giving --- */

cudaError_t cuda_slot_take(const struct cuda_issued *op)
{
    struct cuda_slot *slot = op->slot;
    cudaError_t result;
    if (!op->ordered)
        result = cudaMalloc(&slot->memory, slot->bytes);
    else if (slot->pool != NULL)
        result = cudaMallocFromPoolAsync(&slot->memory, slot->bytes, slot->pool, op->stream);
    else
        result = cudaMallocAsync(&slot->memory, slot->bytes, op->stream);
    for (const struct cuda_place *place = slot->places; result == cudaSuccess && place != NULL;
         place = place->next)
        *place->at = (char *)slot->memory + place->offset;
    return result;
}

cudaError_t cuda_slot_give(const struct cuda_issued *op)
{
    void *memory = op->slot->memory;
    op->slot->memory = NULL;
    return op->ordered ? cudaFreeAsync(memory, op->stream) : cudaFree(memory);
}

void cuda_slots_give_all(struct cuda_run *run)
{
    const bool ordered = run->workload.plan->alloc != ALLOC_LOOP;
    bool any = false;
    for (uint32_t i = 0; run->slots != NULL && i < run->slot_count; i++) {
        void *memory = run->slots[i].memory;
        run->slots[i].memory = NULL;
        if (memory == NULL)
            continue;
        any = true;
        cuda_devices_warn(run->devices, 0,
                          ordered ? cudaFreeAsync(memory, run->streams[0]) : cudaFree(memory),
                          ordered ? "cudaFreeAsync" : "cudaFree");
    }
    if (any && ordered)
        cuda_devices_warn(run->devices, 0, cudaStreamSynchronize(run->streams[0]),
                          "cudaStreamSynchronize");
}

void cuda_slots_free(struct cuda_run *run)
{
    cuda_slots_give_all(run);
    if (run->pool != NULL)
        cuda_devices_warn(run->devices, 0, cudaMemPoolDestroy(run->pool), "cudaMemPoolDestroy");
}
