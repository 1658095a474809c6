/* plan.c - the container of ops, and whether each op refers to what is there. */
#include "plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void plan_init(struct plan *plan)
{
    *plan = (struct plan){0};
}

void plan_free(struct plan *plan)
{
    free(plan->ops);
    free(plan->priorities);
    free(plan->stream_kinds);
    plan_init(plan);
}

static enum status plan_grow(struct plan *plan, struct error *error)
{
    if (plan->op_capacity > UINT32_MAX / 4)
        return error_set(error, STATUS_FAILED, "the plan has too many ops (over %" PRIu32 ")",
                         plan->op_count);
    uint32_t capacity = plan->op_capacity ? 2 * plan->op_capacity : 64;
    struct op *ops = realloc(plan->ops, capacity * sizeof *ops);
    if (ops == NULL)
        return error_set(error, STATUS_FAILED, "no memory for a plan of %" PRIu32 " ops",
                         capacity);
    plan->ops = ops;
    plan->op_capacity = capacity;
    return STATUS_OK;
}

enum status plan_append(struct plan *plan, const struct op *op, struct error *error)
{
    if (plan->op_count == plan->op_capacity) {
        enum status status = plan_grow(plan, error);
        if (status != STATUS_OK)
            return status;
    }
    plan->ops[plan->op_count] = *op;
    plan->ops[plan->op_count].id = plan->op_count;
    plan->op_count++;
    return STATUS_OK;
}

/* floor(a * b / c) without overflow, for b <= c. */
static uint64_t scale_u64(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)((unsigned __int128)a * b / c);
}

void plan_tile(const struct plan *plan, uint32_t tile, uint64_t *first, uint64_t *count)
{
    *first = scale_u64(plan->elements, tile, plan->tiles);
    *count = scale_u64(plan->elements, (uint64_t)tile + 1, plan->tiles) - *first;
}

static uint64_t sum_bytes(const struct plan *plan, int begin, int end)
{
    uint64_t bytes = 0;
    for (int i = begin; i < end; i++)
        bytes += plan->buffer_bytes[i];
    return bytes;
}

uint64_t plan_host_bytes(const struct plan *plan)
{
    return sum_bytes(plan, 0, BUFFER_FIRST_DEVICE);
}

uint64_t plan_device_bytes(const struct plan *plan)
{
    return sum_bytes(plan, BUFFER_FIRST_DEVICE, BUFFER_COUNT);
}

const struct kernel *plan_last_kernel(const struct plan *plan)
{
    return plan->chain[plan->chain_length - 1];
}

static enum status op_fault(const struct plan *plan, const struct op *op, const char *fault,
                            struct error *error)
{
    char label[OP_LABEL];
    return error_set(error, STATUS_FAILED, "op %" PRIu32 " (%s) %s", op->id,
                     plan_op_label(plan, op, label), fault);
}

