/* validate_recorded.c - checks that each op of a recorded plan refers to what is there. */
#include "machine/machine.h"
#include "plan/validate.h"

#include <inttypes.h>

/* Returns what is wrong with the ranges that an op touches, or NULL. */
static const char *fault_in_accesses(const struct plan_recorded *recorded,
                                     const struct op_recorded *seen)
{
    if (seen->access_count > recorded->access_count ||
        seen->first_access > recorded->access_count - seen->access_count)
        return "touches ranges that the plan does not have";
    for (uint32_t i = 0; i < seen->access_count; i++) {
        const struct range *range = &recorded->accesses[seen->first_access + i].range;
        if (range->buffer >= recorded->buffer_count)
            return "names a buffer that the plan does not have";
        uint64_t size = recorded->buffers[range->buffer].bytes;
        if (range->bytes == 0)
            return "touches a range of no bytes";
        if (range->bytes > size || range->offset > size - range->bytes)
            return "reaches beyond its buffer";
    }
    return NULL;
}

static bool is_time(int64_t ns)
{
    return ns >= 0 && ns < MACHINE_NEVER_NS;
}

static bool is_in_its_place(const struct plan *plan, const struct op *op)
{
    if (op->kind == OP_SYNC)
        return op->stream <= plan->streams;
    return op_in_stream(op->kind) ? op->stream < plan->streams : op->stream == plan->streams;
}

/* Returns what is wrong with an op of a kind that there is, or NULL. */
static const char *fault_of(const struct plan *plan, const struct op *op)
{
    const struct op_recorded *seen = plan_seen(plan, op);
    bool event = op->kind == OP_RECORD || op->kind == OP_WAIT || op->kind == OP_SYNC_EVENT;
    if (op->kind == OP_CPU)
        return "is work of the CPU, which no recording has";
    if (event && op->event.event >= plan->events)
        return "names an event that the plan does not have";
    if (!is_in_its_place(plan, op))
        return "is in a stream that the plan does not have";
    if (op->tile != -1)
        return "belongs to a tile, which recorded plans do not have";
    if (op_is_copy(op->kind) && op->copy.host.bytes != op->copy.device.bytes)
        return "copies between ranges of different sizes";
    if (op->kind == OP_D2D && op->d2d.from.bytes != op->d2d.to.bytes)
        return "copies between ranges of different sizes";
    if (op->kind == OP_KERNEL && seen->name >= plan->recorded->name_count)
        return "is a kernel without a name";
    if (seen->thread >= plan->recorded->threads)
        return "is of a thread that the plan does not have";
    if (!is_time(seen->host_ns) || !is_time(seen->work_ns))
        return "takes less than no time, or more than 36 years";
    if (!(seen->fill >= 0 && seen->fill <= 1))
        return "takes less than nothing of the GPU, or more than all of it";
    return fault_in_accesses(plan->recorded, seen);
}

enum status plan_check_recorded(const struct plan *plan, struct error *error)
{
    char label[OP_LABEL];
    if (plan->streams == 0)
        return error_set(error, STATUS_FAILED, "the plan has no streams");
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->id != i || op->kind >= OP_KIND_COUNT)
            return error_set(error, STATUS_FAILED,
                             "op %" PRIu32 " is not numbered by its place, or of no kind", i);
        const char *fault = fault_of(plan, op);
        if (fault != NULL)
            return error_set(error, STATUS_FAILED, "op %" PRIu32 " (%s) %s", i,
                             plan_op_label(plan, op, label), fault);
    }
    return STATUS_OK;
}
