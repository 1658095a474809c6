/* portion.c - see portion.h. */
#include "plan/portion.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NOBODY = UINT32_MAX }; /* recorded an event: who waits for it waits for nothing */

/* A portion in the making. */
struct cut {
    const struct plan *plan;
    struct plan *portion;
    uint32_t device;
    const struct crossings *crossings; /* NULL: there are none */
    uint32_t *recorder;                /* by event, the device whose stream recorded it last */
};

static uint32_t flag_of(const struct cut *cut, const struct op *op)
{
    return cut->crossings != NULL ? cut->crossings->flags[op->id] : 0;
}

/* Moves a range of a device buffer to where it lies in the device's own. Returns false where it
 * lies in another device's. */
static bool move_range(const struct cut *cut, struct range *range)
{
    if (range->bytes == 0 || range->buffer < BUFFER_FIRST_DEVICE)
        return true;
    if (plan_range_device(cut->plan, range) != cut->device)
        return false;
    range->offset -= plan_device_part(cut->plan, range->buffer, cut->device).offset;
    return true;
}

/* Has `ranges` point to those of the device's own, kept by the portion. */
static enum status move_ranges(const struct cut *cut, struct op_ranges **ranges, bool *own,
                               struct error *error)
{
    struct op_ranges moved = **ranges;
    struct range *each[] = {&moved.in[0],   &moved.in[1],    &moved.resident, &moved.out,
                            &moved.scratch, &moved.carry_in, &moved.carry_out};
    _Static_assert(KERNEL_INPUTS_MAX == 2, "both inputs are named");
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++)
        *own &= move_range(cut, each[i]);
    *ranges = plan_keep_ranges(cut->portion, &moved, error);
    return *ranges != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

/* Makes an op the device's own. Sets *own to false where it is not its alone. */
static enum status move_op(const struct cut *cut, struct op *op, bool *own, struct error *error)
{
    op->stream = plan_stream_home(cut->plan, op->stream).number;
    switch (op->kind) {
    case OP_H2D:
    case OP_D2H:
        *own = move_range(cut, &op->copy.device);
        return STATUS_OK;
    case OP_KERNEL:
        return move_ranges(cut, &op->kernel.ranges, own, error);
    case OP_RECORD:
        cut->recorder[op->event.event] = cut->device;
        op->event.flag = flag_of(cut, op);
        return STATUS_OK;
    case OP_WAIT:
        op->event.flag = flag_of(cut, op);
        *own = op->event.flag > 0 || cut->recorder[op->event.event] == cut->device ||
               cut->recorder[op->event.event] == NOBODY;
        return STATUS_OK;
    case OP_CALLBACK:
        *own = !op_feeds(op) || cut->crossings != NULL;
        return STATUS_OK;
    case OP_D2D:
        *own = move_range(cut, &op->move.from) && move_range(cut, &op->move.to);
        return STATUS_OK;
    case OP_MEMSET:
        *own = move_range(cut, &op->set.range);
        return STATUS_OK;
    default:
        *own = op->kind == OP_SYNC;
        return STATUS_OK;
    }
}

static enum status take_ops(const struct cut *cut, struct error *error)
{
    const struct plan *plan = cut->plan;
    char label[OP_LABEL];
    for (uint32_t i = 0; i < plan->op_count; i++) {
        struct op op = plan->ops[i];
        bool own = true;
        if (op.stream < plan->streams && !plan_portion_has(plan, &op, cut->device)) {
            if (op.kind == OP_RECORD)
                cut->recorder[op.event.event] = plan_stream_home(plan, op.stream).device;
            continue;
        }
        enum status status = STATUS_OK;
        if (op.stream < plan->streams)
            status = move_op(cut, &op, &own, error);
        else
            own = false;
        if (!own)
            return error_set(error, STATUS_USAGE,
                             "op %" PRIu32 " (%s) is not one device's alone", i,
                             plan_op_label(plan, &plan->ops[i], label));
        if (status == STATUS_OK)
            status = plan_append(cut->portion, &op, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Copies `bytes` from `from` on; NULL stays NULL. Sets *missing where there is no memory. */
static void *copied(const void *from, size_t offset, size_t bytes, bool *missing)
{
    if (from == NULL)
        return NULL;
    void *copy = malloc(bytes + 1);
    *missing |= copy == NULL;
    return copy != NULL ? memcpy(copy, (const char *)from + offset, bytes) : NULL;
}

enum status plan_portion(const struct plan *plan, uint32_t device,
                         const struct crossings *crossings, struct plan *portion,
                         struct error *error)
{
    const uint32_t devices = plan_devices(plan), each = plan->streams / devices;
    const size_t number = sizeof plan->priorities[0];
    bool missing = false;
    *portion = *plan;
    portion->ops = NULL;
    portion->ranges = NULL;
    portion->loops = NULL;
    portion->op_count = 0;
    portion->op_capacity = 0;
    portion->devices = 1;
    portion->streams = each;
    portion->slots = plan->slots / devices;
    portion->priorities =
        copied(plan->priorities, device * each * number, each * number, &missing);
    portion->stream_kinds = copied(plan->stream_kinds, (size_t)device * each, each, &missing);
    portion->places = copied(plan->places, 0, plan->tiles * sizeof plan->places[0], &missing);
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT; b++)
        portion->buffer_bytes[b] = plan->buffer_bytes[b] / devices;
    struct cut cut = {plan, portion, device, crossings, NULL};
    cut.recorder = malloc((plan->events + (size_t)1) * sizeof *cut.recorder);
    enum status status = STATUS_OK;
    if (missing || cut.recorder == NULL) {
        status = error_set(error, STATUS_NO_MEMORY, "no memory for a device's part of a plan");
    } else {
        for (uint32_t i = 0; i < plan->events; i++)
            cut.recorder[i] = NOBODY;
        status = take_ops(&cut, error);
    }
    free(cut.recorder);
    if (status != STATUS_OK)
        plan_free(portion);
    return status;
}