static bool ranges_overlap(const struct range *a, const struct range *b)
{
    return a->buffer == b->buffer && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

/* What copies have to be, of which all bytes are known to be there. */
static const char *op_fault_in_copy(const struct op *op)
{
    if (op->kind == OP_D2D) {
        if (op->d2d.from.bytes != op->d2d.to.bytes)
            return "copies between ranges of different sizes";
        if (op->d2d.to.bytes > 0 && ranges_overlap(&op->d2d.from, &op->d2d.to))
            return "copies between ranges that overlap";
    } else if (op->kind == OP_H2D || op->kind == OP_D2H) {
        if (op->copy.host.buffer >= BUFFER_FIRST_DEVICE ||
            op->copy.device.buffer < BUFFER_FIRST_DEVICE)
            return "copies between buffers of one side";
        if (op->copy.host.bytes != op->copy.device.bytes)
            return "copies between ranges of different sizes";
    } else if (op->kind != OP_MEMSET) {
        return NULL;
    }
    if (op_bytes(op) == 0)
        return op->kind == OP_MEMSET ? "sets nothing" : "copies nothing";
    return NULL;
}

/* Kernels and the CPU's work name their buffers by role; copies by side. */
static const char *op_fault_in_bytes(const struct plan *plan, const struct op *op)
{
    struct access access[OP_ACCESS_MAX];
    int count = op_accesses(op, access);
    for (int i = 0; i < count; i++) {
        const struct range *range = &access[i].range;
        if (range->buffer >= BUFFER_COUNT)
            return "names a buffer that the plan does not have";
        uint64_t size = plan->buffer_bytes[range->buffer];
        if (range->bytes > size || range->offset > size - range->bytes)
            return "reaches beyond its buffer";
        bool on_device = range->buffer >= BUFFER_FIRST_DEVICE;
        bool reaches = op->kind == OP_KERNEL && plan->memory == MEMORY_MAPPED;
        if ((op_is_launch(op->kind) && !on_device && !reaches) ||
            ((op->kind == OP_CPU || op->kind == OP_CALLBACK) && on_device))
            return "works on a buffer of the other side";
    }
    return op_fault_in_copy(op);
}

static bool op_is_in_its_place(const struct plan *plan, const struct op *op)
{
    if (op->kind == OP_SYNC)
        return op->stream <= plan->streams;
    return op_in_stream(op->kind) ? op->stream < plan->streams : op->stream == plan->streams;
}

static const char *op_fault_in_kind(const struct plan *plan, const struct op *op)
{
    bool event = op->kind == OP_RECORD || op->kind == OP_WAIT;
    if (event && op->event.event >= plan->events)
        return "names an event that the plan does not have";
    if (op->kind == OP_KERNEL && (op->kernel.link >= (uint32_t)plan->chain_length ||
                                  op->kernel.count == 0 || op->kernel.blocks == 0))
        return "launches no kernel of the chain, or one without work";
    if (op->kind == OP_ALLOC && op->alloc.bytes == 0)
        return "takes no memory";
    if (!op_is_in_its_place(plan, op))
        return "is in a stream that the plan does not have";
    if (op->tile < -1 || op->tile >= (int64_t)plan->tiles)
        return "belongs to a tile that the plan does not have";
    return NULL;
}

/* There is one legacy default stream, and nobody can give it a priority. */
static enum status validate_streams(const struct plan *plan, struct error *error)
{
    uint32_t legacy = 0;
    for (uint32_t i = 0; plan->stream_kinds != NULL && i < plan->streams; i++) {
        if (plan->stream_kinds[i] >= STREAM_KIND_COUNT)
            return error_set(error, STATUS_FAILED, "stream %" PRIu32 " is of no kind", i);
        if (plan->stream_kinds[i] != STREAM_LEGACY)
            continue;
        if (++legacy > 1)
            return error_set(error, STATUS_FAILED,
                             "stream %" PRIu32 " is the legacy default stream, too: there is "
                             "one",
                             i);
        if (plan->priorities != NULL && plan->priorities[i] != 0)
            return error_set(error, STATUS_FAILED,
                             "stream %" PRIu32 " is the legacy default stream, which has no "
                             "priority",
                             i);
    }
    return STATUS_OK;
}

enum status plan_validate(const struct plan *plan, struct error *error)
{
    if (plan->tiles == 0 || plan->streams == 0 || plan->chain_length < 1 ||
        plan->chain_length > CHAIN_MAX)
        return error_set(error, STATUS_FAILED, "the plan has no tiles, streams or kernels");
    if (validate_streams(plan, error) != STATUS_OK)
        return STATUS_FAILED;
    bool *recorded = calloc((size_t)plan->events + 1, sizeof *recorded);
    if (recorded == NULL)
        return error_set(error, STATUS_FAILED, "no memory to check %" PRIu32 " events",
                         plan->events);
    enum status status = STATUS_OK;
    bool in_order = true; /* every event recorded before it is waited for */
    for (uint32_t i = 0; i < plan->op_count && status == STATUS_OK; i++) {
        const struct op *op = &plan->ops[i];
        const char *fault = op->id == i && op->kind < OP_KIND_COUNT
                                ? op_fault_in_kind(plan, op)
                                : "is not numbered by its place, or of no kind";
        if (fault == NULL)
            fault = op_fault_in_bytes(plan, op);
        if (fault != NULL)
            status = op_fault(plan, op, fault, error);
        else if (op->kind == OP_RECORD)
            recorded[op->event.event] = true;
        else if (op->kind == OP_WAIT)
            in_order &= recorded[op->event.event];
    }
    free(recorded);
    return status == STATUS_OK && !in_order ? plan_check_waits(plan, error) : status;
}

const char *stream_kind_name(enum stream_kind kind)
{
    static const char *const names[STREAM_KIND_COUNT] = {
        [STREAM_NONBLOCKING] = "non-blocking",
        [STREAM_BLOCKING] = "blocking",
        [STREAM_LEGACY] = "legacy",
    };
    return names[kind];
}

const char *plan_op_label(const struct plan *plan, const struct op *op, char text[OP_LABEL])
{
    const char *name = op->kind < OP_KIND_COUNT ? op_kind_name(op->kind) : "op";
    if (op->kind == OP_KERNEL && op->kernel.link < (uint32_t)plan->chain_length)
        name = plan->chain[op->kernel.link]->name;
    if (op->kind == OP_RECORD || op->kind == OP_WAIT)
        snprintf(text, OP_LABEL, "%s event %" PRIu32, name, op->event.event);
    else if (op->kind == OP_SYNC && op->stream < plan->streams)
        snprintf(text, OP_LABEL, "%s stream %" PRIu32, name, op->stream);
    else if (op->kind == OP_SYNC)
        snprintf(text, OP_LABEL, "%s device", name);
    else if (op->kind == OP_ALLOC)
        snprintf(text, OP_LABEL, "%s %s", name, op->alloc.pinned ? "page-locked" : "device");
    else if (op->tile >= 0)
        snprintf(text, OP_LABEL, "%s %" PRId32, name, op->tile);
    else
        snprintf(text, OP_LABEL, "%s", name);
    return text;
}
